"""The largest elements obey the laws of `tests/support/harness.py`, kept in order or sorted."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless.prims import topk
from tests.support.harness import laws
from tests.support.records import FLOATS, Failure, Record, fixed

DISTINCT = fixed([[0.5, -1.5, 2.0], [1.0, 3.0, -0.25], [-3.0, 0.25, 0.375]])
X = np.ones((3, 4), np.float32)
NO_HLO = {"hlo": "top_k is an operation of the CHLO dialect"}

RECORDS = [
    Record(
        "top_k",
        lambda x: topk.top_k(x, 2)[0],
        (DISTINCT,),
        (*FLOATS, "int32"),
        {**NO_HLO, "empty": "its lines have fewer than k elements"},
        errors=(Failure((np.float32(3.0),), ValueError, "axis -1 is out of bounds"),),
    ),
]
globals().update(laws(RECORDS))


@pytest.mark.parametrize("k", [1, 5, 100])
def test_top_k_takes_the_first_of_equal_elements(k):
    x = np.random.default_rng(500).integers(-100, 100, (2, 250)).astype(np.int32)
    values, places = topk.top_k(x, k)
    order = np.argsort(-x, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(order, places)
    np.testing.assert_array_equal(np.take_along_axis(x, order, 1), values)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: topk.top_k(X, 5), ValueError, "k argument to top_k must be no larger than size"),
        (lambda: topk.top_k(X, -1), ValueError, "k argument to top_k must be nonnegative, got -1"),
        (lambda: topk.top_k(X + 0j, 1), ValueError, "top_k is not compatible with complex inputs."),
    ],
)
def test_wrong_operands_are_refused(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


@pytest.mark.parametrize("order", ["rising", "falling", "mixed"])
@pytest.mark.parametrize("size", [63, 64, 65, 1000])
def test_top_k_passes_over_no_block_that_has_better_elements(size, order):
    x = np.random.default_rng(0).normal(size=size).astype(np.float32)
    x[size // 2] = np.nan
    if order != "mixed":
        x = np.sort(x)[:: 1 if order == "rising" else -1]
    values, places = topk.top_k(x, 7)
    expected = np.argsort(-np.where(np.isnan(x), np.inf, x), kind="stable")[:7]
    np.testing.assert_array_equal(expected, places)
    np.testing.assert_array_equal(x[expected], values)


@pytest.mark.parametrize("k", [65, 500, 1000])
@pytest.mark.parametrize("dtype", ["float32", "int32", "int16"])
def test_many_of_a_line_are_the_first_of_a_stable_sort_downwards(dtype, k):
    x = np.random.default_rng(k).integers(-99, 99, (2, 1000)).astype(dtype)
    places = np.stack([np.argsort(-line.astype(int), kind="stable") for line in x])[:, :k]
    values, found = topk.top_k(x, k)
    np.testing.assert_array_equal(places, np.asarray(found))
    np.testing.assert_array_equal(np.take_along_axis(x, places, 1), np.asarray(values))


def test_a_few_of_a_long_line_are_kept_and_others_sorted():
    assert topk._changes_seldom(10**6, 64)
    assert topk._changes_seldom(10**4, 4)
    assert topk._changes_seldom(100, 1)
    assert not topk._changes_seldom(10**4, 64)
    assert not topk._changes_seldom(1000, 4)


@pytest.mark.parametrize(
    ("shape", "k", "kept"),
    [((30, 200), 4, False), ((30, 200), 30, False), ((40_000,), 8, True), ((2, 30_000), 2, True)],
)
@pytest.mark.parametrize("dtype", ["float32", "int32", "float16", "int64", "float64"])
def test_both_ways_order_ties_and_nans(shape, k, kept, dtype):
    assert topk._changes_seldom(shape[-1], k) is kept
    draw = np.random.default_rng(0)
    x = draw.integers(-50, 50, shape).astype(dtype)
    if x.dtype.kind == "f":
        x[draw.random(shape) < 0.00005] = np.nan
        x[x == 7] = -0.0
    with jax.enable_x64(True):
        found = jax.jit(lambda x: jax.lax.top_k(x, k))(x)
    expected = topk.top_k_p.reference(x, axis=len(shape) - 1, is_stable=True, k=k)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


SPECIAL = np.float32([-0.0, 0.0, np.nan, -np.nan, 1, -1, np.inf, -np.inf, 0.0, -0.0])
RANKS = np.array([3, 4, 7, 0, 5, 2, 6, 1, 4, 3])


@pytest.mark.parametrize("k", [1, 4, 9, 10])
@pytest.mark.parametrize("repeats", [1, 20])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_the_order_is_total(dtype, repeats, k):
    k *= repeats
    expected = np.argsort(-np.tile(RANKS, repeats), kind="stable")[:k]
    with jax.enable_x64(True):
        x = jax.numpy.asarray(np.tile(SPECIAL, repeats), dtype)
        jitted = jax.jit(topk.top_k, static_argnums=1)(x, k)
        simpler = topk.top_k_p.decompose(x, axis=0, k=k)
        for values, places in (topk.top_k(x, k), jitted, simpler):
            np.testing.assert_array_equal(places, expected)
            assert np.asarray(values).tobytes() == np.asarray(x[expected]).tobytes()


@pytest.mark.parametrize("dtype", ["float8_e4m3fnuz", "float8_e5m2fnuz"])
def test_a_nan_without_a_sign_is_least(dtype):
    x = jax.lax.bitcast_convert_type(np.arange(256, dtype=np.uint8), dtype)
    expected = [*range(127, -1, -1), *range(129, 256), 128]
    np.testing.assert_array_equal(topk.top_k(x, 256)[1], expected)


@pytest.mark.parametrize("size", [4, 37])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_negation_turns_the_sign_of_a_nan(dtype, size):
    with jax.enable_x64(True):
        x = jax.numpy.asarray(np.resize(np.float32([1, np.nan, -np.nan, 2]), size), dtype)
        for of in (lambda x: x, lambda x: x * 3, lambda x: 3 / x, lambda x: x / 3):
            signs = np.signbit(jax.jit(lambda x, of=of: -of(x))(x))
            np.testing.assert_array_equal(signs[1:3], [True, False])
