"""Tests of functions about the representation of floats, and of special functions."""

import math

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp

ODD = np.array([0.0, -0.0, 1.0, -3.5, 1e-40, 3e38, np.inf, -np.inf, np.nan], np.float32)


@pytest.mark.parametrize(
    "name", ["isfinite", "isinf", "isnan", "isposinf", "isneginf", "signbit", "frexp"]
)
def test_odd_numbers_as_numpy(name):
    np.testing.assert_array_equal(getattr(jnp, name)(ODD), getattr(np, name)(ODD))


@pytest.mark.parametrize("name", ["isfinite", "isinf", "isnan"])
def test_complex_numbers(name):
    z = np.array([1 + 1j, complex(np.inf, 0), complex(0, np.nan)], np.complex64)
    np.testing.assert_array_equal(getattr(jnp, name)(z), getattr(np, name)(z))


def test_frexp_and_ldexp_undo_each_other():
    x = np.array([1.0, 6.0, -0.1, 3e38, 1.5e-38], np.float32)
    mantissa, exponent = jnp.frexp(x)
    np.testing.assert_array_equal(jnp.ldexp(mantissa, exponent), x)
    far = np.array([300, -300, 3, 0])
    expected = np.array([np.inf, 0, 8, 1], np.float32)
    np.testing.assert_array_equal(jnp.ldexp(np.ones(4, np.float32), far), expected)
    with pytest.raises(ValueError, match="ldexp not supported for input types"):
        jnp.ldexp(x, x)


def test_signs_and_neighbours():
    x, y = np.array([1.0, -2.0, 0.0], np.float32), np.array([-0.0, 2.0, -1.0], np.float32)
    np.testing.assert_array_equal(jnp.copysign(x, y), np.copysign(x, y))
    np.testing.assert_array_equal(jnp.nextafter(x, y), np.nextafter(x, y))
    np.testing.assert_array_equal(jnp.spacing(x), np.spacing(x))
    np.testing.assert_array_equal(jnp.heaviside(x, 0.5), np.heaviside(x, np.float32(0.5)))


def test_modf():
    x = np.array([1.5, -2.25, 3.0], np.float32)
    for found, expected in zip(jnp.modf(x), np.modf(x), strict=True):
        np.testing.assert_array_equal(found, expected)


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


def test_divisors_and_multiples():
    x, y = np.array([12, -18, 0, 7]), np.array([8, 27, 0, 0])
    np.testing.assert_array_equal(jnp.gcd(x, y), np.gcd(x, y))
    np.testing.assert_array_equal(jnp.lcm(x, y), np.lcm(x, y))
    with pytest.raises(ValueError, match="Arguments to jax.numpy.gcd must be integers"):
        jnp.gcd(1.0, 2.0)
