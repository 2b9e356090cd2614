"""Temporaries that live in results: an array, and what becomes of it element by element.

    t = exp(x - m)             o = exp(x - m)
    s = sum of t               s = sum of o
    o = t / s                  o = o / s

The last loop that reads `t` reads each element once, just where it writes that of the result, so
the memory of the result can have both: less is written, and less must be in the cache. That is
legal when `t` is no result itself, when the other is not touched before, and when the loop has one
store of it, for each element once. In a loop over rows all of this is asked for a row, if nothing
of another row is touched. What is true of a result is true of another temporary from the statement
on that touches it first: of softmax(x y) z neither the product nor its softmax needs more memory.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tapeless.compiler.plan import buffers_of
from tapeless.compiler.rows import step_of_rows
from tapeless.kernel.graph import loads_in, replace
from tapeless.kernel.ir import (
    Affine,
    Alloc,
    Block,
    Buffer,
    Call,
    Index,
    Load,
    Loop,
    Scalar,
    Statement,
    Store,
)
from tapeless.kernel.nodes import Nodes

__all__ = ["settle", "settle_temporaries"]

LEAST = 1 << 14  # elements; smaller temporaries stay in the cache


def settle(nodes: Nodes, body: Block, outputs: Collection[Buffer]) -> Block:
    """Return the block with temporaries in the results that are made of them."""
    large = [out for out in outputs if out.space == "output" and out.size >= LEAST]
    return _settled(nodes, body, large, outputs)


def settle_temporaries(nodes: Nodes, body: Block, outputs: Collection[Buffer]) -> Block:
    """Return the block with temporaries in later ones that are made of them."""
    large = {b for b in buffers_of(body) if b.space == "temp" and b.size >= LEAST}
    ordered = sorted(large.difference(outputs), key=lambda buffer: buffer.name)
    return _settled(nodes, body, ordered, outputs)


def _settled(
    nodes: Nodes, body: Block, large: Sequence[Buffer], outputs: Collection[Buffer]
) -> Block:
    """Return the block with temporaries in those of the large buffers that are made of them."""
    replaced: set[Buffer] = set()
    if not large:
        return body
    statements = list(body)
    touched = [buffers_of((statement,)) for statement in body]
    for out in large:
        places = [place for place, buffers in enumerate(touched) if out in buffers]
        if not places or (out.space == "output" and len(places) != 1):
            continue
        alike = {
            buffer
            for buffer in touched[places[0]]
            if buffer.space == "temp"
            and (buffer.size, buffer.dtype) == (out.size, out.dtype)
            and buffer is not out
        }
        alike.difference_update(outputs, *touched[places[0] + 1 :])  # some outputs are temporaries
        for old in sorted(alike, key=lambda buffer: buffer.name):
            users = [place for place, buffers in enumerate(touched) if old in buffers]
            if _may_share(statements, users, old, out):
                for place in users:
                    statements[place] = _renamed(nodes, statements[place], old, out)
                    touched[place] = touched[place] - {old} | {out}
                replaced.add(old)
                break
    return tuple(s for s in statements if not isinstance(s, Alloc) or s.buffer not in replaced)


def _may_share(body: Sequence[Statement], users: Sequence[int], old: Buffer, out: Buffer) -> bool:
    """Tell whether `out`, first touched by the last of the users, may have the memory of `old`."""
    if not all(_is_plain(body[place]) for place in users):
        return False
    last = body[users[-1]]
    if len(users) > 1 and _overwrites(last, old, out, 1):
        return True
    if not isinstance(last, Loop) or not isinstance(last.extent, int):
        return False
    if step_of_rows(last, (old, out)) is None:
        return False
    touched = [buffers_of((statement,)) for statement in last.body]
    places = [place for place, buffers in enumerate(touched) if out in buffers]
    if len(places) != 1 or any(old in buffers for buffers in touched[places[0] + 1 :]):
        return False
    if not any(old in buffers for buffers in touched[: places[0]]):
        return False
    return _overwrites(last.body[places[0]], old, out, last.extent)


def _is_plain(statement: Statement) -> bool:
    """Tell whether a statement consists of loops of known extent, stores and calls of routines."""
    if isinstance(statement, Loop):
        return isinstance(statement.extent, int) and all(map(_is_plain, statement.body))
    if isinstance(statement, Call):
        return statement.symbol.startswith(("blas:", "panels:", "strips:", "tiles:"))
    return isinstance(statement, Store)


def _overwrites(
    statement: Statement,
    old: Buffer,
    out: Buffer,
    times: int,
) -> bool:
    """Tell whether each element of `old` is read only for the one of `out` in its place.

    times: how often the statement runs.
    """
    stores: list[tuple[Store, int]] = []
    stack: list[tuple[Statement, int, Index | None]] = [(statement, times, None)]
    while stack:
        inner, times, var = stack.pop()
        if isinstance(inner, Loop) and isinstance(inner.extent, int):
            times *= inner.extent
            stack.extend((each, times, inner.var) for each in inner.body)
            continue
        if not isinstance(inner, Store) or inner.buffer is old:
            return False
        loads = loads_in(_roots(inner))
        touches = inner.buffer is out or any(load.buffer in (old, out) for load in loads)
        if not touches:
            continue
        if not _is_element_by_element(inner, loads, (old, out), var):
            return False
        stores.append((inner, times))
    return len(stores) == 1 and stores[0][1] == out.size


def _is_element_by_element(
    store: Store,
    loads: Sequence[Load],
    buffers: tuple[Buffer, Buffer],
    var: Index | None,
) -> bool:
    """Tell whether a store to the second buffer reads only its own place in the first.

    var: of the innermost loop; all loads are contiguous along it, since transposes are done in
    tiles, which overlap.
    """
    old, out = buffers
    if store.buffer is not out or store.guard is not None or store.accumulate:
        return False
    for load in loads:
        if load.buffer is out or (load.buffer is old and load.index is not store.index):
            return False
        if load.guard is not None or (var and load.index.stride(var) not in (0, 1)):
            return False
    return True


def _roots(store: Store) -> list[Scalar]:
    """Return the expressions of a store."""
    return [part for part in (store.index, store.value, store.guard) if part is not None]


def _renamed(nodes: Nodes, statement: Statement, old: Buffer, new: Buffer) -> Statement:
    """Return a statement with a buffer replaced."""
    if isinstance(statement, Loop):
        body = tuple(_renamed(nodes, inner, old, new) for inner in statement.body)
        flags = (statement.independent, statement.reverse)
        return Loop(statement.var, statement.extent, body, *flags)
    if isinstance(statement, Call):

        def swapped(buffers: Sequence[Buffer]) -> tuple[Buffer, ...]:
            """Replace the buffer."""
            return tuple(new if buffer is old else buffer for buffer in buffers)

        args: list[Buffer | Scalar | tuple[Buffer, Affine]] = []
        for arg in statement.args:
            if isinstance(arg, tuple):
                args.append((new if arg[0] is old else arg[0], arg[1]))
            else:
                args.append(new if arg is old else arg)
        reads, writes = swapped(statement.reads), swapped(statement.writes)
        return Call(statement.symbol, tuple(args), reads, writes)
    if not isinstance(statement, Store):
        return statement
    roots = _roots(statement)
    changes = {
        id(load): nodes.load(new, load.index, load.guard, load.after)
        for load in loads_in(roots)
        if load.buffer is old
    }
    index, value, *guards = replace(nodes, roots, changes) if changes else roots
    buffer = new if statement.buffer is old else statement.buffer
    guard = guards[0] if guards else None
    return Store(buffer, nodes.affine(index), value, guard, statement.accumulate)
