"""The two placeholders that differentiation needs.

`Zero(aval)` is the tangent, or cotangent, that is known to be zero.  It is not an array and never
becomes one unless a rule asks (`prims.common.instantiate`).  Integer inputs have `Zero` tangents of
dtype float0.

`Linear(aval)` marks, in the arguments of a transpose rule, the inputs whose cotangents are wanted;
the other arguments are values.
"""

from __future__ import annotations

from dataclasses import dataclass

from tapeless.core.aval import ShapedArray, typeof

__all__ = ["Linear", "Zero", "zero_tangent"]


@dataclass(frozen=True, slots=True)
class Zero:
    """A tangent or cotangent of the type `aval` that is zero everywhere."""

    aval: ShapedArray

    def __repr__(self) -> str:
        """Return `Zero(float32[3])`."""
        return f"Zero({self.aval.str_short(False)})"


@dataclass(frozen=True, slots=True)
class Linear:
    """An argument of the type `aval` with respect to which an equation is transposed."""

    aval: ShapedArray


def zero_tangent(x: object) -> Zero:
    """Return the zero tangent of the value `x`."""
    return Zero(typeof(x).tangent())
