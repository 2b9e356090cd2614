"""Sorting along one axis, of several operands together.

    sort[dimension=0 num_keys=1]: (n, m), (n, m) -> (n, m), (n, m)    by the first operand's columns

Zeros of both signs are equal, NaNs are equal and last.  Complex numbers are ordered by their real
parts, then by their imaginary parts.  All sorts are stable.  The loops are in `prims/sortloops.py`,
where they are routines of the compiler in `prims/wordsort.py`, and those of narrow numbers in
`prims/narrowsort.py`.

The tangents follow their elements: they are gathered by the sorted positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.linear import Zero
from tapeless.core.primitive import Primitive, Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.common import inserted, move_dim, shape_of
from tapeless.prims.create import broadcasted_iota
from tapeless.prims.gather import gather
from tapeless.prims.indexing import GatherDimensionNumbers
from tapeless.prims.rules import canonical_axis, is_complex, require_order
from tapeless.prims.slice import slice_in_dim
from tapeless.prims.structural import broadcast_in_dim
from tapeless.util import lazy

__all__ = ["follow", "sort", "sort_key_val", "sort_p"]

narrowsort = lazy.load("tapeless.prims.narrowsort")
sortloops = lazy.load("tapeless.prims.sortloops")
wordsort = lazy.load("tapeless.prims.wordsort")
_BOOL = ShapedArray((), np.bool_)


def _repeated(x: Any, dim: int, size: int) -> Any:
    """Return `x` with a new axis `dim` along which it is repeated."""
    shape = shape_of(x)
    dims = tuple(axis + (axis >= dim) for axis in range(len(shape)))
    return broadcast_in_dim(x, inserted(shape, dim, size), dims)


class Sort(Primitive):
    """Operands (n, m) -> the same, every line along `dimension` in the order of the first keys."""

    name = "sort"

    def abstract(
        self,
        *avals: ShapedArray,
        dimension: int,
        is_stable: bool,
        num_keys: int,
    ) -> tuple[ShapedArray, ...]:
        if any(aval.shape != avals[0].shape for aval in avals):
            shapes = " ".join(str(aval.shape) for aval in avals)
            raise TypeError(f"Arguments to sort must have equal shapes, got: {shapes}")
        for aval in avals[:num_keys]:
            require_order(aval, "lt_to")
        return avals

    def jvp(
        self,
        primals: Values,
        tangents: Sequence[Value | Zero],
        **params: Any,
    ) -> tuple:
        shape, axis = shape_of(primals[0]), params["dimension"]
        dtype = np.uint32 if shape[axis] < 2**32 else np.uint64
        numbers = broadcasted_iota(dtype, shape, axis)
        *outs, order = self.bind(*primals, numbers, **params)
        others = tuple(np.delete(np.arange(len(shape), dtype=np.int64), axis))
        places = broadcast_in_dim(order, (*shape, 1), tuple(range(len(shape))))
        return tuple(outs), tuple(
            Zero(typeof(out).tangent()) if isinstance(t, Zero) else follow(t, places, axis, others)
            for t, out in zip(tangents, outs, strict=True)
        )

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        *,
        dimension: int,
        **params: Any,
    ) -> tuple:
        dim = next(dim for dim in dims if dim is not None)
        args = [
            _repeated(x, dim, axis.size) if d is None else move_dim(x, d, dim)
            for x, d in zip(args, dims, strict=True)
        ]
        outs = self.bind(*args, dimension=dimension + (dim <= dimension), **params)
        return outs, (dim,) * len(outs)

    def lower(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        dimension: int,
        num_keys: int,
        **params: Any,
    ) -> tuple:
        size = outs[0].shape[dimension] if outs[0].shape else 1
        if sortloops.has_few(outs, size):
            targets = [b.buffer(out) for out in outs]
            sortloops.exchange_sort(b, args, targets, dimension, num_keys)
            return tuple(targets)
        how = narrowsort.narrow_sort_for(b.registers, outs, size)
        if how is not None:
            return tuple(narrowsort.narrow_sort(b, args[0], dimension, how))
        plan = wordsort.word_sort_for(b.registers, outs, size, num_keys)
        if plan is not None:
            return tuple(wordsort.word_sort(b, args, dimension, plan))
        if size > sortloops.SHORT and outs[0].size:
            return tuple(sortloops.counting_sort(b, args, outs, dimension, num_keys))
        targets = [b.buffer(out) for out in outs]
        for target, x in zip(targets, args, strict=True):
            b.assign(target, x)
        if size > 1:
            sortloops.insertion_sort(b, targets, dimension, num_keys)
        return tuple(targets)

    def hlo(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        dimension: int,
        num_keys: int,
        **params: Any,
    ) -> tuple:
        """Compare the keys of two places one after the other, until one pair differs."""
        scalars = [out.update(shape=()) for out in outs for _ in range(2)]

        def less(*pairs: Any) -> tuple:
            """Tell whether the first of two places comes before the second."""
            first, second = (
                [part for x in pairs[side : 2 * num_keys : 2] for part in _ordered_parts(b, x)]
                for side in range(2)
            )
            result = None
            for x, y in reversed(list(zip(first, second, strict=True))):
                before = b.compare("LT", x, y, total=True)
                if result is not None:
                    same = b.compare("EQ", x, y, total=True)
                    rest = b.op("stablehlo.and", [same, result], [_BOOL])
                    (before,) = b.op("stablehlo.or", [before, *rest], [_BOOL])
                result = before
            return (result,)

        attributes = {
            "dimension": f"{dimension} : i64",
            "is_stable": str(params["is_stable"]).lower(),
        }
        return b.op(
            "stablehlo.sort",
            args,
            outs,
            attributes,
            [b.region(scalars, less)],
        )

    def reference(
        self,
        *arrays: np.ndarray,
        dimension: int,
        is_stable: bool,
        num_keys: int,
    ) -> tuple:
        keys = [array + np.zeros((), array.dtype) for array in reversed(arrays[:num_keys])]
        order = np.lexsort(keys, axis=dimension)
        return tuple(np.take_along_axis(array, order, dimension) for array in arrays)


def _ordered_parts(b: Any, x: Any) -> list:
    """Return the scalars that decide, in order, where a scalar of StableHLO is sorted.

    Floats are to be compared by the total order: -0 becomes 0, and every NaN the same one.
    """
    aval = x.aval
    if is_complex(aval.dtype):
        part = aval.update(dtype=np.dtype(f"float{aval.dtype.itemsize * 4}"))
        names = ("stablehlo.real", "stablehlo.imag")
        return [_canonical(b, b.op(name, [x], [part])[0]) for name in names]
    return [_canonical(b, x)] if dtypes.issubdtype(aval.dtype, np.floating) else [x]


def _canonical(b: Any, x: Any) -> Any:
    """Return a float with one zero and one NaN."""
    zero = b.compare("EQ", x, b.constant(0, x.aval))
    (result,) = b.op("stablehlo.select", [zero, b.constant(0, x.aval), x], [x.aval])
    nan = b.compare("NE", x, x)
    return b.op("stablehlo.select", [nan, b.constant(np.nan, x.aval), result], [x.aval])[0]


def follow(t: Value, places: Value, axis: int, others: Sequence[int]) -> Value:
    """Gather a tangent at sorted places: t (n, m), places (k, m, 1), axis 0 -> (k, m)."""
    kept = shape_of(places)[:-1]
    if 0 in kept:
        return slice_in_dim(t, 0, kept[axis], axis=axis)
    numbers = GatherDimensionNumbers((), (axis,), (axis,), tuple(others), tuple(others))
    sizes = (1,) * len(shape_of(t))
    return gather(t, places, numbers, sizes, mode="promise_in_bounds")


sort_p = Sort()


def sort(
    operand: Value | Sequence[Value],
    dimension: int = -1,
    is_stable: bool = True,
    num_keys: int = 1,
) -> Value | tuple[Value, ...]:
    """Return `operand` sorted along `dimension`: (n,) -> (n,).

    Several operands are sorted together, by the first `num_keys` of them, lexicographically.

    >>> lax.sort((jnp.array([3, 1, 2]), jnp.array([7, 8, 9])))
    (Array([1, 2, 3], dtype=int32), Array([8, 9, 7], dtype=int32))
    """
    several = isinstance(operand, (list, tuple))
    operands = tuple(operand) if several else (operand,)
    if not operands:
        raise TypeError("Sort requires at least one operand")
    if not 1 <= num_keys <= len(operands):
        text = f"num_keys={num_keys} must be between 1 and len(operand)={len(operands)}"
        raise ValueError(text)
    axis = canonical_axis(dimension, len(shape_of(operands[0])))
    outs = sort_p.bind(
        *operands,
        dimension=axis,
        is_stable=is_stable,
        num_keys=num_keys,
    )
    return tuple(outs) if several else outs[0]


def sort_key_val(
    keys: Value,
    values: Value,
    dimension: int = -1,
    is_stable: bool = True,
) -> tuple[Value, Value]:
    """Return `keys` sorted along `dimension`, and `values` in the same order: (n,), (n,).

    keys, values: (m, n) -> (m, n), (m, n)

    >>> lax.sort_key_val(jnp.array([3, 1, 2]), jnp.array([7, 8, 9]))
    (Array([1, 2, 3], dtype=int32), Array([8, 9, 7], dtype=int32))
    """
    return sort((keys, values), dimension, is_stable)
