"""Cosine transforms against SciPy's and JAX's."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

import tapeless as jax
from tapeless.scipy import fft
from tests.parity.expressions import check_error_class, check_value
from tests.scipy import libraries
from tests.support.against_numpy import normal, slope_error


@pytest.mark.parametrize("norm", [None, "ortho"])
@pytest.mark.parametrize("n", [1, 2, 5, 8])
@pytest.mark.parametrize("name", ["dct", "idct"])
def test_one_axis_is_scipys(name, n, norm):
    libraries.check("fft", name, normal(3, n), norm=norm)


@pytest.mark.parametrize("n", [3, 6])
@pytest.mark.parametrize("name", ["dct", "idct"])
def test_an_axis_is_cut_or_filled(name, n):
    libraries.check("fft", name, normal(4, 3), n=n, axis=0)


@pytest.mark.parametrize(
    "options", [{}, {"norm": "ortho"}, {"axes": (0, 2)}, {"s": (2, 5)}], ids=str
)
@pytest.mark.parametrize("name", ["dctn", "idctn"])
def test_several_axes_are_scipys(name, options):
    libraries.check("fft", name, normal(3, 4, 2), **options)


def test_complex_and_double_numbers():
    with jax.enable_x64(True):
        x = normal(6, dtype="complex128")
        libraries.check("fft", "dct", x, tolerance=1e-13)
        assert fft.idct(x).dtype == np.complex128


def test_inverses_undo_each_other():
    x = normal(4, 7)
    np.testing.assert_allclose(fft.idctn(fft.dctn(x)), x, atol=1e-5)
    np.testing.assert_allclose(fft.dct(fft.idct(x, norm="ortho"), norm="ortho"), x, atol=1e-5)


@pytest.mark.parametrize("name", ["dct", "idct"])
def test_gradients_match_differences(name):
    with jax.enable_x64(True):
        x = normal(2, 5, dtype="float64")
        assert slope_error(lambda x: getattr(fft, name)(x, norm="ortho") ** 2, x) < 1e-7


def test_a_batch_is_a_loop():
    x = normal(3, 4, 5)
    found = jax.vmap(lambda x: fft.dct(x, axis=0), in_axes=2)(x)
    np.testing.assert_allclose(
        found, np.stack([fft.dct(x[..., i], axis=0) for i in range(5)]), 1e-4
    )


NAMES = {
    "x": normal(3, 4),
    "i": np.arange(12, dtype="int32").reshape(3, 4),
    "half": normal(5, dtype="float16"),
    "z": normal(3, 4, dtype="complex64"),
}
VALUES = [
    "jax.scipy.fft.dct(i)",
    "jax.scipy.fft.dct(half)",
    "jax.scipy.fft.idct(z, norm='backward')",
    "jax.scipy.fft.dctn(z, axes=())",
    "jax.scipy.fft.dctn(x, axes=0)",
    "jax.scipy.fft.dctn(x, s=(2,), axes=(0, 1))",
    "jax.scipy.fft.idctn(x, s=(2, 2))",
    "jax.scipy.fft.dct(x, type=1)",
    "jax.scipy.fft.idctn(x, type=3)",
    "jax.scipy.fft.dct(x, norm='forward')",
    "jax.scipy.fft.dct(x, axis=5)",
    "jax.scipy.fft.dct([1.0, 2.0])",
]
ERRORS = [
    "jax.scipy.fft.dct(x, n=0)",
    "jax.scipy.fft.dct(x[:0], axis=0)",
    "jax.scipy.fft.dctn(x, axes=(0, 0))",
]


@pytest.fixture(scope="module")
def oracle() -> ModuleType:
    """JAX itself."""
    return libraries.oracle()


@pytest.mark.oracle
@pytest.mark.parametrize("text", VALUES)
def test_result_is_jaxs(oracle, text):
    check_value(jax, oracle, text, NAMES, tolerance=2e-5)


@pytest.mark.oracle
@pytest.mark.parametrize("text", ERRORS)
def test_error_is_of_jaxs_class(oracle, text):
    check_error_class(jax, oracle, text, NAMES)


def test_cosine_transforms_of_weak_numbers_are_wide_in_the_wide_mode():
    with jax.enable_x64(True):
        assert fft.dct(jax.numpy.full((2,), 2.5)).dtype == np.float64


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "bfloat16", "float16"])
def test_cosine_transforms_of_narrow_floats_are_in_float32(dtype):
    x = np.array([1.0, 0.5, 2.0]).astype(jax.numpy.dtype(dtype))
    found = fft.dct(x)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, fft.dct(x.astype("float32")))
