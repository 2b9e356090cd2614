"""Floor division and remainder by constants, as they are written in terms of truncated ones.

    x // d   is   select(sign(x) != sign(d) and rem(x, d) != 0, div(x, d) - 1, div(x, d))
    x % d    is   select((rem(x, d) < 0) != (d < 0) and rem(x, d) != 0, rem(x, d) + d, rem(x, d))

For d > 0 both conditions say that the remainder is negative, and for powers of two the whole is a
shift, or a mask.
"""

from __future__ import annotations

from typing import Any

from tapeless.kernel.ir import Const, Op, Scalar

__all__ = ["negative_remainder", "shift_or_mask"]


def negative_remainder(
    nodes: Any,
    x: Scalar,
    y: Scalar,
) -> Scalar | None:
    """Return `r < 0` for a conjunction that says it of a remainder r = rem(a, d), d > 0; or None.

    One part is r != 0, and the other r < 0, or sign(a) != 1.
    """
    for nonzero, negative in ((x, y), (y, x)):
        remainder = _remainder(_compared(nonzero, "ne", 0))
        if remainder is None:
            continue
        if _compared(negative, "lt", 0) is remainder:
            return negative
        sign = _compared(negative, "ne", 1)
        if isinstance(sign, Op) and sign.name == "sign" and sign.args[0] is remainder.args[0]:
            return nodes.lt(remainder, 0)
    return None


def shift_or_mask(
    nodes: Any,
    condition: Scalar,
    x: Scalar,
    y: Scalar,
) -> Scalar | None:
    """Return a floor division or remainder by a power of two as one operation; None if it is none.

    That is a choice, by whether r = rem(a, d) is negative, of r + d or r, or of q - 1 or q, where
    q = div(a, d).
    """
    remainder = _remainder(_compared(condition, "lt", 0))
    if remainder is None:
        return None
    number, divisor = remainder.args
    if not isinstance(divisor, Const):
        return None
    d = int(divisor.value)
    if d & (d - 1):
        return None
    if y is remainder and x is nodes.add(remainder, d):
        return nodes.and_(number, d - 1)
    quotient = nodes.div(number, d)
    if y is quotient and x is nodes.sub(quotient, 1):
        return nodes.shift_right_arithmetic(number, d.bit_length() - 1)
    return None


def _compared(x: Scalar, name: str, value: int) -> Scalar | None:
    """Return what a comparison compares with a number, if x is one; else None."""
    if not (isinstance(x, Op) and x.name == name and isinstance(x.args[1], Const)):
        return None
    return x.args[0] if x.args[1].value == value else None


def _remainder(x: Scalar | None) -> Op | None:
    """Return x if it is the remainder of a signed division by a positive constant; else None."""
    if not (isinstance(x, Op) and x.name == "rem" and x.dtype.kind == "i"):
        return None
    divisor = x.args[1]
    return x if isinstance(divisor, Const) and divisor.value > 0 else None
