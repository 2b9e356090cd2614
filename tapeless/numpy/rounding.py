"""Rounding, elementwise.  Integers are round already and keep their dtype, but under `rint`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tapeless import dtypes, lax
from tapeless.api.jit import jit
from tapeless.core.trace import Value
from tapeless.numpy.choice import where
from tapeless.numpy.common import (
    asarray,
    check_arraylike,
    const,
    convert,
    dtype_of,
    is_inexact,
    value_of,
)
from tapeless.runtime.array import Array

__all__ = ["around", "ceil", "floor", "rint", "round", "trunc"]


def floor(x: Any, /) -> Array:
    """Return the greatest integer that is not above x, elementwise; integers as they are.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.floor(jnp.array([1.5, -1.5]))
    Array([ 1., -2.], dtype=float32)
    """
    return _rounded("floor", lax.floor, x)


def ceil(x: Any, /) -> Array:
    """Return the least integer that is not below x, elementwise; integers as they are.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.ceil(jnp.array([1.5, -1.5]))
    Array([ 2., -1.], dtype=float32)
    """
    return _rounded("ceil", lax.ceil, x)


def _rounded(name: str, operation: Callable, x: Any) -> Value:
    """Round floating numbers; let others pass."""
    check_arraylike(name, x)
    x = value_of(x)
    dtypes.number_dtype(dtype_of(x))
    return asarray(x) if not is_inexact(x) else operation(x)


@jit
def trunc(x: Any) -> Array:
    """Return x without its fraction, elementwise; integers as they are.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.trunc(jnp.array([1.5, -1.5]))
    Array([ 1., -1.], dtype=float32)
    """
    check_arraylike("trunc", x)
    dtypes.number_dtype(dtype_of(x))
    if not is_inexact(x):
        return asarray(x)
    return where(lax.lt(x, const(x, 0)), lax.ceil(x), lax.floor(x))


@jit
def rint(x: Any, /) -> Array:
    """Return the nearest integer as a floating number, elementwise; halves go to the even one.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.rint(jnp.array([0.5, 1.5, 2.6]))
    Array([0., 2., 3.], dtype=float32)
    """
    check_arraylike("rint", x)
    if not is_inexact(x):
        return convert(x, dtypes.default_float_dtype())
    if dtypes.issubdtype(dtype_of(x), np.complexfloating):
        return lax.complex(rint(lax.real(x)), rint(lax.imag(x)))
    return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


@jit(static_argnames=("decimals",))
def round(a: Any, decimals: int = 0, out: None = None) -> Array:
    """Return the numbers rounded to `decimals` places, elementwise; halves go to the even digit.

    a: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.round(jnp.array([0.5, 1.5, 2.67]), 1)
    Array([0.5, 1.5, 2.7], dtype=float32)
    """
    check_arraylike("round", a)
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.round is not supported.")
    decimals = operator.index(decimals)
    kind = dtype_of(a)
    if dtypes.issubdtype(kind, np.integer):
        if decimals < 0:
            raise NotImplementedError("integer np.round not implemented for decimals < 0")
        return asarray(a)
    if kind == np.bool_:
        raise ValueError(f"data type {kind!r} not compatible with finfo")
    if dtypes.issubdtype(dtype_of(a), np.complexfloating):
        return lax.complex(_round_real(lax.real(a), decimals), _round_real(lax.imag(a), decimals))
    return _round_real(a, decimals)


def _round_real(x: Value, decimals: int) -> Value:
    """Scale, round, scale back."""
    if decimals == 0:
        return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
    factor = const(x, 10.0**decimals)
    scaled = lax.round(lax.mul(x, factor), lax.RoundingMethod.TO_NEAREST_EVEN)
    return lax.div(scaled, factor)


@jit(static_argnames=("decimals",))
def around(a: Any, decimals: int = 0, out: None = None) -> Array:
    """Return the numbers rounded to `decimals` places; as `round`.

    a: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.around(jnp.array([0.5, 1.5, 2.67]), 1)
    Array([0.5, 1.5, 2.7], dtype=float32)
    """
    return round(a, decimals, out)
