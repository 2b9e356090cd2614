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
