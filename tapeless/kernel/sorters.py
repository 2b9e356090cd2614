"""Sorters: routines that sort elements of one to three words in memory, named by their sizes.

An element is a number of 16, 32 or 64 bits, or some of them, in as many arrays: then the next one
decides where the ones before are equal. What has to follow its key, such as where it came from, is
the lower part of such a number, or the last one: a sort by it is stable, and no two elements are
equal.
Floats must not be NaNs, and zeros lose their signs (`prims/wordsort.py`).

    sorters:dtype:words:bytes(first[, second, third], n, depth, wanted)

bytes: of a vector, 32 or 64.  wanted: how many of the least elements are to be sorted; the others
come behind them in any order.
depth: how often a part is divided, at most, before it is sorted in a way that is slower, but takes
n log n steps for any elements (`depth_of`).  The text is in `compiler/sorttext.py`.
"""

from __future__ import annotations

import numpy as np

from tapeless.util.records import record

__all__ = ["SORTERS", "Sorter", "depth_of", "sorter_of"]

SORTERS = "sorters:"


@record
class Sorter:
    """The elements that a routine sorts, the number of their words, and the bytes of a vector."""

    dtype: np.dtype
    words: int
    bytes: int

    @property
    def bits(self) -> int:
        """Of a word."""
        return 8 * self.dtype.itemsize

    @property
    def kind(self) -> str:
        """Of a word: f, i or u."""
        return self.dtype.kind

    @property
    def symbol(self) -> str:
        """The name of the routine."""
        return f"{SORTERS}{self.dtype.name}:{self.words}:{self.bytes}"


def sorter_of(symbol: str) -> Sorter:
    """Return the sorter that a symbol names."""
    _, name, words, width = symbol.split(":")
    return Sorter(np.dtype(name), int(words), int(width))


def depth_of(size: int) -> int:
    """Return how often a line of `size` elements may be divided: twice as often as by halves."""
    return 2 * size.bit_length() + 8
