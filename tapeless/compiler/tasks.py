"""Tasks: outlining a piece of a program so that the worker pool can run it in chunks.

A task is a function of its own. Its outermost region knows the region around it, so that values
are placed and found as if it were inline: what does not depend on the chunk is computed once by the
caller and captured. `open_task` gives the region to write to, with the chunk's number as `%chunk`;
`close_task` stores what was captured and calls the pool.

How many chunks there are depends on the program only. Chunks are small enough to balance a few
threads, and large enough to make the price of handing them out invisible.
"""

from __future__ import annotations

from tapeless.compiler.interrupts import leave_unless_zero
from tapeless.compiler.regions import Code, Function, Region
from tapeless.kernel.ir import Buffer

__all__ = ["SHARED_COST", "chunk_length", "close_task", "open_task"]

SHARED_COST = 1 << 20
_CHUNK_COST = 1 << 18
_MOST_CHUNKS = 64


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


def open_task(region: Region, writes: frozenset[Buffer]) -> Region:
    """Start a task inside `region`, which writes the buffers `writes`."""
    function = Function(region.function.module, region.function)
    return Region(None, function, "function", Code("entry"), writes=writes, outer=region)


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
