"""Exponentials and logarithms obey the laws of `tests/support/harness.py`."""

from __future__ import annotations

import numpy as np

import tapeless as jax
from tapeless.prims import accuracy, exponential
from tests.support.harness import laws
from tests.support.records import COMPLEXES, Failure, Record, between, normal

WRONG = (
    Failure(
        (np.ones(3, np.int32),),
        TypeError,
        "exp does not accept dtype int32. Accepted dtypes are subtypes of floating, "
        "complexfloating.",
    ),
)
POSITIVE = between(0.5, 2, 2, 3)
NAMES = ("exp", "exp2", "expm1", "log", "log2", "log1p", "logistic")
RECORDS = [
    Record("exp", exponential.exp, (normal(2, 3),), errors=WRONG),
    Record("exp2", exponential.exp2, (normal(2, 3),)),
    Record("expm1", exponential.expm1, (normal(2, 3),)),
    Record("log", exponential.log, (POSITIVE,)),
    Record("log2", exponential.log2, (POSITIVE,)),
    Record("log1p", exponential.log1p, (POSITIVE,)),
    Record("logistic", exponential.logistic, (normal(2, 3),)),
    *(
        Record(f"{name}-complex", getattr(exponential, name), (POSITIVE,), COMPLEXES, ulps=32)
        for name in NAMES
    ),
]
globals().update(laws(RECORDS))


def test_accuracy_is_a_parameter_when_it_is_given() -> None:
    """It shows in the program, travels to the derivative's operations, and changes no value."""
    best = accuracy.AccuracyMode.HIGHEST
    plain = str(jax.make_jaxpr(exponential.exp)(1.0))
    chosen = str(jax.make_jaxpr(lambda x: exponential.exp(x, accuracy=best))(1.0))
    assert "exp a" in plain
    assert "exp[accuracy=AccuracyMode.HIGHEST] a" in chosen
    assert float(exponential.exp(1.0, accuracy=best)) == float(exponential.exp(1.0))
