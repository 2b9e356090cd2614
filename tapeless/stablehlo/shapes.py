"""Operations that make, move and take elements: shapes, slices, gathers, scatters.

StableHLO clamps the places that a gather or a dynamic slice reads, and drops the windows of a
scatter that are not inside.  The vector of indices may lie along any axis; `lax` wants it last.

Operations whose shape is an operand (`dynamic_iota`) are those with a static shape, if the types
are static; the operand is then redundant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import lax
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.stablehlo.calls import Call, Rules, known_integers
from tapeless.stablehlo.elements import RULES as ELEMENT_RULES
from tapeless.stablehlo.patterns import folded_by, ignores
from tapeless.stablehlo.types import constant

__all__ = ["RULES"]


def _constant(call: Call) -> Value:
    """Return the constant."""
    return constant(call.get("value"), call.operation.place)


def _iota(call: Call, *shape: Value) -> Value:
    """Count along an axis."""
    axis = call.integer("iota_dimension")
    if not 0 <= axis < call.out.ndim:
        call.fail(f"there is no axis {axis} in a result of {call.out.ndim} axes")
    return lax.broadcasted_iota(call.out.dtype, call.out.shape, axis)


def _broadcast_in_dim(call: Call, x: Value, *shape: Value) -> Value:
    """x: (n, ...) -> the shape of the result."""
    return lax.broadcast_in_dim(x, call.out.shape, call.integers("broadcast_dimensions"))


def _broadcast(call: Call, x: Value) -> Value:
    """x: (n) -> (sizes, n)."""
    return lax.broadcast(x, call.integers("broadcast_sizes"))


def _reshape(call: Call, x: Value, *shape: Value) -> Value:
    """x: any shape -> the shape of the result."""
    return lax.reshape(x, call.out.shape)


def _transpose(call: Call, x: Value) -> Value:
    """Permute the axes."""
    return lax.transpose(x, call.integers("permutation"))


def _concatenate(call: Call, *operands: Value) -> Value:
    """Join along an axis."""
    return lax.concatenate(operands, call.integer("dimension"))


def _reverse(call: Call, x: Value) -> Value:
    """Turn axes round."""
    return lax.rev(x, call.integers("dimensions"))


def _pad(call: Call, x: Value, value: Value) -> Value:
    """Put a value around and between elements."""
    low, high = call.integers("edge_padding_low"), call.integers("edge_padding_high")
    inner = call.integers("interior_padding", [0] * len(low))
    return lax.pad(x, value, tuple(zip(low, high, inner, strict=True)))


def _slice(call: Call, x: Value) -> Value:
    """Take a range along each axis."""
    starts, limits = call.integers("start_indices"), call.integers("limit_indices")
    return lax.slice(x, starts, limits, call.integers("strides", [1] * len(starts)))


def _dynamic_slice(call: Call, x: Value, *starts: Value) -> Value:
    """Take a block that begins at scalars."""
    return lax.dynamic_slice(x, starts, call.integers("slice_sizes"), allow_negative_indices=False)


def _dynamic_update_slice(call: Call, x: Value, update: Value, *starts: Value) -> Value:
    """Write a block that begins at scalars."""
    return lax.dynamic_update_slice(x, update, starts, allow_negative_indices=False)


def _indices_last(call: Call, indices: Value, axis: int) -> Value:
    """Move the axis of index vectors to the end; the axis after the last one is a new one."""
    shape = typeof(indices).shape
    if axis == len(shape):
        return lax.reshape(indices, (*shape, 1))
    if not 0 <= axis < len(shape):
        call.fail(f"index_vector_dim = {axis} for indices of {len(shape)} axes")
    order = [i for i in range(len(shape)) if i != axis]
    return lax.transpose(indices, (*order, axis))


def _index_axis(call: Call, name: str) -> int:
    """Return along which axis the index vectors lie."""
    axis = call.get(name).get("index_vector_dim", 0)
    return axis if isinstance(axis, int) else call.fail("index_vector_dim must be an integer")


_GATHER_KEYS = (
    "offset_dims",
    "collapsed_slice_dims",
    "start_index_map",
    "operand_batching_dims",
    "start_indices_batching_dims",
)
_SCATTER_KEYS = (
    "update_window_dims",
    "inserted_window_dims",
    "scatter_dims_to_operand_dims",
    "input_batching_dims",
    "scatter_indices_batching_dims",
)


def _gather(call: Call, x: Value, indices: Value, *sizes: Value) -> Value:
    """Take windows of x that begin at index vectors."""
    numbers = lax.GatherDimensionNumbers(*call.axes("dimension_numbers", *_GATHER_KEYS))
    last = _indices_last(call, indices, _index_axis(call, "dimension_numbers"))
    known = known_integers(sizes[0]) if sizes else None
    slice_sizes = call.integers("slice_sizes", known)
    is_sorted = call.flag("indices_are_sorted")
    return lax.gather(x, last, numbers, slice_sizes, indices_are_sorted=is_sorted, mode="clip")


_LOGICAL = {"stablehlo.add": "stablehlo.maximum", "stablehlo.multiply": "stablehlo.minimum"}
_SCATTERS = {
    "second": lax.scatter,
    "stablehlo.add": lax.scatter_add,
    "stablehlo.subtract": lax.scatter_sub,
    "stablehlo.multiply": lax.scatter_mul,
    "stablehlo.minimum": lax.scatter_min,
    "stablehlo.maximum": lax.scatter_max,
}


def _scatter(call: Call, *operands: Value) -> Sequence[Value]:
    """Combine windows of arrays, which begin at index vectors, with updates."""
    n = (len(operands) - 1) // 2
    arrays, indices, updates = operands[:n], operands[n], operands[n + 1 :]
    if not n or len(updates) != n:
        call.fail("arrays, indices and as many updates are wanted")
    numbers = lax.ScatterDimensionNumbers(*call.axes("scatter_dimension_numbers", *_SCATTER_KEYS))
    last = _indices_last(call, indices, _index_axis(call, "scatter_dimension_numbers"))
    names = folded_by(call.operation.regions[0], n) if call.operation.regions else None
    if names is None or not all(name in _SCATTERS for name in names):
        if n > 1:
            call.refuse("several arrays are combined element by element only")
        return _scatter_apply(call, arrays[0], last, updates[0], numbers)
    settings: dict[str, Any] = {
        "indices_are_sorted": call.flag("indices_are_sorted"),
        "unique_indices": call.flag("unique_indices"),
        "mode": "drop",
    }
    return [
        _scattered(name, x, last, update, numbers, settings)
        for name, x, update in zip(names, arrays, updates, strict=True)
    ]


def _scattered(
    name: str, x: Value, indices: Value, update: Value, numbers: Any, settings: dict[str, Any]
) -> Value:
    """Scatter by the named operation; sums of booleans are `or`, products `and`."""
    if typeof(x).dtype == np.bool_:
        name = _LOGICAL.get(name, name)
    return _SCATTERS[name](x, indices, update, numbers, **settings)


def _scatter_apply(call: Call, x: Value, indices: Value, update: Value, numbers: Any) -> list:
    """Scatter by a function of the old element alone."""
    combine = call.region(0)
    zero = np.zeros((), typeof(update).dtype)
    if not ignores(call.operation.regions[0], 1):
        call.refuse("the region must be one operation, or not read its second argument")
    shape = typeof(update).shape
    new = lax.scatter_apply(
        x, indices, lambda old: combine(old, zero)[0], numbers, update_shape=shape, mode="drop"
    )
    return [new]


def _torch_index_select(call: Call, x: Value, indices: Value) -> Value:
    """x: (n, m), indices: (k) -> rows (k, m), along an axis."""
    axis = call.integer("dim")
    if call.integer("batch_dims"):
        call.refuse("batch_dims must be 0")
    rank, kept = typeof(x).ndim, typeof(indices).ndim
    offsets = tuple(i if i < axis else i + kept - 1 for i in range(rank) if i != axis)
    numbers = lax.GatherDimensionNumbers(offsets, (axis,), (axis,))
    sizes = tuple(1 if i == axis else n for i, n in enumerate(typeof(x).shape))
    last = lax.reshape(indices, (*typeof(indices).shape, 1))
    return lax.gather(x, last, numbers, sizes, mode="clip")


def _dimension_size(call: Call, x: Value) -> Value:
    """Return an extent."""
    axis = call.integer("dimension")
    return np.asarray(typeof(x).shape[axis], call.out.dtype)


def _constant_like(call: Call, x: Value) -> Value:
    """Return an array of one number, like x."""
    return lax.full_like(x, call.get("value"))


def _real_dynamic_slice(call: Call, x: Value, *bounds: Value) -> Value:
    """Take ranges whose bounds are constants."""
    known = [found for bound in bounds if (found := known_integers(bound)) is not None]
    if len(known) != 3:
        call.refuse("the bounds must be constants")
    return lax.slice(x, known[0], known[1], known[2])


def _broadcasting(name: str) -> Any:
    """Return the rule of an operation that first broadcasts its operands to one shape."""

    def rule(call: Call, *operands: Value) -> Value:
        """Put the axes of smaller operands last, or where `broadcast_dimensions` says."""
        shape = call.out.shape
        wide = []
        for x in operands:
            rank = typeof(x).ndim
            trailing = list(range(len(shape) - rank, len(shape)))
            smaller = rank < max(typeof(y).ndim for y in operands)
            dims = call.integers("broadcast_dimensions", trailing) if smaller else trailing
            wide.append(lax.broadcast_in_dim(x, shape, dims))
        return ELEMENT_RULES[f"stablehlo.{name}"](call, *wide)

    return rule


_BROADCASTING = """
add and atan2 complex divide maximum minimum multiply or power remainder shift_left
shift_right_arithmetic shift_right_logical subtract xor compare select
"""
RULES: Rules = {
    "stablehlo.constant": _constant,
    "chlo.constant": _constant,
    "chlo.constant_like": _constant_like,
    "stablehlo.iota": _iota,
    "stablehlo.dynamic_iota": _iota,
    "stablehlo.broadcast": _broadcast,
    "stablehlo.broadcast_in_dim": _broadcast_in_dim,
    "stablehlo.dynamic_broadcast_in_dim": _broadcast_in_dim,
    "stablehlo.reshape": _reshape,
    "stablehlo.dynamic_reshape": _reshape,
    "stablehlo.transpose": _transpose,
    "stablehlo.concatenate": _concatenate,
    "stablehlo.reverse": _reverse,
    "stablehlo.pad": _pad,
    "stablehlo.slice": _slice,
    "stablehlo.real_dynamic_slice": _real_dynamic_slice,
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.dynamic_update_slice": _dynamic_update_slice,
    "stablehlo.gather": _gather,
    "stablehlo.dynamic_gather": _gather,
    "stablehlo.scatter": _scatter,
    "stablehlo.torch_index_select": _torch_index_select,
    "stablehlo.get_dimension_size": _dimension_size,
    **{f"chlo.broadcast_{name}": _broadcasting(name) for name in _BROADCASTING.split()},
}
