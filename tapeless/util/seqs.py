"""Sequences split and joined by masks and by counts.

Rules and passes handle flat lists of which some entries are special: known, linear, batched. A
*mask* is a sequence of truth values that says which. ``split`` takes a list apart by a mask and
``merge`` puts it together again: ``merge(mask, *split(values, mask))`` is ``list(values)``. Entries
where the mask is false come first, in both functions.

All lengths are checked: a mask of the wrong length raises ``ValueError``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from typing import TypeVar

__all__ = [
    "chunks", "few", "invert", "map_strict", "merge", "positions", "select", "split", "split_at",
    "unzip",
]  # fmt: skip

T = TypeVar("T")
U = TypeVar("U")

Mask = Sequence[bool]


def few(lines: Sequence[str], most: int = 6, mark: str = "") -> list[str]:
    """Return the first lines of a message, and after `mark` how many others there are.

    >>> few(["x differs", "y differs", "z differs"], 1, "* ")
    ['x differs', '* 2 more']
    """
    told = list(lines[:most])
    if len(lines) > most:
        told.append(f"{mark}{len(lines) - most} more")
    return told


def invert(mask: Mask) -> tuple[bool, ...]:
    """Return the opposite mask.

    >>> invert([True, False])
    (False, True)
    """
    return tuple(not flag for flag in mask)


def select(values: Sequence[T], mask: Mask) -> list[T]:
    """Return the entries where the mask is true.

    >>> select("abc", [True, False, True])
    ['a', 'c']
    """
    if len(values) != len(mask):
        raise ValueError(f"{len(values)} values, but a mask of length {len(mask)}")
    return list(compress(values, mask))


def split(values: Sequence[T], mask: Mask) -> tuple[list[T], list[T]]:
    """Return the entries where the mask is false, and those where it is true.

    >>> split("abc", [True, False, True])
    (['b'], ['a', 'c'])
    """
    parts: tuple[list[T], list[T]] = ([], [])
    for value, flag in zip(values, mask, strict=True):
        parts[bool(flag)].append(value)
    return parts


def merge(mask: Mask, off: Sequence[T], on: Sequence[T]) -> list[T]:
    """Return one list, with entries of ``off`` where the mask is false, of ``on`` where true.

    >>> merge([True, False, True], ["b"], ["a", "c"])
    ['a', 'b', 'c']
    """
    n_on = sum(map(bool, mask))
    n_off = len(mask) - n_on
    if len(on) != n_on or len(off) != n_off:
        got = f"{len(off)} and {len(on)}"
        raise ValueError(f"the mask wants {n_off} and {n_on} entries, got {got}")
    from_off = iter(off)
    from_on = iter(on)
    return [next(from_on if flag else from_off) for flag in mask]


def positions(mask: Mask) -> tuple[int, ...]:
    """Return where the mask is true.

    >>> positions([True, False, True])
    (0, 2)
    """
    return tuple(compress(range(len(mask)), mask))


def split_at(values: Sequence[T], *counts: int) -> list[list[T]]:
    """Return the first ``counts[0]`` entries, the next ``counts[1]``, ..., and the rest.

    >>> split_at("abcde", 1, 2)
    [['a'], ['b', 'c'], ['d', 'e']]
    """
    parts = []
    start = 0
    for count in counts:
        stop = start + count
        parts.append(list(values[start:stop]))
        start = stop
    if start > len(values):
        raise ValueError(f"cannot take {counts} from {len(values)} values")
    parts.append(list(values[start:]))
    return parts


def chunks(values: Sequence[T], counts: Iterable[int]) -> list[list[T]]:
    """Return consecutive parts of the given lengths, which must add up to the whole.

    >>> chunks("abcde", [2, 0, 3])
    [['a', 'b'], [], ['c', 'd', 'e']]
    """
    *parts, rest = split_at(values, *counts)
    if rest:
        raise ValueError(f"{len(rest)} values are left over")
    return parts


def unzip(rows: Iterable[Sequence[T]], width: int = 2) -> tuple[list[T], ...]:
    """Return the columns of ``rows``, each of which has ``width`` entries.

    Unlike ``zip(*rows)`` it returns ``width`` columns for no rows.

    >>> unzip([(1, 2), (3, 4)])
    ([1, 3], [2, 4])
    """
    columns: tuple[list[T], ...] = tuple([] for _ in range(width))
    for row in rows:
        for column, value in zip(columns, row, strict=True):
            column.append(value)
    return columns


def map_strict(function: Callable[..., U], *sequences: Iterable[object]) -> list[U]:
    """Return the results of ``function`` on entries of sequences of equal lengths.

    >>> map_strict(max, [1, 5], [3, 4])
    [3, 5]
    """
    return [function(*row) for row in zip(*sequences, strict=True)]
