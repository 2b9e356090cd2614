"""Selects become branches when that pays.

`vmap(cond)` computes both sides for every row and selects. A side that is expensive, and that only
the select needs, is put behind a branch: `rare(condition, side, 0)` computes the side only if
some lane wants it. When the condition is known outside the inner loops, the branch is the same
for a whole row and costs next to nothing: then one recipe is expensive enough.

The emitter hoists nothing out of a branch. So when a part of a side is the same for all iterations
of an inner loop (a sum over the row, say), that part is put behind a branch, which is hoisted
whole, provided that the condition is known there, too; the rest of the side is always computed.

Afterwards reductions over one variable that always run are merged (`merge_reductions`): the three
components of a force are summed in one loop that computes the distance once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tapeless.compiler.recipes import instructions
from tapeless.kernel.graph import children, merge_reductions, replace, walk
from tapeless.kernel.ir import Block, If, Index, Loop, Op, Reduce, Scalar, Statement, Store, While
from tapeless.kernel.nodes import Nodes

__all__ = ["branch_on_choices"]

WORTH_A_BRANCH = 60.0
WORTH_A_JUMP = 20.0  # where all lanes go the same way


def branch_on_choices(nodes: Nodes, body: Block) -> Block:
    """Return the block with expensive sides of selects behind branches."""
    result: list[Statement] = []
    run: list[Store] = []
    for statement in body:
        if isinstance(statement, Store):
            run.append(statement)
            continue
        result += _stores(nodes, run)
        run = []
        result.append(_inside(nodes, statement))
    return (*result, *_stores(nodes, run))


def _inside(nodes: Nodes, statement: Statement) -> Statement:
    """Go through the blocks of a statement."""
    if isinstance(statement, Loop):
        inner = branch_on_choices(nodes, statement.body)
        flags = (statement.independent, statement.reverse)
        return Loop(statement.var, statement.extent, inner, *flags)
    if isinstance(statement, While):
        before = branch_on_choices(nodes, statement.before)
        return While(before, statement.condition, branch_on_choices(nodes, statement.body))
    if isinstance(statement, If):
        branches = tuple(branch_on_choices(nodes, branch) for branch in statement.branches)
        return If(statement.which, branches)
    return statement


def _stores(nodes: Nodes, stores: Sequence[Store]) -> list[Store]:
    """Rewrite the values and guards of stores that share expressions."""
    guards = [store.guard for store in stores if store.guard is not None]
    before = [*(store.value for store in stores), *guards]
    after = merge_reductions(nodes, _branched(nodes, before))
    values, rest = after[: len(stores)], iter(after[len(stores) :])
    return [
        Store(s.buffer, s.index, value, None if s.guard is None else next(rest), s.accumulate)
        for s, value in zip(stores, values, strict=True)
    ]


def _branched(nodes: Nodes, roots: Sequence[Scalar]) -> Sequence[Scalar]:
    """Put expensive sides of selects behind branches."""
    order = walk(roots)
    selects = [node for node in order if isinstance(node, Op) and node.name == "select"]
    if not selects:
        return roots
    changes: dict[int, Scalar] = {}
    users = _users(order, roots)
    extents = {node.var: node.extent for node in order if isinstance(node, Reduce)}
    for select in selects:
        condition, first, second = select.args
        opposite = nodes.not_(condition)
        for flag, side in ((condition, first), (opposite, second)):
            for part in _expensive_parts(side, select, users, extents):
                if id(part) in changes or not flag.free <= part.free:
                    continue
                zero = nodes.const(0, part.dtype)
                changes[id(part)] = nodes.rare(flag, part, zero)
    if not changes:
        return roots
    return replace(nodes, roots, changes)


def _users(order: Iterable[Scalar], roots: Iterable[Scalar]) -> dict[int, list[Scalar | None]]:
    """Return the users of each node; None stands for a store."""
    users: dict[int, list[Scalar | None]] = {}
    for root in roots:
        users.setdefault(id(root), []).append(None)
    for node in order:
        for child in children(node):
            users.setdefault(id(child), []).append(node)
    return users


def _expensive_parts(
    side: Scalar,
    select: Op,
    users: dict[int, list[Scalar | None]],
    extents: dict[Index, int],
) -> list[Scalar]:
    """Return the parts of a side, one for each loop level, that are worth a branch.

    Only what nothing but the side needs counts.
    """
    if users[id(side)] != [select]:
        return []
    own = _own_nodes(side, users)
    work: dict[int, float] = {}
    tops: dict[int, Scalar] = {}
    for node in own.values():
        # A node belongs to the part of its users, unless it depends on fewer loops than one.
        loops = node.free - extents.keys()
        above = [user for user in users[id(node)] if user and id(user) in own]
        found = {id(tops[id(user)]): tops[id(user)] for user in above}
        together = len(found) == 1 and all(user.free - extents.keys() == loops for user in above)
        top = next(iter(found.values())) if together else node
        tops[id(node)] = top
        work[id(top)] = work.get(id(top), 0.0) + _weight(node, extents)
    loops = select.args[0].free
    parts = [
        own[key]
        for key, amount in work.items()
        if amount >= (WORTH_A_JUMP if loops < own[key].free else WORTH_A_BRANCH)
    ]
    if len(parts) < 2:
        return parts
    # In a branch nothing is hoisted, so that a part which needs another one is computed always.
    below = {id(part): {id(node) for node in walk((part,))} for part in parts}
    return [part for part in parts if len(below[id(part)] & below.keys()) == 1]


def _own_nodes(side: Scalar, users: dict[int, list[Scalar | None]]) -> dict[int, Scalar]:
    """Return the nodes that nothing but the side needs, users first."""
    own: dict[int, Scalar] = {id(side): side}
    others: dict[int, int] = {}
    stack = [side]
    while stack:
        for child in children(stack.pop()):
            key = id(child)
            others[key] = others.get(key, len(users[key])) - 1
            if others[key] == 0:
                own[key] = child
                stack.append(child)
    return own


def _weight(node: Scalar, extents: dict[Index, int]) -> float:
    """Return the work of a node per point of the loops outside reductions."""
    times = 1.0
    for var in node.free:
        times *= extents.get(var, 1)
    if isinstance(node, Reduce):
        return times * node.extent
    if isinstance(node, Op):
        return times * instructions(node)
    return 0.0
