"""The normal distribution of vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapeless import lax
from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import promote_dtypes_inexact
from tapeless.numpy.vectorization import vectorize

__all__ = ["logpdf", "pdf"]


def _quadratic_form(
    x: Value,
    mean: Value,
    cov: Value,
) -> Value:
    """Return the logarithm of one density: (n), (n), (n, n) -> ()."""
    factor = lax.linalg.cholesky(cov)
    z = lax.linalg.triangular_solve(factor, (x - mean)[:, None], lower=True, left_side=True)[:, 0]
    log_det = jnp.log(jnp.diagonal(factor)).sum()
    return -0.5 * (z @ z) - 0.5 * x.shape[0] * math.log(2 * math.pi) - log_det


def logpdf(
    x: Any,
    mean: Any,
    cov: Any,
    allow_singular: None = None,
) -> Value:
    """Return the logarithm of the density: (s, n), (s, n) or (), (s, n, n) or () -> (s).

    cov: the covariance matrix, positive definite; a scalar is a multiple of the identity.
    allow_singular: not supported.

    >>> jax.scipy.stats.multivariate_normal.logpdf(jnp.array([1.0, 0.0]), jnp.zeros(2),
    ...     jnp.eye(2)).round(3)
    Array(-2.338, dtype=float32)
    """
    if allow_singular is not None:
        raise NotImplementedError("allow_singular argument of multivariate_normal.logpdf")
    x, mean, cov = promote_dtypes_inexact(x, mean, cov)
    if not mean.shape:
        value = -0.5 * jnp.square(x - mean) / cov
        return value - 0.5 * (math.log(2 * math.pi) + jnp.log(cov))
    n = mean.shape[-1]
    if not np.shape(cov):
        y = x - mean
        value = -0.5 * jnp.einsum("...i,...i->...", y, y) / cov
        return value - n / 2 * (math.log(2 * math.pi) + jnp.log(cov))
    if cov.ndim < 2 or cov.shape[-2:] != (n, n):
        raise ValueError("multivariate_normal.logpdf got incompatible shapes")
    return vectorize(_quadratic_form, signature="(n),(n),(n,n)->()")(x, mean, cov)


def pdf(
    x: Any,
    mean: Any,
    cov: Any,
) -> Value:
    """Return the density: (s, n), (s, n), (s, n, n) -> (s).

    >>> jax.scipy.stats.multivariate_normal.pdf(jnp.array([1.0, 0.0]), jnp.zeros(2),
    ...     jnp.eye(2)).round(3)
    Array(0.097, dtype=float32)
    """
    return jnp.exp(logpdf(x, mean, cov))
