"""The generalised normal distribution: p exp(-|x|**p) / (2 gamma(1/p))."""

from __future__ import annotations

from typing import Any

from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import promote_args_inexact
from tapeless.scipy import special

__all__ = ["cdf", "logpdf", "pdf"]


def logpdf(x: Any, p: Any) -> Value:
    """Return the logarithm of the density.

    x, p: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.gennorm.logpdf(jnp.array([0.0, 1.0]), 1.5).round(3)
    Array([-0.591, -1.591], dtype=float32)
    """
    x, p = promote_args_inexact(
        "gennorm.logpdf",
        x,
        p,
    )
    return jnp.log(p / 2) - special.gammaln(1 / p) - jnp.abs(x) ** p


def pdf(x: Any, p: Any) -> Value:
    """Return the density.

    x, p: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.gennorm.pdf(jnp.array([0.0, 1.0]), 1.5).round(3)
    Array([0.554, 0.204], dtype=float32)
    """
    return jnp.exp(logpdf(x, p))


def cdf(x: Any, p: Any) -> Value:
    """Return the probability of a number up to x.

    x, p: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.gennorm.cdf(jnp.array([0.0, 1.0]), 1.5).round(3)
    Array([0.5  , 0.888], dtype=float32)
    """
    x, p = promote_args_inexact(
        "gennorm.cdf",
        x,
        p,
    )
    return 0.5 * (1 + jnp.sign(x) * special.gammainc(1 / p, jnp.abs(x) ** p))
