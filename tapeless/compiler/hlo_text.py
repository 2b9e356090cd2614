"""How MLIR writes types, constants and attributes.

    tensor<3x4xf32>                     an array; bool is i1, uint8 ui8, complex64 complex<f32>
    dense<2.000000e+00>                 a constant; one element stands for all if all are equal
    dense<[[1, 2], [3, 4]]>             a small constant
    dense<"0x0000803F...">              a large one: its bytes, little-endian
    array<i64: 0, 1>                    a list of integers as an attribute

An infinity, a NaN, or any float that its decimals do not give back is written as its bits.  A key
of the random generators is written as the words that carry it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray

__all__ = [
    "function_type",
    "integers",
    "dense",
    "physical",
    "symbol",
    "tensor_type",
]

# Constants with more elements than this are written as bytes.
_SMALL = 16


def physical(aval: ShapedArray) -> ShapedArray:
    """Return the type of the array of numbers that carries a value."""
    dtype = aval.dtype
    if isinstance(dtype, dtypes.ExtendedDtype):
        return ShapedArray((*aval.shape, *dtype.physical_shape), dtype.physical_dtype)
    return aval.update(dtype=np.dtype(bool)) if dtype == dtypes.float0 else aval


def tensor_type(aval: ShapedArray) -> str:
    """Return the type, such as `tensor<3x4xf32>`."""
    aval = physical(aval)
    extents = "".join(f"{extent}x" for extent in aval.shape)
    return f"tensor<{extents}{element_type(aval.dtype)}>"


def element_type(dtype: np.dtype) -> str:
    """Return the name of a dtype."""
    if dtype == np.bool_:
        return "i1"
    if dtypes.issubdtype(dtype, np.complexfloating):
        return f"complex<f{dtype.itemsize * 4}>"
    name = dtypes.dtype_name(dtype)
    if name == "bfloat16":
        return "bf16"
    if name.startswith("float8") or name.startswith("float4"):
        return "f" + name.removeprefix("float").replace("_", "").replace("e", "E").replace(
            "fn", "FN"
        ).replace("b11", "B11").replace("m", "M").replace("uz", "UZ")
    return name.replace("uint", "ui").replace("float", "f").replace("int", "i")


def function_type(inputs: Iterable[ShapedArray], results: Sequence[ShapedArray]) -> str:
    """Return the type of an operation, such as `(tensor<f32>) -> tensor<3xf32>`."""
    sources = ", ".join(map(tensor_type, inputs))
    targets = ", ".join(map(tensor_type, results))
    return f"({sources}) -> {targets if len(results) == 1 else f'({targets})'}"


def integers(attribute: str) -> str:
    """Return such a list of integers in brackets.

    >>> integers("array<i64: 0, 1>")
    '[0, 1]'
    """
    return f"[{', '.join(re.findall(r'-?[0-9]+', attribute.removeprefix('array<i64')))}]"


def symbol(name: str) -> str:
    """Return the name of a function as a symbol; quoted if it is not an identifier."""
    return f"@{name}" if re.fullmatch(r"[A-Za-z_][\w$.]*", name) else f'@"{name}"'


def dense(value: object, aval: ShapedArray) -> str:
    """Return a constant of the type `aval`, without its type."""
    array = np.asarray(value, aval.dtype)
    if array.size == 0:
        return "dense<>"
    flat = array.reshape(-1)
    first = flat[:1].tobytes()
    if array.size == 1 or flat.tobytes() == first * array.size:
        return f"dense<{_element(flat[0])}>"
    packed = array.dtype == np.bool_ or dtypes.itemsize_bits(array.dtype) < 8
    if array.size <= _SMALL or packed:
        return f"dense<{_nested(array)}>"
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return f'dense<"0x{little.tobytes().hex().upper()}">'


def _nested(array: np.ndarray) -> str:
    """Return the elements in nested brackets."""
    if array.ndim == 0:
        return _element(array[()])
    return f"[{', '.join(map(_nested, array))}]"


def _element(x: Any) -> str:
    """Return one element, given as a NumPy scalar: a word, an integer, a float, or a pair."""
    if x.dtype == np.bool_:
        return "true" if x else "false"
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        return f"({_element(x.real)},{_element(x.imag)})"
    if not dtypes.issubdtype(x.dtype, np.floating):
        return str(int(x))
    for form in (".6e", ".8e", ".16e"):
        text = format(float(x), form)
        if np.isfinite(x) and x.dtype.type(float(text)) == x:
            return text
    return f"0x{x.tobytes()[::-1].hex().upper()}"
