"""Error functions: of real argument, scaled, inverse, and as normal distributions.

erfc(x) = 1 - erf(x)        ndtr(x) = erfc(-x / sqrt 2) / 2, the normal distribution
erfcx(x) = exp(x**2) erfc(x)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import lax
from tapeless import numpy as jnp
from tapeless.api.custom import custom_jvp
from tapeless.core.trace import Value
from tapeless.numpy.common import dtype_of, promote_args_inexact
from tapeless.prims.fused import fused_add
from tapeless.scipy.special.scaled import erfcx, erfcx_of_double
from tapeless.scipy.special.wide import (
    array_of_sequence,
    horner,
    polynomial_in_two,
    wide_function,
)
from tapeless.util import lazy

__all__ = [
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "log_ndtr",
    "ndtr",
    "ndtri",
]

scipy_special = lazy.load("scipy.special")
_SQRT_PI = math.sqrt(math.pi)


def erf(x: Any) -> Value:
    """Return 2/sqrt(pi) times the integral of exp(-t**2), t from 0 to x.

    x: (n,) -> (n,)

    >>> erf(0.5)
    Array(0.5204999, dtype=float32, weak_type=True)
    """
    return lax.erf(*promote_args_inexact("erf", x))


def erfc(x: Any) -> Value:
    """Return 1 - erf(x), exact for large x.

    x: (n,) -> (n,)

    >>> jax.scipy.special.erfc(jnp.array([0.25, 0.5])).round(3)
    Array([0.724, 0.48 ], dtype=float32)
    """
    return lax.erfc(*promote_args_inexact("erfc", x))


def erfinv(x: Any) -> Value:
    """Return the inverse of erf.

    x: (n,) -> (n,)

    >>> jax.scipy.special.erfinv(jnp.array([0.25, 0.5])).round(3)
    Array([0.225, 0.477], dtype=float32)
    """
    return lax.erf_inv(*promote_args_inexact("erfinv", x))


# Wichura's rational functions for quantiles of the normal distribution, by powers: near one half in
# 0.180625 - (p - 1/2)**2; in the tails in the root of -log p, less 1.6, and beyond 5 less 5.
_MIDDLE = (
    (
        *(3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3),
        *(1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4),
        *(3.3430575583588128105e4, 2.5090809287301226727e3),
    ),
    (
        *(1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3),
        *(2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4),
        5.2264952788528545610e3,
    ),
)
_TAIL = (
    (
        *(1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0),
        *(3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1),
        *(2.27238449892691845833e-2, 7.74545014278341407640e-4),
    ),
    (
        *(1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1),
        *(1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4),
        1.05075007164441684324e-9,
    ),
)
_FAR_TAIL = (
    (
        *(6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0),
        *(2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3),
        *(2.71155556874348757815e-5, 2.01033439929228813265e-7),
    ),
    (
        *(1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2),
        *(7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7),
        2.04426310338993978564e-15,
    ),
)


def _quantile(p: Value) -> Value:
    """Return the number below which a normal variable is with probability p, 0 < p < 1.

    The parts of both ways are chosen before they are divided, so that there is one division.
    """
    distance = p - 0.5
    is_middle = jnp.abs(distance) <= 0.425
    square = 0.180625 - distance * distance
    root = jnp.sqrt(-jnp.log(jnp.minimum(p, 1 - p)))
    near, far = root - 1.6, root - 5.0
    tops, bottoms = (
        jnp.where(
            is_middle,
            horner(square, middle),
            jnp.where(
                root <= 5,
                horner(near, tail),
                horner(far, far_tail),
            ),
        )
        for middle, tail, far_tail in zip(_MIDDLE, _TAIL, _FAR_TAIL, strict=True)
    )
    factor = jnp.where(
        is_middle,
        distance,
        jnp.sign(distance),
    )
    return factor * tops / bottoms


def _ndtri(p: Value) -> Value:
    """Return the inverse of the normal distribution function: infinite at the ends, NaN outside."""
    is_inside = (p > 0) & (p < 1)
    safe = jnp.where(
        is_inside,
        p,
        0.5,
    )
    return _quantile(safe) + _ends(p)


def _ends(p: Value) -> Value:
    """Return what is added to a quantile: infinity at the ends, NaN outside of them, 0 inside.

    A choice between it and the quantile would take rows apart.
    """
    return jnp.where(
        (p > 0) & (p < 1),
        0.0,
        jnp.where(
            p == 0,
            -jnp.inf,
            jnp.where(
                p == 1,
                jnp.inf,
                jnp.nan,
            ),
        ),
    )


# For float32, by w = -log(4 p (1 - p)): up to 4 the quantile is (p - 1/2) F(w), where F is smooth,
# so that it does not matter that small w are inaccurate; beyond it is a function of the root of w
# and has the sign of p - 1/2. Polynomials by powers of w, and of the root up to w = 19 and to 103,
# less numbers: of least relative error, each number rounded before the next ones are fitted.
_CENTRES = (2.09375, 3.140625, 6.640625)
_FACTORS = (
    (3.9615298360937, 4.20576873290285, 9.2015651680293),
    (0.705283046, 1.42042887, 1.42689252),
    (-0.00688082213, 0.00780488225, -0.000726158905),
    (-0.00455617066, -0.00402433146, -7.13640975e-06),
    (0.000619513157, 0.00139257347, 1.3211552e-05),
    (1.45990361e-05, -0.000337216828, -3.31450087e-06),
    (-1.33703879e-05, -2.05347783e-06, 7.94874268e-07),
    (7.57396833e-07, 5.58724132e-05, -1.65369798e-07),
    (1.93953724e-07, -1.9422916e-05, 1.59179141e-08),
)


def _quantile_of_single(p: Value, scale: float) -> Value:
    """Return scale times the inverse of the normal distribution function of float32: (n,) -> (n,).

    What the last sum of the polynomial and p - 1/2 lose is added to the product. Infinity at the
    ends is added too: a choice between it and the quantile would take rows apart.
    """
    exact = -jnp.log(4 * p * (1 - p))
    w = jnp.minimum(exact, 104.0)
    is_near, is_middle = w < 4, w < 19

    def chosen(numbers: Sequence[float]) -> Value:
        """Return one of the three numbers for each element."""
        near, middle, far = map(np.float32, numbers)
        return jnp.where(
            is_near,
            near,
            jnp.where(
                is_middle,
                middle,
                far,
            ),
        )

    place = jnp.where(is_near, w, jnp.sqrt(w)) - chosen(_CENTRES)
    scaled = np.array(_FACTORS) * scale
    factor, rest = polynomial_in_two(
        place,
        chosen(scaled[0].astype(np.float32).tolist()),
        chosen((scaled[0] - scaled[0].astype(np.float32)).tolist()),
        [chosen(numbers) for numbers in scaled[1:].tolist()],
    )
    distance = p - 0.5
    lost = p - (distance + 0.5)
    sign = jnp.sign(distance)
    end = jnp.where(
        exact == jnp.inf,
        scale * jnp.inf * sign,
        0.0,
    )
    distance = jnp.where(
        is_near,
        distance,
        sign,
    )
    rest = distance * rest + jnp.where(
        is_near,
        lost * factor,
        0.0,
    )
    return fused_add(distance * factor, rest) + end


_erfcinv_function = wide_function(
    "erfcinv",
    lambda y: 0 - _ndtri(y / 2) / math.sqrt(2),
    [lambda t, out, y: t * (-_SQRT_PI / 2) * jnp.exp(out * out)],
    lambda *args: scipy_special.erfcinv(*args),
    narrow=lambda y: _quantile_of_single(y / 2, -math.sqrt(0.5)),
)


def erfcinv(y: Any) -> Value:
    """Return the inverse of erfc, exact for small y.

    y: (n,) -> (n,)

    >>> jax.scipy.special.erfcinv(jnp.array([0.25, 0.5])).round(3)
    Array([0.813, 0.477], dtype=float32)
    """
    return _erfcinv_function(y)


_ndtri_function = wide_function(
    "ndtri",
    _ndtri,
    [lambda t, out, p: t * math.sqrt(2 * math.pi) * jnp.exp(out * out / 2)],
    lambda *args: scipy_special.ndtri(*args),
    narrow=lambda p: _quantile_of_single(p, 1.0),
)


def ndtri(p: Any) -> Value:
    """Return the inverse of the normal distribution function.

    p: (n,) -> (n,)

    >>> print(f"{float(ndtri(0.975)):.4f}")
    1.9600
    """
    (p,) = promote_args_inexact("ndtri", p)
    return _ndtri_function(lax.convert_element_type(p, dtype_of(p)))


@custom_jvp
def _ndtr(x: Value) -> Value:
    """Return the normal distribution function."""
    return lax.erfc(-x * math.sqrt(0.5)) / 2


@_ndtr.defjvp
def _ndtr_jvp(primals: tuple, tangents: tuple) -> tuple:
    """The derivative is the density."""
    (x,), (dx,) = primals, tangents
    return _ndtr(x), dx * jnp.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def ndtr(x: Any) -> Value:
    """Return the normal distribution function, the integral of the density up to x.

    x: (n,) -> (n,)

    >>> ndtr(1.0)
    Array(0.8413447, dtype=float32)
    """
    (x,) = promote_args_inexact("ndtr", array_of_sequence(x))
    return _ndtr(lax.convert_element_type(x, dtype_of(x)))


def _log_ndtr(x: Value) -> Value:
    """Return log ndtr(x): by erfcx for negative x, where ndtr vanishes."""
    low = jnp.log(erfcx_of_double(-jnp.minimum(x, 0) * math.sqrt(0.5)) / 2) - x * x / 2
    high = jnp.log1p(-lax.erfc(jnp.maximum(x, -1.0) * math.sqrt(0.5)) / 2)
    return jnp.where(
        x < -1,
        low,
        jnp.where(
            jnp.isnan(x),
            x,
            high,
        ),
    )


# exp(x**2 / 2) ndtr(-x) over v, for x >= 0, by powers of v - 3/4, where v = 1 / (1 + x / 4).
_SCALED_TAIL = (
    *(0.295819323592766, 0.583332539, 0.762727022, 0.628837705, 0.241918102, -0.0718656033),
    *(-0.102115855, 0.0121872677, 0.0538146384, 0.0201384071),
)


def _scaled_tail(size: Value) -> tuple[Value, Value]:
    """Return exp(x**2 / 2) ndtr(-x) for x >= 0, and what its rounding lost.

    The roundings of 4 + x and of its inverse are put back.
    """
    below = 4 + size
    inverse = 1 / below
    v = 4 * inverse
    lost = v * (fused_add(-inverse * below, jnp.ones_like(v)) - inverse * (size - (below - 4)))
    first = float(np.float32(_SCALED_TAIL[0]))
    total, rest = polynomial_in_two(
        (v - 0.75) + lost,
        jnp.full_like(v, first),
        jnp.full_like(v, _SCALED_TAIL[0] - first),
        [jnp.full_like(v, number) for number in _SCALED_TAIL[1:]],
    )
    tail = v * total
    return tail, (v * rest + lost * total) - fused_add(-v * total, tail)


def _log_ndtr_of_single(x: Value) -> Value:
    """Return log ndtr(x) of float32: (n,) -> (n,).

    With t(x) = exp(x**2 / 2) ndtr(-x) it is log t(-x) - x**2 / 2 for negative x, and else
    log(1 - t(x) exp(-x**2 / 2)). The argument of the logarithm and x**2 have two parts each.
    """
    size = jnp.minimum(jnp.abs(x), 1e5)
    tail, rest = _scaled_tail(size)
    square = size * size
    half_lost = fused_add(-size * size, square) / -2
    density = jnp.exp(square / -2)
    share = fused_add(tail * density, density * (rest - tail * half_lost))
    is_low = x < 0
    argument = jnp.where(
        is_low,
        tail,
        1 - share,
    )
    lost = jnp.where(
        is_low,
        rest,
        share - (1 - argument),
    )
    part = lost / argument
    value = jnp.log(argument)
    return jnp.where(
        is_low,
        (value - x * x / 2) + (part - half_lost),
        -(part - value),  # -0.0 where it vanishes, as logarithms of what is below 1
    )


def _log_ndtr_slope(t: Value, out: Value, x: Value) -> Value:
    """Return t times the density over ndtr(x): for negative x by erfcx, where both vanish."""
    low = math.sqrt(2 / math.pi) / erfcx(-jnp.minimum(x, 0) * math.sqrt(0.5))
    high = jnp.exp(-(jnp.maximum(x, -1.0) ** 2) / 2 - jnp.maximum(out, -2.0))
    return t * jnp.where(x < -1, low, high / math.sqrt(2 * math.pi))


_log_ndtr_function = wide_function(
    "log_ndtr",
    _log_ndtr,
    [_log_ndtr_slope],
    lambda *args: scipy_special.log_ndtr(*args),
    narrow=_log_ndtr_of_single,
)


def log_ndtr(x: Any, series_order: int = 3) -> Value:
    """Return the logarithm of the normal distribution function, exact for very negative x.

    x: (n,) -> (n,)
    series_order: of JAX's asymptotic series; a positive int, and unused here.

    >>> jax.scipy.special.log_ndtr(jnp.array([-1.0, 0.0])).round(3)
    Array([-1.841, -0.693], dtype=float32)
    """
    if not isinstance(series_order, int):
        raise TypeError("series_order must be a Python integer.")
    if series_order < 0:
        raise ValueError("series_order must be non-negative.")
    if series_order > 30:
        raise ValueError("series_order must be <= 30.")
    return _log_ndtr_function(array_of_sequence(x))
