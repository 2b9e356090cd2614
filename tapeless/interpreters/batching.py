"""`jax.interpreters.batching`: batching rules for primitives of libraries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapeless.core.trace import Value
from tapeless.extend.rules import (
    Primitive,
    axis_primitive_batchers,
    fancy_primitive_batchers,
    primitive_batchers,
)
from tapeless.prims.common import batch_dim_to, move_dim, shape_of
from tapeless.util.names import close_module

__all__ = [
    "axis_primitive_batchers",
    "bdim_at_front",
    "broadcast",
    "defbroadcasting",
    "defreducer",
    "defvectorized",
    "fancy_primitive_batchers",
    "primitive_batchers",
]


def broadcast(x: Value, sz: int, axis: int, mesh_axis: Any = None) -> Value:
    """Return `x` repeated `sz` times along a new axis.

    >>> import numpy as np
    >>> broadcast(np.arange(2), 3, 0).shape
    (3, 2)
    """
    return batch_dim_to(x, None, axis, sz)


def bdim_at_front(x: Value, bdim: int | None, size: int, mesh_axis: Any = None) -> Value:
    """Return `x` with its mapped axis in front; one that has none is repeated."""
    return batch_dim_to(x, bdim, 0, size)


def defvectorized(prim: Primitive) -> None:
    """Say that an operation of operands of one shape acts on each element alone."""

    def rule(args: Sequence[Value], dims: Sequence[int | None], **params: Any) -> tuple:
        """Bind the mapped operands, whose mapped axes are the same."""
        if len(set(dims)) > 1:
            raise NotImplementedError(
                f"the mapped axes of {prim}'s operands are {tuple(dims)}, and defvectorized wants "
                f"equal ones; use defbroadcasting"
            )
        return _placed(prim, prim.bind(*args, **params), dims[0])

    primitive_batchers[prim] = rule


def defbroadcasting(prim: Primitive) -> None:
    """Say that an operation acts on each element alone, and stretches axes of extent 1."""

    def rule(args: Sequence[Value], dims: Sequence[int | None], **params: Any) -> tuple:
        """Bring the mapped axes to the front, and give all operands as many axes."""
        ranks = [len(shape_of(x)) - (dim is not None) for x, dim in zip(args, dims, strict=True)]
        aligned = [
            _aligned(x, dim, max(ranks) - rank)
            for x, dim, rank in zip(args, dims, ranks, strict=True)
        ]
        return _placed(prim, prim.bind(*aligned, **params), 0)

    primitive_batchers[prim] = rule


def defreducer(prim: Primitive) -> None:
    """Say that an operation reduces its one operand over the parameter `axes`."""

    def rule(
        args: Sequence[Value], dims: Sequence[int], *, axes: Sequence[int], **params: Any
    ) -> tuple:
        """Reduce the same axes of each row."""
        (x,), (dim,) = args, dims
        moved = tuple(axis + (axis >= dim) for axis in axes)
        out = prim.bind(x, axes=moved, **params)
        return _placed(prim, out, dim - sum(axis < dim for axis in moved))

    primitive_batchers[prim] = rule


def _aligned(x: Value, dim: int | None, missing: int) -> Value:
    """Return a value with its mapped axis in front, or one of extent 1, and all other axes."""
    if dim is None:
        return x if not shape_of(x) else batch_dim_to(x, None, 0, 1)
    front = move_dim(x, dim, 0)
    for _ in range(missing):
        front = batch_dim_to(front, None, 1, 1)
    return front


def _placed(prim: Primitive, out: Any, dim: int | None) -> tuple:
    """Return results and their mapped axis."""
    return (out, [dim] * len(out)) if prim.multiple_results else (out, dim)


close_module("jax.interpreters.batching", globals())
