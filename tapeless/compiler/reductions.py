"""Reductions: along lanes, across them, or one step after the other.

Three shapes of code, chosen by where lanes are. In a region without lanes, a reduction over a
contiguous variable makes that variable the lanes: partial results accumulate in every lane and are
combined at the end. In a region whose lanes stand for an outer variable, each lane reduces for
itself in a loop. Anything else, and every reduction whose combination is a function, goes step by
step in index order.

Sums are more accurate than naive ones: the lanes are partial sums, and after every `_BLOCK` steps
they are added to a second level of totals. The order of additions depends on extents and on the
width of the machine's registers, never on the number of threads. Narrow floats accumulate in
float32 and are rounded once.
"""

from __future__ import annotations

import numpy as np

from tapeless.compiler.formats import Format, constant, format_of, typed
from tapeless.compiler.interrupts import emit_poll
from tapeless.compiler.lanes import add, multiply
from tapeless.compiler.operations import identity, operate, round_narrow
from tapeless.compiler.plan import prefers_lanes, survey, total_weight, vector_lanes
from tapeless.compiler.regions import Counter, Region, Value
from tapeless.compiler.tasks import chunk_length, close_task, open_task
from tapeless.compiler.values import Values
from tapeless.kernel.ir import Affine, Buffer, Load, Reduce, Scalar

__all__ = ["emit_reduce", "tail_mask"]

_BLOCK = 256
_UNROLLED = 8
_FLOAT32 = format_of(np.dtype(np.float32))


def emit_reduce(values: Values, region: Region, reduce: Reduce) -> tuple[Value, ...]:
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


def tail_mask(wanted: int, lanes: int) -> str:
    """Spell the mask of the first `wanted` lanes."""
    return f"<{', '.join(f'i1 {str(lane < wanted).lower()}' for lane in range(lanes))}>"


def _named(reduce: Reduce) -> str:
    """The operation that combines, of a reduction that has a named one."""
    assert isinstance(reduce.combine, str), "the reduction combines with a function"
    return reduce.combine


def _accumulator(form: Format) -> Format:
    """The format that partial results are kept in."""
    return _FLOAT32 if form.narrow else form


def _across(values: Values, region: Region, reduce: Reduce, lanes: int) -> tuple[Value, ...]:
    """Reduce with the reduction's variable as lanes."""
    combine = _named(reduce)
    form = format_of(reduce.dtype)
    inner = _accumulator(form)
    neutral = constant(identity(combine, form), form.register, lanes)
    totals, whole = [neutral] * len(reduce.elements), reduce.extent // lanes
    if whole:
        totals = _shared(values, region, reduce, totals, whole, lanes)
    rest = reduce.extent - whole * lanes
    if rest:
        mask = tail_mask(rest, lanes)
        last = region.instance(reduce.var, str(whole * lanes), lanes=lanes, mask=mask)
        kind = typed(form.register, lanes)
        for number, element in enumerate(reduce.elements):
            text = values.lanes(last, element, lanes)
            text = region.emit(f"select <{lanes} x i1> {mask}, {kind} {text}, {kind} {neutral}")
            parts = [totals[number], text]
            totals[number] = operate(region, combine, parts, inner, inner, lanes) if whole else text
    results = []
    for total, start in zip(totals, reduce.inits, strict=True):
        result = _horizontal(region, total, combine, inner, lanes)
        init = values.lanes(region, start, 1)
        result = operate(region, combine, [init, result], inner, inner, 1)
        result = round_narrow(region, result, form, 1) if form.narrow else result
        results.append(Value(result, 1, form.register))
    return tuple(results)


def _horizontal(region: Region, text: str, combine: str, form: Format, lanes: int) -> str:
    """Combine the lanes of one value, halves first."""
    while lanes > 2:
        half = lanes // 2
        kind = typed(form.register, lanes)
        parts = []
        for start in (0, half):
            order = ", ".join(f"i32 {lane}" for lane in range(start, start + half))
            parts.append(
                region.emit(f"shufflevector {kind} {text}, {kind} poison, <{half} x i32> <{order}>")
            )
        text, lanes = operate(region, combine, parts, form, form, half), half
    kind = typed(form.register, lanes)
    parts = [region.emit(f"extractelement {kind} {text}, i64 {lane}") for lane in range(lanes)]
    return operate(region, combine, parts, form, form, 1)


def _shared(
    values: Values, region: Region, reduce: Reduce, totals: list[str], steps: int, lanes: int
) -> list[str]:
    """Fold `steps` vectors into `totals`; a long reduction is shared among threads.

    Each chunk stores its lanes, and the chunks are combined in order.
    """
    per_step = 1 + total_weight(survey(reduce.elements)) * lanes
    length = None
    if region.function.outer is None:
        length = chunk_length(steps, steps * per_step, _BLOCK)
    if length is None:
        return _fold(values, region, reduce, totals, "0", steps, lanes, lanes)
    form = format_of(reduce.dtype)
    inner = _accumulator(form)
    kind = typed(inner.register, lanes)
    n_chunks, n_totals = steps // length, len(totals)
    parts = region.function.slot(f"[{n_chunks * n_totals} x {kind}]")
    root = open_task(region, frozenset())
    start = root.emit(f"mul i64 %chunk, {length * lanes}")
    neutral = [constant(identity(_named(reduce), form), form.register, lanes)] * n_totals
    shares = _fold(values, root, reduce, neutral, start, length, lanes, lanes)
    base = root.function.capture(parts, "ptr")
    for number, share in enumerate(shares):
        place = _place(root, kind, base, "%chunk", n_totals, number)
        root.do(f"store {kind} {share}, ptr {place}, align 4")
    close_task(region, root, n_chunks)
    counter = Counter(region, "0")
    before = [counter.carry(kind, total) for total in totals]
    after = []
    for number, total in enumerate(before):
        place = _place(counter.region, kind, parts, counter.index, n_totals, number)
        share = counter.region.emit(f"load {kind}, ptr {place}, align 4")
        after.append(operate(counter.region, _named(reduce), [total, share], inner, inner, lanes))
    counter.close(str(n_chunks), 1, after)
    done = n_chunks * length
    if done == steps:
        return after
    rest = _fold(values, region, reduce, neutral, str(done * lanes), steps - done, lanes, lanes)
    return _combined(region, reduce, after, rest, inner, lanes)


def _place(region: Region, kind: str, base: str, chunk: str, stride: int, number: int) -> str:
    """Give the address of one partial result of a chunk."""
    position = add(region, multiply(region, chunk, stride), str(number))
    return region.emit(f"getelementptr {kind}, ptr {base}, i64 {position}")


def _combined(
    region: Region, reduce: Reduce, x: list[str], y: list[str], form: Format, lanes: int
) -> list[str]:
    """Combine two sets of partial results."""
    pairs = zip(x, y, strict=True)
    return [operate(region, _named(reduce), list(pair), form, form, lanes) for pair in pairs]


def _fold(
    values: Values,
    region: Region,
    reduce: Reduce,
    totals: list[str],
    start: str,
    steps: int,
    step: int,
    lanes: int,
) -> list[str]:
    """Fold `steps` positions from `start` on, `step` apart, into `totals` of `lanes` lanes.

    step: 1, or `lanes` when the reduction's variable is the lanes. Long sums go in blocks.
    """
    form = format_of(reduce.dtype)
    blocked = reduce.combine == "add" and form.kind == "float" and steps >= 2 * _BLOCK
    if not blocked:
        return _fold_range(values, region, reduce, start, steps, totals, step, lanes)
    inner = _accumulator(form)
    kind = typed(inner.register, lanes)
    neutral = [constant(identity("add", form), form.register, lanes)] * len(totals)
    n_blocks = steps // _BLOCK
    counter = Counter(region, start)
    before = [counter.carry(kind, total) for total in totals]
    part = _fold_range(values, counter.region, reduce, counter.index, _BLOCK, neutral, step, lanes)
    after = _combined(counter.region, reduce, before, part, inner, lanes)
    emit_poll(counter.region, _BLOCK * lanes * len(totals))
    middle = add(region, start, str(n_blocks * _BLOCK * step))
    counter.close(middle, _BLOCK * step, after)
    rest = steps - n_blocks * _BLOCK
    if not rest:
        return after
    part = _fold_range(values, region, reduce, middle, rest, neutral, step, lanes)
    return _combined(region, reduce, after, part, inner, lanes)


def _fold_range(
    values: Values,
    region: Region,
    reduce: Reduce,
    start: str,
    steps: int,
    totals: list[str],
    step: int,
    lanes: int,
) -> list[str]:
    """Fold `steps` positions from `start` on into `totals`."""
    inner = _accumulator(format_of(reduce.dtype))
    kind = typed(inner.register, lanes)
    counter = Counter(region, start, var=reduce.var, lanes=step)
    before = [counter.carry(kind, total) for total in totals]
    texts = [values.lanes(counter.region, element, lanes) for element in reduce.elements]
    after = _combined(counter.region, reduce, before, texts, inner, lanes)
    counter.close(add(region, start, str(steps * step)), step, after)
    return after


def _stepwise(values: Values, region: Region, reduce: Reduce, lanes: int) -> tuple[Value, ...]:
    """Reduce one position after the other, each lane for itself."""
    form = format_of(reduce.dtype)
    inner = _accumulator(form)
    totals = [values.lanes(region, init, lanes) for init in reduce.inits]
    if reduce.extent <= _UNROLLED:
        for position in range(reduce.extent):
            copy = region.instance(reduce.var, str(position))
            texts = [values.lanes(copy, element, lanes) for element in reduce.elements]
            totals = _combined(region, reduce, totals, texts, inner, lanes)
    else:
        totals = _fold(values, region, reduce, totals, "0", reduce.extent, 1, lanes)
    if form.narrow:
        totals = [round_narrow(region, total, form, lanes) for total in totals]
    return tuple(Value(total, lanes, typed(form.register, lanes)) for total in totals)


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
    counter.close(str(reduce.extent), 1, texts)
    return tuple(Value(text, lanes, kind) for text, kind in zip(texts, kinds, strict=True))
