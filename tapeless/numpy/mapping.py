"""Functions applied along axes, and bits packed into bytes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.api.jit import jit
from tapeless.api.vmap import vmap
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy import arithmetic, reductions
from tapeless.numpy.common import asarray, canonicalize_axis, check_arraylike, convert, value_of
from tapeless.numpy.indexing import get_item
from tapeless.numpy.shaping import expand_dims, moveaxis, ravel, reshape
from tapeless.prims.slice import pad

__all__ = ["apply_along_axis", "apply_over_axes", "packbits", "unpackbits"]

_U8 = np.dtype(np.uint8)


def apply_along_axis(func1d: Callable, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Value:
    """Apply a function of vectors to every line along an axis: (n, m) -> (..., m) for axis 0.

    args, kwargs: passed on to the function.

    Unlike in NumPy, the function is traced once, for all lines.

    >>> import tapeless.numpy as jnp
    >>> jnp.apply_along_axis(lambda line: line[:2], 0, jnp.arange(6).reshape(3, 2))
    Array([[0, 1],
           [2, 3]], dtype=int32)
    """
    check_arraylike("apply_along_axis", arr)
    arr = asarray(arr)
    axis = canonicalize_axis(axis, arr.ndim)

    def mapped(line: Value) -> Any:
        """Apply the function to one line."""
        return func1d(line, *args, **kwargs)

    for position in range(1, arr.ndim - axis):
        mapped = vmap(mapped, in_axes=position, out_axes=-1)
    for _ in range(axis):
        mapped = vmap(mapped, in_axes=0, out_axes=0)
    return mapped(arr)


def apply_over_axes(
    func: Callable[[Any, int], Value],
    a: Any,
    axes: Sequence[int],
) -> Value:
    """Apply a function of an array and an axis for each of the axes, which keep their places.

    a: (m, n, k) -> (m, 1, k) over axis 1, for instance.

    >>> import tapeless.numpy as jnp
    >>> jnp.apply_over_axes(jnp.sum, jnp.ones((2, 3)), [0, 1])
    Array([[6.]], dtype=float32)
    """
    check_arraylike("apply_over_axes", a)
    x = asarray(a)
    for axis in axes:
        result = func(x, axis)
        if result.ndim == x.ndim - 1:
            result = expand_dims(result, axis)
        elif result.ndim != x.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        x = result
    return x


def _bit_weights(bitorder: str) -> Value:
    """Return the positions of the bits in a byte, in their order."""
    if bitorder not in ("little", "big"):
        raise ValueError("'order' must be either 'little' or 'big'")
    order = np.arange(8, dtype=_U8)
    return order if bitorder == "little" else order[::-1].copy()


@functools.partial(jit, static_argnames=("axis", "bitorder"))
def packbits(
    a: Any,
    axis: int | None = None,
    bitorder: str = "big",
) -> Value:
    """Pack truth values into the bits of bytes: (n,) -> (ceil(n / 8),); flattened without an axis.

    bitorder: "big" puts the first value into the highest bit, "little" into the lowest.

    >>> import tapeless.numpy as jnp
    >>> jnp.packbits(jnp.array([1, 0, 1, 1, 0, 0, 0, 1, 1]))
    Array([177, 128], dtype=uint8)
    """
    check_arraylike("packbits", a)
    x = value_of(a)
    dtype = typeof(x).dtype
    if not (dtypes.issubdtype(dtype, np.integer) or dtype == np.bool_):
        raise TypeError("Expected an input array of integer or boolean data type")
    weights = _bit_weights(bitorder)
    x = convert(arithmetic.not_equal(x, dtype.type(0)), _U8)
    if axis is None:
        x, axis = ravel(x), 0
    x = moveaxis(x, axis, -1)
    missing = -typeof(x).shape[-1] % 8
    if missing:
        x = pad(x, _U8.type(0), [(0, 0, 0)] * (typeof(x).ndim - 1) + [(0, missing, 0)])
    shape = typeof(x).shape
    x = reshape(x, (*shape[:-1], shape[-1] // 8, 8))
    shifted = arithmetic.left_shift(x, weights)
    return moveaxis(reductions.sum(shifted, axis=-1, dtype=_U8), -1, axis)


@functools.partial(jit, static_argnames=("axis", "count", "bitorder"))
def unpackbits(
    a: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Value:
    """Unpack the bits of bytes: (n,) -> (8 n,), zeros and ones; flattened without an axis.

    count: how many of them; more are filled up with zeros; a negative one leaves out as many.

    >>> import tapeless.numpy as jnp
    >>> jnp.unpackbits(jnp.array([177], dtype="uint8"))
    Array([1, 0, 1, 1, 0, 0, 0, 1], dtype=uint8)
    """
    check_arraylike("unpackbits", a)
    x = asarray(value_of(a))
    if typeof(x).dtype != _U8:
        raise TypeError("Expected an input array of unsigned byte data type")
    weights = _bit_weights(bitorder)
    if axis is None:
        x, axis = ravel(x), 0
    x = moveaxis(x, axis, -1)
    bits = arithmetic.right_shift(get_item(x, (..., None)), weights)
    bits = arithmetic.bitwise_and(bits, _U8.type(1))
    n = 8 * typeof(x).shape[-1]
    bits = reshape(bits, (*typeof(x).shape[:-1], n))
    if count is not None:
        count = count if count >= 0 else max(n + count, 0)
        change = [(0, 0, 0)] * (typeof(bits).ndim - 1) + [(0, count - n, 0)]
        bits = pad(bits, _U8.type(0), change) if count > n else get_item(bits, (..., slice(count)))
    return moveaxis(bits, -1, axis)
