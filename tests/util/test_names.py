"""Tests of names that a module does not have."""

import pytest

import tapeless as jax
import tapeless.numpy as jnp


def test_a_missing_name_is_told_in_the_words_of_the_public_module():
    with pytest.raises(AttributeError, match="module 'jax.numpy' has no attribute 'randn'"):
        jnp.randn  # noqa: B018 - the access is the test
    with pytest.raises(AttributeError, match="module 'jax' has no attribute 'tree_map'"):
        jax.tree_map  # noqa: B018


def test_missing_names_have_no_default():
    assert not hasattr(jnp, "no_such_function")
