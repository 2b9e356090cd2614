"""A tree becomes a vector, and the vector the tree again."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless.flatten_util import ravel_pytree

TREE = {"a": np.arange(3), "b": [np.ones((2, 2), "f4"), 2.0], "c": None}


def test_leaves_are_joined_in_order_and_get_their_types_back() -> None:
    vector, unravel = ravel_pytree(TREE)
    np.testing.assert_array_equal(vector, [0, 1, 2, 1, 1, 1, 1, 2])
    back = unravel(vector)
    assert jax.tree.structure(back) == jax.tree.structure(TREE)
    assert [x.dtype.name for x in jax.tree.leaves(back)] == ["int32", "float32", "float32"]
    np.testing.assert_array_equal(back["b"][0], np.ones((2, 2)))


def test_a_tree_without_leaves_is_an_empty_vector() -> None:
    vector, unravel = ravel_pytree([])
    assert vector.shape == (0,)
    assert unravel(vector) == []


def test_leaves_of_one_dtype_take_the_dtype_of_the_vector() -> None:
    _, unravel = ravel_pytree([1, 2])
    assert [x.dtype.name for x in unravel(np.array([1.0, 2.0]))] == ["float32"] * 2


def test_it_goes_through_transformations() -> None:
    tree = {"x": jnp.ones(2)}
    gradient = jax.grad(lambda p: (ravel_pytree(p)[0] ** 3).sum())(tree)
    np.testing.assert_array_equal(gradient["x"], [3.0, 3.0])
    vector, unravel = ravel_pytree(TREE)
    mapped = jax.vmap(unravel)(jnp.stack([vector, 2 * vector]))
    np.testing.assert_array_equal(mapped["a"], [[0, 1, 2], [0, 2, 4]])


def test_unravel_functions_of_like_trees_are_equal() -> None:
    first, second = ravel_pytree(TREE)[1], ravel_pytree(TREE)[1]
    assert first == second
    assert hash(first) == hash(second)


def test_vectors_that_do_not_fit_are_refused() -> None:
    vector, unravel = ravel_pytree(TREE)
    with pytest.raises(ValueError, match="expected shape"):
        unravel(vector[:3])
    with pytest.raises(TypeError, match="expected dtype float32"):
        unravel(vector.astype("int32"))
