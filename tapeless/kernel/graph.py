"""Questions about expressions: what they read, what they cost, and how to change their variables.

Scalars are DAGs that may be thousands of nodes deep, so that everything here is iterative and
looks at a node once.

`collapse` finds out which neighbouring loops may become one.  Loops over (a, b), b of extent n, are
one loop over a * n + b when every index in the expressions moves n times as far for a as for b; the
new loop then takes the place of b, and a becomes 0.  So an elementwise operation over a contiguous
array of any rank runs in one flat loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tapeless.kernel.ir import Affine, Const, Index, Load, Op, Reduce, Scalar
from tapeless.kernel.nodes import Nodes

__all__ = [
    "children",
    "collapse",
    "exchange",
    "loads_in",
    "merge_reductions",
    "replace",
    "substitute",
    "walk",
]


def children(node: Scalar) -> tuple[Scalar, ...]:
    """Return the operands of a node."""
    if type(node) is Op:
        return node.args
    if type(node) is Affine:
        return tuple([term for term, _ in node.terms])
    if type(node) is Load:
        return (node.index,) if node.guard is None else (node.index, node.guard)
    if type(node) is Reduce:
        return node.elements + node.inits
    return ()


def walk(
    roots: Iterable[Scalar], below: Callable[[Scalar], tuple[Scalar, ...]] = children
) -> list[Scalar]:
    """Return all nodes of the DAG, operands before their users; `below` gives the operands."""
    order: list[Scalar] = []
    done: set[Scalar] = set()  # nodes are equal if they are one
    stack: list[Any] = [*roots]
    while stack:
        node = stack.pop()
        if node is None:  # what it stands on has all its operands in the list
            order.append(stack.pop())
        elif node not in done:
            done.add(node)
            missing = [child for child in below(node) if child not in done]
            if missing:
                stack += (node, None, *missing)
            else:
                order.append(node)
    return order


def _usual_children(node: Scalar) -> tuple[Scalar, ...]:
    """Return the operands that are always needed."""
    if isinstance(node, Op) and node.name == "rare":
        return (node.args[0], node.args[2])
    return children(node)


def loads_in(roots: Iterable[Scalar]) -> list[Load]:
    """Return the loads of the DAG."""
    return [node for node in walk(roots) if type(node) is Load]


def substitute(
    nodes: Nodes, roots: Sequence[Scalar], mapping: Mapping[Index, Affine]
) -> tuple[Scalar, ...]:
    """Return the expressions with some variables replaced by indices."""
    changed = frozenset(mapping)
    replaced: dict[int, Scalar] = {id(var): index for var, index in mapping.items()}

    def new(node: Scalar) -> Scalar:
        """Return what a node has become."""
        return replaced.get(id(node), node)

    for node in walk(roots):
        if id(node) not in replaced and not changed.isdisjoint(node.free):
            replaced[id(node)] = _rebuild(nodes, node, new)
    return tuple(map(new, roots))


def replace(
    nodes: Nodes, roots: Sequence[Scalar], changes: Mapping[int, Scalar]
) -> tuple[Scalar, ...]:
    """Return the expressions with some nodes, given by their ids, replaced.

    A replacement that is an operation may have the node that it replaces as an operand.
    """
    rebuilt: dict[int, Scalar] = {}

    def new(node: Scalar) -> Scalar:
        """Return what a user of a node sees."""
        return _changed(nodes, node, changes, rebuilt)

    for node in walk(roots):
        below = {id(child) for child in children(node)}
        if not below.isdisjoint(changes) or not below.isdisjoint(rebuilt):
            rebuilt[id(node)] = _rebuild(nodes, node, new)
    return tuple(map(new, roots))


def exchange(
    nodes: Nodes, roots: Sequence[Scalar], changes: Mapping[int, Scalar]
) -> tuple[Scalar, ...]:
    """Return the expressions with some nodes, given by their ids, replaced by what stays as is."""
    new = dict(changes)

    def changed(node: Scalar) -> Scalar:
        """Return what a node has become."""
        return new.get(id(node), node)

    for node in walk(roots):
        if id(node) not in new and any(id(child) in new for child in children(node)):
            new[id(node)] = _rebuild(nodes, node, changed)
    return tuple(map(changed, roots))


def _changed(
    nodes: Nodes, node: Scalar, changes: Mapping[int, Scalar], rebuilt: Mapping[int, Scalar]
) -> Scalar:
    """Return what a user of a node sees: an operation is built around the node's new form."""
    new = rebuilt.get(id(node), node)
    change = changes.get(id(node))
    if not isinstance(change, Op):
        return new if change is None else change
    args = []
    for arg in children(change):
        args.append(new if arg is node else rebuilt.get(id(arg), arg))
    return nodes.op(change.name, *args)


def merge_reductions(nodes: Nodes, roots: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """Let reductions over one variable that do not need each other's results run as one.

    What stands behind a branch stays there.
    """
    order = walk(roots)
    if sum(isinstance(node, Reduce) for node in order) < 2:
        return tuple(roots)
    stages = _stages(order)
    groups: dict[object, list[Reduce]] = {}
    for node in walk(roots, _usual_children):
        if not isinstance(node, Reduce) or not isinstance(node.combine, str):
            continue
        if len(node.elements) == 1:
            key = (stages[id(node)], node.var, node.extent, node.combine, node.dtype, node.free)
            groups.setdefault(key, []).append(node)
    together: dict[int, list[Reduce]] = {}
    for group in groups.values():
        if len(group) > 1:
            for node in group:
                together[id(node)] = group
    if not together:
        return tuple(roots)
    replaced: dict[int, Scalar] = {}

    def new(node: Scalar) -> Scalar:
        """Return what a node has become."""
        return replaced.get(id(node), node)

    # Stage by stage, reductions first: what a node needs has been replaced before it.
    for node in sorted(order, key=lambda n: (stages[id(n)], not isinstance(n, Reduce))):
        if id(node) in replaced:
            continue
        group = together.get(id(node))
        if group is not None:
            elements = tuple(new(member.elements[0]) for member in group)
            inits = tuple(new(member.inits[0]) for member in group)
            first = group[0]
            results = nodes.reduce(first.var, first.extent, elements, inits, first.combine)
            for old, result in zip(group, results, strict=True):
                replaced[id(old)] = result
        elif any(id(child) in replaced for child in children(node)):
            replaced[id(node)] = _rebuild(nodes, node, new)
    return tuple(map(new, roots))


def _stages(order: Sequence[Scalar]) -> dict[int, int]:
    """Return for each node how many reductions, one after the other, it needs."""
    stages: dict[int, int] = {}
    for node in order:
        below = [stages[id(child)] for child in children(node)]
        deepest = max(below, default=0)
        stages[id(node)] = deepest + isinstance(node, Reduce)
    return stages


def _rebuild(nodes: Nodes, node: Scalar, new: Callable[[Scalar], Scalar]) -> Scalar:
    """Return a node with its operands replaced."""
    if isinstance(node, Affine):
        total = nodes.affine(node.const)
        for term, coefficient in node.terms:
            moved = nodes.index_mul(new(term), coefficient)
            total = nodes.index_add(total, moved)
        return total
    if isinstance(node, Load):
        index = new(node.index)
        guard = None if node.guard is None else new(node.guard)
        return nodes.load(node.buffer, index, guard, node.after)
    if isinstance(node, Reduce):
        elements = tuple(map(new, node.elements))
        inits = tuple(map(new, node.inits))
        results = nodes.reduce(node.var, node.extent, elements, inits, node.combine)
        return results[node.which]
    if not isinstance(node, Op):
        return node
    args = tuple(map(new, node.args))
    if node.name in ("div", "rem") and type(node.args[0]) in (Affine, Index):
        divisor = args[1]
        if isinstance(divisor, Const):
            divide = nodes.index_div if node.name == "div" else nodes.index_mod
            return divide(args[0], int(divisor.value))
    conversion = node.dtype if node.name in ("convert", "bitcast") else None
    return nodes.op(node.name, *args, dtype=conversion)


def collapse(
    variables: Sequence[Index], extents: Sequence[int], roots: Iterable[Scalar]
) -> list[list[int]]:
    """Group the positions of neighbouring loops that may become one; outermost first."""
    if len(variables) < 2:
        return [[position] for position in range(len(variables))]
    joined = [True] * (len(variables) - 1)
    wanted = frozenset(variables)
    roots = list(roots)
    for root in roots:
        if isinstance(root, Index):
            _forbid(variables, root, joined)
    for node in walk(roots):
        if wanted.isdisjoint(node.free):
            continue
        if isinstance(node, Affine):
            _compare_steps(node, variables, extents, joined)
        elif not isinstance(node, Index):
            for child in children(node):
                if isinstance(child, Index):
                    _forbid(variables, child, joined)
    groups = [[0]]
    for position, join in enumerate(joined):
        if join:
            groups[-1].append(position + 1)
        else:
            groups.append([position + 1])
    return groups


def _compare_steps(
    index: Affine, variables: Sequence[Index], extents: Sequence[int], joined: list[bool]
) -> None:
    """Clear `joined` between loops whose steps in `index` do not fit together."""
    steps = dict(index.terms)
    for position in range(len(joined)):
        outer = steps.get(variables[position], 0)
        inner = steps.get(variables[position + 1], 0)
        if outer != inner * extents[position + 1]:
            joined[position] = False


def _forbid(variables: Sequence[Index], var: Index, joined: list[bool]) -> None:
    """Clear `joined` on both sides of a variable whose value itself is used."""
    if var not in variables:
        return
    position = variables.index(var)
    for gap in (position - 1, position):
        if 0 <= gap < len(joined):
            joined[gap] = False
