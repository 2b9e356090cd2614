"""Abstract values: interned, immutable, and read off values of many kinds."""

import copy
import pickle

import numpy as np
import pytest

from tapeless import dtypes
from tapeless.config import enable_x64
from tapeless.core.aval import ShapedArray, ShapeDtypeStruct, is_value, shaped, typeof
from tapeless.core.effects import CALLBACK, DEBUG, ORDERED_DEBUG
from tapeless.core.linear import Zero, zero_tangent
from tests.core.programs import F32, ROW


def test_equal_types_are_one_object():
    assert ShapedArray((3,), np.float32) is ROW
    assert shaped([3], "float32") is ROW
    assert ROW.update(weak_type=True) is not ROW
    assert ROW.update(weak_type=True).strong() is ROW
    assert pickle.loads(pickle.dumps(ROW)) is ROW
    assert copy.deepcopy(ROW) is ROW


def test_extents_are_python_integers():
    shape = (np.int64(977), np.uint8(3), True)
    assert [type(extent) for extent in shaped(shape, np.float32).shape] == [int, int, int]
    assert shaped(shape, np.float32) is shaped((977, 3, 1), np.float32)
    assert str(shaped(shape, np.float32)) == "float32[977,3,1]"


def test_types_cannot_be_changed():
    with pytest.raises(AttributeError, match="immutable"):
        ROW.shape = (4,)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2.0, ShapedArray((), np.float32, True)),
        (2, ShapedArray((), np.int32, True)),
        (True, ShapedArray((), np.bool_)),
        (1j, ShapedArray((), np.complex64, True)),
        (np.float64(1), F32),
        (np.ones(3), ROW),
        (np.ones((2, 0), np.int8), ShapedArray((2, 0), np.int8)),
    ],
)
def test_types_of_values(value, expected):
    assert is_value(value)
    assert typeof(value) is expected


def test_types_of_64_bits_are_kept_when_asked_for():
    with enable_x64(True):
        assert typeof(np.ones(3)).dtype == np.float64
        assert typeof(2).dtype == np.int64


def test_what_is_no_value_is_refused():
    assert not is_value("text")
    with pytest.raises(TypeError, match="not a valid JAX type"):
        typeof("text")


def test_sizes():
    aval = ShapedArray((2, 3, 0), np.float32)
    assert (aval.ndim, aval.size, F32.size) == (3, 0, 1)


def test_tangents_of_integers_are_float0():
    assert ROW.tangent() is ROW.to_tangent_aval() is ROW.at_least_vspace() is ROW
    assert ShapedArray((3,), np.int32).tangent() == ShapedArray((3,), dtypes.float0)
    assert zero_tangent(np.int32(2)) == Zero(ShapedArray((), dtypes.float0))
    assert repr(zero_tangent(np.ones(3))) == "Zero(float32[3])"


def test_texts():
    assert repr(ROW.update(weak_type=True)) == "ShapedArray(float32[3], weak_type=True)"
    assert str(ROW) == "float32[3]"
    assert ROW.str_short(True) == "f32[3]"
    assert repr(ShapeDtypeStruct((2,), np.int8)) == "ShapeDtypeStruct(shape=(2,), dtype=int8)"
    placed = ShapeDtypeStruct((2,), np.int8, sharding="there")
    assert repr(placed) == "ShapeDtypeStruct(shape=(2,), dtype=int8, sharding=there)"


def test_shape_dtype_structs_are_compared_by_their_fields():
    struct = ShapeDtypeStruct((2, 3), np.float32)
    assert struct == ShapeDtypeStruct([2, 3], "float32")
    assert struct != ShapeDtypeStruct((2, 3), np.float16)
    assert hash(struct) == hash(ShapeDtypeStruct((2, 3), np.float32))
    assert (len(struct), struct.ndim, struct.size) == (2, 2, 6)
    assert struct.update(shape=(5,)) == ShapeDtypeStruct((5,), np.float32)
    with pytest.raises(ValueError, match="dtype must be specified"):
        ShapeDtypeStruct((2,), None)


def test_effects_print_their_names():
    assert [str(e) for e in (DEBUG, ORDERED_DEBUG, CALLBACK)] == ["Debug", "OrderedDebug", "IO"]
    assert ORDERED_DEBUG.ordered
    assert not CALLBACK.replayable


def test_masked_arrays_are_refused_and_other_subclasses_are_not():
    masked = np.ma.array(np.ones(3, np.float32), mask=[False, True, False])
    for value in (masked, np.ma.masked, masked):
        with pytest.raises(ValueError, match="masked arrays are not supported"):
            typeof(value)
    assert typeof(np.ones(3, np.float32).view(np.recarray)) is ROW
    assert typeof(masked.filled(0)) is ROW


@pytest.mark.parametrize("value", [2.0, np.float64(2), np.int64(2), 3, 1j, np.uint64(1)])
def test_scalars_of_64_bits_are_typed_as_the_mode_says(value):
    narrow = typeof(value)
    with enable_x64(True):
        wide = typeof(value)
    assert (narrow.dtype.itemsize, wide.dtype.itemsize) in [(4, 8), (8, 16)]
    assert narrow.weak_type == wide.weak_type == (type(value) in (int, float, complex))


def test_printed_forms_are_long_unless_asked_to_be_short():
    assert ROW.str_short() == "float32[3]"
    assert ROW.str_short(True) == "f32[3]"
