"""Loops over the updates of a scatter, in the ways that suit how many there are.

    for i, j < updates, i in order:  target[place(i), j] += updates[i, j]

Axes of windows and batches go in any order; the others, along which updates may meet in one
element, go in turn. Five things make the turns cheap:

- Where updates are many for each element, the first axis is cut into *shares*. Each share has a
  table of its own, as large as the target, which starts with what changes nothing, and threads take
  shares; then the tables are combined into the target in their order.
- A block of updates is cut into `STREAMS`, of which one update each is combined by turns:
  neighbours in memory, which often meet in one element, do not wait for each other. Small targets
  have a table for each stream. How many shares, streams and tables there are depends on shapes
  only, and so do the results.
- Bounds of a block of single updates are looked at in lanes; if all hold, none is looked at again.
- Each of a few sums has lanes of its own: to one lane of each, an update adds itself or nothing.
- Extremes of floats are those of integers of the same order (`runs.Keys`), made in lanes for
  a block at a time. Where many updates meet they seldom change. So some are compared with what is
  there, in lanes, and combined only if one of them may win.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless.core.aval import ShapedArray
from tapeless.prims.rules import highest, lowest

__all__ = ["Updates", "within"]

UNROLLED = 4
STREAMS = 8
STREAMED = 64  # updates of a stream that are looked at together
KEYS = 64  # in a line, which stays in the first cache
NARROW = 16  # elements of a window; the sums of longer ones do not wait for each other
TABLES = 1 << 14  # bytes of the tables of all streams, which leave room in the first cache
FEW = 64  # bytes of a target whose elements have lanes
LANES = 16
MOST_SHARES = 8
FEWEST_SHARES = 4
SHARED = 1 << 17  # elements of updates; fewer are not worth tables
FILLING = 8  # updates for each element of a table
BLOCK = 16  # updates that are compared at once
SELDOM = 256  # updates of an element, of which few are larger than all before
FEWEST = 32  # updates of a lane; fewer are not worth it
LINE = 128  # bytes between tables, so that no two threads write one line

_INT32 = np.dtype(np.int32)
Combine = Callable[[Sequence[Any], Any, Any], None]  # place, update, guard


class Updates:
    """The updates of a scatter, and where they go."""

    has_keys = False

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

        def level(
            depth: int,
        ) -> None:
            """Open the loop over the next axis."""
            if depth == len(order):
                self.look(index)
                combine(*self.find(list(index)))
                return
            axis = order[depth]
            first, extent = 0, self.shape[axis]
            if part is not None and axis == self.turns[0]:
                first, extent = part

            def body(
                i: Any,
            ) -> None:
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

    def _in_turn(
        self,
        extent: int,
        body: Callable[[Any], None],
        at_once: int,
    ) -> None:
        """Run a body in order, several times in each iteration of a loop."""
        b = self.b
        whole = extent // at_once * at_once if at_once > 1 else 0

        def several(
            block: Any,
        ) -> None:
            """Run the body for a block."""
            start = b.imul(block, at_once)
            b.loop(at_once, lambda i: body(b.iadd(start, i)), independent=False)

        if whole:
            b.loop(whole // at_once, several, independent=False)
        if whole < extent:
            b.loop(extent - whole, lambda i: body(b.iadd(i, whole)), independent=False)

    def keyed(
        self,
        keys: Any,
    ) -> Updates:
        """Return updates that are keys of these, which are single numbers (`runs.Keys`)."""

        def find(
            index: Sequence[Any],
        ) -> tuple[Sequence[Any], Any, Any]:
            """Return the key of an update instead of it."""
            place, update, guard = self.find(index)
            return place, keys.key(update), guard

        axes = (self.batches, self.turns, self.windows)
        return KeyedUpdates(self.b, self.shape, axes, find, self.look)

    def n_shares(
        self,
        target: Any,
    ) -> int:
        """Return how many shares the updates of a target have: one unless they are many."""
        if self.batches or not self.turns or not target.shape or math.prod(self.shape) < SHARED:
            return 1
        filled = math.prod(self.shape) // (FILLING * target.aval.size)
        extent = self.shape[self.turns[0]]
        count = min(filled, MOST_SHARES, extent)
        return count if count >= FEWEST_SHARES else 1

    def in_shares(
        self,
        target: Any,
        accumulate: str,
        combiner: Callable[[Any], Combine],
    ) -> None:
        """Combine the updates share by share, if they are many, and then what the shares come to.

        accumulate: the name of the operation; combiner: gives what combines into an array.
        """
        if not self.turns:
            self.each(combiner(target))
            return
        b, count, whole = self.b, self.n_shares(target), self.shape[self.turns[0]]
        length = whole // count
        has_lanes = accumulate == "add" and self.has_lanes(target, length)
        walk = self._in_lanes if has_lanes else self._in_streams
        n_tables = 1 if has_lanes else self._n_tables(target, length)
        if count == n_tables == 1:
            walk(target, lambda _: combiner(target), (0, whole))
            return
        tables = _tables(b, target, count * n_tables)
        combine = combiner(tables)
        start = b.const(_neutral(accumulate, target.dtype), target.dtype)

        def share(
            number: Any,
        ) -> None:
            """Combine the updates of one share."""
            first = b.imul(number, n_tables)

            def of_stream(
                stream: int,
            ) -> Combine:
                """Return what combines into the table of a stream."""
                table = b.iadd(first, stream % n_tables)
                return lambda place, update, guard: combine((table, *place), update, guard)

            def begin(
                index: Sequence[Any],
            ) -> None:
                """Let an element of a table begin with what changes nothing."""
                b.store(tables, (b.iadd(first, index[0]), *index[1:]), start)

            b.nest((n_tables, *target.shape), begin)
            walk(target, of_stream, (b.imul(number, length), length))

        def total(
            index: Sequence[Any],
        ) -> None:
            """Combine one element of all tables."""
            value = target.at(*index)
            for number in range(count * n_tables):
                value = b.op(accumulate, value, tables.at(number, *index))
            b.store(target, index, value)

        b.loop(count, share)
        b.nest(target.shape, total)
        if count * length < whole:
            self.each(combiner(target), part=(count * length, whole - count * length))

    def has_streams(self) -> bool:
        """Tell whether streams help: windows are short, and single updates fit into a cache.

        So many streams from further away than the second cache are slower than one.
        """
        window = math.prod(self.shape[axis] for axis in self.windows)
        fits = math.prod(self.shape) < SHARED or window > 1
        return len(self.turns) == 1 and window <= NARROW and fits

    def _n_blocks(
        self,
        length: int,
    ) -> int:
        """Return how many blocks each stream of a share has: none if they have no streams.

        They are odd, so that few streams begin at the same places of a page.
        """
        blocks = length // (STREAMS * STREAMED)
        if not blocks or not self.has_streams():
            return 0
        return (blocks - 1) | 1

    def _n_tables(
        self,
        target: Any,
        length: int,
    ) -> int:
        """Return how many tables a share has: one for each stream if the target is small."""
        size = target.aval.size
        filled = self._n_blocks(length) * STREAMED >= FILLING * size
        return STREAMS if filled and STREAMS * size * target.dtype.itemsize <= TABLES else 1

    def _in_streams(
        self, target: Any, of_stream: Callable[[int], Combine], part: tuple[Any, int]
    ) -> None:
        """Combine a part of the first axis, an update of each stream by turns.

        of_stream: gives what combines the updates of a stream.
        """
        b, (first, extent) = self.b, part
        shape, blocks = (STREAMS, STREAMED), self._n_blocks(extent)
        line = b.buffer(ShapedArray(shape, target.dtype)) if self.has_keys else None

        def block(
            number: Any,
        ) -> None:
            """Combine a block of each stream."""
            start = b.iadd(first, b.imul(number, STREAMED))
            starts = [b.iadd(start, k * blocks * STREAMED) for k in range(STREAMS)]

            def by_turns(
                is_inside: bool,
            ) -> None:
                """Combine them; is_inside: whether all are known to be in bounds."""

                def turn(
                    i: Any,
                ) -> None:
                    """Combine one update of each stream."""
                    for k, begin in enumerate(starts):
                        key = None if line is None else line.at(k, i)
                        self._window(of_stream(k), b.iadd(begin, i), is_inside, key)

                b.loop(STREAMED, turn, independent=False)

            def make_keys(
                i: Any,
            ) -> None:
                """Make the key of an update of each stream."""
                for k, begin in enumerate(starts):
                    b.store(line, (k, i), self.find([b.iadd(begin, i)])[1])

            def are_inside(
                index: Sequence[Any],
            ) -> Any:
                """Tell whether an update of each stream is in bounds."""
                guards = [self.find([b.iadd(begin, *index)])[2] for begin in starts]
                return functools.reduce(b.and_, guards)

            if line is not None:
                b.loop(STREAMED, make_keys)
            if len(self.shape) > 1 or self.find([0])[2] is None:
                by_turns(False)
                return
            inside = b.fold((STREAMED,), are_inside, "and", True)
            b.switch(inside, (lambda: by_turns(False), lambda: by_turns(True)))

        b.loop(blocks, block, independent=False)
        done = blocks * STREAMS * STREAMED
        if done < extent:
            self.each(of_stream(0), part=(b.iadd(first, done), extent - done))

    def _window(
        self,
        combine: Combine,
        i: Any,
        is_inside: bool,
        key: Any,
    ) -> None:
        """Combine the window of one update.

        is_inside: whether it is known to be in bounds; key: what a single update is, if known.
        """
        index: list[Any] = [0] * len(self.shape)
        index[self.turns[0]] = i

        def element(
            inner: Sequence[Any],
        ) -> None:
            """Combine an element of the window."""
            for axis, j in zip(self.windows, inner, strict=True):
                index[axis] = j
            self.look(index)
            place, update, guard = self.find(list(index))
            combine(place, update if key is None else key, None if is_inside else guard)

        self.b.nest([self.shape[axis] for axis in self.windows], element)

    def has_lanes(
        self,
        target: Any,
        length: int,
    ) -> bool:
        """Tell whether each element of the target has many lanes."""
        size = target.aval.size
        is_single = len(self.shape) == len(target.shape) == 1
        return is_single and size * target.dtype.itemsize <= FEW and length >= FEWEST * LANES

    def _in_lanes(
        self, target: Any, of_stream: Callable[[int], Combine], part: tuple[Any, int]
    ) -> None:
        """Add a part of the updates to a target of few elements, each of which has many lanes."""
        b, (first, extent), size = self.b, part, target.aval.size
        sums = b.buffer(ShapedArray((size, LANES), target.dtype))
        neutral = b.const(_neutral("add", target.dtype), target.dtype)
        b.loop(extent, lambda i: self.look([b.iadd(first, i)]))

        def terms(
            lane: Any,
            block: Any,
        ) -> tuple[Any, ...]:
            """Return what each element gets of an update: it, or what changes nothing."""
            place, update, guard = self.find([b.iadd(b.iadd(first, b.imul(block, LANES)), lane)])
            number = b.convert(place[0], _INT32)
            wanted = [b.eq(number, element) for element in range(size)]
            if guard is not None:
                wanted = [b.and_(is_here, guard) for is_here in wanted]
            return tuple(b.select(is_here, update, neutral) for is_here in wanted)

        def add(
            old: tuple[Any, ...],
            new: tuple[Any, ...],
        ) -> tuple[Any, ...]:
            """Add two tuples, number by number."""
            return tuple(b.add(x, y) for x, y in zip(old, new, strict=True))

        def sum_up(
            lane: Any,
        ) -> None:
            """Store the sums of a lane."""
            blocks, start = (extent // LANES,), (neutral,) * size
            found = b.fold(blocks, lambda block: terms(lane, block[0]), add, start)
            for element, value in enumerate(found):
                b.store(sums, (element, lane), value)

        b.loop(LANES, sum_up)
        combine = of_stream(0)
        for element in range(size):
            total = b.fold((LANES,), lambda lane, e=element: sums.at(e, *lane), "add", neutral)
            combine((element,), total, None)
        if extent % LANES:
            done = extent - extent % LANES
            self.each(combine, part=(b.iadd(first, done), extent - done))

    def few_win(
        self,
        target: Any,
    ) -> bool:
        """Tell whether so many updates meet that most change nothing, if the greatest is wanted."""
        return len(self.shape) == 1 and self.shape[0] >= SELDOM * target.aval.size

    def where_one_wins(
        self,
        target: Any,
        accumulate: str,
        combine: Combine,
    ) -> None:
        """Combine single integers into extremes, block by block, if one of a block may win."""
        b, (extent,) = self.b, self.shape
        wins = b.lt if accumulate == "max" else b.gt

        def may_win(
            i: Any,
        ) -> Any:
            """Tell whether an update wins over what is there before its block."""
            place, update, guard = self.find([i])
            old = target.at(*within(b, place, guard))
            won = wins(old, update)
            return won if guard is None else b.and_(guard, won)

        def block(
            number: Any,
        ) -> None:
            """Combine a block."""
            start = b.imul(number, BLOCK)
            some = b.fold((BLOCK,), lambda i: may_win(b.iadd(start, *i)), "or", False)
            b.when(some, lambda: self.each(combine, part=(start, BLOCK)))

        b.loop(extent // BLOCK, block, independent=False)
        if extent % BLOCK:
            self.each(combine, part=(extent - extent % BLOCK, extent % BLOCK))


class KeyedUpdates(Updates):
    """Updates of one axis that are keys, which are made in lanes, a line of them at a time."""

    has_keys = True

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

        def block(
            number: Any,
        ) -> None:
            """Make a line of keys, and combine them."""
            start = b.iadd(first, b.imul(number, KEYS))

            def from_line(
                i: Any,
            ) -> None:
                """Combine a key of the line."""
                index = [b.iadd(start, i)]
                self.look(index)
                place, _, guard = self.find(index)
                combine(place, line.at(i), guard)

            def make(
                i: Any,
            ) -> None:
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


def _tables(
    b: Any,
    target: Any,
    count: int,
) -> Any:
    """Return tables like the target, of which none shares a line with the next one."""
    extent, *others = target.shape
    row = math.prod(others) * target.dtype.itemsize
    height = extent + -(-LINE // row)
    return b.buffer(ShapedArray((count, height, *others), target.dtype))


def within(
    b: Any,
    place: Sequence[Any],
    guard: Any,
) -> list[Any]:
    """Return a place, or 0 where the guard does not hold."""
    if guard is None:
        return list(place)
    return [i if isinstance(i, int) else b.select(guard, i, 0) for i in place]


def _neutral(
    accumulate: str,
    dtype: np.dtype,
) -> Any:
    """Return the number that changes none that it is combined with."""
    if accumulate == "add":
        return -0.0 if dtype.kind == "f" else 0
    if accumulate == "mul":
        return 1
    return lowest(dtype) if accumulate == "max" else highest(dtype)
