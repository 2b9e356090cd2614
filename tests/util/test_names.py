"""Tests of names that a module does not have."""

import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless.util.names import close_module


def test_a_missing_name_is_told_in_the_words_of_the_public_module():
    with pytest.raises(AttributeError, match="module 'jax.numpy' has no attribute 'randn'"):
        jnp.randn  # noqa: B018 - the access is the test
    with pytest.raises(AttributeError, match="module 'jax' has no attribute 'tree_map'"):
        jax.tree_map  # noqa: B018


def test_missing_names_have_no_default():
    assert not hasattr(jnp, "no_such_function")


def test_a_closed_module_lists_its_public_names():
    namespace = {"jit": 1, "helper": 2, "__name__": "x"}
    close_module("jax", namespace)
    assert namespace["__dir__"]() == ["__dir__", "__getattr__", "__name__", "jit"]
    with pytest.raises(AttributeError, match="module 'jax' has no attribute 'jitt'"):
        namespace["__getattr__"]("jitt")


def test_a_module_that_nobody_lists_shows_all_names():
    namespace = {"helper": 2}
    close_module("jax.no_such_module", namespace)
    assert "helper" in namespace["__dir__"]()
