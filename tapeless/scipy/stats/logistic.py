"""The logistic distribution: exp(-x) / (1 + exp(-x))**2."""

from __future__ import annotations

from typing import Any

from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import promote_args_inexact, strong_args_inexact
from tapeless.scipy import special

__all__ = ["cdf", "isf", "logpdf", "pdf", "ppf", "sf"]


def logpdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of the density.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.logistic.logpdf(jnp.array([0.25, 0.5])).round(3)
    Array([-1.402, -1.448], dtype=float32)
    """
    x, loc, scale = strong_args_inexact("logistic.logpdf", x, loc, scale)
    half = (x - loc) / (2 * scale)
    return -2 * jnp.logaddexp(half, -half) - jnp.log(scale)


def pdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the density.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.logistic.pdf(jnp.array([0.25, 0.5])).round(3)
    Array([0.246, 0.235], dtype=float32)
    """
    return jnp.exp(logpdf(x, loc, scale))


def cdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number up to x.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.logistic.cdf(jnp.array([0.25, 0.5])).round(3)
    Array([0.562, 0.622], dtype=float32)
    """
    x, loc, scale = promote_args_inexact("logistic.cdf", x, loc, scale)
    return special.expit((x - loc) / scale)


def sf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number above x.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.logistic.sf(jnp.array([0.25, 0.5])).round(3)
    Array([0.438, 0.378], dtype=float32)
    """
    x, loc, scale = promote_args_inexact("logistic.sf", x, loc, scale)
    return special.expit((loc - x) / scale)


def ppf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the inverse of `cdf`.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.logistic.ppf(jnp.array([0.25, 0.5])).round(3)
    Array([-1.099,  0.   ], dtype=float32)
    """
    x, loc, scale = promote_args_inexact("logistic.ppf", x, loc, scale)
    return special.logit(x) * scale + loc


def isf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the inverse of `sf`.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.logistic.isf(jnp.array([0.25, 0.5])).round(3)
    Array([1.099, 0.   ], dtype=float32)
    """
    x, loc, scale = promote_args_inexact("logistic.isf", x, loc, scale)
    return -special.logit(x) * scale + loc
