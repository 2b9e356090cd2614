"""Constant folding for scalar operations, and the dtype classes that the node constructors need.

A fold must give bit for bit what the compiled operation gives, on every machine.  So only
operations that IEEE 754 or two's complement define exactly are here, a NaN is never folded (its
payload is the machine's affair), and the transcendental functions are left alone.
"""

from __future__ import annotations

import ctypes
import math
import operator
from collections.abc import Callable
from functools import cache

import numpy as np

from tapeless.kernel.ir import Const, Scalar

__all__ = ["fold_constants", "is_floating", "is_integer", "round_constant"]

Number = bool | int | float

_COMPARE: dict[str, Callable[[Number, Number], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
_INTEGER: dict[str, Callable[..., int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "neg": operator.neg,
    "abs": abs,
    "sign": lambda x: (x > 0) - (x < 0),
    "min": min,
    "max": max,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "not": operator.invert,
}
_FLOATING: dict[str, Callable[..., float]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "neg": operator.neg,
    "abs": operator.abs,
    "sqrt": np.sqrt,
    "floor": np.floor,
}
_LOGICAL: dict[str, Callable[..., bool]] = {
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "not": operator.not_,
}


# The name of a dtype is put together anew at each look.
_FLOAT64, _FLOAT32, _BOOL = np.dtype("float64"), np.dtype("float32"), np.dtype("bool")


@cache
def is_integer(dtype: np.dtype) -> bool:
    """Tell whether `dtype` is a signed or unsigned integer, of any width."""
    return dtype.name.startswith(("int", "uint"))


@cache
def is_floating(dtype: np.dtype) -> bool:
    """Tell whether `dtype` is a real floating-point dtype, of any width."""
    return dtype.name.startswith(("float", "bfloat"))


def round_constant(value: Number, dtype: np.dtype) -> Number:
    """Return the Python number that `value` is in `dtype`."""
    if dtype == _FLOAT64:
        return float(value)
    if dtype == _FLOAT32:
        return ctypes.c_float(value).value
    if dtype == _BOOL:
        return bool(value)
    if is_integer(dtype):
        return int(dtype.type(value))
    with np.errstate(all="ignore"):
        return float(dtype.type(value))


def fold_constants(name: str, operands: tuple[Scalar, ...], dtype: np.dtype) -> Number | None:
    """Return the value of the operation if all operands are constants and it folds, else None."""
    values = [operand.value for operand in operands if isinstance(operand, Const)]
    if len(values) < len(operands):
        return None
    source = operands[0].dtype
    if any(value != value for value in values):
        return None
    if name in _COMPARE:
        return _COMPARE[name](*values)
    if name == "convert":
        return _fold_convert(values[0], source, dtype)
    if source.name == "bool":
        return _LOGICAL[name](*values) if name in _LOGICAL else None
    if is_integer(source):
        return _fold_integer(name, [int(value) for value in values], source)
    return _fold_floating(name, values, source)


def _fold_integer(name: str, values: list[int], dtype: np.dtype) -> int | None:
    """Fold an integer operation with the wrap-around of its width."""
    if name in ("div", "rem"):
        left, right = values
        if left < 0 or right <= 0:
            return None
        return left // right if name == "div" else left % right
    if name not in _INTEGER:
        return None
    return _wrap(_INTEGER[name](*values), dtype)


def _wrap(value: int, dtype: np.dtype) -> int | None:
    """Reduce a Python integer to the range of `dtype`; None for a packed dtype."""
    if dtype.name not in np.sctypeDict:
        return None
    bits = 8 * dtype.itemsize
    value &= (1 << bits) - 1
    if dtype.kind == "i" and value >> (bits - 1):
        value -= 1 << bits
    return value


def _fold_floating(name: str, values: list[float], dtype: np.dtype) -> float | None:
    """Fold a floating-point operation in its own precision."""
    if name not in _FLOATING or dtype.name not in ("float32", "float64"):
        return None
    with np.errstate(all="ignore"):
        value = float(_FLOATING[name](*(dtype.type(value) for value in values)))
    return None if math.isnan(value) else value


def _fold_convert(value: Number, source: np.dtype, dtype: np.dtype) -> Number | None:
    """Fold a conversion that keeps the value."""
    if dtype.name == "bool":
        return value != 0
    if is_integer(dtype):
        if not math.isfinite(value) or value != int(value) or _wrap(int(value), dtype) != value:
            return None
        return int(value)
    if dtype.name not in ("float32", "float64") or abs(value) > 2**53 and is_integer(source):
        return None
    with np.errstate(all="ignore"):
        return float(dtype.type(value))
