"""What rows alone need is made row by row; values stay, and other nests wait for the whole."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless import lax
from tapeless.compiler import rowlocal
from tapeless.compiler.lower import lower_jaxpr
from tapeless.kernel.ir import Loop

RNG = np.random.default_rng(0)


@pytest.fixture
def small(monkeypatch):
    """Let small arrays be made row by row."""
    monkeypatch.setattr(rowlocal, "LARGE", 1)


def n_nests(function: Callable, *args: np.ndarray) -> int:
    """Return how many loops a program has that are in no other."""
    return sum(isinstance(s, Loop) for s in program(function, *args).body)


def program(function: Callable, *args: np.ndarray) -> object:
    """Lower a function."""
    return lower_jaxpr(jax.make_jaxpr(function)(*args).jaxpr)


def rows(n_rows: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows, and places in them, some outside."""
    x = RNG.normal(size=(n_rows, length)).astype(np.float32)
    return x, RNG.integers(-length - 3, length + 3, (n_rows, length)).astype(np.int32)


def setting(x: jax.Array, i: jax.Array) -> jax.Array:
    """Set elements of a row."""
    return x.at[i].set(x * 2)


def adding(x: jax.Array, i: jax.Array) -> jax.Array:
    """Add to elements of a row."""
    return x.at[i].add(x)


def moving(x: jax.Array, i: jax.Array) -> jax.Array:
    """Put one half of a row somewhere."""
    return lax.dynamic_update_slice(x, x[: x.size // 2] * 2, (i[0],))


@pytest.mark.parametrize("function", [setting, adding, moving])
@pytest.mark.parametrize(("n_rows", "length"), [(0, 16), (32, 16), (33, 21), (50, 100)])
def test_updates_of_rows_are_those_of_each_row(function, n_rows, length, small):
    x, i = rows(n_rows, length)
    got = jax.jit(jax.vmap(function))(x, i)
    one = jax.jit(function)
    expected = [np.asarray(one(*row)) for row in zip(x, i, strict=True)]
    expected = np.reshape(expected, (n_rows, length))
    np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-6)


@pytest.mark.parametrize("function", [setting, adding, moving])
def test_a_row_is_copied_and_updated_while_it_is_in_the_cache(function):
    x, i = rows(1024, 512)
    assert n_nests(jax.vmap(function), x, i) == 1


def test_large_temporaries_have_the_memory_of_rows():
    x, i = rows(4096, 512)
    assert program(jax.vmap(setting), x, i).arena_size < 1 << 16


def test_rows_between_two_products_are_in_memory_once():
    """Of softmax(x y) z the scores are stored, their exponentials a row at a time."""
    x, y, z = (
        RNG.normal(size=size).astype(np.float32) for size in ((600, 16), (16, 500), (500, 8))
    )
    function = lambda x, y, z: jax.nn.softmax(x @ y, 1) @ z  # noqa: E731
    scores = x @ y
    weights = np.exp(scores - scores.max(1, keepdims=True))
    expected = (weights / weights.sum(1, keepdims=True)) @ z
    np.testing.assert_allclose(jax.jit(function)(x, y, z), expected, rtol=1e-4, atol=1e-5)
    arena = program(function, x, y, z).arena_size
    assert scores.nbytes <= arena < 1.25 * scores.nbytes


@pytest.mark.parametrize("length", [8, 100, 20_000])
def test_rows_that_need_each_other_keep_their_arrays(length, monkeypatch):
    """A row of the one before, or of the other end, is in the memory of no row."""
    monkeypatch.setattr(rowlocal, "LEAST_SHORTENED", 1)
    x = RNG.normal(size=(64, length)).astype(np.float32)
    weights = np.exp(x - x.max(1, keepdims=True))
    rows = weights / weights.sum(1, keepdims=True)
    for other in (lambda x: x[::-1], lambda x: x + x[:1]):
        function = jax.jit(lambda x, other=other: jnp.cumsum(other(jax.nn.softmax(x, 1)), 1))
        np.testing.assert_allclose(function(x), np.cumsum(other(rows), 1), rtol=1e-4, atol=1e-5)


def test_small_arrays_and_short_rows_are_left_alone():
    assert n_nests(jax.vmap(setting), *rows(64, 64)) > 1
    assert n_nests(jax.vmap(setting), *rows(100_000, 4)) > 1


def test_places_that_may_be_in_other_rows_wait_for_all(small):
    x, i = rows(40, 32)

    def function(x, i):
        """Add to elements of all rows."""
        return x.at[i % 40, i % 32].add(x), x

    got = jax.jit(function)(x, i)[0]
    expected = x.copy()
    np.add.at(expected, (i % 40, i % 32), x)
    np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n_steps", [1, 4])
def test_rows_of_a_loop_are_updated_step_by_step(n_steps, small):
    x, i = rows(40, 32)

    def function(x, i):
        """Update all rows in each step, and read what was there before."""
        return lax.fori_loop(0, n_steps, lambda k, c: jax.vmap(adding)(c, i + k) * 0.5 + x, x)

    got = jax.jit(function)(x, i)
    expected = x
    for k in range(n_steps):
        steps = [
            np.asarray(adding(jax.numpy.asarray(a), b + k))
            for a, b in zip(expected, i, strict=True)
        ]
        expected = np.stack(steps) * 0.5 + x
    np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-4, atol=1e-5)
