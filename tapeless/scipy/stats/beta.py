"""The beta distribution: x**(a-1) (1-x)**(b-1) / B(a, b) on [0, 1]."""

from __future__ import annotations

from typing import Any

from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import strong_args_inexact
from tapeless.scipy import special

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def logpdf(
    x: Any,
    a: Any,
    b: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of the density; -inf outside of the support.

    x, a, b, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.beta.logpdf(jnp.array([0.25, 0.5]), 2.0, 3.0).round(3)
    Array([0.523, 0.405], dtype=float32)
    """
    x, a, b, loc, scale = strong_args_inexact("beta.logpdf", x, a, b, loc, scale)
    z = (x - loc) / scale
    inside = (z >= 0) & (z <= 1)
    y = jnp.where(inside, z, 0.5)
    value = special.xlogy(a - 1, y) + special.xlog1py(b - 1, -y) - special.betaln(a, b)
    value = jnp.where(inside, value - jnp.log(scale), -jnp.inf)
    return jnp.where((a <= 0) | (b <= 0) | (scale <= 0), jnp.nan, value)


def pdf(
    x: Any,
    a: Any,
    b: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the density.

    x, a, b, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.beta.pdf(jnp.array([0.25, 0.5]), 2.0, 3.0).round(3)
    Array([1.688, 1.5  ], dtype=float32)
    """
    return jnp.exp(logpdf(x, a, b, loc, scale))


def cdf(
    x: Any,
    a: Any,
    b: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number up to x.

    x, a, b, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.beta.cdf(jnp.array([0.25, 0.5]), 2.0, 3.0).round(3)
    Array([0.262, 0.688], dtype=float32)
    """
    x, a, b, loc, scale = strong_args_inexact("beta.cdf", x, a, b, loc, scale)
    return special.betainc(a, b, jnp.clip((x - loc) / scale, 0, 1))


def logcdf(
    x: Any,
    a: Any,
    b: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `cdf`.

    x, a, b, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.beta.logcdf(jnp.array([0.25, 0.5]), 2.0, 3.0).round(3)
    Array([-1.34 , -0.375], dtype=float32)
    """
    return jnp.log(cdf(x, a, b, loc, scale))


def sf(
    x: Any,
    a: Any,
    b: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number above x.

    x, a, b, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.beta.sf(jnp.array([0.25, 0.5]), 2.0, 3.0).round(3)
    Array([0.738, 0.312], dtype=float32)
    """
    x, a, b, loc, scale = strong_args_inexact("beta.sf", x, a, b, loc, scale)
    return special.betainc(b, a, 1 - jnp.clip((x - loc) / scale, 0, 1))


def logsf(
    x: Any,
    a: Any,
    b: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `sf`.

    x, a, b, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.beta.logsf(jnp.array([0.25, 0.5]), 2.0, 3.0).round(3)
    Array([-0.303, -1.163], dtype=float32)
    """
    return jnp.log(sf(x, a, b, loc, scale))
