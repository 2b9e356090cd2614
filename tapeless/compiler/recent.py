"""What a loop stored a moment ago stays in registers.

    for i in order:                              r = x[first - 1]
      x[i] = f(x[i - 1], x[i + 1])      becomes  for i in order:
                                                   s = f(r, x[i + 1])
                                                   x[i] = s
                                                   r = s

A step that reads what the step before it has stored would wait for the memory between them; the
processor takes about as long for that as for two operations. So recurrences over arrays (sweeps of
a solver, dynamic programming) hand the values on. The loop must store the array in one place only,
whose index differs from that of the load by a few steps, and depends on nothing that it changes
but the step; the first values are read before the loop.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tapeless.compiler import plan
from tapeless.kernel.graph import loads_in, replace, substitute
from tapeless.kernel.ir import (
    Affine,
    Block,
    Buffer,
    If,
    Load,
    Loop,
    Scalar,
    Statement,
    Store,
    While,
)
from tapeless.kernel.nodes import Nodes

__all__ = ["keep_recent"]

_MOST_STEPS = 4
_INT64 = np.dtype(np.int64)


def keep_recent(nodes: Nodes, body: Block) -> Block:
    """Return the block whose loops keep in registers what they have just stored."""
    return tuple(part for statement in body for part in _statement(nodes, statement))


def _statement(nodes: Nodes, statement: Statement) -> Block:
    """Return what a statement becomes."""
    if isinstance(statement, Loop):
        inner = keep_recent(nodes, statement.body)
        flags = (statement.independent, statement.reverse)
        loop = Loop(statement.var, statement.extent, inner, *flags)
        return (loop,) if loop.independent else _in_order(nodes, loop)
    if isinstance(statement, While):
        before = keep_recent(nodes, statement.before)
        return (While(before, statement.condition, keep_recent(nodes, statement.body)),)
    if isinstance(statement, If):
        branches = tuple(keep_recent(nodes, branch) for branch in statement.branches)
        return (If(statement.which, branches),)
    return (statement,)


def _in_order(nodes: Nodes, loop: Loop) -> Block:
    """Return a loop that hands on what it stores, behind what reads the first values."""
    ahead: list[Statement] = []
    for store in loop.body:
        if not isinstance(store, Store) or not _is_only_store(store, loop):
            continue
        steps = _steps_back(loop, store)
        if not steps:
            continue
        registers = []
        for number in range(max(steps) + 1):
            name = f"{store.buffer.name}_{number}"
            registers.append(Buffer((), store.buffer.dtype, "local", name))
        ahead += _first_values(nodes, loop, store, registers)
        loop = _handing_on(nodes, loop, store, registers)
    return (*ahead, loop)


def _is_only_store(store: Store, loop: Loop) -> bool:
    """Tell whether a store overwrites, always, and nothing else in the loop writes its buffer.

    What its index reads must not change from step to step: then steps are equally far apart.
    """
    if store.guard is not None or store.accumulate is not None or store.buffer.space == "local":
        return False
    others = tuple(statement for statement in loop.body if statement is not store)
    if store.buffer in plan.writes(others):
        return False
    changed = plan.writes(loop.body)
    return not any(load.buffer in changed for load in loads_in((store.index,)))


def _steps_back(loop: Loop, store: Store) -> set[int]:
    """Return how many steps ago the loop stored what its statements load."""
    roots = [root for statement in loop.body for root in _roots(statement)]
    found = {_distance(loop, store, load) for load in loads_in(roots)}
    return {
        steps
        for steps in found
        if 0 < steps <= _MOST_STEPS and (not isinstance(loop.extent, int) or loop.extent >= steps)
    }


def _distance(loop: Loop, store: Store, load: Load) -> int:
    """Return how many steps ago a store wrote what a load reads; 0 if that is not known."""
    if load.buffer is not store.buffer or load.guard is not None:
        return 0
    stride = store.index.stride(loop.var)
    if not stride or dict(load.index.terms) != dict(store.index.terms):
        return 0
    steps, rest = divmod(store.index.const - load.index.const, -stride if loop.reverse else stride)
    return 0 if rest else steps


def _first_values(
    nodes: Nodes, loop: Loop, store: Store, registers: Sequence[Buffer]
) -> list[Statement]:
    """Read what the steps before the first one would have stored.

    The first step stores in bounds, and loads so the furthest of them: all between are.
    """
    found: list[Statement] = []
    for steps in range(1, len(registers)):
        first: Affine = nodes.affine(-steps)
        if loop.reverse:
            first = nodes.index_add(nodes.index_add(loop.extent, -1), steps)
        (index,) = substitute(nodes, (store.index,), {loop.var: first})
        guard = None
        if not isinstance(loop.extent, int):
            guard = nodes.gt(loop.extent, nodes.const(0, _INT64))
        value = nodes.load(store.buffer, index, guard)
        found.append(Store(registers[steps], nodes.affine(0), value))
    return found


def _handing_on(nodes: Nodes, loop: Loop, store: Store, registers: Sequence[Buffer]) -> Loop:
    """Return the loop that reads from the registers, and at its end moves them on.

    registers: for what is stored now, one step ago, two steps ago, ...
    """
    start = nodes.affine(0)
    body: list[Statement] = []
    for statement in loop.body:
        if not isinstance(statement, Store):
            body.append(statement)
            continue
        roots = _roots(statement)
        changes: dict[int, Scalar] = {}
        for load in loads_in(roots):
            steps = _distance(loop, store, load)
            if 0 < steps < len(registers):
                changes[id(load)] = nodes.load(registers[steps], start)
        index, value, *guard = replace(nodes, roots, changes)
        assert isinstance(index, Affine), "an index stays one"
        if statement is store:
            body.append(Store(registers[0], start, value))
            value = nodes.load(registers[0], start)
        kept = guard[0] if guard else None
        body.append(Store(statement.buffer, index, value, kept, statement.accumulate))
    for steps in range(len(registers) - 1, 0, -1):
        body.append(Store(registers[steps], start, nodes.load(registers[steps - 1], start)))
    return Loop(loop.var, loop.extent, tuple(body), loop.independent, loop.reverse)


def _roots(statement: Statement) -> list[Scalar]:
    """Return the expressions of a store: index, value and, if it has one, guard."""
    if not isinstance(statement, Store):
        return []
    return [x for x in (statement.index, statement.value, statement.guard) if x is not None]
