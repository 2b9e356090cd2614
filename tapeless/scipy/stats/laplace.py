"""The Laplace distribution: exp(-|x|) / 2."""

from __future__ import annotations

from typing import Any

from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import strong_args_inexact

__all__ = ["cdf", "logpdf", "pdf"]


def logpdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of the density.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.laplace.logpdf(jnp.array([0.0, 1.0])).round(3)
    Array([-0.693, -1.693], dtype=float32)
    """
    x, loc, scale = strong_args_inexact("laplace.logpdf", x, loc, scale)
    return -jnp.abs(x - loc) / scale - jnp.log(2 * scale)


def pdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the density.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.laplace.pdf(jnp.array([0.0, 1.0])).round(3)
    Array([0.5  , 0.184], dtype=float32)
    """
    return jnp.exp(logpdf(x, loc, scale))


def cdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number up to x.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.laplace.cdf(jnp.array([0.0, 1.0])).round(3)
    Array([0.5  , 0.816], dtype=float32)
    """
    x, loc, scale = strong_args_inexact("laplace.cdf", x, loc, scale)
    z = (x - loc) / scale
    return jnp.where(z > 0, 1 - 0.5 * jnp.exp(-jnp.abs(z)), 0.5 * jnp.exp(-jnp.abs(z)))
