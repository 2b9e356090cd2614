"""What the front of the compiler hands to its back: one whole program over planned buffers.

A `Program` is a block of loop-language statements plus the facts that the statements do not
contain: the order of the buffers in the call (inputs, then outputs), and where each temporary
lives in the arena. Nothing in it refers to Python values of a particular call, so it can be
emitted, hashed as text and cached.

The native entry has the C type `int32_t entry(void **buffers, void *arena)`. `buffers` holds the
pointers of the inputs, then of the outputs; the arena has `arena_size` bytes, aligned to 64. The
result is 0, or the status of what ended the program early: `INTERRUPTED` when a signal is pending,
or the positive status that a host call returned.

Foreign symbols are spelled `blas:dgemm` and `lapack:dgetrf` (SciPy's routines, Fortran calling
convention, no result), `host:...` (returns int32: 0, or a status that ends the program),
`fault:...` (the same, where it is called only to fail) or any name of the process. `symbols` gives
the addresses of those two kinds and of whatever else the program brings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tapeless.kernel.ir import Block, Buffer, Loop
from tapeless.util.records import record

__all__ = ["INTERRUPTED", "LEFT", "Program", "Slices"]

INTERRUPTED = -1
LEFT = -3  # -2 says that there is no memory; see `runtime/executable.py`


@record
class Slices:
    """The memory of a loop's threads: `count` slices of `size` bytes, one after the other.

    buffers: what is in each of them; `Program.temps` has their places in the first one.
    """

    buffers: frozenset[Buffer]
    size: int
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A block with its calling convention and its buffer plan.

    temps: pairs of a buffer and its byte offset in the arena, each a multiple of 64.
    consts: the values of the leading inputs, the arrays that the program captured.
    results: for each result of the jaxpr, its position among the inputs and outputs together; an
    input there is forwarded, or, if it was donated, overwritten. -1 for float0: no memory.
    kept: what must live as long as the program, such as the callbacks behind `symbols`.
    slices: of loops whose threads have parts of the arena.
    """

    name: str
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    temps: tuple[tuple[Buffer, int], ...]
    arena_size: int
    body: Block
    symbols: Mapping[str, int] = field(default_factory=dict)
    consts: tuple[object, ...] = ()
    results: tuple[int, ...] = ()
    kept: tuple[object, ...] = ()
    slices: Mapping[Loop, Slices] = field(default_factory=dict)
