"""Places of extreme elements: argmax and argmin.

    argmax[axes=(1,) index_dtype=int32]: (n, m) -> (n,)

They fold twice: for the extreme element, then for the first place that has it.  Of equal values
the first one wins; a NaN wins over everything, and of NaNs the first one.  In StableHLO one fold of
pairs (value, index) says the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray
from tapeless.core.primitive import Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.rearrangement import array_text
from tapeless.prims.reduce import Axes, check_ordered, index_with, without_axes
from tapeless.prims.rules import WithoutTangent, batched_axes, highest, is_complex, lowest

__all__ = ["argmax", "argmax_p", "argmin", "argmin_p"]

_BOOL = ShapedArray((), np.bool_)


class ArgChoice(WithoutTangent):
    """The index of the first extreme element along one axis: (n, m), axes=(0,) -> (m,).

    combine: the operation of the loop language that gives the extreme element.
    direction: StableHLO's word for what a better element is.
    worst(dtype): what no element is worse than.
    """

    types_follow = True
    combine: str
    direction: str
    worst: Callable[[Any], Any]

    def abstract(self, x: ShapedArray, *, axes: Axes, index_dtype: Any) -> tuple[ShapedArray, ...]:
        (axis,) = axes
        if not dtypes.issubdtype(index_dtype, np.integer):
            name = dtypes.dtype_name(index_dtype)
            raise TypeError(f"index_dtype must be an integer type, but got {name}")
        if not 0 <= axis < x.ndim:
            raise ValueError(f"Invalid axis {axis} for operand shape {x.shape}")
        if is_complex(x.dtype):
            raise TypeError(
                f"{self.name} does not accept dtype {dtypes.dtype_name(x.dtype)} at position 0. "
                "Accepted dtypes at position 0 are subtypes of integer, bool, floating."
            )
        check_ordered(self.combine, x.dtype)
        if x.shape[axis] < 1:
            raise ValueError(
                "argmin and argmax require non-empty reduced dimension. "
                f"operand.shape={x.shape} axis={axis}"
            )
        return (ShapedArray(without_axes(x.shape, axes), index_dtype),)

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence,
        *,
        axes: Axes,
        **params: Any,
    ) -> tuple:
        (x,), (dim,) = args, dims
        outs = self.bind(x, axes=batched_axes(axes, dim), **params)
        return outs, (dim - sum(reduced < dim for reduced in axes),)

    def lower(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        axes: Axes,
        **params: Any,
    ) -> tuple:
        (x,), (out,) = args, outs
        extents = (x.shape[axes[0]],)
        counter = np.dtype(np.int32 if extents[0] < 1 << 31 else np.int64)
        last = b.const(extents[0] - 1, counter)

        def pull(index: Sequence[Any]) -> Any:
            """Find the best element, then the first place that has it, or a NaN."""

            def at(inner: Sequence[Any]) -> Any:
                """Pull one element."""
                return x.at(*index_with(index, inner, axes, len(x.shape)))

            # A maximum of the same elements starts there, too, and is then the same node.
            start = b.const(self.worst(x.dtype), x.dtype)
            best = b.fold(extents, at, self.combine, start)

            def place(inner: Sequence[Any]) -> Any:
                """Return the place of an element, or the last place for a worse one."""
                element = at(inner)
                hit = b.eq(element, best)
                if dtypes.issubdtype(x.dtype, np.floating):
                    hit = b.or_(hit, b.ne(element, element))
                return b.select(hit, b.convert(b.affine(inner[0]), counter), last)

            return b.convert(b.fold(extents, place, "min", last), out.dtype)

        return (b.virtual(out, pull),)

    def hlo(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        axes: Axes,
        **params: Any,
    ) -> tuple:
        (x,), (out,) = args, outs
        value, place = x.aval.update(shape=()), out.update(shape=())
        places = b.iota(x.aval.update(dtype=out.dtype), axes[0])

        def better(p: Any, i: Any, q: Any, j: Any) -> tuple:
            """Choose the pair that is better, or comes first; a NaN is better than all numbers."""
            wins = b.op(
                "stablehlo.or",
                [
                    b.compare(self.direction, p, q),
                    b.compare("NE", p, p),
                ],
                [_BOOL],
            )
            first = [b.compare("EQ", p, q), b.compare("LT", i, j)]
            first = b.op(
                "stablehlo.or",
                [*wins, *b.op("stablehlo.and", first, [_BOOL])],
                [_BOOL],
            )
            return (
                *b.op("stablehlo.select", [*wins, p, q], [value]),
                *b.op("stablehlo.select", [*first, i, j], [place]),
            )

        region = b.region([value, place, value, place], better)
        inits = [b.constant(self.worst(value.dtype), value), b.constant(0, place)]
        kinds = [x.aval.update(shape=out.shape), out]
        axis = {"dimensions": array_text(axes)}
        return b.op(
            "stablehlo.reduce",
            [x, places, *inits],
            kinds,
            axis,
            [region],
        )[1:]


class ArgMax(ArgChoice):
    """The index of the first largest element, or of the first NaN."""

    name = "argmax"
    direction = "GT"

    combine = "max"
    worst = staticmethod(lowest)

    def reference(self, x: np.ndarray, *, axes: Axes, index_dtype: Any) -> tuple:
        return (np.argmax(x, axes[0]).astype(index_dtype),)


class ArgMin(ArgChoice):
    """The index of the first least element, or of the first NaN."""

    name = "argmin"
    direction = "LT"

    combine = "min"
    worst = staticmethod(highest)

    def reference(self, x: np.ndarray, *, axes: Axes, index_dtype: Any) -> tuple:
        return (np.argmin(x, axes[0]).astype(index_dtype),)


argmax_p = ArgMax()
argmin_p = ArgMin()


def argmax(operand: Value, axis: int, index_dtype: Any) -> Value:
    """Return the index of the first largest element along `axis`: (n, m), 0 -> (m,).

    >>> lax.argmax(jnp.array([[1, 5, 2], [7, 3, 9]]), 1, "int32")
    Array([1, 2], dtype=int32)
    """
    index_dtype = dtypes.check_user_dtype_supported(index_dtype, "argmax")
    return argmax_p.bind(operand, axes=(axis,), index_dtype=index_dtype)[0]


def argmin(operand: Value, axis: int, index_dtype: Any) -> Value:
    """Return the index of the first least element along `axis`: (n, m), 0 -> (m,).

    >>> lax.argmin(jnp.array([[1, 5, 2], [7, 3, 9]]), 1, "int32")
    Array([0, 1], dtype=int32)
    """
    index_dtype = dtypes.check_user_dtype_supported(index_dtype, "argmin")
    return argmin_p.bind(operand, axes=(axis,), index_dtype=index_dtype)[0]
