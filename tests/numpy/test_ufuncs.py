"""Tests of elementwise functions of one operand, against NumPy."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp

# Functions with numbers at which they are defined.
POSITIVE = ("log", "log2", "log10", "sqrt", "reciprocal", "cbrt", "log1p")
ANY = (
    *("sin cos tan arctan sinh cosh tanh arcsinh exp exp2 expm1 deg2rad rad2deg square").split(),
    *("absolute fabs sign positive negative real imag conjugate angle").split(),
)
UNIT = ("arcsin", "arccos", "arctanh")
COMPLEX = ("sin", "cos", "tanh", "exp", "log", "sqrt", "absolute", "angle", "square", "conjugate")
ALIASES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh"}


def sample(name: str, dtype: str) -> np.ndarray:
    """Return numbers at which a function is defined."""
    x = np.linspace(-0.9, 0.9, 7)
    if name in POSITIVE:
        x = x + 1.5
    return x.astype(dtype)


@pytest.mark.parametrize("name", (*POSITIVE, *ANY, *UNIT))
def test_floats_as_numpy(name):
    x = sample(name, "float32")
    expected = getattr(np, name)(x)
    found = getattr(jnp, name)(x)
    np.testing.assert_allclose(found, expected, rtol=3e-6, atol=1e-7)
    assert found.dtype == expected.dtype


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers_as_numpy(name):
    z = (sample(name, "float32") + 0.5j).astype(np.complex64)
    np.testing.assert_allclose(getattr(jnp, name)(z), getattr(np, name)(z), rtol=5e-6)


@pytest.mark.parametrize("name", ["sin", "exp", "sqrt", "log2", "arctan", "cbrt"])
def test_integers_become_floats(name):
    found = getattr(jnp, name)(np.arange(1, 4))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, getattr(np, name)(np.arange(1, 4)), rtol=2e-6)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32"])
def test_what_integers_keep(dtype):
    x = np.array([0, 1, 1], dtype)
    for name in ("absolute", "real", "conjugate", "positive"):
        assert getattr(jnp, name)(x).dtype == x.dtype


def test_arccosh():
    x = np.array([1.0, 1.5, 20.0], np.float32)
    np.testing.assert_allclose(jnp.arccosh(x), np.arccosh(x), rtol=3e-6)
    z = np.array([-2 + 1j, 0.5 - 1j], np.complex64)
    np.testing.assert_allclose(jnp.arccosh(z), np.arccosh(z), rtol=3e-6)


def test_bits_and_logic():
    x = np.array([0, 7, -8, 100], np.int32)
    np.testing.assert_array_equal(jnp.bitwise_count(x), [0, 3, 1, 3])
    np.testing.assert_array_equal(jnp.bitwise_not(x), ~x)
    np.testing.assert_array_equal(jnp.logical_not(x), np.logical_not(x))


def test_aliases_are_the_functions():
    for alias, name in ALIASES.items():
        assert getattr(jnp, alias) is getattr(jnp, name)


@pytest.mark.parametrize("name", ["sin", "tanh", "exp", "log", "sqrt", "arcsin", "log10", "square"])
def test_gradients_agree_with_differences(name):
    x = sample(name, "float32")[3:]
    function = getattr(jnp, name)
    slope = jax.grad(lambda x: function(x).sum())(x)
    step = 1e-3
    wide = x.astype(np.float64)
    numpy = getattr(np, name)
    difference = (numpy(wide + step) - numpy(wide - step)) / (2 * step)
    np.testing.assert_allclose(slope, difference, rtol=1e-4)


def test_fabs_refuses_complex_numbers():
    with pytest.raises(TypeError, match="ufunc 'fabs' does not support complex dtypes"):
        jnp.fabs(1j)
