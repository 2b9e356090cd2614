"""Bits of integers: and, or, xor, shifts, and the upper half of a product.

    bitwise_and, bitwise_or, bitwise_xor      of truth values, the logical operations
    shift_left                                zeros come from the right
    shift_right_arithmetic, _logical          copies of the sign bit, or zeros, come from the left
    mulhi                                     the bits of x * y above the width

Operands have one dtype; nothing is promoted.  Shifts are total: a count outside 0 .. width - 1, as
an unsigned number, shifts everything out, and gives 0, or the sign.  None of them has a tangent.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapeless.core.trace import Value
from tapeless.prims.common import BITS, INTEGER, Elementwise

__all__ = [
    "and_p",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "mulhi",
    "mulhi_p",
    "or_p",
    "shift_left",
    "shift_left_p",
    "shift_right_arithmetic",
    "shift_right_arithmetic_p",
    "shift_right_logical",
    "shift_right_logical_p",
    "xor_p",
]


class And(Elementwise):
    """x & y."""

    name = "and"
    accepts = (BITS, BITS)
    partials = (None, None)
    kernel_name = "and_"
    hlo_name = "stablehlo.and"
    numpy = np.bitwise_and


and_p = And()


def bitwise_and(x: Value, y: Value) -> Value:
    """Return x & y, elementwise.

    >>> lax.bitwise_and(jnp.array([6, 5]), 3)
    Array([2, 1], dtype=int32)
    """
    return and_p.bind(x, y)[0]


class Or(Elementwise):
    """x | y."""

    name = "or"
    accepts = (BITS, BITS)
    partials = (None, None)
    kernel_name = "or_"
    hlo_name = "stablehlo.or"
    numpy = np.bitwise_or


or_p = Or()


def bitwise_or(x: Value, y: Value) -> Value:
    """Return x | y, elementwise.

    >>> lax.bitwise_or(jnp.array([6, 5]), 3)
    Array([7, 7], dtype=int32)
    """
    return or_p.bind(x, y)[0]


class Xor(Elementwise):
    """x ^ y."""

    name = "xor"
    accepts = (BITS, BITS)
    partials = (None, None)
    kernel_name = "xor"
    hlo_name = "stablehlo.xor"
    numpy = np.bitwise_xor


xor_p = Xor()


def bitwise_xor(x: Value, y: Value) -> Value:
    """Return x ^ y, elementwise.

    >>> lax.bitwise_xor(jnp.array([6, 5]), 3)
    Array([5, 6], dtype=int32)
    """
    return xor_p.bind(x, y)[0]


class Shift(Elementwise):
    """A shift of x by y bits; counts outside 0 .. width - 1 shift everything out."""

    accepts = (INTEGER, INTEGER)
    partials = (None, None)

    def shifted(self, x: int, count: int, bits: int) -> int:
        """Return one shifted integer, before it is reduced to `bits` bits."""
        raise NotImplementedError

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Shift Python integers."""
        x, count = np.broadcast_arrays(*arrays)
        bits = x.dtype.itemsize * 8
        mask = (1 << bits) - 1
        word = np.dtype(f"uint{bits}")
        pairs = zip(x.ravel().tolist(), count.astype(word).ravel().tolist(), strict=True)
        out = [self.shifted(value, by, bits) & mask for value, by in pairs]
        return (np.array(out, word).astype(x.dtype).reshape(x.shape),)


class ShiftLeft(Shift):
    """x << y."""

    name = "shift_left"
    kernel_name = "shift_left"
    hlo_name = "stablehlo.shift_left"

    def shifted(self, x: int, count: int, bits: int) -> int:
        """Multiply by a power of two."""
        return x << count if count < bits else 0


shift_left_p = ShiftLeft()


def shift_left(x: Value, y: Value) -> Value:
    """Return x << y, elementwise.

    >>> lax.shift_left(jnp.array([1, 3]), jnp.array([4, 32]))
    Array([16,  0], dtype=int32)
    """
    return shift_left_p.bind(x, y)[0]


class ShiftRightArithmetic(Shift):
    """x >> y, filled with the sign bit."""

    name = "shift_right_arithmetic"
    kernel_name = "shift_right_arithmetic"
    hlo_name = "stablehlo.shift_right_arithmetic"

    def shifted(self, x: int, count: int, bits: int) -> int:
        """Divide the number that the bits mean with a sign."""
        signed = x - (1 << bits) if x >= 1 << (bits - 1) else x
        return signed >> (count if count < bits else bits)


shift_right_arithmetic_p = ShiftRightArithmetic()


def shift_right_arithmetic(x: Value, y: Value) -> Value:
    """Return x >> y, elementwise, filled with copies of the sign bit.

    >>> lax.shift_right_arithmetic(jnp.array([-8, 8]), 1)
    Array([-4,  4], dtype=int32)
    """
    return shift_right_arithmetic_p.bind(x, y)[0]


class ShiftRightLogical(Shift):
    """x >> y, filled with zeros."""

    name = "shift_right_logical"
    kernel_name = "shift_right_logical"
    hlo_name = "stablehlo.shift_right_logical"

    def shifted(self, x: int, count: int, bits: int) -> int:
        """Divide the number that the bits mean without a sign."""
        return (x & ((1 << bits) - 1)) >> count if count < bits else 0


shift_right_logical_p = ShiftRightLogical()


def shift_right_logical(x: Value, y: Value) -> Value:
    """Return x >> y, elementwise, filled with zeros.

    >>> lax.shift_right_logical(jnp.array([-8, 8]), 1)
    Array([2147483644,          4], dtype=int32)
    """
    return shift_right_logical_p.bind(x, y)[0]


class MulHi(Elementwise):
    """The upper half of the product of x and y in twice their width."""

    name = "mulhi"
    accepts = (INTEGER, INTEGER)
    partials = (None, None)
    kernel_name = "mulhi"
    hlo_name = "chlo.mulhi"

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Multiply Python integers."""
        x, y = np.broadcast_arrays(*arrays)
        bits = x.dtype.itemsize * 8
        pairs = zip(x.ravel().tolist(), y.ravel().tolist(), strict=True)
        out = np.array([(a * c) >> bits for a, c in pairs], object)
        return (out.astype(x.dtype).reshape(x.shape),)


mulhi_p = MulHi()


def mulhi(x: Value, y: Value, /) -> Value:
    """Return the upper half of the bits of x * y, elementwise.

    >>> lax.mulhi(jnp.array([2**30, -(2**30)]), 8)
    Array([ 2, -2], dtype=int32)
    """
    return mulhi_p.bind(x, y)[0]
