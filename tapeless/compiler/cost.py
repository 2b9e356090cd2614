"""How often things happen: the arithmetic behind the fusion plan and behind `cost_analysis`.

An expression is evaluated once per iteration of the innermost loop that binds one of its variables,
since the emitter hoists what does not depend on inner loops. `evaluations` turns that into a
function of the set of variables.

`costs` counts the operations and the bytes of a whole program, `block_costs` those of a part. Bytes
are those of all loads and stores, whether they reach memory or the cache; a loop of unknown length
counts as one iteration. Products by BLAS count as their sizes say: each factor is read once. Other
routines of libraries are not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from tapeless.compiler.matrixtiles import PRODUCT, SQUARE
from tapeless.compiler.program import Program
from tapeless.kernel.cheap import ARITHMETIC, is_recipe
from tapeless.kernel.fourier import FOURIER, bytes_of, fourier_of, work_of
from tapeless.kernel.graph import walk
from tapeless.kernel.ir import (
    Block,
    Call,
    Const,
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
from tapeless.kernel.panels import PANELS, Words, panel_of
from tapeless.kernel.strips import STRIPS, strip_of
from tapeless.util.records import record

__all__ = ["block_costs", "costs", "evaluations", "reductions"]

Counts = Mapping[Index, float]
Free = frozenset[Index]
_SIZES = {"gemm": slice(2, 5), "gemv": slice(1, 3)}  # where a routine has its sizes


def reductions(nodes: Iterable[Scalar]) -> tuple[dict[Index, Free], dict[Index, int]]:
    """Return, per variable of a reduction, the variables around it, and its extent."""
    frees: dict[Index, Free] = {}
    extents: dict[Index, int] = {}
    for node in nodes:
        if isinstance(node, Reduce):
            extents[node.var] = node.extent
            frees[node.var] = frees.get(node.var, node.free) | node.free
    return frees, extents


def evaluations(
    bound: Counts, nodes: Iterable[Scalar], short: Free = frozenset(), base: float = 1.0
) -> Callable[[Free], float]:
    """Return the function that tells how often an expression with given variables is evaluated.

    bound: how often the body of each variable's loop runs; short: axes that are written out, which
    an expression that does not need them is not repeated for; base: the count without variables.
    """
    frees, extents = reductions(nodes)
    known: dict[Free, float] = {}

    def times(free: Free) -> float:
        """Take the innermost loop."""
        found = known.get(free)
        if found is not None:
            return found
        counts = [base]
        for var in free:
            if var in extents:
                outer = (frees[var] - short) | (free & short)
                counts.append(times(outer - {var}) * extents[var])
            else:
                counts.append(bound.get(var, base))
        known[free] = found = max(counts)
        return found

    return times


def costs(program: Program) -> dict[str, float]:
    """Return the floating-point operations, transcendental ones apart, and the bytes accessed."""
    return block_costs(program.body)


def block_costs(block: Block) -> dict[str, float]:
    """Return the same of statements at the top of a program."""
    total = {"flops": 0.0, "transcendentals": 0.0, "bytes accessed": 0.0}
    _add_block(total, block, _Place(1.0, 1.0, {}))
    return total


@record
class _Place:
    """How often a block runs; and how often the innermost loop that runs in order does, below
    which nothing is hoisted that reads memory the loop changes.
    """

    times: float
    serial: float
    bound: dict[Index, float]

    def inside(self, loop: Loop) -> _Place:
        """Return the place of the body of a loop."""
        times = self.times * (loop.extent if isinstance(loop.extent, int) else 1)
        serial = self.serial if loop.independent else times
        return _Place(times, serial, {**self.bound, loop.var: times})


def _add_block(total: dict[str, float], block: Block, place: _Place) -> None:
    """Add the costs of statements."""
    stores = [statement for statement in block if isinstance(statement, Store)]
    _add_stores(total, stores, place)
    for statement in block:
        if isinstance(statement, Loop):
            _add_block(total, statement.body, place.inside(statement))
        elif isinstance(statement, If):
            for branch in statement.branches:
                _add_block(total, branch, place)
        elif isinstance(statement, While):
            _add_block(total, (*statement.before, *statement.body), place)
        elif isinstance(statement, Call):
            _add_call(total, statement, place.times)


def _add_call(total: dict[str, float], call: Call, times: float) -> None:
    """Add the costs of a product: `gemm` of m, n and k, `gemv` of rows and columns, or in tiles."""
    if call.symbol == PRODUCT:
        m, n, k = (SQUARE * arg.value for arg in call.args[3:6] if isinstance(arg, Const))
        total["flops"] += times * 2 * m * n * k
        total["bytes accessed"] += times * (2 * (m * k + k * n) + 4 * m * n)
        return
    if call.symbol.startswith(STRIPS):
        strip = strip_of(call.symbol)
        results = strip.rows * strip.width
        total["flops"] += times * 2 * results * strip.terms
        total["bytes accessed"] += times * results * strip.dtype.itemsize
        return
    if call.symbol.startswith(PANELS):
        panel = panel_of(call.symbol)
        results = panel.rows * panel.width
        (terms,) = (arg.value for arg in call.args[3:4] if isinstance(arg, Const))
        total["flops"] += times * (4 if isinstance(panel.dtype, Words) else 2) * results * terms
        # What a factor has is read from memory once, and from a cache after that.
        numbers = times * results
        for factor, lines in zip(call.reads, (panel.rows, panel.width), strict=False):
            numbers += min(times * lines * terms, factor.size)
        total["bytes accessed"] += numbers * panel.dtype.itemsize
        return
    if call.symbol.startswith(FOURIER):
        routine = fourier_of(call.symbol)
        sizes = [arg.value if isinstance(arg, Const) else 1 for arg in call.args]
        total["flops"] += times * work_of(routine, sizes)
        total["bytes accessed"] += times * bytes_of(routine, sizes)
        return
    routine = call.symbol.rpartition(":")[2][1:]
    if not call.symbol.startswith("blas:") or routine not in _SIZES:
        return
    sizes = [arg.value for arg in call.args[_SIZES[routine]] if isinstance(arg, Const)]
    if routine == "gemv":
        sizes.insert(1, 1)  # the vector is a matrix of one column
    m, n, k = sizes
    parts = 2 if call.symbol.rpartition(":")[2][0] in "cz" else 1  # a complex product is four
    width = parts * call.writes[0].dtype.itemsize
    total["flops"] += times * parts**2 * 2 * m * n * k
    total["bytes accessed"] += times * width * (m * k + k * n + m * n)


def _add_stores(total: dict[str, float], stores: Sequence[Store], place: _Place) -> None:
    """Add the costs of the stores of a block, which share their expressions."""
    roots: list[Scalar] = []
    for store in stores:
        total["bytes accessed"] += place.times * store.buffer.dtype.itemsize
        roots += [store.value] if store.guard is None else [store.value, store.guard]
    nodes = walk(roots)
    count = evaluations(place.bound, nodes, base=place.serial)
    for node in nodes:
        if type(node) is Load:
            total["bytes accessed"] += count(node.free) * node.dtype.itemsize
        elif type(node) is Reduce and node.dtype.kind in "fV":
            total["flops"] += count(node.free) * node.extent
        elif type(node) is Op and is_recipe(node):
            total["transcendentals"] += count(node.free)
        elif type(node) is Op and node.name in ARITHMETIC and node.dtype.kind in "fV":
            total["flops"] += count(node.free)
