"""Loops over the updates of a scatter, in the ways that suit how many there are.

    for i, j < updates, i in order:  target[place(i), j] += updates[i, j]

Axes of windows and batches go in any order; the others, along which updates may meet in one
element, go in turn. Three things make the turns cheap:

- The innermost loop is written out `UNROLLED` times.
- Where updates are many for each element, the first axis is cut into *shares*. Each share has a
  table of its own, as large as the target, which starts with what changes nothing, and threads take
  shares; then the tables are combined into the target in their order. How many shares there are
  depends on shapes only, and so do the results.
- Extremes of floats are those of integers of the same order (`runs.Keys`), made in lanes, a line of
  them at a time. Where many updates meet they seldom change. So a block of them is compared with
  what is there, in lanes, and combined only if one of them may win.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless.core.aval import ShapedArray
from tapeless.prims.rules import highest, lowest

__all__ = ["Updates", "within"]

UNROLLED = 4
MOST_SHARES = 8
FEWEST_SHARES = 4
SHARED = 1 << 17  # elements of updates; fewer are not worth tables
FILLING = 8  # updates for each element of a table
KEYS = 64  # in a line, which stays in the first cache
BLOCK = 16  # updates that are compared at once
SELDOM = 256  # updates of an element, of which few are larger than all before
LINE = 128  # bytes between tables, so that no two threads write one line

Combine = Callable[[Sequence[Any], Any, Any], None]  # place, update, guard


class Updates:
    """The updates of a scatter, and where they go."""

    def __init__(
        self,
        b: Any,
        shape: Sequence[int],
        axes: tuple[Sequence[int], Sequence[int], Sequence[int]],
        find: Callable[[Sequence[Any]], tuple[Sequence[Any], Any, Any]],
        look: Callable[[Sequence[Any]], None],
    ) -> None:
        """shape: of the updates; axes: of batches, those that go in turn, and of windows.

        find: from an index of the updates to what is combined: place, update and guard; look: what
        the loops call at each index.
        """
        self.b, self.shape, self.find, self.look = b, tuple(shape), find, look
        self.batches, self.turns, self.windows = axes

    def each(
        self,
        combine: Combine,
        independent: bool = False,
        part: tuple[Any, int] | None = None,
        at_once: int = UNROLLED,
    ) -> None:
        """Combine all updates, or the `part` (first, count) of the first axis that goes in turn.

        independent: whether no two updates meet, so that every axis goes in any order; at_once: how
        many updates an innermost loop is written out for.
        """
        index: list[Any] = [0] * len(self.shape)
        order = [*self.batches, *self.turns, *self.windows]

        def level(depth: int) -> None:
            """Open the loop over the next axis."""
            if depth == len(order):
                self.look(index)
                combine(*self.find(list(index)))
                return
            axis = order[depth]
            first, extent = 0, self.shape[axis]
            if part is not None and axis == self.turns[0]:
                first, extent = part

            def body(i: Any) -> None:
                """Set the axis and go on."""
                index[axis] = self.b.iadd(i, first)
                level(depth + 1)

            if extent == 1:
                body(0)
            elif independent or axis not in self.turns:
                self.b.loop(extent, body)
            else:
                self._in_turn(extent, body, at_once if depth + 1 == len(order) else 1)

        level(0)

    def _in_turn(self, extent: int, body: Callable[[Any], None], at_once: int) -> None:
        """Run a body in order, several times in each iteration of a loop."""
        b = self.b
        whole = extent // at_once * at_once if at_once > 1 else 0

        def several(block: Any) -> None:
            """Run the body for a block."""
            start = b.imul(block, at_once)
            b.loop(at_once, lambda i: body(b.iadd(start, i)), independent=False)

        if whole:
            b.loop(whole // at_once, several, independent=False)
        if whole < extent:
            b.loop(extent - whole, lambda i: body(b.iadd(i, whole)), independent=False)

    def keyed(self, keys: Any) -> Updates:
        """Return updates that are keys of these, which are single numbers (`runs.Keys`)."""

        def find(index: Sequence[Any]) -> tuple[Sequence[Any], Any, Any]:
            """Return the key of an update instead of it."""
            place, update, guard = self.find(index)
            return place, keys.key(update), guard

        axes = (self.batches, self.turns, self.windows)
        return KeyedUpdates(self.b, self.shape, axes, find, self.look)

    def n_shares(self, target: Any) -> int:
        """Return how many shares the updates of a target have: one unless they are many."""
        if self.batches or not self.turns or not target.shape or math.prod(self.shape) < SHARED:
            return 1
        filled = math.prod(self.shape) // (FILLING * target.aval.size)
        extent = self.shape[self.turns[0]]
        count = min(filled, MOST_SHARES, extent)
        return count if count >= FEWEST_SHARES else 1

    def in_shares(self, target: Any, accumulate: str, combiner: Callable[[Any], Combine]) -> None:
        """Combine the updates share by share, if they are many, and then what the shares come to.

        accumulate: the name of the operation; combiner: gives what combines into an array.
        """
        b, dtype, count = self.b, target.dtype, self.n_shares(target)
        if count == 1:
            self.each(combiner(target))
            return
        extent, *others = target.shape
        row = math.prod(others) * dtype.itemsize
        height = extent + -(-LINE // row)
        tables = b.buffer(ShapedArray((count, height, *others), dtype))
        combine = combiner(tables)
        length = self.shape[self.turns[0]] // count
        start = b.const(_neutral(accumulate, dtype), dtype)

        def share(number: Any) -> None:
            """Combine the updates of one share."""

            def in_table(place: Sequence[Any], update: Any, guard: Any) -> None:
                """Combine into the table of the share."""
                combine((number, *place), update, guard)

            b.nest(target.shape, lambda index: b.store(tables, (number, *index), start))
            part = (b.imul(number, length), length)
            self.each(in_table, part=part)

        def total(index: Sequence[Any]) -> None:
            """Combine one element of all tables."""
            value = target.at(*index)
            for number in range(count):
                value = b.op(accumulate, value, tables.at(number, *index))
            b.store(target, index, value)

        b.loop(count, share)
        b.nest(target.shape, total)
        rest = self.shape[self.turns[0]] - count * length
        if rest:
            self.each(combiner(target), part=(count * length, rest))

    def few_win(self, target: Any) -> bool:
        """Tell whether so many updates meet that most change nothing, if the greatest is wanted."""
        return len(self.shape) == 1 and self.shape[0] >= SELDOM * target.aval.size

    def where_one_wins(self, target: Any, accumulate: str, combine: Combine) -> None:
        """Combine single integers into extremes, block by block, if one of a block may win."""
        b, (extent,) = self.b, self.shape
        wins = b.lt if accumulate == "max" else b.gt

        def may_win(i: Any) -> Any:
            """Tell whether an update wins over what is there before its block."""
            place, update, guard = self.find([i])
            old = target.at(*within(b, place, guard))
            won = wins(old, update)
            return won if guard is None else b.and_(guard, won)

        def block(number: Any) -> None:
            """Combine a block."""
            start = b.imul(number, BLOCK)
            some = b.fold((BLOCK,), lambda i: may_win(b.iadd(start, *i)), "or", False)
            b.when(some, lambda: self.each(combine, part=(start, BLOCK)))

        b.loop(extent // BLOCK, block, independent=False)
        if extent % BLOCK:
            self.each(combine, part=(extent - extent % BLOCK, extent % BLOCK))


class KeyedUpdates(Updates):
    """Updates of one axis that are keys, which are made in lanes, a line of them at a time."""

    def each(
        self,
        combine: Combine,
        independent: bool = False,
        part: tuple[Any, int] | None = None,
        at_once: int = UNROLLED,
    ) -> None:
        """Combine all updates or a part of them, in order."""
        b = self.b
        first, extent = part or (0, self.shape[0])
        whole = extent // KEYS * KEYS if at_once > 1 else 0
        line = b.buffer(ShapedArray((KEYS,), self.find([0])[1].dtype))

        def block(number: Any) -> None:
            """Make a line of keys, and combine them."""
            start = b.iadd(first, b.imul(number, KEYS))

            def from_line(i: Any) -> None:
                """Combine a key of the line."""
                index = [b.iadd(start, i)]
                self.look(index)
                place, _, guard = self.find(index)
                combine(place, line.at(i), guard)

            def make(i: Any) -> None:
                """Make a key of the line."""
                _, key, _ = self.find([b.iadd(start, i)])
                b.store(line, (i,), key)

            b.loop(KEYS, make)
            self._in_turn(KEYS, from_line, at_once)

        if whole:
            b.loop(whole // KEYS, block, independent=False)
        if whole < extent:
            rest = (b.iadd(first, whole), extent - whole)
            super().each(combine, independent, rest, at_once)


def within(b: Any, place: Sequence[Any], guard: Any) -> list[Any]:
    """Return a place, or 0 where the guard does not hold."""
    if guard is None:
        return list(place)
    return [i if isinstance(i, int) else b.select(guard, i, 0) for i in place]


def _neutral(accumulate: str, dtype: np.dtype) -> Any:
    """Return the number that changes none that it is combined with."""
    if accumulate == "add":
        return -0.0 if dtype.kind == "f" else 0
    if accumulate == "mul":
        return 1
    return lowest(dtype) if accumulate == "max" else highest(dtype)
