"""Transposition: linear programs backwards."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.core.aval import shaped
from tapeless.core.interpret import eval_jaxpr
from tapeless.core.linear import Linear, Zero
from tapeless.transforms.stage import stage_flat
from tapeless.transforms.transpose import backward, transpose_jaxpr

SCALAR = shaped((), np.float32)
VECTOR = shaped((3,), np.float32)


def test_the_transpose_is_the_adjoint():
    matrix = np.arange(9, dtype=np.float32).reshape(3, 3)
    f = lambda x: lax.dot(matrix, x) + jnp.flip(x)  # noqa: E731
    x, y = np.array([1, 2, 3], np.float32), np.array([4, 5, 6], np.float32)
    (back,) = jax.linear_transpose(f, x)(y)
    np.testing.assert_allclose(np.dot(f(x), y), np.dot(x, back))


def test_cotangents_of_a_variable_used_twice_are_added():
    jaxpr = stage_flat(lambda x: [lax.add(x, lax.neg(lax.mul(x, 3.0)))], [SCALAR])
    (ct,) = backward(jaxpr, (), [Linear(SCALAR)], [np.float32(1)])
    assert ct == -2.0


def test_a_zero_cotangent_costs_nothing():
    jaxpr = stage_flat(lambda x, y: [lax.neg(x), lax.neg(y)], [SCALAR, SCALAR])
    back, returned = transpose_jaxpr(jaxpr, (True, True), (True, False))
    assert returned == (True, False)
    assert [eqn.primitive.name for eqn in back.eqns] == ["neg"]
    assert backward(jaxpr, (), [Linear(SCALAR)] * 2, [Zero(SCALAR)] * 2) == [Zero(SCALAR)] * 2


def test_what_is_not_linear_is_evaluated_first():
    jaxpr = stage_flat(lambda c, x: [lax.mul(lax.sin(c), x)], [VECTOR, VECTOR])
    back, _ = transpose_jaxpr(jaxpr, (False, True), (True,))
    c, ct = np.ones(3, np.float32), np.arange(3, dtype=np.float32)
    (out,) = eval_jaxpr(back, back.consts, c, ct)
    np.testing.assert_allclose(np.sin(c) * ct, out, rtol=1e-6)


def test_forced_cotangents_are_zeros():
    jaxpr = stage_flat(lambda x, y: [lax.neg(x)], [SCALAR, VECTOR])
    back, returned = transpose_jaxpr(jaxpr, (True, True), (True,), (True, True))
    assert returned == (True, True)
    np.testing.assert_array_equal(np.zeros(3), eval_jaxpr(back, (), np.float32(1))[1])


def test_linear_transpose_takes_types_for_arguments():
    spec = jax.ShapeDtypeStruct((), np.float32)
    assert jax.linear_transpose(lambda x: 2 * x, spec)(1.0) == (2.0,)


def test_linear_transpose_checks_the_cotangent():
    back = jax.linear_transpose(lambda x: {"a": x}, 1.0)
    with pytest.raises(TypeError, match="cotangent tree does not match function output"):
        back(1.0)
    with pytest.raises(TypeError, match="cotangent type does not match function output"):
        back({"a": jnp.ones(2)})
