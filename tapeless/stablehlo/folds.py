"""Reductions, reductions over windows, and sorts: operations with a region.

Where the region is one operation on its two arguments, as nearly always, the reduction is the named
one of `lax`; and a window as long as the axis, padded on one side only, is a cumulative sum.  Any
other region is folded as it stands.

A sort whose region compares keys is a sort by keys.  Any other order is sorted by ranks: element j
stands before element i if the region says so, or, where it calls them equal, if j < i; the number
of elements before i is where i goes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes, lax
from tapeless.api.vmap import vmap
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.prims.compare import ge_p, le_p
from tapeless.prims.order import rank
from tapeless.prims.rules import highest, lowest
from tapeless.prims.window import select_and_scatter_add_p
from tapeless.stablehlo.calls import Call, Rules, concrete
from tapeless.stablehlo.patterns import Expression, Key, expressions_of, folded_by, sorted_by

__all__ = ["RULES"]

_FOLDS: dict[str, Callable[..., Value]] = {
    "stablehlo.add": lax.add,
    "stablehlo.multiply": lax.mul,
    "stablehlo.maximum": lax.max,
    "stablehlo.minimum": lax.min,
    "stablehlo.and": lax.bitwise_and,
    "stablehlo.or": lax.bitwise_or,
    "stablehlo.xor": lax.bitwise_xor,
}
_LOGICAL = {lax.add: lax.bitwise_or, lax.mul: lax.bitwise_and}
_LOGICAL |= {lax.max: lax.bitwise_or, lax.min: lax.bitwise_and}
_CUMULATIVE = {
    lax.add: lax.cumsum,
    lax.mul: lax.cumprod,
    lax.max: lax.cummax,
    lax.min: lax.cummin,
}


def _named_fold(call: Call, dtype: Any) -> Callable[..., Value] | None:
    """Return the operation that the region folds one operand by, if it is a known one."""
    names = folded_by(call.operation.regions[0], 1) if call.operation.regions else None
    fold = _FOLDS.get(names[0]) if names else None
    return _LOGICAL.get(fold, fold) if fold is not None and dtype == np.bool_ else fold


def _neutral(fold: Callable[..., Value], dtype: np.dtype) -> np.generic:
    """Return the neutral element of an operation."""
    if fold in (lax.max, lax.min):
        return dtype.type(lowest(dtype) if fold is lax.max else highest(dtype))
    if fold is lax.bitwise_and:
        return np.bool_(True) if dtype == np.bool_ else ~dtype.type(0)
    return dtype.type(fold is lax.mul)


def _with_start(
    fold: Callable[..., Value],
    total: Value,
    start: Value,
    neutral: Any,
) -> Value:
    """Fold the initial value in, unless it is neutral."""
    if concrete(start) is not None and concrete(start) == neutral:
        return total
    return fold(total, lax.broadcast_in_dim(start, typeof(total).shape, ()))


def _scalar_function(call: Call, n: int) -> Callable[..., Any]:
    """Return the region as a function of two accumulators: values, or tuples of them."""
    region = call.region(0)
    if n == 1:
        return lambda x, y: region(x, y)[0]
    return lambda xs, ys: region(*xs, *ys)


def _reduce(call: Call, *operands: Value) -> Sequence[Value]:
    """operands: n arrays, then n scalars -> n arrays without the axes `dimensions`."""
    n = len(operands) // 2
    axes, arrays, starts = call.integers("dimensions"), operands[:n], operands[n:]
    if not n or len(starts) != n:
        call.fail("as many initial values as operands are wanted")
    dtype = typeof(arrays[0]).dtype
    fold = _named_fold(call, dtype) if n == 1 else None
    if fold is not None:
        neutral = _neutral(fold, dtype)
        total = lax.reduce(arrays[0], neutral, fold, axes)
        return [_with_start(fold, total, starts[0], neutral)]
    function = _scalar_function(call, n)
    if n == 1:
        return [lax.reduce(arrays[0], starts[0], function, axes)]
    return lax.reduce(arrays, starts, function, axes)


def _reduce_window(call: Call, *operands: Value) -> Sequence[Value]:
    """operands: n arrays, then n scalars -> n arrays, an element for each window."""
    n = len(operands) // 2
    arrays, starts = operands[:n], operands[n:]
    if not n or len(starts) != n:
        call.fail("as many initial values as operands are wanted")
    dims = call.integers("window_dimensions")
    ones = [1] * len(dims)
    names = ("window_strides", "base_dilations", "window_dilations")
    strides, base, dilation = (call.integers(name, ones) for name in names)
    padding = call.pairs("padding", len(dims))
    dtype = typeof(arrays[0]).dtype
    fold = _named_fold(call, dtype) if n == 1 else None
    plain = {*strides, *base, *dilation} <= {1}
    if fold is not None:
        neutral = _neutral(fold, dtype)
        axis = _cumulative_axis(typeof(arrays[0]).shape, dims, padding)
        if plain and axis is not None and fold in _CUMULATIVE:
            total = _CUMULATIVE[fold](arrays[0], axis, reverse=padding[axis][0] == 0)
        else:
            total = lax.reduce_window(
                arrays[0], neutral, fold, dims, strides, padding, base, dilation
            )
        return [_with_start(fold, total, starts[0], neutral)]
    function = _scalar_function(call, n)
    whole = (arrays, starts) if n > 1 else (arrays[0], starts[0])
    outs = lax.reduce_window(*whole, function, dims, strides, padding, base, dilation)
    return outs if n > 1 else [outs]


def _cumulative_axis(
    shape: Sequence[int], dims: Sequence[int], padding: Sequence[tuple[int, int]]
) -> int | None:
    """Return along which axis the windows are all beginnings, or all ends, of the axis."""
    if len(dims) != len(shape):
        return None
    long = [axis for axis, extent in enumerate(dims) if extent != 1]
    others = [pads for axis, pads in enumerate(padding) if axis not in long]
    if len(long) != 1 or any(pads != (0, 0) for pads in others):
        return None
    axis = long[0]
    n = shape[axis]
    ends = ((n - 1, 0), (0, n - 1))
    return axis if dims[axis] == n and padding[axis] in ends else None


_SELECTED = {"GE": ge_p, "LE": le_p}


def _direction(chosen: Expression) -> str | None:
    """Return how the first of two elements compares with the second where it is selected."""
    words = [word for word in chosen.words if word in _SELECTED]
    return words[0] if words and chosen.operands == (0, 1) else None


def _select_and_scatter(call: Call, x: Value, source: Value, start: Value) -> Value:
    """x: (n), source: (m), an element for each window -> (n): added where windows are extreme."""
    selected = expressions_of(call.operation.regions[0]) if call.operation.regions else None
    chosen = selected[0] if selected else None
    direction = _direction(chosen) if isinstance(chosen, Expression) else None
    summed = len(call.operation.regions) == 2 and folded_by(call.operation.regions[1], 1)
    if direction is None or summed != ["stablehlo.add"]:
        call.refuse("windows are selected by GE or LE, and added up")
    dims = call.integers("window_dimensions")
    (out,) = select_and_scatter_add_p.bind(
        source,
        x,
        select_prim=_SELECTED[direction],
        window_dimensions=dims,
        window_strides=call.integers("window_strides", [1] * len(dims)),
        padding=tuple(call.pairs("padding", len(dims))),
    )
    return _with_start(lax.add, out, start, 0)


# Sorting


def _sort(call: Call, *operands: Value) -> Sequence[Value]:
    """Sort arrays of one shape together along an axis."""
    axis = call.integer("dimension", -1)
    rank = typeof(operands[0]).ndim if operands else 0
    if not -rank <= axis < rank:
        call.fail(f"there is no axis {axis} in operands of {rank} axes")
    axis %= rank
    keys = sorted_by(call.operation.regions[0]) if call.operation.regions else None
    if keys is None or any(key.operand >= len(operands) for key in keys):
        return _sorted_by_ranks(call.region(0), operands, axis)
    in_order = [key.operand for key in keys] == list(range(len(keys)))
    if in_order and all(_is_natural(key, operands) for key in keys):
        outs = lax.sort(operands, axis, num_keys=len(keys))
    else:
        made = [_key_array(key, operands[key.operand]) for key in keys]
        outs = lax.sort(
            (*made, *operands),
            axis,
            num_keys=len(made),
        )[len(made) :]
    return outs


def _is_natural(key: Key, operands: Sequence[Value]) -> bool:
    """Tell whether a key orders its operand as `lax.sort` does."""
    is_float = dtypes.issubdtype(typeof(operands[key.operand]).dtype, np.inexact)
    return not key.descending and (key.canonical or not key.total or not is_float)


def _key_array(key: Key, x: Value) -> Value:
    """Return integers, or booleans, that sort upwards as the key sorts its operand."""
    if dtypes.issubdtype(
        typeof(x).dtype,
        np.floating,
    ) and (key.canonical or not key.total):
        zero = lax.full_like(x, 0)
        x = lax.select(lax.eq(x, zero), zero, x)
        x = lax.select(
            lax.ne(x, x),
            lax.full_like(x, np.nan),
            x,
        )
    whole = rank(x)
    return lax.bitwise_not(whole) if key.descending else whole


def _sorted_by_ranks(
    less: Callable[..., Sequence[Value]], operands: Sequence[Value], axis: int
) -> list[Value]:
    """Sort by any order: less(x0, y0, x1, y1, ...) tells whether x stands before y."""
    shape = typeof(operands[0]).shape
    n, n_rows = (
        shape[axis],
        int(
            np.prod(
                shape,
                dtype=int,
            )
        )
        // max(shape[axis], 1),
    )
    order = (*(i for i in range(len(shape)) if i != axis), axis)
    rows = [
        lax.reshape(
            lax.transpose(x, order),
            (n_rows, n),
        )
        for x in operands
    ]
    back = [shape[i] for i in order]

    def sort_row(*row: Value) -> list[Value]:
        """Sort vectors."""
        before = _pairwise(less, row)
        position = lax.iota(np.int32, n)
        earlier = lax.lt(_across(position, n), _down(position, n))
        tied = lax.bitwise_and(lax.bitwise_not(lax.transpose(before, (1, 0))), earlier)
        counts = lax.convert_element_type(lax.bitwise_or(before, tied), np.int32)
        ranks = lax.reduce_sum(counts, (1,))
        return list(lax.sort((ranks, *row), num_keys=1)[1:])

    outs = vmap(sort_row)(*rows)
    inverse = tuple(np.argsort(order).tolist())
    return [lax.transpose(lax.reshape(out, back), inverse) for out in outs]


def _across(x: Value, n: int) -> Value:
    """x: (n) -> (n, n), rows all alike."""
    return lax.broadcast_in_dim(x, (n, n), (1,))


def _down(x: Value, n: int) -> Value:
    """x: (n) -> (n, n), columns all alike."""
    return lax.broadcast_in_dim(x, (n, n), (0,))


def _pairwise(less: Callable[..., Sequence[Value]], row: Sequence[Value]) -> Value:
    """row: vectors (n) -> (n, n): element (i, j) tells whether j stands before i."""
    n = typeof(row[0]).shape[0]
    pairs = [
        wide
        for x in row
        for wide in (
            _across(
                x,
                n,
            ),
            _down(x, n),
        )
    ]
    return vmap(vmap(lambda *scalars: less(*scalars)[0]))(*pairs)


RULES: Rules = {
    "stablehlo.reduce": _reduce,
    "stablehlo.reduce_window": _reduce_window,
    "stablehlo.select_and_scatter": _select_and_scatter,
    "stablehlo.sort": _sort,
}
