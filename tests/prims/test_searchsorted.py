"""Binary search obeys the laws of `tests/support/harness.py`, and finds what NumPy finds."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless.prims.searchsorted import search_sorted
from tests.support.harness import laws
from tests.support.records import BOOL, INTEGERS, Failure, Record, fixed

LINE = fixed([1.0, 2.5, 3.25, 3.25, 5.0])
QUERY = fixed([[3.25, 0.0], [9.0, 2.5]])
SIDES = ["left", "right"]
WHOLE = dict.fromkeys(("jvp", "transpose", "second"), "its results are integers")

RECORDS = [
    Record(
        "left",
        lambda line, query: search_sorted(line, query),
        (LINE, QUERY),
        ("float32", "float16", "bfloat16", "float64", *INTEGERS, *BOOL),
        WHOLE,
        (Failure((np.ones(3, "f"), np.ones(3, "i")), TypeError, "of one dtype"),),
    ),
    Record(
        "right",
        lambda line, query: search_sorted(line, query, "right"),
        (LINE, QUERY),
        without=WHOLE,
    ),
]
globals().update(laws(RECORDS))


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("size", [0, 1, 2, 3, 8, 100, 1000])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint8", "bool", "complex64"])
def test_places_are_numpys(dtype, size, side):
    generator = np.random.default_rng(size)
    line, query = generator.integers(0, 100, size), generator.integers(0, 101, (4, 50))
    if dtype == "bool":
        line, query = line > 50, query > 50
    elif dtype == "complex64":
        line, query = line // 10 + 1j * (line % 3), query // 10 + 1j * (query % 4)
    line, query = np.sort(line.astype(dtype)), query.astype(dtype)
    expected = np.searchsorted(line, query, side)
    np.testing.assert_array_equal(search_sorted(line, query, side), expected)


@pytest.mark.parametrize("side", SIDES)
def test_nans_are_last_and_zeros_are_equal(side):
    line = np.array([-0.0, 0.0, 1.0, np.nan, np.nan], np.float32)
    query = np.array([np.nan, 0.0, -0.0, np.inf], np.float32)
    expected = np.searchsorted(line, query, side)
    np.testing.assert_array_equal(search_sorted(line, query, side), expected)


@pytest.mark.parametrize(("line_dim", "query_dim"), [(0, 0), (1, None), (None, 1), (1, 1)])
def test_batches(line_dim, query_dim):
    line = np.sort(np.random.default_rng(0).normal(size=(3, 5)).astype("float32"))
    query = np.random.default_rng(1).normal(size=(3, 4)).astype("float32")
    places = [(0 if line_dim is None else i, 0 if query_dim is None else i) for i in range(3)]
    rows = [search_sorted(line[i], query[j]) for i, j in places]
    operands = [
        x[0] if dim is None else np.moveaxis(x, 0, dim)
        for x, dim in ((line, line_dim), (query, query_dim))
    ]
    found = jax.vmap(search_sorted, (line_dim, query_dim))(*operands)
    np.testing.assert_array_equal(found, np.stack(rows))
