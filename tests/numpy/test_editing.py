"""Tests of inserting, deleting and resizing, against NumPy."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp

X = np.arange(12).reshape(3, 4)
LINE = np.arange(5)


@pytest.mark.parametrize(
    ("obj", "values"),
    [
        (1, 9),
        (-1, 9),
        (5, 9),
        (2, [7, 8, 9]),
        (np.array([0, 2]), [7, 8]),
        (np.array([3, 1, 1]), [7, 8, 9]),
        (slice(0, 4, 2), 9),
    ],
    ids=range(7),
)
def test_insert_into_a_line(obj, values):
    values = np.array(values)
    expected = np.insert(LINE, obj, values)
    np.testing.assert_array_equal(jnp.insert(LINE, obj, values), expected)
    np.testing.assert_array_equal(jax.jit(lambda x: jnp.insert(x, obj, values))(LINE), expected)


@pytest.mark.parametrize(
    ("obj", "values", "axis"),
    [
        (1, 9, None),
        (1, 9, 0),
        (1, 9, 1),
        (1, [1, 2, 3, 4], 0),
        (1, [1, 2, 3], 1),
        (1, [[1], [2], [3]], 1),
        (1, [[1, 2, 3, 4], [5, 6, 7, 8]], 0),
        (np.array([1]), [[1], [2], [3]], 1),
        (np.array([0, 2]), [[1, 2, 3, 4], [5, 6, 7, 8]], 0),
        (np.array([0, 2]), [5, 6], 1),
        (np.array([0, 2]), 5, 1),
    ],
    ids=range(11),
)
def test_insert_along_axes(obj, values, axis):
    expected = np.insert(X, obj, np.array(values), axis)
    np.testing.assert_array_equal(jnp.insert(X, obj, np.array(values), axis), expected)


def test_insert_at_traced_places():
    found = jax.jit(lambda i: jnp.insert(LINE, i, np.array([7, 8])))(np.array([4, 0]))
    np.testing.assert_array_equal(found, np.insert(LINE, [4, 0], [7, 8]))


@pytest.mark.parametrize(
    "obj",
    [1, -1, np.array([1, 3]), np.array([0, 0, -1]), slice(0, 3, 2), LINE % 2 == 0],
    ids=range(6),
)
def test_delete_from_a_line(obj):
    np.testing.assert_array_equal(jnp.delete(LINE, obj), np.delete(LINE, obj))


@pytest.mark.parametrize("axis", [0, 1, None])
def test_delete_along_axes(axis):
    for obj in (1, np.array([0, 2])):
        np.testing.assert_array_equal(jnp.delete(X, obj, axis), np.delete(X, obj, axis))


def test_delete_at_traced_places():
    places = np.array([3, 0])
    found = jax.jit(lambda i: jnp.delete(LINE, i, assume_unique_indices=True))(places)
    np.testing.assert_array_equal(found, np.delete(LINE, places))
    np.testing.assert_array_equal(jax.jit(lambda i: jnp.delete(LINE, i))(2), np.delete(LINE, 2))
    with pytest.raises(jax.errors.ConcretizationTypeError, match="first argument of jnp.delete"):
        jax.jit(lambda i: jnp.delete(LINE, i))(places)


@pytest.mark.parametrize("shape", [(2, 4), (7,), 3, (), (0, 2)], ids=str)
def test_resize(shape):
    np.testing.assert_array_equal(jnp.resize(LINE, shape), np.resize(LINE, shape))


def test_trim_zeros():
    x = np.array([0, 0, 1, 0, 2, 0])
    for trim in ("fb", "f", "b"):
        np.testing.assert_array_equal(jnp.trim_zeros(x, trim), np.trim_zeros(x, trim))
    assert jnp.trim_zeros(np.zeros(3)).shape == (0,)
    np.testing.assert_array_equal(jnp.trim_zeros(np.array([[0, 0], [0, 1]])), [[1]])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: jnp.insert(LINE, 1.5, 2), "index array must be integer typed; got 1.5"),
        (lambda: jnp.delete(LINE, 1.5), "got obj.dtype=float64; must be integer or bool"),
        (lambda: jnp.delete(LINE, 10), "axis 10 is out of bounds for array of dimension 5"),
        (lambda: jnp.resize(LINE, -1), "must be non-negative"),
    ],
    ids=range(4),
)
def test_faults(call, text):
    with pytest.raises(ValueError, match=text):
        call()


@pytest.mark.parametrize("values", [5.5, np.array([1.5, 2.5], "float32"), np.int8(3)])
def test_insert_keeps_the_dtype(values):
    x = np.array([1, 2, 3], "int8")
    found = jnp.insert(x, np.array([0, 2]), values)
    assert found.dtype == "int8"
    np.testing.assert_array_equal(found, np.insert(x, [0, 2], np.asarray(values, "int8")))
