"""Discharged programs return what their checks found, and the results that they had."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.control.discharge import Layout, discharge, empty_record, layout_of
from tapeless.core.check import check_jaxpr
from tapeless.core.effects import CHECK
from tapeless.core.interpret import eval_jaxpr
from tapeless.core.source import UNKNOWN_SOURCE
from tapeless.prims.check import NamedFault, check

LOW = NamedFault(UNKNOWN_SOURCE, "{} is low", ArithmeticError)
HIGH = NamedFault(UNKNOWN_SOURCE, "{} is high, or {}", ArithmeticError)


def between(x: Any) -> Any:
    """Check on both sides, with payloads of two types."""
    check(x > 0, LOW, x)
    check(x < 9, HIGH, x, x.astype(np.int32))
    return x * 2


PROGRAMS: dict[str, Callable] = {
    "plain": between,
    "jit": lambda x: jax.jit(between)(x),
    "remat": lambda x: jax.checkpoint(between)(x),
    "cond": lambda x: lax.cond(x < 100, between, lambda x: x, x),
    "scan": lambda x: lax.scan(lambda c, _: (c, between(c)), x, None, length=2)[1][0],
    "scan over": lambda x: lax.scan(lambda c, y: (c, between(y)), 0, x[None])[1][0],
    "while": lambda x: lax.while_loop(lambda c: c[0] < 1, lambda c: (c[0] + 1, between(x)), (0, x))[
        1
    ],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_record_tells_what_failed_first(name: str) -> None:
    jaxpr = jax.make_jaxpr(PROGRAMS[name])(jnp.float32(1))
    layout = layout_of(jaxpr, lambda fault: True)
    assert layout.faults == (LOW, HIGH)
    assert [aval.str_short(True) for aval in layout.slots] == ["f32[]", "i32[]"]
    assert layout.places == ((0,), (0, 1))
    program = discharge(jaxpr, layout)
    check_jaxpr(program)
    assert CHECK not in program.effects
    for value, code in ((1, 0), (-1, 1), (10, 2)):
        record, out = [], None
        outs = eval_jaxpr(program, program.consts, *empty_record(layout), jnp.float32(value))
        record, out = outs[:3], outs[3]
        assert int(record[0]) == code
        assert float(out) == 2 * value
        if code:
            assert float(record[1]) == value
        if code == 2:
            assert int(record[2]) == value


def test_a_record_that_tells_of_something_stays() -> None:
    jaxpr = jax.make_jaxpr(between)(jnp.float32(1))
    layout = layout_of(jaxpr, lambda fault: True)
    program = discharge(jaxpr, layout)
    before = (jnp.int32(2), jnp.float32(77), jnp.int32(78))
    after = eval_jaxpr(program, program.consts, *before, jnp.float32(-1))
    assert [float(x) for x in after[:3]] == [2, 77, 78]


def test_faults_that_are_not_wanted_are_dropped() -> None:
    jaxpr = jax.make_jaxpr(between)(jnp.float32(1))
    layout = layout_of(jaxpr, lambda fault: fault is HIGH)
    assert layout == Layout((HIGH,), ((0, 1),), layout.slots)
    program = discharge(jaxpr, layout)
    code, *_ = eval_jaxpr(program, program.consts, *empty_record(layout), jnp.float32(-1))
    assert int(code) == 0


def test_an_operation_without_a_rule_says_so() -> None:
    def solve(x: Any) -> Any:
        return lax.custom_linear_solve(
            lambda v: v * between(x), x, lambda matvec, b: b / 2, lambda matvec, b: b / 2
        )

    jaxpr = jax.make_jaxpr(solve)(jnp.float32(1))
    layout = layout_of(jaxpr, lambda fault: True)
    with pytest.raises(NotImplementedError, match="checkify rule for 'custom_linear_solve' not"):
        discharge(jaxpr, layout)
