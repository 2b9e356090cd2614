"""Blocks of rows that choose alike leave out what no row wants; values stay, bit for bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.compiler import rowblocks
from tapeless.compiler.lower import lower_jaxpr
from tapeless.compiler.plan import Costs
from tapeless.kernel.ir import If, Loop, Statement
from tests.compiler.programs import noted_arguments, statements

RNG = np.random.default_rng(0)


@pytest.fixture
def made(monkeypatch):
    """The list that gets each group of nests; short ones are worth it, too."""
    monkeypatch.setattr(rowblocks, "LEAST_WORK", 1)
    return noted_arguments(monkeypatch, rowblocks, "_in_blocks")


def branchy(limit: float, wanted: Callable = jax.nn.softmax) -> Callable:
    """Return a function of a row and a number that chooses by the number."""
    return jax.vmap(lambda x, q: lax.cond(q < limit, wanted, lambda x: x * 2, x))


def drawn(n_rows: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows, and numbers between 0 and 1."""
    x = RNG.uniform(0.1, 1, (n_rows, length)).astype(np.float32)
    return x, RNG.uniform(0, 1, n_rows).astype(np.float32)


def row_by_row(function: Callable, *args: np.ndarray) -> np.ndarray:
    """Return what a function of one row gives, row by row."""
    one = jax.jit(function)
    return np.stack(
        [np.asarray(one(*(a[k : k + 1] for a in args)))[0] for k in range(len(args[0]))]
    )


def lowered(function: Callable, *args: np.ndarray) -> list[Statement]:
    """Return the statements of a program, those in blocks included."""
    return list(statements(lower_jaxpr(jax.make_jaxpr(function)(*args).jaxpr).body))


@pytest.mark.parametrize("limit", [-1.0, 0.05, 0.5, 2.0])
@pytest.mark.parametrize(("n_rows", "length"), [(32, 4), (40, 4), (45, 16), (61, 5), (64, 40)])
def test_rows_have_the_values_of_each_alone(n_rows, length, limit, made):
    x, q = drawn(n_rows, length)
    got = jax.jit(branchy(limit))(x, q)
    assert len(made) == 1
    np.testing.assert_allclose(np.asarray(got), row_by_row(branchy(limit), x, q), rtol=1e-6)


def test_a_block_that_wants_nothing_is_one_loop_without_temporaries():
    x, q = drawn(8000, 4)
    found = lowered(branchy(0.01), x, q)
    (choice,) = [s for s in found if isinstance(s, If)]
    (loop,) = choice.branches[0]
    assert isinstance(loop, Loop)
    assert loop.extent == 4 * rowblocks.ROWS
    assert Costs().block(choice.branches[1]) > 10 * Costs().block(choice.branches[0])


@pytest.mark.parametrize(
    "function",
    [branchy(0.3, jnp.tanh), branchy(0.3, lambda x: x + 1), lambda x, q: jax.nn.softmax(x)],
)
def test_what_elements_choose_or_little_work_is_no_block(function, made):
    jax.jit(function)(*drawn(100, 1))
    assert made == []


def test_small_arrays_are_left_alone():
    assert not any(isinstance(s, If) for s in lowered(branchy(0.1), *drawn(64, 4)))


@pytest.mark.parametrize("limit", [-1.0, 0.1, 2.0])
def test_nests_that_make_what_a_side_needs_go_into_its_blocks(limit, made):
    x, q = drawn(53, 4)

    def loss(x, q):
        """Sum the squares of rows that choose."""
        return (branchy(limit)(x, q) ** 2).sum()

    got = jax.jit(jax.grad(loss))(x, q)
    assert max(len(group.nests) for group in made) > 1
    rows = np.stack([np.asarray(jax.grad(loss)(x[k : k + 1], q[k : k + 1]))[0] for k in range(53)])
    np.testing.assert_allclose(np.asarray(got), rows, rtol=1e-5, atol=1e-6)


def test_what_others_read_is_stored_in_every_block(made):
    x, q = drawn(60, 6)

    def function(x, q):
        """Return exponentials, and rows that choose between their shares and others."""
        e = jnp.exp(x - x.max(1, keepdims=True))
        return e, jnp.where((q < 0.1)[:, None], e / e.sum(1, keepdims=True), x * 2), e.sum(0)

    e, chosen, total = jax.jit(function)(x, q)
    expected = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(np.asarray(e), expected, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(total), expected.sum(0), rtol=1e-5)
    shares = np.where((q < 0.1)[:, None], expected / expected.sum(1, keepdims=True), x * 2)
    np.testing.assert_allclose(np.asarray(chosen), shares, rtol=1e-5)


def test_all_cases_of_a_switch_are_left_out_together(made):
    x, q = drawn(48, 5)

    def row(x, q):
        """Choose between four functions."""
        cases = [lambda x: x, jax.nn.softmax, lambda x: x / jnp.linalg.norm(x), jnp.cumsum]
        return lax.switch((q * 8).astype(int), cases, x)

    got = jax.jit(jax.vmap(row))(x, q)
    (group,) = made
    assert group.cost < 20
    np.testing.assert_allclose(np.asarray(got), row_by_row(jax.vmap(row), x, q), rtol=1e-6)


@pytest.mark.parametrize("n_steps", [1, 3])
def test_steps_of_a_scan_choose_in_blocks(n_steps, made):
    x, q = drawn(50, 4)

    def function(x, q):
        """Let rows choose in each step, by numbers that change."""
        return lax.scan(lambda c, k: (branchy(0.2)(c, q + k), None), x, jnp.arange(n_steps) * 0.1)[
            0
        ]

    got = jax.jit(function)(x, q)
    assert made
    np.testing.assert_allclose(np.asarray(got), row_by_row(function, x, q), rtol=1e-6)


def test_a_condition_of_what_the_rows_store_is_none_of_a_block(made):
    x, q = drawn(50, 4)

    def function(x, q):
        """Let rows choose by a sum that the same loops compute."""
        e = jnp.exp(x - x.max(1, keepdims=True))
        flag = (e * q[:, None]).sum(1, keepdims=True) < 1
        return jnp.where(flag, e / e.sum(1, keepdims=True), e * 2)

    np.testing.assert_allclose(
        np.asarray(jax.jit(function)(x, q)), row_by_row(function, x, q), rtol=1e-6
    )
    for group in made:
        assert rowblocks._flags(group.nests, group.nests)
