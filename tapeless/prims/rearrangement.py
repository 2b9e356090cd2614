"""What operations that move elements share: a base class, and how users' arguments are read.

A `Rearrangement` has one operand and one result, whose elements are the operand's.  All are linear.
A subclass says with `source` where the element at an index of the result comes from; its `lower`
is then an index expression that consumers pull: nothing moves in memory.

    out_shape   checks the operand's shape, and gives the result's
    back        the way of a cotangent
    source      index of the result -> index of the operand

Axes and shapes that users give are read by `axis_argument` and `shape_argument`; lists of integers
are written in StableHLO by `array_text` and `pairs_text`.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from tapeless.core.aval import ShapedArray
from tapeless.core.linear import Zero
from tapeless.core.primitive import Primitive, Values
from tapeless.core.trace import Value
from tapeless.prims.common import Avals, Tangents, no_tangents

__all__ = ["Rearrangement", "Shape", "array_text", "axis_argument", "pairs_text", "shape_argument"]

Shape = tuple[int, ...]


class Rearrangement(Primitive):
    """An operation of one operand and one result whose elements are the operand's, moved."""

    types_follow = True

    def out_shape(self, shape: Shape, /, **params: Any) -> Shape:
        """Check the operand's shape and return the result's."""
        raise NotImplementedError

    def abstract(self, *avals: ShapedArray, **params: Any) -> Avals:
        """Change the shape only."""
        (x,) = avals
        return (ShapedArray(self.out_shape(x.shape, **params), x.dtype, x.weak_type),)

    def jvp(self, primals: Values, tangents: Tangents, **params: Any) -> tuple:
        """Move the tangents alike."""
        (out,) = self.bind(*primals, **params)
        if isinstance(tangents[0], Zero):
            return (out,), no_tangents((out,))
        return (out,), self.bind(tangents[0], **params)

    def transpose(self, cotangents: Tangents, args: Sequence, **params: Any) -> tuple:
        """Move the cotangents back."""
        (ct,), (x,) = cotangents, args
        if isinstance(ct, Zero):
            return (Zero(x.aval),)
        return (self.back(ct, x.aval, **params),)

    def back(self, ct: Value, aval: ShapedArray, **params: Any) -> Value:
        """Return the cotangent of the operand of type `aval`."""
        raise NotImplementedError

    def source(self, b: Any, index: tuple, shape: Shape, /, **params: Any) -> tuple:
        """Return the index in an operand of this shape of the result's element at `index`."""
        raise NotImplementedError

    def lower(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Pull the operand's element from where it comes from."""
        (x,) = args
        return (b.virtual(outs[0], lambda index: x.at(*self.source(b, index, x.shape, **params))),)


def array_text(numbers: Sequence[int]) -> str:
    """Return the StableHLO attribute of a list of integers."""
    return f"array<i64: {', '.join(map(str, numbers))}>" if len(numbers) else "array<i64>"


def pairs_text(pairs: Sequence[Sequence[int]]) -> str:
    """Return the StableHLO attribute of a list of pairs; one number for all if they are equal."""
    numbers = [[int(low), int(high)] for low, high in pairs]
    different = {number for pair in numbers for number in pair}
    text = numbers if len(different) > 1 else "".join(map(str, different))
    return f"dense<{text}> : tensor<{len(numbers)}x2xi64>"


def axis_argument(axis: int, rank: int) -> int:
    """Return a user's axis counted from the front, or raise ValueError."""
    axis = operator.index(axis)
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {rank}")
    return axis % rank


def shape_argument(
    shape: Sequence[int] | int,
    complaint: str = "broadcast_in_dim shape must have every element be nonnegative",
) -> Shape:
    """Return a user's shape, or a vector's length, as a tuple of integers, or raise TypeError."""
    try:
        sizes = tuple(map(operator.index, (shape,) if isinstance(shape, int) else shape))
    except TypeError:
        raise TypeError(
            f"Shapes must be 1D sequences of concrete values of integer type, got {shape}."
        ) from None
    if sizes and min(sizes) < 0:
        raise TypeError(f"{complaint}, got {sizes}.")
    return sizes
