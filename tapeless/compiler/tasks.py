"""Tasks: outlining a piece of a program so that the worker pool can run it in chunks.

A task is a function of its own. Its outermost region knows the region around it, so that values
are placed and found as if it were inline: what does not depend on the chunk is computed once by the
caller and captured. `open_task` gives the region to write to, with the chunk's number as `%chunk`;
`close_task` stores what was captured and calls the pool.

Temporaries that every iteration writes anew, in one place, are *private*: each chunk has them on
its stack, if they are not too large.

How many chunks there are depends on the program only. Chunks are small enough to balance a few
threads, and large enough to make the price of handing them out invisible.
"""

from __future__ import annotations

from tapeless.compiler.formats import format_of
from tapeless.compiler.interrupts import leave_unless_zero
from tapeless.compiler.regions import Code, Function, Region, Value
from tapeless.kernel.ir import Buffer, Call, If, Loop, Statement, Store, While

__all__ = ["SHARED_COST", "chunk_length", "close_task", "open_task", "private_buffers"]

SHARED_COST = 1 << 20
_CHUNK_COST = 1 << 18
_MOST_CHUNKS = 64
_MOST_PRIVATE = 1 << 17  # bytes of stack


def chunk_length(extent: int, cost: float, unit: int) -> int | None:
    """Return how many iterations form a chunk, a multiple of `unit`; None to keep the loop whole.

    cost: of all iterations, in about the number of operations on elements.
    """
    if cost < SHARED_COST or extent < 2 * unit:
        return None
    n_chunks = max(2, min(_MOST_CHUNKS, int(cost) // _CHUNK_COST))
    length = -(-extent // n_chunks)
    length = -(-length // unit) * unit
    return length if length < extent else None


def private_buffers(loop: Loop, outside: frozenset[Buffer]) -> frozenset[Buffer] | None:
    """Return the buffers that each chunk of a loop must have for itself; None if it cannot.

    outside: those that the rest of the program uses.
    """
    private: set[Buffer] = set()
    stack: list[Statement] = list(loop.body)
    while stack:
        statement = stack.pop()
        if isinstance(statement, Store):
            buffer = statement.buffer
            if buffer.space == "local" or loop.var not in statement.index.free:
                private.add(buffer)
        elif isinstance(statement, Call):
            if statement.symbol.startswith("host:"):
                return None
            private.update(statement.writes)
        elif isinstance(statement, Loop):
            stack.extend(statement.body)
        elif isinstance(statement, If):
            stack.extend(inner for branch in statement.branches for inner in branch)
        elif isinstance(statement, While):
            stack.extend((*statement.before, *statement.body))
    private = {buffer for buffer in private if buffer.space in ("local", "temp")}
    if any(buffer.space == "local" and buffer in outside for buffer in private):
        return None
    private -= outside
    size = sum(buffer.size * buffer.dtype.itemsize for buffer in private)
    return frozenset(private) if size <= _MOST_PRIVATE else None


def open_task(
    region: Region, writes: frozenset[Buffer], private: frozenset[Buffer] = frozenset()
) -> Region:
    """Start a task inside `region`, which writes `writes`, of which `private` are its own."""
    function = Function(region.function.module, region.function)
    root = Region(None, function, "function", Code("entry"), writes=writes, outer=region)
    root.private = private
    for buffer in sorted(private, key=lambda buffer: buffer.name):
        memory = format_of(buffer.dtype).memory
        slot = function.slot(f"[{max(buffer.size, 1)} x {memory}]")
        root.cache[buffer] = Value(slot, 1, "ptr")
    return root


def close_task(region: Region, root: Region, n_chunks: int) -> None:
    """Finish the task and let the pool run its chunks."""
    root.do("ret i32 0")
    task, module = root.function, region.function.module
    name = f"task{len(module.functions)}"
    lines = ("entry:", *task.slots, *task.prologue, *root.code.lines)
    signature = f"i32 @{name}(ptr %context, i64 %chunk, ptr %stop)"
    module.functions[name] = (signature, "\n".join(lines))
    context = region.function.slot(f"[{64 * max(1, len(task.captured))} x i8]")
    for number, (text, (_, kind)) in enumerate(task.captured.items()):
        place = region.emit(f"getelementptr i8, ptr {context}, i64 {64 * number}")
        region.do(f"store {kind} {text}, ptr {place}, align 64")
    region.declare("tapeless_parallel", "i32 (ptr, ptr, i64)")
    call = f"call i32 @tapeless_parallel(ptr @{name}, ptr {context}, i64 {n_chunks})"
    leave_unless_zero(region, region.emit(call))
