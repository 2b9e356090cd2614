"""Rearranging: new shapes, orders of axes, broadcasting, reversing.

All of these are one operation of the language, or none when nothing changes; results are new
arrays, never views that could be written through.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tapeless import lax
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy.choice import broadcast
from tapeless.numpy.common import (
    asarray,
    canonicalize_axes,
    canonicalize_axis,
    check_arraylike,
    check_broadcastable,
    listed,
    shape_error,
    value_of,
)
from tapeless.numpy.creation import shape_argument
from tapeless.runtime.array import Array

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "expand_dims",
    "flip",
    "fliplr",
    "flipud",
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "ravel",
    "reshape",
    "rollaxis",
    "rot90",
    "squeeze",
    "swapaxes",
    "transpose",
]

Shape = tuple[int, ...]


def reshape(
    a: Any,
    shape: Any,
    order: str = "C",
    *,
    copy: bool | None = None,
    out_sharding: Any = None,
) -> Array:
    """Return the elements in another shape; one extent may be -1, which is computed.

    a: (n, m) -> shape, with n * m elements

    order: "C" reads and writes the last axis fastest, "F" the first.

    >>> import tapeless.numpy as jnp
    >>> jnp.reshape(jnp.arange(6), (2, -1))
    Array([[0, 1, 2],
           [3, 4, 5]], dtype=int32)
    """
    check_arraylike("reshape", a)
    x = asarray(a)
    sizes = _new_shape(typeof(x).shape, shape)
    if order == "C":
        out = lax.reshape(x, sizes)
    elif order == "F":
        backwards = range(typeof(x).ndim)[::-1]
        out = lax.reshape(x, sizes[::-1], backwards)
        out = lax.transpose(out, range(len(sizes))[::-1])
    elif order == "A":
        raise NotImplementedError("np.reshape order=A is not implemented.")
    else:
        raise ValueError(f"Unexpected value for 'order' argument: {order}.")
    return lax.copy(out) if copy else out


def _new_shape(old: Shape, shape: Any) -> Shape:
    """Return the shape asked for, with -1 replaced."""
    try:
        sizes = tuple(map(operator.index, listed(shape)))
    except TypeError:
        raise shape_error(shape) from None
    total = math.prod(old)
    unknown = sizes.count(-1)
    if unknown > 1:
        raise TypeError(f"can only specify one unknown axis size with a `-1` value, got {sizes}")
    if unknown == 1:
        known = math.prod(size for size in sizes if size != -1)
        if (total % known if known else total) != 0:
            raise TypeError(
                f"cannot reshape array of shape {old} (size {total}) into shape {sizes} because "
                f"the product of specified axis sizes ({known}) does not evenly divide {total}"
            )
        return tuple((total // known if known else 0) if size == -1 else size for size in sizes)
    if math.prod(sizes) != total:
        raise TypeError(
            f"cannot reshape array of shape {old} (size {total}) into shape {sizes} "
            f"(size {math.prod(sizes)})"
        )
    return sizes


def ravel(a: Any, order: str = "C", *, out_sharding: Any = None) -> Array:
    """Return the elements as an array of one axis; `order` as in `reshape`.

    a: (n, m) -> (n * m,)

    >>> import tapeless.numpy as jnp
    >>> jnp.ravel(jnp.array([[1, 2], [3, 4]]))
    Array([1, 2, 3, 4], dtype=int32)
    """
    check_arraylike("ravel", a)
    x = asarray(a)
    size = typeof(x).size
    if order == "K":
        raise NotImplementedError("Ravel not implemented for order='K'.")
    if order == "F":
        return lax.reshape(x, (size,), range(typeof(x).ndim)[::-1])
    if order != "C":
        raise ValueError(f"Unexpected value for 'order' argument: {order}.")
    return lax.reshape(x, (size,))


def transpose(a: Any, axes: Sequence[int] | None = None) -> Array:
    """Return the array with its axes in the order `axes`, by default backwards.

    a: (n, m) -> (m, n)

    >>> import tapeless.numpy as jnp
    >>> jnp.transpose(jnp.array([[1, 2], [3, 4]]))
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    check_arraylike("transpose", a)
    x = asarray(a)
    rank = typeof(x).ndim
    if axes is None:
        return lax.transpose(x, range(rank)[::-1])
    return lax.transpose(x, [canonicalize_axis(axis, rank) for axis in axes])


def permute_dims(a: Any, /, axes: tuple[int, ...]) -> Array:
    """Return the array with its axes in the order `axes`; as `transpose`.

    Shapes: (n, m) -> (m, n) with axes=(1, 0).

    >>> import tapeless.numpy as jnp
    >>> jnp.permute_dims(jnp.zeros((2, 3)), (1, 0)).shape
    (3, 2)
    """
    return transpose(a, axes)


def matrix_transpose(x: Any, /) -> Array:
    """Return the array with its last two axes swapped.

    x: (..., n, m) -> (..., m, n)

    >>> import tapeless.numpy as jnp
    >>> jnp.matrix_transpose(jnp.zeros((5, 2, 3))).shape
    (5, 3, 2)
    """
    check_arraylike("matrix_transpose", x)
    rank = typeof(value_of(x)).ndim
    if rank < 2:
        raise ValueError(
            f"x must be at least two-dimensional for matrix_transpose; got ndim={rank}"
        )
    return swapaxes(x, -1, -2)


def swapaxes(a: Any, axis1: int, axis2: int) -> Array:
    """Return the array with two axes exchanged.

    a: (n, m, k) -> (k, m, n) for axes 0 and 2

    >>> import tapeless.numpy as jnp
    >>> jnp.swapaxes(jnp.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    check_arraylike("swapaxes", a)
    x = asarray(a)
    rank = typeof(x).ndim
    first, second = canonicalize_axis(axis1, rank), canonicalize_axis(axis2, rank)
    order = list(range(rank))
    order[first], order[second] = second, first
    return lax.transpose(x, order)


def moveaxis(a: Any, source: Any, destination: Any) -> Array:
    """Return the array with the axes `source` at the places `destination`, others in order.

    a: (n, m, k) -> (m, k, n) for 0 to -1

    >>> import tapeless.numpy as jnp
    >>> jnp.moveaxis(jnp.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    check_arraylike("moveaxis", a)
    x = asarray(a)
    rank = typeof(x).ndim
    sources = _axes(source, rank)
    destinations = _axes(destination, rank)
    if len(sources) != len(destinations):
        raise ValueError(f"Inconsistent number of elements: {len(sources)} vs {len(destinations)}")
    order = [axis for axis in range(rank) if axis not in sources]
    for place, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(place, axis)
    return lax.transpose(x, order)


def _axes(axes: Any, rank: int) -> Shape:
    """Return an axis or axes as a tuple, each named only once."""
    if not isinstance(axes, Iterable):
        axes = (operator.index(axes),)
    found = tuple(canonicalize_axis(axis, rank) for axis in axes)
    if len(set(found)) != len(found):
        raise ValueError(f"repeated axis: {tuple(axes)}")
    return found


@jit(static_argnames=("axis", "start"))
def rollaxis(a: Any, axis: int, start: int = 0) -> Array:
    """Return the array with one axis moved before the axis `start`.

    a: (n, m, k) -> (k, n, m) for axis 2

    >>> import tapeless.numpy as jnp
    >>> jnp.rollaxis(jnp.zeros((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    check_arraylike("rollaxis", a)
    rank = typeof(a).ndim
    axis = canonicalize_axis(axis, rank)
    place = operator.index(start)
    if not -rank <= place <= rank:
        raise ValueError(f"start={start} must satisfy {-rank}<=start<={rank}")
    place = place + rank if place < 0 else place
    return moveaxis(a, axis, place - 1 if place > axis else place)


def expand_dims(a: Any, axis: Any) -> Array:
    """Return the array with axes of extent 1 at the places `axis` of the result.

    a: (n, m) -> (1, n, m) for axis 0

    >>> import tapeless.numpy as jnp
    >>> jnp.expand_dims(jnp.arange(3), 1).shape
    (3, 1)
    """
    check_arraylike("expand_dims", a)
    axes = tuple(axis) if isinstance(axis, Iterable) else (axis,)
    rank = typeof(value_of(a)).ndim + len(axes)
    if len({canonicalize_axis(each, rank) for each in axes}) != len(axes):
        raise ValueError(f"repeated axis in lax.expand_dims: {axes}")
    return lax.expand_dims(asarray(a), axes)


def squeeze(a: Any, axis: Any = None) -> Array:
    """Return the array without the axes `axis`, which have extent 1; by default all such axes.

    a: (n, 1, m) -> (n, m)

    >>> import tapeless.numpy as jnp
    >>> jnp.squeeze(jnp.zeros((2, 1, 3))).shape
    (2, 3)
    """
    check_arraylike("squeeze", a)
    x = asarray(a)
    shape = typeof(x).shape
    if axis is None:
        return lax.squeeze(x, [number for number, size in enumerate(shape) if size == 1])
    return lax.squeeze(x, canonicalize_axes(axis, len(shape)))


# Broadcasting


def broadcast_shapes(*shapes: Any) -> Shape:
    """Return the shape that arrays of these shapes broadcast to; an integer is a shape of one axis.

    >>> import tapeless.numpy as jnp
    >>> jnp.broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    return lax.broadcast_shapes(
        *((int(s),) if isinstance(s, (int, np.integer)) else tuple(s) for s in shapes)
    )


def broadcast_to(array: Any, shape: Any, *, out_sharding: Any = None) -> Array:
    """Return the array repeated to a shape.

    array: (m,) -> (n, m)

    >>> import tapeless.numpy as jnp
    >>> jnp.broadcast_to(jnp.arange(2), (3, 2))
    Array([[0, 1],
           [0, 1],
           [0, 1]], dtype=int32)
    """
    check_arraylike("broadcast_to", array)
    x = asarray(array)
    sizes = shape_argument(shape)
    check_broadcastable(x, sizes)
    return broadcast(x, sizes)


def broadcast_arrays(*args: Any) -> tuple[Array, ...]:
    """Return the arrays broadcast to a common shape: (m,), (n, 1) -> (n, m), (n, m).

    >>> import tapeless.numpy as jnp
    >>> [x.shape for x in jnp.broadcast_arrays(jnp.zeros(3), jnp.zeros((2, 1)))]
    [(2, 3), (2, 3)]
    """
    check_arraylike("broadcast_arrays", *args)
    values = [asarray(arg) for arg in args]
    shape = lax.broadcast_shapes(*(typeof(value).shape for value in values))
    return tuple(broadcast(value, shape) for value in values)


def _at_least(function: Any, arys: tuple[Any, ...]) -> Any:
    """Apply to each of several arrays, or to the one."""
    values = [function(asarray(each)) for each in arys]
    return values[0] if len(values) == 1 else tuple(values)


@jit
def atleast_1d(*arys: Any) -> Any:
    """Return each array with at least one axis; a tuple for several arrays: () -> (1,).

    >>> import tapeless.numpy as jnp
    >>> jnp.atleast_1d(3.0).shape
    (1,)
    """
    check_arraylike("atleast_1d", *arys)
    return _at_least(lambda x: lax.expand_dims(x, range(max(0, 1 - typeof(x).ndim))), arys)


@jit
def atleast_2d(*arys: Any) -> Any:
    """Return each array with at least two axes, new ones in front; a tuple for several arrays.

    Shapes: (n,) -> (1, n).

    >>> import tapeless.numpy as jnp
    >>> jnp.atleast_2d(jnp.arange(3)).shape
    (1, 3)
    """
    check_arraylike("atleast_2d", *arys)
    return _at_least(lambda x: lax.expand_dims(x, range(max(0, 2 - typeof(x).ndim))), arys)


@jit
def atleast_3d(*arys: Any) -> Any:
    """Return each array with at least three axes; a tuple for several arrays.

    (n,) -> (1, n, 1); (n, m) -> (n, m, 1)

    >>> import tapeless.numpy as jnp
    >>> jnp.atleast_3d(jnp.arange(3)).shape
    (1, 3, 1)
    """
    check_arraylike("atleast_3d", *arys)
    places = {0: (0, 1, 2), 1: (0, 2), 2: (2,)}
    return _at_least(lambda x: lax.expand_dims(x, places.get(typeof(x).ndim, ())), arys)


# Reversing


def flip(m: Any, axis: Any = None) -> Array:
    """Return the array backwards along some axes, by default along all.

    m: (n, m) -> (n, m)

    >>> import tapeless.numpy as jnp
    >>> jnp.flip(jnp.arange(3))
    Array([2, 1, 0], dtype=int32)
    """
    check_arraylike("flip", m)
    axes = canonicalize_axes(axis, typeof(value_of(m)).ndim)
    return _flip(asarray(m), axes)


@jit(static_argnames=("axes",))
def _flip(m: Value, axes: Shape) -> Value:
    """Reverse along the axes."""
    return lax.rev(m, axes)


def fliplr(m: Any) -> Array:
    """Return the array backwards along axis 1: (n, m) -> (n, m).

    >>> import tapeless.numpy as jnp
    >>> jnp.fliplr(jnp.array([[1, 2], [3, 4]]))
    Array([[2, 1],
           [4, 3]], dtype=int32)
    """
    check_arraylike("fliplr", m)
    return flip(m, 1)


def flipud(m: Any) -> Array:
    """Return the array backwards along axis 0: (n, m) -> (n, m).

    >>> import tapeless.numpy as jnp
    >>> jnp.flipud(jnp.array([[1, 2], [3, 4]]))
    Array([[3, 4],
           [1, 2]], dtype=int32)
    """
    check_arraylike("flipud", m)
    return flip(m, 0)


@jit(static_argnames=("k", "axes"))
def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """Return the array turned by k quarters, from the first axis of `axes` towards the second.

    m: (n, m) -> (m, n) for odd k

    >>> import tapeless.numpy as jnp
    >>> jnp.rot90(jnp.array([[1, 2], [3, 4]]))
    Array([[2, 4],
           [1, 3]], dtype=int32)
    """
    check_arraylike("rot90", m)
    rank = typeof(m).ndim
    if rank < 2:
        raise ValueError(
            "rot90 requires its first argument to have ndim at least two, but got first argument "
            f"of shape {typeof(m).shape}, which has ndim {rank}"
        )
    first, second = (canonicalize_axis(axis, rank) for axis in axes)
    if first == second:
        raise ValueError("Axes must be different")
    turns = operator.index(k) % 4
    if turns == 0:
        return asarray(m)
    if turns == 2:
        return flip(flip(m, first), second)
    if turns == 1:
        return swapaxes(flip(m, second), first, second)
    return flip(swapaxes(m, first, second), second)
