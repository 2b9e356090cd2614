"""Loops around stores, and stores whose elements alternate.

A `pad` with an interior has an element of its operand at every second place, say, and the padding
value at the others; the sum of two such pads interleaves two arrays. Element by element this is a
choice by whether the index is a multiple of two. A loop that makes one element of each kind in an
iteration chooses nothing, and its stores lie side by side. What is left to choose by the iteration,
as where the operand of the pad is joined, cuts the loop (`pieces.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless.kernel.graph import substitute, walk
from tapeless.kernel.ir import Affine, Buffer, Const, Index, Loop, Op, Scalar, Statement, Store
from tapeless.kernel.pieces import Piece, pieces_of

__all__ = ["by_phases", "loops_around", "phases_of"]

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
    axis, period = _alternating(variables, sizes, roots)
    if period > 1:
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

    def stores(values: Sequence[Scalar]) -> list[Statement]:
        """Make the stores, or the loops over lines, of some kinds of elements.

        The stores to one target follow each other, so that they are written together.
        """
        made: list[list[Statement]] = []
        for first in range(0, len(values), len(roots)):
            made.append(_stores(b, targets, values[first : first + len(roots)]))
        if lines:
            made = [loops_around(lines, line_sizes, body) for body in made]
        else:
            made = [list(kinds) for kinds in zip(*made, strict=True)]
        return [statement for group in made for statement in group]

    inner, count, kinds = _kinds(b, variables[axis], sizes[axis], roots, period)
    made: list[Statement] = []
    for piece in pieces_of(b, [inner], [count], kinds):
        loops = (*outer, *piece.variables), (*outer_sizes, *piece.sizes)
        made += loops_around(*loops, stores(piece.roots))
    places = range(period * count, sizes[axis])
    rest = [substitute(b, roots, {variables[axis]: b.affine(place)}) for place in places]
    tail = stores([root for copy in rest for root in copy])
    return [*made, *loops_around(outer, outer_sizes, tail)]


def _kinds(
    b: Any, var: Index, size: int, roots: Sequence[Scalar], period: int
) -> tuple[Index, int, list[Scalar]]:
    """Write the kinds of elements of an axis, one after the other, as functions of one variable.

    Returns the variable, its extent, and the expressions.
    """
    count = size // period
    inner = b.index(b.name("i"), count)
    start = b.index_mul(inner, period)
    places = [b.index_add(start, phase) for phase in range(period)]
    copies = [substitute(b, roots, {var: b.affine(place)}) for place in places]
    return inner, count, [root for copy in copies for root in copy]


def phases_of(
    b: Any, variables: Sequence[Index], sizes: Sequence[int], roots: Sequence[Scalar]
) -> list[Piece]:
    """Return a nest whose elements alternate along an axis as nests of one kind each.

    What is left over behind the last whole period does not matter to those who count.
    """
    axis, period = _alternating(variables, sizes, roots)
    if period == 1:
        return []
    inner, count, kinds = _kinds(b, variables[axis], sizes[axis], roots, period)
    loops, extents = list(variables), list(sizes)
    loops[axis], extents[axis] = inner, count
    step = len(roots)
    return [
        Piece(loops, extents, tuple(kinds[first : first + step]))
        for first in range(0, len(kinds), step)
    ]


def _alternating(
    variables: Sequence[Index], sizes: Sequence[int], roots: Sequence[Scalar]
) -> tuple[int, int]:
    """Return along which axis elements alternate, and their period, 1 if they do not."""
    for axis in reversed(range(len(variables))):
        period = _period(variables[axis], roots)
        if period > 1 and sizes[axis] >= 2 * period:
            return axis, period
    return 0, 1


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
