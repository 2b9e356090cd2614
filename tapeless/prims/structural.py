"""Operations that move elements and do not change them: shapes, orders, repetitions.

    broadcast_in_dim   (3,) -> (2, 3)       repeat along new axes, and along axes of extent 1
    reshape            (2, 3) -> (6,)       same elements in row-major order, another shape
    transpose          (2, 3) -> (3, 2)     axes in another order
    squeeze            (1, 3) -> (3,)       without axes of extent 1
    rev                (3,) -> (3,)         backwards along some axes
    tile               (3,) -> (6,)         the whole array several times along each axis

All are linear, and are index expressions when they are lowered: see `prims/rearrangement.py`.
User functions leave the operation out where it would be the identity, as JAX's do.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless.core.aval import ShapedArray
from tapeless.core.primitive import Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.common import (
    Avals,
    Dims,
    Int,
    apply,
    as_value,
    batch_dim,
    disagreement,
    inserted,
    move_dim,
    shape_of,
)
from tapeless.prims.rearrangement import (
    Rearrangement,
    Shape,
    array_text,
    axis_argument,
    shape_argument,
)

__all__ = [
    "broadcast",
    "broadcast_in_dim",
    "broadcast_in_dim_p",
    "broadcast_like",
    "broadcast_shapes",
    "broadcast_to_rank",
    "collapse",
    "expand_dims",
    "reshape",
    "reshape_p",
    "rev",
    "rev_p",
    "squeeze",
    "squeeze_p",
    "tile",
    "tile_p",
    "transpose",
    "transpose_p",
]


# broadcast_in_dim


class BroadcastInDim(Rearrangement):
    """Operand axis k becomes axis `broadcast_dimensions[k]` of `shape`; extents of 1 stretch."""

    name = "broadcast_in_dim"
    hidden = {"shape": ..., "broadcast_dimensions": (), "sharding": None}

    def out_shape(self, shape: Shape, /, **params: Any) -> Shape:
        """Check that the axes fit."""
        target, dims = params["shape"], params["broadcast_dimensions"]
        where = f"got {dims} for operand ndim {len(shape)} and shape {target}."
        if len(dims) != len(shape):
            raise TypeError(
                "broadcast_in_dim broadcast_dimensions must have length equal to operand ndim; got "
                f"broadcast_dimensions {dims} for operand ndim {len(shape)}."
            )
        if not all(0 <= dim < len(target) for dim in dims):
            raise TypeError(
                "broadcast_in_dim broadcast_dimensions must be a subset of output dimensions, "
                + where
            )
        if not all(extent in (1, target[dim]) for extent, dim in zip(shape, dims, strict=True)):
            raise TypeError(
                "broadcast_in_dim operand dimension sizes must either be 1, or be equal to their "
                "corresponding dimensions in the target broadcast shape; got operand of shape "
                f"{shape}, target broadcast shape {target}, broadcast_dimensions {dims} "
            )
        if any(left >= right for left, right in zip(dims, dims[1:], strict=False)):
            raise TypeError(
                "broadcast_in_dim broadcast_dimensions must be strictly increasing; got "
                f"broadcast_dimensions {dims}"
            )
        return target

    def back(self, ct: Value, aval: ShapedArray, **params: Any) -> Value:
        """Sum over the axes that were added or stretched."""
        shape, dims = params["shape"], params["broadcast_dimensions"]
        stretched = [
            dim for extent, dim in zip(aval.shape, dims, strict=True) if extent != shape[dim]
        ]
        axes = tuple(d for d in range(len(shape)) if d in stretched or d not in dims)
        summed = apply("reduce_sum", ct, axes=axes, out_sharding=None)
        ones = [position for position, dim in enumerate(dims) if dim in stretched]
        return expand_dims(summed, ones)

    def batch(self, axis: Axis, args: Values, dims: Dims, **params: Any) -> tuple:
        """Bring the batch axis to the front of operand and result."""
        x = move_dim(args[0], batch_dim(dims), 0)
        shape = (shape_of(x)[0], *params["shape"])
        moved = tuple(np.int64(dim + 1) for dim in params["broadcast_dimensions"])
        return (broadcast_in_dim(x, shape, (0, *moved)),), (0,)

    def source(self, b: Any, index: tuple, shape: Shape, /, **params: Any) -> tuple:
        """Drop the new axes; stay at 0 in stretched ones."""
        dims = params["broadcast_dimensions"]
        return tuple(
            0 if extent == 1 else index[dim] for extent, dim in zip(shape, dims, strict=True)
        )

    def hlo(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Write one operation."""
        attributes = {"broadcast_dimensions": array_text(params["broadcast_dimensions"])}
        return b.op("stablehlo.broadcast_in_dim", args, outs, attributes)

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Insert axes of extent 1, then stretch."""
        (x,) = arrays
        shape = [1] * len(params["shape"])
        for extent, dim in zip(x.shape, params["broadcast_dimensions"], strict=True):
            shape[dim] = extent
        return (np.broadcast_to(x.reshape(shape), params["shape"]).copy(),)


broadcast_in_dim_p = BroadcastInDim()


def broadcast_in_dim(
    operand: Value,
    shape: Sequence[int],
    broadcast_dimensions: Sequence[Int],
    *,
    out_sharding: object = None,
) -> Value:
    """Return (n,) repeated to `shape` (n, m); axis k becomes axis `broadcast_dimensions[k]`.

    operand: (n,), shape (m, n), broadcast_dimensions (1,) -> (m, n)

    >>> lax.broadcast_in_dim(jnp.array([1, 2]), (2, 3), (0,))
    Array([[1, 1, 1],
           [2, 2, 2]], dtype=int32)
    """
    target = shape_argument(shape)
    dims = tuple(broadcast_dimensions)
    if target == shape_of(operand) and dims == tuple(range(len(target))):
        return as_value(operand)
    return broadcast_in_dim_p.bind(operand, shape=target, broadcast_dimensions=dims, sharding=None)[
        0
    ]


def broadcast(operand: Value, sizes: Sequence[int], *, out_sharding: object = None) -> Value:
    """Return `operand` repeated along new leading axes of these sizes: (n) -> (*sizes, n).

    >>> lax.broadcast(jnp.array([1, 2]), (2,))
    Array([[1, 2],
           [1, 2]], dtype=int32)
    """
    if len(sizes) == 0:
        return as_value(operand)
    shape = shape_of(operand)
    dims = tuple(range(len(sizes), len(sizes) + len(shape)))
    return broadcast_in_dim(operand, (*sizes, *shape), dims)


def broadcast_to_rank(x: Value, rank: int) -> Value:
    """Return `x` with leading axes of extent 1 up to `rank` axes: (n) -> (1, n).

    >>> lax.broadcast_to_rank(jnp.array([1, 2]), 2)
    Array([[1, 2]], dtype=int32)
    """
    shape = shape_of(x)
    missing = rank - len(shape)
    if missing < 0:
        raise ValueError(f"broadcast_to_rank: operand has {len(shape)} axes, wanted {rank}")
    if missing == 0:
        return as_value(x)
    return broadcast_in_dim_p.bind(
        x,
        shape=(1,) * missing + shape,
        broadcast_dimensions=tuple(range(missing, rank)),
        sharding=None,
    )[0]


def broadcast_like(arr: Value, like_arr: Value) -> Value:
    """Return `arr` broadcast to the shape of `like_arr`, by NumPy's rules: (n) -> (m, n).

    >>> lax.broadcast_like(jnp.array([1, 2]), jnp.zeros((2, 2)))
    Array([[1, 2],
           [1, 2]], dtype=int32)
    """
    shape, target = shape_of(arr), shape_of(like_arr)
    if broadcast_shapes(shape, target) != tuple(target):
        raise ValueError(f"broadcast_like: shape {shape} does not stretch to {target}")
    return broadcast_in_dim(arr, target, range(len(target) - len(shape), len(target)))


def broadcast_shapes(*shapes: Sequence[int]) -> Shape:
    """Return the shape that arrays of these shapes broadcast to, by NumPy's rules.

    >>> lax.broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    rank = max((len(shape) for shape in shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + tuple(map(operator.index, shape)) for shape in shapes]
    out = []
    for extents in zip(*padded, strict=True):
        wide = {extent for extent in extents if extent != 1}
        if len(wide) > 1:
            raise ValueError(
                f"Incompatible shapes for broadcasting: shapes={list(shapes)}."
                f"{disagreement(shapes)}"
            )
        out.append(wide.pop() if wide else 1)
    return tuple(out)


# reshape


class Reshape(Rearrangement):
    """The elements in row-major order of the axes `dimensions`, in the shape `new_sizes`."""

    name = "reshape"

    def out_shape(self, shape: Shape, /, **params: Any) -> Shape:
        """Check that the number of elements stays."""
        sizes, dims = params["new_sizes"], params["dimensions"]
        if math.prod(shape) != math.prod(sizes):
            raise TypeError(
                f"reshape total size must be unchanged, got new_sizes {sizes} "
                f"(total size {math.prod(sizes)}) for shape {shape} (total size {math.prod(shape)})"
            )
        if dims is not None and sorted(dims) != list(range(len(shape))):
            raise TypeError(
                "reshape dimensions must be a permutation of operand dimensions, "
                f"got dimensions {dims} for shape {shape}"
            )
        return sizes

    def back(self, ct: Value, aval: ShapedArray, **params: Any) -> Value:
        """Reshape back, then undo the permutation."""
        dims = params["dimensions"]
        if dims is None:
            return reshape(ct, aval.shape)
        permuted = reshape(ct, tuple(aval.shape[dim] for dim in dims))
        return transpose(permuted, np.argsort(dims))

    def batch(self, axis: Axis, args: Values, dims: Dims, **params: Any) -> tuple:
        """Keep the batch axis in front."""
        x = move_dim(args[0], batch_dim(dims), 0)
        order = params["dimensions"]
        if order is not None:
            order = (0, *(dim + 1 for dim in order))
        return (reshape(x, (shape_of(x)[0], *params["new_sizes"]), order),), (0,)

    def source(self, b: Any, index: tuple, shape: Shape, /, **params: Any) -> tuple:
        """Number the element in row-major order and divide that by the operand's strides."""
        dims = params["dimensions"]
        order = tuple(range(len(shape))) if dims is None else dims
        flat: Any = 0
        for i, extent in zip(index, params["new_sizes"], strict=True):
            flat = b.iadd(b.imul(flat, extent), i)
        found: dict[int, Any] = {}
        for dim in reversed(order):
            found[dim] = b.imod(flat, shape[dim]) if dim != order[0] else flat
            flat = b.idiv(flat, shape[dim])
        return tuple(found[dim] for dim in range(len(shape)))

    def lower(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Pull by row-major number; an array without elements has none to pull."""
        if not outs[0].size:
            return (b.virtual(outs[0], lambda index: args[0].at(*(0,) * len(args[0].shape))),)
        return super().lower(b, args, outs, **params)

    def hlo(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Write a reshape, after a transpose if the order of the axes changes."""
        if params["dimensions"] is not None:
            return NotImplemented
        return b.op("stablehlo.reshape", args, outs, {})

    def decompose(self, *args: Value, **params: Any) -> tuple:
        """Transpose, then reshape."""
        return (reshape(transpose(args[0], params["dimensions"]), params["new_sizes"]),)

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Reshape with NumPy."""
        (x,), dims = arrays, params["dimensions"]
        return ((x if dims is None else np.transpose(x, dims)).reshape(params["new_sizes"]),)


reshape_p = Reshape()


def reshape(
    operand: Value,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    *,
    out_sharding: object = None,
) -> Value:
    """Return (n, m), in the order of the axes `dimensions`, as `new_sizes`, e.g. (n * m,).

    operand: (m, n) -> new_sizes, of as many elements.

    >>> lax.reshape(jnp.arange(4), (2, 2))
    Array([[0, 1],
           [2, 3]], dtype=int32)
    """
    sizes = shape_argument(new_sizes, "reshape new_sizes must all be positive")
    shape = shape_of(operand)
    dims = None if dimensions is None else tuple(map(operator.index, dimensions))
    in_order = dims is None or dims == tuple(range(len(shape)))
    if shape == sizes and in_order and shape:  # as in JAX, a scalar is reshaped
        return as_value(operand)
    return reshape_p.bind(
        operand, new_sizes=sizes, dimensions=None if in_order else dims, sharding=None
    )[0]


def collapse(operand: Value, start_dimension: int, stop_dimension: int | None = None) -> Value:
    """Return `operand` with the axes from start to before stop as one: (n, m) -> (n * m).

    >>> lax.collapse(jnp.ones((2, 3, 4)), 0, 2).shape
    (6, 4)
    """
    shape = shape_of(operand)
    low, high, _ = slice(start_dimension, stop_dimension).indices(len(shape))
    if high < low:
        raise ValueError(
            "Invalid dimension range passed to collapse: "
            f"{shape}[{start_dimension}:{stop_dimension}]"
        )
    return reshape(operand, (*shape[:low], math.prod(shape[low:high]), *shape[high:]))


# transpose, squeeze, expand_dims, rev, tile


class Transpose(Rearrangement):
    """Axis k of the result is axis `permutation[k]` of the operand."""

    name = "transpose"

    def out_shape(self, shape: Shape, /, **params: Any) -> Shape:
        """Check that it is a permutation."""
        permutation = params["permutation"]
        if sorted(permutation) != list(range(len(shape))):
            raise TypeError(
                "transpose permutation isn't a permutation of operand dimensions, "
                f"got permutation {permutation} for operand shape {shape}."
            )
        return tuple(shape[dim] for dim in permutation)

    def back(self, ct: Value, aval: ShapedArray, **params: Any) -> Value:
        """Permute back."""
        return transpose(ct, np.argsort(params["permutation"]))

    def batch(self, axis: Axis, args: Values, dims: Dims, **params: Any) -> tuple:
        """Put the batch axis in front as part of the permutation."""
        dim = batch_dim(dims)
        order = (dim, *(i + (i >= dim) for i in params["permutation"]))
        return (transpose(args[0], order),), (0,)

    def source(self, b: Any, index: tuple, shape: Shape, /, **params: Any) -> tuple:
        """Permute the index back."""
        found = dict(zip(params["permutation"], index, strict=True))
        return tuple(found[dim] for dim in range(len(shape)))

    def hlo(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Write one operation."""
        attributes = {"permutation": array_text(params["permutation"])}
        return b.op("stablehlo.transpose", args, outs, attributes)

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Transpose with NumPy."""
        return (np.transpose(arrays[0], params["permutation"]).copy(),)


transpose_p = Transpose()


def transpose(operand: Value, permutation: Sequence[int] | np.ndarray) -> Value:
    """Return `operand` with its axes in the order `permutation`: (n, m) -> (m, n).

    >>> lax.transpose(jnp.array([[1, 2], [3, 4]]), (1, 0))
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    order = tuple(map(operator.index, permutation))
    if order == tuple(range(len(order))) and len(order) == len(shape_of(operand)):
        return as_value(operand)
    return transpose_p.bind(operand, permutation=order)[0]


class Squeeze(Rearrangement):
    """Without the axes `dimensions`, which have extent 1."""

    name = "squeeze"

    def out_shape(self, shape: Shape, /, **params: Any) -> Shape:
        """Check the extents."""
        dims = params["dimensions"]
        if any(shape[dim] != 1 for dim in dims):
            raise ValueError(
                "cannot select an axis to squeeze out which has size not equal to one, "
                f"got shape={shape} and dimensions={dims}"
            )
        return tuple(extent for dim, extent in enumerate(shape) if dim not in dims)

    def back(self, ct: Value, aval: ShapedArray, **params: Any) -> Value:
        """Insert the axes again."""
        return expand_dims(ct, params["dimensions"])

    def batch(self, axis: Axis, args: Values, dims: Dims, **params: Any) -> tuple:
        """Keep the batch axis in front."""
        x = move_dim(args[0], batch_dim(dims), 0)
        return (squeeze(x, tuple(dim + 1 for dim in params["dimensions"])),), (0,)

    def source(self, b: Any, index: tuple, shape: Shape, /, **params: Any) -> tuple:
        """Be at 0 in the removed axes."""
        rest = iter(index)
        dims = params["dimensions"]
        return tuple(0 if dim in dims else next(rest) for dim in range(len(shape)))

    def hlo(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Write a reshape."""
        return b.op("stablehlo.reshape", args, outs, {})

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Squeeze with NumPy."""
        return (np.squeeze(arrays[0], params["dimensions"]),)


squeeze_p = Squeeze()


def squeeze(array: Value, dimensions: Sequence[int]) -> Value:
    """Return `array` without the axes `dimensions`, each of extent 1: (1, n) -> (n).

    >>> lax.squeeze(jnp.array([[1, 2]]), (0,))
    Array([1, 2], dtype=int32)
    """
    dims = _axes_argument(dimensions, len(shape_of(array)))
    if not dims:
        return as_value(array)
    return squeeze_p.bind(array, dimensions=dims)[0]


def expand_dims(array: Value, dimensions: Sequence[int]) -> Value:
    """Return (n,) with axes of 1 at the positions `dimensions`: (1, n) for (0,).

    array: (m, n), dimensions (1,) -> (m, 1, n)

    >>> lax.expand_dims(jnp.arange(2), (0,))
    Array([[0, 1]], dtype=int32)
    """
    if len(dimensions) == 0:
        return as_value(array)
    shape = shape_of(array)
    rank = len(shape) + len(dimensions)
    dims = _axes_argument(dimensions, rank)
    kept = tuple(dim for dim in range(rank) if dim not in dims)
    target = [1] * rank
    for dim, extent in zip(kept, shape, strict=True):
        target[dim] = extent
    return broadcast_in_dim(array, target, kept)


class Rev(Rearrangement):
    """Backwards along the axes `dimensions`."""

    name = "rev"

    def out_shape(self, shape: Shape, /, **params: Any) -> Shape:
        """Check the axes."""
        dims = params["dimensions"]
        if len(set(dims)) != len(dims):
            raise TypeError(f"rev dimensions must be unique, got {dims}.")
        if not all(dim < len(shape) for dim in dims):
            raise TypeError(
                "rev dimensions must all be less than operand ndim, "
                f"got dimensions {dims} for operand ndim {len(shape)}."
            )
        return shape

    def back(self, ct: Value, aval: ShapedArray, **params: Any) -> Value:
        """Turn round again."""
        return rev(ct, params["dimensions"])

    def batch(self, axis: Axis, args: Values, dims: Dims, **params: Any) -> tuple:
        """Renumber the axes."""
        (dim,) = dims
        moved = tuple(i + (i >= dim) for i in params["dimensions"])
        return self.bind(args[0], dimensions=moved), (dim,)

    def source(self, b: Any, index: tuple, shape: Shape, /, **params: Any) -> tuple:
        """Count from the end."""
        dims = params["dimensions"]
        return tuple(
            b.iadd(b.imul(i, -1), extent - 1) if dim in dims else i
            for dim, (i, extent) in enumerate(zip(index, shape, strict=True))
        )

    def hlo(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Write one operation."""
        attributes = {"dimensions": array_text(params["dimensions"])}
        return b.op("stablehlo.reverse", args, outs, attributes)

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Flip with NumPy."""
        return (np.flip(arrays[0], params["dimensions"]).copy(),)


rev_p = Rev()


def rev(operand: Value, dimensions: Sequence[int]) -> Value:
    """Return `operand` backwards along the axes `dimensions`: (n) -> (n).

    >>> lax.rev(jnp.array([[1, 2], [3, 4]]), (1,))
    Array([[2, 1],
           [4, 3]], dtype=int32)
    """
    return rev_p.bind(operand, dimensions=tuple(dimensions))[0]


class Tile(Rearrangement):
    """The whole operand `reps[k]` times along axis k."""

    name = "tile"

    def out_shape(self, shape: Shape, /, **params: Any) -> Shape:
        """Multiply the extents."""
        reps = params["reps"]
        if len(reps) != len(shape):
            raise TypeError(
                "reps length must be equal to the ndim of x, "
                f"got len(reps)={len(reps)} and x.ndim={len(shape)}."
            )
        return tuple(map(operator.mul, shape, reps))

    def back(self, ct: Value, aval: ShapedArray, **params: Any) -> Value:
        """Sum over the repetitions."""
        sizes: list[int] = []
        axes: list[int] = []
        for count, extent in zip(params["reps"], aval.shape, strict=True):
            if count != 1:
                axes.append(len(sizes))
                sizes.append(count)
            sizes.append(extent)
        return apply("reduce_sum", reshape(ct, sizes), axes=tuple(axes), out_sharding=None)

    def batch(self, axis: Axis, args: Values, dims: Dims, **params: Any) -> tuple:
        """Repeat the batch axis once."""
        dim, reps = batch_dim(dims), params["reps"]
        return self.bind(args[0], reps=inserted(reps, dim, 1)), (dim,)

    def lower(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Have it decomposed: a loop over the new axes divides no places."""
        return NotImplemented

    def decompose(self, *args: Value, **params: Any) -> tuple:
        """Broadcast along a new axis before each, then join the pairs."""
        (x,), reps = args, params["reps"]
        shape = shape_of(x)
        pairs = [n for pair in zip(reps, shape, strict=True) for n in pair]
        stretched = broadcast_in_dim(x, pairs, range(1, len(pairs), 2))
        return (reshape(stretched, tuple(map(operator.mul, shape, reps))),)

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Tile with NumPy."""
        return (np.tile(arrays[0], params["reps"]),)


tile_p = Tile()


def tile(operand: Value, reps: Sequence[int]) -> Value:
    """Return `operand` repeated `reps[k]` times along axis k: (n) -> (reps * n).

    >>> lax.tile(jnp.array([1, 2]), (2,))
    Array([1, 2, 1, 2], dtype=int32)
    """
    return tile_p.bind(operand, reps=tuple(map(operator.index, reps)))[0]


def _axes_argument(dimensions: Sequence[int], rank: int) -> tuple[int, ...]:
    """Return a user's axes counted from the front, in order, or raise ValueError."""
    dims = [axis_argument(dim, rank) for dim in dimensions]
    if len(set(dims)) != len(dims):
        raise ValueError(f"dimensions are not unique: {tuple(dims)}")
    return tuple(sorted(dims))
