"""The Cauchy distribution: 1 / (pi (1 + x**2))."""

from __future__ import annotations

import math
from typing import Any

from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import strong_args_inexact

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of the density.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.cauchy.logpdf(jnp.array([0.25, 0.5])).round(3)
    Array([-1.205, -1.368], dtype=float32)
    """
    x, loc, scale = strong_args_inexact("cauchy.logpdf", x, loc, scale)
    z = (x - loc) / scale
    return -jnp.log(jnp.multiply(math.pi, scale)) - _log1p_square(z)


def _log1p_square(z: Value) -> Value:
    """Return log(1 + z^2), where the square of a real number may overflow."""
    if jnp.iscomplexobj(z):
        return jnp.log1p(z * z)
    near = jnp.abs(z) <= 1
    safe = jnp.where(near, 1, z)
    small = jnp.where(near, z, 1 / safe)
    return jnp.log1p(small * small) + 2 * jnp.log(jnp.abs(safe))


def pdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the density.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.cauchy.pdf(jnp.array([0.25, 0.5])).round(3)
    Array([0.3  , 0.255], dtype=float32)
    """
    return jnp.exp(logpdf(x, loc, scale))


def cdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number up to x.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.cauchy.cdf(jnp.array([0.25, 0.5])).round(3)
    Array([0.578, 0.648], dtype=float32)
    """
    x, loc, scale = strong_args_inexact("cauchy.cdf", x, loc, scale)
    return jnp.arctan2(scale, loc - x) / math.pi


def logcdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `cdf`.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.cauchy.logcdf(jnp.array([0.25, 0.5])).round(3)
    Array([-0.548, -0.435], dtype=float32)
    """
    return jnp.log(cdf(x, loc, scale))


def sf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number above x.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.cauchy.sf(jnp.array([0.25, 0.5])).round(3)
    Array([0.422, 0.352], dtype=float32)
    """
    x, loc, scale = strong_args_inexact("cauchy.sf", x, loc, scale)
    return jnp.arctan2(scale, x - loc) / math.pi


def logsf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `sf`.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.cauchy.logsf(jnp.array([0.25, 0.5])).round(3)
    Array([-0.863, -1.043], dtype=float32)
    """
    return jnp.log(sf(x, loc, scale))


def ppf(
    q: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the inverse of `cdf`.

    q, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.cauchy.ppf(jnp.array([0.25, 0.5])).round(3)
    Array([-1.,  0.], dtype=float32)
    """
    q, loc, scale = strong_args_inexact("cauchy.ppf", q, loc, scale)
    return loc + scale * _standard_quantile(q)


def isf(
    q: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the inverse of `sf`.

    q, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.cauchy.isf(jnp.array([0.25, 0.5])).round(3)
    Array([1., 0.], dtype=float32)
    """
    q, loc, scale = strong_args_inexact("cauchy.isf", q, loc, scale)
    return loc - scale * _standard_quantile(q)


def _standard_quantile(q: Value) -> Value:
    """Return the inverse of `cdf` for loc 0 and scale 1; NaN for what is no probability."""
    inside = jnp.tan(math.pi * (q - 0.5))
    ends = jnp.where(q == 0, -jnp.inf, jnp.where(q == 1, jnp.inf, jnp.nan))
    return jnp.where((q > 0) & (q < 1), inside, ends)
