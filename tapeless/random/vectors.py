"""Random vectors and matrices: multivariate normal, orthogonal."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from tapeless import dtypes, lax
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy import contraction, diagonals
from tapeless.numpy.common import promote_dtypes_inexact
from tapeless.prims import linalg
from tapeless.random.basic import normal
from tapeless.random.requests import check_dtype, check_shape, one_key, shape_of_request

__all__ = ["multivariate_normal", "orthogonal"]

Shape = tuple[int, ...]


def multivariate_normal(
    key: Any,
    mean: Any,
    cov: Any,
    shape: Any = None,
    dtype: Any = None,
    method: str = "cholesky",
    *,
    out_sharding: Any = None,
) -> Value:
    """Return vectors: mean (..., n), cov (..., n, n) -> (*shape, n).

    method: how a root of the covariance is found: "cholesky", "eigh" or "svd", the latter two
    also for singular matrices.

    >>> import numpy as np
    >>> from tapeless.random.keys import key
    >>> multivariate_normal(key(0), np.zeros(2, "float32"), np.eye(2, dtype="float32"))
    Array([1.6226422, 2.0252647], dtype=float32)
    """
    typed, _ = one_key("multivariate_normal", key)
    mean, cov = promote_dtypes_inexact(mean, cov)
    if method not in ("svd", "eigh", "cholesky"):
        raise ValueError("method must be one of {'svd', 'eigh', 'cholesky'}")
    default = typeof(mean).dtype if dtype is None else dtype
    dtype = check_dtype("multivariate_normal", default, None, np.floating, "a float dtype")
    shape = _vector_shape(typeof(mean).shape, typeof(cov).shape, shape)
    return _multivariate_normal(typed, mean, cov, shape, dtype, method)


def _vector_shape(mean: Shape, cov: Shape, shape: Any) -> Shape:
    """Check the shapes of the parameters and return that of the batch."""
    name = "multivariate_normal"
    if len(mean) < 1:
        raise ValueError(f"{name} requires mean.ndim >= 1, got mean.ndim == {len(mean)}")
    if len(cov) < 2:
        raise ValueError(f"{name} requires cov.ndim >= 2, got cov.ndim == {len(cov)}")
    n = mean[-1]
    if cov[-2:] != (n, n):
        raise ValueError(
            f"{name} requires cov.shape == (..., n, n) for n={n}, but got cov.shape == {cov}."
        )
    if shape is None:
        return np.broadcast_shapes(mean[:-1], cov[:-2])
    asked = shape_of_request(shape)
    check_shape(name, asked, mean[:-1], cov[:-2])
    return asked


@functools.partial(jit, static_argnums=(3, 4, 5))
def _multivariate_normal(
    key: Value,
    mean: Value,
    cov: Value,
    shape: Shape,
    dtype: np.dtype,
    method: str,
) -> Value:
    """Multiply normal numbers by a root of the covariance: mean + root z."""
    if method == "cholesky":
        root = linalg.cholesky(cov)
    elif method == "eigh":
        vectors, values = linalg.eigh(cov)
        root = vectors * lax.sqrt(values[..., None, :])
    else:
        vectors, values, _ = linalg.svd(cov)
        root = vectors * lax.sqrt(values[..., None, :])
    z = normal(key, (*shape, typeof(mean).shape[-1]), dtype)
    return mean + contraction.einsum("...ij,...j->...i", root, z)


def orthogonal(
    key: Any,
    n: int,
    shape: Any = (),
    dtype: Any = None,
    m: int | None = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return matrices with orthonormal columns or rows, uniform: (*shape, n, m), m = n if None.

    key: () -> (*shape, n, m)

    >>> from tapeless.random.keys import key
    >>> orthogonal(key(0), 1)
    Array([[1.]], dtype=float32)
    """
    typed, _ = one_key("orthogonal", key)
    dtype = check_dtype("normal", dtype, np.float64, np.inexact, "a float or complex dtype")
    m = n if m is None else m
    return _orthogonal(typed, operator.index(n), shape_of_request(shape), dtype, operator.index(m))


@functools.partial(jit, static_argnums=(1, 2, 3, 4))
def _orthogonal(
    key: Value,
    n: int,
    shape: Shape,
    dtype: np.dtype,
    m: int,
) -> Value:
    """Take the QR decomposition of normal numbers, with the diagonal of R made positive."""
    z = normal(key, (*shape, max(n, m), min(n, m)), dtype)
    q, r = linalg.qr(z, full_matrices=False)
    diagonal = diagonals.diagonal(r, axis1=-2, axis2=-1)
    if dtypes.issubdtype(dtype, np.complexfloating):
        sign = diagonal / lax.abs(diagonal)
    else:
        sign = lax.sign(diagonal)
    x = q * sign[..., None, :]
    return lax.transpose(x, (*range(len(shape)), len(shape) + 1, len(shape))) if n < m else x
