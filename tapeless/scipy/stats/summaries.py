"""Statistics of samples: the mode, ranks, the standard error of the mean."""

from __future__ import annotations

from typing import Any, NamedTuple

from tapeless import dtypes, lax
from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import canonicalize_axis, check_arraylike, promote_args_inexact

__all__ = ["ModeResult", "mode", "rankdata", "sem"]


class ModeResult(NamedTuple):
    """The most frequent values, and how often they occur."""

    mode: Value
    count: Value


def mode(
    a: Any, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> ModeResult:
    """Return the most frequent value along an axis, the smallest of several, and its count.

    a: (m, n) -> (n,), (n,) along axis 0.
    axis: None for all elements.  nan_policy: "propagate" only: a NaN is a value, equal to others.

    >>> mode(jnp.array([1, 2, 2, 3]))
    ModeResult(mode=Array(2, dtype=int32), count=Array(2, dtype=int32))
    """
    _check_policy("mode", nan_policy)
    check_arraylike("mode", a)
    x = jnp.atleast_1d(a)
    if axis is None:
        flat, axis, rank = x.reshape(-1), 0, x.ndim
    else:
        flat, axis, rank = x, canonicalize_axis(axis, x.ndim), 0
    ordered = jnp.moveaxis(jnp.sort(flat, axis=axis), axis, -1)
    value, count = _longest_run(ordered)
    if keepdims:
        axes = tuple(range(rank)) if rank else axis
        value, count = jnp.expand_dims(value, axes), jnp.expand_dims(count, axes)
    return ModeResult(value, count)


def _longest_run(ordered: Value) -> tuple[Value, Value]:
    """Return the most frequent values of sorted rows, and their counts: (n, m) -> (n,), (n,).

    Of nothing they are NaN and 0, as floats.
    """
    n = ordered.shape[-1]
    if n == 0:
        value = jnp.full(ordered.shape[:-1], jnp.nan, dtypes.default_float_dtype())
        return value, jnp.zeros_like(value)
    before, after = ordered[..., :-1], ordered[..., 1:]
    changes = (after != before) & ~(jnp.isnan(after) & jnp.isnan(before))
    starts = jnp.concatenate([jnp.ones_like(ordered[..., :1], bool), changes], axis=-1)
    place = jnp.arange(n)
    begin = lax.cummax(jnp.where(starts, place, 0), axis=starts.ndim - 1)
    length = place - begin + 1
    best = jnp.argmax(length, axis=-1)
    value = jnp.take_along_axis(ordered, best[..., None], -1)[..., 0]
    return value, jnp.max(length, axis=-1)


def _check_policy(name: str, policy: str) -> None:
    """Refuse the treatments of NaN that are not here."""
    if policy not in ("propagate", "omit", "raise"):
        raise ValueError(
            f"Illegal nan_policy value {policy!r}; expected one of {{'propagate', 'omit', 'raise'}}"
        )
    if policy != "propagate":
        raise NotImplementedError(f"{name}: logic for `nan_policy` of {policy}")


def rankdata(
    a: Any, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate"
) -> Value:
    """Return the rank of each element, from 1, as a float; equal elements share by `method`.

    a: (n) -> (n); with axis=None, of any shape with n elements.  Whole ranks are floats, too.
    method: "average", "min", "max", "dense", or "ordinal" for the order of occurrence.
    A row with a NaN has no ranks: all of them are NaN.

    >>> rankdata(jnp.array([10, 30, 20, 20]))
    Array([1. , 4. , 2.5, 2.5], dtype=float32)
    """
    _check_policy("rankdata", nan_policy)
    if method not in ("average", "min", "max", "dense", "ordinal"):
        raise ValueError(f"unknown method '{method}'")
    check_arraylike("rankdata", a)
    x = jnp.asarray(a)
    if axis is None:
        return rankdata(x.reshape(-1), method, axis=0, nan_policy=nan_policy)
    if x.ndim > 1:
        rows = jnp.moveaxis(x, axis, -1)
        flat = rows.reshape(-1, rows.shape[-1])
        if x.size == 0:
            return jnp.zeros(x.shape, dtypes.default_float_dtype())
        ranks = jnp.stack([_ranks(row, method) for row in flat])
        return jnp.moveaxis(ranks.reshape(rows.shape), -1, axis)
    return _ranks(x, method)


def _ranks(x: Value, method: str) -> Value:
    """Return the ranks of the elements of a row, NaN if there is one among them: (n) -> (n)."""
    ranks = _ranks_of_numbers(x, method)
    return jnp.where(jnp.isnan(x).any(), jnp.nan, ranks)


def _ranks_of_numbers(x: Value, method: str) -> Value:
    """Return the ranks of the elements of a row without NaN: (n) -> (n)."""
    order = jnp.argsort(x, stable=True)
    dtype = dtypes.default_float_dtype()
    place = jnp.zeros_like(order).at[order].set(jnp.arange(x.shape[0]))
    if method == "ordinal":
        return (place + 1).astype(dtype)
    ordered = x[order]
    starts = jnp.concatenate([jnp.ones_like(ordered[:1], bool), ordered[1:] != ordered[:-1]])
    dense = jnp.cumsum(starts)[place]
    if method == "dense":
        return dense.astype(dtype)
    low = jnp.searchsorted(ordered, x, side="left") + 1
    high = jnp.searchsorted(ordered, x, side="right")
    if method == "min":
        return low.astype(dtype)
    if method == "max":
        return high.astype(dtype)
    return (low + high).astype(dtype) / 2


def sem(
    a: Any,
    axis: int | None = 0,
    ddof: int = 1,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Value:
    """Return the standard error of the mean, std / sqrt(n), along an axis.

    a: (m, n) -> (n,) along axis 0.
    nan_policy: "propagate", or "omit" to leave NaN out.

    >>> jax.scipy.stats.sem(jnp.array([1.0, 2.0, 3.0])).round(3)
    Array(0.577, dtype=float32)
    """
    (x,) = promote_args_inexact("sem", a)
    if axis is None:
        x, axis = jnp.ravel(x), 0
    if nan_policy == "propagate":
        n = x.shape[axis]
        return x.std(axis, ddof=ddof, keepdims=keepdims) / jnp.sqrt(jnp.asarray(n, x.dtype))
    if nan_policy == "omit":
        count = jnp.isfinite(x).sum(axis, keepdims=keepdims)
        return jnp.nanstd(x, axis, ddof=ddof, keepdims=keepdims) / jnp.sqrt(count.astype(x.dtype))
    raise ValueError(f"{nan_policy} is not supported")
