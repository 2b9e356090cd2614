"""Norms are NumPy's, for every order and every choice of axes."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tests.support.against_numpy import check, normal

X = normal(2, 3, 4)
Z = normal(2, 3, 4, dtype="complex64")


@pytest.mark.parametrize("ord", [None, 1, 2, -1, -2, np.inf, -np.inf, "fro", "nuc"])
def test_matrices(ord):
    for axis in ((0, 1), (1, 2), (2, 0)):
        for keepdims in (False, True):
            check("linalg.norm", Z, ord, axis, keepdims, tolerance=1e-4)


@pytest.mark.parametrize("ord", [None, 0, 1, 2, 3, -1, 0.5, np.inf, -np.inf])
def test_vectors(ord):
    for axis in (0, -1):
        for keepdims in (False, True):
            check("linalg.norm", X, ord, axis, keepdims, tolerance=1e-4)


@pytest.mark.parametrize("ord", [1, 2, 3, np.inf])
def test_several_axes_as_one(ord):
    flat = np.linalg.norm(X.transpose(1, 0, 2).reshape(3, 8), ord, axis=1)
    np.testing.assert_allclose(jnp.linalg.vector_norm(X, axis=(0, 2), ord=ord), flat, rtol=1e-4)
    found = jnp.linalg.vector_norm(X, axis=(0, 2), ord=ord, keepdims=True)
    np.testing.assert_allclose(found, flat.reshape(1, 3, 1), rtol=1e-4)
    whole = np.linalg.norm(X.ravel(), ord)
    np.testing.assert_allclose(jnp.linalg.vector_norm(X, ord=ord), whole, rtol=1e-4)


def test_norm_of_everything_and_of_matrices():
    check("linalg.norm", X)
    expected = np.linalg.norm(X, axis=(1, 2))
    np.testing.assert_allclose(jnp.linalg.matrix_norm(X), expected, rtol=1e-5)
    assert jnp.linalg.norm(jnp.array([3, 4])) == 5


def test_gradient():
    found = jax.grad(jnp.linalg.norm)(X)
    np.testing.assert_allclose(found, X / np.linalg.norm(X), rtol=1e-5)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("x", 0), "Invalid order 'x' for vector norm"),
        ((3, (0, 1)), "Invalid order '3' for matrix norm"),
        ((1, (0, 1, 2)), "Improper number of axes"),
        ((1, None), "Improper number of axes"),
    ],
)
def test_wrong_orders(args, message):
    with pytest.raises(ValueError, match=message):
        jnp.linalg.norm(X, *args)
