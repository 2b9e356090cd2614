"""Sorting, selecting by rank, and searching in sorted arrays.

All sorts are by the primitive `sort`, stable unless told otherwise: zeros of both signs are equal,
NaNs come last.  A descending sort is an ascending one turned around; where equal elements must stay
in place, the operand is turned around before as well.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.api.jit import jit
from tapeless.api.vmap import vmap
from tapeless.core.aval import typeof
from tapeless.core.trace import Tracer, Value
from tapeless.numpy import arithmetic
from tapeless.numpy.choice import where
from tapeless.numpy.common import (
    asarray,
    canonicalize_axis,
    check_arraylike,
    convert,
    promote_dtypes,
    value_of,
)
from tapeless.numpy.creation import ones, zeros
from tapeless.numpy.indexing import get_item
from tapeless.numpy.shaping import ravel, swapaxes
from tapeless.prims import sort as sorts
from tapeless.prims import structural, topk, unary
from tapeless.prims.create import broadcasted_iota
from tapeless.prims.join import concatenate, unstack
from tapeless.prims.searchsorted import METHODS, search_sorted_p
from tapeless.runtime.array import Array

__all__ = [
    "argpartition",
    "argsort",
    "digitize",
    "lexsort",
    "partition",
    "searchsorted",
    "sort",
    "sort_complex",
    "top_k",
]


def _check_sort(name: str, kind: None, order: None) -> None:
    """Refuse NumPy's `kind` and `order`."""
    if kind is not None:
        raise TypeError(
            f"'kind' argument to {name} is not supported. Use stable=True or stable=False to "
            "specify sort stability."
        )
    if order is not None:
        raise TypeError(f"'order' argument to {name} is not supported.")


@functools.partial(jit, static_argnames=("axis", "kind", "order", "stable", "descending"))
def sort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Value:
    """Return the elements in order along `axis`: (n, m) -> (n, m); flattened if it is None.

    NaNs come last.

    >>> import tapeless.numpy as jnp
    >>> jnp.sort(jnp.array([3, 1, 2]))
    Array([1, 2, 3], dtype=int32)
    """
    check_arraylike("sort", a)
    _check_sort("sort", kind, order)
    x = value_of(a)
    if axis is None:
        x, axis = ravel(x), 0
    axis = canonicalize_axis(axis, typeof(x).ndim)
    result = sorts.sort(x, axis, is_stable=stable)
    return structural.rev(result, (axis,)) if descending else result


@functools.partial(jit, static_argnames=("axis", "kind", "order", "stable", "descending", "dtype"))
def argsort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: Any = None,
) -> Value:
    """Return the indices that would sort along `axis`: (n, m) -> (n, m), integers.

    >>> import tapeless.numpy as jnp
    >>> jnp.argsort(jnp.array([30, 10, 20]))
    Array([1, 2, 0], dtype=int32)
    """
    check_arraylike("argsort", a)
    _check_sort("argsort", kind, order)
    x = value_of(a)
    if axis is None:
        x, axis = ravel(x), 0
    axis = canonicalize_axis(axis, typeof(x).ndim)
    places = broadcasted_iota(_index_dtype(dtype), typeof(x).shape, axis)
    if descending and stable:
        x, places = structural.rev(x, (axis,)), structural.rev(places, (axis,))
    _, places = sorts.sort((x, places), axis, is_stable=stable, num_keys=1)
    return structural.rev(places, (axis,)) if descending else places


def _index_dtype(dtype: Any) -> Any:
    """Return the dtype of indices: as asked, or the default integer."""
    if dtype is None:
        return dtypes.default_int_dtype()
    return dtypes.check_user_dtype_supported(dtype, "argsort")


@functools.partial(jit, static_argnames=("axis", "batch_size"))
def lexsort(keys: Any, axis: int = -1, *, batch_size: int = 16) -> Value:
    """Return the indices that sort by the last key, ties by the one before it, and so on.

    keys: k arrays of shape (n,), or an array (k, n) -> (n,).  batch_size: how many keys are sorted
    together; more are sorted in rounds.

    >>> import tapeless.numpy as jnp
    >>> jnp.lexsort((jnp.array([2, 1, 3]), jnp.array([1, 1, 0])))
    Array([2, 1, 0], dtype=int32)
    """
    if len(keys) == 0:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    shape = _shape_of_keys(keys)
    if not shape:
        return convert(0, dtypes.default_int_dtype())
    axis = canonicalize_axis(axis, len(shape))
    order: Any = broadcasted_iota(dtypes.default_int_dtype(), shape, axis)
    joined = isinstance(keys, (Array, Tracer, np.ndarray))
    lines: list[Value] = list(unstack(keys) if joined else map(value_of, keys))
    for start in range(0, len(lines), batch_size):
        batch = lines[start : start + batch_size][::-1]
        if start:
            batch = [_taken(key, order, axis) for key in batch]
        outs: Any = sorts.sort((*batch, order), axis, num_keys=len(batch))
        order = outs[-1]
    return order


def _shape_of_keys(keys: Any) -> tuple[int, ...]:
    """Return the shape of each key, or raise an error if they do not have one shape."""
    if isinstance(keys, (Array, Tracer, np.ndarray)):
        return typeof(keys).shape[1:]
    check_arraylike("lexsort", *keys)
    shapes = [typeof(value_of(key)).shape for key in keys]
    if len(set(shapes)) > 1:
        raise ValueError("all keys need to be the same shape")
    return shapes[0]


def _taken(key: Value, order: Value, axis: int) -> Value:
    """Return the elements of `key` in an order along an axis."""
    places = [broadcasted_iota(np.int32, typeof(key).shape, i) for i in range(typeof(key).ndim)]
    places[axis] = order
    return get_item(key, tuple(places))


@jit
def sort_complex(a: Any) -> Value:
    """Return the elements in order along the last axis, as complex numbers: (n,) -> (n,).

    >>> import tapeless.numpy as jnp
    >>> jnp.sort_complex(jnp.array([1 + 1j, 1, 0]))
    Array([0.+0.j, 1.+0.j, 1.+1.j], dtype=complex64)
    """
    check_arraylike("sort_complex", a)
    x = value_of(a)
    x = sorts.sort(x, typeof(x).ndim - 1)
    is_wide = typeof(x).dtype in (np.int64, np.uint64, np.float64, np.complex128)
    return convert(x, np.dtype(np.complex128 if is_wide else np.complex64))


def _negated(x: Value) -> Value:
    """Return a value in the opposite order."""
    if dtypes.issubdtype(typeof(x).dtype, np.integer) or typeof(x).dtype == np.bool_:
        return unary.bitwise_not(x)
    return unary.neg(x)


def _least(x: Value, k: int, axis: int) -> tuple[Value, Value]:
    """Return the k least elements along an axis, least first, and their places."""
    values, places = topk.top_k(_negated(x), k, axis=axis)
    return _negated(values), places


def _rank_argument(name: str, a: Any, kth: Any, axis: Any) -> tuple[Value, int, int]:
    """Return the checked operand, with the axis last, the rank and the axis."""
    check_arraylike(name, a)
    x = asarray(a)
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        raise NotImplementedError(f"jnp.{name} for complex dtype is not implemented.")
    axis = canonicalize_axis(axis, x.ndim)
    kth = canonicalize_axis(operator.index(kth), x.shape[axis])
    if x.dtype.name.endswith(("fnu", "fnuz")):
        wide = convert(x, np.dtype(np.float32))  # where each number, and NaN, has a negative
        x = where(arithmetic.not_equal(x, x), np.float32(np.nan), wide)
    return swapaxes(x, axis, -1), kth, axis


@functools.partial(jit, static_argnames=("kth", "axis"))
def partition(a: Any, kth: int, axis: int = -1) -> Value:
    """Return the elements so that the one of rank `kth` is in its place: (n,) -> (n,).

    Those before it are not greater, those after it not less, in no order that is promised.

    >>> import tapeless.numpy as jnp
    >>> jnp.partition(jnp.array([5, 1, 4, 2]), 1)[:2]
    Array([1, 2], dtype=int32)
    """
    x, kth, axis = _rank_argument("partition", a, kth, axis)
    last = typeof(x).ndim - 1
    bottom = _least(x, kth + 1, last)[0]
    top = topk.top_k(x, typeof(x).shape[-1] - kth - 1)[0]
    ranked, dtype = concatenate([bottom, top], last), asarray(a).dtype
    return swapaxes(ranked if typeof(ranked).dtype == dtype else convert(ranked, dtype), -1, axis)


@functools.partial(jit, static_argnames=("kth", "axis"))
def argpartition(a: Any, kth: int, axis: int = -1) -> Value:
    """Return the indices that `partition` takes elements from: (n,) -> (n,), integers.

    >>> import tapeless.numpy as jnp
    >>> jnp.argpartition(jnp.array([5, 1, 4, 2]), 1)[:2]
    Array([1, 3], dtype=int32)
    """
    x, kth, axis = _rank_argument("argpartition", a, kth, axis)
    shape = typeof(x).shape
    bottom = topk.top_k(_negated(x), kth + 1)[1]
    # Those taken are marked by 0, so that the others are the largest.
    mark = _mark
    for _ in shape[:-1]:
        mark = vmap(mark)
    others = mark(ones(shape), bottom)
    top = topk.top_k(others, shape[-1] - kth - 1)[1]
    return swapaxes(concatenate([bottom, top], len(shape) - 1), -1, axis)


def _mark(marks: Value, places: Value) -> Value:
    """Set some elements to zero."""
    return marks.at[places].set(0.0)


@functools.partial(jit, static_argnames=("k", "axis", "mode", "sorted"))
def top_k(
    a: Any, k: int, /, *, axis: int = -1, mode: str = "largest", sorted: bool = True
) -> Sequence[Value]:
    """Return the k largest elements along `axis`, largest first, and their indices: (n,) -> (k,).

    mode: "largest", or "smallest" for the k smallest, smallest first.  They are always sorted.

    >>> import tapeless.numpy as jnp
    >>> jnp.top_k(jnp.array([3, 1, 2]), 2)
    [Array([3, 2], dtype=int32), Array([0, 2], dtype=int32)]
    """
    check_arraylike("top_k", a)
    if mode not in ("largest", "smallest"):
        raise ValueError(f"mode must be 'largest' or 'smallest', got {mode!r}")
    x = asarray(a)
    axis = canonicalize_axis(axis, x.ndim)
    if mode == "largest":
        return topk.top_k(x, k, axis=axis)
    return _least(x, k, axis)


@functools.partial(jit, static_argnames=("side", "method"))
def searchsorted(
    a: Any, v: Any, side: str = "left", sorter: Any = None, *, method: str = "scan"
) -> Value:
    """Return where to insert elements so that a sorted array stays sorted: (n,), (k,) -> (k,).

    side: before equal elements ("left") or after them ("right").  sorter: indices that sort `a`.
    method: one of compare_all, scan, scan_unrolled, sort; all return the same.

    >>> import tapeless.numpy as jnp
    >>> jnp.searchsorted(jnp.array([1, 2, 2, 3]), jnp.array([2, 9]))
    Array([1, 4], dtype=int32)
    """
    if sorter is None:
        check_arraylike("searchsorted", a, v)
    else:
        check_arraylike("searchsorted", a, v, sorter)
    if side not in ("left", "right"):
        raise ValueError(f"invalid argument {side=}, expected 'left' or 'right'")
    if method not in METHODS:
        raise ValueError(f"invalid argument {method=}, expected one of {list(METHODS)}")
    line = value_of(a)
    if typeof(line).ndim != 1:
        raise ValueError("a should be 1-dimensional")
    line, query = promote_dtypes(line, value_of(v))
    if sorter is not None:
        line = get_item(line, value_of(sorter))
    params = {"side": side, "dimension": 0, "batch_dims": 0, "method": method}
    return search_sorted_p.bind(line, query, **params)[0]


@functools.partial(jit, static_argnames=("right", "method"))
def digitize(x: Any, bins: Any, right: bool = False, *, method: str | None = None) -> Value:
    """Return the number of the bin that each element falls in: (k,), (n,) -> (k,) in 0..n.

    bins: edges, increasing or decreasing.  right: bins include their right edge, not the left one.

    >>> import tapeless.numpy as jnp
    >>> jnp.digitize(jnp.array([0.5, 1.0, 5.0]), jnp.array([0.0, 1.0, 2.0]))
    Array([1, 2, 3], dtype=int32)
    """
    check_arraylike("digitize", x, bins)
    x, bins = value_of(x), value_of(bins)
    if typeof(bins).ndim != 1:
        raise ValueError(f"digitize: bins must be a 1-dimensional array; got bins={bins}")
    n = typeof(bins).shape[0]
    if n == 0:
        return zeros(typeof(x).shape, np.int32)
    side = "left" if right else "right"
    search = functools.partial(searchsorted, side=side, **({"method": method} if method else {}))
    rising = arithmetic.greater_equal(get_item(bins, -1), get_item(bins, 0))
    up = search(bins, x)
    down = arithmetic.subtract(n, search(get_item(bins, slice(None, None, -1)), x))
    return where(rising, up, down)
