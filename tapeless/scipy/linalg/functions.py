"""Functions of matrices: exponential, square root, any other; Sylvester's equation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tapeless import lax
from tapeless import numpy as jnp
from tapeless.api.autodiff import jvp
from tapeless.core.trace import Value
from tapeless.numpy.common import promote_dtypes_inexact
from tapeless.numpy.linalg.factorizations import adjoint
from tapeless.numpy.vectorization import vectorize
from tapeless.scipy.linalg.factors import schur, solve_triangular

__all__ = ["expm", "expm_frechet", "funm", "solve_sylvester", "sqrtm"]

# Numerator coefficients of the diagonal Pade approximants of exp, by order.
_PADE = {
    7: [17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1],
    13: [
        64764752532480000,
        32382376266240000,
        7771770303897600,
        1187353796428800,
        129060195264000,
        10559470521600,
        670442572800,
        33522128640,
        1323241920,
        40840800,
        960960,
        16380,
        182,
        1,
    ],
}
# The norm up to which the approximant is exact to rounding (Higham, 2005).
_REACH = {7: 3.925724783138660, 13: 5.371920351148152}


def _matrix_exponential(
    a: Value,
    upper_triangular: bool,
    max_squarings: int,
) -> Value:
    """Return exp of one matrix by scaling, a Pade approximant, and squaring: (n, n)."""
    order = 7 if jnp.finfo(a.dtype).bits <= 32 else 13
    size = jnp.abs(a).sum(axis=-2).max(initial=0.0)
    steps = jnp.ceil(jnp.log2(jnp.maximum(size / _REACH[order], 1e-30)))
    n_squarings = jnp.maximum(steps, 0)
    scaled = a / 2.0 ** jnp.minimum(n_squarings, max_squarings).astype(jnp.real(a).dtype)
    square = scaled @ scaled
    coefficients = [float(c) for c in _PADE[order]]
    even = odd = jnp.zeros_like(a)
    identity = jnp.eye(a.shape[-1], dtype=a.dtype)
    for k in range(len(coefficients) // 2 - 1, -1, -1):
        even = even @ square + coefficients[2 * k] * identity
        odd = odd @ square + coefficients[2 * k + 1] * identity
    odd = scaled @ odd
    if upper_triangular:
        value = solve_triangular(even - odd, even + odd)
    else:
        value = jnp.linalg.solve(even - odd, even + odd)
    for k in range(max_squarings):
        value = lax.cond(k < n_squarings, lambda x: x @ x, lambda x: x, value)
    return jnp.where(n_squarings > max_squarings, jnp.nan, value)


def expm(
    A: Any,
    *,
    upper_triangular: bool = False,
    max_squarings: int = 16,
) -> Value:  # noqa: N803
    """Return the exponential of matrices: (s, n, n) -> (s, n, n).

    upper_triangular: whether A is.  max_squarings: matrices that need more give NaN.

    >>> expm(jnp.zeros((2, 2)))
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    (a,) = promote_dtypes_inexact(A)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Expected A to be a (batched) square matrix, got {a.shape=}.")

    def one(matrix: Value) -> Value:
        """Return the exponential of one matrix."""
        return _matrix_exponential(matrix, upper_triangular, max_squarings)

    return vectorize(one, signature="(n,n)->(n,n)")(a)


def expm_frechet(
    A: Any,  # noqa: N803
    E: Any,  # noqa: N803
    *,
    method: str | None = None,
    compute_expm: bool = True,
) -> Any:
    """Return exp(A) and its derivative at A in the direction E, or that derivative alone.

    A, E: (n, n) -> (n, n), (n, n)

    >>> jax.scipy.linalg.expm_frechet(jnp.zeros((2, 2)), jnp.eye(2))[1].round(3)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    a, e = promote_dtypes_inexact(A, E)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2] or a.shape != e.shape:
        raise ValueError(f"expected square matrices of one shape, got {a.shape=} and {e.shape=}")
    value, tangent = jvp(expm, (a,), (e,))
    return (value, tangent) if compute_expm else tangent


def funm(
    A: Any,
    func: Callable,
    disp: bool = True,
) -> Any:  # noqa: N803
    """Return func(A), func being a function of complex numbers: by Parlett's recurrence.

    A: (n, n) -> (n, n)
    disp: False also returns an estimate of the error.  A: (n, n), with distinct eigenvalues.

    >>> jax.scipy.linalg.funm(jnp.diag(jnp.array([1.0, 4.0])), jnp.sqrt).real.round(3)
    Array([[1., 0.],
           [0., 2.]], dtype=float32)
    """
    (a,) = promote_dtypes_inexact(A)
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError("expected square array_like input")
    n = a.shape[0]
    t, z = schur(a, output="complex")
    f = jnp.diag(func(jnp.diag(t))).astype(t.dtype)
    smallest = jnp.abs(t[0, 0])
    for offset in range(1, n):
        for i in range(n - offset):
            j = i + offset
            s = t[i, j] * (f[j, j] - f[i, i])
            inner = slice(i + 1, j)
            s = s + t[i, inner] @ f[inner, j] - f[i, inner] @ t[inner, j]
            gap = t[j, j] - t[i, i]
            f = f.at[i, j].set(jnp.where(gap != 0, s / jnp.where(gap != 0, gap, 1), s))
            smallest = jnp.minimum(smallest, jnp.abs(gap))
    value = z @ f @ adjoint(z)
    eps = jnp.finfo(t.dtype).eps
    smallest = jnp.where(smallest == 0, eps, smallest)
    norm = jnp.abs(jnp.triu(t, 1)).sum(axis=0).max(initial=0.0)
    error = jnp.minimum(1, jnp.maximum(eps, eps / smallest * norm))
    error = jnp.where(jnp.isfinite(value).all(), error, jnp.inf)
    return value if disp else (value, error)


def sqrtm(A: Any, blocksize: int = 1) -> Value:  # noqa: N803
    """Return the principal square root, complex: (n, n) -> (n, n).

    By the Schur form T of A: R R = T gives the elements of R diagonal by diagonal.
    blocksize: 1.

    >>> jax.scipy.linalg.sqrtm(jnp.diag(jnp.array([4.0, 9.0]))).real.round(3)
    Array([[2., 0.],
           [0., 3.]], dtype=float32)
    """
    if blocksize > 1:
        raise NotImplementedError("Blocked version is not implemented yet.")
    (a,) = promote_dtypes_inexact(A)
    t, z = schur(a, output="complex")
    n = t.shape[0]
    root = jnp.diag(jnp.sqrt(jnp.diag(t)))
    for offset in range(1, n):
        for i in range(n - offset):
            j = i + offset
            inner = slice(i + 1, j)
            rest = t[i, j] - root[i, inner] @ root[inner, j]
            total = root[i, i] + root[j, j]
            safe = jnp.where(total != 0, total, 1)
            root = root.at[i, j].set(jnp.where(total != 0, rest / safe, rest))
    return z @ root @ adjoint(z)


def solve_sylvester(
    A: Any,  # noqa: N803
    B: Any,  # noqa: N803
    C: Any,  # noqa: N803
    *,
    method: str = "schur",
    tol: float = 1e-8,
) -> Value:
    """Return X with A X + X B = C: (n, n), (m, m), (n, m) -> (n, m); NaN where there is none.

    method: "schur" or "eigen", which are one here.

    >>> jax.scipy.linalg.solve_sylvester(jnp.eye(2), jnp.eye(2), jnp.array([[2.0, 4.0], [6.0,
    ...     8.0]])).real.round(3)
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    if method not in ("schur", "eigen"):
        raise ValueError(f"Unrecognized method {method}. The two valid methods are eigen or schur.")
    a, b, c = promote_dtypes_inexact(A, B, C)
    if a.ndim != 2 or b.ndim != 2 or c.shape != (a.shape[0], b.shape[0]):
        raise ValueError(
            "solve_sylvester takes matrices A (n, n), B (m, m) and C (n, m), got shapes "
            f"{a.shape}, {b.shape} and {c.shape}"
        )
    s, u = schur(a, output="complex")
    t, v = schur(b, output="complex")
    right = adjoint(u) @ c @ v
    identity = jnp.eye(a.shape[0], dtype=s.dtype)
    columns: list[Value] = []
    for j in range(b.shape[0]):
        column = right[:, j]
        if columns:
            column = column - jnp.stack(columns, axis=1) @ t[:j, j]
        columns.append(solve_triangular(s + t[j, j] * identity, column))
    x = u @ jnp.stack(columns, axis=1) @ adjoint(v)
    gaps = jnp.abs(jnp.diag(s)[:, None] + jnp.diag(t)[None, :])
    x = jnp.where(gaps.min(initial=math.inf) < tol, jnp.nan, x)
    return x if jnp.iscomplexobj(c) else x.real
