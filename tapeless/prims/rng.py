"""Random bits by the state of a generator, which is returned beside them."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.primitive import Primitive, Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.binary import add
from tapeless.prims.bits import prng_impls, random_bits, random_wrap
from tapeless.prims.common import batch_dim, move_dim
from tapeless.prims.compare import lt
from tapeless.prims.convert import convert
from tapeless.prims.join import concatenate
from tapeless.prims.slice import slice_in_dim
from tapeless.prims.structural import reshape, shape_argument

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
        self, key: ShapedArray, *, shape: tuple[int, ...], dtype: np.dtype, algorithm: Any
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
        self, *args: Value, shape: tuple[int, ...], dtype: np.dtype, algorithm: Any
    ) -> tuple:
        """Draw with the generator `rbg`, and advance the count in the last two words."""
        (state,) = args
        bits = random_bits(random_wrap(state, impl=prng_impls["rbg"]), 8 * dtype.itemsize, shape)
        words = int(np.prod(shape, dtype=np.int64)) * max(1, dtype.itemsize // 4)
        low = slice_in_dim(state, 2, 3)
        moved = add(low, np.uint32((words + 3) // 4 & 0xFFFFFFFF))
        carry = convert(lt(moved, low), np.dtype(np.uint32))
        high = add(slice_in_dim(state, 3, 4), carry)
        return concatenate([slice_in_dim(state, 0, 2), moved, high], 0), bits


rng_bit_generator_p = RngBitGenerator()


def rng_bit_generator(
    key: Value,
    shape: Sequence[int],
    dtype: Any = np.uint32,
    algorithm: Any = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: Any = None,
) -> tuple[Value, Value]:
    """Return the next state of a generator, and random bits: (4) -> (4), shape.

    key: four words of uint32, of which the last two count.  dtype: an unsigned integer.
    algorithm: RNG_DEFAULT or RNG_PHILOX.  out_sharding: ignored, as there is one device.

    >>> state, bits = rng_bit_generator(np.array([1, 2, 3, 4], np.uint32), (3,))
    >>> state, bits
    (Array([1, 2, 4, 4], dtype=uint32), Array([ 512747620, 1298009047, 1267190206], dtype=uint32))
    """
    wanted = dtypes.canonicalize_dtype(dtype)
    if not dtypes.issubdtype(wanted, np.unsignedinteger):
        raise TypeError(f"rng_bit_generator: unsupported dtype {dtypes.dtype_name(wanted)}")
    chosen = RandomAlgorithm(algorithm)
    if chosen is RandomAlgorithm.RNG_THREE_FRY:
        raise NotImplementedError(
            "rng_bit_generator draws by Philox only; jax.random.bits draws by threefry"
        )
    typeof(key)
    return rng_bit_generator_p.bind(
        key, shape=shape_argument(shape), dtype=np.dtype(wanted), algorithm=chosen
    )
