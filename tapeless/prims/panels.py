"""Products of matrices with a packed factor, as statements of the loop language.

    out (n, m) = x (n, k) y (k, m)

The right factor is laid out once, in *panels* of some columns, term by term (`kernel/panels.py`):
conversion to the dtype of the sums and transposition are part of that copy. The left factor is read
where it lies, by rows or by columns. A routine computes a *strip*, some rows of one panel:

    for each pass, a run of terms            so that the panels of a pass stay in the second cache
        for each block of strips             in parallel
            for each panel                   it stays in the first cache
                for each strip               of the block

Sums of a pass are added to those before; what is added to what depends on the sizes alone. Columns
that fill no panel are a narrower panel, padded with zeros if need be; its results go to an *edge*
of their own, of which the columns that exist are copied. Rows that fill no strip are one of fewer.

BLAS packs both factors at each call, so that blocks of rows that run in parallel pack the right one
as many times; here they share it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless.core.aval import ShapedArray
from tapeless.kernel.panels import Panel
from tapeless.kernel.strips import Registers
from tapeless.util.records import record

__all__ = [
    "Columns",
    "columns_of",
    "multiply_panels",
    "packed_panels",
    "packed_size",
    "pays_in_panels",
]

MOST_ROWS = 14  # of a strip
PASS_BYTES = 2048  # at most, of a row in a pass
FLIPPED_PASS = 128  # terms of a pass over a factor that lies by columns, whose lines are used again
NARROW_BYTES = 1024  # of a column that is no longer, and needs no shorter passes
FEWEST_IN_STRIP = 8  # if there are as many
FEWEST_SUMS = 4  # rows that take as long as fewer, since sums wait for each other
MOST_STRIPS = 8  # of a block
FEWEST = 8  # rows, columns
LEAST_WORK = 1 << 18  # multiplications; below, a call of BLAS costs less than packing
MOST_WORK = {np.dtype(np.float32): 1 << 32, np.dtype(np.float64): 1 << 27}
LONGEST = 2048  # columns, terms
SHARED_WORK = 1 << 22  # multiplications; what is more goes in blocks

Sizes = Sequence[int]


@record
class Columns:
    """Panels of one width: the first column, how many panels, their vectors, the columns used."""

    first: int
    count: int
    lanes: int
    vectors: int
    used: int

    @property
    def width(self) -> int:
        """The columns of a panel."""
        return self.lanes * self.vectors

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
    most = MOST_WORK.get(np.dtype(dtype), 0)
    if registers is None or min(n, m) < FEWEST or max(m, k) > LONGEST:
        return False
    return (is_packed_once or n * m * k > LEAST_WORK) and n * m * k < most


def columns_of(registers: Registers, m: int, dtype: np.dtype) -> tuple[Columns, ...]:
    """Cut m columns into panels: those of two vectors, and what is left."""
    lanes = registers.bytes // dtype.itemsize
    whole, rest = divmod(m, 2 * lanes)
    found = [Columns(0, whole, lanes, 2, 2 * lanes)] if whole else []
    if rest:
        vectors = -(-rest // lanes)
        while lanes // 2 >= rest:
            lanes //= 2
        found.append(Columns(m - rest, 1, lanes, vectors, rest))
    return tuple(found)


def packed_size(groups: Sequence[Columns], k: int) -> int:
    """Return how many numbers the packed factor of k terms has."""
    return k * sum(group.count * group.width for group in groups)


def packed_panels(
    b: Any, pull: Callable[[Sequence[Any]], Any], sizes: Sizes, dtype: np.dtype
) -> Any:
    """Store the right factors in panels.  sizes: (count, k, m); pull: the element at an index.

    -> (count, packed_size)
    """
    count, k, m = sizes
    groups = columns_of(b.registers, m, dtype)
    out = b.buffer(ShapedArray((count, packed_size(groups, k)), dtype))
    zero, start = b.const(0, dtype), 0
    for group in groups:
        _pack(b, out, group, start, (count, k), lambda index: b.convert(pull(index), dtype), 0)
        if group.is_padded:
            _pack(b, out, group, start, (count, k), lambda index: zero, group.used)
        start += k * group.count * group.width
    return out


def _pack(
    b: Any,
    out: Any,
    group: Columns,
    start: int,
    sizes: Sizes,
    pull: Callable[[Sequence[Any]], Any],
    skipped: int,
) -> None:
    """Store the columns of panels that exist, or from `skipped` on those that do not."""
    count, k = sizes

    def copy(index: Sequence[Any]) -> None:
        """Store one element."""
        batch, panel, term, column = index
        column = b.iadd(column, skipped)
        row = b.iadd(b.imul(panel, k), term)
        place = b.iadd(b.imul(row, group.width), column)
        place = b.iadd(place, start)
        source = b.iadd(b.imul(panel, group.width), column)
        source = b.iadd(source, group.first)
        b.store(out, (batch, place), pull((batch, term, source)))

    columns = group.width - skipped if skipped else group.used
    b.nest((count, group.count, k, columns), copy)


def _passes(k: int, most: int) -> list[tuple[int, int]]:
    """Cut the terms into runs of about one length: where each begins, and how many it has."""
    length = -(-k // -(-k // most))
    return [(first, min(length, k - first)) for first in range(0, k, length)]


def _strips(n: int, most: int, is_shared: bool) -> tuple[int, int]:
    """Choose the rows of a strip, and the strips of a block, that cost least.

    A strip costs as many rows, a few at least, and the loads of a panel, about half a row's work.
    Blocks go to pairs of cores, or more; what is left over by them is not shared.
    """
    found = []
    for rows in range(min(n, FEWEST_IN_STRIP, most), min(n, most) + 1):
        n_strips, rest = divmod(n, rows)
        rest_work = max(rest, FEWEST_SUMS) if rest else 0
        each = 1 + 0.5 / rows
        if not is_shared:
            found.append(((n - rest) * each + rest_work, -rows, n_strips))
            continue
        for strips in range(min(4, n_strips), min(MOST_STRIPS, n_strips) + 1):
            block = rows * strips
            pairs = -(-(n // block) // 2)
            work = 2 * (pairs * block * each + n % block)
            found.append((work, -rows, strips))
    _, negative, strips = min(found)
    return -negative, strips


def multiply_panels(b: Any, x: Any, packed: Any, sizes: Sizes, flipped: bool) -> Any:
    """Return the products, stored.  sizes: (count, n, m, k); x: (count, n, k), or (count, k, n).

    packed: what `packed_panels` returns -> (count, n, m)
    """
    return _Product(b, x, packed, sizes, flipped).result()


class _Product:
    """The calls of one batch of products; see the module's docstring."""

    def __init__(self, b: Any, x: Any, packed: Any, sizes: Sizes, flipped: bool) -> None:
        """Make the memory of the results."""
        self.b, self.x, self.packed = b, x, packed
        self.count, self.n, self.m, self.k = sizes
        self.steps = (1, self.n) if flipped else (self.k, 1)
        self.dtype = packed.dtype
        is_long = flipped and self.n * self.dtype.itemsize > NARROW_BYTES
        self.most_terms = FLIPPED_PASS if is_long else PASS_BYTES // self.dtype.itemsize
        self.groups = columns_of(b.registers, self.m, self.dtype)
        self.out = self.memory(self.m)
        padded = [group for group in self.groups if group.is_padded]
        self.edge = self.memory(padded[0].width) if padded else None

    def memory(self, width: int) -> Any:
        """Make memory for columns of the results."""
        return self.b.buffer(ShapedArray((self.count, self.n, width), self.dtype))

    def result(self) -> Any:
        """Compute all products."""
        b = self.b
        for terms in _passes(self.k, self.most_terms):
            if self.count == 1:
                self.rows(0, terms)
            else:
                b.loop(self.count, lambda batch, terms=terms: self.rows(batch, terms))
        if self.edge is not None:
            group = self.groups[-1]

            def copy(index: Sequence[Any]) -> None:
                """Copy an element of the edge."""
                batch, row, column = index
                to = (batch, row, b.iadd(column, group.first))
                b.store(self.out, to, self.edge.at(batch, row, column))

            b.nest((self.count, self.n, group.used), copy)
        return self.out

    def rows(self, batch: Any, terms: tuple[int, int]) -> None:
        """Compute the sums of one pass."""
        b, n = self.b, self.n
        vectors = max(group.vectors for group in self.groups)
        most = min(MOST_ROWS, (b.registers.count - 1 - vectors) // vectors)
        is_shared = self.count == 1 and n * self.m * terms[1] >= SHARED_WORK
        height, strips = _strips(n, most, is_shared)
        block = height * strips
        b.nest(
            (n // block,), lambda i: self.block(batch, b.imul(i[0], block), (height, strips), terms)
        )
        done = n - n % block
        whole, rest = divmod(n - done, height)
        if whole:
            self.block(batch, done, (height, whole), terms)
        if rest:
            self.block(batch, n - rest, (rest, 1), terms)

    def block(self, batch: Any, first: Any, shape: tuple[int, int], terms: tuple[int, int]) -> None:
        """Compute some strips, from row `first` on.  shape: the rows of a strip, and how many."""
        height, strips = shape
        start = 0
        for group in self.groups:

            def one(index: Sequence[Any], group: Columns = group, start: int = start) -> None:
                """Compute one strip of one panel."""
                panel, strip = index
                row = self.b.iadd(first, self.b.imul(strip, height))
                self.strip(batch, (row, height), (group, start, panel), terms)

            self.b.nest((group.count, strips), one)
            start += self.k * group.count * group.width

    def strip(
        self,
        batch: Any,
        rows: tuple[Any, int],
        where: tuple[Columns, int, Any],
        terms: tuple[int, int],
    ) -> None:
        """Call the routine for the rows (first, count) of a panel of a group."""
        b, (row, height), (term, length) = self.b, rows, terms
        group, start, panel = where
        row_step, term_step = self.steps
        x = b.imul(batch, self.n * self.k)
        x = b.iadd(x, b.imul(row, row_step))
        y = b.imul(panel, self.k * group.width)
        y = b.iadd(y, start + term * group.width)
        y = b.iadd(b.imul(batch, self.packed.shape[1]), y)
        out, width, column = self.out, self.m, b.imul(panel, group.width)
        if group.is_padded:
            out, width = self.edge, group.width
        else:
            column = b.iadd(column, group.first)
        place = b.iadd(b.imul(batch, self.n), row)
        x = b.iadd(x, term * term_step)
        place = b.iadd(b.imul(place, width), column)
        args = (
            (self.x, x),
            (self.packed, y),
            (out, place),
            length,
            row_step,
            term_step,
            width,
            int(term > 0),
        )
        symbol = Panel(self.dtype, height, group.lanes, group.vectors).symbol
        reads = (self.x, self.packed) if not term else (self.x, self.packed, out)
        b.call(symbol, args, reads=reads, writes=(out,))
