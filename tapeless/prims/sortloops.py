"""Loops that sort the lines of an array, in the loop language.

Elements are compared through maps to unsigned integers that turn every order into that of these.
That of `ordered` is the order of sorts, where zeros of both signs are equal, NaNs are equal and
last.  That of `ranked` tells all bits apart, and signs of NaNs, too.  Complex numbers are ordered
by their real parts, then by their imaginary parts.  All sorts are stable.

    exchange_sort    many lines of few elements, in registers
    insertion_sort   short lines, in the result's memory
    counting_sort    long ones, by digits from the least significant up: every digit is one pass
                     that counts, and one that moves elements, and the numbers of their places, if
                     other operands have to follow

A *line* is what an index along one axis walks; `line_index` completes the index of one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray
from tapeless.prims.rules import is_complex
from tapeless.util import lazy

__all__ = [
    "HALVES",
    "SHORT",
    "Counting",
    "counting_sort",
    "exchange_sort",
    "half_is_nan",
    "has_few",
    "in_turn",
    "insert_element",
    "insertion_sort",
    "less",
    "line_index",
    "ordered",
    "ranked",
    "word_of",
]

kernel_parts = lazy.load("tapeless.kernel.parts")

FEW, FEW_FLOATS = 8, 6  # elements, of lines that are sorted in registers
SHORT = 48  # up to this length insertion is faster than counting
HALVES = ("float16", "bfloat16")
UNSIGNED = "float8_e8m0fnu"  # its bits are the exponent, and NaN has all of them
_SIGNED_BYTE = np.dtype(ml_dtypes.float8_e4m3fn)  # has the numbers of all narrower floats
LONG = 1 << 14  # from this length digits of 11 bits pay
_I64 = np.dtype(np.int64)
_I32 = np.dtype(np.int32)


def word_of(dtype: Any) -> np.dtype:
    """Return the unsigned dtype of the same width, or of a byte for narrower ones."""
    return np.dtype(f"uint{max(8, dtypes.itemsize_bits(dtype))}")


def ranked(b: Any, x: Any) -> Any:
    """Return the unsigned integer of the real scalar x, in the order of bits.

    -nan < -inf < ... < -0.0 < 0.0 < ... < inf < nan; a NaN that can have no sign is least.
    """
    dtype, word = x.dtype, word_of(x.dtype)
    bits = 8 * word.itemsize
    if dtype == np.bool_ or dtypes.issubdtype(dtype, np.unsignedinteger):
        return b.convert(x, word)
    if dtype.name == UNSIGNED:
        return b.bitcast(x, word)
    if dtypes.issubdtype(dtype, np.signedinteger):
        top = b.const(1 << (bits - 1), word)
        return b.xor(b.bitcast(b.convert(x, np.dtype(f"int{bits}")), word), top)
    key = _key_of_bits(b, b.bitcast(_in_bytes(b, x), word))
    if not dtype.name.endswith("fnuz"):
        return key
    below = b.const((1 << (bits - 1)) - 1, word)  # is the key of NaN, whose bits are those of -0.0
    return b.select(b.le(key, below), b.and_(b.add(key, 1), below), key)


def ordered(b: Any, x: Any) -> Any:
    """Return the unsigned integer of x in the order of sorts: one zero, and one NaN, the last."""
    dtype, word = x.dtype, word_of(x.dtype)
    if dtype.name == UNSIGNED or not dtypes.issubdtype(dtype, np.floating):
        return ranked(b, x)
    if dtype.name.endswith("fnuz"):  # has one zero, and the least key, of NaN, becomes the greatest
        return b.sub(ranked(b, x), 1)
    if dtype.name in HALVES:  # bits are compared sooner than numbers that have to be converted
        number = b.bitcast(x, word)
        minus_zero = b.eq(number, b.const(1 << 15, word))
        number = b.select(minus_zero, b.const(0, word), number)
        is_nan = half_is_nan(b, number, dtype)
    else:
        x = _in_bytes(b, x)
        x = b.select(b.eq(x, 0.0), b.const(0.0, x.dtype), x)
        number, is_nan = b.bitcast(x, word), b.ne(x, x)
    last = b.const((1 << (8 * word.itemsize)) - 1, word)
    return b.select(is_nan, last, _key_of_bits(b, number))


def _in_bytes(b: Any, x: Any) -> Any:
    """Return a float whose sign is the first bit of a byte, or of more of them."""
    return b.convert(x, _SIGNED_BYTE) if dtypes.itemsize_bits(x.dtype) < 8 else x


def _key_of_bits(b: Any, number: Any) -> Any:
    """Return the integer that orders the bits of a float: all are inverted below zero."""
    word, last = number.dtype, 8 * number.dtype.itemsize - 1
    sign = b.sub(b.const(0, word), b.shift_right_logical(number, last))
    return b.xor(number, b.or_(sign, b.const(1 << last, word)))


def half_is_nan(b: Any, bits: Any, dtype: np.dtype) -> Any:
    """Tell by its bits whether a number, whose dtype is one of HALVES, is a NaN."""
    infinity = int(np.asarray(np.inf, dtype).view(bits.dtype))
    size = b.and_(bits, b.const((1 << 15) - 1, bits.dtype))
    return b.gt(size, b.const(infinity, bits.dtype))


def _keys_of(b: Any, x: Any) -> list[Any]:
    """Return the unsigned integers that order an element, the most significant first."""
    if isinstance(x, kernel_parts.Pair):
        return [ordered(b, x.re), ordered(b, x.im)]
    return [ordered(b, x)]


def less(
    b: Any,
    left: Sequence[Any],
    right: Sequence[Any],
) -> Any:
    """Compare two lists of integers lexicographically."""
    result = b.lt(left[-1], right[-1])
    for x, y in zip(reversed(left[:-1]), reversed(right[:-1]), strict=True):
        result = b.or_(b.lt(x, y), b.and_(b.eq(x, y), result))
    return result


def line_index(
    index: Sequence[Any],
    axis: int,
    i: Any,
) -> tuple[Any, ...]:
    """Return the index of element i of a line along `axis`."""
    return (*index[:axis], i, *index[axis:])


def insert_element(
    b: Any,
    targets: Sequence,
    place: Callable,
    last: Any,
    elements: Sequence,
    before: Callable,
) -> None:
    """Put `elements` into the ordered lines `targets`, at `last` or further front.

    place(j) is the index of position j; before(j) tells whether the elements go before those at j.
    Elements in between move back by one.
    """
    spot = b.buffer(ShapedArray((), _I64))
    b.store(spot, (), b.convert(last, _I64))

    def blocked() -> Any:
        """Tell whether the element in front has to move."""
        here = spot.at()
        front = b.max(b.sub(here, 1), 0)
        return b.and_(b.gt(here, 0), before(front))

    def move() -> None:
        """Move it."""
        here = spot.at()
        for target in targets:
            b.store(
                target,
                place(here),
                b.let(target.at(*place(b.sub(here, 1)))),
            )
        b.store(spot, (), b.sub(spot.at(), 1))

    b.while_loop(blocked, move)
    here = b.let(spot.at())
    for target, element in zip(targets, elements, strict=True):
        b.store(target, place(here), element)


def insertion_sort(
    b: Any,
    targets: Sequence,
    axis: int,
    num_keys: int,
) -> None:
    """Sort the lines of `targets` in place."""
    shape = targets[0].shape

    def run(line: Sequence[Any]) -> None:
        """Sort one line."""

        def place(j: Any) -> tuple[Any, ...]:
            """Return the index of position j."""
            return line_index(line, axis, j)

        def step(i: Any) -> None:
            """Insert element i + 1 among those before it."""
            at = b.iadd(i, 1)
            elements = [b.let(target.at(*place(at))) for target in targets]
            mine = [b.let(key) for x in elements[:num_keys] for key in _keys_of(b, x)]

            def before(j: Any) -> Any:
                """Compare with the element at j."""
                theirs = (targets[k].at(*place(j)) for k in range(num_keys))
                return less(
                    b,
                    mine,
                    [key for x in theirs for key in _keys_of(b, x)],
                )

            insert_element(b, targets, place, at, elements, before)

        b.loop(shape[axis] - 1, step, independent=False)

    b.nest((*shape[:axis], *shape[axis + 1 :]), run)


def has_few(avals: Sequence[ShapedArray], size: int) -> bool:
    """Tell whether there are many lines, of so few elements that all pairs are compared."""
    most = FEW if len(avals) > 1 or _are_integers(avals) else FEW_FLOATS
    return 1 < size <= most and avals[0].size > SHORT


def _are_integers(operands: Sequence) -> bool:
    """Tell whether there is one operand, of integers: their minima and maxima are all to find."""
    dtype = operands[0].dtype
    is_integer = dtype == np.bool_ or dtypes.issubdtype(dtype, np.integer)
    return len(operands) == 1 and is_integer


def exchange_sort(
    b: Any,
    args: Sequence,
    targets: Sequence,
    axis: int,
    num_keys: int,
) -> None:
    """Sort lines of few elements, many at once: neighbours that are not in order change places."""
    shape = targets[0].shape
    size = shape[axis]
    integers = _are_integers(args)
    low, high = (b.and_, b.or_) if args[0].dtype == np.bool_ else (b.min, b.max)

    def run(line: Sequence[Any]) -> None:
        """Sort one line."""
        places = [line_index(line, axis, j) for j in range(size)]
        elements = [[b.let(x.at(*place)) for x in args] for place in places]
        keys = [[b.let(key) for x in e[:num_keys] for key in _keys_of(b, x)] for e in elements]
        for last in range(size - 1, 0, -1):
            for j in range(last):
                both = elements[j : j + 2]
                if integers:
                    (x,), (y,) = both
                    elements[j : j + 2] = [low(x, y)], [high(x, y)]
                    continue
                turned = b.let(less(b, keys[j + 1], keys[j]))
                elements[j : j + 2] = _exchanged(b, turned, *both)
                keys[j : j + 2] = _exchanged(b, turned, *keys[j : j + 2])
        for place, element in zip(places, elements, strict=True):
            for target, x in zip(targets, element, strict=True):
                b.store(target, place, x)

    b.nest((*shape[:axis], *shape[axis + 1 :]), run)


def _exchanged(b: Any, turned: Any, first: Sequence, second: Sequence) -> tuple[list, list]:
    """Return two lists, the other way round where `turned` holds."""
    pairs = list(zip(first, second, strict=True))
    left = [_chosen(b, turned, y, x) for x, y in pairs]
    return left, [_chosen(b, turned, x, y) for x, y in pairs]


def _chosen(b: Any, flag: Any, x: Any, y: Any) -> Any:
    """Choose between elements."""
    if isinstance(x, kernel_parts.Pair):
        return kernel_parts.Pair(b.select(flag, x.re, y.re), b.select(flag, x.im, y.im))
    return b.select(flag, x, y)


class Counting:
    """A sort of one line by counting digits; its memory is used for one line after the other."""

    def __init__(
        self,
        b: Any,
        size: int,
        follow: bool,
    ) -> None:
        """size: the length of the line; follow: whether positions are wanted."""
        self.b = b
        self.size = size
        self.counts = b.buffer(ShapedArray((1 << (11 if size >= LONG else 8),), _I64))
        shape = ShapedArray((size,), _I32)
        self.positions = [b.buffer(shape), b.buffer(shape)] if follow else []
        self.words: dict[Any, list[Any]] = {}

    def sort(
        self,
        raw: Callable[[Any], Any],
        key: Callable[[Any], Any],
        first: bool,
    ) -> Any:
        """Sort by one key; return the stored line of what `raw` gives.

        raw(i): the element at position i of the operand; key: from such an element to an unsigned
        integer; first: whether there is no order yet.
        """
        b = self.b
        dtype = raw(0).dtype
        shape = ShapedArray((self.size,), dtype)
        lines = self.words.get(dtype) or [
            b.buffer(shape),
            b.buffer(shape),
        ]
        self.words[dtype] = lines

        def start(i: Any) -> None:
            """Load one element, in the order so far."""
            if self.positions and first:
                b.store(self.positions[0], i, b.convert(i, _I32))
            at = i if first else b.convert(self.positions[0].at(i), _I64)
            b.store(lines[0], i, raw(at))

        b.loop(self.size, start)
        bits = 8 * word_of(dtype).itemsize
        width = 11 if self.size >= LONG and bits > 16 else 8
        for shift in range(0, bits, width):
            self._pass(lines, key, shift, width)
            lines.reverse()
            self.positions.reverse()
        return lines[0]

    def _pass(
        self,
        lines: Sequence,
        key: Callable[[Any], Any],
        shift: int,
        width: int,
    ) -> None:
        """Move the elements of lines[0] to lines[1], in the order of the digit at bit `shift`."""
        b, counts = self.b, self.counts
        n_digits = 1 << width

        def digit(i: Any) -> Any:
            """Return the digit of element i."""
            word = b.shift_right_logical(key(lines[0].at(i)), shift)
            return b.convert(b.and_(word, b.const(n_digits - 1, word.dtype)), _I64)

        def count(i: Any) -> None:
            """Count one digit."""
            b.store(
                counts,
                digit(i),
                b.const(1, _I64),
                accumulate="add",
            )

        def place(i: Any) -> None:
            """Move one element to the next place of its digit."""
            at = b.let(digit(i))
            spot = b.let(counts.at(at))
            b.store(lines[1], spot, lines[0].at(i))
            if self.positions:
                b.store(self.positions[1], spot, self.positions[0].at(i))
            b.store(counts, at, b.add(spot, 1))

        total = b.buffer(ShapedArray((), _I64))

        def begin(k: Any) -> None:
            """Turn a count into the first place of its digit."""
            amount = b.let(counts.at(k))
            b.store(counts, k, b.let(total.at()))
            b.store(total, (), b.let(b.add(total.at(), amount)))

        b.loop(n_digits, lambda k: b.store(counts, k, b.const(0, _I64)))
        b.loop(self.size, count, independent=False)
        b.store(total, (), b.const(0, _I64))
        b.loop(n_digits, begin, independent=False)
        b.loop(self.size, place, independent=False)


def counting_sort(
    b: Any,
    args: Sequence,
    outs: Sequence,
    axis: int,
    num_keys: int,
) -> list:
    """Sort every line by counting; return the stored results."""
    shape = outs[0].shape
    single = len(args) == 1 and not is_complex(outs[0].dtype)
    targets = [b.buffer(out) for out in outs]
    sorter = Counting(b, shape[axis], not single)
    sources = [b.stored(x) for x in args]
    parts = [
        (k, p) for k in range(num_keys) for p in ((1, 0) if is_complex(outs[k].dtype) else (None,))
    ]

    def run(line: Sequence[Any]) -> None:
        """Sort one line."""
        first = True
        for k, part in sorted(
            parts,
            key=lambda pair: -pair[0],
        ):

            def raw(
                i: Any,
                k: int = k,
                part: int | None = part,
            ) -> Any:
                """Return the real scalar that is compared."""
                element = sources[k].at(*line_index(line, axis, i))
                return element if part is None else element[part]

            result = sorter.sort(raw, lambda x: ordered(b, x), first)
            first = False

        def finish(i: Any) -> None:
            """Store the elements in their order."""
            at = line_index(line, axis, i)
            if single:
                b.store(targets[0], at, result.at(i))
                return
            old = b.convert(sorter.positions[0].at(i), _I64)
            for target, source in zip(targets, sources, strict=True):
                b.store(target, at, source.at(*line_index(line, axis, old)))

        b.loop(shape[axis], finish)

    in_turn(b, (*shape[:axis], *shape[axis + 1 :]), run)
    return targets


def in_turn(
    b: Any,
    shape: Sequence[int],
    body: Callable[[tuple], None],
) -> None:
    """Run `body` for all indices below `shape`, one after the other."""

    def level(index: tuple) -> None:
        """Open the loop over the next axis."""
        if len(index) == len(shape):
            body(index)
        elif shape[len(index)] == 1:
            level((*index, 0))
        else:
            b.loop(
                shape[len(index)],
                lambda i: level((*index, i)),
                independent=False,
            )

    level(())
