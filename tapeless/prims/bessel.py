"""The modified Bessel functions I0 and I1, times exp(-|x|).

For |x| <= 8, I0(x) and I1(x) / x are polynomials in x**2 whose coefficients are all positive, so
that nothing cancels: the interpolation at Chebyshev nodes, short for float32 and long for float64.
Beyond, sqrt(|x|) times the function is a Chebyshev series in t = 16 / |x| - 1, from 60 nodes, whose
terms are left out where they are too small for the dtype.  All were computed with 40 digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.prims.binary import add, div, max, min, mul, sub
from tapeless.prims.common import FLOAT, Elementwise, at_least_float32, const, full_like
from tapeless.prims.compare import gt
from tapeless.prims.convert import convert
from tapeless.prims.exponential import exp
from tapeless.prims.select import select_n
from tapeless.prims.unary import abs, integer_pow, neg, rsqrt, sign
from tapeless.util import lazy

__all__ = ["bessel_i0e", "bessel_i0e_p", "bessel_i1e", "bessel_i1e_p"]

scipy_special = lazy.load("scipy.special")  # references only

_I0_SHORT = (
    1.00000001, 0.249999964, 0.0156250227, 0.000434022259, 6.78236967e-06,
    6.77672974e-08, 4.73172846e-10, 2.33917684e-12, 1.05436854e-14, 1.61661952e-17,
    1.48166793e-19,
)  # fmt: skip
_I1_SHORT = (
    0.5, 0.0624999985, 0.00260416757, 5.42532523e-05, 6.7819573e-07, 5.64942752e-09,
    3.37280242e-11, 1.47632153e-13, 5.67811639e-16, 9.33866034e-19, 6.3589024e-21,
)  # fmt: skip
_I0_LONG = (
    1.0, 0.25, 0.015625000000000007, 0.00043402777777777445, 6.781684027778812e-06,
    6.781684027758202e-08, 4.709502797312111e-10, 2.4028075474081917e-12,
    9.385967122158306e-15, 2.896902788810415e-17, 7.242279005317181e-20,
    1.4962822964042478e-22, 2.5987841051325663e-25, 3.829411247002327e-28,
    5.0327117729737235e-31, 4.601357767863732e-34, 8.487698345602824e-37,
)  # fmt: skip
_I1_LONG = (
    0.5, 0.0625, 0.002604166666666667, 5.425347222222213e-05, 6.781684027778059e-07,
    5.651403356476159e-09, 3.363930569400616e-11, 1.5017547178772907e-13,
    5.214426141593576e-16, 1.44845153192735e-18, 3.291941257933586e-21,
    6.234584831530237e-24, 9.994221689502959e-27, 1.3687885297024527e-29,
    1.6696390898900487e-32, 1.47105648860311e-35, 2.4334892279361836e-38,
)  # fmt: skip
_I0E_FAR = (
    0.4022452055070544, 0.0033691164782556943, 6.889758346916825e-05,
    2.8913705208347567e-06, 2.0489185894690638e-07, 2.266668990498178e-08,
    3.3962320257083865e-09, 4.94060238822497e-10, 1.1889147107846439e-11,
    -3.1499165279632416e-11, -1.3215811840447713e-11, -1.7941785315068062e-12,
    7.180124451383666e-13, 3.8527783827421426e-13, 1.54008621752141e-14,
    -4.150569347287222e-14, -9.554846698828307e-15, 3.8116806693526224e-15,
    1.7725601330565263e-15, -3.425485619677219e-16, -2.8276239805165836e-16,
    3.461222867697461e-17, 4.46562142029676e-17, -4.830504485944182e-18,
    -7.233180487874754e-18,
)  # fmt: skip
_I1E_FAR = (
    0.38928811750914005, -0.009761097491361469, -0.00011058893876262371,
    -3.882564808877691e-06, -2.512236237870209e-07, -2.6314688468895196e-08,
    -3.835380385964237e-09, -5.589743462196584e-10, -1.8974958123505413e-11,
    3.2526035830154884e-11, 1.4125807436613782e-11, 2.0356285441470896e-12,
    -7.198551776245908e-13, -4.0835511110921974e-13, -2.1015418427726643e-14,
    4.272440016711951e-14, 1.0420276984128802e-14, -3.8144030724370075e-15,
    -1.8803547755107825e-15, 3.3082023109209285e-16, 2.96262899764595e-16,
    -3.209525921993424e-17, -4.6503053684893586e-17, 4.414348323071708e-18,
    7.517296310842105e-18,
)  # fmt: skip


class BesselI0e(Elementwise):
    """exp(-|x|) I0(x)."""

    name = "bessel_i0e"
    accepts = (FLOAT,)
    partials = (lambda t, out, x: mul(t, sub(bessel_i1e(x), mul(sign(x), out))),)

    @staticmethod
    def numpy(x: np.ndarray) -> np.ndarray:
        """Compute with SciPy."""
        return scipy_special.i0e(x)

    def decompose(self, *args: Value, **params: Any) -> tuple:
        """Evaluate the polynomial for |x| <= 8, or the series for sqrt(|x|) times the function."""
        x = _at_least_float32(args[0])
        near, far, is_far, root = _parts(x, (_I0_SHORT, _I0_LONG), _I0E_FAR)
        return (convert(select_n(is_far, near, mul(root, far)), typeof(args[0]).dtype),)


bessel_i0e_p = BesselI0e()


def bessel_i0e(x: Value) -> Value:
    """Return exp(-|x|) I0(x), elementwise.

    >>> lax.bessel_i0e(jnp.array([0.25, 0.5])).round(3)
    Array([0.791, 0.645], dtype=float32)
    """
    return bessel_i0e_p.bind(x)[0]


class BesselI1e(Elementwise):
    """exp(-|x|) I1(x)."""

    name = "bessel_i1e"
    accepts = (FLOAT,)
    partials = (lambda t, out, x: mul(t, _i1e_slope(x, out)),)
    hlo_name = "chlo.bessel_i1e"

    @staticmethod
    def numpy(x: np.ndarray) -> np.ndarray:
        """Compute with SciPy."""
        return scipy_special.i1e(x)

    def decompose(self, *args: Value, **params: Any) -> tuple:
        """Evaluate the polynomial for the function over x, or the series for sqrt(|x|) times it."""
        x = _at_least_float32(args[0])
        near, far, is_far, root = _parts(x, (_I1_SHORT, _I1_LONG), _I1E_FAR)
        value = select_n(is_far, mul(x, near), mul(mul(sign(x), root), far))
        return (convert(value, typeof(args[0]).dtype),)


bessel_i1e_p = BesselI1e()


def bessel_i1e(x: Value) -> Value:
    """Return exp(-|x|) I1(x), elementwise.

    >>> lax.bessel_i1e(jnp.array([0.25, 0.5])).round(3)
    Array([0.098, 0.156], dtype=float32)
    """
    return bessel_i1e_p.bind(x)[0]


def _i1e_slope(x: Value, out: Value) -> Value:
    """Return the derivative of bessel_i1e; 1/2 where |x| is too small to divide by."""
    tiny = float(dtypes.finfo(typeof(x).dtype).eps)
    ordinary = gt(abs(x), const(x, tiny))
    safe = select_n(ordinary, full_like(x, tiny), x)
    slope = sub(bessel_i0e(safe), mul(out, add(sign(safe), integer_pow(safe, -1))))
    return select_n(ordinary, full_like(x, 0.5), slope)


# Series


def _at_least_float32(x: Value) -> Value:
    """Return a value of a narrow dtype in float32."""
    return convert(x, at_least_float32(typeof(x).dtype))


def _parts(
    x: Value, near: tuple[Sequence[float], Sequence[float]], far: Sequence[float]
) -> tuple[Value, Value, Value, Value]:
    """Return both expressions, whether the second one holds, and |x| ** (-1/2).

    near: the coefficients of the polynomials for float32 and float64.
    """
    size = abs(x)
    large = max(size, const(x, 8))
    high = sub(div(const(x, 16), large), const(x, 1))
    short, long = near
    coefficients = short if typeof(x).dtype == np.float32 else long
    small = min(size, const(x, 8))
    near_value = mul(exp(neg(small)), _polynomial(mul(small, small), coefficients))
    return (
        near_value,
        _clenshaw(high, far),
        gt(size, const(x, 8)),
        rsqrt(large),
    )


def _polynomial(x: Value, coefficients: Sequence[float]) -> Value:
    """Return the sum of coefficients[k] x**k, from the last term backwards."""
    total = full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total = add(mul(total, x), const(x, coefficient))
    return total


def _clenshaw(t: Value, coefficients: Sequence[float]) -> Value:
    """Return the sum of coefficients[k] T_k(t), from the last term backwards."""
    least = float(dtypes.finfo(typeof(t).dtype).eps) / 16
    kept = [c for c in coefficients if c > least or c < -least]
    later, sum_ = full_like(t, 0), full_like(t, kept[-1])
    twice = mul(const(t, 2), t)
    for coefficient in kept[-2:0:-1]:
        later, sum_ = sum_, add(sub(mul(twice, sum_), later), const(t, coefficient))
    return add(sub(mul(t, sum_), later), const(t, kept[0]))
