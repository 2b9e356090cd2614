"""The exponential distribution: exp(-x) on x >= 0."""

from __future__ import annotations

from typing import Any

from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import promote_args_inexact

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of the density; -inf outside of the support.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.expon.logpdf(jnp.array([0.25, 0.5])).round(3)
    Array([-0.25, -0.5 ], dtype=float32)
    """
    x, loc, scale = promote_args_inexact("expon.logpdf", x, loc, scale)
    z = (x - loc) / scale
    return jnp.where(z < 0, -jnp.inf, -z - jnp.log(scale))


def pdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the density.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.expon.pdf(jnp.array([0.25, 0.5])).round(3)
    Array([0.779, 0.607], dtype=float32)
    """
    return jnp.exp(logpdf(x, loc, scale))


def cdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number up to x.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.expon.cdf(jnp.array([0.25, 0.5])).round(3)
    Array([0.221, 0.393], dtype=float32)
    """
    x, loc, scale = promote_args_inexact("expon.cdf", x, loc, scale)
    return -jnp.expm1(-jnp.maximum((x - loc) / scale, 0))


def logcdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `cdf`.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.expon.logcdf(jnp.array([0.25, 0.5])).round(3)
    Array([-1.509, -0.933], dtype=float32)
    """
    x, loc, scale = promote_args_inexact("expon.logcdf", x, loc, scale)
    z = jnp.maximum((x - loc) / scale, 0)
    return jnp.log(-jnp.expm1(-z))


def sf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number above x.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.expon.sf(jnp.array([0.25, 0.5])).round(3)
    Array([0.779, 0.607], dtype=float32)
    """
    x, loc, scale = promote_args_inexact("expon.sf", x, loc, scale)
    return jnp.exp(-jnp.maximum((x - loc) / scale, 0))


def logsf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `sf`.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.expon.logsf(jnp.array([0.25, 0.5])).round(3)
    Array([-0.25, -0.5 ], dtype=float32)
    """
    x, loc, scale = promote_args_inexact("expon.logsf", x, loc, scale)
    return -jnp.maximum((x - loc) / scale, 0)


def ppf(
    q: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the inverse of `cdf`.

    q, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.expon.ppf(jnp.array([0.25, 0.5])).round(3)
    Array([0.288, 0.693], dtype=float32)
    """
    q, loc, scale = promote_args_inexact("expon.ppf", q, loc, scale)
    value = loc - scale * jnp.log1p(-q)
    return jnp.where((q < 0) | (q > 1), jnp.nan, value)
