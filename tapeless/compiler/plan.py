"""How a loop is to be run: which variable becomes lanes, and how many of them.

The choice is by a rough count of instructions. For a set of expressions one lists every node once
and multiplies its cost by the extents of the variables it depends on: that is how often the
emitter will compute it. With a variable as lanes, what depends on it costs a lane's share of one
vector instruction, except loads that are not contiguous in it: those cost one each.

A row-wise sum thus makes the reduction's variable the lanes (its loads are contiguous), a
column-wise sum the loop's. Costs are relative to one addition; nothing depends on their being
exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from tapeless.compiler.formats import format_of
from tapeless.compiler.lanes import interleaving
from tapeless.compiler.matrixtiles import PRODUCT
from tapeless.compiler.operations import is_operation
from tapeless.compiler.placetext import PLACES
from tapeless.kernel.fourier import FOURIER, fourier_of, work_of
from tapeless.kernel.ir import (
    Affine,
    Alloc,
    Block,
    Buffer,
    Call,
    Const,
    If,
    Index,
    Load,
    Loop,
    Op,
    Reduce,
    Scalar,
    Statement,
    Store,
    While,
    ends_in_fault,
)
from tapeless.kernel.panels import PANELS, panel_of
from tapeless.kernel.sorters import SORTERS
from tapeless.kernel.strips import STRIPS, strip_of
from tapeless.prims.blas import NARROW
from tapeless.util.records import record

__all__ = [
    "Costs",
    "Survey",
    "block_weight",
    "buffers_of",
    "is_in_place",
    "local_buffers",
    "prefers_lanes",
    "static_extent",
    "survey",
    "tail_pieces",
    "total_weight",
    "vector_lanes",
    "weight",
    "writes",
]

_WEIGHTS = {"div": 4, "rem": 8, "sqrt": 6, "convert": 1.5, "rare": 2}
_MOST = 1e18  # operations; loops within a hundred loops are no more, and are no infinity
_SORTED = 0.5  # for each element, and each halving of a line
_RECIPE = 22
_CHEAP = 8
_INT64 = np.dtype(np.int64)


@record
class Survey:
    """The nodes of some expressions, each once, and the extents of the reductions among them."""

    nodes: tuple[Scalar, ...]
    extents: dict[Index, int]


def survey(scalars: Iterable[Scalar]) -> Survey:
    """List the nodes of `scalars`."""
    seen: dict[Scalar, None] = {}
    extents: dict[Index, int] = {}
    stack = list(scalars)
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen[node] = None
        if type(node) is Op:
            stack += node.args
        elif type(node) is Affine:
            stack += [term for term, _ in node.terms]
        elif type(node) is Load:
            stack += [term for term, _ in node.index.terms]
            if node.guard is not None:
                stack.append(node.guard)
        elif type(node) is Reduce:
            extents[node.var] = node.extent
            stack += (*node.elements, *node.inits)
    return Survey(tuple(seen), extents)


def weight(node: Scalar) -> float:
    """The cost of computing a node once, its operands being known."""
    if type(node) is Op:
        return _WEIGHTS.get(node.name, 1 if is_operation(node.name) else _RECIPE)
    if type(node) is Affine:
        return 0.25
    return 0 if type(node) is Const or type(node) is Index else 1


def _times(node: Scalar, extents: dict[Index, int]) -> int:
    """How often a node is computed, given the extents of the variables that matter."""
    times = 1
    if extents:
        for var in node.free:
            times *= extents.get(var, 1)
    if type(node) is Reduce:
        times *= node.extent
    return times


def total_weight(found: Survey) -> float:
    """The cost of all nodes, those inside reductions counted as often as they are computed."""
    return sum(weight(node) * _times(node, found.extents) for node in found.nodes)


def block_weight(block: Block, var: Index | None = None) -> float:
    """Estimate the instructions of one run of a block, or infinity if it does not only store.

    var: a variable, if what does not depend on it is not counted.
    """
    total = 0.0
    for statement in block:
        if isinstance(statement, Store):
            nodes = survey((statement.value, statement.index)).nodes
            total += 1 + sum(weight(node) for node in nodes if var is None or var in node.free)
        elif isinstance(statement, Loop) and isinstance(statement.extent, int):
            total += statement.extent * block_weight(statement.body, var)
        elif isinstance(statement, If):
            total += sum(block_weight(branch, var) for branch in statement.branches)
        elif not isinstance(statement, Alloc):
            return math.inf
    return total


def _call_cost(call: Call) -> float:
    """The cost of a foreign call: known for products of matrices, else that of factoring one."""
    if call.symbol == PRODUCT:
        return max(1000, math.prod(_sizes(call.args[3:6])) * 256)
    if call.symbol.startswith(STRIPS):
        strip = strip_of(call.symbol)
        return max(1, strip.rows * strip.width * strip.terms / 8)
    if call.symbol.startswith(PANELS):
        panel = panel_of(call.symbol)
        return max(1, panel.rows * panel.width * math.prod(_sizes(call.args[3:4])) / 8)
    if call.symbol == PLACES:
        return max(1, math.prod(_sizes(call.args[3:4])) / 4)
    if call.symbol.startswith(SORTERS):
        (size,) = _sizes(call.args[-3:-2])
        return _SORTED * size * size.bit_length()
    if call.symbol.startswith(FOURIER):
        return max(1, work_of(fourier_of(call.symbol), _sizes(call.args)) / 8)
    if not call.symbol.endswith("gemm"):
        largest = max((buffer.size for buffer in (*call.reads, *call.writes)), default=0)
        return 1000 + largest**1.5
    m, n, k = _sizes(call.args[2:5])
    return max(1000, n * (m + NARROW) * k / 8)


def _sizes(args: Sequence[object]) -> list[int]:
    """Return the sizes that are known, and 1 for others."""
    return [int(size.value) if isinstance(size, Const) else 1 for size in args]


class Costs:
    """Estimates of what statements cost, each made once."""

    def __init__(self) -> None:
        """Start without estimates."""
        self._known: dict[Statement, float] = {}
        self._blocks: dict[Block, float] = {}

    def block(self, block: Block) -> float:
        """The cost of running a block once; what several of its stores use is computed once."""
        found = self._blocks.get(block)
        if found is None:
            stores = [statement for statement in block if isinstance(statement, Store)]
            parts = [
                part for s in stores for part in (s.value, s.index, s.guard) if part is not None
            ]
            found = len(stores) + total_weight(survey(parts))
            others = (statement for statement in block if not isinstance(statement, Store))
            found += sum(map(self.statement, others))
            self._blocks[block] = found
        return found

    def statement(self, statement: Statement) -> float:
        """The cost of a statement, about the number of operations on elements, at most `_MOST`."""
        found = self._known.get(statement)
        if found is None:
            found = self._known[statement] = min(_MOST, self._estimate(statement))
        return found

    def _estimate(self, statement: Statement) -> float:
        """Estimate; loops of unknown length count as 1000 iterations."""
        if isinstance(statement, Store):
            return self.block((statement,))
        if isinstance(statement, Loop):
            extent = statement.extent if isinstance(statement.extent, int) else 1000
            return extent * (1 + self.block(statement.body))
        if isinstance(statement, If):
            usual = [branch for branch in statement.branches if not ends_in_fault(branch)]
            return 2 + max(map(self.block, usual), default=0)
        if isinstance(statement, While):
            return 1000 * (2 + self.block(statement.before) + self.block(statement.body))
        return _call_cost(statement) if isinstance(statement, Call) else 0


def local_buffers(block: Block) -> frozenset[Buffer]:
    """The local buffers that a block reads or writes."""
    return frozenset(buffer for buffer in buffers_of(block) if buffer.space == "local")


def buffers_of(block: Block) -> set[Buffer]:
    """The buffers that a block reads or writes."""
    found: set[Buffer] = set()
    scalars: list[Scalar] = []
    stack: list[Statement] = list(block)
    while stack:
        statement = stack.pop()
        if isinstance(statement, Store):
            found.add(statement.buffer)
            parts = (statement.value, statement.index, statement.guard)
            scalars.extend(part for part in parts if part is not None)
        elif isinstance(statement, Loop):
            stack.extend(statement.body)
            if not isinstance(statement.extent, int):
                scalars.append(statement.extent)
        elif isinstance(statement, If):
            scalars.append(statement.which)
            stack.extend(inner for branch in statement.branches for inner in branch)
        elif isinstance(statement, While):
            scalars.append(statement.condition)
            stack.extend((*statement.before, *statement.body))
        elif isinstance(statement, Call):
            found.update((*statement.reads, *statement.writes))
            scalars.extend(arg[1] for arg in statement.args if isinstance(arg, tuple))
            scalars.extend(arg for arg in statement.args if isinstance(arg, Scalar))
    found.update(node.buffer for node in survey(scalars).nodes if isinstance(node, Load))
    return found


def _is_contiguous(node: Load, var: Index) -> bool:
    """Tell whether lanes of `var` are one vector load."""
    stride = node.index.stride(var)
    return stride in (0, 1, -1) or interleaving(node.buffer, node.index, var) > 0


def _good_variables(found: Survey) -> frozenset[Index]:
    """The reduction variables along which most loads are contiguous."""
    score: dict[Index, int] = {}
    for node in found.nodes:
        if isinstance(node, Load):
            for var in node.free & found.extents.keys():
                score[var] = score.get(var, 0) + (1 if _is_contiguous(node, var) else -1)
    return frozenset(
        var for var in found.extents if score.get(var, 1) > 0 and found.extents[var] > 3
    )


def prefers_lanes(
    found: Survey, stores: Iterable[Store], var: Index, extent: int, lanes: int
) -> bool:
    """Tell whether the loop over `var` should become lanes, rather than the reductions inside."""
    inner = [v for v in found.extents if any(var in n.free and v in n.free for n in found.nodes)]
    if not inner:
        return True
    extents = {**found.extents, var: extent}
    good = _good_variables(found)
    outer_cost = inner_cost = 0.0
    for node in found.nodes:
        cost = weight(node) * _times(node, extents)
        if var in node.free:
            scattered = isinstance(node, Load) and not _is_contiguous(node, var)
            outer_cost += cost if scattered else cost / lanes
            helped = good & node.free or (isinstance(node, Reduce) and node.var in good)
            inner_cost += cost / lanes if helped else cost
            if isinstance(node, Reduce):
                inner_cost += 16 * _times(node, extents) / node.extent
    for store in stores:
        outer_cost += extent / (lanes if store.index.stride(var) in (1, -1) else 1)
        inner_cost += extent
    return outer_cost <= inner_cost


def vector_lanes(
    found: Survey, stores: Iterable[Store], var: Index, extent: int, vector_bytes: int
) -> int:
    """Choose the number of lanes for `var`: one register of the widest dtype, or a few if cheap.

    stores: none for a reduction whose variable becomes the lanes; it has several accumulators, to
    hide the latency of additions. A loop around reductions is wide to use whole cache lines. What
    needs recipes has a whole register at least, so that few variants of a recipe are needed.
    """
    stores = tuple(stores)
    narrow = _places(found, stores)
    widest, heavy, reduces = 1, 0.0, False
    for node in found.nodes:
        reduces = reduces or type(node) is Reduce
        if type(node) is Index or type(node) is Affine or var not in node.free:
            continue
        heavy += weight(node)
        if type(node) is Op and node.name == "convert" and type(node.args[0]) is Affine:
            heavy += 1
        form = format_of(node.dtype)
        if (
            form.size > widest
            and node not in narrow
            and (type(node) is Load or form.kind != "bool")
        ):  # flags' lanes are bits
            widest = form.size
    for store in stores:
        widest = max(widest, format_of(store.buffer.dtype).size)
        heavy += 1
    lanes = vector_bytes // widest
    several = 2 if heavy <= 2 * _CHEAP else 1
    if heavy <= _CHEAP:
        several = 8 if reduces else 2 if stores else 4
    elif reduces and stores and heavy <= 3 * _RECIPE:
        several = 4
    while several > 1 and several * lanes > (2 * extent - 1 if reduces else extent):
        several //= 2
    lanes *= several
    while lanes > 2 and lanes // 2 >= extent:
        lanes //= 2
    return lanes


def _places(found: Survey, stores: Iterable[Store]) -> set[Scalar]:
    """Return the narrow integers that are made wide for addresses only, where they stay narrow."""
    wide: set[Scalar] = {
        node
        for node in found.nodes
        if type(node) is Op and node.name == "convert" and _widens(node)
    }
    if wide:
        values = [store.value for store in stores]
        for node in found.nodes:
            if type(node) is Op:
                values += node.args
            elif type(node) is Reduce:
                values += (*node.elements, *node.inits)
        wide.difference_update(values)
        for value in values:
            if type(value) is Affine:
                wide.difference_update(term for term, _ in value.terms)
    return wide


def _widens(node: Op) -> bool:
    """Tell whether a conversion makes an integer one of 64 bits."""
    narrow = node.args[0].dtype
    return node.dtype == _INT64 and narrow.kind in "iu" and narrow.itemsize < _INT64.itemsize


def static_extent(loop: Loop) -> int:
    """The extent of a loop that is known to have a static one."""
    assert isinstance(loop.extent, int), "the loop's extent is computed"
    return loop.extent


def writes(block: Block) -> frozenset[Buffer]:
    """The buffers that a block may write."""
    found: set[Buffer] = set()
    stack: list[Statement] = list(block)
    while stack:
        statement = stack.pop()
        if isinstance(statement, Store):
            found.add(statement.buffer)
        elif isinstance(statement, Loop):
            stack.extend(statement.body)
        elif isinstance(statement, If):
            stack.extend(inner for branch in statement.branches for inner in branch)
        elif isinstance(statement, While):
            stack.extend((*statement.before, *statement.body))
        elif isinstance(statement, Call):
            found.update(statement.writes)
    return frozenset(found)


def is_in_place(block: Block) -> bool:
    """Tell whether stores are to memory that the same block reads."""
    stores = [statement for statement in block if isinstance(statement, Store)]
    nodes = survey([store.value for store in stores]).nodes
    read = {node.buffer for node in nodes if isinstance(node, Load)}
    return any(store.accumulate is not None or store.buffer in read for store in stores)


def tail_pieces(rest: int, lanes: int, whole_stores: bool) -> list[tuple[int, int]]:
    """Return the lanes of the vectors for the last positions of a loop, and how many are wanted.

    There is one vector with a mask, if any. whole_stores: there are several without, since a load
    waits long for a store that had a mask, and the next row's begins where this one ends.
    """
    if not whole_stores:
        return [(lanes, rest)] if rest else []
    sizes = [1 << bit for bit in reversed(range(rest.bit_length())) if rest >> bit & 1]
    return [(size, size) for size in sizes]


def is_over_registers(block: Block) -> bool:
    """Tell whether statements write nothing but scalars that live in registers."""
    for statement in block:
        if isinstance(statement, Store):
            fine = statement.buffer.space == "local" and statement.buffer.size == 1
        elif isinstance(statement, While):
            fine = is_over_registers(statement.before) and is_over_registers(statement.body)
        elif isinstance(statement, If):
            fine = all(map(is_over_registers, statement.branches))
        else:
            fine = False
        if not fine:
            return False
    return True
