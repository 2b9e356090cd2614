"""The Cauchy distribution: 1 / (pi (1 + x**2))."""

from __future__ import annotations

import math
from typing import Any

from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import promote_args_inexact

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of the density."""
    x, loc, scale = promote_args_inexact("cauchy.logpdf", x, loc, scale)
    z = (x - loc) / scale
    return -jnp.log(math.pi * scale) - jnp.log1p(z * z)


def pdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the density."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number up to x."""
    x, loc, scale = promote_args_inexact("cauchy.cdf", x, loc, scale)
    return jnp.arctan2(scale, loc - x) / math.pi


def logcdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `cdf`."""
    return jnp.log(cdf(x, loc, scale))


def sf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number above x."""
    x, loc, scale = promote_args_inexact("cauchy.sf", x, loc, scale)
    return jnp.arctan2(scale, x - loc) / math.pi


def logsf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `sf`."""
    return jnp.log(sf(x, loc, scale))


def ppf(
    q: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the inverse of `cdf`."""
    q, loc, scale = promote_args_inexact("cauchy.ppf", q, loc, scale)
    return loc + scale * jnp.tan(math.pi * (q - 0.5))


def isf(
    q: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the inverse of `sf`."""
    q, loc, scale = promote_args_inexact("cauchy.isf", q, loc, scale)
    return loc + scale * jnp.tan(math.pi * (0.5 - q))
