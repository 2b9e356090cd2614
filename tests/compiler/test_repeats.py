"""Runs of equations that repeat: where they are found, and what their operands are."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless.compiler.repeats import FEWEST_STEPS, Run, runs_of, with_roles
from tapeless.core.jaxpr import Literal

jnp = jax.numpy
N_STEPS = 80


def found(function, *args):
    """Return the runs of a function with their roles."""
    eqns = jax.jit(function).trace(*args).jaxpr.eqns
    places = {var: (i, k) for i, eqn in enumerate(eqns) for k, var in enumerate(eqn.outvars)}
    return with_roles(runs_of(eqns, 64), eqns, places)


def chain(x, y):
    """Take steps that read a literal of their own, a shared one, an argument and a carry."""
    for number in range(N_STEPS):
        x = jnp.sin(x) * 0.5 + number + y
    return x


def test_a_chain_is_one_run_and_its_operands_have_roles():
    """sin reads the carry, mul a literal, add a row of literals, add a constant."""
    (run,) = found(chain, jnp.ones(20), jnp.ones(20))
    assert (run.start, run.period, run.steps) == (0, 4, N_STEPS)
    ((carry,), (inner, half), (_, number), (_, shared)) = run.roles
    assert carry[0] == (3, 0)
    assert inner == (0, 0)
    assert isinstance(half, Literal)
    assert np.frombuffer(number.literals, "float32").tolist() == list(range(N_STEPS))
    assert list(run.consts) == [shared]
    assert not run.reverse


def test_the_way_back_reads_what_the_way_there_has_left_from_the_end():
    """The cosines of a chain are rows of the first run, taken backwards."""
    there, back = found(jax.grad(lambda x, y: jnp.sum(chain(x, y))), jnp.ones(20), jnp.ones(20))
    (stack,) = [stack for stack in back.rows if stack.run is not None]
    assert back.reverse
    assert stack.run is there
    assert (stack.first, stack.direction) == (there.steps - 1, -1)


@pytest.mark.parametrize("shape", [(), (16,), (20,), (8, 8)])
def test_numbers_and_arrays_that_fill_registers_repeat(shape):
    """The sizes that loops work on as well as straight-line code does."""
    assert len(found(chain, jnp.ones(shape), jnp.ones(shape))) == 1


@pytest.mark.parametrize("size", [3, 10, 10_000])
def test_arrays_that_loops_would_handle_worse_stay_as_they_are(size):
    """Small ones would be written out by elements, large ones are better fused."""
    assert found(chain, jnp.ones(size), jnp.ones(size)) == []


def test_short_stretches_are_no_runs():
    """A few steps, or a few equations, stay as they are."""

    def short(x):
        for _ in range(FEWEST_STEPS - 1):
            x = jnp.exp(jnp.sin(jnp.cos(x)) + 1.0) * jnp.tanh(x) - jnp.sqrt(jnp.abs(x)) + 2.0 * x
        return x

    assert found(short, jnp.ones(20)) == []
    assert found(lambda x: chain(x, x)[: len(x)], jnp.ones(20)) != []


def test_steps_that_are_otherwise_are_left_out():
    """The first step reads something else; the run begins behind it."""

    def function(x, y):
        z = y
        for number in range(N_STEPS):
            x = jnp.sin(x) + z
            z = x if number == 0 else z
        return x

    (run,) = found(function, jnp.ones(20), jnp.ones(20))
    assert 2 <= run.start < 8
    assert N_STEPS - 4 < run.steps < N_STEPS


def test_what_reads_two_steps_back_is_no_run():
    """A value of the step before the last one is none of the roles."""

    def function(x, y):
        for _ in range(N_STEPS):
            x, y = y, jnp.sin(x) + y
        return y

    assert found(function, jnp.ones(20), jnp.ones(20)) == []


def test_trimming_keeps_the_longer_part():
    """An uneven step takes along what is before it, or behind it."""
    early, late = Run(10, 3, 50), Run(10, 3, 50)
    early.trim(1)
    late.trim(48)
    assert (early.start, early.steps, early.end) == (16, 48, 160)
    assert (late.start, late.steps, late.end) == (10, 48, 154)
