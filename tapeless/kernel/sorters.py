"""Sorters: routines that sort elements of one or two words in memory, named by their sizes.

An element is an unsigned integer of `bits` bits, or two of them, in two arrays: then the second one
decides where the first ones are equal. What has to follow its key, such as where it came from, is
the lower part of such an integer, or the second one: a sort by it is stable, and no two elements
are equal. Floats and signed integers are turned into unsigned ones before (`prims/wordsort.py`).

    sorters:bits:words(first[, second], n, depth)

depth: how often a part is divided, at most, before it is sorted in a way that is slower, but takes
n log n steps for any elements (`depth_of`).  The text is in `compiler/sorttext.py`.
"""

from __future__ import annotations

from tapeless.util.records import record

__all__ = ["SORTERS", "Sorter", "depth_of", "sorter_of"]

SORTERS = "sorters:"


@record
class Sorter:
    """The elements that a routine sorts: the bits of a word, and how many words each has."""

    bits: int
    words: int = 1

    @property
    def symbol(self) -> str:
        """The name of the routine."""
        return f"{SORTERS}{self.bits}:{self.words}"


def sorter_of(symbol: str) -> Sorter:
    """Return the sorter that a symbol names."""
    _, bits, words = symbol.split(":")
    return Sorter(int(bits), int(words))


def depth_of(size: int) -> int:
    """Return how often a line of `size` elements may be divided: twice as often as by halves."""
    return 2 * size.bit_length() + 8
