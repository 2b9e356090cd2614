"""Tests of padding, against NumPy."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp

X = np.array([[1, 2, 3], [6, 5, 4]])
MODES = (*("constant edge linear_ramp maximum mean median minimum reflect symmetric wrap").split(),)
WIDTHS = (1, ((1, 2),), ((0, 1), (2, 0)), ((5, 4), (7, 3)), 0)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("width", WIDTHS, ids=str)
def test_modes_as_numpy(mode, width):
    for dtype in (np.int32, np.float32):
        x = X.astype(dtype)
        expected = np.pad(x, width, mode=mode)
        found = jnp.pad(x, width, mode=mode)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert found.dtype == dtype


@pytest.mark.parametrize(
    ("mode", "options"),
    [
        ("constant", {"constant_values": 7}),
        ("constant", {"constant_values": ((1, 2), (3, 4))}),
        ("linear_ramp", {"end_values": (5, -4)}),
        ("mean", {"stat_length": 2}),
        ("maximum", {"stat_length": ((1, 2), (2, 1))}),
        ("reflect", {"reflect_type": "odd"}),
        ("symmetric", {"reflect_type": "odd"}),
    ],
    ids=range(7),
)
def test_options_as_numpy(mode, options):
    expected = np.pad(X, ((2, 3), (4, 1)), mode=mode, **options)
    np.testing.assert_array_equal(jnp.pad(X, ((2, 3), (4, 1)), mode=mode, **options), expected)


def test_means_of_truth_values_are_not_rounded():
    x = np.array([[True, False, True], [False, False, False]])
    found = jnp.pad(x, 2, "mean", stat_length=2)
    np.testing.assert_array_equal(found, np.pad(x, 2, "mean", stat_length=2))


def test_a_function_fills_the_margin():
    def fill(vector, widths, axis, options):
        return vector.at[: widths[0]].set(9).at[vector.size - widths[1] :].set(8)

    found = jnp.pad(jnp.arange(3), (1, 2), fill)
    np.testing.assert_array_equal(found, [9, 0, 1, 2, 8, 8])


def test_the_margin_has_a_shape_only():
    assert jnp.pad(X, 1, mode="empty").shape == (4, 5)


def test_gradient():
    slope = jax.grad(lambda x: jnp.pad(x, 1, mode="edge").sum())(X.astype(np.float32))
    np.testing.assert_array_equal(slope, [[4, 2, 4], [4, 2, 4]])


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: jnp.pad(X, -1), ValueError, "index can't contain negative values"),
        (lambda: jnp.pad(X, (1, 2, 3)), ValueError, "pad_width with nd=2 has unsupported shape"),
        (lambda: jnp.pad(X, 1.5), TypeError, "`pad_width` must be of integral type"),
        (lambda: jnp.pad(X, 1, "zz"), NotImplementedError, "Unimplemented padding mode 'zz'"),
        (lambda: jnp.pad(X, 1, "edge", a=1), ValueError, "unsupported keyword arguments"),
    ],
    ids=range(5),
)
def test_faults(call, error, text):
    with pytest.raises(error, match=text):
        call()
