"""Scalar types: `jnp.float32` and its kin, which make arrays and stand for dtypes.

Each is a class without instances: calling it converts its argument to an array of the dtype.  It
equals NumPy's scalar type and dtype of the same name, hashes like the dtype, and has `.dtype`, so
that it can be given wherever a dtype is wanted.
"""

from __future__ import annotations

import copyreg
from typing import Any

import ml_dtypes
import numpy as np

from tapeless.numpy.common import asarray
from tapeless.runtime.array import Array

__all__ = [
    "ScalarType",
    "bfloat16",
    "bool",
    "bool_",
    "cdouble",
    "complex128",
    "complex64",
    "complex_",
    "csingle",
    "double",
    "float16",
    "float32",
    "float4_e2m1fn",
    "float64",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float_",
    "int16",
    "int2",
    "int32",
    "int4",
    "int64",
    "int8",
    "int_",
    "single",
    "uint",
    "uint16",
    "uint2",
    "uint32",
    "uint4",
    "uint64",
    "uint8",
]


class ScalarType(type):
    """The class of the scalar types."""

    dtype: np.dtype

    def __hash__(cls) -> int:
        """Hash as the scalar type of NumPy."""
        return hash(cls.dtype.type)

    def __eq__(cls, other: object) -> bool:
        """Compare with scalar types and dtypes, NumPy's too."""
        return cls is other or cls.dtype.type == other or cls.dtype == other

    def __ne__(cls, other: object) -> bool:
        """Compare likewise."""
        return not cls == other

    def __call__(cls, x: Any) -> Array:
        """Return `x` as an array of this dtype."""
        return asarray(x, dtype=cls.dtype)

    def __instancecheck__(cls, instance: Any) -> bool:
        """Tell whether a NumPy scalar is of this type."""
        return isinstance(instance, cls.dtype.type)


def _scalar_type(name: str, dtype: Any) -> ScalarType:
    """Return the scalar type of a dtype."""
    body = {"dtype": np.dtype(dtype), "__module__": "jax.numpy"}
    body["__doc__"] = f"A JAX scalar constructor of type {name}: `jnp.{name}(x)` is an array."
    return ScalarType(name, (), body)


def _of_name(name: str) -> ScalarType:
    """Return the scalar type of a name, which pickles have."""
    return globals()[name]


# Pickles would look for them in the module whose name they bear, which may not be there.
copyreg.pickle(ScalarType, lambda cls: (_of_name, (cls.__name__,)))

bool = _scalar_type("bool", np.bool_)
uint8 = _scalar_type("uint8", np.uint8)
uint16 = _scalar_type("uint16", np.uint16)
uint32 = _scalar_type("uint32", np.uint32)
uint64 = _scalar_type("uint64", np.uint64)
int8 = _scalar_type("int8", np.int8)
int16 = _scalar_type("int16", np.int16)
int32 = _scalar_type("int32", np.int32)
int64 = _scalar_type("int64", np.int64)
float16 = _scalar_type("float16", np.float16)
float32 = _scalar_type("float32", np.float32)
float64 = _scalar_type("float64", np.float64)
complex64 = _scalar_type("complex64", np.complex64)
complex128 = _scalar_type("complex128", np.complex128)
bfloat16 = _scalar_type("bfloat16", ml_dtypes.bfloat16)
bool_ = bool
single = float32
double = float64
float_ = float64
csingle = complex64
cdouble = complex128
complex_ = complex128
int_ = int64
uint = uint64

int2 = _scalar_type("int2", ml_dtypes.int2)
int4 = _scalar_type("int4", ml_dtypes.int4)
uint2 = _scalar_type("uint2", ml_dtypes.uint2)
uint4 = _scalar_type("uint4", ml_dtypes.uint4)
float4_e2m1fn = _scalar_type("float4_e2m1fn", ml_dtypes.float4_e2m1fn)
float6_e2m3fn = _scalar_type("float6_e2m3fn", ml_dtypes.float6_e2m3fn)
float6_e3m2fn = _scalar_type("float6_e3m2fn", ml_dtypes.float6_e3m2fn)
float8_e3m4 = _scalar_type("float8_e3m4", ml_dtypes.float8_e3m4)
float8_e4m3 = _scalar_type("float8_e4m3", ml_dtypes.float8_e4m3)
float8_e4m3b11fnuz = _scalar_type("float8_e4m3b11fnuz", ml_dtypes.float8_e4m3b11fnuz)
float8_e4m3fn = _scalar_type("float8_e4m3fn", ml_dtypes.float8_e4m3fn)
float8_e4m3fnuz = _scalar_type("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz)
float8_e5m2 = _scalar_type("float8_e5m2", ml_dtypes.float8_e5m2)
float8_e5m2fnuz = _scalar_type("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz)
float8_e8m0fnu = _scalar_type("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu)

# Older releases of ml_dtypes have no types of one bit.
if hasattr(ml_dtypes, "int1"):
    int1 = _scalar_type("int1", ml_dtypes.int1)
    uint1 = _scalar_type("uint1", ml_dtypes.uint1)
    __all__ += ["int1", "uint1"]
