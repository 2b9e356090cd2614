"""Stages: trace, lower, compile; what each tells, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax

jnp = jax.numpy
X = np.ones((4, 4), "float32")


def stages():
    """Return the stages of a product."""
    lowered = jax.jit(lambda x, y: {"product": x @ y}).lower(X, X)
    return lowered, lowered.compile()


def test_trees_and_types():
    """Every stage knows the trees and types of arguments and results."""
    for stage in stages():
        assert stage.out_tree == jax.tree.structure({"product": 0})
        (x, y), named = stage.args_info
        assert (x.shape, y.dtype, x.donated, named) == ((4, 4), np.float32, False, {})
        assert stage.out_info["product"].shape == (4, 4)


def test_text_of_the_stages():
    """Lowered is StableHLO, compiled is a listing of loops."""
    lowered, compiled = stages()
    assert "stablehlo.dot_general" in lowered.as_text()
    assert "jax.result_info = \"result['product']\"" in lowered.as_text()
    assert "for i" in compiled.as_text()


def test_memory_is_that_of_the_plan():
    """Arguments, results and scratch memory are counted in bytes; donation shows as alias."""
    _, compiled = stages()
    memory = compiled.memory_analysis()
    assert (memory.argument_size_in_bytes, memory.output_size_in_bytes) == (128, 64)
    assert memory.generated_code_size_in_bytes > 0
    donated = jax.jit(lambda x: x + 1, donate_argnums=0).lower(X).compile()
    assert donated.memory_analysis().alias_size_in_bytes == 64


def test_costs_are_counted():
    """A product of 4x4 matrices is 128 operations."""
    assert stages()[1].cost_analysis()["flops"] == 128.0


def test_compiled_is_called_and_checks():
    """A compiled stage computes, and refuses other types and other trees."""
    _, compiled = stages()
    np.testing.assert_array_equal(compiled(X, X)["product"], 4 * X)
    with pytest.raises(TypeError, match="Argument types differ"):
        compiled(X, X[:2])
    with pytest.raises(TypeError, match="input pytree"):
        compiled(X)


def test_struct_arguments():
    """Lowering needs types only."""
    struct = jax.ShapeDtypeStruct((3,), "float32")
    compiled = jax.jit(jnp.sin).lower(struct).compile()
    np.testing.assert_array_equal(compiled(np.zeros(3, "float32")), np.zeros(3))


def test_options_of_compile():
    """An effort is taken, another option raises."""
    lowered, _ = stages()
    lowered.compile({"effort": 0})(X, X)
    with pytest.raises(ValueError, match="effort must be 0, 1 or 2"):
        lowered.compile({"effort": 7})
