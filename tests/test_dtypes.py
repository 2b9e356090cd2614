"""Dtypes: canonical forms under the modes, and promotion by example."""

import ml_dtypes
import numpy as np
import pytest

from tapeless import config, dtypes

KEY = dtypes.key_dtype("threefry2x32", "fry", (2,))


class Value:
    """Something with a dtype that may be weakly typed."""

    def __init__(self, dtype, weak_type=False):
        self.dtype = np.dtype(dtype)
        self.weak_type = weak_type


def test_canonical_dtypes_follow_x64():
    assert dtypes.canonicalize_dtype("float64") == np.float32
    assert dtypes.canonicalize_dtype(KEY, allow_extended_dtype=True) is KEY
    with config.enable_x64(True):
        assert dtypes.canonicalize_dtype("float64") == np.float64
    with pytest.raises(ValueError, match="extended dtype key<fry>"):
        dtypes.canonicalize_dtype(KEY)


@pytest.mark.parametrize(("x64", "bits"), [(False, 32), (True, 64)])
def test_default_dtypes_follow_x64(x64, bits):
    with config.enable_x64(x64):
        assert dtypes.default_dtype_bits() == bits
        assert dtypes.default_int_dtype() == f"int{bits}"
        assert dtypes.default_uint_dtype() == f"uint{bits}"
        assert dtypes.default_float_dtype() == f"float{bits}"
        assert dtypes.default_complex_dtype() == f"complex{2 * bits}"
        assert dtypes.check_user_dtype_supported(float) == f"float{bits}"
        assert dtypes.dtype(1) == f"int{bits}"


def test_asking_for_64_bits_warns_at_the_line_that_asks():
    with pytest.warns(UserWarning, match="requested in zeros is not available") as caught:
        assert dtypes.check_user_dtype_supported(np.float64, "zeros") == np.float32
    assert caught[0].filename == __file__


def test_asking_for_64_bits_may_raise_or_be_granted():
    config.update("jax_explicit_x64_dtypes", "error")
    try:
        with pytest.raises(ValueError, match="Explicitly requested dtype int64"):
            dtypes.check_user_dtype_supported(np.int64, "zeros")
        config.update("jax_explicit_x64_dtypes", "allow")
        assert dtypes.check_user_dtype_supported(np.int64, "zeros") == np.int64
    finally:
        config.update("jax_explicit_x64_dtypes", "warn")


@pytest.mark.parametrize("dtype", [object, "U3", ">f4", np.datetime64, [("a", "f4")]])
def test_other_dtypes_are_refused(dtype):
    with pytest.raises(TypeError, match="only supports number, bool, and string dtypes.* in ones"):
        dtypes.check_user_dtype_supported(dtype, "ones")


@pytest.mark.parametrize(
    ("args", "expected", "weak"),
    [
        ((1,), "int32", True),
        ((1, 2.0), "float32", True),
        ((True, 1), "int32", True),
        ((True, True), "bool", False),
        ((np.float32(1), 1), "float32", False),
        ((np.int8(1), 1000), "int8", False),
        ((np.int8(1), 1.0), "float32", True),
        ((np.float64(1), np.float32(1)), "float32", False),
        ((Value("bfloat16"), 1j), "complex64", False),
        ((Value("bfloat16"), Value("float16")), "float32", False),
        ((Value("int16"), Value("float32", True)), "float32", True),
        ((Value("uint8"), Value("int8")), "int16", False),
        (("int32", np.uint8), "int32", False),
        ((KEY, KEY), KEY, False),
    ],
)
def test_result_types(args, expected, weak):
    found = dtypes.result_type(*args, return_weak_type_flag=True)
    assert found == (expected, weak)
    assert dtypes.result_type(*args) == expected


def test_a_change_of_mode_leaves_no_stale_answer():
    assert dtypes.result_type(1, 2.0) == np.float32
    with config.enable_x64(True):
        assert dtypes.result_type(1, 2.0) == np.float64
        assert dtypes.promote_types("uint32", "int32") == np.int64
    assert dtypes.promote_types("uint32", "int32") == np.int32
    assert dtypes.result_type(1, 2.0) == np.float32


def test_errors_of_promotion():
    with pytest.raises(dtypes.TypePromotionError, match="8-bit floats do not support implicit"):
        dtypes.promote_types(ml_dtypes.float8_e4m3fn, np.float32)
    with config.numpy_dtype_promotion("strict"):
        with pytest.raises(dtypes.TypePromotionError, match=r"\('int32', 'float32'\).*=strict"):
            dtypes.result_type(np.int32, np.float32)
    with pytest.raises(ValueError, match="not a valid dtype for JAX type promotion"):
        dtypes.result_type(Value("float32"), Value(dtypes.float0))
    with pytest.raises(ValueError, match="at least one array or dtype"):
        dtypes.result_type()
    with pytest.raises(TypeError, match=r"Cannot determine dtype of \[1, 2\]"):
        dtypes.result_type([1, 2])


def test_scalar_types():
    assert dtypes.scalar_type_of(np.int8) is int
    assert dtypes.scalar_type_of(1.5) is float
    assert dtypes.scalar_type_of("complex64") is complex
    assert dtypes.scalar_type_of(np.bool_) is bool
    assert dtypes.is_python_scalar(1j)
    assert not dtypes.is_python_scalar(np.float64(1))
