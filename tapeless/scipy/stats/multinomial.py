"""The multinomial distribution: counts of n trials with several outcomes."""

from __future__ import annotations

from typing import Any

from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import promote_args_inexact
from tapeless.scipy import special

__all__ = ["logpmf", "pmf"]


def logpmf(
    x: Any,
    n: Any,
    p: Any,
) -> Value:
    """Return the logarithm of the probability of counts: (s, k), (s), (k) -> (s).

    >>> jax.scipy.stats.multinomial.logpmf(jnp.array([1, 2]), 3, jnp.array([0.25, 0.75])).round(3)
    Array(-0.863, dtype=float32)
    """
    (p,) = promote_args_inexact("multinomial.logpmf", p)
    x, n = jnp.asarray(x), jnp.asarray(n)
    parts = special.xlogy(x, p) - special.gammaln(x + 1)
    value = special.gammaln(n + 1) + parts.sum(axis=-1)
    return jnp.where(x.sum(axis=-1) == n, value, -jnp.inf)


def pmf(
    x: Any,
    n: Any,
    p: Any,
) -> Value:
    """Return the probability of counts: (s, k), (s), (k) -> (s).

    >>> jax.scipy.stats.multinomial.pmf(jnp.array([1, 2]), 3, jnp.array([0.25, 0.75])).round(3)
    Array(0.422, dtype=float32)
    """
    return jnp.exp(logpmf(x, n, p))
