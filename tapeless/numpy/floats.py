"""Elementwise functions about the representation of floating numbers.

Signs, exponents and neighbours are read from the bits, and numbers are put together from theirs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapeless import dtypes, lax
from tapeless.api.jit import jit
from tapeless.core.trace import Value
from tapeless.numpy.choice import where
from tapeless.numpy.common import (
    check_arraylike,
    const,
    convert,
    dtype_of,
    is_complex,
    is_inexact,
    promote_args_inexact,
    promote_shapes,
    value_of,
)
from tapeless.runtime.array import Array

__all__ = [
    "copysign",
    "frexp",
    "heaviside",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "ldexp",
    "modf",
    "nextafter",
    "signbit",
    "spacing",
]


def _falses(x: Value) -> Value:
    """Return False for every element."""
    return lax.full_like(x, False, dtype=np.bool_)


# Finite or not


def isfinite(x: Any, /) -> Array:
    """Return whether x is neither infinite nor NaN, elementwise.

    x: (n,) -> (n,) of bool

    >>> import tapeless.numpy as jnp
    >>> jnp.isfinite(jnp.array([1.0, jnp.inf, jnp.nan]))
    Array([ True, False, False], dtype=bool)
    """
    check_arraylike("isfinite", x)
    x = value_of(x)
    if not is_inexact(x):
        return lax.full_like(x, True, dtype=np.bool_)
    if is_complex(x):
        return lax.bitwise_and(lax.is_finite(lax.real(x)), lax.is_finite(lax.imag(x)))
    return lax.is_finite(x)


@jit
def isinf(x: Any, /) -> Array:
    """Return whether x is infinite, elementwise.

    x: (n,) -> (n,) of bool

    >>> import tapeless.numpy as jnp
    >>> jnp.isinf(jnp.array([1.0, -jnp.inf, jnp.nan]))
    Array([False,  True, False], dtype=bool)
    """
    check_arraylike("isinf", x)
    if not is_inexact(x):
        return _falses(x)
    if not is_complex(x):
        return _infinite(x)
    real, imag = lax.real(x), lax.imag(x)
    return lax.bitwise_or(_infinite(real), _infinite(imag))


def _infinite(x: Value) -> Value:
    """Return whether real numbers are infinite."""
    return lax.eq(lax.abs(x), dtype_of(x).type(np.inf))


def isnan(x: Any, /) -> Array:
    """Return whether x is NaN, elementwise.

    x: (n,) -> (n,) of bool

    >>> import tapeless.numpy as jnp
    >>> jnp.isnan(jnp.array([1.0, jnp.nan]))
    Array([False,  True], dtype=bool)
    """
    check_arraylike("isnan", x)
    x = value_of(x)
    return lax.ne(x, x)


def _signed_infinity(x: Any, infinity: float, out: Any) -> Value:
    """Return whether x is one of the infinities."""
    if out is not None:
        raise NotImplementedError("The 'out' argument to isneginf/isposinf is not supported.")
    check_arraylike("isposinf/isneginf", x)
    x = value_of(x)
    if is_complex(x):
        raise ValueError("isposinf/isneginf are not well defined for complex types")
    return lax.eq(x, dtype_of(x).type(infinity)) if is_inexact(x) else _falses(x)


def isposinf(x: Any, /, out: None = None) -> Array:
    """Return whether x is plus infinity, elementwise.

    x: (n,) -> (n,) of bool

    >>> import tapeless.numpy as jnp
    >>> jnp.isposinf(jnp.array([jnp.inf, -jnp.inf]))
    Array([ True, False], dtype=bool)
    """
    return _signed_infinity(x, np.inf, out)


def isneginf(x: Any, /, out: None = None) -> Array:
    """Return whether x is minus infinity, elementwise.

    x: (n,) -> (n,) of bool

    >>> import tapeless.numpy as jnp
    >>> jnp.isneginf(jnp.array([jnp.inf, -jnp.inf]))
    Array([False,  True], dtype=bool)
    """
    return _signed_infinity(x, -np.inf, out)


# Signs, exponents, neighbours


@jit
def signbit(x: Any, /) -> Array:
    """Return whether the sign of x is minus, elementwise; also of -0.0 and NaN.

    x: (n,) -> (n,) of bool

    >>> import tapeless.numpy as jnp
    >>> jnp.signbit(jnp.array([1.0, -0.0]))
    Array([False,  True], dtype=bool)
    """
    check_arraylike("signbit", x)
    kind = dtype_of(x)
    if dtypes.issubdtype(kind, np.integer):
        return lax.lt(x, kind.type(0))
    if kind == np.bool_:
        return _falses(x)
    if is_complex(x):
        raise ValueError(f"jax.numpy.signbit is not well defined for {kind}")
    bits = dtypes.itemsize_bits(kind)
    word = dtypes.named_dtype(f"int{bits}")
    sign = lax.shift_right_arithmetic(lax.bitcast_convert_type(x, word), word.type(bits - 1))
    return convert(sign, np.dtype(np.bool_))


@jit
def copysign(x1: Any, x2: Any, /) -> Array:
    """Return x1 with the sign of x2, elementwise.

    x1, x2: shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.copysign(2.0, jnp.array([1.0, -0.0]))
    Array([ 2., -2.], dtype=float32)
    """
    x1, x2 = promote_args_inexact("copysign", x1, x2)
    if is_complex(x1):
        raise TypeError("copysign does not support complex-valued inputs")
    return where(signbit(x2), lax.neg(lax.abs(x1)), lax.abs(x1))


def nextafter(x: Any, y: Any, /) -> Array:
    """Return the floating number next to x in the direction of y, elementwise.

    x, y: shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.nextafter(1.0, 2.0) - 1.0
    Array(1.1920929e-07, dtype=float32, weak_type=True)
    """
    return lax.nextafter(*promote_args_inexact("nextafter", x, y))


def spacing(x: Any, /) -> Array:
    """Return the distance from x to the next floating number away from zero, elementwise.

    x: (n,) -> (n,), with the sign of x

    >>> import tapeless.numpy as jnp
    >>> jnp.spacing(jnp.array([1.0, -2.0]))
    Array([ 1.1920929e-07, -2.3841858e-07], dtype=float32)
    """
    (x,) = promote_args_inexact("spacing", x)
    if is_complex(x):
        raise ValueError("jnp.spacing is not defined for complex inputs.")
    beyond = copysign(const(x, np.inf), x)
    gap = lax.sub(lax.nextafter(x, beyond), x)
    least = dtype_of(x).type(dtypes.finfo(dtype_of(x)).smallest_subnormal)
    return where(lax.eq(gap, const(x, 0)), copysign(least, x), gap)


def _words(kind: np.dtype) -> tuple[np.dtype, np.dtype, int, int]:
    """Return a float dtype to compute in, its integer dtype, and its mantissa bits and bias."""
    wide = np.dtype(np.float64) if kind == np.float64 else np.dtype(np.float32)
    info = dtypes.finfo(wide)
    return wide, np.dtype(f"int{wide.itemsize * 8}"), info.nmant, info.maxexp - 1


def _power_of_two(exponent: Value, wide: np.dtype) -> Value:
    """Return 2 ** exponent, put together from its bits; exponent in the range of normal numbers."""
    _, word, mantissa, bias = _words(wide)
    exponent = convert(exponent, word)
    biased = lax.add(exponent, const(exponent, bias))
    return lax.bitcast_convert_type(lax.shift_left(biased, const(biased, mantissa)), wide)


@jit
def frexp(x: Any, /) -> tuple[Array, Array]:
    """Return m and e with x = m * 2**e and 0.5 <= |m| < 1 (or m = 0), elementwise.

    x: (n,) -> (n,), (n,) of int32

    >>> import tapeless.numpy as jnp
    >>> jnp.frexp(jnp.array([1.0, -6.0]))
    (Array([ 0.5 , -0.75], dtype=float32), Array([1, 3], dtype=int32))
    """
    (x,) = promote_args_inexact("frexp", x)
    if is_complex(x):
        raise TypeError("frexp does not support complex-valued inputs")
    kind = dtypes.canonicalize_dtype(dtype_of(x))
    wide, word, mantissa, bias = _words(kind)
    value = convert(x, wide)
    tiny = lax.lt(lax.abs(value), const(value, float(dtypes.finfo(wide).tiny)))
    shift = mantissa + 2
    scaled = lax.select_n(tiny, value, lax.mul(value, const(value, 2.0**shift)))
    bits = lax.bitcast_convert_type(scaled, word)
    bits = lax.shift_right_logical(bits, const(bits, mantissa))
    exponent = lax.sub(lax.bitwise_and(bits, const(bits, 2 * bias + 1)), const(bits, bias - 1))
    ordinary = lax.bitwise_and(lax.ne(value, const(value, 0)), lax.is_finite(value))
    exponent = lax.select_n(ordinary, lax.full_like(exponent, 0), exponent)
    # 2**-e need not be a normal number, but the two factors are.
    half = lax.shift_right_arithmetic(exponent, const(exponent, 1))
    part = lax.mul(scaled, _power_of_two(lax.neg(half), wide))
    part = lax.mul(part, _power_of_two(lax.sub(half, exponent), wide))
    part = lax.select_n(ordinary, value, part)
    shifted = lax.sub(exponent, const(exponent, shift))
    exponent = lax.select_n(lax.bitwise_and(ordinary, tiny), exponent, shifted)
    return convert(part, kind), convert(exponent, np.dtype(np.int32))


@jit
def ldexp(x1: Any, x2: Any, /) -> Array:
    """Return x1 * 2**x2, elementwise; x2 holds integers.

    x1, x2: shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.ldexp(jnp.array([1.0, 3.0]), 2)
    Array([ 4., 12.], dtype=float32)
    """
    check_arraylike("ldexp", x1, x2)
    kinds = dtype_of(x1), dtype_of(x2)
    if is_inexact(x2) or is_complex(x1):
        raise ValueError(f"ldexp not supported for input types {kinds}")
    (x1,) = promote_args_inexact("ldexp", x1)
    lax.broadcast_shapes(np.shape(x1), np.shape(x2))  # raises JAX's error
    x1, x2 = promote_shapes("ldexp", x1, x2)
    kind = dtypes.canonicalize_dtype(dtype_of(x1))
    wide, _, _, bias = _words(kind)
    rest = _narrow_exponents(x2, 4 * bias)
    low, high = np.int32(1 - bias), np.int32(bias)
    out = convert(x1, wide)
    for _ in range(3):
        step = lax.max(lax.min(rest, high), low)
        out = lax.mul(out, _power_of_two(step, wide))
        rest = lax.sub(rest, step)
    return convert(out, kind)


def _narrow_exponents(x: Value, bound: int) -> Value:
    """Return integers as int32, those of dtypes that it does not hold between bounds."""
    if dtype_of(x) in (np.int64, np.uint64, np.uint32):
        least = max(int(dtypes.iinfo(dtype_of(x)).min), -bound)
        x = lax.max(lax.min(x, const(x, bound)), const(x, least))
    return convert(x, np.dtype(np.int32))


@jit
def modf(x: Any, /, out: None = None) -> tuple[Array, Array]:
    """Return the fraction of x and its integer part, both with the sign of x, elementwise.

    x: (n,) -> (n,), (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.modf(jnp.array([1.5, -1.25]))
    (Array([ 0.5 , -0.25], dtype=float32), Array([ 1., -1.], dtype=float32))
    """
    (x,) = promote_args_inexact("modf", x)
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.modf is not supported.")
    whole = where(lax.ge(x, const(x, 0)), lax.floor(x), lax.ceil(x))
    return lax.sub(x, whole), whole


@jit
def heaviside(x1: Any, x2: Any, /) -> Array:
    """Return 0 where x1 < 0, x2 where x1 = 0, 1 where x1 > 0, elementwise.

    x1, x2: shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.heaviside(jnp.array([-1.0, 0.0, 1.0]), 0.5)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    x1, x2 = promote_args_inexact("heaviside", x1, x2)
    zero, one = const(x1, 0), const(x1, 1)
    below, above = lax.lt(x1, zero), lax.gt(x1, zero)
    rest = where(lax.ne(x1, x1), x1, x2)
    return where(below, zero, where(above, one, rest))
