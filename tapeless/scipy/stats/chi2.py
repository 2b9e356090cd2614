"""The chi-squared distribution of `df` degrees: a gamma distribution of shape df/2, scale 2."""

from __future__ import annotations

from typing import Any

from tapeless.core.trace import Value
from tapeless.numpy.common import strong_args_inexact
from tapeless.scipy.stats import gamma

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def logpdf(
    x: Any,
    df: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of the density.

    x, df, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.chi2.logpdf(jnp.array([1.0, 2.0]), 3).round(3)
    Array([-1.419, -1.572], dtype=float32)
    """
    x, df, loc, scale = strong_args_inexact("chi2.logpdf", x, df, loc, scale)
    return gamma.logpdf(x, df / 2, loc, 2 * scale)


def pdf(
    x: Any,
    df: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the density.

    x, df, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.chi2.pdf(jnp.array([1.0, 2.0]), 3).round(3)
    Array([0.242, 0.208], dtype=float32)
    """
    x, df, loc, scale = strong_args_inexact("chi2.pdf", x, df, loc, scale)
    return gamma.pdf(x, df / 2, loc, 2 * scale)


def cdf(
    x: Any,
    df: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number up to x.

    x, df, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.chi2.cdf(jnp.array([1.0, 2.0]), 3).round(3)
    Array([0.199, 0.428], dtype=float32)
    """
    x, df, loc, scale = strong_args_inexact("chi2.cdf", x, df, loc, scale)
    return gamma.cdf(x, df / 2, loc, 2 * scale)


def logcdf(
    x: Any,
    df: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `cdf`.

    x, df, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.chi2.logcdf(jnp.array([1.0, 2.0]), 3).round(3)
    Array([-1.616, -0.85 ], dtype=float32)
    """
    x, df, loc, scale = strong_args_inexact("chi2.logcdf", x, df, loc, scale)
    return gamma.logcdf(x, df / 2, loc, 2 * scale)


def sf(
    x: Any,
    df: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number above x.

    x, df, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.chi2.sf(jnp.array([1.0, 2.0]), 3).round(3)
    Array([0.801, 0.572], dtype=float32)
    """
    x, df, loc, scale = strong_args_inexact("chi2.sf", x, df, loc, scale)
    return gamma.sf(x, df / 2, loc, 2 * scale)


def logsf(
    x: Any,
    df: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `sf`.

    x, df, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.chi2.logsf(jnp.array([1.0, 2.0]), 3).round(3)
    Array([-0.222, -0.558], dtype=float32)
    """
    x, df, loc, scale = strong_args_inexact("chi2.logsf", x, df, loc, scale)
    return gamma.logsf(x, df / 2, loc, 2 * scale)
