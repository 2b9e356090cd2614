"""Cumulative operations along one axis: sums, products, extremes, log-sum-exp.

    cumsum[axis=0 reverse=False]: (n, m) -> (n, m)        y[i, j] = x[0, j] + ... + x[i, j]

They lower to one pass in index order; lines along other axes are independent.  Whatever the axis,
the running values of neighbouring lines are lanes: lines across rows are combined row by row, and
rows are transposed by squares and back again.  A line alone has its running value in a register.
Every line keeps its order, so that all of these give the same bits.

cumsum is linear; transposed it runs the other way.  The others are differentiated as a tree: with
a combination of pairs (value, tangent), prefixes are computed by combining neighbours, solving the
half-size problem, and filling in the rest.  That keeps the tangent a short chain of elementwise
operations, which vectorise and transpose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.linear import Zero
from tapeless.core.primitive import Primitive, Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.binary import add, max, min, mul, sub
from tapeless.prims.common import (
    add_tangents,
    batch_dim,
    const,
    extreme_hlo,
    full_like,
    shape_of,
    zeros_like,
)
from tapeless.prims.compare import eq, gt, lt, ne
from tapeless.prims.exponential import exp, log1p
from tapeless.prims.join import concatenate
from tapeless.prims.rearrangement import array_text, pairs_text
from tapeless.prims.rules import LinearUnary, highest, is_complex, lowest
from tapeless.prims.select import select
from tapeless.prims.slice import pad, slice_in_dim
from tapeless.prims.structural import rev
from tapeless.prims.unary import abs, neg

__all__ = [
    "cumlogsumexp",
    "cumlogsumexp_p",
    "cummax",
    "cummax_p",
    "cummin",
    "cummin_p",
    "cumprod",
    "cumprod_p",
    "cumsum",
    "cumsum_p",
]

Pair = tuple[Value, Value]
SQUARE = 16  # elements a side: of 32 bits a line of the cache


class Cumulative(Primitive):
    """y[i] = x[0] * ... * x[i] along `axis`, from the other end if `reverse`.

    `combine(b, total, x)` is the operation on scalars, `start(dtype)` its neutral element, and
    `pairs(p, q)` the operation on pairs (value, tangent).
    """

    types_follow = True

    ufunc: Any
    hlo_name = ""
    start: Callable[[Any], Any]

    def combine(self, b: Any, total: Any, x: Any) -> Any:
        """Combine two scalars."""
        raise NotImplementedError

    def pairs(self, p: Pair, q: Pair) -> Pair:
        """Combine two values and their tangents."""
        raise NotImplementedError

    def abstract(self, x: ShapedArray, *, axis: int, reverse: bool) -> tuple[ShapedArray, ...]:
        if not dtypes.issubdtype(x.dtype, np.number):
            raise TypeError(
                f"{self.name} does not accept dtype {dtypes.dtype_name(x.dtype)}. "
                "Accepted dtypes are subtypes of number."
            )
        if axis < 0:
            raise ValueError("XLA operations do not allow negative axes")
        if axis >= x.ndim:
            raise ValueError(f"axis {axis} is out of bounds for array of shape {x.shape}")
        return (x,)

    def jvp(
        self,
        primals: Values,
        tangents: Sequence[Value | Zero],
        **params: Any,
    ) -> tuple:
        (x,), (t,) = primals, tangents
        if isinstance(t, Zero):
            (out,) = self.bind(x, **params)
            return (out,), (Zero(typeof(out).tangent()),)
        axis, reverse = params["axis"], params["reverse"]
        pair = (x, t)
        if reverse:
            pair = tuple(rev(value, (axis,)) for value in pair)
        pair = _prefixes(self.pairs, pair, axis)
        if reverse:
            pair = tuple(rev(value, (axis,)) for value in pair)
        return (pair[0],), (pair[1],)

    def batch(
        self,
        batch_axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        *,
        axis: int,
        **params: Any,
    ) -> tuple:
        dim = batch_dim(dims)
        return self.bind(*args, axis=axis + (axis >= dim), **params), (dim,)

    def lower(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        axis: int,
        reverse: bool,
    ) -> tuple:
        (x,), (out,) = args, outs
        target = b.buffer(out)
        if out.size == 0:
            return (target,)
        lines = _Lines(b, self, x, target, axis, reverse)
        if lines.wide == out.dtype and lines.inner_size > 1:
            b.nest(out.shape[:axis], lines.across)
        elif lines.are_rows():
            lines.all_rows()
        else:
            b.nest(
                (*out.shape[:axis], *out.shape[axis + 1 :]),
                lines.along,
            )
        return (target,)

    def hlo(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        axis: int,
        reverse: bool,
    ) -> tuple:
        """Fold a window that ends at each element, over padding on one side."""
        (out,) = outs
        if not out.size:
            return (b.constant(0, out),)
        scalar = out.update(shape=())
        widths = [out.shape[i] if i == axis else 1 for i in range(out.ndim)]
        margins = [[0, width - 1] if reverse else [width - 1, 0] for width in widths]
        ones = array_text([1] * out.ndim)
        attributes = {
            "window_dimensions": array_text(widths),
            "padding": pairs_text(margins),
            "window_strides": ones,
            "base_dilations": ones,
            "window_dilations": ones,
        }
        start = b.broadcast(b.constant(self.start(out.dtype), scalar), scalar)
        region = b.region([scalar, scalar], lambda x, y: self.hlo_combine(b, x, y))
        return b.op("stablehlo.reduce_window", [*args, start], outs, attributes, [region])

    def hlo_combine(self, b: Any, x: Any, y: Any) -> tuple:
        """Combine two scalars of StableHLO."""
        if self.hlo_name in ("stablehlo.maximum", "stablehlo.minimum"):
            return (extreme_hlo(b, self.hlo_name, x, y),)
        return b.op(self.hlo_name, [x, y], [x.aval])

    def reference(self, x: np.ndarray, *, axis: int, reverse: bool) -> tuple:
        line = np.flip(x, axis) if reverse else x
        out = self.ufunc.accumulate(line, axis, dtype=x.dtype)
        return (np.flip(out, axis) if reverse else out,)


class _Lines:
    """The loops of one cumulative operation, from x to `target`."""

    def __init__(
        self,
        b: Any,
        prim: Cumulative,
        x: Any,
        target: Any,
        axis: int,
        reverse: bool,
    ) -> None:
        """Note what the loops need."""
        self.b, self.prim, self.x, self.target = b, prim, x, target
        self.axis, self.reverse = axis, reverse
        self.extent = target.shape[axis]
        self.inner = target.shape[axis + 1 :]
        self.inner_size = int(np.prod(self.inner, dtype=int))
        self.wide = accumulator(target.dtype)

    def place(self, i: Any) -> Any:
        """Return the position of the i-th element in the order of the operation."""
        if not self.reverse:
            return i
        return self.b.iadd(self.extent - 1, self.b.imul(i, -1))

    def along(self, line: Sequence[Any]) -> None:
        """Go along one line, the running value in a register."""
        b, axis = self.b, self.axis
        total = b.buffer(ShapedArray((), self.wide))
        b.store(total, (), b.const(self.prim.start(self.wide), self.wide))

        def step(i: Any) -> None:
            """Combine one element."""
            index = (*line[:axis], self.place(i), *line[axis:])
            new = b.convert(self.x.at(*index), self.wide)
            element = b.let(self.prim.combine(b, total.at(), new))
            b.store(total, (), element)
            b.store(
                self.target,
                index,
                b.convert(element, self.target.dtype),
            )

        b.loop(self.extent, step, independent=False)

    def are_rows(self) -> bool:
        """Tell whether the lines are rows of matrices that have squares of elements."""
        shape = self.target.shape
        if self.wide != self.target.dtype or is_complex(self.wide) or len(shape) < 2:
            return False
        return self.axis == len(shape) - 1 and all(size >= SQUARE for size in shape[-2:])

    def all_rows(self) -> None:
        """Go along all rows, by blocks of `SQUARE`, and along the rest one by one."""
        b, (*outer, n_rows, _) = self.b, self.target.shape
        blocks = n_rows // SQUARE
        done = blocks * SQUARE
        b.nest((*outer, blocks), self.turned)
        b.nest(
            (*outer, n_rows - done),
            lambda line: self.along((*line[:-1], b.iadd(line[-1], done))),
        )

    def turned(self, block: Sequence[Any]) -> None:
        """Go along `SQUARE` rows at a time, by squares that are transposed and back again.

        Then the running values of the rows are lanes, and each still has its own order.
        """
        b, combine = self.b, self.prim.combine
        *outer, number = block
        first = b.imul(number, SQUARE)
        # Row 0 has the running values, and each row below it one element of every line.
        square = b.buffer(ShapedArray((SQUARE + 1, SQUARE), self.wide))
        begin = b.const(self.prim.start(self.wide), self.wide)
        b.loop(SQUARE, lambda line: b.store(square, (0, line), begin))

        def elements(start: Any, count: int) -> None:
            """Go `count` elements along all lines, of which `start` are done."""
            low = b.iadd(self.place(start), 1 - count) if self.reverse else start

            def index(line: Any, j: Any) -> tuple[Any, ...]:
                """Return where element j of these is."""
                return (*outer, b.iadd(first, line), b.iadd(low, j))

            def row(j: Any) -> Any:
                """Return the row of the square for element j."""
                return b.iadd(b.imul(j, -1), count) if self.reverse else b.iadd(j, 1)

            def load(at: Sequence[Any]) -> None:
                """Put an element into the square."""
                j, line = at
                b.store(square, (row(j), line), self.x.at(*index(line, j)))

            def step(at: Sequence[Any]) -> None:
                """Combine an element with what is above it."""
                i, line = at
                below = (b.iadd(i, 1), line)
                b.store(square, below, combine(b, square.at(i, line), square.at(*below)))

            def save(at: Sequence[Any]) -> None:
                """Put an element into the result."""
                line, j = at
                b.store(self.target, index(line, j), square.at(row(j), line))

            b.nest((count, SQUARE), load)
            b.loop(
                count,
                lambda i: b.loop(SQUARE, lambda line: step((i, line))),
                independent=False,
            )
            b.nest((SQUARE, count), save)
            b.loop(SQUARE, lambda line: b.store(square, (0, line), square.at(count, line)))

        n_squares = self.extent // SQUARE
        b.loop(n_squares, lambda k: elements(b.imul(k, SQUARE), SQUARE), independent=False)
        if rest := self.extent % SQUARE:
            elements(n_squares * SQUARE, rest)

    def across(self, outer: Sequence[Any]) -> None:
        """Combine whole rows, each with the row before it in the result."""
        b = self.b

        def first(rest: Sequence[Any]) -> None:
            """Begin with an element of the first row, as every line does."""
            index = (*outer, self.place(0), *rest)
            begin = b.const(self.prim.start(self.wide), self.wide)
            b.store(self.target, index, self.prim.combine(b, begin, self.x.at(*index)))

        def row(i: Any) -> None:
            """Combine one row."""

            def step(rest: Sequence[Any]) -> None:
                """Combine one element of it."""
                before = self.target.at(*outer, self.place(i), *rest)
                index = (*outer, self.place(b.iadd(i, 1)), *rest)
                new = self.prim.combine(b, before, self.x.at(*index))
                b.store(self.target, index, new)

            b.nest(self.inner, step)

        b.nest(self.inner, first)
        b.loop(self.extent - 1, row, independent=False)


def accumulator(dtype: Any) -> Any:
    """Return the dtype of running values: 16-bit floats run in 32 bits."""
    narrow = dtypes.issubdtype(dtype, np.floating) and dtypes.itemsize_bits(dtype) < 32
    return np.dtype(np.float32) if narrow else dtype


def _prefixes(combine: Callable[[Pair, Pair], Pair], pair: Pair, axis: int) -> Pair:
    """Combine all prefixes along `axis`.

    Even and odd elements are combined; the prefixes of these are the odd prefixes of the whole;
    the even ones are those combined with the next even element:

        x0  x1  x2  x3  x4
        x0  x01 x02 x03 x04
    """
    size = shape_of(pair[0])[axis]
    if size < 2:
        return pair

    def part(values: Pair, start: int, stop: int, step: int = 1) -> Pair:
        """Slice both along the axis."""
        return tuple(slice_in_dim(value, start, stop, step, axis) for value in values)

    sums = combine(part(pair, 0, size - 1, 2), part(pair, 1, size, 2))
    odd = _prefixes(combine, sums, axis)
    before = odd if size % 2 else part(odd, 0, shape_of(odd[0])[axis] - 1)
    even = part(pair, 2, size, 2)
    if shape_of(even[0])[axis]:
        even = combine(before, even)
    first = part(pair, 0, 1)
    evens = tuple(concatenate((f, e), axis) for f, e in zip(first, even, strict=True))
    return _interleave(evens, odd, axis)


def _interleave(evens: Pair, odds: Pair, axis: int) -> Pair:
    """Alternate the elements of arrays along `axis`; those of `evens` come first."""
    n_even, n_odd = shape_of(evens[0])[axis], shape_of(odds[0])[axis]
    rank = len(shape_of(evens[0]))

    def spread(value: Value, before: int, after: int) -> Value:
        """Put zeros between the elements, before and after."""
        config = [(0, 0, 0)] * rank
        config[axis] = (before, after, 1)
        return pad(value, const(value, 0), tuple(config))

    evens = tuple(spread(value, 0, int(n_even == n_odd)) for value in evens)
    odds = tuple(spread(value, 1, int(n_even != n_odd)) for value in odds)
    return tuple(add(even, odd) for even, odd in zip(evens, odds, strict=True))


class CumSum(LinearUnary, Cumulative):
    """y[i] = x[0] + ... + x[i]; linear."""

    name = "cumsum"
    hlo_name = "stablehlo.add"
    ufunc = np.add

    @staticmethod
    def start(dtype: Any) -> Any:
        """Return 0."""
        return 0

    def transpose(
        self,
        cotangents: Sequence[Value | Zero],
        args: Sequence,
        *,
        axis: int,
        reverse: bool,
    ) -> tuple:
        (ct,), (x,) = cotangents, args
        if isinstance(ct, Zero):
            return (Zero(x.aval),)
        return self.bind(ct, axis=axis, reverse=not reverse)

    def combine(self, b: Any, total: Any, x: Any) -> Any:
        """Return total + x."""
        return b.add(total, x)

    def lower(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        axis: int,
        **params: Any,
    ) -> tuple:
        """Keep the sum of one element, also its sign if it is zero."""
        if outs[0].shape[axis] == 1:
            return tuple(args)
        return super().lower(b, args, outs, axis=axis, **params)


class CumProd(Cumulative):
    """y[i] = x[0] ... x[i]."""

    name = "cumprod"
    hlo_name = "stablehlo.multiply"
    ufunc = np.multiply

    @staticmethod
    def start(dtype: Any) -> Any:
        """Return 1."""
        return 1

    def combine(self, b: Any, total: Any, x: Any) -> Any:
        """Return total * x."""
        return b.mul(total, x)

    def pairs(self, p: Pair, q: Pair) -> Pair:
        """Return (p q, dp q + p dq)."""
        return mul(p[0], q[0]), add_tangents(mul(p[1], q[0]), mul(p[0], q[1]))


class CumExtreme(Cumulative):
    """The running extreme; among equal values, tangents are shared in halves."""

    def better(self, p: Value, q: Value) -> Value:
        """Tell where p wins over q."""
        raise NotImplementedError

    def extreme(self, p: Value, q: Value) -> Value:
        """Return the winners."""
        raise NotImplementedError

    def pairs(self, p: Pair, q: Pair) -> Pair:
        """Return the winner with its tangent, or the mean of both tangents."""
        value = self.extreme(p[0], q[0])
        left = mul(p[1], self._weight(p[0], q[0]))
        return value, add_tangents(left, mul(q[1], self._weight(q[0], p[0])))

    def _weight(self, p: Value, q: Value) -> Value:
        """Return 1 where p wins, 1/2 where it equals q, else 0."""
        wins, ties = self.better(p, q), eq(p, q)
        one, zero, half = full_like(p, 1), zeros_like(p), full_like(p, 0.5)
        return select(wins, one, select(ties, half, zero))


class CumMax(CumExtreme):
    """y[i] = max(x[0], ..., x[i])."""

    name = "cummax"
    hlo_name = "stablehlo.maximum"
    ufunc = np.maximum
    start = staticmethod(lowest)

    def combine(self, b: Any, total: Any, x: Any) -> Any:
        """Return max(total, x)."""
        return b.max(total, x)

    def better(self, p: Value, q: Value) -> Value:
        """Return p > q."""
        return gt(p, q)

    def extreme(self, p: Value, q: Value) -> Value:
        """Return max(p, q)."""
        return max(p, q)


class CumMin(CumExtreme):
    """y[i] = min(x[0], ..., x[i])."""

    name = "cummin"
    hlo_name = "stablehlo.minimum"
    ufunc = np.minimum
    start = staticmethod(highest)

    def combine(self, b: Any, total: Any, x: Any) -> Any:
        """Return min(total, x)."""
        return b.min(total, x)

    def better(self, p: Value, q: Value) -> Value:
        """Return p < q."""
        return lt(p, q)

    def extreme(self, p: Value, q: Value) -> Value:
        """Return min(p, q)."""
        return min(p, q)


class CumLogSumExp(Cumulative):
    """y[i] = log(exp(x[0]) + ... + exp(x[i]))."""

    name = "cumlogsumexp"
    ufunc = np.logaddexp

    def abstract(self, x: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        """Refuse integers, which have no logarithm of 0."""
        found = super().abstract(x, **params)
        if not dtypes.issubdtype(x.dtype, np.inexact):
            raise OverflowError(
                f"cumlogsumexp: cannot convert float infinity, the logarithm of 0, to integer "
                f"({dtypes.dtype_name(x.dtype)}). Convert the operand to a floating-point dtype."
            )
        return found

    @staticmethod
    def start(dtype: Any) -> Any:
        """Return -inf, the logarithm of 0."""
        return -np.inf

    def combine(self, b: Any, total: Any, x: Any) -> Any:
        """Return log(exp(total) + exp(x)), by way of the one with the larger real part."""
        distance, larger = b.sub(total, x), b.max(total, x)
        exponential = b.op("exp", b.sub(b.min(total, x), larger))
        result = b.add(larger, b.op("log1p", exponential))
        return b.select(b.ne(distance, distance), b.add(total, x), result)

    def hlo_combine(self, b: Any, x: Any, y: Any) -> tuple:
        """Do as `combine`."""
        kind = [x.aval]
        distance = b.op("stablehlo.subtract", [x, y], kind)
        if is_complex(x.aval.dtype):
            ends = (b.op(f"stablehlo.{end}", [x, y], kind)[0] for end in ("minimum", "maximum"))
            below = b.op("stablehlo.subtract", list(ends), kind)
        else:
            below = b.op("stablehlo.negate", b.op("stablehlo.abs", distance, kind), kind)
        exponential = b.op("stablehlo.exponential", below, kind)
        rest = b.op("stablehlo.log_plus_one", exponential, kind)
        result = b.op(
            "stablehlo.add",
            [*b.op("stablehlo.maximum", [x, y], kind), *rest],
            kind,
        )
        undefined = b.compare("NE", *distance, *distance)
        total = b.op("stablehlo.add", [x, y], kind)
        return b.op("stablehlo.select", [undefined, *total, *result], kind)

    def pairs(self, p: Pair, q: Pair) -> Pair:
        """Return the logarithm of the sum; its tangent is the mean, weighted by exp."""
        distance, larger = sub(p[0], q[0]), max(p[0], q[0])
        has_sign = not is_complex(typeof(larger).dtype)
        below = neg(abs(distance)) if has_sign else sub(min(p[0], q[0]), larger)
        finite = add(larger, log1p(exp(below)))
        value = select(ne(distance, distance), add(p[0], q[0]), finite)
        shares = (mul(t, exp(sub(_no_inf(x), _no_inf(value)))) for x, t in (p, q))
        return value, add(*shares)


def _no_inf(x: Value) -> Value:
    """Replace inf by 0, so that a difference of infinities is no NaN."""
    return select(eq(x, full_like(x, np.inf)), zeros_like(x), x)


cumsum_p = CumSum()
cumprod_p = CumProd()
cummax_p = CumMax()
cummin_p = CumMin()
cumlogsumexp_p = CumLogSumExp()


def cumsum(operand: Value, axis: int = 0, reverse: bool = False) -> Value:
    """Return the sums of all prefixes (suffixes, if `reverse`) along `axis`: (n,) -> (n,).

    >>> lax.cumsum(jnp.array([3, 1, 4, 2]))
    Array([ 3,  4,  8, 10], dtype=int32)
    """
    return cumsum_p.bind(operand, axis=int(axis), reverse=bool(reverse))[0]


def cumprod(operand: Value, axis: int = 0, reverse: bool = False) -> Value:
    """Return the products of all prefixes (suffixes) along `axis`: (n,) -> (n,).

    >>> lax.cumprod(jnp.array([3, 1, 4, 2]))
    Array([ 3,  3, 12, 24], dtype=int32)
    """
    return cumprod_p.bind(operand, axis=int(axis), reverse=bool(reverse))[0]


def cummax(operand: Value, axis: int = 0, reverse: bool = False) -> Value:
    """Return the maxima of all prefixes (suffixes) along `axis`: (n,) -> (n,).

    >>> lax.cummax(jnp.array([3, 1, 4, 2]))
    Array([3, 3, 4, 4], dtype=int32)
    """
    return cummax_p.bind(operand, axis=int(axis), reverse=bool(reverse))[0]


def cummin(operand: Value, axis: int = 0, reverse: bool = False) -> Value:
    """Return the minima of all prefixes (suffixes) along `axis`: (n,) -> (n,).

    >>> lax.cummin(jnp.array([3, 1, 4, 2]))
    Array([3, 1, 1, 1], dtype=int32)
    """
    return cummin_p.bind(operand, axis=int(axis), reverse=bool(reverse))[0]


def cumlogsumexp(operand: Value, axis: int = 0, reverse: bool = False) -> Value:
    """Return the logarithms of the sums of exponentials of all prefixes along `axis`: (n) -> (n).

    >>> lax.cumlogsumexp(jnp.zeros(3)).round(3)
    Array([0.   , 0.693, 1.099], dtype=float32)
    """
    return cumlogsumexp_p.bind(operand, axis=int(axis), reverse=bool(reverse))[0]
