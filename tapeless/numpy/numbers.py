"""Python numbers beside arrays: the usual ones become scalars of a dtype at once.

Promotion knows all dtypes, modes and bounds, and takes its time for them. Most numbers in programs
are floats beside arrays of float32, or small integers, whose type nothing can change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import config
from tapeless.core.aval import ShapedArray
from tapeless.core.trace import Tracer, Value
from tapeless.runtime.array import Array

__all__ = ["number_beside", "usual_number", "with_numbers"]

_SIGNED = frozenset(map(np.dtype, "bhilq"))
_INTEGERS = _SIGNED | frozenset(map(np.dtype, "BHILQ"))
_WIDE_FLOATS = frozenset(map(np.dtype, "fd"))
_DOUBLE = frozenset(map(np.dtype, "dlqLQ"))  # an array from x64 mode is narrowed outside it
_LARGE = 3e38  # below the largest float32
_LEAST, _MOST = -(2**31), 2**31 - 1  # only 64-bit mode has other integers, whatever the array's


def usual_number(number: float, kind: type, dtype: Any) -> Any:
    """Return a Python number as a scalar of a dtype; None where that needs a closer look.

    kind: its type, float or int.
    """
    if kind is int and not _LEAST <= number <= _MOST:
        return None
    if dtype in _DOUBLE and not config.current.jax_enable_x64:
        return None
    if dtype in _WIDE_FLOATS:
        return dtype.type(number) if -_LARGE < number < _LARGE else None
    if kind is int and (0 <= number < 128 or (-128 <= number < 0 and dtype in _SIGNED)):
        return dtype.type(number) if dtype in _INTEGERS else None
    return None


def number_beside(number: float, kind: type, aval: ShapedArray) -> Any:
    """Return a Python number as a scalar of an array's dtype, where that changes nothing else."""
    return None if aval.weak_type else usual_number(number, kind, aval.dtype)


def with_numbers(args: Sequence[Any], allowed: frozenset) -> Sequence[Value] | None:
    """Return two operands, an array of an allowed dtype and a usual number, as one dtype's.

    None if they are something else.
    """
    if len(args) != 2:
        return None
    first, second = args
    swapped = type(first) is float or type(first) is int
    array, number = (second, first) if swapped else (first, second)
    kind = type(number)
    if kind is not float and kind is not int:
        return None
    aval = array.aval if type(array) is Array or isinstance(array, Tracer) else None
    if type(aval) is not ShapedArray or aval.dtype not in allowed:
        return None
    scalar = number_beside(number, kind, aval)
    if scalar is None:
        return None
    return (scalar, array) if swapped else (array, scalar)
