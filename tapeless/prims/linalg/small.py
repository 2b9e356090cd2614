"""Factors and solves of many small matrices, in generated code.

A call of LAPACK costs more than the arithmetic of a small matrix. Up to SMALL rows the loops over
rows and columns are written out, and what remains is one loop over the matrices,

    a: (count, n, n), one body for each of the `count` matrices

whose lanes are matrices: element (r, c) of as many of them as a register holds is one value. So
that the loop has nothing but stores in it, which is what lanes need, results go to other memory
than operands, and an intermediate is an expression. Row exchanges are selections, as the pivot is
known only when the kernel runs; pivots are LAPACK's, which measures complex numbers by the sum of
the sizes of their parts.

The code grows with the third power of the rows. A single matrix of more than LONE of them does not
repay the time to compile it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from tapeless.core.aval import ShapedArray
from tapeless.kernel.cheap import is_recipe
from tapeless.kernel.graph import walk
from tapeless.kernel.ir import Op, Reduce
from tapeless.kernel.parts import Pair, parts_of
from tapeless.prims.rules import is_complex

__all__ = ["is_small", "small_cholesky", "small_lu", "small_operand", "small_solve"]

SMALL = 8
LONE = 4
CHEAP = 12
Row = list[Any]
Entry = Callable[[Any, Any, int], tuple[Any, ...]]


def is_small(aval: ShapedArray) -> bool:
    """Tell whether matrices (..., n, m) are for this file."""
    count = math.prod(aval.shape[:-2])
    return aval.size > 0 and max(aval.shape[-2:]) <= (SMALL if count > 1 else LONE)


def small_operand(b: Any, x: Any) -> Any:
    """Return x (..., n, m) as (count, n, m), in memory unless its elements are cheaply computed.

    Each element is read once by the functions below, whose code contains what computes it.
    """
    index = b.fresh_index(x.shape, "i")[1]
    element = x.at(*index)
    nodes = walk(parts_of(element))
    operations = [node for node in nodes if isinstance(node, Op)]
    loops = any(isinstance(node, Reduce) for node in nodes)
    recipes = any(map(is_recipe, operations))
    if loops or recipes or len(operations) > CHEAP:
        b.stored(x)
    *batch, n, m = x.shape
    shape = math.prod(batch), n, m
    return b.reshape(x, ShapedArray(shape, x.dtype))


def small_cholesky(b: Any, a: Any, out: Any) -> None:
    """Store the Cholesky factors of a (count, n, n), or NaN: out (count, n, n).

    The upper triangles of `a` are not read, those of `out` are zero.
    """
    count, n, _ = a.shape
    zero = b.const(0, out.dtype)
    real = b.const(math.nan, out.dtype)
    nan = b.const(complex(math.nan, math.nan), out.dtype) if is_complex(out.dtype) else real

    def factor(index: Sequence[Any]) -> None:
        """Factor one matrix, column after column."""
        (i,) = index
        rows = [_row(a, i, r, r + 1) for r in range(n)]
        checks = []
        for c in range(n):
            check = _cholesky_column(b, rows, c)
            checks.append(check)
        valid = functools.reduce(b.and_, checks)
        for r, row in enumerate(rows):
            for c, x in enumerate(row):
                value = b.select(valid, x, real if c == r else nan)
                b.store(out, (i, r, c), value)
            for c in range(r + 1, n):
                b.store(out, (i, r, c), zero)

    b.nest((count,), factor)


def _cholesky_column(b: Any, rows: Sequence[Row], c: int) -> Any:
    """Compute one column of the factor; return whether the matrix is positive so far."""
    pivot = rows[c]
    known = [b.conj(x) for x in pivot[:c]]
    rest = _less_products(b, pivot[c], pivot, known)
    square = b.re(rest)
    root = b.sqrt(square)
    for row in rows[c + 1 :]:
        rest = _less_products(b, row[c], row, known)
        row[c] = _divided(b, rest, root)
    dtype = pivot[c].dtype
    pivot[c] = b.convert(root, dtype)
    return b.gt(square, 0.0)


def _divided(b: Any, x: Any, real: Any) -> Any:
    """Return x divided by a real number."""
    if not isinstance(x, Pair):
        return b.div(x, real)
    re = b.div(x.re, real)
    im = b.div(x.im, real)
    return b.pair(re, im)


def _row(a: Any, i: Any, r: int, size: int) -> Row:
    """Return the first elements of a row."""
    return [a.at(i, r, c) for c in range(size)]


def small_lu(
    b: Any,
    a: Any,
    factors: Any,
    pivots: Any,
    order: Any,
) -> None:
    """Factor a (count, n, m): factors (count, n, m), pivots (count, min(n, m)), order (count, n).

    Row k was exchanged with row pivots[k], counted from 0; order: where the rows stood before.
    """
    count, n, m = a.shape

    def factor(index: Sequence[Any]) -> None:
        """Factor one matrix, column after column; the last element of a row is its number."""
        (i,) = index
        rows = [_row(a, i, r, m) for r in range(n)]
        for r, row in enumerate(rows):
            number = b.const(r, order.dtype)
            row.append(number)
        chosen = []
        for k in range(min(n, m)):
            place = _exchange_rows(b, rows, k)
            chosen.append(place)
            _eliminate(b, rows, k)
        for r, row in enumerate(rows):
            for c, x in enumerate(row[:m]):
                b.store(factors, (i, r, c), x)
        for k, place in enumerate(chosen):
            b.store(pivots, (i, k), place)
        for r, row in enumerate(rows):
            b.store(order, (i, r), row[m])

    b.nest((count,), factor)


def _exchange_rows(b: Any, rows: list[Row], k: int) -> Any:
    """Bring the row with the largest element of column k to place k; return where it was."""
    dtype = rows[k][-1].dtype
    largest = _size(b, rows[k][k])
    chosen = b.const(k, dtype)
    for r in range(k + 1, len(rows)):
        size = _size(b, rows[r][k])
        larger = b.gt(size, largest)
        largest = b.select(larger, size, largest)
        place = b.const(r, dtype)
        chosen = b.select(larger, place, chosen)
    first = top = rows[k]
    for r in range(k + 1, len(rows)):
        here = b.eq(chosen, r)
        old = rows[r]
        rows[r] = _choose(b, here, top, old)
        first = _choose(b, here, old, first)
    rows[k] = first
    return chosen


def _size(b: Any, x: Any) -> Any:
    """Return the size of a number by which pivots are chosen."""
    if not isinstance(x, Pair):
        return b.abs(x)
    re = b.abs(x.re)
    im = b.abs(x.im)
    return b.add(re, im)


def _choose(b: Any, condition: Any, yes: Row, no: Row) -> Row:
    """Return one of two rows."""
    row = []
    for x, y in zip(yes, no, strict=True):
        chosen = b.select(condition, x, y)
        row.append(chosen)
    return row


def _eliminate(b: Any, rows: Sequence[Row], k: int) -> None:
    """Subtract multiples of row k from those below; a pivot of 0 leaves them."""
    top = rows[k]
    singular = b.eq(top[k], 0.0)
    for row in rows[k + 1 :]:
        quotient = b.div(row[k], top[k])
        factor = b.select(singular, row[k], quotient)
        row[k] = factor
        for c in range(k + 1, len(row) - 1):
            product = b.mul(factor, top[c])
            row[c] = b.sub(row[c], product)


def small_solve(
    b: Any,
    a: Any,
    y: Any,
    x: Any,
    entry: Entry,
    *,
    lower: bool,
    unit: bool,
) -> None:
    """Solve triangular systems a x = y.

    a: (count, n, n).  x, y: vectors of n elements, which stand at `entry(i, vector, position)`.
    lower, unit: whether `a` is a lower triangle, and whether its diagonal is 1.
    """
    count, n, _ = a.shape
    n_vectors = math.prod(x.shape[1:]) // n

    def solve(i: Any, vectors: Sequence[Any]) -> None:
        """Solve for some vectors of one matrix."""
        results = []
        for vector in vectors:
            places = [entry(i, vector, r) for r in range(n)]
            start = [y.at(*place) for place in places]
            result = _substitute(b, a, i, start, lower, unit)
            results.append(result)
        for vector, result in zip(vectors, results, strict=True):
            for r, value in enumerate(result):
                place = entry(i, vector, r)
                b.store(x, place, value)

    if n_vectors <= SMALL:
        together = range(n_vectors)
        b.nest((count,), lambda index: solve(index[0], together))
    else:
        shape = count, n_vectors
        b.nest(shape, lambda index: solve(index[0], index[1:]))


def _substitute(
    b: Any,
    a: Any,
    i: Any,
    start: Row,
    lower: bool,
    unit: bool,
) -> Row:
    """Solve matrix i of `a` for one right-hand side."""
    n = len(start)
    found: dict[int, Any] = {}
    for step in range(n):
        r = step if lower else n - 1 - step
        row = [a.at(i, r, c) for c in found]
        known = list(found.values())
        value = _less_products(b, start[r], row, known)
        if not unit:
            pivot = a.at(i, r, r)
            value = b.div(value, pivot)
        found[r] = value
    return [found[r] for r in range(n)]


def _less_products(b: Any, start: Any, xs: Sequence[Any], ys: Sequence[Any]) -> Any:
    """Return start - x0 y0 - x1 y1 - ..., for as many as there are of y."""
    total = start
    used = xs[: len(ys)]
    for x, y in zip(used, ys, strict=True):
        product = b.mul(x, y)
        total = b.sub(total, product)
    return total
