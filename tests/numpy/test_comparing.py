"""Tests of comparing arrays, and of questions about arrays and dtypes."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp

X = np.array([1.0, np.nan, np.inf, -np.inf, 0.0], np.float32)
Y = np.array([1.0 + 1e-6, np.nan, np.inf, np.inf, 1e-9], np.float32)


@pytest.mark.parametrize("equal_nan", [False, True])
def test_closeness(equal_nan):
    expected = np.isclose(X, Y, equal_nan=equal_nan)
    np.testing.assert_array_equal(jnp.isclose(X, Y, equal_nan=equal_nan), expected)
    assert bool(jnp.allclose(X[:3], Y[:3], equal_nan=equal_nan)) == equal_nan
    assert not jnp.isclose(1.0, 1.1, rtol=1e-3) and jnp.isclose(1.0, 1.1, atol=0.2)
    assert jnp.isclose(3, 3).all() and not jnp.isclose(1 + 1j, 1 + 2j)


def test_equality_of_arrays():
    x = np.arange(3)
    assert jnp.array_equal(x, [0, 1, 2]) and not jnp.array_equal(x, x[:2])
    assert jnp.array_equal(X, X, equal_nan=True) and not jnp.array_equal(X, X)
    assert jnp.array_equiv(np.ones((2, 3)), 1) and not jnp.array_equiv(x, 1)


def test_parts():
    z = np.array([1.0, 1j, 2 + 3j], np.complex64)
    np.testing.assert_array_equal(jnp.iscomplex(z), np.iscomplex(z))
    np.testing.assert_array_equal(jnp.isreal(z), np.isreal(z))
    np.testing.assert_array_equal(jnp.isreal(np.arange(3)), [True] * 3)


def test_kinds_of_objects():
    z = jnp.ones(2, complex)
    assert jnp.iscomplexobj(z) and not jnp.isrealobj(z) and jnp.isrealobj(1.0)
    assert jnp.isscalar(1) and jnp.isscalar(jnp.array(1.0)) and not jnp.isscalar([1])
    assert jax.jit(lambda x: jnp.isscalar(x))(1.0)
    assert jnp.iterable(z) and not jnp.iterable(3)


def test_dtypes_of_keys_promote_to_none():
    key = jax.random.key(0)
    for args in ((key.dtype, "float32"), ("float32", key.dtype), (key.dtype, key.dtype)):
        with pytest.raises(TypeError, match="Cannot interpret 'key<fry>' as a data type"):
            jnp.promote_types(*args)
        with pytest.raises(TypeError, match="Cannot determine dtype of key<fry>"):
            jnp.result_type(*args)
    assert jnp.result_type(key) == key.dtype


def test_dtypes():
    assert jnp.result_type(1, np.ones(2, "float16")) == np.float16
    assert jnp.promote_types("int32", "float16") == np.float16
    assert jnp.issubdtype(jnp.bfloat16, jnp.floating)
    assert jnp.isdtype("float32", ("integral", "real floating"))
    assert not jnp.isdtype("bool", "numeric")
    assert jnp.finfo(jnp.bfloat16).bits == 16 and jnp.iinfo("int8").max == 127
    assert not jnp.can_cast("int32", "float32")
    with pytest.raises(ValueError, match="Unrecognized kind='zz' expected one of"):
        jnp.isdtype("float32", "zz")
