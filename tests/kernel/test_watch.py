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
