"""Signs, rounding, powers and bits obey the laws of `tests/support/harness.py`."""

from __future__ import annotations

import numpy as np

import tapeless as jax
from tapeless.prims import unary
from tests.support.harness import laws
from tests.support.records import (
    BOOL,
    COMPLEXES,
    FLOATS,
    INTEGERS,
    NUMBERS,
    Failure,
    Record,
    between,
    bits,
    fixed,
    normal,
)

F32, I32 = np.float32, np.int32
INTEGRAL = dict.fromkeys(("jvp", "transpose", "second"), "integers have no tangents")
FLAT = {"jvp": "the slope is zero", "transpose": "the slope is zero", "second": "the slope is zero"}
SIGNED = (*FLOATS, "int32", "int8")


def refuses(name: str, dtype: str, accepted: str) -> tuple[Failure, ...]:
    """Return the call with a dtype that the operation does not take."""
    text = f"{name} does not accept dtype {dtype}. Accepted dtypes are subtypes of {accepted}."
    return (Failure((np.ones(3, dtype),), TypeError, text),)


def power(y: int) -> Record:
    """Return the record of one integer power."""
    return Record(
        f"integer_pow[{y}]", lambda x: unary.integer_pow(x, y), (between(0.5, 2, 2, 3),), ulps=8
    )


RECORDS = [
    Record("neg", unary.neg, (normal(2, 3),), NUMBERS),
    Record("neg-complex", unary.neg, (normal(2, 3),), COMPLEXES),
    Record(
        "abs",
        unary.abs,
        (between(-2, -0.5, 2, 3),),
        SIGNED,
        errors=refuses("abs", "uint8", "floating, complexfloating, signedinteger"),
    ),
    Record("abs-complex", unary.abs, (between(0.5, 2, 2, 3),), COMPLEXES),
    Record("sign", unary.sign, (fixed([-2.0, 0.0, 0.5, 100.0]),), (*SIGNED, "uint8"), FLAT),
    Record("sign-complex", unary.sign, (between(0.5, 2, 2, 3),), COMPLEXES),
    Record("floor", unary.floor, (normal(2, 3),), FLOATS, FLAT),
    Record("ceil", unary.ceil, (normal(2, 3),), FLOATS, FLAT),
    Record("round", unary.round, (fixed([-2.5, -0.5, 0.5, 1.5, 2.4, 7.0]),), FLOATS, FLAT),
    Record(
        "round-even",
        lambda x: unary.round(x, unary.RoundingMethod.TO_NEAREST_EVEN),
        (fixed([-2.5, -0.5, 0.5, 1.5, 2.4, 7.0]),),
        FLOATS,
        FLAT,
    ),
    Record(
        "is_finite",
        unary.is_finite,
        (fixed([1.0, np.inf, -np.inf, np.nan]),),
        FLOATS,
        FLAT,
        errors=refuses("is_finite", "int32", "floating"),
    ),
    Record("square", unary.square, (normal(2, 3),), NUMBERS, ulps=8),
    Record("one_minus_square", unary.one_minus_square, (normal(2, 3),), FLOATS),
    *(power(y) for y in (-2, -1, 0, 1, 2, 3, 5)),
    Record("reciprocal", unary.reciprocal, (between(0.5, 2, 2, 3),)),
    Record("sqrt", unary.sqrt, (between(0.5, 2, 2, 3),)),
    Record("sqrt-complex", unary.sqrt, (between(0.5, 2, 2, 3),), COMPLEXES, ulps=16),
    Record("rsqrt", unary.rsqrt, (between(0.5, 2, 2, 3),)),
    Record("rsqrt-complex", unary.rsqrt, (between(0.5, 2, 2, 3),), COMPLEXES, ulps=16),
    Record("cbrt", unary.cbrt, (between(-2, -0.5, 2, 3),)),
    Record("bitwise_not", unary.bitwise_not, (bits(2, 3),), (*INTEGERS, *BOOL), INTEGRAL),
    Record("population_count", unary.population_count, (bits(2, 3),), INTEGERS, INTEGRAL),
    Record("clz", unary.clz, (fixed([0, 1, 7, 100]),), INTEGERS, INTEGRAL),
]
globals().update(laws(RECORDS))


def test_integers_have_no_negative_powers() -> None:
    """The message names the operand's type."""
    failure = Failure(
        (np.ones(3, I32),),
        TypeError,
        "Integers cannot be raised to negative powers, got integer_pow(int32[3], -1)",
    )
    try:
        unary.reciprocal(*failure.args)
    except failure.kind as error:
        assert failure.text in str(error)
    else:
        raise AssertionError("no error")


def test_slopes_of_steps_are_zero() -> None:
    """Rounding passes no tangent."""
    for function in (unary.floor, unary.ceil, unary.round, unary.sign):
        assert float(jax.grad(function)(F32(1.3))) == 0.0
