"""Hashes that random bits come from, and how the streams of the default one are numbered.

Threefry2x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) mixes a key and a
counter, of two words each, in 20 rounds of add, rotate, xor; Threefry4x32 has four words of each.
Philox, of the same paper, multiplies words by constants and keeps both halves of the products, ten
times.  The formulas are written once, for anything that has the operations on words: scalars of the
loop language, arrays of NumPy, and values of a program.

The two layouts of counters of threefry2x32:

    partitionable   element i of a stream is made of the hash of the counter i, whatever the shape
    old layout      the counters 0, 1, ... n - 1 are cut in halves, which are hashed in pairs, first
                    with first; element i depends on n

In the old layout, narrow elements are the parts of a word, low part first; wide ones join word i
with word n + i of a stream of 2n.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.prims.binary import add, mul, sub
from tapeless.prims.bitwise import (
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    shift_left,
    shift_right_logical,
)
from tapeless.prims.common import full_like
from tapeless.prims.compare import lt
from tapeless.prims.convert import convert
from tapeless.prims.select import select_n

__all__ = [
    "U32",
    "U64",
    "NumpyWords",
    "ValueWords",
    "old_bits",
    "old_word",
    "philox2",
    "philox4",
    "threefry",
    "threefry4",
    "wide",
]

U32 = np.dtype(np.uint32)
U64 = np.dtype(np.uint64)
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_ROTATIONS_OF_FOUR = ((10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20))
_PARITY = 0x1BD11BDA
# Philox: what keys are raised by, and words multiplied by.
_WEYL = (0x9E3779B9, 0xBB67AE85)
_FACTOR_OF_TWO = 0xD256D193
_FACTORS_OF_FOUR = (0xD2511F53, 0xCD9E8D57)


def threefry(
    b: Any,
    key: Sequence[Any],
    count: Sequence[Any],
) -> tuple[Any, Any]:
    """Hash the two words of a counter with a key; `b` has the operations on words."""
    parity = b.const(_PARITY, U32)
    schedule = (*key, b.xor(b.xor(*key), parity))
    x = b.add(count[0], schedule[0])
    y = b.add(count[1], schedule[1])
    for group in range(5):
        for distance in _ROTATIONS[group % 2]:
            x, y = _mixed(b, x, y, distance)
        x = b.add(x, schedule[(group + 1) % 3])
        y = b.add(y, schedule[(group + 2) % 3])
        y = b.add(y, group + 1)
    return x, y


def _mixed(b: Any, x: Any, y: Any, distance: int) -> tuple[Any, Any]:
    """Return x + y, and y rotated to the left and mixed with that."""
    total = b.add(x, y)
    left = b.shift_left(y, distance)
    right = b.shift_right_logical(y, 32 - distance)
    return total, b.xor(total, b.or_(left, right))


def threefry4(
    b: Any,
    key: Sequence[Any],
    count: Sequence[Any],
) -> tuple[Any, ...]:
    """Hash the four words of a counter with a key of four words."""
    parity = b.xor(b.xor(key[0], key[1]), b.xor(key[2], key[3]))
    schedule = (*key, b.xor(parity, b.const(_PARITY, U32)))
    w, x, y, z = map(b.add, count, key)
    for number in range(20):
        near, far = _ROTATIONS_OF_FOUR[number % 8]
        # Pairs are (w, x), (y, z) in even rounds and (w, z), (y, x) in odd ones.
        w, x = _mixed(b, w, x, near)
        y, z = _mixed(b, y, z, far)
        x, z = z, x
        if number % 4 == 3:
            group = number // 4 + 1
            w, x, y, z = (
                b.add(word, schedule[(group + i) % 5]) for i, word in enumerate((w, x, y, z))
            )
            z = b.add(z, group)
    return w, x, y, z


def wide(b: Any, high: Any, low: Any) -> Any:
    """Return two words of 32 bits as one of 64."""
    return b.or_(b.shift_left(b.convert(high, U64), 32), b.convert(low, U64))


def _product(b: Any, word: Any, factor: int) -> tuple[Any, Any]:
    """Return the high and the low half of a word times a constant."""
    product = b.mul(b.convert(word, U64), b.const(factor, U64))
    return b.convert(b.shift_right_logical(product, 32), U32), b.convert(product, U32)


def philox2(
    b: Any,
    key: Sequence[Any],
    count: Sequence[Any],
) -> tuple[Any, Any]:
    """Hash the two words of a counter with a key of one word."""
    (raised,), (x, y) = key, count
    for number in range(10):
        if number:
            raised = b.add(raised, b.const(_WEYL[0], U32))
        high, low = _product(b, x, _FACTOR_OF_TWO)
        x, y = b.xor(b.xor(high, raised), y), low
    return x, y


def philox4(
    b: Any,
    key: Sequence[Any],
    count: Sequence[Any],
) -> tuple[Any, ...]:
    """Hash the four words of a counter with a key of two words."""
    words = tuple(count)
    for number in range(10):
        if number:
            key = [b.add(x, b.const(step, U32)) for x, step in zip(key, _WEYL, strict=True)]
        first, second = (
            _product(b, words[2 * i], factor) for i, factor in enumerate(_FACTORS_OF_FOUR)
        )
        words = (
            b.xor(b.xor(second[0], words[1]), key[0]),
            second[1],
            b.xor(b.xor(first[0], words[3]), key[1]),
            first[1],
        )
    return words


def old_word(b: Any, key: Sequence[Any], position: Any, n: int) -> Any:
    """Return word number `position` of a stream of `n` words in the old layout."""
    half = (n + 1) // 2
    is_first = b.lt(position, b.const(half, U32))
    low = b.select(is_first, position, b.sub(position, b.const(half, U32)))
    high = b.add(low, half)
    if n % 2:
        exists = b.lt(high, b.const(n, U32))
        high = b.select(exists, high, b.const(0, U32))
    x, y = threefry(b, key, (low, high))
    return b.select(is_first, x, y)


def old_bits(b: Any, key: Sequence[Any], position: Any, size: int, width: int) -> Any:
    """Return element `position` of a stream of `size` elements of `width` bits, old layout."""
    if width == 32:
        return old_word(b, key, position, size)
    if width == 64:
        high = old_word(b, key, position, 2 * size)
        return wide(b, high, old_word(b, key, b.add(position, size), 2 * size))
    per_word = 32 // width
    n = -(-size // per_word)
    word = old_word(b, key, b.shift_right_logical(position, per_word.bit_length() - 1), n)
    part = b.and_(position, b.const(per_word - 1, U32))
    distance = b.shift_left(part, width.bit_length() - 1)
    return b.convert(b.shift_right_logical(word, distance), np.dtype(f"uint{width}"))


class NumpyWords:
    """The operations on arrays of words of NumPy, for references."""

    add = staticmethod(np.add)
    sub = staticmethod(np.subtract)
    mul = staticmethod(np.multiply)
    xor = staticmethod(np.bitwise_xor)
    or_ = staticmethod(np.bitwise_or)
    and_ = staticmethod(np.bitwise_and)
    lt = staticmethod(np.less)
    select = staticmethod(np.where)

    @staticmethod
    def const(value: int, dtype: np.dtype) -> np.generic:
        """Make a word."""
        return dtype.type(value)

    @staticmethod
    def convert(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """Change the width."""
        return x.astype(dtype)

    @staticmethod
    def shift_left(x: np.ndarray, distance: Any) -> np.ndarray:
        """x << distance."""
        return np.left_shift(x, np.asarray(distance, x.dtype))

    @staticmethod
    def shift_right_logical(x: np.ndarray, distance: Any) -> np.ndarray:
        """x >> distance."""
        return np.right_shift(x, np.asarray(distance, x.dtype))


def _like(x: Value, other: Any) -> Value:
    """Return an int as a scalar of the dtype of `x`; a value as it is."""
    return typeof(x).dtype.type(other) if isinstance(other, int) else other


class ValueWords:
    """The operations on values of a program, for decompositions."""

    xor = staticmethod(bitwise_xor)
    or_ = staticmethod(bitwise_or)
    and_ = staticmethod(bitwise_and)
    sub = staticmethod(sub)
    mul = staticmethod(mul)
    lt = staticmethod(lt)
    convert = staticmethod(convert)

    @staticmethod
    def add(x: Value, y: Value | int) -> Value:
        """x + y."""
        return add(x, _like(x, y))

    @staticmethod
    def const(value: int, dtype: np.dtype) -> np.generic:
        """Make a word."""
        return dtype.type(value)

    @staticmethod
    def select(which: Value, x: Value, y: Value) -> Value:
        """x where `which`, else y."""
        if isinstance(y, np.generic):
            y = full_like(x, y.item())
        return select_n(which, y, x)

    @staticmethod
    def shift_left(x: Value, distance: Value | int) -> Value:
        """x << distance."""
        return shift_left(x, _like(x, distance))

    @staticmethod
    def shift_right_logical(x: Value, distance: Value | int) -> Value:
        """x >> distance."""
        return shift_right_logical(x, _like(x, distance))
