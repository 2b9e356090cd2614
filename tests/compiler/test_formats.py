"""Spelling of types and constants."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from tapeless.compiler.formats import constant, format_of, literal, typed


def test_zeros_of_both_signs_are_different_constants() -> None:
    for _ in range(2):
        assert constant(0.0, "float", 1) == "0x0000000000000000"
        assert constant(-0.0, "float", 1) == "0x8000000000000000"
        assert constant(0.0, "double", 4) != constant(-0.0, "double", 4)


def test_lanes_are_spelled_only_where_there_are_several() -> None:
    assert typed("float", 1) == "float"
    assert typed("i1", 16) == "<16 x i1>"
    assert constant(3, "i32", 1) == "3"
    assert constant(3, "i32", 8) == "splat (i32 3)"


def test_floats_are_spelled_by_their_bits() -> None:
    assert literal(1.0, "double") == "0x3ff0000000000000"
    assert literal(0.1, "float") == "0x3fb99999a0000000"
    assert literal(math.inf, "float") == "0x7ff0000000000000"


def test_integers_wrap_to_their_width() -> None:
    assert literal(255, "i8") == "-1"
    assert literal(-1, "i4") == "-1"
    assert literal(2**64 - 1, "i64") == "-1"
    assert (literal(True, "i1"), literal(0, "i1")) == ("true", "false")


@pytest.mark.parametrize(
    "dtype, register, memory, size",
    [
        (np.bool_, "i1", "i8", 1),
        (np.float16, "float", "i16", 2),
        (ml_dtypes.bfloat16, "float", "i16", 2),
        (ml_dtypes.float8_e4m3fn, "float", "i8", 1),
        (ml_dtypes.int4, "i4", "i8", 1),
        (np.uint64, "i64", "i64", 8),
    ],
)
def test_registers_and_memory(dtype: type, register: str, memory: str, size: int) -> None:
    form = format_of(np.dtype(dtype))
    assert (form.register, form.memory, form.size) == (register, memory, size)
    assert form.size == np.dtype(dtype).itemsize


def test_a_dtype_without_a_format_is_an_error() -> None:
    with pytest.raises(TypeError, match="no format"):
        format_of(np.dtype("datetime64[s]"))


@pytest.mark.oracle
@pytest.mark.parametrize(
    "name", ["float16", "bfloat16", "float8_e4m3fn", "float8_e4m3", "float8_e3m4"]
)
def test_computed_nans_have_the_signs_that_jax_gives_them(name: str) -> None:
    import jax as reference

    import tapeless

    signs = np.array([-1, 1] * 20, np.float32)
    kind = tapeless.numpy.dtype(name)
    nans = np.copysign(np.float32(np.nan), signs)
    x = nans.astype(kind)
    results = []
    for system in (tapeless, reference):
        sin = system.numpy.sin
        calls = (lambda x: x + x, lambda x: x * 2, sin, lambda x: x.astype("float32"), lambda x: -x)
        results.append([np.signbit(np.asarray(call(system.numpy.asarray(x)))) for call in calls])
    np.testing.assert_array_equal(*results)
    narrowed = tapeless.numpy.asarray(nans).astype(kind)
    np.testing.assert_array_equal(np.signbit(np.asarray(narrowed)), signs < 0)


@pytest.mark.parametrize("bits", [0x7F800001, 0xFF800001, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FC00000])
def test_nans_stay_nans_whatever_bits_they_have(bits: int) -> None:
    import tapeless

    x = np.full(37, bits, np.uint32).view(np.float32)
    for kind in ("bfloat16", "float16", "float8_e5m2", "float8_e4m3fn"):
        assert np.isnan(np.asarray(tapeless.numpy.asarray(x).astype(kind))).all(), kind
