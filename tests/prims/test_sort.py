"""Sorts obey the laws of `tests/support/harness.py`, by insertion and by counting."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tapeless.prims import sort
from tests.support.harness import laws
from tests.support.records import FLOATS, INEXACT, INTEGERS, Record, fixed

DISTINCT = fixed([[0.5, -1.5, 2.0], [1.0, 3.0, -0.25], [-3.0, 0.25, 0.375]])
X = np.ones((3, 4), np.float32)

RECORDS = [
    Record("columns", lambda x: sort.sort(x, 0), (DISTINCT,), (*INEXACT, *INTEGERS)),
    Record("rows", lambda x: sort.sort(x), (DISTINCT,), FLOATS),
    Record("pair", lambda x, y: sort.sort((x, y), 0), (DISTINCT, DISTINCT), FLOATS),
    Record("two-keys", lambda x, y: sort.sort((x, y), num_keys=2), (DISTINCT, DISTINCT), FLOATS),
]
globals().update(laws(RECORDS))

LENGTHS = [1, 2, 7, 60, 300, 20000]


def keys(size: int, dtype: str) -> np.ndarray:
    """Return numbers with many ties."""
    drawn = np.random.default_rng(size).integers(-100, 100, size)
    return (drawn % 2 == 0) if dtype == "bool" else drawn.astype(dtype)


@pytest.mark.parametrize("size", LENGTHS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8", "bool"])
def test_sort_is_numpys(size, dtype):
    x = keys(size, dtype)
    np.testing.assert_array_equal(np.sort(x, kind="stable"), sort.sort(x))


@pytest.mark.parametrize("size", LENGTHS)
def test_values_follow_their_keys_stably(size):
    x = keys(size, "float32")
    order = np.argsort(x, kind="stable")
    found_keys, found = sort.sort_key_val(x, np.arange(size, dtype=np.int32))
    np.testing.assert_array_equal(x[order], found_keys)
    np.testing.assert_array_equal(order, found)


@pytest.mark.parametrize("size", [6, 300])
def test_nans_are_last_and_zeros_are_equal(size):
    x = np.resize(np.array([3, np.nan, -np.inf, 0.0, -0.0, np.inf], np.float32), size)
    found, order = sort.sort_key_val(x, np.arange(size, dtype=np.int32))
    expected = np.argsort(np.where(x == 0, 0.0, x), kind="stable")
    np.testing.assert_array_equal(expected, order)
    np.testing.assert_array_equal(np.signbit(x[expected]), np.signbit(found))


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: sort.sort(X, 4), ValueError, "axis 4 is out of bounds for array of dimension 2"),
        (lambda: sort.sort(()), TypeError, "Sort requires at least one operand"),
        (lambda: sort.sort((X, X[0])), TypeError, "Arguments to sort must have equal shapes"),
        (lambda: sort.sort((X, X), num_keys=3), ValueError, "num_keys=3 must be between 1 and"),
    ],
)
def test_wrong_operands_are_refused(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


@pytest.mark.parametrize("size", [5, 40, 1000])
@pytest.mark.parametrize(
    "name",
    ["float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn"],
)
def test_floats_whose_bits_are_not_in_order_by_sign_and_size(name, size):
    n_values = 16 if name.startswith("float4") else 256
    bits = np.random.default_rng(0).integers(0, n_values, size).astype(np.uint8)
    bits[:5] = [n_values - 1, n_values // 2, n_values // 2 - 1, 0, n_values // 2]
    x = bits.view(getattr(ml_dtypes, name))
    numbers = x.astype(np.float64)
    np.testing.assert_array_equal(np.asarray(sort.sort(x)).astype(np.float64), np.sort(numbers))
    places = sort.sort((x, np.arange(size)))[1]
    np.testing.assert_array_equal(places, np.argsort(numbers, kind="stable"))
