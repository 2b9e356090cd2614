"""Batching: carry a mapped axis inside every value.

The problem: apply a function to every row of a batch, at the cost of one pass over whole arrays.
The idea: a `BatchTracer` is an array together with the number of its mapped axis; to the function
it has the shape of one row.  An operation on such values runs the `batch` rule of its primitive
under the parent.  A value without a mapped axis is not wrapped, so that work which does not depend
on the batch is not done per row.

A mapped axis may have a name; the collectives of that name (`psum` and its kin) reduce over it, by
their `batch_collective` rule.

`batch_jaxpr_at` is the same for programs, `batch_jaxpr` with mapped axes in front.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tapeless.core import leaks
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.interpret import eval_jaxpr
from tapeless.core.jaxpr import Jaxpr
from tapeless.core.primitive import Primitive
from tapeless.core.source import current_source
from tapeless.core.trace import Axis, Tag, Trace, Tracer, Value, bind_axis, context, under
from tapeless.prims.common import batch_dim_to
from tapeless.transforms.stage import stage_jaxpr
from tapeless.util.cache import weak_identity_cache

__all__ = ["BatchTrace", "BatchTracer", "batch_flat", "batch_jaxpr", "batch_jaxpr_at"]

Mask = tuple[bool, ...]
Dim = int | None


class BatchTracer(Tracer):
    """An array with a mapped axis: the axis `dim` of `value` is the batch."""

    __slots__ = ("aval", "dim", "source", "value")

    def __init__(self, tag: Tag, value: Value, dim: int) -> None:
        """dim: 0 <= dim < ndim of `value`."""
        self.tag = tag
        self.value = value
        self.dim = dim
        self.source = current_source()
        whole = typeof(value)
        shape = whole.shape[:dim] + whole.shape[dim + 1 :]
        self.aval = whole.update(shape=shape)

    def __repr__(self) -> str:
        """Return JAX's form, `VmapTracer(aval=float32[], batched=float32[3])`."""
        return f"VmapTracer(aval={self.aval}, batched={typeof(self.value)})"

    def origin(self) -> str:
        """Say where it was made."""
        return f"This VmapTracer with object id {id(self)} was created on line:\n  {self.place()}"

    def place(self) -> str:
        """Return the line of the operation that made it."""
        return self.source.summary()


class BatchTrace(Trace):
    """Applies operations to whole batches by the `batch` rules."""

    __slots__ = ("axis",)

    def __init__(self, parent: Trace, axis: Axis, tag: Tag | None = None) -> None:
        """axis: size and name of the batch.  tag: that of a batch that goes on, if it does."""
        super().__init__(parent, tag or Tag("vmap"))
        self.axis = axis

    def process(self, prim: Primitive, args: tuple[Value, ...], params: dict) -> tuple[Value, ...]:
        """Run the batch rule, or plainly the operation when no operand is batched."""
        tag = self.tag
        batched = any(isinstance(arg, Tracer) and arg.tag is tag for arg in args)
        name = self.axis.name
        collective = name is not None and name in prim.axis_names(**params)
        if not (batched or collective or prim.joins_every_trace or prim.maps_functions):
            return self.parent.process(prim, args, params)
        pairs = [self.unwrap(arg) for arg in args]
        values = tuple([value for value, _ in pairs])
        dims = tuple([dim for _, dim in pairs])
        rule = prim.batch_collective if collective else prim.batch
        if prim.maps_functions:
            params = {**params, "tag": tag}
        outs, out_dims = under(self.parent, rule, self.axis, values, dims, **params)
        return tuple(map(self.wrap, outs, out_dims))

    def unwrap(self, x: Value) -> tuple[Value, Dim]:
        """Return the array and its mapped axis, None if it has none."""
        if isinstance(x, Tracer) and x.tag is self.tag:
            return x.value, x.dim
        return x, None

    def wrap(self, value: Value, dim: Dim) -> Value:
        """Return the tracer of a batched value; the value itself when it is not batched."""
        if dim is None:
            return value
        return BatchTracer(self.tag, value, dim)


def batch_flat(
    function: Callable[..., Sequence[Value]],
    axis: Axis,
    args: Sequence[Value],
    dims: Sequence[Dim],
    tag: Tag | None = None,
) -> tuple[list[Value], list[Dim]]:
    """Map a flat function over the axes `dims`; return whole results and their mapped axes.

    tag: of the batch that what the function captured may belong to, if that is still open.
    """
    trace = BatchTrace(context.trace, axis, tag if tag and tag.alive else None)
    trace.tag.function = trace.tag.function or function
    try:
        with bind_axis(axis):
            outs = under(trace, function, *map(trace.wrap, args, dims))
        pairs = [trace.unwrap(out) for out in outs]
    finally:
        trace.tag.alive = trace.tag is tag
    del outs
    leaks.check(trace.tag)
    values = [value for value, _ in pairs]
    out_dims = [dim for _, dim in pairs]
    return values, out_dims


@weak_identity_cache
def batch_jaxpr_at(
    jaxpr: Jaxpr, axis: Axis, dims: tuple[Dim, ...]
) -> tuple[Jaxpr, tuple[Dim, ...]]:
    """Return the program over batches, and the mapped axes of its results, wherever they come.

    dims: the mapped axis of each input.
    """
    found: list[Dim] = []

    def run(*args: Any) -> list[Value]:
        """Evaluate under a batch trace."""
        outs, out_dims = batch_flat(partial(eval_jaxpr, jaxpr, jaxpr.consts), axis, args, dims)
        found.extend(out_dims)
        return outs

    avals = [
        aval if dim is None else _with_axis(aval, dim, axis.size)
        for aval, dim in zip(jaxpr.in_avals, dims, strict=True)
    ]
    return stage_jaxpr(run, jaxpr, avals, "batch"), tuple(found)


def _with_axis(aval: ShapedArray, dim: int, size: int) -> ShapedArray:
    """Return the type of a batch."""
    return aval.update(shape=(*aval.shape[:dim], size, *aval.shape[dim:]))


@weak_identity_cache
def batch_jaxpr(jaxpr: Jaxpr, axis: Axis, batched: Mask, forced: Mask) -> tuple[Jaxpr, Mask]:
    """Return the program over batches, with mapped axes in front, and which outputs are batched.

    batched: per input, whether it has a mapped axis.  forced: per output, whether it must have one.
    """
    out_batched: list[bool] = []
    program = partial(eval_jaxpr, jaxpr, jaxpr.consts)

    def run(*args: Any) -> list[Value]:
        """Evaluate under a batch trace, mapped axes to the front."""
        in_dims = [0 if flag else None for flag in batched]
        outs, dims = batch_flat(program, axis, args, in_dims)
        fronted = []
        for out, dim, flag in zip(outs, dims, forced, strict=True):
            if flag or dim is not None:
                out = batch_dim_to(out, dim, 0, axis.size)
            fronted.append(out)
            out_batched.append(flag or dim is not None)
        return fronted

    avals = [
        _with_axis(aval, 0, axis.size) if flag else aval
        for aval, flag in zip(jaxpr.in_avals, batched, strict=True)
    ]
    return stage_jaxpr(run, jaxpr, avals, "batch"), tuple(out_batched)
