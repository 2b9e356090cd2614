"""`python -m tapeless`: run a script or a module as if JAX were installed."""

from __future__ import annotations

import gc
import runpy
import sys
from pathlib import Path

from tapeless.dropin.finder import install_as_jax

__all__ = ["main"]

USAGE = """\
usage: python -m tapeless script.py [arguments]
       python -m tapeless -m module [arguments]

Runs a program that imports jax, on tapeless."""


def main(arguments: list[str]) -> int:
    """Run the program that the arguments name; return the exit code of a wrong call."""
    if arguments[:1] in ([], ["-h"], ["--help"]):
        print(USAGE)
        return 0 if arguments else 2
    install_as_jax()
    # What is loaded now lives as long as the process: the collector need not look at it again.
    gc.freeze()
    if arguments[0] == "-m":
        if len(arguments) < 2:
            print(USAGE, file=sys.stderr)
            return 2
        sys.argv = arguments[1:]
        sys.path[0] = ""
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return 0
    script = Path(arguments[0])
    if not script.exists():
        print(f"python -m tapeless: can't open file {str(script)!r}", file=sys.stderr)
        return 2
    sys.argv = arguments
    sys.path[0] = str(script.resolve().parent)
    runpy.run_path(str(script), run_name="__main__")
    return 0
