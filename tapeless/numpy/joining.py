"""Putting arrays together and taking them apart: concatenate, stack, split, tile, repeat, roll."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes, lax
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Tracer, Value
from tapeless.numpy.choice import broadcast
from tapeless.numpy.common import (
    asarray,
    canonicalize_axis,
    check_arraylike,
    concrete_value,
    const,
    convert,
    dtype_of,
    listed,
    promote_dtypes,
    value_of,
)
from tapeless.numpy.shaping import atleast_1d, atleast_2d, atleast_3d, ravel
from tapeless.runtime.array import Array

__all__ = [
    "append",
    "array_split",
    "block",
    "column_stack",
    "concat",
    "concatenate",
    "dsplit",
    "dstack",
    "hsplit",
    "hstack",
    "repeat",
    "roll",
    "split",
    "stack",
    "tile",
    "unstack",
    "vsplit",
    "vstack",
]


# Joining


def _rows(name: str, arrays: Any) -> list[Any]:
    """Return the arrays of a sequence, or the rows of an array."""
    if isinstance(arrays, (np.ndarray, Array, Tracer)):
        aval = typeof(arrays)
        if aval.ndim == 0:
            return []
        return list(lax.unstack(asarray(arrays), 0))
    if isinstance(arrays, str) or not isinstance(arrays, Sequence):
        arrays = [arrays] if isinstance(arrays, str) else list(arrays)
    check_arraylike(name, *arrays)
    return list(arrays)


def _elements(arrays: Any) -> Any:
    """Return the elements of masked arrays of a sequence, without the masks, as JAX takes them."""
    if isinstance(arrays, (list, tuple)) and any(map(np.ma.isMaskedArray, arrays)):
        return [x.data if np.ma.isMaskedArray(x) else x for x in arrays]
    return arrays


def _common(arrays: Sequence[Any], dtype: Any) -> list[Value]:
    """Bring the arrays to one dtype."""
    if dtype is None:
        return promote_dtypes(*map(value_of, arrays))
    return [asarray(each, dtype=dtype) for each in arrays]


def concatenate(
    arrays: Any,
    axis: int | None = 0,
    dtype: Any = None,
) -> Array:
    """Return the arrays joined along an axis that they have; None flattens them first.

    arrays: (n, m), (k, m) -> (n + k, m)

    >>> import tapeless.numpy as jnp
    >>> jnp.concatenate([jnp.arange(2), jnp.ones(2)])
    Array([0., 1., 1., 1.], dtype=float32)
    """
    if isinstance(arrays, (np.ndarray, Array, Tracer)) and typeof(arrays).ndim > 1 and axis == 0:
        whole = asarray(arrays) if dtype is None else asarray(arrays, dtype=dtype)
        shape = typeof(whole).shape
        return lax.reshape(whole, (shape[0] * shape[1], *shape[2:]))
    values = _rows("concatenate", _elements(arrays))
    if not values:
        raise ValueError("Need at least one array to concatenate.")
    if axis is None:
        return concatenate([ravel(value) for value in values], axis=0, dtype=dtype)
    rank = typeof(value_of(values[0])).ndim
    if rank == 0:
        raise ValueError("Zero-dimensional arrays cannot be concatenated.")
    axis = canonicalize_axis(axis, rank)
    joined = _common(values, dtype)
    return asarray(joined[0]) if len(joined) == 1 else lax.concatenate(joined, axis)


def concat(arrays: Sequence[Any], /, *, axis: int | None = 0) -> Array:
    """Return the arrays joined along an axis that they have; as `concatenate`.

    Shapes: (n, m), (k, m) -> (n + k, m), along axis 0.

    >>> import tapeless.numpy as jnp
    >>> jnp.concat([jnp.arange(2), jnp.arange(1)])
    Array([0, 1, 0], dtype=int32)
    """
    return concatenate(arrays, axis=axis)


def stack(
    arrays: Any,
    axis: int = 0,
    out: None = None,
    dtype: Any = None,
) -> Array:
    """Return arrays of one shape joined along a new axis.

    arrays: k arrays (n, m) -> (k, n, m) for axis 0

    >>> import tapeless.numpy as jnp
    >>> jnp.stack([jnp.arange(2), jnp.ones(2)])
    Array([[0., 1.],
           [1., 1.]], dtype=float32)
    """
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.stack is not supported.")
    if isinstance(arrays, str):
        raise TypeError(f"asarray: expected ArrayLike, got {arrays} of type {type(arrays)}.")
    if isinstance(arrays, (np.ndarray, Array, Tracer)) and axis == 0 and typeof(arrays).ndim:
        return asarray(arrays, dtype=dtype)
    values = _rows("stack", _elements(arrays))
    if not values:
        raise ValueError("Need at least one array to stack.")
    shapes = [typeof(value_of(value)).shape for value in values]
    canonicalize_axis(axis, len(shapes[0]) + 1)
    return lax.stack(_common(values, dtype), axis)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Return the slices of an array along an axis, without that axis.

    x: (k, n) -> k arrays (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.unstack(jnp.array([[1, 2], [3, 4]]))
    (Array([1, 2], dtype=int32), Array([3, 4], dtype=int32))
    """
    check_arraylike("unstack", x)
    rank = typeof(value_of(x)).ndim
    return tuple(lax.unstack(asarray(x), canonicalize_axis(axis, rank)))


def _widened_rows(
    name: str,
    widen: Any,
    tup: Any,
) -> list[Value]:
    """Return the arrays of a sequence, each with axes added by `widen`."""
    return [widen(each) for each in _rows(name, tup)]


def vstack(tup: Any, dtype: Any = None) -> Array:
    """Return the arrays joined along axis 0; those of one axis are rows.

    tup: k arrays (n,) -> (k, n)

    >>> import tapeless.numpy as jnp
    >>> jnp.vstack([jnp.arange(2), jnp.arange(2)])
    Array([[0, 1],
           [0, 1]], dtype=int32)
    """
    return concatenate(_widened_rows("vstack", atleast_2d, tup), axis=0, dtype=dtype)


def hstack(tup: Any, dtype: Any = None) -> Array:
    """Return the arrays joined along axis 1; those of one axis along that.

    tup: (n, a), (n, b) -> (n, a + b)

    >>> import tapeless.numpy as jnp
    >>> jnp.hstack([jnp.arange(2), jnp.arange(2)])
    Array([0, 1, 0, 1], dtype=int32)
    """
    rows = _widened_rows("hstack", atleast_1d, tup)
    axis = 0 if rows and typeof(rows[0]).ndim == 1 else 1
    return concatenate(rows, axis=axis, dtype=dtype)


def dstack(tup: Any, dtype: Any = None) -> Array:
    """Return the arrays joined along axis 2, after `atleast_3d`.

    tup: (n, m), (n, m) -> (n, m, 2)

    >>> import tapeless.numpy as jnp
    >>> jnp.dstack([jnp.arange(2), jnp.arange(2)]).shape
    (1, 2, 2)
    """
    return concatenate(_widened_rows("dstack", atleast_3d, tup), axis=2, dtype=dtype)


def column_stack(tup: Any) -> Array:
    """Return the arrays joined along axis 1; those of one axis are columns.

    tup: k arrays (n,) -> (n, k)

    >>> import tapeless.numpy as jnp
    >>> jnp.column_stack([jnp.arange(2), jnp.arange(2)])
    Array([[0, 0],
           [1, 1]], dtype=int32)
    """

    def column(x: Any) -> Value:
        """Return an array of fewer than two axes as a column."""
        if typeof(value_of(x)).ndim >= 2:
            return asarray(x)
        return lax.transpose(atleast_2d(x), (1, 0))

    return concatenate(_widened_rows("column_stack", column, tup), axis=1)


@jit
def block(arrays: Any) -> Array:
    """Return nested lists of arrays joined: innermost lists along the last axis, and so outwards.

    [[(n, k), (n, l)], [(m, k), (m, l)]] -> (n + m, k + l)

    >>> import tapeless.numpy as jnp
    >>> jnp.block([[jnp.zeros((2, 2)), jnp.ones((2, 1))]])
    Array([[0., 0., 1.],
           [0., 0., 1.]], dtype=float32)
    """
    out, _ = _block(arrays)
    return out


def _block(x: Any) -> tuple[Value, int]:
    """Return the joined array and the depth of the nesting."""
    if isinstance(x, tuple):
        raise ValueError(f"jax.numpy.block does not allow tuples, got {x}")
    if isinstance(x, list):
        if not x:
            raise ValueError("jax.numpy.block does not allow empty list arguments")
        parts, depths = zip(*map(_block, x), strict=True)
        if any(depth != depths[0] for depth in depths):
            raise ValueError("Mismatched list depths in jax.numpy.block")
        rank = max(depths[0] + 1, *(typeof(part).ndim for part in parts))
        parts = [lax.broadcast_to_rank(part, rank) for part in parts]
        return concatenate(parts, axis=-(depths[0] + 1)), depths[0] + 1
    return asarray(x), 0


@jit(static_argnames=("axis",))
def append(
    arr: Any,
    values: Any,
    axis: int | None = None,
) -> Array:
    """Return `values` joined to the end of `arr`; without an axis, both flattened.

    arr: (n,), values: (k,) -> (n + k,)

    >>> import tapeless.numpy as jnp
    >>> jnp.append(jnp.arange(2), 7)
    Array([0, 1, 7], dtype=int32)
    """
    if axis is None:
        return concatenate([ravel(arr), ravel(values)], axis=0)
    return concatenate([arr, values], axis=axis)


# Splitting


def split(
    ary: Any,
    indices_or_sections: Any,
    axis: int = 0,
) -> list[Array]:
    """Return the parts of an array along an axis: so many equal ones, or those between positions.

    ary: (n, m) -> k arrays (n / k, m)

    >>> import tapeless.numpy as jnp
    >>> jnp.split(jnp.arange(5), [1, 3])
    [Array([0], dtype=int32), Array([1, 2], dtype=int32), Array([3, 4], dtype=int32)]
    """
    return _split("split", ary, indices_or_sections, axis)


def array_split(
    ary: Any,
    indices_or_sections: Any,
    axis: int = 0,
) -> list[Array]:
    """Return the parts of an array along an axis; as `split`, but parts may differ by one row.

    Shapes: (n, m) -> parts of shape (k, m), along axis 0.

    >>> import tapeless.numpy as jnp
    >>> jnp.array_split(jnp.arange(3), 2)
    [Array([0, 1], dtype=int32), Array([2], dtype=int32)]
    """
    return _split("array_split", ary, indices_or_sections, axis)


def _split(
    name: str,
    ary: Any,
    where: Any,
    axis: int,
) -> list[Array]:
    """Split into sections, or at indices."""
    check_arraylike(name, ary)
    x = asarray(ary)
    axis = operator.index(concrete_value(axis, f"in jax.numpy.{name} argument `axis`"))
    axis = canonicalize_axis(axis, typeof(x).ndim)
    length = typeof(x).shape[axis]
    if isinstance(where, (tuple, list)) or np.ndim(
        concrete_value(where, f"in jax.numpy.{name} argument 1")
    ):
        places = [_place(place, length, name) for place in where]
        edges = [0, *places, length]
        sizes = [after - before for before, after in zip(edges, edges[1:], strict=False)]
    else:
        count = operator.index(concrete_value(where, f"in jax.numpy.{name} argument 1"))
        part, rest = divmod(length, count)
        if rest and name != "array_split":
            raise ValueError(f"array split does not result in an equal division: rest is {rest}")
        sizes = [part + 1] * rest + [part] * (count - rest)
    if any(size < 0 for size in sizes):
        raise ValueError(f"Sizes passed to split must be nonnegative, got {sizes}")
    exact: Any = [*map(np.int64, sizes)]  # what JAX's programs show
    return list(lax.split(x, exact, axis))


def _place(
    place: Any,
    length: int,
    name: str,
) -> int:
    """Return a position as a number from 0 to the length, as slices understand it."""
    number = operator.index(concrete_value(place, f"in jax.numpy.{name} argument 1"))
    return min(max(number + length if number < 0 else number, 0), length)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Return the parts of an array along axis 0; as `split`: (n, m) -> parts of shape (k, m).

    >>> import tapeless.numpy as jnp
    >>> [x.shape for x in jnp.vsplit(jnp.zeros((4, 2)), 2)]
    [(2, 2), (2, 2)]
    """
    return _split("vsplit", ary, indices_or_sections, 0)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Return the parts of an array along axis 1, or 0 if there is no other; as `split`.

    Shapes: (n, m) -> parts of shape (n, k).

    >>> import tapeless.numpy as jnp
    >>> [x.shape for x in jnp.hsplit(jnp.zeros((2, 4)), 2)]
    [(2, 2), (2, 2)]
    """
    axis = 1 if np.ndim(ary) != 1 else 0
    return _split("hsplit", ary, indices_or_sections, axis)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Return the parts of an array along axis 2; as `split`: (n, m, p) -> parts of shape (n, m, k).

    >>> import tapeless.numpy as jnp
    >>> [x.shape for x in jnp.dsplit(jnp.zeros((1, 2, 4)), 2)]
    [(1, 2, 2), (1, 2, 2)]
    """
    return _split("dsplit", ary, indices_or_sections, 2)


# Repeating and rotating


def tile(A: Any, reps: Any) -> Array:
    """Return the array repeated as a whole, `reps` times along the axes, counted from the last.

    A: (n, m), reps: (a, b) -> (a * n, b * m)

    >>> import tapeless.numpy as jnp
    >>> jnp.tile(jnp.arange(2), 2)
    Array([0, 1, 0, 1], dtype=int32)
    """
    check_arraylike("tile", A)
    x = asarray(A)
    counts = tuple(operator.index(count) for count in listed(reps))
    if any(count < 0 for count in counts):
        raise ValueError(f"tile: reps must not be negative; got {reps}")
    rank = max(len(counts), typeof(x).ndim)
    counts = (1,) * (rank - len(counts)) + counts
    x = lax.broadcast_to_rank(x, rank)
    return lax.tile(x, counts) if rank else x


def repeat(
    a: Any,
    repeats: Any,
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
    out_sharding: Any = None,
) -> Array:
    """Return the array with each element, or slice along an axis, repeated.

    a: (n, m), repeats: an integer r, or (n,) -> (n * r, m) for axis 0; without an axis, flattened

    total_repeat_length: the extent of the result, which a transformation must know if `repeats` is
    an array that it traces; what is too long is cut off, what is too short repeats the last.

    >>> import tapeless.numpy as jnp
    >>> jnp.repeat(jnp.arange(3), jnp.array([1, 0, 2]))
    Array([0, 2, 2], dtype=int32)
    """
    check_arraylike("repeat", a, repeats)
    x = asarray(a)
    if axis is None:
        x, axis = ravel(x), 0
    x = atleast_1d(x) if typeof(x).ndim == 0 else x
    axis = canonicalize_axis(axis, typeof(x).ndim)
    length = typeof(x).shape[axis]
    is_number = isinstance(repeats, (int, np.integer)) and not isinstance(repeats, bool)
    if is_number and total_repeat_length is None:
        return _repeat_each(x, int(repeats), axis)
    if total_repeat_length is None:
        context = (
            "When jit-compiling jnp.repeat, the total number of repeats must be static. To fix "
            "this, either specify a static value for `repeats`, or pass a static value to "
            "`total_repeat_length`."
        )
        known = np.asarray(concrete_value(repeats, context))
        _check_repeats(known.shape, length)
        known = np.broadcast_to(known, (length,))
        rows = asarray(np.repeat(np.arange(length, dtype=np.int32), known))
    else:
        counts = asarray(repeats)
        _check_repeats(typeof(counts).shape, length)
        counts = broadcast(counts, (length,))
        rows = _repeated_rows(counts, length, operator.index(total_repeat_length))
    return take_rows(x, rows, axis)


def _check_repeats(shape: tuple[int, ...], length: int) -> None:
    """Raise ValueError for numbers of repeats of another shape than the slices have."""
    if shape not in ((), (1,), (length,)):
        raise ValueError(f"repeat: repeats must be a scalar or have shape ({length},); got {shape}")


def _repeat_each(
    x: Value,
    count: int,
    axis: int,
) -> Value:
    """Repeat every slice equally often, by a broadcast."""
    shape = typeof(x).shape
    wide = (*shape[: axis + 1], count, *shape[axis + 1 :])
    kept = [number if number <= axis else number + 1 for number in range(len(shape))]
    out = lax.broadcast_in_dim(x, wide, kept)
    return lax.reshape(out, (*shape[:axis], shape[axis] * count, *shape[axis + 1 :]))


def _repeated_rows(
    counts: Value,
    length: int,
    total: int,
) -> Value:
    """Return which slice stands at each place: the number of slices that end at or before it.

    counts: (length,) -> (total,)
    """
    kind = np.dtype(np.int32)
    ends = lax.cumsum(convert(counts, kind), 0)
    passed = lax.scatter_add(
        broadcast(kind.type(0), (total,)),
        lax.expand_dims(ends, (1,)),
        broadcast(kind.type(1), (length,)),
        lax.ScatterDimensionNumbers((), (0,), (0,)),
        mode="drop",
    )
    return lax.min(lax.cumsum(passed, 0), kind.type(max(length - 1, 0)))


def take_rows(
    x: Value,
    rows: Value,
    axis: int,
) -> Value:
    """Return the slices `rows` of `x` along an axis; they must be in bounds.

    x: (n, m), rows: (k,) -> (k, m) for axis 0
    """
    shape = typeof(x).shape
    others = tuple(number for number in range(len(shape)) if number != axis)
    numbers = lax.GatherDimensionNumbers(others, (axis,), (axis,))
    sizes = tuple(1 if number == axis else extent for number, extent in enumerate(shape))
    if shape[axis] == 0:
        return lax.full_like(x, 0, shape=(*shape[:axis], *typeof(rows).shape, *shape[axis + 1 :]))
    return lax.gather(x, lax.expand_dims(rows, (1,)), numbers, sizes, mode="promise_in_bounds")


def roll(
    a: Any,
    shift: Any,
    axis: Any = None,
) -> Array:
    """Return the array with its elements moved along axes; what goes out comes in at the far end.

    a: (n, m) -> (n, m); without an axis, the flattened array is rolled

    >>> import tapeless.numpy as jnp
    >>> jnp.roll(jnp.arange(4), 1)
    Array([3, 0, 1, 2], dtype=int32)
    """
    check_arraylike("roll", a)
    x = asarray(a)
    if axis is None:
        return lax.reshape(roll(ravel(x), shift, 0), typeof(x).shape)
    static = isinstance(shift, (int, np.integer)) or (
        isinstance(shift, (tuple, list)) and all(isinstance(s, (int, np.integer)) for s in shift)
    )
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = tuple(canonicalize_axis(each, typeof(x).ndim) for each in axes)
    if static:
        amounts = tuple(shift) if isinstance(shift, (tuple, list)) else (shift,)
        size = np.broadcast_shapes((len(amounts),), (len(axes),))[0]
        amounts, axes = (tuple(np.broadcast_to(each, size).tolist()) for each in (amounts, axes))
        return _roll_static(x, amounts, axes)
    return _roll_dynamic(x, asarray(shift), axes)


@jit(static_argnames=("shift", "axis"))
def _roll_static(
    a: Value,
    shift: tuple[int, ...],
    axis: tuple[int, ...],
) -> Value:
    """Exchange the two parts of the array, along one axis after the other."""
    for amount, number in zip(shift, axis, strict=True):
        length = typeof(a).shape[number]
        cut = amount % length if length else 0
        if cut:
            ends = lax.slice_in_dim(a, length - cut, length, axis=number)
            a = lax.concatenate([ends, lax.slice_in_dim(a, 0, length - cut, axis=number)], number)
    return a


@jit(static_argnames=("axis",))
def _roll_dynamic(
    a: Value,
    shift: Value,
    axis: tuple[int, ...],
) -> Value:
    """Cut a window out of two copies side by side, along one axis after the other."""
    if not dtypes.issubdtype(dtype_of(shift), np.integer):
        raise TypeError(f"roll: shift must be integers; got {dtype_of(shift)}")
    size = np.broadcast_shapes(typeof(shift).shape or (1,), (len(axis),))[0]
    amounts = lax.unstack(broadcast(shift, (size,)), 0)
    for amount, number in zip(amounts, np.broadcast_to(axis, size).tolist(), strict=True):
        length = typeof(a).shape[number]
        if length == 0:
            continue
        extent = const(amount, length)
        forward = lax.rem(amount, extent)
        start = lax.rem(lax.sub(extent, forward), extent)
        start = lax.rem(lax.add(start, extent), extent)
        a = lax.dynamic_slice_in_dim(lax.concatenate([a, a], number), start, length, number)
    return a
