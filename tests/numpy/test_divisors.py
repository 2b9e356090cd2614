"""Tests of common divisors and multiples."""

import numpy as np
import pytest

import tapeless.numpy as jnp


def test_divisors_and_multiples():
    x, y = np.array([12, -18, 0, 7]), np.array([8, 27, 0, 0])
    np.testing.assert_array_equal(jnp.gcd(x, y), np.gcd(x, y))
    np.testing.assert_array_equal(jnp.lcm(x, y), np.lcm(x, y))


@pytest.mark.parametrize("name", ["gcd", "lcm"])
def test_only_integers_have_divisors(name):
    with pytest.raises(ValueError, match=f"Arguments to jax.numpy.{name} must be integers"):
        getattr(jnp, name)(1.0, 2.0)


def test_rows_and_columns_are_broadcast():
    x, y = np.array([[12], [18]], np.uint8), np.array([8, 27, 5], np.uint8)
    np.testing.assert_array_equal(jnp.gcd(x, y), np.gcd(x, y))
