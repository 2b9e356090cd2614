"""Slices: which loops are cut into chunks for several threads, and memory for their rows.

A loop whose iterations are independent, and that is long enough, is cut into chunks that threads
take one after the other (`tasks.py`). How many chunks there are, and whether a loop is cut, depends
on the program only, so that results never depend on the number of threads. Chunks are small enough
to balance a few threads, and large enough to make the price of handing them out invisible.

Temporaries that every iteration writes anew, in one place, are *private*: each thread needs them
for itself. They are in the *slice* of a thread, a piece of the arena that is planned as the arena
is: two of them share memory if they are never alive at once. There are as many slices as there are
threads, fewer if the loop has fewer chunks or the slices would take more than `_MOST_SLICED` bytes;
then fewer threads work on it.

A loop over few rows that are large is not cut if loops inside of it can be: they keep more threads
busy, and take the memory of one row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tapeless.compiler.plan import Costs, buffers_of, static_extent
from tapeless.kernel.ir import Block, Buffer, Call, If, Loop, Statement, Store, While
from tapeless.util.processors import thread_count

__all__ = [
    "SHARED_COST",
    "chunk_length",
    "is_cut",
    "n_slices",
    "plan_slices",
    "private_buffers",
]

SHARED_COST = 1 << 20
_CHUNK_COST = 1 << 18
_MOST_CHUNKS = 64
_MOST_SLICED = 1 << 30  # bytes of all slices of a loop
_MANY_ROWS = 16
_MOST_OF_A_ROW = 0.75


def chunk_length(extent: int, cost: float, unit: int) -> int | None:
    """Return how many iterations form a chunk, a multiple of `unit`; None to keep the loop whole.

    cost: of all iterations, in about the number of operations on elements.
    """
    if cost < SHARED_COST or extent < 2 * unit:
        return None
    n_chunks = max(2, min(_MOST_CHUNKS, int(cost) // _CHUNK_COST))
    length = -(-extent // n_chunks)
    length = -(-length // unit) * unit
    return length if length < extent else None


def private_buffers(loop: Loop, outside: frozenset[Buffer]) -> frozenset[Buffer] | None:
    """Return the buffers that each thread must have for itself; None if a loop cannot be shared.

    outside: those that the rest of the program uses.
    """
    private: set[Buffer] = set()
    for statement in _statements(loop.body):
        if isinstance(statement, Store):
            buffer = statement.buffer
            if buffer.space == "local" or loop.var not in statement.index.free:
                private.add(buffer)
        elif isinstance(statement, Call):
            if statement.symbol.startswith("host:"):
                return None  # it wants the thread that called the program, and the rows' order
            private.update(statement.writes)
    private = {buffer for buffer in private if buffer.space in ("local", "temp")}
    if any(buffer.space == "local" and buffer in outside for buffer in private):
        return None
    return frozenset(private - outside)


def plan_slices(
    body: Block, inside: Mapping[Loop, frozenset[Buffer]], given: frozenset[Buffer], costs: Costs
) -> dict[Loop, frozenset[Buffer]]:
    """Return for each loop whose threads have slices the buffers that are in them.

    inside: for each loop the buffers that are used in it and nowhere else.
    given: the inputs and outputs of the program.
    """
    found: dict[Loop, frozenset[Buffer]] = {}
    blocks = [body]
    while blocks:
        for statement in blocks.pop():
            if not isinstance(statement, Loop):
                blocks.extend(_blocks(statement))
                continue
            own = inside.get(statement, frozenset())
            temps = _in_slices(statement, own, given, costs)
            if temps is None:
                blocks.append(statement.body)
            elif temps:
                found[statement] = temps
    return found


def _in_slices(
    loop: Loop, own: frozenset[Buffer], given: frozenset[Buffer], costs: Costs
) -> frozenset[Buffer] | None:
    """Return the temporaries that each thread of a loop needs; None if it is not to be shared.

    own: the buffers that are used in the loop and nowhere else.
    """
    if not is_cut(loop, costs):
        return None
    private = private_buffers(loop, given | (buffers_of((loop,)) - own))
    if private is None:
        return None
    temps = frozenset(buffer for buffer in private if buffer.space == "temp")
    size = sum(buffer.n_bytes for buffer in temps)
    if temps and (2 * size > _MOST_SLICED or _is_better_cut_inside(loop, costs)):
        return None
    return temps


def n_slices(loop: Loop, size: int, costs: Costs) -> int:
    """Return how many slices of `size` bytes a loop has."""
    extent = static_extent(loop)
    length = chunk_length(extent, costs.statement(loop), 1) or extent
    return max(1, min(thread_count(), -(-extent // length), _MOST_SLICED // size))


def is_cut(loop: Loop, costs: Costs) -> bool:
    """Tell whether a loop is long enough to be cut, if its iterations allow it."""
    if not loop.independent or not isinstance(loop.extent, int):
        return False
    return chunk_length(loop.extent, costs.statement(loop), 1) is not None


def _is_better_cut_inside(loop: Loop, costs: Costs) -> bool:
    """Tell whether there are few rows, and most of the work of one can be shared."""
    if static_extent(loop) >= _MANY_ROWS:
        return False
    return _cost_of_cut(loop.body, costs) >= _MOST_OF_A_ROW * costs.block(loop.body)


def _cost_of_cut(block: Block, costs: Costs) -> float:
    """Return the cost of the loops in a block that are cut if those around are not."""
    total = 0.0
    for statement in block:
        if isinstance(statement, Loop) and is_cut(statement, costs):
            total += costs.statement(statement)
            continue
        whole = costs.statement(statement)
        inner = [_cost_of_cut(part, costs) for part in _blocks(statement)]
        parts = [costs.block(part) for part in _blocks(statement)]
        if sum(parts) > 0:
            total += whole * sum(inner) / sum(parts)
    return total


def _statements(block: Block) -> Iterator[Statement]:
    """Yield the statements of a block and of the blocks in it."""
    stack = list(block)
    while stack:
        statement = stack.pop()
        yield statement
        for inner in _blocks(statement):
            stack.extend(inner)


def _blocks(statement: Statement) -> tuple[Block, ...]:
    """Return the blocks of a statement."""
    if isinstance(statement, Loop):
        return (statement.body,)
    if isinstance(statement, While):
        return (statement.before, statement.body)
    return statement.branches if isinstance(statement, If) else ()
