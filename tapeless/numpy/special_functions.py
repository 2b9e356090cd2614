"""Elementwise functions whose derivatives, or values near 0, need more than their formulas.

`hypot`, `logaddexp` and `i0` have derivatives of their own, because what follows from their
formulas loses digits or is NaN where the true derivative is not.  `sinc` is reduced by whole
numbers and summed as a power series, which can be differentiated any number of times.
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
from tapeless.numpy.choice import broadcast, where
from tapeless.numpy.common import (
    check_arraylike,
    const,
    dtype_of,
    is_complex,
    promote_args_inexact,
)
from tapeless.numpy.ufunc_class import ufunc
from tapeless.runtime.array import Array

__all__ = ["hypot", "i0", "logaddexp", "logaddexp2", "sinc"]


@jit
def hypot(x1: Any, x2: Any, /) -> Array:
    """Return sqrt(x1**2 + x2**2), elementwise, without overflow or underflow on the way.

    x1, x2: shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.hypot(jnp.array([3.0, 5.0]), jnp.array([4.0, 12.0]))
    Array([ 5., 13.], dtype=float32)
    """
    x1, x2 = promote_args_inexact("hypot", x1, x2)
    if is_complex(x1):
        raise ValueError(
            "jnp.hypot is not well defined for complex-valued inputs. Please convert to real "
            "values first, such as by using abs(x)"
        )
    shape = lax.broadcast_shapes(typeof(x1).shape, typeof(x2).shape)
    return _hypot(broadcast(x1, shape), broadcast(x2, shape))[0]


@custom_jvp
def _hypot(x1: Value, x2: Value) -> tuple[Value, Value, Value]:
    """Return the length of (x1, x2), and its derivatives x1 / length and x2 / length."""
    dtype = dtype_of(x1)
    if dtypes.itemsize_bits(dtype) <= 8:  # no power of two makes room for the squares
        wide = _hypot(*(lax.convert_element_type(x, np.float32) for x in (x1, x2)))
        length, *cosines = (lax.convert_element_type(x, dtype) for x in wide)
        return length, cosines[0], cosines[1]
    info = dtypes.finfo(dtype)
    far = 2.0 ** (info.maxexp // 2 - 1)
    near = 2.0 ** -((info.nmant + 1) // 2)
    size1, size2 = lax.abs(x1), lax.abs(x2)
    largest = lax.max(size1, size2)
    large = largest >= const(largest, far)
    small = largest <= const(largest, near)
    down = lax.full_like(x1, near / far)
    up = lax.full_like(x1, far / near)
    one = lax.full_like(x1, 1)

    def choose(for_large: Value, for_small: Value, otherwise: Value) -> Value:
        """Choose by the size of the larger operand."""
        return lax.select_n(large, lax.select_n(small, otherwise, for_small), for_large)

    # Powers of two bring the numbers to a size whose square can be represented.
    a = choose(x1 * down, x1 * up, x1)
    b = choose(x2 * down, x2 * up, x2)
    back = choose(up, down, one)
    length = lax.sqrt(lax.square(a) + lax.square(b))
    scaled = length * back
    infinity = lax.full_like(x1, np.inf)
    infinite = (size1 == infinity) | (size2 == infinity)
    out = lax.select_n(infinite, scaled, infinity)
    return out, a / length, b / length


@_hypot.defjvp
def _hypot_jvp(primals: tuple, tangents: tuple) -> tuple:
    """d length = c1 dx1 + c2 dx2 with c = x / length, and dc = (dx - c d length) / length."""
    outs = _hypot(*primals)
    length, *cosines = outs
    change = tangents[0] * cosines[0]
    change += tangents[1] * cosines[1]
    turns = []
    for tangent, cosine in zip(tangents, cosines, strict=True):
        turn = tangent - cosine * change
        turns.append(turn / length)
    return outs, (change, *turns)


def _log_of_sum(exp: Callable, scale: float) -> Callable:
    """Return the function log(base**x + base**y) / log(base), for real and complex numbers."""

    def log1p(exponent: Value) -> Value:
        """Return log(1 + base**exponent) / log(base)."""
        natural = lax.log1p(exp(exponent))
        return natural if scale == 1 else lax.mul(const(natural, scale), natural)

    def function(x1: Value, x2: Value) -> Value:
        """Take the larger exponent out of the sum."""
        larger = lax.max(x1, x2)
        if is_complex(x1):
            total = lax.add(x1, x2)
            rest = log1p(lax.sub(total, lax.mul(larger, const(x1, 2))))
            return _wrapped_angle(lax.add(larger, rest), np.pi * scale)
        apart = lax.sub(x1, x2)
        unclear = lax.ne(apart, apart)
        total = lax.add(x1, x2)
        rest = log1p(lax.neg(lax.abs(apart)))
        return lax.select_n(unclear, lax.add(larger, rest), total)

    return function


def _wrapped_angle(x: Value, half: float) -> Value:
    """Return complex numbers with the imaginary part brought into [-half, half)."""
    real, imag = lax.real(x), lax.imag(x)
    whole = 2 * half
    if not typeof(real).weak_type:
        half, whole = map(dtype_of(real).type, (half, whole))
    turned = lax.rem(lax.add(imag, half), whole)
    below = lax.lt(turned, const(turned, 0))
    turned = lax.select_n(below, turned, lax.add(turned, whole))
    return lax.complex(real, lax.sub(turned, half))


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
    Array([1.       , 1.2660658], dtype=float32)
    """
    check_arraylike("i0", x)
    if is_complex(x):
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
    if is_complex(x):
        return _complex_sinc(x)
    zero, one = const(x, 0), const(x, 1)
    whole = lax.stop_gradient(_rounded(x))
    rest = where(lax.abs(x) == np.inf, zero, x - whole)
    h = rest * rest
    series = h * _series(h)
    odd = 2.0 * _rounded(0.5 * whole) != whole
    centre = whole == 0.0
    divisor = where(centre, one, x)
    divisor = where(odd, -divisor, divisor)
    outer = (rest + rest * series) / divisor
    return where(centre, one + series, outer)


def _rounded(x: Value) -> Value:
    """Return the nearest whole number, the even one of two."""
    return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


def _series(h: Value) -> Value:
    """Return (sin(pi r) / (pi r) - 1) / h for h = r**2 <= 1/4, by its power series."""
    n_terms = 11 if dtype_of(h) == np.float64 else 6
    terms = [
        (-1) ** k * np.pi ** (2 * k) / math.factorial(2 * k + 1) for k in range(1, n_terms + 1)
    ]
    out = lax.full_like(h, terms[-1])
    for term in terms[-2::-1]:
        out = out * h + term
    return out


def _complex_sinc(x: Value) -> Value:
    """Divide the sine, or sum the series near 0."""
    argument = np.pi * x
    near = lax.abs(argument) < 1.0
    inner = lax.square(where(near, argument, const(x, 0)))
    outer = where(near, const(x, 1), argument)
    out = lax.full_like(inner, 0)
    for k in range(8, -1, -1):
        out = out * inner + (-1) ** k / math.factorial(2 * k + 1)
    return where(near, out, lax.sin(outer) / outer)
