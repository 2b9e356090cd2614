"""Branches and loops under `vmap`, where what a row costs differs from row to row.

To each family belongs what it is to be measured by: the cheap branch alone, the full cost of the
expensive one, or the steps of all rows taken by one loop.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from dev.bench.registry import workload

__all__ = []

N_ROWS = 1000


def branchy(jax: Any, share: float) -> tuple[Callable, tuple]:
    """Return the seed's branchy function: 30 products with a shared matrix, or a doubling.

    share: of the rows, how many take the products.
    """
    rng = np.random.default_rng(9)
    matrix = (rng.normal(size=(256, 256)) / 16).astype(np.float32)
    x = rng.normal(size=(512, 256)).astype(np.float32)
    x[: round(share * 512), 0] = 1e6
    costly = products(jax)
    f = lambda m, x: jax.lax.cond(x[0] > 1e5, costly, lambda m, x: x * 2.0, m, x)  # noqa: E731
    return jax.jit(jax.vmap(f, (None, 0))), (matrix, x)


def products(jax: Any) -> Callable:
    """Return the expensive branch."""

    def f(m, x):
        return jax.lax.fori_loop(0, 30, lambda i, v: jax.numpy.tanh(m @ v), x)

    return f


@workload(family="vmap of cond", memory=True)
def cond_no_row(jax: Any):
    """A batched cond whose expensive branch no row takes."""
    return branchy(jax, 0.0)


@workload(family="vmap of cond")
def cond_one_row_in_100(jax: Any):
    """The same where one row in a hundred takes it."""
    return branchy(jax, 0.01)


@workload(family="vmap of cond")
def cond_every_row(jax: Any):
    """The same where every row takes it."""
    return branchy(jax, 1.0)


@workload(family="vmap of cond")
def cond_cheap_alone(jax: Any):
    """The cheap branch alone."""
    x = branchy(jax, 0.0)[1][1]
    return jax.jit(jax.vmap(lambda x: x * 2.0)), (x,)


@workload(family="vmap of cond")
def cond_expensive_alone(jax: Any):
    """The expensive branch alone."""
    return jax.jit(jax.vmap(products(jax), (None, 0))), branchy(jax, 0.0)[1]


@workload(family="vmap of cond of numbers")
def cond_numbers_one_row_in_100(jax: Any):
    """100,000 numbers, of which one in a hundred takes 200 steps."""
    costly = lambda x: jax.lax.fori_loop(0, 200, lambda i, y: jax.numpy.sin(y) + x, x)  # noqa: E731
    f = lambda x: jax.lax.cond(x > 0.5, costly, lambda x: x * 2.0, x)  # noqa: E731
    x = np.zeros(100_000, np.float32)
    x[::100] = 1.0
    return jax.jit(jax.vmap(f)), (x,)


def stepping(jax: Any) -> Callable:
    """Return the function that takes n steps from x."""

    def f(n, x):
        def step(s):
            return s[0] + 1, 0.999 * s[1] + 1.0

        return jax.lax.while_loop(lambda s: s[0] < n, step, (0, x))[1]

    return f


def numbers_of_steps(name: str) -> np.ndarray:
    """Return how many steps each row takes."""
    rng = np.random.default_rng(3)
    draws = {
        "skewed": lambda: np.where(np.arange(N_ROWS) == 3, 10_000, 10),
        "equal": lambda: np.full(N_ROWS, 200),
        "uniform": lambda: rng.integers(0, 1000, N_ROWS),
        "geometric": lambda: rng.geometric(0.01, N_ROWS),
        "pareto": lambda: np.minimum(10 * rng.pareto(1.0, N_ROWS), 20_000),
        "lognormal": lambda: np.exp(rng.normal(4.0, 1.5, N_ROWS)),
        "poisson": lambda: rng.poisson(100, N_ROWS),
        "halves": lambda: np.where(rng.random(N_ROWS) < 0.5, 1000, 1),
        "few_long": lambda: np.where(rng.random(N_ROWS) < 0.05, 2000, 5),
        "mostly_none": lambda: np.where(np.arange(N_ROWS) < 10, 5000, 0),
        "ramp": lambda: np.arange(N_ROWS),
    }
    return draws[name]().astype(np.int32)


def add_rows(name: str) -> None:
    """List the loop of rows with one distribution of steps, and one loop of all their steps."""
    n = numbers_of_steps(name)

    def rows(jax: Any):
        return jax.jit(jax.vmap(stepping(jax))), (n, np.ones(N_ROWS, np.float32))

    def total(jax: Any):
        return jax.jit(stepping(jax)), (np.int32(n.sum()), np.float32(1))

    rows.__name__ = f"while_{name}"
    rows.__doc__ = f"A batched while whose numbers of steps are {name}."
    total.__name__ = f"while_{name}_total"
    total.__doc__ = "The steps of all those rows, by one loop."
    workload(family="vmap of while")(rows)
    workload(family="vmap of while")(total)


NAMES = "skewed equal uniform geometric pareto lognormal poisson halves few_long mostly_none ramp"

for _name in NAMES.split():
    add_rows(_name)


@workload(family="vmap of while")
def while_skewed_jvp(jax: Any):
    """The skewed loop with tangents."""
    f = jax.vmap(stepping(jax))
    n, x = numbers_of_steps("skewed"), np.ones(N_ROWS, np.float32)
    return jax.jit(lambda n, x: jax.jvp(lambda x: f(n, x), (x,), (x,))), (n, x)


@workload(family="vmap of while")
def while_skewed_nested(jax: Any):
    """Each step of the skewed loop takes up to four steps."""
    inner = stepping(jax)

    def f(n, x):
        def step(s):
            return s[0] + 1, inner((s[0] + n) % 5, s[1])

        return jax.lax.while_loop(lambda s: s[0] < n, step, (0, x))[1]

    return jax.jit(jax.vmap(f)), (numbers_of_steps("skewed"), np.ones(N_ROWS, np.float32))


@workload(family="vmap of while")
def while_skewed_arrays(jax: Any):
    """The skewed loop with 16 numbers a row and a product in each step."""
    jnp = jax.numpy
    # Its eigenvalues are larger than 1, lest the numbers end as denormals.
    matrix = (np.random.default_rng(1).normal(size=(16, 16)) / 2).astype(np.float32)

    def f(n, x):
        step = lambda s: (s[0] + 1, jnp.tanh(matrix @ s[1]))  # noqa: E731
        return jax.lax.while_loop(lambda s: s[0] < n, step, (0, x))[1]

    return jax.jit(jax.vmap(f)), (numbers_of_steps("skewed"), np.ones((N_ROWS, 16), np.float32))


@workload(family="map of while")
def map_collatz(jax: Any):
    """Steps to 1 of the first 20,000 numbers, row by row."""
    jnp = jax.numpy

    def f(n):
        def step(s):
            return jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1

        return jax.lax.while_loop(lambda s: s[0] != 1, step, (n, 0))[1]

    return jax.jit(lambda n: jax.lax.map(f, n)), (np.arange(1, 20_001, dtype=np.int32),)
