"""QR, eigenvalue, singular value and Schur decompositions give back the matrix; derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless.config import enable_x64
from tapeless.prims import linalg

DTYPES = ["float32", "float64", "complex64", "complex128"]
SHAPES = [(2, 3, 3), (5, 3), (3, 5), (1, 1), (40, 30)]
STEP = 1e-5


@pytest.fixture(autouse=True)
def double():
    """Run every test with 64-bit types."""
    with enable_x64(True):
        yield


def draw(shape, dtype, seed=0) -> np.ndarray:
    """Return random numbers."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=shape)
    return (x + 1j * generator.normal(size=shape) if dtype[0] == "c" else x).astype(dtype)


def adjoint(x) -> np.ndarray:
    """Return the conjugate transpose."""
    return np.conj(np.swapaxes(np.asarray(x), -1, -2))


def close(expected, found, dtype) -> None:
    """Compare within the rounding errors of a decomposition."""
    bound = 1e-3 if dtype in ("float32", "complex64") else 1e-9
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=bound, atol=bound)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("full", [False, True])
def test_qr_and_svd_give_back_the_matrix(dtype, shape, full):
    x = draw(shape, dtype)
    q, r = map(np.asarray, linalg.qr(x, full_matrices=full))
    close(x, q @ r, dtype)
    close(np.tril(r, -1), np.zeros_like(r), dtype)
    close(np.broadcast_to(np.eye(q.shape[-1]), (adjoint(q) @ q).shape), adjoint(q) @ q, dtype)
    u, s, vt = map(np.asarray, linalg.svd(x, full_matrices=full))
    k = s.shape[-1]
    close(x, (u[..., :k] * s[..., None, :]) @ vt[..., :k, :], dtype)
    close(np.linalg.svd(x, compute_uv=False), linalg.svd(x, compute_uv=False), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_pivoted_qr_permutes_columns(dtype):
    x = draw((5, 4), dtype)
    q, r, order = map(np.asarray, linalg.qr(x, pivoting=True, full_matrices=False))
    close(x[:, order], q @ r, dtype)
    assert list(np.abs(np.diag(r))) == sorted(np.abs(np.diag(r)), reverse=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 5, 30])
def test_eigenvectors_are_scaled(dtype, n):
    x = draw((2, n, n), dtype)
    h = x + adjoint(x)
    v, w = map(np.asarray, linalg.eigh(h))
    close(v * w[..., None, :], h @ v, dtype)
    triangle = np.tril(h) + np.triu(draw((2, n, n), dtype, 1), 1)
    close(w, linalg.eigh(triangle, symmetrize_input=False)[1], dtype)
    w, left, right = map(np.asarray, linalg.eig(x))
    close(right * w[..., None, :], x @ right, dtype)
    close(w[..., :, None] * adjoint(left), adjoint(left) @ x, dtype)
    t, q = map(np.asarray, linalg.schur(x))
    close(x, q @ t @ adjoint(q), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_reflectors_are_lapacks(dtype):
    x = draw((2, 5, 5), dtype)
    for found, want in zip(linalg.hessenberg(x), linalg.hessenberg_p.reference(x), strict=True):
        close(want, found, dtype)
    for lower in (True, False):
        expected = linalg.tridiagonal_p.reference(x + adjoint(x), lower=lower)
        for found, want in zip(
            linalg.tridiagonal(x + adjoint(x), lower=lower), expected, strict=True
        ):
            close(want, found, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_of_reflectors(dtype):
    a, taus = draw((5, 3), dtype), draw((3,), dtype) / 4
    close(
        linalg.householder_product_p.reference(a, taus)[0],
        linalg.householder_product(a, taus),
        dtype,
    )
    for left in (True, False):
        c = draw((5, 2) if left else (2, 5), dtype)
        (expected,) = linalg.ormqr_p.reference(a, taus, c, left=left, transpose=False)
        close(expected, linalg.ormqr(a, taus, c, left=left), dtype)


def invariants(name):
    """Return a function of a matrix that does not depend on signs of vectors, by its name."""
    return {
        "qr": lambda x: linalg.qr(x, full_matrices=False),
        "svd": lambda x: linalg.svd(x, full_matrices=False),
        "singular values": lambda x: (linalg.svd(x, compute_uv=False),),
        "eigh": lambda x: linalg.eigh(x),
        "lu": lambda x: linalg.lu(x)[:1],
    }[name]


@pytest.mark.parametrize("name", ["qr", "svd", "singular values", "eigh", "lu"])
@pytest.mark.parametrize("shape", [(3, 3), (4, 3)])
def test_tangents_are_differences(name, shape):
    if name == "eigh" and shape != (3, 3):
        shape = (2, 4, 4)
    x, t = draw(shape, "float64"), draw(shape, "float64", 1)
    function = invariants(name)
    _, tangents = jax.jvp(lambda x: tuple(function(x)), (x,), (t,))
    ahead, back = function(x + STEP * t), function(x - STEP * t)
    for high, low, tangent in zip(ahead, back, tangents, strict=True):
        slope = (np.asarray(high) - np.asarray(low)) / (2 * STEP)
        np.testing.assert_allclose(np.asarray(tangent), slope, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("shape", [(2, 4), (4, 2), (5, 2), (2, 4, 3), (3, 3), (0, 2), (2, 0)])
def test_tangents_of_qr_are_differences(shape, full, dtype):
    x, t = draw(shape, dtype), draw(shape, dtype, 1)
    function = lambda x: tuple(linalg.qr(x, full_matrices=full))  # noqa: E731
    _, tangents = jax.jvp(function, (x,), (t,))
    for high, low, tangent in zip(
        function(x + STEP * t), function(x - STEP * t), tangents, strict=True
    ):
        slope = (np.asarray(high) - np.asarray(low)) / (2 * STEP)
        np.testing.assert_allclose(np.asarray(tangent), slope, rtol=1e-4, atol=1e-4)


def test_a_triangle_keeps_the_basis_of_what_is_left():
    x = np.array([[1.0, 2.0], [0.0, 3.0], [0.0, 0.0]], "float32")
    _, (dq, dr) = jax.jvp(lambda x: tuple(linalg.qr(x)), (x,), (x,))
    np.testing.assert_array_equal(np.asarray(dq), np.zeros((3, 3)))
    np.testing.assert_allclose(np.asarray(dr), x)


def test_tangents_of_eigenvalues_are_differences():
    x, t = draw((4, 4), "complex128"), draw((4, 4), "complex128", 1)

    def values(x):
        """Return the eigenvalues only."""
        return linalg.eig(x, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]

    _, tangent = jax.jvp(values, (x,), (t,))
    slope = (np.asarray(values(x + STEP * t)) - np.asarray(values(x - STEP * t))) / (2 * STEP)
    np.testing.assert_allclose(np.asarray(tangent), slope, rtol=1e-4, atol=1e-4)


def test_what_has_no_derivative_says_so():
    x = draw((3, 3), "float64")
    with pytest.raises(NotImplementedError, match="Derivatives of non-symmetric eigenvectors"):
        jax.jvp(lambda x: linalg.eig(x)[2], (x,), (x,))
    with pytest.raises(NotImplementedError, match="not implemented for full matrices"):
        jax.jvp(lambda x: linalg.svd(x)[0], (x[:2],), (x[:2],))


def test_nan_in_nan_out():
    x = np.full((3, 3), np.nan, np.float32)
    v, w = linalg.eigh(x)
    assert np.isnan(np.asarray(v)).all() and np.isnan(np.asarray(w)).all()
    assert np.isnan(np.asarray(linalg.svd(x, compute_uv=False))).all()
