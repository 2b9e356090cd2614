"""Tasks: outlining a piece of a program so that the worker pool can run it in chunks.

A task is a function of its own. Its outermost region knows the region around it, so that values
are placed and found as if it were inline: what does not depend on the chunk is computed once by the
caller and captured. `open_task` gives the region to write to, with the chunk's number as `%chunk`;
`close_task` stores what was captured and calls the pool.

Private buffers (`slices.py`) are in a slice of the arena, local ones on the stack. With slices,
what the pool hands out is not a chunk but a slice, and who has one takes chunks from a counter
until there are no more (`open_slice`, `taken_chunks`): so a slice has one user at a time, whoever
runs the task, and however many threads there are.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from tapeless.compiler.formats import format_of
from tapeless.compiler.interrupts import leave_unless_zero
from tapeless.compiler.program import Slices
from tapeless.compiler.regions import Code, Function, Region, Value
from tapeless.kernel.ir import Buffer

__all__ = ["close_task", "open_slice", "open_task", "taken_chunks"]


def open_task(
    region: Region, writes: frozenset[Buffer], private: frozenset[Buffer] = frozenset()
) -> Region:
    """Start a task inside `region`, which writes `writes`; `private` are on its stack."""
    function = Function(region.function.module, region.function)
    root = Region(None, function, "function", Code("entry"), writes=writes, outer=region)
    root.private = private
    for buffer in sorted(private, key=lambda buffer: buffer.name):
        memory = format_of(buffer.dtype).memory
        slot = function.slot(f"[{max(buffer.size, 1)} x {memory}]")
        root.cache[buffer] = Value(slot, 1, "ptr")
    return root


def open_slice(root: Region, slices: Slices, first: Mapping[Buffer, str]) -> None:
    """Give a task that the pool calls with the number of a slice the buffers in it.

    first: where they are in the first slice, as the function around knows it.
    """
    offset = root.emit(f"mul i64 %chunk, {slices.size}")
    for buffer, place in first.items():
        start = root.function.capture(place, "ptr")
        own = root.emit(f"getelementptr i8, ptr {start}, i64 {offset}")
        root.cache[buffer] = Value(own, 1, "ptr")
    root.private |= slices.buffers


@contextmanager
def taken_chunks(
    region: Region, root: Region, n_chunks: int
) -> Generator[tuple[Region, str], None, None]:
    """Write what a task does with each chunk that it takes: the region, and the chunk's number."""
    function = root.function
    place = region.function.slot("i64")
    region.do(f"store i64 0, ptr {place}")
    counter = function.capture(place, "ptr")
    take, after = function.label(), function.label()
    header = Region(root, function, "loop", Code(take), writes=root.writes)
    header.code.start_block(take)
    number = header.emit(f"atomicrmw add ptr {counter}, i64 1 monotonic")
    more = header.emit(f"icmp slt i64 {number}, {n_chunks}")
    body = header.branch("body")
    header.do(f"br i1 {more}, label %{body.code.label}, label %{after}")
    body.writes = root.writes
    yield body, number
    header.close_branch(body, take)
    root.do(f"br label %{take}")
    root.code.lines.extend(header.code.lines)
    root.code.start_block(after)


def close_task(region: Region, root: Region, n_chunks: int) -> None:
    """Finish the task and let the pool run its chunks."""
    root.do("ret i32 0")
    task, module = root.function, region.function.module
    name = f"task{len(module.functions)}"
    lines = ("entry:", *task.slots, *task.prologue, *root.code.lines)
    signature = f"i32 @{name}(ptr %context, i64 %chunk, ptr %stop)"
    module.functions[name] = (signature, "\n".join(lines))
    context = region.function.slot(f"[{max(1, task.context_size)} x i8]")
    for text, (_, kind, offset) in task.captured.items():
        place = region.emit(f"getelementptr i8, ptr {context}, i64 {offset}")
        region.do(f"store {kind} {text}, ptr {place}, align 64")
    region.declare("tapeless_parallel", "i32 (ptr, ptr, i64)")
    call = f"call i32 @tapeless_parallel(ptr @{name}, ptr {context}, i64 {n_chunks})"
    leave_unless_zero(region, region.emit(call))
