"""Small programs of the loop language, built by hand and run natively, for the compiler's tests.

`Work` collects buffers with their NumPy arrays and statements; `run` compiles and runs them, so
that the output arrays can be compared with what NumPy computes.
"""

from __future__ import annotations

import numpy as np

from tapeless.compiler.emit import Emitted, emit_program
from tapeless.compiler.engine import NativeProgram, compile_program, link_emitted
from tapeless.compiler.program import Program
from tapeless.compiler.target import Target
from tapeless.kernel.ir import Buffer, Index, Scalar, Statement, Store
from tapeless.kernel.nodes import Nodes

__all__ = ["F32", "F64", "I32", "I64", "Work"]

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
I32, I64 = np.dtype(np.int32), np.dtype(np.int64)


class Work(Nodes):
    """A program under construction."""

    def __init__(self) -> None:
        """Start with an empty program."""
        super().__init__()
        self.arrays: dict[Buffer, np.ndarray] = {}
        self.temps: list[tuple[Buffer, int]] = []
        self.body: list[Statement] = []
        self.arena = 0
        self.symbols: dict[str, int] = {}

    def input(self, array: np.ndarray) -> Buffer:
        """Make an input that holds `array`."""
        return self._buffer(np.array(array, order="C"), "input")

    def output(self, shape: tuple[int, ...], dtype: np.dtype, fill: object = 0) -> Buffer:
        """Make an output, filled with `fill` before the call."""
        return self._buffer(np.array(np.full(shape, fill, dtype)), "output")

    def local(self, shape: tuple[int, ...], dtype: np.dtype) -> Buffer:
        """Make a small buffer on the stack."""
        return Buffer(shape, np.dtype(dtype), "local", "local")

    def temp(self, shape: tuple[int, ...], dtype: np.dtype) -> Buffer:
        """Make a buffer in the arena."""
        buffer = Buffer(shape, np.dtype(dtype), "temp", "temp")
        self.temps.append((buffer, self.arena))
        self.arena += -(-buffer.size * buffer.dtype.itemsize // 64) * 64
        return buffer

    def _buffer(self, array: np.ndarray, space: str) -> Buffer:
        buffer = Buffer(array.shape, array.dtype, space, f"{space}{len(self.arrays)}")
        self.arrays[buffer] = array
        return buffer

    def at(self, buffer: Buffer, *index: Scalar | int) -> Scalar:
        """Give the flat position of a multi-dimensional index."""
        flat = self.affine(0)
        for part, extent in zip(index, buffer.shape, strict=True):
            flat = self.index_add(self.index_mul(flat, extent), part)
        return flat

    def get(self, buffer: Buffer, *index: Scalar | int, **options: object) -> Scalar:
        """Load an element."""
        return self.load(buffer, self.at(buffer, *index), **options)

    def put(
        self, buffer: Buffer, index: tuple[Scalar | int, ...], value: Scalar, **options: object
    ) -> Store:
        """Store an element."""
        return Store(buffer, self.at(buffer, *index), value, **options)

    def fold(self, combine: str, element: Scalar, var: Index, extent: int, init: object) -> Scalar:
        """Reduce one element over one variable."""
        start = self.const(init, element.dtype)
        return self.reduce(var, extent, (element,), (start,), combine)[0]

    def program(self) -> Program:
        """Give the finished program."""
        inputs = tuple(b for b in self.arrays if b.space == "input")
        outputs = tuple(b for b in self.arrays if b.space == "output")
        body = tuple(self.body)
        return Program("test", inputs, outputs, tuple(self.temps), self.arena, body, self.symbols)

    def pointers(self) -> list[int]:
        """Give the addresses of inputs and outputs, in calling order."""
        program = self.program()
        return [self.arrays[b].ctypes.data for b in (*program.inputs, *program.outputs)]

    def emit(self, target: Target) -> Emitted:
        """Emit the program for a target."""
        return emit_program(self.program(), target)

    def run(self, effort: int = 1) -> tuple[np.ndarray, ...]:
        """Compile and run; return the output arrays."""
        self.compile(effort).run(self.pointers())
        return tuple(a for b, a in self.arrays.items() if b.space == "output")

    def compile(self, effort: int = 1) -> NativeProgram:
        """Compile the program."""
        return compile_program(self.program(), effort)

    def run_for(self, target: Target) -> tuple[np.ndarray, ...]:
        """Compile for a target that this machine can run, and run."""
        code = link_emitted(self.emit(target), target, 1, self.symbols)
        NativeProgram(code, "program", self.program().arena_size).run(self.pointers())
        return tuple(a for b, a in self.arrays.items() if b.space == "output")
