"""Axes of rows: where in a value the rows of a batch are.

A value may have its rows along an axis of its own, or, as the images of a batched convolution have,
along a part of an axis: it is as if the axis were three, of `outer`, `count` and `inner` elements,
and the rows lay along the one in the middle. In the type of a row such an axis stays, with
`outer * inner` elements. A value without an axis of rows is the same for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tapeless.core.aval import ShapedArray
from tapeless.core.jaxpr import Atom, Jaxpr
from tapeless.util.records import record

__all__ = [
    "UNUSED",
    "Dim",
    "Dims",
    "MixedError",
    "Part",
    "Row",
    "axis_or_part",
    "dropped",
    "row_aval",
    "row_shape",
    "rows_along",
    "shifted",
    "without",
]

UNUSED = -1  # in the place of an axis: nobody asks for this result, or nothing uses this input


@record
class Part:
    """A part of the axis `axis`, which counts as (outer, count, inner): the one in the middle."""

    axis: int
    outer: int
    count: int
    inner: int


Dim = int | Part | None
Dims = tuple[Dim, ...]


class MixedError(Exception):
    """Rows are not independent, or a rule does not know that they are."""


@record
class Row:
    """One equation for one row.

    operands, results: their axes of rows; an operand that is `UNUSED` is not one of the operation
    on a row, which has the parameters `params`. program: what a row does, if it is not one
    operation of that kind: (rows of the operands) -> rows of the results.
    """

    operands: Dims
    results: Dims
    params: Mapping[str, Any]
    program: Jaxpr | None = None

    def kept(self, atoms: Sequence[Atom]) -> list[Atom]:
        """Return the operands that the operation on a row has."""
        return [atom for atom, dim in zip(atoms, self.operands, strict=True) if dim != UNUSED]


def row_aval(aval: ShapedArray, dim: Dim) -> ShapedArray:
    """Return the type of a row of a value; of the value itself if it has no rows."""
    if dim is None or dim == UNUSED:
        return aval
    return aval.update(shape=row_shape(aval.shape, dim))


def row_shape(shape: Sequence[int], dim: int | Part) -> tuple[int, ...]:
    """Return the shape of a row."""
    if isinstance(dim, Part):
        return (*shape[: dim.axis], dim.outer * dim.inner, *shape[dim.axis + 1 :])
    return without(shape, dim)


def rows_along(aval: ShapedArray, dim: Dim) -> int | None:
    """Return how many rows a value has; None if it is the same for all."""
    if dim is None or dim == UNUSED:
        return None
    return dim.count if isinstance(dim, Part) else aval.shape[dim]


def axis_or_part(
    axis: int,
    outer: int,
    count: int,
    inner: int,
) -> int | Part:
    """Return a part of an axis; the axis if it is all of it."""
    return axis if outer == inner == 1 else Part(axis, outer, count, inner)


def shifted(dims: Sequence[Dim], by: int) -> Dims:
    """Return axes of slices as those of stacked arrays, or the other way round."""
    return tuple(_shifted(dim, by) for dim in dims)


def _shifted(dim: Dim, by: int) -> Dim:
    """Count further axes in front."""
    if dim is None or dim == UNUSED:
        return dim
    if isinstance(dim, Part):
        return Part(dim.axis + by, dim.outer, dim.count, dim.inner)
    return dim + by


def without(values: Sequence, position: int) -> tuple:
    """Return the entries but one."""
    return (*values[:position], *values[position + 1 :])


def dropped(axes: Sequence[int], gone: int) -> tuple[int, ...]:
    """Number axes anew, without the axis `gone`."""
    return tuple(axis - (axis > gone) for axis in axes if axis != gone)
