"""Functions known on a grid: as SciPy and JAX have them."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from scipy import interpolate as scipy_interpolate

import tapeless as jax
from tapeless.scipy.interpolate import RegularGridInterpolator
from tests.parity.expressions import check_error_class, check_value
from tests.scipy import libraries
from tests.support.against_numpy import normal, slope_error

GRID = (np.array([0, 1, 2.5], "float32"), np.array([0, 0.5, 2, 3], "float32"))
POINTS = np.random.default_rng(0).uniform(-0.5, 3, (20, 2)).astype("float32")


@pytest.mark.parametrize("fill", [np.nan, 7.0, None], ids=str)
@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("rest", [(), (2,)], ids=str)
def test_values_are_scipys(rest, method, fill):
    values = normal(3, 4, *rest)
    theirs = scipy_interpolate.RegularGridInterpolator(GRID, values, method, False, fill)
    ours = RegularGridInterpolator(GRID, values, method, False, fill)
    np.testing.assert_allclose(ours(POINTS), theirs(POINTS), rtol=1e-4, atol=1e-5)


def test_points_come_as_an_array_or_one_array_an_axis():
    f = RegularGridInterpolator(GRID, normal(3, 4))
    assert f(POINTS.reshape(4, 5, 2)).shape == (4, 5)
    np.testing.assert_array_equal(f((POINTS[:, 0], POINTS[:, 1])), f(POINTS))
    assert f(np.ones(2)).shape == (1,)
    assert RegularGridInterpolator(GRID[:1], normal(3))(np.ones(5)).shape == (5,)


def test_the_method_of_a_call_wins():
    f = RegularGridInterpolator(GRID, normal(3, 4))
    g = RegularGridInterpolator(GRID, normal(3, 4), method="nearest")
    np.testing.assert_array_equal(f(POINTS, method="nearest"), g(POINTS))


def test_gradients_match_differences():
    def value(values, x):
        return RegularGridInterpolator(GRID, values)(x) ** 2

    with jax.enable_x64(True):
        x = np.array([[0.3, 1.2], [2.0, 2.5]])
        assert slope_error(value, normal(3, 4, dtype="float64"), x) < 1e-6


def test_it_is_an_argument_of_programs_and_is_batched():
    f = RegularGridInterpolator(GRID, normal(3, 4))
    found = jax.jit(jax.vmap(lambda f, x: f(x)[0], in_axes=(None, 0)))(f, POINTS)
    np.testing.assert_allclose(found, f(POINTS), rtol=1e-5)


NAMES = {"g": GRID, "p": POINTS, "x": normal(3, 4), "i": np.arange(12, dtype="int32").reshape(3, 4)}
F = "jax.scipy.interpolate.RegularGridInterpolator"
VALUES = [
    f"{F}(g, i)(p)",
    f"{F}(g, i, method='nearest')(p)",
    f"{F}(g, x + 1j)(p)",
    f"{F}(g, x.astype('float16'))(p)",
    f"{F}(g, x)(np.ones((2, 3)))",
    f"{F}(g, x, bounds_error=True)",
    f"{F}(g, x, method='cubic')",
    f"{F}(g, x)(p, method='fancy')",
    f"{F}(g + g, x)",
    f"{F}(g, x, fill_value=1j)",
    f"{F}(g, [[1.0] * 4] * 3)",
]


@pytest.fixture(scope="module")
def oracle() -> ModuleType:
    """JAX itself."""
    return libraries.oracle()


@pytest.mark.oracle
@pytest.mark.parametrize("text", VALUES)
def test_result_is_jaxs(oracle, text):
    check_value(jax, oracle, text, NAMES, tolerance=1e-4)


@pytest.mark.oracle
def test_error_is_of_jaxs_class(oracle):
    check_error_class(jax, oracle, f"{F}(g, x)('a')", NAMES)


def test_coordinates_must_fit():
    with pytest.raises(ValueError, match=r"axis 0 must have shape \(3,\)"):
        RegularGridInterpolator((GRID[1], GRID[0]), normal(3, 4))
