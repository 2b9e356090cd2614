"""Tests of functions about the representation of floats."""

import ml_dtypes
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
    with pytest.raises(ValueError, match=r"Incompatible shapes.*\(2, 3\), \(4,\).*Axis -1"):
        jnp.ldexp(np.ones((2, 3), np.float32), np.ones(4, int))
    with pytest.raises(ValueError, match="ldexp not supported for input types"):
        jnp.ldexp(x, x)


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint32", "int64", "uint64"])
def test_ldexp_takes_the_ends_of_integers(dtype):
    info = np.iinfo(dtype)
    ends = np.array([info.min, info.max, 3], dtype)
    with jax.enable_x64(True):
        expected = [2.0**-128, 2.0**127, 8] if dtype == "int8" else [info.min == 0, np.inf, 8]
        np.testing.assert_array_equal(jnp.ldexp(np.ones(3), ends), expected)
        np.testing.assert_array_equal(jnp.ldexp(np.zeros(3), ends), np.zeros(3))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_neighbours_in_any_format(dtype):
    """From every kind of number in every direction, by the format's own units."""
    kind = jnp.dtype(dtype)
    numbers = np.array([0, -0.0, 1, -1, 3e4, 1e-7, np.inf, -np.inf, np.nan]).astype(kind)
    x, y = (each.ravel() for each in np.meshgrid(numbers, numbers))
    found = np.asarray(jnp.nextafter(x, y)).astype("float64")
    with np.errstate(all="ignore"):
        expected = np.where(x == y, y, np.nextafter(x, y)).astype("float64")
    np.testing.assert_array_equal(found, expected)
    assert (np.signbit(found) == np.signbit(expected))[~np.isnan(expected)].all()


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


@pytest.mark.parametrize(
    "name",
    ["float4_e2m1fn", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
     "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"],
)  # fmt: skip
def test_all_pairs_of_narrow_numbers(name):
    """Signs, neighbours, which NaN stands between in formats without -0.0, and lengths."""
    dtype = np.dtype(getattr(ml_dtypes, name))
    numbers = np.arange(2 ** ml_dtypes.finfo(dtype).bits).astype("uint8").view(dtype)
    x, y = (each.ravel() for each in np.meshgrid(numbers, numbers))
    plain = ~np.isnan(numbers.astype("float32"))
    expected = np.signbit(numbers.astype("float32"))
    np.testing.assert_array_equal(np.asarray(jnp.signbit(numbers))[plain], expected[plain])
    found = np.asarray(jnp.nextafter(x, y)).astype("float32")
    np.testing.assert_array_equal(found, np.nextafter(x, y).astype("float32"))
    length = np.hypot(x.astype("float32"), y.astype("float32")).astype(dtype)
    found = np.asarray(jnp.hypot(x, y)).astype("float32")
    np.testing.assert_array_equal(found, length.astype("float32"))
