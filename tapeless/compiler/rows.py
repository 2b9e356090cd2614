"""Row by row: neighbouring loops over the same rows become one.

    for i: for j: e[i, j] = exp(x[i, j] - max of x[i, :])
    for i: for j: y[i, j] = e[i, j] / sum of e[i, :]

Both loops run over rows, and the second needs of the first what is in its own row. As one loop, a
row of x and e is used while it is in the cache, and the program passes over memory once. That is
legal when everything that one loop writes and the other touches is indexed `s * i + rest` with
`0 <= rest < s` by both, for one step s.

It pays when the loops do more than store an element per iteration. A loop that only stores joins
others if it reduces along contiguous rows; reductions along columns want the loop's own variable as
vector lanes, and stay alone.

    for i: q[3 i] = a                for i: q[3 i] = a
    for i: q[3 i + 1] = b            for i: q[3 i + 1] = b, q[3 i + 2] = c, s[i] = a * b + c
    for i: q[3 i + 2] = c
    for i: s[i] = q[3 i] * q[3 i + 1] + q[3 i + 2]

Of short rows that are written column by column, lanes store all columns at once, and what reads
them has them in registers (`forwarding.py`). Loops of one store in between may run afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from tapeless.compiler.forwarding import forwarded
from tapeless.compiler.plan import static_extent
from tapeless.compiler.reach import changed_stores
from tapeless.kernel.graph import walk
from tapeless.kernel.ir import (
    Affine,
    Block,
    Buffer,
    If,
    Index,
    Load,
    Loop,
    Reduce,
    Scalar,
    Statement,
    Store,
    While,
)
from tapeless.kernel.nodes import Nodes

__all__ = ["fuse_rows", "fuse_short_rows", "meet_in_rows", "step_of_rows"]

MAX_STATEMENTS = 24
SHORT_ROW = 4  # elements: lanes store so many at once on all machines
_Join = Callable[[Nodes, Statement, Statement], Loop | None]


def fuse_rows(nodes: Nodes, body: Block) -> Block:
    """Return the block with neighbouring row loops joined, in nested blocks, too."""
    return _fused(nodes, body, _joined)


def fuse_short_rows(nodes: Nodes, body: Block) -> Block:
    """Return the block with loops joined that write short rows column by column."""
    return _fused(nodes, body, _joined_short)


def _fused(nodes: Nodes, body: Block, join: _Join) -> Block:
    """Join statements of a block with those before them."""
    result: list[Statement] = []
    for statement in body:
        result.append(_inside(nodes, statement, join))
        while len(result) > 1:
            joined = join(nodes, result[-2], result[-1])
            if joined is not None:
                result[-2:] = [joined]
                continue
            if len(result) > 2 and join is _joined_short and _are_apart(result[-2], result[-1]):
                joined = join(nodes, result[-3], result[-1])
            if joined is None:
                break
            result[-3:] = [joined, result[-2]]
    return tuple(result)


def _are_apart(copy: Statement, other: Statement) -> bool:
    """Tell whether a loop of one store may as well run after another loop."""
    if not (_is_candidate(copy) and _is_candidate(other)) or len(copy.body) > 1:
        return False
    mine, others = _survey(copy), _survey(other)
    if not (mine.plain and others.plain):
        return False
    touched = others.writes.keys() | others.reads.keys()
    return touched.isdisjoint(mine.writes) and mine.reads.keys().isdisjoint(others.writes)


def _inside(nodes: Nodes, statement: Statement, join: _Join) -> Statement:
    """Join loops in the blocks of a statement."""
    if isinstance(statement, Loop) and any(not isinstance(s, Store) for s in statement.body):
        inner = _fused(nodes, statement.body, join)
        if inner != statement.body:
            flags = (statement.independent, statement.reverse)
            return Loop(statement.var, statement.extent, inner, *flags)
    if isinstance(statement, While):
        body = _fused(nodes, statement.body, join)
        return While(_fused(nodes, statement.before, join), statement.condition, body)
    if isinstance(statement, If):
        branches = tuple(_fused(nodes, branch, join) for branch in statement.branches)
        return If(statement.which, branches)
    return statement


@dataclass(slots=True)
class _Rows:
    """What a loop touches: the indices per buffer, and the extents of the variables inside."""

    reads: dict[Buffer, set[Affine]] = field(default_factory=dict)
    writes: dict[Buffer, set[Affine]] = field(default_factory=dict)
    extents: dict[Index, int] = field(default_factory=dict)
    n_statements: int = 0
    plain: bool = True


def _joined(nodes: Nodes, first: Statement, second: Statement) -> Loop | None:
    """Return one loop for two, or None if that is illegal or does not pay."""
    if not (_is_candidate(first) and _is_candidate(second) and first.extent == second.extent):
        return None
    return _in_one(nodes, first, second) if _pays(first, second) else None


def _joined_short(nodes: Nodes, first: Statement, second: Statement) -> Loop | None:
    """Return one loop for two that write short rows, or None."""
    if not (_is_candidate(first) and _is_candidate(second) and first.extent == second.extent):
        return None
    first, second = _written_out(nodes, first), _written_out(nodes, second)
    loop = _in_one(nodes, first, second) if _share_short_rows(first, second) else None
    return loop and Loop(loop.var, loop.extent, forwarded(nodes, loop.body))


def _in_one(nodes: Nodes, first: Loop, second: Loop) -> Loop | None:
    """Return one loop for two that meet in memory only within a row."""
    one, other = _survey(first), _survey(second)
    if not (one.plain and other.plain) or one.n_statements + other.n_statements > MAX_STATEMENTS:
        return None
    if not _is_aligned(first, one, second, other):
        return None
    body = (*first.body, *changed_stores(nodes, second.body, {second.var: nodes.affine(first.var)}))
    return Loop(first.var, first.extent, body)


def _written_out(nodes: Nodes, loop: Loop) -> Loop:
    """Return a loop over short rows without the loops along them."""
    body: list[Statement] = []
    for statement in loop.body:
        short = _is_candidate(statement) and static_extent(statement) <= SHORT_ROW
        if not short or not all(isinstance(each, Store) for each in statement.body):
            body.append(statement)
            continue
        for place in range(static_extent(statement)):
            body += changed_stores(nodes, statement.body, {statement.var: nodes.affine(place)})
    return Loop(loop.var, loop.extent, tuple(body), loop.independent, loop.reverse)


def _share_short_rows(first: Loop, second: Loop) -> bool:
    """Tell whether loops only store, and one writes short rows that the other touches.

    Lanes of one loop then store whole rows at once, and have what they read in registers.
    """
    if not all(isinstance(each, Store) for each in (*first.body, *second.body)):
        return False
    one, other = _survey(first), _survey(second)
    if one.extents or other.extents:
        return False
    for mine, var, others in ((one, first.var, other), (other, second.var, one)):
        for buffer, places in mine.writes.items():
            if buffer in others.writes or buffer in others.reads:
                steps = {_step(index, var, {}) or 0 for index in places}
                if 2 <= max(steps) <= SHORT_ROW:
                    return True
    return False


def _is_candidate(statement: Statement) -> TypeGuard[Loop]:
    """Tell whether a statement is a loop whose iterations are independent."""
    if not isinstance(statement, Loop) or not isinstance(statement.extent, int):
        return False
    return statement.independent and not statement.reverse


def _pays(first: Loop, second: Loop) -> bool:
    """Tell whether joining saves memory traffic without costing vector lanes."""
    flat = [all(isinstance(s, Store) for s in loop.body) for loop in (first, second)]
    if all(flat):
        return False
    return all(
        not is_flat or _reduces_rows(loop)
        for loop, is_flat in zip((first, second), flat, strict=True)
    )


def _reduces_rows(loop: Loop) -> bool:
    """Tell whether every store of a loop reduces, with contiguous loads only."""
    for store in loop.body:
        if not isinstance(store, Store):
            return False
        reductions = [node for node in walk((store.value,)) if isinstance(node, Reduce)]
        if not reductions:
            return False
        for reduction in reductions:
            for node in walk(reduction.elements):
                if isinstance(node, Load) and node.index.stride(reduction.var) not in (0, 1):
                    return False
    return True


def _survey(loop: Loop) -> _Rows:
    """Collect what a loop touches."""
    rows = _Rows()
    stack: list[Statement] = list(loop.body)
    while stack:
        statement = stack.pop()
        rows.n_statements += 1
        if isinstance(statement, Loop) and isinstance(statement.extent, int):
            rows.extents[statement.var] = statement.extent
            stack.extend(statement.body)
        elif isinstance(statement, Store):
            rows.writes.setdefault(statement.buffer, set()).add(statement.index)
            guard = () if statement.guard is None else (statement.guard,)
            _note_reads(rows, (statement.index, statement.value, *guard))
        else:
            rows.plain = False
    return rows


def _note_reads(rows: _Rows, roots: Sequence[Scalar]) -> None:
    """Collect the loads of some expressions, and the extents of their reductions."""
    for node in walk(roots):
        if isinstance(node, Load):
            rows.reads.setdefault(node.buffer, set()).add(node.index)
        elif isinstance(node, Reduce):
            rows.extents[node.var] = node.extent


def _is_aligned(first: Loop, one: _Rows, second: Loop, other: _Rows) -> bool:
    """Tell whether the loops meet in memory only within a row."""
    shared = {*one.writes, *other.writes}
    for buffer in shared:
        mine = one.writes.get(buffer, set()) | one.reads.get(buffer, set())
        others = other.writes.get(buffer, set()) | other.reads.get(buffer, set())
        if not mine or not others:
            continue
        steps = {_step(index, first.var, one.extents) for index in mine}
        steps |= {_step(index, second.var, other.extents) for index in others}
        if len(steps) > 1 or None in steps:
            return False
    return True


def _step(index: Affine, var: Index, extents: dict[Index, int]) -> int | None:
    """Return s if the index is s * var + rest, 0 <= rest < s; else None."""
    step, low, high = 0, index.const, index.const
    for term, coefficient in index.terms:
        if term is var:
            step = coefficient
        elif isinstance(term, Index) and term in extents:
            reach = coefficient * (extents[term] - 1)
            low, high = low + min(reach, 0), high + max(reach, 0)
        else:
            return None
    return step if 0 <= low and high < step else None


def step_of_rows(loop: Loop, buffers: Sequence[Buffer]) -> int | None:
    """Return s if all places in some buffers are s * i + rest, 0 <= rest < s; else None."""
    rows = _survey(loop)
    if not rows.plain:
        return None
    places = [rows.writes.get(b, set()) | rows.reads.get(b, set()) for b in buffers]
    steps = {_step(index, loop.var, rows.extents) for found in places for index in found}
    return steps.pop() if len(steps) == 1 else None


def meet_in_rows(first: Loop, second: Loop) -> bool:
    """Tell whether two nests of loops and stores meet in memory only within a row."""
    return _is_aligned(first, _survey(first), second, _survey(second))
