"""Tests of grids of coordinates, against NumPy."""

import numpy as np
import pytest

import tapeless.numpy as jnp


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("lengths", [(3,), (2, 3), (2, 3, 4)], ids=str)
def test_meshgrid(indexing, sparse, lengths):
    lines = [np.arange(length) for length in lengths]
    expected = np.meshgrid(*lines, indexing=indexing, sparse=sparse)
    found = jnp.meshgrid(*lines, indexing=indexing, sparse=sparse)
    for grid, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(grid, other)


def test_indices_and_functions_of_them():
    np.testing.assert_array_equal(jnp.indices((2, 3)), np.indices((2, 3)))
    sparse = jnp.indices((2, 3), sparse=True)
    assert [x.shape for x in sparse] == [(2, 1), (1, 3)]
    made = jnp.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int)
    np.testing.assert_array_equal(made, np.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int))
    rows = jnp.fromfunction(lambda i: jnp.arange(3) + i, (2,), dtype=int)
    np.testing.assert_array_equal(rows, [[0, 1, 2], [1, 2, 3]])


KEYS = [
    "mgrid[0:3]", "mgrid[0:1:3j]", "mgrid[0:2, 0:3]", "mgrid[0:1:2j, 0:2]", "ogrid[1:3]",
    "r_[1, 2, 3.0]", "r_[0:3, 5]", "r_[0:1:3j]", "r_['-1', [1, 2], [3, 4]]",
    "r_['0,2', [1, 2], [3, 4]]", "r_['0,2,0', [1, 2], [3, 4]]", "r_['1,3', [1, 2], [3, 4]]",
    "c_[[1, 2], [3, 4]]", "c_[[[1, 2]], [[3, 4]]]", "c_[1, 2]",
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
def test_what_is_indexed_to_make_arrays(key):
    found, expected = eval(f"jnp.{key}"), eval(f"np.{key}")
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected)


def test_open_grids():
    found, expected = jnp.ogrid[0:2, 0:3], np.ogrid[0:2, 0:3]
    for grid, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(grid, other)


def test_index_expressions():
    assert jnp.s_[1:2, None] == np.s_[1:2, None]
    assert jnp.index_exp[1] == (1,)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: jnp.meshgrid(1, 2), "must be 1D, got shapes"),
        (lambda: jnp.meshgrid(np.arange(2), indexing="zz"), "Valid values for indexing are"),
        (lambda: jnp.r_["zz", [1]], "could not understand directive 'zz'"),
    ],
    ids=range(3),
)
def test_faults(call, text):
    with pytest.raises(ValueError, match=text):
        call()
