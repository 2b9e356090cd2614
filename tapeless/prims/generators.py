"""Generators: what each kind of key makes of a seed, of a number, and of a place in a stream.

    seed      the words of the key that a number of 64 bits starts
    child     the key that is number i among the children of a key
    fold_in   the key that a word names among the children of a key
    bits      element i of the stream of a key, of 8 to 64 bits

The formulas are written once, for scalars of the loop language, arrays of NumPy and values of a
program (`threefry.py` has the operations on words).  All hash the number i with a key:

    threefry2x32   the default; its older layout of counters is chosen by a flag
    threefry4x32, philox2x32, philox4x32    their relations in Random123 (Salmon et al., 2011)
    rbg            children by threefry; bits are philox of a running count of 128 bits, which
                   starts at the key: what XLA's CPU does for the generators of accelerators
    unsafe_rbg     as rbg, but children are cut out of the stream of bits, every tenth block

Under vmap the last two differ from a loop, as in JAX: all keys of an array draw from the stream of
the first one (`of_first` says what does).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tapeless.prims.threefry import (
    U32,
    U64,
    old_bits,
    old_word,
    philox2,
    philox4,
    threefry,
    threefry4,
    wide,
)

__all__ = ["GENERATORS", "Generator", "Place"]

Words = tuple[Any, ...]


class Place(NamedTuple):
    """A number below `size`, as two words of 32 bits; is_old: count in the older layout."""

    high: Any
    low: Any
    size: int
    is_old: bool


class Generator:
    """What threefry2x32 does; the others differ in parts."""

    name = "threefry2x32"
    tag = "fry"
    n_words = 2
    of_first: frozenset[str] = frozenset()

    def seed(
        self,
        b: Any,
        high: Any,
        low: Any,
    ) -> Words:
        """Return the words of the key of a seed, given as two words."""
        return high, low

    def child(
        self,
        b: Any,
        key: Words,
        place: Place,
    ) -> Words:
        """Return the words of a child."""
        if not place.is_old:
            return threefry(b, key, place[:2])
        first = b.shift_left(place.low, 1)
        return tuple(old_word(b, key, b.add(first, i), 2 * place.size) for i in (0, 1))

    def fold_in(
        self,
        b: Any,
        key: Words,
        message: Words,
        place: Place,
    ) -> Words:
        """Return the words of the child that a message, two words, names."""
        return threefry(b, key, self.seed(b, *message))

    def bits(
        self,
        b: Any,
        key: Words,
        place: Place,
        width: int,
    ) -> Any:
        """Return the element of the stream at a place, of `width` bits."""
        if place.is_old:
            return old_bits(b, key, place.low, place.size, width)
        high, low = threefry(b, key, place[:2])
        return wide(b, high, low) if width == 64 else _narrow(b, b.xor(high, low), width)


class Philox2(Generator):
    """Keys of one word."""

    name, tag, n_words = "philox2x32", "phx2", 1

    def seed(
        self,
        b: Any,
        high: Any,
        low: Any,
    ) -> Words:
        """Hash the seed."""
        zero = b.const(0, U32)
        words = philox2(b, (zero,), (high, low))
        return words[:1]

    def child(
        self,
        b: Any,
        key: Words,
        place: Place,
    ) -> Words:
        """Take one word of the hash."""
        return philox2(b, key, place[:2])[:1]

    def fold_in(
        self,
        b: Any,
        key: Words,
        message: Words,
        place: Place,
    ) -> Words:
        """Take one word of the hash."""
        return philox2(b, key, message)[:1]

    def bits(
        self,
        b: Any,
        key: Words,
        place: Place,
        width: int,
    ) -> Any:
        """Join the words, or put them side by side."""
        high, low = philox2(b, key, place[:2])
        return wide(b, high, low) if width == 64 else _narrow(b, b.xor(high, low), width)


class Philox4(Generator):
    """Keys of two words."""

    name, tag, n_words = "philox4x32", "phx4", 2

    def seed(
        self,
        b: Any,
        high: Any,
        low: Any,
    ) -> Words:
        """Hash the seed."""
        zero = b.const(0, U32)
        count = (high, low, zero, zero)
        return philox4(b, (zero, zero), count)[:2]

    def child(
        self,
        b: Any,
        key: Words,
        place: Place,
    ) -> Words:
        """Hash the number as the last words."""
        zero = b.const(0, U32)
        count = (zero, zero, *place[:2])
        return philox4(b, key, count)[:2]

    def fold_in(
        self,
        b: Any,
        key: Words,
        message: Words,
        place: Place,
    ) -> Words:
        """Hash the message as the last words."""
        zero = b.const(0, U32)
        count = (zero, zero, *message)
        return philox4(b, key, count)[:2]

    def bits(
        self,
        b: Any,
        key: Words,
        place: Place,
        width: int,
    ) -> Any:
        """Hash the number as the first words, and join all or take two."""
        zero = b.const(0, U32)
        words = philox4(b, key, (*place[:2], zero, zero))
        return wide(b, *words[:2]) if width == 64 else _narrow(b, _all_joined(b, words), width)


class Threefry4(Generator):
    """Keys of four words."""

    name, tag, n_words = "threefry4x32", "fry4", 4

    def seed(
        self,
        b: Any,
        high: Any,
        low: Any,
    ) -> Words:
        """Hash zeros with the seed."""
        zero = b.const(0, U32)
        count = (zero,) * 4
        return threefry4(b, (high, low, zero, zero), count)

    def child(
        self,
        b: Any,
        key: Words,
        place: Place,
    ) -> Words:
        """Hash the number as the last words."""
        zero = b.const(0, U32)
        count = (zero, zero, *place[:2])
        return threefry4(b, key, count)

    def fold_in(
        self,
        b: Any,
        key: Words,
        message: Words,
        place: Place,
    ) -> Words:
        """Hash the message as the last words."""
        zero = b.const(0, U32)
        count = (zero, zero, *message)
        return threefry4(b, key, count)

    def bits(
        self,
        b: Any,
        key: Words,
        place: Place,
        width: int,
    ) -> Any:
        """Hash the number as the first words, and join all or join pairs."""
        zero = b.const(0, U32)
        words = threefry4(b, key, (*place[:2], zero, zero))
        if width == 64:
            return wide(b, b.xor(words[0], words[2]), b.xor(words[1], words[3]))
        return _narrow(b, _all_joined(b, words), width)


class Rbg(Generator):
    """Keys of four words: a key of threefry, twice."""

    name, tag, n_words = "rbg", "rbg", 4
    of_first = frozenset({"bits"})

    def seed(
        self,
        b: Any,
        high: Any,
        low: Any,
    ) -> Words:
        """Take the seed twice."""
        return high, low, high, low

    def child(
        self,
        b: Any,
        key: Words,
        place: Place,
    ) -> Words:
        """Take the children of both halves."""
        halves = (super(Rbg, self).child(b, half, place) for half in (key[:2], key[2:]))
        return tuple(word for half in halves for word in half)

    def fold_in(
        self,
        b: Any,
        key: Words,
        message: Words,
        place: Place,
    ) -> Words:
        """Hash the message with both halves."""
        return (*threefry(b, key[:2], message), *threefry(b, key[2:], message))

    def bits(
        self,
        b: Any,
        key: Words,
        place: Place,
        width: int,
    ) -> Any:
        """Take an element out of the block that it is in: four words, or two pairs of them."""
        number = _number(b, place)
        if width == 64:
            words = _block(b, key, b.shift_right_logical(number, 1))
            is_first = b.lt(b.and_(number, b.const(1, U64)), b.const(1, U64))
            return b.select(is_first, wide(b, *words[1::-1]), wide(b, *words[:1:-1]))
        words = _block(b, key, b.shift_right_logical(number, 2))
        part, word = b.and_(number, b.const(3, U64)), words[3]
        for i in (2, 1, 0):
            word = b.select(b.lt(part, b.const(i + 1, U64)), words[i], word)
        return _narrow(b, word, width)


class UnsafeRbg(Rbg):
    """Keys of four words, all of them random."""

    name, tag = "unsafe_rbg", "urbg"
    of_first = frozenset({"bits", "child", "fold_in"})

    def child(
        self,
        b: Any,
        key: Words,
        place: Place,
    ) -> Words:
        """Take every tenth block of the stream."""
        return _block(b, key, b.mul(_number(b, place), b.const(10, U64)))

    def fold_in(
        self,
        b: Any,
        key: Words,
        message: Words,
        place: Place,
    ) -> Words:
        """Mix the key with a block of the stream that the message starts."""
        number = b.mul(_number(b, place), b.const(10, U64))
        block = _block(b, self.seed(b, *message), b.add(number, b.const(9, U64)))
        return tuple(map(b.xor, key, block))


def _narrow(b: Any, word: Any, width: int) -> Any:
    """Return the low bits of a word, as an integer of 8, 16 or 32 bits."""
    return b.convert(word, np.dtype(f"uint{width}"))


def _all_joined(b: Any, words: Sequence[Any]) -> Any:
    """Return the exclusive or of four words."""
    return b.xor(b.xor(words[0], words[1]), b.xor(words[2], words[3]))


def _number(b: Any, place: Place) -> Any:
    """Return the number of a place as one word of 64 bits."""
    low = b.convert(place.low, U64)
    return wide(b, place.high, place.low) if place.size > 2**32 else low


def _block(b: Any, key: Words, number: Any) -> Words:
    """Return block `number`, four words, of a running count that starts at the words 2, 3, 0, 1."""
    low = b.add(wide(b, key[3], key[2]), number)
    high = wide(b, key[1], key[0])
    high = b.select(b.lt(low, number), b.add(high, b.const(1, U64)), high)
    halves = [x for y in (low, high) for x in (y, b.shift_right_logical(y, 32))]
    return philox4(b, key[:2], tuple(b.convert(x, U32) for x in halves))


GENERATORS: dict[str, Generator] = {
    made.name: made for made in (Philox2(), Philox4(), Generator(), Rbg(), UnsafeRbg(), Threefry4())
}
