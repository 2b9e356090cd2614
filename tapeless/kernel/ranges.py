"""Ranges of integers: what is known of the value of a scalar, and what follows from it.

A loop variable is below its extent, a clamped number lies between its bounds, a remainder below the
divisor. From the ranges of its operands follows the range of an operation that does not wrap round,
and from ranges the outcome of comparisons, and which clamps do nothing:

    for i < 126:   select(i + 1 < 0, i + 129, i + 1)   is   i + 1
                   min(i, 67) >= 4                     is   i >= 4

An operation for which nothing is known has the range of its dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from tapeless.kernel.fold import is_integer
from tapeless.kernel.ir import Affine, Const, Op, Scalar

__all__ = ["Range", "dtype_range", "outcome", "range_of", "unclamped"]

Range = tuple[int, int]


@cache
def dtype_range(dtype: np.dtype) -> Range | None:
    """Return the least and the greatest value of an integer dtype, or of bool; else None."""
    if dtype == np.bool_:
        return 0, 1
    if not is_integer(dtype) or dtype.kind not in "iu":
        return None
    bits = 8 * dtype.itemsize
    if dtype.kind == "u":
        return 0, (1 << bits) - 1
    half = 1 << (bits - 1)
    return -half, half - 1


def range_of(name: str, operands: Sequence[Range], dtype: np.dtype) -> Range | None:
    """Return the range of an operation of a dtype on integers, or None if it is the dtype's."""
    whole = dtype_range(dtype)
    rule = _RANGES.get(name)
    if rule is None or whole is None:
        return None
    found = rule(*operands)
    if found is None or found == whole:
        return None
    low, high = found
    return found if whole[0] <= low and high <= whole[1] else None


def outcome(name: str, x: Range, y: Range) -> bool | None:
    """Return what a comparison of numbers in two ranges gives, or None if that is not known."""
    if name in _MIRRORED:
        return outcome(_MIRRORED[name], y, x)
    low, high = x
    least, most = y
    if name == "lt":
        return _decided(high < least, low >= most)
    if name == "le":
        return _decided(high <= least, low > most)
    if high < least or most < low:
        return name == "ne"
    return None


def unclamped(name: str, x: Scalar, bound: Scalar) -> tuple[Scalar, int] | None:
    """Return what is compared with which number in place of a clamped x, if no clamp matters.

    `min(a, c) >= d` asks both a and c, and c is known; `max(a, c) >= d` asks one of them.
    """
    if not isinstance(bound, Const):
        return None
    number = int(bound.value)
    if isinstance(x, Affine) and len(x.terms) == 1 and x.terms[0][1] == 1:
        x, number = x.terms[0][0], number - x.const
    if not (isinstance(x, Op) and x.name in ("min", "max") and isinstance(x.args[1], Const)):
        return None
    limit = int(x.args[1].value)
    asks_both = (x.name == "min") == (name in ("gt", "ge"))
    is_ignored = outcome(name, (limit, limit), (number, number)) == asks_both
    return (x.args[0], number) if is_ignored else None


def _decided(always: bool, never: bool) -> bool | None:
    """Return True, False, or None for what is neither."""
    if always:
        return True
    return False if never else None


_MIRRORED = {"gt": "lt", "ge": "le"}


def _add(x: Range, y: Range) -> Range:
    """The range of a sum."""
    return x[0] + y[0], x[1] + y[1]


def _neg(x: Range) -> Range:
    """The range of the negative."""
    low, high = x
    return -high, -low


def _sub(x: Range, y: Range) -> Range:
    """The range of a difference."""
    return _add(x, _neg(y))


def _mul(x: Range, y: Range) -> Range:
    """The range of a product."""
    ends = [a * b for a in x for b in y]
    return min(ends), max(ends)


def _div(x: Range, y: Range) -> Range | None:
    """The range of a quotient, rounded to zero, by a positive number."""
    divisor = _positive(y)
    if divisor is None:
        return None
    low, high = (_truncated(end, divisor) for end in x)
    return low, high


def _truncated(x: int, divisor: int) -> int:
    """The quotient, rounded to zero."""
    size = abs(x) // divisor
    return size if x >= 0 else -size


def _rem(x: Range, y: Range) -> Range | None:
    """The range of a remainder, with the sign of x, by a positive number."""
    divisor = _positive(y)
    if divisor is None:
        return None
    low = max(x[0], 1 - divisor)
    high = min(x[1], divisor - 1)
    return min(low, 0), max(high, 0)


def _positive(x: Range) -> int | None:
    """Return the positive number that is all of a range, or None."""
    low, high = x
    return low if low == high and low > 0 else None


def _min(x: Range, y: Range) -> Range:
    """The range of the smaller one."""
    return min(x[0], y[0]), min(x[1], y[1])


def _max(x: Range, y: Range) -> Range:
    """The range of the larger one."""
    return max(x[0], y[0]), max(x[1], y[1])


def _and(x: Range, y: Range) -> Range | None:
    """The range of x & y: no bit is there that a natural number among them lacks."""
    tops = [high for low, high in (x, y) if low >= 0]
    return (0, min(tops)) if tops else None


def _shifted(x: Range, y: Range) -> Range | None:
    """The range of a natural number whose bits move right."""
    low, high = x
    count, most = y
    if count != most or low < 0:
        return None
    return (low >> count, high >> count) if 0 <= count < 64 else None


def _abs(x: Range) -> Range:
    """The range of a magnitude."""
    least, most = sorted(map(abs, x))
    crosses = x[0] <= 0 <= x[1]
    return 0 if crosses else least, most


def _sign(x: Range) -> Range:
    """The range of a sign."""
    low, high = (max(-1, min(1, end)) for end in x)
    return low, high


def _either(_: Range, x: Range, y: Range) -> Range:
    """The range of a choice."""
    return min(x[0], y[0]), max(x[1], y[1])


def _same(x: Range) -> Range:
    """The range of a number that is kept."""
    return x


_RANGES: dict[str, Callable[..., Range | None]] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "rem": _rem,
    "min": _min,
    "max": _max,
    "and": _and,
    "shift_right_logical": _shifted,
    "shift_right_arithmetic": _shifted,
    "sign": _sign,
    "neg": _neg,
    "abs": _abs,
    "select": _either,
    "rare": _either,
    "convert": _same,
}
