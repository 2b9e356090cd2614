"""Loops that a C compiler is asked for as well: each should cost its arithmetic.

Their C forms, and those of some loops in `loops.py`, are in `loops.c`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from dev.bench.programs import arrays, many_leaves_scan
from dev.bench.registry import workload

__all__ = []


@workload(family="scan of leaves", native=True)
def scan_4_leaves(jax: Any):
    """Carry a dict of 4 scalars through 10^4 steps."""
    f, args = many_leaves_scan(jax, 4, 10**4)
    return jax.jit(f), args


@workload(family="scan of leaves", native=True)
def scan_16_leaves(jax: Any):
    """Carry a dict of 16 scalars through 10^4 steps."""
    f, args = many_leaves_scan(jax, 16, 10**4)
    return jax.jit(f), args


def add_algebra(leaves: int) -> None:
    """List the scan of so many leaves, each of which grows by a polynomial of its neighbour."""

    def build(jax: Any):
        f, args = many_leaves_scan(jax, leaves, 10**4, grow=lambda x: x * (1.0 - x))
        return jax.jit(f), args

    build.__name__ = f"scan_{leaves}_leaves_algebra"
    build.__doc__ = f"Carry {leaves} scalars through 10^4 steps of sums and products."
    workload(family="scan of leaves", native=True)(build)


for _leaves in (4, 16, 60):
    add_algebra(_leaves)


@workload(native=True)
def thomas(jax: Any):
    """Solve a tridiagonal system of 10^4 equations: a scan and a scan in reverse."""
    jnp = jax.numpy
    a, c, d = arrays(jax, *[(10**4,)] * 3)
    b = jnp.full(10**4, 4.0)

    def forward(carry, row):
        upper, value = carry
        a, b, c, d = row
        pivot = b - a * upper
        new = (c / pivot, (d - a * value) / pivot)
        return new, new

    def backward(x, row):
        upper, value = row
        x = value - upper * x
        return x, x

    def f(a, b, c, d):
        _, rows = jax.lax.scan(forward, (0.0, 0.0), (a, b, c, d))
        return jax.lax.scan(backward, 0.0, rows, reverse=True)[1]

    return jax.jit(f), (a, b, c, d)


@workload(native=True)
def matrix_carry(jax: Any):
    """Carry a matrix of 3 by 3 through 10^4 products with another."""
    m = jax.numpy.asarray(np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0], "float32")
    f = lambda m, x: jax.lax.scan(lambda x, _: (m @ x, None), x, None, length=10**4)[0]  # noqa: E731
    return jax.jit(f), (m, jax.numpy.ones((3, 3)))


@workload(family="collatz", native=True)
def collatz_total(jax: Any):
    """Steps to one of all numbers below 10^4, added by loops in a loop."""

    def total(end):
        steps = collatz_steps(jax)
        return jax.lax.fori_loop(1, end, lambda n, sum: sum + steps(n), 0)

    return jax.jit(total), (np.int32(10**4),)


def collatz_steps(jax: Any) -> Callable:
    """Return the function that counts the steps from a number to one."""

    def body(state):
        n, count = state
        return jax.lax.cond(n % 2 == 0, lambda n: n // 2, lambda n: 3 * n + 1, n), count + 1

    return lambda n: jax.lax.while_loop(lambda state: state[0] != 1, body, (n, 0))[1]


@workload(native=True)
def gauss_seidel(jax: Any):
    """Ten sweeps over a grid of 128 by 128, point after point."""
    n = 128
    (x,) = arrays(jax, (n, n))

    def point(x, i, j):
        around = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]
        return x.at[i, j].set(0.25 * around)

    def row(i, x):
        return jax.lax.fori_loop(1, n - 1, lambda j, x: point(x, i, j), x)

    def f(x):
        sweep = lambda _, x: jax.lax.fori_loop(1, n - 1, row, x)  # noqa: E731
        return jax.lax.fori_loop(0, 10, sweep, x)

    return jax.jit(f), (x,)
