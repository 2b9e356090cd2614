"""The Gumbel distribution of smallest values: exp(x - exp(x))."""

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
    """Return the logarithm of the density.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.gumbel_l.logpdf(jnp.array([0.25, 0.5])).round(3)
    Array([-1.034, -1.149], dtype=float32)
    """
    x, loc, scale = promote_args_inexact("gumbel_l.logpdf", x, loc, scale)
    z = (loc - x) / scale
    return -z - jnp.exp(-z) - jnp.log(scale)


def pdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the density.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.gumbel_l.pdf(jnp.array([0.25, 0.5])).round(3)
    Array([0.356, 0.317], dtype=float32)
    """
    return jnp.exp(logpdf(x, loc, scale))


def logsf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `sf`.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.gumbel_l.logsf(jnp.array([0.25, 0.5])).round(3)
    Array([-1.284, -1.649], dtype=float32)
    """
    x, loc, scale = promote_args_inexact("gumbel_l.logsf", x, loc, scale)
    z = (loc - x) / scale
    return -jnp.exp(-z)


def sf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number above x.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.gumbel_l.sf(jnp.array([0.25, 0.5])).round(3)
    Array([0.277, 0.192], dtype=float32)
    """
    return jnp.exp(logsf(x, loc, scale))


def cdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number up to x.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.gumbel_l.cdf(jnp.array([0.25, 0.5])).round(3)
    Array([0.723, 0.808], dtype=float32)
    """
    return -jnp.expm1(logsf(x, loc, scale))


def logcdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `cdf`.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.gumbel_l.logcdf(jnp.array([0.25, 0.5])).round(3)
    Array([-0.324, -0.214], dtype=float32)
    """
    return jnp.log(cdf(x, loc, scale))


def ppf(
    p: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the inverse of `cdf`.

    p, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.gumbel_l.ppf(jnp.array([0.25, 0.5])).round(3)
    Array([-1.246, -0.367], dtype=float32)
    """
    p, loc, scale = promote_args_inexact("gumbel_l.ppf", p, loc, scale)
    return loc + scale * jnp.log(-jnp.log1p(-p))
