"""Carries that count: gone from the loop, with the values that they had."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless.compiler.lower import lower_jaxpr
from tapeless.compiler.simplify import simplify
from tapeless.kernel.pprint import listing

jnp, lax = jax.numpy, jax.lax


def n_carry(function: object, *args: object) -> int:
    """Return how many carries the first scan of a function keeps."""
    jaxpr = simplify(jax.make_jaxpr(function)(*args).jaxpr)
    return next(e.params["num_carry"] for e in jaxpr.eqns if e.primitive.name == "scan")


def counted(step: int, reverse: bool, dtype: str, start: int = 3) -> object:
    """Return a function that stacks a counter and ends with it."""

    def f(x: object) -> object:
        body = lambda c, x: ((c[0] + np.dtype(dtype).type(step), c[1] * 0.5 + x), c[0])  # noqa: E731
        return lax.scan(body, (np.dtype(dtype).type(start), 0.0), x, reverse=reverse)

    return f


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("step", "dtype"), [(1, "int32"), (-7, "int32"), (100, "int8")])
def test_counters_have_the_values_that_they_would_have(
    step: int, reverse: bool, dtype: str
) -> None:
    x = np.arange(5, dtype=np.float32)
    f = counted(step, reverse, dtype)
    (end, total), stacked = jax.jit(f)(x)
    assert n_carry(f, x) == 1
    start = np.arange(6) * step + 3
    expected = start.astype(dtype)
    assert (end, end.dtype) == (expected[-1], np.dtype(dtype))
    np.testing.assert_array_equal(stacked, expected[:-1][::-1] if reverse else expected[:-1])
    terms = x[::-1] if reverse else x
    assert total == np.sum(terms * 0.5 ** np.arange(4, -1, -1))


def test_what_does_not_count_stays() -> None:
    x = np.arange(4, dtype=np.float32)
    double = lambda x: lax.scan(lambda c, x: (c + c, x * c), 1, x)  # noqa: E731
    given = lambda n, x: lax.scan(lambda c, x: (c + 1, x * c), n, x)  # noqa: E731
    assert n_carry(double, x) == n_carry(given, np.int32(1), x) == 1


def test_a_loop_without_steps_ends_with_its_start() -> None:
    end, _ = jax.jit(lambda x: lax.scan(lambda c, x: (c + 1, x), 7, x))(np.zeros(0, np.float32))
    assert end == 7


def test_indices_that_a_loop_counts_are_plain_addresses() -> None:
    def f(x: object) -> object:
        set_one = lambda i, x: x.at[i].set(x[i - 1] + x[i + 1])  # noqa: E731
        return lax.fori_loop(1, 7, set_one, x)

    jaxpr = jax.make_jaxpr(f)(np.zeros(8, np.float32)).jaxpr
    text = listing(lower_jaxpr(jaxpr).body)
    assert not any(word in text for word in ("select", "min", "max", " if "))
    x = np.arange(8, dtype=np.float32)
    expected = x.copy()
    for i in range(1, 7):
        expected[i] = expected[i - 1] + expected[i + 1]
    np.testing.assert_array_equal(jax.jit(f)(x), expected)
