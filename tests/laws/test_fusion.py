"""Whatever is fused, hoisted or done in place: a compiled program gives what its operations give.

Random programs are run operation by operation, each a program of its own, and as one compiled
program. They work on a pool of matrices, rows and numbers, so that values are shared, pulled at
several indices, carried by loops, overwritten in part, and returned while still in use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax

F32 = np.float32


@dataclass
class Pool:
    """The values made so far; `pick` chooses one by a random number."""

    shape: tuple[int, int]
    matrices: list[Any]
    rows: list[Any] = field(default_factory=list)
    numbers: list[Any] = field(default_factory=list)

    def spread(self, row: Any) -> Any:
        """Repeat a row."""
        return lax.broadcast_in_dim(row, self.shape, (1,))


def pick(values: list[Any], number: int) -> Any:
    """Choose a value."""
    return values[number % len(values)]


def elementwise(pool: Pool, a: Any, b: Any, row: Any, number: Any, k: int) -> None:
    """Combine two matrices, a row and a number."""
    scale = lax.broadcast_in_dim(lax.tanh(number), pool.shape, ())
    pool.matrices.append(lax.tanh(lax.add(lax.mul(a, scale), lax.sub(b, pool.spread(row)))))


def reductions(pool: Pool, a: Any, b: Any, row: Any, number: Any, k: int) -> None:
    """Sum columns, and everything."""
    pool.rows.append(lax.tanh(lax.reduce_sum(lax.mul(a, b), (0,))))
    pool.numbers.append(lax.tanh(lax.reduce_sum(a, (0, 1))))


def softmax(pool: Pool, a: Any, b: Any, row: Any, number: Any, k: int) -> None:
    """Normalise rows."""
    top = lax.broadcast_in_dim(lax.reduce_max(a, (1,)), pool.shape, (0,))
    rest = lax.exp(lax.sub(a, top))
    total = lax.broadcast_in_dim(lax.reduce_sum(rest, (1,)), pool.shape, (0,))
    pool.matrices.append(lax.div(rest, total))


def moved(pool: Pool, a: Any, b: Any, row: Any, number: Any, k: int) -> None:
    """Mirror, transpose and reshape, cut and join."""
    n, m = pool.shape
    mirrored = lax.rev(a, (k % 2,))
    mixed = lax.reshape(lax.transpose(b, (1, 0)), pool.shape)
    halves = [lax.slice(mirrored, (0, 0), (n // 2, m)), lax.slice(mixed, (n // 2, 0), (n, m))]
    pool.matrices.append(lax.concatenate(halves, 0))


def padded(pool: Pool, a: Any, b: Any, row: Any, number: Any, k: int) -> None:
    """Replace the border, and choose the larger elements."""
    n, m = pool.shape
    inner = lax.slice(a, (1, 1), (n - 1, m - 1))
    framed = lax.pad(inner, F32(0.5), ((1, 1, 0), (1, 1, 0)))
    pool.matrices.append(lax.select(lax.gt(framed, b), framed, lax.neg(b)))


def ordered(pool: Pool, a: Any, b: Any, row: Any, number: Any, k: int) -> None:
    """Sort, accumulate and multiply."""
    pool.matrices.append(lax.sort(a, dimension=k % 2))
    pool.matrices.append(lax.mul(lax.cumsum(b, axis=k % 2), F32(0.2)))
    square = lax.dot(a, lax.transpose(b, (1, 0)))
    pool.matrices.append(lax.tanh(lax.dot(square, a)))


def updated(pool: Pool, a: Any, b: Any, row: Any, number: Any, k: int) -> None:
    """Write into an array, and read a row, at computed places."""
    i = lax.convert_element_type(lax.mul(number, F32(3)), np.int32)
    patch = lax.slice(b, (0, 0), (2, 2))
    pool.matrices.append(lax.dynamic_update_slice(a, patch, (i, np.int32(k % 3))))
    line = lax.dynamic_slice(a, (i, np.int32(0)), (1, pool.shape[1]))
    pool.rows.append(lax.reshape(line, (pool.shape[1],)))


def scanned(pool: Pool, a: Any, b: Any, row: Any, number: Any, k: int) -> None:
    """Carry a row over the rows of a matrix."""

    def step(carry: Any, line: Any) -> tuple:
        """Mix the carry with a row; use the old carry, too."""
        new = lax.tanh(lax.add(carry, line))
        return new, lax.mul(new, carry)

    last, lines = lax.scan(step, row, a)
    pool.rows.append(last)
    pool.matrices.append(lines)


def looped(pool: Pool, a: Any, b: Any, row: Any, number: Any, k: int) -> None:
    """Swap carries, mirror one, and carry a number."""

    def body(i: Any, carry: tuple) -> tuple:
        """Take one step."""
        x, y, t = carry
        level = lax.broadcast_in_dim(t, (pool.shape[1],), ())
        t = lax.add(lax.mul(t, F32(0.5)), lax.mul(lax.reduce_sum(y, (0,)), F32(0.1)))
        return y, lax.tanh(lax.add(lax.rev(x, (0,)), level)), t

    x, y, t = lax.fori_loop(0, 3, body, (row, pick(pool.rows, k), number))
    pool.rows += [x, y]
    pool.numbers.append(t)


def branched(pool: Pool, a: Any, b: Any, row: Any, number: Any, k: int) -> None:
    """Change a matrix, or leave it as it is."""
    positive = lax.gt(number, F32(0))
    pool.matrices.append(lax.cond(positive, lax.add, lambda x, y: x, a, b))


KINDS: list[Callable] = [
    elementwise,
    reductions,
    softmax,
    moved,
    padded,
    ordered,
    updated,
    scanned,
    looped,
    branched,
]


def random_program(seed: int, shape: tuple[int, int]) -> Callable:
    """Return a function of two matrices."""
    rng = np.random.default_rng(seed)
    steps = rng.integers(0, 1 << 30, (int(rng.integers(3, 11)), 5))

    def function(x: Any, y: Any) -> tuple:
        """Apply the operations."""
        pool = Pool(shape, [x, y], [lax.reduce_sum(x, (0,))], [lax.reduce_max(x, (0, 1))])
        for kind, i, j, k, m in steps.tolist():
            values = pick(pool.matrices, i), pick(pool.matrices, j), pick(pool.rows, k)
            pick(KINDS, kind)(pool, *values, pick(pool.numbers, m), k)
        middle = pool.matrices[len(pool.matrices) // 2]
        return pool.matrices[-1], pool.rows[-1], pool.numbers[-1], middle

    return function


def close(got: Any, want: Any, tolerance: float) -> None:
    """Compare with a tolerance relative to the largest element."""
    got, want = np.asarray(got), np.asarray(want)
    scale = max(1.0, float(np.abs(want).max()))
    np.testing.assert_allclose(got / scale, want / scale, atol=tolerance)


def inputs(seed: int, shape: tuple[int, int]) -> list[np.ndarray]:
    """Return two matrices."""
    rng = np.random.default_rng(seed + 1000)
    return [rng.uniform(-1, 1, shape).astype(F32) for _ in range(2)]


@pytest.mark.parametrize("shape", [(3, 5), (6, 8), (40, 33)])
@pytest.mark.parametrize("seed", range(8))
def test_compiled_programs_equal_their_operations(seed: int, shape: tuple[int, int]) -> None:
    function, args = random_program(seed, shape), inputs(seed, shape)
    for got, want in zip(jax.jit(function)(*args), function(*args), strict=True):
        close(got, want, 1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_compiled_gradients_equal_their_operations(seed: int) -> None:
    function, args = random_program(seed + 50, (4, 6)), inputs(seed, (4, 6))

    def loss(x: Any, y: Any) -> Any:
        """Return one number of all results."""
        first, second, third, _ = function(x, y)
        return lax.add(lax.add(lax.reduce_sum(first, (0, 1)), lax.reduce_sum(second, (0,))), third)

    close(jax.jit(jax.grad(loss))(*args), jax.grad(loss)(*args), 1e-3)


@pytest.mark.parametrize("seed", range(6))
def test_mapped_programs_equal_a_loop(seed: int) -> None:
    function, args = random_program(seed + 90, (4, 6)), inputs(seed, (4, 6))
    stacked = [np.stack([x, x[::-1], 2 * x]) for x in args]
    got = jax.jit(jax.vmap(function))(*stacked)
    for row in range(3):
        want = jax.jit(function)(*(x[row] for x in stacked))
        for one, other in zip(got, want, strict=True):
            close(np.asarray(one)[row], other, 1e-4)
