"""How types and constants are written in MLIR."""

import ml_dtypes
import numpy as np
import pytest

from tapeless import dtypes
from tapeless.compiler.hlo_text import dense, function_type, symbol, tensor_type
from tapeless.core.aval import ShapedArray


def aval(dtype, *shape):
    return ShapedArray(shape, dtype)


@pytest.mark.parametrize(
    ("dtype", "text"),
    [
        (np.bool_, "i1"),
        (np.int8, "i8"),
        (np.uint32, "ui32"),
        (np.float16, "f16"),
        (np.float64, "f64"),
        (ml_dtypes.bfloat16, "bf16"),
        (np.complex128, "complex<f64>"),
        (ml_dtypes.int4, "i4"),
        (ml_dtypes.uint4, "ui4"),
        (ml_dtypes.float8_e4m3fn, "f8E4M3FN"),
        (ml_dtypes.float8_e4m3b11fnuz, "f8E4M3B11FNUZ"),
        (ml_dtypes.float8_e5m2, "f8E5M2"),
    ],
)
def test_element_types(dtype, text):
    assert tensor_type(aval(dtype, 2, 3)) == f"tensor<2x3x{text}>"


def test_scalars_and_keys():
    assert tensor_type(aval(np.float32)) == "tensor<f32>"
    key = dtypes.key_dtype("threefry2x32", "fry", (2,))
    assert tensor_type(ShapedArray((5,), key)) == "tensor<5x2xui32>"


def test_types_of_operations():
    x = aval(np.float32)
    assert function_type([x, x], [x]) == "(tensor<f32>, tensor<f32>) -> tensor<f32>"
    assert function_type([], [x, x]) == "() -> (tensor<f32>, tensor<f32>)"
    assert function_type([x], []) == "(tensor<f32>) -> ()"


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (1.5, np.float32, "1.500000e+00"),
        (1 / 3, np.float32, "3.33333343e-01"),
        (1 / 3, np.float64, "3.3333333333333331e-01"),
        (np.inf, np.float32, "0x7F800000"),
        (np.nan, np.float16, "0x7E00"),
        (-np.inf, ml_dtypes.bfloat16, "0xFF80"),
        (True, np.bool_, "true"),
        (200, np.uint8, "200"),
        (-(2**63), np.int64, "-9223372036854775808"),
        (1 - 2j, np.complex64, "(1.000000e+00,-2.000000e+00)"),
        (3, ml_dtypes.int4, "3"),
    ],
)
def test_scalar_constants(value, dtype, text):
    assert dense(value, aval(dtype)) == f"dense<{text}>"


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_decimals_give_the_float_back(dtype):
    for x in np.random.default_rng(0).normal(size=50).astype(dtype):
        text = dense(x, aval(dtype)).removeprefix("dense<").removesuffix(">")
        assert x.dtype.type(float(text)) == x


def test_arrays_of_one_element_repeated_small_ones_and_large_ones():
    assert dense(np.ones((3, 3)), aval(np.float32, 3, 3)) == "dense<1.000000e+00>"
    assert dense([[1, 2], [3, 4]], aval(np.int32, 2, 2)) == "dense<[[1, 2], [3, 4]]>"
    assert dense(np.zeros((0, 3)), aval(np.float32, 0, 3)) == "dense<>"
    many = np.arange(20, dtype=np.int16)
    assert dense(many, aval(np.int16, 20)) == f'dense<"0x{many.tobytes().hex().upper()}">'
    flags = np.arange(20) % 2 == 0
    assert dense(flags, aval(np.bool_, 20)).startswith("dense<[true, false, true")


def test_minus_zero_is_not_zero():
    assert (
        dense(np.array([0.0, -0.0]), aval(np.float32, 2)) == "dense<[0.000000e+00, -0.000000e+00]>"
    )


def test_symbols_that_are_no_identifiers_are_quoted():
    assert symbol("f_1") == "@f_1"
    assert symbol("<lambda>") == '@"<lambda>"'
