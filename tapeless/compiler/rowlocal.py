"""What rows alone need is made row by row: no whole array of it goes through memory.

    for i < 10000000: t[i] = x[i]             for r < 10000:
    for r < 10000:                              for j < 1000: t[1000 r + j] = x[1000 r + j]
      for j < 1000: t[1000 r + k[j]] = ...      for j < 1000: t[1000 r + k[j]] = ...

An update in place of a copy, be it a scatter or a slice, is a nest over rows under `vmap`, and what
it needs, the copy and the places, are flat nests before it. When these arrays are larger than a
cache, a row at a time is made where it is needed, provided that the nests meet in memory only
within a row. Where a place is not known, its range is: from a clamp, or from the guard of a store.

A large temporary that nothing else uses has then the memory of one row, one for each thread. So has
one of any other nest over rows, once no pass has to look at whole arrays any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence

from tapeless.compiler.plan import buffers_of, static_extent, writes
from tapeless.compiler.reach import changed_stores, is_nest, roots_of, stores_in, with_roots
from tapeless.kernel.graph import loads_in, replace
from tapeless.kernel.ir import (
    Affine,
    Block,
    Buffer,
    Const,
    If,
    Index,
    Loop,
    Op,
    Scalar,
    Statement,
    Store,
    While,
)
from tapeless.kernel.nodes import Nodes
from tapeless.kernel.ranges import Range

__all__ = ["make_by_rows", "shorten_rows"]

LARGE = 1 << 20  # bytes of what nests share; less stays in the cache
LEAST_ROWS = 32
LEAST_LENGTH = 16  # of a row: it is done in lanes
LONGEST_ROW = 1 << 16  # bytes
LEAST_SHORTENED = 1 << 17  # bytes of a temporary of which a row is kept
_INTEGERS = "iu"


def make_by_rows(nodes: Nodes, body: Block, outside: Collection[Buffer]) -> Block:
    """Return the block of statements with flat nests joined to the nests over rows behind them.

    outside: buffers that other statements use, or the caller.
    """
    if sum(buffer.n_bytes for buffer in buffers_of(body)) < LARGE:
        return body
    result: list[Statement] = []
    for statement in body:
        result.append(statement)
        while len(result) > 1:
            joined = _joined(nodes, result[-2], result[-1])
            if joined is None:
                break
            result[-2:] = [joined]
    touched = [buffers_of((statement,)) for statement in result]
    users = Counter(buffer for buffers in touched for buffer in buffers)
    for place, statement in enumerate(result):
        others = {b for b in touched[place] if users[b] > 1 or b in outside}
        is_new = not any(statement is old for old in body)
        if is_new:
            result[place] = _shortened(nodes, statement, others, LARGE)
        else:
            result[place] = _inside(nodes, statement, others, make_by_rows)
    return tuple(result)


def shorten_rows(nodes: Nodes, body: Block, outside: Collection[Buffer]) -> Block:
    """Return the block of statements with rows in place of temporaries that rows alone need.

    outside: buffers that other statements use, or the caller.
    """
    touched = [buffers_of((statement,)) for statement in body]
    users = Counter(buffer for buffers in touched for buffer in buffers)
    result: list[Statement] = []
    for statement, own in zip(body, touched, strict=True):
        large = [b for b in own if b.space == "temp" and b.n_bytes >= LEAST_SHORTENED]
        others = {b for b in own if users[b] > 1 or b in outside}
        if all(buffer in others for buffer in large):
            result.append(statement)
        elif isinstance(statement, Loop) and statement.independent:
            result.append(
                _shortened(nodes, statement, others, LEAST_SHORTENED)
                if is_nest(statement) and static_extent(statement) >= LEAST_ROWS
                else statement
            )
        else:
            result.append(_inside(nodes, statement, others, shorten_rows))
    return tuple(result)


def _inside(
    nodes: Nodes,
    statement: Statement,
    outside: Collection[Buffer],
    change: Callable[[Nodes, Block, Collection[Buffer]], Block],
) -> Statement:
    """Return a statement whose blocks are changed."""
    if isinstance(statement, While):
        tested = buffers_of((While(statement.before, statement.condition, ()),))
        body = change(nodes, statement.body, {*outside, *tested})
        return While(statement.before, statement.condition, body)
    if isinstance(statement, If):
        branches = tuple(change(nodes, branch, outside) for branch in statement.branches)
        return If(statement.which, branches)
    if isinstance(statement, Loop) and not statement.independent:
        body = change(nodes, statement.body, outside)
        return Loop(statement.var, statement.extent, body, False, statement.reverse)
    return statement


def _joined(nodes: Nodes, flat: Statement, rows: Statement) -> Loop | None:
    """Return a flat nest and one over rows as one over rows; None if that is illegal or no gain."""
    if not isinstance(flat, Loop) or not isinstance(rows, Loop):
        return None
    if not (isinstance(flat.extent, int) and is_nest(rows) and is_nest(flat)):
        return None
    if not (flat.independent and rows.independent) or flat.reverse or rows.reverse:
        return None
    n_rows = static_extent(rows)
    if n_rows < LEAST_ROWS:
        return None
    length, left = divmod(flat.extent, n_rows)
    if left or length < LEAST_LENGTH:
        return None
    if not all(isinstance(s, Store) for s in flat.body):
        return None
    if all(isinstance(s, Store) for s in rows.body):
        return None
    var = nodes.index("i", length)
    place = nodes.index_add(nodes.index_mul(rows.var, length), var)
    first = Loop(var, length, changed_stores(nodes, flat.body, {flat.var: place}))
    joined = Loop(rows.var, n_rows, (first, *rows.body))
    shared = {
        *(writes((flat,)) & buffers_of((rows,))),
        *(writes((rows,)) & buffers_of((flat,))),
    }
    if sum(buffer.n_bytes for buffer in shared) < LARGE:
        return None
    steps = [_step(nodes, joined, buffer) for buffer in shared]
    fits = [
        step is not None and step * buffer.dtype.itemsize <= LONGEST_ROW
        for step, buffer in zip(steps, shared, strict=True)
    ]
    return joined if all(fits) else None


def _shortened(nodes: Nodes, loop: Statement, outside: Collection[Buffer], least: int) -> Statement:
    """Return a loop over rows whose temporaries of `least` bytes have the memory of one row."""
    assert isinstance(loop, Loop), "nests that were joined are a loop"
    homes: dict[Buffer, Buffer] = {}
    for buffer in sorted(writes((loop,)), key=lambda buffer: buffer.name):
        if buffer.space != "temp" or buffer in outside or buffer.n_bytes < least:
            continue
        step = _step(nodes, loop, buffer)
        if step is None or step * buffer.dtype.itemsize > LONGEST_ROW:
            continue
        if step * static_extent(loop) == buffer.size:
            homes[buffer] = Buffer((step,), buffer.dtype, "temp", f"{buffer.name}_row")

    def within(index: Affine, home: Buffer) -> Affine:
        """Return a place in a row."""
        return nodes.index_add(index, nodes.index_mul(loop.var, -home.size))

    def change(roots: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """Load from rows."""
        changes: dict[int, Scalar] = {}
        for load in loads_in(roots):
            home = homes.get(load.buffer)
            if home is not None:
                index = nodes.affine(replace(nodes, (load.index,), changes)[0])
                guard = load.guard and replace(nodes, (load.guard,), changes)[0]
                changes[id(load)] = nodes.load(home, within(index, home), guard, load.after)
        return replace(nodes, roots, changes) if changes else tuple(roots)

    def stored(body: Iterable[Statement]) -> Block:
        """Store to rows."""
        result: list[Statement] = []
        for each in body:
            if isinstance(each, Loop):
                flags = (each.independent, each.reverse)
                each = Loop(each.var, each.extent, stored(each.body), *flags)
            elif isinstance(each, Store) and each.buffer in homes:
                home = homes[each.buffer]
                index = within(each.index, home)
                each = Store(home, index, each.value, each.guard, each.accumulate)
            result.append(each)
        return tuple(result)

    body = stored(with_roots(nodes, loop.body, change)) if homes else loop.body
    return Loop(loop.var, loop.extent, body)


def _step(nodes: Nodes, loop: Loop, buffer: Buffer) -> int | None:
    """Return s if all places of a buffer are s * row + rest, 0 <= rest < s."""
    steps: set[int | None] = set()
    for store in stores_in(loop.body):
        if store.buffer is buffer:
            steps.add(_step_of(nodes, store.index, loop.var, store.guard))
        for load in loads_in(roots_of(store)):
            if load.buffer is buffer:
                steps.add(_step_of(nodes, load.index, loop.var, load.guard))
    return steps.pop() if len(steps) == 1 else None


def _step_of(nodes: Nodes, index: Affine, var: Index, guard: Scalar | None) -> int | None:
    """Return s if an index is s * var + rest, 0 <= rest < s, where the guard holds; else None."""
    step, low, high = 0, index.const, index.const
    for term, coefficient in index.terms:
        if term is var:
            step = coefficient
            continue
        bounds = _bounds(term, guard) or nodes.index_range(term)
        if bounds is None:
            return None
        ends = (bounds[0] * coefficient, bounds[1] * coefficient)
        low, high = low + min(ends), high + max(ends)
    return step if 0 <= low and high < step else None


def _bounds(term: Scalar, guard: Scalar | None) -> Range | None:
    """Return the range of an index where a guard says that it is below a number, if it does."""
    if not isinstance(guard, Op):
        return None
    if guard.name == "and":
        return _bounds(term, guard.args[0]) or _bounds(term, guard.args[1])
    if guard.name != "le" or not isinstance(guard.args[1], Const):
        return None
    bounded, most = guard.args[0], int(guard.args[1].value)
    if bounded.dtype.kind != "u" or _widened(bounded) is not _widened(term):
        return None
    return 0, most


def _widened(scalar: Scalar) -> Scalar:
    """Return the integer that another one is, in a type that is not wider."""
    while isinstance(scalar, Op) and scalar.name in ("convert", "bitcast"):
        source = scalar.args[0]
        if source.dtype.kind not in _INTEGERS or source.dtype.itemsize > scalar.dtype.itemsize:
            break
        scalar = source
    return scalar
