"""Loops around stores, and stores whose elements alternate.

A `pad` with an interior has an element of its operand at every second place, say, and the padding
value at the others; the sum of two such pads interleaves two arrays. Element by element this is a
choice by whether the index is a multiple of two. A loop that makes one element of each kind in an
iteration chooses nothing, and its stores lie side by side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless.kernel.graph import substitute, walk
from tapeless.kernel.ir import Affine, Buffer, Const, Index, Loop, Op, Scalar, Statement, Store
from tapeless.kernel.value import IndexLike

__all__ = ["by_phases", "loops_around"]

_MOST = 4  # kinds of elements that an iteration makes
_BOOL = np.dtype(np.bool_)


def by_phases(
    b: Any,
    variables: Sequence[Index],
    sizes: Sequence[int],
    targets: Sequence[Buffer],
    roots: Sequence[Scalar],
) -> list[Statement]:
    """Make the loops that store `roots`: per target an index, a value and a guard.

    Where the elements alternate along the last axis, an iteration makes one of each kind.
    """
    period = _period(variables[-1], roots) if variables else 1
    if period == 1 or sizes[-1] < 2 * period:
        return loops_around(variables, sizes, _stores(b, targets, roots))
    *outer, last = variables
    *outer_sizes, size = sizes
    count, rest = divmod(size, period)
    inner = b.index(b.name("i"), count)
    start = b.index_mul(inner, period)
    places = [b.index_add(start, phase) for phase in range(period)]
    stores = _copies(b, last, places, targets, roots)
    tail = _copies(b, last, range(size - rest, size), targets, roots)
    whole = loops_around((*outer, inner), (*outer_sizes, count), stores)
    return [*whole, *loops_around(outer, outer_sizes, tail)]


def loops_around(
    variables: Sequence[Index], sizes: Sequence[int], body: list[Statement]
) -> list[Statement]:
    """Put loops around statements, if there are any."""
    for var, extent in zip(reversed(variables), reversed(sizes), strict=True):
        body = [Loop(var, extent, tuple(body))] if body else []
    return body


def _copies(
    b: Any,
    var: Index,
    places: Sequence[IndexLike],
    targets: Sequence[Buffer],
    roots: Sequence[Scalar],
) -> list[Statement]:
    """Make the stores for some values of a loop variable."""
    stores: list[Statement] = []
    for place in places:
        copy = substitute(b, roots, {var: b.affine(place)})
        stores.extend(_stores(b, targets, copy))
    return stores


def _stores(
    b: Any,
    targets: Sequence[Buffer],
    roots: Sequence[Scalar],
) -> list[Statement]:
    """Make stores: per target an index, a value and a guard, true where there is none."""
    nothing = b.const(True, _BOOL)
    stores: list[Statement] = []
    for i, buffer in enumerate(targets):
        index, value, guard = roots[3 * i : 3 * i + 3]
        kept = None if guard is nothing else guard
        stores.append(Store(buffer, b.affine(index), value, kept))
    return stores


def _period(var: Index, roots: Sequence[Scalar]) -> int:
    """Return after how many elements along an axis the kind of element is the same; 1 if it is one.

    Kinds are told apart by whether an index is a multiple of a small number.
    """
    found = 1
    for node in walk(roots):
        if not (isinstance(node, Op) and node.name == "eq" and var in node.free):
            continue
        index = node.args[0]
        terms = index.terms if isinstance(index, Affine) else ((index, 1),)
        for term, _ in terms:
            if isinstance(term, Op) and term.name == "rem" and isinstance(term.args[1], Const):
                found = math.lcm(found, int(term.args[1].value))
    return found if found <= _MOST else 1
