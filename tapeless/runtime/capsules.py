"""Memory handed over by DLPack, to other libraries and from them.

The problem: NumPy writes and reads capsules, but knows no name for the short floats of ml_dtypes,
which DLPack has; and some consumers ignore that memory is read-only.  The idea: a capsule of short
floats is NumPy's for unsigned integers of their width, in which the name of the type is exchanged.
A consumer that would write through gets a copy, unless it asks for none.

    capsule     a Python object around a pointer to the description of a tensor, made once, taken
                once; "dltensor", or since version 1 of the protocol "dltensor_versioned"
    code        the number that says what kind of elements there are; their width stands beside it
"""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np

__all__ = ["capsule_of", "is_exchanged", "numpy_of_producer"]

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
_is_named = ctypes.pythonapi.PyCapsule_IsValid
_is_named.argtypes = (ctypes.py_object, ctypes.c_char_p)

# Bytes from the pointer of a capsule to the code; the next byte is the width of an element in bits.
_PLACES = {b"dltensor": 20, b"dltensor_versioned": 52}
_UNSIGNED = 1
_CODES: dict[np.dtype, int] = {
    np.dtype(ml_dtypes.bfloat16): 4,
    np.dtype(ml_dtypes.float8_e3m4): 7,
    np.dtype(ml_dtypes.float8_e4m3): 8,
    np.dtype(ml_dtypes.float8_e4m3b11fnuz): 9,
    np.dtype(ml_dtypes.float8_e4m3fn): 10,
    np.dtype(ml_dtypes.float8_e4m3fnuz): 11,
    np.dtype(ml_dtypes.float8_e5m2): 12,
    np.dtype(ml_dtypes.float8_e5m2fnuz): 13,
    np.dtype(ml_dtypes.float8_e8m0fnu): 14,
}
_DTYPES = {(code, 8 * dtype.itemsize): dtype for dtype, code in _CODES.items()}
# Packages that take version 1 of the protocol and make tensors that can be written to all the same.
_DEAF = frozenset({"torch"})


def is_exchanged(dtype: np.dtype) -> bool:
    """Tell whether DLPack has a name for a dtype: numbers of NumPy, and short floats."""
    return dtype in _CODES or (dtype.isbuiltin == 1 and dtype.kind in "biufc")


def capsule_of(value: np.ndarray, consumer: str, options: dict[str, Any]) -> Any:
    """Return a capsule over the memory of an array, or over a copy.

    value: read-only.  consumer: the module that asks.  options: its keywords to `__dlpack__`.
    Before version 1 the protocol cannot say that memory is read-only: its consumers get a copy.
    """
    version = options.get("max_version") or (0, 0)
    is_honoured = version[0] >= 1 and consumer.partition(".")[0] not in _DEAF
    if not is_honoured and options.get("copy") is None:
        value = value.copy()
    if not is_exchanged(value.dtype):
        raise BufferError(
            f"DLPack has no name for elements of {value.dtype}: convert the array first, with "
            "`x.astype(dtype)`"
        )
    code = _CODES.get(value.dtype)
    if code is None:
        return value.__dlpack__(**options)
    capsule = value.view(f"u{value.dtype.itemsize}").__dlpack__(**options)
    _kind_of(capsule)[0] = code
    return capsule


def _kind_of(capsule: Any) -> ctypes.Array[ctypes.c_uint8]:
    """Return the code and the width in a capsule, to be read and written."""
    (name,) = [name for name in _PLACES if _is_named(capsule, name)]
    address = _pointer(capsule, name) + _PLACES[name]
    return (ctypes.c_uint8 * 2).from_address(address)


class _Renamed:
    """A producer whose short floats are told to NumPy as unsigned integers of their width."""

    def __init__(self, producer: Any) -> None:
        """producer: an object with the DLPack protocol."""
        self.producer = producer
        self.dtype: np.dtype | None = None  # what the elements are, if NumPy has no name for it

    def __dlpack__(self, **options: Any) -> Any:
        """Return the capsule of the producer, renamed."""
        capsule = self.producer.__dlpack__(**options)
        kind = _kind_of(capsule)
        self.dtype = _DTYPES.get((kind[0], kind[1]))
        if self.dtype is not None:
            kind[0] = _UNSIGNED
        return capsule

    def __dlpack_device__(self) -> Any:
        """Return where the memory is."""
        return self.producer.__dlpack_device__()


def numpy_of_producer(producer: Any) -> np.ndarray:
    """Return a NumPy array over the memory of an object with the DLPack protocol."""
    renamed = _Renamed(producer)
    value = np.from_dlpack(renamed)
    return value if renamed.dtype is None else value.view(renamed.dtype)
