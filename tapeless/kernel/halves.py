"""Recipes for results of at most eleven bits: float16, bfloat16 and narrower formats.

They compute in float32, as all operations on these formats do, but only as accurately as the result
can show: relative errors are at most 2**-16, so that the rounded result is within 0.54 ulp.  The
arguments have at most eleven bits, so that their squares are exact.  What has no recipe here uses
that of float32.

tanh: x divided by x coth x, which is a polynomial in x**2.  erf: x times one.  Both are in powers
of x**2 - c, with c in the middle of the range, since terms in x**2 alone would cancel.
logistic, erfc: as in float32, without what the second word of their sums and quotients is for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from tapeless.kernel.floats import FLOAT32, clamp, polynomial, power_of_two
from tapeless.kernel.ir import Scalar
from tapeless.kernel.nodes import Nodes

__all__ = ["HALVES"]

# x coth x in u = x**2 - 12.5
_X_COTH = (
    3.5415358543395996,
    0.13997799158096313,
    -0.002622978063300252,
    9.023816528497264e-05,
    -3.925132659787778e-06,
    2.0451825832878967e-07,
    -4.082724380793934e-09,
    -1.2080221545307523e-10,
    -3.3628464596313634e-11,
    2.36443156720334e-12,
)
# erf(x) / x in u = x**2 - 4
_ERF_OVER_X = (
    0.4976601004600525,
    -0.05961189419031143,
    0.009889070875942707,
    -0.0016401013126596808,
    0.00024894794697794683,
    -3.2020252547226846e-05,
    4.179772531642811e-06,
    -6.843985147497733e-07,
    6.431329779843509e-08,
)
# (exp r - 1 - r) / r**2 on |r| <= ln 2 / 2
_EXP = (0.5000513792037964, 0.1675369143486023, 0.04127681255340576)
_ZERO_BELOW = -97.0  # e**x rounds to zero, also in bfloat16
_HALF_RANGE = 64  # of exponents, about
# (x + 2) e**(x**2) erfc(x) in t = 5.5 / (x + 2) - 1.2
_ERFCX = (
    0.9385710954666138,
    0.4494301378726959,
    0.13946452736854553,
    0.017746714875102043,
    -0.004799031652510166,
    -0.0015955560375005007,
    0.00040632064337842166,
)


def _tanh(b: Nodes, x: Scalar) -> Scalar:
    """The hyperbolic tangent, which is 1 in these formats from 5 on."""
    x = clamp(b, x, -5.0, 5.0)
    return b.div(x, polynomial(b, b.fma(x, x, -12.5), _X_COTH))


def _erf(b: Nodes, x: Scalar) -> Scalar:
    """The error function, which is 1 in these formats from 2.8 on."""
    x = clamp(b, x, -math.sqrt(8), math.sqrt(8))
    return b.mul(x, polynomial(b, b.fma(x, x, -4.0), _ERF_OVER_X))


def _erfc(b: Nodes, x: Scalar) -> Scalar:
    """The complementary error function."""
    size = clamp(b, b.abs(x), None, 30.0)
    q = b.div(1.0, b.add(size, 2.0))
    factor = b.mul(polynomial(b, b.fma(q, 5.5, -1.2), _ERFCX), q)
    tail = b.mul(_exp_nonpositive(b, b.neg(b.mul(size, size))), factor)
    return b.select(b.lt(x, 0.0), b.sub(2.0, tail), tail)


def _logistic(b: Nodes, x: Scalar) -> Scalar:
    """1 / (1 + e**-x), from e**-|x|."""
    e = _exp_nonpositive(b, b.neg(b.abs(x)))
    return b.div(b.select(b.lt(x, 0.0), e, 1.0), b.add(e, 1.0))


def _exp_nonpositive(b: Nodes, x: Scalar) -> Scalar:
    """e**x for x <= 0, from n and r with x = n ln 2 + r; what is scaled by 2**-n is normal."""
    bounded = clamp(b, x, _ZERO_BELOW, None)
    start = FLOAT32.magic + FLOAT32.bias + _HALF_RANGE
    shifted = b.fma(bounded, 1 / math.log(2), start)
    n = b.sub(shifted, start)
    r = b.fma(n, -math.log(2), bounded)
    tail = b.fma(b.mul(r, r), polynomial(b, r, _EXP), r)
    significand = b.select(b.lt(x, _ZERO_BELOW), 0.0, b.add(tail, 1.0))
    scaled = b.mul(significand, power_of_two(b, shifted))
    return b.mul(scaled, 2.0**-_HALF_RANGE)


HALVES: Mapping[str, Callable[..., Scalar]] = {
    "erf": _erf,
    "erfc": _erfc,
    "logistic": _logistic,
    "tanh": _tanh,
}
