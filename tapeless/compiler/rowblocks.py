"""Blocks of rows that choose alike: where no row of a block wants a side, the block goes without.

    for i < 8000:                          for b < 1000:
      for j < 4: t[i, j] = f(x[i, j])        any c[i] of the 8 rows?
      for j < 4:                               no:  for j < 32: o[...] = 2 * x[...]
        o[i, j] = select(c[i], t[i, j] / s,    yes: the loops as they were, over 8 rows
                         2 * x[i, j])

A branch for each row (`choices.py`) costs little if a row is long, but what is left of short rows
is too little for lanes, and what a side stores would be stored for nothing. Without the side, the
rows of a block are often one contiguous loop. So a nest over rows whose selects depend on the row
alone is written twice, with and without the sides that few want, and each block of rows takes one
of the two. Which sides these are follows from what the nest costs when a condition never holds;
several conditions, as those of a `switch`, are left out together.

A value that only such a side reads is not stored in a block without it, provided that nothing else
touches its memory; so neighbouring nests that make such values for the same rows go into the
blocks, too. Elements are computed by the same operations as before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import reduce

import numpy as np

from tapeless.compiler.plan import Costs, buffers_of, static_extent, writes
from tapeless.compiler.prune import prune
from tapeless.compiler.reach import changed_stores, is_nest, roots_of, stores_in, with_roots
from tapeless.compiler.rows import meet_in_rows
from tapeless.core.jaxpr import Atom, Jaxpr, Var, subjaxprs
from tapeless.kernel.folds import FoldNodes
from tapeless.kernel.graph import loads_in, replace, substitute, walk
from tapeless.kernel.ir import (
    Block,
    Buffer,
    If,
    Index,
    Loop,
    Op,
    Reduce,
    Scalar,
    Statement,
    Store,
    While,
)
from tapeless.kernel.phases import loops_around
from tapeless.prims.select import select_n_p
from tapeless.prims.structural import broadcast_in_dim_p
from tapeless.util.records import record

__all__ = ["choose_by_blocks", "rows_choose"]

ROWS = 8  # of a block
ROWS_IN_LANES = 16  # of a block with nests whose lanes are rows
LEAST_WORK = 1 << 17  # of a nest
WORTH = 2.0  # times as much as the rest costs a nest
WORTH_A_CONDITION = 0.8  # of the cost of what is left
WORTH_AN_ELEMENT = 6.0  # operations for each element that the rest stores
MOST = 4  # conditions
_BOOL = np.dtype(np.bool_)
_INT32 = np.dtype(np.int32)


@record
class _Group:
    """Neighbouring nests over the same rows, and what is left of them where no row of a block wants
    some sides.

    rest: the nests without the sides; cost: of the rest, for a row; wanted: tells whether a row
    wants one of the sides.
    """

    places: range
    nests: tuple[Loop, ...]
    rest: Block
    cost: float
    wanted: Scalar


def rows_choose(jaxpr: Jaxpr) -> bool:
    """Tell whether a program has a select whose condition is the same for a whole row."""
    stretched: set[Atom] = set()
    for eqn in jaxpr.eqns:
        if any(map(rows_choose, subjaxprs(eqn.params))):
            return True
        if eqn.primitive is select_n_p and type(eqn.invars[0]) is Var:
            if eqn.invars[0] in stretched:
                return True
        elif eqn.primitive is broadcast_in_dim_p and eqn.invars[0].aval.shape:
            if eqn.outvars[0].aval.ndim - 1 not in eqn.params["broadcast_dimensions"]:
                stretched.add(eqn.outvars[0])
    return False


def choose_by_blocks(nodes: FoldNodes, body: Block, outside: Collection[Buffer]) -> Block:
    """Return the block of statements with nests over rows that choose in blocks.

    outside: buffers that other statements use, or the caller.
    """
    groups = _Groups(nodes, body, outside)
    result: list[Statement] = []
    done = 0
    for head in range(len(body)):
        group = groups.around(head, done) if head >= done else None
        if group is not None:
            result += groups.others(range(done, group.places.start))
            result += _in_blocks(nodes, group)
            done = group.places.stop
    return (*result, *groups.others(range(done, len(body))))


class _Groups:
    """Finds the groups of nests in a block of statements."""

    def __init__(self, nodes: FoldNodes, body: Block, outside: Collection[Buffer]) -> None:
        """Note what the statements touch."""
        self.nodes = nodes
        self.body = body
        self.outside = outside
        self.touched = [buffers_of((statement,)) for statement in body]
        self.users = Counter(buffer for buffers in self.touched for buffer in buffers)

    def used_outside(self, places: range) -> set[Buffer]:
        """Return which buffers of some statements others use, or the caller."""
        own = Counter(buffer for place in places for buffer in self.touched[place])
        return {b for b, n in own.items() if self.users[b] > n or b in self.outside}

    def others(self, places: range) -> list[Statement]:
        """Return statements that are in no group, with groups in the blocks inside."""
        return [
            _inside(self.nodes, self.body[place], self.used_outside(range(place, place + 1)))
            for place in places
        ]

    def around(self, head: int, first: int) -> _Group | None:
        """Return the group of a nest that chooses by rows, of statements from the `first` on."""
        nest = self.body[head]
        if not isinstance(nest, Loop) or not isinstance(nest.extent, int):
            return None
        if nest.extent < 2 * ROWS_IN_LANES or all(isinstance(s, Store) for s in nest.body):
            return None
        if not nest.independent or not is_nest(nest):
            return None
        if Costs().block(nest.body) * nest.extent < LEAST_WORK:
            return None
        group = self._group(range(head, head + 1), (nest,))
        grows = group is not None
        while grows and group is not None:
            larger = self._larger(group, first)
            grows, group = larger is not None, larger or group
        return group if group and _is_worth_it(group) else None

    def _larger(self, group: _Group, first: int) -> _Group | None:
        """Return a group with one more neighbour, most of which it may leave out; None if there is
        no such neighbour.
        """
        start, stop = group.places.start, group.places.stop
        for place in (start - 1, stop):
            if not first <= place < len(self.body):
                continue
            nest = _over_rows(self.nodes, self.body[place], group.nests[0])
            if nest is None or not all(meet_in_rows(nest, other) for other in group.nests):
                continue
            before = place < start
            nests = (nest, *group.nests) if before else (*group.nests, nest)
            found = self._group(range(start - before, stop + 1 - before), nests)
            if found and WORTH * (found.cost - group.cost) <= Costs().block(nest.body):
                return found
        return None

    def _group(self, places: range, nests: tuple[Loop, ...]) -> _Group | None:
        """Return nests with what is left of them; None if there is little to leave out."""
        outside = self.used_outside(places)
        kept = {b for b in writes(nests) if b in outside or b.space in ("input", "output")}
        whole = cost = _cost(nests)
        rest: Block = nests
        wanted: list[Scalar] = []
        while len(wanted) < MOST:
            ways = [
                _without(self.nodes, rest, flag, holds, kept)
                for flag in _flags(nests, rest)
                for holds in (False, True)
            ]
            least = min(ways, key=lambda way: way[1], default=None)
            if least is None or least[1] > WORTH_A_CONDITION * cost:
                break
            rest, cost = least[:2]
            wanted.append(least[2])
        if WORTH * cost > whole:
            return None
        return _Group(places, nests, rest, cost, reduce(self.nodes.or_, wanted))


def _is_worth_it(group: _Group) -> bool:
    """Tell whether much less is computed for each element that is stored anyway."""
    stored = sum(_size(nest.body) for nest in group.rest if isinstance(nest, Loop))
    return _cost(group.nests) - group.cost >= WORTH_AN_ELEMENT * stored


def _size(body: Block) -> int:
    """Return how many elements a nest stores in memory."""
    size = 0
    for statement in body:
        if isinstance(statement, Loop):
            size += static_extent(statement) * _size(statement.body)
        elif isinstance(statement, Store):
            size += statement.buffer.space != "local"
    return size


def _inside(nodes: FoldNodes, statement: Statement, outside: Collection[Buffer]) -> Statement:
    """Return a statement in whose blocks nests over rows choose in blocks."""
    if isinstance(statement, While):
        tested = buffers_of((While(statement.before, statement.condition, ()),))
        inner = choose_by_blocks(nodes, statement.body, {*outside, *tested})
        return While(statement.before, statement.condition, inner)
    if isinstance(statement, If):
        branches = [choose_by_blocks(nodes, branch, outside) for branch in statement.branches]
        return If(statement.which, tuple(branches))
    if not isinstance(statement, Loop) or all(isinstance(s, Store) for s in statement.body):
        return statement
    inner = choose_by_blocks(nodes, statement.body, outside)
    flags = (statement.independent, statement.reverse)
    return Loop(statement.var, statement.extent, inner, *flags)


def _over_rows(nodes: FoldNodes, statement: Statement, like: Loop) -> Loop | None:
    """Return a nest as one over the rows of another, in its variable; None if it is none."""
    if not isinstance(statement, Loop) or not isinstance(statement.extent, int):
        return None
    inner, left = divmod(statement.extent, static_extent(like))
    if not statement.independent or left or inner == 0 or not is_nest(statement):
        return None
    place = nodes.index_mul(like.var, inner)
    if inner == 1:
        return Loop(like.var, like.extent, _moved(nodes, statement, place))
    var = nodes.index("i", inner)
    body = _moved(nodes, statement, nodes.index_add(place, var))
    return Loop(like.var, like.extent, (Loop(var, inner, body),))


def _moved(nodes: FoldNodes, nest: Loop, place: Scalar) -> Block:
    """Return the body of a nest at some place."""
    return changed_stores(nodes, nest.body, {nest.var: nodes.affine(place)})


def _cost(nests: Sequence[Statement]) -> float:
    """Return what nests cost for a row."""
    costs = Costs()
    return sum(costs.block(nest.body) for nest in nests if isinstance(nest, Loop))


def _flags(nests: Sequence[Loop], rest: Block) -> list[Scalar]:
    """Return the conditions of selects that a row makes as a whole, of nothing that nests write."""
    order = walk(root for store in stores_in(rest) for root in roots_of(store))
    inner = {node.var for node in order if isinstance(node, Reduce)}
    inner.update(loop.var for nest in rest if isinstance(nest, Loop) for loop in _loops(nest.body))
    written = writes(tuple(nests))
    found: dict[Scalar, None] = {}
    for node in order:
        if isinstance(node, Op) and node.name == "select" and nests[0].var in node.args[0].free:
            found[node.args[0]] = None
    return [
        flag
        for flag in found
        if inner.isdisjoint(flag.free)
        and written.isdisjoint(load.buffer for load in loads_in((flag,)))
    ]


def _loops(body: Block) -> Iterator[Loop]:
    """Go through the loops of a nest."""
    for statement in body:
        if isinstance(statement, Loop):
            yield statement
            yield from _loops(statement.body)


def _without(
    nodes: FoldNodes, rest: Block, flag: Scalar, holds: bool, kept: Collection[Buffer]
) -> tuple[Block, float, Scalar]:
    """Return what is left of nests where a condition is known, what that costs, and the negation of
    what is known.

    kept: buffers whose contents matter afterwards.
    """
    changes = {id(flag): nodes.const(holds, _BOOL)}
    left = prune(with_roots(nodes, rest, lambda roots: replace(nodes, roots, changes)), kept)
    return left, _cost(left), nodes.not_(flag) if holds else flag


def _in_blocks(nodes: FoldNodes, group: _Group) -> list[Statement]:
    """Return nests in blocks of rows, and behind them the rows that are no whole block."""
    var = group.nests[0].var
    in_lanes = any(all(isinstance(s, Store) for s in nest.body) for nest in group.nests)
    n_rows = ROWS_IN_LANES if in_lanes else ROWS
    n_blocks, left = divmod(static_extent(group.nests[0]), n_rows)
    block, row = nodes.index("b", n_blocks), nodes.index("i", n_rows)
    place = nodes.index_add(nodes.index_mul(block, n_rows), row)
    (wanted,) = substitute(nodes, (group.wanted,), {var: place})
    (some,) = nodes.reduce(row, n_rows, (wanted,), (nodes.const(False, _BOOL),), "or")
    ways = tuple(
        tuple(
            statement
            for nest in nests
            if isinstance(nest, Loop)
            for statement in _joined(nodes, Loop(row, n_rows, _moved(nodes, nest, place)))
        )
        for nests in (group.rest, group.nests)
    )
    blocks = Loop(block, n_blocks, (If(nodes.convert(some, _INT32), ways),))
    if left == 0:
        return [blocks]
    last = nodes.index("i", left)
    place = nodes.index_add(last, n_blocks * n_rows)
    return [blocks, *(Loop(last, left, _moved(nodes, nest, place)) for nest in group.nests)]


def _joined(nodes: FoldNodes, nest: Loop) -> Block:
    """Return a nest of one store as few loops as the indices allow; others as they are."""
    variables: list[Index] = []
    sizes: list[int] = []
    body: Block = (nest,)
    while len(body) == 1 and isinstance(body[0], Loop):
        variables.append(body[0].var)
        sizes.append(static_extent(body[0]))
        body = body[0].body
    if len(body) > 1 or not isinstance(body[0], Store) or not _is_plain(nest):
        return (nest,)
    roots, variables, sizes = nodes.collapsed(
        variables, sizes, roots_of(body[0]), lambda _, size: nodes.index("i", size)
    )
    index, value = roots
    store = Store(body[0].buffer, nodes.affine(index), value)
    return tuple(loops_around(variables, sizes, [store]))


def _is_plain(nest: Loop) -> bool:
    """Tell whether the loops of a nest of one store may be joined."""
    loops, (store,) = (nest, *_loops(nest.body)), stores_in((nest,))
    if store.guard is not None or store.accumulate is not None:
        return False
    return all(loop.independent and not loop.reverse for loop in loops)
