"""Many small matrices are factored and solved by generated code, as LAPACK does it."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless import lax
from tapeless.config import enable_x64
from tapeless.test_util import check_grads

SIZES = (1, 2, 3, 5, 8, 9)
TOLERANCE = {"float32": 2e-4, "float64": 1e-10, "complex64": 5e-4, "complex128": 1e-10}


def matrices(*shape: int, dtype: str = "float64") -> np.ndarray:
    """Draw normal numbers, or parts."""
    real, imaginary = np.random.default_rng(0).normal(size=(2, *shape))
    return (real + 1j * imaginary if "complex" in dtype else real).astype(dtype)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("n", SIZES)
def test_factors_and_solutions_as_numpy(n, dtype):
    a, y = matrices(37, n, n, dtype=dtype), matrices(37, n, 2, dtype=dtype)
    positive = a @ np.swapaxes(a, 1, 2).conj() + np.eye(n, dtype=dtype)
    a = a + 3 * np.eye(n, dtype=dtype)
    tolerance = {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype]}
    with enable_x64(True):
        np.testing.assert_allclose(
            jnp.linalg.cholesky(positive), np.linalg.cholesky(positive), **tolerance
        )
        np.testing.assert_allclose(jnp.linalg.solve(a, y), np.linalg.solve(a, y), **tolerance)
        np.testing.assert_allclose(jnp.linalg.inv(a), np.linalg.inv(a), **tolerance)
        np.testing.assert_allclose(jnp.linalg.det(a), np.linalg.det(a), **tolerance)
        sign, logarithm = jnp.linalg.slogdet(a)
    expected = np.linalg.slogdet(a)
    np.testing.assert_allclose(sign, expected.sign, **tolerance)
    np.testing.assert_allclose(logarithm, expected.logabsdet, **tolerance)


@pytest.mark.parametrize("n", [1, 3, 8])
def test_batches_call_no_library(n):
    def f(a, y):
        return jnp.linalg.solve(a, y), jnp.linalg.cholesky(a)

    report = jax.inspect(f)(jnp.ones((9, n, n)), jnp.ones((9, n, 2)))
    texts = "".join(kernel.kernel.text for kernel in report.kernels)
    assert "sqrt" in texts
    assert not any(name in texts for name in ("getrf", "trsm", "potrf"))


@pytest.mark.parametrize("batch", [(0,), (1,), (3,), (17,), (2, 3), ()])
@pytest.mark.parametrize("n", [3, 6])
def test_batches_of_any_size(batch, n):
    a = matrices(*batch, n, n) + 3 * np.eye(n)
    positive = a @ np.swapaxes(a, -1, -2)
    with enable_x64(True):
        np.testing.assert_allclose(jnp.linalg.inv(a), np.linalg.inv(a), atol=1e-9)
        np.testing.assert_allclose(jnp.linalg.cholesky(positive), np.linalg.cholesky(positive))


def test_maps_of_functions_of_one_matrix():
    a, y = matrices(21, 4, 4) + 3 * np.eye(4), matrices(21, 4)
    with enable_x64(True):
        x = jax.jit(jax.vmap(jnp.linalg.solve))(a, y)
        one = jax.vmap(lambda y: jnp.linalg.solve(a[0], y))(y)
    np.testing.assert_allclose(x, np.linalg.solve(a, y[..., None])[..., 0], atol=1e-10)
    np.testing.assert_allclose(one, np.linalg.solve(a[0], y.T).T, atol=1e-10)


def test_matrices_that_are_computed_are_factored():
    x = matrices(13, 5, 5)
    with enable_x64(True):
        result = jax.jit(lambda x: jnp.linalg.inv(jnp.exp(x) @ x + 9 * jnp.eye(5)))(x)
    np.testing.assert_allclose(result, np.linalg.inv(np.exp(x) @ x + 9 * np.eye(5)), atol=1e-9)


def test_complex_pivots_are_largest_by_the_sum_of_their_parts():
    a = np.array([[[3 + 3j, 1], [5, 2]]] * 5, "complex64")
    np.testing.assert_array_equal(lax.linalg.lu(a)[1], [[0, 1]] * 5)


def test_what_is_not_a_number_stays_in_its_matrix():
    a = np.stack([np.eye(3, dtype=np.float32)] * 20)
    a[7, 1, 1], a[11, 0, 0] = np.nan, np.inf
    for function in (jnp.linalg.inv, jnp.linalg.cholesky):
        bad = np.isnan(np.asarray(function(a))).any((1, 2))
        np.testing.assert_array_equal(np.flatnonzero(bad), [7])


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3), (8, 8), (1, 6), (6, 1)])
def test_rows_are_exchanged_as_by_lapack(shape, dtype):
    a = matrices(20, *shape, dtype=dtype)
    with enable_x64(True):
        factors, pivots, order = lax.linalg.lu(a)
        expected = [lax.linalg.lu(np.pad(x, ((0, 0), (0, 9)))) for x in a]
        for i, (raw, steps, places) in enumerate(expected):
            np.testing.assert_allclose(factors[i], raw[:, : shape[1]], rtol=1e-9, atol=1e-12)
            np.testing.assert_array_equal(pivots[i], steps[: len(pivots[i])])
            if shape[0] <= shape[1]:
                np.testing.assert_array_equal(order[i], places)


def test_singular_matrices_have_zero_pivots_and_no_nan():
    a = np.array([[[0.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [2.0, 4.0]], [[0.0, 1.0], [1.0, 0.0]]])
    factors, pivots, _ = lax.linalg.lu(a.astype(np.float32))
    np.testing.assert_array_equal(factors[0], np.zeros((2, 2)))
    np.testing.assert_array_equal(factors[1], [[2, 4], [0.5, 0]])
    np.testing.assert_array_equal(factors[2], np.eye(2))
    np.testing.assert_array_equal(pivots, [[0, 1], [1, 1], [1, 1]])
    np.testing.assert_array_equal(jnp.linalg.det(a.astype(np.float32)), [0, 0, -1])


@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_cholesky_of_what_is_not_positive_definite_is_nan(n):
    good = 4 * np.eye(n, dtype=np.float32)
    bad = good.copy()
    bad[n - 1, n - 1] = -1
    unknown = good.copy()
    unknown[0, 0] = np.nan
    result = np.asarray(jnp.linalg.cholesky(np.stack([good, bad, unknown])))
    np.testing.assert_array_equal(result[0], good / 2)
    lower = np.tril_indices(n)
    assert np.isnan(result[1][lower]).all()
    assert np.isnan(result[2][lower]).all()


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("left", [False, True])
def test_triangular_systems_on_each_side(left, lower, transposed, unit):
    a = matrices(11, 4, 4) + 3 * np.eye(4)
    y = matrices(11, 4, 3) if left else matrices(11, 3, 4)
    with enable_x64(True):
        x = lax.linalg.triangular_solve(
            a, y, left_side=left, lower=lower, transpose_a=transposed, unit_diagonal=unit
        )
    x, full = np.asarray(x), np.tril(a) if lower else np.triu(a)
    if unit:
        full = full * (1 - np.eye(4)) + np.eye(4)
    full = np.swapaxes(full, 1, 2) if transposed else full
    np.testing.assert_allclose(full @ x if left else x @ full, y, atol=1e-9)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("transposed", [False, True])
def test_systems_with_the_conjugate_matrix(lower, transposed):
    a = matrices(11, 4, 4, dtype="complex128") + 3 * np.eye(4)
    y = matrices(11, 4, 12, dtype="complex128")
    flags = {"lower": lower, "transpose_a": transposed, "conjugate_a": True}
    with enable_x64(True):
        x = np.asarray(lax.linalg.triangular_solve(a, y, left_side=True, **flags))
    full = np.tril(a) if lower else np.triu(a)
    full = np.swapaxes(full, 1, 2) if transposed else full
    np.testing.assert_allclose(full.conj() @ x, y, atol=1e-9)


@pytest.mark.parametrize(
    ("dtype", "order"),
    [
        ("float64", 2),
        ("complex128", 1),
        pytest.param("complex128", 2, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    "function", [jnp.linalg.inv, jnp.linalg.det, lambda a: jnp.linalg.cholesky(a @ a.mT.conj())]
)
def test_derivatives_for_small_matrices(function, dtype, order):
    a = matrices(5, 4, 4, dtype=dtype) + 3 * np.eye(4)
    with enable_x64(True):
        check_grads(function, (a,), order=order)
