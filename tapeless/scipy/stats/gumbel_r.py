"""The Gumbel distribution of largest values: exp(-x - exp(-x))."""

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

    >>> jax.scipy.stats.gumbel_r.logpdf(jnp.array([0.25, 0.5])).round(3)
    Array([-1.029, -1.107], dtype=float32)
    """
    x, loc, scale = promote_args_inexact("gumbel_r.logpdf", x, loc, scale)
    z = (x - loc) / scale
    return -z - jnp.exp(-z) - jnp.log(scale)


def pdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the density.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.gumbel_r.pdf(jnp.array([0.25, 0.5])).round(3)
    Array([0.357, 0.331], dtype=float32)
    """
    return jnp.exp(logpdf(x, loc, scale))


def logcdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `cdf`.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.gumbel_r.logcdf(jnp.array([0.25, 0.5])).round(3)
    Array([-0.779, -0.607], dtype=float32)
    """
    x, loc, scale = promote_args_inexact("gumbel_r.logcdf", x, loc, scale)
    z = (x - loc) / scale
    return -jnp.exp(-z)


def cdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number up to x.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.gumbel_r.cdf(jnp.array([0.25, 0.5])).round(3)
    Array([0.459, 0.545], dtype=float32)
    """
    return jnp.exp(logcdf(x, loc, scale))


def sf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number above x.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.gumbel_r.sf(jnp.array([0.25, 0.5])).round(3)
    Array([0.541, 0.455], dtype=float32)
    """
    return -jnp.expm1(logcdf(x, loc, scale))


def logsf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `sf`.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.gumbel_r.logsf(jnp.array([0.25, 0.5])).round(3)
    Array([-0.614, -0.788], dtype=float32)
    """
    return jnp.log(sf(x, loc, scale))


def ppf(
    p: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the inverse of `cdf`.

    p, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.gumbel_r.ppf(jnp.array([0.25, 0.5])).round(3)
    Array([-0.327,  0.367], dtype=float32)
    """
    p, loc, scale = promote_args_inexact("gumbel_r.ppf", p, loc, scale)
    return loc - scale * jnp.log(-jnp.log(p))
