"""Prefixes of long lists by loops: a program whose size does not depend on their length.

    x[0] | x[1] ... x[8]   ...   | x[9] ...           | rest
           a tile of 4 lanes       the next tile

A tile is `lanes` times `steps` elements in a row. Its lanes are scanned side by side, so that a
step is as wide as there are lanes; then the totals of the lanes are scanned, what went before the
tile is combined with them, and each lane's elements with what went before the lane:

    lanes    a b | c d | e f           a, ab | c, cd | e, ef       both lanes at once
    totals                             ab, abcd, abcdef            one after the other
    starts   p, p ab, p abcd           where p is all before the tile
    out      pa, pab | pabc, pabcd | ...

No neutral element is needed, and none made up: the first element stands before the first tile. What
is left behind the last tile is scanned element by element; the tile is chosen so that it is little.

An element is the sum of as many numbers one after the other as there are steps, lanes and tiles, so
that rounding errors are nearer to those of a tree than of a plain scan.
"""

from __future__ import annotations

from collections.abc import Callable

from tapeless.control.loops import scan
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.prims.join import concatenate, split
from tapeless.prims.slice import index_in_dim, slice_in_dim
from tapeless.prims.structural import (
    broadcast_in_dim,
    collapse,
    reshape,
    squeeze,
    transpose,
)

__all__ = ["SHORTEST", "SHORTEST_OF_ROWS", "Combine", "prefixes_by_tiles", "prefixes_in_order"]

Combine = Callable[[list[Value], list[Value]], list[Value]]

SHORTEST = 1 << 9  # elements for which loops are worth their steps
SHORTEST_OF_ROWS = 1 << 5  # elements of several numbers, whose steps fill lanes
_LANES = range(16, 65, 16)  # whole vectors
_STEPS = range(32, 65)


def prefixes_in_order(
    combine: Combine,
    elems: list[Value],
    axis: int,
    reverse: bool,
) -> list[Value]:
    """Return the prefixes of two elements or more along an axis, by as many combinations."""
    rows = _by_elements(elems, axis)
    n = typeof(rows[0]).shape[0]
    parts = [split(x, (n - 1, 1) if reverse else (1, n - 1)) for x in rows]
    first, rest = [x[reverse] for x in parts], [x[not reverse] for x in parts]
    before = [squeeze(x, (0,)) for x in first]
    _, out = scan(_step(combine), before, rest, reverse=reverse)
    out = _joined(out, first, 0) if reverse else _joined(first, out, 0)
    return _all_joined(out, axis, 1)


def prefixes_by_tiles(
    combine: Combine,
    elems: list[Value],
    axis: int,
) -> list[Value]:
    """Return the prefixes of more than `SHORTEST` elements along an axis.

    combine: of two flat lists of arrays (..., k, ...), for any k, as `elems` are.
    """
    n = typeof(elems[0]).shape[axis] - 1
    lanes, steps = _tile(n)
    end = 1 + n - n % (lanes * steps)
    first = _cut(elems, 0, 1, axis)
    tiles = [_in_tiles(x, axis, lanes, steps) for x in _cut(elems, 1, end, axis)]

    def tile(before: list[Value], rows: list[Value]) -> tuple[list[Value], list[Value]]:
        """Return the total up to the end of a tile, and its prefixes: (..., lanes, steps, ...)."""
        rows = _all_moved(rows, axis + 1, 0)
        rows = _one_by_one(combine, rows)
        totals = [index_in_dim(x, -1, 0, False) for x in rows]
        totals = _one_by_one(combine, _by_elements(totals, axis))
        totals = _all_joined(totals, axis, 1)
        ends = combine([_widened(x, axis, lanes) for x in before], totals)
        starts = _joined(before, _cut(ends, 0, -1, axis), axis)

        def finish(_: tuple, row: list[Value]) -> tuple[tuple, list[Value]]:
            """Combine what goes before each lane with an element of each."""
            return (), combine(starts, row)

        _, out = scan(finish, (), rows)
        last = _cut(ends, -1, None, axis)
        return last, _all_moved(out, 0, axis + 1)

    last, out = scan(tile, first, tiles)
    out = _joined(first, _all_joined(out, axis, 2), axis)
    if end > n:
        return out
    rest = _by_elements(_cut(elems, end, None, axis), axis)
    _, rest = scan(_step(combine), last, rest)
    return _joined(out, _all_joined(rest, axis, 1), axis)


def _tile(n: int) -> tuple[int, int]:
    """Return lanes and steps that leave the fewest of n elements; of these the most."""
    sizes = [
        (n % (lanes * steps), -lanes * steps, lanes)
        for lanes in _LANES
        for steps in _STEPS
        if lanes * steps <= n
    ]
    _, size, lanes = min(sizes)
    return lanes, -size // lanes


def _step(combine: Combine) -> Callable:
    """Return the step of a scan whose results are the carries."""

    def step(
        before: list[Value],
        x: list[Value],
    ) -> tuple[list[Value], list[Value]]:
        """Combine one element more."""
        after = combine(before, x)
        return after, after

    return step


def _one_by_one(combine: Combine, rows: list[Value]) -> list[Value]:
    """Return the prefixes along the leading axis of arrays: (m, ...) -> (m, ...)."""
    start = _cut(rows, 0, 1, 0)
    first = [squeeze(x, (0,)) for x in start]
    _, rest = scan(_step(combine), first, _cut(rows, 1, None, 0))
    return _joined(start, rest, 0)


def _cut(
    arrays: list[Value],
    start: int,
    stop: int | None,
    axis: int,
) -> list[Value]:
    """Slice all arrays along an axis."""
    return [slice_in_dim(x, start, stop, 1, axis) for x in arrays]


def _joined(
    first: list[Value],
    then: list[Value],
    axis: int,
) -> list[Value]:
    """Concatenate arrays with arrays."""
    pairs = zip(first, then, strict=True)
    return [concatenate(pair, axis) for pair in pairs]


def _in_tiles(
    x: Value,
    axis: int,
    lanes: int,
    steps: int,
) -> Value:
    """Cut an axis into tiles: (a, n, b) -> (tiles, a, lanes, steps, b)."""
    shape = typeof(x).shape
    before, after = shape[:axis], shape[axis + 1 :]
    n_tiles = shape[axis] // (lanes * steps)
    x = reshape(x, (*before, n_tiles, lanes, steps, *after))
    return _moved(x, axis, 0)


def _all_joined(
    arrays: list[Value],
    axis: int,
    n: int,
) -> list[Value]:
    """Join the leading axis and n others at a place: (t, a, lanes, steps, b) -> (a, n, b)."""
    moved = _all_moved(arrays, 0, axis)
    end = axis + n
    return [collapse(x, axis, end + 1) for x in moved]


def _by_elements(arrays: list[Value], axis: int) -> list[Value]:
    """Move an axis to the front and leave one of length 1 in its place."""
    moved = _all_moved(arrays, axis, 0)
    shapes = [list(typeof(x).shape) for x in moved]
    for shape in shapes:
        shape.insert(axis + 1, 1)
    return [reshape(x, shape) for x, shape in zip(moved, shapes, strict=True)]


def _all_moved(
    arrays: list[Value],
    axis: int,
    place: int,
) -> list[Value]:
    """Move one axis of all arrays."""
    return [_moved(x, axis, place) for x in arrays]


def _moved(x: Value, axis: int, place: int) -> Value:
    """Move one axis."""
    order = list(range(typeof(x).ndim))
    order.remove(axis)
    order.insert(place, axis)
    return transpose(x, order)


def _widened(x: Value, axis: int, length: int) -> Value:
    """Repeat the one element along an axis."""
    shape = list(typeof(x).shape)
    shape[axis] = length
    places = range(len(shape))
    return broadcast_in_dim(x, shape, places)
