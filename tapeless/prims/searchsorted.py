"""Binary search in sorted lines.

    SearchSorted[side=left]: sorted (n,), queries (q,) -> places (q,) in 0..n

A place is how many elements come before the query: those less than it (`left`), or also those equal
to it (`right`).  The order is that of `sort`: zeros of both signs are equal, NaNs are equal and
last, complex numbers are ordered by their real parts, then by their imaginary parts.

With batch axes: sorted (*b, *own, n), queries (*b, *q) -> (*b, *own, *q), where the first
`batch_dims` axes b are shared, and every line of `own` is searched for every query.

Each query halves the range left by one comparison and one selection, without branches, in a number
of steps that depends on n alone.  `method` asks for another way; the places are the same, and so is
the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.linear import Zero
from tapeless.core.primitive import Primitive, Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.bitwise import bitwise_and, bitwise_or
from tapeless.prims.common import batch_dim, move_dim, shape_of
from tapeless.prims.compare import eq, lt, ne
from tapeless.prims.convert import convert_element_type
from tapeless.prims.parts import imag, real
from tapeless.prims.reduce import reduce_sum
from tapeless.prims.rules import is_complex, require_order
from tapeless.prims.structural import broadcast_in_dim
from tapeless.util import lazy

__all__ = ["search_sorted", "search_sorted_p"]

sortloops = lazy.load("tapeless.prims.sortloops")

kernel_parts = lazy.load("tapeless.kernel.parts")

METHODS = ("compare_all", "scan", "scan_unrolled", "sort")
_I32 = np.dtype(np.int32)
_I64 = np.dtype(np.int64)


class SearchSorted(Primitive):
    """sorted (*b, *own, n), queries (*b, *q) -> how many elements come before: (*b, *own, *q)."""

    name = "SearchSorted"
    prints_as_bound = True

    def abstract(
        self, line: ShapedArray, query: ShapedArray, *, batch_dims: int, **params: Any
    ) -> tuple[ShapedArray, ...]:
        if line.dtype != query.dtype:
            raise TypeError(
                f"searchsorted requires arguments of one dtype, got {line.dtype} and {query.dtype}"
            )
        require_order(line, "le_to")
        shape = line.shape[:-1] + query.shape[batch_dims:]
        return (ShapedArray(shape, _I32),)

    def jvp(
        self, primals: Values, tangents: Sequence[Value | Zero], **params: Any
    ) -> tuple[tuple, tuple]:
        (out,) = self.bind(*primals, **params)
        return (out,), (Zero(typeof(out).tangent()),)

    def batch(
        self, batch_axis: Axis, args: Values, dims: Sequence[int | None], **params: Any
    ) -> tuple:
        (line, query), (line_dim, query_dim) = args, dims
        shared = params["batch_dims"]
        if line_dim is None:
            query = move_dim(query, batch_dim(dims), shared)
            return self.bind(line, query, **params), (len(shape_of(line)) - 1,)
        grown = {**params, "dimension": params["dimension"] + 1}
        if query_dim is None:
            return self.bind(move_dim(line, line_dim, shared), query, **grown), (shared,)
        line, query = move_dim(line, line_dim, 0), move_dim(query, query_dim, 0)
        return self.bind(line, query, **{**grown, "batch_dims": shared + 1}), (0,)

    def lower(
        self, b: Any, args: Sequence, outs: tuple, *, side: str, batch_dims: int, **params: Any
    ) -> tuple:
        (line, query), (out,) = args, outs
        n, n_lines = line.shape[-1], len(line.shape) - 1
        line = b.stored(line)

        def pull(index: Sequence[Any]) -> Any:
            """Search for one query."""
            lead, rest = index[:n_lines], index[n_lines:]
            wanted = query.at(*lead[:batch_dims], *rest)
            comes_before = _comparison(b, wanted, side)
            place, left = b.const(0, _I64), n
            while left > 0:
                half = (left + 1) // 2
                front = line.at(*lead, b.add(place, half - 1))
                passed = b.add(place, half)
                place = b.select(comes_before(front), passed, place)
                left -= half
            return b.convert(place, _I32)

        return (b.stored(b.virtual(out, pull)),)

    def decompose(self, *args: Value, side: str, batch_dims: int, **params: Any) -> tuple:
        """Compare all pairs and count."""
        line, query = args
        lines, queries = shape_of(line), shape_of(query)
        shape = lines[:-1] + queries[batch_dims:] + lines[-1:]
        n_lines, rank = len(lines) - 1, len(shape)
        kept = (*range(batch_dims), *range(n_lines, rank - 1))
        line = broadcast_in_dim(line, shape, (*range(n_lines), rank - 1))
        query = broadcast_in_dim(query, shape, kept)
        before = _before(line, query, side)
        return (reduce_sum(convert_element_type(before, _I32), (rank - 1,)),)

    def reference(
        self,
        line: np.ndarray,
        query: np.ndarray,
        *,
        side: Literal["left", "right"],
        batch_dims: int,
        **params: Any,
    ) -> tuple:
        shape = line.shape[:-1] + query.shape[batch_dims:]
        out = np.zeros(shape, _I32)
        for lead in np.ndindex(*line.shape[:-1]):
            wanted = query[lead[:batch_dims]]
            out[lead] = np.searchsorted(line[lead], wanted, side)
        return (out,)


def _comparison(b: Any, query: Any, side: str) -> Any:
    """Return the function that tells whether an element comes before the query."""
    if isinstance(query, kernel_parts.Pair):
        keys = [sortloops.ordered(b, query.re), sortloops.ordered(b, query.im)]

        def before(element: Any) -> Any:
            """Compare real parts, then imaginary parts."""
            re = sortloops.ordered(b, element.re)
            im = sortloops.ordered(b, element.im)
            compare = b.lt if side == "left" else b.le
            last = compare(im, keys[1])
            same = b.eq(re, keys[0])
            tie = b.and_(same, last)
            return b.or_(b.lt(re, keys[0]), tie)

        return before
    if query.dtype == np.bool_:
        query = b.convert(query, np.dtype(np.uint8))
    floating = dtypes.issubdtype(query.dtype, np.floating)
    is_nan = b.ne(query, query) if floating else None

    def before(element: Any) -> Any:
        """Compare two numbers; everything else comes before a NaN."""
        element = b.convert(element, query.dtype)
        compare = b.lt if side == "left" else b.le
        less = compare(element, query)
        if not floating:
            return less
        under_nan = is_nan
        if side == "left":
            under_nan = b.and_(is_nan, b.eq(element, element))
        return b.or_(less, under_nan)

    return before


def _before(x: Value, y: Value, side: str) -> Value:
    """Tell where elements of x come before those of y."""
    if is_complex(typeof(x).dtype):
        x_real, y_real = real(x), real(y)
        less = _before(x_real, y_real, "left")
        more = _before(y_real, x_real, "left")
        second = _before(imag(x), imag(y), side)
        tie = bitwise_and(eq(less, more), second)
        return bitwise_or(less, tie)
    nan_x = ne(x, x)
    nan_y = ne(y, y)
    under_nan = bitwise_and(eq(x, x), nan_y)
    less = bitwise_or(lt(x, y), under_nan)
    if side == "left":
        return less
    same_nan = bitwise_and(nan_x, nan_y)
    same = bitwise_or(eq(x, y), same_nan)
    return bitwise_or(less, same)


search_sorted_p = SearchSorted()


def search_sorted(line: Value, query: Value, side: str = "left", *, method: str = "scan") -> Value:
    """Return where to insert `query` in the sorted `line`: (n,), (*q) -> (*q)."""
    return search_sorted_p.bind(
        line,
        query,
        side=side,
        dimension=0,
        batch_dims=0,
        method=method,
    )[0]
