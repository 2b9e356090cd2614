"""Checks of arrays raise their flags in the loops that read what is checked."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as jax
from tapeless import numpy as jnp

REDUCTIONS = {
    "sum": jnp.sum,
    "max": jnp.max,
    "min": jnp.min,
    "product": jnp.prod,
    "and": lambda x: (x > 0).all(),
    "or": lambda x: (x > 0).any(),
    "mean and variance": lambda x: x.mean() + x.var(),
    "sum of small integers": lambda x: jax.lax.reduce(
        x.astype(np.int8), np.int8(0), jax.lax.add, (0,)
    ),
    "complex sum": lambda x: (x * 1j).sum(),
    "sum of rows": lambda x: x.reshape(-1, 5).sum(1),
    "sum of columns": lambda x: x.reshape(-1, 5).sum(0),
    "maxima of rows": lambda x: x.reshape(5, -1).max(1),
}


@pytest.mark.parametrize("n", [5, 40, 515, 70_000])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction_tells_of_any_index_out_of_bounds(name: str, n: int) -> None:
    reduction = REDUCTIONS[name]
    f = jax.jit(lambda x, i: reduction(x[i]))
    x, i = jnp.linspace(-1, 1, 9), np.arange(n, dtype=np.int32) % 9
    plain = f(x, i)
    with jax.checks(index=True):
        np.testing.assert_allclose(f(x, i), plain, rtol=1e-5, atol=1e-6)
        for place in (0, n // 2, n - 1):
            wrong = i.copy()
            wrong[place] = 9
            with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 9"):
                f(x, wrong)


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("place", [(0, 0), (2, 3), (6, 10)])
def test_reductions_of_what_a_matrix_of_indices_reads(
    axis: int | None, place: tuple[int, int]
) -> None:
    f = jax.jit(lambda x, i: x[i].sum(axis))
    x, i = jnp.arange(9.0), np.arange(77, dtype=np.int32).reshape(7, 11) % 9
    with jax.checks(index=True):
        np.testing.assert_array_equal(f(x, i), (i * 1.0).sum(axis))
        i[place] = 12
        with pytest.raises(IndexError, match="index 12 is out of bounds for axis 0 with size 9"):
            f(x, i)


def loops_outside_of_branches(f: Callable, *args: Any) -> int:
    """The number of loops and reductions of a checked program, but those that tell of faults."""
    compiled = jax.jit(f, compiler_options={"checks": "index"}).lower(*args).compile()
    lines = [line for line in compiled.as_text().splitlines() if not line.startswith("  ")]
    variables = re.findall(r"\(r(\d+) <", " ".join(lines))
    return sum(line.startswith("for ") for line in lines) + len(set(variables))


def test_a_sum_and_the_check_of_what_it_reads_are_one_loop() -> None:
    x, i = jnp.ones(9), jnp.zeros(500, np.int32)
    assert loops_outside_of_branches(lambda x, i: x[i].sum(), x, i) == 1
    assert loops_outside_of_branches(lambda x, i: x[i.reshape(20, 25)].sum(), x, i) == 1


def test_the_check_of_an_update_has_no_loop_of_its_own() -> None:
    def update(x: Any, i: Any) -> Any:
        return x.at[i].add(1.0)

    x, i = jnp.ones(9), jnp.zeros(500, np.int32)
    plain = jax.jit(update).lower(x, i).compile().as_text()
    checked = jax.jit(update, compiler_options={"checks": "index"}).lower(x, i).compile()
    n_loops = sum(line.startswith("for ") for line in plain.splitlines())
    assert sum(line.startswith("for ") for line in checked.as_text().splitlines()) == n_loops


def sums_of_segments(x: Any, ids: Any) -> Any:
    return jax.ops.segment_sum(x, ids, num_segments=9)


@pytest.mark.parametrize("n", [5, 9, 515, 70_000])
@pytest.mark.parametrize("order", ["mixed", "sorted"])
def test_the_loop_that_adds_to_segments_checks_their_ids(n: int, order: str) -> None:
    f = jax.jit(sums_of_segments, compiler_options={"checks": "segment"})
    x, ids = jnp.ones(n), np.arange(n, dtype=np.int32) % 9
    ids = np.sort(ids) if order == "sorted" else ids
    np.testing.assert_array_equal(f(x, ids), np.bincount(ids, minlength=9))
    for place in (0, n // 2, n - 1):
        for wrong in (-1, 9):
            bad = ids.copy()
            bad[place] = wrong
            with pytest.raises(IndexError, match=f"index {wrong} is out of bounds"):
                f(x, bad)
            with pytest.raises(IndexError, match=f"index {wrong} is out of bounds"):
                with jax.checks(segment=True):
                    jax.vmap(sums_of_segments)(jnp.ones((2, n)), jnp.stack([ids, bad]))


def test_the_check_of_ids_has_no_loop_of_its_own() -> None:
    x, ids = jnp.ones(500), jnp.zeros(500, np.int32)
    plain = jax.jit(sums_of_segments).lower(x, ids).compile().as_text()
    checked = jax.jit(sums_of_segments, compiler_options={"checks": "segment"})
    text = checked.lower(x, ids).compile().as_text()
    n_loops = sum(line.startswith("for ") for line in plain.splitlines())
    assert sum(line.startswith("for ") for line in text.splitlines()) == n_loops


def test_a_scatter_overwrites_no_indices_that_are_still_to_be_checked() -> None:
    table, places = jnp.ones(9), jnp.arange(8, dtype=np.uint32)

    def step(k: Any, x: Any) -> Any:
        table[x]  # nobody uses what is read, but it is checked
        return x.at[places].add(1, mode="promise_in_bounds")

    f = jax.jit(lambda x: jax.lax.fori_loop(0, 9, step, x), compiler_options={"checks": "index"})
    with pytest.raises(IndexError, match=r"index 9 is(.|\n)*in iteration 4 of the loop"):
        f(jnp.array([0, 5, 0, 0, 0, 0, 0, 0], np.uint32))


def test_what_is_checked_twice_is_looked_at_once() -> None:
    def quotients(x: Any, y: Any) -> Any:
        return jax.lax.fori_loop(0, 9, lambda k, total: total + x[k] // y[k], 0)

    x, y = jnp.arange(9), jnp.ones(9, int)
    f = jax.jit(quotients, compiler_options={"checks": "div"})
    assert f.lower(x, y).compile().as_text().count("fault:") == 1
    with pytest.raises(ZeroDivisionError, match="in iteration 4 of the loop"):
        f(x, y.at[4].set(0))


def test_two_checks_before_the_carries_are_replaced_tell_of_the_first_that_fails() -> None:
    def run(x: Any, i: Any, j: Any) -> Any:
        return jax.lax.fori_loop(
            0, 6, lambda k, c: (c[0][c[1]] * 0.5, c[1][c[2]] + k, c[2]), (x, i, j)
        )

    f = jax.jit(run)
    x, i, j = jnp.ones(40), jnp.zeros(40, np.int32), jnp.arange(40)
    with jax.checks(index=True):
        f(x, i, j)
        with pytest.raises(IndexError, match=r"index 41 is(.|\n)*in iteration 4 of the loop"):
            f(x, i + 35, j)
        with pytest.raises(IndexError, match=r"index 40 is(.|\n)*in iteration 0 of the loop"):
            f(x, i, j.at[3].set(40))
        with pytest.raises(IndexError, match=r"index 41 is(.|\n)*in iteration 0 of the loop"):
            f(x, i.at[2].set(41), j.at[3].set(40))


def follow(table: Any, places: Any) -> Any:
    return jax.lax.fori_loop(0, 9, lambda k, i: table[i], places)


@pytest.mark.parametrize("n", [5, 40, 515, 70_000])
def test_an_index_is_told_though_the_loop_that_checks_it_overwrites_it(n: int) -> None:
    f = jax.jit(follow, compiler_options={"checks": "index"})
    table = np.roll(np.arange(100, dtype=np.int32), -1)
    places = np.arange(n, dtype=np.int32) % 80
    np.testing.assert_array_equal(f(table, places), (places + 9) % 100)
    for place in (0, n // 2, n - 1):
        bad = places.copy()
        bad[place] = 95
        table[97] = 1234  # so that the other ones, which have gone on, are out of bounds, too
        with pytest.raises(IndexError, match="index 1234 is(.|\n)*in iteration 3 of the loop"):
            f(table, bad)


def test_the_check_of_what_a_loop_carries_has_no_loop_of_its_own() -> None:
    args = jnp.arange(100, dtype=np.int32), jnp.zeros(500, np.int32)
    plain = jax.jit(follow).lower(*args).compile().as_text()
    checked = jax.jit(follow, compiler_options={"checks": "index"}).lower(*args).compile()
    inner = [line for line in checked.as_text().splitlines() if line.startswith("  for ")]
    assert len(inner) == sum(line.startswith("  for ") for line in plain.splitlines()) == 1

    def until(table: Any, places: Any) -> Any:
        return jax.lax.while_loop(
            lambda s: s[0] < 9, lambda s: (s[0] + 1, table[s[1]]), (0, places)
        )

    checked = jax.jit(until, compiler_options={"checks": "index"}).lower(*args).compile()
    assert sum(line.startswith("  for ") for line in checked.as_text().splitlines()) == 1
    with pytest.raises(IndexError, match="index 999 is(.|\n)*in iteration 3 of the loop"):
        checked(args[0].at[2].set(999).at[:2].set([1, 2]), args[1])


def test_checks_of_two_carries_that_change_places() -> None:
    def swap(k: Any, state: Any) -> Any:
        i, j = state
        return table[j], table[i]

    table = jnp.array([1, 2, 3, 4, 9], np.int32)
    f = jax.jit(
        lambda i, j: jax.lax.fori_loop(0, 3, swap, (i, j)), compiler_options={"checks": "index"}
    )
    i, j = jnp.zeros(64, np.int32), jnp.ones(64, np.int32)
    for got, wanted in zip(f(i, j), (table[table[table[j]]], table[table[table[i]]]), strict=True):
        np.testing.assert_array_equal(got, wanted)
    with pytest.raises(IndexError, match="index 9 is(.|\n)*in iteration 1 of the loop"):
        f(i.at[7].set(4), j)
    with pytest.raises(IndexError, match="index 9 is(.|\n)*in iteration 2 of the loop"):
        f(i, j.at[63].set(3))
