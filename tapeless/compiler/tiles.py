"""Tiles: loop nests that read along one variable and write along the other, such as a transpose.

Whichever variable becomes the lanes, half of the accesses of such a nest are scattered, and each
touches a cache line of its own. So the nest is cut into square tiles. In a tile the awkward
operands are loaded along the outer variable, where they are contiguous, and transposed in
registers; then each row of the tile is computed and stored with the inner variable as lanes, as
everywhere else.

A row of a tile is half of a cache line: whole ones, which mostly begin anywhere in a line, would
touch two lines each, and both are far away. As many tiles as read a line to its end come one after
the other. But rows whose distance is a multiple of a page share few places of the cache, and drive
each other out: if their runs all begin with a line, rows of tiles are whole lines, touched once.

A result that no cache holds is *streamed*: whole lines go to memory past the caches, which need not
fetch them first. Nothing is read twice then, and what the next tiles read is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

from tapeless.compiler.formats import format_of, typed
from tapeless.compiler.lanes import add, ask, transposed
from tapeless.compiler.plan import static_extent, survey, weight, writes
from tapeless.compiler.regions import Region, Value
from tapeless.compiler.values import Values
from tapeless.kernel.ir import Buffer, Load, Loop, Reduce, Statement, Store
from tapeless.util.records import record, replace

__all__ = ["Tile", "find_tile", "open_rows", "ordered_for_tiles"]

_MOST_WEIGHT = 16
_LARGEST = 16  # elements a side, since there are 32 registers
_ROW, _LINE, _PAGE = 32, 64, 4096  # bytes
_STREAMED = 1 << 22  # bytes of a result at least


@record
class Tile:
    """A nest of two loops to tile.

    size: elements a side; height: rows of the tiles that come one after the other; turned: the
    loads to transpose; streamed: the results that are.
    """

    inner: Loop
    size: int
    height: int
    turned: tuple[Load, ...]
    streamed: frozenset[Buffer] = frozenset()


def find_tile(
    loop: Loop,
    vector_bytes: int,
    may_stream: bool = False,
) -> Tile | None:
    """Return the tile of a nest, or None if it has no awkward operand or is not simple.

    may_stream: whether results are known to begin with a line.
    """
    if len(loop.body) != 1 or not loop.independent:
        return None
    (inner,) = loop.body
    if not isinstance(inner, Loop) or not inner.independent or not isinstance(inner.extent, int):
        return None
    stores = [s for s in inner.body if isinstance(s, Store)]
    plain = [s for s in stores if _is_plain(s, inner)]
    if not plain or not all(s in plain or _is_flag(s, inner) for s in inner.body):
        return None
    found = survey(x for s in stores for x in (s.value, s.guard) if x is not None)
    loads = [node for node in found.nodes if isinstance(node, Load)]
    written = writes(loop.body)
    if any(isinstance(node, Reduce) for node in found.nodes):
        return None
    if (
        any(load.buffer in written for load in loads)
        or sum(map(weight, found.nodes)) > _MOST_WEIGHT
    ):
        return None
    turned = tuple(load for load in loads if load.index.stride(inner.var) not in (0, 1, -1))
    sizes = {format_of(load.dtype).size for load in turned}
    if len(sizes) != 1 or not all(_can_turn(load, loop, inner) for load in turned):
        return None
    (item,) = sizes
    is_wide = may_stream and vector_bytes >= _LINE and _LARGEST * item >= _LINE
    streamed = _streamed(inner, plain, item) if is_wide else frozenset()
    in_lines = bool(streamed) or _are_whole_lines(loop, inner, [*plain, *turned], item)
    size = min(min(vector_bytes, _LINE if in_lines else _ROW) // item, _LARGEST)
    if size < 4 or min(static_extent(loop), inner.extent) < size:
        return None
    height = min(_LINE // item, _LARGEST)
    if static_extent(loop) < height:
        height = size
    return Tile(inner, size, height, turned, streamed)


def ordered_for_tiles(
    loop: Loop,
    vector_bytes: int,
) -> Loop:
    """Return a nest, or the same with a loop moved inwards, so that its inner two can be tiled.

    Reversed axes read along the outermost loop.  Independent loops may run in any order.
    """
    nest = [loop]
    while len(nest[-1].body) == 1 and isinstance(nest[-1].body[0], Loop):
        nest.append(nest[-1].body[0])
    if len(nest) < 3 or not all(part.independent for part in nest):
        return loop
    if any(not isinstance(part.extent, int) for part in nest):
        return loop
    *outer, inner = nest
    for part in reversed(outer):
        body: Loop = replace(part, body=(inner,))
        if find_tile(body, vector_bytes) is None:
            continue
        for other in reversed(outer):
            if other is not part:
                body = replace(other, body=(body,))
        return body
    return loop


def _are_whole_lines(
    loop: Loop,
    inner: Loop,
    accesses: Sequence[Store | Load],
    item: int,
) -> bool:
    """Tell whether all runs begin where lines of the cache do, and some are pages apart."""
    line, page = _LINE // item, _PAGE // item
    if static_extent(loop) % line or static_extent(inner) % line:
        return False
    is_far = False
    for access in accesses:
        along, across = inner.var, loop.var
        if isinstance(access, Load):
            along, across = across, along
        index = access.index
        steps = [step for term, step in index.terms if term is not along]
        if any(step % line for step in (*steps, index.const)):
            return False
        distance = index.stride(across)
        is_far |= bool(distance) and distance % page == 0
    return is_far


def _streamed(inner: Loop, stores: Sequence[Store], item: int) -> frozenset[Buffer]:
    """Return the results that no cache holds, of which tiles store whole lines."""
    line = _LINE // item
    if static_extent(inner) % line:
        return frozenset()
    found = set()
    for store in stores:
        buffer, index = store.buffer, store.index
        steps = [step for term, step in index.terms if term is not inner.var]
        in_lines = not any(step % line for step in (*steps, index.const))
        is_large = buffer.space == "output" and buffer.n_bytes >= _STREAMED
        if in_lines and is_large and buffer.dtype.itemsize == item:
            found.add(buffer)
    return frozenset(found)


def _is_plain(statement: Store, inner: Loop) -> bool:
    """Tell whether a statement stores contiguously and unconditionally."""
    plain = statement.guard is None and statement.accumulate is None
    return plain and statement.index.stride(inner.var) == 1


def _is_flag(statement: Statement, inner: Loop) -> bool:
    """Tell whether a statement stores the same number for some iterations, as checks do."""
    if not isinstance(statement, Store) or statement.accumulate is not None:
        return False
    return statement.index.stride(inner.var) == 0 and not statement.value.free


def _can_turn(
    load: Load,
    loop: Loop,
    inner: Loop,
) -> bool:
    """Tell whether a load is contiguous along the outer variable."""
    known = load.index.stride(inner.var) is not None and load.index.stride(loop.var) == 1
    return known and load.guard is None


def open_rows(
    values: Values,
    region: Region,
    loop: Loop,
    tile: Tile,
    row: str,
    column: str,
) -> list[Region]:
    """Load and transpose the operands of tiles; return a region with lanes for each of the rows."""
    rows: list[Region] = []
    for start in range(0, tile.height, tile.size):
        rows += _open_square(values, region, loop, tile, add(region, row, str(start)), column)
    return rows


def _open_square(
    values: Values,
    region: Region,
    loop: Loop,
    tile: Tile,
    row: str,
    column: str,
) -> list[Region]:
    """Load and transpose one tile's operands."""
    size, inner = tile.size, tile.inner
    columns = [
        region.instance(inner.var, add(region, column, str(number))).instance(
            loop.var, row, lanes=size
        )
        for number in range(size)
    ]
    rows = [
        region.instance(loop.var, add(region, row, str(number))).instance(
            inner.var, column, lanes=size
        )
        for number in range(size)
    ]
    for copy in rows:
        copy.streamed = tile.streamed
    for load in tile.turned:
        for copy in columns if tile.streamed else ():
            ask(copy, values.address(copy, load.buffer, load.index, tile.height))
        kind = typed(format_of(load.dtype).register, size)
        loaded = [values.lanes(copy, load, size) for copy in columns]
        for copy, text in zip(rows, transposed(region, loaded, kind), strict=True):
            copy.cache[load] = Value(text, size, kind)
    return rows
