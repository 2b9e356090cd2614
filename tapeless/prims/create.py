"""Arrays from nothing: constants, counting.

A constant array is a scalar stretched by `broadcast_in_dim`; so it costs no memory where it is
consumed.  `iota` counts along one axis.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray, is_value, typeof
from tapeless.core.primitive import Primitive, Values
from tapeless.core.trace import Value
from tapeless.prims.common import (
    Avals,
    apply,
    shape_of,
    zeros,
)
from tapeless.prims.convert import convert
from tapeless.prims.rearrangement import shape_argument
from tapeless.prims.structural import broadcast

__all__ = [
    "broadcasted_iota",
    "empty",
    "empty_of",
    "empty_p",
    "full",
    "full_like",
    "iota",
    "iota_p",
]


class Iota(Primitive):
    """() -> shape: the index along the axis `dimension`."""

    name = "iota"

    def abstract(self, *avals: ShapedArray, **params: Any) -> Avals:
        """Check dtype and axis."""
        shape, dtype, dimension = params["shape"], params["dtype"], params["dimension"]
        if not dtypes.issubdtype(dtype, np.number):
            raise TypeError(
                f"iota does not accept dtype {dtypes.dtype_name(dtype)}. Accepted dtypes are "
                "subtypes of integer, complexfloating, floating."
            )
        if not 0 <= dimension < len(shape):
            raise ValueError(
                "iota dimension must be between 0 and len(shape), "
                f"got dimension={dimension} for shape={shape}"
            )
        return (ShapedArray(shape, dtype),)

    def jvp(self, primals: Values, tangents: Sequence, **params: Any) -> tuple:
        """Never reached: there is no operand that could have a tangent."""
        raise AssertionError("iota has no operands; this is a bug in tapeless")

    def lower(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Convert the index."""
        (out,) = outs
        dimension = params["dimension"]

        def pull(index: tuple) -> Any:
            """Convert one index."""
            return b.convert(b.affine(index[dimension]), out.dtype)

        return (b.virtual(out, pull),)

    def hlo(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Write one operation."""
        return (b.iota(outs[0], params["dimension"]),)

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Count with NumPy."""
        shape, dimension = params["shape"], params["dimension"]
        count = np.arange(shape[dimension]).astype(params["dtype"])
        extents = [1] * len(shape)
        extents[dimension] = shape[dimension]
        return (np.broadcast_to(count.reshape(extents), shape).copy(),)


iota_p = Iota()


def iota(dtype: object, size: int) -> Value:
    """Return 0, 1, ..., size - 1.

    dtype: of the result -> (size,)

    >>> lax.iota("int32", 4)
    Array([0, 1, 2, 3], dtype=int32)
    """
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(
    dtype: object, shape: Sequence[int], dimension: int, *, out_sharding: object = None
) -> Value:
    """Return the array of this shape that holds the index along the axis `dimension`.

    -> shape

    >>> lax.broadcasted_iota("int32", (2, 3), 1)
    Array([[0, 1, 2],
           [0, 1, 2]], dtype=int32)
    """
    return iota_p.bind(
        dtype=dtypes.check_user_dtype_supported(dtype, "iota"),
        shape=shape_argument(shape),
        dimension=operator.index(dimension),
        sharding=None,
    )[0]


class Empty(Primitive):
    """() -> shape: zeros, where any values would do."""

    name = "empty"

    def abstract(self, *avals: ShapedArray, **params: Any) -> Avals:
        """Return the type asked for."""
        return (ShapedArray(params["shape"], np.dtype(params["dtype"])),)

    def decompose(self, *args: Value, **params: Any) -> tuple:
        """Fill with zeros."""
        return (full(params["shape"], 0, np.dtype(params["dtype"])),)

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Fill with zeros."""
        return (np.zeros(params["shape"], params["dtype"]),)


empty_p = Empty()


def empty(shape: Sequence[int], dtype: object, *, out_sharding: object = None) -> Value:
    """Return an array whose values the program promises not to depend on; here they are 0.

    -> shape

    >>> lax.empty((2, 3), "float32").shape
    (2, 3)
    """
    return empty_p.bind(shape=shape_argument(shape), dtype=dtype, out_sharding=out_sharding)[0]


class EmptyScalar(Primitive):
    """() -> (): a number that nobody reads."""

    name = "empty2"

    def abstract(self, *avals: ShapedArray, **params: Any) -> Avals:
        """Return the type asked for."""
        return (ShapedArray((), np.dtype(params["dtype"])),)

    def decompose(self, *args: Value, **params: Any) -> tuple:
        """Return 0."""
        return (np.dtype(params["dtype"]).type(0),)

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Return 0."""
        return (np.zeros((), params["dtype"]),)


empty_scalar_p = EmptyScalar()


def empty_of(aval: ShapedArray) -> Value:
    """Return any values of the type `aval`, for a place that this run does not read."""
    if isinstance(aval.dtype, dtypes.KeyDtype):
        return zeros(aval)
    where = "MemorySpace.Device"
    (number,) = empty_scalar_p.bind(dtype=aval.dtype, memory_space=where)
    return broadcast(number, aval.shape) if aval.shape else number


def full(
    shape: Sequence[int],
    fill_value: Value,
    dtype: object = None,
    *,
    sharding: object = None,
) -> Value:
    """Return the array of this shape filled with the scalar `fill_value`.

    fill_value: () -> shape

    >>> lax.full((2, 2), 7)
    Array([[7, 7],
           [7, 7]], dtype=int32, weak_type=True)
    """
    sizes = shape_argument(shape)
    aval = typeof(fill_value)
    if aval.shape:
        raise TypeError(
            f"full must be called with scalar fill_value, got fill_value.shape {aval.shape}."
        )
    weak = dtype is None and sharding is None and aval.weak_type
    wanted = aval.dtype if dtype is None else dtypes.check_user_dtype_supported(dtype, "full")
    return _filled(sizes, fill_value, wanted, weak)


def _filled(sizes: tuple[int, ...], number: Value, wanted: Any, weak: bool) -> Value:
    """Fill with a scalar; of keys, each word."""
    if isinstance(wanted, dtypes.KeyDtype) and typeof(number).dtype != wanted:
        sizes = (*sizes, *wanted.physical_shape)
        words = broadcast(convert(number, wanted.physical_dtype), sizes)
        return apply("random_wrap", words, impl=wanted.prng_impl)
    return broadcast(convert(number, wanted, weak), sizes)


def full_like(
    x: Any,
    fill_value: Value,
    dtype: object = None,
    shape: Sequence[int] | None = None,
    sharding: object = None,
) -> Value:
    """Return an array filled with `fill_value`, of the shape and dtype of `x` unless given.

    Shapes: (...) -> (...).

    >>> lax.full_like(jnp.array([1.0, 2.0]), 3)
    Array([3., 3.], dtype=float32)
    """
    has_type = hasattr(x, "shape") and hasattr(x, "dtype")
    aval = ShapedArray(tuple(x.shape), x.dtype) if has_type and not is_value(x) else typeof(x)
    sizes = aval.shape if shape is None else shape
    weak = dtype is None and sharding is None and aval.weak_type
    wanted = aval.dtype if dtype is None else dtypes.check_user_dtype_supported(dtype, "full_like")
    if shape_of(fill_value):
        raise TypeError(
            "full must be called with scalar fill_value, "
            f"got fill_value.shape {shape_of(fill_value)}."
        )
    target = shape_argument(sizes)
    return _filled(target, fill_value, wanted, weak)
