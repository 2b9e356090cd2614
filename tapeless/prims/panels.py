"""Products of matrices with a packed factor, as statements of the loop language.

    out (n, m) = x (n, k) y (k, m)

The right factor is laid out once, in *panels* of some columns, term by term (`kernel/panels.py`):
conversion to the dtype of the sums and transposition are part of that copy. The left factor is read
where it lies, by rows or by columns. A routine computes a *strip*, some rows of one panel:

    for each pass, a run of terms            mostly all of them
        for each block of rows               in parallel
            for each panel                   it stays in the second cache, and is asked for in time
                for each strip               of the block

Sums of a pass are added to those before; what is added to what depends on the sizes alone. Columns
that fill no panel are a narrower panel, padded with zeros if need be; its results go to an *edge*
of their own, of which the columns that exist are copied. Rows that fill no strip are in one that
overlaps the one before, since each height is a routine to be compiled; where passes are added up,
it has those rows alone. A block of rows that lie by columns, or whose lines would have one place in
the first cache, is copied first.

There are three ways to the panels. Many rows share a factor that is packed as a whole. Of batches,
and for fewer rows, a block of columns is packed and used by one thread, *apart* from others, and
never leaves its cache. What lies by rows and stays in the first cache is read *in place*, and so is
what few rows are multiplied by: *bands* of some terms, each row of a band from end to end, as
memory likes to be read; the sums of a band are added to those before. In place, the last panel
overlaps the one before if columns are left over; it computes some sums again, in one pass.

BLAS packs both factors at each call, so that blocks of rows that run in parallel pack the right one
as many times, and copies what it reads once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless.core.aval import ShapedArray
from tapeless.kernel.panels import (
    PAIRS,
    SHORTS,
    Factor,
    Panel,
    Words,
    memory_of,
    sums_of,
)
from tapeless.kernel.strips import Registers
from tapeless.util.records import record

__all__ = [
    "Columns",
    "columns_in_place",
    "columns_of",
    "multiply_apart",
    "multiply_in_place",
    "multiply_panels",
    "packed_panels",
    "packed_size",
    "pays_apart",
    "pays_in_panels",
    "pays_in_place",
]

MOST_ROWS = 14  # of a strip
LINE_BYTES = 64  # of the first cache
WAY_BYTES = 1 << 12  # apart, lines of the first cache are in each other's way
LONGEST_PASS = 2048  # terms
FLIPPED_PASS = 128  # over a factor that lies by columns, whose lines are used again
NARROW_BYTES = 1024  # of a column that is no longer, and needs no shorter passes
FEWEST_IN_STRIP = 8  # if there are as many
FEWEST_STRIPS = 4  # of a block, whose panel is used again
MOST_STRIPS = 8
FEWEST = 8  # rows, columns
FEWEST_LANES = 4  # of an instruction for pairs
LEAST_WORK = 1 << 18  # multiplications; below, a call of BLAS costs less than packing
LEAST_PAIRS = 1 << 15
MOST_WORK: dict[Factor, int] = {
    np.dtype(np.float32): 1 << 32,
    np.dtype(np.float64): 1 << 31,
    np.dtype(np.int32): 1 << 40,
    np.dtype(np.uint32): 1 << 40,
    PAIRS: 1 << 32,
    SHORTS: 1 << 40,
}
WIDEST = 2048  # columns
LONGEST = 1 << 13  # terms
MOST_ROWS_IN_BANDS = 28  # of a product whose right factor is read in bands
BAND = 16  # terms, whose rows are read from end to end at once
MOST_ROWS_APART = 512  # of a product of which each block of columns is packed for itself
BLOCK_BYTES = 1 << 19  # of such a block, which stays in the second cache
MOST_PANELS = 8  # of a block
FEWEST_COPIED = 64  # rows of a left factor that is copied once for all columns
SHARED_BYTES = 1 << 24  # of a right factor that all of them share
FEWEST_FOR_COPY = 2  # panels, that use a copy of a left factor
FEWEST_BLOCKS = 8  # if there are as many panels
NEAR_BYTES = 1 << 16  # of a factor that stays near the first cache
LEAST_IN_PLACE = 1 << 12  # multiplications; below, sums that are pulled cost less than a call
MOST_IN_PLACE = 1 << 25
SHARED_WORK = 1 << 22  # multiplications; what is more goes in blocks
COPIED_WORK = 1 << 25  # multiplications; of more, a left factor that lies by columns is copied

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))  # that BLAS multiplies

Sizes = Sequence[int]


@record
class Columns:
    """Panels of one width: the first column, how many panels, their vectors, the columns used."""

    first: Any
    count: int
    lanes: int
    vectors: int
    used: int

    @property
    def width(self) -> int:
        """The columns of a panel."""
        return self.lanes * self.vectors

    def part(self, first: Any, count: int) -> Columns:
        """Return some of the panels, from column `first` on."""
        return Columns(first, count, self.lanes, self.vectors, self.used)

    @property
    def is_padded(self) -> bool:
        """Tell whether a panel has columns that do not exist."""
        return self.used < self.width


def pays_in_panels(
    registers: Registers | None, sizes: Sizes, dtype: Any, is_packed_once: bool = False
) -> bool:
    """Tell whether products are faster with a packed factor than by BLAS.

    sizes: (count, n, m, k); is_packed_once: for many products, by a loop.
    """
    _, n, m, k = sizes
    most = MOST_WORK.get(dtype, 0)
    if registers is None or min(n, m) < FEWEST or m > WIDEST or k > LONGEST:
        return False
    least = LEAST_WORK if dtype in _FLOATS else LEAST_PAIRS
    return (is_packed_once or n * m * k > least) and n * m * k < most


def pays_in_place(registers: Registers | None, sizes: Sizes, dtype: Any) -> bool:
    """Tell whether products are faster with a right factor that is read where it lies, by rows.

    sizes: (count, n, m, k).
    """
    _, n, m, k = sizes
    if registers is None or dtype not in MOST_WORK or n < 2:
        return False
    if m < FEWEST or not FEWEST <= k <= LONGEST:
        return False
    if _is_near(registers, sizes, dtype):
        enough = LEAST_IN_PLACE <= n * m * k < MOST_IN_PLACE
        return enough and n >= FEWEST and k <= LONGEST_PASS
    return n <= MOST_ROWS_IN_BANDS and n * m * k > LEAST_WORK


def _is_near(registers: Registers, sizes: Sizes, dtype: Any) -> bool:
    """Tell whether a right factor stays in the first cache, or is as wide as a panel."""
    _, _, m, k = sizes
    size = dtype.itemsize
    return k * m * size <= NEAR_BYTES or m * size <= 2 * registers.bytes


def pays_apart(
    registers: Registers | None, sizes: Sizes, dtype: Any, is_flipped: bool = False
) -> bool:
    """Tell whether each block of columns is packed for itself: it is used for few rows, or once.

    sizes: (count, n, m, k); is_flipped: whether the left factor lies by columns. Blocks of rows
    copy such a one, once for all columns.
    """
    count, n, m, k = sizes
    if not pays_in_panels(registers, (1, n, m, k), dtype):
        return False
    if count > 1:
        return True
    is_near = k * m * dtype.itemsize <= SHARED_BYTES
    is_copied = is_flipped or (n >= FEWEST_COPIED and is_near and _collides(k, dtype))
    return n <= MOST_ROWS_APART and not (is_copied and n * m * k >= COPIED_WORK)


def _collides(k: int, dtype: Any) -> bool:
    """Tell whether the rows of a left factor of k terms have one place in the first cache."""
    return k * dtype.itemsize % WAY_BYTES == 0


def columns_of(registers: Registers, m: int, dtype: Factor) -> tuple[Columns, ...]:
    """Cut m columns into panels: those of two vectors, and what is left."""
    lanes = registers.bytes // dtype.itemsize
    whole, rest = divmod(m, 2 * lanes)
    found = [Columns(0, whole, lanes, 2, 2 * lanes)] if whole else []
    if rest:
        vectors = -(-rest // lanes)
        fewest = FEWEST_LANES if isinstance(dtype, Words) else 1
        while lanes // 2 >= max(rest, fewest):
            lanes //= 2
        found.append(Columns(m - rest, 1, lanes, vectors, rest))
    return tuple(found)


def columns_in_place(registers: Registers, m: int, dtype: Factor) -> tuple[Columns, ...]:
    """Cut m columns into panels of which the last may overlap another; none is padded."""
    lanes = registers.bytes // dtype.itemsize
    whole, rest = divmod(m, 2 * lanes)
    found = [Columns(0, whole, lanes, 2, 2 * lanes)] if whole else []
    if not rest:
        return tuple(found)
    vectors = 2 if rest > lanes else 1
    while vectors == 1 and lanes // 2 >= rest:
        lanes //= 2
    if m < lanes * vectors:
        lanes, vectors = (lanes, 1) if vectors == 2 else (lanes // 2, 1)
        found.append(Columns(0, 1, lanes, 1, lanes))
    width = lanes * vectors
    return (*found, Columns(m - width, 1, lanes, vectors, width))


def packed_size(groups: Sequence[Columns], k: int) -> int:
    """Return how many numbers the packed factor of k terms has."""
    return k * sum(group.count * group.width for group in groups)


def packed_panels(
    b: Any,
    pull: Callable[[Sequence[Any]], Any],
    sizes: Sizes,
    layout: tuple[Factor, bool],
) -> Any:
    """Store the right factors in panels.  sizes: (count, k, m); pull: the element at an index.

    layout: the dtype of the sums, and whether the right factors lie by columns.
    -> (count, packed_size)
    """
    (count, k, m), (dtype, by_columns) = sizes, layout
    groups = columns_of(b.registers, m, dtype)
    out = b.buffer(ShapedArray((count, packed_size(groups, k)), memory_of(dtype)))
    start = 0
    for group in groups:
        most = 1 if by_columns else min(MOST_PANELS, max(1, group.count // FEWEST_BLOCKS))

        def pack(batch: Any, part: Columns, group: Columns = group, start: int = start) -> None:
            """Lay out some panels."""
            place = b.iadd(b.imul(b.iadd(part.first, -group.first), k), start)
            order = (k, not by_columns)
            _pack(b, out, (batch, place), part, order, lambda i: pull((batch, *i)))

        _in_blocks(b, count, group, most, pack)
        start += k * group.count * group.width
    return out


def _pack(
    b: Any,
    out: Any,
    start: tuple[Any, Any],
    group: Columns,
    order: tuple[int, bool],
    pull: Callable[[Sequence[Any]], Any],
) -> None:
    """Store panels at `start` of `out`, padded with zeros.

    order: the number of terms, and whether all panels take one before another takes the next.
    """
    k, by_terms = order
    batch, first = start
    zero = b.const(0, out.dtype)

    def run(skipped: int) -> None:
        """Store the columns of panels that exist, or from `skipped` on those that do not."""

        def copy(index: Sequence[Any]) -> None:
            """Store one element."""
            term, panel = index[:2] if by_terms else index[1::-1]
            column = b.iadd(index[2], skipped)
            row = b.iadd(b.imul(panel, k), term)
            place = b.iadd(b.imul(row, group.width), column)
            source = b.iadd(b.iadd(b.imul(panel, group.width), column), group.first)
            value = zero if skipped else b.convert(pull((term, source)), out.dtype)
            b.store(out, (batch, b.iadd(place, first)), value)

        columns = group.width - skipped if skipped else group.used
        sizes = (k, group.count) if by_terms else (group.count, k)
        b.nest((*sizes, columns), copy)

    run(0)
    if group.is_padded:
        run(group.used)


def _passes(k: int, most: int) -> list[tuple[int, int]]:
    """Cut the terms into runs of about one length: where each begins, and how many it has."""
    length = -(-k // -(-k // most))
    return [(first, min(length, k - first)) for first in range(0, k, length)]


def _cost(n: int, height: int) -> float:
    """Return what strips of a height cost that have n rows, in rows.

    A strip costs as many rows, and the loads of a panel, about half a row's work.
    """
    return -(-n // height) * (height + 0.5)


def _height(n: int, most: int) -> int:
    """Choose the rows of a strip that cost least for n rows."""
    fewest = min(n, FEWEST_IN_STRIP, most)
    return min(range(fewest, min(n, most) + 1), key=lambda rows: (_cost(n, rows), -rows))


def _block_rows(n: int, most: int) -> int:
    """Choose the rows of blocks that cost least if cores share them.

    Blocks go to pairs of cores, or more; what is left over by them is not shared.
    """

    def cost(rows: int) -> tuple[float, int]:
        """Return what a core of a pair takes for all blocks."""
        pairs, rest = -(-(n // rows) // 2), n % rows
        work = pairs * _cost(rows, _height(rows, most))
        return work + (_cost(rest, _height(rest, most)) if rest else 0), -rows

    fewest = min(n, FEWEST_STRIPS * most)
    return min(range(fewest, min(n, MOST_STRIPS * most) + 1), key=cost)


def multiply_panels(b: Any, x: Any, packed: Any, sizes: Sizes, layout: tuple[Factor, bool]) -> Any:
    """Return the products, stored.  sizes: (count, n, m, k); x: (count, n, k), or (count, k, n).

    packed: what `packed_panels` returns; layout: the factors, and whether those of x lie by columns
    -> (count, n, m)
    """
    groups = columns_of(b.registers, sizes[2], layout[0])
    product = _Product(b, x, groups, sizes, layout)
    product.shared(packed)
    return product.result()


def multiply_apart(
    b: Any,
    x: Any,
    pull: Callable[[Sequence[Any]], Any],
    sizes: Sizes,
    layout: tuple[Factor, bool, bool],
) -> Any:
    """Return the products, stored, of which some columns are packed and used at a time.

    pull: the element of the right factors; layout: the dtype of the sums, whether the left factor
    lies by columns, and whether the right one does.  -> (count, n, m)
    """
    dtype, flipped, by_columns = layout
    groups = columns_of(b.registers, sizes[2], dtype)
    product = _Product(b, x, groups, sizes, (dtype, flipped))
    count, _, _, k = sizes
    for group in groups:
        size = k * group.width * dtype.itemsize
        most = min(MOST_PANELS, max(1, BLOCK_BYTES // size))
        if count == 1:
            most = min(most, max(1, group.count // FEWEST_BLOCKS))

        def block(batch: Any, part: Columns) -> None:
            """Pack and use the panels of a block."""
            packed = b.buffer(ShapedArray((1, k * part.count * part.width), memory_of(dtype)))
            order = (k, not by_columns)
            _pack(b, packed, (0, 0), part, order, lambda place: pull((batch, *place)))
            product.apart(batch, part, packed)

        _in_blocks(b, count, group, most, block)
    return product.result()


def _in_blocks(
    b: Any, count: int, group: Columns, most: int, body: Callable[[Any, Columns], None]
) -> None:
    """Run `body` for each batch, and each block of at most so many panels."""
    whole, rest = divmod(group.count, most)
    for done, blocks, size in ((0, whole, most), (whole * most, 1, rest)):

        def block(index: Sequence[Any], done: int = done, size: int = size) -> None:
            """Run it for one block."""
            batch, i = index
            first = b.imul(i, size * group.width)
            first = b.iadd(first, group.first + done * group.width)
            body(batch, group.part(first, size))

        if blocks and size:
            b.nest((count, blocks), block)


def multiply_in_place(b: Any, x: Any, y: Any, sizes: Sizes, flipped: bool) -> Any:
    """Return the products, stored.  sizes: (count, n, m, k); x: (count, n, k), or (count, k, n).

    y: (count, k, m), stored -> (count, n, m)
    """
    groups = columns_in_place(b.registers, sizes[2], y.dtype)
    product = _Product(b, x, groups, sizes, (y.dtype, flipped))
    compute = product.in_place if _is_near(b.registers, sizes, y.dtype) else product.in_bands
    compute(y)
    return product.result()


@record
class _Left:
    """Where the left factor is, from a row and a term on: how far from each other things are.

    numbers: of the memory, that are a term's factor.
    """

    memory: Any
    batch: int
    row: int
    term: int
    numbers: int = 1
    first_row: Any = 0
    first_term: int = 0

    def place(self, b: Any, batch: Any, row: Any, term: Any) -> tuple[Any, Any]:
        """Return where the numbers of a row begin at a term."""
        found = b.imul(b.iadd(row, b.imul(self.first_row, -1)), self.row)
        found = b.iadd(found, b.imul(b.iadd(term, -self.first_term), self.term))
        found = b.iadd(b.imul(batch, self.batch), found)
        return self.memory, b.imul(found, self.numbers)


@record
class _Right:
    """Where panels of the right factor are: of a memory, how far from each other things are."""

    memory: Any
    batch: int
    panel: int
    line: int
    start: Any

    def place(self, b: Any, batch: Any, panel: Any, term: Any) -> tuple[Any, Any]:
        """Return where the numbers of a term are in a panel."""
        found = b.iadd(b.imul(panel, self.panel), self.start)
        found = b.iadd(found, b.imul(term, self.line))
        return self.memory, b.iadd(b.imul(batch, self.batch), found)


Part = tuple[Columns, _Right]


class _Product:
    """The calls of one batch of products; see the module's docstring."""

    def __init__(
        self,
        b: Any,
        x: Any,
        groups: tuple[Columns, ...],
        sizes: Sizes,
        layout: tuple[Factor, bool],
    ) -> None:
        """Make the memory of the results.

        layout: the dtype of the sums, and whether the left factor lies by columns.
        """
        dtype, flipped = layout
        self.b, self.x, self.groups, self.dtype = b, x, groups, dtype
        self.count, self.n, self.m, self.k = sizes
        self.numbers = dtype.numbers if isinstance(dtype, Words) else 1
        self.is_shared = self.count == 1 and self.n * self.m * self.k >= SHARED_WORK
        self.flipped = flipped
        steps = (1, self.n) if flipped else (self.k, 1)
        self.left = _Left(x, self.n * self.k, *steps, self.numbers)
        is_long = flipped and self.n * dtype.itemsize > NARROW_BYTES
        self.most_terms = FLIPPED_PASS if is_long else LONGEST_PASS
        self.out = self.memory(self.m)
        padded = [group for group in self.groups if group.is_padded]
        self.edge = self.memory(padded[0].width) if padded else None

    def memory(self, width: int) -> Any:
        """Make memory for columns of the results."""
        return self.b.buffer(ShapedArray((self.count, self.n, width), sums_of(self.dtype)))

    def result(self) -> Any:
        """Return the products, when all have been computed."""
        b = self.b
        if self.edge is not None:
            group = self.groups[-1]

            def copy(index: Sequence[Any]) -> None:
                """Copy an element of the edge."""
                batch, row, column = index
                to = (batch, row, b.iadd(column, group.first))
                b.store(self.out, to, self.edge.at(batch, row, column))

            b.nest((self.count, self.n, group.used), copy)
        return self.out

    def shared(self, packed: Any) -> None:
        """Compute with a packed factor that all rows share."""
        parts, start = [], 0
        for group in self.groups:
            size = self.k * group.width
            parts.append((group, _Right(packed, packed.shape[1], size, group.width, start)))
            start += group.count * size
        copies = self.is_shared and (self.flipped or _collides(self.k, self.dtype))
        most = LONGEST_PASS if copies else self.most_terms
        for terms in _passes(self.k, most):
            self.each(lambda batch, terms=terms: self.rows(batch, parts, terms, copies))

    def in_place(self, y: Any) -> None:
        """Compute with a factor that lies by rows."""
        sizes = (self.k * self.m, self.m)
        parts = [(c, _Right(y, sizes[0], c.width, sizes[1], c.first)) for c in self.groups]
        self.each(lambda batch: self.rows(batch, parts, (0, self.k)))

    def in_bands(self, y: Any) -> None:
        """Compute with a factor that lies by rows, some of which are read from end to end."""
        done = 0
        for group in self.groups:
            length = BAND if group.first == done else self.k  # what overlaps adds to nothing
            done += group.count * group.width

            def block(batch: Any, part: Columns, length: int = length) -> None:
                """Compute the columns of some panels."""
                right = _Right(y, self.k * self.m, part.width, self.m, part.first)
                self.bands(batch, [(part, right)], length)

            _in_blocks(self.b, self.count, group, MOST_PANELS, block)

    def bands(
        self,
        batch: Any,
        parts: Sequence[Part],
        length: int,
    ) -> None:
        """Add up the products of bands of terms, one after the other."""
        b = self.b
        whole, rest = divmod(self.k, length)
        self.all_rows(batch, parts, (0, length))
        if whole > 1:

            def band(number: Any) -> None:
                """Add the products of one more band."""
                first = b.imul(b.iadd(number, 1), length)
                self.all_rows(batch, parts, (first, length))

            b.loop(whole - 1, band, independent=False)
        if rest:
            self.all_rows(batch, parts, (whole * length, rest))

    def all_rows(
        self,
        batch: Any,
        parts: Sequence[Part],
        terms: tuple[Any, int],
    ) -> None:
        """Compute all rows, which are one block."""
        self.block(batch, self.left, (0, self.n), parts, terms)

    def apart(self, batch: Any, group: Columns, packed: Any) -> None:
        """Compute some columns with their packed panels."""
        right = _Right(packed, 0, self.k * group.width, group.width, 0)
        collides = not self.flipped and _collides(self.k, self.dtype)
        copies = collides and group.count >= FEWEST_FOR_COPY
        for terms in _passes(self.k, self.most_terms):
            self.rows(batch, [(group, right)], terms, copies)

    def each(self, body: Callable[[Any], None]) -> None:
        """Run `body` for each batch."""
        if self.count == 1:
            body(0)
        else:
            self.b.loop(self.count, body)

    def tallest(self) -> int:
        """Return the most rows of a strip whose sums fit the registers."""
        vectors = max(group.vectors for group in self.groups)
        return min(MOST_ROWS, (self.b.registers.count - 1 - vectors) // vectors)

    def rows(
        self,
        batch: Any,
        parts: Sequence[Part],
        terms: tuple[int, int],
        copies: bool = False,
    ) -> None:
        """Compute the sums of one pass, in blocks of rows; `copies`: of copied ones."""
        b, n = self.b, self.n
        size = _block_rows(n, self.tallest()) if self.is_shared or copies else n
        count, rest = divmod(n, size)

        def block(first: Any, size: int) -> None:
            """Compute the rows of a block."""
            left = self.near(batch, (first, size), terms) if copies else self.left
            self.block(batch, left, (first, size), parts, terms)

        if count > 1:
            b.loop(count, lambda i: block(b.imul(i, size), size))
        else:
            block(0, size)
        if rest:
            block(n - rest, rest)

    def near(
        self,
        batch: Any,
        rows: tuple[Any, int],
        terms: tuple[int, int],
    ) -> _Left:
        """Copy a part of the left factor, row by row, so that lines are in nobody's way."""
        b, (first, size), (term, length) = self.b, rows, terms
        pitch = length + LINE_BYTES // self.dtype.itemsize
        memory = b.buffer(ShapedArray((size, pitch * self.numbers), self.x.dtype))
        start = b.imul(term, self.numbers)

        def copy(index: Sequence[Any]) -> None:
            """Copy an element."""
            place = (b.iadd(index[0], first), b.iadd(index[1], start))
            order = place[::-1] if self.flipped else place
            b.store(memory, index, self.x.at(batch, *order))

        b.nest((size, length * self.numbers), copy)
        return _Left(memory, 0, pitch, 1, self.numbers, first, term)

    def block(
        self,
        batch: Any,
        left: _Left,
        rows: tuple[Any, int],
        parts: Sequence[Part],
        terms: tuple[Any, int],
    ) -> None:
        """Compute the rows (first, count)."""
        b, (first, n) = self.b, rows
        height = _height(n, self.tallest())
        strips, rest = divmod(n, height)
        for part in parts:

            def one(index: Sequence[Any], part: Part = part) -> None:
                """Compute the strips of one panel."""
                (panel,) = index

                def strip(at: Sequence[Any]) -> None:
                    """Compute one of them."""
                    row = b.iadd(first, b.imul(at[0], height))
                    self.strip(batch, left, (row, height), (part, panel), terms)

                b.nest((strips,), strip)
                if rest and terms == (0, self.k):
                    row = b.iadd(first, n - height)
                    self.strip(batch, left, (row, height), (part, panel), terms)
                elif rest:
                    row = b.iadd(first, strips * height)
                    self.strip(batch, left, (row, rest), (part, panel), terms)

            b.nest((part[0].count,), one)

    def strip(
        self,
        batch: Any,
        left: _Left,
        rows: tuple[Any, int],
        where: tuple[Part, Any],
        terms: tuple[Any, int],
    ) -> None:
        """Call the routine for the rows (first, count) of a panel of a part."""
        b, (row, height), (term, length) = self.b, rows, terms
        (group, right), panel = where
        adds = type(term) is not int or term > 0
        out, width, column = self.out, self.m, b.imul(panel, group.width)
        if group.is_padded:
            out, width = self.edge, group.width
        else:
            column = b.iadd(column, group.first)
        place = b.iadd(b.imul(batch, self.n), row)
        place = b.iadd(b.imul(place, width), column)
        args = (
            left.place(b, batch, row, term),
            right.place(b, batch, panel, term),
            (out, place),
            length,
            left.row,
            left.term,
            right.line,
            width,
        )
        symbol = Panel(self.dtype, height, group.lanes, group.vectors, adds).symbol
        reads = (left.memory, right.memory, out) if adds else (left.memory, right.memory)
        b.call(symbol, args, reads=reads, writes=(out,))
