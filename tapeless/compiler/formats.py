"""How values of each dtype live in registers and in memory, and how LLVM text spells them.

The emitter writes one text for scalars and for vectors: a value has a dtype and a lane count, and
`typed` turns the two into `float` or `<16 x float>`. Memory and registers differ in two places. A
bool is a byte in memory and an `i1` in a register. A narrow float (float16, bfloat16, float8,
float4 in a byte) is its bits in memory and a `float` in a register, where it is always exactly
representable in the narrow format: operations compute in float32 and round to the narrow format at
once. A four-bit integer occupies a byte of memory and is an `i4` in a register.

Lane counts above the width of the machine's registers are normal: LLVM splits `<64 x float>` into
four registers, which is how the emitter asks for unrolled code.

Invariant: everything the emitter knows about a dtype is a field of its `Format`.
"""

from __future__ import annotations

import struct
from functools import cache

import ml_dtypes
import numpy as np

from tapeless.util.records import record

__all__ = ["Format", "constant", "format_of", "literal", "splat", "typed"]


@record
class Format:
    """The register type, the memory type and the meaning of a dtype.

    kind: "bool", "signed", "unsigned" or "float"; bits: the width of the value (4 for int4);
    size: bytes in memory; narrow: a float that is computed as float32 and rounded;
    exponent, mantissa: the field widths of a narrow float; special: how it spells what is not
    finite, "ieee" (infinities and NaNs), "fn" (NaN is all ones, no infinity), "fnuz" (NaN is minus
    zero), "finite" (large values saturate, NaN becomes minus zero) or "scale" (no sign, no zero:
    powers of two, and NaN is all ones).
    """

    register: str
    memory: str
    kind: str
    bits: int
    size: int
    narrow: bool = False
    exponent: int = 0
    mantissa: int = 0
    special: str = "ieee"
    bias: int = 0


def _integer(kind: str, bits: int) -> Format:
    """Make the format of an integer; below 8 bits it is stored in a byte."""
    stored = max(bits, 8)
    return Format(f"i{bits}", f"i{stored}", kind, bits, stored // 8)


def _narrow(
    bits: int, exponent: int, mantissa: int, special: str = "ieee", bias: int = 0
) -> Format:
    """Make the format of a narrow float."""
    default = 2 ** (exponent - 1) - 1
    return Format(
        register="float",
        memory=f"i{max(bits, 8)}",
        kind="float",
        bits=bits,
        size=max(bits, 8) // 8,
        narrow=True,
        exponent=exponent,
        mantissa=mantissa,
        special=special,
        bias=bias or default,
    )


_FORMATS: dict[np.dtype, Format] = {
    np.dtype(np.bool_): Format("i1", "i8", "bool", 1, 1),
    np.dtype(np.float32): Format("float", "float", "float", 32, 4),
    np.dtype(np.float64): Format("double", "double", "float", 64, 8),
    np.dtype(np.float16): _narrow(16, 5, 10),
    np.dtype(ml_dtypes.bfloat16): _narrow(16, 8, 7),
    np.dtype(ml_dtypes.float8_e5m2): _narrow(8, 5, 2),
    np.dtype(ml_dtypes.float8_e4m3): _narrow(8, 4, 3),
    np.dtype(ml_dtypes.float8_e3m4): _narrow(8, 3, 4),
    np.dtype(ml_dtypes.float8_e4m3fn): _narrow(8, 4, 3, "fn"),
    np.dtype(ml_dtypes.float8_e4m3b11fnuz): _narrow(8, 4, 3, "fnuz", 11),
    np.dtype(ml_dtypes.float8_e4m3fnuz): _narrow(8, 4, 3, "fnuz", 8),
    np.dtype(ml_dtypes.float8_e5m2fnuz): _narrow(8, 5, 2, "fnuz", 16),
    np.dtype(ml_dtypes.float8_e8m0fnu): _narrow(8, 8, 0, "scale"),
    np.dtype(ml_dtypes.float4_e2m1fn): _narrow(4, 2, 1, "finite"),
    np.dtype(ml_dtypes.int2): _integer("signed", 2),
    np.dtype(ml_dtypes.uint2): _integer("unsigned", 2),
    np.dtype(ml_dtypes.int4): _integer("signed", 4),
    np.dtype(ml_dtypes.uint4): _integer("unsigned", 4),
    **{np.dtype(f"i{size}"): _integer("signed", 8 * size) for size in (1, 2, 4, 8)},
    **{np.dtype(f"u{size}"): _integer("unsigned", 8 * size) for size in (1, 2, 4, 8)},
}


def format_of(dtype: np.dtype) -> Format:
    """Look up the format of `dtype`."""
    found = _FORMATS.get(dtype)
    if found is None:
        raise TypeError(f"the compiler has no format for {dtype}; this is a bug in tapeless")
    return found


@cache
def typed(element: str, lanes: int) -> str:
    """Spell the type of `lanes` elements: `float`, or `<16 x float>`."""
    return element if lanes == 1 else f"<{lanes} x {element}>"


def splat(element: str, text: str, lanes: int) -> str:
    """Spell the constant `text` in every lane."""
    return text if lanes == 1 else f"splat ({element} {text})"


def literal(value: bool | int | float, register: str) -> str:
    """Spell a number as an LLVM constant of the scalar type `register`."""
    if register == "i1":
        return "true" if value else "false"
    if register == "double":
        return f"0x{struct.pack('>d', value).hex()}"
    if register == "float":
        return f"0x{struct.pack('>d', float(np.float32(value))).hex()}"
    bits = int(register[1:])
    wrapped = int(value) & ((1 << bits) - 1)
    return str(wrapped - (1 << bits) if wrapped >> (bits - 1) else wrapped)


def constant(value: bool | int | float, register: str, lanes: int) -> str:
    """Spell a number in every lane of the register type."""
    # Not cached: 0.0 and -0.0 are equal, and would be one key.
    return splat(register, literal(value, register), lanes)
