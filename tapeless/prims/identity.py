"""Operations that change no element: copy, and stop_gradient, which has no tangent.

In loops they cost nothing, for the result is the operand.  In programs they stay: a copy is an
array of its own, which may be donated, and what is behind a stop_gradient is a constant for
derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapeless.core.aval import ShapedArray
from tapeless.core.primitive import Values
from tapeless.core.trace import Axis, Tracer, Value
from tapeless.prims.common import Avals, Dims, Tangents, no_tangents
from tapeless.prims.rearrangement import Rearrangement, Shape

__all__ = ["Identity", "copy", "copy_p", "stop_gradient_p"]


class Identity(Rearrangement):
    """The operand itself."""

    def out_shape(self, shape: Shape, /, **params: Any) -> Shape:
        """Return the shape."""
        return shape

    def back(self, ct: Value, aval: ShapedArray, **params: Any) -> Value:
        """Apply the identity to the cotangent."""
        return self.bind(ct, **params)[0]

    def batch(self, axis: Axis, args: Values, dims: Dims, **params: Any) -> tuple:
        """Leave the batch axis where it is."""
        return self.bind(*args, **params), tuple(dims)

    def lower(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Do nothing."""
        return tuple(args)

    def hlo(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Write nothing."""
        return tuple(args)

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Copy with NumPy."""
        return (arrays[0].copy(),)


class Copy(Identity):
    """A new array with the same elements."""

    name = "copy"


copy_p = Copy()


def copy(x: Value) -> Value:
    """Return a copy of `x`."""
    return copy_p.bind(x)[0]


class StopGradient(Identity):
    """The operand as a constant for differentiation."""

    name = "stop_gradient"

    def bind(
        self,
        *args: Value,
        **params: Any,
    ) -> tuple[Value, ...]:
        """Apply it to a primal, which outlives the trace of its tangent: rules may capture it."""
        (x,) = args
        if isinstance(x, Tracer):
            x = x.constant()
        return super().bind(x, **params)

    def jvp(self, primals: Values, tangents: Tangents, **params: Any) -> tuple:
        """Return a zero tangent."""
        (out,) = self.bind(*primals)
        return (out,), no_tangents((out,))


stop_gradient_p = StopGradient()
