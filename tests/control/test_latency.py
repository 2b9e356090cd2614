"""Quick functions of exact or several numbers go one by one; slow ones, and sums of floats, not."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.control.latency import CACHE, is_quick

F32, I32 = np.dtype("float32"), np.dtype("int32")


def line(dtype: np.dtype, n: int = 1000) -> jax.Array:
    """Return zeros."""
    return jnp.zeros(n, dtype)


def recurrence(a: list, b: list) -> list:
    """Compose two affine maps."""
    return [a[0] * b[0], a[1] * b[0] + b[1]]


def fractional(a: list, b: list) -> list:
    """Compose two fractional linear maps."""
    return [
        a[0] * b[0] + a[1] * b[2],
        a[0] * b[1] + a[1] * b[3],
        a[2] * b[0] + a[3] * b[2],
        a[2] * b[1] + a[3] * b[3],
    ]


def largest(a: list, b: list) -> list:
    """Keep the larger number and its place."""
    first = a[0] >= b[0]
    return [jnp.where(first, a[0], b[0]), jnp.where(first, a[1], b[1])]


MANY = CACHE // 8
CASES = {
    "integers": (lambda a, b: [a[0] + b[0]], [line(I32)], True),
    "exclusive or": (lambda a, b: [jax.jit(jnp.bitwise_xor)(a[0], b[0])], [line(I32)], True),
    "minima": (lambda a, b: [jnp.minimum(a[0], b[0])], [line(I32)], False),
    "products": (lambda a, b: [a[0] // 2 + b[0]], [line(I32)], False),
    "sums of floats": (lambda a, b: [a[0] + b[0]], [line(F32, MANY)], False),
    "recurrences": (recurrence, [line(F32)] * 2, False),
    "few maps": (fractional, [line(F32)] * 4, False),
    "many maps": (fractional, [line(F32, MANY)] * 4, True),
    "largest of few": (largest, [line(F32), line(I32)], False),
    "largest of many": (largest, [line(F32, 2 * MANY), line(I32, 2 * MANY)], True),
    "functions": (lambda a, b: [jnp.sin(a[0]) + b[0], a[1]], [line(F32)] * 2, False),
    "functions beside": (lambda a, b: [a[0] + jnp.sin(b[0]), b[1]], [line(F32)] * 2, False),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_quick(name: str) -> None:
    combine, leaves, quick = CASES[name]
    assert is_quick(combine, leaves, 0) is quick


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("shape", [(513,), (2000,), (3, 700)])
def test_integers_one_by_one_are_their_sums(shape: tuple[int, ...], reverse: bool) -> None:
    x = np.random.default_rng(0).integers(-9, 10, shape).astype(np.int32)
    axis = len(shape) - 1
    scanned = lambda x: lax.associative_scan(jnp.add, x, reverse=reverse, axis=axis)  # noqa: E731
    want = np.flip(np.cumsum(np.flip(x, axis), axis), axis) if reverse else np.cumsum(x, axis)
    np.testing.assert_array_equal(jax.jit(scanned)(x), want)
    jaxpr = jax.make_jaxpr(scanned)(x)
    assert [eqn.primitive.name for eqn in jaxpr.eqns].count("scan") == 1
