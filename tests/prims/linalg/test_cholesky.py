"""Cholesky factors of matrices that LAPACK factors, one by one."""

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax

SIZES = {"one": (70, 70), "a batch": (3, 50, 50)}


@pytest.mark.parametrize("shape", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_factors_are_of_what_lies_below_the_diagonal(shape, dtype):
    draw = np.random.default_rng(0)
    a = draw.normal(size=shape)
    if dtype.startswith("complex"):
        a = a + 1j * draw.normal(size=shape)
    n = shape[-1]
    a = (a @ np.swapaxes(a, -1, -2).conj() + n * np.eye(n)).astype(dtype)
    wanted = np.linalg.cholesky(a.astype(np.complex128 if a.dtype.kind == "c" else np.float64))
    lower = np.tril(a) + np.triu(np.full(shape, np.nan, dtype), 1)
    with jax.enable_x64(True):
        got = lax.linalg.cholesky(lower, symmetrize_input=False)
    assert got.dtype == dtype
    np.testing.assert_allclose(
        got, wanted, rtol=0, atol=200 * np.finfo(dtype).eps * np.abs(wanted).max()
    )


def test_only_what_is_not_positive_definite_is_nan():
    good = np.diag(np.arange(1.0, 41)).astype(np.float32)
    got = np.asarray(lax.linalg.cholesky(np.stack([good, -good, good])))
    assert np.isnan(np.diag(got[1])).all()
    np.testing.assert_array_equal(got[[0, 2]], np.sqrt([good, good]))


def test_the_matrix_that_is_factored_is_left_as_it_was():
    a = jax.numpy.eye(60) * 4
    np.testing.assert_array_equal(lax.linalg.cholesky(a), 2 * np.eye(60))
    np.testing.assert_array_equal(a, 4 * np.eye(60))
