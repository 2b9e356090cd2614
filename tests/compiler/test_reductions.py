"""Reductions of every shape, against NumPy, and how accurate sums are."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from tapeless.compiler.target import host_target
from tapeless.kernel.ir import Loop, Scalar
from tests.compiler.native import F32, F64, I32, I64, Work
from tests.compiler.test_emit import numbers

named = pytest.mark.parametrize
COMBINES = {
    "add": (np.add, 0),
    "mul": (np.multiply, 1),
    "min": (np.minimum, 100),
    "max": (np.maximum, -100),
    "and": (np.bitwise_and, -1),
    "or": (np.bitwise_or, 0),
    "xor": (np.bitwise_xor, 0),
}


def whole(source: np.ndarray, combine: str, init: object) -> np.ndarray:
    """Reduce a one-dimensional array."""
    work = Work()
    x, k = work.input(source), work.index("k", source.size)
    y = work.output((), source.dtype)
    work.body.append(work.put(y, (), work.fold(combine, work.get(x, k), k, source.size, init)))
    return work.run()[0]


@named("combine", COMBINES)
def test_every_length_of_an_integer_reduction(combine: str) -> None:
    function, init = COMBINES[combine]
    lanes = host_target().vector_bytes // 4
    for length in (0, 1, 2, 3, 4, 5, 8, 9, lanes, lanes + 1, 3 * lanes + 2, 8 * lanes + 3, 999):
        source = numbers(length, dtype=I32) + 1
        expected = function.reduce(source, initial=init, dtype=I32)
        assert whole(source, combine, init) == expected


def limits(dtype: np.dtype) -> tuple[object, object]:
    """The least and the greatest value of a dtype."""
    if dtype.kind == "b":
        return False, True
    info = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    return info.min, info.max


@named(
    "dtype", [np.dtype(t) for t in ("?", "i1", "u1", "i2", "i8", "u8", "f2", "f4", "f8")], ids=str
)
@named("length", [5, 70, 1000])
def test_extremes_of_every_dtype(dtype: np.dtype, length: int) -> None:
    source = numbers(length, dtype=dtype)
    low, high = limits(dtype)
    assert whole(source, "max", low) == source.max()
    assert whole(source, "min", high) == source.min()


@named("place", [0, 3, 62, 63, 64, 99])
def test_a_nan_anywhere_is_the_maximum(place: int) -> None:
    source = numbers(100)
    source[place] = np.nan
    assert np.isnan(whole(source, "max", -np.inf))
    assert np.isnan(whole(source, "min", np.inf))


@named("length", [10, 1000, 100_000, 3_000_000])
def test_sums_are_more_accurate_than_naive_ones(length: int) -> None:
    source = np.random.default_rng(3).random(length).astype(F32)
    exact = source.astype(F64).sum()
    assert abs(whole(source, "add", 0.0) - exact) / exact < 4e-7


def bound(n_terms: int, dtype: np.dtype) -> float:
    """The most that a sum in pairs is wrong, relative to the sum of magnitudes."""
    return math.log2(n_terms) * np.finfo(dtype).eps / 2


@named("dtype", [F32, F64])
@named("length", [33, 513, 8192, 8193, 1_000_003, 10_000_000])
def test_errors_of_sums_grow_as_those_of_pairs(dtype: np.dtype, length: int) -> None:
    """Equal terms are the worst case: all additions of a run are rounded the same way."""
    source = np.full(length, 0.1, dtype)
    exact = Fraction(float(source[0])) * length
    result = Fraction(float(whole(source, "add", 0.0)))
    assert abs(result - exact) / exact < bound(length, dtype)


@named("shape", [(100_000, 5), (1_000_000, 3), (3, 100_000), (40_000, 40)])
def test_errors_of_sums_of_rows_and_columns(shape: tuple[int, int]) -> None:
    work, (n, m) = Work(), shape
    x = work.input(np.full(shape, 0.1, F32))
    i, j, k, row = (work.index(name, size) for name, size in zip("ijkl", (n, m, m, n), strict=True))
    rows, columns = work.output((n,), F32), work.output((m,), F32)
    along_row = work.fold("add", work.get(x, i, k), k, m, 0.0)
    along_column = work.fold("add", work.get(x, row, j), row, n, 0.0)
    work.body.append(Loop(i, n, (work.put(rows, (i,), along_row),)))
    work.body.append(Loop(j, m, (work.put(columns, (j,), along_column),)))
    for results, size in zip(work.run(), (m, n), strict=True):
        exact = float(F32.type(0.1)) * size
        assert np.abs(results.astype(F64) / exact - 1).max() < bound(size, F32)


@named("length", [31, 32, 33, 47, 512, 513, 527, 4097, 8191, 8192, 8193, 9000])
@named("columns", [1, 3, 40])
def test_every_term_of_a_nest_of_runs_counts_once(length: int, columns: int) -> None:
    """The sums are of whole numbers, which are exact."""
    work = Work()
    source = numbers(length, columns, dtype=I64) % 64 - 32
    x = work.input(source.astype(F32))
    j, k = work.index("j", columns), work.index("k", length)
    y = work.output((columns,), F32)
    total = work.fold("add", work.get(x, k, j), k, length, 3.0)
    work.body.append(Loop(j, columns, (work.put(y, (j,), total),)))
    np.testing.assert_array_equal(work.run()[0], source.sum(0) + 3)


def test_what_computes_a_term_is_written_once() -> None:
    """The runs of all levels share one loop over terms."""
    work = Work()
    x, k = work.input(np.ones(100_003, F64)), work.index("k", 100_003)
    y = work.output((), F64)
    root = work.op("sqrt", work.get(x, k))
    work.body.append(work.put(y, (), work.fold("add", root, k, 100_003, 0.0)))
    text = work.emit(host_target()).text
    calls = [line for line in text.splitlines() if "call" in line and "sqrt" in line]
    assert len(calls) == 2  # the other one is for the part of a vector at the end


def test_narrow_floats_accumulate_in_float32() -> None:
    source = np.ones(5000, ml_dtypes.bfloat16)
    assert whole(source, "add", 0.0) == 4992
    assert whole(source[:4096], "add", 0.0) == 4096


def by_rows_and_columns(n: int, m: int, combine: str) -> None:
    """Reduce a matrix along each axis and compare."""
    function, init = COMBINES[combine]
    work = Work()
    source = numbers(n, m, dtype=I64)
    x = work.input(source)
    i, j, k, row = (work.index(name, size) for name, size in zip("ijkl", (n, m, m, n), strict=True))
    rows, columns = work.output((n,), I64), work.output((m,), I64)
    along_row = work.fold(combine, work.get(x, i, k), k, m, init)
    along_column = work.fold(combine, work.get(x, row, j), row, n, init)
    work.body.append(Loop(i, n, (work.put(rows, (i,), along_row),)))
    work.body.append(Loop(j, m, (work.put(columns, (j,), along_column),)))
    by_row, by_column = work.run()
    np.testing.assert_array_equal(by_row, function.reduce(source, axis=1, initial=init))
    np.testing.assert_array_equal(by_column, function.reduce(source, axis=0, initial=init))


@named("shape", [(1, 9), (9, 1), (4, 100), (100, 4), (33, 35), (3, 3), (600, 70)], ids=str)
@named("combine", ["add", "max"])
def test_rows_and_columns(combine: str, shape: tuple[int, int]) -> None:
    by_rows_and_columns(*shape, combine)


@named("combine", ["add", "min", "max"])
def test_shared_columns_end_with_a_part_of_a_vector(combine: str) -> None:
    function, init = COMBINES[combine]
    source = np.random.default_rng(1).integers(-50, 50, (1030, 1077)).astype(F32)
    source[500, 1070] = source[3, 5] = -np.nan
    work = Work()
    i, k = work.index("i", 1077), work.index("k", 1030)
    x, y = work.input(source), work.output((1077,), F32)
    total = work.fold(combine, work.get(x, k, i), k, 1030, float(init))
    work.body.append(Loop(i, 1077, (work.put(y, (i,), total),)))
    np.testing.assert_array_equal(work.run()[0], function.reduce(source, axis=0, initial=init))


@named("shape", [(1, 1), (3, 5), (5, 100), (64, 64), (2, 3000)], ids=str)
def test_softmax_is_one_pass_over_rows(shape: tuple[int, int]) -> None:
    n, m = shape
    work = Work()
    source = numbers(n, m)
    x, y = work.input(source), work.output((n, m), F32)
    i, j, k = work.index("i", n), work.index("j", m), work.index("k", m)
    most = work.fold("max", work.get(x, i, k), k, m, -np.inf)
    total = work.fold("add", work.op("exp", work.sub(work.get(x, i, k), most)), k, m, 0.0)
    value = work.div(work.op("exp", work.sub(work.get(x, i, j), most)), total)
    work.body.append(Loop(i, n, (Loop(j, m, (work.put(y, (i, j), value),)),)))
    wide = np.exp(source.astype(F64) - source.max(1, keepdims=True))
    np.testing.assert_allclose(work.run()[0], wide / wide.sum(1, keepdims=True), rtol=5e-6)


@named("shape", [(3, 4, 5), (20, 17, 9), (2, 40, 33)], ids=str)
def test_a_product_of_matrices(shape: tuple[int, int, int]) -> None:
    n, m, p = shape
    work = Work()
    a, b = numbers(n, m, dtype=I32), numbers(m, p, dtype=I32)
    x, y = work.input(a), work.input(b)
    z = work.output((n, p), I32)
    i, j, k = work.index("i", n), work.index("j", p), work.index("k", m)
    value = work.fold("add", work.mul(work.get(x, i, k), work.get(y, k, j)), k, m, 0)
    work.body.append(Loop(i, n, (Loop(j, p, (work.put(z, (i, j), value),)),)))
    np.testing.assert_array_equal(work.run()[0], a @ b)


def test_reductions_within_reductions() -> None:
    work = Work()
    source = numbers(6, 7, 19, dtype=I64)
    x, y = work.input(source), work.output((6,), I64)
    i, j, k = work.index("i", 6), work.index("j", 7), work.index("k", 19)
    row = work.fold("max", work.get(x, i, j, k), k, 19, 0)
    work.body.append(Loop(i, 6, (work.put(y, (i,), work.fold("add", row, j, 7, 0)),)))
    np.testing.assert_array_equal(work.run()[0], source.max(2).sum(1))


def arg_max(work: Work) -> object:
    """The function that keeps the greatest value and its first index."""

    def combine(old: tuple[Scalar, ...], new: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
        better = work.gt(new[0], old[0])
        return work.select(better, new[0], old[0]), work.select(better, new[1], old[1])

    return combine


@named("shape", [(1, 1), (3, 20), (50, 6), (40, 100)], ids=str)
@named("by_column", [False, True])
def test_a_function_combines_in_index_order(by_column: bool, shape: tuple[int, int]) -> None:
    n, m = shape
    work = Work()
    source = numbers(n, m, dtype=I32).astype(F32)
    x = work.input(source)
    length, extent = (m, n) if by_column else (n, m)
    i, k = work.index("i", length), work.index("k", extent)
    element = work.get(x, k, i) if by_column else work.get(x, i, k)
    first = work.const(-np.inf, F32), work.const(0, I64)
    best = work.reduce(k, extent, (element, work.affine(k)), first, arg_max(work))
    y, z = work.output((length,), F32), work.output((length,), I64)
    stores = (work.put(y, (i,), best[0]), work.put(z, (i,), best[1]))
    work.body.append(Loop(i, length, stores))
    most, where = work.run()
    axis = 0 if by_column else 1
    np.testing.assert_array_equal(most, source.max(axis))
    np.testing.assert_array_equal(where, source.argmax(axis))


def test_mean_and_variance_share_their_loads() -> None:
    work = Work()
    source = numbers(9, 200, dtype=F64)
    x, y = work.input(source), work.output((9,), F64)
    i, k = work.index("i", 9), work.index("k", 200)
    value = work.get(x, i, k)
    mean = work.div(work.fold("add", value, k, 200, 0.0), 200.0)
    square = work.div(work.fold("add", work.mul(value, value), k, 200, 0.0), 200.0)
    work.body.append(Loop(i, 9, (work.put(y, (i,), work.sub(square, work.mul(mean, mean))),)))
    np.testing.assert_allclose(work.run()[0], source.var(1), rtol=1e-12)


def test_a_maximum_of_rows_that_are_sums_themselves() -> None:
    # Rows further on are asked for ahead, but not those which only the sums within go through.
    n_rows, n_terms, n_columns = 9, 200, 64
    work = Work()
    source = numbers(n_rows, n_terms, n_columns, dtype=F32)
    x, y = work.input(source), work.output((n_columns,), F32)
    i, k, j = (work.index(name, 0) for name in "ikj")
    sums = work.fold("add", work.get(x, i, k, j), k, n_terms, 0.0)
    most = work.fold("max", sums, i, n_rows, -np.inf)
    work.body.append(Loop(j, n_columns, (work.put(y, (j,), most),)))
    np.testing.assert_allclose(work.run()[0], source.sum(1).max(0), rtol=1e-5)
