"""The gamma distribution: x**(a-1) exp(-x) / gamma(a) on x >= 0."""

from __future__ import annotations

from typing import Any

from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import promote_args_inexact
from tapeless.scipy import special

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def logpdf(
    x: Any,
    a: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of the density; -inf outside of the support."""
    x, a, loc, scale = promote_args_inexact("gamma.logpdf", x, a, loc, scale)
    z = (x - loc) / scale
    ok = z >= 0
    y = jnp.where(ok, z, 1)
    value = special.xlogy(a - 1, y) - y - special.gammaln(a) - jnp.log(scale)
    return jnp.where(ok, value, -jnp.inf)


def pdf(
    x: Any,
    a: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the density."""
    return jnp.exp(logpdf(x, a, loc, scale))


def cdf(
    x: Any,
    a: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number up to x."""
    x, a, loc, scale = promote_args_inexact("gamma.cdf", x, a, loc, scale)
    return special.gammainc(a, jnp.maximum((x - loc) / scale, 0))


def logcdf(
    x: Any,
    a: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `cdf`."""
    return jnp.log(cdf(x, a, loc, scale))


def sf(
    x: Any,
    a: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number above x."""
    x, a, loc, scale = promote_args_inexact("gamma.sf", x, a, loc, scale)
    return special.gammaincc(a, jnp.maximum((x - loc) / scale, 0))


def logsf(
    x: Any,
    a: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of `sf`."""
    return jnp.log(sf(x, a, loc, scale))
