"""Mutations: each promise of docs/reliability.md, switched off, must make its test fail.

    python -m tests.safety.mutations            all of them: an hour or so
    python -m tests.safety.mutations callbacks  those whose promise contains the word
    ... --jobs 2                                some at once

A mutation replaces one piece of text in a copy of the repository, and runs one test there.  A
mutation that no longer applies, or whose test passes all the same, is reported and fails the run.
The list is in `promises/`; `make test-long` goes through it, too.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

from tests.safety.promises import PROMISES, Mutation
from tests.safety.promises.mutation import ROOT

__all__ = ["copied", "survives"]

LIMIT = 600  # seconds for the test of one mutation
LEFT_OUT = (".git", ".venv*", "build", "site", "__pycache__", ".*_cache", ".hypothesis")


@contextmanager
def copied() -> Generator[Path, None, None]:
    """Make a copy of the repository, which ends with the block."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT))
        yield copy


def survives(mutation: Mutation, copy: Path) -> str | None:
    """Return why a mutation goes unnoticed in a copy; None if its test fails as it should."""
    path = copy / mutation.file
    text = path.read_text()
    if text.count(mutation.before) != 1:
        return "it does not apply any more"
    _write(path, text.replace(mutation.before, mutation.after))
    test = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", ""]
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(copy), "HOME": str(copy)}
    try:
        code = subprocess.run(
            [*test, mutation.test], cwd=copy, capture_output=True, env=environment, timeout=LIMIT
        ).returncode
    except subprocess.TimeoutExpired:
        return None  # it hangs: that is noticed
    finally:
        _write(path, text)
    return None if code == 1 or code < 0 else f"pytest ended with {code}"


def _write(path: Path, text: str) -> None:
    """Write a file, with a time that no earlier version of it had: Python goes by that."""
    before = path.stat().st_mtime
    path.write_text(text)
    later = max(time.time(), before + 2)
    os.utime(path, (later, later))


def main() -> None:
    """Try all mutations, or some."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    chosen = [
        mutation
        for mutations in PROMISES.values()
        for mutation in mutations
        if all(word in mutation.promise for word in options.words)
    ]
    copies: SimpleQueue[Path] = SimpleQueue()

    def attempt(mutation: Mutation) -> bool:
        """Try one in a copy that is free; tell whether it goes unnoticed."""
        copy = copies.get()
        start = time.monotonic()
        why = survives(mutation, copy)
        copies.put(copy)
        seconds = time.monotonic() - start
        print(
            f"{'noticed' if why is None else why}: {mutation.promise} ({seconds:.0f} s)", flush=True
        )
        return why is not None

    with ThreadPoolExecutor(options.jobs) as pool, copied() as first:
        copies.put(first)
        for number in range(1, options.jobs):
            copies.put(shutil.copytree(first, first.parent / f"copy{number}"))
        unnoticed = sum(pool.map(attempt, chosen))
    print(f"{len(chosen)} mutations, {unnoticed} not noticed")
    sys.exit(bool(unnoticed))


if __name__ == "__main__":
    main()
