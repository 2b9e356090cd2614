"""The uniform distribution on [loc, loc + scale]."""

from __future__ import annotations

from typing import Any

from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import promote_args_inexact

__all__ = ["cdf", "logpdf", "pdf", "ppf"]


def logpdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of the density; -inf outside of the support.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.uniform.logpdf(jnp.array([0.25, 0.5])).round(3)
    Array([-0., -0.], dtype=float32)
    """
    x, loc, scale = promote_args_inexact("uniform.logpdf", x, loc, scale)
    inside = (x >= loc) & (x <= loc + scale)
    outside = (x < loc) | (x > loc + scale)
    return jnp.where(inside, -jnp.log(scale), jnp.where(outside, -jnp.inf, jnp.nan))


def pdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the density.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.uniform.pdf(jnp.array([0.25, 0.5])).round(3)
    Array([1., 1.], dtype=float32)
    """
    return jnp.exp(logpdf(x, loc, scale))


def cdf(
    x: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the probability of a number up to x.

    x, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.uniform.cdf(jnp.array([0.25, 0.5])).round(3)
    Array([0.25, 0.5 ], dtype=float32)
    """
    x, loc, scale = promote_args_inexact("uniform.cdf", x, loc, scale)
    return jnp.clip((x - loc) / scale, 0, 1)


def ppf(
    q: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the inverse of `cdf`.

    q, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.uniform.ppf(jnp.array([0.25, 0.5])).round(3)
    Array([0.25, 0.5 ], dtype=float32)
    """
    q, loc, scale = promote_args_inexact("uniform.ppf", q, loc, scale)
    return jnp.where((q < 0) | (q > 1), jnp.nan, loc + scale * q)
