"""Tests of indexing, against NumPy."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tests.numpy.indices import INDICES, X, as_jax


@pytest.mark.parametrize("index", INDICES, ids=range(len(INDICES)))
def test_reading_as_numpy(index):
    expected = X[index]
    named = as_jax(index)
    for found in (jnp.asarray(X)[named], jax.jit(lambda x: x[named])(X)):
        assert found.shape == expected.shape
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("index", INDICES, ids=range(len(INDICES)))
def test_the_gradient_of_reading_counts_the_readings(index):
    named = as_jax(index)
    expected = np.zeros_like(X)
    np.add.at(expected, index, 1)
    found = jax.grad(lambda x: x[named].sum())(jnp.asarray(X))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("place", [0, 2, -1, -3, 5, -7])
def test_traced_integers_clamp(place):
    clamped = min(max(place + 3 if place < 0 else place, 0), 2)
    for index in (
        lambda i: i,
        lambda i: (i, slice(1, 3)),
        lambda i: (i, None, slice(None, None, 2)),
    ):
        found = jax.jit(lambda x, i, index=index: x[index(i)])(X, place)
        np.testing.assert_array_equal(found, X[index(clamped)])
    found = jax.jit(lambda x, i: x[:, i, ::-1])(X, place)
    clamped = min(max(place + 4 if place < 0 else place, 0), 3)
    np.testing.assert_array_equal(found, X[:, clamped, ::-1])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32"])
def test_dtypes_of_indices(dtype):
    x = np.arange(300)
    places = np.array([3, 100], dtype)
    np.testing.assert_array_equal(jnp.asarray(x)[jnp.asarray(places)], x[places])
    np.testing.assert_array_equal(jnp.asarray(x)[jnp.asarray(places[0])], x[places[0]])


@pytest.mark.parametrize("mode", [None, "clip", "promise_in_bounds"])
@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (-1, [0, 1]),
        (np.s_[-1, None], [[0, 1]]),
        (np.s_[-1:0:-1, -1], [4, 2]),
        (np.s_[1:, -2], [2, 4]),
    ],
)
def test_integers_below_zero_that_do_not_wrap_are_out_of_bounds(index, expected, mode):
    def read(x):
        return x.at[index].get(mode=mode, wrap_negative_indices=False)

    x = jnp.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(read(x), expected)
    np.testing.assert_array_equal(jax.jit(read)(x), expected)


def test_what_is_out_of_bounds():
    x = jnp.arange(3.0)
    np.testing.assert_array_equal(x[jnp.array([5, -9])], [2.0, 0.0])
    assert x[7] == 2.0
    places = jnp.array([1, 5, -9])
    np.testing.assert_array_equal(x.at[places].get(mode="fill"), [1.0, np.nan, np.nan])
    np.testing.assert_array_equal(x.at[places].get(mode="fill", fill_value=7), [1.0, 7.0, 7.0])
    np.testing.assert_array_equal(x.at[places].get(mode="clip"), [1.0, 2.0, 0.0])
    unwrapped = x.at[jnp.array([-1])].get(mode="fill", wrap_negative_indices=False)
    np.testing.assert_array_equal(unwrapped, [np.nan])


def test_masks_need_numbers():
    x = jnp.arange(-2.0, 3.0)
    np.testing.assert_array_equal(x[x > 0], [1.0, 2.0])
    with pytest.raises(
        jax.errors.NonConcreteBooleanIndexError, match=r"got bool\[5\]\. .*jnp\.where\(mask"
    ):
        jax.jit(lambda x: x[x > 0])(x)
    np.testing.assert_array_equal(jax.grad(lambda x: x[x > 0].sum())(x), x > 0)


def test_batches_of_indices():
    rows = jax.vmap(lambda x, i: x[i])(X, np.array([0, 3, -1]))
    np.testing.assert_array_equal(rows, [X[0, 0], X[1, 3], X[2, -1]])
    whole = jnp.asarray(X)
    gathered = jax.vmap(lambda x, i: x[i], (None, 0))(whole, np.array([[0, 1], [2, 2]]))
    np.testing.assert_array_equal(gathered, X[np.array([[0, 1], [2, 2]])])


@pytest.mark.parametrize(
    ("index", "error", "text"),
    [
        (1.5, TypeError, "Indexer must have integer or boolean type, got indexer with type float"),
        ("a", TypeError, "JAX does not support string indexing; got idx='a'"),
        ((0, 0, 0, 0), IndexError, "Too many indices: array is 3-dimensional, but 4 were indexed"),
        ([0, 1], TypeError, r"use `arr\[array\(seq\)\]` instead of `arr\[seq\]`"),
        ([[0, 1]], TypeError, r"use `arr\[tuple\(seq\)\]` instead of `arr\[seq\]`"),
        ((..., ...), IndexError, "an index can only have a single ellipsis"),
        (slice(0, 1, 0), ValueError, "slice step cannot be zero"),
        (slice(1.5, 2), TypeError, "cannot be interpreted as an integer"),
        (np.array([True]), IndexError, r"boolean index did not match .* index 0: got \(1,\)"),
        ((np.arange(2), np.arange(3)), ValueError, "Incompatible shapes for broadcasting"),
        (2**40, OverflowError, "too large to convert to int32"),
    ],
    ids=range(11),
)
def test_faulty_indices(index, error, text):
    with pytest.raises(error, match=text):
        jnp.asarray(X)[index]


def test_slices_are_static():
    with pytest.raises(IndexError, match="Array slice indices must have static start/stop/step"):
        jax.jit(lambda x, i: x[i : i + 1])(X, 0)


def test_out_of_bounds_raises_on_demand():
    with jax.config.out_of_bounds("raise"), pytest.raises(jax.errors.OutOfBoundsError):
        jnp.arange(3)[5]


def test_reading_keeps_weakness():
    assert jnp.asarray(1.0)[None].weak_type
    assert jnp.asarray(1.0)[...].weak_type


NONE = np.zeros(0, int)
NO_PLACES = [
    (lambda x: x[NONE], (0, 3)),
    (lambda x: x[jnp.asarray(NONE)], (0, 3)),
    (lambda x: x[False], (0, 2, 3)),
    (lambda x: x[:, []], (2, 0)),
    (lambda x: x[np.zeros((0, 2), int)], (0, 2, 3)),
    (lambda x: jnp.take(x, NONE, 1), (2, 0)),
    (lambda x: jnp.take(x[0:0], NONE, 0), (0, 3)),
    (lambda x: jnp.repeat(x[0:0], NONE, axis=0), (0, 3)),
    (lambda x: jnp.resize(x, 0), (0,)),
    (lambda x: jnp.take_along_axis(x, np.zeros((2, 0), int), 1), (2, 0)),
]


@pytest.mark.parametrize(("read", "shape"), NO_PLACES, ids=range(len(NO_PLACES)))
def test_no_places_give_an_array_of_the_operands_type(read, shape):
    """What reads nothing is an Array, of keys too."""
    keys = jax.random.split(jax.random.key(0), (2, 3))
    weak = jnp.broadcast_to(jnp.asarray(2.0), (2, 3))
    for x in (jnp.ones((2, 3), "int8"), keys, weak):
        for found in (read(x), jax.jit(read)(x)):
            assert isinstance(found, jax.Array)
            assert found.aval.str_short(True) == x.aval.update(shape=shape).str_short(True)


def test_an_empty_axis_has_no_place():
    x, one = jnp.zeros((3, 0, 2)), jnp.array(1)
    for read in (
        lambda x: x[0, 0],
        lambda x: x[:, -1],
        lambda x: x[::2, one],
        lambda x: x.at[0, 0].get(mode="fill"),
        lambda x: x.at[0, one].set(1),
        lambda x: x.at[:, 0].apply(jnp.sin),
    ):
        for function in (read, jax.jit(read)):
            with pytest.raises(IndexError, match="out of bounds for axis 1 with size 0"):
                function(x)
    assert x[:, jnp.zeros(0, int)].shape == (3, 0, 2)
    assert x.at[0, jnp.array([0])].set(1).shape == x.shape


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
def test_a_mask_without_elements_chooses_nothing(shape):
    x, mask = np.ones((2, 3)), np.zeros(shape, bool)
    assert jnp.asarray(x)[jnp.asarray(mask)].shape == (0, *x.shape[len(shape) :])


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32"])
def test_an_index_without_a_sign_is_never_counted_from_the_end(dtype):
    x, last = jnp.arange(7.0), np.iinfo(dtype).max
    read = jax.jit(lambda index: x[index])
    index = jnp.asarray(last - 1, dtype)
    assert read(index) == x[index] == 6.0
    assert read(jnp.asarray(2, dtype)) == 2.0
    _, read_counting_down = jax.jit(
        lambda start: jax.lax.scan(lambda i, _: (i - jnp.ones((), dtype), x[i]), start, length=5)
    )(jnp.asarray(1, dtype))
    np.testing.assert_array_equal(read_counting_down, [1, 0, 6, 6, 6])
