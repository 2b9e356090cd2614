"""Fourier transforms by routines for groups of lines, as statements of the loop language.

The routines (`kernel/fourier.py`) transform as many lines at once as a vector has lanes.

    rows        lines along the last axis: a group is gathered, transformed, and scattered
    columns     lines along another axis: the first pass reads them, the last one writes them
    two steps   few lines, or long ones: x (n, m), a line of n m numbers, is transformed along its
                columns, multiplied by roots, and along its rows, whose results are columns of
                (m, n) again

Real lines are lines of half as many complex numbers, in the same memory; their spectrum is *split*
into that of real numbers, or *merged* before the inverse. Of a real line whose whole spectrum is
wanted, both halves are written. Lines of an odd length, and few or long lines, become complex.

Groups are shared by threads. No line's results depend on those beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless.core.aval import ShapedArray
from tapeless.kernel.fourier import Fourier, factors_of
from tapeless.kernel.parts import Pair
from tapeless.kernel.strips import Registers
from tapeless.prims.rules import is_complex
from tapeless.util.records import record

__all__ = ["Shape", "fourier_transform", "shape_of_transform"]

LONGEST_BYTES = 1 << 18  # of a group, which stays in the second cache with another one
MOST = 1 << 20  # numbers of a line in two steps
_VECTOR_BYTES = 32  # of the processors that have the routines, at least


@record
class Shape:
    """What is to be transformed.

    dtype: of parts; lanes: of a vector; lengths: of the last axes; outer: how many lines there are
    along the last one; is_inverse; is_real, gives_real: what the operand and the result are;
    n_results: of a line.
    """

    dtype: np.dtype
    lanes: int
    lengths: tuple[int, ...]
    outer: int
    is_inverse: bool
    is_real: bool
    gives_real: bool
    n_results: int

    @property
    def sign(self) -> int:
        """Of the exponents."""
        return -1 if self.is_inverse else 1

    @property
    def longest(self) -> int:
        """The longest line of a group."""
        return LONGEST_BYTES // (2 * self.lanes * self.dtype.itemsize)

    @property
    def has_few(self) -> bool:
        """Whether lines would leave most lanes empty."""
        return 2 * self.outer < self.lanes

    @property
    def in_pairs(self) -> bool:
        """Whether real numbers are taken as half as many complex ones."""
        n = self.lengths[-1]
        if not (self.is_real or self.gives_real) or n % 2 or n < self.lanes:
            return False
        if self.has_few and self.steps:
            return False
        return n <= self.longest and bool(factors_of(n // 2))

    @property
    def steps(self) -> tuple[int, int] | None:
        """The lengths of two steps, for few lines or long ones."""
        n = self.lengths[-1]
        if n > MOST or n <= self.longest and not self.has_few:
            return None
        lanes, found = self.lanes, []
        for first in range(lanes // 2, n // (lanes // 2) + 1):
            second, rest = divmod(n, first)
            if rest == 0 and max(first, second) <= self.longest:
                groups = -(-first // lanes) * second + -(-second // lanes) * first
                found.append((groups, abs(first - second), (first, second)))
        return min(found)[2] if found else None

    @property
    def fits(self) -> bool:
        """Whether there are routines for all lengths."""
        inner = self.n_results
        for length in reversed(self.lengths[:-1]):
            if 2 * inner < self.lanes or length > self.longest or factors_of(length) is None:
                return False
            inner *= length
        n = self.lengths[-1]
        if self.in_pairs or not factors_of(n):
            return self.in_pairs
        few = 2 * (self.n_results if self.is_real else n)
        return self.lanes <= few and (n <= self.longest or self.steps is not None)


def shape_of_transform(
    registers: Registers | None,
    x: ShapedArray,
    out: ShapedArray,
    is_inverse: bool,
    lengths: Sequence[int],
) -> Shape | None:
    """Return what is to be done, or None if the routines are not for it."""
    if registers is None or registers.bytes < _VECTOR_BYTES:
        return None
    parts = np.zeros(0, out.dtype).real.dtype
    lanes = registers.bytes // parts.itemsize
    outer = math.prod(out.shape[:-1])
    kinds = (not is_complex(x.dtype), not is_complex(out.dtype))
    shape = Shape(parts, lanes, tuple(lengths), outer, is_inverse, *kinds, out.shape[-1])
    return shape if shape.fits else None


@record
class _Where:
    """Where the numbers at the first place of a group are, and how far the next place is.

    place: an index of the elements; step: in real numbers.
    """

    memory: Any
    place: Any
    step: int
    is_column: bool


def fourier_transform(b: Any, x: Any, out: ShapedArray, shape: Shape) -> Any:
    """Return the transform of x, stored."""
    return _Transform(b, out, shape).run(b.stored(x))


class _Transform:
    """The statements of a transform."""

    def __init__(self, b: Any, out: ShapedArray, shape: Shape) -> None:
        """Make the memory of the result."""
        self.b, self.shape = b, shape
        self.lanes, self.dtype = shape.lanes, shape.dtype
        self.out = b.buffer(out)
        self.tables: dict[str, Any] = {}

    def run(self, x: Any) -> Any:
        """Transform along all axes; of real results, the last axis is the last one."""
        shape, out = self.shape, self.out
        others = range(-len(shape.lengths), -1)
        if shape.gives_real and others:
            half = self.b.buffer(x.aval)
            for axis in others:
                self.columns(x, half, axis)
                x = half
        if shape.in_pairs:
            self.pairs(x, out)
        else:
            self.last_axis(x)
        if not shape.gives_real:
            for axis in others:
                self.columns(out, out, axis)
        return out

    def last_axis(self, x: Any) -> None:
        """Transform along the last axis, as complex numbers all the way."""
        b, shape, out = self.b, self.shape, self.out
        n = shape.lengths[-1]
        whole = ShapedArray((*out.shape[:-1], n), np.result_type(self.dtype, np.complex64))
        if shape.is_real or shape.gives_real:
            source = b.buffer(whole)
            b.nest(x.shape, lambda i: b.store(source, i, b.convert(x.at(*i), whole.dtype)))
            if shape.gives_real:
                self.mirror(x, source)
            x = source
        target = out if out.aval.shape == whole.shape and not shape.gives_real else b.buffer(whole)
        if shape.steps:
            self.two_steps(x, target, *shape.steps)
        else:
            self.rows(x, target)
        if target is not out:

            def copy(index: Sequence[Any]) -> None:
                """Copy an element that is wanted."""
                value = target.at(*index)
                b.store(out, index, value[0] if shape.gives_real else value)

            b.nest(out.shape, copy)

    def mirror(self, x: Any, whole: Any) -> None:
        """Store the other half of a spectrum."""
        b = self.b
        n, half = whole.shape[-1], x.shape[-1]

        def copy(index: Sequence[Any]) -> None:
            """Store the conjugate of an element."""
            *line, k = index
            real, imaginary = x.at(*line, b.iadd(k, 1))
            place = b.iadd(b.imul(k, -1), n - 1)
            b.store(whole, (*line, place), Pair(real, b.neg(imaginary)))

        b.nest((*x.shape[:-1], n - half), copy)

    # Calls

    def call(
        self,
        kind: str,
        args: Sequence,
        reads: Sequence,
        writes: Sequence,
        sign: int = 1,
    ) -> None:
        """Call a routine."""
        symbol = Fourier(self.dtype, self.lanes, kind, sign).symbol
        self.b.call(symbol, args, reads=reads, writes=writes)

    def table(self, kind: str, size: int) -> Any:
        """Return a table of some numbers, made before the loops."""
        if kind not in self.tables:
            table = self.tables[kind] = self.b.buffer(ShapedArray((size,), self.dtype), "temp")
            symbol = Fourier(self.dtype, self.lanes, kind).symbol
            self.b.call(symbol, (table,), reads=(), writes=(table,))
        return self.tables[kind]

    def line_table(self, n: int) -> Any:
        """Return the roots of the passes for a length."""
        size, rest = 0, n
        for factor in factors_of(n) or ():
            rest //= factor
            size += 2 * rest * (factor - 1)
        return self.table(f"line.{n}", size)

    def group(self, n: int) -> Any:
        """Make the memory of a group."""
        return self.b.buffer(ShapedArray((2 * self.lanes * n,), self.dtype), "temp")

    def scale(self, value: float) -> Any:
        """Return a factor of the results."""
        return self.b.const(value, self.dtype)

    def groups(
        self,
        outer: int,
        count: int,
        body: Callable[[Any, Any, int], None],
    ) -> None:
        """Run `body` for each group: of which batch, its number, and how many lines it has."""
        whole, rest = divmod(count, self.lanes)
        if whole:
            self.b.nest((outer, whole), lambda i: body(i[0], i[1], self.lanes))
        if rest:
            self.b.nest((outer,), lambda i: body(i[0], whole, rest))

    def passes(
        self,
        n: int,
        source: _Where,
        spare: Any,
        count: int,
        last: _Where | None = None,
        by: float = 1,
    ) -> Any:
        """Transform a group; return the memory in which it is, or `last`, where it is to go.

        spare: the memory of two groups, of which one may be the source.
        """
        table, start, steps = self.line_table(n), 0, 1
        factors = factors_of(n) or []
        for i, factor in enumerate(factors):
            parts = n // factor // steps
            is_last = i == len(factors) - 1
            target = last if is_last else None
            if target is None:
                target = self.near(spare[source.memory is spare[0]])
            names = "".join("sc"[where.is_column] for where in (source, target))
            kind = f"{factor}{names}{'' if is_last else 'w'}"
            sizes = (parts, steps, source.step, target.step, count)
            places = [(where.memory, where.place) for where in (source, target)]
            args = (*places, (table, start), *sizes, self.scale(by if is_last else 1))
            sign = self.shape.sign if "c" in names else 1
            self.call(kind, args, (source.memory, table), (target.memory,), sign)
            start += 2 * parts * (factor - 1)
            steps *= factor
            source = target
        return source.memory

    def near(self, memory: Any) -> _Where:
        """Return where a group is."""
        return _Where(memory, 0, 2 * self.lanes, False)

    def gather(
        self,
        x: Any,
        place: Any,
        group: Any,
        sizes: tuple[int, int, int],
    ) -> None:
        """Bring rows to a group; sizes: numbers of a row, between rows, and rows."""
        sign = 1 if self.shape.in_pairs else self.shape.sign
        self.call("gather", ((x, place), group, *sizes), (x,), (group,), sign)

    def scatter(
        self,
        group: Any,
        out: Any,
        place: Any,
        sizes: tuple[int, int, int],
        by: float,
    ) -> None:
        """Bring a group to rows."""
        is_forward = self.shape.in_pairs and self.shape.is_real
        sign = 1 if is_forward else self.shape.sign
        self.call("scatter", (group, (out, place), *sizes, self.scale(by)), (group,), (out,), sign)

    # Axes

    def rows(self, x: Any, out: Any) -> None:
        """Transform rows of complex numbers."""
        b, n = self.b, self.shape.lengths[-1]
        by = 1 / n if self.shape.is_inverse else 1
        self.line_table(n)

        def group(_: Any, number: Any, count: int) -> None:
            """Transform some rows."""
            first, sizes = b.imul(number, self.lanes * n), (2 * n, 2 * n, count)
            spare = self.group(n), self.group(n)
            self.gather(x, first, spare[0], sizes)
            found = self.passes(n, self.near(spare[0]), spare, count)
            self.scatter(found, out, first, sizes, by)

        self.groups(1, self.shape.outer, group)

    def pairs(
        self,
        x: Any,
        out: Any,
    ) -> None:
        """Transform rows of pairs of real numbers."""
        b, shape, n = self.b, self.shape, self.shape.lengths[-1]
        size, source, target = n // 2, x.shape[-1], out.shape[-1]
        by = 1 / n if shape.is_inverse else 1
        numbers = source if shape.is_real else 2 * source
        results = target if shape.gives_real else 2 * target
        self.line_table(size)
        roots = self.table(f"real.{n}", 2 * (n // 4 + 1))

        def group(_: Any, number: Any, count: int) -> None:
            """Transform some rows."""
            first = b.imul(number, self.lanes)
            spare = self.group(max(source, size)), self.group(size)
            self.gather(x, b.imul(first, source), spare[0], (numbers, numbers, count))
            found = spare[0]
            if shape.gives_real:
                self.call("merge", (found, spare[1], roots, size), (found, roots), spare[1:])
                found = spare[1]
            found = self.passes(size, self.near(found), spare, count)
            if shape.is_real:
                wide, kind = self.group(target), "whole" if target == n else "split"
                args = (found, wide, roots, size)
                self.call(kind, args, (found, roots), (wide,), shape.sign)
                found = wide
            place = b.imul(first, target)
            self.scatter(found, out, place, (results, results, count), by)

        self.groups(1, shape.outer, group)

    def columns(
        self,
        x: Any,
        out: Any,
        axis: int,
    ) -> None:
        """Transform along another axis, which may be in place."""
        b, n = self.b, out.shape[axis]
        if n == 1:
            if x is not out:
                b.assign(out, x)
            return
        inner = math.prod(out.shape[axis:][1:])
        outer = math.prod(out.shape[:axis])
        by = 1 / n if self.shape.is_inverse else 1
        self.line_table(n)

        def group(batch: Any, number: Any, count: int) -> None:
            """Transform some columns."""
            place = b.iadd(b.imul(batch, n * inner), b.imul(number, self.lanes))
            source, target = (_Where(y, place, 2 * inner, True) for y in (x, out))
            spare = [self.group(n) for _ in range(2)] if len(factors_of(n) or ()) > 1 else []
            self.passes(n, source, spare, count, target, by)

        self.groups(outer, inner, group)

    def two_steps(
        self,
        x: Any,
        out: Any,
        n: int,
        m: int,
    ) -> None:
        """Transform lines of n m numbers."""
        b, lanes, size = self.b, self.lanes, n * m
        between = b.buffer(out.aval)
        by = 1 / size if self.shape.is_inverse else 1
        scalars = 2 * -(-n // lanes) * m
        self.line_table(n), self.line_table(m)
        roots = self.table(f"twist.{n}.{m}", scalars + 2 * m * lanes)

        def down(line: Any, number: Any, count: int) -> None:
            """Transform some columns of a line."""
            place = b.iadd(b.imul(line, size), b.imul(number, lanes))
            source, target = (_Where(y, place, 2 * m, True) for y in (x, between))
            spare = self.group(n), self.group(n)
            self.passes(n, source, spare, count, target)

        def along(line: Any, number: Any, count: int) -> None:
            """Transform some rows of it."""
            start, first = b.imul(line, size), b.imul(number, lanes)
            spare = self.group(m), self.group(m)
            self.gather(between, b.iadd(start, b.imul(first, m)), spare[0], (2 * m, 2 * m, count))
            here = (roots, b.imul(number, 2 * m))
            self.call("twist", (spare[0], here, (roots, scalars), m), (spare[0], roots), spare[:1])
            target = _Where(out, b.iadd(start, first), 2 * n, True)
            self.passes(m, self.near(spare[0]), spare, count, target, by)

        self.groups(self.shape.outer, m, down)
        self.groups(self.shape.outer, n, along)
