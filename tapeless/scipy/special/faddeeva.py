"""The Faddeeva function and Dawson's integral.

    w(z) = exp(-z**2) erfc(-i z)        dawsn(x) = sqrt(pi)/2 Im w(x)

In the upper half plane, w is a polynomial in Z = (L + i z)/(L - i z) by Weideman's expansion, and
far away its asymptotic series in 1/z**2. Both have real coefficients, so that a step of the sum at
a complex place takes two real products (Goertzel). w(-z) = 2 exp(-z**2) - w(z) gives the lower
half.

Dawson's integral over x is one quotient of polynomials in x**2 on the whole half line, whose
coefficients are all positive, so that nothing cancels. They meet the function at Chebyshev points
of (x**2 - c)/(x**2 + c) (they were found in 70 digits; c = 8, and 6 for the short one).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from tapeless import config, lax
from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.prims.fused import fused_add
from tapeless.scipy.special.wide import horner, wide_function
from tapeless.util import lazy

__all__ = ["dawsn", "wofz"]

scipy_special = lazy.load("scipy.special")
_SQRT_PI = math.sqrt(math.pi)
_FAR = 8.0  # from there on w is its asymptotic series
_LAST = 2.0**24  # from there on Dawson's integral is 1 / (2 x)
_HUGE = 1e100  # squares of more may overflow


def _weideman(n: int) -> tuple[float, list[float]]:
    """Return L and the coefficients of Weideman's expansion with n terms."""
    m = 2 * n
    theta = np.arange(1 - m, m) * np.pi / m
    scale = math.sqrt(n / math.sqrt(2))
    t = scale * np.tan(theta / 2)
    f = np.concatenate([[0.0], np.exp(-t * t) * (scale * scale + t * t)])
    spectrum = np.real(np.fft.fft(np.fft.fftshift(f))) / (2 * m)
    return scale, spectrum[1 : n + 1].tolist()


_SCALE, _COEFFICIENTS = _weideman(40)
# sqrt(pi) z w(z) / i by powers of 1 / z**2.
_SERIES = tuple(math.prod(range(1, 2 * k, 2)) / 2**k for k in range(18))


def _complex_horner(x: Value, y: Value, coefficients: Sequence[Value]) -> tuple[Value, Value]:
    """Return the real and the imaginary part of the sum of coefficients[k] (x + i y)**k.

    The polynomial is divided by the one whose roots are x + i y and x - i y.
    """
    double, less = 2 * x, -(x * x + y * y)
    total, before = coefficients[-1], jnp.zeros_like(x)
    for coefficient in coefficients[-2::-1]:
        rest = fused_add(less * before, coefficient)
        total, before = fused_add(double * total, rest), total
    return total - before * x, before * y


def _upper_wofz(x: Value, y: Value) -> tuple[Value, Value]:
    """Return both parts of w(x + i y) for y >= 0, by one division and one sum.

    Both ways are (factor * sum + rest) / bottom, where the sum is a polynomial at a place:

        way     bottom     place          factor        rest
        near    L - i z    Z              2 / bottom    1 / sqrt(pi)
        far     z          1 / z**2       i / sqrt(pi)  0
    """
    is_huge = jnp.maximum(jnp.abs(x), y) > _HUGE
    scale = jnp.where(is_huge, _HUGE**-2, 1.0)
    x = jnp.clip(x * scale, -(_HUGE**1.5), _HUGE**1.5)
    y = jnp.minimum(y * scale, _HUGE**1.5)
    size = x * x + y * y
    is_far = is_huge | (size > _FAR**2)
    below = jnp.where(is_far, x, _SCALE + y)
    beside = jnp.where(is_far, -y, x)
    inverse = 1 / (below * below + beside * beside)
    u, v = below * inverse, beside * inverse
    square = inverse * jnp.where(is_huge, 0.0, inverse)  # of which nothing is seen then
    place_x = jnp.where(
        is_far, (below * below - beside * beside) * square, (_SCALE * _SCALE - size) * inverse
    )
    place_y = jnp.where(is_far, 2 * below * beside * square, 2 * _SCALE * v)
    re, im = _complex_horner(
        place_x,
        place_y,
        [
            jnp.where(is_far, far, near)
            for near, far in zip_longest(_COEFFICIENTS, _SERIES, fillvalue=0.0)
        ],
    )
    factor_x = jnp.where(is_far, 0.0, 2 * u)
    factor_y = jnp.where(is_far, 1 / _SQRT_PI, 2 * v)
    value_x = re * factor_x - im * factor_y + jnp.where(is_far, 0.0, 1 / _SQRT_PI)
    value_y = re * factor_y + im * factor_x
    u, v = u * scale, v * scale
    return value_x * u - value_y * v, value_x * v + value_y * u


def _wofz(z: Value) -> Value:
    """Return w(z)."""
    x, y = lax.real(z), lax.imag(z)
    is_lower = y < 0
    upper = lax.complex(*_upper_wofz(jnp.where(is_lower, -x, x), jnp.abs(y)))
    square = jnp.where(is_lower, z * z, 0)
    return jnp.where(is_lower, 2 * jnp.exp(-square) - upper, upper)


_wofz_function = wide_function(
    "wofz",
    _wofz,
    [lambda t, out, z: t * (2j / _SQRT_PI - 2 * z * out)],
    lambda *args: scipy_special.wofz(*args),
    is_complex=True,
)


def wofz(z: Any) -> Value:
    """Return the Faddeeva function w(z) = exp(-z**2) erfc(-i z).

    z: (n,) -> (n,)

    >>> wofz(1j)
    Array(0.42758358+0.j, dtype=complex64)
    """
    return _wofz_function(z)


_DAWSON_ABOVE = (
    1.0,
    2.0272481206086246,
    0.09660171089440132,
    0.08814824287134104,
    0.008554908531244569,
    0.0014261341619832798,
    0.0001372366867312912,
    1.2822971191989218e-05,
    9.808619462817302e-07,
    6.657986756712798e-08,
    3.9605427115715525e-09,
    2.0923331678409865e-10,
    9.844305469159316e-12,
    4.136717473427272e-13,
    1.55281879747177e-14,
    5.19545669245702e-16,
    1.5410394231233672e-17,
    4.011973524194983e-19,
    9.007901392478553e-21,
    1.6927259134303076e-22,
    2.4790924219826184e-24,
    2.587360247995171e-26,
)
_DAWSON_BELOW = (
    1.0,
    2.693914787275291,
    1.6258782357445956,
    0.5298802662848032,
    0.1165603233837408,
    0.019175196505140334,
    0.002501035920703466,
    0.00026847930118621807,
    2.4334605165541025e-05,
    1.8967196807200557e-06,
    1.2884116252905327e-07,
    7.702627395780687e-09,
    4.081423433995849e-10,
    1.9258153342894323e-11,
    8.112516215312933e-13,
    3.052033321839534e-14,
    1.0232555150864868e-15,
    3.041013603600877e-17,
    7.932110936473259e-19,
    1.7843986417341458e-20,
    3.3604021666151332e-22,
    4.932311241485303e-24,
    5.174720495990342e-26,
)
_DAWSON_ABOVE_SHORT = (
    0.9999999999998676,
    2.079445286097303,
    0.20210067736759682,
    0.0924104187175985,
    0.012842754665223083,
    0.0018188138827426525,
    0.0001961757829552713,
    1.785939472617652e-05,
    1.338576700045983e-06,
    9.151769090896117e-08,
    3.52362968017769e-09,
    3.03543209275379e-10,
)
_DAWSON_BELOW_SHORT = (
    1.0,
    2.746111952741019,
    1.766175313145213,
    0.6137545767608217,
    0.14332878034918145,
    0.02485248102121725,
    0.0033824507468697357,
    0.0003735487877728622,
    3.4269775686162376e-05,
    2.5813973532042434e-06,
    1.792080802006503e-07,
    6.7437162874140686e-09,
    6.070864185287967e-10,
)


def _dawsn(x: Value) -> Value:
    """Return Dawson's integral of float64: (n,) -> (n,)."""
    return _dawson_quotient(x, _DAWSON_ABOVE, _DAWSON_BELOW)


def _dawsn_of_single(x: Value) -> Value:
    """Return Dawson's integral of float32: (n,) -> (n,)."""
    with config.enable_x64(True):
        wide = x.astype("float64")
        value = _dawson_quotient(wide, _DAWSON_ABOVE_SHORT, _DAWSON_BELOW_SHORT)
        return value.astype(x.dtype)


def _dawson_quotient(x: Value, above: Sequence[float], below: Sequence[float]) -> Value:
    """Return x times a quotient of polynomials in x**2; from where on it is 1 / (2 x), by that.

    There is no choice: one between polynomials would take rows apart.
    """
    size = jnp.clip(x, -_LAST, _LAST)
    square = size * size
    growth = jnp.maximum(jnp.abs(x) * (1 / _LAST), 1.0)
    scale = jnp.where(growth > 1, 2.0**-960, 1.0)  # of both parts, which would overflow
    return size * scale * horner(square, above) / (horner(square, below) * (growth * scale))


_dawsn_function = wide_function(
    "dawsn",
    _dawsn,
    [lambda t, out, x: t * (1 - 2 * x * out)],
    lambda *args: scipy_special.dawsn(*args),
    narrow=_dawsn_of_single,
)


def dawsn(x: Any) -> Value:
    """Return exp(-x**2) times the integral of exp(t**2), t from 0 to x.

    x: (n,) -> (n,)

    >>> jax.scipy.special.dawsn(jnp.array([0.25, 0.5])).round(3)
    Array([0.24 , 0.424], dtype=float32)
    """
    return _dawsn_function(x)
