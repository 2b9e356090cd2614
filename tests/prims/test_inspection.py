"""Tokens, `stage`, and what says something about values."""

from __future__ import annotations

import importlib
from types import ModuleType

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless.prims.inspection import stage_p
from tests.parity.expressions import check_error_class, check_program, check_value
from tests.support.harness import laws
from tests.support.records import INEXACT, INTEGERS, Record, normal

NUMBERS = (*INEXACT, *INTEGERS)
RECORDS = [
    Record("stage", lax.stage, (normal(2, 3),), NUMBERS),
    Record("stage-traced", lambda x: stage_p.bind(x)[0], (normal(2, 3),), NUMBERS),
]
globals().update(laws(RECORDS))


def test_tokens():
    token = lax.after_all(lax.create_token(), lax.create_token(None))
    assert type(token) is type(lax.create_token())
    with pytest.raises(TypeError, match="must be tokens, got float"):
        lax.after_all(1.0)


def test_values_are_accepted_and_forgotten():
    assert lax.dce_sink({"a": np.ones(2), "b": 1.0}, prevent_mlir_dce=True) is None
    with pytest.raises(TypeError):
        lax.dce_sink({"a": "text"})


VALUES = [
    "jax.lax.dtype(1.0) == 'float32', jax.lax.dtype(jnp.ones(1, 'bfloat16')) == 'bfloat16'",
    "jax.lax.shape_as_value((2, 3))",
    "jax.lax.shape_as_value(())",
    "jax.jit(lambda x: jax.lax.shape_as_value(x.shape))(jnp.ones((4, 5)))",
    "jax.lax.stage(2.0)",
    "jax.lax.stage(np.arange(3))",
]


@pytest.fixture(scope="module")
def oracle() -> ModuleType:
    """JAX itself."""
    return importlib.import_module("jax")


@pytest.mark.oracle
@pytest.mark.parametrize("text", VALUES)
def test_result_is_jaxs(oracle, text):
    check_value(jax, oracle, text, {})


@pytest.mark.oracle
def test_program_and_error_are_jaxs(oracle):
    check_program(jax, oracle, "jax.lax.stage(a)", "f32[2]")
    check_error_class(jax, oracle, "jax.lax.stage([1.0])", {})
    check_error_class(jax, oracle, "jax.lax.after_all(1.0)", {})
