"""Order statistics: extremes, medians and quantiles.

A quantile is the element, or a mean of the two elements, at a fraction of the way along a sorted
line.
A line of n elements has the rank q (n - 1) at the fraction q; between two whole ranks the method
decides.  One NaN makes the quantile of its line NaN, except for the `nan...` functions, which leave
NaNs out: sorting puts them last, and n counts the others.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy import arithmetic, reductions
from tapeless.numpy.choice import where
from tapeless.numpy.common import (
    canonicalize_axes,
    canonicalize_axis,
    check_arraylike,
    const,
    convert,
    narrowed,
    promote_dtypes_inexact,
    value_of,
)
from tapeless.numpy.cumulative import cumsum
from tapeless.numpy.floats import isnan
from tapeless.numpy.indexing import get_item
from tapeless.numpy.shaping import moveaxis, ravel
from tapeless.numpy.taking import take_along_axis
from tapeless.prims import binary, select, structural
from tapeless.prims.compare import eq, le, lt, ne
from tapeless.prims.create import broadcasted_iota
from tapeless.prims.gather import gather
from tapeless.prims.indexing import GatherDimensionNumbers, GatherScatterMode
from tapeless.prims.reduce import reduce_or
from tapeless.prims.sort import sort
from tapeless.prims.unary import bitwise_not, ceil, floor

__all__ = [
    "median",
    "minmax",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "percentile",
    "quantile",
]

Axis = int | Sequence[int] | None
METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")
_I32 = np.dtype(np.int32)
_F32 = np.dtype("float32")
_static = functools.partial(jit, static_argnames=("axis", "overwrite_input", "method", "keepdims"))
_static_middle = functools.partial(jit, static_argnames=("axis", "overwrite_input", "keepdims"))


@_static
def quantile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Value:
    """Return quantiles along axes: a (n, m), q () in 0..1 -> (m,) for axis 0; q (k,) -> (k, m).

    method: linear, lower, higher, midpoint, nearest, or inverted_cdf, the only one for `weights`.

    >>> import tapeless.numpy as jnp
    >>> jnp.quantile(jnp.array([1.0, 2.0, 4.0]), jnp.array([0.25, 0.5]))
    Array([1.5, 2. ], dtype=float32)
    """
    _check("quantile", overwrite_input, out)
    return _quantile("quantile", a, q, axis, method, keepdims, weights, False)


@_static
def nanquantile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Value:
    """Return quantiles along axes, NaNs left out: a (n, m), q () in 0..1 -> (m,) for axis 0.

    >>> import tapeless.numpy as jnp
    >>> jnp.nanquantile(jnp.array([1.0, jnp.nan, 4.0]), 0.5)
    Array(2.5, dtype=float32)
    """
    _check("nanquantile", overwrite_input, out)
    return _quantile("nanquantile", a, q, axis, method, keepdims, weights, True)


@functools.partial(
    jit, static_argnames=("axis", "overwrite_input", "method", "keepdims", "out_sharding")
)
def percentile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
    out_sharding: Any = None,
) -> Value:
    """Return percentiles along axes: a (n, m), q () in 0..100 -> (m,) for axis 0; see `quantile`.

    >>> import tapeless.numpy as jnp
    >>> jnp.percentile(jnp.array([1.0, 2.0, 4.0]), 50)
    Array(2., dtype=float32)
    """
    q = _fraction("percentile", a, q)
    return quantile(a, q, axis, out, overwrite_input, method, keepdims, weights=weights)


@_static
def nanpercentile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Value:
    """Return percentiles along axes, NaNs left out: a (n, m), q () in 0..100 -> (m,) for axis 0.

    >>> import tapeless.numpy as jnp
    >>> jnp.nanpercentile(jnp.array([1.0, jnp.nan, 4.0]), 50)
    Array(2.5, dtype=float32)
    """
    q = _fraction("nanpercentile", a, q)
    return nanquantile(a, q, axis, out, overwrite_input, method, keepdims, weights=weights)


@_static_middle
def median(
    a: Any,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Value:
    """Return the middle element, or the mean of the middle two, along axes: (n, m) -> (m,).

    >>> import tapeless.numpy as jnp
    >>> jnp.median(jnp.array([1.0, 2.0, 4.0, 9.0]))
    Array(3., dtype=float32)
    """
    check_arraylike("median", a)
    own = typeof(value_of(a)).shape
    axes = range(len(own)) if axis is None else canonicalize_axes(axis, len(own))
    if any(own[i] == 0 for i in axes):
        raise ValueError("jax.numpy.median reduction axis must be non-empty")
    return quantile(a, 0.5, axis, out, overwrite_input, "midpoint", keepdims)


@_static_middle
def nanmedian(
    a: Any,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Value:
    """Return the middle element, or the mean of the middle two, NaNs left out: (n, m) -> (m,).

    >>> import tapeless.numpy as jnp
    >>> jnp.nanmedian(jnp.array([1.0, jnp.nan, 4.0]))
    Array(2.5, dtype=float32)
    """
    check_arraylike("nanmedian", a)
    return nanquantile(a, 0.5, axis, out, overwrite_input, "midpoint", keepdims)


def _check(name: str, overwrite_input: bool, out: None) -> None:
    """Refuse what cannot be."""
    if overwrite_input or out is not None:
        raise ValueError(f"jax.numpy.{name} does not support overwrite_input=True or out != None")


def _fraction(name: str, a: Any, q: Any) -> Value:
    """Return percents as fractions."""
    check_arraylike(name, a, q)
    (q,) = promote_dtypes_inexact(value_of(q))
    return binary.div(q, convert(100, typeof(q).dtype, typeof(q).weak_type))


def _quantile(
    name: str,
    a: Any,
    q: Any,
    axis: Axis,
    method: str,
    keepdims: bool,
    weights: Any,
    leave_out: bool,
) -> Value:
    """Return the quantiles; leave_out: without NaNs."""
    if method not in METHODS:
        raise ValueError(
            "method can only be 'linear', 'lower', 'higher', 'midpoint', 'nearest' or "
            "'inverted_cdf'"
        )
    if weights is not None and method != "inverted_cdf":
        raise NotImplementedError(
            f"{method} doesn't support weights. Only method 'inverted_cdf' supports weights."
        )
    check_arraylike(name, a, q, *(() if weights is None else (weights,)))
    x, q = (narrowed(promote_dtypes_inexact(value_of(each))[0]) for each in (a, q))
    if dtypes.issubdtype(typeof(x).dtype, np.complexfloating):
        raise ValueError(
            f"{name} does not support complex input, as the operation is poorly defined."
        )
    if typeof(q).ndim > 1:
        raise ValueError(f"q must be have rank <= 1, got shape {typeof(q).shape}")
    if weights is not None:
        x, weights = promote_dtypes_inexact(x, value_of(weights))
        weights = _spread(weights, typeof(x).shape, axis)
    x, line, ones = _one_line(x, axis, keepdims)
    if typeof(x).shape[line] == 0:
        return _of_nothing(name, x, q, line, ones, keepdims, leave_out)
    if weights is not None:
        weights, _, _ = _one_line(weights, axis, keepdims)
    kind = typeof(x).dtype
    x, q = _widened(x), _widened(q)
    if not leave_out:
        bad = reductions.any(isnan(x), axis=line, keepdims=True)
        x = where(bad, np.nan, x)
    else:
        x = where(isnan(x), np.nan, x)
    if method == "inverted_cdf" or weights is not None:
        result = _inverted_cdf(x, q, line, weights, keepdims, leave_out)
    else:
        x = sort(x, line, is_stable=False)
        ranks = _ranks_of_nan(x, q, line, keepdims) if leave_out else _ranks(x, q, line)
        if leave_out:
            low, high = _taken_of_nan(x, ranks[:2], line, keepdims)
        else:
            low, high = (_taken(x, rank, line, keepdims) for rank in ranks[:2])
        result = _between(low, high, ranks[2], ranks[3], method, leave_out)
    if ones is not None:
        result = structural.reshape(result, (*typeof(q).shape, *ones))
    return convert(result, kind)


def _widened(x: Value) -> Value:
    """Return floats of 8 bits or fewer, which do not promote, in float32."""
    return convert(x, _F32) if typeof(x).dtype.itemsize == 1 else x


def _of_nothing(
    name: str,
    x: Value,
    q: Value,
    line: int,
    ones: tuple[int, ...] | None,
    keepdims: bool,
    leave_out: bool,
) -> Value:
    """Return NaN for lines without elements; refuse them where NaNs are not left out."""
    own = list(typeof(x).shape)
    if not leave_out and typeof(q).size:
        raise TypeError(
            f"jax.numpy.{name} needs at least one element along the reduced axes, got an operand "
            f"that is {typeof(x).dtype}{own} with axis {line} reduced."
        )
    own[line : line + 1] = [1] if keepdims else []
    rest = tuple(own) if ones is None else ones
    return structural.broadcast(typeof(x).dtype.type(np.nan), (*typeof(q).shape, *rest))


def _one_line(x: Value, axis: Axis, keepdims: bool) -> tuple[Value, int, tuple[int, ...] | None]:
    """Bring the axes into one: return the array, its axis, and the shape that `keepdims` asks for.

    The shape is None where nothing needs to be put back.
    """
    aval = typeof(x)
    if axis is None:
        return ravel(x), 0, (1,) * aval.ndim if keepdims else None
    if not isinstance(axis, (tuple, list)):
        return x, canonicalize_axis(axis, aval.ndim), None
    axes = canonicalize_axes(axis, aval.ndim)
    others = [i for i in range(aval.ndim) if i not in axes]
    order = list(range(aval.ndim))
    for place, other in enumerate(others):  # the others change places with those in front
        order[place], order[other] = order[other], order[place]
    shape = tuple(aval.shape[i] for i in others)
    count = int(np.prod([aval.shape[i] for i in axes], dtype=int))
    x = structural.reshape(x, (*shape, count), order)
    ones = tuple(1 if i in axes else n for i, n in enumerate(aval.shape))
    return x, len(shape), ones if keepdims else None


def _spread(weights: Value, shape: tuple[int, ...], axis: Axis) -> Value:
    """Bring weights along one axis to the shape of the values."""
    own = typeof(weights).shape
    if own == shape:
        return weights
    if axis is None:
        raise ValueError("Weights shape must match 'a' shape when axis is None.")
    (line, *more) = canonicalize_axes(axis, len(shape))
    if more or own != (shape[line],):
        raise ValueError("weights must be 1D with the length of `a` along `axis`")
    return structural.broadcast_in_dim(weights, shape, (line,))


def _ranks(x: Value, q: Value, line: int) -> tuple[Value, Value, Value, Value]:
    """Return the whole ranks on both sides, and the weights of low and high."""
    number = typeof(q).dtype.type
    n, one, zero = number(typeof(x).shape[line]), number(1), number(0)
    rank = binary.mul(q, binary.sub(n, one))
    low, high = floor(rank), ceil(rank)
    weight_high = binary.sub(rank, low)
    weight_low = binary.sub(one, weight_high)
    low = select.clamp(zero, low, binary.sub(n, one))
    high = select.clamp(zero, high, binary.sub(n, one))
    return convert(low, _I32), convert(high, _I32), weight_low, weight_high


def _ranks_of_nan(
    x: Value, q: Value, line: int, keepdims: bool
) -> tuple[Value, Value, Value, Value]:
    """Return whole ranks and weights for lines of different lengths: (*q, *lines)."""
    dtype = typeof(q).dtype
    one, zero = dtype.type(1), dtype.type(0)
    valid = convert(bitwise_not(isnan(x)), _I32)
    n = reductions.sum(valid, axis=line, dtype=dtype, keepdims=keepdims)
    lines, leading = typeof(n).ndim, typeof(q).ndim
    if lines:
        q = structural.expand_dims(q, range(leading, leading + lines))
    if leading:
        n = structural.expand_dims(n, range(leading))
    rank = binary.mul(q, binary.sub(n, one))
    low, high = floor(rank), ceil(rank)
    weight_high = binary.sub(rank, low)
    weight_low = binary.sub(one, weight_high)
    low = binary.max(zero, binary.min(low, binary.sub(n, one)))
    high = binary.max(zero, binary.min(high, binary.sub(n, one)))
    return convert(low, _I32), convert(high, _I32), weight_low, weight_high


def _taken(x: Value, rank: Value, line: int, keepdims: bool) -> Value:
    """Return the slices of `x` at ranks that all lines share: (*q, *lines)."""
    leading, n_axes = typeof(rank).ndim, typeof(x).ndim
    sizes = list(typeof(x).shape)
    sizes[line] = 1
    numbers = GatherDimensionNumbers(
        offset_dims=tuple(range(leading, n_axes + leading - (0 if keepdims else 1))),
        collapsed_slice_dims=() if keepdims else (line,),
        start_index_map=(line,),
    )
    places = structural.expand_dims(rank, (leading,))
    return gather(x, places, numbers, tuple(sizes), mode=GatherScatterMode.PROMISE_IN_BOUNDS)


def _taken_of_nan(x: Value, ranks: Sequence[Value], line: int, keepdims: bool) -> list[Value]:
    """Return the elements of `x` at ranks of each line's own: (*q, *lines)."""
    shape = typeof(ranks[0]).shape
    first = len(shape) - (typeof(x).ndim - (0 if keepdims else 1))
    places: list[Any] = [None] * typeof(x).ndim
    for axis in range(typeof(x).ndim):
        if axis != line:
            own = first + axis - (1 if axis > line and not keepdims else 0)
            places[axis] = broadcasted_iota(_I32, shape, own)
    return [
        get_item(x, tuple(rank if axis == line else own for axis, own in enumerate(places)))
        for rank in ranks
    ]


def _between(
    low: Value, high: Value, weight_low: Value, weight_high: Value, method: str, leave_out: bool
) -> Value:
    """Return what the method makes of the elements on both sides."""
    if method == "lower":
        return low
    if method == "higher":
        return high
    if method == "midpoint":
        half = const(weight_low, 0.5)
        return arithmetic.multiply(binary.add(low, high), half)
    shape = typeof(low).shape
    if not leave_out and typeof(weight_low).ndim and typeof(weight_low).ndim < len(shape):
        weight_low, weight_high = (
            structural.broadcast_in_dim(each, shape, (0,)) for each in (weight_low, weight_high)
        )
    if method == "nearest":
        half = const(weight_high, 0.5)
        return select.select(le(weight_high, half), low, high)
    low, high = arithmetic.multiply(low, weight_low), arithmetic.multiply(high, weight_high)
    return binary.add(low, high)


def _inverted_cdf(
    x: Value, q: Value, line: int, weights: Value | None, keepdims: bool, leave_out: bool
) -> Value:
    """Return the first element by which the sum of weights reaches the fraction of the total."""
    dtype = typeof(x).dtype
    if weights is None:
        weights = structural.broadcast(dtype.type(1), typeof(x).shape)
    weights = convert(weights, dtype)
    x, weights = sort((x, weights), line, num_keys=1)
    x, weights = moveaxis(x, line, -1), moveaxis(weights, line, -1)
    zero = structural.broadcast(dtype.type(0), typeof(x).shape)
    bad_weight = arithmetic.bitwise_or(lt(weights, zero), ne(weights, weights))
    bad = arithmetic.bitwise_or(bad_weight, ne(x, x))
    total = cumsum(select.select(bad, zero, weights), axis=-1)
    wanted = arithmetic.multiply(
        structural.expand_dims(q, range(typeof(q).ndim, typeof(q).ndim + typeof(x).ndim - 1)),
        get_item(total, (..., -1)),
    )
    before = arithmetic.less(total, structural.expand_dims(wanted, (typeof(wanted).ndim,)))
    place = reductions.sum(convert(before, _I32), axis=-1)
    n = typeof(x).shape[-1]
    valid = reductions.sum(convert(eq(x, x), _I32), axis=-1) if leave_out else _I32.type(n)
    place = arithmetic.maximum(0, arithmetic.minimum(place, arithmetic.subtract(valid, 1)))
    lead = typeof(q).ndim
    last = moveaxis(place, 0, -1) if lead else structural.expand_dims(place, (typeof(place).ndim,))
    result = take_along_axis(x, last, axis=-1)
    result = moveaxis(result, -1, 0) if lead else get_item(result, (..., 0))
    unusable = reduce_or(bad_weight, (typeof(x).ndim - 1,))
    if not leave_out:
        unusable = arithmetic.bitwise_or(unusable, reduce_or(ne(x, x), (typeof(x).ndim - 1,)))
    result = where(unusable, np.nan, result)
    return structural.expand_dims(result, (lead + line,)) if keepdims else result


def minmax(
    a: Any,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> tuple[Value, Value]:
    """Return the minimum and the maximum over axes: (n, m) -> (m,), (m,) for axis 0.

    initial: a bound for both, or a pair of bounds.

    >>> import tapeless.numpy as jnp
    >>> jnp.minmax(jnp.array([3, 1, 2]))
    (Array(1, dtype=int32), Array(3, dtype=int32))
    """
    check_arraylike("minmax", a)
    low, high = initial if isinstance(initial, tuple) else (initial, initial)
    least = reductions.min(a, axis, out, keepdims, low, where)
    return least, reductions.max(a, axis, out, keepdims, high, where)
