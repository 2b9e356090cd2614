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

    Where the elements alternate along an axis, an iteration makes one of each kind; along an axis
    that is not the last one, these are lines of elements.
    """
    for axis in reversed(range(len(variables))):
        period = _period(variables[axis], roots)
        if period > 1 and sizes[axis] >= 2 * period:
            return _in_phases(b, variables, sizes, targets, roots, axis, period)
    return loops_around(variables, sizes, _stores(b, targets, roots))


def _in_phases(
    b: Any,
    variables: Sequence[Index],
    sizes: Sequence[int],
    targets: Sequence[Buffer],
    roots: Sequence[Scalar],
    axis: int,
    period: int,
) -> list[Statement]:
    """Make the loops, of which the one along `axis` makes `period` elements, or lines, at once."""
    outer, outer_sizes = variables[:axis], sizes[:axis]
    lines, line_sizes = variables[axis + 1 :], sizes[axis + 1 :]

    def stores(places: Sequence[IndexLike]) -> list[Statement]:
        """Make the stores, or the loops over lines, for some values of the variable."""
        made: list[Statement] = []
        for place in places:
            copy = substitute(b, roots, {variables[axis]: b.affine(place)})
            made += loops_around(lines, line_sizes, _stores(b, targets, copy))
        return made

    count, rest = divmod(sizes[axis], period)
    inner = b.index(b.name("i"), count)
    start = b.index_mul(inner, period)
    body = stores([b.index_add(start, phase) for phase in range(period)])
    tail = stores(range(sizes[axis] - rest, sizes[axis]))
    whole = loops_around((*outer, inner), (*outer_sizes, count), body)
    return [*whole, *loops_around(outer, outer_sizes, tail)]


def loops_around(
    variables: Sequence[Index], sizes: Sequence[int], body: list[Statement]
) -> list[Statement]:
    """Put loops around statements, if there are any."""
    for var, extent in zip(reversed(variables), reversed(sizes), strict=True):
        body = [Loop(var, extent, tuple(body))] if body else []
    return body


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
