"""The negative binomial distribution: failures before the n-th success."""

from __future__ import annotations

from typing import Any

from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import strong_args_inexact
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

    >>> jax.scipy.stats.nbinom.logpmf(jnp.array([0, 1]), 3.0, 0.25).round(3)
    Array([-4.159, -3.348], dtype=float32)
    """
    k, n, p, loc = strong_args_inexact("nbinom.logpmf", k, n, p, loc)
    y = k - loc
    choices = special.gammaln(y + n) - special.gammaln(n) - special.gammaln(y + 1)
    value = choices + special.xlogy(n, p) + special.xlog1py(y, -p)
    return jnp.where(y < 0, -jnp.inf, value)


def pmf(
    k: Any,
    n: Any,
    p: Any,
    loc: Any = 0,
) -> Value:
    """Return the probability of k.

    k, n, p, loc: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.nbinom.pmf(jnp.array([0, 1]), 3.0, 0.25).round(3)
    Array([0.016, 0.035], dtype=float32)
    """
    return jnp.exp(logpmf(k, n, p, loc))
