"""The buffer plan: where temporaries live, and how much memory a program takes.

Temporaries share an arena. Each is live from the first to the last statement that touches it; two
that are never live at once may have the same offset. Statements are numbered in the order of the
text. A buffer that is touched inside a loop and outside of it is live during the whole loop; one
that is touched only inside is live there from its first to its last use, since every iteration
writes it anew before reading it.

A loop that threads may share runs several iterations at a time. What has a part for each of them is
live during the whole loop; what every iteration writes anew, each thread needs for itself. If it is
large there is a *slice* of the arena for each thread (`slices.py`), planned in the same way.

Offsets are found by first fit, in the order in which lives begin. Local buffers are stack slots,
inputs and outputs belong to the caller.
"""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tapeless.compiler.host import HostCall, native_callbacks
from tapeless.compiler.plan import Costs
from tapeless.compiler.program import Program, Slices
from tapeless.compiler.slices import is_cut, n_slices, plan_slices
from tapeless.kernel.graph import children, walk
from tapeless.kernel.ir import (
    Alloc,
    Block,
    Buffer,
    Call,
    If,
    Index,
    Load,
    Loop,
    Scalar,
    Statement,
    Store,
    While,
)
from tapeless.util.records import record

__all__ = ["Memory", "assemble", "describe", "memory"]

ALIGNMENT = 64
_ENDLESS = 1 << 100
_BYTE = np.dtype(np.uint8)


@record
class Memory:
    """What a program takes, in bytes.

    alias: of the outputs that live in donated inputs.
    """

    argument: int
    output: int
    temp: int
    alias: int


def assemble(
    name: str,
    inputs: Sequence[Buffer],
    outputs: Sequence[Buffer],
    body: Block,
    *,
    consts: tuple[Any, ...] = (),
    results: tuple[int, ...] = (),
    host_calls: Mapping[str, tuple] | None = None,
) -> Program:
    """Return the program with its temporaries placed."""
    lives = _Lives()
    lives.block(body, ())
    given = frozenset((*inputs, *outputs))
    offsets, size, slices = _placed(body, lives, given)
    symbols, kept = native_callbacks(
        {name: HostCall(*call) for name, call in (host_calls or {}).items()}
    )
    return Program(
        name,
        tuple(inputs),
        tuple(outputs),
        tuple(offsets.items()),
        size,
        body,
        symbols=symbols,
        consts=consts,
        results=results,
        kept=tuple(kept),
        slices=slices,
    )


def _placed(
    body: Block, lives: _Lives, given: frozenset[Buffer]
) -> tuple[dict[Buffer, int], int, dict[Loop, Slices]]:
    """Return the offsets of the temporaries, the arena's size, and the loops with slices."""
    costs, slices = Costs(), {}
    intervals = {
        buffer: interval
        for buffer, interval in lives.intervals(costs).items()
        if buffer not in given and buffer.space != "local"
    }
    within: dict[Buffer, dict[Buffer, int]] = {}
    for loop, own in plan_slices(body, lives.inside(), given, costs).items():
        ordered = sorted(own, key=lambda buffer: buffer.name)
        places, size = _first_fit([(*intervals.pop(buffer), buffer) for buffer in ordered])
        slices[loop] = Slices(own, size, n_slices(loop, size, costs))
        whole = Buffer((slices[loop].count * size,), _BYTE, "temp", "slices")
        intervals[whole], within[whole] = lives.span(loop), places
    offsets, size = _first_fit([(*interval, buffer) for buffer, interval in intervals.items()])
    for whole, places in within.items():
        start = offsets.pop(whole)
        offsets.update({buffer: start + place for buffer, place in places.items()})
    return offsets, size, slices


def memory(program: Program) -> Memory:
    """Return the numbers of bytes that a program takes."""
    n_inputs = len(program.inputs)
    written = _written(program.body)
    alias = {
        number
        for number in program.results
        if 0 <= number < n_inputs and program.inputs[number] in written
    }
    return Memory(
        argument=sum(buffer.n_bytes for buffer in program.inputs),
        output=sum(buffer.n_bytes for buffer in program.outputs),
        temp=program.arena_size,
        alias=sum(program.inputs[number].n_bytes for number in alias),
    )


def describe(program: Program, notes: Mapping[Buffer, str]) -> str:
    """Return the plan as text; notes: where buffers come from."""
    lines = [f"arena: {program.arena_size} bytes"]
    for buffer, offset in program.temps:
        shape = ",".join(map(str, buffer.shape))
        lines.append(
            f"  {offset:>10} {buffer.name}: {buffer.dtype}[{shape}], {buffer.n_bytes} bytes"
            + (f"  # {notes[buffer]}" if notes.get(buffer) else "")
        )
    return "\n".join(lines)


class _Lives:
    """Collects the statements that touch each buffer.

    A touch is the statement's number and the path of the loops around it, each named by its first
    number; `loop_ends` gives the last ones.  varying: the variables by which stores to a buffer
    choose their places.
    """

    def __init__(self) -> None:
        """Start before the first statement."""
        self.clock = 0
        self.touches: dict[Buffer, list[tuple[int, tuple[int, ...]]]] = {}
        self.loops: dict[int, Loop] = {}
        self.loop_ends: dict[int, int] = {}
        self.varying: dict[Buffer, set[Index]] = {}
        self._known: dict[Scalar, frozenset[Buffer]] = {}

    def block(self, block: Block, path: tuple[int, ...]) -> None:
        """Walk the statements of a block inside the loops `path`, named by their first numbers."""
        for statement in block:
            self.clock += 1
            start = self.clock
            if isinstance(statement, Loop):
                self._touch(self._reads([statement.extent]), path)
                self.loops[start] = statement
                self._loop([statement.body], (*path, start))
            elif isinstance(statement, While):
                inner = (*path, start)
                self._touch(self._reads([statement.condition]), inner)
                self._loop([statement.before, statement.body], inner)
            elif isinstance(statement, If):
                self._touch(self._reads([statement.which]), path)
                for branch in statement.branches:
                    self.block(branch, path)
            else:
                self._touch(self._operands(statement), path)

    def intervals(self, costs: Costs) -> dict[Buffer, tuple[int, int]]:
        """Return the first and last number at which each buffer is live."""
        result = {}
        for buffer, touches in self.touches.items():
            shared = self._around(buffer, costs)
            start = min(number for number, _ in touches)
            end = max(number for number, _ in touches)
            for _, path in touches:
                if len(path) > shared:
                    outermost = path[shared]
                    start = min(start, outermost)
                    end = max(end, self.loop_ends[outermost])
            result[buffer] = (start, end)
        return result

    def _around(self, buffer: Buffer, costs: Costs) -> int:
        """Return how many of the loops around all touches have one iteration of it at a time."""
        path = self.touches[buffer][0][1]
        shared = _common_prefix([path for _, path in self.touches[buffer]])
        varying = self.varying.get(buffer, ())
        for depth, number in enumerate(path[:shared]):
            loop = self.loops.get(number)
            if loop is not None and loop.var in varying and is_cut(loop, costs):
                return depth
        return shared

    def inside(self) -> dict[Loop, frozenset[Buffer]]:
        """Return for each loop the buffers that are touched in it and nowhere else."""
        found: dict[Loop, set[Buffer]] = {}
        for buffer, touches in self.touches.items():
            shared = _common_prefix([path for _, path in touches])
            for number in touches[0][1][:shared]:
                if number in self.loops:
                    found.setdefault(self.loops[number], set()).add(buffer)
        return {loop: frozenset(buffers) for loop, buffers in found.items()}

    def span(self, loop: Loop) -> tuple[int, int]:
        """Return the first and the last number of a loop."""
        start = next(number for number, other in self.loops.items() if other is loop)
        return start, self.loop_ends[start]

    def _loop(self, blocks: Sequence[Block], path: tuple[int, ...]) -> None:
        """Walk the blocks of a loop and note where it ends."""
        for block in blocks:
            self.block(block, path)
        self.clock += 1
        self.loop_ends[path[-1]] = self.clock

    def _touch(self, buffers: Iterable[Buffer], path: tuple[int, ...]) -> None:
        """Note that the current statement touches some buffers."""
        for buffer in buffers:
            self.touches.setdefault(buffer, []).append((self.clock, path))

    def _operands(self, statement: Statement) -> set[Buffer]:
        """Return the buffers that a simple statement touches."""
        if isinstance(statement, Store):
            self.varying.setdefault(statement.buffer, set()).update(statement.index.free)
            return {statement.buffer} | self._reads(
                [statement.index, statement.value, statement.guard]
            )
        if isinstance(statement, Call):
            found = {*statement.reads, *statement.writes}
            for arg in statement.args:
                if isinstance(arg, Buffer):
                    found.add(arg)
                elif isinstance(arg, tuple):
                    found |= {arg[0]} | self._reads([arg[1]])
                else:
                    found |= self._reads([arg])
            return found
        assert isinstance(statement, Alloc), "a statement is one of six"
        return {statement.buffer}

    def _reads(self, roots: Iterable[object]) -> set[Buffer]:
        """Return the buffers that the expressions among `roots` load from."""
        known, found = self._known, set()
        for root in roots:
            if not isinstance(root, Scalar):
                continue
            new = walk((root,), lambda node: () if node in known else children(node))
            for node in new:
                if node not in known:
                    own = {node.buffer} if isinstance(node, Load) else ()
                    known[node] = frozenset(own).union(*map(known.__getitem__, children(node)))
            found |= known[root]
        return found


def _common_prefix(paths: Sequence[tuple[int, ...]]) -> int:
    """Return how many leading loops all paths share."""
    first = min(paths)
    last = max(paths)
    n_shared = 0
    while n_shared < min(len(first), len(last)) and first[n_shared] == last[n_shared]:
        n_shared += 1
    return n_shared


def _first_fit(
    intervals: Iterable[tuple[int, int, Buffer]],
) -> tuple[dict[Buffer, int], int]:
    """Give each buffer the lowest offset that is free during its life; return the arena's size.

    intervals: first and last number, and buffer.
    """
    offsets: dict[Buffer, int] = {}
    active: list[tuple[int, int, int]] = []  # a heap: (last number, offset, offset after it)
    gaps = [(0, _ENDLESS)]  # by offset; no two of them touch
    size = 0
    for start, end, buffer in sorted(intervals, key=lambda item: item[:2]):
        while active and active[0][0] < start:
            _free(gaps, *heapq.heappop(active)[1:])
        length = max(-(-buffer.n_bytes // ALIGNMENT), 1) * ALIGNMENT
        place = next(k for k, (low, high) in enumerate(gaps) if high - low >= length)
        offset, high = gaps[place]
        stop = offset + length
        gaps[place : place + 1] = [(stop, high)] if stop < high else []
        heapq.heappush(active, (end, offset, stop))
        offsets[buffer] = offset
        size = max(size, stop)
    return offsets, size


def _free(gaps: list[tuple[int, int]], low: int, high: int) -> None:
    """Add a gap, and join it with those that it touches."""
    place = bisect.bisect(gaps, (low, high))
    first = last = place
    if place and gaps[place - 1][1] == low:
        first, low = place - 1, gaps[place - 1][0]
    if gaps[place][0] == high:
        last, high = place + 1, gaps[place][1]
    gaps[first:last] = [(low, high)]


def _written(block: Block) -> set[Buffer]:
    """Return the buffers that statements write."""
    found: set[Buffer] = set()
    stack: list[Statement] = list(block)
    while stack:
        statement = stack.pop()
        if isinstance(statement, Store):
            found.add(statement.buffer)
        elif isinstance(statement, Call):
            found.update(statement.writes)
        elif isinstance(statement, Loop):
            stack.extend(statement.body)
        elif isinstance(statement, While):
            stack.extend((*statement.before, *statement.body))
        elif isinstance(statement, If):
            stack.extend(inner for branch in statement.branches for inner in branch)
    return found
