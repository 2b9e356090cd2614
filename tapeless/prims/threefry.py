"""Threefry: the hash that all random bits come from, and how streams are numbered.

Threefry2x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) mixes a key and a
counter, of two words each, in 20 rounds of add, rotate, xor.  The formulas are written once, for
anything that has the operations on words: scalars of the loop language, arrays of NumPy, and values
of a program.

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
from tapeless.prims.binary import (
    add,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    shift_left,
    shift_right_logical,
    sub,
)
from tapeless.prims.common import full_like
from tapeless.prims.compare import lt
from tapeless.prims.convert import convert
from tapeless.prims.select import select_n

__all__ = ["U32", "U64", "NumpyWords", "ValueWords", "old_bits", "old_word", "threefry"]

U32 = np.dtype(np.uint32)
U64 = np.dtype(np.uint64)
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


def threefry(b: Any, key: Sequence[Any], count: Sequence[Any]) -> tuple[Any, Any]:
    """Hash the two words of a counter with a key; `b` has the operations on words."""
    parity = b.const(_PARITY, U32)
    schedule = (*key, b.xor(b.xor(*key), parity))
    x = b.add(count[0], schedule[0])
    y = b.add(count[1], schedule[1])
    for group in range(5):
        for distance in _ROTATIONS[group % 2]:
            x = b.add(x, y)
            left = b.shift_left(y, distance)
            right = b.shift_right_logical(y, 32 - distance)
            y = b.xor(x, b.or_(left, right))
        x = b.add(x, schedule[(group + 1) % 3])
        y = b.add(y, schedule[(group + 2) % 3])
        y = b.add(y, group + 1)
    return x, y


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
        high = b.convert(old_word(b, key, position, 2 * size), U64)
        low = b.convert(old_word(b, key, b.add(position, size), 2 * size), U64)
        return b.or_(b.shift_left(high, 32), low)
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
