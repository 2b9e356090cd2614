"""Conditions that operations need of their operands: indices in bounds, divisors that are not zero.

    index   windows that the program promises to lie in bounds: gather, scatter, dynamic_slice,
            dynamic_update_slice
    fill    those of gathers and scatters that leave out what is out of bounds
    clip    those of gathers and scatters that move it inside
    div     divisors are not zero;  rem: those of remainders neither
    shift   amounts are between zero and the number of bits

`CONDITIONS` has a table per kind, with a rule for each operation: (*operands, **params) -> None if
the operation is always fine, or (fine, fault, *payload), which are the arguments of `check`.  The
pass `control/instrument.py` asks the rules, and puts the checks before the operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import typeof
from tapeless.core.jaxpr import Literal
from tapeless.core.primitive import RuleTable
from tapeless.core.source import current_source
from tapeless.core.trace import Value
from tapeless.prims import scatter
from tapeless.prims.binary import div_p, rem_p
from tapeless.prims.bitwise import (
    bitwise_and,
    shift_left_p,
    shift_right_arithmetic_p,
    shift_right_logical_p,
)
from tapeless.prims.check import IndexFault, NamedFault, all_hold
from tapeless.prims.common import const, shape_of
from tapeless.prims.compare import ge, le, lt, ne
from tapeless.prims.convert import convert_element_type
from tapeless.prims.dynamic_slice import dynamic_slice_p, dynamic_update_slice_p
from tapeless.prims.gather import gather_p
from tapeless.prims.indexing import GatherScatterMode, window_sizes
from tapeless.prims.structural import broadcast_in_dim

__all__ = ["CONDITIONS"]

Found = tuple | None

_indices = RuleTable("index check")
_fills = RuleTable("fill check")
_clips = RuleTable("clip check")
_divisors = RuleTable("division check")
_remainders = RuleTable("remainder check")
_shifts = RuleTable("shift check")
CONDITIONS = {
    "index": _indices,
    "fill": _fills,
    "clip": _clips,
    "div": _divisors,
    "rem": _remainders,
    "shift": _shifts,
}
_SCATTERS = (
    scatter.scatter_p,
    scatter.scatter_add_p,
    scatter.scatter_sub_p,
    scatter.scatter_mul_p,
    scatter.scatter_min_p,
    scatter.scatter_max_p,
)


def _within(places: Value, room: Sequence[int]) -> Value:
    """Tell which places are in bounds; room: per component, the last axis, the last place.

    places: (..., components) -> (...), or scalar -> scalar
    """
    dtype, shape = typeof(places).dtype, shape_of(places)
    kind = np.dtype(f"uint{8 * dtype.itemsize}")
    most = np.array([min(last, int(dtypes.iinfo(dtype).max)) for last in room], kind)
    # As a number without a sign, a negative place is larger than any that is in bounds.
    counted = convert_element_type(places, kind)
    if not shape:
        return le(counted, most[0])
    one = len(set(room)) == 1
    last = const(counted, most[0]) if one else broadcast_in_dim(most, shape, (len(shape) - 1,))
    return all_hold(le(counted, last), first=len(shape) - 1)


def _windows(
    name: str,
    x: Value,
    indices: Value,
    sizes: Sequence[int],
    axes: Sequence[int],
) -> Found:
    """Return the condition on the windows of a gather or scatter."""
    shape, axes = shape_of(x), tuple(map(int, axes))
    room = tuple(shape[axis] - sizes[axis] for axis in axes)
    if not axes or prod(shape_of(indices)) == 0:
        return None
    return _within(indices, room), IndexFault(current_source(), name, shape, axes, room), indices


def _gather(wanted: GatherScatterMode) -> Callable:
    """Return the rule of a gather for windows in one mode."""

    def rule(x: Value, indices: Value, *, mode: Any, slice_sizes: Any, **params: Any) -> Found:
        """Return the condition."""
        axes = params["dimension_numbers"].start_index_map
        return _windows("gather", x, indices, slice_sizes, axes) if mode is wanted else None

    return rule


def _scatter(name: str, wanted: GatherScatterMode) -> Callable:
    """Return the rule of a scatter for windows in one mode."""

    def rule(x: Value, indices: Value, updates: Value, *, mode: Any, **params: Any) -> Found:
        """Return the condition."""
        if mode is not wanted or prod(shape_of(updates)) == 0:
            return None
        n = params["dimension_numbers"]
        sizes = window_sizes(shape_of(x), shape_of(updates), n)
        return _windows(name, x, indices, sizes, n.scatter_dims_to_operand_dims)

    return rule


for _table, _mode in (
    (_indices, GatherScatterMode.PROMISE_IN_BOUNDS),
    (_fills, GatherScatterMode.FILL_OR_DROP),
    (_clips, GatherScatterMode.CLIP),
):
    _table.rule(gather_p)(_gather(_mode))
    for _prim in _SCATTERS:
        _table.rule(_prim)(_scatter(_prim.name, _mode))


def _starts(name: str, x: Value, starts: Sequence[Value], sizes: Sequence[int]) -> Found:
    """Return the condition on the start of a dynamic window."""
    shape = shape_of(x)
    room = tuple(extent - size for extent, size in zip(shape, sizes, strict=True))
    axes = [axis for axis, last in enumerate(room) if not _is_inside(starts[axis], last)]
    if not axes:
        return None
    fine = _within(starts[axes[0]], room[axes[0] : axes[0] + 1])
    for axis in axes[1:]:
        fine = bitwise_and(fine, _within(starts[axis], room[axis : axis + 1]))
    fault = IndexFault(current_source(), name, shape, tuple(axes), tuple(room[a] for a in axes))
    return fine, fault, *[starts[axis] for axis in axes]


def _is_inside(start: Value, last: int) -> bool:
    """Tell whether a start is a literal that is in bounds."""
    atom = getattr(start, "atom", None)  # an Array has none
    return type(atom) is Literal and 0 <= atom.val <= last


@_indices.rule(dynamic_slice_p)
def _dynamic_slice(x: Value, *starts: Value, slice_sizes: Any) -> Found:
    """Return the condition on the start of the window."""
    return _starts("dynamic_slice", x, starts, slice_sizes)


@_indices.rule(dynamic_update_slice_p)
def _dynamic_update_slice(x: Value, update: Value, *starts: Value) -> Found:
    """Return the condition on the start of the window."""
    return _starts("dynamic_update_slice", x, starts, shape_of(update))


@_divisors.rule(div_p)
@_remainders.rule(rem_p)
def _divisor(x: Value, y: Value) -> Found:
    """Return the condition that no divisor is zero."""
    return ne(y, const(y, 0)), NamedFault(current_source(), "division by zero", ZeroDivisionError)


@_shifts.rule(shift_left_p)
@_shifts.rule(shift_right_arithmetic_p)
@_shifts.rule(shift_right_logical_p)
def _amount(x: Value, y: Value) -> Found:
    """Return the condition that amounts are below the number of bits."""
    dtype = typeof(y).dtype
    bits = 8 * dtype.itemsize
    fine = lt(y, const(y, bits))
    if not dtypes.issubdtype(dtype, np.unsignedinteger):
        fine = bitwise_and(fine, ge(y, const(y, 0)))
    text = f"shift of {dtypes.dtype_name(dtype)} by an amount outside of [0, {bits})"
    return fine, NamedFault(current_source(), text, ValueError)
