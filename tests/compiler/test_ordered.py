"""Maxima and minima by integers: NaN wins, and zeros have an order."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp

DTYPES = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
named = pytest.mark.parametrize


def special(dtype, n=97):
    """Return numbers of all magnitudes and both signs, both zeros and infinities among them."""
    spread = np.linspace(-3, 3, n) ** 5
    info = ml_dtypes.finfo(dtype)
    extreme = [0.0, -0.0, np.inf, -np.inf, float(info.max), float(info.smallest_subnormal)]
    return np.concatenate([spread, extreme, np.negative(extreme)]).astype(dtype)


def best(x, greatest):
    """Return the extreme element of numbers without NaN, by comparing them one by one."""
    key = lambda v: (float(v), not np.signbit(v))  # noqa: E731
    return (max if greatest else min)(x, key=key)


@named("greatest", [True, False])
@named("dtype", DTYPES)
def test_rows_columns_and_all(dtype, greatest):
    """Windows of special numbers, so that every one of them is the best of some window."""
    with jax.enable_x64():
        numbers = np.sort(special(dtype))
        table = np.stack([np.roll(numbers, k)[:23] for k in range(numbers.size)])
        function = jnp.max if greatest else jnp.min
        want = np.array([best(row, greatest) for row in table], dtype)
        for found in (
            jax.jit(lambda x: function(x, axis=1))(table),
            jax.jit(lambda x: function(x, axis=0))(np.ascontiguousarray(table.T)),
            jnp.stack([jax.jit(function)(row) for row in table[:7]]),
        ):
            found = np.asarray(found)
            np.testing.assert_array_equal(found, want[: found.size])
            np.testing.assert_array_equal(np.signbit(found), np.signbit(want[: found.size]))


@named("greatest", [True, False])
@named("sign", [1, -1])
@named("dtype", DTYPES)
def test_one_nan_of_either_sign_wins(dtype, sign, greatest):
    with jax.enable_x64():
        function = jax.jit(jnp.max if greatest else jnp.min)
        numbers = special(dtype)
        assert not np.isnan(np.asarray(function(numbers), "float64"))
        for place in (0, 50, numbers.size - 1):
            row = numbers.copy()
            row[place] = np.copysign(np.nan, sign)
            assert np.isnan(np.asarray(function(row), "float64"))


@named("greatest", [True, False])
def test_zeros_have_an_order(greatest):
    zeros = np.where(np.arange(40) == 17, 0.0, -0.0).astype("float32")
    found = jax.jit(jnp.max if greatest else jnp.min)(zeros)
    assert bool(np.signbit(found)) is not greatest
