"""Strips: small blocks of products of matrices whose sums stay in registers, named by their sizes.

    out[r, j] = sum over terms t of x[r * row_step + x_place(t)] * y[y_place(t) + j]

A term is an index into nested *levels*: of a convolution, the rows of a window, and the channels of
the elements in such a row. A level is an extent, and a step in either factor. Innermost may be
*taps*, which are written out: `y` goes on anywhere, `x` by a number for each row. The `width`
results of a row are whole vectors, and so are their factors from `y`; a number of `x` is spread
over one:

    out    (rows, width), `out_step` from row to row
    y      `width` numbers for a term
    x      one number of each row for a term

The name of such a routine, the symbol of a call, says all of this; the compiler writes its text
(`compiler/striptext.py`).  `best_shape` chooses rows and width for a processor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tapeless.util.records import record

__all__ = ["STRIPS", "Registers", "Strip", "best_shape", "merged", "strip_of", "strip_work"]

STRIPS = "strips:"
FEWEST_SUMS = 8  # at once, or else each waits for the one before
MOST_VECTORS = 4
LOAD = 1.5  # products take as long; a vector that ends in the next line of the cache is two loads


@record
class Registers:
    """The vector registers of a processor that multiplies and adds at once: how many, how wide.

    brains, shorts: whether an instruction adds products of pairs of bfloat16, or of int16.
    """

    count: int
    bytes: int
    brains: bool = False
    shorts: bool = False


@record
class Strip:
    """The sizes of a strip; steps are in elements, and the outermost level is the first.

    adds: whether it adds to what is there; taps: where each of the innermost terms is in `y`; they
    are `rows` numbers apart in `x`; overlap: of the last vector with the one before.
    """

    dtype: np.dtype
    rows: int
    lanes: int
    vectors: int
    row_step: int
    out_step: int
    levels: tuple[tuple[int, int, int], ...]
    adds: bool = False
    taps: tuple[int, ...] = (0,)
    overlap: int = 0

    @property
    def width(self) -> int:
        """How many results there are in a row."""
        return self.lanes * self.vectors - self.overlap

    def start(self, vector: int) -> int:
        """Return where a vector begins in its row."""
        return min(vector * self.lanes, self.width - self.lanes)

    @property
    def terms(self) -> int:
        """How many products are added up."""
        return len(self.taps) * math.prod(extent for extent, _, _ in self.levels)

    @property
    def symbol(self) -> str:
        """The name of the routine."""
        levels = ",".join("x".join(map(str, level)) for level in self.levels)
        sizes = (self.rows, self.lanes, self.vectors, self.row_step, self.out_step)
        taps = ",".join(map(str, (self.overlap, *self.taps)))
        ending = ":adds" if self.adds else ""
        return f"{STRIPS}{self.dtype.name}:{':'.join(map(str, sizes))}:{levels}:{taps}{ending}"


def strip_of(symbol: str) -> Strip:
    """Return the strip that a symbol names."""
    _, name, *words, levels, places = symbol.removesuffix(":adds").split(":")
    rows, lanes, vectors, row_step, out_step = map(int, words)
    triples = [map(int, level.split("x")) for level in levels.split(",")]
    steps = tuple((extent, x_step, y_step) for extent, x_step, y_step in triples)
    sizes = (rows, lanes, vectors, row_step, out_step)
    overlap, *taps = map(int, places.split(","))
    return Strip(np.dtype(name), *sizes, steps, symbol.endswith(":adds"), tuple(taps), overlap)


def best_shape(
    rows: int, columns: int, lanes: int, registers: int, overlaps: bool = False
) -> tuple[int, int, int]:
    """Return the rows, lanes and vectors of strips that cover (rows, columns) with least work.

    The last strip of a row of them, or of a column, overlaps the one before; overlaps: the last
    vector of the only strip of a row may, too.
    """
    _, negative, height, lanes = _best(rows, columns, lanes, registers, overlaps)
    return height, lanes, -negative


def strip_work(rows: int, columns: int, lanes: int, registers: int) -> float:
    """Return how much work a term of (rows, columns) is, in products of vectors."""
    return _best(rows, columns, lanes, registers, True)[0]


def _best(
    rows: int, columns: int, lanes: int, registers: int, overlaps: bool
) -> tuple[float, int, int, int]:
    """Return the work of the best strips, their negative number of vectors, rows and lanes."""
    while lanes > columns:
        lanes //= 2
    shapes = []
    for vectors in range(1, MOST_VECTORS + 1):
        width = lanes * vectors
        most = (registers - 1 - vectors) // vectors
        if width >= columns + (lanes if overlaps else 1) or most < 1:
            break
        n_strips = -(-rows // most)
        height = -(-rows // n_strips)
        sums = height * vectors
        work = max(sums, FEWEST_SUMS, LOAD * (height + 2 * vectors))
        shapes.append((n_strips * -(-columns // width) * work, -vectors, height, lanes))
    return min(shapes)


def merged(levels: Sequence[tuple[int, int, int]]) -> tuple[tuple[int, int, int], ...]:
    """Return levels without those of one step, and with such as are one loop joined."""
    found: list[tuple[int, int, int]] = []
    for extent, x_step, y_step in reversed(levels):
        if extent == 1 and found:
            continue
        inner = found[-1] if found else (0, 0, 0)
        if found and (x_step, y_step) == (inner[0] * inner[1], inner[0] * inner[2]):
            found[-1] = (extent * inner[0], inner[1], inner[2])
        else:
            found.append((extent, x_step, y_step))
    return tuple(reversed(found))
