"""Tests of diagonals and triangles, against NumPy."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp

X = np.arange(12.0, dtype=np.float32).reshape(3, 4)
OFFSETS = (-4, -2, -1, 0, 1, 3, 5)


@pytest.mark.parametrize("k", OFFSETS)
def test_matrices_of_ones(k):
    for make, numpy in ((jnp.eye, np.eye), (jnp.tri, np.tri)):
        expected = numpy(3, 4, k)
        np.testing.assert_array_equal(make(3, 4, k), expected)
        np.testing.assert_array_equal(jax.jit(lambda make=make: make(3, 4, k))(), expected)
    assert jnp.eye(2, dtype=int).dtype == jnp.identity(2, int).dtype == np.int32


@pytest.mark.parametrize("k", OFFSETS)
def test_triangles_and_diagonals(k):
    for name in ("tril", "triu", "diagonal", "diag", "diagflat", "trace"):
        expected = getattr(np, name)(X, k)
        np.testing.assert_array_equal(getattr(jnp, name)(X, k), expected)
    np.testing.assert_array_equal(jnp.diag(X[0], k), np.diag(X[0], k))


@pytest.mark.parametrize("axes", [(0, 1), (0, 2), (2, 1), (-1, 0)])
def test_diagonals_of_other_axes(axes):
    x = np.arange(24).reshape(2, 3, 4)
    np.testing.assert_array_equal(jnp.diagonal(x, 1, *axes), np.diagonal(x, 1, *axes))
    np.testing.assert_array_equal(jnp.trace(x, 0, *axes), np.trace(x, 0, *axes))
    np.testing.assert_array_equal(jnp.triu(x), np.triu(x))


def test_gradients():
    np.testing.assert_array_equal(jax.grad(jnp.trace)(X), np.eye(3, 4))
    np.testing.assert_array_equal(jax.grad(lambda x: jnp.tril(x).sum())(X), np.tri(3, 4))
    np.testing.assert_array_equal(jax.grad(lambda v: jnp.diag(v).sum())(X[0]), np.ones(4))


@pytest.mark.parametrize("k", OFFSETS)
def test_indices_of_triangles(k):
    for name in ("tril_indices", "triu_indices"):
        np.testing.assert_array_equal(getattr(jnp, name)(3, k, 4), getattr(np, name)(3, k, 4))
        found = getattr(jnp, name + "_from")(X, k)
        np.testing.assert_array_equal(found, getattr(np, name + "_from")(X, k))


def test_other_indices():
    np.testing.assert_array_equal(jnp.diag_indices(3, 3), np.diag_indices(3, 3))
    np.testing.assert_array_equal(jnp.diag_indices_from(X[:, :3]), np.diag_indices(3))
    np.testing.assert_array_equal(jnp.mask_indices(3, jnp.triu, 1), np.mask_indices(3, np.triu, 1))


@pytest.mark.parametrize("increasing", [False, True])
@pytest.mark.parametrize("count", [None, 0, 2, 5])
def test_vander(count, increasing):
    for x in (np.array([1, 2, 3]), np.array([0.5, -2.0], np.float32)):
        expected = np.vander(x, count, increasing)
        np.testing.assert_allclose(jnp.vander(x, count, increasing), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: jnp.tril(X[0]), "Argument to jax.numpy.tril must be at least 2D"),
        (lambda: jnp.diag(X[None]), "diag input must be 1d or 2d"),
        (lambda: jnp.diagonal(X[0]), "requires an array of at least two dimensions"),
        (lambda: jnp.diagonal(X, 0, 1, 1), "axis1 and axis2 cannot be the same"),
        (lambda: jnp.diag_indices_from(X), "All dimensions of input must be of equal length"),
        (lambda: jnp.vander(X), "x must be a one-dimensional array"),
    ],
    ids=range(6),
)
def test_faults(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_trace_sums_as_sum_does():
    x = np.array([[100, 0], [0, 100]], np.int8)
    assert jnp.trace(x).dtype == np.int32
    assert jnp.trace(x, dtype="int8") == np.int8(-56)
    short = np.diag(np.array([2048, 1, 1], np.float16))
    assert jnp.trace(short) == 2050


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: jnp.eye(-1), ValueError),
        (lambda: jnp.eye(2, -1), ValueError),
        (lambda: jnp.identity(-1), ValueError),
        (lambda: jnp.tri(-2), TypeError),
        (lambda: jnp.tril_indices(-1), TypeError),
        (lambda: jnp.triu_indices(3, m=-1), TypeError),
    ],
)
def test_there_is_no_negative_number_of_rows(call, error):
    with pytest.raises(error, match="-[12]"):
        call()
