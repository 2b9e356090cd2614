"""Panels: blocks of products of matrices whose sums stay in registers, named by their sizes.

    out[r, j] (+)= sum over terms t of x[r * row_step + t * term_step] * y[t * y_step + j]

The factor y is a *panel*: `width` columns of a matrix, of which what a term needs is contiguous. In
a copy that is laid out term by term, so is what the next one needs; y_step is the width. The
`width` results of a row are whole vectors; a number of x is spread over one. Steps and the number
of terms are arguments: one routine serves all shapes, and a factor x that is stored by columns as
well as one that is stored by rows. What adds to what is there is a routine of its own, which few
programs need.

Factors may be *words* of two narrow numbers: then a product is the sum of two products. `PAIRS` are
bfloat16, summed in float32, `SHORTS` int16, summed in int32. They are no dtypes, since whole
numbers of 32 bits are factors, too. Those, and sums of words of them, wrap.

    panels:dtype:rows:lanes:vectors:adds(x, y, out, terms, row_step, term_step, y_step, out_step)

`strips.py` has the routines for convolutions, whose sizes and steps are in their text.
"""

from __future__ import annotations

import numpy as np

from tapeless.util.records import record

__all__ = [
    "PAIRS",
    "PANELS",
    "SHORTS",
    "Factor",
    "Panel",
    "Words",
    "memory_of",
    "panel_of",
    "sums_of",
]

PANELS = "panels:"


@record
class Words:
    """Factors of which each is some narrow numbers; `sums`: the dtype of results."""

    name: str
    sums: np.dtype
    numbers: int = 2
    itemsize: int = 4


Factor = np.dtype | Words
PAIRS = Words("brains", np.dtype(np.float32))
SHORTS = Words("shorts", np.dtype(np.int32))


@record
class Panel:
    """The sizes of the block that a routine computes; `adds`: it adds to what is there."""

    dtype: Factor
    rows: int
    lanes: int
    vectors: int
    adds: bool = False

    @property
    def width(self) -> int:
        """How many results there are in a row."""
        return self.lanes * self.vectors

    @property
    def symbol(self) -> str:
        """The name of the routine."""
        sizes = (self.rows, self.lanes, self.vectors, int(self.adds))
        return ":".join((f"{PANELS}{self.dtype.name}", *map(str, sizes)))


def sums_of(factor: Factor) -> np.dtype:
    """Return the dtype of the sums of products of factors."""
    return factor.sums if isinstance(factor, Words) else factor


def memory_of(factor: Factor) -> np.dtype:
    """Return the dtype in which factors are laid out."""
    return np.dtype(np.uint32) if isinstance(factor, Words) else factor


def panel_of(symbol: str) -> Panel:
    """Return the panel that a symbol names."""
    _, name, *sizes = symbol.split(":")
    rows, lanes, vectors, adds = map(int, sizes)
    words = {each.name: each for each in (PAIRS, SHORTS)}
    factor = words.get(name) or np.dtype(name)
    return Panel(factor, rows, lanes, vectors, bool(adds))
