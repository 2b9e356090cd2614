"""Sorts of lines by routines that compare vectors, on processors with vectors of 32 bytes or more.

What is equal must not change its order. Where a number is all there is of an element, and two such
are equal only if they are the same, the numbers are sorted. For all else the keys of an element
become one unsigned integer (`prims/sortloops.py: ordered`), with its place below, which makes it
distinct:

    number                 one operand, of 16 bits and fewer (`prims/narrowsort.py`), 32 or 64
    (key, place)           in 32 or in 64 bits together
    (key), ..., (place)    in two or three words of 64 bits

Operands follow by the places.  Zeros of both signs are equal, and so are NaNs, which are sorted as
infinities; if there are any but 0.0, they are written once more, in the order in which they came
(`write_alike`).  Lines along another axis than the last one are sorted in a transposed copy.

Lines whose integers rise or fall all the way are copied, or turned around; the first neighbours
that are not so end the search.

Keys that have more than 128 bits are sorted by counting; so are long lines of narrow ones, which
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
from tapeless.prims.sortloops import SHORT, less, ordered, ranked, word_of
from tapeless.util.records import record

__all__ = [
    "FEWEST",
    "MANY",
    "Numbers",
    "WordSort",
    "each_line",
    "word_sort",
    "word_sort_for",
    "word_top",
]

FEWEST = 4  # elements of a line; shorter ones are inserted, as are all if they are SHORT together
FEW_DIGITS = 16  # bits of keys
MANY = 1 << 12  # elements, from which few digits are counted sooner than compared
_VECTOR_BYTES = 32  # of the processors that have the routines, at least
_WORD_BITS = 64
_MOST_WORDS = 3
_FEWEST_LOOKED_AT, _MOST_LOOKED_AT = 16, 256  # neighbours that are compared at once
_I64 = np.dtype(np.int64)
_I32 = np.dtype(np.int32)


@record
class WordSort:
    """How lines are sorted: the routine, the scalars of each word, and the bits of places.

    words: of keys, pairs of an operand and a part of its complex numbers, if it has such, the most
    significant first; place_bits: 0 if there are no places.
    """

    sorter: Sorter
    words: tuple[tuple[tuple[int, int | None], ...], ...]
    place_bits: int

    @property
    def word(self) -> np.dtype:
        """The dtype of what is sorted."""
        return self.sorter.dtype


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
    sizes = [_bits_of(outs[k]) for k, _ in parts]
    bits = sum(sizes)
    if bits <= FEW_DIGITS and size >= MANY:
        return None
    if len(outs) == len(parts) == 1 and bits in (32, 64):
        return WordSort(Sorter(outs[0].dtype, 1, registers.bytes), (parts,), 0)
    place_bits = (size - 1).bit_length()
    for total in (32, 64):
        if bits + place_bits <= total:
            word = np.dtype(f"uint{total}")
            return WordSort(Sorter(word, 1, registers.bytes), (parts,), place_bits)
    words = _filled(parts, sizes)
    if len(words) >= _MOST_WORDS:
        return None
    sorter = Sorter(np.dtype(np.uint64), len(words) + 1, registers.bytes)
    return WordSort(sorter, words, _WORD_BITS)


def _filled(parts: Sequence[tuple], sizes: Sequence[int]) -> tuple[tuple, ...]:
    """Return the parts that go into each word; sizes: their bits."""
    words: list[list] = []
    room = 0
    for part, bits in zip(parts, sizes, strict=True):
        if bits > room:
            words.append([])
            room = _WORD_BITS
        words[-1].append(part)
        room -= bits
    return tuple(map(tuple, words))


def _bits_of(key: ShapedArray) -> int:
    """Return how many bits the integer of a key, or of a part of it, has."""
    if is_complex(key.dtype):
        return 4 * key.dtype.itemsize
    return 8 * word_of(key.dtype).itemsize


def word_sort(
    b: Any,
    args: Sequence,
    axis: int,
    plan: WordSort,
) -> list:
    """Sort every line; return the results."""
    if plan.place_bits:
        return each_line(b, args, axis, lambda rows: _Places(b, rows, plan))
    return each_line(b, args, axis, lambda rows: Numbers(b, rows, plan.sorter.symbol))


def word_top(
    b: Any,
    x: Any,
    axis: int,
    k: int,
    plan: WordSort,
) -> list:
    """Return the k greatest elements of every line, and their places."""
    return each_line(b, [x], axis, lambda rows: _Greatest(b, rows, plan, k))


def each_line(
    b: Any,
    args: Sequence,
    axis: int,
    make: Callable[[Sequence], Any],
) -> list:
    """Sort every line along an axis; make: from operands whose lines are along the last one."""
    rank = len(args[0].shape)
    is_last = axis == rank - 1
    order = [*(k for k in range(rank) if k != axis), axis]
    if not is_last:
        args = [b.stored(_moved(b, x, order)) for x in args]
    lines = make(args)
    b.nest(args[0].shape[:-1], lines.sort)
    if is_last:
        return lines.targets
    back = [order.index(k) for k in range(rank)]
    return [_moved(b, x, back) for x in lines.targets]


def _moved(
    b: Any,
    x: Any,
    order: Sequence[int],
) -> Any:
    """Return an operand with its axes in another order."""
    back = np.argsort(order)
    aval = x.aval.update(shape=tuple(x.shape[k] for k in order))
    return b.virtual(aval, lambda index: x.at(*(index[k] for k in back)))


class Numbers:
    """The sort of lines of numbers, in the memory of the results.

    reads_operand: whether the operand is read, and not its copy in the memory of the results.
    """

    reads_operand = False

    def __init__(
        self,
        b: Any,
        args: Sequence,
        symbol: str,
    ) -> None:
        """Make the memory."""
        (x,) = args
        self.b, self.symbol = b, symbol
        self.size, self.dtype = x.shape[-1], x.dtype
        self.word = word_of(x.dtype)
        self.is_float = bool(dtypes.issubdtype(x.dtype, np.floating))
        is_read = self.reads_operand or self.is_float
        self.source = b.stored(x) if is_read else x
        self.sorted = b.buffer(x.aval) if is_read else b.writable(x)
        self.targets = [self.sorted]
        self.line: tuple = ()

    def sort(self, line: tuple) -> None:
        """Sort one line."""
        self.line = line
        if not self.is_float:
            self.call()
            return
        special = self.any(self.is_special)
        infinity = self.b.const(np.inf, self.dtype)

        def start(i: Any) -> None:
            """Store an element."""
            x = self.element(i)
            self.store(i, self.b.select(self.is_nan(i), infinity, x))

        self.b.loop(self.size, start)
        self.call()
        self.b.when(special, self.write_alike)

    def call(self) -> None:
        """Sort what is in the memory of the results."""
        start = (self.sorted, (*self.line, 0))
        args = (start, self.size, depth_of(self.size), self.size)
        memory = [self.sorted]
        self.b.call(self.symbol, args, reads=memory, writes=memory)

    def element(self, i: Any) -> Any:
        """Return an element of the operand."""
        return self.source.at(*self.line, i)

    def store(self, i: Any, x: Any) -> None:
        """Store an element of the result."""
        self.b.store(self.sorted, (*self.line, i), x)

    def bits(self, i: Any) -> Any:
        """Return the bits of an element of the operand."""
        return self.b.bitcast(self.element(i), self.word)

    def is_nan(self, i: Any) -> Any:
        """Tell whether an element of the operand is a NaN."""
        x = self.element(i)
        return self.b.ne(x, x)

    def is_special(self, i: Any) -> Any:
        """Tell whether an element of the operand is a NaN or -0.0."""
        top = self.b.const(1 << (8 * self.word.itemsize - 1), self.word)
        has_its_bits = self.b.eq(self.bits(i), top)
        is_nan = self.is_nan(i)
        return self.b.or_(is_nan, has_its_bits)

    def any(self, test: Callable[[Any], Any]) -> Any:
        """Tell whether an element passes a test."""
        return self.folded("or", test, False)

    def count(self, test: Callable[[Any], Any]) -> Any:
        """Return how many elements pass a test."""
        return self.folded("add", lambda i: self.b.convert(test(i), _I64), 0)

    def folded(
        self,
        name: str,
        of: Callable[[Any], Any],
        start: Any,
    ) -> Any:
        """Return the sum of a function of the elements, or the like."""
        total = self.b.fold((self.size,), lambda index: of(*index), name, start)
        return self.b.let(total)

    def write_alike(self) -> None:
        """Write NaNs, and if they or zeros have different bits, both in order."""
        b = self.b
        none = b.const(0, self.word)

        def nan_bits(i: Any) -> Any:
            """Return the bits of a NaN."""
            is_nan = self.is_nan(i)
            return b.select(is_nan, self.bits(i), none)

        most = self.folded("max", nan_bits, none)
        nan = b.bitcast(most, self.dtype)
        others = self.count(lambda i: b.not_(self.is_nan(i)))

        def differs(i: Any) -> Any:
            """Tell whether an element is -0.0, or a NaN with other bits."""
            is_special = self.is_special(i)
            return b.and_(is_special, b.ne(self.bits(i), most))

        def fill(i: Any) -> None:
            """Write an element, if it is a NaN."""
            is_last = b.le(others, b.convert(i, _I64))
            old = self.sorted.at(*self.line, i)
            self.store(i, b.select(is_last, nan, old))

        is_mixed = self.any(differs)
        b.loop(self.size, fill)
        b.when(is_mixed, lambda: self.write_in_order(others))

    def write_in_order(self, others: Any) -> None:
        """Write zeros and NaNs in the order in which they came; others: how many are no NaNs."""
        b = self.b
        below = self.count(lambda i: b.lt(self.element(i), 0.0))
        zeros, nans = self.counter(below), self.counter(others)

        def step(i: Any) -> None:
            """Write element i if it is a zero or a NaN."""
            x = b.let(self.element(i))
            is_zero, is_nan = b.eq(x, 0.0), b.ne(x, x)
            b.when(is_zero, lambda: put(zeros, x))
            b.when(is_nan, lambda: put(nans, x))

        def put(spot: Any, x: Any) -> None:
            """Write an element to the next spot."""
            here = b.let(spot.at())
            self.store(here, x)
            b.store(spot, (), b.add(here, 1))

        b.loop(self.size, step, independent=False)

    def counter(self, start: Any) -> Any:
        """Store an integer."""
        number = self.b.buffer(ShapedArray((), _I64))
        self.b.store(number, (), start)
        return number


class _Places:
    """The sort of lines by integers that have the places of elements, in the same memory each."""

    def __init__(
        self,
        b: Any,
        args: Sequence,
        plan: WordSort,
    ) -> None:
        """Make the memory of the results and of the integers of a line."""
        self.b, self.plan = b, plan
        self.size = args[0].shape[-1]
        self.wanted = self.size
        self.targets = [b.buffer(x.aval) for x in args]
        self.sources = [b.stored(x) for x in args]
        line = ShapedArray((self.size,), plan.word)
        self.words = [b.buffer(line) for _ in range(plan.sorter.words)]

    def sort(self, line: tuple) -> None:
        """Sort one line."""
        b = self.b
        if self.size <= _FEWEST_LOOKED_AT:
            self.sort_by_places(line)
            return
        rises, falls = (b.let(self.is_in_order(line, falls)) for falls in (False, True))
        b.when(rises, lambda: b.loop(self.wanted, lambda i: self.follow(line, i, i)))

        def turn(i: Any) -> None:
            """Take an element from the other end."""
            self.follow(line, i, b.iadd(b.imul(i, -1), self.size - 1))

        b.when(falls, lambda: b.loop(self.wanted, turn))
        b.when(b.not_(b.or_(rises, falls)), lambda: self.sort_by_places(line))

    def sort_by_places(self, line: tuple) -> None:
        """Sort the integers of a line, and store the elements where their places went."""
        b, plan = self.b, self.plan

        def start(i: Any) -> None:
            """Store the integers of an element."""
            values = self.integers(line, i)
            for word, value in zip(self.words, values, strict=True):
                b.store(word, i, value)

        b.loop(self.size, start)
        args = (*self.words, self.size, depth_of(self.size), self.wanted)
        b.call(plan.sorter.symbol, args, reads=self.words, writes=self.words)
        b.loop(self.wanted, lambda i: self.follow(line, i, self.place(i)))

    def is_in_order(self, line: tuple, falls: bool) -> Any:
        """Tell whether the integers of a line rise, or fall, from each to the next."""
        b, last = self.b, self.size - 1
        together = min(max(_FEWEST_LOOKED_AT, self.size // 8), _MOST_LOOKED_AT)
        spot = b.buffer(ShapedArray((), _I64))
        b.store(spot, (), b.const(0, _I64))

        def wrong(index: Sequence[Any]) -> Any:
            """Compare two neighbours; the last ones are looked at twice."""
            start = b.min(spot.at(), last - together)
            first = b.iadd(start, index[0])
            pair = [self.integers(line, at) for at in (b.iadd(first, 1), first)]
            return less(b, *(reversed(pair) if falls else pair))

        def fine() -> Any:
            """Tell whether there are more, and these are in order."""
            some = b.let(b.fold((together,), wrong, "or", False))
            return b.and_(b.lt(spot.at(), last), b.not_(some))

        b.while_loop(fine, lambda: b.store(spot, (), b.add(spot.at(), together)))
        return b.le(last, spot.at())

    def integers(
        self,
        line: tuple,
        i: Any,
    ) -> list:
        """Return the integers of element i."""
        b, place_bits = self.b, self.plan.place_bits
        place = b.convert(i, self.plan.word)
        keys = [self.joined(parts, line, i) for parts in self.plan.words]
        if len(self.words) > 1:
            return [*keys, place]
        return [b.or_(b.shift_left(keys[0], place_bits), place)]

    def joined(
        self,
        parts: Sequence[tuple],
        line: tuple,
        i: Any,
    ) -> Any:
        """Return a word of element i's keys."""
        b, word = self.b, self.plan.word
        joined = None
        for k, part in parts:
            element = self.sources[k].at(*line, i)
            key = self.key(element if part is None else element[part])
            bits = 8 * key.dtype.itemsize
            key = b.convert(key, word)
            joined = key if joined is None else b.or_(b.shift_left(joined, bits), key)
        return joined

    def key(self, element: Any) -> Any:
        """Return the integer of a scalar."""
        return ordered(self.b, element)

    def place(self, i: Any) -> Any:
        """Return where the element of place i was."""
        b, place = self.b, self.words[-1].at(i)
        if len(self.words) == 1:
            mask = (1 << self.plan.place_bits) - 1
            place = b.and_(place, b.const(mask, self.plan.word))
        return b.convert(place, _I64)

    def follow(
        self,
        line: tuple,
        i: Any,
        old: Any,
    ) -> None:
        """Store the elements that go from place `old` to place i."""
        b = self.b
        for target, source in zip(self.targets, self.sources, strict=False):
            b.store(target, (*line, i), source.at(*line, old))


class _Greatest(_Places):
    """The greatest elements of lines and their places; of equal ones the first ones."""

    def __init__(
        self,
        b: Any,
        args: Sequence,
        plan: WordSort,
        wanted: int,
    ) -> None:
        """Make the memory of the results."""
        super().__init__(b, args, plan)
        (x,) = args
        self.wanted = wanted
        best = x.aval.update(shape=(*x.shape[:-1], wanted))
        places = ShapedArray(best.shape, np.int32)
        self.targets = [b.buffer(best), b.buffer(places)]

    def key(self, element: Any) -> Any:
        """Return the integer of a scalar, the least one of the greatest."""
        return self.b.not_(ranked(self.b, element))

    def follow(
        self,
        line: tuple,
        i: Any,
        old: Any,
    ) -> None:
        """Store an element and its place."""
        super().follow(line, i, old)
        self.b.store(self.targets[1], (*line, i), self.b.convert(old, _I32))
