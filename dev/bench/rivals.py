"""Two systems that run the same workload in turns.

A rival is a Python and the name of the module that it imports as `jax`. Its processes inherit the
environment, except that each has its own compile cache on disk (a fresh one, unless the workload
measures the cache), and that settings which slow a current BLAS down are left out.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dev.bench.registry import Workload

__all__ = ["Failure", "Rival", "Runs", "compete"]

ROOT = Path(__file__).resolve().parents[2]
UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
COSTLY_KINDS = {"fresh": 5, "process": 5, "cached": 5, "memory": 3}
LONGEST_STEP = 600.0  # seconds


class Failure(Exception):
    """A workload did not run; the text says why."""


@dataclass(frozen=True, slots=True)
class Rival:
    """A system under test; if `native`, the C forms of the workloads, with data from the module.

    without: the mechanism of the compiler that is switched off.
    """

    module: str
    python: str = sys.executable
    native: bool = False
    without: str = ""


@dataclass(slots=True)
class Runs:
    """What one rival did on one workload: its measurements, or why there are none."""

    values: list[float] = field(default_factory=list)
    sum: float | None = None
    demand: dict[str, float] = field(default_factory=dict)
    about: dict = field(default_factory=dict)
    error: str = ""


def environment(cache: str, kind: str) -> dict[str, str]:
    """Return the environment of a rival's process with its compile cache in `cache`."""
    chosen = {name: value for name, value in os.environ.items() if name not in UNSET}
    chosen |= {"JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT), "TAPELESS_CACHE_DIR": cache}
    if kind == "cached":
        # JAX caches on disk only when asked, and small programs only when asked again.
        chosen["JAX_COMPILATION_CACHE_DIR"] = cache
        chosen["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        chosen["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
    return chosen


@contextmanager
def worker(rival: Rival, row: Workload) -> Iterator[subprocess.Popen]:
    """Start a worker for a workload, and end it."""
    cache = tempfile.mkdtemp(prefix="bench-cache-")
    command = [rival.python, "-m", "dev.bench.worker", rival.module, row.title]
    command += ["native"] if rival.native else [rival.without] if rival.without else []
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        bufsize=1,
        cwd=ROOT,
        env=environment(cache, row.kind),
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
        shutil.rmtree(cache, ignore_errors=True)


def answer(process: subprocess.Popen) -> dict:
    """Read one answer of a worker."""
    line = process.stdout.readline()
    if not line:
        raise Failure(f"the process ended with status {process.wait()}")
    reply = json.loads(line)
    if "error" in reply:
        raise Failure(reply["error"])
    return reply


def ask(process: subprocess.Popen, seconds: float) -> float:
    """Ask a worker for one measurement."""
    process.stdin.write(f"measure {seconds}\n")
    return answer(process)["value"]


def measure_fresh(rival: Rival, row: Workload, runs: Runs) -> None:
    """Add a measurement by a new worker."""
    with worker(rival, row) as process:
        ready = answer(process)
        runs.about = {key: ready[key] for key in ("python", "version")}
        runs.values.append(ask(process, 0))


def run_text(rival: Rival, row: Workload, cache: str) -> float:
    """Run a workload's program text as a whole process and return the seconds it takes."""
    command = [rival.python, "-c", row.build(rival.module)]
    start = time.perf_counter()
    done = subprocess.run(
        command,
        env=environment(cache, row.kind),
        cwd=cache,
        capture_output=True,
        text=True,
        timeout=LONGEST_STEP,
        check=False,
    )
    seconds = time.perf_counter() - start
    if done.returncode:
        raise Failure((done.stderr.strip().splitlines() or ["failed without a message"])[-1])
    return seconds


def measure_process(rival: Rival, row: Workload, runs: Runs) -> None:
    """Add the time of a whole process, with an empty cache or with a filled one."""
    with tempfile.TemporaryDirectory(prefix="bench-cache-") as cache:
        if row.kind == "cached":
            run_text(rival, row, cache)
        runs.values.append(run_text(rival, row, cache))


def in_turns(rivals: tuple[Rival, ...], rounds: int) -> Iterator[int]:
    """Yield whose turn it is: in each round everyone's, in alternating order."""
    forward = range(len(rivals))
    for number in range(rounds):
        yield from forward if number % 2 == 0 else reversed(forward)


def compete(
    rivals: tuple[Rival, ...], row: Workload, rounds: int, seconds: float
) -> tuple[Runs, ...]:
    """Measure a workload on every rival, so many rounds in turns."""
    results = tuple(Runs() for _ in rivals)
    if row.kind in COSTLY_KINDS:
        one = measure_process if row.kind in ("process", "cached") else measure_fresh
        for turn in in_turns(rivals, min(rounds, COSTLY_KINDS[row.kind])):
            if not results[turn].error:
                try:
                    one(rivals[turn], row, results[turn])
                except Failure as failure:
                    results[turn].error = str(failure)
        return results
    with ExitStack() as stack:
        processes = []
        for rival, runs in zip(rivals, results, strict=True):
            processes.append(stack.enter_context(worker(rival, row)))
            try:
                runs.about = answer(processes[-1])
                runs.sum = runs.about.pop("sum")
                runs.demand = runs.about.pop("demand")
            except Failure as failure:
                runs.error = str(failure)
        for turn in in_turns(rivals, rounds):
            if not results[turn].error:
                results[turn].values.append(ask(processes[turn], seconds))
    return results
