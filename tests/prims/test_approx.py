"""The approximate top k is the exact one."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless.prims import approx
from tests.support.harness import laws
from tests.support.records import FLOATS, Record, fixed

X = np.random.default_rng(0).normal(size=(3, 50)).astype(np.float32)
DISTINCT = fixed([[0.5, -1.5, 2.0], [1.0, 3.0, -0.25], [-3.0, 0.25, 0.375]])
WITHOUT = {
    "hlo": "top_k is an operation of the CHLO dialect",
    "empty": "its lines have fewer than k elements",
}
RECORDS = [
    Record("max", lambda x: approx.approx_max_k(x, 2)[0], (DISTINCT,), FLOATS, WITHOUT),
    Record("min", lambda x: approx.approx_min_k(x, 2, 0)[0], (DISTINCT,), FLOATS, WITHOUT),
]
globals().update(laws(RECORDS))


def test_largest_and_least():
    values, places = approx.approx_max_k(X, 4)
    np.testing.assert_array_equal(np.sort(X, 1)[:, :-5:-1], values)
    np.testing.assert_array_equal(np.argsort(X, 1)[:, :-5:-1], places)
    values, places = approx.approx_min_k(X, 2, 0)
    np.testing.assert_array_equal(np.sort(X, 0)[:2], values)
    np.testing.assert_array_equal(np.argsort(X, 0)[:2], places)


def test_recall_is_a_probability():
    with pytest.raises(ValueError, match="recall_target must be in"):
        approx.approx_max_k(X, 4, recall_target=2.0)


@pytest.mark.parametrize("function", [approx.approx_max_k, approx.approx_min_k])
def test_derivatives_stand_where_the_values_come_from(function):
    slope = jax.grad(lambda x: jax.numpy.sum(function(x, 2, 1)[0]))(X)
    expected = np.zeros_like(X)
    np.put_along_axis(expected, np.asarray(function(X, 2, 1)[1]), 1, 1)
    np.testing.assert_array_equal(slope, expected)


@pytest.mark.parametrize("axis", [0, 1])
def test_rows_of_a_batch_are_apart(axis):
    values, places = jax.vmap(lambda x: approx.approx_max_k(x, 2), axis)(X)
    rows = X if axis == 0 else X.T
    np.testing.assert_array_equal(values, np.sort(rows, 1)[:, :-3:-1])
    np.testing.assert_array_equal(places, np.argsort(rows, 1)[:, :-3:-1])


def test_programs_keep_the_parameters():
    text = str(jax.make_jaxpr(lambda x: approx.approx_max_k(x, 4, recall_target=0.5))(X))
    assert "approx_top_k[" in text
    assert "recall_target=0.5" in text


@pytest.mark.parametrize(
    ("x", "k", "text"),
    [(X, 60, "smaller than the size"), (X, 0, "positive"), (X.astype(int), 2, "floating")],
)
def test_what_approx_top_k_refuses(x, k, text):
    with pytest.raises(ValueError, match=text):
        approx.approx_max_k(x, k)


@pytest.mark.parametrize(
    ("shape", "options", "count"),
    [
        ((40,), {}, 40),
        ((3000,), {"k": 1}, 1024),
        ((3000,), {"recall_target": 1.0}, 3000),
        ((100000,), {}, 2048),
        ((30000,), {"k": 90, "recall_target": 0.99}, 15360),
        ((2, 3000), {"k": 5}, 256),
        ((2, 3000), {"k": 5, "reduction_input_size_override": 10000}, 128),
        ((2, 3000), {"k": 90, "recall_target": 0.99}, 3000),
    ],
)
def test_partial_results_are_the_best_of_as_many_as_jax_leaves(shape, options, count):
    x = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    values, places = approx.approx_max_k(x, **{"k": 10, "aggregate_to_topk": False} | options)
    np.testing.assert_array_equal(values, np.flip(np.sort(x), -1)[..., :count])
    np.testing.assert_array_equal(np.take_along_axis(x, np.asarray(places), -1), values)


def test_an_override_below_the_size_is_refused():
    with pytest.raises(jax.errors.JaxRuntimeError, match="at least the 50 elements"):
        approx.approx_max_k(X, 4, reduction_input_size_override=10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_nans_are_larger_than_all_numbers(dtype):
    x = np.array([1.0, np.nan, -1.0, np.inf, -np.nan, -np.inf, 0.0, -0.0], dtype)
    with jax.enable_x64(True):
        values, places = approx.approx_min_k(x, 8)
        np.testing.assert_array_equal(places, [5, 2, 6, 7, 0, 3, 1, 4])
        np.testing.assert_array_equal(values, x[np.asarray(places)])
        np.testing.assert_array_equal(approx.approx_max_k(x, 3)[1], [1, 4, 3])
