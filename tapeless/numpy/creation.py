"""Arrays from numbers: constants, ranges, copies, and data from outside.

Under a transformation these are operations of the program (`broadcast_in_dim` of a scalar, `iota`),
which cost no memory where they are consumed.  Outside, the numbers are written down at once.
"""

from __future__ import annotations

import math
import operator
import os
from typing import IO, Any, NoReturn

import numpy as np

from tapeless import dtypes, lax
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Tracer, Value, context
from tapeless.numpy.arithmetic import multiply, power
from tapeless.numpy.choice import broadcast
from tapeless.numpy.common import (
    asarray,
    canonicalize_axis,
    check_arraylike,
    concrete_value,
    const,
    convert,
    dtype_of,
    is_arraylike,
    listed,
    number_dtype,
    promote_shapes,
    shape_error,
    value_of,
)
from tapeless.numpy.ufuncs import log10, sign
from tapeless.runtime.array import Array, array_from_numpy, array_of_dtype, array_over
from tapeless.runtime.capsules import numpy_of_producer
from tapeless.runtime.device import device_put

__all__ = [
    "arange",
    "astype",
    "copy",
    "empty",
    "empty_like",
    "from_dlpack",
    "frombuffer",
    "fromfile",
    "fromiter",
    "fromstring",
    "full",
    "full_like",
    "geomspace",
    "linspace",
    "load",
    "logspace",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]


# Constants


def shape_argument(shape: Any) -> tuple[int, ...]:
    """Return a user's shape, an integer or a sequence of integers, as a tuple."""
    shape = listed(shape)
    try:
        sizes = tuple(map(operator.index, shape))
    except TypeError:
        raise shape_error(shape) from None
    if sizes and min(sizes) < 0:
        raise TypeError(
            f"broadcast_in_dim shape must have every element be nonnegative, got {sizes}."
        )
    return sizes


def filled(shape: tuple[int, ...], number: Any, dtype: Any, weak_type: bool = False) -> Value:
    """Return the array of a concrete number."""
    is_plain = isinstance(dtype, np.dtype) and dtypes.canonicalize_dtype(dtype) == dtype
    if context.trace is context.base and is_plain:
        scalar = np.asarray(number).astype(dtype)
        return array_from_numpy(np.broadcast_to(scalar, shape), weak_type)
    if isinstance(dtype, dtypes.ExtendedDtype):
        return lax.full(shape, number, dtype)
    return asarray(broadcast(convert(number, dtype, weak_type), shape))


def _dtype_argument(name: str, dtype: Any) -> Any:
    """Return the dtype that a user asked for; by default the default float."""
    return dtypes.check_user_dtype_supported(float if dtype is None else dtype, name)


def zeros(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Array:
    """Return an array of zeros.

    -> shape
    shape: an integer or a sequence of integers; dtype: float32 by default.

    >>> import tapeless.numpy as jnp
    >>> jnp.zeros((2, 3))
    Array([[0., 0., 0.],
           [0., 0., 0.]], dtype=float32)
    """
    return filled(shape_argument(shape), 0, _dtype_argument("zeros", dtype))


def ones(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Array:
    """Return an array of ones.

    -> shape
    shape: an integer or a sequence of integers; dtype: float32 by default.

    >>> import tapeless.numpy as jnp
    >>> jnp.ones(3, dtype=int)
    Array([1, 1, 1], dtype=int32)
    """
    return filled(shape_argument(shape), 1, _dtype_argument("ones", dtype))


def empty(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Array:
    """Return an array of arbitrary numbers; here they are zeros.

    -> shape
    shape: an integer or a sequence of integers; dtype: float32 by default.

    >>> import tapeless.numpy as jnp
    >>> jnp.empty(2).shape
    (2,)
    """
    sizes, kind = shape_argument(shape), _dtype_argument("empty", dtype)
    if context.trace is context.base or isinstance(kind, dtypes.ExtendedDtype):
        return zeros(sizes, kind)
    return lax.empty(sizes, kind)


def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Return an array filled with `fill_value`, which may be an array that broadcasts to `shape`.

    fill_value: broadcasts to `shape` -> shape
    shape: an integer or a sequence of integers; dtype: that of `fill_value` by default.

    >>> import tapeless.numpy as jnp
    >>> jnp.full((2, 2), 7)
    Array([[7, 7],
           [7, 7]], dtype=int32, weak_type=True)
    """
    check_arraylike("full", fill_value)
    wanted = None if dtype is None else dtypes.check_user_dtype_supported(dtype, "full")
    return _full(shape_argument(shape), value_of(fill_value), wanted)


def _full(sizes: tuple[int, ...], fill: Value, wanted: Any) -> Value:
    """Fill with a number, or broadcast an array."""
    aval = typeof(fill)
    weak = wanted is None and aval.weak_type
    kind = aval.dtype if wanted is None else wanted
    if aval.shape == () and isinstance(fill, (bool, int, float, complex, np.generic)):
        return filled(sizes, fill, kind, weak)
    return broadcast(asarray(convert(fill, kind, weak)), sizes)


def _like(name: str, a: Any, fill: Any, dtype: Any, shape: Any) -> Value:
    """Return a constant of the shape and dtype of `a`, unless others are given."""
    if not (hasattr(a, "shape") and hasattr(a, "dtype")):
        check_arraylike(name, a)
        a = value_of(a)
    old_shape, old_dtype = (
        (a.shape, a.dtype) if hasattr(a, "dtype") else (typeof(a).shape, typeof(a).dtype)
    )
    sizes = tuple(old_shape) if shape is None else shape_argument(shape)
    weak = dtype is None and dtypes.is_weakly_typed(a)
    if dtype is not None:
        kind = dtypes.check_user_dtype_supported(dtype, name)
    else:
        kind = old_dtype
        if not isinstance(a, (Array, Tracer)):
            kind = dtypes.canonicalize_dtype(old_dtype, allow_extended_dtype=True)
    if np.ndim(fill) == 0 and not isinstance(fill, (Array, Tracer)):
        return filled(sizes, fill, kind, weak)
    return broadcast(asarray(convert(fill, kind, weak and np.ndim(fill) == 0)), sizes)


def zeros_like(
    a: Any,
    dtype: Any = None,
    shape: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Return zeros of the shape and dtype of `a`, unless others are given: (...) -> (...).

    >>> import tapeless.numpy as jnp
    >>> jnp.zeros_like(jnp.arange(3))
    Array([0, 0, 0], dtype=int32)
    """
    return _like("zeros_like", a, 0, dtype, shape)


def ones_like(
    a: Any,
    dtype: Any = None,
    shape: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Return ones of the shape and dtype of `a`, unless others are given: (...) -> (...).

    >>> import tapeless.numpy as jnp
    >>> jnp.ones_like(jnp.arange(3))
    Array([1, 1, 1], dtype=int32)
    """
    return _like("ones_like", a, 1, dtype, shape)


def empty_like(
    prototype: Any, dtype: Any = None, shape: Any = None, *, device: Any = None
) -> Array:
    """Return arbitrary numbers (zeros) of the shape and dtype of `prototype`: (...) -> (...).

    >>> import tapeless.numpy as jnp
    >>> jnp.empty_like(jnp.arange(3)).dtype
    dtype('int32')
    """
    if context.trace is context.base or dtypes.issubdtype(dtype_of(prototype), dtypes.extended):
        return _like("empty_like", prototype, 0, dtype, shape)
    like = typeof(prototype) if not hasattr(prototype, "dtype") else prototype
    sizes = tuple(like.shape) if shape is None else shape_argument(shape)
    kind = like.dtype if dtype is None else dtypes.check_user_dtype_supported(dtype, "empty_like")
    weak = dtype is None and dtypes.is_weakly_typed(prototype)
    return convert(lax.empty(sizes, dtypes.canonicalize_dtype(kind)), kind, weak)


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    shape: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Return `fill_value` in the shape and dtype of `a`, unless others are given: (...) -> (...).

    >>> import tapeless.numpy as jnp
    >>> jnp.full_like(jnp.arange(3), 7)
    Array([7, 7, 7], dtype=int32)
    """
    check_arraylike("full_like", 0, fill_value)
    return _like("full_like", a, value_of(fill_value), dtype, shape)


# Ranges


def arange(
    start: Any,
    stop: Any = None,
    step: Any = None,
    dtype: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Return start, start + step, ... up to before `stop`; `arange(n)` counts from 0 to n - 1.

    start, stop, step: concrete numbers -> (ceil((stop - start) / step),)

    Unlike in NumPy, the dtype has at most the default width.

    >>> import tapeless.numpy as jnp
    >>> jnp.arange(2, 10, 3)
    Array([2, 5, 8], dtype=int32)
    """
    if dtype is not None:
        dtype = number_dtype(dtypes.check_user_dtype_supported(dtype, "arange"), "arange")
    given = {"start": start, "stop": stop, "step": step}
    if stop is None:
        given = {"stop": start, "step": step}
    for position, value in enumerate((start, stop, step)):
        if not (value is None or isinstance(value, str) or is_arraylike(value_of(value))):
            raise TypeError(
                f"arange requires ndarray, scalar, or None arguments, got {type(value)} at "
                f"position {position}."
            )
    bounds = {name: _bound(name, value) for name, value in given.items() if value is not None}
    if "stop" not in bounds or (start is None and stop is not None):
        raise TypeError(
            f"arange needs numbers, got start={start}, stop={stop}; one number is where it stops"
        )
    if dtype is None:
        dtype = dtypes.canonicalize_dtype(dtypes.result_type(*bounds.values()))
    first, gap = bounds.get("start"), bounds.get("step")
    last = bounds["stop"]
    size = max(
        0,
        math.ceil(
            ((last - (first or 0)) if first is not None else last) / (1 if gap is None else gap)
        ),
    )
    return _progression(size, first, gap, dtype)


def _bound(name: str, value: Any) -> Any:
    """Return a bound of `arange` as a Python or NumPy scalar."""
    value = concrete_value(value, f"It arose in the jnp.arange argument '{name}'")
    if isinstance(value, str):
        raise TypeError(f"data type {value!r} not understood")
    value = np.asarray(value)[()] if not isinstance(value, (bool, int, float, complex)) else value
    if np.ndim(value) != 0:
        raise ValueError(f"jax.numpy.arange: arguments must be scalars; got {name}={value}")
    if isinstance(value, (complex, np.complexfloating)):
        raise ValueError(
            "Passing complex start/stop/step to jnp.arange is no longer supported starting in JAX "
            "v0.10.0."
        )
    return value


# Few numbers are there sooner than a program starts; NumPy's way takes several times the memory.
_COUNTED_BY_NUMPY = 1 << 16


def _progression(size: int, first: Any, gap: Any, dtype: np.dtype) -> Value:
    """Return first + gap * (0, 1, ..., size - 1); without `first` and `gap`, the count alone.

    Both are taken modulo the width of the dtype.
    """
    with np.errstate(over="ignore"):
        known = [None if x is None else np.asarray(x).astype(dtype)[()] for x in (first, gap)]
        if context.trace is not context.base:
            return _counted(*known, size=size, dtype=dtype)
        if size < _COUNTED_BY_NUMPY:
            first, gap = known
            counted = np.arange(size).astype(dtype)
            if gap is not None:
                counted = counted * gap
            if first is not None:
                counted = counted + first
            return array_of_dtype(counted.astype(dtype))
    return _counted_at_once(*known, size=size, dtype=dtype)


def _counted(first: Value | None, gap: Value | None, *, size: int, dtype: np.dtype) -> Value:
    """Return the same as operations."""
    if dtype == np.bool_:
        return asarray(np.arange(size), np.bool_)
    out = lax.iota(dtype, size)
    if gap is not None:
        out = lax.mul(convert(gap, dtype), out)
    if first is not None:
        out = lax.add(convert(first, dtype), out)
    return out


_counted_at_once = jit(_counted, static_argnames=("size", "dtype"))


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """Return `num` numbers in equal steps from `start` to `stop`, including it if `endpoint`.

    start, stop: shapes that broadcast to (m,) -> (num, m), the new axis at `axis`; with `retstep`
    also the step.

    >>> import tapeless.numpy as jnp
    >>> jnp.linspace(0, 1, 5)
    Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    count = _count("linspace", num)
    kind = None if dtype is None else dtypes.check_user_dtype_supported(dtype, "linspace")
    check_arraylike("linspace", start, stop)
    options = {"num": count, "endpoint": bool(endpoint), "retstep": bool(retstep)}
    return _linspace(start, stop, dtype=kind, axis=operator.index(axis), **options)


def _count(name: str, num: Any) -> int:
    """Return the number of samples."""
    count = operator.index(concrete_value(num, f"'num' argument of jnp.{name}"))
    if count < 0:
        raise ValueError(f"Number of samples, {count}, must be non-negative.")
    return count


@jit(static_argnames=("num", "endpoint", "retstep", "dtype", "axis"))
def _linspace(
    start: Value, stop: Value, *, num: int, endpoint: bool, retstep: bool, dtype: Any, axis: int
) -> Any:
    """Weigh the ends, so that both are exact: start * (1 - t) + stop * t."""
    start, stop = _strong_inexact(start, stop)
    kind = dtype_of(start)
    shape = lax.broadcast_shapes(typeof(start).shape, typeof(stop).shape)
    steps = num - 1 if endpoint else num
    apart = lax.sub(*promote_shapes("linspace", stop, start))
    step = lax.div(apart, kind.type(steps)) if steps > 0 else kind.type(np.nan)
    start, stop = broadcast(start, shape), broadcast(stop, shape)
    out = _samples(start, stop, num, steps, endpoint, kind)
    wanted = kind if dtype is None else dtype
    if axis != 0:
        position = canonicalize_axis(axis, len(shape) + 1)
        order = [*range(1, position + 1), 0, *range(position + 1, len(shape) + 1)]
        out = lax.transpose(out, order)
    if dtypes.issubdtype(wanted, np.integer) and not dtypes.issubdtype(kind, np.integer):
        out = lax.floor(out)
    out = convert(out, wanted)
    return (out, broadcast(step, shape)) if retstep else out


def _strong_inexact(*args: Value) -> list[Value]:
    """Return numbers in a common floating or complex dtype that is not weak."""
    kind = dtypes.to_inexact_dtype(dtypes.result_type(*args))
    return [convert(arg, dtypes.canonicalize_dtype(kind)) for arg in args]


def _samples(
    start: Value, stop: Value, num: int, steps: int, endpoint: bool, kind: np.dtype
) -> Value:
    """Return the samples along a new leading axis; start, stop: (m,) -> (num, m)."""
    shape = typeof(start).shape
    if num == 0:
        return broadcast(kind.type(0), (0, *shape))
    if steps == 0:
        return lax.expand_dims(start, (0,))
    ones = (1,) * len(shape)
    real = np.zeros((), kind).real.dtype
    inner = steps if endpoint else num
    counted = lax.reshape(convert(lax.iota(real, inner), kind), (inner, *ones))
    part = lax.div(counted, kind.type(steps))
    row = (1, *shape) if shape else (1,)
    left = lax.mul(lax.reshape(start, row), lax.sub(kind.type(1), part))
    right = lax.mul(lax.div(lax.reshape(stop, row), kind.type(steps)), counted)
    out = lax.add(left, right)
    if endpoint:
        out = lax.concatenate([out, lax.expand_dims(stop, (0,))], 0)
    return out


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Array:
    """Return base ** linspace(start, stop, num).

    start, stop: shapes that broadcast to (m,) -> (num, m), the new axis at `axis`

    >>> import tapeless.numpy as jnp
    >>> jnp.logspace(0, 2, 3)
    Array([  1.,  10., 100.], dtype=float32)
    """
    count = _count("logspace", num)
    kind = None if dtype is None else dtypes.check_user_dtype_supported(dtype, "logspace")
    check_arraylike("logspace", start, stop)
    options = {"num": count, "endpoint": bool(endpoint), "dtype": kind}
    return _logspace(start, stop, base, axis=operator.index(axis), **options)


@jit(static_argnames=("num", "endpoint", "dtype", "axis"))
def _logspace(
    start: Value, stop: Value, base: Value, *, num: int, endpoint: bool, dtype: Any, axis: int
) -> Value:
    """Raise the base to equally spaced powers."""
    start, stop = _strong_inexact(start, stop)
    powers = linspace(start, stop, num, endpoint=endpoint, axis=axis)
    out = power(base, powers)
    return out if dtype is None else convert(out, dtype)


def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Array:
    """Return `num` numbers of equal ratios from `start` to `stop`, including it if `endpoint`.

    start, stop: shapes that broadcast to (m,) -> (num, m), the new axis at `axis`

    >>> import tapeless.numpy as jnp
    >>> jnp.geomspace(1, 8, 4)
    Array([1.       , 2.       , 4.0000005, 8.       ], dtype=float32)
    """
    count = _count("geomspace", num)
    kind = None if dtype is None else dtypes.check_user_dtype_supported(dtype, "geomspace")
    check_arraylike("geomspace", start, stop)
    options = {"num": count, "endpoint": bool(endpoint), "dtype": kind}
    return _geomspace(start, stop, axis=operator.index(axis), **options)


@jit(static_argnames=("num", "endpoint", "dtype", "axis"))
def _geomspace(
    start: Value, stop: Value, *, num: int, endpoint: bool, dtype: Any, axis: int
) -> Value:
    """Space the logarithms of sizes equally; the sign is that of `start`."""
    start, stop = _strong_inexact(start, stop)
    signs = sign(start)
    low, high = log10(lax.div(start, signs)), log10(lax.div(stop, signs))
    out = logspace(low, high, num, endpoint=endpoint, base=10.0, axis=0)
    out = multiply(signs, out)
    if axis != 0:
        rank = typeof(out).ndim
        position = canonicalize_axis(axis, rank)
        out = lax.transpose(out, [*range(1, position + 1), 0, *range(position + 1, rank)])
    return out if dtype is None else convert(out, dtype)


# Copies, and data from outside


def copy(a: Any, order: str | None = None) -> Array:
    """Return an array with the same elements and memory of its own: (...) -> (...).

    >>> import tapeless.numpy as jnp
    >>> jnp.copy(jnp.arange(2))
    Array([0, 1], dtype=int32)
    """
    check_arraylike("copy", a)
    if order is not None and order != "K":
        raise NotImplementedError("Only implemented for order='K'")
    return lax.copy(asarray(a))


def astype(x: Any, dtype: Any, /, *, copy: bool = False, device: Any = None) -> Array:
    """Return the elements converted to `dtype`; None means the default float.

    x: (n,) -> (n,)

    Floating numbers become integers by truncation, and booleans by whether they are zero.

    >>> import tapeless.numpy as jnp
    >>> jnp.astype(jnp.array([1.5, -1.5]), int)
    Array([ 1, -1], dtype=int32)
    """
    check_arraylike("astype", x)
    x = asarray(x)
    kind = _dtype_argument("astype", dtype)
    if kind == np.bool_ and dtypes.issubdtype(dtype_of(x), np.complexfloating):
        return lax.ne(x, const(x, 0))
    out = lax.convert_element_type(x, kind)
    return lax.copy(out) if copy else out


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """Return the array of an object with the DLPack protocol.

    x: (m, n) -> (m, n)
    The elements are copied, but for `copy=False`: then the memory is shared, and must not be
    written to any more.  Raises ValueError where that cannot be: rows that lie apart, dtypes that
    arrays do not have, addresses that are no multiple of 64.

    >>> import tapeless.numpy as jnp
    >>> import numpy
    >>> jnp.from_dlpack(numpy.arange(3, dtype="int32"))
    Array([0, 1, 2], dtype=int32)
    """
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        raise TypeError(
            "The array passed to from_dlpack must have __dlpack__ and __dlpack_device__ methods; "
            f"got {type(x)}"
        )
    if isinstance(x, Array):
        out = lax.copy(x) if copy else x
    else:
        value = numpy_of_producer(x)
        out = array_over(value) if copy is False else asarray(value)
    return out if device is None else device_put(out, device)


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Array:
    """Return the array of the bytes of a buffer.

    -> (count,); as many as there are by default.

    >>> import tapeless.numpy as jnp
    >>> jnp.frombuffer(b"ab", dtype="uint8")
    Array([97, 98], dtype=uint8)
    """
    return asarray(np.frombuffer(buffer, dtype=np.dtype(dtype), count=count, offset=offset))


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str) -> Array:
    """Return the array of the numbers that a text lists.

    -> (count,); as many as there are by default.

    >>> import tapeless.numpy as jnp
    >>> jnp.fromstring("1 2 3", sep=" ", dtype=int)
    Array([1, 2, 3], dtype=int32)
    """
    return asarray(np.fromstring(string, dtype=np.dtype(dtype), count=count, sep=sep))


def _impure(name: str, thing: str) -> NoReturn:
    """Refuse a function that consumes what it is given."""
    raise NotImplementedError(
        f"jnp.{name}() is not implemented because it may be non-pure and thus unsafe for use with "
        f"JIT and other JAX transformations. Consider using jnp.asarray(np.{name}(...)) instead, "
        f"although care should be taken if np.{name} is used within a jax transformations because "
        f"of its potential side-effect of consuming the {thing} object"
    )


def fromfile(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError: use NumPy's, and convert.

    -> (count,); as many as there are by default.
    """
    _impure("fromfile", "file")


def fromiter(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError: use NumPy's, and convert.

    -> (count,); as many as there are by default.
    """
    _impure("fromiter", "iterable")


def load(file: IO[bytes] | str | os.PathLike[Any], *args: Any, **kwargs: Any) -> Array:
    """Return the array that NumPy's `save` wrote to a file.

    -> the shape that was saved.
    """
    out = np.load(file, *args, **kwargs)
    if isinstance(out, np.ndarray):
        # Arrays of ml_dtypes are written as raw bytes of their width.
        if out.dtype == np.dtype("V2"):
            out = out.view(dtypes.bfloat16)
        return asarray(out)
    return out
