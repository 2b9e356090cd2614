"""Windows at computed places: dynamic_slice reads one, dynamic_update_slice writes one.

    dynamic_slice         (7,), index -> (2,)         slice_sizes=(2,)
    dynamic_update_slice  (7,), (2,), index -> (7,)

There is one index operand per axis.  A window that would stick out is moved back inside.  The
transpose of reading is writing into zeros.  Batched windows become gathers and scatters.

User functions let negative indices count from the end: constants when the program is traced,
computed indices by a comparison in the program.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.linear import Linear, Zero
from tapeless.core.primitive import Primitive, Values, registry
from tapeless.core.trace import Axis, Value
from tapeless.prims.binary import add
from tapeless.prims.common import (
    Avals,
    Dims,
    Tangents,
    const,
    instantiate,
    no_tangents,
    replaced,
    shape_of,
    zero_cotangents,
    zeros,
)
from tapeless.prims.compare import lt
from tapeless.prims.convert import convert
from tapeless.prims.indexing import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    bounds_are_checked,
)
from tapeless.prims.join import concatenate, unstack
from tapeless.prims.rearrangement import array_text, axis_argument
from tapeless.prims.select import select_n
from tapeless.prims.structural import broadcast_in_dim, expand_dims, squeeze

__all__ = [
    "dynamic_index_in_dim",
    "dynamic_slice",
    "dynamic_slice_in_dim",
    "dynamic_slice_p",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
    "dynamic_update_slice_p",
    "window_starts",
]

Shape = tuple[int, ...]


class DynamicSlice(Primitive):
    """The window of `slice_sizes` that starts at the index operands, moved to lie inside."""

    name = "dynamic_slice"
    types_follow = True

    def abstract(self, *avals: ShapedArray, **params: Any) -> Avals:
        """Check sizes and indices."""
        (x, *indices), sizes = avals, params["slice_sizes"]
        _check_indices("dynamic_slice", x, indices)
        if len(sizes) != len(x.shape):
            raise TypeError(
                "slice slice_sizes must have length equal to the number of dimensions of the "
                f"operand, got slice_sizes {sizes} for operand shape {x.shape}."
            )
        if any(size > extent for size, extent in zip(sizes, x.shape, strict=True)):
            raise TypeError(
                "slice slice_sizes must be less than or equal to operand shape, "
                f"got slice_sizes {sizes} for operand shape {x.shape}."
            )
        if any(size < 0 for size in sizes):
            raise TypeError(
                f"slice slice_sizes must be greater than or equal to zero, got {sizes}."
            )
        return (ShapedArray(sizes, x.dtype, x.weak_type),)

    def jvp(self, primals: Values, tangents: Tangents, **params: Any) -> tuple:
        """Take the window of the tangent."""
        (x, *indices) = primals
        found = None
        if not isinstance(tangents[0], Zero):
            found = self.bind(tangents[0], *indices, **params)
        (out,) = self.bind(x, *indices, **params)
        return (out,), found or no_tangents((out,))

    def transpose(self, cotangents: Tangents, args: Sequence, **params: Any) -> tuple:
        """Write the cotangent into zeros."""
        (ct,), (x, *indices) = cotangents, args
        nothing = (None,) * len(indices)
        if isinstance(ct, Zero):
            return (Zero(x.aval), *nothing)
        return (dynamic_update_slice_p.bind(zeros(x.aval.strong()), ct, *indices)[0], *nothing)

    def batch(self, axis: Axis, args: Values, dims: Dims, **params: Any) -> tuple:
        """Gather a window per row."""
        (x, *indices), (dim, *index_dims) = args, dims
        places, place_dim = _index_vectors(indices, index_dims, axis.size)
        axes = tuple(range(len(params["slice_sizes"])))
        return registry["gather"].batch(
            axis,
            (x, places),
            (dim, place_dim),
            dimension_numbers=GatherDimensionNumbers(axes, (), axes, (), ()),
            slice_sizes=params["slice_sizes"],
            mode=_window_mode(),
            fill_value=None,
            indices_are_sorted=dim is not None,
            unique_indices=dim is not None,
        )

    def lower(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Shift the index by the clamped starts."""
        (x, *indices), sizes = args, params["slice_sizes"]

        def pull(index: tuple) -> Any:
            """Return the element of the operand under the window's element."""
            starts = window_starts(b, indices, x.shape, sizes)
            return x.at(*map(b.iadd, starts, index))

        return (b.virtual(outs[0], pull),)

    def hlo(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Write one operation."""
        attributes = {"slice_sizes": array_text(params["slice_sizes"])}
        return b.op("stablehlo.dynamic_slice", args, outs, attributes)

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Slice with NumPy."""
        (x, *indices), sizes = arrays, params["slice_sizes"]
        return (x[_numpy_window(x.shape, indices, sizes)].copy(),)


def _window_mode() -> GatherScatterMode:
    """Return the mode of a window per row: moved inside, unless what is outside is an error."""
    return GatherScatterMode.PROMISE_IN_BOUNDS if bounds_are_checked() else GatherScatterMode.CLIP


dynamic_slice_p = DynamicSlice()


class DynamicUpdateSlice(Primitive):
    """The operand with the window at the index operands, moved to lie inside, replaced."""

    name = "dynamic_update_slice"

    def abstract(self, *avals: ShapedArray, **params: Any) -> Avals:
        """Check update and indices."""
        x, update, *indices = avals
        if len(update.shape) != len(x.shape):
            raise TypeError(
                "dynamic_update_slice update must have the same rank as operand, "
                f"got update shape {update.shape} for operand shape {x.shape}."
            )
        _check_indices("dynamic_update_slice", x, indices)
        if any(new > old for new, old in zip(update.shape, x.shape, strict=True)):
            raise TypeError(
                "dynamic_update_slice update shape must be smaller than operand shape, "
                f"got update shape {update.shape} for operand shape {x.shape}."
            )
        if x.dtype != update.dtype:
            raise TypeError(
                "lax.dynamic_update_slice requires arguments to have the same dtypes, got "
                f"{dtypes.dtype_name(x.dtype)}, {dtypes.dtype_name(update.dtype)}."
            )
        return (ShapedArray(x.shape, x.dtype, x.weak_type and update.weak_type),)

    def jvp(self, primals: Values, tangents: Tangents, **params: Any) -> tuple:
        """Write the tangent of the update into that of the operand."""
        (x, update, *indices) = primals
        (out,) = self.bind(x, update, *indices)
        if isinstance(tangents[0], Zero) and isinstance(tangents[1], Zero):
            return (out,), no_tangents((out,))
        t, u = map(instantiate, tangents[:2])
        return (out,), self.bind(t, u, *indices)

    def transpose(self, cotangents: Tangents, args: Sequence, **params: Any) -> tuple:
        """Clear the window for the operand; take it for the update."""
        (ct,), (x, update, *indices) = cotangents, args
        nothing = (None,) * len(indices)
        if isinstance(ct, Zero):
            return zero_cotangents(args)
        window = update.aval if isinstance(update, Linear) else typeof(update)
        first = second = None
        if isinstance(x, Linear):
            (first,) = self.bind(ct, zeros(window.strong()), *indices)
        if isinstance(update, Linear):
            (second,) = dynamic_slice_p.bind(ct, *indices, slice_sizes=window.shape)
        return (first, second, *nothing)

    def batch(self, axis: Axis, args: Values, dims: Dims, **params: Any) -> tuple:
        """Scatter a window per row."""
        (x, update, *indices), (dim, update_dim, *index_dims) = args, dims
        places, place_dim = _index_vectors(indices, index_dims, axis.size)
        axes = tuple(range(len(indices)))
        return registry["scatter"].batch(
            axis,
            (x, places, update),
            (dim, place_dim, update_dim),
            dimension_numbers=ScatterDimensionNumbers(axes, (), axes, (), ()),
            mode=_window_mode(),
            indices_are_sorted=True,
            unique_indices=True,
            update_jaxpr=None,
            update_consts=(),
        )

    def lower(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Store the window in place, where the operand may be overwritten."""
        x, update, *indices = args
        starts = [b.let(start) for start in window_starts(b, indices, x.shape, update.shape)]
        update = b.stored(update)
        buffer = b.writable(x)

        def write(index: tuple) -> None:
            """Store one element."""
            b.store(buffer, tuple(map(b.iadd, starts, index)), update.at(*index))

        b.nest(update.shape, write)
        return (buffer,)

    def hlo(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Write one operation."""
        return b.op("stablehlo.dynamic_update_slice", args, outs, {})

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Assign with NumPy."""
        x, update, *indices = arrays
        out = x.copy()
        out[_numpy_window(x.shape, indices, update.shape)] = update
        return (out,)


dynamic_update_slice_p = DynamicUpdateSlice()


def window_starts(b: Any, indices: Sequence, shape: Shape, sizes: Shape) -> list[Any]:
    """Return the start indices of a window as int64 scalars, clamped so that it lies inside."""
    starts = []
    for position, extent, size in zip(indices, shape, sizes, strict=True):
        start = b.convert(position.at(), np.dtype(np.int64))
        starts.append(b.max(b.min(start, extent - size), 0))
    return starts


def dynamic_slice(
    operand: Value,
    start_indices: Value | Sequence[Value],
    slice_sizes: int | Sequence[int],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Value:
    """Return the window of `slice_sizes` at `start_indices`, moved if need be to lie inside.

    Shapes: (n, m) -> slice_sizes.

    Negative indices count from the end, unless `allow_negative_indices` is false.

    >>> lax.dynamic_slice(jnp.arange(6), (4,), (3,))
    Array([3, 4, 5], dtype=int32)
    """
    indices = _window_indices(operand, start_indices, allow_negative_indices)
    given = slice_sizes if isinstance(slice_sizes, Iterable) else (slice_sizes,)
    sizes = tuple(map(operator.index, given))
    return dynamic_slice_p.bind(operand, *indices, slice_sizes=sizes)[0]


def dynamic_update_slice(
    operand: Value,
    update: Value,
    start_indices: Value | Sequence[Value],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Value:
    """Return `operand` with the window at `start_indices`, moved to lie inside, set to `update`.

    Shapes: (n, m), (k, l) -> (n, m).

    >>> lax.dynamic_update_slice(jnp.zeros(4), jnp.ones(2), (1,))
    Array([0., 1., 1., 0.], dtype=float32)
    """
    indices = _window_indices(operand, start_indices, allow_negative_indices)
    return dynamic_update_slice_p.bind(operand, update, *indices)[0]


def dynamic_slice_in_dim(
    operand: Value,
    start_index: Value,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Value:
    """Return the part of `operand` of extent `slice_size` from `start_index` on along one axis.

    Shapes: (n, m) -> (k, m).

    >>> lax.dynamic_slice_in_dim(jnp.arange(6), 2, 3)
    Array([2, 3, 4], dtype=int32)
    """
    shape = shape_of(operand)
    axis = axis_argument(axis, len(shape))
    starts, allowed = _one_axis(start_index, axis, len(shape), allow_negative_indices)
    sizes = replaced(shape, axis, operator.index(slice_size))
    return dynamic_slice(operand, starts, sizes, allow_negative_indices=allowed)


def dynamic_index_in_dim(
    operand: Value,
    index: Value,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Value:
    """Return the slice of `operand` at one index along an axis, with or without that axis.

    Shapes: (n, m) -> (1, m).

    >>> lax.dynamic_index_in_dim(jnp.array([5, 6, 7]), 1, keepdims=False)
    Array(6, dtype=int32)
    """
    result = dynamic_slice_in_dim(
        operand, index, 1, axis, allow_negative_indices=allow_negative_indices
    )
    axis = axis_argument(axis, len(shape_of(operand)))
    return result if keepdims else squeeze(result, (axis,))


def dynamic_update_slice_in_dim(
    operand: Value,
    update: Value,
    start_index: Value,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Value:
    """Return `operand` with the part from `start_index` on along one axis set to `update`.

    Shapes: (n, m), (k, m) -> (n, m).

    >>> lax.dynamic_update_slice_in_dim(jnp.zeros(4), jnp.ones(2), 1, 0)
    Array([0., 1., 1., 0.], dtype=float32)
    """
    axis = axis_argument(axis, len(shape_of(operand)))
    starts, allowed = _one_axis(start_index, axis, len(shape_of(operand)), allow_negative_indices)
    return dynamic_update_slice(operand, update, starts, allow_negative_indices=allowed)


def dynamic_update_index_in_dim(
    operand: Value,
    update: Value,
    index: Value,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Value:
    """Return `operand` with the slice at one index along an axis set to `update`.

    Shapes: (n, m), (m) -> (n, m).

    >>> lax.dynamic_update_index_in_dim(jnp.zeros(3), 1.0, 1, 0)
    Array([0., 1., 0.], dtype=float32)
    """
    rank = len(shape_of(operand))
    axis = axis_argument(axis, rank)
    window = update if len(shape_of(update)) == rank else expand_dims(update, (axis,))
    return dynamic_update_slice_in_dim(
        operand, window, index, axis, allow_negative_indices=allow_negative_indices
    )


# Helpers


def _index_vectors(indices: Values, dims: Dims, size: int) -> tuple[Value, int | None]:
    """Return the vectors (size, n) of the n indices, or (n,) when none has a batch axis."""
    if all(dim is None for dim in dims):
        parts = [broadcast_in_dim(x, (1,), ()) for x in indices]
        return _joined(parts, 0), None
    parts = [
        broadcast_in_dim(x, (size, 1), () if dim is None else (0,))
        for x, dim in zip(indices, dims, strict=True)
    ]
    return _joined(parts, 1), 0


def _joined(parts: Sequence[Value], dimension: int) -> Value:
    """Concatenate indices; an array of rank 0 has none."""
    return concatenate(parts, dimension) if parts else np.zeros((0,), np.int32)


def _numpy_window(shape: Shape, indices: Sequence[np.ndarray], sizes: Shape) -> tuple:
    """Return the window as NumPy's slices, moved to lie inside."""
    window = []
    for extent, position, size in zip(shape, indices, sizes, strict=True):
        start = max(min(int(position), extent - size), 0)
        window.append(builtins.slice(start, start + size))
    return tuple(window)


def _check_indices(name: str, x: ShapedArray, indices: Sequence[ShapedArray]) -> None:
    """Raise TypeError unless there is an integer scalar for each axis, all of one dtype."""
    kinds = [index.dtype for index in indices]
    if any(not dtypes.issubdtype(kind, np.integer) or kind != kinds[0] for kind in kinds):
        got = ", ".join(map(dtypes.dtype_name, kinds))
        raise TypeError(f"index arguments to {name} must be integers of the same type, got: {got}")
    if any(index.shape for index in indices):
        raise TypeError(
            f"start_indices arguments to {name} must be scalars,  got indices {tuple(indices)}"
        )
    if len(indices) != len(x.shape):
        raise TypeError(
            f"{name} start_indices must have length equal to the number of dimensions of the "
            f"operand, got indices {tuple(indices)} for operand shape {x.shape}."
        )


def _window_indices(
    operand: Value, start_indices: Value | Sequence[Value], allowed: bool | Sequence[bool]
) -> list[Value]:
    """Return a user's start indices as scalars, negative ones counted from the end if allowed."""
    shape = shape_of(operand)
    if isinstance(start_indices, (tuple, list)):
        indices = list(start_indices)
    elif len(shape_of(start_indices)) != 1:
        raise ValueError(f"Slice indices must be a 1D sequence, got {shape_of(start_indices)}")
    elif isinstance(start_indices, np.ndarray):
        indices = list(start_indices)
    else:
        indices = list(unstack(start_indices))
    if len(indices) != len(shape):
        raise ValueError(
            "Length of slice indices must match number of operand dimensions "
            f"({len(indices)} vs {shape})"
        )
    allowed = [allowed] * len(shape) if isinstance(allowed, bool) else list(allowed)
    if len(allowed) != len(shape):
        raise ValueError(
            f"allow_negative_indices has {len(allowed)} elements for operand shape {shape}"
        )
    return [
        _from_front(index, extent, negative)
        for index, extent, negative in zip(indices, shape, allowed, strict=True)
    ]


def _from_front(index: Value, extent: int, negative: bool) -> Value:
    """Return one start index, counted from the front."""
    aval = typeof(index)
    if not dtypes.issubdtype(aval.dtype, np.integer) or aval.shape:
        return index
    if isinstance(index, (int, np.integer, np.ndarray)):
        number = int(index)
        number = number + extent if negative and number < 0 else number
        fits = number <= dtypes.iinfo(aval.dtype).max
        return (aval.dtype if fits else np.dtype(np.int32)).type(number)
    if not negative or dtypes.issubdtype(aval.dtype, np.unsignedinteger):
        return index
    if extent > dtypes.iinfo(aval.dtype).max:
        index = convert(index, np.dtype(np.int32))
    return select_n(lt(index, const(index, 0)), index, add(index, const(index, extent)))


def _one_axis(start: Value, axis: int, rank: int, allowed: bool) -> tuple[list[Value], list[bool]]:
    """Return start indices that are 0 but for one axis, and where they may be negative."""
    aval = typeof(start)
    starts: list[Value] = [aval.dtype.type(0)] * rank
    starts[axis] = start
    flags = [False] * rank
    flags[axis] = allowed
    return starts, flags
