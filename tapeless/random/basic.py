"""The distributions that all others are made of: bits, uniform, normal, randint.

A uniform float is made of random mantissa bits: they become a number in [1, 2), from which 1 is
subtracted.  A normal number is the inverse error function of a uniform one (Giles' polynomials).
An integer in a range is made of two words per element, so that the bias of the remainder is small.

The stages are jitted under their own names, as in JAX, so that programs print alike.
"""

from __future__ import annotations

import builtins
import functools
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy.choice import clip
from tapeless.numpy.common import asarray, convert
from tapeless.prims.binary import add, max, mul, rem, sub
from tapeless.prims.bits import random_bits
from tapeless.prims.bitwise import bitwise_and, bitwise_or, shift_right_logical
from tapeless.prims.compare import gt, le
from tapeless.prims.convert import bitcast_convert_type, convert_element_type
from tapeless.prims.create import full_like
from tapeless.prims.fused import fused_add
from tapeless.prims.select import select
from tapeless.prims.special import erf_inv
from tapeless.prims.structural import broadcast_to_rank, reshape
from tapeless.random.requests import (
    check_dtype,
    check_shape,
    float_request,
    one_key,
    shape_of_request,
    split_in,
)

__all__ = [
    "bits",
    "normal",
    "randint",
    "uniform",
]

Shape = tuple[int, ...]
_UINT_OF_BITS = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


def bits(
    key: Any,
    shape: Any = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return random bits as unsigned integers.

    key: () -> shape, () by default.
    dtype: uint8, uint16, uint32 (the default; uint64 in 64-bit mode) or uint64.

    >>> from tapeless.random.keys import key
    >>> bits(key(0), (2,))
    Array([4070199207, 4202968722], dtype=uint32)
    """
    typed, _ = one_key("bits", key)
    dtype = check_dtype("bits", dtype, np.uint64, np.unsignedinteger, "an unsigned int dtype")
    return random_bits(typed, dtype.itemsize * 8, shape_of_request(shape))


def uniform(
    key: Any,
    shape: Any = (),
    dtype: Any = None,
    minval: Any = 0.0,
    maxval: Any = 1.0,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return numbers uniform in [minval, maxval).

    minval, maxval: broadcast to `shape` -> shape, () by default.

    >>> from tapeless.random.keys import key
    >>> uniform(key(0), (2,))
    Array([0.947667 , 0.9785799], dtype=float32)
    """
    typed, shape, dtype = float_request("uniform", key, shape, dtype)
    return _uniform(typed, shape, dtype, minval, maxval)


@functools.partial(jit, static_argnums=(1, 2))
def _uniform(
    key: Value,
    shape: Shape,
    dtype: np.dtype,
    minval: Any,
    maxval: Any,
) -> Value:
    """Make uniform numbers out of mantissa bits."""
    width = dtypes.finfo(dtype).bits
    if width not in _UINT_OF_BITS:
        raise TypeError(
            f"uniform only accepts 8-, 16-, 32-, or 64-bit dtypes, got {dtypes.dtype_name(dtype)}"
        )
    low, high = (convert_element_type(asarray(x), dtype) for x in (minval, maxval))
    while np.ndim(high) > len(shape) and np.shape(high)[0] == 1:
        high = reshape(high, np.shape(high)[1:])
    rank = builtins.max(np.ndim(low), np.ndim(high))
    if rank > len(shape):
        raise TypeError(
            f"minval and maxval of uniform have at most the {len(shape)} axes of the shape "
            f"{shape}, got {np.shape(low)} and {np.shape(high)}"
        )
    low, high = (broadcast_to_rank(x, len(shape)) for x in (low, high))
    n_mantissa = dtypes.finfo(dtype).nmant
    # A float of 16 bits has so few mantissa bits that a byte of randomness is enough for bfloat16.
    n_random = 8 if n_mantissa < 8 else width
    random = random_bits(key, n_random, shape)
    uint = np.dtype(_UINT_OF_BITS[width])
    if n_random != width:
        random = convert_element_type(random, uint)
    mantissa = shift_right_logical(random, uint.type(n_random - n_mantissa))
    one = np.ones((), dtype).view(uint)[()]
    floats = bitcast_convert_type(bitwise_or(mantissa, uint.type(one)), dtype)
    unit = sub(floats, dtype.type(1))
    spread = fused_add(mul(unit, sub(high, low)), low)
    return max(low, reshape(spread, shape))


uniform_of = _uniform


def normal(
    key: Any,
    shape: Any = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return numbers from the standard normal distribution.

    key: () -> shape, () by default.
    dtype: float, or complex (with variance 1, half in each part).

    >>> from tapeless.random.keys import key
    >>> normal(key(0), (2,))
    Array([1.6226422, 2.0252647], dtype=float32)
    """
    typed, _ = one_key("normal", key)
    words = "a float or complex dtype"
    dtype = check_dtype("normal", dtype, np.float64, np.inexact, words)
    return _normal(typed, shape_of_request(shape), dtype)


@functools.partial(jit, static_argnums=(1, 2))
def _normal(key: Value, shape: Shape, dtype: np.dtype) -> Value:
    """Make normal numbers, complex ones of two real ones."""
    if not dtypes.issubdtype(dtype, np.complexfloating):
        return _normal_real(key, shape, dtype)
    real_dtype = dtypes.finfo(dtype).dtype
    key_re, key_im = split_in(key, 2)
    real = convert_element_type(_normal_real(key_re, shape, real_dtype), dtype)
    imaginary = convert_element_type(_normal_real(key_im, shape, real_dtype), dtype)
    both = add(real, mul(dtype.type(1j), imaginary))
    # XLA turns JAX's division by sqrt(2) into this multiplication.
    return mul(both, dtype.type(real_dtype.type(1) / np.sqrt(2).astype(real_dtype)))


@functools.partial(jit, static_argnums=(1, 2))
def _normal_real(key: Value, shape: Shape, dtype: np.dtype) -> Value:
    """Map uniform numbers of (-1, 1) through the inverse error function."""
    low = np.nextafter(dtype.type(-1), dtype.type(0), dtype=dtype)
    u = _uniform(key, shape, dtype, low, dtype.type(1))
    return mul(dtype.type(np.sqrt(2)), erf_inv(u))


def randint(
    key: Any,
    shape: Any,
    minval: Any,
    maxval: Any,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return integers uniform in [minval, maxval).

    minval, maxval: broadcast to `shape` -> shape

    >>> from tapeless.random.keys import key
    >>> randint(key(0), (3,), 0, 10)
    Array([9, 0, 2], dtype=int32)
    """
    typed, _ = one_key("randint", key)
    asked = dtypes.canonicalize_dtype(np.int64) if dtype is None else dtype
    canonical = dtypes.check_user_dtype_supported(asked, "randint")
    if not dtypes.issubdtype(canonical, np.integer):
        raise TypeError(f"randint only accepts integer dtypes, got {dtypes.dtype_name(canonical)}")
    shape = shape_of_request(shape)
    info = dtypes.iinfo(canonical)
    if info.bits >= 32:
        return _randint(typed, shape, minval, maxval, canonical)
    # A narrow integer has too few bits for its remainders: it is drawn as one of 32 bits.
    int32 = np.dtype(np.int32)
    low = clip(convert(_integers(minval), int32), min=int(info.min), max=int(info.max))
    high = clip(convert(_integers(maxval), int32), min=int(info.min), max=int(info.max) + 1)
    drawn = _randint(typed, shape, low, high, int32)
    return convert_element_type(drawn, canonical)


def _integers(x: Any) -> Value:
    """Return a bound of an integer range; a floating one loses its fraction."""
    if dtypes.issubdtype(dtypes.dtype(x), np.integer):
        return x
    return convert(x, dtypes.canonicalize_dtype(np.int64))


@functools.partial(jit, static_argnums=(1, 4))
def _randint(
    key: Value,
    shape: Shape,
    minval: Any,
    maxval: Any,
    dtype: np.dtype,
) -> Value:
    """Reduce two random words per element to the span of the range."""
    check_shape("randint", shape, np.shape(minval), np.shape(maxval))
    info = dtypes.iinfo(dtype)
    uint = np.dtype(_UINT_OF_BITS[info.bits])
    low, high = _integers(minval), _integers(maxval)
    widest = dtypes.iinfo(typeof(high).dtype)
    limit = _clamped(dtype.type(info.max), widest)
    overflows = gt(high, convert_element_type(limit, typeof(high).dtype))
    low = convert_element_type(_clamped(low, info), dtype)
    high = convert_element_type(_clamped(high, info), dtype)
    low, high = broadcast_to_rank(low, len(shape)), broadcast_to_rank(high, len(shape))
    key_high, key_low = split_in(key, 2)
    word_high = random_bits(key_high, info.bits, shape)
    word_low = random_bits(key_low, info.bits, shape)
    span = convert_element_type(sub(high, low), uint)
    # An empty range gives its lower bound; one that ends past the dtype has one value more.
    span = select(le(high, low), full_like(span, 1), span)
    some = gt(high, low)
    if np.ndim(overflows):
        overflows = broadcast_to_rank(overflows, len(shape))
    span = select(bitwise_and(overflows, some), add(span, uint.type(1)), span)
    multiplier = rem(uint.type(2 ** (info.bits // 2)), span)
    multiplier = rem(mul(multiplier, multiplier), span)
    offset = add(mul(rem(word_high, span), multiplier), rem(word_low, span))
    return add(low, convert_element_type(rem(offset, span), dtype))


def _clamped(x: Any, info: Any) -> Value:
    """Return `x` clipped to what its dtype and the one described by `info` can both hold."""
    aval = typeof(x)
    own = dtypes.iinfo(aval.dtype)
    bounds = builtins.max(int(info.min), int(own.min)), builtins.min(int(info.max), int(own.max))
    return clip(x, *(bounds if aval.weak_type else map(aval.dtype.type, bounds)))
