"""The gamma distribution: x**(a-1) exp(-x) / gamma(a) on x >= 0."""

from __future__ import annotations

from typing import Any

from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import promote_args_inexact, strong_args_inexact
from tapeless.scipy import special

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def logpdf(
    x: Any,
    a: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of the density; -inf outside of the support.

    x, a, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.gamma.logpdf(jnp.array([1.0, 2.0]), 3.0).round(3)
    Array([-1.693, -1.307], dtype=float32)
    """
    x, a, loc, scale = strong_args_inexact("gamma.logpdf", x, a, loc, scale)
    z = (x - loc) / scale
    outside = z < 0
    y = jnp.where(outside, 1, z)
    value = special.xlogy(a - 1, y) - y - special.gammaln(a) - jnp.log(scale)
    return jnp.where(outside, -jnp.inf, value)


def pdf(
    x: Any,
    a: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the density.

    x, a, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.gamma.pdf(jnp.array([1.0, 2.0]), 3.0).round(3)
    Array([0.184, 0.271], dtype=float32)
    """
    return jnp.exp(logpdf(x, a, loc, scale))


def cdf(
    x: Any,
    a: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number up to x.

    x, a, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.gamma.cdf(jnp.array([1.0, 2.0]), 3.0).round(3)
    Array([0.08 , 0.323], dtype=float32)
    """
    x, a, loc, scale = strong_args_inexact("gamma.cdf", x, a, loc, scale)
    return special.gammainc(a, jnp.maximum((x - loc) / scale, 0))


def logcdf(
    x: Any,
    a: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `cdf`.

    x, a, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.gamma.logcdf(jnp.array([1.0, 2.0]), 3.0).round(3)
    Array([-2.522, -1.129], dtype=float32)
    """
    return jnp.log(cdf(x, a, loc, scale))


def sf(
    x: Any,
    a: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number above x.

    x, a, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.gamma.sf(jnp.array([1.0, 2.0]), 3.0).round(3)
    Array([0.92 , 0.677], dtype=float32)
    """
    x, a, loc, scale = promote_args_inexact("gamma.sf", x, a, loc, scale)
    return special.gammaincc(a, jnp.maximum((x - loc) / scale, 0))


def logsf(
    x: Any,
    a: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `sf`.

    x, a, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.gamma.logsf(jnp.array([1.0, 2.0]), 3.0).round(3)
    Array([-0.084, -0.391], dtype=float32)
    """
    return jnp.log(sf(x, a, loc, scale))
