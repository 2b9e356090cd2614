"""Softmax and its kin: no overflow, masks, and rows with nothing inside the mask."""

import numpy as np
import pytest
from scipy import special

import tapeless as jax
from tapeless import nn

X = np.array([[1.0, 2.0, -3.0], [1000.0, 1000.0, -1000.0]], np.float32)
MASK = np.array([[True, False, True], [False, False, False]])


@pytest.mark.parametrize("axis", [-1, 0, (0, 1), None])
def test_softmax_and_its_logarithm(axis: int | tuple | None) -> None:
    np.testing.assert_allclose(nn.softmax(X, axis), special.softmax(X, axis), rtol=1e-6)
    expected = special.log_softmax(X.astype(float), axis)
    np.testing.assert_allclose(nn.log_softmax(X, axis), expected, rtol=1e-6)


def test_masked_entries_count_as_nothing() -> None:
    found = nn.softmax(X, where=MASK)
    np.testing.assert_allclose(
        found[0], [np.exp(4) / (1 + np.exp(4)), 0, 1 / (1 + np.exp(4))], rtol=1e-6
    )
    logs = nn.log_softmax(X, where=MASK)
    assert float(logs[0, 1]) == -np.inf
    np.testing.assert_allclose(logs[0, [0, 2]], np.log(np.asarray(found)[0, [0, 2]]), rtol=1e-5)
    sums = nn.logsumexp(X, axis=1, where=MASK)
    np.testing.assert_allclose(sums, [np.logaddexp(1, -3), -np.inf], rtol=1e-6)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
def test_logsumexp_with_weights_and_signs(axis: int | tuple | None, keepdims: bool) -> None:
    weights = np.array([[1.0, -2.0, 0.5], [0.0, 1.0, 1.0]], np.float32)
    x = X / 100
    expected, signs = special.logsumexp(
        x.astype(float), axis, b=weights, keepdims=keepdims, return_sign=True
    )
    found, found_signs = nn.logsumexp(x, axis, weights, keepdims, return_sign=True)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(found_signs, signs)
    plain = nn.logsumexp(x, axis, keepdims=keepdims)
    np.testing.assert_allclose(plain, special.logsumexp(x, axis, keepdims=keepdims), atol=1e-6)


def test_logarithm_of_a_negative_sum_is_nan() -> None:
    assert np.isnan(nn.logsumexp(np.zeros(2, "f4"), b=np.array([1.0, -2.0], "f4")))


def test_logmeanexp_divides_by_the_count() -> None:
    expected = special.logsumexp(X, axis=1) - np.log(3)
    np.testing.assert_allclose(nn.logmeanexp(X, axis=1), expected, rtol=1e-6)
    expected = np.logaddexp(1, -3) - np.log(2)
    np.testing.assert_allclose(nn.logmeanexp(X, axis=1, where=MASK)[0], expected, rtol=1e-6)
    assert np.isnan(nn.logmeanexp(np.zeros(0, np.float32)))


def test_gradients_are_the_softmax_and_finite() -> None:
    gradient = jax.grad(lambda x: nn.logsumexp(x, axis=-1).sum())(X)
    np.testing.assert_allclose(gradient, special.softmax(X, -1), atol=1e-6)
    gradient = jax.grad(lambda x: nn.log_softmax(x)[0, 0])(X)
    expected = -special.softmax(X[0])
    expected[0] += 1
    np.testing.assert_allclose(gradient[0], expected, atol=1e-6)


@pytest.mark.parametrize("algorithm", ["fast", "stable"])
def test_standardized_rows_have_mean_zero_and_variance_one(algorithm: str) -> None:
    x = np.random.default_rng(0).normal(3, 2, (4, 50)).astype(np.float32)
    found = np.asarray(nn.standardize(x, epsilon=0.0, algorithm=algorithm))
    np.testing.assert_allclose(found.mean(-1), 0, atol=1e-5)
    np.testing.assert_allclose(found.var(-1), 1, rtol=1e-4)
    given = nn.standardize(x, mean=np.float32(1), variance=np.float32(4), epsilon=0.0)
    np.testing.assert_allclose(given, (x - 1) / 2, rtol=1e-6)
    with pytest.raises(ValueError, match="algorithm"):
        nn.standardize(x, algorithm="slow")


def test_logsumexp_of_complex_numbers() -> None:
    x = np.array([1 + 2j, -3 + 0.5j, 0.5], np.complex64)
    np.testing.assert_allclose(nn.logsumexp(x), np.log(np.exp(x).sum()), rtol=1e-6)


@pytest.mark.parametrize("algorithm", ["fast", "stable"])
def test_a_mean_of_another_dtype_is_promoted(algorithm: str) -> None:
    x, mean = np.array([1, 5], np.float32), np.array([2, 1], np.uint8)
    variance = (x**2).mean() - mean**2 if algorithm == "fast" else ((x - mean) ** 2).mean()
    expected = (x - mean) / np.sqrt(np.maximum(variance, 0) + 1e-5)
    found = nn.standardize(x, None, mean, algorithm=algorithm)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
