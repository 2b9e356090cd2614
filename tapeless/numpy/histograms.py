"""Counting: how often integers occur, how many elements fall in bins.

Bins are sorted edges; all but the last are half-open, [left, right), and the last one is closed.
Each element finds its bin by binary search, and is counted by a scatter that adds.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy import arithmetic, reductions
from tapeless.numpy.choice import clip, where
from tapeless.numpy.common import (
    array,
    asarray,
    check_arraylike,
    concrete_value,
    convert,
    promote_dtypes_inexact,
    value_of,
)
from tapeless.numpy.creation import linspace, ones_like, zeros
from tapeless.numpy.cumulative import diff
from tapeless.numpy.indexing import get_item
from tapeless.numpy.shaping import expand_dims, ravel, transpose
from tapeless.numpy.sorting import searchsorted
from tapeless.numpy.taking import ravel_multi_index

__all__ = ["bincount", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]


def bincount(
    x: Any,
    weights: Any = None,
    minlength: int = 0,
    *,
    length: int | None = None,
    out_sharding: Any = None,
) -> Value:
    """Return how often each integer occurs, or the sum of its weights: (n,) -> (length,).

    x: nonnegative integers; negative ones count as 0.  length: without it, the values must be
    known outside of transformations; integers from `length` on are left out.

    >>> import tapeless.numpy as jnp
    >>> jnp.bincount(jnp.array([1, 0, 1, 3]))
    Array([1, 2, 0, 1], dtype=int32)
    """
    check_arraylike("bincount", x)
    x = value_of(x)
    aval = typeof(x)
    if aval.dtype == np.bool_:
        x = convert(x, np.dtype(np.int32))
    elif not dtypes.issubdtype(aval.dtype, np.integer):
        raise TypeError(f"x argument to bincount must have an integer type; got {aval.dtype}")
    if aval.ndim != 1:
        raise ValueError("only 1-dimensional input supported.")
    minlength = operator.index(minlength)
    if length is None:
        known = concrete_value(
            x,
            "The error occurred because of argument 'x' of jnp.bincount. "
            "To avoid this error, pass a static `length` argument.",
        )
        largest = int(np.max(np.asarray(known))) if aval.size else -1
        length = max(minlength, largest + 1)
    else:
        length = operator.index(length)
    if weights is None:
        weights = np.array(1, dtypes.default_int_dtype())
    elif typeof(value_of(weights)).shape != aval.shape:
        raise ValueError(
            f"shape of weights must match shape of x; got weights of shape "
            f"{typeof(value_of(weights)).shape} and x of shape {aval.shape}."
        )
    return _counted(x, weights, length)


@functools.partial(jit, static_argnames=("length",), inline="early")
def _counted(x: Value, weights: Value, length: int) -> Value:
    """Add weights up at the places `x`."""
    counts: Any = zeros(length, typeof(value_of(weights)).dtype)
    return counts.at[clip(asarray(x), 0)].add(weights, mode="drop")


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Value:
    """Return the edges of equal bins: k bins -> (k + 1,), over the range of `a` or as given.

    bins: their number, or the edges themselves.

    >>> import tapeless.numpy as jnp
    >>> jnp.histogram_bin_edges(jnp.array([0.0, 4.0]), bins=2)
    Array([0., 2., 4.], dtype=float32)
    """
    del weights  # for NumPy's rules only, which are not here
    if isinstance(bins, str):
        raise NotImplementedError("string values for `bins` not implemented.")
    check_arraylike("histogram_bin_edges", a, bins)
    (x,) = promote_dtypes_inexact(value_of(a))
    dtype = typeof(x).dtype
    x, edges = ravel(x), value_of(bins)
    if typeof(edges).ndim == 1:
        return convert(asarray(edges), dtypes.canonicalize_dtype(dtype))
    count = operator.index(concrete_value(edges, "bins argument of histogram_bin_edges"))
    if range is None:
        if typeof(x).size == 0:
            ends = asarray(np.array([0, 1], dtype))
        else:
            ends = _range(x)
    else:
        ends = asarray(range, dtype)
    if ends.shape != (2,):
        raise ValueError(f"`range` must be either None or a sequence of scalars, got {range}")
    return _even_edges(ends, count, dtype)


@functools.partial(jit, inline="early")
def _range(x: Value) -> Value:
    """Return the extremes: (n,) -> (2,)."""
    return array([reductions.min(x), reductions.max(x)], typeof(x).dtype)


@functools.partial(jit, static_argnames=("count", "dtype"), inline="early")
def _even_edges(ends: Value, count: int, dtype: Any) -> Value:
    """Return the edges of bins between two ends; around them, where they are equal."""
    low, high = (
        where(
            arithmetic.equal(reductions.ptp(ends), 0),
            move(get_item(ends, place), 0.5),
            get_item(ends, place),
        )
        for place, move in ((0, arithmetic.subtract), (1, arithmetic.add))
    )
    return linspace(low, high, count + 1, dtype=dtype)


def histogram(
    a: Any,
    bins: Any = 10,
    range: Any = None,
    weights: Any = None,
    density: bool | None = None,
    out_sharding: Any = None,
) -> tuple[Value, Value]:
    """Return how many elements, or the sum of their weights, fall in each bin; and the edges.

    a: (n, m), bins: k or edges (k + 1,) -> counts (k,), edges (k + 1,).
    density: divide by the widths and the total.

    Unlike in NumPy, counts are floating.

    >>> import tapeless.numpy as jnp
    >>> jnp.histogram(jnp.array([0.0, 1.0, 4.0]), bins=2)
    (Array([2., 1.], dtype=float32), Array([0., 2., 4.], dtype=float32))
    """
    if weights is None:
        check_arraylike("histogram", a, bins)
        (x,) = promote_dtypes_inexact(value_of(a))
        weights = ones_like(x)
    else:
        check_arraylike("histogram", a, bins, weights)
        if typeof(value_of(weights)).shape != typeof(value_of(a)).shape:
            raise ValueError("weights should have the same shape as a.")
        x, weights = promote_dtypes_inexact(value_of(a), value_of(weights))
    edges = histogram_bin_edges(x, bins, range, weights)
    return _histogram(x, weights, edges, bool(density)), edges


@functools.partial(jit, static_argnames=("density",), inline="early")
def _histogram(x: Value, weights: Value, edges: Value, density: bool) -> Value:
    """Add weights up in the bins between edges."""
    x, weights = ravel(x), ravel(weights)
    last = typeof(edges).shape[0] - 1
    place = searchsorted(edges, x, side="right")
    place = where(arithmetic.equal(x, get_item(edges, -1)), last, place)
    counts: Any = zeros(last + 1, typeof(weights).dtype)
    counts = get_item(counts.at[place].add(weights), slice(1, None))
    if density:
        share = arithmetic.divide(counts, diff(edges))
        counts = arithmetic.divide(share, reductions.sum(counts))
    return counts


def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    weights: Any = None,
    density: bool | None = None,
) -> tuple[Value, Value, Value]:
    """Return how many points (x, y) fall in each cell; and the edges of both axes.

    x, y: (n,), bins: k, edges (k + 1,) or a pair of these -> (k, k), (k + 1,), (k + 1,).

    >>> import tapeless.numpy as jnp
    >>> jnp.histogram2d(jnp.array([0.0, 1.0]), jnp.array([0.0, 2.0]), bins=2)[0]
    Array([[1, 0],
           [0, 1]], dtype=int32)
    """
    check_arraylike("histogram2d", x, y)
    try:
        count = len(bins)
    except TypeError:
        count = 1
    if count not in (1, 2):
        edges = asarray(bins)
        bins = [edges, edges]
    rows = [asarray(x), asarray(y)]
    shapes = [typeof(row).shape for row in rows]
    if shapes[0] != shapes[1]:
        raise TypeError(f"histogram2d: x and y must have one shape (n,), got {shapes}")
    points = transpose(asarray(rows))
    counts, edges = histogramdd(points, bins, range, weights, density)
    return counts, edges[0], edges[1]


def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Any = None,
    weights: Any = None,
    density: bool | None = None,
) -> tuple[Value, list[Value]]:
    """Return how many points fall in each cell; and the edges of every axis.

    sample: (n, d), bins: k, or d numbers or edges -> (k, ..., k), d edges (k + 1,).

    >>> import tapeless.numpy as jnp
    >>> jnp.histogramdd(jnp.array([[0.0, 0.0], [1.0, 2.0]]), bins=2)[0]
    Array([[1, 0],
           [0, 1]], dtype=int32)
    """
    if weights is None:
        check_arraylike("histogramdd", sample)
        (x,) = promote_dtypes_inexact(value_of(sample))
    else:
        check_arraylike("histogramdd", sample, weights)
        x, weights = promote_dtypes_inexact(value_of(sample), value_of(weights))
    n, d = typeof(x).shape
    if weights is not None and typeof(weights).shape != (n,):
        raise ValueError("should have one weight for each sample.")
    bins = _per_axis(bins, d)
    ranges = [None] * d if range is None else list(range)
    if len(ranges) != d:
        raise ValueError(f"len(range) must match the number of dimensions, {d}; got {len(ranges)}")
    edges, places = [], []
    for axis, (of_axis, own) in enumerate(zip(bins, ranges, strict=True)):
        column = functools.partial(get_item, x, (slice(None), axis))
        edges.append(histogram_bin_edges(column(), of_axis, own, weights))
        place = searchsorted(edges[-1], column(), side="right")
        at_end = arithmetic.equal(column(), get_item(edges[-1], -1))
        places.append(where(at_end, arithmetic.subtract(place, 1), place))
    widths = [diff(each) for each in edges]
    sizes = tuple(typeof(each).shape[0] + 1 for each in edges)
    flat = ravel_multi_index(tuple(places), sizes, mode="clip")
    counts = bincount(flat, weights, length=int(np.prod(sizes)))
    counts = get_item(counts.reshape(sizes), (slice(1, -1),) * d)
    if density:
        counts = convert(counts, typeof(x).dtype)
        counts = arithmetic.divide(counts, reductions.sum(counts))
        for axis, width in enumerate(widths):
            rest = [each for each in np.arange(d).tolist() if each != axis]
            counts = arithmetic.divide(counts, expand_dims(width, rest))
    return counts, edges


def _per_axis(bins: Any, d: int) -> Sequence[Any]:
    """Return the bins of every axis."""
    try:
        count = len(bins)
    except TypeError:
        return [operator.index(bins)] * d
    if count != d:
        raise ValueError(f"should be a bin for each dimension; got {count} for {d} dimensions.")
    return list(bins)
