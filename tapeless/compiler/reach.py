"""What nests touch: how the places that a loop reads and writes move as its variable grows.

A place is `step * i + rest` with `low <= rest <= high`, where i is the variable of the outermost
loop of a nest and the rest comes from loops and reductions inside, whose extents are known. Terms
in variables of loops around the nest are its *base*. An index may be held from below, as in
`max(i - 1, 0)`: then it moves like `i - 1` where that is not below the *least* place.

A nest whose loops do not move far, or a store alone, is an *edge*: it has no variable, and all that
it touches is a few places known in advance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tapeless.kernel.graph import substitute, walk
from tapeless.kernel.ir import (
    Affine,
    Buffer,
    Const,
    Index,
    Load,
    Loop,
    Op,
    Reduce,
    Scalar,
    Statement,
    Store,
)
from tapeless.kernel.nodes import Nodes
from tapeless.util.records import record

__all__ = [
    "Access",
    "Nest",
    "changed_stores",
    "flipped",
    "is_nest",
    "meet",
    "nest_of",
    "roots_of",
    "stores_in",
    "with_roots",
]

_EDGE = 64  # times as many places has the nest that an edge belongs to


@record
class Access:
    """The places of a buffer that a load or store touches; step is None if they are not known."""

    buffer: Buffer
    step: int | None
    low: int = 0
    high: int = 0
    base: tuple[tuple[Scalar, int], ...] = ()
    least: int | None = None


@record(eq=False)
class Nest:
    """A statement that only computes and stores, and what it touches.

    var: None for an edge; extent: of `var`; size: how many elements are stored.
    """

    statement: Statement
    var: Index | None
    extent: int
    size: int
    reads: tuple[Access, ...]
    writes: tuple[Access, ...]

    @property
    def takes(self) -> set[Buffer]:
        """The buffers that it reads."""
        return {access.buffer for access in self.reads}

    @property
    def makes(self) -> set[Buffer]:
        """The buffers that it writes."""
        return {access.buffer for access in self.writes}


def nest_of(statement: Statement) -> Nest | None:
    """Return what a statement touches; None if it does more than to compute and to overwrite."""
    extents: dict[Index, int] = {}
    stores: list[Store] = []
    size = _collect(statement, 1, extents, stores)
    if size == 0:
        return None
    edge = _nest(statement, None, 1, size, extents, stores)
    if isinstance(statement, Store) or all(_is_narrow(access) for access in edge.writes):
        return edge
    assert isinstance(statement, Loop) and isinstance(statement.extent, int), "loops hold stores"
    if not statement.independent:
        return None
    extents.pop(statement.var)
    return _nest(statement, statement.var, statement.extent, size, extents, stores)


def _collect(
    statement: Statement, times: int, extents: dict[Index, int], stores: list[Store]
) -> int:
    """Note the loops and stores of a nest; return how many elements are stored, 0 if not known."""
    if isinstance(statement, Store):
        plain = statement.guard is None and statement.accumulate is None
        stores.append(statement)
        return times if plain and statement.buffer.space != "local" else 0
    if not isinstance(statement, Loop) or not isinstance(statement.extent, int):
        return 0
    if statement.reverse or not statement.independent:
        return 0
    extents[statement.var] = statement.extent
    sizes = [_collect(s, times * statement.extent, extents, stores) for s in statement.body]
    return sum(sizes) if all(sizes) else 0


def _nest(
    statement: Statement,
    var: Index | None,
    extent: int,
    size: int,
    extents: dict[Index, int],
    stores: Sequence[Store],
) -> Nest:
    """Return a nest in terms of `var`."""
    nodes = walk(root for store in stores for root in (store.index, store.value))
    reduced = {node.var: node.extent for node in nodes if isinstance(node, Reduce)}
    inner = {**extents, **reduced}
    loads = [node for node in nodes if isinstance(node, Load)]
    reads = tuple(dict.fromkeys(_access(x.buffer, x.index, var, inner) for x in loads))
    writes = tuple(dict.fromkeys(_access(x.buffer, x.index, var, inner) for x in stores))
    return Nest(statement, var, extent, size, reads, writes)


def _access(buffer: Buffer, index: Affine, var: Index | None, inner: dict[Index, int]) -> Access:
    """Return which places an index reaches."""
    step, low, high, base, least = 0, index.const, index.const, [], None
    terms = list(index.terms)
    if len(terms) == 1 and terms[0][1] > 0 and isinstance(terms[0][0], Op):
        term, times = terms[0]
        assert isinstance(term, Op), "the other terms of indices are variables"
        held, bound = term.args[0], term.args[-1]
        if term.name != "max" or not isinstance(held, Affine) or not isinstance(bound, Const):
            return Access(buffer, None)
        least = index.const + times * int(bound.value)
        terms = [(each, times * factor) for each, factor in held.terms]
        low = high = index.const + times * held.const
    for term, factor in terms:
        if term is var:
            step += factor
        elif term in inner:
            reach = factor * (inner[term] - 1)
            low, high = low + min(reach, 0), high + max(reach, 0)
        elif isinstance(term, Index):
            base.append((term, factor))
        else:
            return Access(buffer, None)
    return Access(buffer, step, low, high, tuple(base), least)


def meet(nest: Nest, access: Access, other_nest: Nest, other: Access) -> bool:
    """Tell whether two accesses of one buffer may touch one place."""
    first, second = access.step or 0, other.step or 0
    way = first * (nest.extent - 1)
    other_way = second * (other_nest.extent - 1)
    if access.high + max(way, 0) < other.low + min(other_way, 0):
        return False
    if other.high + max(other_way, 0) < access.low + min(way, 0):
        return False
    if first != second or first == 0:
        return True
    ahead = (other.low - access.low) % abs(first)
    return ahead <= access.high - access.low or abs(first) - ahead <= other.high - other.low


def _is_narrow(access: Access) -> bool:
    """Tell whether few places of a buffer are touched."""
    if access.step is None:
        return False
    return _EDGE * (access.high - access.low + 1) <= access.buffer.size


def flipped(nodes: Nodes, nest: Nest) -> Nest:
    """Return a nest that goes the other way, so that places that moved down move up."""
    assert nest.var is not None and isinstance(nest.statement, Loop), "an edge has no direction"
    var = nodes.index("i", nest.extent)
    back = nodes.index_add(nodes.index_mul(var, -1), nest.extent - 1)
    body = changed_stores(nodes, nest.statement.body, {nest.var: back})
    found = nest_of(Loop(var, nest.extent, body))
    assert found is not None, "a nest stays one"
    return found


def changed_stores(
    nodes: Nodes, body: Iterable[Statement], mapping: dict[Index, Affine]
) -> tuple[Statement, ...]:
    """Return the statements of a nest with variables replaced by indices."""
    return with_roots(nodes, body, lambda roots: substitute(nodes, roots, mapping))


def with_roots(
    nodes: Nodes,
    body: Iterable[Statement],
    change: Callable[[tuple[Scalar, ...]], tuple[Scalar, ...]],
) -> tuple[Statement, ...]:
    """Return the statements of a nest with what `change` makes of the roots of their stores."""
    result: list[Statement] = []
    for statement in body:
        if isinstance(statement, Loop):
            inner = with_roots(nodes, statement.body, change)
            flags = (statement.independent, statement.reverse)
            result.append(Loop(statement.var, statement.extent, inner, *flags))
            continue
        assert isinstance(statement, Store), "a nest consists of loops and stores"
        index, value, *guards = change(roots_of(statement))
        guard = guards[0] if guards else None
        place = nodes.affine(index)
        result.append(Store(statement.buffer, place, value, guard, statement.accumulate))
    return tuple(result)


def is_nest(statement: Statement) -> bool:
    """Tell whether a statement consists of loops of known extent and stores."""
    if isinstance(statement, Loop):
        return isinstance(statement.extent, int) and all(map(is_nest, statement.body))
    return isinstance(statement, Store)


def stores_in(body: Iterable[Statement]) -> list[Store]:
    """Return the stores of a nest."""
    found: list[Store] = []
    for statement in body:
        if isinstance(statement, Loop):
            found += stores_in(statement.body)
        else:
            assert isinstance(statement, Store), "a nest consists of loops and stores"
            found.append(statement)
    return found


def roots_of(store: Store) -> tuple[Scalar, ...]:
    """Return the index, the value and the guard of a store."""
    guard = () if store.guard is None else (store.guard,)
    return (store.index, store.value, *guard)
