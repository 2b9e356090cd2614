"""Iterative solvers against the systems that they solve."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

import tapeless as jax
from tapeless.scipy.sparse import linalg
from tests.parity.expressions import check_error_class, check_value
from tests.scipy import libraries
from tests.support.against_numpy import normal

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


@pytest.mark.parametrize("options", [
    {}, {"restart": 3}, {"solve_method": "incremental"}, {"M": np.diag(1 / np.diag(A))},
    {"x0": np.ones(8)}, {"restart": 3, "solve_method": "incremental"},
], ids=lambda options: "-".join(options))  # fmt: skip
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_minimal_residuals(dtype, options):
    a = A.astype(dtype) * (1 if dtype == "float32" else 1 + 1j)
    x, info = linalg.gmres(a, B.astype(dtype), tol=1e-6, **options)
    assert int(info) == 0
    np.testing.assert_allclose(a @ x, B, atol=1e-4)


def test_minimal_residuals_end_where_the_space_is_exhausted():
    x, _ = linalg.gmres(np.eye(4) * 2, np.array([1.0, 0, 0, 0]))
    np.testing.assert_allclose(x, [0.5, 0, 0, 0], atol=1e-6)
    x, _ = linalg.gmres(lambda t: {"a": 2 * t["a"], "b": 3 * t["b"]}, {"a": B, "b": B[:2]})
    np.testing.assert_allclose(x["b"], B[:2] / 3, rtol=1e-4)
    assert linalg.gmres(np.zeros((0, 0)), np.zeros(0))[0].shape == (0,)


@pytest.mark.parametrize("name", ["cg", "gmres", "bicgstab"])
def test_derivatives_are_those_of_the_solution(name):
    """The derivatives of A^-1 b: by b, A^-T; by A, -A^-T v x^T."""
    solve = getattr(linalg, name)
    matrix = POSITIVE if name == "cg" else A
    weights = normal(8)
    by_a, by_b = jax.grad(lambda a, b: solve(a, b, tol=1e-7)[0] @ weights, (0, 1))(matrix, B)
    expected = np.linalg.solve(matrix.T, weights)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(by_b, expected, rtol=1e-3, atol=1e-3 * scale)
    outer = -np.outer(expected, np.linalg.solve(matrix, B))
    np.testing.assert_allclose(by_a, outer, rtol=1e-2, atol=3e-3 * np.abs(outer).max())


@pytest.mark.parametrize("name", ["cg", "gmres", "bicgstab"])
def test_a_batch_is_a_loop(name):
    solve = getattr(linalg, name)
    rights = normal(3, 8)
    found = jax.jit(jax.vmap(lambda b: solve(POSITIVE, b, tol=1e-6)[0]))(rights)
    np.testing.assert_allclose(found @ POSITIVE, rights, atol=1e-3)


E4 = "np.eye(3, dtype='float32')"
S = "jax.scipy.sparse.linalg"
VALUES = [
    f"{S}.gmres(2 * {E4}, np.ones(3))",
    f"{S}.gmres(2 * {E4}, np.ones((3, 1)))",
    f"{S}.gmres({E4}, 1j * np.ones(3), restart=1, maxiter=2)",
    f"{S}.gmres({E4}, np.ones(3), solve_method='fancy')",
    f"{S}.gmres(3.0, np.ones(3))",
    f"{S}.gmres(lambda x: x[0], (jnp.ones(2),))",
    f"{S}.cg({E4}, 1j * np.ones(3))[0]",
    f"{S}.cg({E4}, np.ones(3), np.ones(2))",
    f"{S}.cg(lambda x: x[:2], np.ones(3))",
    f"{S}.cg({E4}, np.ones(3), M='a')",
    f"{S}.cg(np.zeros((0, 0)), np.zeros(0))[0]",
    f"{S}.bicgstab(2 * {E4}, np.ones(3))[0]",
]
ERRORS = [
    f"{S}.gmres({E4}, np.ones(3), restart=0)",
    f"{S}.cg(np.eye(3, dtype=int), np.ones(3, int))",
    f"{S}.bicgstab({E4}, [1.0, 2.0, 3.0])",
]


@pytest.fixture(scope="module")
def oracle() -> ModuleType:
    """JAX itself."""
    return libraries.oracle()


@pytest.mark.oracle
@pytest.mark.parametrize("text", VALUES)
def test_result_is_jaxs(oracle, text):
    check_value(jax, oracle, text, {})


@pytest.mark.oracle
@pytest.mark.parametrize("text", ERRORS)
def test_error_is_of_jaxs_class(oracle, text):
    check_error_class(jax, oracle, text, {})
