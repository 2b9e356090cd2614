"""Reading and writing at index arrays by name: `take`, `put` and their kin; multi-indices."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes, lax
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy import arithmetic
from tapeless.numpy.arithmetic import remainder
from tapeless.numpy.choice import broadcast, flatnonzero, where
from tapeless.numpy.common import (
    asarray,
    canonicalize_axis,
    check_arraylike,
    concrete_value,
    const,
    convert,
    dtype_of,
    listed,
    number_like,
    value_of,
)
from tapeless.numpy.joining import take_rows, tile
from tapeless.numpy.shaping import ravel
from tapeless.numpy.updates import scatter_update
from tapeless.runtime.array import Array

__all__ = [
    "compress",
    "extract",
    "fill_diagonal",
    "ix_",
    "place",
    "put",
    "put_along_axis",
    "ravel_multi_index",
    "take",
    "take_along_axis",
    "unravel_index",
]

_NOT_IN_PLACE = (
    "jax.numpy.{} cannot modify arrays in-place, because JAX arrays are immutable. Pass "
    "inplace=False to instead return an updated array."
)


def take(
    a: Any,
    indices: Any,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Array:
    """Return the elements, or slices along an axis, at integer positions.

    a: (n, m), indices: (k,) -> (k, m) for axis 0; without an axis, of the flattened array

    mode: for positions out of bounds: "fill" (the default, with NaN or `fill_value`), "wrap",
    "clip".

    >>> import tapeless.numpy as jnp
    >>> jnp.take(jnp.array([10.0, 20.0]), jnp.array([1, -1, 5]))
    Array([20., 20., nan], dtype=float32)
    """
    check_arraylike("take", a, indices)
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.take is not supported.")
    number = None if axis is None else operator.index(axis)
    options = {"mode": mode, "fill_value": fill_value}
    options |= {"unique_indices": unique_indices, "indices_are_sorted": indices_are_sorted}
    return _take(value_of(a), value_of(indices), axis=number, **options)


@jit(static_argnames=("axis", "mode", "unique_indices", "indices_are_sorted", "fill_value"))
def _take(
    a: Value,
    indices: Value,
    *,
    axis: int | None,
    mode: Any,
    unique_indices: bool,
    indices_are_sorted: bool,
    fill_value: Any,
) -> Value:
    """Gather."""
    a = asarray(a)
    if axis is None:
        a, axis = ravel(a), 0
    rank = typeof(a).ndim
    axis = canonicalize_axis(axis, rank)
    kind = dtype_of(indices)
    if not dtypes.issubdtype(kind, np.integer):
        raise ValueError("indices must have an integer type")
    length, depth = typeof(a).shape[axis], typeof(indices).ndim
    indices, mode = _take_places(indices, length, mode)
    others = [number for number in range(rank) if number != axis]
    offset = tuple(number if number < axis else number + depth - 1 for number in others)
    sizes = tuple(1 if number == axis else typeof(a).shape[number] for number in range(rank))
    if length == 0:
        if typeof(indices).size:
            raise IndexError("Cannot do a non-empty jnp.take() from an empty axis.")
        shape = typeof(a).shape
        return lax.full_like(
            a, 0, shape=(*shape[:axis], *typeof(indices).shape, *shape[axis + 1 :])
        )
    return lax.gather(
        a,
        lax.expand_dims(indices, (depth,)),
        lax.GatherDimensionNumbers(offset, (axis,), (axis,)),
        sizes,
        mode=mode,
        fill_value=fill_value,
        unique_indices=unique_indices,
        indices_are_sorted=indices_are_sorted,
    )


def _take_places(indices: Value, length: int, mode: Any) -> tuple[Value, Any]:
    """Return positions counted from the front, and the mode of the gather that reads them."""
    kind = dtype_of(indices)
    if mode == "raise":
        raise NotImplementedError("The 'raise' mode to jnp.take is not supported.")
    if mode == "wrap":
        places = remainder(indices, const(indices, length) if length < 128 else length)
        return places, lax.GatherScatterMode.PROMISE_IN_BOUNDS
    if mode == "clip":
        return indices, lax.GatherScatterMode.CLIP
    if mode not in (None, "fill"):
        raise ValueError(f"Invalid mode '{mode}' for np.take")
    mode = lax.GatherScatterMode.from_any(mode)
    if dtypes.issubdtype(kind, np.unsignedinteger):
        return indices, mode
    if length > dtypes.iinfo(kind).max:
        indices, kind = convert(indices, np.dtype(np.int32)), np.dtype(np.int32)
    below = lax.lt(indices, const(indices, 0))
    moved = lax.add(indices, const(indices, length))
    return where(below, moved, indices), mode


@jit(static_argnames=("axis", "mode", "fill_value", "wrap_negative_indices"))
def take_along_axis(
    arr: Any,
    indices: Any,
    axis: int | None = -1,
    mode: Any = None,
    fill_value: Any = None,
    *,
    wrap_negative_indices: bool = True,
) -> Array:
    """Return, for each line along an axis, its elements at the positions of the same line.

    arr: (n, m), indices: (n, k) -> (n, k) for axis 1; other axes broadcast

    >>> import tapeless.numpy as jnp
    >>> x = jnp.array([[3, 1, 2], [9, 7, 8]])
    >>> jnp.take_along_axis(x, jnp.array([[1], [0]]), axis=1)
    Array([[1],
           [9]], dtype=int32)
    """
    check_arraylike("take_along_axis", arr, indices)
    kind = dtype_of(indices)
    if not dtypes.issubdtype(kind, np.integer):
        raise TypeError(
            f"take_along_axis indices must be of integer type, got {dtypes.dtype_name(kind)}"
        )
    if axis is None:
        if typeof(indices).ndim != 1:
            raise ValueError(
                "take_along_axis indices must be 1D if axis=None, got shape "
                f"{typeof(indices).shape}"
            )
        arr, axis = ravel(arr), 0
    arr = asarray(arr)
    rank = typeof(arr).ndim
    if rank != typeof(indices).ndim:
        raise ValueError(
            "indices and arr must have the same number of dimensions; "
            f"{typeof(indices).ndim} vs. {rank}"
        )
    axis = canonicalize_axis(axis, rank)
    if not dtypes.issubdtype(kind, np.unsignedinteger) and wrap_negative_indices:
        length = const(indices, typeof(arr).shape[axis])
        below = lax.lt(indices, const(indices, 0))
        indices = lax.select_n(below, indices, lax.add(indices, length))
    return _gather_lines(arr, indices, axis, mode, fill_value)


def _gather_lines(arr: Value, indices: Value, axis: int, mode: Any, fill_value: Any) -> Value:
    """Gather along one axis, walking array and positions together along the others."""
    rank = typeof(arr).ndim
    others = tuple(number for number in range(rank) if number != axis)
    rows = [typeof(each).shape for each in (arr, indices)]
    common = lax.broadcast_shapes(
        *(tuple(1 if number == axis else row[number] for number in range(rank)) for row in rows)
    )
    arr, indices = (
        broadcast(each, (*common[:axis], row[axis], *common[axis + 1 :]))
        for each, row in zip((arr, indices), rows, strict=True)
    )
    vectors = lax.reshape(indices, (*typeof(indices).shape, 1))
    numbers = lax.GatherDimensionNumbers((), (axis,), (axis,), others, others)
    if 0 in typeof(indices).shape:
        return lax.full_like(arr, 0, shape=typeof(indices).shape)
    mode = lax.GatherScatterMode.from_any(mode)
    return lax.gather(arr, vectors, numbers, (1,) * rank, mode=mode, fill_value=fill_value)


def _grid(shape: Sequence[int], axis: int, indices: Value) -> tuple[Value, ...]:
    """Return the index that names, along an axis, `indices`, and all lines in order."""
    rank = len(shape)
    entries = []
    for number, extent in enumerate(shape):
        if number == axis:
            entries.append(indices)
            continue
        kept = [1] * rank
        kept[number] = extent
        entries.append(lax.reshape(lax.iota(np.int32, extent), kept))
    return tuple(entries)


@jit(static_argnames=("axis", "inplace", "mode"))
def put_along_axis(
    arr: Any,
    indices: Any,
    values: Any,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: str | None = None,
) -> Array:
    """Return the array with, in each line along an axis, new values at the positions of that line.

    arr: (n, m), indices, values: (n, k) -> (n, m) for axis 1; other axes broadcast

    >>> import tapeless.numpy as jnp
    >>> x = jnp.array([[3, 1, 2], [9, 7, 8]])
    >>> jnp.put_along_axis(x, jnp.array([[1], [0]]), 0, axis=1, inplace=False)
    Array([[3, 0, 2],
           [0, 7, 8]], dtype=int32)
    """
    if inplace:
        raise ValueError(_NOT_IN_PLACE.format("put_along_axis"))
    check_arraylike("put_along_axis", arr, indices, values)
    x, places = asarray(arr), asarray(indices)
    shape = typeof(x).shape
    if axis is None:
        flat = put_along_axis(ravel(x), ravel(places), values, 0, inplace=False, mode=mode)
        return lax.reshape(flat, shape)
    if not dtypes.issubdtype(dtype_of(places), np.integer):
        raise TypeError(f"`indices` must be an integer array, got {dtype_of(places)}")
    if typeof(places).ndim != len(shape):
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    axis = canonicalize_axis(axis, len(shape))
    target = lax.broadcast_shapes(
        typeof(places).shape, tuple(1 if n == axis else size for n, size in enumerate(shape))
    )
    y = broadcast(asarray(values), target)
    return scatter_update(x, _grid(shape, axis, places), y, lax.scatter_p, mode=mode)


def put(a: Any, ind: Any, v: Any, mode: str | None = None, *, inplace: bool = True) -> Array:
    """Return the array with new values at positions of the flattened array.

    a: (n, m), ind: (k,), v: repeated as needed -> (n, m)

    mode: for positions out of bounds: "wrap" counts on from the start, None takes the nearest, and
    "clip" too, also for negative ones, which else count from the end.

    >>> import tapeless.numpy as jnp
    >>> jnp.put(jnp.arange(4), jnp.array([0, -1]), 9, inplace=False)
    Array([9, 1, 2, 9], dtype=int32)
    """
    if inplace:
        raise ValueError(_NOT_IN_PLACE.format("put"))
    check_arraylike("put", a, ind, v)
    x, places, values = asarray(a), ravel(ind), ravel(v)
    size, count = typeof(x).size, typeof(places).size
    if count == 0 or typeof(values).size == 0 or size == 0:
        return x
    if mode not in (None, "wrap", "clip"):
        raise ValueError(f"mode should be one of 'wrap' or 'clip'; got {mode=}")
    repeats = -(-count // typeof(values).size)
    values = lax.slice_in_dim(tile(values, repeats), 0, count)
    if mode == "wrap":
        places = remainder(places, const(places, size))
    elif mode == "clip":
        places = lax.min(lax.max(places, const(places, 0)), const(places, size - 1))
    flat = scatter_update(ravel(x), (places,), values, lax.scatter_p, mode="clip")
    return lax.reshape(flat, typeof(x).shape)


def place(arr: Any, mask: Any, vals: Any, *, inplace: bool = True) -> Array:
    """Return the array with the elements where `mask` holds replaced, in order, by `vals`.

    arr, mask: (n, m), vals: (k,), repeated as needed -> (n, m)

    >>> import tapeless.numpy as jnp
    >>> x = jnp.arange(4)
    >>> jnp.place(x, x % 2 == 1, jnp.array([7, 8]), inplace=False)
    Array([0, 7, 2, 8], dtype=int32)
    """
    if inplace:
        raise ValueError(_NOT_IN_PLACE.format("place"))
    check_arraylike("place", arr, mask, vals)
    x, chosen, values = asarray(arr), asarray(mask), ravel(vals)
    size = typeof(x).size
    if typeof(chosen).size != size:
        raise ValueError("place: arr and mask must be the same size")
    if typeof(values).size == 0:
        raise ValueError("Cannot place values from an empty array")
    if size == 0:
        return x
    places = flatnonzero(chosen, size=size, fill_value=size)
    values = lax.slice_in_dim(tile(values, -(-size // typeof(values).size)), 0, size)
    flat = scatter_update(ravel(x), (places,), values, lax.scatter_p)
    return lax.reshape(flat, typeof(x).shape)


def compress(
    condition: Any,
    a: Any,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: Any = 0,
    out: None = None,
) -> Array:
    """Return the slices along an axis where `condition` holds.

    condition: (n,), a: (n, m) -> (k, m) for axis 0; without an axis, of the flattened array

    size: how many slices to return, which a transformation must know beforehand; missing ones are
    `fill_value`.

    >>> import tapeless.numpy as jnp
    >>> jnp.compress(jnp.array([True, False, True]), jnp.arange(3))
    Array([0, 2], dtype=int32)
    """
    check_arraylike("compress", condition, a)
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.compress is not supported.")
    mask, x = asarray(condition), asarray(a)
    if typeof(mask).ndim != 1:
        raise ValueError("condition must be a 1D array")
    if axis is None:
        x, axis = ravel(x), 0
    axis = canonicalize_axis(axis, typeof(x).ndim)
    length = typeof(x).shape[axis]
    kept = lax.slice_in_dim(mask, 0, min(length, typeof(mask).shape[0]))
    if typeof(mask).shape[0] > length:
        beyond = np.asarray(
            concrete_value(mask, "The condition of jnp.compress is longer than the axis.")
        )[length:]
        if beyond.any():
            raise ValueError("condition contains entries that are out of bounds")
    if size is None:
        concrete_value(
            kept,
            "The size argument of jnp.compress must be specified in order to use jnp.compress "
            "within JAX transformations like jax.jit, jax.vmap, and jax.grad.",
        )
        return take_rows(x, flatnonzero(kept), axis)
    rows = flatnonzero(kept, size=size, fill_value=length)
    out_rows = take_rows(x, lax.min(rows, const(rows, max(length - 1, 0))), axis)
    missing = lax.ge(rows, const(rows, length))
    shape = typeof(out_rows).shape
    missing = lax.broadcast_in_dim(missing, shape, (axis,))
    return where(missing, convert(value_of(fill_value), dtype_of(x)), out_rows)


def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: Any = 0) -> Array:
    """Return the elements where `condition` holds, in one axis; `size` as in `compress`.

    condition, arr: (n, m) -> (k,)

    >>> import tapeless.numpy as jnp
    >>> x = jnp.arange(4)
    >>> jnp.extract(x > 1, x)
    Array([2, 3], dtype=int32)
    """
    check_arraylike("extract", condition, arr)
    return compress(ravel(condition), ravel(arr), size=size, fill_value=fill_value)


def fill_diagonal(a: Any, val: Any, wrap: bool = False, *, inplace: bool = True) -> Array:
    """Return the array with its main diagonal replaced by `val`.

    a: (n, n), val: a number or (n,) -> (n, n)

    >>> import tapeless.numpy as jnp
    >>> jnp.fill_diagonal(jnp.zeros((2, 2)), 5, inplace=False)
    Array([[5., 0.],
           [0., 5.]], dtype=float32)
    """
    if inplace:
        raise NotImplementedError("JAX arrays are immutable, must use inplace=False")
    if wrap:
        raise NotImplementedError("wrap=True is not implemented, must use wrap=False")
    check_arraylike("fill_diagonal", a, val)
    x, value = asarray(a), asarray(val)
    shape = typeof(x).shape
    if len(shape) < 2:
        raise ValueError("array must be at least 2-d")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    count = min(shape)
    places = lax.iota(np.int32, count)
    if typeof(value).ndim:
        flat = ravel(value)
        repeats = -(-count // max(typeof(flat).size, 1))
        value = lax.slice_in_dim(tile(flat, repeats), 0, count)
    return scatter_update(x, (places,) * len(shape), value, lax.scatter_p)


def ix_(*args: Any) -> tuple[Array, ...]:
    """Return index arrays that, used together, select a grid.

    args: k arrays of one axis -> k arrays of k axes each

    >>> import tapeless.numpy as jnp
    >>> x = jnp.arange(9).reshape(3, 3)
    >>> x[jnp.ix_(jnp.array([0, 2]), jnp.array([1]))]
    Array([[1],
           [7]], dtype=int32)
    """
    check_arraylike("ix_", *args)
    out = []
    for number, arg in enumerate(args):
        index = asarray(arg)
        if typeof(index).ndim != 1:
            raise ValueError(
                f"Arguments to jax.numpy.ix_ must be 1-dimensional, got shape {typeof(index).shape}"
            )
        if dtype_of(index) == np.bool_:
            raise NotImplementedError("Boolean arguments to jax.numpy.ix_ are not implemented")
        if typeof(index).size == 0:
            index = convert(index, dtypes.default_int_dtype())
        axes = [axis for axis in range(len(args)) if axis != number]
        out.append(lax.expand_dims(index, axes))
    return tuple(out)


def unravel_index(indices: Any, shape: Any) -> tuple[Array, ...]:
    """Return the positions along each axis of elements that are numbered in row-major order.

    indices: (k,), shape: n extents -> n arrays (k,); numbers out of bounds are clipped

    >>> import tapeless.numpy as jnp
    >>> jnp.unravel_index(jnp.array([1, 5]), (2, 3))
    (Array([0, 1], dtype=int32), Array([1, 2], dtype=int32))
    """
    check_arraylike("unravel_index", indices)
    rest = asarray(indices)
    kind = dtype_of(rest)
    if not dtypes.issubdtype(kind, np.integer):
        raise TypeError(f"unravel_index: indices must be integers; got {kind}")
    sizes = tuple(map(operator.index, listed(shape)))

    def like(number: int) -> Value:
        """Return a number of the indices' type: one beyond it wraps, as in JAX."""
        return number_like(rest, np.asarray(number).astype(kind).item())

    places = []
    for extent in reversed(sizes):
        rest, inner = arithmetic.divmod(rest, like(extent))
        places.append(inner)
    out = []
    for inner, extent in zip(places, reversed(sizes), strict=True):
        if dtypes.issubdtype(kind, np.signedinteger):
            inner = where(lax.lt(rest, like(-1)), like(0), inner)
        out.append(where(lax.gt(rest, like(0)), like(extent - 1), inner))
    return tuple(out[::-1])


def ravel_multi_index(
    multi_index: Any,
    dims: Sequence[int],
    mode: str = "raise",
    order: str = "C",
    *,
    dtype: Any = None,
) -> Array:
    """Return the row-major numbers of elements with given positions along each axis.

    multi_index: n arrays (k,), dims: n extents -> (k,)

    mode: for positions out of bounds: "raise", which is possible outside transformations only,
    "wrap", "clip".

    >>> import tapeless.numpy as jnp
    >>> jnp.ravel_multi_index((jnp.array([0, 1]), jnp.array([1, 2])), (2, 3))
    Array([1, 5], dtype=int32)
    """
    if len(multi_index) != len(dims):
        raise ValueError(f"len(multi_index)={len(multi_index)} != len(dims)={len(dims)}")
    check_arraylike("ravel_multi_index", *multi_index)
    places = [asarray(each) for each in multi_index]
    for each in places:
        if not dtypes.issubdtype(dtype_of(each), np.integer):
            raise TypeError("only int indices permitted")
    kind = _flat_dtype(places, dims, dtype)
    places = [convert(each, dtypes.promote_types(dtype_of(each), kind)) for each in places]
    if mode == "raise":
        context = (
            "The error occurred because ravel_multi_index was jit-compiled with mode='raise'. Use "
            "mode='wrap' or mode='clip' instead."
        )
        known = [np.asarray(concrete_value(each, context)) for each in places]
        for each, extent in zip(known, dims, strict=True):
            if np.any((each < 0) | (each >= extent)):
                raise ValueError("invalid entry in coordinates array")
    elif mode == "clip":
        places = [
            lax.min(lax.max(each, const(each, 0)), const(each, extent - 1))
            for each, extent in zip(places, dims, strict=True)
        ]
    elif mode == "wrap":
        places = [remainder(each, extent) for each, extent in zip(places, dims, strict=True)]
    else:
        raise ValueError(f"invalid mode={mode!r}. Expected 'raise', 'wrap', or 'clip'")
    if order not in ("C", "F"):
        raise ValueError(f"invalid order={order!r}. Expected 'C' or 'F'")
    shape = lax.broadcast_shapes(*(typeof(each).shape for each in places)) if places else ()
    total = broadcast(kind.type(0), shape)
    for number, each in enumerate(places):
        stride = math.prod(dims[number + 1 :] if order == "C" else dims[:number])
        total = lax.add(total, lax.mul(broadcast(convert(each, kind), shape), kind.type(stride)))
    return asarray(total)


def _flat_dtype(places: Sequence[Value], dims: Sequence[int], dtype: Any) -> np.dtype:
    """Return the dtype of row-major numbers: that of the positions; refuse one that is narrow."""
    own: Any = dtypes.result_type(*places) if places else dtypes.default_int_dtype()
    kind = np.dtype(own if dtype is None else dtype)
    if math.prod(dims) - 1 > dtypes.iinfo(kind).max:
        raise ValueError(
            f"jnp.ravel_multi_index: dtype={kind!r} not large enough to hold flattened index for "
            f"dims={tuple(dims)}. Use the dtype argument to pass a suitable dtype (e.g. "
            "dtype=np.min_scalar_type(prod(dims)))."
        )
    return kind
