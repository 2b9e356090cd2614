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
from tapeless.core.aval import ShapedArray
from tapeless.core.jaxpr import Jaxpr
from tapeless.runtime import memory
from tapeless.runtime.array import Array, as_array
from tapeless.util import lazy

__all__ = ["Executable"]

buffers = lazy.load("tapeless.compiler.buffers")
cost = lazy.load("tapeless.compiler.cost")
engine = lazy.load("tapeless.compiler.engine")
lower = lazy.load("tapeless.compiler.lower")
kernel_pprint = lazy.load("tapeless.kernel.pprint")


class Executable:
    """A compiled jaxpr.

    consts: the captured arrays.  native: the machine code.  temp_bytes: the size of its arena.
    """

    def __init__(self, jaxpr: Jaxpr, donated: tuple[bool, ...] = (), effort: int = 1) -> None:
        """Compile `jaxpr`."""
        program = lower.lower_jaxpr(jaxpr, donated=donated, name=jaxpr.debug.function or "program")
        self.program = program
        self.native = engine.compile_program(program, effort)
        self.consts = [as_array(x) for x in program.consts]
        self.const_addresses = [x.address for x in self.consts]
        self.out_avals = jaxpr.out_avals
        self.results = program.results
        self.output_bytes = [buffer.size * buffer.dtype.itemsize for buffer in program.outputs]
        self.temp_bytes = program.arena_size
        self.donated = tuple(i for i, flag in enumerate(donated) if flag)
        self._table_type = ctypes.c_void_p * (len(program.inputs) + len(program.outputs))

    def __call__(self, args: Sequence[Any]) -> list[Any]:
        """Run on Arrays, or scalars and NumPy arrays of the right types; return the results."""
        arrays = [x if type(x) is Array else as_array(x) for x in args]
        blocks = [memory.allocate(n_bytes) for n_bytes in self.output_bytes]
        table = self._table_type(
            *self.const_addresses,
            *[x.address for x in arrays],
            *[block.address for block in blocks],
        )
        arena = memory.allocate(self.temp_bytes) if self.temp_bytes else None
        self.native.enter(ctypes.addressof(table), arena.address if arena else 0)
        places = (*self.consts, *arrays, *blocks)
        outs = [
            self.result(places, *pair) for pair in zip(self.out_avals, self.results, strict=True)
        ]
        for number in self.donated:
            arrays[number].delete()
        return outs

    def result(self, places: tuple, aval: ShapedArray, position: int) -> Any:
        """Return one result: a new block, an input that is passed on, or a float0 array."""
        if position < 0:
            return np.zeros(aval.shape, dtypes.float0)
        place = places[position]
        return Array(aval, place.block if type(place) is Array else place)

    @property
    def alias_bytes(self) -> int:
        """The bytes of results that live in donated arguments."""
        return buffers.memory(self.program).alias

    def costs(self) -> dict[str, float]:
        """Return the operations and bytes of the emitted loops."""
        return cost.costs(self.program)

    def listing(self) -> str:
        """Return the text of the program's loops."""
        return kernel_pprint.listing(self.program.body)
