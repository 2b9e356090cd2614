"""Many scattered updates: shares with tables of their own, keys in lines, and blocks that lose."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless.prims import updates

MANY = updates.SHARED + 5
COMBINE = {"add": np.add, "min": np.minimum, "max": np.maximum, "multiply": np.multiply}
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1e-45, -1e-45, 3e38, -3e38)


def scattered(name, target, indices, values):
    """Return what NumPy makes of the same updates; those out of bounds are dropped."""
    out, inside = target.copy(), (indices >= -len(target)) & (indices < len(target))
    with np.errstate(all="ignore"):
        COMBINE[name].at(out, indices[inside], values[inside])
    return out


def compiled(name, target, indices, values):
    """Return our result."""
    function = jax.jit(lambda x, u: getattr(x.at[indices], name)(u, mode="drop"))
    return np.asarray(function(target, values))


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.float32])
@pytest.mark.parametrize("n_places", [1, 10, 700, 3000, MANY])
@pytest.mark.parametrize("name", ["add", "min", "max"])
def test_many_updates_in_no_order_are_those_of_numpy(name, n_places, dtype):
    draw = np.random.default_rng(n_places)
    indices = draw.integers(-n_places - 3, n_places + 3, MANY)
    values = draw.integers(0, 1000, MANY).astype(dtype)
    target = draw.integers(0, 1000, n_places).astype(dtype)
    np.testing.assert_array_equal(
        compiled(name, target, indices, values), scattered(name, target, indices, values)
    )


@pytest.mark.parametrize("shape", [(3,), (16,), (2, 5)])
@pytest.mark.parametrize("name", ["add", "max"])
def test_rows_in_no_order_are_those_of_numpy(name, shape):
    draw = np.random.default_rng(0)
    n_rows = updates.SHARED // 3
    indices = draw.integers(0, 50, n_rows)
    values = draw.integers(-9, 9, (n_rows, *shape)).astype(np.float32)
    target = draw.integers(-9, 9, (50, *shape)).astype(np.float32)
    np.testing.assert_array_equal(
        compiled(name, target, indices, values), scattered(name, target, indices, values)
    )


def test_products_and_differences_go_in_shares():
    draw = np.random.default_rng(0)
    indices = draw.integers(0, 20, MANY)
    values = draw.integers(-9, 9, MANY).astype(np.int32)
    target = draw.integers(1, 9, 20).astype(np.int32)
    np.testing.assert_array_equal(
        compiled("multiply", target, indices, values | 1),
        scattered("multiply", target, indices, values | 1),
    )
    expected = scattered("add", target, indices, -values)
    got = jax.jit(lambda x, u: x.at[indices].subtract(u))(target, values)
    np.testing.assert_array_equal(np.asarray(got), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_places", [4, 300, 2000, 40_000])
@pytest.mark.parametrize("name", ["min", "max"])
def test_extremes_in_no_order_take_nan_and_tell_zeros_apart(name, n_places, dtype):
    """The places of special numbers meet two kinds of them, which no other number beats."""
    with jax.enable_x64(True):
        draw = np.random.default_rng(0)
        n_updates, n_pairs = 60_000, min(n_places // 2, len(SPECIAL) ** 2)
        pairs = [(x, y) for x in SPECIAL for y in SPECIAL][-n_pairs:]
        indices = draw.integers(n_pairs, n_places, n_updates)
        values = draw.normal(size=n_updates).astype(dtype)
        chosen = draw.permutation(n_updates)[: 20 * n_pairs].reshape(n_pairs, 20)
        for place, (pair, where) in enumerate(zip(pairs, chosen, strict=True)):
            indices[where], values[where] = place, np.resize(pair, 20)
        worst = np.inf if name == "min" else -np.inf
        target = np.full(n_places, worst, dtype)
        got, expected = (
            compiled(name, target, indices, values),
            scattered(name, target, indices, values),
        )
        np.testing.assert_array_equal(got, expected)
        for place, pair in enumerate(pairs):
            if set(pair) == {0.0} and len({np.signbit(x) for x in pair}) == 2:
                assert np.signbit(got[place]) == (name == "min")


def test_sums_of_negative_zeros_keep_their_sign():
    zeros = np.full(MANY, -0.0, np.float32)
    got = compiled("add", np.array([-0.0, 0.0], np.float32), np.arange(MANY) * 7 % 2, zeros)
    np.testing.assert_array_equal(np.signbit(got), [True, False])


def test_long_sums_are_nearer_than_one_after_the_other():
    """0.1 in float32, added 2^20 times to each of two elements in no order that is sorted."""
    term = np.float32(0.1)
    indices = np.arange(2 << 20) * 3 % 2
    got = compiled("add", np.zeros(2, np.float32), indices, np.full(2 << 20, term))
    exact = float(term) * (1 << 20)
    in_order = np.add.accumulate(np.full(1 << 20, term))[-1]
    assert np.all(np.abs(got - exact) < abs(in_order - exact) / 4)


def test_few_elements_have_tables_and_many_have_not():
    values, indices = jnp.zeros(MANY), jnp.zeros(MANY, jnp.int32)

    def text(n_places):
        """Return the loops of a sum over segments."""
        function = jax.jit(lambda x, i: jax.ops.segment_sum(x, i, n_places))
        return function.lower(values, indices).compile().as_text()

    start = "] = -0.0"  # what a table of sums starts with
    assert start in text(10)
    assert start not in text(MANY)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_places", [1, 8, 30])
@pytest.mark.parametrize("n_updates", [600, 5000, MANY])
def test_sums_of_few_elements_are_near_exact_ones_and_drop_what_is_outside(
    n_updates, n_places, dtype
):
    with jax.enable_x64(True):
        draw = np.random.default_rng(n_places)
        indices = draw.integers(-n_places - 2, n_places + 2, n_updates)
        values = draw.uniform(0.5, 1.5, n_updates).astype(dtype)
        got = compiled("add", np.ones(n_places, dtype), indices, values)
        exact = scattered("add", np.ones(n_places), indices, values.astype(np.float64))
        np.testing.assert_allclose(got, exact, rtol=2000 * np.finfo(dtype).eps)


@pytest.mark.parametrize("special", [np.nan, np.inf, -0.0])
def test_special_numbers_reach_their_own_sum_only(special):
    values, indices = np.full(3000, -0.0, np.float32), np.arange(3000) % 5
    values[indices == 2] = special
    got = compiled("add", np.full(5, -0.0, np.float32), indices, values)
    expected = np.full(5, -0.0, np.float32)
    expected[2] = special
    np.testing.assert_array_equal(got, expected)
    assert np.signbit(got[[0, 1, 3, 4]]).all()


@pytest.mark.parametrize("name", ["add", "max", "multiply"])
@pytest.mark.parametrize("n_rows", [700, 30_000])
def test_rows_by_turns_of_streams_are_those_of_numpy(name, n_rows):
    draw = np.random.default_rng(0)
    indices = np.sort(draw.integers(-33, 33, n_rows))
    values = draw.integers(1, 3, (n_rows, 3)).astype(np.int32)
    target = draw.integers(1, 9, (30, 3)).astype(np.int32)
    np.testing.assert_array_equal(
        compiled(name, target, indices, values), scattered(name, target, indices, values)
    )


@pytest.mark.parametrize("name", ["add", "max", "multiply"])
@pytest.mark.parametrize("shape", [(0,), (0, 4), (3, 0)])
def test_an_array_of_no_elements_takes_any_number_of_updates(name, shape):
    indices = np.arange(MANY) % 5
    values = np.ones((MANY, *shape[1:]), np.float32)
    assert compiled(name, np.zeros(shape, np.float32), indices, values).shape == shape
