"""Compiled programs as Python calls them: buffers in, native code, Arrays out.

An `Executable` belongs to one jaxpr.  It holds the native program, the captured arrays that are its
hidden leading inputs, and the types of its outputs.  A call allocates the outputs and the arena from
the pool, hands over one table of addresses and runs without the interpreter lock.

The arena is returned to the pool when the call ends, however it ends.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.compiler.engine import NativeProgram, compile_program
from tapeless.compiler.lower import lower_jaxpr
from tapeless.compiler.program import INTERRUPTED
from tapeless.core.aval import ShapedArray
from tapeless.core.jaxpr import Jaxpr
from tapeless.runtime import memory
from tapeless.runtime.array import Array, as_array, physical

__all__ = ["Executable", "Output"]


class Output:
    """How one output is made: its type and the bytes of its memory."""

    __slots__ = ("aval", "n_bytes")

    def __init__(self, aval: ShapedArray) -> None:
        """aval: the type."""
        shape, dtype = physical(aval)
        self.aval = aval
        self.n_bytes = int(np.prod(shape, dtype=object)) * dtype.itemsize


class Executable:
    """A compiled jaxpr.

    consts: the captured arrays.  native: the machine code.  temp_bytes: the size of its arena.
    """

    def __init__(self, jaxpr: Jaxpr, donated: tuple[bool, ...] = (), effort: int = 1) -> None:
        """Compile `jaxpr`."""
        self.program = lower_jaxpr(jaxpr, donated=donated)
        self.native: NativeProgram = compile_program(self.program, effort)
        self.consts = [as_array(x) for x in self.program.captured]
        self.const_addresses = [x.address for x in self.consts]
        self.outputs = [Output(aval) for aval in jaxpr.out_avals]
        self.temp_bytes = self.program.arena_size
        self.n_buffers = len(self.program.inputs) + len(self.program.outputs)
        self.is_float0 = [out.aval.dtype == dtypes.float0 for out in self.outputs]
        self.kept = [aval.dtype != dtypes.float0 for aval in jaxpr.in_avals]
        self._table_type = ctypes.c_void_p * self.n_buffers

    def __call__(self, args: Sequence[Any]) -> list[Any]:
        """Run on Arrays, or scalars and NumPy arrays of the right types; return the results."""
        arrays = [x if type(x) is Array else as_array(x) for x, keep in zip(args, self.kept, strict=True) if keep]
        blocks = [
            None if skip else memory.allocate(out.n_bytes)
            for out, skip in zip(self.outputs, self.is_float0, strict=True)
        ]
        table = self._table_type(
            *self.const_addresses,
            *[x.address for x in arrays],
            *[block.address for block in blocks if block is not None],
        )
        arena = memory.allocate(self.temp_bytes) if self.temp_bytes else None
        status = self.native.enter(ctypes.addressof(table), arena.address if arena else 0)
        if status:
            self.fail(status)
        return [
            np.zeros(out.aval.shape, dtypes.float0) if block is None else Array(out.aval, block)
            for out, block in zip(self.outputs, blocks, strict=True)
        ]

    def fail(self, status: int) -> None:
        """Raise what ended the program early."""
        if status == INTERRUPTED:
            raise KeyboardInterrupt
        raise RuntimeError(f"a compiled program ended with status {status}; this is a bug in tapeless")
