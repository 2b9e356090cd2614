"""Tests of elementwise functions of two operands, against NumPy."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp

REALS = (
    *("add subtract multiply maximum minimum fmax fmin true_divide divide floor_divide").split(),
    *("remainder mod fmod arctan2 equal not_equal less less_equal greater").split(),
    *("greater_equal logical_and logical_or logical_xor").split(),
)
INTEGERS = (
    *("add subtract multiply floor_divide remainder fmod bitwise_and bitwise_or").split(),
    *("bitwise_xor left_shift right_shift power maximum less equal").split(),
)
FLOATS = (
    np.array([[-7.5, 3.25, 0.5], [2.0, -0.0, 1e3]], np.float32),
    np.array([2.0, -1.5, 0.25], np.float32),
)
INTS = np.array([[-7, 3, 0], [2, 100, 5]], np.int32), np.array([2, 3, 1], np.int32)


@pytest.mark.parametrize("name", REALS)
def test_floats_as_numpy(name):
    x, y = FLOATS
    expected = getattr(np, name)(x, y)
    found = getattr(jnp, name)(x, y)
    np.testing.assert_allclose(found, expected, rtol=2e-6)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(jax.jit(getattr(jnp, name))(x, y), found)


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_as_numpy(name):
    x, y = INTS
    expected = getattr(np, name)(x, y)
    found = getattr(jnp, name)(x, y)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "divmod", "fmod"])
def test_signs_of_quotients_and_remainders(name):
    x = np.array([7, -7, 7, -7, 6, -6])
    y = np.array([3, 3, -3, -3, 3, -3])
    for dtype in (np.int32, np.float32):
        found = getattr(jnp, name)(x.astype(dtype), y.astype(dtype))
        np.testing.assert_array_equal(found, getattr(np, name)(x, y))


def test_nan_and_extremes():
    x, y = np.array([1.0, np.nan, np.nan]), np.array([np.nan, 2.0, np.nan])
    for name in ("maximum", "minimum", "fmax", "fmin"):
        np.testing.assert_array_equal(getattr(jnp, name)(x, y), getattr(np, name)(x, y))


@pytest.mark.parametrize("exponent", [-2, -1, 0, 1, 2, 3, 0.5, 2.5])
def test_powers_of_floats(exponent):
    x = np.array([0.5, 2.0, 3.0], np.float32)
    np.testing.assert_allclose(jnp.power(x, exponent), x**exponent, rtol=2e-6)
    slope = jax.grad(lambda x: jnp.power(x, exponent).sum())(x)
    np.testing.assert_allclose(slope, exponent * x ** (exponent - 1.0), rtol=3e-6)


def test_powers_of_integers():
    base = np.array([-3, -1, 0, 1, 2, 7], np.int32)
    for exponent in range(6):
        exponents = np.full(6, exponent, np.int32)
        np.testing.assert_array_equal(jnp.power(base, exponents), base**exponents)
    with pytest.raises(TypeError, match="Integers cannot be raised to negative powers"):
        jnp.power(base, -1)


@pytest.mark.parametrize(
    "exponent", [jnp.array(2), jnp.int8(2), np.array(2), np.uint8(2), jnp.asarray(2)]
)
def test_known_whole_exponents_are_part_of_the_program(exponent):
    text = str(jax.make_jaxpr(lambda x: x**exponent)(jnp.ones(3)))
    assert text == "{ lambda ; a:f32[3]. let b:f32[3] = integer_pow[y=2] a in (b,) }"
    assert jnp.power(jnp.array([True]), exponent).dtype == np.int32
    with pytest.raises(TypeError, match="Integers cannot be raised to negative powers"):
        jnp.arange(3) ** jnp.array(-1)
    assert jax.jit(lambda x, y: x**y)(jnp.arange(3), jnp.array(2)).tolist() == [0, 1, 4]


def test_complex_numbers_compare_by_parts():
    x = np.array([1 + 2j, 1 + 3j, 2 - 1j], np.complex64)
    y = np.array([1 + 3j, 1 + 3j, 1 + 9j], np.complex64)
    for name in ("less", "less_equal", "greater", "greater_equal"):
        np.testing.assert_array_equal(getattr(jnp, name)(x, y), getattr(np, name)(x, y))


def test_booleans_add_and_multiply_logically():
    x, y = np.array([True, True, False]), np.array([True, False, False])
    np.testing.assert_array_equal(jnp.add(x, y), x | y)
    np.testing.assert_array_equal(jnp.multiply(x, y), x & y)
    with pytest.raises(TypeError, match="sub does not accept dtype bool"):
        jnp.subtract(x, y)


def test_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match="Incompatible shapes for broadcasting"):
        jnp.add(jnp.ones((3, 4)), jnp.ones(5))
    with pytest.raises(TypeError, match="add got incompatible shapes for broadcasting"):
        jnp.add(jnp.ones((3, 4)), jnp.ones((2, 4)))
