"""Types and constants of the text as types and arrays of this package.

    tensor<3xf32>           float32[3]
    dense<1.0>              one number for all elements: it stays one number
    dense<"0x...">          bytes, little-endian
    0x7FC00000              the bits of a float

Extents must be known: a module for shapes that are open is refused.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapeless import dtypes, lax
from tapeless.compiler.hlo_text import tensor_type
from tapeless.core.aval import ShapedArray
from tapeless.core.trace import Value
from tapeless.runtime.array import as_array
from tapeless.stablehlo.syntax import Dense, Opaque, Place, TensorType, Type

__all__ = ["array_type", "constant", "dense_array"]

_NAMES = """
bool int2 int4 int8 int16 int32 int64 uint2 uint4 uint8 uint16 uint32 uint64 float16 bfloat16
float32 float64 complex64 complex128 float8_e3m4 float8_e4m3 float8_e4m3fn float8_e4m3fnuz
float8_e4m3b11fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn
"""
_MOST_ELEMENTS = 1 << 40
_MOST_EQUAL = 1 << 20


def _element_types() -> dict[str, np.dtype]:
    """Map the names of element types to dtypes; those that NumPy knows here."""
    found = {}
    for name in _NAMES.split():
        try:
            dtype = np.dtype(name)
        except TypeError:
            continue
        text = tensor_type(ShapedArray((), dtype))
        found[text.removeprefix("tensor<").removesuffix(">")] = dtype
    return found


_DTYPES = _element_types()


def array_type(kind: Type, place: Place) -> ShapedArray | None:
    """Return the type of an array; None for what is no array, such as a token."""
    if not isinstance(kind, TensorType):
        return None
    if kind.element not in _DTYPES:
        place.fail(f"{kind}: arrays of {kind.element} are not supported")
    if None in kind.shape:
        place.fail(
            f"{kind}: the extents must be known; export the function for arrays of fixed shapes"
        )
    shape = tuple(n for n in kind.shape if n is not None)
    if math.prod(shape) > _MOST_ELEMENTS:
        place.fail(f"{kind}: larger than any memory")
    return ShapedArray(shape, _DTYPES[kind.element])


def constant(value: Any, place: Place) -> Value:
    """Return the value of a `constant` operation; without memory for equal elements."""
    if not isinstance(value, Dense):
        place.fail("a constant must be written as dense<...>")
    aval = array_type(value.type, place)
    assert aval is not None, "a dense constant is an array"
    element = _splat(value, aval)
    if element is not None:
        return lax.full(aval.shape, element, aval.dtype) if aval.shape else element
    array = dense_array(value)
    return as_array(array) if aval.shape else array[()]


def dense_array(value: Dense) -> np.ndarray:
    """Return a constant as a NumPy array."""
    place = value.place
    aval = array_type(value.type, place)
    assert aval is not None, "a dense constant is an array"
    shape, dtype = aval.shape, aval.dtype
    element = _splat(value, aval)
    if element is not None:
        if aval.size > _MOST_EQUAL:
            place.fail(f"an attribute of {aval.size} elements")
        return np.full(shape, element, dtype)
    if isinstance(value.value, str):
        return _from_bytes(value.value, aval, place)
    flat = _flattened(value.value, shape, place)
    if len(flat) != aval.size:
        place.fail(f"{value.type} has {aval.size} elements, but {len(flat)} are written")
    array = np.empty(len(flat), dtype)
    for number, element in enumerate(flat):
        array[number] = _element(element, dtype, place)
    return array.reshape(shape)


def _splat(value: Dense, aval: ShapedArray) -> np.generic | None:
    """Return the element that all elements of a constant equal, if only one is written."""
    written, place = value.value, value.place
    if isinstance(written, list):
        return None
    if isinstance(written, str) and not isinstance(written, Opaque):
        is_one = len(written.removeprefix("0x")) == 2 * aval.dtype.itemsize
        return _from_bytes(written, aval.update(shape=(1,)), place)[0] if is_one else None
    return _element(written, aval.dtype, place)


def _flattened(nested: list, shape: tuple[int, ...], place: Place) -> list:
    """Return the elements of nested lists, which must be as deep as the shape."""
    if not nested:
        return nested
    for _ in shape[1:]:
        if not all(isinstance(row, list) for row in nested):
            place.fail(f"a constant of {len(shape)} axes wants lists {len(shape)} deep")
        nested = [element for row in nested for element in row]
    if any(isinstance(element, list) for element in nested):
        place.fail(f"a constant of {len(shape)} axes wants lists {len(shape)} deep")
    return nested


def _from_bytes(text: str, aval: ShapedArray, place: Place) -> np.ndarray:
    """Return a constant that is written as the hexadecimal digits of its bytes."""
    try:
        data = bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        place.fail("the bytes of a constant are not hexadecimal digits")
    dtype = aval.dtype
    stored = dtype.newbyteorder("<") if dtype.kind in "iufc" else dtype
    if len(data) != aval.size * dtype.itemsize:
        place.fail(f"{len(data)} bytes for {aval.size} elements of {dtype}")
    return np.frombuffer(data, stored).astype(dtype, copy=False).reshape(aval.shape)


def _element(x: Any, dtype: np.dtype, place: Place) -> np.generic:
    """Return one element; bits of a float stand as hexadecimal digits."""
    if isinstance(x, tuple):
        if len(x) != 2 or not dtypes.issubdtype(dtype, np.complexfloating):
            place.fail(f"a pair is no element of {dtype}")
        part = np.dtype(f"f{dtype.itemsize // 2}")
        return dtype.type(complex(*(float(_element(half, part, place)) for half in x)))
    if isinstance(x, Opaque):
        bits = int(x, 16)
        if dtypes.issubdtype(dtype, np.integer) or bits >= 1 << (8 * dtype.itemsize):
            place.fail(f"{x} is no element of {dtype}")
        return np.frombuffer(bits.to_bytes(dtype.itemsize, "little"), dtype)[0]
    is_number = isinstance(x, (int, float)) and not isinstance(x, bool)
    integral = dtypes.issubdtype(dtype, np.integer)
    if dtype == np.bool_ and not isinstance(x, bool) and x not in (0, 1):
        place.fail(f"{x} is neither true nor false")
    if dtype != np.bool_ and not is_number or integral and not isinstance(x, int):
        place.fail(f"{x} is no element of {dtype}")
    if integral and isinstance(x, int):
        return _integer(x, dtype, place)
    return dtype.type(x)


def _integer(x: int, dtype: np.dtype, place: Place) -> np.generic:
    """Return an integer, if it is in the range of its dtype."""
    bits = dtypes.itemsize_bits(dtype)
    signed = dtypes.issubdtype(dtype, np.signedinteger)
    lowest = -(1 << (bits - 1)) if signed else 0
    if not lowest <= x < 1 << bits - signed:
        place.fail(f"{x} is out of the range of {dtype}")
    return dtype.type(x)
