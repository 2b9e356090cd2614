"""Element types: names, the hierarchy, sizes, and changes of kind."""

import copy
import pickle

import ml_dtypes
import numpy as np
import pytest

from tapeless.util import elements

KEY = elements.key_dtype("threefry2x32", "fry", (2,))


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        ("float32", "f32"),
        ("int8", "i8"),
        ("uint64", "u64"),
        ("bool", "bool"),
        ("complex64", "c64"),
        (ml_dtypes.bfloat16, "bf16"),
        (ml_dtypes.float8_e4m3fn, "f8_e4m3fn"),
        (ml_dtypes.int4, "i4"),
        (elements.float0, "float0"),
        (KEY, "key<fry>"),
    ],
)
def test_short_names(dtype, name):
    assert elements.short_dtype_name(dtype) == name


def test_full_names():
    assert elements.dtype_name(np.float32) == "float32"
    assert elements.dtype_name(elements.float0) == "float0"
    assert elements.dtype_name(KEY) == "key<fry>"


def test_a_key_dtype_is_one_object():
    assert elements.key_dtype("threefry2x32", "fry", (2,)) is KEY
    assert pickle.loads(pickle.dumps(KEY)) is KEY
    assert copy.deepcopy(KEY) is KEY
    assert (KEY.itemsize, KEY.physical_shape, KEY.physical_dtype) == (8, (2,), np.uint32)


def test_extended_dtypes_have_their_place_in_the_hierarchy():
    assert elements.issubdtype(KEY, elements.prng_key)
    assert elements.issubdtype(KEY, elements.extended)
    assert elements.issubdtype(KEY, KEY)
    assert not elements.issubdtype(KEY, np.number)
    assert not elements.issubdtype(np.float32, elements.extended)


def test_narrow_types_have_their_place_in_the_hierarchy():
    assert elements.issubdtype(ml_dtypes.bfloat16, np.floating)
    assert elements.issubdtype(ml_dtypes.uint4, np.unsignedinteger)
    assert not elements.issubdtype(ml_dtypes.int4, np.unsignedinteger)
    assert elements.issubdtype("float32", np.inexact)


@pytest.mark.parametrize(
    ("dtype", "inexact", "real", "complex_"),
    [
        ("bool", "float32", "float32", "complex64"),
        ("int8", "float32", "float32", "complex64"),
        ("int64", "float64", "float64", "complex128"),
        ("bfloat16", "bfloat16", "bfloat16", "complex64"),
        ("complex64", "complex64", "float32", "complex64"),
        ("float64", "float64", "float64", "complex128"),
    ],
)
def test_changes_of_kind(dtype, inexact, real, complex_):
    assert elements.to_inexact_dtype(dtype) == inexact
    assert elements.to_floating_dtype(dtype) == real
    assert elements.to_complex_dtype(dtype) == complex_
    assert elements.to_numeric_dtype(dtype) == ("int32" if dtype == "bool" else dtype)


def test_sizes_and_infinities():
    assert elements.itemsize_bits(ml_dtypes.int4) == 4
    assert elements.itemsize_bits(np.float64) == 64
    assert elements.supports_inf(ml_dtypes.bfloat16)
    assert not elements.supports_inf(ml_dtypes.float8_e4m3fn)
    assert not elements.supports_inf(np.int32)
