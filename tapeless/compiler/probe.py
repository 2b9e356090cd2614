"""What an operation does with its operands, found out by lowering it once on its own.

The fusion plan must know, before anything is lowered, what an equation costs and how it reads its
operands. Instead of asking every primitive for a second description of itself, the plan lowers
the equation with a scratch builder, on operands that are nothing but buffers, and looks at the
expressions: their operations give the cost, and the loads of each operand's buffer say at how
many points it would be evaluated if it were virtual.

How often a load is evaluated follows from the loops that bind its variables (`cost.py`): a row
vector that is broadcast along columns is evaluated once per element of the result, a column
vector broadcast along rows once per element of its own. A short last axis may be written out and
does not count.

Probes are cached by operation, types and parameters, unless these have functions: a program of ten
thousand equations has few kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tapeless.compiler.cost import evaluations
from tapeless.core.aval import ShapedArray
from tapeless.core.jaxpr import Jaxpr
from tapeless.core.primitive import Primitive
from tapeless.kernel.build import SHORT_AXIS, KernelBuilder, KernelValue
from tapeless.kernel.cheap import is_recipe
from tapeless.kernel.graph import walk
from tapeless.kernel.ir import (
    Affine,
    Block,
    Buffer,
    If,
    Index,
    Load,
    Loop,
    Op,
    Reduce,
    Scalar,
    Store,
    While,
)
from tapeless.kernel.parts import parts_of
from tapeless.kernel.phases import phases_of
from tapeless.kernel.pieces import Piece, pieces_of
from tapeless.transforms.stage import stage_flat
from tapeless.util import lazy
from tapeless.util.records import record

__all__ = ["RECIPE", "Access", "Probe", "probe"]

target = lazy.load("tapeless.compiler.target")  # with LLVM

SERIAL_PENALTY = 4.0
_UNKNOWN_EXTENT = 16
_WEIGHTS = {
    **dict.fromkeys(("div", "rem"), 4.0),
    "sqrt": 5.0,
    "rare": 2.0,
}
RECIPE = 15.0


@record
class Access:
    """One way in which an operand is read.

    evaluations: how many elements would be computed if the operand were virtual; most: the same if
    the loops over the result are in another order, as when it is transposed, so that what depends
    on the outer ones is not computed outside of the inner ones; identity: they are pulled at the
    index of the result's element; serial: inside a loop that runs in order; across: the result's
    loops step inside of a reduction's, as in sums of columns, so that no row is at hand as a whole;
    uncut: where loops are not cut into pieces, inside of a reduction or at a place that is read.
    """

    evaluations: float
    most: float
    identity: bool
    serial: bool = False
    across: bool = False
    uncut: bool = False


@record
class Probe:
    """What was found out about an equation.

    work: operations to compute each result once, its operands given; spent: those of the rule's
    statements, without calls of libraries; recipes: those among them that are many instructions, in
    either, and how often each is evaluated; n_nodes: the size of the
    expression; stored: which results the rule puts into memory itself; reads: the accesses of each
    operand; forced: which operands must be in memory; statements: whether the rule makes any;
    in_pieces: whether a nest that stores a result is cut into pieces (`kernel/pieces.py`);
    decomposed: the program of simpler operations, for an operation without a rule of its own.
    """

    work: tuple[float, ...] = ()
    spent: float = 0.0
    recipes: tuple[tuple[Op, float], ...] = ()
    n_nodes: int = 0
    stored: tuple[bool, ...] = ()
    reads: tuple[tuple[Access, ...], ...] = ()
    forced: tuple[bool, ...] = ()
    statements: bool = False
    in_pieces: bool = False
    decomposed: Jaxpr | None = None


class _ProbeBuilder(KernelBuilder):
    """A builder that notes which operands are forced into memory."""

    def __init__(self) -> None:
        """Nothing is forced yet."""
        super().__init__()
        self.forced: set[Buffer] = set()
        self.has_matrix_registers = target.host_target().matrices
        self.registers = target.host_target().registers

    def stored(self, value: KernelValue) -> KernelValue:
        """Note the operand."""
        if value.buffer is not None:
            self.forced.add(value.buffer)
        return super().stored(value)


_cache: dict[object, Probe] = {}
_CACHE_LIMIT = 4096


def probe(
    prim: Primitive,
    avals: tuple[ShapedArray, ...],
    outs: tuple[ShapedArray, ...],
    params: Mapping[str, Any],
) -> Probe:
    """Find out about the operation `prim` on operands of the types `avals`.

    What is told of an operation that calls a function of the user is not kept: the function, and
    all that it refers to, would live on.
    """
    if any(map(callable, params.values())):
        return _probe(prim, avals, outs, params)
    try:
        key = (prim, avals, outs, tuple(sorted(params.items(), key=lambda item: item[0])))
        found = _cache.get(key)
    except TypeError:
        return _probe(prim, avals, outs, params)
    if found is None:
        if len(_cache) >= _CACHE_LIMIT:
            _cache.clear()
        found = _cache[key] = _probe(prim, avals, outs, params)
    return found


def _probe(
    prim: Primitive,
    avals: tuple[ShapedArray, ...],
    outs: tuple[ShapedArray, ...],
    params: Mapping[str, Any],
) -> Probe:
    """Lower the operation on buffers and survey the result."""
    b = _ProbeBuilder()
    args = [KernelValue(b, aval, buffer=b.new_buffer(aval, "input")) for aval in avals]
    results = prim.lower(b, args, outs, **params)
    if results is NotImplemented:
        return Probe(decomposed=_decompose(prim, avals, params))
    stored = tuple(value.is_stored for value in results)
    survey = _Survey([arg.memory for arg in args])
    statements = b.finish()
    spent = survey.block(statements, 1.0, False)
    work = [survey.pull(b, value) for value in results]
    return Probe(
        work=tuple(work),
        spent=spent,
        recipes=tuple(survey.recipes),
        n_nodes=survey.n_nodes,
        stored=stored,
        reads=tuple(tuple(survey.reads[arg.memory]) for arg in args),
        forced=tuple(arg.buffer in b.forced for arg in args),
        statements=bool(statements),
        in_pieces=survey.in_pieces,
    )


def _decompose(prim: Primitive, avals: tuple[ShapedArray, ...], params: Mapping[str, Any]) -> Jaxpr:
    """Trace the operation in simpler ones."""
    what = f"the decomposition of {prim}"
    return stage_flat(lambda *args: prim.decompose(*args, **params), avals, what)


class _Survey:
    """Collects the accesses to some buffers, and costs."""

    def __init__(self, buffers: Sequence[Buffer]) -> None:
        """buffers: the operands."""
        self.reads: dict[Buffer, list[Access]] = {buffer: [] for buffer in buffers}
        self.recipes: list[tuple[Op, float]] = []
        self.n_nodes = 0
        self.in_pieces = False

    def block(self, block: Block, times: float, serial: bool, bound: dict | None = None) -> float:
        """Survey statements that run `times` times; return the operations that they cost."""
        bound = bound or {}
        work = 0.0
        roots: list[Scalar] = []
        for statement in block:
            if isinstance(statement, Store):
                roots += [statement.index, statement.value]
                roots += [] if statement.guard is None else [statement.guard]
            elif isinstance(statement, Loop):
                extent = statement.extent
                inner = times * (extent if isinstance(extent, int) else _UNKNOWN_EXTENT)
                below = {**bound, statement.var: inner}
                work += self.block(
                    statement.body, inner, serial or not statement.independent, below
                )
            elif isinstance(statement, If):
                for branch in statement.branches:
                    work += self.block(branch, times, serial, bound)
            elif isinstance(statement, While):
                inner = times * _UNKNOWN_EXTENT
                work += self.block((*statement.before, *statement.body), inner, True, bound)
        # What several stores of a block use is computed once. Accesses in statements have no
        # position to compare with.
        return work + self.expressions(roots, dict(bound), frozenset(), None, serial)

    def pull(self, b: KernelBuilder, value: KernelValue) -> float:
        """Survey the expression of a virtual result; return the operations for all elements."""
        if value.is_stored or value.aval.size == 0:
            return 0.0
        nest = b.open_nest(value.shape)
        sizes = [extent for extent in value.shape if extent != 1]
        bound: dict[Index, float] = {}
        times = 1.0
        for var, extent in zip(nest.variables, sizes, strict=True):
            times *= extent
            bound[var] = times
        element = value.at(*nest.index)
        short: set[Index] = set()
        for var, extent in zip(reversed(nest.variables), reversed(sizes), strict=True):
            if extent > SHORT_AXIS or len(short) + 1 == len(sizes):
                break
            short.add(var)
        place = b.flat_index(nest.index, value.shape)
        roots = parts_of(element)
        pieces = pieces_of(b, nest.variables, sizes, roots)
        if len(pieces) > 1:
            self.in_pieces = _chooses(roots)
            work = self._in_pieces(pieces, roots, bound, frozenset(short))
            return work if self.in_pieces else 0.0  # guards cost nothing: any nest is cut
        phases = phases_of(b, nest.variables, sizes, roots)
        if phases:
            return self._in_pieces(phases, roots, bound, frozenset(short))
        return self.expressions(roots, bound, frozenset(short), place, False)

    def _in_pieces(
        self,
        pieces: Sequence[Piece],
        roots: Sequence[Scalar],
        bound: dict[Index, float],
        short: frozenset[Index],
    ) -> float:
        """Note the accesses of each piece of a nest; return what choosing costs as a whole."""
        noted = {buffer: list(accesses) for buffer, accesses in self.reads.items()}
        work = self.expressions(roots, bound, short, None, False)
        self.reads = noted
        for piece in pieces:
            inner: dict[Index, float] = {}
            times = 1.0
            for var, extent in zip(piece.variables, piece.sizes, strict=True):
                times *= extent
                inner[var] = times
            nodes = walk(piece.roots)
            count = evaluations(inner, nodes)
            for node in nodes:
                if isinstance(node, Load):
                    self._note(node, count, inner, frozenset(), None, False)
        return work

    def expressions(
        self,
        roots: Iterable[Scalar],
        bound: dict[Index, float],
        short: frozenset[Index],
        place: Affine | None,
        serial: bool,
    ) -> float:
        """Note the accesses in some expressions; return the operations that they cost.

        bound: how often the body of the loop of each variable runs; place: the result's position.
        """
        nodes = walk(roots)
        times = evaluations(bound, nodes, short)
        work = 0.0
        for node in nodes:
            if isinstance(node, Load):
                self._note(node, times, bound, short, place, serial)
            elif isinstance(node, Op):
                count = times(node.free)
                weight = _WEIGHTS.get(node.name, 1.0)
                if is_recipe(node):
                    weight = RECIPE
                    self.recipes.append((node, count))
                work += weight * count
                self.n_nodes += 1
            elif isinstance(node, Reduce):
                work += times(node.free) * node.extent
                self.n_nodes += 1
        return work

    def _note(
        self,
        load: Load,
        times: Callable,
        bound: dict[Index, float],
        short: frozenset[Index],
        place: Affine | None,
        serial: bool,
    ) -> None:
        """Note a load of an operand."""
        accesses = self.reads.get(load.buffer)
        if accesses is None:
            return
        free = load.index.free if load.guard is None else load.free
        count = times(free)
        most = count
        if not free.isdisjoint(bound):
            most = max(count, *(times for var, times in bound.items() if var not in short))
        across = _is_across(load.index, frozenset(bound) - short)
        uncut = not free <= bound.keys() or any(isinstance(x, Load) for x in walk((load.index,)))
        accesses.append(Access(count, most, load.index is place, serial, across, uncut))


def _chooses(roots: Sequence[Scalar]) -> bool:
    """Tell whether an element is one of several, not an element or the same value everywhere."""
    return any(
        isinstance(node, Op) and node.name == "select" and all(arg.free for arg in node.args[1:])
        for node in walk(roots)
    )


def _is_across(index: Affine, loops: frozenset[Index]) -> bool:
    """Tell whether a reduction takes larger steps in memory than the loops around it."""
    outer = [index.stride(var) or 0 for var in index.free & loops]
    reduced = [index.stride(var) or 0 for var in index.free - loops]
    return bool(outer and reduced) and max(reduced) > min(outer)
