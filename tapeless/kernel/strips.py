"""Strips: small blocks of products of matrices whose sums stay in registers, named by their sizes.

    out[r, j] = sum over terms t of x[r * row_step + x_place(t)] * y[y_place(t) + j]

A term is an index into nested *levels*: of a convolution, the rows of a window, and the channels of
the elements in such a row. A level is an extent, and a step in either factor. The `width` results
of a row are whole vectors, and so are their factors from `y`; a number of `x` is spread over one:

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

__all__ = ["STRIPS", "Registers", "Strip", "best_shape", "merged", "strip_of"]

STRIPS = "strips:"
FEWEST_SUMS = 8  # at once, or else each waits for the one before
MOST_VECTORS = 4


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

    adds: whether it adds to what is there.
    """

    dtype: np.dtype
    rows: int
    lanes: int
    vectors: int
    row_step: int
    out_step: int
    levels: tuple[tuple[int, int, int], ...]
    adds: bool = False

    @property
    def width(self) -> int:
        """How many results there are in a row."""
        return self.lanes * self.vectors

    @property
    def terms(self) -> int:
        """How many products are added up."""
        return math.prod(extent for extent, _, _ in self.levels)

    @property
    def symbol(self) -> str:
        """The name of the routine."""
        levels = ",".join("x".join(map(str, level)) for level in self.levels)
        sizes = (self.rows, self.lanes, self.vectors, self.row_step, self.out_step)
        ending = ":adds" if self.adds else ""
        return f"{STRIPS}{self.dtype.name}:{':'.join(map(str, sizes))}:{levels}{ending}"


def strip_of(symbol: str) -> Strip:
    """Return the strip that a symbol names."""
    _, name, *words, levels = symbol.removesuffix(":adds").split(":")
    rows, lanes, vectors, row_step, out_step = map(int, words)
    triples = [map(int, level.split("x")) for level in levels.split(",")]
    steps = tuple((extent, x_step, y_step) for extent, x_step, y_step in triples)
    adds = symbol.endswith(":adds")
    return Strip(np.dtype(name), rows, lanes, vectors, row_step, out_step, steps, adds)


def best_shape(rows: int, columns: int, lanes: int, registers: int) -> tuple[int, int, int]:
    """Return the rows, lanes and vectors of strips that cover (rows, columns) with least work.

    The last strip of a row of them, or of a column, overlaps the one before.
    """
    while lanes > columns:
        lanes //= 2
    shapes = []
    for vectors in range(1, MOST_VECTORS + 1):
        width = lanes * vectors
        most = (registers - 1 - vectors) // vectors
        if width > columns or most < 1:
            break
        n_strips = -(-rows // most)
        height = -(-rows // n_strips)
        sums = height * vectors
        work = max(sums, FEWEST_SUMS, height + vectors)
        shapes.append((n_strips * -(-columns // width) * work, -vectors, height))
    _, negative, height = min(shapes)
    return height, lanes, -negative


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
