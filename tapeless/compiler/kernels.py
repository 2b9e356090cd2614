"""A program seen as a sequence of kernels: what each of them does, and how long it takes.

A *kernel* is a statement at the top of a program that takes time: a loop nest, a call of a library,
a loop of the program with all that it contains. Scalars that are stored on the way, such as the
factors of a call, belong to the kernel that follows.

`clocked` puts a call of the system's clock before each kernel and after the last one. The times go
to one more output, so that the program that is measured is the program that runs, with its buffers,
its caches and its threads, and a reading costs some tens of nanoseconds.

    times[i] = (seconds, nanoseconds) at the start of kernel i; row n is the end of the program
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tapeless.compiler import cost
from tapeless.compiler.plan import buffers_of, writes
from tapeless.compiler.program import Program
from tapeless.kernel.graph import walk
from tapeless.kernel.ir import (
    Affine,
    Alloc,
    Block,
    Buffer,
    Call,
    Const,
    If,
    Loop,
    Reduce,
    Store,
    While,
)
from tapeless.kernel.pprint import listing
from tapeless.util.records import record, replace

__all__ = ["Kernel", "Life", "clocked", "durations", "kernels_of", "lives_of"]

Origins = Mapping[Buffer | str, Mapping[Any, None]]  # of buffers, and of calls by their symbols

_CLOCK = "clock_gettime"
_MONOTONIC = Const(1, np.dtype(np.int32))
_INT64 = np.dtype(np.int64)


@record
class Kernel:
    """One kernel of a program.

    kind: "loops", "call" or "control". text: its loops. flops, transcendentals: operations of one
    run. accessed: bytes of all loads and stores. touched: bytes of the buffers, each once, which is
    what has to come from memory when nothing is in a cache. open_ended: it has a loop that ends
    when its data says so, of which one iteration is counted. origins: the equations behind it.
    """

    number: int
    kind: str
    text: str
    flops: float
    transcendentals: float
    accessed: float
    touched: int
    reads: tuple[Buffer, ...]
    writes: tuple[Buffer, ...]
    open_ended: bool
    origins: tuple[Any, ...] = ()


@record
class Life:
    """From which kernel to which a buffer holds what somebody needs; `offset` is in the arena.

    role: "input", "output" or "temp"; a temporary that is returned as it is, is an output.
    """

    buffer: Buffer
    role: str
    size: int
    first: int
    last: int
    offset: int | None


def kernels_of(program: Program, origins: Origins | None = None) -> tuple[Kernel, ...]:
    """Return the kernels of a program; `origins` are those of its buffers and calls."""
    return tuple(
        _kernel(number, block, origins or {}) for number, block in enumerate(_blocks(program.body))
    )


def _kernel(number: int, block: Block, origins: Origins) -> Kernel:
    """Return what is to be said of the statements of one kernel."""
    counted = cost.block_costs(block)
    written = writes(block)
    memory = [x for x in buffers_of(block) if x.space != "local"]
    ordered = sorted(memory, key=lambda buffer: buffer.name)
    last = block[-1]
    results: list[Any] = sorted(writes((last,)), key=lambda buffer: buffer.name)
    if isinstance(last, Call) and not results:
        results = [last.symbol]
    found = {origin: None for result in results for origin in origins.get(result, ())}
    return Kernel(
        number,
        _kind(last),
        listing(block),
        counted["flops"],
        counted["transcendentals"],
        counted["bytes accessed"],
        sum(buffer.n_bytes for buffer in memory),
        tuple(x for x in ordered if x not in written),
        tuple(x for x in ordered if x in written),
        any(map(_is_open_ended, block)),
        tuple(found),
    )


def _is_open_ended(statement: Any) -> bool:
    """Tell whether a statement has a loop that only its data ends."""
    if isinstance(statement, While):
        return True
    if isinstance(statement, Loop):
        return any(map(_is_open_ended, statement.body))
    branches = statement.branches if isinstance(statement, If) else ()
    return any(_is_open_ended(inner) for branch in branches for inner in branch)


def _kind(statement: Any) -> str:
    """Return what a statement is, or the statement that its loops are there for."""
    while isinstance(statement, Loop) and len(statement.body) == 1:
        statement = statement.body[0]
    if isinstance(statement, Call):
        return "call"
    return "loops" if isinstance(statement, (Loop, Store)) else "control"


def _blocks(body: Block) -> list[Block]:
    """Divide the statements of a program among its kernels."""
    blocks: list[Block] = []
    waiting: list[Any] = []
    for statement in body:
        waiting.append(statement)
        if not _is_light(statement):
            blocks.append(tuple(waiting))
            waiting = []
    if waiting:
        blocks.append(tuple(waiting))
    return blocks


def _is_light(statement: Any) -> bool:
    """Tell whether a statement only stores a few scalars."""
    if isinstance(statement, Store):
        return not any(isinstance(node, Reduce) for node in walk([statement.value]))
    return isinstance(statement, Alloc)


def lives_of(program: Program) -> tuple[Life, ...]:
    """Return the lives of the buffers that are memory, in the order in which they start."""
    n_inputs = len(program.inputs)
    returned = {program.inputs[k] for k in program.results if 0 <= k < n_inputs}
    results = set(program.outputs)
    returned |= results
    given = set(program.inputs)
    offsets = dict(program.temps)
    blocks = _blocks(program.body)
    touched: dict[Buffer, list[int]] = {buffer: [0] for buffer in program.inputs}
    for number, block in enumerate(blocks):
        for buffer in sorted(buffers_of(block), key=lambda x: x.name):
            if buffer.space != "local":
                touched.setdefault(buffer, []).append(number)
    end = max(len(blocks) - 1, 0)
    return tuple(
        Life(
            buffer,
            "input" if buffer in given else "output" if buffer in results else "temp",
            buffer.n_bytes,
            0 if buffer in given else min(numbers),
            end if buffer in returned else max(numbers),
            offsets.get(buffer),
        )
        for buffer, numbers in sorted(touched.items(), key=lambda item: min(item[1]))
    )


def clocked(program: Program) -> Program:
    """Return the program with one more output, (n + 1, 2) int64: when its n kernels started."""
    blocks = _blocks(program.body)
    times = Buffer((len(blocks) + 1, 2), _INT64, "output", "times")
    body: list[Any] = []
    for number, block in enumerate((*blocks, ())):
        place = (times, Affine((), 2 * number, frozenset()))
        body += [Call(_CLOCK, (_MONOTONIC, place), (), (times,)), *block]
    return replace(program, outputs=(*program.outputs, times), body=tuple(body))


def durations(times: np.ndarray) -> np.ndarray:
    """Return the nanoseconds of each kernel.  times: (n + 1, 2), as the output -> (n,) int64"""
    moments = times[:, 0] * 1_000_000_000 + times[:, 1]
    return np.diff(moments)
