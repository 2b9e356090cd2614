"""The scaled complementary error function, erfcx(x) = exp(x**2) erfc(x).

For x >= 0 it falls from 1 to 1 / (sqrt(pi) x), and (1 + 2 x) erfcx(x) stays between 1 and 1.3. As a
function of

    t = (x - 15/4) / (x + 15/4)        from -1 at zero to 1 at infinity

that is one polynomial, whose coefficients fall off fast enough to lose nothing (Shepherd and
Laframboise, 1981). For negative x it is 2 exp(x**2) - erfcx(-x), where what the rounding of x**2
loses is put back.

A float32 takes the same way in float64, where its square is exact, with fewer coefficients.
"""

from __future__ import annotations

import math
from typing import Any

from tapeless import config
from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.prims.fused import fused_add
from tapeless.scipy.special.wide import horner, wide_function
from tapeless.util import lazy

__all__ = ["erfcx", "erfcx_of_double", "erfcx_of_positive", "erfcx_of_positive_short"]

scipy_special = lazy.load("scipy.special")
_MIDDLE = 3.75
# (1 + 2 x) erfcx(x) by powers of t, and the same for float32: dev/fits/remez.py, "shifted_erfcx".
_SHIFTED = (
    1.2375126308378275,
    -0.14024059858554697,
    0.003585415485464707,
    0.08227673849014668,
    -0.1088039301417627,
    0.09230432116033789,
    -0.058693398589367896,
    0.028362277419446268,
    -0.00974657956071533,
    0.0017556258495387198,
    0.00029371368136354894,
    -0.00029015406652804684,
    5.164904037123445e-05,
    2.238420167573845e-05,
    -1.1444003692672515e-05,
    -9.734943230690075e-07,
    1.7514065794699355e-06,
    -5.729289667636547e-08,
    -2.584216121091446e-07,
    2.3316808645147033e-08,
    3.850833961089126e-08,
    -3.7658678404095965e-09,
    -5.109206018123361e-09,
    3.1496496798765344e-10,
    4.1416686409510915e-10,
)
_SHIFTED_SHORT = (
    1.2375126307870101,
    -0.14024059941387723,
    0.0035854214635335836,
    0.08227677049914933,
    -0.10880404684855606,
    0.09230396593583283,
    -0.05869252030395763,
    0.02836400644115383,
    -0.009749869473702351,
    0.0017513239015400728,
    0.00030052746525967126,
    -0.00028444731004946566,
    4.3595273833386974e-05,
    1.8563568217230604e-05,
    -6.154815664465722e-06,
)


def erfcx_of_positive(size: Value) -> Value:
    """Return erfcx of float64 that are not negative: (n,) -> (n,)."""
    t = 1 - 2 * _MIDDLE / (size + _MIDDLE)
    return 0.5 * horner(t, _SHIFTED) / (0.5 + size)


def erfcx_of_positive_short(size: Value) -> Value:
    """Return erfcx of float64 that were float32 and are not negative, by one division."""
    size = jnp.minimum(size, 1e100)
    first, second = size + _MIDDLE, size + 0.5
    inverse = 1 / (first * second)
    t = 1 - (2 * _MIDDLE) * (second * inverse)
    return horner(t, _SHIFTED_SHORT) * (0.5 * first * inverse)


def erfcx_of_double(x: Value) -> Value:
    """Return erfcx of float64: (n,) -> (n,)."""
    value = erfcx_of_positive(jnp.abs(x))
    square = x * x
    growth = jnp.exp(square)
    more = growth * fused_add(x * x, -square)
    growth = jnp.where(jnp.isinf(growth), growth, growth + more)
    return jnp.where(x < 0, 2 * growth - value, value)


def _erfcx_of_single(x: Value) -> Value:
    """Return erfcx of float32: (n,) -> (n,)."""
    with config.enable_x64(True):
        wide = x.astype("float64")
        value = erfcx_of_positive_short(jnp.abs(wide))
        return jnp.where(wide < 0, 2 * jnp.exp(wide * wide) - value, value).astype(x.dtype)


_erfcx_function = wide_function(
    "erfcx",
    erfcx_of_double,
    [lambda t, out, x: t * (2 * x * out - 2 / math.sqrt(math.pi))],
    lambda *args: scipy_special.erfcx(*args),
    narrow=_erfcx_of_single,
)


def erfcx(x: Any) -> Value:
    """Return exp(x**2) erfc(x).

    x: (n,) -> (n,)

    >>> erfcx(100.0)
    Array(0.00564161, dtype=float32)
    """
    return _erfcx_function(x)
