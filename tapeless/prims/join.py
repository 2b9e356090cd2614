"""Several arrays into one, and one into several: concatenate and split, stack and unstack.

concatenate   (2, 3), (2, 4) -> (2, 7)      along axis 1
split         (2, 7) -> (2, 3), (2, 4)      its transpose
stack         (3,), (3,) -> (2, 3)          along a new axis 0
unstack       (2, 3) -> (3,), (3,)          its transpose
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.linear import Linear, Zero
from tapeless.core.primitive import Primitive, Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.common import (
    Avals,
    Dims,
    Tangents,
    inserted,
    instantiate,
    move_dim,
    no_tangents,
    removed,
    replaced,
    shape_of,
    zero_cotangents,
)
from tapeless.prims.rearrangement import axis_argument
from tapeless.prims.structural import broadcast, expand_dims, squeeze
from tapeless.util import lazy

__all__ = [
    "SELECTED_OPERANDS",
    "concatenate",
    "concatenate_p",
    "split",
    "split_p",
    "stack",
    "stack_p",
    "unstack",
    "unstack_p",
]

pieces = lazy.load("tapeless.kernel.pieces")


SELECTED_SIZE = 16  # up to this size a concatenation of short rows is not put into memory
SELECTED_OPERANDS = 8  # more are joined in memory: a chain of selections would nest too deep


class Joining(Primitive):
    """Linear in all operands together, with one result."""

    types_follow = True

    def jvp(self, primals: Values, tangents: Tangents, **params: Any) -> tuple:
        """Join the tangents."""
        (out,) = self.bind(*primals, **params)
        if all(isinstance(t, Zero) for t in tangents):
            return (out,), no_tangents((out,))
        return (out,), self.bind(*map(instantiate, tangents), **params)

    def parts(self, ct: Value, avals: Sequence, **params: Any) -> Values:
        """Take a cotangent of the result apart."""
        raise NotImplementedError

    def transpose(self, cotangents: Tangents, args: Sequence, **params: Any) -> tuple:
        """Give each operand its part."""
        (ct,) = cotangents
        if isinstance(ct, Zero):
            return zero_cotangents(args)
        avals = [x.aval if isinstance(x, Linear) else typeof(x) for x in args]
        parts = self.parts(ct, avals, **params)
        pairs = zip(parts, args, strict=True)
        return tuple(part if isinstance(x, Linear) else None for part, x in pairs)


class Parting(Primitive):
    """Linear, with one operand and several results."""

    types_follow = True

    def jvp(self, primals: Values, tangents: Tangents, **params: Any) -> tuple:
        """Take the tangent apart."""
        outs = self.bind(*primals, **params)
        if isinstance(tangents[0], Zero):
            return outs, no_tangents(outs)
        return outs, self.bind(tangents[0], **params)


class Concatenate(Joining):
    """The operands one after the other along the axis `dimension`."""

    name = "concatenate"

    def abstract(self, *avals: ShapedArray, **params: Any) -> Avals:
        """Check that the other extents agree; add up those of the axis."""
        dimension = params["dimension"]
        shapes = [aval.shape for aval in avals]
        listed = ", ".join(map(str, shapes))
        if len({len(shape) for shape in shapes}) > 1:
            raise TypeError(
                f"Cannot concatenate arrays with different numbers of dimensions: got {listed}."
            )
        if not 0 <= dimension < len(shapes[0]):
            raise TypeError(
                f"concatenate dimension out of bounds: dimension {dimension} for shapes {listed}."
            )
        rest = {shape[:dimension] + shape[dimension + 1 :] for shape in shapes}
        if len(rest) > 1:
            raise TypeError(
                "Cannot concatenate arrays with shapes that differ in dimensions other than the "
                f"one being concatenated: concatenating along dimension {dimension} for shapes "
                f"{listed}."
            )
        tip = (
            " (Tip: jnp.concatenate is a similar function that does automatic type promotion on "
            "inputs)."
        )
        _check_dtypes("concatenate", avals, tip)
        total = sum(shape[dimension] for shape in shapes)
        shape = replaced(shapes[0], dimension, total)
        weak = all(aval.weak_type for aval in avals)
        return (ShapedArray(shape, avals[0].dtype, weak),)

    def parts(self, ct: Value, avals: Sequence, **params: Any) -> Values:
        """Split."""
        dimension = params["dimension"]
        return split(ct, [aval.shape[dimension] for aval in avals], dimension)

    def batch(self, axis: Axis, args: Values, dims: Dims, /, **params: Any) -> tuple:
        """Put all batch axes in front."""
        rows = _rows(args, dims, axis.size)
        dimension = params["dimension"] + 1
        return self.bind(*rows, dimension=dimension), (0,)

    def lower(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Select by the index; write many operands, or short rows, side by side."""
        (out,), dimension = outs, params["dimension"]
        if len(args) > SELECTED_OPERANDS or _is_in_short_rows(out, dimension):
            return (_joined_in_memory(b, args, out, dimension),)
        filled = [x for x in args if x.shape[dimension]]
        parts = filled or list(args[:1])

        def pull(index: tuple) -> Any:
            """Return the element of the operand in whose range the index is."""
            position, start, result = index[dimension], 0, None
            for x in parts:
                extent = x.shape[dimension]
                local = b.iadd(position, -start)
                if len(parts) > 1:
                    local = b.max(b.min(local, extent - 1), 0)
                element = x.at(*replaced(index, dimension, local))
                if result is None:
                    result = element
                else:
                    reached = b.ge(b.affine(position), start)
                    result = b.select(reached, element, result)
                start += extent
            return result

        return (b.virtual(out, pull),)

    def hlo(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Write one operation."""
        attributes = {"dimension": f"{params['dimension']} : i64"}
        return b.op("stablehlo.concatenate", args, outs, attributes)

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Concatenate with NumPy."""
        return (np.concatenate(arrays, params["dimension"]),)


concatenate_p = Concatenate()


def concatenate(operands: Sequence[Value], dimension: int) -> Value:
    """Return the operands joined along the axis `dimension`: (n, m), (k, m) -> (n + k, m).

    >>> lax.concatenate([jnp.array([1, 2]), jnp.array([3])], 0)
    Array([1, 2, 3], dtype=int32)
    """
    if len(operands) == 0:
        raise ValueError("concatenate requires a non-empty sequences of arrays")
    if len(operands) == 1:
        return operands[0]
    return concatenate_p.bind(*operands, dimension=operator.index(dimension))[0]


class Split(Parting):
    """Consecutive parts of extents `sizes` along the axis `axis`."""

    name = "split"

    def abstract(self, *avals: ShapedArray, **params: Any) -> Avals:
        """Check that the sizes add up."""
        (x,), sizes, axis = avals, params["sizes"], params["axis"]
        if sum(sizes) != x.shape[axis]:
            raise ValueError(
                f"Sum of sizes {sum(sizes)} must be equal to dimension {axis} of the operand "
                f"shape {list(x.shape)}"
            )
        shapes = [replaced(x.shape, axis, int(size)) for size in sizes]
        return tuple(x.update(shape=shape) for shape in shapes)

    def transpose(self, cotangents: Tangents, args: Sequence, **params: Any) -> tuple:
        """Concatenate."""
        if all(isinstance(ct, Zero) for ct in cotangents):
            return (Zero(args[0].aval),)
        parts = list(map(instantiate, cotangents))
        return (concatenate(parts, params["axis"]),)

    def batch(self, axis: Axis, args: Values, dims: Dims, /, **params: Any) -> tuple:
        """Renumber the axis."""
        (dim,), split_axis = dims, params["axis"]
        moved = split_axis + (split_axis >= dim)
        outs = self.bind(*args, sizes=params["sizes"], axis=moved)
        return outs, (dim,) * len(outs)

    def lower(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Shift the index."""
        (x,), axis = args, params["axis"]
        values, start = [], 0
        for out, size in zip(outs, params["sizes"], strict=True):
            values.append(b.virtual(out, _shifted(b, x, axis, start)))
            start += int(size)
        return tuple(values)

    def hlo(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Write a slice for each part."""
        (x,), axis = args, params["axis"]
        values, start = [], 0
        for size in params["sizes"]:
            values.append(b.cut(x, axis, start, start + int(size)))
            start += int(size)
        return tuple(values)

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Split with NumPy."""
        ends = np.cumsum(params["sizes"])[:-1]
        parts = np.split(arrays[0], ends, params["axis"])
        return tuple(part.copy() for part in parts)


split_p = Split()


def split(operand: Value, sizes: Sequence[int], axis: int = 0) -> Sequence[Value]:
    """Return the list of consecutive parts of extents `sizes` along `axis`.

    Shapes: (n, m) -> (k, m) for each size k.

    >>> lax.split(jnp.arange(4), (1, 3))
    [Array([0], dtype=int32), Array([1, 2, 3], dtype=int32)]
    """
    rank = len(shape_of(operand))
    axis = axis_argument(axis, rank)
    for size in sizes:
        operator.index(size)
    sizes = tuple(sizes)
    parts = split_p.bind(operand, sizes=sizes, axis=axis)
    return list(parts)


class Stack(Joining):
    """The operands one after the other along a new axis `axis`."""

    name = "stack"

    def abstract(self, *avals: ShapedArray, **params: Any) -> Avals:
        """Check that the shapes agree."""
        axis, shape = params["axis"], avals[0].shape
        listed = ", ".join(str(aval.shape) for aval in avals)
        if any(aval.ndim != len(shape) for aval in avals):
            raise ValueError(
                f"Cannot stack arrays with different numbers of dimensions: got {listed}."
            )
        if any(aval.shape != shape for aval in avals):
            raise ValueError(f"All input arrays to stack must have the same shape, got {listed}.")
        _check_dtypes("stack", avals, "")
        weak = all(aval.weak_type for aval in avals)
        stacked = inserted(shape, axis, len(avals))
        return (ShapedArray(stacked, avals[0].dtype, weak),)

    def parts(self, ct: Value, avals: Sequence, **params: Any) -> Values:
        """Unstack."""
        return unstack(ct, params["axis"])

    def batch(self, axis: Axis, args: Values, dims: Dims, /, **params: Any) -> tuple:
        """Leave equal batch axes in place; else put them in front."""
        position = params["axis"]
        if len(set(dims)) == 1:
            (dim,) = set(dims)
            inner = position <= dim
            outer = not inner
            return self.bind(*args, axis=position + outer), (dim + inner,)
        rows = _rows(args, dims, axis.size)
        return self.bind(*rows, axis=position + 1), (0,)

    def lower(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Select by the index along the new axis."""
        axis = params["axis"]

        def pull(index: tuple) -> Any:
            """Return the element of the operand that the index names."""
            rest = removed(index, axis)
            result = args[0].at(*rest)
            for position, x in enumerate(args[1:], 1):
                reached = b.ge(b.affine(index[axis]), position)
                result = b.select(reached, x.at(*rest), result)
            return result

        if len(args) == 1:
            (x,) = args
            return (b.virtual(outs[0], lambda index: x.at(*removed(index, axis))),)
        if len(args) > SELECTED_OPERANDS:
            return NotImplemented
        return (b.virtual(outs[0], pull),)

    def decompose(self, *args: Value, **params: Any) -> tuple:
        """Insert the axis in each and concatenate."""
        axis = params["axis"]
        slices = [expand_dims(x, (axis,)) for x in args]
        return (concatenate(slices, axis),)

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Stack with NumPy."""
        return (np.stack(arrays, params["axis"]),)


stack_p = Stack()


def stack(operands: Sequence[Value], axis: int = 0) -> Value:
    """Return the operands joined along a new axis.

    operands: (n,) each, k of them -> (k, n) for axis 0

    >>> lax.stack([jnp.array([1, 2]), jnp.array([3, 4])])
    Array([[1, 2],
           [3, 4]], dtype=int32)
    """
    if len(operands) == 0:
        raise ValueError("stack requires at least one operand")
    axis = axis_argument(axis, len(shape_of(operands[0])) + 1)
    return stack_p.bind(*operands, axis=axis)[0]


class Unstack(Parting):
    """The slices along the axis `axis`, without it."""

    name = "unstack"

    def abstract(self, *avals: ShapedArray, **params: Any) -> Avals:
        """Return one type for each index of the axis."""
        (x,), axis = avals, params["axis"]
        shape = removed(x.shape, axis)
        return (x.update(shape=shape),) * x.shape[axis]

    def transpose(self, cotangents: Tangents, args: Sequence, **params: Any) -> tuple:
        """Stack."""
        if all(isinstance(ct, Zero) for ct in cotangents):
            return (Zero(args[0].aval),)
        slices = list(map(instantiate, cotangents))
        return (stack(slices, params["axis"]),)

    def batch(self, axis: Axis, args: Values, dims: Dims, /, **params: Any) -> tuple:
        """Renumber the axis; the batch axis moves up when it lay behind."""
        (dim,), position = dims, params["axis"]
        outs = self.bind(*args, axis=position + (position >= dim))
        return outs, (dim - (position < dim),) * len(outs)

    def lower(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Insert a constant in the index."""
        (x,), axis = args, params["axis"]

        def row(position: int) -> Any:
            """Return the virtual value of one slice."""
            out = outs[position]
            return b.virtual(out, lambda index: x.at(*inserted(index, axis, position)))

        return tuple(map(row, range(len(outs))))

    def decompose(self, *args: Value, **params: Any) -> tuple:
        """Split into slices of extent 1 and drop the axis."""
        (x,), axis = args, params["axis"]
        parts = split(x, (1,) * shape_of(x)[axis], axis)
        return tuple(squeeze(part, (axis,)) for part in parts)

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Index with NumPy."""
        slices = np.moveaxis(arrays[0], params["axis"], 0)
        return tuple(slices.copy())


unstack_p = Unstack()


def unstack(x: Value, axis: int = 0) -> tuple[Value, ...]:
    """Return the slices of `x` along `axis`, without that axis: (n, m) -> n arrays (m).

    >>> lax.unstack(jnp.array([[1, 2], [3, 4]]))
    (Array([1, 2], dtype=int32), Array([3, 4], dtype=int32))
    """
    axis = axis_argument(axis, len(shape_of(x)))
    return tuple(unstack_p.bind(x, axis=axis))


# Helpers


def _rows(args: Values, dims: Dims, size: int) -> list[Value]:
    """Put batch axes in front; repeat operands without one."""
    rows = []
    for x, dim in zip(args, dims, strict=True):
        row = broadcast(x, (size,)) if dim is None else move_dim(x, dim, 0)
        rows.append(row)
    return rows


def _is_in_short_rows(out: ShapedArray, dimension: int) -> bool:
    """Tell whether a result has rows, along the last axis, too short for pieces of a loop."""
    if out.size <= SELECTED_SIZE or math.prod(out.shape[dimension + 1 :]) > 1:
        return False
    return out.shape[dimension] < pieces.SHORTEST_AXIS


def _joined_in_memory(b: Any, args: Sequence, out: ShapedArray, dimension: int) -> Any:
    """Return a buffer into which the operands were copied one after the other."""
    buffer, start = b.buffer(out), 0
    for x in args:

        def copy(index: tuple, x: Any = x, start: int = start) -> None:
            """Store one element in its place."""
            place = b.iadd(index[dimension], start)
            target = replaced(index, dimension, place)
            b.store(buffer, target, x.at(*index))

        b.nest(x.shape, copy)
        start += x.shape[dimension]
    return buffer


def _shifted(b: Any, x: Any, axis: int, start: int) -> Any:
    """Return the pull that reads `x` from `start` on along `axis`."""

    def pull(index: tuple) -> Any:
        """Return the element `start` further on."""
        place = b.iadd(index[axis], start)
        source = replaced(index, axis, place)
        return x.at(*source)

    return pull


def _check_dtypes(name: str, avals: Sequence[ShapedArray], tip: str) -> None:
    """Raise TypeError, ending with `tip`, unless the operands have one dtype."""
    distinct = {aval.dtype for aval in avals}
    if len(distinct) > 1:
        got = ", ".join(dtypes.dtype_name(aval.dtype) for aval in avals)
        raise TypeError(f"lax.{name} requires arguments to have the same dtypes, got {got}.{tip}")
