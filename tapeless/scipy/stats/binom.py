"""The binomial distribution: successes among n trials."""

from __future__ import annotations

from typing import Any

from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import promote_args_inexact
from tapeless.scipy import special

__all__ = ["logpmf", "pmf"]


def logpmf(
    k: Any,
    n: Any,
    p: Any,
    loc: Any = 0,
) -> Value:
    """Return the logarithm of the probability of k.

    k, n, p, loc: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.binom.logpmf(jnp.array([0, 1]), 3, 0.25).round(3)
    Array([-0.863, -0.863], dtype=float32)
    """
    k, n, p, loc = promote_args_inexact("binom.logpmf", k, n, p, loc)
    y = k - loc
    choices = special.gammaln(n + 1) - special.gammaln(y + 1) - special.gammaln(n - y + 1)
    value = choices + special.xlogy(y, p) + special.xlog1py(n - y, -p)
    return jnp.where((y >= 0) & (y <= n), value, -jnp.inf)


def pmf(
    k: Any,
    n: Any,
    p: Any,
    loc: Any = 0,
) -> Value:
    """Return the probability of k.

    k, n, p, loc: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.binom.pmf(jnp.array([0, 1]), 3, 0.25).round(3)
    Array([0.422, 0.422], dtype=float32)
    """
    return jnp.exp(logpmf(k, n, p, loc))
