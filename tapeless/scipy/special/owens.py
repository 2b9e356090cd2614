"""Owen's T function, T(h, a) = P(X > h and 0 < Y < a X) for independent normal X and Y.

For 0 <= a <= 1 it is

    T(h, a) = exp(-h**2/2) / (2 pi) * integral of exp(-h**2 x**2 / 2) / (1 + x**2), x from 0 to a

where a polynomial in x**2 stands for the inverse of 1 + x**2. With y = (h a)**2 / 2 what is left
are the moments

    J_i = integral of u**(2i) exp(-y u**2), u from 0 to 1,
    (2 i - 1) J_(i-1) = 2 y J_i + exp(-y)

by which they are found downwards from where J_i hardly matters if y is small, and else upwards from
J_0, which is an error function. Greater a go back to smaller ones by T(h, a) + T(a h, 1/a) = a
product of normal distributions. Whatever the arguments, there are two exponentials, of half the
squares of h and a h, and two scaled error functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapeless import config, lax
from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.prims.fused import fused_add
from tapeless.scipy.special.scaled import erfcx_of_positive, erfcx_of_positive_short
from tapeless.scipy.special.wide import wide_function
from tapeless.util import lazy
from tapeless.util.records import record

__all__ = ["owens_t"]

scipy_special = lazy.load("scipy.special")
# 1 / (1 + s) by powers of s, 0 <= s <= 1: dev/fits/remez.py, "inverses".
_INVERSES = (
    1.0,
    -0.9999999999999721,
    0.9999999999954908,
    -0.9999999997086636,
    0.9999999899764184,
    -0.999999787534714,
    0.9999969716222917,
    -0.9999692445927436,
    0.9997682166474554,
    -0.9986645010972757,
    0.9939823057715028,
    -0.9784151963235711,
    0.9374662034837102,
    -0.8517870505176361,
    0.7089867414137373,
    -0.5198975963133455,
    0.3224199124035004,
    -0.16190234047062516,
    0.0625338835495051,
    -0.017302015559930776,
    0.003036553368944161,
    -0.0002530461140786801,
)
_INVERSES_SHORT = (
    0.9999999986993882,
    -0.9999996240602576,
    0.9999817639548293,
    -0.9996483424969207,
    0.99643296869036,
    -0.9781400592480507,
    0.9121720845721362,
    -0.7555843323084059,
    0.507648944664142,
    -0.2483669002331953,
    0.07642074663494676,
    -0.010917249519278109,
)


@record
class _Terms:
    """How the moments are found: downwards from `first` for y < `most`, else upwards."""

    inverses: Sequence[float]
    most: float
    first: int


_TERMS = _Terms(_INVERSES, 10.0, 48)
_TERMS_SHORT = _Terms(_INVERSES_SHORT, 2.0, 22)


def _downwards(y: Value, square: Value, decay: Value, terms: _Terms) -> Value:
    """Return the sum of inverses[i] square**i J_i for small y; decay: exp(-y)."""
    double, moments = 2 * y, [decay * (1 / (2 * terms.first + 1))]
    for i in range(terms.first, 0, -1):
        moments.append(fused_add(double * moments[-1], decay) * (1 / (2 * i - 1)))
    total, count = jnp.zeros_like(y), len(terms.inverses)
    for moment, number in zip(moments[-count:], terms.inverses[::-1], strict=True):
        total = fused_add(total * square, number * moment)
    return total


def _upwards(y: Value, square: Value, decay: Value, moment: Value, terms: _Terms) -> Value:
    """Return the same sum for large y; moment: J_0."""
    half, power = 0.5 / y, jnp.ones_like(y)
    less, total = -decay * half, terms.inverses[0] * moment
    for i, number in enumerate(terms.inverses[1:], 1):
        moment = fused_add((2 * i - 1) * half * moment, less)
        power = power * square
        total = fused_add(number * power * moment, total)
    return total


def _owens_t(h: Value, a: Value, terms: _Terms, erfcx_of_positive: Any) -> Value:
    """Return T(h, a) of float64."""
    size, slope = jnp.abs(h), jnp.abs(a)
    is_steep = slope > 1
    other = size * slope
    other = jnp.where(jnp.isnan(other), 0.0, other)
    # Of more than 60 all is zero.
    small = jnp.minimum(jnp.minimum(size, other) * math.sqrt(0.5), 60.0)
    large = jnp.minimum(jnp.maximum(size, other) * math.sqrt(0.5), 60.0)
    decays = jnp.exp(-small * small), jnp.exp(-large * large)
    p, q = (
        decay * erfcx_of_positive(x) / 2 for decay, x in zip(decays, (small, large), strict=True)
    )
    inner = jnp.where(is_steep, 1 / jnp.where(is_steep, slope, 1.0), slope)
    y, square = small * small, inner * inner
    is_small = y < terms.most
    first = (0.5 - p) * math.sqrt(math.pi) / jnp.where(is_small, 1.0, small)
    down = _downwards(jnp.where(is_small, y, 0.0), square, decays[0], terms)
    up = _upwards(jnp.where(is_small, 1.0, y), square, decays[0], first, terms)
    # Choices between numbers, not between ways, which would take rows apart.
    share = jnp.where(is_small, 1.0, 0.0)
    part = decays[1] * inner * fused_add(share * down, (1 - share) * up) * (0.5 / math.pi)
    flip = jnp.where(is_steep, 1.0, 0.0)
    return jnp.sign(a) * (flip * ((p + q) / 2 - p * q) + (1 - 2 * flip) * part)


def _owens_t_of_single(h: Value, a: Value) -> Value:
    """Return T(h, a) of float32: (n,), (n,) -> (n,)."""
    with config.enable_x64(True):
        wide = h.astype("float64"), a.astype("float64")
        return _owens_t(*wide, _TERMS_SHORT, erfcx_of_positive_short).astype(h.dtype)


_owens_t_function = wide_function(
    "owens_t",
    lambda h, a: _owens_t(h, a, _TERMS, erfcx_of_positive),
    [
        lambda t, out, h, a: (
            -t * jnp.exp(-h * h / 2) * lax.erf(a * h * math.sqrt(0.5)) / math.sqrt(8 * math.pi)
        ),
        lambda t, out, h, a: t * jnp.exp(-h * h * (1 + a * a) / 2) / (2 * math.pi * (1 + a * a)),
    ],
    lambda *args: scipy_special.owens_t(*args),
    narrow=_owens_t_of_single,
)


def owens_t(h: Any, a: Any) -> Value:
    """Return the probability of X > h and 0 < Y < a X for independent normal X and Y.

    h, a: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.special.owens_t(jnp.array([0.5, 2.0]), 1.5).round(3)
    Array([0.13 , 0.011], dtype=float32)
    """
    return _owens_t_function(h, a)
