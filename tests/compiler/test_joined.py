"""Parts of joined arrays are made in their place, where nothing else is meanwhile."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless import lax

N = 3000


def temporary_bytes(f, *args) -> int:
    """Return how many bytes of temporaries a compiled function has."""
    return jax.jit(f).lower(*args).compile().memory_analysis().temp_size_in_bytes


def sums(x):
    """Return sums of the rows so far, each after a step that is no sum of lanes."""
    return lax.scan(lambda c, x: (0.5 * c + x,) * 2, jnp.zeros(x.shape[1:], x.dtype), x)[1]


def by_numpy(x):
    """Return the same in doubles."""
    out, total = [], 0.0
    for row in x.astype(np.float64):
        total = 0.5 * total + row
        out.append(total)
    return np.array(out)


def drawn(*shape):
    """Draw normal numbers."""
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("shape", [(N,), (N, 2), (N, 5)])
@pytest.mark.parametrize("first", [False, True])
def test_rows_of_a_scan_are_made_where_they_are_joined(shape, first):
    x = drawn(*shape)

    def joined(x):
        """Put one row beside those of the scan."""
        parts = [x[:1], sums(x)] if first else [sums(x), x[:1]]
        return jnp.concatenate(parts)

    wanted = by_numpy(x)
    wanted = np.concatenate([x[:1], wanted] if first else [wanted, x[:1]])
    np.testing.assert_allclose(jax.jit(joined)(x), wanted, rtol=1e-4, atol=1e-5)
    assert temporary_bytes(joined, x) < x.nbytes // 8


def test_two_scans_in_one_array():
    x, y = drawn(N), drawn(2 * N)[N:]
    joined = lambda x, y: jnp.concatenate([sums(x), y[:7], sums(y)])  # noqa: E731
    wanted = np.concatenate([by_numpy(x), y[:7], by_numpy(y)])
    np.testing.assert_allclose(jax.jit(joined)(x, y), wanted, rtol=1e-4, atol=1e-5)
    assert temporary_bytes(joined, x, y) < x.nbytes // 8


def test_results_of_one_shape_share_a_nest_of_copies():
    x = drawn(N, 3)

    def joined(x):
        """Join two results of a scan with a row each."""
        step = lambda c, x: ((c[0] * 0.5 + x, c[1] * 0.25 + x),) * 2  # noqa: E731
        zero = jnp.zeros(3, x.dtype)
        _, (a, b) = lax.scan(step, (zero, zero), x)
        return jnp.concatenate([x[:1], a]), jnp.concatenate([x[:1], b])

    first, second = jax.jit(joined)(x)
    np.testing.assert_allclose(first[1:], by_numpy(x), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(first[0], x[0])
    np.testing.assert_allclose(second[-1], sum(0.25**k * x[-1 - k] for k in range(9)), atol=1e-4)
    assert temporary_bytes(joined, x) < x.nbytes // 8


def test_what_is_read_later_or_twice_stays_right():
    x = drawn(N)

    def twice(x):
        """Join the same rows in two arrays, and read them afterwards."""
        rows = sums(x)
        left, right = jnp.concatenate([x[:1], rows]), jnp.concatenate([rows, x[:2]])
        return left, right, jnp.sum(rows * x[::-1])

    left, right, total = jax.jit(twice)(x)
    rows = by_numpy(x)
    np.testing.assert_allclose(left, np.concatenate([x[:1], rows]), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(right, np.concatenate([rows, x[:2]]), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(total, np.sum(rows * x[::-1]), rtol=1e-3)


def test_the_same_rows_twice_in_one_array():
    x = drawn(N)
    joined = lambda x: jnp.concatenate([sums(x)] * 2)  # noqa: E731
    np.testing.assert_allclose(jax.jit(joined)(x), np.tile(by_numpy(x), 2), rtol=1e-4, atol=1e-5)


def test_a_part_that_is_updated_meanwhile_keeps_its_own_memory():
    x = drawn(N)

    def patched(x):
        """Overwrite elements of the rows after they were read for another scan."""
        rows = sums(x)
        again = sums(rows[::-1])
        return jnp.concatenate([again.at[3].set(7.0), rows.at[5].set(9.0)])

    rows = by_numpy(x)
    again = by_numpy(rows[::-1].astype(np.float32))
    again[3], rows[5] = 7, 9
    wanted = np.concatenate([again, rows])
    np.testing.assert_allclose(jax.jit(patched)(x), wanted, rtol=1e-4, atol=1e-4)


def test_loops_in_branches_and_donated_memory():
    x = drawn(N)

    def chosen(x, which):
        """Scan behind a choice, and join."""
        rows = lax.cond(which, sums, lambda x: x * 2, x)
        return jnp.concatenate([rows, rows[:3]])

    np.testing.assert_allclose(jax.jit(chosen)(x, True)[:N], by_numpy(x), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(jax.jit(chosen)(x, False)[:N], 2 * x)
    whole = jax.jit(lambda x: jnp.concatenate([x[-1:], sums(x)[1:]]), donate_argnums=0)
    got = whole(jnp.asarray(x))
    np.testing.assert_allclose(got[1:], by_numpy(x)[1:], rtol=1e-4, atol=1e-5)
    assert got[0] == x[-1]
