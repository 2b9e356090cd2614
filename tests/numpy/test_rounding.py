"""Tests of rounding, against NumPy."""

import numpy as np
import pytest

import tapeless.numpy as jnp

X = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.675, 1e10, np.inf], np.float32)


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc", "rint", "round", "around"])
def test_floats_as_numpy(name):
    np.testing.assert_array_equal(getattr(jnp, name)(X), getattr(np, name)(X))


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc", "round"])
def test_integers_stay(name):
    found = getattr(jnp, name)(jnp.arange(3))
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, np.arange(3))


def test_rint_makes_floats():
    assert jnp.rint(jnp.arange(3)).dtype == np.float32


def test_decimals():
    np.testing.assert_allclose(jnp.round(X[:7], 1), np.round(X[:7], 1), rtol=1e-6)
    np.testing.assert_allclose(jnp.round(np.float32(1234.5), -2), 1200.0)
    z = np.array([1.25 + 2.75j], np.complex64)
    np.testing.assert_allclose(jnp.round(z, 1), np.round(z, 1), rtol=1e-6)


def test_faults():
    with pytest.raises(NotImplementedError, match="integer np.round not implemented"):
        jnp.round(jnp.arange(3), -1)
    with pytest.raises(ValueError, match="not compatible with finfo"):
        jnp.round(jnp.array([True]))


def test_a_number_of_places_makes_the_result_strong():
    x = jnp.array([0, 1]) * 0.26
    assert x.weak_type and jnp.round(x).weak_type
    assert not jnp.round(x, 1).weak_type


@pytest.mark.parametrize("name", ["round", "nanmax", "nansum", "nanargmax", "trace"])
def test_an_array_to_write_to_is_refused(name):
    x = np.ones((2, 2), "float32")
    with pytest.raises(NotImplementedError, match="'out' argument to jnp"):
        getattr(jnp, name)(x, out=x)
