"""Arrays as sets: NumPy's results, and their padded forms inside of transformations."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tests.support.against_numpy import check

X = np.array([3, 1, 2, 3, 1])
Y = np.array([2, 5, 3])
ROWS = np.array([[1, 2], [0, 1], [1, 2], [0, 1], [5, 5]])
WITH_NAN = np.array([1, np.nan, 2, np.nan, 1], np.float32)
EVERYTHING = {"return_index": True, "return_inverse": True, "return_counts": True}


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_unique(axis):
    check("unique", ROWS, axis=axis, **EVERYTHING)


@pytest.mark.parametrize("x", [X, WITH_NAN, X > 1, X.astype("complex64"), np.zeros(0, "float32")])
def test_unique_of_lines(x):
    check("unique", x, **EVERYTHING)


def test_unequal_nans():
    check("unique", WITH_NAN, equal_nan=False)
    assert jnp.unique_values(WITH_NAN).shape == (4,)


@pytest.mark.parametrize("size", [0, 2, 3, 5])
def test_unique_of_a_stated_size(size):
    values, first, inverse, counts = jax.jit(
        lambda x: jnp.unique(x, size=size, fill_value=-1, **EVERYTHING)
    )(X)
    np.testing.assert_array_equal(values, ([1, 2, 3, -1, -1])[:size])
    np.testing.assert_array_equal(first, ([1, 2, 0, 1, 1])[:size])
    np.testing.assert_array_equal(inverse, [2, 0, 1, 2, 0])
    np.testing.assert_array_equal(counts, ([2, 1, 2, 0, 0])[:size])


def test_missing_ones_repeat_the_first():
    np.testing.assert_array_equal(jnp.unique(X, size=5), [1, 2, 3, 1, 1])
    np.testing.assert_array_equal(jnp.intersect1d(X, Y, size=4), [2, 3, 2, 2])
    np.testing.assert_array_equal(jnp.setxor1d(X, Y, size=4), [1, 5, 1, 1])
    np.testing.assert_array_equal(jnp.setdiff1d(X, Y, size=3), [1, 0, 0])


@pytest.mark.parametrize("name", ["union1d", "intersect1d", "setdiff1d", "setxor1d"])
def test_two_sets(name):
    check(name, X, Y)
    check(name, ROWS, X)
    check(name, X, Y[:0])
    with pytest.raises(jax.errors.ConcretizationTypeError, match=f"arose in jnp.{name}"):
        jax.jit(getattr(jnp, name))(X, Y)


def test_places_of_common_elements():
    check("intersect1d", X, Y, return_indices=True)


@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("method", ["auto", "compare_all", "binary_search", "sort"])
def test_isin(method, invert):
    for tests in (Y, np.arange(40)[::3], Y[:0]):
        expected = np.isin(ROWS, tests, invert=invert)
        found = jnp.isin(ROWS, tests, invert=invert, method=method)
        np.testing.assert_array_equal(found, expected)


def test_names_of_results():
    found = jnp.unique_all(X)
    np.testing.assert_array_equal(found.values, [1, 2, 3])
    np.testing.assert_array_equal(found.counts, jnp.unique_counts(X).counts)
    np.testing.assert_array_equal(found.inverse_indices, jnp.unique_inverse(X).inverse_indices)


def test_positions_have_the_default_width():
    x = jnp.array([3, 1, 3])
    with jax.enable_x64(True):
        for size in (None, 4):
            found = jnp.unique_all(x, size=size)
            assert {each.dtype for each in found[1:]} == {np.dtype(np.int64)}
            _, *places = jnp.intersect1d(x, x, return_indices=True, size=size)
            assert {each.dtype for each in places} == {np.dtype(np.int64)}


def test_missing_elements_are_filled_by_promotion():
    truths = jnp.array([True])
    found = jnp.intersect1d(truths, truths, size=2, fill_value=-1)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, [1, -1])
    assert jnp.setdiff1d(truths, truths, size=1, fill_value=-1).dtype == np.bool_


def test_nothing_has_no_differences_inside_jit():
    empty = jnp.zeros(0, "int32")
    assert jax.jit(jnp.setxor1d)(empty, empty).shape == (0,)
