"""Statements of one form become a loop again: a loop that carries many scalars works in lanes.

    x0 = 0.9 * a0 + f(a1)                     for k < 59:
    x1 = 0.9 * a1 + f(a2)          becomes      x[k] = 0.9 * a[k] + f(a[k + 1])
    ...                                       x[59] = 0.9 * a[59] + f(a[0])

A carry with many leaves is written out, one scalar after the other. When there are more of them
than registers they live in memory anyway; then it is better that they lie beside each other. This
file looks in the bodies of loops for runs of stores whose values have one form: the same operations
on the same constants, and on scalars of which each run has the next one where its neighbour has
this one. Such scalars become the elements of an array, in the whole program, and the run a loop
over it, whose lanes are the emitter's business.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tapeless.kernel.graph import children, loads_in, replace, walk
from tapeless.kernel.ir import (
    Affine,
    Block,
    Buffer,
    Call,
    If,
    Load,
    Loop,
    Op,
    Scalar,
    Statement,
    Store,
    While,
)
from tapeless.kernel.nodes import Nodes

__all__ = ["reroll"]

FEWEST = 32  # fewer scalars had better be registers
_Column = dict[Scalar, Scalar]


def reroll(nodes: Nodes, body: Block) -> Block:
    """Return the block with loops in the place of long runs of stores of one form."""
    search = _Search(body)
    search.block(body, False)
    if not search.runs:
        return body
    return _Writer(nodes, search).block(body)


@dataclass(slots=True)
class _Run:
    """Stores of one form: a loop over `stores`, of which the first is the pattern.

    same: the nodes of the pattern that all stores share.
    """

    stores: list[Store]
    same: frozenset[Scalar]


@dataclass(slots=True)
class _Chains:
    """Which scalar follows which in memory."""

    after: dict[Buffer, Buffer] = field(default_factory=dict)
    before: dict[Buffer, Buffer] = field(default_factory=dict)

    def link(self, pairs: Iterable[tuple[Buffer, Buffer]]) -> list[tuple[Buffer, Buffer]] | None:
        """Let scalars follow each other; return the new pairs, or None, and change nothing."""
        made: list[tuple[Buffer, Buffer]] = []
        for first, second in pairs:
            if self.after.get(first) is second:
                continue
            taken = first in self.after or second in self.before
            if taken or first.dtype != second.dtype or self._end(second) is first:
                self.unlink(made)
                return None
            self.after[first], self.before[second] = second, first
            made.append((first, second))
        return made

    def unlink(self, pairs: Iterable[tuple[Buffer, Buffer]]) -> None:
        """Take links back."""
        for first, second in pairs:
            del self.after[first], self.before[second]

    def _end(self, buffer: Buffer) -> Buffer:
        """Return the last scalar of a chain."""
        while buffer in self.after:
            buffer = self.after[buffer]
        return buffer

    def arrays(self) -> dict[Buffer, tuple[Buffer, int]]:
        """Return for each scalar in a chain its array, and its place there."""
        found: dict[Buffer, tuple[Buffer, int]] = {}
        for start in self.after:
            if start in self.before:
                continue
            chain = [start]
            while chain[-1] in self.after:
                chain.append(self.after[chain[-1]])
            array = Buffer((len(chain),), start.dtype, "local", start.name)
            found.update((buffer, (array, place)) for place, buffer in enumerate(chain))
        return found


class _Search:
    """The runs of a program, and the chains of scalars that they ask for."""

    def __init__(self, body: Block) -> None:
        """Start with nothing found."""
        self.chains = _Chains()
        self._pointers = frozenset(_passed(body))
        self.runs: dict[Store, _Run] = {}  # by each of its stores
        self._forms: dict[Scalar, int] = {}
        self._known: dict[object, int] = {}

    def block(self, block: Block, repeated: bool) -> None:
        """Look through a block, and through those inside."""
        stores: list[Store] = []
        for statement in block:
            if isinstance(statement, Store) and repeated and self._may_move(statement):
                stores.append(statement)
                continue
            self._sequence(stores)
            stores = []
            if isinstance(statement, Loop):
                self.block(statement.body, repeated or not statement.independent)
            elif isinstance(statement, While):
                self.block(statement.before, True)
                self.block(statement.body, True)
            elif isinstance(statement, If):
                for branch in statement.branches:
                    self.block(branch, repeated)
        self._sequence(stores)

    def _may_move(self, store: Store) -> bool:
        """Tell whether a store always overwrites a scalar, which calls do not know of."""
        plain = store.guard is None and store.accumulate is None
        return plain and _is_scalar(store.buffer) and store.buffer not in self._pointers

    def _sequence(self, stores: Sequence[Store]) -> None:
        """Look through stores that follow each other, in pieces whose order does not matter."""
        if len(stores) < FEWEST:
            return
        piece: list[Store] = []
        written: set[Buffer] = set()
        read: set[Buffer] = set()
        for store in stores:
            reads = {load.buffer for load in loads_in((store.value,))}
            if store.buffer in written | read | reads or not written.isdisjoint(reads):
                self._piece(piece)
                piece, written, read = [], set(), set()
            piece.append(store)
            written.add(store.buffer)
            read |= reads
        self._piece(piece)

    def _piece(self, stores: Sequence[Store]) -> None:
        """Find the runs among stores whose order does not matter."""
        groups: dict[int, list[Store]] = {}
        if len(stores) >= FEWEST:
            for store in stores:
                groups.setdefault(self._form(store.value), []).append(store)
        for group in groups.values():
            start = 0
            while len(group) - start >= FEWEST:
                start += self._run(group[start:])

    def _form(self, root: Scalar) -> int:
        """Return a number that values of one form share."""
        for node in walk((root,)):
            if node in self._forms:
                continue
            key: object = node
            if isinstance(node, Op):
                below = tuple(self._forms[child] for child in node.args)
                key = (node.name, node.dtype, below)
            elif _is_scalar_load(node):
                key = ("load", node.dtype)
            self._forms[node] = self._known.setdefault(key, len(self._known))
        return self._forms[root]

    def _run(self, group: Sequence[Store]) -> int:
        """Look for a run from the first store on; return how many stores were looked at."""
        first, second = group[:2]
        step = _column(first.value, second.value)
        made: list[tuple[Buffer, Buffer]] = []
        length = 1
        if step is not None:
            same = frozenset(node for node, other in step.items() if node is other)
            last: _Column = {node: node for node in step}
            target = first.buffer
            for store in group[1:]:
                column = _column(first.value, store.value)
                if column is None or column.keys() != last.keys():
                    break
                if same != {node for node, other in column.items() if node is other}:
                    break
                pairs = [(target, store.buffer)]
                for node, other in column.items():
                    if type(other) is Load and node not in same:
                        before = last[node]
                        assert type(before) is Load, "nodes of one form"
                        pairs.append((before.buffer, other.buffer))
                moved = {buffer for pair in pairs for buffer in pair}
                new = self.chains.link(pairs) if moved.isdisjoint(self._pointers) else None
                if new is None:
                    break
                made += new
                last, target = column, store.buffer
                length += 1
            if length >= FEWEST:
                run = _Run(list(group[:length]), same)
                self.runs.update((store, run) for store in run.stores)
                return length
        self.chains.unlink(made)
        return length


def _passed(block: Block) -> Iterable[Buffer]:
    """Go through the buffers that calls are given."""
    for statement in block:
        if isinstance(statement, Call):
            yield from (*statement.reads, *statement.writes)
        elif isinstance(statement, Loop):
            yield from _passed(statement.body)
        elif isinstance(statement, While):
            yield from _passed((*statement.before, *statement.body))
        elif isinstance(statement, If):
            for branch in statement.branches:
                yield from _passed(branch)


def _is_scalar(buffer: Buffer) -> bool:
    """Tell whether a buffer is one number that the program keeps for itself."""
    return buffer.space == "local" and buffer.shape == ()


def _is_scalar_load(node: Scalar) -> bool:
    """Tell whether a node is the value of such a buffer."""
    return type(node) is Load and node.guard is None and _is_scalar(node.buffer)


def _column(pattern: Scalar, other: Scalar) -> _Column | None:
    """Return for each node of a pattern what another value of its form has there.

    Nodes that both share are not looked into. None if they do not correspond one to one.
    """
    found: _Column = {}
    stack = [(pattern, other)]
    while stack:
        node, twin = stack.pop()
        if node in found:
            if found[node] is not twin:
                return None
            continue
        found[node] = twin
        if node is twin:
            continue
        if isinstance(node, Op) and isinstance(twin, Op):
            if node.name != twin.name or node.dtype != twin.dtype:
                return None
            stack.extend(zip(node.args, twin.args, strict=True))
        elif not (_is_scalar_load(node) and _is_scalar_load(twin)):
            return None
    return found


class _Writer:
    """Writes the program with arrays in the place of scalars."""

    def __init__(self, nodes: Nodes, search: _Search) -> None:
        """Know the arrays."""
        self.nodes = nodes
        self.runs = search.runs
        self.arrays = search.chains.arrays()

    def block(self, block: Block) -> Block:
        """Return the new form of a block."""
        result: list[Statement] = []
        written: set[int] = set()
        for statement in block:
            run = self.runs.get(statement) if isinstance(statement, Store) else None
            if run is None:
                result.append(self._statement(statement))
            elif id(run) not in written:
                written.add(id(run))
                result.append(self._loop(run))
        return tuple(result)

    def _loop(self, run: _Run) -> Loop:
        """Return the loop for a run."""
        pattern = run.stores[0]
        k = self.nodes.index("k", len(run.stores))
        done: dict[Scalar, Scalar] = {}

        def inside(node: Scalar) -> tuple[Scalar, ...]:
            """Return the operands that differ from store to store."""
            return () if node in run.same or type(node) is Load else children(node)

        for node in walk((pattern.value,), inside):
            if node in run.same:
                (done[node],) = self.values((node,))
            elif type(node) is Load:
                array, place = self.arrays[node.buffer]
                index = self.nodes.index_add(k, place)
                done[node] = self.nodes.load(array, index, None, node.after)
            else:
                assert isinstance(node, Op), "patterns are operations on scalars"
                args = [done[arg] for arg in node.args]
                kind = node.dtype if node.name in ("convert", "bitcast") else None
                done[node] = self.nodes.op(node.name, *args, dtype=kind)
        array, place = self.arrays[pattern.buffer]
        store = Store(array, self.nodes.index_add(k, place), done[pattern.value])
        return Loop(k, len(run.stores), (store,))

    def values(self, roots: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """Return expressions that read from the arrays."""
        changes: dict[int, Scalar] = {}
        for load in loads_in(roots):
            home = self.arrays.get(load.buffer)
            if home is not None:
                array, place = home
                new = self.nodes.load(array, self.nodes.affine(place), None, load.after)
                changes[id(load)] = new
        return replace(self.nodes, roots, changes) if changes else tuple(roots)

    def value(self, root: Scalar) -> Scalar:
        """Return one of them."""
        return self.values((root,))[0]

    def index(self, index: Affine) -> Affine:
        """Return an index in its new form."""
        return self.nodes.affine(self.value(index))

    def _statement(self, statement: Statement) -> Statement:
        """Return the new form of a statement."""
        if isinstance(statement, Store):
            value, guard = self.value(statement.value), statement.guard
            guard = None if guard is None else self.value(guard)
            buffer, index = statement.buffer, self.index(statement.index)
            if buffer in self.arrays:
                buffer, place = self.arrays[buffer]
                index = self.nodes.affine(place)
            return Store(buffer, index, value, guard, statement.accumulate)
        if isinstance(statement, Loop):
            extent = statement.extent
            extent = self.value(extent) if isinstance(extent, Scalar) else extent
            flags = (statement.independent, statement.reverse)
            return Loop(statement.var, extent, self.block(statement.body), *flags)
        if isinstance(statement, While):
            before, body = self.block(statement.before), self.block(statement.body)
            return While(before, self.value(statement.condition), body)
        if isinstance(statement, If):
            branches = tuple(map(self.block, statement.branches))
            return If(self.value(statement.which), branches)
        if isinstance(statement, Call):
            return self._call(statement)
        return statement

    def _call(self, call: Call) -> Call:
        """Return the new form of a call, which reads no scalars through memory."""
        args = []
        for arg in call.args:
            if isinstance(arg, tuple):
                arg = (arg[0], self.index(arg[1]))
            elif isinstance(arg, Scalar):
                arg = self.value(arg)
            args.append(arg)
        return Call(call.symbol, tuple(args), call.reads, call.writes)
