"""Selects become branches when that pays.

`vmap(cond)` computes both sides for every row and selects. A side that is expensive, and that only
the select needs, is put behind a branch: `rare(condition, side, 0)` computes the side only if
some lane wants it. One recipe is expensive enough: where lanes choose on their own and some always
wants it, the branch costs a few per cent, and where none does, what is left is several times as
fast. What is chosen for numbers that are not NaN is nearly always wanted, and stands behind no
branch in the inner loops.

A value and its derivative are chosen by the same condition: all sides of one condition are looked
at together. The emitter hoists nothing out of a branch but other branches of its condition. So when
a part of a side is the same for all iterations of an inner loop (a sum over the row, say), or two
parts use it, it is put behind a branch of its own, provided that the condition is known there; what
needs a part that has none is always computed.

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

Side = tuple[Op, Scalar]  # a select, and which of its operands

WORTH_A_BRANCH = 20.0  # one recipe of many; a square root is not


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
    sides: dict[Scalar, list[Side]] = {}
    for node in order:
        if isinstance(node, Op) and node.name == "select":
            condition, first, second = node.args
            sides.setdefault(condition, []).append((node, first))
            sides.setdefault(nodes.not_(condition), []).append((node, second))
    if not sides:
        return roots
    changes: dict[int, Scalar] = {}
    users = _users(order, roots)
    extents = {node.var: node.extent for node in order if isinstance(node, Reduce)}
    places = {id(node): number for number, node in enumerate(order)}
    for flag, members in sides.items():
        own = sorted(_own_nodes(members, users), key=lambda node: -places[id(node)])
        for part in _expensive_parts(flag, own, users, extents):
            if id(part) not in changes:
                changes[id(part)] = nodes.rare(flag, part, nodes.const(0, part.dtype))
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
    flag: Scalar,
    own: Sequence[Scalar],
    users: dict[int, list[Scalar | None]],
    extents: dict[Index, int],
) -> list[Scalar]:
    """Return the parts of the sides of a condition that are worth a branch.

    own: what nothing but the sides needs, users first.
    """
    work: dict[int, float] = {}
    tops: dict[int, Scalar] = {}
    for node in own:
        above = [user for user in users[id(node)] if user and id(user) in tops]
        top = node
        if len(above) == len(users[id(node)]):
            top = _common_part(node, above, tops, extents)
        tops[id(node)] = top
        work[id(top)] = work.get(id(top), 0.0) + _weight(node, extents)
    heavy: dict[int, Scalar] = {}
    for key, amount in work.items():
        part = tops[key]
        together = flag.free < part.free
        if amount >= WORTH_A_BRANCH and (together or not _is_usual(flag)):
            heavy[key] = part
    kept: dict[int, Scalar] = {}
    for key, part in reversed(heavy.items()):  # what others need comes first
        below = {id(node) for node in walk((part,))} & heavy.keys()
        if flag.free <= part.free and below <= {*kept, key}:
            kept[key] = part
    return list(kept.values())


def _is_usual(flag: Scalar) -> bool:
    """Tell whether a condition is that a number is not NaN."""
    wanted = "eq"
    if isinstance(flag, Op) and flag.name == "not":
        flag, wanted = flag.args[0], "ne"
    return isinstance(flag, Op) and flag.name == wanted and flag.args[0] is flag.args[1]


def _common_part(
    node: Scalar,
    above: Sequence[Scalar],
    tops: dict[int, Scalar],
    extents: dict[Index, int],
) -> Scalar:
    """Return the part of a node's users; the node itself if they have no part in common.

    A node that depends on fewer loops than a user is a part of its own.
    """
    loops = node.free - extents.keys()
    part = None
    for user in above:
        other = tops[id(user)]
        if part is None:
            part = other
        if other is not part or user.free - extents.keys() != loops:
            return node
    return part or node


def _own_nodes(members: Sequence[Side], users: dict[int, list[Scalar | None]]) -> list[Scalar]:
    """Return the nodes that nothing but the sides need."""
    own: list[Scalar] = []
    others: dict[int, int] = {}
    stack: list[Scalar] = []

    def use(node: Scalar) -> None:
        """Count a use of a node."""
        key = id(node)
        others[key] = others.get(key, len(users[key])) - 1
        if others[key] == 0:
            own.append(node)
            stack.append(node)

    counted = {(id(select), id(side)) for select, side in members}
    for _, side in members:
        use(side)
    while stack:
        node = stack.pop()
        for child in children(node):
            if (id(node), id(child)) not in counted:
                use(child)
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
