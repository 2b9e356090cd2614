"""The geometric distribution: the number of trials up to the first success."""

from __future__ import annotations

from typing import Any

from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import promote_args_inexact
from tapeless.scipy import special

__all__ = ["logpmf", "pmf"]


def logpmf(
    k: Any,
    p: Any,
    loc: Any = 0,
) -> Value:
    """Return the logarithm of the probability of k.

    k, p, loc: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.geom.logpmf(jnp.array([1, 2]), 0.25).round(3)
    Array([-1.386, -1.674], dtype=float32)
    """
    k, p, loc = promote_args_inexact("geom.logpmf", k, p, loc)
    y = k - loc
    value = special.xlog1py(y - 1, -p) + jnp.log(p)
    return jnp.where((y <= 0) | (y != jnp.floor(y)), -jnp.inf, value)


def pmf(
    k: Any,
    p: Any,
    loc: Any = 0,
) -> Value:
    """Return the probability of k.

    k, p, loc: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.geom.pmf(jnp.array([1, 2]), 0.25).round(3)
    Array([0.25 , 0.188], dtype=float32)
    """
    return jnp.exp(logpmf(k, p, loc))
