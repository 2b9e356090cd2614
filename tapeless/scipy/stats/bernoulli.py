"""The Bernoulli distribution: 1 with probability p, else 0."""

from __future__ import annotations

from typing import Any

from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import const, promote_args_inexact
from tapeless.scipy import special

__all__ = ["cdf", "logpmf", "pmf", "ppf"]


def logpmf(
    k: Any,
    p: Any,
    loc: Any = 0,
) -> Value:
    """Return the logarithm of the probability of k.

    k, p, loc: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.bernoulli.logpmf(jnp.array([0, 1]), 0.25).round(3)
    Array([-0.288, -1.386], dtype=float32)
    """
    k, p, loc = promote_args_inexact(
        "bernoulli.logpmf",
        k,
        p,
        loc,
    )
    x = k - loc
    value = special.xlogy(x, p) + special.xlog1py(const(x, 1) - x, -p)
    return jnp.where((x < 0) | (x > 1), -jnp.inf, value)


def pmf(
    k: Any,
    p: Any,
    loc: Any = 0,
) -> Value:
    """Return the probability of k.

    k, p, loc: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.bernoulli.pmf(jnp.array([0, 1]), 0.25).round(3)
    Array([0.75, 0.25], dtype=float32)
    """
    return jnp.exp(logpmf(k, p, loc))


def cdf(k: Any, p: Any) -> Value:
    """Return the probability of a number up to k.

    k, p: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.bernoulli.cdf(jnp.array([0, 1]), 0.25).round(3)
    Array([0.75, 1.  ], dtype=float32)
    """
    k, p = promote_args_inexact("bernoulli.cdf", k, p)
    bad = jnp.bitwise_or(jnp.isnan(k), jnp.isnan(p)) | (p < 0) | (p > 1)
    value = jnp.where(k < 0, const(k, 0), jnp.where(k < 1, 1 - p, const(k, 1)))
    return jnp.where(bad, jnp.nan, value)


def ppf(q: Any, p: Any) -> Value:
    """Return the smallest number whose `cdf` is at least q.

    q, p: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.bernoulli.ppf(jnp.array([0.5, 0.9]), 0.25)
    Array([0., 1.], dtype=float32)
    """
    q, p = promote_args_inexact("bernoulli.ppf", q, p)
    bad = jnp.isnan(q) | jnp.isnan(p) | (p < 0) | (p > 1) | (q < 0) | (q > 1)
    value = jnp.where(q == 0, const(q, -1), jnp.where(q <= 1 - p, const(q, 0), const(q, 1)))
    return jnp.where(bad, jnp.nan, value)
