"""Panels: blocks of products of matrices whose sums stay in registers, named by their sizes.

    out[r, j] (+)= sum over terms t of x[r * row_step + t * term_step] * y[t * y_step + j]

The factor y is a *panel*: `width` columns of a matrix, of which what a term needs is contiguous. In
a copy that is laid out term by term, so is what the next one needs; y_step is the width. The
`width` results of a row are whole vectors; a number of x is spread over one. Steps and the number
of terms are arguments: one routine serves all shapes, and a factor x that is stored by columns as
well as one that is stored by rows.

    panels:dtype:rows:lanes:vectors(x, y, out, terms, row_step, term_step, y_step, out_step, adds)

`strips.py` has the routines for convolutions, whose sizes and steps are in their text.
"""

from __future__ import annotations

import numpy as np

from tapeless.util.records import record

__all__ = ["PANELS", "Panel", "panel_of"]

PANELS = "panels:"


@record
class Panel:
    """The sizes of the block that a routine computes."""

    dtype: np.dtype
    rows: int
    lanes: int
    vectors: int

    @property
    def width(self) -> int:
        """How many results there are in a row."""
        return self.lanes * self.vectors

    @property
    def symbol(self) -> str:
        """The name of the routine."""
        return f"{PANELS}{self.dtype.name}:{self.rows}:{self.lanes}:{self.vectors}"


def panel_of(symbol: str) -> Panel:
    """Return the panel that a symbol names."""
    _, name, *sizes = symbol.split(":")
    return Panel(np.dtype(name), *map(int, sizes))
