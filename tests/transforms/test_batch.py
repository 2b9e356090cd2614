"""Batching: mapped axes ride along, unbatched work stays unbatched."""

from __future__ import annotations

import numpy as np

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.core.aval import shaped
from tapeless.core.interpret import eval_jaxpr
from tapeless.core.trace import Axis
from tapeless.transforms.batch import batch_flat, batch_jaxpr
from tapeless.transforms.stage import stage_flat

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_to_the_function_a_batch_has_the_shape_of_a_row():
    shapes = []
    batch_flat(lambda x: shapes.append(x.aval.shape) or [x], Axis(3), [X], [1])
    assert shapes == [(2,)]


def test_what_does_not_depend_on_the_batch_is_not_batched():
    outs, dims = batch_flat(lambda x, y: [lax.sin(y), lax.add(x, y)], Axis(2), [X, X[0]], [0, None])
    assert dims == [None, 0]
    assert np.shape(outs[0]) == (3,)


def test_unbatched_work_is_done_once():
    f = jax.vmap(lambda x, y: x * jnp.sum(jnp.exp(y)), (0, None))
    shapes = {
        eqn.primitive.name: eqn.outvars[0].aval.shape
        for eqn in jax.make_jaxpr(f)(X[:, 0], X[0]).eqns
    }
    assert shapes["exp"] == (3,)
    assert shapes["reduce_sum"] == ()


def test_programs_get_mapped_axes_in_front():
    row = shaped((3,), np.float32)
    jaxpr = stage_flat(lambda x, y: [lax.mul(x, y), lax.neg(y)], [row, row])
    mapped, batched = batch_jaxpr(jaxpr, Axis(2), (True, False), (False, False))
    assert batched == (True, False)
    product, _ = eval_jaxpr(mapped, (), X, X[0])
    np.testing.assert_array_equal(X * X[0], product)
    assert batch_jaxpr(jaxpr, Axis(2), (True, False), (False, True))[1] == (True, True)


def test_nested_maps_are_an_outer_product():
    outer = jax.vmap(jax.vmap(lax.mul, (None, 0)), (0, None))
    np.testing.assert_array_equal(np.outer(X[0], X[1]), outer(X[0], X[1]))


def test_a_named_axis_is_reduced_by_collectives():
    out = jax.vmap(lambda x: x - lax.pmean(x, "rows"), axis_name="rows")(X)
    np.testing.assert_allclose(X - X.mean(0), out)
