"""Elementwise functions about the representation of floating numbers, and a few special functions.

Signs, exponents and neighbours are read from the bits.  `hypot`, `logaddexp` and `i0` have
derivatives of their own, because what follows from their formulas loses digits or is NaN where the
true derivative is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapeless import dtypes, lax
from tapeless.api.custom import custom_jvp
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy.arithmetic import floor_divide
from tapeless.numpy.choice import broadcast, where
from tapeless.numpy.common import (
    check_arraylike,
    const,
    convert,
    dtype_of,
    promote_args,
    promote_args_inexact,
    promote_shapes,
    value_of,
)
from tapeless.numpy.ufunc_class import ufunc
from tapeless.runtime.array import Array

__all__ = [
    "copysign",
    "frexp",
    "gcd",
    "heaviside",
    "hypot",
    "i0",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "lcm",
    "ldexp",
    "logaddexp",
    "logaddexp2",
    "modf",
    "nextafter",
    "signbit",
    "sinc",
    "spacing",
]


def _is_complex(x: Value) -> bool:
    """Tell whether a value is complex."""
    return dtypes.issubdtype(dtype_of(x), np.complexfloating)


def _is_inexact(x: Value) -> bool:
    """Tell whether a value is floating or complex."""
    return dtypes.issubdtype(dtype_of(x), np.inexact)


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
    if not _is_inexact(x):
        return lax.full_like(x, True, dtype=np.bool_)
    if _is_complex(x):
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
    if not _is_inexact(x):
        return _falses(x)
    if not _is_complex(x):
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
    if _is_complex(x):
        raise ValueError("isposinf/isneginf are not well defined for complex types")
    return lax.eq(x, dtype_of(x).type(infinity)) if _is_inexact(x) else _falses(x)


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
    if _is_complex(x):
        raise ValueError(f"jax.numpy.signbit is not well defined for {kind}")
    bits = kind.itemsize * 8
    word = np.dtype(f"int{bits}")
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
    if _is_complex(x1):
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
    if _is_complex(x):
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
    biased = lax.add(convert(exponent, word), word.type(bias))
    return lax.bitcast_convert_type(lax.shift_left(biased, word.type(mantissa)), wide)


@jit
def frexp(x: Any, /) -> tuple[Array, Array]:
    """Return m and e with x = m * 2**e and 0.5 <= |m| < 1 (or m = 0), elementwise.

    x: (n,) -> (n,), (n,) of int32

    >>> import tapeless.numpy as jnp
    >>> jnp.frexp(jnp.array([1.0, -6.0]))
    (Array([ 0.5 , -0.75], dtype=float32), Array([1, 3], dtype=int32))
    """
    (x,) = promote_args_inexact("frexp", x)
    if _is_complex(x):
        raise TypeError("frexp does not support complex-valued inputs")
    kind = dtype_of(x)
    wide, word, mantissa, bias = _words(kind)
    value = convert(x, wide)
    tiny = lax.lt(lax.abs(value), wide.type(dtypes.finfo(wide).tiny))
    shift = mantissa + 2
    scaled = lax.select_n(tiny, value, lax.mul(value, wide.type(2.0**shift)))
    bits = lax.shift_right_logical(lax.bitcast_convert_type(scaled, word), word.type(mantissa))
    exponent = lax.sub(lax.bitwise_and(bits, word.type(2 * bias + 1)), word.type(bias - 1))
    ordinary = lax.bitwise_and(lax.ne(value, wide.type(0)), lax.is_finite(value))
    exponent = lax.select_n(ordinary, lax.full_like(exponent, 0), exponent)
    # 2**-e need not be a normal number, but the two factors are.
    half = lax.shift_right_arithmetic(exponent, word.type(1))
    part = lax.mul(scaled, _power_of_two(lax.neg(half), wide))
    part = lax.mul(part, _power_of_two(lax.sub(half, exponent), wide))
    part = lax.select_n(ordinary, value, part)
    shifted = lax.sub(exponent, word.type(shift))
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
    if not dtypes.issubdtype(kinds[1], np.integer) or _is_complex(x1):
        raise ValueError(f"ldexp not supported for input types {kinds}")
    (x1,) = promote_args_inexact("ldexp", x1)
    x1, x2 = promote_shapes("ldexp", x1, x2)
    kind = dtype_of(x1)
    wide, _, _, bias = _words(kind)
    rest = convert(x2, np.dtype(np.int32))
    low, high = np.int32(1 - bias), np.int32(bias)
    out = convert(x1, wide)
    for _ in range(3):
        step = lax.max(lax.min(rest, high), low)
        out = lax.mul(out, _power_of_two(step, wide))
        rest = lax.sub(rest, step)
    return convert(out, kind)


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


# Functions with derivatives of their own


@jit
def hypot(x1: Any, x2: Any, /) -> Array:
    """Return sqrt(x1**2 + x2**2), elementwise, without overflow or underflow on the way.

    x1, x2: shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.hypot(jnp.array([3.0, 5.0]), jnp.array([4.0, 12.0]))
    Array([ 5., 13.], dtype=float32)
    """
    x1, x2 = promote_args_inexact("hypot", x1, x2)
    if _is_complex(x1):
        raise ValueError(
            "jnp.hypot is not well defined for complex-valued inputs. Please convert to real "
            "values first, such as by using abs(x)"
        )
    shape = lax.broadcast_shapes(typeof(x1).shape, typeof(x2).shape)
    return _hypot(broadcast(x1, shape), broadcast(x2, shape))[0]


@custom_jvp
def _hypot(x1: Value, x2: Value) -> tuple[Value, Value, Value]:
    """Return the length of (x1, x2), and its derivatives x1 / length and x2 / length."""
    info = dtypes.finfo(dtype_of(x1))
    far = 2.0 ** (info.maxexp // 2 - 1)
    near = 2.0 ** -((info.nmant + 1) // 2)
    down, up = near / far, far / near
    sizes = lax.abs(x1), lax.abs(x2)
    largest = lax.max(*sizes)
    large, small = lax.ge(largest, const(x1, far)), lax.le(largest, const(x1, near))
    down, up, one = (lax.full_like(x1, factor) for factor in (down, up, 1))

    def choose(for_large: Value, for_small: Value, otherwise: Value) -> Value:
        """Choose by the size of the larger operand."""
        return lax.select_n(large, lax.select_n(small, otherwise, for_small), for_large)

    # Powers of two bring the numbers to a size whose square can be represented.
    a = choose(lax.mul(x1, down), lax.mul(x1, up), x1)
    b = choose(lax.mul(x2, down), lax.mul(x2, up), x2)
    back = choose(up, down, one)
    length = lax.sqrt(lax.add(lax.square(a), lax.square(b)))
    scaled = lax.mul(length, back)
    infinity = lax.full_like(x1, np.inf)
    infinite = lax.bitwise_or(*(lax.eq(size, infinity) for size in sizes))
    out = lax.select_n(infinite, scaled, infinity)
    return out, lax.div(a, length), lax.div(b, length)


@_hypot.defjvp
def _hypot_jvp(primals: tuple, tangents: tuple) -> tuple:
    """d length = x1 / length dx1 + x2 / length dx2; the other results are not differentiated."""
    outs = _hypot(*primals)
    _, by_x1, by_x2 = outs
    change = lax.add(lax.mul(tangents[0], by_x1), lax.mul(tangents[1], by_x2))
    zero = lax.full_like(change, 0)
    return outs, (change, zero, zero)


def _log_of_sum(exp: Callable, scale: float) -> Callable:
    """Return the function log(base**x + base**y) / log(base), for real and complex numbers."""

    def function(x1: Value, x2: Value) -> Value:
        """Take the larger exponent out of the sum."""
        larger = lax.max(x1, x2)
        if _is_complex(x1):
            sum_of_both = lax.sub(lax.add(x1, x2), lax.mul(larger, const(x1, 2)))
            rest = lax.log1p(exp(sum_of_both))
            rest = rest if scale == 1 else lax.mul(const(x1, scale), rest)
            return _wrapped_angle(lax.add(larger, rest), np.pi * scale)
        apart = lax.sub(x1, x2)
        unclear, total = lax.ne(apart, apart), lax.add(x1, x2)
        rest = lax.log1p(exp(lax.neg(lax.abs(apart))))
        rest = rest if scale == 1 else lax.mul(const(x1, scale), rest)
        return lax.select_n(unclear, lax.add(larger, rest), total)

    return function


def _wrapped_angle(x: Value, half: float) -> Value:
    """Return complex numbers with the imaginary part brought into [-half, half)."""
    real, imag = lax.real(x), lax.imag(x)
    kind = dtype_of(real).type
    turned = lax.rem(lax.add(imag, kind(half)), kind(2 * half))
    turned = lax.select_n(lax.lt(turned, kind(0)), turned, lax.add(turned, kind(2 * half)))
    return lax.complex(real, lax.sub(turned, kind(half)))


def _finite_top(x: Value) -> Value:
    """Return numbers with plus infinity replaced by 0."""
    infinite = lax.eq(x, const(x, np.inf))
    return lax.select_n(infinite, x, lax.full_like(x, 0))


def _with_weights(function: Callable, exp: Callable, name: str) -> Callable:
    """Return the function with its derivative base**(x - out) in each argument."""
    function.__name__ = name
    wrapped = custom_jvp(function)

    def rule(primals: tuple, tangents: tuple) -> tuple:
        """Weigh the tangents."""
        out = wrapped(*primals)
        terms = [
            lax.mul(tangent, exp(lax.sub(_finite_top(x), _finite_top(out))))
            for x, tangent in zip(primals, tangents, strict=True)
        ]
        return out, lax.add(*terms)

    rule.__name__ = f"_{name}_jvp"
    wrapped.defjvp(rule)
    return wrapped


_natural = _with_weights(_log_of_sum(lax.exp, 1), lax.exp, "logaddexp")
_binary = _with_weights(_log_of_sum(lax.exp2, 1 / math.log(2)), lax.exp2, "logaddexp2")


def _logaddexp(x1: Any, x2: Any, /) -> Array:
    """Return log(exp(x1) + exp(x2)), elementwise, without overflow.

    x1, x2: shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.logaddexp(1000.0, 1000.0)
    Array(1000.6932, dtype=float32, weak_type=True)
    """
    return _natural(*promote_args_inexact("logaddexp", x1, x2))


def _logaddexp2(x1: Any, x2: Any, /) -> Array:
    """Return log2(2**x1 + 2**x2), elementwise, without overflow.

    x1, x2: shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.logaddexp2(1000.0, 1000.0)
    Array(1001., dtype=float32, weak_type=True)
    """
    return _binary(*promote_args_inexact("logaddexp2", x1, x2))


logaddexp = ufunc(_logaddexp, 2, 1, name="logaddexp", identity=-np.inf, call=_logaddexp)
logaddexp2 = ufunc(_logaddexp2, 2, 1, name="logaddexp2", identity=-np.inf, call=_logaddexp2)


@jit
def i0(x: Any) -> Array:
    """Return the modified Bessel function of the first kind and order 0, elementwise.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.i0(jnp.array([0.0, 1.0]))
    Array([1.0000001, 1.266066 ], dtype=float32)
    """
    check_arraylike("i0", x)
    if _is_complex(x):
        raise ValueError(f"Unsupported input type to jax.numpy.i0: {dtype_of(x)}")
    (x,) = promote_args_inexact("i0", x)
    return i0_impl(x)


@custom_jvp
def i0_impl(x: Value) -> Value:
    """Scale the function that has the exponential growth divided out."""
    size = lax.abs(x)
    return lax.mul(lax.exp(size), lax.bessel_i0e(size))


@i0_impl.defjvp
def i0_impl_jvp(primals: tuple, tangents: tuple) -> tuple:
    """The derivative is the function of order 1."""
    (x,), (t,) = primals, tangents
    return i0_impl(x), lax.mul(t, lax.mul(lax.exp(lax.abs(x)), lax.bessel_i1e(x)))


@jit
def sinc(x: Any, /) -> Array:
    """Return sin(pi x) / (pi x), elementwise; 1 at 0, with all its derivatives.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.sinc(jnp.array([0.0, 0.5, 1.0]))
    Array([ 1.       ,  0.6366198, -0.       ], dtype=float32)
    """
    (x,) = promote_args_inexact("sinc", x)
    if _is_complex(x):
        return _complex_sinc(x)
    zero, two = const(x, 0), const(x, 2)
    whole = lax.stop_gradient(lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN))
    rest = where(_infinite(x), zero, lax.sub(x, whole))
    h = lax.mul(rest, rest)
    series = lax.mul(h, _series(h))
    half = lax.round(lax.mul(const(x, 0.5), whole), lax.RoundingMethod.TO_NEAREST_EVEN)
    odd = lax.ne(lax.mul(two, half), whole)
    centre = lax.eq(whole, zero)
    divisor = where(centre, const(x, 1), x)
    divisor = where(odd, lax.neg(divisor), divisor)
    outer = lax.div(lax.add(rest, lax.mul(rest, series)), divisor)
    return where(centre, lax.add(const(x, 1), series), outer)


def _series(h: Value) -> Value:
    """Return (sin(pi r) / (pi r) - 1) / h for h = r**2 <= 1/4, by its power series."""
    n_terms = 11 if dtype_of(h) == np.float64 else 6
    terms = [
        (-1) ** k * np.pi ** (2 * k) / math.factorial(2 * k + 1) for k in range(1, n_terms + 1)
    ]
    out = lax.full_like(h, terms[-1])
    for term in terms[-2::-1]:
        out = lax.add(lax.mul(out, h), const(h, term))
    return out


def _complex_sinc(x: Value) -> Value:
    """Divide the sine, or sum the series near 0."""
    one = const(x, 1)
    argument = lax.mul(const(x, np.pi), x)
    near = lax.lt(lax.abs(argument), dtype_of(lax.abs(argument)).type(1))
    inner = lax.square(where(near, argument, const(x, 0)))
    outer = where(near, one, argument)
    out = lax.full_like(inner, 0)
    for k in range(8, -1, -1):
        out = lax.add(lax.mul(out, inner), const(x, (-1) ** k / math.factorial(2 * k + 1)))
    return where(near, out, lax.div(lax.sin(outer), outer))


# Integers


@jit
def gcd(x1: Any, x2: Any) -> Array:
    """Return the greatest common divisor of integers, elementwise.

    x1, x2: shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.gcd(jnp.array([12, 18]), 8)
    Array([4, 2], dtype=int32)
    """
    x1, x2 = promote_args("gcd", x1, x2)
    kind = dtype_of(x1)
    if not dtypes.issubdtype(kind, np.integer):
        raise ValueError("Arguments to jax.numpy.gcd must be integers.")
    shape = lax.broadcast_shapes(typeof(x1).shape, typeof(x2).shape)
    x1, x2 = broadcast(x1, shape), broadcast(x2, shape)
    if not dtypes.issubdtype(kind, np.unsignedinteger):
        x1, x2 = lax.abs(x1), lax.abs(x2)
    zero = const(x1, 0)

    def unfinished(pair: tuple) -> Value:
        """Some remainder is not 0 yet."""
        return lax.reduce_or(lax.ne(pair[1], zero), range(len(shape)))

    def step(pair: tuple) -> tuple:
        """Replace (a, b) by (b, a mod b) where b is not 0."""
        a, b = pair
        a, b = where(lax.ne(b, zero), b, a), where(lax.ne(b, zero), lax.rem(a, b), zero)
        return where(lax.lt(a, b), b, a), where(lax.lt(a, b), a, b)

    return lax.while_loop(unfinished, step, (x1, x2))[0]


@jit
def lcm(x1: Any, x2: Any) -> Array:
    """Return the least common multiple of integers, elementwise.

    x1, x2: shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.lcm(jnp.array([4, 6]), 10)
    Array([20, 30], dtype=int32)
    """
    x1, x2 = promote_args("lcm", x1, x2)
    kind = dtype_of(x1)
    if not dtypes.issubdtype(kind, np.integer):
        raise ValueError("Arguments to jax.numpy.lcm must be integers.")
    if not dtypes.issubdtype(kind, np.unsignedinteger):
        x1, x2 = lax.abs(x1), lax.abs(x2)
    divisor = gcd(x1, x2)
    zero = const(divisor, 0)
    return where(lax.eq(divisor, zero), zero, lax.mul(x1, floor_divide(x2, divisor)))
