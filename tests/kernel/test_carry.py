"""Carries of a loop are replaced at once, whatever each reads of the others."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp

N = 50
M = np.random.default_rng(0).standard_normal((N, N)).astype(np.float32) * 0.1

BODIES = {
    "reversed": lambda a, b: (a * 2, b * 0.5 + a[::-1]),
    "rolled": lambda a, b: (jnp.roll(b, 3) + a, a - b),
    "product of a sum": lambda a, b: (0.1 * ((a + b) @ M), 0.5 * b + 0.1 * (a @ M)),
    "both elsewhere": lambda a, b: (a + b[::-1], b + a[::-1]),
    "in place, then read": lambda a, b: (a * 2 + b, b + a.max()),
    "exchanged": lambda a, b: (b, a),
}


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("shape", [(N,), (3, N)])
@pytest.mark.parametrize("name", BODIES)
def test_two_arrays(name, shape, steps):
    """Both new values are made of both old values, in one program as step by step."""
    body = BODIES[name]
    random = np.random.default_rng(1)
    wanted = start = tuple(random.standard_normal(shape).astype(np.float32) for _ in range(2))
    for _ in range(steps):
        wanted = body(*map(jnp.asarray, wanted))
    loop = lambda *c: lax.fori_loop(0, steps, lambda _, c: body(*c), c)  # noqa: E731
    for found, value in zip(jax.jit(loop)(*start), wanted, strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-4, atol=1e-5)


def test_three_arrays_and_one_that_waits():
    """What is read at other places is overwritten after all its readers."""
    start = tuple(np.arange(N, dtype=np.int32) * k + k for k in (1, 2, 3))
    a, b, c = start
    for _ in range(4):
        a, b, c = a * 3, b + c[::-1], c - a[::-1]
    body = lambda _, x: (x[0] * 3, x[1] + x[2][::-1], x[2] - x[0][::-1])  # noqa: E731
    found = jax.jit(lambda *x: lax.fori_loop(0, 4, body, x))(*start)
    for array, wanted in zip(found, (a, b, c), strict=True):
        np.testing.assert_array_equal(array, wanted)


@pytest.mark.parametrize("donated", [(), (0,)])
@pytest.mark.parametrize("size", [1, 3, 7, 16, 40, 333])
def test_products_of_complex_carries(size, donated):
    """A part of a product reads the other parts of the carry that it replaces."""
    random = np.random.default_rng(2)
    x, *factors = (random.normal(size=(4, size)) + 1j * random.normal(size=(4, size))).astype("c8")
    loop = lambda x, y: lax.scan(lambda c, row: (c * row, c), x, y)  # noqa: E731
    last, carried = jax.jit(loop, donate_argnums=donated)(jnp.array(x), np.stack(factors))
    np.testing.assert_allclose(last, x * np.prod(factors, 0), rtol=1e-3)
    np.testing.assert_allclose(carried, [x, x * factors[0], x * factors[0] * factors[1]], rtol=1e-3)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 20])
def test_donated_memory_is_read_anew_in_every_step(size):
    x = np.arange(1, size + 1, dtype=np.float32)
    loop = lambda x: lax.fori_loop(0, 3, lambda _, c: c[::-1] * 0.5 + 1, x)  # noqa: E731
    found = jax.jit(loop, donate_argnums=0)(jnp.array(x))
    np.testing.assert_array_equal(found, loop(jnp.array(x)))
