"""The process that runs one workload: `python -m dev.bench.worker MODULE GROUP/NAME`.

It speaks JSON, a line each way. On its own it says that it is ready, with a checksum of the result,
or that the workload failed. For each line "measure SECONDS" it answers with one measurement, which
takes about so many seconds. It ends with its input. A third argument is "native", to run the
workload's form in C, or the name of a mechanism of the compiler to do without (`mechanisms.py`).
"""

import contextlib
import ctypes
import gc
import importlib
import json
import math
import os
import platform
import re
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dev.bench.mechanisms import switch_off
from dev.bench.native import loop
from dev.bench.registry import Workload, all_workloads

__all__ = ["main"]

MEBIBYTE = 1 << 20
WARM_CALLS = 100
WARM_SECONDS = 0.3


def checksum(jax: Any, result: Any) -> float | None:
    """Return the sum of the magnitudes in a result, or None if it holds no arrays."""
    leaves = [leaf for leaf in jax.tree.leaves(result) if hasattr(leaf, "__array__")]
    values = [np.asarray(leaf) for leaf in leaves]
    numbers = [np.abs(x.astype(np.complex128)).sum() for x in values if x.dtype.kind in "biufc"]
    total = float(sum(numbers))
    return total if numbers and math.isfinite(total) else None


def seconds_of(function: Callable, args: tuple, wait: Callable, calls: int, each: bool) -> float:
    """Return the seconds that one of so many calls takes; `each` waits for every result."""
    start = time.perf_counter()
    if each:
        for _ in range(calls):
            wait(function(*args))
    else:
        for _ in range(calls):
            result = function(*args)
        wait(result)
    return (time.perf_counter() - start) / calls


def resident(field: str) -> int:
    """Return VmRSS or VmHWM of this process, in bytes."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return int(re.search(rf"{field}:\s+(\d+) kB", status.read_text())[1]) * 1024


def peak_growth(jax: Any, function: Any, args: tuple) -> tuple[int, Any]:
    """Return the bytes by which three runs of a compiled function let the process grow at most."""
    compiled = function.lower(*args).compile()
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        # What compiling freed goes back to the system, so that runs cannot hide in it.
        ctypes.CDLL(None).malloc_trim(0)
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    for _ in range(3):
        result = jax.block_until_ready(compiled(*args))
    return max(resident("VmHWM") - before, MEBIBYTE), result


def demand(jax: Any, function: Any, args: tuple, result: Any) -> dict[str, float]:
    """Return what a call cannot do without: bytes in and out, and operations, and of what size.

    The operations are those that the compiled program says it has, if it says so.
    """
    leaves = [*jax.tree.leaves(args), *jax.tree.leaves(result)]
    arrays = [leaf for leaf in leaves if hasattr(leaf, "nbytes")]
    wanted = {"bytes": float(sum(x.nbytes for x in arrays)), "operations": 0.0}
    wanted["itemsize"] = max((x.dtype.itemsize for x in arrays if x.dtype.kind == "f"), default=4)
    if hasattr(function, "lower"):
        costs = function.lower(*args).compile().cost_analysis()
        wanted["operations"] = float(costs.get("flops", 0.0))
    return wanted


class Session:
    """One workload, built and ready to be measured."""

    def __init__(self, jax: Any, row: Workload, native: bool = False) -> None:
        """Build the workload, and warm it up if it is measured in a steady state."""
        self.jax = jax
        self.row = row
        # The machinery of tracing and compiling is loaded by now in every kind of measurement.
        jax.block_until_ready(jax.jit(lambda x: x * 2 + 1)(np.float32(1)))
        self.function, self.args = row.build(jax)
        if native:
            self.function = loop(jax, row.name, self.function, self.args)
        self.sum: float | None = None
        self.demand: dict[str, float] = {}
        if row.kind in ("call", "stream"):
            for _ in range(2):
                result = jax.block_until_ready(self.function(*self.args))
            self.sum = checksum(jax, result)
            if row.kind == "call" and jax.__name__ == "tapeless" and not native:
                self.demand = demand(jax, self.function, self.args, result)
            self.warm()
            self.single = self.seconds(1)

    def warm(self) -> None:
        """Call often enough for what happens once, as when a stub for calls is loaded."""
        end = time.perf_counter() + WARM_SECONDS
        for _ in range(WARM_CALLS):
            self.jax.block_until_ready(self.function(*self.args))
            if time.perf_counter() > end:
                break

    def seconds(self, calls: int) -> float:
        """Return the seconds a call, over so many calls."""
        wait = self.jax.block_until_ready
        each = self.row.kind != "stream"
        return seconds_of(self.function, self.args, wait, calls, each)

    def measure(self, seconds: float) -> float:
        """Take one measurement that lasts about so many seconds."""
        if self.row.kind == "memory":
            growth, _ = peak_growth(self.jax, self.function, self.args)
            return growth
        if self.row.kind == "fresh":
            return self.seconds(1)
        calls = max(1, min(10**6, round(seconds / self.single)))
        self.single = self.seconds(calls)
        return self.single


def main() -> None:
    """Serve the requests on standard input; whatever programs print goes to standard error."""
    module, title, form = (*sys.argv[1:], "")[:3]
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    row = next(row for row in all_workloads() if row.title == title)
    try:
        jax = importlib.import_module(module)
        if form not in ("", "native"):
            switch_off(form)
        session = Session(jax, row, native=form == "native")
        ready = {"sum": session.sum, "demand": session.demand}
        ready["python"] = platform.python_version()
        ready["version"] = getattr(jax, "__version__", "")
        answers.write(json.dumps(ready) + "\n")
        for line in sys.stdin:
            value = session.measure(float(line.split()[1]))
            answers.write(json.dumps({"value": value}) + "\n")
    except Exception as error:  # whatever a system under test raises is a result
        text = (str(error).splitlines() or [""])[0]
        answers.write(json.dumps({"error": f"{type(error).__name__}: {text}"}) + "\n")


if __name__ == "__main__":
    main()
