"""`pad`: an array with a margin, filled by one of many rules.

A rule works on one axis after the other: it makes the strip before and the strip after from the
array as it is by then, so that corners follow from edges, and the three are concatenated.  Only the
constant mode is one operation, `pad`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapeless import dtypes, lax
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy.choice import broadcast
from tapeless.numpy.common import asarray, check_arraylike, const, convert, dtype_of
from tapeless.numpy.creation import linspace
from tapeless.numpy.joining import repeat
from tapeless.numpy.rounding import round as rounded
from tapeless.numpy.shaping import flip
from tapeless.runtime.array import Array

__all__ = ["pad"]

_KEYWORDS = {
    "constant": ("constant_values",),
    "edge": (),
    "linear_ramp": ("end_values",),
    "maximum": ("stat_length",),
    "mean": ("stat_length",),
    "median": ("stat_length",),
    "minimum": ("stat_length",),
    "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
    "wrap": (),
    "empty": (),
}
Widths = tuple[tuple[int, int], ...]


def pad(
    array: Any,
    pad_width: Any,
    mode: Any = "constant",
    **kwargs: Any,
) -> Array:
    """Return the array with a margin along its axes.

    array: (n, m); pad_width: an integer for all sides, a pair for all axes, or a pair for each axis
    -> (before + n + after, ...)

    mode, and what the margin holds:
        "constant": `constant_values` (default 0)      "edge": the outermost elements
        "wrap": the array, periodically                "reflect", "symmetric": the array mirrored,
        "linear_ramp": steps down to `end_values`      without and with its edge
        "maximum", "minimum", "mean", "median": of `stat_length` elements next to the edge (all)
        "empty": anything (zeros)
        a function: called for each axis as `f(vector, (before, after), axis, kwargs)`

    >>> import tapeless.numpy as jnp
    >>> jnp.pad(jnp.arange(1, 4), (2, 1), mode="reflect")
    Array([3, 2, 1, 2, 3, 2], dtype=int32)
    """
    check_arraylike("pad", array)
    x = asarray(array)
    widths = _pairs(pad_width, typeof(x).ndim, "pad_width", integral=True)
    if any(width < 0 for pair in widths for width in pair):
        raise ValueError("index can't contain negative values")
    if callable(mode):
        return _pad_by_function(x, widths, mode, kwargs)
    if mode not in _KEYWORDS:
        raise NotImplementedError(f"Unimplemented padding mode '{mode}' for np.pad.")
    unknown = set(kwargs) - set(_KEYWORDS[mode])
    if unknown:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unknown}")
    stat_length = kwargs.get("stat_length")
    if stat_length is not None:
        stat_length = _pairs(stat_length, typeof(x).ndim, "stat_length", integral=True)
    values = kwargs.get("constant_values", kwargs.get("end_values", 0))
    values = asarray(values) if isinstance(values, (list, tuple)) else values
    kind = kwargs.get("reflect_type", "even")
    return _pad(x, values, widths, mode, stat_length, kind)


def _pairs(
    value: Any,
    rank: int,
    name: str,
    integral: bool = False,
) -> Any:
    """Return a pair for each axis, of what is given for all sides, all axes, or each axis."""
    found = np.asarray(value)
    if integral and not np.issubdtype(found.dtype, np.integer):
        raise TypeError(f"`{name}` must be of integral type.")
    if found.shape not in ((rank, 2), (1, 2), (2,), (1,), ()):
        raise ValueError(
            f"jnp.pad: {name} with nd={rank} has unsupported shape {found.shape}. Valid shapes are "
            f"({rank}, 2), (1, 2), (2,), (1,), or ()."
        )
    return tuple(map(tuple, np.broadcast_to(found, (rank, 2)).tolist()))


@jit(static_argnames=("widths", "mode", "stat_length", "reflect_type"))
def _pad(
    array: Value,
    values: Any,
    widths: Widths,
    mode: str,
    stat_length: Any,
    reflect_type: str,
) -> Value:
    """Pad axis after axis."""
    if mode == "constant":
        return _pad_constant(array, widths, values)
    rank = typeof(array).ndim
    for axis, (before, after) in enumerate(widths):
        if before == after == 0:
            continue
        if typeof(array).shape[axis] == 0 and mode not in ("empty", "mean"):
            raise ValueError(f"can't extend empty axis {axis} using modes other than 'constant'")
        if mode in ("reflect", "symmetric"):
            array = _mirrored(array, axis, before, after, mode, reflect_type)
            continue
        strips = _strips(array, axis, (before, after), mode, values, stat_length, rank)
        array = lax.concatenate([strips[0], array, strips[1]], axis)
    return array


def _pad_constant(
    x: Value,
    widths: Widths,
    values: Any,
) -> Value:
    """Pad with one number, or with one after the other for different sides."""
    kind, rank = dtype_of(x), typeof(x).ndim
    values = asarray(values)
    if typeof(values).ndim == 0:
        config: Any = [(*map(np.int64, pair), 0) for pair in widths]  # what JAX's programs show
        return lax.pad(x, convert(values, kind, typeof(x).weak_type), config)
    values = convert(broadcast(values, (rank, 2)), kind, typeof(x).weak_type)
    for axis, pair in enumerate(widths):
        for side in (0, 1):
            config = [(0, 0, 0)] * rank
            config[axis] = (pair[0], 0, 0) if side == 0 else (0, pair[1], 0)
            number = lax.reshape(lax.slice(values, (axis, side), (axis + 1, side + 1)), ())
            x = lax.pad(x, number, config)
    return x


def _strips(
    x: Value,
    axis: int,
    widths: tuple[int, int],
    mode: str,
    values: Any,
    lengths: Any,
    rank: int,
) -> list[Value]:
    """Return what comes before and after along an axis."""
    if mode == "wrap":
        return _wrapped(x, axis, *widths)
    if mode == "edge":
        return [repeat(_edge(x, axis, side), widths[side], axis) for side in (0, 1)]
    if mode == "empty":
        shapes = [_replaced(typeof(x).shape, axis, width) for width in widths]
        return [lax.empty(shape, dtype_of(x)) for shape in shapes]
    if mode == "linear_ramp":
        ends = values if typeof(values).ndim == 0 else broadcast(asarray(values), (rank, 2))
        return [_ramp(x, axis, side, widths[side], _end(ends, axis, side)) for side in (0, 1)]
    sides = [_statistic(x, axis, 0, mode, lengths)] * 2
    if lengths is not None:
        sides[1] = _statistic(x, axis, 1, mode, lengths)
    return [repeat(strip, widths[side], axis) for side, strip in enumerate(sides)]


def _replaced(
    shape: tuple[int, ...],
    axis: int,
    size: int,
) -> tuple[int, ...]:
    """Return the shape with another extent of one axis."""
    return (*shape[:axis], size, *shape[axis + 1 :])


def _edge(
    x: Value,
    axis: int,
    side: int,
) -> Value:
    """Return the first or the last slice along an axis."""
    length = typeof(x).shape[axis]
    return (
        lax.slice_in_dim(x, 0, 1, axis=axis)
        if side == 0
        else lax.slice_in_dim(x, length - 1, length, axis=axis)
    )


def _wrapped(
    x: Value,
    axis: int,
    before: int,
    after: int,
) -> list[Value]:
    """Return parts of the array, continued periodically."""
    length = typeof(x).shape[axis]
    rows_before, rows_after = divmod(before, length), divmod(after, length)
    first = [x] * rows_before[0]
    if rows_before[1]:
        first.insert(0, lax.slice_in_dim(x, length - rows_before[1], length, axis=axis))
    last = [x] * rows_after[0]
    if rows_after[1]:
        last.append(lax.slice_in_dim(x, 0, rows_after[1], axis=axis))
    return [_joined(parts, axis, x) for parts in (first, last)]


def _joined(
    parts: list[Value],
    axis: int,
    x: Value,
) -> Value:
    """Return arrays joined: a single one as it is; none, an empty part of `x`."""
    if not parts:
        return lax.slice_in_dim(x, 0, 0, axis=axis)
    return parts[0] if len(parts) == 1 else lax.concatenate(parts, axis)


def _mirrored(
    x: Value,
    axis: int,
    before: int,
    after: int,
    mode: str,
    reflect_type: str,
) -> Value:
    """Grow the array at both ends by its mirror image, as often as needed."""
    if reflect_type not in ("even", "odd"):
        raise ValueError(f"reflect_type must be 'even' or 'odd', got {reflect_type}")
    for side, width in ((0, before), (1, after)):
        skipped = 1 if mode == "reflect" else 0
        while width > 0:
            length = typeof(x).shape[axis]
            edge = _edge(x, axis, side)
            if mode == "reflect" and length == 1:
                x = lax.concatenate([x, *[edge] * width], axis)
                break
            size = min(width, length - skipped)
            start = skipped if side == 0 else length - size - skipped
            strip = flip(lax.slice_in_dim(x, start, start + size, axis=axis), axis)
            if reflect_type == "odd":
                strip = lax.sub(lax.mul(edge, const(x, 2)), strip)
            x = lax.concatenate([strip, x] if side == 0 else [x, strip], axis)
            width -= size
    return x


def _end(
    ends: Any,
    axis: int,
    side: int,
) -> Any:
    """Return the end value of a side."""
    if typeof(ends).ndim == 0:
        return ends
    return lax.reshape(lax.slice(ends, (axis, side), (axis + 1, side + 1)), ())


def _ramp(
    x: Value,
    axis: int,
    side: int,
    width: int,
    end: Any,
) -> Value:
    """Return equal steps from an end value to the edge, which is not included."""
    edge = lax.squeeze(_edge(x, axis, side), (axis,))
    steps = linspace(end, edge, num=width, endpoint=False, dtype=dtype_of(x), axis=axis)
    return steps if side == 0 else flip(steps, axis)


def _statistic(
    x: Value,
    axis: int,
    side: int,
    mode: str,
    lengths: Any,
) -> Value:
    """Return a statistic of the elements next to an edge, with extent 1 along the axis."""
    total = typeof(x).shape[axis]
    count = total if lengths is None else min(lengths[axis][side], total)
    if count == 0 and mode in ("maximum", "minimum"):
        raise ValueError("stat_length of 0 yields no value for padding")
    start = 0 if side == 0 else total - count
    part = x if count == total else lax.slice_in_dim(x, start, start + count, axis=axis)
    reduced = lax.expand_dims(_REDUCTIONS[mode](part, axis), (axis,))
    if mode != "mean":
        return _rounded_to(reduced, dtype_of(x))
    kind = dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(dtype_of(x)))
    return _rounded_to(lax.div(convert(reduced, kind), kind.type(count)), dtype_of(x))


def _rounded_to(x: Value, kind: np.dtype) -> Value:
    """Return the numbers in a dtype; rounded if it is one of integers, truth values are not."""
    if dtypes.issubdtype(kind, np.integer) and dtypes.issubdtype(dtype_of(x), np.inexact):
        x = rounded(x)
    return convert(x, kind)


def _sum(x: Value, axis: int) -> Value:
    """Return the sum along an axis; integers in floating point."""
    kind = dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(dtype_of(x)))
    return lax.reduce_sum(convert(x, kind), (axis,))


def _median(x: Value, axis: int) -> Value:
    """Return the middle element along an axis, or the mean of the two."""
    kind = dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(dtype_of(x)))
    ordered = lax.sort(convert(x, kind), axis)
    length = typeof(x).shape[axis]
    low = lax.index_in_dim(ordered, (length - 1) // 2, axis, keepdims=False)
    high = lax.index_in_dim(ordered, length // 2, axis, keepdims=False)
    return lax.mul(lax.add(low, high), kind.type(0.5))


_REDUCTIONS: dict[str, Callable[[Value, int], Value]] = {
    "maximum": lambda x, axis: lax.reduce_max(x, (axis,)),
    "minimum": lambda x, axis: lax.reduce_min(x, (axis,)),
    "mean": _sum,
    "median": _median,
}


def _pad_by_function(
    x: Value,
    widths: Widths,
    function: Callable,
    kwargs: dict,
) -> Value:
    """Pad with zeros and let a function rewrite each line along each axis."""
    padded = _pad_constant(x, widths, 0)
    for axis, pair in enumerate(widths):
        rank = typeof(padded).ndim
        order = [*(number for number in range(rank) if number != axis), axis]
        lines = lax.transpose(padded, order)
        shape = typeof(lines).shape
        flat = lax.reshape(lines, (int(np.prod(shape[:-1], dtype=int)), shape[-1]))
        rows = [function(row, pair, axis, kwargs) for row in lax.unstack(flat, 0)]
        lines = lax.reshape(lax.stack(rows, 0), shape)
        padded = lax.transpose(lines, np.argsort(order))
    return padded
