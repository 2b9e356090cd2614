"""What a loop keeps for a later one is little, and makes the same numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless import lax
from tapeless.compiler import residuals, simplify
from tapeless.core.jaxpr import Eqn

STEPS, UNITS = 100, 64


def arrays(*shapes: tuple[int, ...], dtype: object = np.float32) -> list[np.ndarray]:
    """Draw small numbers."""
    rng = np.random.default_rng(5)
    return [rng.normal(0, 0.3, shape).astype(dtype) for shape in shapes]


def gated(w: jax.Array, xs: jax.Array) -> jax.Array:
    """w: (n, 3 n), xs: (t, n) -> (); a recurrent unit with two gates."""

    def step(h: jax.Array, x: jax.Array) -> tuple:
        a, b, c = jnp.split(h @ w, 3)
        update, reset = jnp.split(jax.nn.sigmoid(jnp.concatenate([a, b])), 2)
        new = jnp.tanh(x + reset * c)
        return update * h + (1 - update) * new, None

    return jnp.sum(lax.scan(step, jnp.zeros(xs.shape[1:], xs.dtype), xs)[0] ** 2)


def memory(w: jax.Array, xs: jax.Array) -> jax.Array:
    """w: (n, 3 n), xs: (t, n) -> (); a cell with an input, a forget and an output gate."""

    def step(carry: tuple, x: jax.Array) -> tuple:
        h, c = carry
        i, f, o = jnp.split(h @ w, 3)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(x)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), h

    zeros = jnp.zeros(xs.shape[1:], xs.dtype)
    return jnp.sum(lax.scan(step, (zeros, zeros), xs)[1] ** 2)


def scans(function: Callable, *args: np.ndarray) -> list[Eqn]:
    """Return the loops of a program as it is compiled."""
    program = simplify.simplify(jax.make_jaxpr(function)(*args).jaxpr)
    return [eqn for eqn in program.eqns if eqn.primitive.name == "scan"]


def kept_floats(function: Callable, *args: np.ndarray) -> int:
    """Return how many numbers a step of the first loop keeps for the second."""
    first, second = scans(function, *args)
    return sum(var.aval.size for var in first.outvars if var in second.invars) // STEPS


@pytest.mark.parametrize("function", [gated, memory])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_are_those_of_what_was_kept(function, dtype, monkeypatch):
    """The same equations are done on the same numbers: no bit of a gradient changes."""
    with jax.enable_x64(dtype is np.float64):
        args = arrays((UNITS, 3 * UNITS), (STEPS, UNITS), dtype=dtype)
        got = jax.jit(jax.grad(function, (0, 1)))(*args)
        monkeypatch.setattr(residuals, "LEAST", 1 << 60)
        jax.clear_caches()
        expected = jax.jit(jax.grad(function, (0, 1)))(*args)
        for one, other in zip(got, expected, strict=True):
            np.testing.assert_array_equal(one, other)


def test_gates_are_kept_once():
    """Of a step of the gated unit: the state, both gates together, the product, the new state."""
    args = arrays((UNITS, 3 * UNITS), (STEPS, UNITS))
    assert kept_floats(jax.grad(gated), *args) == 5 * UNITS


def test_what_is_small_or_a_result_itself_is_kept():
    w, xs = arrays((UNITS, 3 * UNITS), (STEPS, UNITS))
    few = scans(jax.grad(gated), w[:8, :24], xs[:, :8])
    assert len(few[0].outvars) > len(scans(jax.grad(gated), w, xs)[0].outvars)

    def both(x: jax.Array) -> tuple:
        """x: (t, n); keep a sine, and one minus it for a second loop and the caller."""
        keep = lambda c, x: (c + x, (jnp.sin(c), 1 - jnp.sin(c)))  # noqa: E731
        _, (sines, rests) = lax.scan(keep, jnp.zeros(x.shape[1:]), x)
        use = lambda c, rows: (c * rows[0] + rows[1], None)  # noqa: E731
        return lax.scan(use, jnp.ones(x.shape[1:]), (sines, rests), reverse=True)[0], rests

    x = arrays((STEPS, 1000))[0]
    assert len(scans(both, x)[0].outvars) == 3
    assert len(scans(lambda x: both(x)[0], x)[0].outvars) == 2
    sums = np.cumsum(np.concatenate([np.zeros((1, 1000), np.float32), x[:-1]]), 0)
    np.testing.assert_allclose(jax.jit(both)(x)[1], 1 - np.sin(sums), rtol=1e-4, atol=1e-5)


def test_rows_are_those_of_the_same_step_in_either_direction():
    def function(x: jax.Array, reverse: tuple[bool, bool]) -> jax.Array:
        """x: (t, n) -> (n,)"""
        keep = lambda c, x: (c + x, (jnp.sin(c), 2 * jnp.sin(c)))  # noqa: E731
        _, rows = lax.scan(keep, jnp.zeros(x.shape[1:]), x, reverse=reverse[0])
        use = lambda c, rows: (c * rows[0] + rows[1], None)  # noqa: E731
        return lax.scan(use, jnp.ones(x.shape[1:]), rows, reverse=reverse[1])[0]

    x = arrays((STEPS, 1000))[0]
    for first in (False, True):
        for second in (False, True):
            got = jax.jit(lambda x, f=first, s=second: function(x, (f, s)))(x)
            with jax.disable_jit():
                expected = function(x, (first, second))
            np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)
