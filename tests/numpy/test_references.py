"""Mutable arrays by NumPy's indices: what is read and written, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import errors
from tapeless import numpy as jnp

GRID = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize(
    "index",
    [
        ...,
        (),
        0,
        -1,
        slice(1, None),
        (slice(None), 1),
        (slice(0, 2), slice(None, None, 2)),
        (..., 2),
        (2, 3),
        np.array([0, 2]),
        (np.array([0, 2]), np.array([3, 1])),
        (slice(1, 3), np.array([3, 1])),
        (np.array([[0, 2]]), 1),
    ],
    ids=str,
)
def test_reading_writing_and_adding_are_as_in_numpy(index):
    expected, ref = GRID.copy(), jax.new_ref(GRID)
    np.testing.assert_array_equal(expected[index], ref[index])
    new = -np.ones_like(expected[index])
    old = jax.ref.swap(ref, index, new)
    np.testing.assert_array_equal(expected[index], old)
    expected[index] = new
    np.testing.assert_array_equal(expected, ref[...])
    ref.addupdate(3 * new, index)
    np.add.at(expected, index, 3 * new)
    np.testing.assert_array_equal(expected, ref[...])
    traced = jax.jit(lambda r: r[index])
    np.testing.assert_array_equal(expected[index], traced(ref))


def test_a_place_that_is_traced_is_moved_into_the_array():
    ref = jax.new_ref(jnp.zeros(3))
    write = jax.jit(lambda r, i: r.__setitem__(i, r[i] + 9.0))
    for place in (7, -1, -9):
        write(ref, place)
    np.testing.assert_array_equal([9, 0, 18], ref[...])
    jax.jit(lambda r, i: r.__setitem__(i, jnp.ones(2)))(ref, jnp.array([1, 7]))
    np.testing.assert_array_equal([9, 1, 18], ref[...])


def test_parts_of_parts_are_references():
    ref = jax.new_ref(GRID)
    part = ref.at[1:]
    assert float(part[0, 3]) == 7.0
    part.at[1][:2] = jnp.array([50.0, 60.0])
    np.testing.assert_array_equal([50, 60, 10, 11], ref[2])
    jax.ref.addupdate(part.at[0], 0, 1.0)
    assert float(ref[1, 0]) == 5.0
    assert repr(part).startswith("RefView(ref=Ref([[")


def test_a_reference_shows_what_it_holds():
    ref = jax.new_ref(jnp.arange(3))
    assert repr(ref) == "Ref([0, 1, 2], dtype=int32)"
    assert repr(jax.typeof(ref)) == "Ref{int32[3]}"
    assert (ref.shape, ref.dtype, ref.ndim, ref.size, len(ref)) == ((3,), np.int32, 1, 3, 3)
    assert isinstance(ref, jax.Ref)
    assert not isinstance(ref, jax.Array)
    assert jax.jit(lambda r: isinstance(r, jax.Ref) and r.size)(ref) == 3
    assert jax.tree.leaves({"a": ref}) == [ref]
    with pytest.raises(TypeError, match="len\\(\\) of unsized object"):
        len(jax.new_ref(1.0))


def test_weak_types_become_strong_and_keys_are_held():
    assert not jax.new_ref(1.0)[...].weak_type
    assert jax.jit(lambda: jax.new_ref(1.0)[...])().dtype == np.float32
    key = jax.new_ref(jax.random.key(0))
    key[...] = jax.random.split(key[...])[0]
    expected = jax.random.key_data(jax.random.split(jax.random.key(0))[0])
    np.testing.assert_array_equal(expected, jax.random.key_data(key[...]))


@pytest.mark.parametrize(
    ("index", "words"),
    [
        (5, "Out of bound indexer: idx=5, dim=3."),
        ((0, 0, 0), r"`indices` must not be longer than `shape`: indices=\(0, 0, 0\)"),
        (slice(None, None, -1), r"slice must have a step >= 1 \(found: -1\)"),
        ((..., ...), "only one Ellipsis"),
    ],
)
def test_indices_that_do_not_fit_are_refused(index, words):
    with pytest.raises(ValueError, match=words):
        jax.new_ref(GRID)[index]


def test_values_that_do_not_fit_are_refused():
    ref = jax.new_ref(jnp.zeros(3))
    with pytest.raises(ValueError, match=r"Invalid shape for `swap`.* Expected shape: \(2,\). Va"):
        ref[1:] = 2.0
    with pytest.raises(ValueError, match="Invalid dtype for `swap`. Ref dtype: float32. Value dt"):
        ref[0] = 5
    with pytest.raises(ValueError, match="Invalid shape for `addupdate`"):
        ref.addupdate(1.0)
    with pytest.raises(ValueError, match="Invalid dtype for `addupdate`"):
        jax.ref.addupdate(ref, 0, True)
    with pytest.raises(errors.NonConcreteBooleanIndexError, match=r"got bool\[3\]"):
        ref[jnp.array([True, False, True])]


def test_what_is_no_reference_is_refused():
    for make in (lambda: jax.new_ref([1.0]), lambda: jax.new_ref(jax.new_ref(1.0))):
        with pytest.raises(TypeError, match="Error interpreting argument to new_ref"):
            make()
    for use in (jax.freeze, jax.free_ref, jax.ref.get):
        with pytest.raises(TypeError, match="expected a Ref, which jax.new_ref makes"):
            use(jnp.ones(3))
    with pytest.raises(ValueError, match="kind must be None or 'no_grad_no_remat'"):
        jax.new_ref(1.0, kind="other")


def test_arrays_stay_what_they_are():
    ref = jax.new_ref(jnp.zeros(3))
    before = ref[...]
    ref[0] = 1.0
    np.testing.assert_array_equal(np.zeros(3), before)
    assert not hasattr(jnp.zeros(3), "addupdate")
    with pytest.raises(AttributeError, match="addupdate"):
        jax.jit(lambda x: x.addupdate(1.0))(before)
    with pytest.raises(TypeError, match="JAX arrays are immutable"):
        jax.jit(lambda x: x.__setitem__(0, 1.0))(before)
    assert jax.ref.empty_ref(jax.ShapeDtypeStruct((2, 3), jnp.int8)).dtype == np.int8
