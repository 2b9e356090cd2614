"""Sorts of numbers of 8 and 16 bits, which are sorted as unsigned integers in the same order.

    number --key--> integer --sort--> integer --number--> number

    vectors   fewer than MANY, on processors with vectors of 64 bytes: by a routine of the compiler
    digits    by counting the values of one byte after the other, where 16 bits are too many
    tally     count how often every integer occurs, and write it as often

Keys are made of bits alone: where the sign of a float is set, all bits are inverted, the others get
the sign. All NaNs have the greatest key, and -0.0 is below 0.0; both are put into the order in
which they came as in sorts of wider numbers (`prims/wordsort.py`).

A tally has several tables, which neighbours take in turns: of few different numbers, each would
wait for the one before.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray
from tapeless.kernel.sorters import Sorter, depth_of
from tapeless.kernel.strips import Registers
from tapeless.prims.sortloops import HALVES, SHORT, Counting, half_is_nan, ranked
from tapeless.prims.wordsort import FEWEST, MANY, Numbers, each_line

__all__ = ["narrow_sort", "narrow_sort_for"]

_BYTE = 8
_VECTOR_BYTES = 64  # of processors that load 16 bits under a mask
_TALLIED = 1 << 16  # from this length numbers of 16 bits are tallied
_TABLES, _TABLES_OF_BYTES = 2, 4  # of counts
_WORD = np.dtype(np.uint16)
_I64 = np.dtype(np.int64)


def narrow_sort_for(
    registers: Registers | None,
    outs: Sequence[ShapedArray],
    size: int,
) -> str | None:
    """Return how lines of `size` elements are sorted; None if there is a better way."""
    if len(outs) > 1 or outs[0].size <= SHORT or size < FEWEST or not _is_narrow(outs[0].dtype):
        return None
    if size >= (MANY if outs[0].dtype.itemsize == 1 else _TALLIED):
        return "tally"
    if size >= MANY:
        return "digits"
    has_vectors = registers is not None and registers.bytes >= _VECTOR_BYTES
    return "vectors" if has_vectors else None


def _is_narrow(dtype: np.dtype) -> bool:
    """Tell whether numbers are kept in 8 or 16 bits whose order is known here."""
    if dtypes.issubdtype(dtype, np.integer):
        return dtypes.itemsize_bits(dtype) in (8, 16)
    return dtype == np.bool_ or dtype.name in HALVES


def narrow_sort(
    b: Any,
    x: Any,
    axis: int,
    how: str,
) -> list:
    """Sort every line; return the result in a list."""
    kind = {"vectors": _Vectors, "digits": _Digits, "tally": _Tally}[how]
    return each_line(b, [x], axis, lambda rows: kind(b, rows))


class _Narrow(Numbers):
    """The sort of lines by keys of as many bits."""

    reads_operand = True

    def __init__(
        self,
        b: Any,
        args: Sequence,
    ) -> None:
        """Make the memory of the results."""
        super().__init__(b, args, Sorter(_WORD, 1, _VECTOR_BYTES).symbol)
        self.n_bits = _BYTE * self.word.itemsize
        self.top = b.const(1 << (self.n_bits - 1), self.word)
        self.is_signed = bool(dtypes.issubdtype(self.dtype, np.signedinteger))

    def sort(self, line: tuple) -> None:
        """Sort one line."""
        self.line = line
        if not self.is_float:
            self.write_sorted()
            return
        special = self.any(self.is_special)
        self.write_sorted()
        self.b.when(special, self.write_alike)

    def write_sorted(self) -> None:
        """Write the results, but for the order of what is equal."""
        raise NotImplementedError

    def is_nan(self, i: Any) -> Any:
        """Tell whether an element of the operand is a NaN, by its bits."""
        return half_is_nan(self.b, self.bits(i), self.dtype)

    def key(self, i: Any) -> Any:
        """Return the integer of an element of the operand."""
        b, key = self.b, ranked(self.b, self.element(i))
        if not self.is_float:
            return key
        return b.select(self.is_nan(i), b.const((1 << self.n_bits) - 1, self.word), key)

    def number(self, key: Any) -> Any:
        """Return the number that has a key."""
        b, top = self.b, self.top
        if self.is_float:
            bits = b.select(b.ge(key, top), b.xor(key, top), b.not_(key))
            return b.bitcast(bits, self.dtype)
        if self.dtype == np.bool_:
            return b.ne(key, b.const(0, self.word))
        return b.convert(b.xor(key, top) if self.is_signed else key, self.dtype)


class _Vectors(_Narrow):
    """By a routine that compares vectors of 16 bits."""

    def write_sorted(self) -> None:
        """Sort the keys, and write their numbers."""
        b = self.b
        keys = b.buffer(ShapedArray((self.size,), _WORD))
        b.loop(self.size, lambda i: b.store(keys, i, b.convert(self.key(i), _WORD)))
        args = (keys, self.size, depth_of(self.size), self.size)
        b.call(self.symbol, args, reads=[keys], writes=[keys])
        b.loop(self.size, lambda i: self.store(i, self.number(b.convert(keys.at(i), self.word))))


class _Digits(_Narrow):
    """By counting the values of each byte."""

    def __init__(
        self,
        b: Any,
        args: Sequence,
    ) -> None:
        """Make the memory of the counts."""
        super().__init__(b, args)
        self.counting = Counting(b, self.size, False)

    def write_sorted(self) -> None:
        """Sort the keys, and write their numbers."""
        keys = self.counting.sort(self.key, lambda key: key, True)
        self.b.loop(self.size, lambda i: self.store(i, self.number(keys.at(i))))


class _Tally(_Narrow):
    """By counting how often each key occurs."""

    def __init__(
        self,
        b: Any,
        args: Sequence,
    ) -> None:
        """Make the memory of the counts, one table beside the other."""
        super().__init__(b, args)
        self.n_tables = _TABLES_OF_BYTES if self.n_bits == _BYTE else _TABLES
        self.n_keys = 1 << self.n_bits
        counts = ShapedArray((self.n_keys * self.n_tables,), _I64)
        self.counts = b.buffer(counts)

    def write_sorted(self) -> None:
        """Count, and write each number as often as it was there."""
        b, n_tables = self.b, self.n_tables
        b.loop(self.n_keys * n_tables, lambda k: b.store(self.counts, k, b.const(0, _I64)))
        whole = self.size // n_tables

        def count(first: Any) -> None:
            """Count neighbours."""
            start = b.imul(first, n_tables)
            for table in range(n_tables):
                at = b.iadd(start, table)
                self.count_one(at, table)

        b.loop(whole, count, independent=False)
        for at in range(whole * n_tables, self.size):
            self.count_one(at, 0)
        spot = self.counter(b.const(0, _I64))

        def write(k: Any) -> None:
            """Write one number as often as it was there."""
            first = b.imul(k, n_tables)
            places = (b.iadd(first, table) for table in range(n_tables))
            counts = map(self.counts.at, places)
            total = b.let(functools.reduce(b.add, counts))
            place = b.let(spot.at())
            number = self.number(b.convert(k, self.word))
            b.loop(total, lambda j: self.store(b.iadd(place, j), number))
            b.store(spot, (), b.add(place, total))

        b.loop(self.n_keys, write, independent=False)

    def count_one(self, i: Any, table: int) -> None:
        """Count an element."""
        b = self.b
        key = b.convert(self.key(i), _I64)
        place = b.add(b.mul(key, self.n_tables), table)
        b.store(self.counts, place, b.const(1, _I64), accumulate="add")
