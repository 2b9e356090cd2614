"""Static indices outside of transformations run programs that are compiled once for all places."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless import lax
from tapeless.numpy.static_indexing import Window, take_window, window_within
from tests.numpy.indices import X

UPDATES = {
    "set": lambda old, new: new,
    "add": np.add,
    "multiply": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}


def test_a_window_says_what_is_read_and_the_starts_where():
    x = jnp.asarray(X)
    assert window_within(x, -1) == (Window((0,), (1,), (1,), (), (0,), ()), [len(X) - 1])
    assert window_within(x, slice(1, 3)) == (Window((0,), (2,), (1,), (), (), ()), [1])
    assert window_within(x, (Ellipsis, None, slice(None, None, -2)))[1] == [X.shape[-1] % 2 ^ 1]
    assert window_within(x, slice(None)) == (Window((), (), (), (), (), ()), [])


@pytest.mark.parametrize("index", [len(X), (0,) * 9, jnp.array([0]), "a", slice(0, 2, 0)])
def test_what_is_out_of_bounds_or_no_static_index_has_no_window(index):
    assert window_within(jnp.asarray(X), index) is None


def test_all_places_share_one_program():
    x = jnp.arange(50.0)
    before = take_window._cache_size()
    rows = [float(x[i]) for i in range(50)]
    assert rows == list(range(50))
    assert take_window._cache_size() <= before + 1
    parts = [np.asarray(x[i : i + 5]) for i in range(20)]
    np.testing.assert_array_equal(parts, np.arange(20)[:, None] + np.arange(5))
    assert take_window._cache_size() <= before + 2


@pytest.mark.parametrize("how", UPDATES)
@pytest.mark.parametrize(
    "index", [0, -1, slice(1, 3), (1, 2), (Ellipsis, 1), slice(0, 0), Ellipsis]
)
@pytest.mark.parametrize("value", [2, 2.5])
def test_updates_are_those_of_numpy(how, index, value):
    expected = X.astype(np.float32)
    expected[index] = UPDATES[how](expected[index], value)
    found = getattr(jnp.asarray(X, jnp.float32).at[index], how)(value)
    np.testing.assert_array_equal(found, expected)


def test_an_update_leaves_the_array_as_it_was():
    x = jnp.zeros(3)
    assert x.at[1].set(1.0).tolist() == [0.0, 1.0, 0.0]
    assert x.tolist() == [0.0, 0.0, 0.0]


def test_reading_what_a_mask_selects():
    for mask in (X > X.mean(), X > X.max(), X >= X.min(), X.sum(axis=tuple(range(1, X.ndim))) > 0):
        np.testing.assert_array_equal(jnp.asarray(X)[mask], X[mask])


def test_traced_programs_have_slices():
    text = str(jax.make_jaxpr(lambda x: x[1:3, 0])(X))
    assert "slice[" in text
    assert "dynamic_slice" not in text
    assert lax.slice_p.name in text
