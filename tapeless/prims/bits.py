"""Random bits by counting: keys, and the threefry2x32 generator.

A key is an element of an array of an extended dtype, `key<fry>`; it is carried by two words of 32
bits.  All operations are pure functions of keys:

    random_seed     ints (s) -> keys (s)                    from the seed's 64 bits
    random_bits     keys (s) -> words (s, t)                t = shape; unsigned, of 8 to 64 bits
    random_split    keys (s) -> keys (s, t)                 independent children
    random_fold_in  keys (s), words (s) -> keys (s)         the child that a number names
    random_wrap     words (s, 2) -> keys (s);  random_unwrap is its inverse
    random_clone    keys (s) -> keys (s)                    the identity

Element i of a stream is the hash of the counter i, whatever the shape: it depends on nothing else.
So the rounds are written on scalars of the loop language, consumers pull them, and random numbers
are made in the loop that uses them.  The old layout of counters (`prims/threefry.py`) is chosen by
the flag `jax_threefry_partitionable` when an operation is staged; programs do not print it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapeless import config, dtypes
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.primitive import Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.binary import bitwise_or, bitwise_xor, shift_left, shift_right_logical
from tapeless.prims.common import (
    batch_dim,
    batch_dim_to,
    move_dim,
    shape_of,
    zeros_like,
)
from tapeless.prims.convert import bitcast_convert_type, convert
from tapeless.prims.create import broadcasted_iota
from tapeless.prims.join import concatenate
from tapeless.prims.rules import WithoutTangent
from tapeless.prims.slice import index_in_dim
from tapeless.prims.structural import broadcast_in_dim, reshape
from tapeless.prims.threefry import (
    U32,
    U64,
    NumpyWords,
    ValueWords,
    old_bits,
    old_word,
    threefry,
)
from tapeless.util import lazy

__all__ = [
    "PRNGImpl",
    "random_bits",
    "random_bits_p",
    "random_clone",
    "random_clone_p",
    "random_fold_in",
    "random_fold_in_p",
    "random_seed",
    "random_seed_p",
    "random_split",
    "random_split_p",
    "random_unwrap",
    "random_unwrap_p",
    "random_wrap",
    "random_wrap_p",
    "threefry2x32_p",
    "threefry_prng_impl",
]

kernel_parts = lazy.load("tapeless.kernel.parts")

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PRNGImpl:
    """A generator: its name, the tag that programs print, and the number of words of a key."""

    name: str
    tag: str
    key_shape: Shape

    @property
    def dtype(self) -> dtypes.KeyDtype:
        """The dtype of its keys."""
        return dtypes.key_dtype(self.name, self.tag, self.key_shape)

    def __str__(self) -> str:
        """Return the tag."""
        return self.tag


threefry_prng_impl = PRNGImpl("threefry2x32", "fry", (2,))


def _key_words(keys: Value, lead: Shape, tail: Shape) -> tuple[Value, Value]:
    """Return the two words of keys (s), each stretched to (*lead, *tail); lead is s or ()."""
    words = random_unwrap(keys)
    kept = tuple(range(len(shape_of(words)) - 1))
    parts = (index_in_dim(words, number, len(kept), keepdims=False) for number in (0, 1))
    return tuple(broadcast_in_dim(part, (*lead, *tail), kept) for part in parts)


def _value_positions(keys: Value, shape: Shape) -> tuple[tuple[Value, Value], Value]:
    """Return the words of keys (s) and the positions in `shape`, both stretched to (s, shape)."""
    size = int(np.prod(shape, dtype=object))
    if size > 2**32:
        raise NotImplementedError(f"{size} random words of one key are written by no decomposition")
    lead = shape_of(keys)
    out = (*lead, *shape)
    flat = reshape(broadcasted_iota(U32, (size,), 0), shape)
    positions = broadcast_in_dim(flat, out, tuple(range(len(lead), len(out))))
    return _key_words(keys, lead, shape), positions


def _value_counted(keys: Value, shape: Shape) -> tuple[Value, Value]:
    """Hash all positions of `shape` with all keys: keys (s) -> two words (s, shape)."""
    words, positions = _value_positions(keys, shape)
    return threefry(ValueWords, words, (zeros_like(positions), positions))


def _key_dtype(keys: ShapedArray) -> dtypes.KeyDtype:
    """Return the dtype of an array of keys, as what it is."""
    dtype: dtypes.Dtype = keys.dtype
    assert isinstance(dtype, dtypes.KeyDtype), f"{keys} has no keys; this is a bug in tapeless"
    return dtype


def _wrap_words(pair: tuple[Value, Value], dtype: dtypes.KeyDtype) -> Value:
    """Return the keys of two words (s): -> keys (s)."""
    rank = len(shape_of(pair[0]))
    columns = [broadcast_in_dim(x, (*shape_of(x), 1), tuple(range(rank))) for x in pair]
    impl = PRNGImpl(dtype.impl, dtype.name[4:-1], dtype.physical_shape)
    return random_wrap(concatenate(columns, rank), impl=impl)


def _counted(b: Any, key: Any, index: Sequence[Any], shape: Shape) -> tuple[Any, Any]:
    """Hash the row-major position of `index` in `shape`."""
    flat = b.convert(b.flat_index(index, shape), U64)
    high = b.convert(b.shift_right_logical(flat, 32), U32)
    if int(np.prod(shape, dtype=object)) <= 2**32:
        high = b.const(0, U32)
    return threefry(b, tuple(key), (high, b.convert(flat, U32)))


def _old_position(b: Any, index: Sequence[Any], shape: Shape) -> tuple[Any, int]:
    """Return the row-major position of `index` in `shape`, and the size, for the old layout."""
    size = int(np.prod(shape, dtype=object))
    if size > 2**31:
        raise NotImplementedError(f"the old layout has no streams of {size} random words")
    return b.convert(b.flat_index(index, shape), U32), size


def _old_children(b: Any, key: Sequence[Any], position: Any, size: int) -> tuple[Any, Any]:
    """Return the two words of child number `position` of `size`, in the old layout."""
    first = b.shift_left(position, 1)
    return tuple(old_word(b, key, b.add(first, i), 2 * size) for i in (0, 1))


def _numpy_positions(keys: np.ndarray, shape: Shape) -> tuple[tuple[Any, ...], np.ndarray]:
    """Return the words of keys (s, 2), to be stretched over (s, t), and the positions (t)."""
    flat = np.arange(int(np.prod(shape, dtype=int)), dtype=np.uint64).reshape(shape)
    lead = keys.shape[:-1] + (1,) * len(shape)
    return tuple(keys[..., i].reshape(lead) for i in (0, 1)), flat


def _numpy_counted(keys: np.ndarray, shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """Hash all positions of `shape` with all keys: words (s, 2) -> two arrays (s, t)."""
    words, flat = _numpy_positions(keys, shape)
    count = (flat >> np.uint64(32)).astype(U32), flat.astype(U32)
    with np.errstate(over="ignore"):
        return threefry(NumpyWords, words, count)


def _seed_words(b: Any, seed: Any) -> tuple[Any, Any]:
    """Return the high and the low word of a seed; the high one of a narrow seed is 0."""
    if seed.dtype.itemsize < 8:
        return b.const(0, U32), b.convert(seed, U32)
    unsigned = b.bitcast(seed, U64)
    high = b.convert(b.shift_right_logical(unsigned, 32), U32)
    return high, b.convert(b.and_(unsigned, b.const(0xFFFFFFFF, U64)), U32)


class FromKeys(WithoutTangent):
    """An operation that makes (s, t) of keys (s): a batch axis stays where it is."""

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        **params: Any,
    ) -> tuple:
        return self.bind(*args, **params), (dims[0],)

    def check_keys(self, keys: ShapedArray) -> None:
        """Raise TypeError unless the operand is an array of keys."""
        if not isinstance(keys.dtype, dtypes.KeyDtype):
            name = dtypes.dtype_name(keys.dtype)
            raise TypeError(f"{self.name} requires PRNG key array, got {name}{list(keys.shape)}")


class RandomBits(FromKeys):
    """keys: (s) -> unsigned integers of `bit_width` bits: (s, shape)."""

    name = "random_bits"
    hidden = {"partitionable": ...}

    def abstract(
        self, keys: ShapedArray, *, bit_width: int, shape: Shape, partitionable: bool = True
    ) -> tuple[ShapedArray, ...]:
        self.check_keys(keys)
        return (ShapedArray(keys.shape + shape, np.dtype(f"uint{bit_width}")),)

    def lower(
        self, b: Any, args: Sequence, outs: tuple, *, bit_width: int, shape: Shape,
        partitionable: bool = True,
    ) -> tuple:  # fmt: skip
        (keys,), (out,) = args, outs
        split = len(keys.shape)

        def pull(index: Sequence[Any]) -> Any:
            """Hash the position in the stream."""
            key = tuple(keys.at(*index[:split]))
            if not partitionable:
                return old_bits(b, key, *_old_position(b, index[split:], shape), bit_width)
            high, low = _counted(b, key, index[split:], shape)
            if bit_width == 64:
                wide = b.shift_left(b.convert(high, U64), 32)
                return b.or_(wide, b.convert(low, U64))
            return b.convert(b.xor(high, low), out.dtype)

        return (b.virtual(out, pull),)

    def decompose(
        self, *args: Value, bit_width: int, shape: Shape, partitionable: bool = True
    ) -> tuple[Value, ...]:
        """Hash all positions, and take or join the words."""
        if not partitionable:
            words, positions = _value_positions(args[0], shape)
            size = int(np.prod(shape, dtype=int))
            return (old_bits(ValueWords, words, positions, size, bit_width),)
        high, low = _value_counted(args[0], shape)
        if bit_width == 64:
            wide = shift_left(convert(high, U64), np.uint64(32))
            return (bitwise_or(wide, convert(low, U64)),)
        return (convert(bitwise_xor(high, low), np.dtype(f"uint{bit_width}")),)

    def reference(
        self, keys: np.ndarray, *, bit_width: int, shape: Shape, partitionable: bool = True
    ) -> tuple:
        if not partitionable:
            words, flat = _numpy_positions(keys, shape)
            with np.errstate(over="ignore"):
                return (old_bits(NumpyWords, words, flat.astype(U32), flat.size, bit_width),)
        high, low = _numpy_counted(keys, shape)
        if bit_width == 64:
            return ((high.astype(U64) << np.uint64(32)) | low.astype(U64),)
        return ((high ^ low).astype(f"uint{bit_width}"),)


class RandomSplit(FromKeys):
    """keys: (s) -> (s, shape): child number i is the hash of i."""

    name = "random_split"
    hidden = {"partitionable": ...}

    def abstract(
        self, keys: ShapedArray, *, shape: Shape, partitionable: bool = True
    ) -> tuple[ShapedArray, ...]:
        self.check_keys(keys)
        return (ShapedArray(keys.shape + shape, keys.dtype),)

    def lower(
        self, b: Any, args: Sequence, outs: tuple, *, shape: Shape, partitionable: bool = True
    ) -> tuple:
        (keys,), (out,) = args, outs
        split = len(keys.shape)

        def pull(index: Sequence[Any]) -> Any:
            """Hash the number of the child."""
            key = tuple(keys.at(*index[:split]))
            if not partitionable:
                place = _old_position(b, index[split:], shape)
                return kernel_parts.Parts(_old_children(b, key, *place))
            return kernel_parts.Parts(_counted(b, key, index[split:], shape))

        return (b.virtual(out, pull),)

    def decompose(
        self, *args: Value, shape: Shape, partitionable: bool = True
    ) -> tuple[Value, ...]:
        """Hash the numbers of the children."""
        if partitionable:
            pair = _value_counted(args[0], shape)
        else:
            words, positions = _value_positions(args[0], shape)
            pair = _old_children(ValueWords, words, positions, int(np.prod(shape, dtype=int)))
        return (_wrap_words(pair, _key_dtype(typeof(args[0]))),)

    def reference(self, keys: np.ndarray, *, shape: Shape, partitionable: bool = True) -> tuple:
        if partitionable:
            return (np.stack(_numpy_counted(keys, shape), axis=-1),)
        words, flat = _numpy_positions(keys, shape)
        with np.errstate(over="ignore"):
            pair = _old_children(NumpyWords, words, flat.astype(U32), flat.size)
        return (np.stack(pair, axis=-1),)


class RandomSeed(WithoutTangent):
    """integers: (s) -> keys (s): the words of the seed."""

    name = "random_seed"

    def abstract(self, seeds: ShapedArray, *, impl: PRNGImpl) -> tuple[ShapedArray, ...]:
        if not dtypes.issubdtype(seeds.dtype, np.integer):
            raise TypeError(f"PRNG key seed must be an integer; got {seeds.str_short(False)}")
        return (ShapedArray(seeds.shape, impl.dtype),)

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        **params: Any,
    ) -> tuple:
        return self.bind(*args, **params), tuple(dims)

    def lower(self, b: Any, args: Sequence, outs: tuple, *, impl: PRNGImpl) -> tuple:
        (seeds,) = args
        return (
            b.virtual(
                outs[0],
                lambda index: kernel_parts.Parts(_seed_words(b, seeds.at(*index))),
            ),
        )

    def decompose(self, *args: Value, impl: PRNGImpl) -> tuple[Value, ...]:
        """Take the high and the low word."""
        (seeds,) = args
        low = convert(seeds, U32)
        high = zeros_like(low)
        if typeof(seeds).dtype.itemsize == 8:
            bits = bitcast_convert_type(seeds, U64)
            high = convert(shift_right_logical(bits, np.uint64(32)), U32)
        return (_wrap_words((high, low), impl.dtype),)

    def reference(self, seeds: np.ndarray, *, impl: PRNGImpl) -> tuple:
        wide = seeds.astype(np.int64).view(np.uint64) if seeds.dtype.itemsize == 8 else seeds
        high = wide >> np.uint64(32) if seeds.dtype.itemsize == 8 else np.zeros_like(seeds)
        with np.errstate(over="ignore"):
            return (np.stack([high.astype(U32), wide.astype(U32)], axis=-1),)


class RandomFoldIn(WithoutTangent):
    """keys: (s), words: (s) -> keys (s): the hash of each word; rank 0 goes with every shape."""

    name = "random_fold_in"

    def abstract(self, keys: ShapedArray, words: ShapedArray) -> tuple[ShapedArray, ...]:
        if not isinstance(keys.dtype, dtypes.KeyDtype):
            name = dtypes.dtype_name(keys.dtype)
            raise TypeError(f"random_fold_in requires PRNG key array, got {name}")
        if words.dtype != U32:
            raise TypeError(f"random_fold_in requires uint32 data, got {words.str_short(False)}")
        if keys.shape and words.shape and keys.shape != words.shape:
            raise TypeError(
                f"random_fold_in got incompatible shapes: {keys.shape} and {words.shape}."
            )
        return (ShapedArray(keys.shape or words.shape, keys.dtype),)

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        **params: Any,
    ) -> tuple:
        rows = [_row_shape(x, dim) for x, dim in zip(args, dims, strict=True)]
        if any(dim is None and not row for dim, row in zip(dims, rows, strict=True)):
            return self.bind(*args, **params), (next(dim for dim in dims if dim is not None),)
        row = rows[0] or rows[1]
        args = [_rows(x, d, row, axis.size) for x, d in zip(args, dims, strict=True)]
        return self.bind(*args, **params), (0,)

    def lower(self, b: Any, args: Sequence, outs: tuple) -> tuple:
        keys, words = args

        def pull(index: Sequence[Any]) -> Any:
            """Hash the word, as a seed."""
            key = keys.at(*index) if keys.shape else keys.at()
            word = words.at(*index) if words.shape else words.at()
            return kernel_parts.Parts(threefry(b, tuple(key), _seed_words(b, word)))

        return (b.virtual(outs[0], pull),)

    def decompose(self, *args: Value) -> tuple[Value, ...]:
        """Hash the words, as seeds."""
        keys, words = args
        shape = shape_of(keys) or shape_of(words)
        key = _key_words(keys, shape, ())
        if shape_of(words) != shape:
            words = broadcast_in_dim(words, shape, ())
        pair = threefry(ValueWords, key, (zeros_like(words), words))
        return (_wrap_words(pair, _key_dtype(typeof(keys))),)

    def reference(self, keys: np.ndarray, words: np.ndarray) -> tuple:
        zero = np.zeros_like(words)
        with np.errstate(over="ignore"):
            pair = threefry(
                NumpyWords,
                (keys[..., 0], keys[..., 1]),
                (zero, words),
            )
        return (np.stack(pair, axis=-1),)


def _row_shape(x: Value, dim: int | None) -> Shape:
    """Return the shape of x without its batch axis."""
    shape = shape_of(x)
    return shape if dim is None else shape[:dim] + shape[dim + 1 :]


def _rows(x: Value, dim: int | None, row: Shape, size: int) -> Value:
    """Return x as (size, row): repeated if it has no batch axis, or if its rows have rank 0."""
    if dim is not None and not _row_shape(x, dim):
        return broadcast_in_dim(x, (size, *row), (0,))
    return batch_dim_to(x, dim, 0, size)


class RandomWrap(WithoutTangent):
    """words: (s, 2) -> keys (s): the same memory."""

    name = "random_wrap"

    def abstract(self, words: ShapedArray, *, impl: PRNGImpl) -> tuple[ShapedArray, ...]:
        end = len(impl.key_shape)
        if words.shape[words.ndim - end :] != impl.key_shape or words.ndim < end:
            raise TypeError(
                "JAX encountered invalid PRNG key data: expected key_data.shape to end with "
                f"{impl.key_shape}; got shape={words.shape} for impl={impl!r}"
            )
        if words.dtype != U32:
            raise TypeError(
                "JAX encountered invalid PRNG key data: expected key_data.dtype = uint32; "
                f"got dtype={dtypes.dtype_name(words.dtype)}"
            )
        return (ShapedArray(words.shape[: words.ndim - end], impl.dtype),)

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        **params: Any,
    ) -> tuple:
        return self.bind(move_dim(args[0], batch_dim(dims), 0), **params), (0,)

    def lower(self, b: Any, args: Sequence, outs: tuple, *, impl: PRNGImpl) -> tuple:
        (words,) = args
        if words.is_stored:
            return (b.reshape(words, outs[0]),)
        count = range(impl.key_shape[0])
        return (
            b.virtual(
                outs[0],
                lambda index: kernel_parts.Parts(words.at(*index, i) for i in count),
            ),
        )

    def hlo(self, b: Any, args: Sequence, outs: tuple, *, impl: PRNGImpl) -> tuple:
        """Write nothing: the words carry the keys."""
        return (b.retyped(args[0], outs[0]),)

    def reference(self, words: np.ndarray, *, impl: PRNGImpl) -> tuple:
        return (words,)


class RandomUnwrap(FromKeys):
    """keys: (s) -> words (s, 2): the same memory."""

    name = "random_unwrap"

    def abstract(self, keys: ShapedArray) -> tuple[ShapedArray, ...]:
        self.check_keys(keys)
        return (ShapedArray(keys.shape + _key_dtype(keys).physical_shape, U32),)

    def lower(self, b: Any, args: Sequence, outs: tuple) -> tuple:
        (keys,) = args
        if keys.is_stored:
            return (b.reshape(keys, outs[0]),)

        def pull(index: Sequence[Any]) -> Any:
            """Choose the word."""
            parts = keys.at(*index[:-1])
            if isinstance(index[-1], int):
                return parts[index[-1]]
            word = parts[-1]
            for number in reversed(range(len(parts) - 1)):
                word = b.select(b.eq(index[-1], number), parts[number], word)
            return word

        return (b.virtual(outs[0], pull),)

    def hlo(self, b: Any, args: Sequence, outs: tuple) -> tuple:
        """Write nothing: the words carry the keys."""
        return (b.retyped(args[0], outs[0]),)

    def reference(self, keys: np.ndarray) -> tuple:
        return (keys,)


class RandomClone(FromKeys):
    """keys: (s) -> (s): the identity, which marks that a key is used again on purpose."""

    name = "random_clone"

    def abstract(self, keys: ShapedArray) -> tuple[ShapedArray, ...]:
        self.check_keys(keys)
        return (keys,)

    def lower(self, b: Any, args: Sequence, outs: tuple) -> tuple:
        return tuple(args)

    def hlo(self, b: Any, args: Sequence, outs: tuple) -> tuple:
        """Write nothing."""
        return tuple(args)

    def reference(self, keys: np.ndarray) -> tuple:
        return (keys,)


class Threefry(WithoutTangent):
    """Key words k, l and counter words x, y, of one shape (s) -> two words (s)."""

    name = "threefry2x32"

    def abstract(self, *words: ShapedArray) -> tuple[ShapedArray, ...]:
        if any(word.dtype != U32 for word in words):
            names = tuple(dtypes.dtype_name(word.dtype) for word in words)
            text = f"Arguments to threefry2x32 must have uint32 type, got {names}"
            raise TypeError(text)
        shape = np.broadcast_shapes(*(word.shape for word in words))
        return (ShapedArray(shape, U32),) * 2

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        **params: Any,
    ) -> tuple:
        args = [batch_dim_to(x, d, 0, axis.size) for x, d in zip(args, dims, strict=True)]
        return self.bind(*args, **params), (0, 0)

    def lower(self, b: Any, args: Sequence, outs: tuple) -> tuple:
        def pull(index: Sequence[Any]) -> tuple[Any, Any]:
            """Hash one counter."""
            k, m, x, y = (_stretched(arg, index) for arg in args)
            return threefry(b, (k, m), (x, y))

        return tuple(b.virtual(outs[i], lambda index, i=i: pull(index)[i]) for i in (0, 1))

    def decompose(self, *args: Value) -> tuple[Value, ...]:
        """Hash all counters."""
        return threefry(ValueWords, args[:2], args[2:])

    def reference(self, *words: np.ndarray) -> tuple:
        with np.errstate(over="ignore"):
            return threefry(NumpyWords, words[:2], words[2:])


def _stretched(x: Any, index: Sequence[Any]) -> Any:
    """Pull x at an index of a shape that it stretches to."""
    tail = index[len(index) - len(x.shape) :]
    return x.at(*(0 if size == 1 else i for i, size in zip(tail, x.shape, strict=True)))


random_bits_p = RandomBits()
random_split_p = RandomSplit()
random_seed_p = RandomSeed()
random_fold_in_p = RandomFoldIn()
random_wrap_p = RandomWrap()
random_unwrap_p = RandomUnwrap()
random_clone_p = RandomClone()
threefry2x32_p = Threefry()


def random_bits(keys: Value, bit_width: int, shape: Sequence[int]) -> Value:
    """Return random unsigned integers of 8, 16, 32 or 64 bits: keys (s) -> (s, shape)."""
    if bit_width not in (8, 16, 32, 64):
        raise TypeError("requires 8-, 16-, 32- or 64-bit field width.")
    return random_bits_p.bind(
        keys,
        bit_width=bit_width,
        shape=tuple(shape),
        partitionable=config.current.jax_threefry_partitionable,
    )[0]


def random_split(keys: Value, shape: Sequence[int]) -> Value:
    """Return independent keys: keys (s) -> (s, shape)."""
    return random_split_p.bind(
        keys, shape=tuple(shape), partitionable=config.current.jax_threefry_partitionable
    )[0]


def random_seed(seeds: Value, impl: PRNGImpl) -> Value:
    """Return keys made of integers: (s) -> keys (s).  A Python integer keeps its low 64 bits."""
    if isinstance(seeds, int):
        bits = seeds & (2**64 - 1)
        signed = np.uint64(bits).astype(np.int64)
        seeds = signed.astype(dtypes.canonicalize_dtype(np.int64))
    return random_seed_p.bind(seeds, impl=impl)[0]


def random_fold_in(keys: Value, msgs: Value) -> Value:
    """Return the keys that integers name: keys (s), integers (s) -> keys (s)."""
    return random_fold_in_p.bind(keys, convert(msgs, U32))[0]


def random_wrap(base_arr: Value, *, impl: PRNGImpl) -> Value:
    """Return keys carried by the words (s, 2) -> keys (s)."""
    if isinstance(typeof(base_arr).dtype, dtypes.KeyDtype):
        return base_arr
    return random_wrap_p.bind(base_arr, impl=impl)[0]


def random_unwrap(keys: Value) -> Value:
    """Return the words that carry keys: (s) -> (s, 2)."""
    return random_unwrap_p.bind(keys)[0]


def random_clone(keys: Value) -> Value:
    """Return the keys themselves: (s) -> (s)."""
    return random_clone_p.bind(keys)[0]
