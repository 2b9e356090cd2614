"""Factors and solves of many small matrices, in generated code.

A call of LAPACK costs more than the arithmetic of a small matrix.  Up to SMALL rows, the elements
of a matrix are scalars in registers, and the loops are unrolled as the kernel is built:

    a: (count, n, n), one body for each of the `count` matrices

Row exchanges are selections, as the pivot is known only when the kernel runs.  Real dtypes only.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from tapeless.core.aval import ShapedArray
from tapeless.prims.rules import is_complex

__all__ = ["is_small", "small_cholesky", "small_lu", "small_solve"]

SMALL = 8
Rows = list[list[Any]]


def is_small(*avals: ShapedArray) -> bool:
    """Tell whether these are matrices (..., n, m) for this file."""
    return all(map(_is_small, avals))


def _is_small(aval: ShapedArray) -> bool:
    """Tell it of one."""
    if is_complex(aval.dtype) or not aval.size:
        return False
    return max(aval.shape[-2:]) <= SMALL


def small_cholesky(b: Any, a: Any) -> None:
    """Replace the lower triangles of a (count, n, n) by Cholesky factors, or by NaN."""
    count, n, _ = a.shape

    def factor(index: Sequence[Any]) -> None:
        """Factor one matrix, column after column."""
        (i,) = index
        rows = [_load_row(b, a, i, r, r + 1) for r in range(n)]
        checks = []
        for c in range(n):
            check = _cholesky_column(b, rows, c)
            checks.append(check)
        valid = b.let(functools.reduce(b.and_, checks))
        nan = b.const(math.nan, a.dtype)
        for r, row in enumerate(rows):
            for c, x in enumerate(row):
                value = b.select(valid, x, nan)
                b.store(a, (i, r, c), value)

    b.nest((count,), factor)


def _cholesky_column(b: Any, rows: Rows, c: int) -> Any:
    """Compute one column of the factor; return whether the matrix is positive so far."""
    pivot = rows[c]
    known = pivot[:c]
    square = _less_products(b, pivot[c], known, known)
    root = b.let(b.sqrt(square))
    pivot[c] = root
    for row in rows[c + 1 :]:
        rest = _less_products(b, row[c], row[:c], known)
        quotient = b.div(rest, root)
        row[c] = b.let(quotient)
    return b.gt(square, 0.0)


def small_lu(b: Any, a: Any, factors: Any, pivots: Any) -> None:
    """Factor a (count, n, m): factors (count, n, m), pivots (count, min(n, m)), counted from 0."""
    count, n, m = a.shape

    def factor(index: Sequence[Any]) -> None:
        """Factor one matrix, column after column."""
        (i,) = index
        rows = [_load_row(b, a, i, r, m) for r in range(n)]
        for k in range(min(n, m)):
            chosen = _exchange_rows(b, rows, k)
            place = b.convert(chosen, pivots.dtype)
            b.store(pivots, (i, k), place)
            _eliminate(b, rows, k)
        for r, row in enumerate(rows):
            for c, x in enumerate(row):
                b.store(factors, (i, r, c), x)

    b.nest((count,), factor)


def small_solve(
    b: Any,
    a: Any,
    x: Any,
    entry: Callable,
    *,
    lower: bool,
    unit: bool,
) -> None:
    """Solve triangular systems in place.

    a: (count, n, n).  x: vectors of n elements, which stand at `entry(i, vector, position)`.
    lower, unit: whether a is a lower triangle, and whether its diagonal is 1.
    """
    count, n, _ = a.shape
    n_vectors = math.prod(x.shape[1:]) // n
    order = range(n) if lower else reversed(range(n))
    order = list(order)

    def solve(index: Sequence[Any]) -> None:
        """Solve for one vector."""
        i, vector = index
        found: list[Any] = []
        for step, r in enumerate(order):
            row = [a.at(i, r, c) for c in order[:step]]
            start = x.at(*entry(i, vector, r))
            value = _less_products(b, start, row, found)
            if not unit:
                value = b.div(value, a.at(i, r, r))
            value = b.let(value)
            found.append(value)
        for r, value in zip(order, found, strict=True):
            at = entry(i, vector, r)
            b.store(x, at, value)

    b.nest((count, n_vectors), solve)


def _load_row(b: Any, a: Any, i: Any, r: int, size: int) -> list[Any]:
    """Load the first elements of a row."""
    row = []
    for c in range(size):
        element = a.at(i, r, c)
        row.append(b.let(element))
    return row


def _less_products(b: Any, start: Any, xs: Sequence[Any], ys: Sequence[Any]) -> Any:
    """Return start - x0 y0 - x1 y1 - ..."""
    total = start
    for x, y in zip(xs, ys, strict=True):
        product = b.mul(x, y)
        total = b.sub(total, product)
    return b.let(total)


def _exchange_rows(b: Any, rows: Rows, k: int) -> Any:
    """Bring the row with the largest element of column k to place k; return where it was."""
    largest = b.abs(rows[k][k])
    chosen = b.const(k, "int32")
    for r in range(k + 1, len(rows)):
        size = b.abs(rows[r][k])
        larger = b.let(b.gt(size, largest))
        largest = b.let(b.select(larger, size, largest))
        place = b.const(r, "int32")
        chosen = b.let(b.select(larger, place, chosen))
    first = top = rows[k]
    for r in range(k + 1, len(rows)):
        here = b.let(b.eq(chosen, r))
        old = rows[r]
        rows[r] = _choose(b, here, top, old)
        first = _choose(b, here, old, first)
    rows[k] = first
    return chosen


def _choose(b: Any, condition: Any, yes: Sequence[Any], no: Sequence[Any]) -> list[Any]:
    """Return one of two rows."""
    row = []
    for x, y in zip(yes, no, strict=True):
        chosen = b.select(condition, x, y)
        row.append(b.let(chosen))
    return row


def _eliminate(b: Any, rows: Rows, k: int) -> None:
    """Subtract multiples of row k from those below; a pivot of 0 leaves them."""
    top = rows[k]
    pivot = top[k]
    singular = b.let(b.eq(pivot, 0.0))
    for row in rows[k + 1 :]:
        quotient = b.div(row[k], pivot)
        factor = b.select(singular, row[k], quotient)
        row[k] = factor = b.let(factor)
        for c in range(k + 1, len(row)):
            product = b.mul(factor, top[c])
            row[c] = b.let(b.sub(row[c], product))
