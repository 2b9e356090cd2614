"""Elements by one index per axis."""

from __future__ import annotations

import importlib
from types import ModuleType

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tests.parity.expressions import check_error_class, check_value
from tests.support.against_numpy import normal

X = normal(3, 4, 2)
FIRST, SECOND = np.array([0, 2]), np.array([3, 1])


def test_elements_are_numpys():
    np.testing.assert_array_equal(lax.index_take(X, (FIRST, SECOND), (0, 1)), X[FIRST, SECOND])
    np.testing.assert_array_equal(lax.index_take(X, (SECOND, FIRST), (1, 0)), X[FIRST, SECOND])
    np.testing.assert_array_equal(
        lax.index_take(X, (SECOND,), (-2,)), np.moveaxis(X[:, SECOND], 1, 0)
    )
    np.testing.assert_array_equal(lax.index_take(X, (np.array([-1, 4]),), (0,)), X[[2, 1]])


@pytest.fixture(scope="module")
def oracle() -> ModuleType:
    """JAX itself."""
    return importlib.import_module("jax")


@pytest.mark.oracle
@pytest.mark.parametrize("text", ["(i, j), (0, 1)", "(j,), (1,)", "(j + 9,), (1,)", "(i,), (2,)"])
def test_result_is_jaxs(oracle, text):
    check_value(jax, oracle, f"jax.lax.index_take(x, {text})", {"x": X, "i": FIRST, "j": SECOND})


@pytest.mark.oracle
@pytest.mark.parametrize("text", ["(i,), (5,)", "i, (1,)", "(i[None],), (1,)"])
def test_error_is_of_jaxs_class(oracle, text):
    check_error_class(jax, oracle, f"jax.lax.index_take(x, {text})", {"x": X, "i": FIRST})
