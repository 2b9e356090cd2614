"""The two placeholders that differentiation needs.

`Zero(aval)` is the tangent, or cotangent, that is known to be zero.  It is not an array and never
becomes one unless a rule asks (`prims.common.instantiate`).  Integer inputs have `Zero` tangents of
dtype float0.

`Linear(aval)` marks, in the arguments of a transpose rule, the inputs whose cotangents are wanted;
the other arguments are values.  A rule that uses one as a value finds out that its operation is not
linear there (`NotLinear`).
"""

from __future__ import annotations

from typing import NoReturn

from tapeless.core.aval import ShapedArray, register_value_type, typeof
from tapeless.util.records import record

__all__ = ["Linear", "NotLinear", "Zero", "zero_tangent"]


@record
class Zero:
    """A tangent or cotangent of the type `aval` that is zero everywhere."""

    aval: ShapedArray

    def __repr__(self) -> str:
        """Return `Zero(float32[3])`."""
        return f"Zero({self.aval.str_short(False)})"


@record
class Linear:
    """An argument of the type `aval` by which an equation is transposed."""

    aval: ShapedArray


class NotLinear(AssertionError):
    """A program that is to be transposed is not linear in the inputs that were said to be."""


def _used_as_value(x: Linear) -> NoReturn:
    """Refuse a placeholder as an operand; whoever knows the equation writes the message."""
    raise NotLinear


register_value_type(Linear, _used_as_value)


def zero_tangent(x: object) -> Zero:
    """Return the zero tangent of the value `x`."""
    return Zero(typeof(x).tangent())
