"""Gather: read windows of an array at computed places.

    x (n, m), indices (k, 1), slice_sizes=(1, m), offset_dims=(1,), collapsed_slice_dims=(0,),
    start_index_map=(0,) -> (k, m)        y[i, j] = x[indices[i, 0], j]

The last axis of `indices` holds vectors; component c of a vector is the start of the window along
operand axis `start_index_map[c]`.  The window's extents are `slice_sizes`; its axes appear in the
result at `offset_dims`, but for the axes of extent 1 in `collapsed_slice_dims`.  The other axes of
the result are those of the indices.  Along `operand_batching_dims` the operand and the indices
(`start_indices_batching_dims`) are walked together; that is what a batch axis of both becomes, so
that a batched gather costs what a loop over the batch costs.

A window that sticks out is moved back inside (CLIP), filled with a constant (FILL_OR_DROP), or
promised not to occur (PROMISE_IN_BOUNDS): then it is moved back too, which keeps reads in memory.

The transpose adds the cotangents to zeros at the same places (`scatter_add`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.linear import Zero
from tapeless.core.primitive import Primitive, Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.bitwise import bitwise_and
from tapeless.prims.common import (
    apply,
    batch_dim,
    batch_dim_to,
    const,
    full_like,
    move_dim,
    shape_of,
    zeros,
)
from tapeless.prims.compare import ge, le
from tapeless.prims.indexing import (
    GatherDimensionNumbers,
    GatherScatterMode,
    check_batching,
    check_distinct_axes,
    check_index_map,
    scatter_numbers,
    shift,
    window_place,
    window_start,
)
from tapeless.prims.rearrangement import array_text
from tapeless.prims.rules import highest, lowest, scalar_program, tangent_of
from tapeless.prims.select import select_n
from tapeless.prims.structural import broadcast_in_dim

__all__ = ["gather", "gather_p"]

Axes = Sequence[int]


def _check_windows(x: ShapedArray, numbers: GatherDimensionNumbers, sizes: Axes) -> None:
    """Raise TypeError for slice sizes that do not fit the operand."""
    if len(sizes) != x.ndim:
        raise TypeError(
            "Gather op must have one slice size for every input dimension; "
            f"got: len(slice_sizes)={len(sizes)}, input_shape.rank={x.ndim}"
        )
    gone = len(numbers.collapsed_slice_dims) + len(numbers.operand_batching_dims)
    if len(sizes) != len(numbers.offset_dims) + gone:
        raise TypeError(
            "All components of the offset index in a gather op must either be a offset dimension "
            f"or explicitly collapsed/batching; got len(slice_sizes)={len(sizes)}, "
            f"output_slice_sizes={numbers.offset_dims}, "
            f"collapsed_slice_dims={numbers.collapsed_slice_dims}, "
            f"operand_batching_dims={numbers.operand_batching_dims}."
        )
    for position, axis in enumerate(numbers.collapsed_slice_dims):
        if sizes[axis] > 1:
            raise TypeError(
                "Gather op can only collapse slice dims with bound 1, but bound is "
                f"{sizes[axis]} for index {axis} at position {position}."
            )
    for position, axis in enumerate(numbers.operand_batching_dims):
        if sizes[axis] > 1:
            raise TypeError(
                "Gather op can only have operand batching dims with bound 0/1, but bound is "
                f"{sizes[axis]} for index {axis} at position {position}."
            )


def _check_sizes(x: ShapedArray, sizes: Axes) -> None:
    """Raise TypeError for slices that are larger than the operand."""
    for axis, (size, extent) in enumerate(zip(sizes, x.shape, strict=True)):
        if not 0 <= size <= extent:
            raise TypeError(
                f"Slice size at index {axis} in gather op is out of range, must be within "
                f"[0, {extent} + 1), got {size}."
            )


def _check(x: ShapedArray, indices: ShapedArray, numbers: Any, sizes: Axes) -> None:
    """Raise the errors for operands and dimension numbers that do not fit together."""
    if not dtypes.issubdtype(indices.dtype, np.integer):
        raise ValueError("indices must have an integer type")
    if indices.ndim == 0:
        raise TypeError(
            "Gather index leaf dimension must be within [0, rank(indices) + 1). "
            "rank(indices) is 0 and gather index leaf dimension is -1."
        )
    offsets = numbers.offset_dims
    check_distinct_axes("gather", "offset_dims", offsets, max(offsets, default=0) + 1)
    rank = len(offsets) + indices.ndim - 1
    for position, axis in enumerate(offsets):
        if not 0 <= axis < rank:
            raise TypeError(
                f"Offset dimension {position} in gather op is out of bounds; got {axis}, but "
                f"should have been in [0, {rank})"
            )
    index_map, collapsed = numbers.start_index_map, numbers.collapsed_slice_dims
    end = indices.ndim - 1
    check_index_map("gather", "start_index_map", index_map, indices.shape[-1], x.ndim, str(end))
    check_distinct_axes("gather", "collapsed_slice_dims", collapsed, x.ndim)
    check_batching(
        "gather",
        ("collapsed_slice_dims", "start_index_map", "start_indices_batching_dims"),
        (collapsed, index_map, numbers.operand_batching_dims, numbers.start_indices_batching_dims),
        (x.shape, indices.shape),
    )
    _check_windows(x, numbers, sizes)
    if 0 not in indices.shape[:-1]:
        _check_sizes(x, sizes)


class Gather(Primitive):
    """y[batch, offset] = x[start(indices[batch]) + offset]; see the module's docstring."""

    name = "gather"

    def abstract(
        self, x: ShapedArray, indices: ShapedArray, *, dimension_numbers: Any, **params: Any
    ) -> tuple[ShapedArray, ...]:
        sizes = params["slice_sizes"]
        _check(x, indices, dimension_numbers, sizes)
        gone = (*dimension_numbers.collapsed_slice_dims, *dimension_numbers.operand_batching_dims)
        window = iter([size for axis, size in enumerate(sizes) if axis not in gone])
        batch = iter(indices.shape[:-1])
        offsets = dimension_numbers.offset_dims
        rank = len(offsets) + indices.ndim - 1
        shape = tuple(next(window if axis in offsets else batch) for axis in range(rank))
        return (ShapedArray(shape, x.dtype, x.weak_type),)

    def jvp(self, primals: Values, tangents: Sequence[Value | Zero], **params: Any) -> tuple:
        x, indices = primals
        (out,) = self.bind(x, indices, **params)
        if params["mode"] is GatherScatterMode.FILL_OR_DROP:
            params = {**params, "fill_value": 0}
        tangent = tangent_of(lambda t: self.bind(t, indices, **params)[0], tangents[0], out)
        return (out,), (tangent,)

    def transpose(
        self,
        cotangents: Sequence[Value | Zero],
        args: Sequence,
        *,
        dimension_numbers: Any,
        **params: Any,
    ) -> tuple:
        (ct,), (x, indices) = cotangents, args
        if isinstance(ct, Zero):
            return Zero(x.aval), None
        added = apply(
            "scatter-add",
            zeros(x.aval.strong()),
            indices,
            ct,
            dimension_numbers=scatter_numbers(dimension_numbers),
            indices_are_sorted=params["indices_are_sorted"],
            mode=params["mode"],
            unique_indices=params["unique_indices"],
            update_consts=(),
            update_jaxpr=scalar_program("add", x.aval.dtype),
        )
        return added, None

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        *,
        dimension_numbers: Any,
        slice_sizes: Axes,
        **params: Any,
    ) -> tuple:
        (x, indices), (x_dim, i_dim) = args, dims
        n = dimension_numbers
        if i_dim is None:
            x = move_dim(x, batch_dim(dims), 0)
            numbers = GatherDimensionNumbers(
                (0, *shift(n.offset_dims)),
                shift(n.collapsed_slice_dims),
                shift(n.start_index_map),
                shift(n.operand_batching_dims),
                n.start_indices_batching_dims,
            )
            sizes = (axis.size, *slice_sizes)
        elif x_dim is None:
            indices = move_dim(indices, i_dim, 0)
            numbers = n._replace(
                offset_dims=tuple(1 + dim for dim in n.offset_dims),
                start_indices_batching_dims=tuple(1 + d for d in n.start_indices_batching_dims),
            )
            sizes = slice_sizes
        else:
            x = batch_dim_to(x, x_dim, 0, axis.size)
            indices = batch_dim_to(indices, i_dim, 0, axis.size)
            numbers = GatherDimensionNumbers(
                shift(n.offset_dims),
                shift(n.collapsed_slice_dims),
                shift(n.start_index_map),
                (0, *shift(n.operand_batching_dims)),
                (0, *shift(n.start_indices_batching_dims)),
            )
            sizes = (1 if axis.size else 0, *slice_sizes)
        outs = self.bind(x, indices, dimension_numbers=numbers, slice_sizes=sizes, **params)
        return outs, (0,)

    def lower(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        dimension_numbers: Any,
        slice_sizes: Axes,
        mode: GatherScatterMode,
        fill_value: Any,
        **params: Any,
    ) -> tuple:
        (x, indices), (out,) = args, outs
        n = dimension_numbers
        room = [extent - size for extent, size in zip(x.shape, slice_sizes, strict=True)]
        fill = mode is GatherScatterMode.FILL_OR_DROP

        def pull(index: Sequence[Any]) -> Any:
            """Read the element of the window that this index of the result names."""
            batch, place = window_place(n, index, len(x.shape))
            vector = [indices.at(*batch, c) for c in range(len(n.start_index_map))]
            starts, _ = window_start(b, vector, n.start_index_map, room, clip=True)
            for axis, start in starts.items():
                place[axis] = b.iadd(place[axis], start)
            element = x.at(*place)
            if not fill:
                return element
            _, inside = window_start(b, vector, n.start_index_map, room, clip=False)
            if inside is None:
                return element
            return b.select(inside, element, b.const(fill_value, x.dtype))

        return (b.virtual(out, pull),)

    def decompose(self, *args: Value, mode: Any, fill_value: Any, **params: Any) -> tuple:
        """Gather with windows moved inside, and overwrite those that were not inside."""
        x, indices = args
        n, sizes = params["dimension_numbers"], params["slice_sizes"]
        (out,) = self.bind(x, indices, mode=GatherScatterMode.CLIP, fill_value=None, **params)
        room = [shape_of(x)[axis] - sizes[axis] for axis in n.start_index_map]
        room = np.array(room, typeof(indices).dtype)
        last = len(shape_of(indices)) - 1
        limit = broadcast_in_dim(room, shape_of(indices), (last,))
        inside = bitwise_and(ge(indices, const(indices, 0)), le(indices, limit))
        inside = apply("reduce_and", inside, axes=(last,))
        batch = [axis for axis in range(len(shape_of(out))) if axis not in n.offset_dims]
        inside = broadcast_in_dim(inside, shape_of(out), tuple(batch))
        return (select_n(inside, full_like(out, fill_value), out),)

    def hlo(self, b: Any, args: Sequence, outs: tuple, *, mode: Any, **params: Any) -> tuple:
        """Write one operation, which clips; left to `decompose` where it should fill."""
        if mode is GatherScatterMode.FILL_OR_DROP:
            return NotImplemented
        n = params["dimension_numbers"]
        numbers = {
            "offset_dims": n.offset_dims,
            "collapsed_slice_dims": n.collapsed_slice_dims,
            "operand_batching_dims": n.operand_batching_dims,
            "start_indices_batching_dims": n.start_indices_batching_dims,
            "start_index_map": n.start_index_map,
            "index_vector_dim": args[1].aval.ndim - 1,
        }
        attributes = {
            "dimension_numbers": b.axes("stablehlo.gather", numbers),
            "indices_are_sorted": str(params["indices_are_sorted"]).lower(),
            "slice_sizes": array_text(params["slice_sizes"]),
        }
        return b.op("stablehlo.gather", args, outs, attributes)

    def reference(self, x: np.ndarray, indices: np.ndarray, **params: Any) -> tuple:
        n, sizes, mode = (params[key] for key in ("dimension_numbers", "slice_sizes", "mode"))
        (aval,) = self.abstract(typeof(x), typeof(indices), **params)
        out = np.zeros(aval.shape, x.dtype)
        gone = (*n.collapsed_slice_dims, *n.operand_batching_dims)
        room = np.array(x.shape) - np.array(sizes)
        for batch in np.ndindex(*indices.shape[:-1]):
            start = np.zeros(x.ndim, int)
            start[list(n.start_index_map)] = indices[batch]
            for axis, dim in zip(
                n.operand_batching_dims, n.start_indices_batching_dims, strict=True
            ):
                start[axis] = batch[dim]
            inside = bool(np.all((start >= 0) & (start <= room)))
            start = np.clip(start, 0, room)
            window = x[tuple(slice(s, s + size) for s, size in zip(start, sizes, strict=True))]
            window = window.squeeze(tuple(map(int, gone)))
            if mode is GatherScatterMode.FILL_OR_DROP and not inside:
                window = np.full_like(window, params["fill_value"])
            coordinate = iter(batch)
            place = [
                slice(None) if a in n.offset_dims else next(coordinate) for a in range(out.ndim)
            ]
            out[tuple(place)] = window
        return (out,)


gather_p = Gather()


def gather(
    operand: Value,
    start_indices: Value,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: str | GatherScatterMode | None = None,
    fill_value: Any = None,
) -> Value:
    """Return the windows of `operand` at the places that `start_indices` names.

    operand: (n, m), start_indices: (k, 1) -> e.g. (k, m); see the module's docstring.
    fill_value: for windows out of bounds under mode "fill"; NaN, the least integer, or the greatest
    unsigned integer by default.

    >>> lax.gather(jnp.array([5, 6, 7]), jnp.array([[2], [0]]), lax.GatherDimensionNumbers((),
    ...     (0,), (0,)), (1,))
    Array([7, 5], dtype=int32)
    """
    parsed = (
        GatherScatterMode.PROMISE_IN_BOUNDS if mode is None else GatherScatterMode.from_any(mode)
    )
    if parsed is GatherScatterMode.FILL_OR_DROP:
        if fill_value is None:
            fill_value = _default_fill(typeof(operand).dtype)
    else:
        fill_value = None
    return gather_p.bind(
        operand,
        start_indices,
        dimension_numbers=dimension_numbers,
        fill_value=fill_value,
        indices_are_sorted=bool(indices_are_sorted),
        mode=parsed,
        slice_sizes=tuple(map(int, slice_sizes)),
        unique_indices=bool(unique_indices),
    )[0]


def _default_fill(dtype: Any) -> Any:
    """Return what a gather out of bounds gives: NaN, or an integer that is seldom meant."""
    if dtypes.issubdtype(dtype, np.inexact):
        return np.nan
    if dtypes.issubdtype(dtype, np.signedinteger):
        return lowest(dtype)
    is_key = isinstance(dtype, dtypes.KeyDtype)
    return highest(dtype.physical_dtype if is_key else dtype)
