"""Tests of joining, splitting, repeating and rolling, against NumPy."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp

X = np.arange(6.0, dtype=np.float32).reshape(2, 3)
Y = X + 10


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_concatenate(axis):
    np.testing.assert_array_equal(jnp.concatenate([X, Y], axis), np.concatenate([X, Y], axis))


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_stack_and_unstack(axis):
    stacked = jnp.stack([X, Y], axis)
    np.testing.assert_array_equal(stacked, np.stack([X, Y], axis))
    for found, expected in zip(jnp.unstack(stacked, axis=axis), (X, Y), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["vstack", "hstack", "dstack", "column_stack"])
@pytest.mark.parametrize("rank", [1, 2])
def test_stacks(name, rank):
    arrays = [X, Y] if rank == 2 else [X[0], Y[0]]
    np.testing.assert_array_equal(getattr(jnp, name)(arrays), getattr(np, name)(arrays))


def test_dtypes_of_joined_arrays():
    assert jnp.concatenate([X, X.astype(int)]).dtype == np.float32
    assert jnp.concatenate([X, X], dtype="int8").dtype == np.int8
    assert jnp.stack([jnp.asarray(1.0), 2.0]).weak_type
    assert jnp.hstack([X, X], dtype=int).dtype == np.int32


def test_joining_an_array_joins_its_rows():
    np.testing.assert_array_equal(jnp.concatenate(jnp.asarray(X)), X.ravel())
    np.testing.assert_array_equal(jnp.vstack(jnp.asarray(X)), X)


@pytest.mark.parametrize("blocks", [[1, 2], [[X, Y], [Y, X]], [[X], [X]], X], ids=range(4))
def test_blocks(blocks):
    np.testing.assert_array_equal(jnp.block(blocks), np.block(blocks))


@pytest.mark.parametrize(
    ("name", "where", "axis"),
    [
        ("split", 3, 1),
        ("split", [1, 2], 1),
        ("split", [-1], 1),
        ("array_split", 2, 1),
        ("array_split", 5, 1),
        ("array_split", np.array([1]), 0),
    ],
    ids=str,
)
def test_splits(name, where, axis):
    found, expected = getattr(jnp, name)(X, where, axis), getattr(np, name)(X, where, axis)
    assert len(found) == len(expected)
    for part, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(part, other)


def test_named_splits():
    x = np.arange(16).reshape(2, 2, 4)
    for name in ("vsplit", "hsplit", "dsplit"):
        for part, other in zip(getattr(jnp, name)(x, 2), getattr(np, name)(x, 2), strict=True):
            np.testing.assert_array_equal(part, other)
    with pytest.raises(ValueError, match="does not result in an equal division: rest is 1"):
        jnp.split(X, 2, 1)


@pytest.mark.parametrize("reps", [2, (2, 1), (2, 1, 2), (), (0, 2)], ids=str)
def test_tile(reps):
    np.testing.assert_array_equal(jnp.tile(X, reps), np.tile(X, reps))


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("counts", ["number", "array"])
def test_repeat(axis, counts):
    length = X.size if axis is None else X.shape[axis]
    repeats = 2 if counts == "number" else np.arange(length)
    expected = np.repeat(X, repeats, axis)
    np.testing.assert_array_equal(jnp.repeat(X, repeats, axis), expected)


def test_known_repeats_in_a_program():
    rows = np.arange(6.0).reshape(3, 2).astype(np.float32)
    for counts in (np.array([2, 0, 1]), np.array([2]), np.array(2)):
        found = jax.jit(lambda x, counts=counts: jnp.repeat(x, counts, axis=0))(rows)
        np.testing.assert_array_equal(found, np.repeat(rows, counts, axis=0))
    with pytest.raises(ValueError, match=r"must be a scalar or have shape \(3,\); got \(2,\)"):
        jnp.repeat(rows, np.array([1, 2]), axis=0)


@pytest.mark.parametrize("total", [2, 6, 9])
def test_repeat_in_a_program_to_a_stated_extent(total):
    counts = np.array([1, 0, 5])
    found = jax.jit(lambda n: jnp.repeat(X[0], n, total_repeat_length=total))(counts)
    expected = np.repeat(X[0], counts)[:total]
    np.testing.assert_array_equal(found, np.pad(expected, (0, total - len(expected)), "edge"))
    with pytest.raises(jax.errors.ConcretizationTypeError, match="total number of repeats"):
        jax.jit(lambda n: jnp.repeat(X[0], n))(counts)


@pytest.mark.parametrize(
    ("shift", "axis"), [(1, None), (-2, 1), (7, 0), ((1, 2), (0, 1)), ((1, 2), 1), (0, 0)], ids=str
)
def test_roll(shift, axis):
    expected = np.roll(X, shift, axis)
    np.testing.assert_array_equal(jnp.roll(X, shift, axis), expected)
    traced = jax.jit(lambda shift: jnp.roll(X, shift, axis))(np.asarray(shift))
    np.testing.assert_array_equal(traced, expected)


def test_append():
    np.testing.assert_array_equal(jnp.append(X, 7), np.append(X, 7))
    np.testing.assert_array_equal(jnp.append(X, Y, axis=1), np.append(X, Y, axis=1))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: jnp.concatenate([]), ValueError, "Need at least one array to concatenate"),
        (lambda: jnp.concatenate([1, 2]), ValueError, "Zero-dimensional arrays cannot be"),
        (lambda: jnp.concatenate([X, [1]]), TypeError, "got <class 'list'> at position 1"),
        (lambda: jnp.concatenate([X, Y], axis=3), ValueError, "axis 3 is out of bounds"),
        (lambda: jnp.stack([]), ValueError, "Need at least one array to stack"),
        (lambda: jnp.stack([X, X[0]]), ValueError, "Cannot stack arrays"),
        (lambda: jnp.block([]), ValueError, "does not allow empty list arguments"),
        (lambda: jnp.block((1, 2)), ValueError, "does not allow tuples"),
        (lambda: jnp.split(X, [2, 1], 1), ValueError, "must be nonnegative"),
    ],
    ids=range(9),
)
def test_faults(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_masked_arrays_are_joined_without_their_masks() -> None:
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    np.testing.assert_array_equal(jnp.concatenate([masked, np.ones(1)]), [1, 2, 1])
    np.testing.assert_array_equal(jnp.stack([masked, masked]), [[1, 2], [1, 2]])
    with pytest.raises(ValueError, match="masked arrays are not supported"):
        jnp.hstack([masked, masked])
