"""Runs of scattered updates: many that follow each other and meet in one element.

A sum of sorted segments adds to one element after the other. In memory each addition waits for the
store of the one before, which takes three times as long as the addition. In a register it does not,
at the price of a branch where the element changes: cheap where it is foreseen, since runs are long,
and dear where runs are short. So a program has both loops, and looks at some pairs of neighbouring
indices before it takes one. Both do the same operations in the same order.

A maximum of floats, which takes NaN for the largest number and -0.0 for less than 0.0, is several
instructions that wait for each other. In a register there are *keys* instead, integers that have
the order of the numbers: what makes them waits for nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless.core.aval import ShapedArray

__all__ = ["Keys", "Runs", "in_long_runs"]

SAMPLE = 512  # pairs of neighbours
LONG_RUN = 16  # updates of one element, on average; a branch at their end costs little then
_INT32 = np.dtype(np.int32)
_INT64 = np.dtype(np.int64)


class Keys:
    """What numbers are combined as: for extremes of floats, integers that have their order.

    dtype: of the keys; they are the numbers themselves for sums and for integers.
    """

    def __init__(self, b: Any, numbers: np.dtype, accumulate: str) -> None:
        """numbers: their dtype; accumulate: the operation."""
        self.b, self.accumulate, self.floats = b, accumulate, numbers
        self.has_keys = accumulate in ("min", "max") and numbers.kind == "f"
        self.dtype = np.dtype(f"uint{8 * numbers.itemsize}") if self.has_keys else numbers

    def key(self, number: Any) -> Any:
        """Return what stands for a number."""
        if not self.has_keys:
            return number
        b = self.b
        return b.sub(self.turned(b.bitcast(number, self.dtype)), self.least_key())

    def number(self, key: Any) -> Any:
        """Return the number that a key stands for."""
        if not self.has_keys:
            return key
        return self.b.bitcast(
            self.turned(self.b.add(key, self.least_key())),
            self.floats,
        )

    def turned(self, bits: Any) -> Any:
        """Flip all bits but the sign where it is set: integers with a sign then have the order."""
        b, signed = self.b, np.dtype(f"int{8 * self.dtype.itemsize}")
        number = b.bitcast(bits, signed)
        sign = b.shift_right_arithmetic(number, 8 * self.dtype.itemsize - 1)
        flips = b.and_(sign, int(np.iinfo(signed).max))
        return b.bitcast(b.xor(number, flips), bits.dtype)

    def least_key(self) -> int:
        """Return the turned bits that shall be 0, so that NaN of either sign wins.

        They are those of -inf for a maximum, and those behind inf for a minimum.
        """
        unsigned = self.dtype
        infinity = int(np.array(np.inf, self.floats).view(unsigned))
        return infinity + 1 if self.accumulate == "min" else infinity ^ int(np.iinfo(unsigned).max)


class Runs:
    """Updates that follow each other and meet in one element, as in sums of sorted segments.

    The element is combined in a register and stored when the next update is for another one, so
    that no update waits for the store of the one before. The order of operations is the same.
    """

    def __init__(self, b: Any, target: Any, accumulate: str) -> None:
        """Start with no element: number -1."""
        self.b, self.accumulate, self.shape = b, accumulate, target.shape
        self.flat = b.reshape(target, target.aval.update(shape=(target.aval.size,)))
        self.last = b.buffer(ShapedArray((), _INT64))
        self.keys = Keys(b, target.dtype, accumulate)
        self.total = b.buffer(ShapedArray((), self.keys.dtype))
        b.store(self.last, (), -1)
        b.store(self.total, (), 0)

    def combine(self, place: Sequence[Any], update: Any, guard: Any) -> None:
        """Combine one update."""
        b = self.b
        here = b.convert(b.flat_index(place, self.shape), _INT64)
        here = b.let(here if guard is None else b.select(guard, here, -1))

        def start() -> None:
            """Start with another element."""
            self.end()
            b.store(
                self.total,
                (),
                self.keys.key(self.flat.at(b.max(here, 0))),
            )
            b.store(self.last, (), here)

        update = b.let(self.keys.key(update))
        b.when(b.ne(here, self.last.at()), start)
        b.store(
            self.total,
            (),
            b.op(self.accumulate, self.total.at(), update),
        )

    def end(self) -> None:
        """Store the element that is combined, if there is one."""
        b, last = self.b, self.last.at()
        b.when(
            b.ge(last, 0),
            lambda: b.store(
                self.flat,
                (last,),
                self.keys.number(self.total.at()),
            ),
        )


def in_long_runs(b: Any, indices: Any) -> Any:
    """Tell whether most of a sample of indices equal the next ones: a branch on it is foreseen."""
    n, n_parts = indices.shape
    n_pairs = min(n - 1, SAMPLE)
    step = (n - 1) // n_pairs

    def repeats(index: Sequence[Any]) -> Any:
        """Return 1 for an index that equals the next one."""
        first = b.imul(index[0], step)
        pairs = [
            b.eq(
                indices.at(first, c),
                indices.at(b.iadd(first, 1), c),
            )
            for c in range(n_parts)
        ]
        return b.convert(functools.reduce(b.and_, pairs), _INT32)

    found = b.fold((n_pairs,), repeats, "add", b.const(0, _INT32))
    return b.ge(found, n_pairs - n_pairs // LONG_RUN)
