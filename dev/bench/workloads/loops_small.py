"""Small rows that choose, rows that are read and changed at places, and prefix sums by lengths.

To each family belongs what it is to be measured by: the cheap branch alone, `lax.map` of the same
rows, or the scan that takes one element after the other.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from dev.bench.registry import workload

__all__ = []

N_ROWS = 8000
LENGTHS = (10**3, 10**5, 10**6)


def small_rows(length: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Return rows, and for each whether it takes the expensive branch."""
    x = np.random.default_rng(0).uniform(0.05, 0.95, (N_ROWS, length)).astype(np.float32)
    return x, np.arange(N_ROWS) < share * N_ROWS


def add_choices(length: int) -> None:
    """List the softmax of rows of one length where none, few and all rows take it."""

    def add(name: str, share: float, text: str) -> None:
        """List one of them."""

        def build(jax: Any):
            f = lambda x, p: jax.lax.cond(p, jax.nn.softmax, lambda x: x * 2, x)  # noqa: E731
            return jax.jit(jax.vmap(f)), small_rows(length, share)

        build.__name__ = f"cond_rows_of_{length}_{name}"
        build.__doc__ = f"The softmax of rows of {length} numbers, which {text} take."
        workload(family=f"vmap of cond, rows of {length}")(build)

    add("no_row", 0.0, "none")
    add("one_row_in_100", 0.01, "one row in a hundred")
    add("every_row", 1.0, "all rows")

    def cheap(jax: Any):
        return jax.jit(jax.vmap(lambda x: x * 2)), small_rows(length, 0.0)[:1]

    cheap.__name__ = f"cond_rows_of_{length}_cheap_alone"
    cheap.__doc__ = "The cheap branch alone."
    workload(family=f"vmap of cond, rows of {length}")(cheap)


for _length in (4, 16):
    add_choices(_length)


def of_rows(jax: Any) -> dict[str, Callable]:
    """Return what reads or changes a row x of n numbers at places i."""
    lax = jax.lax
    return {
        "gather": lambda x, i: x[i],
        "scatter": lambda x, i: x.at[i].set(x),
        "dynamic_slice": lambda x, i: lax.dynamic_slice(x, (i[0],), (x.size // 2,)),
        "dynamic_update_slice": lambda x, i: lax.dynamic_update_slice(x, x[:32] * 2, (i[0],)),
    }


def add_places(name: str) -> None:
    """List an operation under `vmap` and under `lax.map`."""
    x = small_rows(64, 0.0)[0]
    i = np.random.default_rng(1).integers(0, 64, x.shape).astype(np.int32)

    def mapped(jax: Any):
        return jax.jit(jax.vmap(of_rows(jax)[name])), (x, i)

    def looped(jax: Any):
        f = of_rows(jax)[name]
        return jax.jit(lambda x, i: jax.lax.map(lambda row: f(*row), (x, i))), (x, i)

    mapped.__name__ = f"rows_{name}"
    mapped.__doc__ = f"A batched {name} of rows of 64 numbers."
    looped.__name__ = f"rows_{name}_map"
    looped.__doc__ = "The same row by row."
    workload(family=f"rows at places: {name}")(mapped)
    workload(family=f"rows at places: {name}")(looped)


for _name in ("gather", "scatter", "dynamic_slice", "dynamic_update_slice"):
    add_places(_name)


def linear(left: tuple, right: tuple) -> tuple:
    """Compose two linear maps."""
    return left[0] * right[0], right[0] * left[1] + right[1]


def add_prefixes(n: int) -> None:
    """List linear recurrences of one length by associative_scan and by a scan."""
    rng = np.random.default_rng(2)
    a = rng.uniform(0.9, 1.0, n).astype(np.float32)
    b = rng.uniform(0.0, 1.0, n).astype(np.float32)

    def by_halves(jax: Any):
        return jax.jit(lambda a, b: jax.lax.associative_scan(linear, (a, b))[1]), (a, b)

    def in_order(jax: Any):
        def step(c, x):
            c = x[0] * c + x[1]
            return c, c

        return jax.jit(lambda a, b: jax.lax.scan(step, jax.numpy.float32(0), (a, b))[1]), (a, b)

    by_halves.__name__ = f"prefixes_{n}"
    by_halves.__doc__ = f"Linear recurrences of {n} steps by associative_scan."
    in_order.__name__ = f"prefixes_{n}_scan"
    in_order.__doc__ = "The same by a scan."
    workload(family="prefixes")(by_halves)
    workload(family="prefixes")(in_order)


for _n in LENGTHS:
    add_prefixes(_n)
