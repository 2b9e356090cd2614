"""Tests of `take`, `put` and their kin, against NumPy."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp

X = np.arange(12.0, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("mode", ["wrap", "clip"])
def test_take(axis, mode):
    places = np.array([[0, -1], [2, 9]])
    expected = np.take(X, places, axis, mode=mode)
    np.testing.assert_array_equal(jnp.take(X, places, axis, mode=mode), expected)


def test_take_fills():
    places = np.array([1, -1, 5])
    np.testing.assert_array_equal(jnp.take(X[0], places), [1.0, 3.0, np.nan])
    np.testing.assert_array_equal(jnp.take(X[0], places, fill_value=7), [1.0, 3.0, 7.0])
    least = np.iinfo(np.int32).min
    np.testing.assert_array_equal(jnp.take(jnp.arange(3), jnp.array([0, 5])), [0, least])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_take_and_put_along_axis(axis):
    order = np.argsort(-X, axis=axis)
    expected = np.take_along_axis(X, order, axis)
    np.testing.assert_array_equal(jnp.take_along_axis(X, order, axis), expected)
    first = np.take(order, [0], axis)
    written = X.copy()
    np.put_along_axis(written, first, -1, axis)
    found = jnp.put_along_axis(X, first, -1, axis, inplace=False)
    np.testing.assert_array_equal(found, written)


def test_lines_broadcast():
    places = np.array([[1, 0]])
    np.testing.assert_array_equal(jnp.take_along_axis(X, places, 1), X[:, [1, 0]])
    np.testing.assert_array_equal(jnp.take_along_axis(X, np.array([5]), None), [5.0])
    assert np.isnan(jnp.take_along_axis(X, np.array([[9]]), 1)).all()
    slope = jax.grad(lambda x: jnp.take_along_axis(x, places, 1).sum())(X)
    np.testing.assert_array_equal(slope, [[1, 1, 0, 0]] * 3)


@pytest.mark.parametrize("mode", [None, "wrap", "clip"])
def test_put(mode):
    places, values = np.array([0, -1, 14]), np.array([7.0, 8.0])
    expected = X.copy()
    if mode is None:
        np.put(expected, [0, -1, 11], values)
    else:
        np.put(expected, places, values, mode)
    if mode == "clip":
        expected = X.copy()
        np.put(expected, [0, 0, 11], [7.0, 8.0, 7.0])
    found = jnp.put(X, places, values, mode, inplace=False)
    np.testing.assert_array_equal(found, expected)


def test_place_compress_and_extract():
    mask = X % 3 == 0
    expected = X.copy()
    np.place(expected, mask, [1, 2])
    np.testing.assert_array_equal(jnp.place(X, mask, np.array([1, 2]), inplace=False), expected)
    rows = np.array([True, False, True])
    np.testing.assert_array_equal(jnp.compress(rows, X, 0), np.compress(rows, X, 0))
    np.testing.assert_array_equal(jnp.extract(mask, X), np.extract(mask, X))
    sized = jax.jit(lambda m: jnp.compress(m, X[0], size=3, fill_value=-1))(X[0] > 1)
    np.testing.assert_array_equal(sized, [2.0, 3.0, -1.0])


@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (5, 2), (3, 3, 3)])
def test_fill_diagonal(shape):
    expected = np.zeros(shape)
    np.fill_diagonal(expected, 5)
    if shape != (5, 2):
        np.testing.assert_array_equal(
            jnp.fill_diagonal(jnp.zeros(shape), 5, inplace=False), expected
        )
    column = jnp.fill_diagonal(jnp.zeros((3, 2)), jnp.array([1, 2]), inplace=False)
    np.testing.assert_array_equal(column, [[1, 0], [0, 2], [0, 0]])


def test_grids_of_indices():
    rows, columns = np.array([0, 2]), np.array([1, 3, 0])
    grid = jnp.ix_(rows, columns)
    np.testing.assert_array_equal(jnp.asarray(X)[grid], X[np.ix_(rows, columns)])
    with pytest.raises(ValueError, match="must be 1-dimensional, got shape"):
        jnp.ix_(X.astype(int))


def test_multi_indices():
    numbers = np.array([[0, 5], [11, 7]])
    found = jnp.unravel_index(numbers, (3, 4))
    np.testing.assert_array_equal(found, np.unravel_index(numbers, (3, 4)))
    np.testing.assert_array_equal(jnp.ravel_multi_index(found, (3, 4)), numbers)
    places = (np.array([3, -1]), np.array([1, 6]))
    for mode in ("wrap", "clip"):
        for order in ("C", "F"):
            expected = np.ravel_multi_index(places, (3, 4), mode, order)
            np.testing.assert_array_equal(
                jnp.ravel_multi_index(places, (3, 4), mode, order), expected
            )
    with pytest.raises(ValueError, match="invalid entry in coordinates array"):
        jnp.ravel_multi_index(places, (3, 4))


@pytest.mark.parametrize("kind", ["uint8", "int8", "uint32", "int32"])
def test_unravel_index_of_every_width(kind):
    found = jnp.unravel_index(jnp.arange(8).astype(kind), (2, 3))
    clipped = np.minimum(np.arange(8), 5)
    np.testing.assert_array_equal(found, np.unravel_index(clipped, (2, 3)))
    assert {x.dtype for x in found} == {np.dtype(kind)}
    assert [x.weak_type for x in jnp.unravel_index(4, (2, 3))] == [True, True]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: jnp.take(X, [0]), TypeError, "take requires ndarray or scalar arguments"),
        (lambda: jnp.take(X, 1.5), ValueError, "indices must have an integer type"),
        (lambda: jnp.take(X, 0, mode="raise"), NotImplementedError, "'raise' mode to jnp.take"),
        (lambda: jnp.take(X, 0, mode="zz"), ValueError, "Invalid mode 'zz' for np.take"),
        (lambda: jnp.take_along_axis(X, np.zeros((3, 1)), 1), TypeError, "of integer type"),
        (lambda: jnp.take_along_axis(X, np.arange(3), 1), ValueError, "same number of dimensions"),
        (lambda: jnp.put(X, 0, 1), ValueError, "cannot modify arrays in-place"),
        (lambda: jnp.place(X, X[0] > 0, 1, inplace=False), ValueError, "must be the same size"),
    ],
    ids=range(8),
)
def test_faults(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("mode", ["raise", "clip", "wrap"])
def test_row_major_numbers_have_the_dtype_of_positions(mode):
    places = (np.array([1, 2], np.uint8), np.array([3, 0], np.int16))
    found = jnp.ravel_multi_index(places, (3, 400), mode=mode)
    assert found.dtype == np.int16
    np.testing.assert_array_equal(found, np.ravel_multi_index(places, (3, 400)))
    wide = jnp.ravel_multi_index((places[0], places[0]), (400, 400), mode=mode, dtype="int32")
    np.testing.assert_array_equal(wide, [401, 802])
    with pytest.raises(ValueError, match="not large enough to hold flattened index"):
        jnp.ravel_multi_index((places[0], places[0]), (400, 400), mode=mode)
