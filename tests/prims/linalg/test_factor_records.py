"""Factorisations obey the laws of operations, by those functions of their factors that are unique.

The factors themselves are unique up to signs and order; test_decompositions.py looks at them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapeless import lax
from tapeless import numpy as jnp
from tapeless.prims import create, linalg
from tests.support.harness import laws
from tests.support.records import Maker, Record, normal

PRECISE = ("float64", "float32", "complex128")
REAL = ("float64", "float32")
SQUARE = {"empty": "an empty axis leaves a matrix that is not square"}
CONJUGATES = {"complex_step": "it conjugates: it is not analytic"}
VECTORS = "it needs derivatives of eigenvectors, which are not unique"
NO_RULE = dict.fromkeys(("jvp", "transpose", "second"), "it has no derivative in JAX either")


def spread(*shape: int) -> Maker:
    """Return the maker of matrices with well separated eigenvalues and singular values."""

    def make(dtype: np.dtype, generator: np.random.Generator) -> np.ndarray:
        """Add a growing diagonal to random numbers."""
        rows = np.eye(*shape[-2:]) * (2 + 3 * np.arange(shape[-1]))
        return (0.3 * normal(*shape)(dtype, generator) + rows).astype(dtype)

    return make


def packed(function: Callable) -> Callable:
    """Return a function of the packed factors of a QR decomposition."""
    return lambda x: function(*linalg.geqrf(x))


def adjoint(x: Any) -> Any:
    """Return the conjugate transpose."""
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def qr_unique(x: Any) -> tuple:
    """Return the product of the factors, and the sizes of the second."""
    q, r = linalg.qr(x, full_matrices=False)
    size = lax.abs(r)
    return q @ r, size * size


def svd_unique(x: Any) -> tuple:
    """Return the product of the factors, the values, and the polar factor."""
    u, s, vt = linalg.svd(x, full_matrices=False)
    return (u * s[..., None, :].astype(u.dtype)) @ vt, s, u @ vt


def eigh_unique(x: Any) -> tuple:
    """Return the eigenvalues, and the matrix with their cubes."""
    v, w = linalg.eigh(x + adjoint(x))
    return w, (v * (w**3)[..., None, :].astype(v.dtype)) @ adjoint(v)


def eig_unique(x: Any) -> Any:
    """Return the sum of the squares of the eigenvalues."""
    (w,) = linalg.eig(x, compute_left_eigenvectors=False, compute_right_eigenvectors=False)
    return jnp.sum(w * w, -1)


def schur_unique(x: Any) -> Any:
    """Return the product of the factors."""
    t, z = linalg.schur(x)
    return z @ t @ adjoint(z)


def tridiagonal_unique(x: Any) -> Any:
    """Return the squares of what is beside the diagonal."""
    _, d, e, _ = linalg.tridiagonal(x + adjoint(x))
    return d, e * e


RECORDS = [
    Record(
        "qr", qr_unique, (spread(4, 3),), PRECISE, {"empty": "no columns", **CONJUGATES}, ulps=4096
    ),
    Record(
        "svd",
        svd_unique,
        (spread(4, 3),),
        PRECISE,
        {"empty": "no columns", **CONJUGATES},
        ulps=4096,
    ),
    Record("eigh", eigh_unique, (spread(3, 3),), PRECISE, {**SQUARE, **CONJUGATES}, ulps=1 << 16),
    Record("eig", eig_unique, (spread(3, 3),), REAL, {**SQUARE, "second": VECTORS}, ulps=1 << 14),
    Record("schur", schur_unique, (spread(3, 3),), REAL, {**SQUARE, **NO_RULE}, ulps=1 << 14),
    Record(
        "hessenberg",
        lambda x: linalg.hessenberg(x)[0] * np.triu(np.ones((3, 3), x.dtype), -1),
        (spread(3, 3),),
        REAL,
        {**SQUARE, **NO_RULE},
        ulps=1 << 14,
    ),
    Record(
        "tridiagonal",
        tridiagonal_unique,
        (spread(3, 3),),
        REAL,
        {**SQUARE, **NO_RULE},
        ulps=1 << 14,
    ),
    Record("geqrf", packed(lambda a, t: (a, t)), (spread(4, 3),), REAL, NO_RULE, ulps=1 << 14),
    Record(
        "householder_product",
        packed(linalg.householder_product),
        (spread(4, 3),),
        REAL,
        {**NO_RULE, "empty": "without rows there are fewer rows than columns"},
        ulps=1 << 14,
    ),
    Record(
        "ormqr",
        packed(lambda a, t: linalg.ormqr(a, t, a)),
        (spread(4, 3),),
        REAL,
        NO_RULE,
        ulps=1 << 14,
    ),
    Record(
        "lu_pivots_to_permutation",
        lambda x: linalg.lu_pivots_to_permutation(linalg.lu(x)[1], 4),
        (normal(4, 3),),
        REAL,
        {**NO_RULE, "empty": "no columns"},
    ),
    Record(
        "empty",
        lambda x: lax.mul(create.empty(x.shape, x.dtype)[:0], x[:0]),
        (normal(2, 3),),
        REAL,
        {"vmap": "an operand of no rows has no batch of them"},
    ),
]
globals().update(laws(RECORDS))
