"""Dead stores: what is written to a temporary and never read is not written.

The plan may store a value that its only consumers, in the end, take from the expression itself
because they share its loop nest. Such a store is found when the program is complete: a temporary
is needed if a needed statement reads it, and a store is needed if its buffer is. Loops and
branches that have become empty go, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from tapeless.kernel.graph import children
from tapeless.kernel.ir import Block, Buffer, Call, If, Load, Loop, Scalar, Statement, Store, While

__all__ = ["prune"]


def prune(body: Block, kept: Collection[Buffer]) -> Block:
    """Return the block without the stores that nobody reads; buffers in `kept` are read later."""
    readers: dict[Buffer, list[Store]] = {}
    needed: set[Buffer] = set(kept)
    work: list[Buffer] = list(kept)
    seen: set[Scalar] = set()

    def need(buffers: Iterable[Buffer]) -> None:
        """Mark buffers as read."""
        for buffer in buffers:
            if buffer not in needed:
                needed.add(buffer)
                work.append(buffer)

    for statement in _flat(body):
        if isinstance(statement, Store):
            if statement.buffer.space == "input":
                need((statement.buffer,))
            readers.setdefault(statement.buffer, []).append(statement)
        elif isinstance(statement, Call):
            need((*statement.reads, *statement.writes))
            need(_buffers_read(_call_scalars(statement), seen))
        else:
            need(_buffers_read(_heads(statement), seen))
    while work:
        for store in readers.pop(work.pop(), ()):
            need(_buffers_read(_store_scalars(store), seen))
    if all(not stores for stores in readers.values()):
        return body
    return _without(body, needed)


def _buffers_read(roots: Iterable[Scalar], seen: set[Scalar]) -> set[Buffer]:
    """Return the buffers that some expressions load from; pass over `seen`, and add to it."""
    found: set[Buffer] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            if type(node) is Load:
                found.add(node.buffer)
            stack += children(node)
    return found


def _store_scalars(store: Store) -> list[Scalar]:
    """Return the expressions of a store."""
    return [x for x in (store.index, store.value, store.guard) if x is not None]


def _call_scalars(call: Call) -> list[Scalar]:
    """Return the expressions among the arguments of a call."""
    indices = [arg[1] for arg in call.args if isinstance(arg, tuple)]
    return [*indices, *(arg for arg in call.args if isinstance(arg, Scalar))]


def _heads(statement: Statement) -> list[Scalar]:
    """Return the expressions that decide how often the blocks of a statement run."""
    if isinstance(statement, Loop):
        return [statement.extent] if isinstance(statement.extent, Scalar) else []
    if isinstance(statement, If):
        return [statement.which]
    return [statement.condition] if isinstance(statement, While) else []


def _flat(body: Block) -> Iterator[Statement]:
    """Go through all statements, nested ones included."""
    stack = list(reversed(body))
    while stack:
        statement = stack.pop()
        yield statement
        if isinstance(statement, Loop):
            stack.extend(reversed(statement.body))
        elif isinstance(statement, While):
            stack.extend(reversed((*statement.before, *statement.body)))
        elif isinstance(statement, If):
            stack.extend(inner for branch in statement.branches for inner in branch)


def _without(body: Block, needed: Collection[Buffer]) -> Block:
    """Return the block without stores to buffers that are not needed."""
    kept: list[Statement] = []
    for statement in body:
        if isinstance(statement, Store):
            if statement.buffer in needed:
                kept.append(statement)
        elif isinstance(statement, Loop):
            inner = _without(statement.body, needed)
            if inner:
                fields = (statement.extent, inner, statement.independent, statement.reverse)
                kept.append(Loop(statement.var, *fields))
        elif isinstance(statement, While):
            before = _without(statement.before, needed)
            kept.append(While(before, statement.condition, _without(statement.body, needed)))
        elif isinstance(statement, If):
            branches = tuple(_without(branch, needed) for branch in statement.branches)
            if any(branches):
                kept.append(If(statement.which, branches))
        else:
            kept.append(statement)
    return tuple(kept)
