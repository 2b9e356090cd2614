"""Tests of ufunc objects."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp

X = np.array([[1.0, 2.0, 3.0], [4.0, 6.0, 8.0]], np.float32)
NAMES = ("add", "multiply", "maximum", "minimum", "subtract", "logaddexp")


@pytest.mark.parametrize(
    ("name", "axis"), [(n, a) for n in NAMES for a in (0, 1, None) if (n, a) != ("subtract", None)]
)
def test_reduce_as_numpy(name, axis):
    expected = getattr(np, name).reduce(X, axis=axis)
    np.testing.assert_allclose(getattr(jnp, name).reduce(X, axis=axis), expected, rtol=1e-6)
    kept = getattr(jnp, name).reduce(X, axis=axis, keepdims=True)
    assert kept.shape == getattr(np, name).reduce(X, axis=axis, keepdims=True).shape


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("axis", [0, 1])
def test_accumulate_as_numpy(name, axis):
    expected = getattr(np, name).accumulate(X, axis=axis)
    np.testing.assert_allclose(getattr(jnp, name).accumulate(X, axis=axis), expected, rtol=1e-6)


def test_masks_and_initial_values():
    mask = np.array([True, False, True])
    expected = np.add.reduce(X, axis=1, where=mask, initial=10)
    np.testing.assert_array_equal(jnp.add.reduce(X, axis=1, where=mask, initial=10), expected)
    expected = np.maximum.reduce(X, axis=1, where=mask, initial=2)
    np.testing.assert_array_equal(jnp.maximum.reduce(X, axis=1, where=mask, initial=2), expected)
    with pytest.raises(ValueError, match="does not have an identity"):
        jnp.maximum.reduce(X, where=mask)


def test_logic_reduces_to_truth():
    x = np.array([[1, 0], [2, 3]])
    np.testing.assert_array_equal(jnp.logical_and.reduce(x, axis=1), [False, True])
    np.testing.assert_array_equal(jnp.logical_or.reduce(x, axis=0), [True, True])
    np.testing.assert_array_equal(jnp.logical_xor.reduce(x, axis=0), [False, True])


@pytest.mark.parametrize("name", ["add", "multiply", "subtract", "maximum"])
def test_at_applies_as_often_as_a_place_is_named(name):
    x, places = np.arange(1.0, 5.0, dtype=np.float32), np.array([0, 2, 0])
    expected = x.copy()
    getattr(np, name).at(expected, places, 3.0)
    found = getattr(jnp, name).at(x, places, 3.0, inplace=False)
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(NotImplementedError, match="cannot operate inplace"):
        getattr(jnp, name).at(x, places, 3.0)


@pytest.mark.parametrize("starts", [[0, 4, 1, 5], [7, 3], [2]])
def test_reduceat_as_numpy(starts):
    x = np.arange(8)
    np.testing.assert_array_equal(jnp.add.reduceat(x, np.array(starts)), np.add.reduceat(x, starts))


def test_outer_as_numpy():
    x, y = np.arange(3), np.arange(4).reshape(2, 2)
    np.testing.assert_array_equal(jnp.multiply.outer(x, y), np.multiply.outer(x, y))


def test_a_function_of_scalars_becomes_a_ufunc():
    digits = jnp.frompyfunc(lambda x, y: 10 * x + y, nin=2, nout=1)
    assert digits.reduce(jnp.array([1, 2, 3])) == 123
    np.testing.assert_array_equal(digits.accumulate(jnp.array([1, 2, 3])), [1, 12, 123])
    np.testing.assert_array_equal(digits(jnp.arange(3), 7), [7, 17, 27])
    np.testing.assert_array_equal(digits.outer(jnp.arange(2), jnp.arange(2)), [[0, 1], [10, 11]])
    assert (digits.nin, digits.nout, digits.nargs) == (2, 1, 2)
    with pytest.raises(TypeError, match="takes 2 arguments but 1 were given"):
        digits(1)


def test_two_results():
    both = jnp.frompyfunc(lambda x: (x, -x), nin=1, nout=2)
    for found, expected in zip(both(jnp.arange(3)), ([0, 1, 2], [0, -1, -2]), strict=True):
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="reduce only supported for binary ufuncs"):
        both.reduce(jnp.arange(3))


def test_identities_and_names():
    identities = {name: getattr(jnp, name).identity for name in ("add", "multiply", "maximum")}
    assert identities == {"add": 0, "multiply": 1, "maximum": None}
    assert repr(jnp.add) == "<jnp.ufunc 'add'>"
    with pytest.raises(NotImplementedError, match="where argument of <jnp.ufunc 'add'>"):
        jnp.add(1, 2, where=True)


def test_reductions_differentiate():
    slope = jax.grad(lambda x: jnp.multiply.reduce(x))(jnp.array([2.0, 3.0, 4.0]))
    np.testing.assert_allclose(slope, [12.0, 8.0, 6.0])
