"""Two identities on pytrees: `stop_gradient` and `optimization_barrier`.

`optimization_barrier` returns its operands; nothing that uses the results is computed before all
operands are.  Its tangents and cotangents pass a barrier too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapeless.core.aval import ShapedArray
from tapeless.core.linear import Linear, Zero
from tapeless.core.primitive import Primitive, Values
from tapeless.core.trace import Axis
from tapeless.prims.common import (
    Avals,
    Dims,
    Tangents,
    instantiate,
    no_tangents,
)
from tapeless.prims.identity import stop_gradient_p
from tapeless.tree.flatten import tree_flatten, tree_unflatten

__all__ = ["optimization_barrier", "optimization_barrier_p", "stop_gradient"]


class OptimizationBarrier(Primitive):
    """x, y, ... -> x, y, ..."""

    name = "optimization_barrier"

    def abstract(self, *avals: ShapedArray, **params: Any) -> Avals:
        """Return the operands' types."""
        return avals

    def jvp(self, primals: Values, tangents: Tangents, **params: Any) -> tuple:
        """Pass the tangents through a barrier of their own."""
        outs = self.bind(*primals)
        there = [k for k, t in enumerate(tangents) if not isinstance(t, Zero)]
        passed = dict(zip(there, self.bind(*(tangents[k] for k in there)), strict=True))
        zeros = no_tangents(outs)
        return outs, tuple(passed.get(k, zero) for k, zero in enumerate(zeros))

    def transpose(self, cotangents: Tangents, args: Sequence, **params: Any) -> tuple:
        """Pass the cotangents through a barrier."""
        passed = self.bind(*map(instantiate, cotangents))
        pairs = zip(passed, args, strict=True)
        return tuple(ct if isinstance(x, Linear) else None for ct, x in pairs)

    def batch(self, axis: Axis, args: Values, dims: Dims, **params: Any) -> tuple:
        """Leave the batch axes where they are."""
        return self.bind(*args), tuple(dims)

    def lower(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Store every operand before going on."""
        return tuple(map(b.stored, args))

    def hlo(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Write one operation."""
        return b.op("stablehlo.optimization_barrier", args, outs, {})

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Copy with NumPy."""
        return tuple(x.copy() for x in arrays)


optimization_barrier_p = OptimizationBarrier()


def optimization_barrier(operand: Any, /) -> Any:
    """Return `operand`, a pytree, as values that nothing may be moved across.

    operand: (n,) -> (n,)

    >>> lax.optimization_barrier(jnp.array([1, 2]))
    Array([1, 2], dtype=int32)
    """
    leaves, structure = tree_flatten(operand)
    if not leaves:
        return operand
    passed = optimization_barrier_p.bind(*leaves)
    return tree_unflatten(structure, passed)


def stop_gradient(x: Any) -> Any:
    """Return `x`, a pytree, as a constant for differentiation: (...) -> (...).

    >>> jax.grad(lambda x: x * lax.stop_gradient(x))(3.0)
    Array(3., dtype=float32, weak_type=True)
    """
    leaves, structure = tree_flatten(x)
    constants = [stop_gradient_p.bind(leaf)[0] for leaf in leaves]
    return tree_unflatten(structure, constants)
