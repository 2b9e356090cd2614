"""Factorisations of matrices in the last two axes, and what eigenvalues and singular values say.

Integers become floating.  Results of several parts are named tuples, as in NumPy.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from tapeless import dtypes
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy import arithmetic, reductions
from tapeless.numpy.choice import where
from tapeless.numpy.common import check_arraylike, convert, promote_dtypes_inexact, value_of
from tapeless.numpy.shaping import matrix_transpose
from tapeless.numpy.taking import take_along_axis
from tapeless.prims import linalg, parts, structural, unary
from tapeless.prims.create import broadcasted_iota
from tapeless.prims.sort import sort

__all__ = [
    "cholesky",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "matrix_rank",
    "qr",
    "svd",
    "svdvals",
]


class EigResult(NamedTuple):
    """What `eig` returns."""

    eigenvalues: Value
    eigenvectors: Value


class EighResult(NamedTuple):
    """What `eigh` returns."""

    eigenvalues: Value
    eigenvectors: Value


class QRResult(NamedTuple):
    """What `qr` returns."""

    Q: Value
    R: Value


class SVDResult(NamedTuple):
    """What `svd` returns."""

    U: Value
    S: Value
    Vh: Value


def inexact(name: str, a: Any) -> Value:
    """Return a checked argument in a floating or complex dtype."""
    check_arraylike(name, a)
    (x,) = promote_dtypes_inexact(value_of(a))
    return x


def square(x: Value, name: str) -> Value:
    """Return `x`, or raise ValueError unless its matrices are square."""
    shape = typeof(x).shape
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"Argument to {name} must have shape [..., n, n], got {shape}.")
    return x


def adjoint(x: Value) -> Value:
    """Return the matrices transposed and conjugated."""
    x = matrix_transpose(x)
    return parts.conj(x) if dtypes.issubdtype(typeof(x).dtype, np.complexfloating) else x


@functools.partial(jit, static_argnames=("upper", "symmetrize_input"))
def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Value:
    """Return L with a = L L', or, `upper`, U with a = U' U: (..., n, n) -> (..., n, n).

    symmetrize_input: use (a + a') / 2.  Where `a` is not positive definite, the result is NaN;
    NumPy raises an error.

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
    Array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    x = square(inexact("jnp.linalg.cholesky", a), "linalg.cholesky")
    factor = linalg.cholesky(x, symmetrize_input=symmetrize_input)
    return adjoint(factor) if upper else factor


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
    """Return U, S, Vh with a = U diag(S) Vh: (..., n, m) -> (..., n, n), (..., k), (..., m, m).

    full_matrices: square U and Vh; else (..., n, k), (..., k, m), with k = min(n, m).
    compute_uv: else only S.  hermitian: `a` is Hermitian, which is faster.
    subset_by_index: the range of singular values that is wanted, counted from the largest.

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.svd(jnp.array([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False)
    Array([4., 3.], dtype=float32)
    """
    out = _svd(a, full_matrices, compute_uv, hermitian, subset_by_index)
    return SVDResult(*out) if compute_uv else out


def _svd_impl(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
    """Return the factors as a plain tuple."""
    x = inexact("jnp.linalg.svd", a)
    if hermitian:
        return _svd_of_hermitian(x, compute_uv)
    return linalg.svd(
        x,
        full_matrices=full_matrices,
        compute_uv=compute_uv,
        subset_by_index=subset_by_index,
    )


_svd_impl.__name__ = "svd"
_svd = jit(
    _svd_impl,
    static_argnames=("full_matrices", "compute_uv", "hermitian", "subset_by_index"),
)


def _svd_of_hermitian(x: Value, compute_uv: bool) -> Any:
    """Return singular values as magnitudes of eigenvalues; signs go to one side."""
    vectors, values = linalg.eigh(x)
    last = typeof(values).ndim - 1
    sizes = unary.abs(values)
    if not compute_uv:
        return structural.rev(sort(sizes, last), (last,))
    signs = where(arithmetic.less(values, 0), np.int32(-1), np.int32(1))
    places = broadcasted_iota(np.uint32, typeof(values).shape, last)
    ordered = sort((sizes, places, signs), last, num_keys=1)
    sizes, places, signs = (structural.rev(each, (last,)) for each in ordered)
    u = take_along_axis(vectors, structural.expand_dims(places, (last,)), axis=-1)
    signed = arithmetic.multiply(u, structural.expand_dims(signs, (last,)))
    return u, sizes, adjoint(signed)


def svdvals(x: Any, /) -> Value:
    """Return the singular values, largest first: (..., n, m) -> (..., k).

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.svdvals(jnp.array([[3.0, 0.0], [0.0, 4.0]]))
    Array([4., 3.], dtype=float32)
    """
    return svd(x, compute_uv=False, hermitian=False)


def qr(a: Any, mode: str = "reduced") -> Any:
    """Return Q, R with a = Q R: (..., n, m) -> (..., n, k), (..., k, m), with k = min(n, m).

    mode: "reduced"; "complete", Q is square; "r", only R; "raw", the reflectors, transposed, and
    their factors.

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.qr(jnp.array([[0.0, 2.0], [3.0, 0.0]]), mode="r").round(3) + 0
    Array([[-3.,  0.],
           [ 0., -2.]], dtype=float32)
    """
    out = _qr(a, mode)
    return QRResult(*out) if mode in ("reduced", "complete") else out


def _qr_impl(a: Any, mode: str = "reduced") -> Any:
    """Return the factors as a plain tuple."""
    x = inexact("jnp.linalg.qr", a)
    if mode == "raw":
        packed, taus = linalg.geqrf(x)
        return matrix_transpose(packed), taus
    if mode not in ("reduced", "r", "full", "complete"):
        raise ValueError(f"Unsupported QR decomposition mode '{mode}'")
    q, r = linalg.qr(x, full_matrices=mode in ("full", "complete"))
    return r if mode == "r" else (q, r)


_qr_impl.__name__ = "qr"
_qr = jit(_qr_impl, static_argnames=("mode",))


def _eig_operand(name: str, a: Any) -> Value:
    """Return a checked operand of square matrices."""
    x = inexact(name, a)
    shape = typeof(x).shape
    if len(shape) < 2:
        raise TypeError(f"Input 0 to eig must have rank at least 2, but got shape={shape}")
    if shape[-1] != shape[-2]:
        raise ValueError(f"The input to eig must be a square matrix. Got shape {shape}.")
    return x


def eig(a: Any) -> EigResult:
    """Return eigenvalues and eigenvectors, complex: (..., n, n) -> (..., n), (..., n, n).

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.eig(jnp.array([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues
    Array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    x = _eig_operand("jnp.linalg.eig", a)
    values, vectors = linalg.eig(x, compute_left_eigenvectors=False)
    return EigResult(values, vectors)


@jit
def eigvals(a: Any) -> Value:
    """Return the eigenvalues, complex: (..., n, n) -> (..., n).

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.eigvals(jnp.array([[0.0, 1.0], [-1.0, 0.0]]))
    Array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    x = _eig_operand("jnp.linalg.eigvals", a)
    options = {"compute_left_eigenvectors": False, "compute_right_eigenvectors": False}
    return linalg.eig(x, **options)[0]


def eigh(a: Any, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:  # noqa: N803
    """Return eigenvalues, ascending, and eigenvectors of Hermitian matrices.

    (..., n, n) -> (..., n) real, (..., n, n).
    UPLO: which triangle is read, "L" or "U".  symmetrize_input: use (a + a') / 2.

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.eigh(jnp.array([[2.0, 1.0], [1.0, 2.0]])).eigenvalues
    Array([1., 3.], dtype=float32)
    """
    return EighResult(*_eigh(a, UPLO, symmetrize_input))


def _eigh_impl(a: Any, UPLO: str | None = None, symmetrize_input: bool = True) -> Any:  # noqa: N803
    """Return eigenvalues and eigenvectors as a plain tuple."""
    x = inexact("jnp.linalg.eigh", a)
    if UPLO not in (None, "L", "U"):
        raise ValueError(f"UPLO must be one of None, 'L', or 'U', got {UPLO}")
    lower = UPLO != "U"
    square(x, "linalg.eigh")
    vectors, values = linalg.eigh(x, lower=lower, symmetrize_input=symmetrize_input)
    return values, vectors


_eigh_impl.__name__ = "eigh"
_eigh = jit(_eigh_impl, static_argnames=("UPLO", "symmetrize_input"))


@functools.partial(jit, static_argnames=("UPLO", "symmetrize_input"))
def eigvalsh(a: Any, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Value:  # noqa: N803
    """Return the eigenvalues of Hermitian matrices, ascending: (..., n, n) -> (..., n).

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.eigvalsh(jnp.array([[2.0, 1.0], [1.0, 2.0]]))
    Array([1., 3.], dtype=float32)
    """
    check_arraylike("jnp.linalg.eigvalsh", a)
    return eigh(a, UPLO, symmetrize_input)[0]


@functools.partial(jit, static_argnames=("hermitian",))
def matrix_rank(
    M: Any,  # noqa: N803
    rtol: Any = None,
    *,
    hermitian: bool = False,
    tol: Any = None,
) -> Value:
    """Return how many singular values are above a tolerance: (..., n, m) -> (...), integers.

    rtol: the tolerance; by default the largest singular value times max(n, m) times the spacing of
    the dtype.

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.matrix_rank(jnp.array([[1.0, 2.0], [2.0, 4.0]]))
    Array(1, dtype=int32)
    """
    x = inexact("jnp.linalg.matrix_rank", M)
    shape = typeof(x).shape
    if len(shape) < 2:
        nonzero = reductions.any(arithmetic.not_equal(x, 0))
        return convert(nonzero, np.dtype(np.int32))
    values = svd(x, full_matrices=False, compute_uv=False, hermitian=hermitian)
    limit = rtol if tol is None else tol
    if limit is None:
        dtype = typeof(values).dtype
        limit = arithmetic.multiply(reductions.max(values, axis=-1), dtype.type(max(shape[-2:])))
        limit = arithmetic.multiply(limit, dtypes.finfo(dtype).eps)
    limit = value_of(limit)
    limit = structural.expand_dims(limit, (typeof(limit).ndim,))
    return reductions.sum(arithmetic.greater(values, limit), axis=-1)
