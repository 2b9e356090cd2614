"""Functions with batching rules of their own."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import numpy as jnp
from tapeless.custom_batching import custom_vmap, sequential_vmap

ROWS = np.arange(3, dtype=np.float32)


def scaled(calls=None):
    """Return x * y, whose rule is 10 times too large and notes what it is told."""
    f = custom_vmap(lambda x, y: x * y)

    @f.def_vmap
    def rule(axis_size, in_batched, x, y):
        """Scale the batch."""
        if calls is not None:
            calls.append((axis_size, in_batched, np.shape(x), np.shape(y)))
        return 10 * x * y, in_batched[0] or in_batched[1]

    return f


def test_the_rule_runs_for_the_batch_and_the_function_for_one_row():
    calls = []
    f = scaled(calls)
    assert f(2.0, 3.0) == 6.0
    np.testing.assert_array_equal(20 * ROWS, jax.vmap(f, (0, None))(ROWS, np.float32(2)))
    np.testing.assert_array_equal(20 * ROWS, jax.jit(jax.vmap(jax.jit(f), (0, None)))(ROWS, 2.0))
    assert calls[0] == (3, [True, False], (3,), ())


def test_batches_come_in_front():
    calls = []
    square = np.ones((3, 2), np.float32)
    jax.vmap(scaled(calls), (1, None))(square, np.float32(1))
    assert calls == [(2, [True, False], (2, 3), ())]


def test_forward_mode_differentiates_the_rule():
    f = scaled()
    assert jax.jvp(f, (2.0, 3.0), (1.0, 1.0)) == (6.0, 5.0)
    out = jax.vmap(lambda x: jax.jvp(f, (x, 3.0), (1.0, 0.0)))(ROWS)
    np.testing.assert_array_equal(30 * ROWS, out[0])
    np.testing.assert_array_equal([30, 30, 30], out[1])


def test_reverse_mode_is_refused():
    with pytest.raises(ValueError, match="Linearization failed to produce known values"):
        jax.grad(scaled())(1.0, 2.0)


def test_wrong_structures_are_refused():
    f = custom_vmap(lambda x: x)
    with pytest.raises(AttributeError, match="No batching rule defined for custom_vmap function"):
        f(1.0)
    f.def_vmap(lambda size, batched, x: ((x, x), (True, True)))
    with pytest.raises(ValueError, match="does not match that of original custom-vmapped"):
        jax.vmap(f)(ROWS)
    f.def_vmap(lambda size, batched, x: ((x, x), True))
    with pytest.raises(ValueError, match="output batching specification"):
        jax.vmap(f)(ROWS)


def test_rows_may_run_one_after_the_other():
    f = sequential_vmap(lambda x, y: (x + y, y))
    mapped = jax.vmap(f, (0, None))
    np.testing.assert_array_equal(ROWS + 2, mapped(ROWS, 2.0)[0])
    names = [eqn.primitive.name for eqn in jax.make_jaxpr(mapped)(ROWS, 2.0).eqns]
    assert names == ["scan"]
    nested = jax.vmap(jax.vmap(f, (0, None)), (None, 0))
    np.testing.assert_array_equal(jnp.add.outer(ROWS, ROWS), nested(ROWS, ROWS)[0])
