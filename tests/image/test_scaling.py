"""Images at other sizes: against weights written out in NumPy, and against JAX."""

from __future__ import annotations

import importlib
import math
from types import ModuleType

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless import image
from tests.parity.expressions import check_error_class, check_value
from tests.support.against_numpy import normal, slope_error

METHODS = ["linear", "cubic", "cubic-pytorch", "lanczos3", "lanczos5", "area"]
RADIUS = {"linear": 1, "cubic": 2, "lanczos3": 3, "lanczos5": 5}


def kernel(method: str, x: float) -> float:
    """Return the weight at a distance."""
    x = abs(x)
    if x >= RADIUS[method]:
        return 0.0
    if method == "linear":
        return 1 - x
    if method == "cubic":
        return 1.5 * x**3 - 2.5 * x**2 + 1 if x < 1 else -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2
    return float(np.sinc(x) * np.sinc(x / RADIUS[method]))


def resampled(row: np.ndarray, n_out: int, method: str, antialias: bool) -> list[float]:
    """Return a row at another size, one pixel after the other."""
    ratio = len(row) / n_out
    stretch = max(ratio, 1.0) if antialias else 1.0
    out = []
    for o in range(n_out):
        place = (o + 0.5) * ratio - 0.5
        weights = [kernel(method, (place - i) / stretch) for i in range(len(row))]
        out.append(float(np.dot(weights, row)) / math.fsum(weights))
    return out


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("n_out", [1, 3, 5, 8])
@pytest.mark.parametrize("method", RADIUS)
def test_weights_are_those_of_the_kernel(method, n_out, antialias):
    row = normal(5)
    expected = resampled(row, n_out, method, antialias)
    found = image.resize(row, (n_out,), method, antialias)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("n_out", [2, 3, 6])
def test_area_is_the_mean_of_what_a_pixel_covers(n_out):
    row = normal(6)
    expected = row.reshape(n_out, -1).mean(axis=1)
    np.testing.assert_allclose(image.resize(row, (n_out,), "area"), expected, rtol=1e-5)


@pytest.mark.parametrize("n_out", [1, 3, 7])
def test_nearest_takes_the_pixel_below_the_centre(n_out):
    row = np.arange(5)
    expected = [math.floor((o + 0.5) * 5 / n_out) for o in range(n_out)]
    found = image.resize(row, (n_out,), "nearest")
    assert found.dtype == jnp.int32
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("method", METHODS)
def test_constants_stay_constant_and_axes_are_independent(method):
    np.testing.assert_allclose(image.resize(np.ones((3, 4)), (5, 2), method), 1, rtol=1e-6)
    x = normal(3, 4, 2)
    both = image.resize(x, (5, 7, 2), method)
    rows = image.resize(image.resize(x, (5, 4, 2), method), (5, 7, 2), method)
    np.testing.assert_allclose(both, rows, rtol=1e-5, atol=1e-6)


def test_complex_images_are_resampled_by_parts():
    x = normal(4, dtype="complex64")
    found = image.resize(x, (6,), "cubic")
    np.testing.assert_allclose(found.real, image.resize(x.real, (6,), "cubic"), rtol=1e-6)
    np.testing.assert_allclose(found.imag, image.resize(x.imag, (6,), "cubic"), rtol=1e-6)


def test_translation_by_pixels_shifts_and_fills_with_zeros():
    x = normal(4, 3)
    found = image.scale_and_translate(x, (4, 3), (0,), np.ones(1), np.full(1, 2.0), "linear")
    np.testing.assert_allclose(found, np.concatenate([np.zeros((2, 3)), x[:2]]), atol=1e-6)


def test_corners_can_be_aligned():
    scale = (7 - 1) / (4 - 1)
    shift = 0.5 * (1 - scale)
    found = image.scale_and_translate(
        np.arange(4.0), (7,), (0,), np.array([scale]), np.array([shift]), "linear"
    )
    np.testing.assert_allclose(found, np.linspace(0, 3, 7), atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_gradients_match_differences(method):
    with jax.enable_x64(True):
        x = normal(3, 4, dtype="float64")
        assert slope_error(lambda x: image.resize(x, (5, 2), method) ** 2, x) < 1e-7


def test_gradients_of_scale_and_translation_match_differences():
    def moved(scale, shift):
        return image.scale_and_translate(x, (6, 5), (0, 1), scale, shift, "cubic") ** 2

    with jax.enable_x64(True):
        x = normal(5, 4, dtype="float64")
        assert slope_error(moved, np.array([1.3, 1.2]), np.array([0.2, 0.1])) < 1e-6


def test_a_batch_is_a_loop():
    x = normal(3, 4, 5)
    found = jax.jit(jax.vmap(lambda x: image.resize(x, (6, 3), "lanczos3")))(x)
    expected = [image.resize(one, (6, 3), "lanczos3") for one in x]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_errors_say_what_was_wanted():
    with pytest.raises(ValueError, match="the methods are 'nearest', 'linear'"):
        image.resize(np.ones((2, 2)), (3, 3), "fancy")
    with pytest.raises(ValueError, match="one number for each of the spatial_dims"):
        image.scale_and_translate(np.ones(2), (3,), (0,), np.ones(2), np.ones(1), "linear")
    with pytest.raises(ZeroDivisionError, match="axis 0 has none, and 3 are asked for"):
        image.resize(np.ones((0, 2)), (3, 2), "linear")


NAMES = {
    "x": normal(3, 4),
    "half": normal(3, 4, dtype="float16"),
    "z": normal(3, 4, dtype="complex64"),
    "i": np.arange(12, dtype="int32").reshape(3, 4),
}
SIZES = ["(6,8)", "(2,2)", "(3,4)", "(1,1)", "(3,0)", "(7,3)"]
VALUES = [
    *[f"jax.image.resize(x, {size}, '{m}')" for m in ["nearest", *METHODS] for size in SIZES],
    *[f"jax.image.resize(x, {size}, '{m}', False)" for m in METHODS for size in SIZES[:2]],
    *[f"jax.image.resize({x}, (6, 8), '{m}')" for x in "iz" for m in ("nearest", "linear")],
    "jax.image.resize(i > 3, (6, 8), 'nearest')",
    "jax.image.resize(i > 3, (6, 8), 'lanczos5')",
    "jax.image.resize(2.0, (), 'linear')",
    "jax.image.resize(x, (2, 2), jax.image.ResizeMethod.CUBIC)",
    "jax.image.resize(x, (2, 2), 'linear', precision='default')",
    *[
        f"jax.image.scale_and_translate(x, (5, 6), (0, 1), np.array([2., .6], 'f'), "
        f"np.array([.5, -.3], 'f'), '{m}', antialias={a})"
        for m in METHODS
        for a in (True, False)
    ],
    "jax.image.scale_and_translate(i, (3, 6), (-1,), np.array([1]), np.array([1]), 'linear')",
    "jax.image.scale_and_translate(x, (9, 6), (1,), np.ones(1), np.ones(1), 'linear')",
    "[m.value for m in jax.image.ResizeMethod]",
    "jax.image.resize(x, (3,), 'linear')",
    "jax.image.resize(x, (3, 4.), 'linear')",
    "jax.image.scale_and_translate(x, (3, 6), (5,), np.ones(1), np.ones(1), 'linear')",
    "jax.image.scale_and_translate(x, (3, 6), (1,), np.ones(1), np.ones(1), 'nearest')",
]
ERRORS = [
    "jax.image.resize(x, (3, 3), 'fancy')",
    "jax.image.resize(x[:0], (3, 3), 'linear')",
    "jax.image.resize(x[:0], (3, 3), 'nearest')",
    "jax.image.resize(x, (3, 3), 'linear', precision='x')",
    "jax.image.scale_and_translate(x, (3, 6, 2), (1,), np.ones(1), np.ones(1), 'linear')",
]


@pytest.fixture(scope="module")
def oracle() -> ModuleType:
    """JAX itself."""
    importlib.import_module("jax.image")
    return importlib.import_module("jax")


@pytest.mark.oracle
@pytest.mark.parametrize("text", VALUES)
def test_result_is_jaxs(oracle, text):
    check_value(jax, oracle, text, NAMES)


@pytest.mark.oracle
def test_half_precision_is_jaxs_to_rounding(oracle):
    text = "jax.image.resize(half, (6, 8), 'cubic')"
    check_value(jax, oracle, text, NAMES, tolerance=3e-3)


@pytest.mark.oracle
@pytest.mark.parametrize("text", ERRORS)
def test_error_is_of_jaxs_class(oracle, text):
    check_error_class(jax, oracle, text, NAMES)
