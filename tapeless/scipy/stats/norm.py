"""The normal distribution: exp(-x**2 / 2) / sqrt(2 pi)."""

from __future__ import annotations

import math
from typing import Any

from tapeless import dtypes
from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import promote_args_inexact, strong_args_inexact
from tapeless.scipy import special

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of the density.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.norm.logpdf(jnp.array([0.25, 0.5])).round(3)
    Array([-0.95 , -1.044], dtype=float32)
    """
    x, loc, scale = strong_args_inexact("norm.logpdf", x, loc, scale)
    z = (x - loc) / scale
    return -0.5 * (z * z + math.log(2 * math.pi)) - jnp.log(scale)


def pdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the density.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> pdf(0.0)
    Array(0.3989423, dtype=float32, weak_type=True)
    """
    return jnp.exp(logpdf(x, loc, scale))


def cdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number up to x.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.norm.cdf(jnp.array([0.25, 0.5])).round(3)
    Array([0.599, 0.691], dtype=float32)
    """
    x, loc, scale = promote_args_inexact("norm.cdf", x, loc, scale)
    return special.ndtr((x - loc) / scale)


def logcdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `cdf`, exact far below the mean.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.norm.logcdf(jnp.array([0.25, 0.5])).round(3)
    Array([-0.513, -0.369], dtype=float32)
    """
    x, loc, scale = promote_args_inexact("norm.logcdf", x, loc, scale)
    return special.log_ndtr((x - loc) / scale)


def sf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number above x.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.norm.sf(jnp.array([0.25, 0.5])).round(3)
    Array([0.401, 0.309], dtype=float32)
    """
    x, loc, scale = promote_args_inexact("norm.sf", x, loc, scale)
    return special.ndtr((loc - x) / scale)


def logsf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `sf`.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.norm.logsf(jnp.array([0.25, 0.5])).round(3)
    Array([-0.913, -1.176], dtype=float32)
    """
    x, loc, scale = promote_args_inexact("norm.logsf", x, loc, scale)
    return special.log_ndtr((loc - x) / scale)


def ppf(
    q: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the inverse of `cdf`.

    q, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.norm.ppf(jnp.array([0.25, 0.5])).round(3)
    Array([-0.674,  0.   ], dtype=float32)
    """
    q, loc, scale = promote_args_inexact("norm.ppf", q, loc, scale)
    value = special.ndtri(q) * scale + loc
    return value.astype(jnp.promote_types(value.dtype, dtypes.default_float_dtype()))


def isf(
    q: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the inverse of `sf`.

    q, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.norm.isf(jnp.array([0.25, 0.5])).round(3)
    Array([ 0.674, -0.   ], dtype=float32)
    """
    q, loc, scale = promote_args_inexact("norm.isf", q, loc, scale)
    return -ppf(q, -loc, scale)
