"""Linearisation and splitting: what is done at once, what is staged, and what is kept between."""

from __future__ import annotations

import numpy as np

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.core.aval import shaped
from tapeless.core.interpret import eval_jaxpr
from tapeless.transforms.linearize import linearize_flat, split_jaxpr
from tapeless.transforms.stage import stage_flat

VECTOR = shaped((3,), np.float32)
X = np.array([0.1, 0.2, 0.3], np.float32)


def test_the_linear_program_has_only_linear_operations():
    linear = linearize_flat(lambda x: [lax.exp(lax.sin(x))], [X])
    assert {eqn.primitive.name for eqn in linear.jaxpr.eqns} == {"mul"}
    (tangent,) = eval_jaxpr(linear.jaxpr, linear.jaxpr.consts, np.ones(3, np.float32))
    np.testing.assert_allclose(np.cos(X) * np.exp(np.sin(X)), tangent, rtol=1e-6)


def test_outputs_that_do_not_depend_on_the_inputs_are_left_out():
    linear = linearize_flat(lambda x: [lax.sin(x), X], [X])
    assert linear.nonzero_outputs == (True, False)
    assert len(linear.jaxpr.outvars) == 1


def test_only_wanted_inputs_and_never_integers_are_linear():
    n = np.int32(3)
    linear = linearize_flat(lambda x, y, n: [lax.mul(x, y)], [X, X, n], (True, False, True))
    assert linear.linear_inputs == (True, False, False)
    assert len(linear.jaxpr.invars) == 1


def test_residuals_of_unused_results_are_not_kept():
    linear = linearize_flat(lambda x: [lax.sin(lax.cos(x)), lax.mul(x, X)][1:], [X])
    assert [eqn.primitive.name for eqn in linear.jaxpr.eqns] == ["mul"]
    assert len(linear.jaxpr.consts) == 1


def test_a_split_program_computes_the_same():
    jaxpr = stage_flat(lambda x, y: [lax.sin(x), lax.mul(lax.cos(x), y)], [VECTOR, VECTOR])
    halves = split_jaxpr(jaxpr, (False, True), (False, False))
    assert halves.unknown_outputs == (False, True)
    known = eval_jaxpr(halves.known, halves.known.consts, X)
    staged = eval_jaxpr(halves.staged, halves.staged.consts, *known[1:], X)
    np.testing.assert_allclose(np.sin(X), known[0], rtol=1e-6)
    np.testing.assert_allclose(np.cos(X) * X, staged[0], rtol=1e-6)


def test_a_residual_that_is_an_input_is_known_to_be_one():
    jaxpr = stage_flat(lambda x, y: [lax.mul(lax.mul(x, y), lax.sin(x))], [VECTOR, VECTOR])
    halves = split_jaxpr(jaxpr, (False, True), (False,))
    assert sorted(halves.residual_inputs, key=str) == [0, None]


def test_forced_outputs_come_from_the_staged_half():
    jaxpr = stage_flat(lambda x, y: [x, y], [VECTOR, VECTOR])
    assert split_jaxpr(jaxpr, (False, True), (True, False)).unknown_outputs == (True, True)


def test_a_linearised_function_is_reusable_and_checks_its_arguments():
    value, push = jax.linearize(lambda x: jnp.sum(jnp.sin(x)), X)
    np.testing.assert_allclose(np.sin(X).sum(), value, rtol=1e-6)
    for scale in (1.0, 2.0):
        tangent = push(scale * np.ones(3, np.float32))
        np.testing.assert_allclose(scale * np.cos(X).sum(), tangent, rtol=1e-6)


def test_equations_without_a_rule_are_shared_by_the_halves_of_a_program():
    jaxpr = stage_flat(lambda x, y: [lax.sin(x), lax.mul(lax.cos(x), y)], [VECTOR, VECTOR])
    halves = split_jaxpr(jaxpr, (False, True), (False, False))
    assert set(jaxpr.eqns) == {*halves.known.eqns, *halves.staged.eqns}


def test_the_halves_share_constants_and_one_value_is_one_residual():
    table = jnp.asarray(X)
    inner = jax.jit(lambda x, y: (lax.mul(x, table), lax.mul(lax.mul(x, y), table)))

    def function(x, y):
        a = lax.sin(x)
        b, c = inner(a, y)
        return [lax.mul(a, c), lax.add(b, table)]

    jaxpr = stage_flat(function, [VECTOR, VECTOR])
    halves = split_jaxpr(jaxpr, (False, True), (False, True))
    assert halves.unknown_outputs == (True, True)
    assert len(halves.known.outvars) == len(set(halves.known.outvars)) == 2
    residuals = eval_jaxpr(halves.known, halves.known.consts, X)
    staged = eval_jaxpr(halves.staged, halves.staged.consts, *residuals, X)
    for want, got in zip(eval_jaxpr(jaxpr, jaxpr.consts, X, X), staged, strict=True):
        np.testing.assert_allclose(want, got, rtol=1e-6)


def test_a_constant_that_stands_twice_in_a_program_may_be_split():
    jaxpr = stage_flat(lambda x, y: [lax.mul(lax.mul(x, y), X), lax.mul(y, 2 * X)], [VECTOR] * 2)
    twice = jaxpr.with_consts([X, X])
    halves = split_jaxpr(twice, (False, True), (False, False))
    assert len(jaxpr.consts) == 2
    outs = eval_jaxpr(halves.staged, halves.staged.consts, *[X] * len(halves.staged.invars))
    np.testing.assert_allclose(X * X, outs[1], rtol=1e-6)


def test_residuals_of_nested_programs_have_names_of_their_own_in_print():
    def loop(x):
        return lax.scan(lambda c, u: (jnp.sin(c) * u, jnp.exp(c)), x, X)[0]

    text = str(jax.make_jaxpr(lambda x: jax.linearize(loop, x)[1](1.0))(1.5))
    bound = [line.split(":")[0].strip() for line in text.splitlines() if " = " in line]
    assert len(bound) == len(set(bound))
