"""Sorting, partial sorting and searching are NumPy's."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tests.support.against_numpy import check, normal

X = normal(4, 5)
WITH_NAN = np.where(X > 1, np.nan, X)
LINE = np.sort(normal(7))


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("name", ["sort", "argsort"])
def test_sorts(name, axis):
    check(name, X, axis=axis)
    check(name, WITH_NAN, axis=axis)


def test_descending_sorts_keep_ties_in_place():
    x = np.array([1, 3, 1, 3, 2])
    np.testing.assert_array_equal(jnp.sort(x, descending=True), [3, 3, 2, 1, 1])
    np.testing.assert_array_equal(jnp.argsort(x, descending=True), [1, 3, 4, 0, 2])


def test_sorts_refuse_numpys_options():
    with pytest.raises(TypeError, match="'kind' argument to sort is not supported"):
        jnp.sort(X, kind="heapsort")
    with pytest.raises(TypeError, match="'order' argument to argsort"):
        jnp.argsort(X, order="x")


@pytest.mark.parametrize("n_keys", [1, 2, 20])
def test_lexsort(n_keys):
    keys = list(np.random.default_rng(0).integers(0, 2, (n_keys, 30)))
    check("lexsort", keys)


def test_lexsort_of_an_array_along_an_axis():
    keys = np.random.default_rng(0).integers(0, 3, (3, 4, 6))
    check("lexsort", keys)
    check("lexsort", keys, axis=0)


def test_sort_complex():
    check("sort_complex", np.array([1 + 2j, 1 + 1j, 0], np.complex64))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("kth", [0, 2, -1])
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
def test_partition_puts_one_rank_in_place(dtype, kth, axis):
    x = (X * 20 + 100).astype(dtype)
    found = np.asarray(jnp.partition(x, kth, axis=axis))
    places = np.asarray(jnp.argpartition(x, kth, axis=axis))
    ordered = np.sort(x, axis)
    np.testing.assert_array_equal(np.sort(found, axis), ordered)
    np.testing.assert_array_equal(found.take(kth, axis), ordered.take(kth, axis))
    taken = np.take_along_axis(x, places, axis)
    np.testing.assert_array_equal(taken.take(kth, axis), ordered.take(kth, axis))


NANS = np.float32([3, np.nan, 1, -1, np.nan, 5])


def test_nans_are_the_last_ranks():
    x = jnp.array(NANS)
    np.testing.assert_array_equal(jnp.partition(x, 2), [-1, 1, 3, np.nan, np.nan, 5])
    np.testing.assert_array_equal(jnp.argpartition(x, 2), [3, 2, 0, 1, 4, 5])
    np.testing.assert_array_equal(jnp.top_k(x, 5, mode="smallest")[0], [-1, 1, 3, 5, np.nan])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "float8_e4m3fnuz"])
@pytest.mark.parametrize("rows", [(6,), (3, 6), (3, 200)])
def test_partitions_of_rows_with_nans_lose_no_element(dtype, rows):
    with jax.enable_x64(True):
        x = jnp.asarray(np.resize(NANS, rows), dtype)
        ordered = np.sort(np.asarray(x, np.float64), -1)
        for of in (lambda x: x, lambda x: x * 2, lambda x: x / 2):
            whole = np.asarray(of(ordered).astype(dtype), np.float64)
            for kth in (0, 3, -2, -1):
                found = jax.jit(lambda x, of=of, kth=kth: jnp.partition(of(x), kth))(x)
                found = np.asarray(found, np.float64)
                np.testing.assert_array_equal(np.sort(found, -1), whole)
                np.testing.assert_array_equal(found[..., kth], whole[..., kth])
                rowwise = jax.vmap(lambda x, kth=kth: jnp.argpartition(x, kth))(jnp.atleast_2d(x))
                taken = np.take_along_axis(np.atleast_2d(x), np.asarray(rowwise), -1)
                taken = np.asarray(taken, np.float64)[..., kth]
                np.testing.assert_array_equal(taken, np.atleast_2d(ordered)[..., kth])


def test_top_k_of_both_ends():
    values, places = jnp.top_k(jnp.array([3, 1, 2, 5]), 2)
    np.testing.assert_array_equal((values, places), [[5, 3], [3, 0]])
    values, places = jnp.top_k(jnp.array([3, 1, 2, 5]), 2, mode="smallest")
    np.testing.assert_array_equal((values, places), [[1, 2], [1, 2]])


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(side):
    check("searchsorted", LINE, X, side=side)
    check("searchsorted", np.array([1, 1, 2]), 1, side=side)
    order = np.argsort(X[0])
    check("searchsorted", X[0], X, side=side, sorter=order)


@pytest.mark.parametrize("method", ["compare_all", "scan", "scan_unrolled", "sort"])
def test_methods_of_search_agree(method):
    expected = np.searchsorted(LINE, X)
    np.testing.assert_array_equal(jnp.searchsorted(LINE, X, method=method), expected)


@pytest.mark.parametrize("right", [False, True])
def test_digitize(right):
    check("digitize", X, LINE, right=right)
    check("digitize", X, LINE[::-1].copy(), right=right)


def test_gradient_of_sort_follows_elements():
    weights = jnp.arange(5.0)
    found = jax.grad(lambda x: (jnp.sort(x) * weights).sum())(X[0])
    np.testing.assert_array_equal(found, np.argsort(np.argsort(X[0])))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)], ids=str)
def test_derivatives_of_sorts_without_elements(shape):
    for axis in range(len(shape)):
        x = jnp.zeros(shape)
        assert jax.grad(lambda x, axis=axis: jnp.sort(x, axis).sum())(x).shape == shape
        tops = jax.jvp(lambda x, axis=axis: jax.lax.top_k(x, 0, axis=axis)[0], (x,), (x,))
        assert all(top.size == 0 for top in tops)
