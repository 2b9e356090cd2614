"""The Poisson distribution: exp(-mu) mu**k / k!."""

from __future__ import annotations

import math
from typing import Any

from tapeless import numpy as jnp
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy.common import promote_args_inexact
from tapeless.prims.convert import convert_element_type
from tapeless.scipy import special

__all__ = ["cdf", "entropy", "logpmf", "pmf"]

_LARGE, _MOST = 100.0, 256


def logpmf(
    k: Any,
    mu: Any,
    loc: Any = 0,
) -> Value:
    """Return the logarithm of the probability of k.

    k, mu, loc: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.poisson.logpmf(jnp.array([0, 2]), 1.5).round(3)
    Array([-1.5  , -1.382], dtype=float32)
    """
    k, mu, loc = promote_args_inexact("poisson.logpmf", k, mu, loc)
    y = k - loc
    value = special.xlogy(y, mu) - special.gammaln(y + 1) - mu
    return jnp.where((y < 0) | (y != jnp.floor(y)), -jnp.inf, value)


def pmf(
    k: Any,
    mu: Any,
    loc: Any = 0,
) -> Value:
    """Return the probability of k.

    k, mu, loc: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.poisson.pmf(jnp.array([0, 2]), 1.5).round(3)
    Array([0.223, 0.251], dtype=float32)
    """
    return jnp.exp(logpmf(k, mu, loc))


def cdf(
    k: Any,
    mu: Any,
    loc: Any = 0,
) -> Value:
    """Return the probability of a number up to k.

    k, mu, loc: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.poisson.cdf(jnp.array([0, 2]), 1.5).round(3)
    Array([0.223, 0.809], dtype=float32)
    """
    k, mu, loc = promote_args_inexact("poisson.cdf", k, mu, loc)
    y = jnp.floor(k - loc)
    value = special.gammaincc(jnp.maximum(y, 0) + 1, mu)
    return jnp.where(y < 0, 0, convert_element_type(value, typeof(value).dtype))


def entropy(mu: Any, loc: Any = 0) -> Value:
    """Return the entropy.

    mu, loc: shapes that broadcast to (n,) -> (n,)
    Up to mu = 100 the sum over the numbers that occur, beyond that the expansion in 1/mu.

    >>> jax.scipy.stats.poisson.entropy(jnp.array([1.0, 2.0])).round(3)
    Array([1.305, 1.705], dtype=float32)
    """
    mu, loc = promote_args_inexact("poisson.entropy", mu, loc)
    k = jnp.arange(_MOST, dtype=mu.dtype).reshape((-1,) + (1,) * mu.ndim)
    safe = jnp.clip(mu, 1e-30, _LARGE)
    logs = logpmf(k, safe)
    near = -(jnp.exp(logs) * logs).sum(axis=0)
    large = jnp.maximum(mu, _LARGE)
    inverse = 1 / large
    tail = inverse * (1 / 12 + inverse * (1 / 24 + inverse * 19 / 360))
    far = 0.5 * jnp.log(2 * math.pi * math.e * large) - tail
    value = jnp.where(mu <= _LARGE, jnp.where(mu == 0, 0, near), far)
    return jnp.where(mu < 0, jnp.nan, value)
