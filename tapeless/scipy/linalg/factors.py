"""Factorisations with SciPy's arguments, and solving with them.

The arguments overwrite_a, overwrite_b, check_finite, debug, turbo, lwork and lapack_driver are
accepted and change nothing: arrays are immutable, and NaN gives NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapeless import lax
from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import promote_dtypes_inexact
from tapeless.numpy.linalg.factorizations import adjoint
from tapeless.numpy.vectorization import vectorize
from tapeless.prims.linalg import lu_pivots_to_permutation
from tapeless.prims.linalg.lu import permuted_rows

__all__ = [
    "cho_factor",
    "cho_solve",
    "cholesky",
    "det",
    "eigh",
    "eigh_tridiagonal",
    "hessenberg",
    "inv",
    "lu",
    "lu_factor",
    "lu_solve",
    "polar",
    "qr",
    "qr_multiply",
    "rsf2csf",
    "schur",
    "solve",
    "solve_triangular",
    "svd",
]


def cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Value:
    """Return U with U' U = a, or with `lower` L with L L' = a: (s, n, n) -> (s, n, n).

    >>> cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
    Array([[2., 1.],
           [0., 2.]], dtype=float32)
    """
    (a,) = promote_dtypes_inexact(a)
    factor = lax.linalg.cholesky(a if lower else adjoint(a), symmetrize_input=False)
    return factor if lower else adjoint(factor)


def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Value, bool]:
    """Return the Cholesky factor of `a`, and which triangle it is, for `cho_solve`."""
    return cholesky(a, lower=lower), lower


def cho_solve(
    c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Value:
    """Return x with a x = b from the factor of `a`: b (n) or (n, m)."""
    factor, lower = c_and_lower
    factor, b = promote_dtypes_inexact(factor, b)
    if factor.ndim != 2 or factor.shape[0] != factor.shape[1]:
        raise ValueError(f"The factored matrix c must be square; got shape {factor.shape}")
    first = solve_triangular(factor, b, trans=0 if lower else 2, lower=lower)
    return solve_triangular(factor, first, trans=2 if lower else 0, lower=lower)


def solve_triangular(
    a: Any,
    b: Any,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Value:
    """Return x with op(a) x = b for a triangular matrix: (s, n, n), (n) or (s, n, m).

    trans: 0 or "N" for a, 1 or "T" for its transpose, 2 or "C" for its adjoint.
    """
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise ValueError(f"Invalid 'trans' value {trans}")
    a, b = promote_dtypes_inexact(a, b)
    columns = b[..., None] if b.ndim == 1 else b
    x = lax.linalg.triangular_solve(
        a,
        columns,
        left_side=True,
        lower=lower,
        transpose_a=trans in (1, 2, "T", "C"),
        conjugate_a=trans in (2, "C"),
        unit_diagonal=unit_diagonal,
    )
    return x[..., 0] if b.ndim == 1 else x


def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Value:
    """Return x with a x = b: (s, n, n), (s, n) or (s, n, m).

    assume_a: "gen", "sym", "her", or "pos" for a positive definite matrix, of which one triangle is
    read.
    """
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise ValueError(f"Expected assume_a to be one of {['gen', 'sym', 'her', 'pos']}")
    if assume_a != "pos":
        return jnp.linalg.solve(a, b)
    a, b = promote_dtypes_inexact(a, b)
    factor = cholesky(a, lower=lower)

    def one(factor: Value, b: Value) -> Value:
        """Solve one system."""
        return cho_solve((factor, lower), b)

    shape = "(n)->(n)" if b.ndim == 1 else "(n,m)->(n,m)"
    return vectorize(one, signature=f"(n,n),{shape}")(factor, b)


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Value:
    """Return the determinant: (s, n, n) -> (s)."""
    return jnp.linalg.det(a)


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Value:
    """Return the inverse: (s, n, n) -> (s, n, n)."""
    return jnp.linalg.inv(a)


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Return U, s, V' with a = U diag(s) V', or s alone: (s, n, m)."""
    return jnp.linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Value, Value]:
    """Return L and U in one matrix, and the row exchanges: (s, n, n) -> (s, n, n), (s, n)."""
    (a,) = promote_dtypes_inexact(a)
    factors, pivots, _ = lax.linalg.lu(a)
    return factors, pivots


def lu_solve(
    lu_and_piv: tuple[Any, Any],
    b: Any,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Value:
    """Return x with op(a) x = b from what `lu_factor` returned: b (n) or (n, m).

    trans: 0 for a, 1 for its transpose, 2 for its adjoint.
    """
    factors, pivots = lu_and_piv
    factors, b = promote_dtypes_inexact(factors, b)
    columns = b[:, None] if b.ndim == 1 else b
    order = lu_pivots_to_permutation(pivots, factors.shape[-2])
    if trans == 0:
        x = permuted_rows(columns, order)
        x = solve_triangular(factors, x, lower=True, unit_diagonal=True)
        x = solve_triangular(factors, x)
    elif trans in (1, 2):
        x = solve_triangular(factors, columns, trans=trans)
        x = solve_triangular(factors, x, trans=trans, lower=True, unit_diagonal=True)
        x = x[jnp.argsort(order)]
    else:
        raise ValueError(f"'trans' value must be 0, 1, or 2, got {trans}")
    return x[:, 0] if b.ndim == 1 else x


def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Return P, L, U with a = P L U, or with `permute_l` P L and U: (s, n, m)."""
    (a,) = promote_dtypes_inexact(a)
    factors, _, order = lax.linalg.lu(a)
    n, m = a.shape[-2:]
    k = min(n, m)
    lower = jnp.tril(factors[..., :, :k], -1) + jnp.eye(n, k, dtype=a.dtype)
    upper = jnp.triu(factors[..., :k, :])
    # Row order[i] of `a` is row i of L U.
    permutation = (order[..., None, :] == jnp.arange(n)[:, None]).astype(jnp.real(a).dtype)
    if permute_l:
        return permutation.astype(a.dtype) @ lower, upper
    return permutation, lower, upper


def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Value, ...]:
    """Return Q and R with a = Q R, and with `pivoting` the order of the columns: (s, n, m).

    mode: "full", "economic", or "r" for R alone.
    """
    if mode not in ("full", "r", "economic"):
        raise ValueError(f"Unsupported QR decomposition mode '{mode}'")
    (a,) = promote_dtypes_inexact(a)
    q, *rest = lax.linalg.qr(a, pivoting=pivoting, full_matrices=mode != "economic")
    return tuple(rest) if mode == "r" else (q, *rest)


def qr_multiply(
    a: Any,
    c: Any,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Value, ...]:
    """Return c Q, or with mode "left" Q c, then R and with `pivoting` the order of the columns.

    conjugate: multiply by the conjugate of Q.
    """
    if mode not in ("left", "right"):
        raise ValueError(f"Mode argument should be one of ['left', 'right']; got {mode!r}")
    a, c = promote_dtypes_inexact(a, c)
    q, *rest = lax.linalg.qr(a, pivoting=pivoting, full_matrices=False)
    q = jnp.conj(q) if conjugate else q
    flat = c[None, :] if c.ndim == 1 and mode == "right" else c
    product = flat @ q if mode == "right" else q @ flat
    return (product[0] if c.ndim == 1 and mode == "right" else product, *rest)


def eigh(
    a: Any,
    b: Any = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Any:
    """Return eigenvalues and vectors of a Hermitian matrix, of which one triangle is read.

    b: for a v = w b v (type 1), not supported.
    """
    if b is not None:
        raise NotImplementedError("Only the b=None case of eigh is implemented")
    if type != 1:
        raise NotImplementedError("Only the type=1 case of eigh is implemented.")
    if eigvals is not None:
        raise NotImplementedError("Only the eigvals=None case of eigh is implemented")
    (a,) = promote_dtypes_inexact(a)
    vectors, values = lax.linalg.eigh(a, lower=lower)
    return values if eigvals_only else (values, vectors)


def eigh_tridiagonal(
    d: Any,
    e: Any,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: tuple[float, float] | None = None,
    tol: float | None = None,
    key: Any = None,
) -> Any:
    """Return eigenvalues and vectors of a symmetric tridiagonal matrix: diagonals (n), (n-1).

    select: "a" for all; "i" for those of the numbers of `select_range`, both ends included; "v" is
    not supported.  tol, key: unused, the result is exact.
    """
    if select not in ("a", "i", "v"):
        raise ValueError("'select' must have a value in {'a', 'i', 'v'}.")
    if select == "v":
        raise NotImplementedError("eigh_tridiagonal with select='v'")
    d, e = promote_dtypes_inexact(d, e)
    matrix = jnp.diag(jnp.real(d)).astype(d.dtype) + jnp.diag(e, -1) + jnp.diag(jnp.conj(e), 1)
    vectors, values = lax.linalg.eigh(matrix)
    if select == "i":
        if select_range is None:
            raise ValueError("for select='i', select_range must be specified.")
        first, last = select_range
        values, vectors = values[first : last + 1], vectors[:, first : last + 1]
    return values if eigvals_only else (values, vectors)


def hessenberg(
    a: Any, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Return H of a = Q H Q', zero below its first subdiagonal, and with `calc_q` also Q."""
    (a,) = promote_dtypes_inexact(a)
    n = a.shape[-1]
    if n == 0:
        return (a, a) if calc_q else a
    packed, taus = lax.linalg.hessenberg(a)
    h = jnp.triu(packed, -1)
    if not calc_q:
        return h
    inner = lax.linalg.householder_product(packed[..., 1:, :-1], taus)
    q = jnp.zeros_like(a).at[..., 0, 0].set(1).at[..., 1:, 1:].set(inner)
    return h, q


def schur(a: Any, output: str = "real") -> tuple[Value, Value]:
    """Return T and Z with a = Z T Z', T upper triangular (real: with blocks of two).

    output: "real" or "complex".
    """
    if output not in ("real", "complex"):
        raise ValueError(f"Expected 'output' to be either 'real' or 'complex', got {output=}.")
    (a,) = promote_dtypes_inexact(a)
    if output == "complex":
        a = a.astype(jnp.result_type(a.dtype, jnp.complex64))
    return tuple(lax.linalg.schur(a))


def rsf2csf(T: Any, Z: Any, check_finite: bool = True) -> tuple[Value, Value]:  # noqa: N803
    """Return the complex Schur form of a real one: blocks of two are made triangular.

    Each pair of rows below whose diagonal something stands is rotated by the eigenvector of its
    block.
    """
    t, z = promote_dtypes_inexact(T, Z)
    if t.ndim != 2 or t.shape[0] != t.shape[1] or z.shape != t.shape:
        raise ValueError(f"Input matrices must be square and alike, got {t.shape} and {z.shape}")
    dtype = jnp.result_type(t.dtype, jnp.complex64)
    t, z = t.astype(dtype), z.astype(dtype)
    n = t.shape[0]
    for m in range(n - 1, 0, -1):
        block = t[m - 1 : m + 1, m - 1 : m + 1]
        is_pair = jnp.abs(t[m, m - 1]) > jnp.finfo(dtype).eps * (
            jnp.abs(t[m - 1, m - 1]) + jnp.abs(t[m, m])
        )
        half, det = (block[0, 0] - block[1, 1]) / 2, block[0, 1] * block[1, 0]
        mu = (block[0, 0] + block[1, 1]) / 2 + jnp.sqrt(half * half + det) - block[1, 1]
        length = jnp.sqrt(jnp.abs(mu) ** 2 + jnp.abs(t[m, m - 1]) ** 2)
        safe = jnp.where(is_pair, length, 1)
        c, s = jnp.where(is_pair, mu / safe, 1), jnp.where(is_pair, t[m, m - 1] / safe, 0)
        rotation = jnp.array([[jnp.conj(c), s], [-s, c]])
        t = t.at[m - 1 : m + 1, m - 1 :].set(rotation @ t[m - 1 : m + 1, m - 1 :])
        t = t.at[: m + 1, m - 1 : m + 1].set(t[: m + 1, m - 1 : m + 1] @ adjoint(rotation))
        z = z.at[:, m - 1 : m + 1].set(z[:, m - 1 : m + 1] @ adjoint(rotation))
        t = t.at[m, m - 1].set(0)
    return t, z


def polar(
    a: Any,
    side: str = "right",
    *,
    method: str = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Value, Value]:
    """Return U and P with a = U P (side "right") or a = P U, U unitary, P positive: (n, m).

    method, eps, max_iterations: of iterations; the result here is exact, by singular values.
    """
    if side not in ("right", "left"):
        raise ValueError(f"The argument `side` must be either 'right' or 'left', got {side!r}.")
    if method not in ("qdwh", "svd"):
        raise ValueError(f"Unknown polar decomposition method {method}.")
    (a,) = promote_dtypes_inexact(a)
    if np.ndim(a) != 2:
        raise ValueError("The input `a` must be a 2-D array.")
    u, s, vh = jnp.linalg.svd(a, full_matrices=False)
    s = s.astype(u.dtype)
    positive = (adjoint(vh) * s) @ vh if side == "right" else (u * s) @ adjoint(u)
    return u @ vh, positive
