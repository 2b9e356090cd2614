"""Sine and cosine integrals, and those of Fresnel.

Near zero they are short series. Far away they oscillate around their limits, with two amplitudes f
and g that are Stieltjes functions of a power of 1/x: quotients of polynomials whose coefficients
are all positive, so that nothing cancels. The coefficients meet the function at Chebyshev points
(they were found in 90 digits).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.scipy.special.wide import horner, wide_function
from tapeless.util import lazy

__all__ = ["fresnel", "sici"]

scipy_special = lazy.load("scipy.special")
_EULER = float(np.euler_gamma)
# Of x f(x) and x**2 g(x) in (4/x)**2 for x > 4, f and g of Abramowitz and Stegun 5.2.6; the
# relative error is at most 4e-16 and 5e-15.
_SICI_F_ABOVE = (
    0.999999999999999,
    63.482211784705314,
    1545.1731526231565,
    18989.147970440135,
    130587.64779113859,
    526247.9716270998,
    1264569.1353889278,
    1807688.6933500108,
    1505742.35218591,
    700366.4349471763,
    168720.5801182161,
    18394.321704185608,
    688.8265236266558,
    3.8504063129893966,
)
_SICI_F_BELOW = (
    1.0,
    63.60721178470385,
    1553.0303040967044,
    19177.489363528923,
    132849.80309782602,
    541293.6278999827,
    1322383.3346607203,
    1937676.2390478274,
    1675264.509324557,
    824846.3231806813,
    217341.53814063183,
    27524.818421953994,
    1369.1607586340317,
    16.59492075216934,
)
_SICI_G_ABOVE = (
    0.9999999999999867,
    68.50082687158243,
    1799.9744311659622,
    23879.432585239316,
    177155.99502602863,
    769012.7030417627,
    1985574.7408998962,
    3038178.911734294,
    2693820.644401642,
    1322828.031292864,
    332098.65524413274,
    36835.09280372567,
    1318.415339588592,
    4.407918369790213,
)
_SICI_G_BELOW = (
    1.0,
    68.8758268715618,
    1825.3341162494012,
    24532.877802726118,
    185579.41137666508,
    829007.8999624935,
    2231793.420227907,
    3627784.0311893816,
    3510798.727677864,
    1959354.5907492647,
    596109.8507237978,
    89756.46436116478,
    5593.217860259008,
    95.50158340520954,
)
# Of pi x f(x) and pi**2 x**3 g(x) in (1.6/x)**4 for x > 1.6, f and g of Abramowitz and Stegun 7.3.5
# and 7.3.6; the relative error is at most 1e-16 and 2e-15.
_FAR = 1.6
_FRESNEL_F_ABOVE = (
    0.9999999999999999,
    60.771454484816395,
    1415.6653567933702,
    16647.979383616486,
    109556.25182505997,
    422585.8475116783,
    972578.6626900873,
    1333136.9927941333,
    1067012.2632319105,
    478595.0865663155,
    111902.24471479762,
    11995.248389120568,
    456.4844222994212,
    3.0552749405751323,
)
_FRESNEL_F_BELOW = (
    1.0,
    60.81783564187903,
    1418.4610609103725,
    16712.281288684117,
    110298.00741102887,
    427330.1840224811,
    990139.0963062863,
    1371239.9964515753,
    1115064.4189800308,
    512781.5848300582,
    124859.99812739949,
    14358.121234045433,
    627.1690371781681,
    6.124893895156907,
)
_FRESNEL_G_ABOVE = (
    0.9999999999999963,
    65.65656106037072,
    1653.9228743763802,
    21044.673462326304,
    149862.9832579233,
    625209.9363549831,
    1554128.108245675,
    2294805.984738313,
    1969721.0464002192,
    940422.5361984172,
    231027.90089835122,
    25363.293610828194,
    925.721929734703,
    4.0962798965347265,
)
_FRESNEL_G_BELOW = (
    1.0,
    65.88846684567926,
    1668.976913793466,
    21417.33553675284,
    154483.73787753374,
    656913.7948910526,
    1679677.7318253214,
    2585388.729533392,
    2359406.6631321027,
    1234452.8606604058,
    349050.34471409605,
    48182.31519365793,
    2687.1731496033785,
    38.98898145946634,
)
# Of S(x) / x**3 and C(x) / x in (pi x**2 / 2)**2, by Abramowitz and Stegun 7.3.11 and 7.3.13.
_SINE_SERIES = tuple(
    (-1) ** k * (math.pi / 2) / (math.factorial(2 * k + 1) * (4 * k + 3)) for k in range(15)
)
_COSINE_SERIES = tuple((-1) ** k / (math.factorial(2 * k) * (4 * k + 1)) for k in range(15))


def _sici(x: Value) -> tuple[Value, Value]:
    """Return Si(x) and Ci(x)."""
    size = jnp.abs(x)
    is_near = size < 4
    square = jnp.where(is_near, size, 1.0) ** 2
    sine, cosine = jnp.zeros_like(x), jnp.zeros_like(x)
    for k in range(15, -1, -1):
        sine = sine * -square + 1 / ((2 * k + 1) * math.factorial(2 * k + 1))
        cosine = cosine * -square + 1 / ((2 * k + 2) * math.factorial(2 * k + 2))
    log_size = jnp.log(jnp.where(size > 0, size, 1.0))
    near_cosine = jnp.where(size > 0, _EULER + log_size - square * cosine, -jnp.inf)
    far = jnp.where(is_near | jnp.isinf(size), 4.0, size)
    inverse = (4 / far) ** 2
    f = horner(inverse, _SICI_F_ABOVE) / (horner(inverse, _SICI_F_BELOW) * far)
    g = horner(inverse, _SICI_G_ABOVE) / (horner(inverse, _SICI_G_BELOW) * far * far)
    far_cosine = f * jnp.sin(far) - g * jnp.cos(far)
    value_cosine = jnp.where(is_near, near_cosine, jnp.where(jnp.isinf(size), 0.0, far_cosine))
    less = jnp.where(jnp.isinf(size), 0.0, f * jnp.cos(far) + g * jnp.sin(far))
    value_sine = jnp.sign(x) * jnp.where(is_near, size * sine, math.pi / 2 - less)
    return value_sine, jnp.where(x == -jnp.inf, jnp.nan, value_cosine)


_sine_integral = wide_function(
    "sine_integral",
    lambda x: _sici(x)[0],
    [lambda t, out, x: t * jnp.where(x == 0, 1.0, jnp.sin(x) / jnp.where(x == 0, 1.0, x))],
    lambda x: scipy_special.sici(x)[0],
)
_cosine_integral = wide_function(
    "cosine_integral",
    lambda x: _sici(x)[1],
    [lambda t, out, x: t * jnp.cos(x) / x],
    lambda x: scipy_special.sici(x)[1],
)


def sici(x: Any) -> tuple[Value, Value]:
    """Return Si(x) and Ci(x), the sine and cosine integrals; for negative x, Ci is Ci(-x).

    x: (n,) -> (n,), (n,)

    >>> jax.scipy.special.sici(jnp.array([0.5]))[0].round(3)
    Array([0.493], dtype=float32)
    """
    return _sine_integral(x), _cosine_integral(x)


def _fresnel(x: Value) -> tuple[Value, Value]:
    """Return S(x) and C(x)."""
    size = jnp.abs(x)
    is_near = size < _FAR
    near = jnp.where(is_near, size, 1.0)
    phase = (near * near * (math.pi / 2)) ** 2
    near_sine = near**3 * horner(phase, _SINE_SERIES)
    near_cosine = near * horner(phase, _COSINE_SERIES)
    # There f and g are less than an ulp of 1/2, and the angle would overflow.
    is_far = size > 1e18
    far = jnp.where(is_near | is_far, _FAR, size)
    inverse = (_FAR / far) ** 4
    f = horner(inverse, _FRESNEL_F_ABOVE) / (horner(inverse, _FRESNEL_F_BELOW) * (math.pi * far))
    g = horner(inverse, _FRESNEL_G_ABOVE) / (
        horner(inverse, _FRESNEL_G_BELOW) * (math.pi**2 * far**3)
    )
    angle = jnp.remainder(far * far, 4.0) * (math.pi / 2)
    sine, cosine = jnp.sin(angle), jnp.cos(angle)
    far_sine = 0.5 - jnp.where(is_far, 0.0, f * cosine + g * sine)
    far_cosine = 0.5 + jnp.where(is_far, 0.0, f * sine - g * cosine)
    sign = jnp.sign(x)
    return (
        sign * jnp.where(is_near, near_sine, far_sine),
        sign * jnp.where(is_near, near_cosine, far_cosine),
    )


_fresnel_s = wide_function(
    "fresnel_s",
    lambda x: _fresnel(x)[0],
    [lambda t, out, x: t * jnp.sin(math.pi / 2 * x * x)],
    lambda x: scipy_special.fresnel(x)[0],
)
_fresnel_c = wide_function(
    "fresnel_c",
    lambda x: _fresnel(x)[1],
    [lambda t, out, x: t * jnp.cos(math.pi / 2 * x * x)],
    lambda x: scipy_special.fresnel(x)[1],
)


def fresnel(x: Any) -> tuple[Value, Value]:
    """Return S(x) and C(x), the integrals of sin(pi t**2 / 2) and cos(pi t**2 / 2) up to x.

    x: (n,) -> (n,), (n,)

    >>> jax.scipy.special.fresnel(jnp.array([0.5]))[0].round(3)
    Array([0.065], dtype=float32)
    """
    if jnp.iscomplexobj(x):
        raise NotImplementedError("fresnel takes real numbers, got complex ones.")
    return _fresnel_s(x), _fresnel_c(x)
