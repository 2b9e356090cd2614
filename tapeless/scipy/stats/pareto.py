"""The Pareto distribution: b / x**(b+1) on x >= 1."""

from __future__ import annotations

from typing import Any

from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import strong_args_inexact

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(
    x: Any,
    b: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of the density; -inf outside of the support.

    x, b, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.pareto.logpdf(jnp.array([1.5, 2.0]), 2.0).round(3)
    Array([-0.523, -1.386], dtype=float32)
    """
    x, b, loc, scale = strong_args_inexact("pareto.logpdf", x, b, loc, scale)
    z = (x - loc) / scale
    outside = z < 1
    value = jnp.log(b / scale) - (b + 1) * jnp.log(jnp.where(outside, 1, z))
    return jnp.where(outside, -jnp.inf, value)


def pdf(
    x: Any,
    b: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the density.

    x, b, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.pareto.pdf(jnp.array([1.5, 2.0]), 2.0).round(3)
    Array([0.593, 0.25 ], dtype=float32)
    """
    return jnp.exp(logpdf(x, b, loc, scale))


def logsf(
    x: Any,
    b: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `sf`.

    x, b, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.pareto.logsf(jnp.array([1.5, 2.0]), 2.0).round(3)
    Array([-0.811, -1.386], dtype=float32)
    """
    x, b, loc, scale = strong_args_inexact("pareto.logsf", x, b, loc, scale)
    return -b * jnp.log(jnp.maximum((x - loc) / scale, 1))


def sf(
    x: Any,
    b: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number above x.

    x, b, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.pareto.sf(jnp.array([1.5, 2.0]), 2.0).round(3)
    Array([0.444, 0.25 ], dtype=float32)
    """
    return jnp.exp(logsf(x, b, loc, scale))


def cdf(
    x: Any,
    b: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number up to x.

    x, b, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.pareto.cdf(jnp.array([1.5, 2.0]), 2.0).round(3)
    Array([0.556, 0.75 ], dtype=float32)
    """
    return 0 - jnp.expm1(logsf(x, b, loc, scale))  # not negated: zeros of complex numbers are +0


def logcdf(
    x: Any,
    b: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `cdf`.

    x, b, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.pareto.logcdf(jnp.array([1.5, 2.0]), 2.0).round(3)
    Array([-0.588, -0.288], dtype=float32)
    """
    return jnp.log(cdf(x, b, loc, scale))


def ppf(
    q: Any,
    b: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the inverse of `cdf`.

    q, b, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.pareto.ppf(jnp.array([0.25, 0.5]), 2.0).round(3)
    Array([1.155, 1.414], dtype=float32)
    """
    q, b, loc, scale = strong_args_inexact("pareto.ppf", q, b, loc, scale)
    value = loc + scale * jnp.exp(-jnp.log1p(-q) / b)
    return jnp.where((q < 0) | (q > 1), jnp.nan, value)
