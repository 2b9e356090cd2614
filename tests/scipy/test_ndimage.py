"""Arrays read between their elements: as SciPy and JAX do."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from scipy import ndimage as scipy_ndimage

import tapeless as jax
from tapeless.scipy.ndimage import map_coordinates
from tests.parity.expressions import check_error_class, check_value
from tests.scipy import libraries
from tests.support.against_numpy import normal, slope_error

# Our names of modes, and SciPy's.
MODES = {
    "constant": "grid-constant",
    "nearest": "nearest",
    "wrap": "grid-wrap",
    "mirror": "mirror",
    "reflect": "reflect",
}


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(5,), (1,), (3, 4)], ids=str)
def test_values_are_scipys(shape, mode, order):
    x = normal(*shape)
    generator = np.random.default_rng(2)
    points = [generator.uniform(-9, 12, 40).astype("float32") for _ in shape]
    expected = scipy_ndimage.map_coordinates(x, points, order=order, mode=MODES[mode], cval=0.5)
    found = map_coordinates(x, points, order, mode, 0.5)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_points_stretch_to_one_shape():
    x = normal(3, 4)
    found = map_coordinates(x, [np.arange(3.0)[:, None], np.arange(4.0)], 1)
    np.testing.assert_allclose(found, x, rtol=1e-6)


def test_gradients_match_differences():
    with jax.enable_x64(True):
        x, p, q = normal(3, 4, dtype="float64"), np.array([0.3, 1.6]), np.array([0.2, 2.7])
        assert slope_error(lambda x, p, q: map_coordinates(x, [p, q], 1) ** 2, x, p, q) < 1e-7


def test_a_batch_is_a_loop():
    x, p = normal(3, 5), np.array([0.3, 1.6, 5.0], "float32")
    found = jax.jit(jax.vmap(lambda x: map_coordinates(x, [p], 1, "mirror")))(x)
    np.testing.assert_allclose(found, [map_coordinates(row, [p], 1, "mirror") for row in x], 1e-6)


NAMES = {
    "x": normal(3, 4),
    "i": np.arange(12, dtype="int32").reshape(3, 4),
    "half": normal(3, 4, dtype="float16"),
    "z": normal(3, 4, dtype="complex64"),
    "p": [np.array([0.5, 1.5, -0.4], "float32"), np.array([0.0, 2.2, 3.3], "float32")],
}
VALUES = [
    *[f"jax.scipy.ndimage.map_coordinates({v}, p, {order})" for v in "xiz" for order in (0, 1)],
    "jax.scipy.ndimage.map_coordinates(i > 3, p, 1)",
    "jax.scipy.ndimage.map_coordinates(i, [np.array([0, 1]), np.array([0, 2])], 1)",
    "jax.scipy.ndimage.map_coordinates(i, p, 1, cval=1.5)",
    "jax.scipy.ndimage.map_coordinates(x, [1.0, np.ones(3)], 1)",
    "jax.scipy.ndimage.map_coordinates(x, [1.0, 2.0], 1)",
    "jax.scipy.ndimage.map_coordinates(x, p, 2)",
    "jax.scipy.ndimage.map_coordinates(x, p[:1], 1)",
]
ERRORS = [
    "jax.scipy.ndimage.map_coordinates(x, p, 1, 'fancy')",
    "jax.scipy.ndimage.map_coordinates(2.0, [], 1)",
]


@pytest.fixture(scope="module")
def oracle() -> ModuleType:
    """JAX itself."""
    return libraries.oracle()


@pytest.mark.oracle
@pytest.mark.parametrize("text", VALUES)
def test_result_is_jaxs(oracle, text):
    check_value(jax, oracle, text, NAMES)


@pytest.mark.oracle
def test_half_precision_is_jaxs_to_rounding(oracle):
    text = "jax.scipy.ndimage.map_coordinates(half, p, 1)"
    check_value(jax, oracle, text, NAMES, tolerance=2e-3)


@pytest.mark.oracle
@pytest.mark.parametrize("text", ERRORS)
def test_error_is_of_jaxs_class(oracle, text):
    check_error_class(jax, oracle, text, NAMES)
