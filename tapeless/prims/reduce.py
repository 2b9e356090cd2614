"""Reductions: fold an array along some of its axes.

    reduce_sum[axes=(0,)]: (n, m) -> (m,)        y[j] = x[0, j] + ... + x[n-1, j]

All reductions by one binary operation share the class `Reduction`; a subclass says which operation,
what its neutral element is, and how it is differentiated.  A sum is linear.  A maximum passes the
tangents of the elements that attain it, in equal parts.  A product is differentiated as the tree of
products that halves the axis.  Bitwise reductions have no tangents.

A reduction lowers to one fold, pulled by its consumers: so a sum that follows elementwise work,
or is followed by it, costs no pass over memory of its own.  Sums of 16-bit floats accumulate in 32
bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.linear import Zero
from tapeless.core.primitive import Primitive, Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.binary import div, mul
from tapeless.prims.common import add_tangents, extreme_hlo, move_dim, shape_of
from tapeless.prims.compare import eq
from tapeless.prims.convert import convert_element_type
from tapeless.prims.create import full
from tapeless.prims.rearrangement import array_text
from tapeless.prims.rules import (
    WithoutTangent,
    batched_axes,
    highest,
    is_complex,
    lowest,
    tangent_of,
)
from tapeless.prims.slice import pad, slice_in_dim
from tapeless.prims.structural import broadcast_in_dim, reshape, squeeze

__all__ = [
    "Axes",
    "Reduction",
    "check_axes",
    "check_ordered",
    "index_with",
    "reduce_and",
    "reduce_and_p",
    "reduce_max",
    "reduce_max_p",
    "reduce_min",
    "reduce_min_p",
    "reduce_or",
    "reduce_or_p",
    "reduce_prod",
    "reduce_prod_p",
    "reduce_sum",
    "reduce_sum_p",
    "reduce_xor",
    "reduce_xor_p",
    "without_axes",
]

Axes = Sequence[int]
_BOOL = ShapedArray((), np.bool_)


def check_axes(aval: ShapedArray, axes: Axes) -> None:
    """Raise ValueError for axes that repeat or that the operand does not have."""
    if len(axes) != len(set(axes)):
        raise ValueError(f"duplicate value in 'axes' of reduction: {tuple(axes)}")
    if not all(0 <= axis < aval.ndim for axis in axes):
        name = f"{dtypes.dtype_name(aval.dtype)}[{','.join(map(str, aval.shape))}]"
        text = f"reduction axes {tuple(axes)} contains out-of-bounds indices for {name}."
        raise ValueError(text)


def without_axes(shape: Sequence[int], axes: Axes) -> tuple[int, ...]:
    """Return the shape that is left when the axes are reduced."""
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def _kept(ndim: int, axes: Axes) -> tuple[np.int64, ...]:
    """Return the axes that are not reduced, as NumPy integers: so JAX prints them."""
    return tuple(np.int64(axis) for axis in range(ndim) if axis not in axes)


def index_with(outer: Sequence[Any], inner: Sequence[Any], axes: Axes, ndim: int) -> list[Any]:
    """Merge an index of the result with one along the reduced axes."""
    reduced = dict(zip(axes, inner, strict=True))
    rest = iter(outer)
    return [reduced[axis] if axis in reduced else next(rest) for axis in range(ndim)]


def _zero(dtype: Any) -> Any:
    """Return the neutral element of addition and of disjunctions."""
    return dtype.type(0)


def _one(dtype: Any) -> Any:
    """Return the neutral element of multiplication."""
    return dtype.type(1)


def _all_ones(dtype: Any) -> Any:
    """Return the neutral element of conjunction."""
    return True if dtype == np.bool_ else ~dtype.type(0)


class Reduction(Primitive):
    """Fold along `axes` with one binary operation: x: (n, m), axes=(0,) -> (m,).

    combine: the operation, in the loop language's words.  identity(dtype): its neutral element.
    hlo_name: the operation in StableHLO.
    """

    types_follow = True
    combine: str
    hlo_name: str
    ufunc: np.ufunc
    identity: Callable[[Any], Any]
    domain = "number"

    def check_dtype(self, dtype: Any) -> None:
        """Raise TypeError for element types that it cannot fold."""
        if self.domain == "number" and not dtypes.issubdtype(dtype, np.number):
            raise TypeError(
                f"{self.name} does not accept dtype {dtypes.dtype_name(dtype)}. "
                "Accepted dtypes are subtypes of number."
            )

    def abstract(self, x: ShapedArray, *, axes: Axes, **params: Any) -> tuple[ShapedArray, ...]:
        self.check_dtype(x.dtype)
        check_axes(x, axes)
        return (ShapedArray(without_axes(x.shape, axes), x.dtype, x.weak_type),)

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
        extents = tuple(x.shape[axis] for axis in axes)
        wide = _accumulator(x.dtype)
        init = b.const(self.identity(x.dtype), wide)

        def pull(index: Sequence[Any]) -> Any:
            """Fold the elements that reduce to this index."""

            def element(inner: Sequence[Any]) -> Any:
                """Pull one of them."""
                scalar = x.at(*index_with(index, inner, axes, len(x.shape)))
                return scalar if wide == x.dtype else b.convert(scalar, wide)

            total = b.fold(extents, element, self.combining(b, x.dtype), init)
            return total if wide == x.dtype else b.convert(total, x.dtype)

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
        identity = self.identity(outs[0].dtype)
        if self.hlo_name in _EXTREMES and is_complex(outs[0].dtype):
            return _extreme_text(b, self.hlo_name, args[0], identity, axes, outs)
        return (b.reduce(self.hlo_name, args[0], identity, axes, outs[0]),)

    def combining(self, b: Any, dtype: Any) -> Any:
        """Return what `b.fold` combines elements of the dtype with."""
        return self.combine

    def reference(self, x: np.ndarray, *, axes: Axes, **params: Any) -> tuple:
        kept = [axis for axis in range(x.ndim) if axis not in axes]
        rows = x.transpose([*kept, *map(int, axes)]).reshape(without_axes(x.shape, axes) + (-1,))
        dtype = np.float64 if x.dtype in _NARROW else x.dtype
        out = np.full(rows.shape[:-1], self.identity(x.dtype), dtype)
        for column in range(rows.shape[-1]):
            out = self.ufunc(out, rows[..., column].astype(dtype))
        return (np.asarray(out).astype(x.dtype),)


_NARROW = tuple(map(np.dtype, (np.float16, ml_dtypes.bfloat16)))


def _accumulator(dtype: Any) -> Any:
    """Return the dtype in which elements are folded: 16-bit floats accumulate in 32 bits."""
    narrow = dtypes.issubdtype(dtype, np.floating) and dtypes.itemsize_bits(dtype) < 32
    return np.dtype(np.float32) if narrow else dtype


class ReduceSum(Reduction):
    """The sum along axes; of no elements, 0.  Linear: its transpose spreads the cotangent."""

    name = "reduce_sum"
    combine = "add"
    hlo_name = "stablehlo.add"
    ufunc = np.add

    identity = staticmethod(_zero)

    def jvp(self, primals: Values, tangents: Sequence, **params: Any) -> tuple:
        outs = self.bind(*primals, **params)
        return outs, (
            tangent_of(
                lambda t: self.bind(t, **params)[0],
                tangents[0],
                outs[0],
            ),
        )

    def transpose(
        self,
        cotangents: Sequence,
        args: Sequence,
        *,
        axes: Axes,
        **params: Any,
    ) -> tuple:
        (ct,), (x,) = cotangents, args
        kept = _kept(x.aval.ndim, axes)
        if isinstance(ct, Zero):
            return (Zero(x.aval),)
        return (broadcast_in_dim(ct, x.aval.shape, kept),)


class ReduceChoice(Reduction):
    """The largest or least element along axes.

    Its tangent is the mean of the tangents of the elements that attain it.  Complex numbers are
    ordered by their real parts, then by their imaginary parts; one with a NaN wins.
    """

    domain = "any"

    def check_dtype(self, dtype: Any) -> None:
        """Raise ValueError for elements that have no order."""
        check_ordered(self.combine, dtype)

    def combining(self, b: Any, dtype: Any) -> Any:
        """Order complex numbers; the rest is the operation itself."""
        if not is_complex(dtype):
            return self.combine
        return lambda best, new: b.op(self.combine, best, new)

    def jvp(
        self,
        primals: Values,
        tangents: Sequence,
        *,
        axes: Axes,
        **params: Any,
    ) -> tuple:
        (x,), (t,) = primals, tangents
        (out,) = self.bind(x, axes=axes, **params)
        return (out,), (
            tangent_of(
                lambda t: _mean_where_attained(x, t, out, axes),
                t,
                out,
            ),
        )


def check_ordered(combine: str, dtype: Any) -> None:
    """Raise ValueError for elements, such as keys, of which none is the largest."""
    if dtypes.issubdtype(dtype, dtypes.extended):
        raise ValueError(
            f"Unsupported dtype for {combine}: {dtypes.dtype_name(dtype)}. Elements must be "
            "numbers; those of a key array are had by jax.random.key_data."
        )


def _mean_where_attained(x: Value, t: Value, out: Value, axes: Axes) -> Value:
    """Average the tangents `t` of the elements of `x` that equal their group's `out`."""
    shape = shape_of(x)
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    attained = convert_element_type(eq(x, reshape(out, kept)), typeof(t).dtype)
    count = reduce_sum(attained, axes)
    return div(reduce_sum(mul(t, attained), axes), count)


class ReduceMax(ReduceChoice):
    """max(x, axes); of no elements, the least value of the dtype."""

    name = "reduce_max"
    combine = "max"
    hlo_name = "stablehlo.maximum"
    ufunc = np.maximum

    identity = staticmethod(lowest)


class ReduceMin(ReduceChoice):
    """min(x, axes); of no elements, the greatest value of the dtype."""

    name = "reduce_min"
    combine = "min"
    hlo_name = "stablehlo.minimum"
    ufunc = np.minimum

    identity = staticmethod(highest)


class ReduceProd(Reduction):
    """The product along axes; of no elements, 1.

    The tangent goes through the tree of products that halves the axis, so that zeros among the
    factors are no exception: (p, dp) (q, dq) = (p q, dp q + p dq).
    """

    name = "reduce_prod"
    combine = "mul"
    hlo_name = "stablehlo.multiply"
    ufunc = np.multiply

    identity = staticmethod(_one)

    def jvp(self, primals: Values, tangents: Sequence, *, axes: Axes) -> tuple:
        (x,), (t,) = primals, tangents
        if isinstance(t, Zero):
            (out,) = self.bind(x, axes=axes)
            return (out,), (Zero(typeof(out).tangent()),)
        out, tangent = _product_tree(_flatten_axes(x, axes), _flatten_axes(t, axes))
        return (out,), (tangent,)


def _flatten_axes(x: Value, axes: Axes) -> Value:
    """Bring `axes` to the front and merge them: (n, m, k), (0, 2) -> (n k, m)."""
    shape = shape_of(x)
    for position, axis in enumerate(sorted(map(int, axes))):
        x = move_dim(x, axis, position)
    rest = without_axes(shape, axes)
    if len(axes) == 1:
        return x
    size = int(np.prod([shape[axis] for axis in axes], dtype=int))
    return reshape(x, (size, *rest))


def _product_tree(x: Value, t: Value) -> tuple[Value, Value]:
    """Multiply along axis 0, with the tangent: (n, m), (n, m) -> (m,), (m,)."""
    shape = shape_of(x)
    if shape[0] == 0:
        return full(shape[1:], 1, typeof(x).dtype), full(shape[1:], 0, typeof(t).dtype)
    while (size := shape_of(x)[0]) > 1:
        half = (size + 1) // 2
        p, dp = (slice_in_dim(value, 0, half) for value in (x, t))
        q, dq = (slice_in_dim(value, half, size) for value in (x, t))
        if size % 2:
            config = ((0, 1, 0), *((0, 0, 0) for _ in shape[1:]))
            q = pad(q, np.ones((), typeof(q).dtype)[()], config)
            dq = pad(dq, np.zeros((), typeof(dq).dtype)[()], config)
        x, t = mul(p, q), add_tangents(mul(dp, q), mul(p, dq))
    return squeeze(x, (0,)), squeeze(t, (0,))


class ReduceBits(WithoutTangent, Reduction):
    """A bitwise reduction of integers, logical of bools; it has no tangent."""

    def check_dtype(self, dtype: Any) -> None:
        """Raise TypeError for numbers that have no bits to combine."""
        if dtype != np.bool_ and not dtypes.issubdtype(dtype, np.integer):
            raise TypeError(
                "logical reduction requires operand dtype bool or int, "
                f"got {dtypes.dtype_name(dtype)}."
            )


class ReduceAnd(ReduceBits):
    """Bitwise conjunction along axes; of no elements, all ones."""

    name = "reduce_and"
    combine = "and"
    hlo_name = "stablehlo.and"
    ufunc = np.bitwise_and

    identity = staticmethod(_all_ones)


class ReduceOr(ReduceBits):
    """Bitwise disjunction along axes; of no elements, 0."""

    name = "reduce_or"
    combine = "or"
    hlo_name = "stablehlo.or"
    ufunc = np.bitwise_or

    identity = staticmethod(_zero)


class ReduceXor(ReduceBits):
    """Bitwise exclusive disjunction along axes; of no elements, 0."""

    name = "reduce_xor"
    combine = "xor"
    hlo_name = "stablehlo.xor"
    ufunc = np.bitwise_xor

    identity = staticmethod(_zero)


_EXTREMES = ("stablehlo.maximum", "stablehlo.minimum")


def _extreme_text(b: Any, name: str, x: Any, identity: object, axes: Axes, outs: tuple) -> tuple:
    """Write the fold of complex numbers by an operation that orders them by parts."""
    scalar = x.aval.update(shape=())
    region = b.region([scalar, scalar], lambda p, q: [extreme_hlo(b, name, p, q)])
    operands = [x, b.constant(identity, scalar)]
    dimensions = {"dimensions": array_text(axes)}
    return b.op("stablehlo.reduce", operands, outs, dimensions, [region])


reduce_sum_p = ReduceSum()
reduce_max_p = ReduceMax()
reduce_min_p = ReduceMin()
reduce_prod_p = ReduceProd()
reduce_and_p = ReduceAnd()
reduce_or_p = ReduceOr()
reduce_xor_p = ReduceXor()


def reduce_sum(operand: Value, axes: Axes, *, out_sharding: object = None) -> Value:
    """Return the sum along `axes`: (n, m), (0,) -> (m,).

    >>> lax.reduce_sum(jnp.array([[1, 2], [3, 4]]), (1,))
    Array([3, 7], dtype=int32)
    """
    return reduce_sum_p.bind(operand, axes=tuple(axes), out_sharding=out_sharding)[0]


def reduce_max(operand: Value, axes: Axes, *, out_sharding: object = None) -> Value:
    """Return the largest elements along `axes`: (n, m), (0,) -> (m,).

    >>> lax.reduce_max(jnp.array([[1, 2], [3, 4]]), (1,))
    Array([2, 4], dtype=int32)
    """
    return reduce_max_p.bind(operand, axes=tuple(axes), out_sharding=out_sharding)[0]


def reduce_min(operand: Value, axes: Axes, *, out_sharding: object = None) -> Value:
    """Return the least elements along `axes`: (n, m), (0,) -> (m,).

    >>> lax.reduce_min(jnp.array([[1, 2], [3, 4]]), (1,))
    Array([1, 3], dtype=int32)
    """
    return reduce_min_p.bind(operand, axes=tuple(axes), out_sharding=out_sharding)[0]


def reduce_prod(operand: Value, axes: Axes) -> Value:
    """Return the product along `axes`: (n, m), (0,) -> (m,).

    >>> lax.reduce_prod(jnp.array([[1, 2], [3, 4]]), (1,))
    Array([ 2, 12], dtype=int32)
    """
    return reduce_prod_p.bind(operand, axes=tuple(axes))[0]


def reduce_and(operand: Value, axes: Axes) -> Value:
    """Return the bitwise conjunction along `axes`: (n, m), (0,) -> (m,).

    >>> lax.reduce_and(jnp.array([[True, True], [False, True]]), (1,))
    Array([ True, False], dtype=bool)
    """
    return reduce_and_p.bind(operand, axes=tuple(axes))[0]


def reduce_or(operand: Value, axes: Axes) -> Value:
    """Return the bitwise disjunction along `axes`: (n, m), (0,) -> (m,).

    >>> lax.reduce_or(jnp.array([[True, True], [False, True]]), (1,))
    Array([ True,  True], dtype=bool)
    """
    return reduce_or_p.bind(operand, axes=tuple(axes))[0]


def reduce_xor(operand: Value, axes: Axes) -> Value:
    """Return the bitwise exclusive disjunction along `axes`: (n, m), (0,) -> (m,).

    >>> lax.reduce_xor(jnp.array([[1, 2], [3, 3]]), (1,))
    Array([3, 0], dtype=int32)
    """
    return reduce_xor_p.bind(operand, axes=tuple(axes))[0]
