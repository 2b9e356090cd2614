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
    """Return the logarithm of the density."""
    x, loc, scale = promote_args_inexact("gumbel_r.logpdf", x, loc, scale)
    z = (x - loc) / scale
    return -z - jnp.exp(-z) - jnp.log(scale)


def pdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the density."""
    return jnp.exp(logpdf(x, loc, scale))


def logcdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `cdf`."""
    x, loc, scale = promote_args_inexact("gumbel_r.logcdf", x, loc, scale)
    z = (x - loc) / scale
    return -jnp.exp(-z)


def cdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number up to x."""
    return jnp.exp(logcdf(x, loc, scale))


def sf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number above x."""
    return -jnp.expm1(logcdf(x, loc, scale))


def logsf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `sf`."""
    return jnp.log(sf(x, loc, scale))


def ppf(
    p: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the inverse of `cdf`."""
    p, loc, scale = promote_args_inexact("gumbel_r.ppf", p, loc, scale)
    return loc - scale * jnp.log(-jnp.log(p))
