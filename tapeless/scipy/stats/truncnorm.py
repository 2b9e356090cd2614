"""The normal distribution, truncated to a <= (x - loc) / scale <= b."""

from __future__ import annotations

from typing import Any

from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import promote_args_inexact
from tapeless.scipy import special
from tapeless.scipy.stats import norm

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def _log_mass(a: Value, b: Value) -> Value:
    """Return the logarithm of the normal probability of [a, b], from the side where it is small."""
    flipped = a > 0
    low, high = jnp.where(flipped, -b, a), jnp.where(flipped, -a, b)
    upper, lower = special.log_ndtr(high), special.log_ndtr(low)
    # Across zero: 1 minus both tails.
    across = jnp.log1p(-special.ndtr(low) - special.ndtr(-high))
    gap = jnp.where(lower < upper, lower - upper, -1.0)
    return jnp.where((low <= 0) & (high > 0), across, upper + jnp.log1p(-jnp.exp(gap)))


def logpdf(
    x: Any,
    a: Any,
    b: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of the density; -inf outside of the support.

    x, a, b, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.truncnorm.logpdf(jnp.array([0.0, 1.0]), -1.0, 2.0).round(3)
    Array([-0.719, -1.219], dtype=float32)
    """
    x, a, b, loc, scale = promote_args_inexact("truncnorm.logpdf", x, a, b, loc, scale)
    z = (x - loc) / scale
    value = norm.logpdf(z) - _log_mass(a, b) - jnp.log(scale)
    value = jnp.where((z < a) | (z > b), -jnp.inf, value)
    return jnp.where(a >= b, jnp.nan, value)


def pdf(
    x: Any,
    a: Any,
    b: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the density.

    x, a, b, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.truncnorm.pdf(jnp.array([0.0, 1.0]), -1.0, 2.0).round(3)
    Array([0.487, 0.296], dtype=float32)
    """
    return jnp.exp(logpdf(x, a, b, loc, scale))


def logcdf(
    x: Any,
    a: Any,
    b: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `cdf`.

    x, a, b, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.truncnorm.logcdf(jnp.array([0.0, 1.0]), -1.0, 2.0).round(3)
    Array([-0.875, -0.182], dtype=float32)
    """
    x, a, b, loc, scale = promote_args_inexact("truncnorm.logcdf", x, a, b, loc, scale)
    z = jnp.clip((x - loc) / scale, a, b)
    value = _log_mass(a, z) - _log_mass(a, b)
    value = jnp.where(z <= a, -jnp.inf, jnp.where(z >= b, 0, value))
    return jnp.where(a >= b, jnp.nan, value)


def cdf(
    x: Any,
    a: Any,
    b: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number up to x.

    x, a, b, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.truncnorm.cdf(jnp.array([0.0, 1.0]), -1.0, 2.0).round(3)
    Array([0.417, 0.834], dtype=float32)
    """
    return jnp.exp(logcdf(x, a, b, loc, scale))


def logsf(
    x: Any,
    a: Any,
    b: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `sf`.

    x, a, b, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.truncnorm.logsf(jnp.array([0.0, 1.0]), -1.0, 2.0).round(3)
    Array([-0.54 , -1.796], dtype=float32)
    """
    x, a, b, loc, scale = promote_args_inexact("truncnorm.logsf", x, a, b, loc, scale)
    return logcdf(-x, -b, -a, -loc, scale)


def sf(
    x: Any,
    a: Any,
    b: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number above x.

    x, a, b, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.truncnorm.sf(jnp.array([0.0, 1.0]), -1.0, 2.0).round(3)
    Array([0.583, 0.166], dtype=float32)
    """
    return jnp.exp(logsf(x, a, b, loc, scale))
