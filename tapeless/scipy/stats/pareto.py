"""The Pareto distribution: b / x**(b+1) on x >= 1."""

from __future__ import annotations

from typing import Any

from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import promote_args_inexact

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(
    x: Any,
    b: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of the density; -inf outside of the support."""
    x, b, loc, scale = promote_args_inexact("pareto.logpdf", x, b, loc, scale)
    z = (x - loc) / scale
    ok = z >= 1
    value = jnp.log(b / scale) - (b + 1) * jnp.log(jnp.where(ok, z, 1))
    return jnp.where(ok, value, -jnp.inf)


def pdf(
    x: Any,
    b: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the density."""
    return jnp.exp(logpdf(x, b, loc, scale))


def logsf(
    x: Any,
    b: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `sf`."""
    x, b, loc, scale = promote_args_inexact("pareto.logsf", x, b, loc, scale)
    return -b * jnp.log(jnp.maximum((x - loc) / scale, 1))


def sf(
    x: Any,
    b: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number above x."""
    return jnp.exp(logsf(x, b, loc, scale))


def cdf(
    x: Any,
    b: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number up to x."""
    return -jnp.expm1(logsf(x, b, loc, scale))


def logcdf(
    x: Any,
    b: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `cdf`."""
    return jnp.log(cdf(x, b, loc, scale))


def ppf(
    q: Any,
    b: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the inverse of `cdf`."""
    q, b, loc, scale = promote_args_inexact("pareto.ppf", q, b, loc, scale)
    value = loc + scale * jnp.exp(-jnp.log1p(-q) / b)
    return jnp.where((q < 0) | (q > 1), jnp.nan, value)
