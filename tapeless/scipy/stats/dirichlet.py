"""The Dirichlet distribution on the simplex of probabilities."""

from __future__ import annotations

from typing import Any

from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import promote_dtypes_inexact
from tapeless.scipy import special

__all__ = ["logpdf", "pdf"]

# How far the probabilities of a point may be from adding up to 1.
_TOLERANCE = 1e-5


def logpdf(x: Any, alpha: Any) -> Value:
    """Return the logarithm of the density: (n or n-1, s), (n) -> (s).

    x: the probabilities along the first axis; the last of them may be left out.

    >>> jax.scipy.stats.dirichlet.logpdf(jnp.array([0.25, 0.75]), jnp.array([2.0, 3.0])).round(3)
    Array(0.523, dtype=float32)
    """
    x, alpha = promote_dtypes_inexact(x, alpha)
    if alpha.ndim != 1:
        raise ValueError(f"`alpha` must be one-dimensional; got alpha.shape={alpha.shape}")
    if x.shape[0] not in (alpha.shape[0], alpha.shape[0] - 1):
        raise ValueError(
            "`x` must have either the same number of entries as `alpha` or one entry fewer; got "
            f"x.shape={x.shape}, alpha.shape={alpha.shape}"
        )
    if x.shape[0] != alpha.shape[0]:
        x = jnp.concatenate([x, 1 - x.sum(axis=0, keepdims=True)], axis=0)
    power = alpha.reshape(alpha.shape + (1,) * (x.ndim - 1))
    log_normal = special.gammaln(alpha).sum() - special.gammaln(alpha.sum())
    value = special.xlogy(power - 1, x).sum(axis=0) - log_normal
    inside = (x >= 0).all(axis=0) & (jnp.abs(x.sum(axis=0) - 1) < _TOLERANCE)
    return jnp.where(
        inside,
        value,
        -jnp.inf,
    )


def pdf(x: Any, alpha: Any) -> Value:
    """Return the density: (n or n-1, s), (n) -> (s).

    >>> jax.scipy.stats.dirichlet.pdf(jnp.array([0.25, 0.75]), jnp.array([2.0, 3.0])).round(3)
    Array(1.688, dtype=float32)
    """
    return jnp.exp(logpdf(x, alpha))
