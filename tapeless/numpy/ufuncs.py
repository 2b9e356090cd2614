"""Elementwise functions of one operand: one operation of the language each, after promotion.

Functions of real and complex analysis turn integers into floating numbers first; rounding and the
functions of sign and parts leave a dtype to itself that they do not change.
"""

from __future__ import annotations

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
    is_complex,
    is_inexact,
    promote_args,
    promote_args_inexact,
    promote_args_numeric,
    shape,
    value_of,
)
from tapeless.runtime.array import Array

__all__ = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "angle",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_not",
    "cbrt",
    "conj",
    "conjugate",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "imag",
    "invert",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_not",
    "positive",
    "rad2deg",
    "radians",
    "real",
    "reciprocal",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
]


def _zeros_like(x: Value) -> Value:
    """Return zeros of the type of `x`."""
    return lax.full_like(x, 0)


def _is_exact(x: Value) -> bool:
    """Tell whether a value is boolean or integer."""
    return not dtypes.issubdtype(dtype_of(x), np.inexact)


# Functions of analysis


def sin(x: Any, /) -> Array:
    """Return the sine of x, in radians, elementwise.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.sin(jnp.array([0.0, 1.0]))
    Array([0.      , 0.841471], dtype=float32)
    """
    return lax.sin(*promote_args_inexact("sin", x))


def cos(x: Any, /) -> Array:
    """Return the cosine of x, in radians, elementwise.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.cos(jnp.array([0.0, 1.0]))
    Array([1.       , 0.5403023], dtype=float32)
    """
    return lax.cos(*promote_args_inexact("cos", x))


def tan(x: Any, /) -> Array:
    """Return the tangent of x, in radians, elementwise.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.tan(jnp.array([0.0, 1.0]))
    Array([0.       , 1.5574077], dtype=float32)
    """
    return lax.tan(*promote_args_inexact("tan", x))


def arcsin(x: Any, /) -> Array:
    """Return the angle in [-pi/2, pi/2] with sine x; NaN outside [-1, 1], elementwise.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.arcsin(jnp.array([0.0, 1.0]))
    Array([0.       , 1.5707964], dtype=float32)
    """
    return lax.asin(*promote_args_inexact("arcsin", x))


asin = arcsin


def arccos(x: Any, /) -> Array:
    """Return the angle in [0, pi] with cosine x; NaN outside [-1, 1], elementwise.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.arccos(jnp.array([0.0, 1.0]))
    Array([1.5707964, 0.       ], dtype=float32)
    """
    return lax.acos(*promote_args_inexact("arccos", x))


acos = arccos


def arctan(x: Any, /) -> Array:
    """Return the angle in (-pi/2, pi/2) with tangent x, elementwise.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.arctan(jnp.array([0.0, 1.0]))
    Array([0.       , 0.7853982], dtype=float32)
    """
    return lax.atan(*promote_args_inexact("arctan", x))


atan = arctan


def sinh(x: Any, /) -> Array:
    """Return the hyperbolic sine, (exp(x) - exp(-x)) / 2, elementwise.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.sinh(jnp.array([0.0, 1.0]))
    Array([0.       , 1.1752012], dtype=float32)
    """
    return lax.sinh(*promote_args_inexact("sinh", x))


def cosh(x: Any, /) -> Array:
    """Return the hyperbolic cosine, (exp(x) + exp(-x)) / 2, elementwise.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.cosh(jnp.array([0.0, 1.0]))
    Array([1.       , 1.5430806], dtype=float32)
    """
    return lax.cosh(*promote_args_inexact("cosh", x))


def tanh(x: Any, /) -> Array:
    """Return the hyperbolic tangent, sinh(x) / cosh(x), elementwise.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.tanh(jnp.array([0.0, 1.0]))
    Array([0.       , 0.7615942], dtype=float32)
    """
    return lax.tanh(*promote_args_inexact("tanh", x))


def arcsinh(x: Any, /) -> Array:
    """Return the inverse of the hyperbolic sine, elementwise.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.arcsinh(jnp.array([0.0, 1.0]))
    Array([0.       , 0.8813736], dtype=float32)
    """
    return lax.asinh(*promote_args_inexact("arcsinh", x))


asinh = arcsinh


def arctanh(x: Any, /) -> Array:
    """Return the inverse of the hyperbolic tangent; NaN outside [-1, 1], elementwise.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.arctanh(jnp.array([0.0, 0.5]))
    Array([0.        , 0.54930615], dtype=float32)
    """
    return lax.atanh(*promote_args_inexact("arctanh", x))


atanh = arctanh


def exp(x: Any, /) -> Array:
    """Return e ** x, elementwise.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.exp(jnp.array([0.0, 1.0]))
    Array([1.       , 2.7182817], dtype=float32)
    """
    return lax.exp(*promote_args_inexact("exp", x))


def exp2(x: Any, /) -> Array:
    """Return 2 ** x, elementwise.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.exp2(jnp.array([0.0, 3.0]))
    Array([1., 8.], dtype=float32)
    """
    return lax.exp2(*promote_args_inexact("exp2", x))


def expm1(x: Any, /) -> Array:
    """Return e ** x - 1, exact near 0, elementwise.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.expm1(jnp.array([0.0, 1e-7]))
    Array([0.0000000e+00, 1.0000001e-07], dtype=float32)
    """
    return lax.expm1(*promote_args_inexact("expm1", x))


def log(x: Any, /) -> Array:
    """Return the natural logarithm; NaN below 0, elementwise.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.log(jnp.array([1.0, 2.0]))
    Array([0.       , 0.6931472], dtype=float32)
    """
    return lax.log(*promote_args_inexact("log", x))


def log1p(x: Any, /) -> Array:
    """Return log(1 + x), exact near 0, elementwise.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.log1p(jnp.array([0.0, 1e-7]))
    Array([0.0000000e+00, 9.9999994e-08], dtype=float32)
    """
    return lax.log1p(*promote_args_inexact("log1p", x))


def log2(x: Any, /) -> Array:
    """Return the logarithm to the base 2, elementwise.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.log2(jnp.array([1.0, 8.0]))
    Array([0., 3.], dtype=float32)
    """
    return lax.log2(*promote_args_inexact("log2", x))


def sqrt(x: Any, /) -> Array:
    """Return the square root; NaN below 0, elementwise.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.sqrt(jnp.array([4.0, 2.0]))
    Array([2.       , 1.4142135], dtype=float32)
    """
    return lax.sqrt(*promote_args_inexact("sqrt", x))


def cbrt(x: Any, /) -> Array:
    """Return the real cube root, elementwise.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.cbrt(jnp.array([8.0, -27.0]))
    Array([ 2., -3.], dtype=float32)
    """
    return lax.cbrt(*promote_args_inexact("cbrt", x))


@jit
def arccosh(x: Any, /) -> Array:
    """Return the inverse of the hyperbolic cosine, elementwise; NaN below 1.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.arccosh(jnp.array([1.0, 2.0]))
    Array([0.      , 1.316958], dtype=float32)
    """
    out = lax.acosh(*promote_args_inexact("arccosh", x))
    if not is_complex(out):
        return out
    real = lax.real(out)
    return where(lax.lt(real, const(real, 0)), lax.neg(out), out)


acosh = arccosh


def log10(x: Any, /) -> Array:
    """Return the logarithm to the base 10, elementwise.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.log10(jnp.array([1.0, 100.0]))
    Array([0., 2.], dtype=float32)
    """
    out = lax.log(*promote_args_inexact("log10", x))
    real = np.empty(0, dtype_of(out)).real.dtype
    scale = real.type(1 / np.log(10))
    if is_complex(out):
        return lax.complex(*(lax.mul(part, scale) for part in (lax.real(out), lax.imag(out))))
    return lax.mul(out, scale)


def deg2rad(x: Any, /) -> Array:
    """Return the angle x, given in degrees, in radians, elementwise.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.deg2rad(jnp.array([0.0, 180.0]))
    Array([0.       , 3.1415927], dtype=float32)
    """
    (x,) = promote_args_inexact("deg2rad", x)
    return lax.mul(x, const(x, np.pi / 180))


def rad2deg(x: Any, /) -> Array:
    """Return the angle x, given in radians, in degrees, elementwise.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.rad2deg(jnp.array([0.0, jnp.pi]))
    Array([  0., 180.], dtype=float32)
    """
    (x,) = promote_args_inexact("rad2deg", x)
    return lax.mul(x, const(x, 180 / np.pi))


radians = deg2rad
degrees = rad2deg


def reciprocal(x: Any, /) -> Array:
    """Return 1 / x elementwise.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.reciprocal(jnp.array([1, 4]))
    Array([1.  , 0.25], dtype=float32)
    """
    (x,) = promote_args_inexact("reciprocal", x)
    return lax.integer_pow(x, -1)


def square(x: Any, /) -> Array:
    """Return x * x elementwise.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.square(jnp.arange(4))
    Array([0, 1, 4, 9], dtype=int32)
    """
    return lax.square(*promote_args_numeric("square", x))


# Sign and size


def absolute(x: Any, /) -> Array:
    """Return the absolute value, elementwise; real for complex x.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.absolute(jnp.array([-1, 2]))
    Array([1, 2], dtype=int32)
    """
    check_arraylike("absolute", x)
    x = value_of(x)
    kind = dtype_of(x)
    if kind == np.bool_ or dtypes.issubdtype(kind, np.unsignedinteger):
        return asarray(x)
    return lax.abs(x)


abs = absolute


def fabs(x: Any, /) -> Array:
    """Return the absolute value of real x as a floating number, elementwise.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.fabs(jnp.array([-1, 2]))
    Array([1., 2.], dtype=float32)
    """
    check_arraylike("fabs", x)
    if is_complex(x):
        raise TypeError("ufunc 'fabs' does not support complex dtypes")
    return lax.abs(*promote_args_inexact("fabs", x))


def sign(x: Any, /) -> Array:
    """Return -1, 0 or 1, elementwise; of complex x, x / abs(x).

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.sign(jnp.array([-2.5, 0.0, 3.0]))
    Array([-1.,  0.,  1.], dtype=float32)
    """
    return lax.sign(*promote_args("sign", x))


def positive(x: Any, /) -> Array:
    """Return x.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.positive(jnp.arange(2))
    Array([0, 1], dtype=int32)
    """
    return asarray(*promote_args("positive", x))


# Parts of complex numbers


def real(val: Any, /) -> Array:
    """Return the real part, elementwise; what is real, as it is.

    val: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.real(jnp.array([1 + 2j]))
    Array([1.], dtype=float32)
    """
    check_arraylike("real", val)
    val = value_of(val)
    return lax.real(val) if is_complex(val) else asarray(val)


def imag(val: Any, /) -> Array:
    """Return the imaginary part, elementwise; zeros for what is real.

    val: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.imag(jnp.array([1 + 2j]))
    Array([2.], dtype=float32)
    """
    check_arraylike("imag", val)
    val = value_of(val)
    return lax.imag(val) if is_complex(val) else _zeros_like(val)


def conjugate(x: Any, /) -> Array:
    """Return the complex conjugate, elementwise; what is real, as it is.

    x: (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.conjugate(jnp.array([1 + 2j]))
    Array([1.-2.j], dtype=complex64)
    """
    check_arraylike("conjugate", x)
    x = value_of(x)
    return lax.conj(x) if is_complex(x) else asarray(x)


conj = conjugate


@jit(static_argnames="deg")
def angle(z: Any, deg: bool = False) -> Array:
    """Return the angle of the complex number z with the positive real axis, in (-pi, pi].

    z: (n,) -> (n,); deg: whether to give degrees instead of radians.

    >>> import tapeless.numpy as jnp
    >>> jnp.angle(jnp.array([1j, -1.0]))
    Array([1.5707964, 3.1415927], dtype=float32)
    """
    x, y = real(z), imag(z)
    if not is_inexact(x):
        x, y = (convert(part, dtypes.default_float_dtype()) for part in (x, y))
    x, y = promote_args_inexact("angle", x, y)
    if not is_complex(z) and not shape(y):
        y = convert(y, dtype_of(y))
    out = lax.atan2(y, x)
    return rad2deg(out) if deg else out


# Logic and bits


def logical_not(x: Any, /) -> Array:
    """Return whether x is false (zero), elementwise.

    x: (n,) -> (n,) of bool

    >>> import tapeless.numpy as jnp
    >>> jnp.logical_not(jnp.arange(2))
    Array([ True, False], dtype=bool)
    """
    (x,) = promote_args("logical_not", x)
    if dtype_of(x) != np.bool_:
        x = lax.ne(x, const(x, 0))
    return lax.bitwise_not(x)


def bitwise_not(x: Any, /) -> Array:
    """Return x with all bits flipped, elementwise.

    x: integers or booleans, (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.bitwise_not(jnp.arange(3))
    Array([-1, -2, -3], dtype=int32)
    """
    return lax.bitwise_not(*promote_args("bitwise_not", x))


invert = bitwise_not
bitwise_invert = bitwise_not


@jit
def bitwise_count(x: Any, /) -> Array:
    """Return the number of bits that are set in the absolute value of x, elementwise.

    x: integers, (n,) -> (n,) of uint8

    >>> import tapeless.numpy as jnp
    >>> jnp.bitwise_count(jnp.array([7, -8]))
    Array([3, 1], dtype=uint8)
    """
    (x,) = promote_args_numeric("bitwise_count", x)
    return convert(lax.population_count(abs(x)), np.dtype(np.uint8))
