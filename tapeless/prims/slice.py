"""Slice and pad: parts of arrays at places that are known when a program is traced.

    slice  (7,) -> (3,)         start_indices=(1,) limit_indices=(6,) strides=(2,)
    pad    (3,), () -> (8,)     padding_config=((low, high, interior),)

`pad` is the transpose of `slice`.  Negative low and high padding cuts elements off.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray
from tapeless.core.linear import Linear, Zero
from tapeless.core.primitive import Primitive, Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.binary import sub
from tapeless.prims.common import (
    Avals,
    Dims,
    Int,
    Tangents,
    apply,
    batch_dim,
    const,
    full_like,
    inserted,
    instantiate,
    move_dim,
    no_tangents,
    shape_of,
    strong_zero,
    zero_cotangents,
)
from tapeless.prims.rearrangement import Rearrangement, array_text, axis_argument
from tapeless.prims.select import select_n
from tapeless.prims.structural import broadcast, broadcast_in_dim, squeeze

__all__ = [
    "index_in_dim",
    "pad",
    "pad_p",
    "slice",
    "slice_in_dim",
    "slice_p",
]

Shape = tuple[int, ...]
PaddingConfig = Sequence[tuple[Int, Int, Int]]


class Slice(Rearrangement):
    """Every `strides`-th element from `start_indices` to before `limit_indices`."""

    name = "slice"

    def out_shape(self, shape: Shape, /, **params: Any) -> Shape:
        """Check the bounds."""
        starts, limits, strides = _slice_params(params)
        _check_slice(shape, starts, limits, params["strides"])
        spans = zip(starts, limits, strides, strict=True)
        return tuple(-(-(limit - start) // stride) for start, limit, stride in spans)

    def back(self, ct: Value, aval: ShapedArray, **params: Any) -> Value:
        """Pad with zeros, also between the elements when there are strides."""
        starts, limits, strides = _slice_params(params)
        if all(stride == 1 for stride in strides):
            highs = np.subtract(aval.shape, limits)
            config = zip(starts, highs, (0,) * len(starts), strict=True)
        else:
            extents = np.array(shape_of(ct), dtype=np.int64)
            covered = np.where(extents == 0, 0, np.add(1, np.multiply(strides, extents - 1)))
            highs = np.subtract(aval.shape, np.add(starts, covered))
            config = zip(starts, highs, np.subtract(strides, 1), strict=True)
        return pad(ct, strong_zero(ct), tuple(config))

    def batch(self, axis: Axis, args: Values, dims: Dims, **params: Any) -> tuple:
        """Take the whole batch axis."""
        (x,), dim = args, batch_dim(dims)
        starts, limits, strides = (
            params["start_indices"],
            params["limit_indices"],
            params["strides"],
        )
        out = self.bind(
            x,
            start_indices=inserted(starts, dim, 0),
            limit_indices=inserted(limits, dim, shape_of(x)[dim]),
            strides=None if strides is None else inserted(strides, dim, 1),
        )
        return out, (dim,)

    def source(self, b: Any, index: tuple, shape: Shape, /, **params: Any) -> tuple:
        """start + stride * i."""
        starts, _, strides = _slice_params(params)
        return tuple(
            b.iadd(b.imul(i, int(stride)), int(start))
            for i, start, stride in zip(index, starts, strides, strict=True)
        )

    def hlo(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Write one operation."""
        starts, limits, strides = _slice_params(params)
        attributes = {
            "start_indices": array_text(starts),
            "limit_indices": array_text(limits),
            "strides": array_text(strides),
        }
        return b.op("stablehlo.slice", args, outs, attributes)

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Slice with NumPy."""
        window = tuple(map(builtins.slice, *_slice_params(params)))
        return (arrays[0][window].copy(),)


slice_p = Slice()


def slice(
    operand: Value,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Value:
    """Return the part of `operand` from start to before limit along each axis, with strides.

    Shapes: (n) -> (limit - start).

    >>> lax.slice(jnp.arange(6), (1,), (6,), (2,))
    Array([1, 3, 5], dtype=int32)
    """
    return slice_p.bind(
        operand,
        start_indices=tuple(start_indices),
        limit_indices=tuple(limit_indices),
        strides=None if strides is None else tuple(strides),
    )[0]


def slice_in_dim(
    operand: Value,
    start_index: int | None,
    limit_index: int | None,
    stride: int = 1,
    axis: int = 0,
) -> Value:
    """Return the part of `operand` from start to before limit along one axis, as x[start:limit].

    Shapes: (n, m) -> (k, m).

    >>> lax.slice_in_dim(jnp.arange(6), 1, 4)
    Array([1, 2, 3], dtype=int32)
    """
    shape = shape_of(operand)
    axis = axis_argument(axis, len(shape))
    extent = shape[axis]
    start = 0 if start_index is None else operator.index(start_index)
    limit = extent if limit_index is None else operator.index(limit_index)
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis] = start + extent if start < 0 else start
    limits[axis] = limit + extent if limit < 0 else limit
    strides[axis] = operator.index(stride)
    return slice(operand, starts, limits, strides)


def index_in_dim(operand: Value, index: int, axis: int = 0, keepdims: bool = True) -> Value:
    """Return the slice of `operand` at one index along an axis, with or without that axis.

    Shapes: (n, m) -> (1, m).

    >>> lax.index_in_dim(jnp.array([5, 6, 7]), 1, keepdims=False)
    Array(6, dtype=int32)
    """
    shape = shape_of(operand)
    index, axis = operator.index(index), axis_argument(axis, len(shape))
    if not -shape[axis] <= index < shape[axis]:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {shape[axis]}")
    start = index % shape[axis]
    result = slice_in_dim(operand, start, start + 1, 1, axis)
    return result if keepdims else squeeze(result, (axis,))


# pad


class Pad(Primitive):
    """`low` padding values, the elements with `interior` between them, `high` padding values."""

    name = "pad"
    types_follow = True

    def abstract(self, *avals: ShapedArray, **params: Any) -> Avals:
        """Check the configuration."""
        (x, value), config = avals, params["padding_config"]
        if x.dtype != value.dtype:
            raise TypeError(
                "pad operand and padding_value must be same dtype: got "
                f"{dtypes.dtype_name(x.dtype)} and {dtypes.dtype_name(value.dtype)}."
            )
        if value.shape:
            raise ValueError(
                f"padding_value must be a scalar; got np.shape(padding_value)={value.shape}"
            )
        if len(config) != len(x.shape):
            raise ValueError(
                "length of padding_config must equal the number of axes of operand, got "
                f"padding_config {config} for operand shape {x.shape}"
            )
        if not all(interior >= 0 for _, _, interior in config):
            raise ValueError(
                "interior padding in padding_config must be nonnegative, "
                f"got padding_config {config}"
            )
        shape = tuple(
            int(low + high + _dilated(extent, interior))
            for extent, (low, high, interior) in zip(x.shape, config, strict=True)
        )
        if not all(extent >= 0 for extent in shape):
            raise ValueError(
                f"Dimension size after padding is not at least 0, got result shape {shape}, for "
                f"padding_config {config} and operand shape {x.shape}"
            )
        return (ShapedArray(shape, x.dtype, x.weak_type and value.weak_type),)

    def jvp(self, primals: Values, tangents: Tangents, **params: Any) -> tuple:
        """Pad the tangents: it is linear in operand and value together."""
        (out,) = self.bind(*primals, **params)
        if all(isinstance(t, Zero) for t in tangents):
            return (out,), no_tangents((out,))
        return (out,), self.bind(*map(instantiate, tangents), **params)

    def transpose(self, cotangents: Tangents, args: Sequence, **params: Any) -> tuple:
        """Cut the operand's part out; the value gets the sum of what is left."""
        (ct,), (x, value) = cotangents, args
        if isinstance(ct, Zero):
            return zero_cotangents(args)
        lows, highs, interiors = _columns(params["padding_config"])
        negated = zip(np.negative(lows), np.negative(highs), np.zeros_like(interiors), strict=True)
        cut = pad(ct, strong_zero(ct), tuple(negated))
        starts, strides = np.zeros_like(lows), np.add(interiors, 1)
        found = slice(cut, tuple(starts), shape_of(cut), tuple(strides))
        if not isinstance(value, Linear):
            return found, None
        everywhere = tuple(range(len(shape_of(ct))))
        total = apply("reduce_sum", ct, axes=everywhere, out_sharding=None)
        taken = apply("reduce_sum", found, axes=everywhere, out_sharding=None)
        return (found if isinstance(x, Linear) else None), sub(total, taken)

    def batch(self, axis: Axis, args: Values, dims: Dims, **params: Any) -> tuple:
        """Do not pad the batch axis; batched padding values are selected in afterwards."""
        (x, value), (dim, value_dim), config = args, dims, params["padding_config"]
        if value_dim is None:
            dim = batch_dim(dims)
            config = inserted(config, dim, (0, 0, 0))
            return (pad(x, value, config),), (dim,)
        if dim is None:
            x, dim = broadcast(x, (axis.size,)), 0
        x = move_dim(x, dim, 0)
        config = ((0, 0, 0), *config)
        padded = pad(x, const(x, 0), config)
        inside = full_like(ShapedArray(shape_of(x), np.bool_), True)
        mask = pad(inside, np.bool_(False), config)
        values = broadcast_in_dim(value, shape_of(padded), (0,))
        return (select_n(mask, values, padded),), (0,)

    def lower(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Select between the operand and the value.

        A stored operand is read under a guard, in vectors as they lie; what is computed is pulled
        at a clamped index.
        """
        (x, value), config = args, params["padding_config"]
        if not x.aval.size:
            return (b.virtual(outs[0], lambda index: value.at()),)

        def pull(index: tuple) -> Any:
            """Return the element, if the index falls on one, else the value."""
            inside, places = None, []
            for i, extent, (low, high, interior) in zip(index, x.shape, config, strict=True):
                conditions, place = _padded_place(b, i, extent, int(low), int(high), int(interior))
                clamped = b.max(b.min(place, extent - 1), 0) if low > 0 or high > 0 else place
                places.append(place if x.is_stored else clamped)
                for condition in conditions:
                    inside = condition if inside is None else b.and_(inside, condition)
            element = x.at(*places)
            if inside is None:
                return element
            choose = b.guarded if x.is_stored else b.select
            return choose(inside, element, value.at())

        return (b.virtual(outs[0], pull),)

    def hlo(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Write one operation."""
        columns = _columns(params["padding_config"])
        names = ("edge_padding_low", "edge_padding_high", "interior_padding")
        attributes = {name: array_text(column) for name, column in zip(names, columns, strict=True)}
        return b.op("stablehlo.pad", args, outs, attributes)

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Fill a larger array, then cut off what negative padding takes."""
        (x, value), config = arrays, params["padding_config"]
        grown = [_dilated(n, k) for n, (_, _, k) in zip(x.shape, config, strict=True)]
        whole = np.full(grown, value, x.dtype)
        whole[tuple(builtins.slice(None, None, k + 1) for _, _, k in config)] = x
        positive = [(max(low, 0), max(high, 0)) for low, high, _ in config]
        if positive:
            whole = np.pad(whole, positive, constant_values=value)
        window = tuple(
            builtins.slice(max(-low, 0), extent - max(-high, 0))
            for extent, (low, high, _) in zip(whole.shape, config, strict=True)
        )
        return (whole[window].copy(),)


pad_p = Pad()


def pad(operand: Value, padding_value: Value, padding_config: PaddingConfig) -> Value:
    """Return `operand` with `padding_value` around and between its elements.

    operand: (n,), padding_value: (), low, high, interior -> (low + n + (n - 1) interior +
    high,)
    padding_config: for each axis (low, high, interior); low and high may be negative.

    >>> lax.pad(jnp.array([1, 2]), 0, [(1, 2, 1)])
    Array([0, 1, 0, 2, 0, 0], dtype=int32)
    """
    config = tuple((low, high, interior) for low, high, interior in padding_config)
    return pad_p.bind(operand, padding_value, padding_config=config)[0]


def _dilated(extent: int, interior: int) -> int:
    """Return the extent with `interior` elements between neighbours."""
    return extent + max(extent - 1, 0) * interior


def _padded_place(
    b: Any, i: Any, extent: int, low: int, high: int, interior: int
) -> tuple[list[Any], Any]:
    """Return when the padded index `i` falls on an element, and the element's index."""
    step, conditions = interior + 1, []
    # What is divided is not negative.
    shift = -low % step
    shifted = b.index_add(i, shift)
    place = b.index_add(b.index_div(shifted, step), -((low + shift) // step))
    if low > 0:
        conditions.append(b.ge(place, 0))
    if high > 0:
        conditions.append(b.lt(place, extent))
    if interior:
        conditions.append(b.eq(b.index_mod(shifted, step), 0))
    return conditions, place


# Helpers


def _slice_params(params: dict[str, Any]) -> tuple[Shape, Shape, Shape]:
    """Return starts, limits and strides; no strides are strides of 1."""
    starts = params["start_indices"]
    return starts, params["limit_indices"], params["strides"] or (1,) * len(starts)


def _check_slice(shape: Shape, starts: Shape, limits: Shape, strides: Shape | None) -> None:
    """Raise TypeError for bounds that do not fit."""
    lengths = "must have length equal to the number of dimensions of the operand, got"
    if len(starts) != len(shape):
        raise TypeError(
            f"slice start_indices {lengths} indices {starts} for operand shape {shape}."
        )
    if len(limits) != len(shape):
        raise TypeError(
            f"slice limit_indices {lengths} indices {limits} for operand shape {shape}."
        )
    if not all(limit <= extent for limit, extent in zip(limits, shape, strict=True)):
        raise TypeError(
            "slice limit_indices must be less than or equal to operand shape, "
            f"got limit_indices {limits} for operand shape {shape}."
        )
    if not all(start >= 0 for start in starts):
        raise TypeError(
            f"slice start_indices must have every element be nonnegative, got {starts}."
        )
    if not all(start <= limit for start, limit in zip(starts, limits, strict=True)):
        raise TypeError(
            "slice limit_indices must be greater than or equal to start_indices, "
            f"got start_indices {starts} and limit_indices {limits}."
        )
    if strides is None:
        return
    if len(strides) != len(shape):
        raise TypeError(f"slice strides {lengths} strides {strides} for operand shape {shape}.")
    if not all(stride > 0 for stride in strides):
        raise TypeError(f"slice strides must be positive, got {strides}")


def _columns(config: PaddingConfig) -> tuple[Shape, Shape, Shape]:
    """Return the lows, the highs and the interiors of a padding configuration."""
    lows, highs, interiors = zip(*config, strict=True) if config else ((), (), ())
    return lows, highs, interiors
