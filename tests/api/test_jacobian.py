"""Jacobians and Hessians: trees of trees, both modes."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import numpy as jnp

X = np.array([1.0, 2.0, 3.0], np.float32)
TREE = {"a": X, "b": np.float32(2)}


def quadratic(tree):
    """Return a tree of a matrix and a number."""
    return {"m": jnp.outer(tree["a"], tree["a"]) * tree["b"], "s": jnp.sum(tree["a"])}


@pytest.mark.parametrize("jacobian", [jax.jacfwd, jax.jacrev])
def test_each_output_has_the_tree_of_the_inputs(jacobian):
    found = jacobian(quadratic)(TREE)
    assert found["m"]["a"].shape == (3, 3, 3)
    np.testing.assert_array_equal(np.outer(X, X), found["m"]["b"])
    np.testing.assert_array_equal([1, 1, 1], found["s"]["a"])
    assert found["s"]["b"] == 0.0
    eye = np.eye(3)
    wanted = 2 * (np.einsum("ik,j->ijk", eye, X) + np.einsum("jk,i->ijk", eye, X))
    np.testing.assert_allclose(wanted, found["m"]["a"])


@pytest.mark.parametrize("jacobian", [jax.jacfwd, jax.jacrev])
def test_argnums_and_auxiliary_results(jacobian):
    by_x, by_y = jacobian(lambda x, y: x * y, (0, 1))(X, 2.0)
    np.testing.assert_array_equal(2 * np.eye(3), by_x)
    np.testing.assert_array_equal(X, by_y)
    found, aux = jacobian(lambda x: (x * x, {"x": x}), has_aux=True)(X)
    np.testing.assert_array_equal(np.diag(2 * X), found)
    np.testing.assert_array_equal(X, aux["x"])


def test_hessians_by_trees():
    found = jax.hessian(lambda t: t["b"] * jnp.sum(t["a"] ** 2))(TREE)
    np.testing.assert_allclose(4 * np.eye(3), found["a"]["a"], atol=1e-6)
    np.testing.assert_allclose(2 * X, found["a"]["b"])
    assert found["b"]["b"] == 0.0


def test_complex_functions_are_holomorphic_or_have_real_inputs():
    found = jax.jacfwd(lambda z: z * z, holomorphic=True)(1j)
    assert found == 2j
    assert jax.jacrev(lambda z: z * z, holomorphic=True)(1j) == 2j
    assert jax.jacfwd(lambda x: x * 1j)(1.0) == 1j


def test_integers_have_zero_jacobians_where_they_are_allowed():
    found = jax.jacrev(lambda n: n * 1.0, allow_int=True)(np.arange(2))
    assert (found.dtype, found.tolist()) == (np.int32, [[0, 0], [0, 0]])
    found = jax.jacfwd(lambda x: jnp.int32(x))(X)
    assert (found.dtype, found.shape) == (np.int32, (3, 3))


def test_empty_inputs_and_outputs():
    assert jax.jacfwd(lambda x: x)(X[:0]).shape == (0, 0)
    assert jax.jacrev(lambda x: x[:0])(X).shape == (0, 3)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: jax.jacfwd(lambda x: x)(1), "jacfwd requires real-valued inputs"),
        (lambda: jax.jacfwd(lambda x: x)(1j), "jacfwd requires real-valued inputs"),
        (lambda: jax.jacrev(lambda x: x)(1), "jacrev requires real- or complex-valued inputs"),
        (lambda: jax.jacrev(lambda x: x * 1j)(1.0), "jacrev requires real-valued outputs"),
        (
            lambda: jax.jacfwd(jnp.real, holomorphic=True)(1j),
            "jacfwd with holomorphic=True requires outputs with complex dtype, but got float32.",
        ),
    ],
)
def test_errors_are_those_of_jax(call, text):
    with pytest.raises(TypeError) as caught:
        call()
    assert text in str(caught.value)
