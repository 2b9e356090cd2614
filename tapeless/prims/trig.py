"""Trigonometric and hyperbolic functions and their inverses, of real and complex numbers.

Derivatives are written so that they neither overflow nor cancel: 1 - x ** 2 is a product, and the
slope of asinh is computed on a scaled argument.
"""

from __future__ import annotations

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.prims.accuracy import Accurate, accuracy_params
from tapeless.prims.binary import add, div, max, mul, sub
from tapeless.prims.common import INEXACT, Elementwise, apply, const, full_like
from tapeless.prims.compare import eq
from tapeless.prims.identity import stop_gradient_p
from tapeless.prims.select import clamp, select_n
from tapeless.prims.unary import abs, integer_pow, neg, one_minus_square, rsqrt, square

__all__ = [
    "acos",
    "acos_p",
    "acosh",
    "acosh_p",
    "asin",
    "asin_p",
    "asinh",
    "asinh_p",
    "atan",
    "atan_p",
    "atanh",
    "atanh_p",
    "cos",
    "cos_p",
    "cosh",
    "cosh_p",
    "sin",
    "sin_p",
    "sinh",
    "sinh_p",
    "tan",
    "tan_p",
    "tanh",
    "tanh_p",
]


class Sin(Accurate):
    """sin x."""

    name = "sin"
    partials = (lambda t, out, x, **params: mul(t, cos_p.bind(x, **params)[0]),)
    kernel_name = "sin"
    hlo_name = "stablehlo.sine"
    numpy = np.sin


sin_p = Sin()


def sin(x: Value, *, accuracy: object = None) -> Value:
    """Return the sine, elementwise; x in radians.

    >>> lax.sin(jnp.array([0.25, 0.5])).round(3)
    Array([0.247, 0.479], dtype=float32)
    """
    return sin_p.bind(x, **accuracy_params(accuracy))[0]


class Cos(Accurate):
    """cos x."""

    name = "cos"
    partials = (lambda t, out, x, **params: neg(mul(t, sin_p.bind(x, **params)[0])),)
    kernel_name = "cos"
    hlo_name = "stablehlo.cosine"
    numpy = np.cos


cos_p = Cos()


def cos(x: Value, *, accuracy: object = None) -> Value:
    """Return the cosine, elementwise; x in radians.

    >>> lax.cos(jnp.array([0.25, 0.5])).round(3)
    Array([0.969, 0.878], dtype=float32)
    """
    return cos_p.bind(x, **accuracy_params(accuracy))[0]


class Tan(Accurate):
    """tan x."""

    name = "tan"
    partials = (lambda t, out, x, **params: mul(t, add(const(x, 1), square(out))),)
    kernel_name = "tan"
    hlo_name = "stablehlo.tan"
    numpy = np.tan


tan_p = Tan()


def tan(x: Value, *, accuracy: object = None) -> Value:
    """Return the tangent, elementwise; x in radians.

    >>> lax.tan(jnp.array([0.25, 0.5])).round(3)
    Array([0.255, 0.546], dtype=float32)
    """
    return tan_p.bind(x, **accuracy_params(accuracy))[0]


class Asin(Elementwise):
    """The angle in [-pi/2, pi/2] whose sine is x."""

    name = "asin"
    accepts = (INEXACT,)
    partials = (lambda t, out, x: mul(t, rsqrt(one_minus_square(x))),)
    kernel_name = "asin"
    hlo_name = "chlo.asin"
    numpy = np.arcsin


asin_p = Asin()


def asin(x: Value) -> Value:
    """Return the inverse sine, elementwise.

    >>> lax.asin(jnp.array([0.25, 0.5])).round(3)
    Array([0.253, 0.524], dtype=float32)
    """
    return asin_p.bind(x)[0]


class Acos(Elementwise):
    """The angle in [0, pi] whose cosine is x."""

    name = "acos"
    accepts = (INEXACT,)
    partials = (lambda t, out, x: mul(t, neg(rsqrt(one_minus_square(x)))),)
    kernel_name = "acos"
    hlo_name = "chlo.acos"
    numpy = np.arccos


acos_p = Acos()


def acos(x: Value) -> Value:
    """Return the inverse cosine, elementwise.

    >>> lax.acos(jnp.array([0.25, 0.5])).round(3)
    Array([1.318, 1.047], dtype=float32)
    """
    return acos_p.bind(x)[0]


class Atan(Elementwise):
    """The angle in [-pi/2, pi/2] whose tangent is x."""

    name = "atan"
    accepts = (INEXACT,)
    partials = (lambda t, out, x: div(t, add(const(x, 1), square(x))),)
    kernel_name = "atan"
    hlo_name = "chlo.atan"
    numpy = np.arctan


atan_p = Atan()


def atan(x: Value) -> Value:
    """Return the inverse tangent, elementwise.

    >>> lax.atan(jnp.array([0.25, 0.5])).round(3)
    Array([0.245, 0.464], dtype=float32)
    """
    return atan_p.bind(x)[0]


class Sinh(Elementwise):
    """(e ** x - e ** -x) / 2."""

    name = "sinh"
    accepts = (INEXACT,)
    partials = (lambda t, out, x: mul(t, cosh(x)),)
    kernel_name = "sinh"
    hlo_name = "chlo.sinh"
    numpy = np.sinh


sinh_p = Sinh()


def sinh(x: Value) -> Value:
    """Return the hyperbolic sine, elementwise.

    >>> lax.sinh(jnp.array([0.25, 0.5])).round(3)
    Array([0.253, 0.521], dtype=float32)
    """
    return sinh_p.bind(x)[0]


class Cosh(Elementwise):
    """(e ** x + e ** -x) / 2."""

    name = "cosh"
    accepts = (INEXACT,)
    partials = (lambda t, out, x: mul(t, sinh(x)),)
    kernel_name = "cosh"
    hlo_name = "chlo.cosh"
    numpy = np.cosh


cosh_p = Cosh()


def cosh(x: Value) -> Value:
    """Return the hyperbolic cosine, elementwise.

    >>> lax.cosh(jnp.array([0.25, 0.5])).round(3)
    Array([1.031, 1.128], dtype=float32)
    """
    return cosh_p.bind(x)[0]


class Tanh(Accurate):
    """sinh x / cosh x."""

    name = "tanh"
    partials = (lambda t, out, x, **params: mul(t, one_minus_square(out)),)
    kernel_name = "tanh"
    hlo_name = "stablehlo.tanh"
    numpy = np.tanh


tanh_p = Tanh()


def tanh(x: Value, *, accuracy: object = None) -> Value:
    """Return the hyperbolic tangent, elementwise.

    >>> lax.tanh(jnp.array([0.25, 0.5])).round(3)
    Array([0.245, 0.462], dtype=float32)
    """
    return tanh_p.bind(x, **accuracy_params(accuracy))[0]


class Asinh(Elementwise):
    """The inverse of sinh."""

    name = "asinh"
    accepts = (INEXACT,)
    partials = (lambda t, out, x: mul(t, _asinh_slope(x)),)
    kernel_name = "asinh"
    hlo_name = "chlo.asinh"
    numpy = np.arcsinh


asinh_p = Asinh()


def asinh(x: Value) -> Value:
    """Return the inverse hyperbolic sine, elementwise.

    >>> lax.asinh(jnp.array([0.25, 0.5])).round(3)
    Array([0.247, 0.481], dtype=float32)
    """
    return asinh_p.bind(x)[0]


def _asinh_slope(x: Value) -> Value:
    """Return (1 + x ** 2) ** (-1/2), with x and 1 divided by a power of two near |x|."""
    if dtypes.issubdtype(typeof(x).dtype, np.complexfloating):
        return _complex_asinh_slope(x)
    inverse = _inverse_scale(abs(x))
    root = rsqrt(add(square(mul(x, inverse)), square(inverse)))
    return mul(inverse, root)


def _complex_asinh_slope(x: Value) -> Value:
    """Return (1 + x ** 2) ** (-1/2) from scaled parts; 0 at infinity."""
    re, im = apply("real", x), apply("imag", x)
    size = max(abs(re), abs(im))
    inverse = _inverse_scale(size)
    re, im = mul(re, inverse), mul(im, inverse)
    sum_ = add(square(re), one_minus_square(im))
    product = mul(const(re, 2), mul(re, im))
    root = rsqrt(apply("complex", sum_, product))
    infinite, nothing = eq(size, const(size, float("inf"))), full_like(x, 0)
    parts = (mul(apply("real", root), inverse), mul(apply("imag", root), inverse))
    return select_n(infinite, apply("complex", *parts), nothing)


def _inverse_scale(size: Value) -> Value:
    """Return 1 / s for s >= 1 so close to `size` that neither s ** 2 nor its inverse overflows."""
    half = int(dtypes.finfo(typeof(size).dtype).maxexp) // 2
    scaled = mul(size, const(size, 2.0 ** (2 - half)))
    scale = clamp(const(size, 1), scaled, const(size, 2.0 ** (2 + half)))
    return integer_pow(stop_gradient_p.bind(scale)[0], -1)


class Acosh(Elementwise):
    """The inverse of cosh, for x >= 1."""

    name = "acosh"
    accepts = (INEXACT,)
    partials = (
        lambda t, out, x: mul(t, mul(rsqrt(sub(x, const(x, 1))), rsqrt(add(x, const(x, 1))))),
    )
    kernel_name = "acosh"
    hlo_name = "chlo.acosh"
    numpy = np.arccosh


acosh_p = Acosh()


def acosh(x: Value) -> Value:
    """Return the inverse hyperbolic cosine, elementwise.

    >>> lax.acosh(jnp.array([1.0, 2.0])).round(3)
    Array([0.   , 1.317], dtype=float32)
    """
    return acosh_p.bind(x)[0]


def _acosh_slope(x: Value) -> Value:
    """Return (x - 1) ** (-1/2) (x + 1) ** (-1/2)."""
    one = const(x, 1)
    return mul(rsqrt(sub(x, one)), rsqrt(add(x, one)))


class Atanh(Elementwise):
    """The inverse of tanh, for |x| < 1."""

    name = "atanh"
    accepts = (INEXACT,)
    partials = (lambda t, out, x: div(t, one_minus_square(x)),)
    kernel_name = "atanh"
    hlo_name = "chlo.atanh"
    numpy = np.arctanh


atanh_p = Atanh()


def atanh(x: Value) -> Value:
    """Return the inverse hyperbolic tangent, elementwise.

    >>> lax.atanh(jnp.array([0.25, 0.5])).round(3)
    Array([0.255, 0.549], dtype=float32)
    """
    return atanh_p.bind(x)[0]
