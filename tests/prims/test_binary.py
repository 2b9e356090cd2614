"""Arithmetic on two operands obeys the laws of `tests/support/harness.py`."""

from __future__ import annotations

import numpy as np

from tapeless.prims import binary
from tapeless.prims.fused import fused_add
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
    like,
    normal,
)

INTEGRAL = dict.fromkeys(("jvp", "transpose", "second"), "integers have no tangents")
F32, I32 = np.float32, np.int32


def pair_errors(name: str, tip: str = "") -> tuple[Failure, ...]:
    """Return the calls that no operation on two operands of one dtype accepts."""
    got = f"lax.{name} requires arguments to have the same dtypes, got float32, int32."
    ranks = f"{name}: arrays must have the same number of dimensions, got {{1, 2}}"
    shapes = f"{name} got incompatible shapes for broadcasting: (3,), (4,)."
    return (
        Failure((np.ones(3, F32), np.ones(3, I32)), TypeError, got + tip),
        Failure((np.ones(3, F32), np.ones((2, 3), F32)), TypeError, ranks),
        Failure((np.ones(3, F32), np.ones(4, F32)), TypeError, shapes),
    )


def tip(name: str) -> str:
    """Return the hint at the function of the array library that promotes."""
    return f" (Tip: jnp.{name} is a similar function that does automatic type promotion on inputs)."


def complexes(name: str, call: object, *makers: object) -> Record:
    """Return the record for complex operands."""
    return Record(f"{name}-complex", call, makers, COMPLEXES, ulps=32)


RECORDS = [
    Record(
        "add",
        binary.add,
        (normal(2, 3), normal(2, 3)),
        NUMBERS,
        errors=pair_errors("add", tip("add")),
    ),
    Record("fused_add", fused_add, (normal(2, 3), normal(2, 3))),
    Record("add-stretched", binary.add, (normal(2, 3), normal(2, 1))),
    Record("add-scalar", binary.add, (normal(2, 3), normal())),
    Record(
        "sub",
        binary.sub,
        (normal(2, 3), normal(2, 3)),
        NUMBERS,
        errors=pair_errors("sub", tip("subtract")),
    ),
    Record("sub-stretched", binary.sub, (normal(1, 3), normal(2, 3))),
    Record("sub-scalar", binary.sub, (normal(), normal(2, 3))),
    Record(
        "mul",
        binary.mul,
        (normal(2, 3), normal(2, 3)),
        NUMBERS,
        errors=pair_errors("mul", tip("multiply")),
    ),
    complexes("mul", binary.mul, normal(2, 3), normal(2, 3)),
    Record("mul-stretched", binary.mul, (normal(2, 3), normal(2, 1))),
    Record("mul-scalar", binary.mul, (normal(2, 3), normal())),
    Record(
        "mul-wider",
        lambda x, y: binary.mul(x, y, out_dtype=np.float64),
        (normal(2, 3), normal(2, 3)),
    ),
    Record(
        "div",
        binary.div,
        (normal(2, 3), between(1, 3, 2, 3)),
        NUMBERS,
        errors=pair_errors("div", tip("divide")),
    ),
    complexes("div", binary.div, normal(2, 3), between(1, 3, 2, 3)),
    Record("div-scalar", binary.div, (normal(2, 3), between(1, 3))),
    Record(
        "div-by-zero",
        binary.div,
        (bits(4), fixed([0, 1, 255, 0])),
        ("int32", "int8", "uint8"),
        INTEGRAL | {"vmap": "the divisors are fixed", "empty": "nothing to divide"},
    ),
    Record(
        "rem",
        binary.rem,
        (between(4.1, 5.9, 2, 3), between(2.1, 2.9, 2, 3)),
        (*FLOATS, *INTEGERS),
        errors=pair_errors("rem"),
    ),
    Record(
        "rem-by-zero",
        binary.rem,
        (bits(4), fixed([0, 1, 255, 0])),
        ("int32", "int8", "uint8"),
        INTEGRAL | {"vmap": "the divisors are fixed", "empty": "nothing to divide"},
    ),
    Record("pow", binary.pow, (between(0.5, 2, 2, 3), normal(2, 3))),
    Record(
        "pow-integer",
        binary.pow,
        (between(0.5, 2, 2, 3), like(between(-3, 3, 2, 3), "int32")),
        differentiable=(0,),
    ),
    Record(
        "max",
        binary.max,
        (between(-1, 0, 2, 3), between(0.1, 1, 2, 3)),
        (*FLOATS, *INTEGERS, *BOOL),
        errors=pair_errors("max", tip("maximum")),
    ),
    complexes("pow", binary.pow, between(0.5, 2, 2, 3), normal(2, 3)),
    complexes("atan2", binary.atan2, between(0.5, 2, 2, 3), between(0.5, 2, 2, 3)),
    Record("max-scalar", binary.max, (normal(2, 3), between(0.01, 0.02))),
    Record(
        "min",
        binary.min,
        (between(-1, 0, 2, 3), between(0.1, 1, 2, 3)),
        (*FLOATS, *INTEGERS, *BOOL),
        errors=pair_errors("min", tip("minimum")),
    ),
    Record("atan2", binary.atan2, (normal(2, 3), between(0.5, 2, 2, 3))),
    Record(
        "nextafter",
        binary.nextafter,
        (normal(2, 3), normal(2, 3)),
        FLOATS,
        {"second": "the slope is constant", "jvp": "a step of one unit is not a slope"},
        differentiable=(0,),
    ),
]
globals().update(laws(RECORDS))


def test_integer_division_by_zero_is_total() -> None:
    """x // 0 is -1 and x % 0 is x, at the extremes too."""
    least = np.iinfo(I32).min
    x = np.array([7, -7, 0, least], I32)
    zero = np.zeros(4, I32)
    assert np.asarray(binary.div(x, zero)).tolist() == [-1, -1, -1, -1]
    assert np.asarray(binary.rem(x, zero)).tolist() == x.tolist()
    assert int(binary.div(I32(least), I32(-1))) == least
    assert int(binary.rem(I32(least), I32(-1))) == 0


def test_max_and_min_pass_nan() -> None:
    """A NaN on either side is the result."""
    x, y = np.array([np.nan, 1.0], F32), np.array([1.0, np.nan], F32)
    for function in (binary.max, binary.min):
        assert np.isnan(np.asarray(function(x, y))).all()
