"""The modified Bessel functions I0 and I1, times exp(-|x|).

Two Chebyshev series each: for |x| <= 8 in t = |x| / 4 - 1, and beyond in t = 16 / |x| - 1 for
sqrt(|x|) times the function.  The coefficients are those of the interpolation at 60 Chebyshev
nodes, computed with 40 digits; terms too small for the dtype are left out.
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
from tapeless.prims.select import select_n
from tapeless.prims.unary import abs, integer_pow, rsqrt, sign
from tapeless.util import lazy

__all__ = ["bessel_i0e", "bessel_i0e_p", "bessel_i1e", "bessel_i1e_p"]

scipy_special = lazy.load("scipy.special")  # references only

_I0E_NEAR = (
    0.33839763720473803, -0.3046826723431984, 0.17162090152220877,
    -0.09490109704804764, 0.04930528423967071, -0.02373741480589947,
    0.010546460394594998, -0.004324309995050576, 0.0016394756169413357,
    -0.0005763755745385824, 0.00018850288509584165, -5.754195010082104e-05,
    1.6448448070728896e-05, -4.4167383584587505e-06, 1.1173875391201037e-06,
    -2.670793853940612e-07, 6.046995022541919e-08, -1.300025009986248e-08,
    2.6598237246823866e-09, -5.189795601635263e-10, 9.675809035373237e-11,
    -1.726826291441556e-11, 2.95505266312964e-12, -4.856446783111929e-13,
    7.676185498604936e-14, -1.1685332877993451e-14, 1.715391285555133e-15,
    -2.431279846547955e-16, 3.3307945188222384e-17, -4.4153416464793395e-18,
)  # fmt: skip
_I1E_NEAR = (
    0.12629359322181682, -0.17641651835783406, 0.1026436586898471,
    -0.05294598120809499, 0.024726449030626516, -0.010564084894626197,
    0.004156422944312888, -0.0015135724506312532, 0.0005122859561685758,
    -0.00016176081582589674, 4.781565107550054e-05, -1.3273163656039436e-05,
    3.4702513081376785e-06, -8.568720264695455e-07, 2.0032947535521353e-07,
    -4.445059128796328e-08, 9.381537386495773e-09, -1.8872497517228294e-09,
    3.625590281552117e-10, -6.663489723502027e-11, 1.1736186298890901e-11,
    -1.9839743977649436e-12, 3.223793365945575e-13, -5.042185504727912e-14,
    7.600684294735408e-15, -1.1055969477353862e-15, 1.5536319577362005e-16,
    -2.111421214358166e-17, 2.7779141127610464e-18,
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
        """Sum the series for |x| <= 8, or that for sqrt(|x|) times the function."""
        x = _at_least_float32(args[0])
        near, far, is_far, root = _series(x, _I0E_NEAR, _I0E_FAR)
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
        """Sum the series for the function over x, or that for sqrt(|x|) times the function."""
        x = _at_least_float32(args[0])
        near, far, is_far, root = _series(x, _I1E_NEAR, _I1E_FAR)
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


def _series(
    x: Value, near: Sequence[float], far: Sequence[float]
) -> tuple[Value, Value, Value, Value]:
    """Return the sums of both series, which of them holds, and |x| ** (-1/2)."""
    size = abs(x)
    low = sub(mul(min(size, const(x, 8)), const(x, 0.25)), const(x, 1))
    large = max(size, const(x, 8))
    high = sub(div(const(x, 16), large), const(x, 1))
    return (
        _clenshaw(low, near),
        _clenshaw(high, far),
        gt(size, const(x, 8)),
        rsqrt(large),
    )


def _clenshaw(t: Value, coefficients: Sequence[float]) -> Value:
    """Return the sum of coefficients[k] T_k(t), from the last term backwards."""
    least = float(dtypes.finfo(typeof(t).dtype).eps) / 16
    kept = [c for c in coefficients if c > least or c < -least]
    later, sum_ = full_like(t, 0), full_like(t, kept[-1])
    twice = mul(const(t, 2), t)
    for coefficient in kept[-2:0:-1]:
        later, sum_ = sum_, add(sub(mul(twice, sum_), later), const(t, coefficient))
    return add(sub(mul(t, sum_), later), const(t, kept[0]))
