"""Tests of names that a module does not have."""

import importlib

import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless.util.names import close_module, public_names

OURS = {"checks", "inspect", "install_as_jax", "profile", "progress", "stablehlo"}


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


@pytest.mark.parametrize("name", ["numpy", "lax", "random", "nn", "scipy.stats", "lax.linalg"])
def test_import_star_takes_public_names_and_no_tools(name):
    taken: dict = {}
    exec(f"from tapeless.{name} import *", taken)
    del taken["__builtins__"]
    assert taken
    assert taken.keys() <= public_names(f"jax.{name}")
    module = importlib.import_module(f"tapeless.{name}")
    assert {"close_module", "lazy"}.isdisjoint(vars(module))


def test_the_package_has_the_names_of_jax_and_those_that_are_listed_as_ours():
    assert set(jax.__all__) - public_names("jax") == OURS
    assert {"close_module", "lazy", "show_filtered"}.isdisjoint(vars(jax))
    assert dir(jax) == sorted({*jax.__all__, *(x for x in dir(jax) if x.startswith("_"))})
