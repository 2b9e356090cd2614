"""Choosing elementwise: `where` and what is built on it.

`where` with three arguments is a `select_n` after promotion; with one it asks where an array is not
zero, whose answer has a shape that depends on values: outside transformations NumPy's answer,
inside one of the size that the caller states.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes, lax
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Value, context
from tapeless.numpy.common import (
    asarray,
    check_arraylike,
    check_broadcastable,
    concrete_value,
    const,
    convert,
    dtype_of,
    promote_args,
    promote_dtypes,
    value_of,
)
from tapeless.prims.common import disagreement
from tapeless.runtime.array import Array

__all__ = [
    "argwhere",
    "choose",
    "clip",
    "flatnonzero",
    "nan_to_num",
    "nonzero",
    "piecewise",
    "select",
    "where",
]


def where(
    condition: Any,
    x: Any = None,
    y: Any = None,
    /,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """Return `x` where `condition` holds and `y` elsewhere; or, without them, `nonzero(condition)`.

    condition, x, y: shapes that broadcast to (n,) -> (n,)

    Unlike in NumPy, both choices are computed.  A gradient flows into `x` and `y` only; a NaN that
    is not chosen can still spoil the gradient of what made it.

    >>> import tapeless.numpy as jnp
    >>> jnp.where(jnp.array([True, False]), 1, 2)
    Array([1, 2], dtype=int32, weak_type=True)
    """
    if x is None and y is None:
        check_arraylike("where", condition)
        return nonzero(condition, size=size, fill_value=fill_value)
    check_arraylike("where", condition, x, y)
    if size is not None or fill_value is not None:
        raise ValueError(
            "size and fill_value arguments cannot be used in three-term where function."
        )
    return _where(condition, x, y)


@jit
def _where(condition: Value, x: Value, y: Value) -> Value:
    """Promote, broadcast and select."""
    condition = _truth(condition)
    x, y = promote_dtypes(x, y)
    shapes = [typeof(each).shape for each in (condition, x, y)]
    shape = lax.broadcast_shapes(*shapes)
    if shapes[0]:
        condition = broadcast(condition, shape)
    x, y = broadcast(x, shape), broadcast(y, shape)
    return lax.select_n(condition, y, x)


def _zero_like(x: Value) -> Any:
    """Return the zero scalar of the dtype of `x`."""
    return const(x, 0)


def broadcast(x: Value, shape: tuple[int, ...]) -> Value:
    """Return `x` broadcast to `shape` by NumPy's rules."""
    old = typeof(x).shape
    rank = len(old)
    if old == shape:
        return x
    if rank > len(shape):
        check_broadcastable(x, shape)
    kept = [axis for axis in range(rank) if old[axis] == shape[len(shape) - rank + axis]]
    if len(kept) < rank and not all(old[axis] == 1 for axis in range(rank) if axis not in kept):
        raise ValueError(
            f"Incompatible shapes for broadcasting: {old} and requested shape {shape}."
            f"{disagreement((old, shape))}"
        )
    if isinstance(x, (np.generic, np.ndarray)) and context.trace is context.base:
        return np.broadcast_to(x, shape)
    return lax.broadcast_in_dim(x, shape, range(len(shape) - rank, len(shape)))


def nonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> tuple[Array, ...]:
    """Return the indices, an array per axis, of the elements that are not zero.

    a: (n, m) -> (k,), (k,)

    size: how many indices to return, which a transformation must know beforehand; indices that are
    missing are `fill_value` (default 0), superfluous ones are left out.

    >>> import tapeless.numpy as jnp
    >>> jnp.nonzero(jnp.array([0, 5, 0, 7]))
    (Array([1, 3], dtype=int32),)
    """
    check_arraylike("nonzero", a)
    a = value_of(a)
    if typeof(a).ndim == 0:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use jnp.atleast_1d(scalar).nonzero() "
            "instead."
        )
    if size is None:
        known = concrete_value(
            a,
            "The size argument of jnp.nonzero must be statically specified to use jnp.nonzero "
            "within JAX transformations.",
        )
        return tuple(
            asarray(each, dtypes.default_int_dtype()) for each in np.nonzero(np.asarray(known))
        )
    count = operator.index(concrete_value(size, "The size argument of jnp.nonzero."))
    if count < 0:
        raise ValueError(f"size must not be negative; got size={count}")
    fills = fill_value if isinstance(fill_value, tuple) else (fill_value,) * typeof(a).ndim
    return tuple(_sized_nonzero(a, count, fills))


def _sized_nonzero(a: Value, size: int, fills: Sequence[Any]) -> list[Value]:
    """Scatter the number of each nonzero element to its place among them."""
    shape, kind = typeof(a).shape, dtypes.default_int_dtype()
    mask = a if dtype_of(a) == np.bool_ else lax.ne(a, _zero_like(a))
    mask = lax.reshape(mask, (mask_size := int(np.prod(shape, dtype=int)),))
    rank = lax.cumsum(convert(mask, kind), 0)
    place = lax.select_n(mask, lax.full_like(rank, size), lax.sub(rank, kind.type(1)))
    numbers = lax.scatter(
        lax.full((size,), mask_size, kind),
        lax.expand_dims(place, (1,)),
        lax.iota(kind, mask_size),
        lax.ScatterDimensionNumbers((), (0,), (0,)),
        mode="drop",
        unique_indices=False,
    )
    missing = lax.ge(numbers, kind.type(mask_size))
    outs, rest = [], numbers
    for extent, fill in zip(reversed(shape), reversed(fills), strict=True):
        found = lax.rem(rest, kind.type(max(extent, 1)))
        rest = lax.div(rest, kind.type(max(extent, 1)))
        filler = convert(0 if fill is None else fill, kind)
        outs.append(lax.select_n(missing, found, broadcast(filler, (size,))))
    return outs[::-1]


def flatnonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Array:
    """Return the indices of the elements of the flattened array that are not zero.

    a: (n, m) -> (k,)

    >>> import tapeless.numpy as jnp
    >>> jnp.flatnonzero(jnp.array([[0, 5], [6, 0]]))
    Array([1, 2], dtype=int32)
    """
    check_arraylike("flatnonzero", a)
    flat = lax.reshape(value_of(a), (int(np.prod(typeof(value_of(a)).shape, dtype=int)),))
    return nonzero(flat, size=size, fill_value=fill_value)[0]


def argwhere(a: Any, *, size: int | None = None, fill_value: Any = None) -> Array:
    """Return the indices of the elements that are not zero, one row each.

    a: (n, m) -> (k, 2)

    >>> import tapeless.numpy as jnp
    >>> jnp.argwhere(jnp.array([[0, 5], [6, 0]]))
    Array([[0, 1],
           [1, 0]], dtype=int32)
    """
    check_arraylike("argwhere", a)
    a = value_of(a)
    if typeof(a).ndim == 0:
        found = nonzero(lax.reshape(a, (1,)), size=size, fill_value=fill_value)[0]
        return lax.full((typeof(found).shape[0], 0), 0, dtypes.default_int_dtype())
    columns = nonzero(a, size=size, fill_value=fill_value)
    return lax.concatenate([lax.expand_dims(column, (1,)) for column in columns], 1)


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Array:
    """Return, elementwise, the choice that belongs to the first condition that holds.

    condlist, choicelist: k arrays of shape (n,) each -> (n,); default where none holds

    >>> import tapeless.numpy as jnp
    >>> x = jnp.arange(4)
    >>> jnp.select([x < 1, x > 2], [x - 10, x * 10], default=0)
    Array([-10,   0,   0,  30], dtype=int32)
    """
    if len(condlist) != len(choicelist):
        raise ValueError(
            f"condlist must have length equal to choicelist ({len(condlist)} vs {len(choicelist)})"
        )
    if len(condlist) == 0:
        raise ValueError("condlist must be non-empty")
    check_arraylike("select", *condlist, *choicelist, default)
    cases = promote_dtypes(default, *map(value_of, choicelist))
    conditions = [_truth(value_of(each)) for each in condlist]
    shape = lax.broadcast_shapes(*(typeof(each).shape for each in (*conditions, *cases)))
    never = broadcast(np.False_, shape)
    rows = lax.stack([never, *(broadcast(each, shape) for each in conditions)], 0)
    which = lax.argmax(rows, 0, np.int32)
    return lax.select_n(which, *(broadcast(case, shape) for case in cases))


def _truth(condition: Value) -> Value:
    """Return a condition as booleans."""
    if dtype_of(condition) == np.bool_:
        return condition
    return lax.ne(condition, _zero_like(condition))


def choose(a: Any, choices: Any, out: None = None, mode: str = "raise") -> Array:
    """Return, elementwise, the element of the array `choices[a]`.

    a: integers, (n,); choices: k arrays of shape (n,) -> (n,)

    mode: what to do about a number that is out of range: "wrap", "clip", or "raise", which is
    possible outside transformations only.

    >>> import tapeless.numpy as jnp
    >>> jnp.choose(jnp.array([1, 0]), [jnp.array([1, 2]), jnp.array([3, 4])])
    Array([3, 2], dtype=int32)
    """
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.choose is not supported.")
    check_arraylike("choose", a, *choices)
    a = value_of(a)
    if not dtypes.issubdtype(dtype_of(a), np.integer):
        raise ValueError("`a` array must be integer typed")
    n_choices, kind = len(choices), dtype_of(a)
    if mode == "raise":
        known = np.asarray(
            concrete_value(
                a,
                "The error occurred because jnp.choose was jit-compiled with mode='raise'. Use "
                "mode='wrap' or mode='clip' instead.",
            )
        )
        if np.any((known < 0) | (known >= n_choices)):
            raise ValueError("invalid entry in choice array")
    elif mode == "wrap":
        a = lax.rem(
            lax.add(lax.rem(a, kind.type(n_choices)), kind.type(n_choices)), kind.type(n_choices)
        )
    elif mode == "clip":
        a = lax.max(lax.min(a, kind.type(n_choices - 1)), kind.type(0))
    else:
        raise ValueError(f"mode={mode!r} not understood. Must be 'raise', 'wrap', or 'clip'")
    cases = promote_dtypes(*map(value_of, choices))
    shape = lax.broadcast_shapes(typeof(a).shape, *(typeof(case).shape for case in cases))
    which = convert(broadcast(a, shape), np.dtype(np.int32))
    if n_choices == 1:
        return broadcast(cases[0], shape)
    if n_choices == 2:
        which = lax.ne(which, np.int32(0))
    return lax.select_n(which, *(broadcast(case, shape) for case in cases))


def piecewise(x: Any, condlist: Any, funclist: list[Any], *args: Any, **kw: Any) -> Array:
    """Return, elementwise, the function (or number) of the last condition that holds, applied to x.

    x: (n,); condlist: k arrays of shape (n,); funclist: k or k + 1 functions (n,) -> (n,) or
    numbers, the extra one for where none holds -> (n,), in the dtype of x

    >>> import tapeless.numpy as jnp
    >>> x = jnp.array([-2.0, 3.0])
    >>> jnp.piecewise(x, [x < 0, x >= 0], [lambda x: -x, lambda x: 10 * x])
    Array([ 2., 30.], dtype=float32)
    """
    check_arraylike("piecewise", x)
    x = value_of(x)
    if not isinstance(condlist, (list, tuple)) and typeof(condlist).ndim > 0:
        condlist = [condlist[row] for row in range(typeof(condlist).shape[0])]
    elif not isinstance(condlist, (list, tuple)):
        condlist = [condlist]
    n_conditions, n_functions = len(condlist), len(funclist)
    if n_functions == n_conditions + 1:
        funclist = [funclist[-1], *funclist[:-1]]
    elif n_functions == n_conditions:
        funclist = [0, *funclist]
    else:
        raise ValueError(
            f"with {n_conditions} condition(s), either {n_conditions} or {n_conditions + 1} "
            f"functions are expected; got {n_functions}"
        )
    kind = dtype_of(x)
    shape = typeof(x).shape
    values = [
        convert(function(x, *args, **kw) if callable(function) else asarray(function), kind)
        for function in funclist
    ]
    out = broadcast(values[0], shape)
    for condition, value in zip(condlist, values[1:], strict=True):
        truth = broadcast(_truth(asarray(condition)), shape)
        out = lax.select_n(truth, out, broadcast(value, shape))
    return out


@jit
def clip(arr: Any = None, /, min: Any = None, max: Any = None) -> Array:
    """Return the elements moved into the range from `min` to `max`, either of which may be absent.

    arr, min, max: shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.clip(jnp.arange(5), 1, 3)
    Array([1, 1, 2, 3, 3], dtype=int32)
    """
    if arr is None:
        raise ValueError("No input was provided to the clip function.")
    check_arraylike("clip", arr)
    bounds = [bound for bound in (min, max) if bound is not None]
    if any(dtypes.issubdtype(dtype_of(each), np.complexfloating) for each in (arr, *bounds)):
        raise ValueError(
            "Clip received a complex value either through the input or the min/max keywords. "
            "Complex values have no ordering and cannot be clipped. Please convert to a real value "
            "or array by taking the real or imaginary components via jax.numpy.real/imag "
            "respectively."
        )
    if min is not None:
        arr = lax.max(*promote_args("clip", min, arr))
    if max is not None:
        arr = lax.min(*promote_args("clip", max, arr))
    return asarray(arr)


@jit
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Array:
    """Return x with NaN, infinity and minus infinity replaced by numbers.

    x: (n,) -> (n,)

    posinf, neginf: by default the largest and the least finite number of the dtype.

    >>> import tapeless.numpy as jnp
    >>> jnp.nan_to_num(jnp.array([jnp.nan, 1.0]))
    Array([0., 1.], dtype=float32)
    """
    del copy
    check_arraylike("nan_to_num", x)
    kind = dtype_of(x)
    if not dtypes.issubdtype(kind, np.inexact):
        return asarray(x)
    if dtypes.issubdtype(kind, np.complexfloating):
        real, imag = (
            nan_to_num(part(x), nan=nan, posinf=posinf, neginf=neginf)
            for part in (lax.real, lax.imag)
        )
        return lax.complex(real, imag)
    info = dtypes.finfo(kind)
    high = convert(info.max if posinf is None else posinf, kind)
    low = convert(info.min if neginf is None else neginf, kind)
    out = where(lax.ne(x, x), convert(nan, kind), x)
    out = where(lax.eq(out, const(out, np.inf)), high, out)
    return where(lax.eq(out, const(out, -np.inf)), low, out)
