"""The text of a loop over blocks: what `levels.py` has found to belong together, as statements.

    for b < count:
      if b == 0: edges at the start
      for i: t'[i] = ...          the first nest, from share * b + low on
      for i: o[...] = t'[i] ...   the last one

A private buffer holds the places `share * b + low .. share * b + high` of the one it stands for.  A
range that an end of the arrays cuts is a branch of its own, so that all extents are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tapeless.compiler.reach import (
    Access,
    Nest,
    changed_stores,
    roots_of,
)
from tapeless.kernel.graph import loads_in, replace
from tapeless.kernel.ir import (
    Affine,
    Buffer,
    If,
    Loop,
    Scalar,
    Statement,
    Store,
)
from tapeless.kernel.nodes import Nodes
from tapeless.util.records import record

__all__ = ["Layout", "Span", "write_blocks"]

_MOST_EDGE_BLOCKS = 3
_FEW = 8  # iterations, which are no vectors
_LINE = 16  # elements; private buffers start and end at multiples of so many
_INT32 = np.dtype(np.int32)


@record
class Span:
    """What a block needs: from `low` up to `high`, counted from where its share begins."""

    low: int
    high: int

    def joined(self, other: Span | None) -> Span:
        """Return the least span that contains both."""
        if other is None:
            return self
        return Span(min(self.low, other.low), max(self.high, other.high))


@dataclass(slots=True, eq=False)
class Layout:
    """Nests that run block by block.

    shares: iterations of a loop, and places of a buffer, by which a block begins after the one
    before; private: buffers that are needed for a block only; written: all that nests write; count:
    of blocks; spans: what a block needs of a loop or buffer; edges: in which blocks edges run.
    """

    nests: list[Nest]
    shares: dict[Nest | Buffer, int]
    private: set[Buffer]
    written: set[Buffer]
    count: int
    spans: dict[Nest | Buffer, Span] = field(default_factory=dict)
    edges: dict[Nest, tuple[int, ...]] = field(default_factory=dict)

    def want(
        self,
        buffer: Buffer,
        span: Span,
    ) -> None:
        """Note that a block needs some places of a buffer."""
        self.spans[buffer] = span.joined(self.spans.get(buffer))

    def blocks(
        self,
        first: int,
        last: int,
    ) -> set[int]:
        """Return the blocks from one to another; a few at the ends."""
        found = range(max(first, 0), min(last, self.count - 1) + 1)
        return set(found[: _MOST_EDGE_BLOCKS + 1])

    def is_little(self, thing: Nest | Buffer) -> bool:
        """Tell whether a block needs hardly more than its share of a loop or buffer."""
        span, share = self.spans.get(thing), abs(self.shares[thing])
        if isinstance(thing, Nest) and span is not None:
            return len(self.cut(thing, span)) <= _MOST_EDGE_BLOCKS and span.low >= -share
        edges = self.edges.values()
        return span is None or (
            2 * (span.high - span.low) <= 3 * share + _LINE and self._few(edges)
        )

    def _few(self, edges: Iterable[tuple[int, ...]]) -> bool:
        """Tell whether edges run in few blocks."""
        return all(len(blocks) <= _MOST_EDGE_BLOCKS for blocks in edges)

    def cut(
        self,
        nest: Nest,
        span: Span,
    ) -> list[int]:
        """Return the blocks in which an end of the arrays cuts the range of a loop."""
        share = self.shares[nest]
        first = max(0, -(span.low // share))
        last = (nest.extent - span.high) // share
        cut = [*range(min(first, self.count)), *range(max(last + 1, first), self.count)]
        return cut[: _MOST_EDGE_BLOCKS + 1]


def write_blocks(
    nodes: Nodes,
    layout: Layout,
) -> Loop:
    """Return the loop over the blocks of a layout."""
    return _Writer(nodes, layout).loop()


class _Writer:
    """Writes the statements of a block."""

    def __init__(
        self,
        nodes: Nodes,
        layout: Layout,
    ) -> None:
        """Make the private buffers."""
        self.nodes = nodes
        self.layout = layout
        self.block = nodes.index("b", layout.count)
        self.homes: dict[Buffer, tuple[Buffer, int]] = {}
        self.bases: dict[Buffer, tuple[tuple[Scalar, int], ...]] = {}
        for nest in layout.nests:
            for x in nest.writes:
                if x.buffer in layout.private:
                    self.bases[x.buffer] = x.base
        for buffer in self.bases:
            span = self._held(buffer)
            low, high = _LINE * (span.low // _LINE), _LINE * -(-span.high // _LINE)
            home = Buffer((high - low,), buffer.dtype, "temp", f"{buffer.name}_block")
            self.homes[buffer] = (home, low)

    def loop(self) -> Loop:
        """Return the loop."""
        body: list[Statement] = []
        for nest in self.layout.nests:
            parts = self._edge(nest) if nest.var is None else self._nest(nest)
            for part in parts:
                last = body[-1] if body else None
                if isinstance(part, If) and isinstance(last, If) and last.which is part.which:
                    pairs = zip(last.branches, part.branches, strict=True)
                    body[-1] = If(part.which, tuple((*x, *y) for x, y in pairs))
                else:
                    body.append(part)
        return Loop(self.block, self.layout.count, tuple(body))

    def _held(self, buffer: Buffer) -> Span:
        """Return which places of a private buffer blocks write or read."""
        layout = self.layout
        span = layout.spans.get(buffer)
        for nest in layout.nests:
            for x in nest.writes:
                if x.buffer is buffer:
                    for written in self._written(nest, x):
                        span = written.joined(span)
        return span or Span(0, 1)

    def _written(self, nest: Nest, access: Access) -> list[Span]:
        """Return which places of a private buffer a nest writes in some block."""
        low, high = access.low, access.high + 1
        if nest.var is None:
            share = self.layout.shares[access.buffer]
            starts = [block * share for block in self.layout.edges[nest]]
            return [Span(low - start, high - start) for start in starts]
        span = self.layout.spans.get(nest)
        if span is None:
            return []
        step = access.step or 0
        return [Span(step * span.low + low, step * (span.high - 1) + high)]

    def _edge(self, nest: Nest) -> list[Statement]:
        """Return an edge in the blocks that need it."""
        found: list[Statement] = []
        for block in self.layout.edges[nest]:
            fixed = self.nodes.affine(block)
            found += self._only_in([block], [self._moved((nest.statement,), fixed)])
        return found

    def _nest(self, nest: Nest) -> list[Statement]:
        """Return what a block needs of a loop: what was its neighbour's share, and its own."""
        span = self.layout.spans.get(nest)
        if span is None:
            return []
        if not -_FEW <= span.low < 0 or span.high <= 0:
            return self._range(nest, span)
        overlap, own = Span(span.low, 0), Span(0, span.high)
        return [*self._range(nest, overlap), *self._range(nest, own)]

    def _range(
        self,
        nest: Nest,
        span: Span,
    ) -> list[Statement]:
        """Return a loop over a range, which is cut in some blocks."""
        share, cut = self.layout.shares[nest], self.layout.cut(nest, span)
        whole = self._part(nest, span, span.high - span.low > _FEW)
        parts = []
        for block in cut:
            start = block * share
            low, high = max(span.low, -start), min(span.high, nest.extent - start)
            parts.append(self._part(nest, Span(low, high), False) if low < high else [])
        return self._only_in(cut, parts, whole)

    def _only_in(
        self,
        blocks: Sequence[int],
        parts: Sequence[Sequence[Statement]],
        usual: Sequence[Statement] = (),
    ) -> list[Statement]:
        """Return statements for some blocks, and for all others."""
        if not blocks:
            return list(usual)
        nodes, which = self.nodes, self.nodes.const(0, _INT32)
        for number, block in enumerate(blocks):
            here = nodes.eq(self.block, block)
            which = nodes.select(here, nodes.const(number + 1, _INT32), which)
        return [If(which, (tuple(usual), *map(tuple, parts)))]

    def _part(
        self,
        nest: Nest,
        span: Span,
        in_lanes: bool,
    ) -> list[Statement]:
        """Return a loop over a range of a block; the shortest text is that of one in order."""
        assert isinstance(nest.statement, Loop) and nest.var is not None, "edges have no range"
        nodes, extent = self.nodes, span.high - span.low
        start = self._shifted(self.layout.shares[nest], span.low, nodes.affine(self.block))
        if extent == 1:
            body = changed_stores(nodes, nest.statement.body, {nest.var: start})
            return self._moved(body, nodes.affine(self.block))
        var = nodes.index("i", extent)
        mapping = {nest.var: nodes.index_add(start, var)}
        body = changed_stores(nodes, nest.statement.body, mapping)
        return [Loop(var, extent, tuple(self._moved(body, nodes.affine(self.block))), in_lanes)]

    def _shifted(
        self,
        share: int,
        low: int,
        block: Affine,
    ) -> Affine:
        """Return where something begins in a block."""
        return self.nodes.index_add(self.nodes.index_mul(block, share), low)

    def _moved(
        self,
        body: Iterable[Statement],
        block: Affine,
    ) -> list[Statement]:
        """Return statements that use private buffers."""
        result: list[Statement] = []
        for statement in body:
            if isinstance(statement, Loop):
                inner = tuple(self._moved(statement.body, block))
                result.append(Loop(statement.var, statement.extent, inner, statement.independent))
                continue
            assert isinstance(statement, Store), "a nest consists of loops and stores"
            roots = roots_of(statement)
            changes: dict[int, Scalar] = {}
            for load in loads_in(roots):
                if load.buffer in self.homes:
                    home, place = self._home(load.buffer, load.index, block)
                    guard = load.guard and replace(self.nodes, (load.guard,), changes)[0]
                    changes[id(load)] = self.nodes.load(home, place, guard)
            index, value = replace(self.nodes, roots, changes) if changes else roots
            buffer, index = statement.buffer, self.nodes.affine(index)
            if buffer in self.homes:
                buffer, index = self._home(buffer, index, block)
            result.append(Store(buffer, index, value))
        return result

    def _home(
        self,
        buffer: Buffer,
        index: Affine,
        block: Affine,
    ) -> tuple[Buffer, Affine]:
        """Return where a place of a private buffer is in a block."""
        home, low = self.homes[buffer]
        start = self._shifted(self.layout.shares[buffer], low, block)
        for term, factor in self.bases[buffer]:
            start = self.nodes.index_add(start, self.nodes.index_mul(term, factor))
        return home, self.nodes.index_add(index, self.nodes.index_mul(start, -1))
