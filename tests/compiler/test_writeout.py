"""Loops that are written out: the same values, and no loop."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless.compiler.simplify import simplify
from tapeless.compiler.writeout import MOST_EQUATIONS

N_STEPS = 5


def loop(unroll: int | bool, reverse: bool = False, length: int = N_STEPS) -> Callable:
    """Return a function that carries an array and a count, and returns rows of both kinds."""

    def step(carry: tuple, row: jax.Array) -> tuple:
        """Multiply and add; return what was there."""
        x, count = carry
        return (x * row + count, count + 1), (x, row - count)

    def run(x: jax.Array, rows: jax.Array) -> tuple:
        """Run the loop."""
        return jax.lax.scan(step, (x, 0), rows, length, reverse, unroll)

    return run


def scans(function: Callable, *args: object) -> int:
    """Return how many loops are left when a function is simplified."""
    eqns = simplify(jax.make_jaxpr(function)(*args).jaxpr).eqns
    return sum(eqn.primitive.name == "scan" for eqn in eqns)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [N_STEPS, N_STEPS + 1, True])
def test_a_loop_that_is_written_out_has_the_same_bits(unroll: int | bool, reverse: bool) -> None:
    x = np.linspace(0, 2, 33, dtype=np.float32)
    rows = np.linspace(-1, 1, N_STEPS, dtype=np.float32)
    assert scans(loop(unroll, reverse), x, rows) == 0
    expected = jax.jit(loop(1, reverse))(x, rows)
    found = jax.jit(loop(unroll, reverse))(x, rows)
    jax.tree.map(np.testing.assert_array_equal, found, expected)


@pytest.mark.parametrize("unroll", [1, 2, N_STEPS - 1])
def test_fewer_steps_leave_a_loop(unroll: int) -> None:
    assert scans(loop(unroll), jnp.ones(3), jnp.ones(N_STEPS)) == 1


def test_what_would_be_long_stays_a_loop() -> None:
    rows = jnp.ones(MOST_EQUATIONS)
    assert scans(loop(True, length=MOST_EQUATIONS), jnp.ones(3), rows) == 1


def test_a_loop_with_effects_stays() -> None:
    def step(carry: jax.Array, _: None) -> tuple:
        """Print."""
        jax.debug.print("{}", carry)
        return carry + 1, None

    assert scans(lambda x: jax.lax.scan(step, x, None, 3, unroll=3)[0], jnp.ones(())) == 1


def test_polynomials_are_one_loop_over_their_arguments() -> None:
    x = jnp.linspace(-1.0, 1.0, 4096)
    kernels = jax.inspect(jnp.polyval)(jnp.arange(6.0), x).kernels
    assert len(kernels) == 1
