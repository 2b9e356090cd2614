"""Random bits by the state of a generator, which is returned beside them.

A state is four words: two of a key, two of a counter.  A draw hashes the counters from there on,
and the next state has the first counter that was not hashed.  Philox makes four words of a counter.
Threefry makes two, which are neighbours along the first even dimension, or else the longest one.
Elements of 64 bits have a counter each; narrow ones are the low parts of words.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.primitive import Primitive, Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.binary import add
from tapeless.prims.bits import prng_impls, random_bits, random_wrap
from tapeless.prims.common import batch_dim, move_dim, shape_of, stretch
from tapeless.prims.compare import lt
from tapeless.prims.convert import bitcast_convert_type, convert
from tapeless.prims.create import iota
from tapeless.prims.join import concatenate
from tapeless.prims.rearrangement import shape_argument
from tapeless.prims.slice import slice_in_dim
from tapeless.prims.structural import reshape
from tapeless.prims.threefry import U32, U64, ValueWords, threefry, wide

__all__ = ["RandomAlgorithm", "rng_bit_generator", "rng_bit_generator_p"]


class RandomAlgorithm(enum.IntEnum):
    """How bits are made: the default is Philox."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2


class RngBitGenerator(Primitive):
    """State (4) of uint32 -> the next state, bits of `shape`."""

    name = "rng_bit_generator"

    def printed(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the parameters as they are printed: the algorithm by its name."""
        return {**params, "algorithm": params["algorithm"].name, "out_sharding": None}

    def abstract(
        self,
        key: ShapedArray,
        *,
        shape: tuple[int, ...],
        dtype: np.dtype,
        algorithm: Any,
    ) -> tuple[ShapedArray, ...]:
        if key.shape != (4,) or key.dtype != np.uint32:
            raise TypeError(
                f"rng_bit_generator needs a state of type uint32[4], got {key.str_short(False)}"
            )
        return key, ShapedArray(shape, dtype)

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        *,
        shape: tuple[int, ...],
        dtype: np.dtype,
        algorithm: Any,
    ) -> tuple:
        """The first row's state draws for all rows, and is the only one to advance."""
        states = move_dim(args[0], batch_dim(dims), 0)
        first = reshape(slice_in_dim(states, 0, 1), (4,))
        state, bits = self.bind(first, shape=(axis.size, *shape), dtype=dtype, algorithm=algorithm)
        rest = slice_in_dim(states, 1, axis.size)
        return (concatenate([reshape(state, (1, 4)), rest], 0), bits), (0, 0)

    def decompose(
        self,
        *args: Value,
        shape: tuple[int, ...],
        dtype: np.dtype,
        algorithm: Any,
    ) -> tuple:
        """Draw, and advance the count in the last two words."""
        (state,) = args
        if algorithm is RandomAlgorithm.RNG_THREE_FRY:
            return _threefry_draw(state, shape, dtype)
        bits = random_bits(random_wrap(state, impl=prng_impls["rbg"]), 8 * dtype.itemsize, shape)
        words = math.prod(shape) * max(1, dtype.itemsize // 4)
        return _advanced(state, (words + 3) // 4), bits


rng_bit_generator_p = RngBitGenerator()


def _word(state: Value, place: int, count: int) -> Value:
    """Return a word of a state, as often as it is wanted: (4) -> (count)."""
    word = slice_in_dim(state, place, place + 1)
    return stretch(word, (count,))


def _counters(
    state: Value,
    steps: Value,
) -> tuple[Value, Value]:
    """Return the words, low and high, of the counters that are so many steps further: (n) twice."""
    (count,) = shape_of(steps)
    low = add(_word(state, 2, count), steps)
    carry = convert(lt(low, steps), U32)
    return low, add(_word(state, 3, count), carry)


def _advanced(state: Value, steps: int) -> Value:
    """Return the state whose counter is a number of steps further: (4) -> (4)."""
    step = np.array([steps & 0xFFFFFFFF], U32)
    key = slice_in_dim(state, 0, 2)
    return concatenate([key, *_counters(state, step)], 0)


def _paired(shape: tuple[int, ...]) -> int:
    """Return the dimension along which pairs lie: the first even one, or else the longest."""
    even = [axis for axis, size in enumerate(shape) if size % 2 == 0]
    return even[0] if even else int(np.argmax(shape))


def _threefry_draw(
    state: Value,
    shape: tuple[int, ...],
    dtype: np.dtype,
) -> tuple[Value, Value]:
    """Return the next state, and bits of a shape, by Threefry2x32."""
    if dtype.itemsize == 8:
        x, y = _threefry_words(state, shape)
        return _advanced(state, math.prod(shape)), wide(ValueWords, y, x)
    full = shape or (1,)
    axis = _paired(full)
    before, size, after = full[:axis], full[axis], full[axis + 1 :]
    blocks = (size + 1) // 2
    half = (*before, blocks, *after)
    single = (*before, blocks, 1, *after)
    pairs = [reshape(word, single) for word in _threefry_words(state, half)]
    joined = concatenate(pairs, axis + 1)
    both = reshape(joined, (*before, 2 * blocks, *after))
    bits = reshape(slice_in_dim(both, 0, size, axis=axis), shape)
    return _advanced(state, math.prod(half)), convert(bits, dtype)


def _threefry_words(
    state: Value,
    shape: tuple[int, ...],
) -> tuple[Value, Value]:
    """Return the two words of each of the counters from the state's on, of a shape."""
    count = math.prod(shape)
    key = _word(state, 0, count), _word(state, 1, count)
    x, y = threefry(ValueWords, key, _counters(state, iota(U32, count)))
    return reshape(x, shape), reshape(y, shape)


def rng_bit_generator(
    key: Value,
    shape: Sequence[int],
    dtype: Any = np.uint32,
    algorithm: Any = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: Any = None,
) -> tuple[Value, Value]:
    """Return the next state of a generator, and random bits: (4) -> (4), shape.

    key: four words of uint32, of which the last two count, or two of uint64.  dtype: an unsigned
    integer.  algorithm: RNG_DEFAULT and RNG_PHILOX are one.  out_sharding: ignored, as there is one
    device.

    >>> state, bits = rng_bit_generator(np.array([1, 2, 3, 4], np.uint32), (3,))
    >>> state, bits
    (Array([1, 2, 4, 4], dtype=uint32), Array([ 512747620, 1298009047, 1267190206], dtype=uint32))
    """
    wanted = dtypes.canonicalize_dtype(dtype)
    if not dtypes.issubdtype(wanted, np.unsignedinteger):
        raise TypeError(f"rng_bit_generator: unsupported dtype {dtypes.dtype_name(wanted)}")
    chosen = RandomAlgorithm(algorithm)
    is_wide = typeof(key).dtype == U64
    words = key
    if is_wide:
        words = reshape(bitcast_convert_type(key, U32), (2 * math.prod(shape_of(key)),))
    state, bits = rng_bit_generator_p.bind(
        words,
        shape=shape_argument(shape),
        dtype=np.dtype(wanted),
        algorithm=chosen,
    )
    if is_wide:
        state = bitcast_convert_type(reshape(state, (2, 2)), U64)
    return state, bits
