"""Conversions obey the laws of `tests/support/harness.py`."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless.prims import convert
from tests.support.harness import laws
from tests.support.records import FLOATS, INTEGERS, Failure, Record, bits, fixed, normal

F32 = np.float32
INTEGRAL = dict.fromkeys(("jvp", "transpose", "second"), "integers have no tangents")
ROUNDED = {"jvp": "a rounded function is a staircase", "second": "the slope is constant"}
EXTREMES = fixed([-1e30, -300.0, -1.5, -0.5, 0.0, 1.5, 300.0, 1e30, np.inf, -np.inf, np.nan])


def to(dtype: object) -> object:
    """Return the conversion to a dtype."""
    return lambda x: convert.convert_element_type(x, dtype)


RECORDS = [
    *(
        Record(f"to-{dtype}", to(dtype), (EXTREMES,), ("float32", "float64"), INTEGRAL)
        for dtype in ("int32", "uint8", "int8", "uint32", "int64")
    ),
    Record("to-bool", to(bool), (fixed([0.0, -0.0, 0.5, np.nan]),), ("float32",), INTEGRAL),
    Record("to-float64", to("float64"), (normal(2, 3),), (*FLOATS, *INTEGERS)),
    Record(
        "to-float16",
        to("float16"),
        (normal(2, 3),),
        ("float32", "float64"),
        ROUNDED | {"transpose": "cotangents are rounded after the sum"},
    ),
    Record("to-complex", to("complex128"), (normal(2, 3),), FLOATS),
    Record("whole-to-narrow", to("int8"), (bits(5),), ("int32", "int64", "uint8"), INTEGRAL),
    Record(
        "bits-same",
        lambda x: convert.bitcast_convert_type(x, "uint32"),
        (normal(2, 3),),
        ("float32",),
        INTEGRAL,
    ),
    Record(
        "bits-narrower",
        lambda x: convert.bitcast_convert_type(x, "uint8"),
        (normal(2, 3),),
        ("float32", "float64", "int32"),
        INTEGRAL,
    ),
    Record(
        "bits-wider",
        lambda x: convert.bitcast_convert_type(x, "uint32"),
        (bits(3, 4),),
        ("uint8", "int8"),
        INTEGRAL,
        (
            Failure(
                (np.ones((3, 3), np.uint8),),
                ValueError,
                "Attempting to convert array of shape (3, 3) from uint8 of size 8 bits to uint32 "
                "of size 32, bits but 3 * 8 != 32",
            ),
        ),
    ),
    Record(
        "reduce_precision",
        lambda x: convert.reduce_precision(x, 5, 10),
        (fixed([1 / 3, 65519.0, 65520.0, -7e4, 1e-5, -1e-5, np.nan, np.inf, 0.1]),),
        ("float32", "float64"),
        ROUNDED | {"transpose": "the operand holds infinities"},
    ),
    Record(
        "reduce_precision-bfloat16",
        lambda x: convert.reduce_precision(x, 8, 7),
        (normal(3, 4),),
        ("float32", "float64", "float16"),
        ROUNDED | {"transpose": "cotangents are rounded after the sum"},
    ),
]
globals().update(laws(RECORDS))


def test_converting_to_its_own_dtype_is_no_operation() -> None:
    """The program is empty, and a constant stays a constant."""
    same = jax.make_jaxpr(lambda x: convert.convert_element_type(x, F32))(np.ones(3, F32))
    constant = jax.make_jaxpr(lambda: convert.convert_element_type(1, F32))()
    assert str(same) == "{ lambda ; a:f32[3]. let  in (a,) }"
    assert str(constant) == "{ lambda ; . let  in (1.0:f32[],) }"


def test_dropping_an_imaginary_part_warns() -> None:
    """Complex to real is allowed, with a warning."""
    with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
        out = convert.convert_element_type(np.array([1 + 2j], np.complex64), F32)
    assert np.asarray(out).tolist() == [1.0]


def test_widths_of_reduce_precision_are_checked() -> None:
    """At least one exponent bit, and no negative number of mantissa bits."""
    with pytest.raises(ValueError, match="exponent_bits must be positive; got 0"):
        convert.reduce_precision(F32(1), 0, 10)
    with pytest.raises(ValueError, match="mantissa_bits must be non-negative; got -1"):
        convert.reduce_precision(F32(1), 5, -1)
