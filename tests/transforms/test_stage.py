"""Staging: what is written down, what becomes a constant, and which tracers are refused."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless.core import check
from tapeless.core.aval import shaped
from tapeless.core.jaxpr import Literal
from tapeless.core.trace import current_trace
from tapeless.transforms.stage import stage_flat

VECTOR = shaped((3,), np.float32)


def test_every_operation_is_written_down_even_of_constants():
    jaxpr = stage_flat(lambda x: [lax.add(x, lax.sin(np.float32(1)))], [shaped((), np.float32)])
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["sin", "add"]


def test_a_captured_array_is_one_constant_and_a_scalar_a_literal():
    array = np.ones(3, np.float32)
    jaxpr = stage_flat(lambda x: [lax.mul(lax.add(x, array), array), lax.mul(x, 2.0)], [VECTOR])
    assert len(jaxpr.consts) == 1
    assert jaxpr.consts[0] is array
    assert type(jaxpr.eqns[2].invars[1]) is Literal


def test_results_are_inputs_or_literals_without_equations():
    jaxpr = stage_flat(lambda x: [x, 1.5], [VECTOR])
    assert not jaxpr.eqns
    assert jaxpr.outvars[0] is jaxpr.invars[0]
    assert jaxpr.outvars[1].val == 1.5


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: lax.concatenate([x, x], 0),
        lambda x: lax.pad(x, np.float32(0), [(1, 2, 0)]),
        lambda x: lax.convert_element_type(x, np.float16),
        lambda x: lax.integer_pow(x, 3),
        lambda x: lax.split(x, (1, 2))[0],
        lambda x: lax.cumsum(x),
        lambda x: lax.argmax(x, 0, np.int32),
        lambda x: lax.dynamic_slice(x, (0,), (2,)),
    ],
)
def test_types_that_follow_are_worked_out_once(operation, monkeypatch):
    monkeypatch.setattr(check, "check_jaxpr", lambda jaxpr: None)  # which works them out as well
    (eqn,) = stage_flat(lambda x: [operation(x)], [VECTOR]).eqns[-1:]
    monkeypatch.setattr(eqn.primitive, "abstract", None)
    again = stage_flat(lambda x: [operation(x)] * 2, [VECTOR]).eqns[-1]
    assert [var.aval for var in again.outvars] == [var.aval for var in eqn.outvars]


def test_types_known_from_memory_are_those_of_the_parameters():
    def f(x):
        return [lax.reshape(x, sizes) for sizes in ((1, 3), (3, 1), (1, 3))]

    shapes = [atom.aval.shape for atom in stage_flat(f, [VECTOR]).outvars]
    assert shapes == [(1, 3), (3, 1), (1, 3)]


def test_a_parameter_without_a_hash_is_typed_all_the_same():
    params = {"new_sizes": [3, 1], "dimensions": None, "sharding": None}
    jaxpr = stage_flat(lambda x: lax.reshape_p.bind(x, **params), [VECTOR])
    assert jaxpr.outvars[0].aval.shape == (3, 1)


def test_an_error_in_the_function_restores_the_trace():
    before = current_trace()
    with pytest.raises(ZeroDivisionError):
        stage_flat(lambda x: [1 / 0], [VECTOR])
    assert current_trace() is before


def test_a_tracer_of_a_finished_trace_is_refused():
    kept = []
    stage_flat(lambda x: kept.append(x) or [x], [VECTOR])
    with pytest.raises(jax.errors.UnexpectedTracerError, match="unexpected tracer"):
        stage_flat(lambda x: [lax.add(x, kept[0])], [VECTOR])


def test_the_message_of_a_concrete_value_names_the_argument():
    def branch(x, y):
        """Ask for a truth value."""
        return y if x > y else x

    with pytest.raises(jax.errors.TracerBoolConversionError, match="arguments x and y"):
        jax.jit(branch)(1.0, 2.0)
