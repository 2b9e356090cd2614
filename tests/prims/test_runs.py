"""Runs of updates in a register: extremes of floats by keys, NaN, zeros of both signs, and ends."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax

SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1e-45, -1e-45, 3e38, -3e38)
LENGTH = 40  # of a run, which is long


def extreme(name: str, x: np.ndarray) -> np.floating:
    """Return the extreme of some numbers: NaN if there is one, and -0.0 is less than 0.0."""
    if np.isnan(x).any():
        return x.dtype.type(np.nan)
    least = sorted(x, key=lambda value: (value, not np.signbit(value)))
    return least[0] if name == "min" else least[-1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["min", "max"])
def test_extremes_of_long_runs_are_those_of_their_floats(name, dtype):
    with jax.enable_x64(True):
        draw = np.random.default_rng(0)
        x = draw.normal(size=(100, LENGTH)).astype(dtype)
        for row, value in enumerate(SPECIAL):
            x[row, draw.integers(LENGTH)] = value
        for row, (first, second) in enumerate(np.ndindex(len(SPECIAL), 2), len(SPECIAL)):
            x[row, ::2], x[row, 1::2] = SPECIAL[first], SPECIAL[second]
        segments = np.repeat(np.arange(100), LENGTH)
        segment = getattr(jax.ops, f"segment_{name}")
        got = np.asarray(jax.jit(lambda x: segment(x, segments, 100))(x.ravel()))
        expected = np.array([extreme(name, row) for row in x], dtype)
        np.testing.assert_array_equal(got, expected)
        finite = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(got[finite]), np.signbit(expected[finite]))


def test_what_is_there_takes_part_and_updates_outside_do_not():
    target = np.array([5.0, np.nan, -1.0, 7.0], np.float32)
    indices = np.repeat(np.array([0, 1, 9, 2, -9], np.int32), 200)
    updates = np.linspace(-3, 3, 1000).astype(np.float32)
    got = jax.jit(lambda x: x.at[indices].max(updates, mode="drop"))(target)
    expected = [5.0, np.nan, max(updates[600:800]), 7.0]
    np.testing.assert_array_equal(got, np.array(expected, np.float32))
    whole = jax.jit(lambda x: x.at[indices].min(updates, mode="drop"))(target)
    np.testing.assert_array_equal(whole, np.array([-3.0, np.nan, -1.0, 7.0], np.float32))
