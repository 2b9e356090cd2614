"""Loops that read and write single elements cost elements, not arrays, also under grad."""

from __future__ import annotations

import time

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless.compiler.simplify import simplify

ONE = lax.ScatterDimensionNumbers((), (0,), (0,))
READ = lax.GatherDimensionNumbers((), (0,), (0,))


def by_scatter(x, s, place):
    """Write s into x, and read it back."""
    place = lax.reshape(place, (1,))
    x = lax.scatter(x, place, lax.mul(s, s), ONE, unique_indices=True)
    return x, lax.gather(x, place, READ, (1,), mode="clip")


def by_slice(x, s, place):
    """Do the same with slices."""
    x = lax.dynamic_update_slice(x, lax.reshape(lax.mul(s, s), (1,)), (place,))
    return x, lax.reshape(lax.dynamic_slice(x, (place,), (1,)), ())


def loop(step, size, steps=100):
    """Return the program that makes `steps` steps through an array."""

    def program(x, s):
        """Go through the array; return the last value."""

        def body(carry, i):
            """Make one step."""
            x, s = carry
            x, s = step(x, s, lax.rem(i, np.int32(size)))
            return (x, lax.add(s, np.float32(0.1))), None

        (x, s), _ = lax.scan(body, (x, s), lax.iota(np.int32, steps))
        return lax.add(s, lax.reduce_sum(x, (0,)))

    return program


@pytest.mark.parametrize("step", [by_scatter, by_slice])
def test_gradients_through_loops_that_write_in_place(step):
    program = loop(step, 5, 12)
    x, s = np.arange(5, dtype=np.float32), np.float32(0.3)
    found_x, found_s = jax.grad(program, (0, 1))(x, s)
    high, low = program(x, s + np.float32(1e-2)), program(x, s - np.float32(1e-2))
    np.testing.assert_allclose(float(found_s), (float(high) - float(low)) / 2e-2, rtol=2e-2)
    np.testing.assert_array_equal(np.zeros(5), found_x)


@pytest.mark.parametrize("step", [by_scatter, by_slice])
def test_the_time_of_a_step_does_not_grow_with_the_array(step):
    def best(size: int) -> float:
        """Return the least seconds of the gradient of a loop."""
        program = jax.jit(jax.grad(loop(step, size, 2000), 1))
        x, s = np.zeros(size, np.float32), np.float32(0.3)
        times = []
        for _ in range(5):
            start = time.perf_counter()
            program(x, s)
            times.append(time.perf_counter() - start)
        return min(times)

    # An array copied in every step would take 2000 times 400 kB: hundreds of times as long.
    assert best(100_000) < 20 * best(100)


def test_a_sum_with_a_scatter_into_zeros_is_one_scatter():
    def program(x, u):
        """Add a cotangent by the transpose of a gather."""
        _, pullback = jax.vjp(lambda x: (lax.neg(x), lax.gather(x, np.array([[3]]), READ, (1,))), x)
        return pullback((x, u))

    jaxpr = jax.make_jaxpr(program)(np.ones(9, np.float32), np.ones(1, np.float32))
    names = [eqn.primitive.name for eqn in simplify(jaxpr).eqns]
    assert "add_any" in [eqn.primitive.name for eqn in jaxpr.eqns]
    assert "scatter-add" in names and "add_any" not in names
