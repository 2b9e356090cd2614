"""Comparisons in a total order of floating-point numbers.

    -nan < -inf < ... < -0.0 < 0.0 < ... < inf < nan

Numbers are equal if their bits are.  Read as integers, the bits of positive numbers are in order
already; where the sign is set, all other bits are inverted.  Integers are in their own order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from tapeless import dtypes
from tapeless.core.trace import Value
from tapeless.prims.bitwise import bitwise_and, bitwise_xor, shift_right_arithmetic
from tapeless.prims.common import Avals, dtype_of
from tapeless.prims.compare import Comparison, eq, le, lt
from tapeless.prims.convert import bitcast_convert_type

__all__ = ["eq_to_p", "le_to_p", "lt_to_p", "rank", "rank_numpy"]


def rank(x: Value) -> Value:
    """Return signed integers in the order of floats; all else as it is."""
    dtype = dtype_of(x)
    if not dtypes.issubdtype(dtype, np.floating):
        return x
    bits = dtypes.itemsize_bits(dtype)
    signed = np.dtype(f"int{bits}")
    number = bitcast_convert_type(x, signed)
    is_negative = shift_right_arithmetic(number, signed.type(bits - 1))
    return bitwise_xor(number, bitwise_and(is_negative, signed.type(dtypes.iinfo(signed).max)))


def rank_numpy(x: np.ndarray) -> np.ndarray:
    """Return the integers of `rank` with NumPy."""
    if not dtypes.issubdtype(x.dtype, np.floating):
        return x
    number = np.ascontiguousarray(x).view(f"int{8 * x.dtype.itemsize}")
    return np.where(number < 0, number ^ np.iinfo(number.dtype).max, number)


class TotalComparison(Comparison):
    """A test in the total order; `plain` tests integers."""

    plain: ClassVar[Callable[[Value, Value], Value]]
    numpy_test: ClassVar[np.ufunc]

    def decompose(self, *args: Value, **params: Any) -> tuple:
        """Test the ranks."""
        x, y = map(rank, args)
        return (type(self).plain(x, y),)

    def hlo(self, b: Any, args: Any, outs: Avals, **params: Any) -> tuple:
        """Leave it to `decompose`."""
        return NotImplemented

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Test with NumPy."""
        return (self.numpy_test(*map(rank_numpy, arrays)),)


class EqTo(TotalComparison):
    """x == y."""

    name = "eq_to"
    plain = staticmethod(eq)
    numpy_test = np.equal


class LeTo(TotalComparison):
    """x <= y."""

    name = "le_to"
    plain = staticmethod(le)
    numpy_test = np.less_equal


class LtTo(TotalComparison):
    """x < y."""

    name = "lt_to"
    plain = staticmethod(lt)
    numpy_test = np.less


eq_to_p = EqTo()
le_to_p = LeTo()
lt_to_p = LtTo()
