"""What this machine can do at best: operations a second, bytes a second.

Both are measured, with programs of this package, on all the threads that it uses:

    arithmetic   a product of two matrices of float32
    memory       a sum of two arrays as large as the data in question, so that data which fit into
                 a cache are held against the speed of that cache

A kernel of `flops` operations on `touched` bytes cannot take less than the longer of the two times
that these figures give: its *bound*, the roof of the roofline model.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tapeless.api.jit import jit
from tapeless.runtime.array import as_array
from tapeless.runtime.executable import Executable
from tapeless.runtime.profiling import ClockedExecutable
from tapeless.util.records import record

__all__ = ["Roof", "best_times", "roof_for"]

_SIZE = 512  # of the matrices
_SMALLEST, _LARGEST = 1 << 14, 1 << 25  # bytes of the arrays, taken together
_ROUNDS = 7


@record
class Roof:
    """The machine's best: `flops` operations and `bandwidth` bytes, a second."""

    flops: float
    bandwidth: float

    def bound(self, flops: float, touched: float) -> tuple[float, str]:
        """Return the least seconds of a kernel, and what bounds it: "flops" or "memory"."""
        by_arithmetic, by_memory = flops / self.flops, touched / self.bandwidth
        if by_arithmetic > by_memory:
            return by_arithmetic, "flops"
        return by_memory, "memory"


def roof_for(touched: int) -> Roof:
    """Return what the machine can do with data of so many bytes; it is measured once per size."""
    size = 1 << max(int(touched - 1), 1).bit_length()
    return Roof(_arithmetic(), _bandwidth(min(max(size, _SMALLEST), _LARGEST)))


@functools.cache
def _arithmetic() -> float:
    """Measure operations a second."""
    matrix = np.ones((_SIZE, _SIZE), np.float32)
    return 2 * _SIZE**3 / _seconds(lambda x, y: x @ y, (matrix, matrix))


@functools.cache
def _bandwidth(size: int) -> float:
    """Measure bytes a second."""
    n = size // 12  # two arrays are read and one is written, of four bytes an element
    vector = np.ones(n, np.float32)
    return 12 * n / _seconds(lambda x, y: x + y, (vector, vector))


def _seconds(function: Any, args: tuple) -> float:
    """Return the least time of a compiled function."""
    jaxpr = jit(function).trace(*args).jaxpr
    clocked = ClockedExecutable(Executable(jaxpr, effort=1))
    return float(best_times(clocked, args, _ROUNDS).sum())


def best_times(clocked: ClockedExecutable, args: Any, rounds: int) -> np.ndarray:
    """Return the least seconds of each kernel in some calls.  -> (n,) float64"""
    arrays = [as_array(x) for x in args]
    found = []
    for _ in range(rounds):
        clocked.run(arrays)
        found.append(clocked.nanoseconds)
    return np.min(found, axis=0) / 1e9
