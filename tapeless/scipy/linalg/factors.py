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
    """Return the Cholesky factor of `a`, and which triangle it is, for `cho_solve`.

    a: (..., n, n) -> (..., n, n), and whether it is the lower one.

    >>> jax.scipy.linalg.cho_factor(jnp.array([[4.0, 2.0], [2.0, 5.0]]), lower=True)[1]
    True
    """
    return cholesky(a, lower=lower), lower


def cho_solve(
    c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Value:
    """Return x with a x = b from the factor of `a`: b (n) or (n, m).

    factor: (..., n, n), b: (n,), (..., n) or (..., n, k) -> the same; batches go together.

    >>> jax.scipy.linalg.cho_solve((jnp.array([[2.0, 0.0], [1.0, 2.0]]), True), jnp.array([6.0,
    ...     7.0]))
    Array([1., 1.], dtype=float32)
    """
    factor, lower = c_and_lower
    factor, b = promote_dtypes_inexact(factor, b)
    if factor.ndim < 2 or factor.shape[-2] != factor.shape[-1]:
        raise ValueError(f"The factored matrix c must be square; got shape {factor.shape}")
    factor, columns, single = _together(factor, b)
    first = solve_triangular(factor, columns, trans=0 if lower else 2, lower=lower)
    x = solve_triangular(factor, first, trans=2 if lower else 0, lower=lower)
    return x[..., 0] if single else x


def _together(a: Value, b: Value) -> tuple[Value, Value, bool]:
    """Bring matrices and right-hand sides to one batch; tell whether a side is one column.

    a: (..., n, n), b: (n,), (..., n) or (..., n, k) -> (s, n, n), (s, n, k)
    """
    if a.ndim < 2 or a.shape[-2] != a.shape[-1]:
        raise ValueError(f"Expected square matrices, got a of shape {a.shape}.")
    n = a.shape[-1]
    single = b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape[-1] == n)
    columns = b[..., None] if single else b
    if columns.ndim < 2 or columns.shape[-2] != n:
        raise ValueError(
            f"Expected right-hand sides with {n} rows for a of shape {a.shape}, got b of shape "
            f"{b.shape}."
        )
    batch = np.broadcast_shapes(a.shape[:-2], columns.shape[:-2])
    a = jnp.broadcast_to(a, (*batch, n, n))
    return a, jnp.broadcast_to(columns, (*batch, *columns.shape[-2:])), single


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

    a: (..., n, n), b: (n,), (..., n) or (..., n, k) -> the same; batches go together.
    trans: 0 or "N" for a, 1 or "T" for its transpose, 2 or "C" for its adjoint.

    >>> jax.scipy.linalg.solve_triangular(jnp.array([[2.0, 0.0], [1.0, 4.0]]), jnp.array([2.0,
    ...     9.0]), lower=True)
    Array([1., 2.], dtype=float32)
    """
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise ValueError(f"Invalid 'trans' value {trans}")
    a, b = promote_dtypes_inexact(a, b)
    a, columns, single = _together(a, b)
    x = lax.linalg.triangular_solve(
        a,
        columns,
        left_side=True,
        lower=lower,
        transpose_a=trans in (1, 2, "T", "C"),
        conjugate_a=trans in (2, "C"),
        unit_diagonal=unit_diagonal,
    )
    return x[..., 0] if single else x


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

    a: (..., n, n), b: (n,) or (..., n, k) -> the same; where a is positive, also b: (..., n).
    assume_a: "gen", "sym", "her", or "pos" for a positive definite matrix, of which one triangle is
    read.

    >>> jax.scipy.linalg.solve(jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.array([2.0, 2.0]))
    Array([1. , 0.5], dtype=float32)
    """
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise ValueError(f"Expected assume_a to be one of {['gen', 'sym', 'her', 'pos']}")
    if assume_a != "pos":
        return jnp.linalg.solve(a, b)
    a, b = promote_dtypes_inexact(a, b)
    if b.ndim != a.ndim and (b.ndim != a.ndim - 1 or b.shape[-1] != a.shape[-1]):
        raise ValueError(
            f"Expected a of shape (..., n, n) and b of shape (..., n, k) or (..., n), got "
            f"{a.shape} and {b.shape}."
        )
    return cho_solve((cholesky(a, lower=lower), lower), b)


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Value:
    """Return the determinant: (s, n, n) -> (s).

    >>> jax.scipy.linalg.det(jnp.array([[2.0, 1.0], [0.0, 3.0]]))
    Array(6., dtype=float32)
    """
    return jnp.linalg.det(a)


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Value:
    """Return the inverse: (s, n, n) -> (s, n, n).

    >>> jax.scipy.linalg.inv(jnp.array([[2.0, 0.0], [0.0, 4.0]]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    return jnp.linalg.inv(a)


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Return U, s, V' with a = U diag(s) V', or s alone: (s, n, m).

    a: (..., m, n) -> U: (..., m, m), s: (..., k), Vh: (..., n, n), k = min(m, n)

    >>> jax.scipy.linalg.svd(jnp.array([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False)
    Array([4., 3.], dtype=float32)
    """
    return jnp.linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Value, Value]:
    """Return L and U in one matrix, and the row exchanges: (s, n, n) -> (s, n, n), (s, n).

    >>> jax.scipy.linalg.lu_factor(jnp.array([[1.0, 2.0], [4.0, 4.0]]))[1]
    Array([1, 1], dtype=int32)
    """
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

    factors: (..., n, n) and (..., n), b: (n,), (..., n) or (..., n, k) -> the same; batches go
    together.
    trans: 0 for a, 1 for its transpose, 2 for its adjoint.

    >>> jax.scipy.linalg.lu_solve((jnp.array([[4.0, 4.0], [0.25, 1.0]]), jnp.array([1, 1])),
    ...     jnp.array([3.0, 8.0]))
    Array([1., 1.], dtype=float32)
    """
    factors, pivots = lu_and_piv
    factors, b = promote_dtypes_inexact(factors, b)
    factors, columns, single = _together(factors, b)
    order = lu_pivots_to_permutation(pivots, factors.shape[-2])
    order = jnp.broadcast_to(order, factors.shape[:-1])
    if trans == 0:
        x = permuted_rows(columns, order)
        x = solve_triangular(factors, x, lower=True, unit_diagonal=True)
        x = solve_triangular(factors, x)
    elif trans in (1, 2):
        x = solve_triangular(factors, columns, trans=trans)
        x = solve_triangular(factors, x, trans=trans, lower=True, unit_diagonal=True)
        x = permuted_rows(x, jnp.argsort(order))
    else:
        raise ValueError(f"'trans' value must be 0, 1, or 2, got {trans}")
    return x[..., 0] if single else x


def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Return P, L, U with a = P L U, or with `permute_l` P L and U: (s, n, m).

    a: (..., m, n) -> P: (..., m, m), L: (..., m, k), U: (..., k, n), k = min(m, n)

    >>> jax.scipy.linalg.lu(jnp.array([[1.0, 2.0], [4.0, 4.0]]))[2]
    Array([[4., 4.],
           [0., 1.]], dtype=float32)
    """
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

    a: (..., m, n) -> Q: (..., m, m), R: (..., m, n), and with `pivoting` (..., n)
    mode: "full", "economic", or "r" for R alone.

    >>> jnp.abs(jax.scipy.linalg.qr(jnp.array([[3.0, 0.0], [4.0, 5.0]]))[1]).round(3)
    Array([[5., 4.],
           [0., 3.]], dtype=float32)
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

    a: (m, n), c: (j, k) -> the product, R: (min(m, n), n), and with `pivoting` (n,)
    conjugate: multiply by the conjugate of Q.

    >>> jnp.abs(jax.scipy.linalg.qr_multiply(jnp.array([[3.0, 0.0], [4.0, 5.0]]),
    ...     jnp.eye(2))[1]).round(3)
    Array([[5., 4.],
           [0., 3.]], dtype=float32)
    """
    if mode not in ("left", "right"):
        raise ValueError(f"Mode argument should be one of ['left', 'right']; got {mode!r}")
    a, c = promote_dtypes_inexact(a, c)
    q, *rest = lax.linalg.qr(a, pivoting=pivoting, full_matrices=False)
    q = jnp.conj(q) if conjugate else q
    shared, of_q = (c.shape[-1], q.shape[-2]) if mode == "right" else (c.shape[0], q.shape[-1])
    if shared != of_q:
        raise ValueError(
            f"qr_multiply multiplies c by Q on the side that mode={mode!r} says: Q of a, of shape "
            f"{a.shape}, has extent {of_q} there, c, of shape {c.shape}, has {shared}"
        )
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

    a: (s, n, n) -> (s, n), (s, n, n); with a positive definite b, of which the same triangle is
    read, those of a v = w b v (type 1), a b v = w v (type 2) or b a v = w v (type 3).

    >>> eigh(jnp.array([[2.0, 1.0], [1.0, 2.0]]), eigvals_only=True).round(3)
    Array([1., 3.], dtype=float32)
    """
    if eigvals is not None:
        raise NotImplementedError("Only the eigvals=None case of eigh is implemented")
    if type not in (1, 2, 3):
        raise ValueError(f"eigh: type must be 1, 2 or 3, got {type}")
    if b is None:
        (a,) = promote_dtypes_inexact(a)
        vectors, values = lax.linalg.eigh(a, lower=lower)
        return values if eigvals_only else (values, vectors)
    a, b = promote_dtypes_inexact(a, b)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2] or a.shape != b.shape:
        raise ValueError(
            f"Arguments a and b to linalg.eigh must have one shape [..., n, n], got {a.shape} and "
            f"{b.shape}."
        )
    values, vectors = _generalized_eigh(_mirrored(a, lower), _mirrored(b, lower), type)
    return values if eigvals_only else (values, vectors)


def _mirrored(x: Value, lower: bool) -> Value:
    """Return the Hermitian matrix of which one triangle is given."""
    triangle = jnp.tril(x, -1) if lower else jnp.triu(x, 1)
    middle = jnp.eye(x.shape[-1], dtype=x.dtype) * jnp.real(x)
    return triangle + adjoint(triangle) + middle.astype(x.dtype)


def _generalized_eigh(a: Value, b: Value, type: int) -> tuple[Value, Value]:
    """Return eigenvalues and vectors of a pair; b = L L' leads to inv(L) a inv(L)' or L' a L."""
    factor = lax.linalg.cholesky(b)

    def solved(x: Value, left_side: bool, transposed: bool) -> Value:
        """Return x divided by L, or by L', from one side."""
        return lax.linalg.triangular_solve(
            factor, x, left_side=left_side, lower=True,
            transpose_a=transposed, conjugate_a=transposed,
        )  # fmt: skip

    if type == 1:
        reduced = solved(solved(a, True, False), False, True)
    else:
        reduced = adjoint(factor) @ a @ factor
    vectors, values = lax.linalg.eigh(reduced)
    return values, factor @ vectors if type == 3 else solved(vectors, True, True)


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

    d: (n,), e: (n - 1,) -> (n,), or as many as are selected.
    select: "a" for all; "i" for those of the numbers of `select_range`, both ends included; "v" is
    not supported.  tol, key: unused, the result is exact.

    >>> jax.scipy.linalg.eigh_tridiagonal(jnp.array([2.0, 2.0]), jnp.array([1.0]),
    ...     eigvals_only=True).round(3)
    Array([1., 3.], dtype=float32)
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
    """Return H of a = Q H Q', zero below its first subdiagonal, and with `calc_q` also Q.

    a: (..., n, n) -> H: (..., n, n), Q: (..., n, n)

    >>> jax.scipy.linalg.hessenberg(jnp.array([[1.0, 2.0], [3.0, 4.0]]))
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
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


def schur(a: Any, output: str = "real") -> list[Value]:
    """Return [T, Z] with a = Z T Z', T upper triangular (real: with blocks of two).

    a: (n, n) -> T: (n, n), Z: (n, n)
    output: "real" or "complex".

    >>> jax.scipy.linalg.schur(jnp.array([[2.0, 1.0], [0.0, 3.0]]))[0]
    Array([[2., 1.],
           [0., 3.]], dtype=float32)
    """
    if output not in ("real", "complex"):
        raise ValueError(f"Expected 'output' to be either 'real' or 'complex', got {output=}.")
    (a,) = promote_dtypes_inexact(a)
    if output == "complex":
        a = a.astype(jnp.result_type(a.dtype, jnp.complex64))
    return lax.linalg.schur(a)


def rsf2csf(T: Any, Z: Any, check_finite: bool = True) -> tuple[Value, Value]:  # noqa: N803
    """Return the complex Schur form of a real one: blocks of two are made triangular.

    T, Z: (n, n) -> T: (n, n), Z: (n, n)
    Each pair of rows below whose diagonal something stands is rotated by the eigenvector of its
    block.

    >>> jax.scipy.linalg.rsf2csf(jnp.array([[2.0, 1.0], [0.0, 3.0]]), jnp.eye(2))[0].real.round(3)
    Array([[2., 1.],
           [0., 3.]], dtype=float32)
    """
    t, z = promote_dtypes_inexact(T, Z)
    if t.ndim != 2 or t.shape[0] != t.shape[1] or z.shape != t.shape:
        raise ValueError(f"Input matrices must be square and alike, got {t.shape} and {z.shape}")
    dtype = jnp.result_type(t.dtype, jnp.complex64)
    t, z = jnp.asarray(t, dtype), jnp.asarray(z, dtype)
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

    a: (..., m, n) -> u: (..., m, n), p: (..., n, n); p: (..., m, m) on the left side.
    method, eps, max_iterations: of iterations; the result here is exact, by singular values.

    >>> jax.scipy.linalg.polar(jnp.array([[0.0, 2.0], [3.0, 0.0]]))[1].round(3)
    Array([[3., 0.],
           [0., 2.]], dtype=float32)
    """
    if side not in ("right", "left"):
        raise ValueError(f"The argument `side` must be either 'right' or 'left', got {side!r}.")
    if method not in ("qdwh", "svd"):
        raise ValueError(f"Unknown polar decomposition method {method}.")
    (a,) = promote_dtypes_inexact(a)
    if np.ndim(a) < 2:
        raise ValueError(f"The input `a` must have two dimensions or more, got {np.shape(a)}.")
    u, s, vh = jnp.linalg.svd(a, full_matrices=False)
    s = s[..., None, :].astype(u.dtype)
    positive = (adjoint(vh) * s) @ vh if side == "right" else (u * s) @ adjoint(u)
    return u @ vh, positive
