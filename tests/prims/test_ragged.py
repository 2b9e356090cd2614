"""Products of groups of rows."""

from __future__ import annotations

import importlib
from types import ModuleType

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tests.parity.expressions import check_value
from tests.support.against_numpy import normal, slope_error


@pytest.mark.parametrize("sizes", [(2, 3), (0, 5), (1, 1), (5, 0), (0, 0)], ids=str)
def test_rows_are_multiplied_by_the_matrix_of_their_group(sizes):
    lhs, rhs = normal(5, 3), normal(2, 3, 4)
    expected = np.zeros((5, 4))
    start = 0
    for size, matrix in zip(sizes, rhs, strict=True):
        expected[start : start + size] = lhs[start : start + size] @ matrix
        start += size
    found = lax.ragged_dot(lhs, rhs, np.array(sizes))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_gradients_and_batches():
    sizes = np.array([2, 1])
    with jax.enable_x64(True):
        lhs, rhs = normal(4, 3, dtype="float64"), normal(2, 3, 2, dtype="float64")
        assert slope_error(lambda x, y: lax.ragged_dot(x, y, sizes) ** 2, lhs, rhs) < 1e-7
    many = np.array([[2, 1], [0, 4]])
    found = jax.vmap(lambda s: lax.ragged_dot(lhs, rhs, s))(many)
    np.testing.assert_allclose(found, [lax.ragged_dot(lhs, rhs, s) for s in many], rtol=1e-5)


NAMES = {"x": normal(5, 3), "y": normal(2, 3, 4), "s": np.array([2, 1]), "np": np}
VALUES = [
    "jax.lax.ragged_dot(x, y, s)",
    "jax.lax.ragged_dot(x, y, s, precision='highest')",
    "jax.lax.ragged_dot(np.ones((5, 3), int), np.ones((2, 3, 4), int), s)",
    "jax.lax.ragged_dot(np.ones((5, 3), 'float16'), np.ones((2, 3, 4), 'float16'), s, "
    "preferred_element_type='float32')",
    "jax.lax.ragged_dot(x, y[:, :2], s)",
    "jax.lax.ragged_dot(x, y, np.array([2, 1, 2]))",
    "jax.lax.ragged_dot(x, y, np.array([2.0, 1.0]))",
]


@pytest.fixture(scope="module")
def oracle() -> ModuleType:
    """JAX itself."""
    return importlib.import_module("jax")


@pytest.mark.oracle
@pytest.mark.parametrize("text", VALUES)
def test_result_is_jaxs(oracle, text):
    check_value(jax, oracle, text, NAMES)


def test_an_offset_of_groups_is_refused():
    with pytest.raises(NotImplementedError, match="no group_offset"):
        lax.ragged_dot(normal(5, 3), normal(2, 3, 4), np.array([2, 1]), group_offset=0)
