"""The logistic distribution: exp(-x) / (1 + exp(-x))**2."""

from __future__ import annotations

from typing import Any

from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import promote_args_inexact
from tapeless.scipy import special

__all__ = ["cdf", "isf", "logpdf", "pdf", "ppf", "sf"]


def logpdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of the density."""
    x, loc, scale = promote_args_inexact("logistic.logpdf", x, loc, scale)
    half = (x - loc) / (2 * scale)
    return -2 * jnp.logaddexp(half, -half) - jnp.log(scale)


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
    x, loc, scale = promote_args_inexact("logistic.cdf", x, loc, scale)
    return special.expit((x - loc) / scale)


def sf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number above x."""
    x, loc, scale = promote_args_inexact("logistic.sf", x, loc, scale)
    return special.expit((loc - x) / scale)


def ppf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the inverse of `cdf`."""
    x, loc, scale = promote_args_inexact("logistic.ppf", x, loc, scale)
    return special.logit(x) * scale + loc


def isf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the inverse of `sf`."""
    x, loc, scale = promote_args_inexact("logistic.isf", x, loc, scale)
    return -special.logit(x) * scale + loc
