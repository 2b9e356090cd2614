"""Sorts of lines by routines that compare unsigned integers, on processors with wide vectors.

The keys of an element become one integer (`prims/sortloops.py: ordered`), and what is equal must
not change its order. Where a number is all there is of an element, and two such are equal only if
they are the same, the integers are sorted, and turned back into numbers. All else sorts integers
with their places below them, which makes them distinct:

    (key)                  one operand, of 32 or 64 bits
    (key, place)           in 32 or in 64 bits together
    (key), (place)         in two words of 64 bits

Operands follow by the places.  Zeros of both signs are one integer, and so are NaNs; if there are
any but 0.0, they are written once more, in the order in which they came (`_write_alike`).

Keys that have more than 64 bits are sorted by counting; so are long lines of narrow ones, which
have few digits.  A routine sorts one line; lines are shared by threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray
from tapeless.kernel.sorters import Sorter, depth_of
from tapeless.kernel.strips import Registers
from tapeless.prims.rules import is_complex
from tapeless.prims.sortloops import SHORT, line_index, ordered, word_of
from tapeless.util.records import record

__all__ = ["WordSort", "word_sort", "word_sort_for"]

FEWEST = 4  # elements of a line; shorter ones are inserted, as are all if they are SHORT together
FEW_DIGITS = 16  # bits of keys
MANY = 1 << 12  # elements, from which few digits are counted sooner than compared
_VECTOR_BYTES = 64  # of the processors that have the routines
_I64 = np.dtype(np.int64)


@record
class WordSort:
    """How lines are sorted: the routine, the scalars of the keys, and the bits below the keys.

    parts: pairs of an operand and a part of its complex numbers, if it has such, the most
    significant first; place_bits: 0 if there are no places.
    """

    sorter: Sorter
    parts: tuple[tuple[int, int | None], ...]
    place_bits: int

    @property
    def word(self) -> np.dtype:
        """The dtype of the integers."""
        return np.dtype(f"uint{self.sorter.bits}")


def word_sort_for(
    registers: Registers | None,
    outs: Sequence[ShapedArray],
    size: int,
    num_keys: int,
) -> WordSort | None:
    """Return how lines of `size` elements are sorted; None if not by such routines."""
    if registers is None or registers.bytes < _VECTOR_BYTES or size < FEWEST:
        return None
    if outs[0].size <= SHORT:
        return None
    parts = tuple(
        (k, part)
        for k in range(num_keys)
        for part in ((0, 1) if is_complex(outs[k].dtype) else (None,))
    )
    bits = sum(map(_bits_of, outs[:num_keys]))
    if bits <= FEW_DIGITS and size >= MANY:
        return None
    if len(outs) == len(parts) == 1 and bits in (32, 64):
        return WordSort(Sorter(bits), parts, 0)
    place_bits = (size - 1).bit_length()
    for total in (32, 64):
        if bits + place_bits <= total:
            return WordSort(Sorter(total), parts, place_bits)
    return WordSort(Sorter(64, 2), parts, 64) if bits <= 64 else None


def _bits_of(key: ShapedArray) -> int:
    """Return how many bits the integers of a key have."""
    if is_complex(key.dtype):
        return 8 * key.dtype.itemsize
    return 8 * word_of(key.dtype).itemsize


def word_sort(
    b: Any,
    args: Sequence,
    outs: Sequence,
    axis: int,
    plan: WordSort,
) -> list:
    """Sort every line; return the stored results."""
    shape = outs[0].shape
    lines = _Lines(b, args, outs, axis, plan)
    b.nest((*shape[:axis], *shape[axis + 1 :]), lines.sort)
    return lines.targets


class _Lines:
    """The sort of lines, one after the other in the same memory."""

    def __init__(
        self,
        b: Any,
        args: Sequence,
        outs: Sequence,
        axis: int,
        plan: WordSort,
    ) -> None:
        """Make the memory of the results and of the integers of a line."""
        self.b, self.axis, self.plan = b, axis, plan
        self.size = outs[0].shape[axis]
        self.targets = [b.buffer(out) for out in outs]
        is_read_once = not plan.place_bits and not _has_alike(outs[0].dtype)
        self.sources = list(args)
        if not is_read_once:
            self.sources = [b.stored(x) for x in args]
        line = ShapedArray((self.size,), plan.word)
        self.words = [b.buffer(line) for _ in range(plan.sorter.words)]

    def sort(self, line: Sequence[Any]) -> None:
        """Sort one line."""
        b, plan = self.b, self.plan

        def start(i: Any) -> None:
            """Store the integers of an element."""
            values = self.integers(line, i)
            for word, value in zip(self.words, values, strict=True):
                b.store(word, i, value)

        b.loop(self.size, start)
        args = (*self.words, self.size, depth_of(self.size))
        b.call(plan.sorter.symbol, args, reads=self.words, writes=self.words)
        if plan.place_bits:
            b.loop(self.size, lambda i: self.follow(line, i))
            return
        (target,), dtype = self.targets, self.targets[0].dtype

        def finish(i: Any) -> None:
            """Store a number in its place."""
            word = self.words[0].at(i)
            at = line_index(line, self.axis, i)
            b.store(target, at, _restored(b, word, dtype))

        b.loop(self.size, finish)
        if _has_alike(dtype):
            self.write_alike(lambda i: line_index(line, self.axis, i))

    def integers(
        self,
        line: Sequence[Any],
        i: Any,
    ) -> list:
        """Return the integers of element i."""
        b, word, place_bits = self.b, self.plan.word, self.plan.place_bits
        joined = None
        for k, part in self.plan.parts:
            at = line_index(line, self.axis, i)
            element = self.sources[k].at(*at)
            key = ordered(b, element if part is None else element[part])
            bits = 8 * key.dtype.itemsize
            key = b.convert(key, word)
            if joined is not None:
                key = b.or_(b.shift_left(joined, bits), key)
            joined = key
        if not place_bits:
            return [joined]
        place = b.convert(i, word)
        if len(self.words) == 2:
            return [joined, place]
        above = b.shift_left(joined, place_bits)
        return [b.or_(above, place)]

    def follow(
        self,
        line: Sequence[Any],
        i: Any,
    ) -> None:
        """Store the elements that belong to place i."""
        b, place = self.b, self.words[-1].at(i)
        if len(self.words) == 1:
            mask = (1 << self.plan.place_bits) - 1
            place = b.and_(place, b.const(mask, self.plan.word))
        old = b.convert(place, _I64)
        for target, source in zip(self.targets, self.sources, strict=True):
            element = source.at(*line_index(line, self.axis, old))
            at = line_index(line, self.axis, i)
            b.store(target, at, element)

    def write_alike(self, place: Callable[[Any], tuple]) -> None:
        """Write zeros and NaNs in the order in which they came, if some are not 0.0.

        place(i): the index of element i of the line.
        """
        b, (source,), word = self.b, self.sources, self.plan.word
        bits = self.plan.sorter.bits
        zero = b.const(1 << (bits - 1), word)  # the integer of zeros, and the bits of -0.0
        nan = b.const((1 << bits) - 1, word)
        spots = [self.first_of(zero), self.first_of(nan)]
        near = b.min(spots[0].at(), self.size - 1)
        has_zeros = b.eq(self.words[0].at(near), zero)
        has_nans = b.lt(spots[1].at(), self.size)

        def is_special(index: tuple) -> Any:
            """Tell whether an element is a NaN or -0.0."""
            x = source.at(*place(index[0]))
            is_negative_zero = b.eq(b.bitcast(x, word), zero)
            return b.or_(b.ne(x, x), is_negative_zero)

        def step(i: Any) -> None:
            """Write element i if it is a zero or a NaN."""
            x = b.let(source.at(*place(i)))
            flags = (b.eq(x, 0.0), b.ne(x, x))
            for spot, flag in zip(spots, flags, strict=True):
                b.when(flag, lambda spot=spot: put(spot, x))

        def put(spot: Any, x: Any) -> None:
            """Write an element to the next spot."""
            here = b.let(spot.at())
            b.store(self.targets[0], place(here), x)
            b.store(spot, (), b.add(here, 1))

        def write() -> None:
            """Write them."""
            special = b.let(b.fold((self.size,), is_special, "or", False))
            b.when(special, lambda: b.loop(self.size, step, independent=False))

        b.when(b.or_(has_zeros, has_nans), write)

    def first_of(self, word: Any) -> Any:
        """Return, in memory, how many of the sorted integers are below one."""
        b = self.b
        place, left = b.const(0, _I64), self.size
        while left:
            half = (left + 1) // 2
            front = self.words[0].at(b.add(place, half - 1))
            passed = b.add(place, half)
            place = b.select(b.lt(front, word), passed, place)
            place = b.let(place)
            left -= half
        first = b.buffer(ShapedArray((), _I64))
        b.store(first, (), place)
        return first


def _has_alike(dtype: Any) -> bool:
    """Tell whether a dtype has different numbers that are equal in order."""
    return bool(dtypes.issubdtype(dtype, np.floating))


def _restored(
    b: Any,
    word: Any,
    dtype: Any,
) -> Any:
    """Return the number of an integer that `ordered` gave, of 32 or 64 bits."""
    bits = 8 * dtype.itemsize
    if dtypes.issubdtype(dtype, np.unsignedinteger):
        return word
    top = b.const(1 << (bits - 1), word.dtype)
    if _has_alike(dtype):
        sign = b.shift_right_logical(word, bits - 1)
        below = b.sub(sign, b.const(1, word.dtype))
        top = b.or_(below, top)
    return b.bitcast(b.xor(word, top), dtype)
