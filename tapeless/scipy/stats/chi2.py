"""The chi-squared distribution of `df` degrees: a gamma distribution of shape df/2, scale 2."""

from __future__ import annotations

from typing import Any

from tapeless.core.trace import Value
from tapeless.numpy.common import promote_args_inexact
from tapeless.scipy.stats import gamma

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def logpdf(
    x: Any,
    df: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of the density."""
    x, df, loc, scale = promote_args_inexact("chi2.logpdf", x, df, loc, scale)
    return gamma.logpdf(x, df / 2, loc, 2 * scale)


def pdf(
    x: Any,
    df: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the density."""
    x, df, loc, scale = promote_args_inexact("chi2.pdf", x, df, loc, scale)
    return gamma.pdf(x, df / 2, loc, 2 * scale)


def cdf(
    x: Any,
    df: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number up to x."""
    x, df, loc, scale = promote_args_inexact("chi2.cdf", x, df, loc, scale)
    return gamma.cdf(x, df / 2, loc, 2 * scale)


def logcdf(
    x: Any,
    df: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `cdf`."""
    x, df, loc, scale = promote_args_inexact("chi2.logcdf", x, df, loc, scale)
    return gamma.logcdf(x, df / 2, loc, 2 * scale)


def sf(
    x: Any,
    df: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number above x."""
    x, df, loc, scale = promote_args_inexact("chi2.sf", x, df, loc, scale)
    return gamma.sf(x, df / 2, loc, 2 * scale)


def logsf(
    x: Any,
    df: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `sf`."""
    x, df, loc, scale = promote_args_inexact("chi2.logsf", x, df, loc, scale)
    return gamma.logsf(x, df / 2, loc, 2 * scale)
