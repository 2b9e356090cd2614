"""Random inputs, in child processes that may crash.

    python -m tests.safety.fuzz --seed 0 --count 500     in this process
    python -m tests.safety.fuzz --seconds 3600           children, one after the other
    ... --kind programs                                  one kind of input: see KINDS
    ... --oracle                                         compare with jax, where it is there

An input is an expression.  Calls are templates whose holes are filled with random arrays, shapes,
dtypes, axes, indices and modes, many of them wrong; programs, jaxprs, modules and files are numbers
(see `inputs.py`).  A call may return anything or raise an ordinary error.  What is a finding:

    crash       the process ends by a signal
    hang        an expression takes more than its time
    fault       an error that is our fault: an assertion, a failed check of a program, a NameError
    difference  with --oracle: another shape, dtype or value than JAX's, or an error for a result;
                what docs/differences.md lists is left out

Every expression is written to a file before it runs, so that the one that crashed is known.  The
expressions depend on the seed alone.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tests.safety.inputs import helpers, other_inputs
from tests.safety.templates import FILLERS, TEMPLATES

__all__ = ["KINDS", "Report", "check", "expressions", "fuzz"]

KINDS = ("calls", "programs", "jaxprs", "modules", "exports", "cache")

ROOT = Path(__file__).parent.parent.parent
LIMIT = 20  # seconds for one expression
MEMORY = 8 << 30  # bytes of addresses for a child, so that what is too large raises MemoryError
FAULTS = (AssertionError, NameError, UnboundLocalError, KeyError, SystemError, RecursionError)
HOLE = re.compile(r"\{(\w+)\}")
DIFFERENCES = ROOT / "docs" / "differences.md"
BESIDE = "beside JAX: "


def expressions(seed: int, kind: str = "calls", oracle: bool = False) -> Iterator[str]:
    """Yield expressions without end."""
    if kind != "calls":
        yield from other_inputs(kind, seed, oracle)
    rng = random.Random(seed)
    while True:
        text = rng.choice(TEMPLATES)
        while HOLE.search(text):
            text = HOLE.sub(lambda found: _filled(rng, found.group(1)), text)
        yield text


def _filled(rng: random.Random, hole: str) -> str:
    """Return a random filler of a hole."""
    choices = FILLERS[hole]
    return str(choices(rng) if callable(choices) else rng.choice(choices))


def sample(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Return an array with ordinary and special values."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    values = rng.integers(-4, 5, shape).astype(np.float64)
    if kind.kind in "fc":
        values = values + rng.choice([0, 0.25, -0.5], shape)
        values = np.where(rng.random(shape) < 0.05, np.nan, values)
        values = np.where(rng.random(shape) < 0.05, np.inf, values)
    if kind.kind == "u":
        values = np.abs(values)
    if kind.kind == "c":
        values = values + 1j * rng.integers(-2, 3, shape)
    return values.astype(kind)


def names_for(library: ModuleType, numpy: Any) -> dict[str, Any]:
    """Return what expressions may use."""

    def array(shape: tuple[int, ...], dtype: str, seed: int) -> Any:
        return numpy.asarray(sample(shape, dtype, seed))

    return {
        "A": array, "np": np, "jax": library, "jnp": numpy, "lax": library.lax,
        "random": library.random, "jit": library.jit, "grad": library.grad, "vmap": library.vmap,
        **helpers(library),
    }  # fmt: skip


class TooSlow(BaseException):
    """An expression has used up its time."""


def _ring(number: int, frame: object) -> None:
    """End the expression."""
    raise TooSlow


def outcome(text: str, names: dict[str, Any]) -> Any:
    """Return the value of an expression, or the exception that it raises."""
    signal.signal(signal.SIGALRM, _ring)
    signal.alarm(LIMIT)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return eval(text, dict(names))
    except (Exception, TooSlow) as error:
        return error
    finally:
        signal.alarm(0)


def check(text: str, names: dict[str, Any]) -> str | None:
    """Run an expression; return what is wrong, if anything."""
    result = outcome(text, names)
    if isinstance(result, TooSlow):
        return f"hang: more than {LIMIT} s"
    if isinstance(result, NameError) and "unbound axis name" in str(result):
        return None  # what JAX raises
    if isinstance(result, KeyError) and _is_of_the_expression(result):
        return None  # it looks for something in a dictionary of its own
    if isinstance(result, FAULTS) or type(result).__name__ == "JaxprTypeError":
        return f"fault: {type(result).__name__}: {result}"
    if isinstance(result, Exception) and "bug in tapeless" in str(result):
        return f"fault: {result}"
    return None


def _is_of_the_expression(error: Exception) -> bool:
    """Tell whether the expression itself raised an error, not what it called."""
    frames = list(traceback.walk_tb(error.__traceback__))
    return frames[-1][0].f_code.co_filename == "<string>"


def compare(text: str, ours: dict[str, Any], theirs: dict[str, Any]) -> str | None:
    """Run an expression in both libraries; return how the results differ, if they do."""
    if any(re.search(pattern, text) for pattern in excluded()):
        return None
    a, b = outcome(text, ours), outcome(text, theirs)
    if isinstance(b, Exception | TooSlow):
        return None  # what JAX refuses, or still compiles, we may allow
    if isinstance(a, TooSlow):
        return f"hang: more than {LIMIT} s"
    if isinstance(a, (MemoryError, OverflowError)):
        return None  # JAX fails later, when the array is read
    if isinstance(a, Exception):
        return f"difference: {type(a).__name__}: {str(a).splitlines()[0]}, not {b!r}"
    xs, ys = (lib["jax"].tree.leaves(x) for lib, x in ((ours, a), (theirs, b)))
    if len(xs) != len(ys):
        return f"difference: {len(xs)} results, not {len(ys)}"
    return next(filter(None, map(_difference, map(_numbers, xs), map(_numbers, ys))), None)


@functools.cache
def excluded() -> tuple[str, ...]:
    """Return the patterns of what is known to differ, which the document lists."""
    _, _, section = DIFFERENCES.read_text().partition("## What the fuzzer does not compare")
    rows = section.partition("\n## ")[0].splitlines()
    cells = [row.split(" | ")[0] for row in rows if row.startswith("| `")]
    return tuple(pattern for cell in cells for pattern in re.findall(r"`([^`]+)`", cell))


def _numbers(x: Any) -> np.ndarray | None:
    """Return what can be compared; None for text and keys."""
    if str(getattr(x, "dtype", "")).startswith("key<"):
        return None
    array = np.asarray(x)
    if hasattr(x, "dtype"):
        return array.astype(x.dtype)  # JAX has numbers with a type that NumPy does not see
    return None if array.dtype.kind in "OUSV" else array


def _difference(x: np.ndarray | None, y: np.ndarray | None) -> str | None:
    """Return how two arrays differ, if they do, beyond what rounding explains."""
    if x is None or y is None:
        return None
    if x.shape != y.shape or x.dtype != y.dtype:
        return f"difference: {x.dtype}{x.shape}, not {y.dtype}{y.shape}"
    loose = 2e-2 if x.dtype.itemsize <= 2 else 1e-4
    wide = [v.astype(np.complex128) for v in (x, y)]
    if np.allclose(*wide, equal_nan=True, rtol=loose, atol=loose):
        return None
    return f"difference: {x!r}, not {y!r}"


def run_here(
    kind: str,
    seed: int,
    count: int,
    log: Path | None,
    oracle: bool,
) -> list[tuple[str, str]]:
    """Run `count` expressions in this process; return the findings."""
    library = __import__("tapeless")
    ours = names_for(library, library.numpy)
    theirs = None
    if oracle:
        other = __import__("jax.numpy")
        other.config.update("jax_disable_most_optimizations", True)  # each program runs once
        theirs = names_for(other, other.numpy)
    found = []
    stream = expressions(seed, kind, oracle)
    for number in range(count):
        text = next(stream)
        if log is not None:
            log.write_text(f"{number} {text}")
        wrong = check(text, ours)
        if wrong is None and theirs is not None:
            if log is not None:
                log.write_text(f"{number} {BESIDE}{text}")
            wrong = compare(text, ours, theirs)
        if wrong is not None:
            found.append((text, wrong))
    return found


class Report:
    """What a run of children found.

    tried: expressions; crashes, others: (expression, what happened).
    """

    def __init__(self) -> None:
        """Start empty."""
        self.tried = 0
        self.crashes: list[tuple[str, str]] = []
        self.others: list[tuple[str, str]] = []

    def __str__(self) -> str:
        """Return the counts and each finding."""
        return "\n".join((self.counts(), *self.findings()))

    def counts(self) -> str:
        """Return how many there are of each."""
        return f"{self.tried} expressions, {len(self.crashes)} crashes, {len(self.others)} others"

    def findings(self) -> list[str]:
        """Return what happened, and for which expression."""
        return [f"{what}\n    {text}" for text, what in (*self.crashes, *self.others)]


def fuzz(
    seed: int,
    count: int,
    report: Report,
    kind: str = "calls",
    oracle: bool = False,
) -> None:
    """Run `count` expressions in a child process, and enter its findings into the report."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "last"
        command = [sys.executable, "-m", "tests.safety.fuzz", "--seed", str(seed)]
        command += ["--kind", kind, "--count", str(count), "--log", str(log)]
        command += ["--oracle"] * oracle
        child = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT), "JAX_TRACEBACK_FILTERING": "off"},
        )  # fmt: skip
        try:
            out, _ = child.communicate(timeout=60 + count * LIMIT)
        except subprocess.TimeoutExpired:
            child.kill()
            out, _ = child.communicate()
        last = log.read_text() if log.exists() else "0 nothing"
        number, _, text = last.partition(" ")
        report.tried += int(number) + 1
        for line in out.splitlines():
            if line.startswith("FOUND\t"):
                report.others.append(tuple(line.split("\t")[1:3]))
        if child.returncode != 0:  # ours alone had ended well, if JAX came next
            found = report.others if text.startswith(BESIDE) else report.crashes
            found.append((text, f"crash: ended with {child.returncode}\n{out[-2000:]}"))


def main() -> None:
    """Run here, or in children for some time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", choices=KINDS, default="calls")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--oracle", action="store_true")
    options = parser.parse_args()
    if options.seconds is None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        for text, wrong in run_here(
            options.kind, options.seed, options.count, options.log, options.oracle
        ):
            print("FOUND", text, " ".join(wrong.split()), sep="\t", flush=True)
        return
    report, end, seed = Report(), time.monotonic() + options.seconds, options.seed
    with contextlib.suppress(KeyboardInterrupt):
        while time.monotonic() < end:
            known = set(report.findings())
            fuzz(seed, options.count, report, options.kind, options.oracle)
            for finding in report.findings():
                if finding not in known:
                    print(finding, flush=True)
            seed += 1
    print(report.counts())
    sys.exit(bool(report.crashes))


if __name__ == "__main__":
    main()
