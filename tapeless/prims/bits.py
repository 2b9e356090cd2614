"""Random bits by counting: operations on keys.

A key is an element of an array of an extended dtype; that of the default generator, threefry2x32,
is `key<fry>`, and is carried by two words of 32 bits.  All operations are pure functions of keys:

    random_seed     ints (s) -> keys (s)                    from the seed's 64 bits
    random_bits     keys (s) -> words (s, t)                t = shape; unsigned, of 8 to 64 bits
    random_split    keys (s) -> keys (s, t)                 independent children
    random_fold_in  keys (s), words (s) -> keys (s)         the child that a number names
    random_wrap     words (s, w) -> keys (s);  random_unwrap is its inverse
    random_clone    keys (s) -> keys (s)                    the identity

Element i of a stream is a hash of the number i, whatever the shape (`prims/generators.py`).  So the
rounds are written on scalars of the loop language, consumers pull them, and random numbers are made
in the loop that uses them.  The old layout of counters (`prims/threefry.py`) is chosen by the flag
`jax_threefry_partitionable` when an operation is staged; programs do not print it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tapeless import config, dtypes
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.primitive import Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.bitwise import shift_right_logical
from tapeless.prims.common import (
    batch_dim,
    batch_dim_to,
    move_dim,
    shape_of,
    zeros_like,
)
from tapeless.prims.convert import bitcast_convert_type, convert
from tapeless.prims.create import broadcasted_iota
from tapeless.prims.generators import GENERATORS, Generator, Place
from tapeless.prims.join import concatenate
from tapeless.prims.rules import WithoutTangent
from tapeless.prims.slice import index_in_dim
from tapeless.prims.structural import broadcast_in_dim, reshape
from tapeless.prims.threefry import (
    U32,
    U64,
    NumpyWords,
    ValueWords,
    threefry,
)
from tapeless.util import lazy

__all__ = [
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
    "prng_impls",
    "threefry2x32_p",
    "threefry_prng_impl",
]

kernel_parts = lazy.load("tapeless.kernel.parts")

Shape = tuple[int, ...]


prng_impls = {
    name: dtypes.PRNGImpl(name, made.tag, (made.n_words,)) for name, made in GENERATORS.items()
}
threefry_prng_impl = prng_impls["threefry2x32"]


def _generator(keys: ShapedArray) -> Generator:
    """Return the generator of an array of keys."""
    return GENERATORS[_key_dtype(keys).impl]


def _key_dtype(keys: ShapedArray) -> dtypes.KeyDtype:
    """Return the dtype of an array of keys, as what it is."""
    dtype: dtypes.Dtype = keys.dtype
    assert isinstance(dtype, dtypes.KeyDtype), f"{keys} has no keys; this is a bug in tapeless"
    return dtype


def _size(shape: Shape) -> int:
    """Return the number of elements."""
    return int(np.prod(shape, dtype=object))


def _kernel_place(
    b: Any, keys: Any, index: Sequence[Any], shape: Shape, what: str, is_old: bool
) -> tuple[tuple, Place]:
    """Return the words of the key at the head of `index`, and the place that its tail names.

    keys: (s), index: of (s, shape).
    """
    rank = len(keys.shape)
    if what in _generator(keys.aval).of_first:
        head, tail, shape = (0,) * rank, index, (*keys.shape, *shape)
    else:
        head, tail = index[:rank], index[rank:]
    return kernel_parts.parts_of(keys.at(*head)), _place_at(b, tail, shape, is_old)


def _element(words: Iterable[Any]) -> Any:
    """Return the words of a key as an element of the loop language."""
    parts = kernel_parts.Parts(words)
    return parts if len(parts) > 1 else parts[0]


def _place_at(b: Any, index: Sequence[Any], shape: Shape, is_old: bool) -> Place:
    """Return the row-major place of `index` in `shape`."""
    size = _size(shape)
    if is_old and size > 2**31:
        raise NotImplementedError(f"the old layout has no streams of {size} random words")
    flat = b.flat_index(index, shape)
    high = b.const(0, U32)
    if size > 2**32:
        high = b.convert(b.shift_right_logical(b.convert(flat, U64), 32), U32)
    # not by way of 64 bits, which would halve the number of lanes
    return Place(high, b.convert(flat, U32), size, is_old)


def _value_words(keys: Value, lead: Shape, tail: Shape, first: bool = False) -> tuple[Value, ...]:
    """Return the words of keys (s), each stretched to (*lead, *tail); lead: s, or what s stretches
    to.  first: those of the first key for all.
    """
    words = random_unwrap(keys)
    kept = tuple(range(len(shape_of(words)) - 1))
    parts = []
    for number in range(shape_of(words)[-1]):
        part = index_in_dim(words, number, len(kept), keepdims=False)
        parts.append(_stretched_value(part, (*lead, *tail), first))
    return tuple(parts)


def _stretched_value(x: Value, out: Shape, first: bool) -> Value:
    """Return x (s) as (s, t) = `out`, or its first element everywhere."""
    if first:
        for _ in shape_of(x):
            x = index_in_dim(x, 0, 0, keepdims=False)
    return broadcast_in_dim(x, out, tuple(range(len(shape_of(x)))))


def _value_place(lead: Shape, shape: Shape, is_old: bool) -> Place:
    """Return the places in `shape`, stretched to (*lead, *shape)."""
    size = _size(shape)
    if size > 2**32:
        raise NotImplementedError(f"{size} random words of one key are written by no decomposition")
    out = (*lead, *shape)
    flat = reshape(broadcasted_iota(U32, (size,), 0), shape)
    low = broadcast_in_dim(flat, out, tuple(range(len(lead), len(out))))
    return Place(zeros_like(low), low, size, is_old)


def _value_streams(
    keys: Value, shape: Shape, what: str, is_old: bool
) -> tuple[Generator, tuple[Value, ...], Place]:
    """Return the generator, the words of keys (s) and the places in `shape`, as (s, shape)."""
    generator = _generator(typeof(keys))
    lead = shape_of(keys)
    if what in generator.of_first:
        words = _value_words(keys, lead, shape, first=True)
        return generator, words, _value_place((), (*lead, *shape), is_old)
    return generator, _value_words(keys, lead, shape), _value_place(lead, shape, is_old)


def _wrap_words(words: Sequence[Value], dtype: dtypes.KeyDtype) -> Value:
    """Return the keys of words (s) each: -> keys (s)."""
    rank = len(shape_of(words[0]))
    columns = [broadcast_in_dim(x, (*shape_of(x), 1), tuple(range(rank))) for x in words]
    return random_wrap(concatenate(columns, rank), impl=dtype.prng_impl)


def _numpy_streams(
    keys: np.ndarray, shape: Shape, is_old: bool
) -> tuple[Generator, tuple[np.ndarray, ...], Place]:
    """Return the generator of words (s, 2), the words, to be stretched over (s, t), and places."""
    flat = np.arange(_size(shape), dtype=np.uint64).reshape(shape)
    lead = keys.shape[:-1] + (1,) * len(shape)
    place = Place((flat >> np.uint64(32)).astype(U32), flat.astype(U32), flat.size, is_old)
    words = tuple(keys[..., i].reshape(lead) for i in range(keys.shape[-1]))
    return GENERATORS["threefry2x32"], words, place


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
        generator = _generator(keys.aval)

        def pull(index: Sequence[Any]) -> Any:
            """Hash the position in the stream."""
            key, place = _kernel_place(b, keys, index, shape, "bits", not partitionable)
            return generator.bits(b, key, place, bit_width)

        return (b.virtual(out, pull),)

    def decompose(
        self, *args: Value, bit_width: int, shape: Shape, partitionable: bool = True
    ) -> tuple[Value, ...]:
        """Hash all positions, and take or join the words."""
        generator, words, place = _value_streams(args[0], shape, "bits", not partitionable)
        with config.enable_x64(True):
            return (generator.bits(ValueWords, words, place, bit_width),)

    def reference(
        self, keys: np.ndarray, *, bit_width: int, shape: Shape, partitionable: bool = True
    ) -> tuple:
        generator, words, place = _numpy_streams(keys, shape, not partitionable)
        with np.errstate(over="ignore"):
            return (generator.bits(NumpyWords, words, place, bit_width),)


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
        generator = _generator(keys.aval)

        def pull(index: Sequence[Any]) -> Any:
            """Hash the number of the child."""
            key, place = _kernel_place(b, keys, index, shape, "child", not partitionable)
            return _element(generator.child(b, key, place))

        return (b.virtual(out, pull),)

    def decompose(
        self, *args: Value, shape: Shape, partitionable: bool = True
    ) -> tuple[Value, ...]:
        """Hash the numbers of the children."""
        generator, words, place = _value_streams(args[0], shape, "child", not partitionable)
        with config.enable_x64(True):
            child = generator.child(ValueWords, words, place)
        return (_wrap_words(child, _key_dtype(typeof(args[0]))),)

    def reference(self, keys: np.ndarray, *, shape: Shape, partitionable: bool = True) -> tuple:
        generator, words, place = _numpy_streams(keys, shape, not partitionable)
        with np.errstate(over="ignore"):
            return (np.stack(generator.child(NumpyWords, words, place), axis=-1),)


class RandomSeed(WithoutTangent):
    """integers: (s) -> keys (s): the words of the seed."""

    name = "random_seed"

    def abstract(self, seeds: ShapedArray, *, impl: dtypes.PRNGImpl) -> tuple[ShapedArray, ...]:
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

    def lower(self, b: Any, args: Sequence, outs: tuple, *, impl: dtypes.PRNGImpl) -> tuple:
        (seeds,) = args

        def pull(index: Sequence[Any]) -> Any:
            """Make a key of one seed."""
            words = _seed_words(b, seeds.at(*index))
            return _element(GENERATORS[impl.name].seed(b, *words))

        return (b.virtual(outs[0], pull),)

    def decompose(self, *args: Value, impl: dtypes.PRNGImpl) -> tuple[Value, ...]:
        """Take the high and the low word."""
        (seeds,) = args
        low = convert(seeds, U32)
        high = zeros_like(low)
        if typeof(seeds).dtype.itemsize == 8:
            bits = bitcast_convert_type(seeds, U64)
            high = convert(shift_right_logical(bits, np.uint64(32)), U32)
        with config.enable_x64(True):
            words = GENERATORS[impl.name].seed(ValueWords, high, low)
        return (_wrap_words(words, impl.dtype),)

    def reference(self, seeds: np.ndarray, *, impl: dtypes.PRNGImpl) -> tuple:
        wide = seeds.astype(np.int64).view(np.uint64) if seeds.dtype.itemsize == 8 else seeds
        high = wide >> np.uint64(32) if seeds.dtype.itemsize == 8 else np.zeros_like(seeds)
        with np.errstate(over="ignore"):
            words = high.astype(U32), wide.astype(U32)
            return (np.stack(GENERATORS[impl.name].seed(NumpyWords, *words), axis=-1),)


class RandomFoldIn(WithoutTangent):
    """keys: (s), words: (s) -> keys (s): the hash of each word.

    Extents of 1 are stretched, and rank 0 goes with every shape.
    """

    name = "random_fold_in"

    def abstract(self, keys: ShapedArray, words: ShapedArray) -> tuple[ShapedArray, ...]:
        if not isinstance(keys.dtype, dtypes.KeyDtype):
            name = dtypes.dtype_name(keys.dtype)
            raise TypeError(f"random_fold_in requires PRNG key array, got {name}")
        if words.dtype != U32:
            raise TypeError(f"random_fold_in requires uint32 data, got {words.str_short(False)}")
        pairs = list(zip(keys.shape, words.shape, strict=False))
        stretches = all(1 in sizes or sizes[0] == sizes[1] for sizes in pairs)
        if len(pairs) != max(keys.ndim, words.ndim) and pairs or not stretches:
            raise TypeError(
                f"random_fold_in got incompatible shapes: {keys.shape} and {words.shape}."
            )
        return (ShapedArray(np.broadcast_shapes(keys.shape, words.shape), keys.dtype),)

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        **params: Any,
    ) -> tuple:
        rank = max(len(_row_shape(x, dim)) for x, dim in zip(args, dims, strict=True))
        args = [_row_of_rank(x, dim, rank) for x, dim in zip(args, dims, strict=True)]
        return self.bind(*args, **params), (0,)

    def lower(self, b: Any, args: Sequence, outs: tuple) -> tuple:
        keys, words = args
        generator = _generator(keys.aval)
        takes_first = "fold_in" in generator.of_first

        def pull(index: Sequence[Any]) -> Any:
            """Hash the word, as a seed."""
            own = _own_index(words, index)
            word = words.at(*((0,) * len(own) if takes_first else own))
            place = _place_at(b, own, words.shape, False)
            key = kernel_parts.parts_of(_stretched(keys, index))
            message = _seed_words(b, word)
            return _element(generator.fold_in(b, key, message, place))

        return (b.virtual(outs[0], pull),)

    def decompose(self, *args: Value) -> tuple[Value, ...]:
        """Hash the words, as seeds."""
        keys, words = args
        generator = _generator(typeof(keys))
        own = shape_of(words)
        shape = np.broadcast_shapes(shape_of(keys), own)
        key = _value_words(keys, shape, ())
        place = _value_place((), own, False)
        low = _stretched_value(words, shape, "fold_in" in generator.of_first)
        numbers = _stretched_value(place.low, shape, False)
        place = Place(zeros_like(numbers), numbers, place.size, False)
        with config.enable_x64(True):
            made = generator.fold_in(ValueWords, key, (zeros_like(low), low), place)
        return (_wrap_words(made, _key_dtype(typeof(keys))),)

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


def _row_of_rank(x: Value, dim: int | None, rank: int) -> Value:
    """Return x with the batch axis first and rows of `rank`; extents of 1 stand for what it lacks.

    Rank 0 stays.
    """
    row = _row_shape(x, dim)
    if dim is None:
        return reshape(x, (1, *row)) if row else x
    first = move_dim(x, dim, 0)
    if len(row) == rank:
        return first
    return broadcast_in_dim(first, (shape_of(first)[0], *(1,) * rank), (0,))


class RandomWrap(WithoutTangent):
    """words: (s, 2) -> keys (s): the same memory."""

    name = "random_wrap"

    def abstract(self, words: ShapedArray, *, impl: dtypes.PRNGImpl) -> tuple[ShapedArray, ...]:
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

    def lower(self, b: Any, args: Sequence, outs: tuple, *, impl: dtypes.PRNGImpl) -> tuple:
        (words,) = args
        if words.is_stored:
            return (b.reshape(words, outs[0]),)
        count = range(impl.key_shape[0])
        return (
            b.virtual(
                outs[0],
                lambda index: _element(words.at(*index, i) for i in count),
            ),
        )

    def hlo(self, b: Any, args: Sequence, outs: tuple, *, impl: dtypes.PRNGImpl) -> tuple:
        """Write nothing: the words carry the keys."""
        return (b.retyped(args[0], outs[0]),)

    def reference(self, words: np.ndarray, *, impl: dtypes.PRNGImpl) -> tuple:
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
            parts = kernel_parts.parts_of(keys.at(*index[:-1]))
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


def _own_index(x: Any, index: Sequence[Any]) -> tuple:
    """Return the index of x that an index of a shape that it stretches to means."""
    tail = index[len(index) - len(x.shape) :]
    return tuple(0 if size == 1 else i for i, size in zip(tail, x.shape, strict=True))


def _stretched(x: Any, index: Sequence[Any]) -> Any:
    """Pull x at an index of a shape that it stretches to."""
    return x.at(*_own_index(x, index))


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


def random_seed(seeds: Value, impl: dtypes.PRNGImpl) -> Value:
    """Return keys made of integers: (s) -> keys (s).  A Python integer keeps its low 64 bits."""
    if isinstance(seeds, int):
        bits = seeds & (2**64 - 1)
        signed = np.uint64(bits).astype(np.int64)
        seeds = signed.astype(dtypes.canonicalize_dtype(np.int64))
    return random_seed_p.bind(seeds, impl=impl)[0]


def random_fold_in(keys: Value, msgs: Value) -> Value:
    """Return the keys that integers name: keys (s), integers (s) -> keys (s)."""
    return random_fold_in_p.bind(keys, convert(msgs, U32))[0]


def random_wrap(base_arr: Value, *, impl: dtypes.PRNGImpl) -> Value:
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
