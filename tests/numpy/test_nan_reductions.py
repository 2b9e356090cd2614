"""Reductions over what is not NaN are NumPy's."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tests.support.against_numpy import check, normal

X = normal(4, 5, 3)
MASK = np.random.default_rng(1).random(X.shape) < 0.3
WITH_NAN = np.where(MASK, np.nan, X).astype(np.float32)
WITH_NAN[:, 0, 0] = np.nan
TOTALS = ["nansum", "nanprod", "nanmean", "nanvar", "nanstd"]


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2)])
@pytest.mark.parametrize("name", [*TOTALS, "nanmax", "nanmin"])
def test_axes(name, axis):
    for keepdims in (False, True):
        check(name, WITH_NAN, axis=axis, keepdims=keepdims)


@pytest.mark.parametrize("name", TOTALS)
def test_masks(name):
    check(name, WITH_NAN, axis=1, where=X > -0.5)


@pytest.mark.parametrize("name", [*TOTALS, "nanmax", "nanmin", "nanargmax", "nanargmin"])
def test_integers_have_no_nan(name):
    check(name, np.array([[3, 1, 3], [1, 5, 1]]), axis=0)


@pytest.mark.parametrize("name", ["nanargmax", "nanargmin"])
def test_positions_of_extremes(name):
    check(name, WITH_NAN[:, 1:], axis=1, keepdims=True)
    check(name, WITH_NAN)
    found = getattr(jnp, name)(np.full((2, 3), np.nan, np.float32), axis=1)
    np.testing.assert_array_equal(found, [-1, -1])


@pytest.mark.parametrize("name", ["nansum", "nanprod", "nanmean"])
def test_complex_numbers_are_nan_if_a_part_is(name):
    z = np.array([1 + 1j, complex(np.nan, 0), complex(2, np.nan), 3 - 2j], np.complex64)
    check(name, z)


def test_an_initial_value_takes_part():
    check("nanmax", WITH_NAN, axis=0, initial=0.5)
    assert jnp.nanmin(jnp.array([jnp.nan]), initial=4.0) == 4.0


def test_nan_has_no_share_in_the_gradient():
    slopes = jax.grad(jnp.nansum)(np.array([1.0, np.nan, 3.0], np.float32))
    np.testing.assert_array_equal(slopes, [1, 0, 1])
