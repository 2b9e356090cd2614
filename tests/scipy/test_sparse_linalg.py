"""Iterative solvers against the systems that they solve."""

import numpy as np
import pytest

import tapeless as jax
from tapeless.scipy.sparse import linalg

R = np.random.default_rng(0)
A = R.normal(size=(8, 8)).astype("float32") + 5 * np.eye(8, dtype="float32")
POSITIVE = A @ A.T
B = R.normal(size=8).astype("float32")


@pytest.mark.parametrize("m", [None, np.diag(1 / np.diag(POSITIVE))], ids=["plain", "scaled"])
def test_conjugate_gradients(m):
    x, info = jax.jit(lambda b: linalg.cg(POSITIVE, b, M=m, tol=1e-6))(B)
    assert info is None
    np.testing.assert_allclose(POSITIVE @ x, B, atol=1e-4)


def test_trees_and_functions():
    scale = {"a": 2.0, "b": 4.0}
    x, _ = linalg.cg(lambda t: {k: scale[k] * v for k, v in t.items()}, {"a": B, "b": B[:2]})
    np.testing.assert_allclose(x["b"], B[:2] / 4, rtol=1e-5)


@pytest.mark.parametrize("m", [None, np.diag(1 / np.diag(A))], ids=["plain", "scaled"])
def test_biconjugate_gradients(m):
    x, _ = linalg.bicgstab(A, B, M=m, tol=1e-6)
    np.testing.assert_allclose(A @ x, B, atol=1e-4)


def test_the_most_steps_end_it():
    x, _ = linalg.cg(POSITIVE, B, maxiter=1)
    assert np.abs(POSITIVE @ x - B).max() > 1e-3


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="square matrix"):
        linalg.cg(A[:3], B)
    with pytest.raises(ValueError, match="matching shapes"):
        linalg.cg(POSITIVE, B, B[:3])
