"""Tests of elementwise functions that need more than their formulas: values and derivatives."""

import math

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp


@pytest.mark.parametrize("scale", [1.0, 1e30, 1e-30])
def test_hypot_does_not_overflow(scale):
    x, y = np.float32(3 * scale), np.float32(4 * scale)
    np.testing.assert_allclose(jnp.hypot(x, y), np.float32(5 * scale), rtol=1e-6)
    slopes = jax.grad(jnp.hypot, (0, 1))(x, y)
    np.testing.assert_allclose(slopes, (0.6, 0.8), rtol=1e-6)


def test_hypot_of_infinity_and_nan_is_infinity():
    assert jnp.hypot(jnp.inf, jnp.nan) == jnp.inf


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_logarithms_of_sums(name):
    x = np.array([0.0, 1000.0, -np.inf, 3.0, np.inf], np.float32)
    y = np.array([1.0, 999.0, -np.inf, -40.0, 1.0], np.float32)
    np.testing.assert_allclose(getattr(jnp, name)(x, y), getattr(np, name)(x, y), rtol=1e-6)


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_complex_sums_of_32_bits_stay_so_in_x64_mode(name):
    z = np.array([1 + 2j, -3j], "complex64")
    with jax.enable_x64(True):
        found = getattr(jnp, name)(z, 2)
    base = 2 if name.endswith("2") else np.e
    assert found.dtype == "complex64"
    np.testing.assert_allclose(base ** np.asarray(found), base**z + base**2, rtol=1e-5)


def test_weights_of_logaddexp():
    slopes = jax.grad(jnp.logaddexp, (0, 1))(0.0, 1.0)
    weight = 1 / (1 + math.e)
    np.testing.assert_allclose(slopes, (weight, 1 - weight), rtol=1e-6)
    assert jax.grad(jnp.logaddexp)(0.0, -np.inf) == 1.0


def test_sinc_and_its_derivatives_at_zero():
    x = np.array([0.0, 0.5, -0.3, 2.5, 7.0, 1e-3], np.float32)
    np.testing.assert_allclose(jnp.sinc(x), np.sinc(x.astype(np.float64)), atol=2e-7)
    assert jax.grad(jnp.sinc)(0.0) == 0.0
    second = jax.grad(jax.grad(jnp.sinc))(0.0)
    np.testing.assert_allclose(second, -(np.pi**2) / 3, rtol=1e-6)


def test_bessel_function():
    x = np.array([0.0, 1.0, -2.0, 5.0], np.float32)
    np.testing.assert_allclose(jnp.i0(x), np.i0(x), rtol=2e-6)
    assert jax.grad(jnp.i0)(0.0) == 0.0
    np.testing.assert_allclose(jax.grad(jnp.i0)(1.0), 0.5651591, rtol=1e-6)


def test_sinc_of_complex_numbers_near_and_far_from_zero():
    z = np.array([0, 0.1j, 0.2 - 0.1j, 2 + 1j, -3.5j], np.complex64)
    np.testing.assert_allclose(jnp.sinc(z), np.sinc(z.astype(np.complex128)), rtol=2e-6)


def test_second_and_third_derivatives_of_hypot():
    with jax.enable_x64(True):
        third = jax.grad(jax.grad(jax.grad(jnp.hypot)))(3.0, 4.0)
        second = jax.hessian(jnp.hypot, (0, 1))(3.0, 4.0)
    np.testing.assert_allclose(np.array(second), [[16 / 125, -12 / 125], [-12 / 125, 9 / 125]])
    np.testing.assert_allclose(third, -3 * 3 * 16 / 5**5, rtol=1e-12)
