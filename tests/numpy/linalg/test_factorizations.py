"""Factorisations multiply back to their operands, and values are NumPy's."""

import numpy as np
import pytest

import tapeless.numpy as jnp
from tests.support.against_numpy import check, normal

DTYPES = ["float32", "complex64"]


def adjoint(x):
    """Transpose and conjugate matrices."""
    return np.conj(np.swapaxes(x, -1, -2))


@pytest.mark.parametrize("dtype", DTYPES)
def test_cholesky(dtype):
    a = normal(2, 4, 4, dtype=dtype)
    a = a @ adjoint(a) + np.eye(4, dtype=dtype)
    check("linalg.cholesky", a, tolerance=1e-4)
    upper = adjoint(np.linalg.cholesky(a))
    np.testing.assert_allclose(jnp.linalg.cholesky(a, upper=True), upper, atol=1e-4)
    assert jnp.isnan(jnp.linalg.cholesky(-a)).any()


def test_cholesky_of_nan_has_nan_in_both_parts_below_a_real_diagonal():
    a = np.full((3, 3), complex(np.nan, np.nan), "complex64")
    found = np.asarray(jnp.linalg.cholesky(a))
    below = np.tril(np.ones((3, 3), bool), -1)
    np.testing.assert_array_equal(np.isnan(found.imag), below)
    np.testing.assert_array_equal(np.isnan(found.real), below | np.eye(3, dtype=bool))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 3, 3)])
def test_svd(shape, dtype):
    a = normal(*shape, dtype=dtype)
    for full in (True, False):
        u, s, vh = jnp.linalg.svd(a, full_matrices=full)
        expected = np.linalg.svd(a, full_matrices=full)
        assert [x.shape for x in (u, s, vh)] == [x.shape for x in expected]
        np.testing.assert_allclose(s, expected[1], rtol=1e-4)
    np.testing.assert_allclose((u * s[..., None, :]) @ vh, a, atol=1e-4)
    np.testing.assert_allclose(jnp.linalg.svdvals(a), expected[1], rtol=1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
def test_svd_of_hermitian_matrices(dtype):
    a = normal(2, 4, 4, dtype=dtype)
    a = a + adjoint(a)
    u, s, vh = jnp.linalg.svd(a, hermitian=True)
    np.testing.assert_allclose((u * s[..., None, :]) @ vh, a, atol=1e-4)
    expected = np.linalg.svd(a, compute_uv=False)
    np.testing.assert_allclose(s, expected, rtol=1e-4, atol=1e-5)
    found = jnp.linalg.svd(a, hermitian=True, compute_uv=False)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 3, 3)])
def test_qr(shape, dtype):
    a = normal(*shape, dtype=dtype)
    for mode in ("reduced", "complete"):
        q, r = jnp.linalg.qr(a, mode=mode)
        np.testing.assert_allclose(q @ r, a, atol=1e-5)
        assert q.shape == np.linalg.qr(a, mode=mode)[0].shape
    check("linalg.qr", a, "r", tolerance=1e-4)
    check("linalg.qr", a, "raw", tolerance=1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
def test_eigenvalues(dtype):
    a = normal(2, 4, 4, dtype=dtype)
    values, vectors = jnp.linalg.eig(a)
    np.testing.assert_allclose(a @ vectors, vectors * values[..., None, :], atol=1e-4)
    np.testing.assert_allclose(jnp.linalg.eigvals(a), values, atol=1e-4)
    h = a + adjoint(a)
    values, vectors = jnp.linalg.eigh(h)
    np.testing.assert_allclose(h @ vectors, vectors * values[..., None, :], atol=1e-4)
    check("linalg.eigvalsh", h, tolerance=1e-4)


def test_one_triangle_is_read():
    a = np.array([[2, 100], [1, 2]], np.float32)
    values = jnp.linalg.eigh(a, UPLO="L", symmetrize_input=False).eigenvalues
    np.testing.assert_allclose(values, [1, 3], rtol=1e-5)
    with pytest.raises(ValueError, match="UPLO must be one of"):
        jnp.linalg.eigh(a, UPLO="X")


def test_rank():
    a = normal(4, 3)
    a[:, 2] = a[:, 0] - a[:, 1]
    check("linalg.matrix_rank", a)
    check("linalg.matrix_rank", np.stack([a[:3], np.eye(3, dtype="float32")]))
    assert jnp.linalg.matrix_rank(a, rtol=1e9) == 0
    assert jnp.linalg.matrix_rank(jnp.zeros(3)) == 0


@pytest.mark.parametrize("name", ["cholesky", "eigh", "eig", "eigvals"])
def test_only_square_matrices(name):
    with pytest.raises(ValueError, match="square|n, n"):
        getattr(jnp.linalg, name)(jnp.ones((3, 4)))
    of_vectors = TypeError if name in ("eig", "eigvals") else ValueError
    with pytest.raises(of_vectors, match=r"rank at least 2, but got shape=\(3,\)|n, n"):
        getattr(jnp.linalg, name)(jnp.ones(3))
