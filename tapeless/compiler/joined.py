"""Parts of joined arrays are made in their place.

    for i: t[i] = rows of a scan          for i: o[i + 1] = rows of a scan
    o[0] = x                      ->      o[0] = x
    for i: o[i + 1] = t[i]

A temporary that is only copied into a part of an array, by `concatenate` for example, lives there:
the copy is saved, and its memory. That is legal when the copy, which is the last to read the
temporary, has each of its elements once, and when nothing else of that part is touched from where
the temporary begins to where it is copied. What else is stored into the array meanwhile must lie
elsewhere for certain, which the extents of loops tell.

A copy is a loop nest of known extents whose index counts through the temporary without gaps. It may
store elsewhere as well, since results of one shape share a nest.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from tapeless.compiler.plan import buffers_of
from tapeless.kernel.graph import loads_in, replace
from tapeless.kernel.ir import (
    Affine,
    Alloc,
    Block,
    Buffer,
    Index,
    Load,
    Loop,
    Scalar,
    Statement,
    Store,
)
from tapeless.kernel.nodes import Nodes
from tapeless.util.records import record

__all__ = ["joined_in_place"]

LEAST = 1 << 9  # elements; fewer are not worth looking for
_SPACES = frozenset(("temp", "output"))
Extents = dict[Index, int]


@record
class _Copy:
    """The stores of a nest that copy `source` to the elements of `target` from `shift` on."""

    source: Buffer
    target: Buffer
    shift: int
    stores: frozenset[Store]


def joined_in_place(nodes: Nodes, body: Block, outputs: Collection[Buffer]) -> Block:
    """Return the block with temporaries made where they are copied to."""
    statements: list[Statement | None] = list(body)
    allocated = {each.buffer: each for each in body if isinstance(each, Alloc)}
    for place, statement in enumerate(body):
        for copy in _copies(statement):
            if copy.source in outputs or copy.target in allocated:
                continue
            users = _users(statements, copy.source)
            if users[-1] != place or not _is_free(statements, users, copy):
                continue
            statements[place] = _without(statements[place], copy.stores)
            for user in _users(statements, copy.source):
                moved = statements[user]
                statements[user] = None if moved is None else _moved(nodes, moved, copy)
            if copy.source in allocated:
                statements[body.index(allocated[copy.source])] = None
    return tuple(each for each in statements if each is not None)


def _copies(statement: Statement) -> list[_Copy]:
    """Find the arrays that a nest copies whole, each into a part of another."""
    extents, stores = _nest(statement)
    pairs: dict[tuple[Buffer, Buffer], list[Store]] = {}
    for store in stores:
        if extents and isinstance(store.value, Load):
            pairs.setdefault((store.value.buffer, store.buffer), []).append(store)
    found = [_copy(source, target, own, extents) for (source, target), own in pairs.items()]
    return [copy for copy in found if copy is not None]


def _nest(statement: Statement) -> tuple[Extents, list[Store]]:
    """Return the extents and the stores of a nest of nothing else; or nothing."""
    extents: Extents = {}
    while isinstance(statement, Loop) and isinstance(statement.extent, int):
        extents[statement.var] = statement.extent
        if len(statement.body) != 1 or isinstance(statement.body[0], Store):
            stores = [inner for inner in statement.body if isinstance(inner, Store)]
            return (extents, stores) if len(stores) == len(statement.body) else ({}, [])
        (statement,) = statement.body
    return {}, []


def _copy(
    source: Buffer,
    target: Buffer,
    stores: list[Store],
    extents: Extents,
) -> _Copy | None:
    """Return the copy that stores are, if they are one."""
    if source.space != "temp" or target.space not in _SPACES or source.dtype != target.dtype:
        return None
    n = len(stores)
    if n * math.prod(extents.values()) != source.size or source.size < LEAST:
        return None
    starts, shifts, strides = [], set(), set()
    for store in stores:
        load = store.value
        assert isinstance(load, Load), "the caller has looked"
        is_plain = store.guard is None is load.guard and store.accumulate is None
        if not is_plain or load.index.terms != store.index.terms:
            return None
        starts.append(load.index.const)
        shifts.add(store.index.const - load.index.const)
        strides.add(load.index.terms)
    if len(shifts) > 1 or len(strides) > 1 or sorted(starts) != list(range(n)):
        return None
    if not _counts(dict(strides.pop()), extents, n):
        return None
    return _Copy(source, target, shifts.pop(), frozenset(stores))


def _counts(strides: dict[Scalar, int], extents: Extents, step: int) -> bool:
    """Tell whether an index takes each multiple of `step` below the product of all once."""
    if strides.keys() != extents.keys():
        return False
    for stride, extent in sorted((strides[var], extent) for var, extent in extents.items()):
        if stride != step:
            return False
        step *= extent
    return True


def _users(statements: Sequence[Statement | None], buffer: Buffer) -> list[int]:
    """Return where a buffer is read or written."""
    return [
        place
        for place, each in enumerate(statements)
        if each is not None and buffer in buffers_of((each,))
    ]


def _is_free(statements: Sequence[Statement | None], users: Sequence[int], copy: _Copy) -> bool:
    """Tell whether the users may have the part of the target, which nothing else touches."""
    for place in range(users[0], users[-1] + 1):
        statement = statements[place]
        if statement is None:
            continue
        if place in users and not _can_move(statement, copy.source):
            return False
        if not _keeps_away(statement, copy, {}):
            return False
    return True


def _can_move(statement: Statement, buffer: Buffer) -> bool:
    """Tell whether a buffer is touched by loops and stores alone."""
    if isinstance(statement, Loop) and isinstance(statement.extent, int):
        return all(_can_move(inner, buffer) for inner in statement.body)
    return isinstance(statement, Store) or buffer not in buffers_of((statement,))


def _keeps_away(statement: Statement, copy: _Copy, extents: Extents) -> bool:
    """Tell whether a statement touches nothing of the part but by the stores of the copy."""
    if copy.target not in buffers_of((statement,)):
        return True
    if isinstance(statement, Loop) and isinstance(statement.extent, int):
        inside = {**extents, statement.var: statement.extent}
        return all(_keeps_away(inner, copy, inside) for inner in statement.body)
    if not isinstance(statement, Store):
        return False
    if any(load.buffer is copy.target for load in loads_in(_roots(statement))):
        return False
    if statement in copy.stores:
        return True
    reached = _range(statement.index, extents)
    if reached is None:
        return False
    low, high = reached
    return high < copy.shift or low >= copy.shift + copy.source.size


def _range(index: Affine, extents: Extents) -> tuple[int, int] | None:
    """Return the least and the greatest value of an index, if loops bound it."""
    low = high = index.const
    for term, factor in index.terms:
        if not isinstance(term, Index) or term not in extents:
            return None
        reach = factor * (extents[term] - 1)
        low, high = low + min(reach, 0), high + max(reach, 0)
    return low, high


def _without(statement: Statement | None, stores: Collection[Store]) -> Statement | None:
    """Return a nest without some stores, if anything is left."""
    if isinstance(statement, Loop):
        body = tuple(x for x in (_without(inner, stores) for inner in statement.body) if x)
        return _like(statement, body) if body else None
    return None if statement in stores else statement


def _moved(nodes: Nodes, statement: Statement, copy: _Copy) -> Statement:
    """Return a statement that has the part of the target in the place of the source."""
    if isinstance(statement, Loop):
        return _like(statement, tuple(_moved(nodes, inner, copy) for inner in statement.body))
    if not isinstance(statement, Store):
        return statement
    roots = _roots(statement)
    changes: dict[int, Scalar] = {}
    for load in loads_in(roots):
        if load.buffer is copy.source:
            index = nodes.index_add(load.index, copy.shift)
            changes[id(load)] = nodes.load(copy.target, index, load.guard, load.after)
    index, value, *guards = replace(nodes, roots, changes) if changes else roots
    place, buffer = nodes.affine(index), statement.buffer
    if buffer is copy.source:
        place, buffer = nodes.index_add(place, copy.shift), copy.target
    return Store(buffer, place, value, guards[0] if guards else None, statement.accumulate)


def _like(loop: Loop, body: Block) -> Loop:
    """Return the loop with another body."""
    return Loop(loop.var, loop.extent, body, loop.independent, loop.reverse)


def _roots(store: Store) -> list[Scalar]:
    """Return the expressions of a store."""
    return [part for part in (store.index, store.value, store.guard) if part is not None]
