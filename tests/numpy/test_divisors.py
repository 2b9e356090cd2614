"""Tests of common divisors and multiples."""

import numpy as np
import pytest

import tapeless as jax
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


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint32"])
def test_the_ends_of_a_dtype_have_divisors(dtype):
    info = np.iinfo(dtype)
    ends = np.array([info.min, info.max, info.min + 1, 0, 1, 3, 6], dtype)
    x, y = ends[:, None], ends[None, :]
    with jax.enable_x64(True):
        np.testing.assert_array_equal(jnp.gcd(x, y), np.gcd(x, y))
        np.testing.assert_array_equal(jnp.lcm(x, y), np.lcm(x, y))
        assert jnp.gcd(x, y).dtype == jnp.lcm(x, y).dtype == dtype


def test_weak_scalars_have_weak_divisors_and_weak_arrays_have_not():
    for function in (jnp.gcd, jnp.lcm):
        assert function(12, 8).weak_type and function(jnp.asarray(12), 8).weak_type
        assert not function(jnp.full(2, 12), 8).weak_type
