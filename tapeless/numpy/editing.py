"""Arrays with slices inserted, removed or repeated: `insert`, `delete`, `resize`, `trim_zeros`.

Which slice of the old array, or of what is inserted, stands where is a permutation; it is found by
a stable sort of places, and read by one gather.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from tapeless import dtypes, lax
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Tracer, Value
from tapeless.numpy.choice import broadcast, where
from tapeless.numpy.common import (
    asarray,
    canonicalize_axes,
    canonicalize_axis,
    check_arraylike,
    concrete_value,
    convert,
    dtype_of,
    listed,
)
from tapeless.numpy.creation import shape_argument
from tapeless.numpy.joining import take_rows, tile
from tapeless.numpy.shaping import moveaxis, ravel
from tapeless.runtime.array import Array

__all__ = ["delete", "insert", "resize", "trim_zeros"]

_INT = np.dtype(np.int32)


def insert(
    arr: Any,
    obj: Any,
    values: Any,
    axis: int | None = None,
) -> Array:
    """Return the array with `values` inserted before the positions `obj` along an axis.

    arr: (n, m), obj: an integer, integers (k,), or a slice; values: broadcast to (k, m) ->
    (n + k, m) for axis 0; without an axis, of the flattened array. The dtype is that of arr.

    >>> import tapeless.numpy as jnp
    >>> jnp.insert(jnp.arange(3), jnp.array([0, 2]), 9)
    Array([9, 0, 1, 9, 2], dtype=int32)
    """
    check_arraylike("insert", arr, 0 if isinstance(obj, slice) else obj, values)
    x = asarray(arr)
    new = convert(values, dtype_of(x), typeof(x).weak_type)
    if axis is None:
        x, axis = ravel(x), 0
    axis = canonicalize_axis(axis, typeof(x).ndim)
    length = typeof(x).shape[axis]
    places, new = _places_and_values(obj, asarray(new), axis, length, typeof(x).ndim)
    count = typeof(new).shape[0] if typeof(places).ndim == 0 else typeof(places).shape[0]
    rest = [size for number, size in enumerate(typeof(x).shape) if number != axis]
    new = moveaxis(broadcast(new, (count, *rest)), 0, axis)
    joined = lax.concatenate([x, new], axis)
    return take_rows(joined, _order(broadcast(places, (count,)), length), axis)


def _places_and_values(
    obj: Any,
    new: Value,
    axis: int,
    length: int,
    rank: int,
) -> tuple[Value, Value]:
    """Return the places as an array, and the values with the axis of insertion in front.

    With one place, the first axis of `values` belongs to what is inserted there, as in NumPy.
    """
    if isinstance(obj, slice):
        obj = np.arange(*obj.indices(length))
    places = asarray(obj)
    if not dtypes.issubdtype(dtype_of(places), np.integer):
        raise ValueError(f"jnp.insert(): index array must be integer typed; got {obj}")
    if typeof(places).ndim > 1:
        raise ValueError("jnp.insert(): obj must be a slice, a one-dimensional array, or a scalar")
    new = lax.broadcast_to_rank(new, rank) if typeof(new).ndim < rank else new
    if typeof(places).ndim == 0:
        return places, new
    return places, moveaxis(new, axis, 0)


def _order(places: Value, length: int) -> Value:
    """Return which row of (old, inserted) stands at each row of the result.

    places: (k,) -> (length + k,).  Old row i has the key 2 i + 1, what goes before it 2 i.
    """
    places = convert(places, _INT)
    places = where(lax.lt(places, _INT.type(0)), lax.add(places, _INT.type(length)), places)
    places = lax.max(lax.min(places, _INT.type(length)), _INT.type(0))
    old = lax.add(lax.mul(lax.iota(_INT, length), _INT.type(2)), _INT.type(1))
    keys = lax.concatenate([old, lax.mul(places, _INT.type(2))], 0)
    rows = lax.iota(_INT, length + typeof(places).shape[0])
    return lax.sort([keys, rows], num_keys=1, is_stable=True)[1]


def delete(
    arr: Any,
    obj: Any,
    axis: int | None = None,
    *,
    assume_unique_indices: bool = False,
) -> Array:
    """Return the array without the slices at the positions `obj` along an axis.

    arr: (n, m), obj: an integer, integers or booleans (k,), or a slice -> (n - k, m) for axis 0;
    without an axis, of the flattened array

    assume_unique_indices: a promise that no position is named twice, without which an array of
    positions must be known outside of transformations.

    >>> import tapeless.numpy as jnp
    >>> jnp.delete(jnp.arange(4), jnp.array([0, 2]))
    Array([1, 3], dtype=int32)
    """
    check_arraylike("delete", arr, 0 if isinstance(obj, slice) else obj)
    x = asarray(arr)
    if axis is None:
        x, axis = ravel(x), 0
    axis = canonicalize_axis(axis, typeof(x).ndim)
    length = typeof(x).shape[axis]
    if isinstance(obj, slice):
        return _keep(x, np.delete(np.arange(length), obj), axis)
    if isinstance(obj, (int, np.integer)) and not isinstance(obj, bool):
        place = canonicalize_axis(obj, length)
        before = lax.slice_in_dim(x, 0, place, axis=axis)
        return lax.concatenate([before, lax.slice_in_dim(x, place + 1, length, axis=axis)], axis)
    kind = dtype_of(obj)
    if kind != np.bool_ and not dtypes.issubdtype(kind, np.integer):
        raise ValueError(
            f"np.delete(arr, obj): got obj.dtype={np.asarray(obj).dtype}; must be integer or bool."
        )
    traced = isinstance(obj, Tracer) and obj.concrete() is None
    if traced and kind != np.bool_ and (assume_unique_indices or typeof(obj).ndim == 0):
        return take_rows(x, _kept_rows(ravel(obj), length), axis)
    known = np.asarray(
        concrete_value(obj, "the error arose for the first argument of jnp.delete()")
    )
    if kind == np.bool_:
        if known.shape != (length,):
            raise ValueError(
                "np.delete(arr, obj): for boolean indices, obj must be one-dimensional with length "
                "matching specified axis."
            )
        return _keep(x, np.flatnonzero(~known), axis)
    known = np.clip(np.where(known < 0, known + length, known), 0, length)
    return _keep(x, np.setdiff1d(np.arange(length), known), axis)


def _keep(
    x: Value,
    rows: np.ndarray,
    axis: int,
) -> Value:
    """Return the slices at concrete positions."""
    return take_rows(x, asarray(rows, dtype=_INT), axis)


def _kept_rows(places: Value, length: int) -> Value:
    """Return the rows that are not among distinct, traced places.

    places: (k,) -> (length - k,).  Row j of the result has as many removed rows before it as there
    are places p with p - rank(p) <= j.
    """
    count = typeof(places).shape[0]
    places = convert(places, _INT)
    places = where(lax.lt(places, _INT.type(0)), lax.add(places, _INT.type(length)), places)
    places = lax.max(lax.min(places, _INT.type(length)), _INT.type(0))
    free = lax.sub(lax.sort(places), lax.iota(_INT, count))
    rows = lax.iota(_INT, max(length - count, 0))
    passed = lax.ge(lax.expand_dims(rows, (0,)), lax.expand_dims(free, (1,)))
    return lax.add(rows, lax.reduce_sum(convert(passed, _INT), (0,)))


@jit(static_argnames=("new_shape",))
def resize(a: Any, new_shape: Any) -> Array:
    """Return an array of a new shape with the elements repeated in order, as often as needed.

    a: (n,) -> new_shape

    >>> import tapeless.numpy as jnp
    >>> jnp.resize(jnp.arange(3), (2, 4))
    Array([[0, 1, 2, 0],
           [1, 2, 0, 1]], dtype=int32)
    """
    check_arraylike("resize", a)
    wanted = tuple(map(operator.index, listed(new_shape)))
    if any(size < 0 for size in wanted):
        raise ValueError("all elements of `new_shape` must be non-negative")
    flat = ravel(a)
    size, total = typeof(flat).size, math.prod(shape_argument(wanted))
    if size == 0 or total == 0:
        return lax.full_like(flat, 0, shape=wanted)
    repeated = tile(flat, -(-total // size))
    return lax.reshape(lax.slice(repeated, (0,), (total,)), wanted)


def trim_zeros(
    filt: Any,
    trim: str = "fb",
    axis: Any = None,
) -> Value:
    """Return the array without the zeros before ("f") the first, or after ("b") the last, nonzero.

    filt: concrete, (n,) -> (k,); of several axes, those of `axis` (default all) are trimmed

    >>> import tapeless.numpy as jnp
    >>> jnp.trim_zeros(jnp.array([0, 0, 1, 0]))
    Array([1], dtype=int32)
    """
    check_arraylike("trim_zeros", filt)
    known = np.asarray(concrete_value(filt, "Error arose in the `filt` argument of trim_zeros()"))
    axes = canonicalize_axes(axis, known.ndim)
    if not known.any():
        index = tuple(slice(0, 0) if n in axes else slice(None) for n in range(known.ndim))
        return asarray(known[index])
    bounds = []
    for number, places in enumerate(np.nonzero(known)):
        start = int(places.min()) if "f" in trim.lower() and number in axes else None
        stop = int(places.max()) + 1 if "b" in trim.lower() and number in axes else None
        bounds.append(slice(start, stop))
    return asarray(filt)[tuple(bounds)]
