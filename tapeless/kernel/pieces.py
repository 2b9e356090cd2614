"""Loops over an axis in pieces, where what an element is read from depends on where it lies.

An element of two arrays one after the other is a choice by the index:

    for i < 100:   out[i] = select(i >= 1, x[max(i - 1, 0)], y[0])

Rolled arrays and wrapped edges are made of such choices; padded ones are read under guards, which
are choices as well. In a loop that ends where the choice changes there is nothing to choose, and
vectors are read as they lie:

    out[0] = y[0]
    for i < 99:    out[i + 1] = x[i]

A nest is cut along each axis on which such choices depend alone; the ranges of the
new variables decide the comparisons (`ranges.py`). An axis has a few pieces at most: short ones
that lie side by side stay one, in which elements are still chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tapeless.kernel.graph import substitute, walk
from tapeless.kernel.ir import Affine, Const, Index, Load, Op, Scalar

__all__ = ["SHORTEST_AXIS", "Piece", "pieces_of"]

SHORTEST_AXIS = 17  # an innermost axis that is shorter is not cut: its pieces would be strided
_MOST_ALONG = 9  # pieces along an axis
_FEW_ALONG = 3  # along further axes, when there are many
_MOST_NODES = 2000  # of all pieces together
_INT64 = np.dtype(np.int64)


class Piece(NamedTuple):
    """A part of a nest: its loops, outermost first, and the expressions in its variables."""

    variables: list[Index]
    sizes: list[int]
    roots: tuple[Scalar, ...]


def pieces_of(
    b: Any, variables: Sequence[Index], sizes: Sequence[int], roots: Sequence[Scalar]
) -> list[Piece]:
    """Cut a nest with the loops `variables` over `sizes` where choices in `roots` change."""
    nodes = walk(roots)
    cuts = _cuts(nodes, variables, sizes)
    pieces = [Piece(list(variables), list(sizes), tuple(roots))]
    for position in reversed(range(len(variables))):
        places = cuts.get(variables[position])
        if places is None or position + 1 == len(sizes) < SHORTEST_AXIS > sizes[position]:
            continue
        size = sizes[position]
        runs = _runs(sorted(places), size, _MOST_ALONG)
        if len(runs) * len(pieces) * len(nodes) > _MOST_NODES:
            runs = _runs(sorted(places), size, _FEW_ALONG)
        if position + 1 < len(sizes) and len(runs) * len(pieces) * len(nodes) > _MOST_NODES:
            continue
        pieces = [
            _part(b, piece, variables[position], start, stop)
            for start, stop in runs
            for piece in pieces
        ]
    return pieces


def _cuts(
    nodes: Sequence[Scalar], variables: Sequence[Index], sizes: Sequence[int]
) -> dict[Index, set[int]]:
    """Return the places along each axis at which a choice between two reads changes."""
    extents = dict(zip(variables, sizes, strict=True))
    cuts: dict[Index, set[int]] = {}
    reads: set[Scalar] | None = None
    for node in nodes:
        if isinstance(node, Load):
            conditions = _conditions(node.guard)
        elif isinstance(node, Op) and node.name == "select":
            reads = _reading(nodes) if reads is None else reads
            conditions = [node.args[0]] if reads.issuperset(node.args[1:]) else []
        else:
            continue
        for condition in conditions:
            var, place = _change(condition) or (None, 0)
            if var is not None and 0 < place < extents.get(var, 0):
                cuts.setdefault(var, set()).add(place)
    return cuts


def _conditions(guard: Scalar | None) -> list[Scalar]:
    """Return the conditions that all have to hold."""
    if isinstance(guard, Op) and guard.name == "and":
        return [condition for arg in guard.args for condition in _conditions(arg)]
    return [] if guard is None else [guard]


def _change(condition: Scalar) -> tuple[Index, int] | None:
    """Return the variable of `var + c >= d`, or `<`, and where that changes; else None."""
    if not (isinstance(condition, Op) and condition.name in ("ge", "lt")):
        return None
    index, bound = condition.args
    if not isinstance(bound, Const) or bound.dtype != _INT64:
        return None
    if isinstance(index, Index):
        return index, int(bound.value)
    if not isinstance(index, Affine) or len(index.terms) != 1:
        return None
    ((var, step),) = index.terms
    if step != 1 or not isinstance(var, Index):
        return None
    return var, int(bound.value) - index.const


def _reading(nodes: Sequence[Scalar]) -> set[Scalar]:
    """Return the expressions that read memory, of a list with operands before users."""
    reads: set[Scalar] = set()
    for node in nodes:
        below = node.args if isinstance(node, Op) else ()
        if isinstance(node, Load) or not reads.isdisjoint(below):
            reads.add(node)
    return reads


def _runs(places: Sequence[int], size: int, most: int) -> list[tuple[int, int]]:
    """Return the first index of each piece of an axis, and the one behind its last."""
    ends = [0, *places, size]
    while len(ends) > most + 1:
        # The two neighbours that are shortest together become one.
        inner = range(1, len(ends) - 1)
        del ends[min(inner, key=lambda i: ends[i + 1] - ends[i - 1])]
    return list(zip(ends[:-1], ends[1:], strict=True))


def _part(b: Any, piece: Piece, var: Index, start: int, stop: int) -> Piece:
    """Return the part of a piece from `start` to `stop` along the axis of `var`."""
    variables, sizes = list(piece.variables), list(piece.sizes)
    position = variables.index(var)
    size = stop - start
    place: Affine = b.affine(start)
    if size == 1:
        del variables[position], sizes[position]
    else:
        variables[position] = b.index(b.name("i"), size)
        sizes[position] = size
        place = b.index_add(variables[position], start)
    return Piece(variables, sizes, substitute(b, piece.roots, {var: place}))
