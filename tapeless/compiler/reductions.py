"""Reductions: along lanes, across them, or one step after the other.

Three shapes of code, chosen by where lanes are. In a region without lanes, a reduction over a
contiguous variable makes that variable the lanes: partial results accumulate in every lane and are
combined at the end. In a region whose lanes stand for an outer variable, each lane reduces for
itself in a loop. Anything else, and every reduction whose combination is a function, goes step by
step in index order.

Errors of long sums grow with the logarithm of their length, as those of pairwise sums do. Each lane
adds runs of `_RUN` terms, runs of `_RUN` totals of these, and so on: a nest of loops, one for each
level, around one copy of what computes a term. The totals of chunks are added in the same way, and
the lanes halves first. The order of additions depends on extents and on the width of the machine's
registers, never on the number of threads. Narrow floats accumulate in float32 and are rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tapeless.compiler.formats import constant, format_of, typed
from tapeless.compiler.interrupts import emit_poll
from tapeless.compiler.lanes import add, ask, displace, multiply, tail_mask
from tapeless.compiler.operations import identity, operate, round_narrow
from tapeless.compiler.ordered import from_ordered, ordered_format, to_ordered
from tapeless.compiler.plan import prefers_lanes, survey, total_weight, vector_lanes
from tapeless.compiler.regions import Counter, Region, Value
from tapeless.compiler.slices import chunk_length
from tapeless.compiler.tasks import close_task, open_task
from tapeless.compiler.values import Values
from tapeless.kernel.ir import Affine, Buffer, Load, Op, Reduce, Scalar

__all__ = ["emit_reduce"]

_RUN = 16
_STRETCH = 256  # steps between polls; chunks are made of so many
_UNROLLED = 8
_AHEAD = 8  # rows
_FAR = 1 << 10  # bytes between rows that no stream of the processor follows
_LINE = 64
_POLLED = 1 << 16
_FLOAT32 = format_of(np.dtype(np.float32))

_More = Callable[[Region, list[str]], list[str]]  # what folds one more position


def emit_reduce(
    values: Values,
    region: Region,
    reduce: Reduce,
) -> tuple[Value, ...]:
    """Emit a reduction at the end of `region`; one value for each of its results."""
    dependent = region.vector_var is not None and region.vector_var in reduce.free
    lanes = region.lanes if dependent else 1
    if reduce.extent == 0:
        return tuple(values.value(region, init) for init in reduce.inits)
    if not isinstance(reduce.combine, str):
        return _stepwise_function(values, region, reduce, lanes)
    if lanes == 1:
        inner = survey(reduce.elements)
        width = vector_lanes(
            inner, (), reduce.var, reduce.extent, region.function.module.target.vector_bytes
        )
        if reduce.extent > 3 and prefers_lanes(inner, (), reduce.var, reduce.extent, width):
            return _across(values, region, reduce, width)
    return _stepwise(values, region, reduce, lanes)


class _Fold:
    """A reduction with a named combination: how partial results are kept and combined.

    lanes: of the partial results; step: how far apart positions are, `lanes` when the reduction's
    variable is the lanes, else 1. There is one partial result for each of the elements.
    """

    def __init__(
        self,
        values: Values,
        reduce: Reduce,
        lanes: int,
        step: int,
    ) -> None:
        """Prepare to fold."""
        assert isinstance(reduce.combine, str), "the reduction combines with a function"
        self.values = values
        self.reduce = reduce
        self.lanes = lanes
        self.step = step
        self.combine = reduce.combine
        self.form = format_of(reduce.dtype)
        self.inner = _FLOAT32 if self.form.narrow else self.form
        self.ordered = self.combine in ("min", "max") and self.form.kind == "float"
        if self.ordered:
            self.inner = ordered_format(self.form)
        self.kind = typed(self.inner.register, lanes)
        self.neutral = constant(identity(self.combine, self.inner), self.inner.register, lanes)

    def start(self) -> list[str]:
        """Partial results of nothing."""
        return [self.neutral] * len(self.reduce.elements)

    def elements(self, region: Region) -> list[str]:
        """The elements at the position that `region` stands for."""
        return self.partial(region, self.reduce.elements, self.lanes)

    def partial(self, region: Region, scalars: Sequence[Scalar], lanes: int) -> list[str]:
        """Some scalars as partial results."""
        texts = [self.values.lanes(region, scalar, lanes) for scalar in scalars]
        if self.ordered:
            return [to_ordered(region, self.combine, x, self.form, lanes) for x in texts]
        return texts

    def combined(
        self,
        region: Region,
        x: list[str],
        y: list[str],
        lanes: int,
    ) -> list[str]:
        """Combine two sets of partial results."""
        inner, results = self.inner, []
        for left, right in zip(x, y, strict=True):
            pair = [left, right]
            result = operate(region, self.combine, pair, inner, inner, lanes)
            results.append(result)
        return results

    def rounded(
        self,
        region: Region,
        results: list[str],
        lanes: int,
    ) -> tuple[Value, ...]:
        """Give the results in the reduction's own dtype."""
        if self.ordered:
            results = [
                from_ordered(region, self.combine, result, self.form, lanes) for result in results
            ]
        elif self.form.narrow:
            results = [round_narrow(region, result, self.form, lanes) for result in results]
        kind = typed(self.form.register, lanes)
        return tuple(Value(result, lanes, kind) for result in results)

    def run(
        self,
        region: Region,
        totals: list[str],
        start: str,
        steps: int,
    ) -> list[str]:
        """Fold `steps` positions from `start` on into `totals`; long sums go in runs of runs."""

        def more(inside: Region, totals: list[str]) -> list[str]:
            """Fold one more position."""
            texts = self.elements(inside)
            self._prefetch(inside)
            return self.combined(inside, totals, texts, self.lanes)

        stop = add(region, start, str(steps * self.step))
        return self._runs(region, totals, start, stop, self._spans(steps, self.step), more)

    def _spans(self, steps: int, step: int) -> list[int]:
        """Return how long runs are at each level, in positions: the longest first, a step last."""
        spans = [step]
        if self.combine == "add" and self.form.kind == "float":
            while steps * step > 2 * _RUN * spans[0]:
                spans.insert(0, _RUN * spans[0])
        return spans

    def _runs(
        self,
        region: Region,
        totals: list[str],
        start: str,
        stop: str,
        spans: Sequence[int],
        more: _More,
    ) -> list[str]:
        """Fold positions into `totals`: runs of the longest span, each from nothing, in order."""
        span, inner = spans[0], spans[1:]
        var = None if inner else self.reduce.var
        counter = Counter(region, start, var=var, lanes=1 if inner else span)
        before = [counter.carry(self.kind, total) for total in totals]
        inside = counter.region
        if inner:
            behind = add(inside, counter.index, str(span))
            inside.declare("llvm.smin.i64", "i64 (i64, i64)")
            end = inside.emit(f'call i64 @"llvm.smin.i64"(i64 {behind}, i64 {stop})')
            run = self._runs(inside, self.start(), counter.index, end, inner, more)
            after = self.combined(inside, before, run, self.lanes)
        else:
            after = more(inside, before)
        if span == _STRETCH * self.step:
            emit_poll(inside, _STRETCH * self.lanes)
        counter.close(stop, span, after)
        return after

    def _prefetch(self, region: Region) -> None:
        """Ask for rows further on, where the work on a row keeps the processor from looking ahead.

        Prefetches never fault: the last ones ask for memory behind the array. What a reduction
        within this one loads at positions of its own is none of this loop's rows.
        """
        var, nodes = region.vector_var, survey(self.reduce.elements).nodes
        if (
            self.step > 1
            or var is None
            or not (self.ordered or any(isinstance(x, Op) for x in nodes))
        ):
            return
        outside = frozenset().union(*(scalar.free for scalar in self.reduce.elements))
        for node in nodes:
            if not isinstance(node, Load) or not node.free <= outside:
                continue
            if node.index.stride(var) != 1:
                continue
            step = (node.index.stride(self.reduce.var) or 0) * node.dtype.itemsize
            if abs(step) < _FAR:
                continue
            pointer = self.values.address(region, node.buffer, node.index)
            for line in range(0, region.lanes * node.dtype.itemsize, _LINE):
                ask(region, displace(region, pointer, "i8", str(_AHEAD * step + line)))

    def run_shared(
        self,
        region: Region,
        steps: int,
    ) -> list[str]:
        """Fold `steps` vectors; a long reduction is shared among threads.

        Each chunk stores its partial results, and the chunks are combined in order.
        """
        weight = total_weight(survey(self.reduce.elements))
        length = chunk_length(steps, steps * weight * self.lanes, _STRETCH)
        if length is None or region.function.outer is not None:
            return self.run(region, self.start(), "0", steps)
        n_chunks = steps // length
        n_parts = n_chunks * len(self.start())
        parts = region.function.slot(f"[{n_parts} x {self.kind}]")
        root = open_task(region, frozenset())
        first = root.emit(f"mul i64 %chunk, {length * self.lanes}")
        shares = self.run(root, self.start(), first, length)
        base = root.function.capture(parts, "ptr")
        for number, share in enumerate(shares):
            place = self._place(root, base, "%chunk", number)
            root.do(f"store {self.kind} {share}, ptr {place}, align 4")
        close_task(region, root, n_chunks)
        after = self._gathered(region, parts, n_chunks)
        done = n_chunks * length
        if done == steps:
            return after
        place = str(done * self.lanes)
        rest = self.run(region, self.start(), place, steps - done)
        return self.combined(region, after, rest, self.lanes)

    def _gathered(
        self,
        region: Region,
        parts: str,
        n_chunks: int,
    ) -> list[str]:
        """Combine the partial results of all chunks, in order."""

        def more(inside: Region, totals: list[str]) -> list[str]:
            """Add the next chunk's."""
            shares = []
            for number in range(len(totals)):
                place = self._place(inside, parts, inside.position, number)
                shares.append(inside.emit(f"load {self.kind}, ptr {place}, align 4"))
            return self.combined(inside, totals, shares, self.lanes)

        spans = self._spans(n_chunks, 1)
        return self._runs(region, self.start(), "0", str(n_chunks), spans, more)

    def _place(
        self,
        region: Region,
        base: str,
        chunk: str,
        number: int,
    ) -> str:
        """Give the address of one partial result of a chunk."""
        start = multiply(region, chunk, len(self.reduce.elements))
        position = add(region, start, str(number))
        return region.emit(f"getelementptr {self.kind}, ptr {base}, i64 {position}")


def _across(
    values: Values,
    region: Region,
    reduce: Reduce,
    lanes: int,
) -> tuple[Value, ...]:
    """Reduce with the reduction's variable as lanes."""
    fold = _Fold(values, reduce, lanes, lanes)
    whole, rest = divmod(reduce.extent, lanes)
    totals = fold.run_shared(region, whole) if whole else fold.start()
    if rest:
        mask = tail_mask(rest, lanes)
        last = region.instance(reduce.var, str(whole * lanes), lanes=lanes, mask=mask)
        flags, kind = typed("i1", lanes), fold.kind
        texts = [
            region.emit(f"select {flags} {mask}, {kind} {text}, {kind} {fold.neutral}")
            for text in fold.elements(last)
        ]
        totals = fold.combined(region, totals, texts, lanes) if whole else texts
    single = [_horizontal(region, fold, total) for total in totals]
    inits = fold.partial(region, reduce.inits, 1)
    return fold.rounded(region, fold.combined(region, inits, single, 1), 1)


def _horizontal(
    region: Region,
    fold: _Fold,
    text: str,
) -> str:
    """Combine the lanes of one partial result, halves first."""
    lanes, register = fold.lanes, fold.inner.register
    while lanes > 2:
        half, kind = lanes // 2, typed(register, lanes)
        parts = []
        for start in (0, half):
            order = ", ".join(f"i32 {lane}" for lane in range(start, start + half))
            picked = f"{kind} {text}, {kind} poison, <{half} x i32> <{order}>"
            parts.append([region.emit(f"shufflevector {picked}")])
        (text,) = fold.combined(region, parts[0], parts[1], half)
        lanes = half
    kind = typed(register, lanes)
    ends = [[region.emit(f"extractelement {kind} {text}, i64 {lane}")] for lane in range(lanes)]
    (result,) = fold.combined(region, ends[0], ends[1], 1)
    return result


def _stepwise(
    values: Values,
    region: Region,
    reduce: Reduce,
    lanes: int,
) -> tuple[Value, ...]:
    """Reduce one position after the other, each lane for itself."""
    fold = _Fold(values, reduce, lanes, 1)
    totals = fold.partial(region, reduce.inits, lanes)
    if reduce.extent > _UNROLLED:
        totals = fold.run(region, totals, "0", reduce.extent)
    else:
        for position in range(reduce.extent):
            copy = region.instance(reduce.var, str(position))
            totals = fold.combined(region, totals, fold.elements(copy), lanes)
    return fold.rounded(region, totals, lanes)


def _stepwise_function(
    values: Values, region: Region, reduce: Reduce, lanes: int
) -> tuple[Value, ...]:
    """Reduce with a function of accumulators and new values, in index order."""
    kinds = [typed(format_of(init.dtype).register, lanes) for init in reduce.inits]
    counter = Counter(region, "0", var=reduce.var)
    inside = counter.region
    free = reduce.free | {reduce.var}
    accumulators: list[Scalar] = []
    for kind, init in zip(kinds, reduce.inits, strict=True):
        holder = Buffer((), init.dtype, "input", "accumulator")
        accumulator = Load(holder, Affine((), 0, frozenset()), init.dtype, free)
        text = counter.carry(kind, values.lanes(region, init, lanes))
        inside.cache[accumulator] = Value(text, lanes, kind)
        accumulators.append(accumulator)
    assert callable(reduce.combine), "the reduction combines with a named operation"
    results = reduce.combine(tuple(accumulators), reduce.elements)
    texts = [values.lanes(inside, result, lanes) for result in results]
    if reduce.extent > _POLLED:
        emit_poll(inside, lanes * len(texts))
    counter.close(str(reduce.extent), 1, texts)
    return tuple(Value(text, lanes, kind) for text, kind in zip(texts, kinds, strict=True))
