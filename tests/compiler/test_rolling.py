"""Unrolled programs become loops, and compute the same bits as one operation after the other."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless.compiler.rolling import rolled

jnp = jax.numpy
N_STEPS = 70


def chain(x):
    """Apply a sine and a shift that differs."""
    for number in range(N_STEPS):
        x = jnp.sin(x) + (number + 1.0)
    return x


def verlet(x):
    """Follow a pendulum: two carries."""
    v = x * 0.1
    for _ in range(N_STEPS):
        v = v - 0.01 * jnp.sin(x)
        x = x + 0.01 * v
    return x, v


def some_kept(x):
    """Keep values in between."""
    kept = []
    for number in range(N_STEPS):
        x = jnp.tanh(x) * 1.5
        if number % 20 == 3:
            kept.append(x)
        x = x + 0.1
    return x, kept


def horner(x):
    """Read the argument in each step."""
    y = x
    for number in range(N_STEPS):
        y = y * x + np.float32(1.0 / (number + 1))
    return y


def two_chains(x):
    """Let a second run read the end of the first one."""
    z = w = x
    for _ in range(N_STEPS):
        z = jnp.sin(z) + x
    for _ in range(N_STEPS):
        w = jnp.cos(w) * z
    return z, w


def integers(x):
    """Wrap around."""
    k = x.astype(int)
    for number in range(2 * N_STEPS):
        k = k * 3 + number
    return k


FUNCTIONS = [chain, verlet, some_kept, horner, two_chains]


def program(function, *args):
    """Return the program of a function, and what it is rolled up to."""
    jaxpr = jax.jit(function).trace(*args).jaxpr
    return jaxpr, rolled(jaxpr, 64)


def total(function):
    """Return the sum of all that a function returns."""
    return lambda x: sum(jnp.sum(leaf) for leaf in jax.tree.leaves(function(x)))


def check(function, x):
    """Compare a compiled function with the same operations one by one, bit for bit."""
    with jax.disable_jit():
        expected = function(x)
    got = jax.jit(function)(x)
    for want, leaf in zip(jax.tree.leaves(expected), jax.tree.leaves(got), strict=True):
        np.testing.assert_array_equal(np.asarray(want), np.asarray(leaf))


@pytest.mark.parametrize("shape", [(), (16,), (40,), (8, 8)])
@pytest.mark.parametrize("function", [*FUNCTIONS, integers], ids=lambda f: f.__name__)
def test_values_are_those_of_the_unrolled_program(function, shape):
    """The program is a few equations, and its bits are the same."""
    x = jnp.asarray(np.random.default_rng(0).normal(size=shape), "float32")
    before, after = program(function, x)
    assert len(before.eqns) >= 2 * N_STEPS
    assert len(after.eqns) < 20
    check(function, x)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_derivatives_are_those_of_the_unrolled_program(function):
    """Gradients, tangents and maps have the same bits."""
    x = jnp.linspace(-1, 1, 16)
    check(jax.grad(total(function)), x)
    check(lambda x: jax.jvp(function, (x,), (x,)), x)
    check(jax.vmap(function), jnp.stack([x, x + 1]))


def test_the_gradient_of_a_chain_is_two_loops():
    """The cosines lie in one array, which the second loop reads backwards."""
    _, after = program(jax.grad(total(chain)), jnp.ones(16))
    there, back = [eqn for eqn in after.eqns if eqn.primitive.name == "scan"]
    assert len(after.eqns) < 8
    assert there.outvars[1] is back.invars[-1]
    assert (there.params["reverse"], back.params["reverse"]) == (False, True)


def test_the_gradient_of_a_compiled_chain_is_two_loops_too():
    """Programs that are only called are looked into."""
    _, after = program(jax.jit(jax.grad(jax.jit(total(chain)))), jnp.ones(16))
    assert [eqn.primitive.name for eqn in after.eqns].count("scan") == 2


def test_single_values_are_cut_out():
    """Four of the values in between are results."""
    _, after = program(some_kept, jnp.ones(16))
    names = [eqn.primitive.name for eqn in after.eqns]
    assert names == ["scan", *["slice", "squeeze"] * 4]


def test_programs_whose_values_are_all_wanted_one_by_one_stay():
    """A slice for each would be as long as the program."""

    def function(x):
        kept = []
        for _ in range(N_STEPS):
            x = jnp.tanh(x) * 1.5
            kept.append(x)
        return kept

    before, after = program(function, jnp.ones(16))
    assert after is before


def test_effects_stay_in_their_order():
    """What prints is no part of a loop."""
    seen = []

    def function(x):
        for number in range(N_STEPS):
            x = jnp.sin(x) + 1.0
            jax.debug.callback(lambda v, number=number: seen.append(number), x, ordered=True)
        return x

    before, after = program(function, jnp.float32(1.0))
    assert after is before
    jax.block_until_ready(jax.jit(function)(jnp.float32(1.0)))
    jax.effects_barrier()
    assert seen == list(range(N_STEPS))


def test_zeros_of_two_signs_are_rows():
    """0.0 and -0.0 are different literals."""

    def function(x):
        for number in range(2 * N_STEPS):
            x = x * (-0.0 if number % 2 else 0.0)
        return x

    check(function, jnp.ones(16))
