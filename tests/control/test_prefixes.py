"""Prefixes of long lists, by loops over tiles."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.control.prefixes import (
    SHORTEST,
    SHORTEST_OF_ROWS,
    prefixes_by_tiles,
    prefixes_in_order,
)

LONG = 16 * SHORTEST + 16


def compose(first, then):
    """Compose two affine maps."""
    return first[0] * then[0], then[0] * first[1] + then[1]


def one_by_one(slopes, shifts):
    """Return the recurrence s = a * s + b in doubles."""
    out, state = np.zeros(shifts.shape), 0.0
    for i, (slope, shift) in enumerate(zip(slopes, shifts, strict=True)):
        out[i] = state = slope * state + shift
    return out


@pytest.mark.parametrize("n", [SHORTEST + 1, SHORTEST + 2, 1500, 2049, 3001, 4099, 10007])
@pytest.mark.parametrize("axis", [0, 1])
def test_every_length_and_axis(n, axis):
    x = np.random.default_rng(0).integers(-9, 9, (2, n) if axis else (n,)).astype(np.int32)
    add = lambda a, b: [a[0] + b[0]]  # noqa: E731
    got = jax.jit(lambda x: prefixes_by_tiles(add, [x], axis)[0])(x)
    np.testing.assert_array_equal(got, np.cumsum(x, axis))


@pytest.mark.parametrize("n", [LONG - 1, LONG, LONG + 1, 20011, 100_000])
@pytest.mark.parametrize("reverse", [False, True])
def test_long_recurrences(n, reverse):
    rng = np.random.default_rng(1)
    a = rng.uniform(-1, 1, n).astype(np.float32)
    b = rng.standard_normal(n).astype(np.float32)
    _, got = jax.jit(lambda *ab: lax.associative_scan(compose, ab, reverse=reverse))(a, b)
    turn = slice(None, None, -1 if reverse else 1)
    wanted = one_by_one(a[turn], b[turn])[turn]
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("n", [2, 3, 700])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
def test_in_order(n, axis, reverse):
    x = np.random.default_rng(0).integers(-9, 9, (2, n) if axis else (n, 2)).astype(np.int32)
    add = lambda a, b: [a[0] + b[0]]  # noqa: E731
    got = jax.jit(lambda x: prefixes_in_order(add, [x], axis, reverse)[0])(x)
    turned = np.flip(x, axis) if reverse else x
    wanted = np.cumsum(turned, axis)
    np.testing.assert_array_equal(got, np.flip(wanted, axis) if reverse else wanted)


@pytest.mark.parametrize("n", [31, 32, 33, *range(SHORTEST - 1, SHORTEST + 6), 1000, LONG + 3])
@pytest.mark.parametrize("width", [1, 2])
def test_scans_from_the_end(n, width):
    rng = np.random.default_rng(5)
    a = rng.integers(-1, 2, (n, width)).astype(np.int32)
    b = rng.integers(-5, 6, (n, width)).astype(np.int32)
    a, b = (x[:, 0] if width == 1 else x for x in (a, b))
    _, got = jax.jit(lambda *ab: lax.associative_scan(compose, ab, reverse=True))(a, b)
    state = 0
    for i in range(n - 1, -1, -1):
        state = a[i] * state + b[i]
        np.testing.assert_array_equal(got[i], state)


def test_wide_elements_are_scanned_one_by_one():
    x = np.random.default_rng(6).standard_normal((SHORTEST_OF_ROWS + 1, 3)).astype(np.float32)
    jaxpr = jax.make_jaxpr(lambda x: lax.associative_scan(jnp.add, x))(x)
    assert [eqn.primitive.name for eqn in jaxpr.eqns].count("scan") == 1
    short = jax.make_jaxpr(lambda x: lax.associative_scan(jnp.add, x))(x[1:])
    assert all(eqn.primitive.name != "scan" for eqn in short.eqns)
    numbers = (x[:, 0] + 1j * x[:, 1]).astype(np.complex64)
    got = jax.jit(lambda x: lax.associative_scan(jnp.add, x, reverse=True))(numbers)
    np.testing.assert_allclose(got, np.cumsum(numbers[::-1])[::-1], rtol=1e-4, atol=1e-4)


def test_the_order_of_matrices():
    angles = np.random.default_rng(2).standard_normal((9001, 3)).astype(np.float64) / 50

    def turned(v):
        """Return the rotation by the exponential of a skew matrix, to first order and scaled."""
        skew = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
        return np.linalg.qr(np.eye(3) + skew)[0]

    matrices = np.stack([turned(v) for v in angles]).astype(np.float32)
    got = jax.jit(lambda m: lax.associative_scan(jnp.matmul, m))(matrices)
    wanted = np.eye(3)
    for i, matrix in enumerate(matrices.astype(np.float64)):
        wanted = wanted @ matrix
        if i % 900 == 0 or i == 9000:
            np.testing.assert_allclose(got[i], wanted, atol=2e-4)


def test_axes_maps_and_derivatives():
    rng = np.random.default_rng(3)
    x = rng.uniform(0.5, 1, (3, 8501)).astype(np.float32)
    scan = lambda x: lax.associative_scan(compose, (x, x * x))[1]  # noqa: E731
    wanted = np.stack([one_by_one(row, row * row) for row in x.astype(np.float64)])
    np.testing.assert_allclose(jax.jit(jax.vmap(scan))(x), wanted, rtol=1e-5)
    columns = jax.jit(jax.vmap(scan, 1, 1))(x.T)
    np.testing.assert_allclose(columns, wanted.T, rtol=1e-5)
    weights = rng.standard_normal(8501).astype(np.float32)
    loss = lambda x: jnp.vdot(weights, scan(x))  # noqa: E731
    got = jax.jit(jax.vmap(jax.grad(jax.checkpoint(loss))))(x)

    def in_order(x):
        """Return the loss by a sequential scan."""
        step = lambda s, x: (x * s + x * x,) * 2  # noqa: E731
        return jnp.vdot(weights, lax.scan(step, jnp.float32(0), x)[1])

    np.testing.assert_allclose(got, jax.jit(jax.vmap(jax.grad(in_order)))(x), rtol=2e-3, atol=1e-3)
    _, slope = jax.jvp(jax.jit(loss), (x[0],), (x[1],))
    np.testing.assert_allclose(slope, np.vdot(got[0], x[1]), rtol=1e-3)


def test_sums_are_as_accurate_as_those_of_a_tree():
    x = np.random.default_rng(4).random(10**6).astype(np.float32)
    got = np.asarray(jax.jit(lambda x: lax.associative_scan(jnp.add, x))(x))
    wanted = np.cumsum(x.astype(np.float64))
    assert np.max(np.abs(got - wanted) / wanted) < 12 * 2**-24


def test_programs_do_not_grow_with_the_length():
    def size(jaxpr):
        """Count equations, those of nested programs too."""
        inner = [value for eqn in jaxpr.eqns for value in eqn.params.values()]
        return len(jaxpr.eqns) + sum(size(x.jaxpr) for x in inner if hasattr(x, "jaxpr"))

    def scanned(n):
        """Return the size of the program for n numbers."""
        x = jax.ShapeDtypeStruct((n,), np.float32)
        return size(jax.make_jaxpr(lambda x: lax.associative_scan(jnp.add, x))(x).jaxpr)

    sizes = [scanned(10**k + 8) for k in range(4, 10)]
    assert max(sizes) - min(sizes) < 8
    assert max(sizes) < scanned(16 * SHORTEST)


def test_what_has_another_type_is_not_scanned():
    x = np.zeros(LONG + 8, np.int32)
    with pytest.raises(TypeError, match="dtype"):
        lax.associative_scan(lambda a, b: (a + b).astype(np.float32), x)
    with jax.disable_jit():
        np.testing.assert_array_equal(lax.associative_scan(jnp.add, x + 1), np.arange(LONG + 8) + 1)
