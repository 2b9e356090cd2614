"""Loops that rows leave one by one take the steps that the rows take."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tests.compiler.limits import within
from tests.compiler.test_demand import check, operations

RNG = np.random.default_rng(1)
W = RNG.normal(size=(5, 5)).astype(np.float32) / 3


def counting(n: jax.Array, x: jax.Array) -> jax.Array:
    """Take n steps from x."""
    return lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, jnp.sin(s[1]) + x), (0, x))[1]


def products(n: jax.Array, x: jax.Array) -> jax.Array:
    """Take n steps of a product with a shared matrix."""
    return lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, jnp.tanh(W @ s[1])), (0, x))[1]


def rolling(n: jax.Array, x: jax.Array) -> jax.Array:
    """Take n steps with an array that reads itself elsewhere."""
    return lax.while_loop(
        lambda s: s[0] < n, lambda s: (s[0] + 1, jnp.roll(s[1], 1) * 0.9 + x), (0, x)
    )[1]


def writing(n: jax.Array, x: jax.Array) -> jax.Array:
    """Take n steps that write one element."""
    return lax.while_loop(
        lambda s: s[0] < n,
        lambda s: (s[0] + 1, s[1].at[s[0] % 5].add(0.1 * s[1][(s[0] + 1) % 5])),
        (0, x),
    )[1]


def nested(n: jax.Array, x: jax.Array) -> jax.Array:
    """Take n steps, each of which takes some."""
    return lax.while_loop(
        lambda s: s[0] < n, lambda s: (s[0] + 1, counting((s[0] + n) % 5, s[1])), (0, x)
    )[1]


def collatz(n: jax.Array, x: jax.Array) -> jax.Array:
    """Count steps to 1."""

    def step(s: tuple) -> tuple:
        k, count = s
        return jnp.where(k % 2 == 0, k // 2, 3 * k + 1), count + 1

    return lax.while_loop(lambda s: s[0] != 1, step, (n + 1, 0))[1]


def lengths(n_rows: int, seed: int) -> np.ndarray:
    """Return skewed numbers of steps."""
    rng = np.random.default_rng(seed)
    n = rng.geometric(0.1, n_rows)
    n[seed % n_rows] = 200
    return n.astype(np.int32)


@pytest.mark.parametrize("n_rows", [2, 9, 40, 300])
@pytest.mark.parametrize("function", [counting, nested, collatz])
def test_loops_over_numbers(function: Callable, n_rows: int) -> None:
    n, x = lengths(n_rows, n_rows), RNG.normal(size=n_rows).astype(np.float32)
    assert "while_by_rows" in operations(jax.vmap(function), n, x)
    check(function, n, x)


@pytest.mark.parametrize(
    ("function", "width"),
    [(products, 5), (rolling, 5), (rolling, 70), (writing, 5), (writing, 70)],
)
def test_loops_over_arrays(function: Callable, width: int) -> None:
    n, x = lengths(40, 3), RNG.normal(size=(40, width)).astype(np.float32)
    assert "while_by_rows" in operations(jax.vmap(function), n, x)
    check(function, n, x)


def test_tangents_and_two_axes() -> None:
    n, x = lengths(40, 1), RNG.normal(size=40).astype(np.float32)
    check(lambda n, x: jax.jvp(lambda x: counting(n, x), (x,), (1.0,)), n, x)
    mapped = jax.jit(lambda n, x: jax.jvp(lambda x: jax.vmap(counting)(n, x), (x,), (x,)))
    rows = [jax.jvp(lambda y, k=k: counting(k, y), (y,), (y,)) for k, y in zip(n, x, strict=True)]
    np.testing.assert_allclose(np.asarray(mapped(n, x)), np.transpose(rows), rtol=1e-4, atol=1e-5)
    check(jax.vmap(counting), lengths(35, 2).reshape(5, 7), x[:35].reshape(5, 7))
    columns = RNG.normal(size=(6, 5)).astype(np.float32)
    check(lambda n, x: jax.jacfwd(lambda x: products(n, x))(x), lengths(6, 0) % 9, columns)


@pytest.mark.parametrize("others", [1, 5000])
def test_one_long_row_does_not_make_the_others_long(others: int) -> None:
    n = np.full(1000, others, np.int32)
    n[7] = 20_000_000
    x = np.zeros(1000, np.float32)

    def halving(n: jax.Array, x: jax.Array) -> jax.Array:
        return lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] / 2 + 1), (0, x))[1]

    with within(100):
        out = jax.jit(jax.vmap(halving))(n, x)
    np.testing.assert_allclose(np.asarray(out), np.float32(2 - 0.5 ** (np.minimum(n, 99) - 1)))


def test_rows_of_a_map_run_alone() -> None:
    x = RNG.normal(size=(3000, 8)).astype(np.float32)
    n = (np.arange(3000) % 7).astype(np.int32)

    def row(args: tuple) -> jax.Array:
        n, x = args
        y = lax.cond(x.sum() > 0, jnp.sort, jnp.cumsum, x)
        return lax.fori_loop(0, n, lambda i, y: jnp.tanh(y[::-1]) + x, y)

    found = jax.jit(lambda n, x: lax.map(row, (n, x)))(n, x)
    expected = jax.jit(jax.vmap(lambda n, x: row((n, x))))(n, x)
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-5, atol=1e-5)


def test_what_rows_share_is_no_result_of_the_way_that_stores_it():
    """The order that sorting starts from is handed on by the head, and read by all ways."""

    def heavy(x):
        return lax.fori_loop(0, 30, lambda i, y: jnp.sin(y), x)

    def f(x, k, p):
        return lax.cond(p > -1, lambda x: lax.switch(k, [heavy, jnp.sort], x), lambda x: x, x)

    def tangent(x, k, p):
        return jax.jvp(lambda x: f(x, k, p), (x,), (x * 0.5 + 1,))[1]

    rows = RNG.normal(size=(4, 6)).astype(np.float32)
    choices = np.array([0, 1, 2, 1], np.int32)
    check(tangent, rows, choices, np.float32([1, -2, -2, 1]))
    check(tangent, rows, choices, np.ones(4, np.float32))


def test_groups_do_not_read_inside_of_others_through_copies_of_broadcasts():
    def solved(x):
        return jnp.linalg.solve(jnp.eye(6) * 9 + jnp.outer(x, x) * 0.1, x)

    def f(x, k):
        def inner(x):
            return lax.cond(k % 3 == 0, solved, lambda x: x * 2, x)

        def outer(x):
            return lax.cond(k % 3 == 0, inner, jnp.sin, x)

        return lax.switch(k % 3, [lambda x: x, lambda x: x, outer], x)

    gradient = jax.grad(lambda x, k: (f(x, k) ** 2).sum())
    check(gradient, np.ones((2, 6), np.float32), np.array([0, 2], np.int32))
