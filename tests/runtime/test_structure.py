"""Keys of programs: equal for the same work, different for any other."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless.runtime.structure import structure_of

jnp, lax = jax.numpy, jax.lax
X = np.ones(3, "float32")


def key(function, *args):
    """Return the key of a traced function."""
    found = structure_of(jax.jit(function).trace(*args).jaxpr)
    assert found is not None
    return found[0]


def test_the_same_work_has_one_key():
    """Functions that are written anew have equal keys, nested programs included."""

    def make():
        """Return a new function."""
        body = lambda c, x: (c * x, jnp.sin(c))  # noqa: E731
        return lambda x: lax.scan(body, 1.0, x)

    assert key(make(), X) == key(make(), X)


@pytest.mark.parametrize(
    "other",
    [
        lambda x: x * 2.0 + 3.0,
        lambda x: x + x * 2.0,
        lambda x: (x + 3.0) * 2.0,
        lambda x: x * 2.0 + 2.0 * x,
        lambda x: x * 2.0 - x,
        lambda x: (x * 2.0 + x, x),
        lambda x: x * -2.0 + x,
    ],
)
def test_other_work_has_another_key(other):
    """A change of an operation, an operand, a literal or a result shows."""
    assert key(lambda x: x * 2.0 + x, X) != key(other, X)


def test_types_and_parameters_show():
    """Another shape, dtype or parameter is another key."""
    f = lambda x: x.sum(0)  # noqa: E731
    keys = {
        key(f, np.ones((2, 2), "float32")),
        key(f, np.ones((2, 3), "float32")),
        key(f, np.ones((2, 2), "int32")),
        key(lambda x: x.sum(1), np.ones((2, 2), "float32")),
    }
    assert len(keys) == 4


def test_captured_arrays_are_positions():
    """Two programs that capture different arrays have one key, and give the arrays."""
    found = []
    for k in (1.0, 2.0):
        w = jnp.full(3, k)
        jaxpr = jax.jit(lambda x, w=w: x + w).trace(X).jaxpr
        found.append((structure_of(jaxpr), w))
    ((first, captured), w), ((second, _), _) = found
    assert first == second
    assert captured == [w]


def test_python_functions_have_no_key():
    """A program that calls back into Python is not shared."""
    struct = jax.ShapeDtypeStruct((3,), "float32")
    f = lambda x: jax.pure_callback(np.sin, struct, x)  # noqa: E731
    assert structure_of(jax.jit(f).trace(X).jaxpr) is None
