"""The beta-binomial distribution: n trials with a beta-distributed probability."""

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
    a: Any,
    b: Any,
    loc: Any = 0,
) -> Value:
    """Return the logarithm of the probability of k.

    k, n, a, b, loc: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.betabinom.logpmf(jnp.array([0, 1]), 3, 2.0, 3.0).round(3)
    Array([-1.253, -1.07 ], dtype=float32)
    """
    k, n, a, b, loc = promote_args_inexact("betabinom.logpmf", k, n, a, b, loc)
    y = jnp.floor(k) - loc
    choices = -jnp.log(n + 1) - special.betaln(n - y + 1, y + 1)
    value = choices + special.betaln(y + a, n - y + b) - special.betaln(a, b)
    value = jnp.where((y < 0) | (y > n) | (k != jnp.floor(k)), -jnp.inf, value)
    return jnp.where((a <= 0) | (b <= 0) | (n < 0), jnp.nan, value)


def pmf(
    k: Any,
    n: Any,
    a: Any,
    b: Any,
    loc: Any = 0,
) -> Value:
    """Return the probability of k.

    k, n, a, b, loc: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.betabinom.pmf(jnp.array([0, 1]), 3, 2.0, 3.0).round(3)
    Array([0.286, 0.343], dtype=float32)
    """
    return jnp.exp(logpmf(k, n, a, b, loc))
