"""Child processes of the safety tests: Python programs that are sent signals, forked, or crash.

A program is text.  It runs with the package importable, the cache of the test run, and a prelude of
common imports; what it prints, line by line, is how it talks to the test.  A child that ends by a
signal has a negative return code: that is a crash, which no exception can hide.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

__all__ = ["PRELUDE", "ROOT", "Child", "run_program"]

ROOT = Path(__file__).parent.parent.parent
PRELUDE = """
import faulthandler, os, signal, sys, threading, time
import numpy as np
import tapeless as jax
from tapeless import lax, numpy as jnp
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell turns off behind "&"
faulthandler.register(signal.SIGUSR2)
"""


class Child:
    """A running program, killed at the end of the `with` block or after `limit` seconds."""

    def __init__(
        self, program: str, limit: float = 60.0, first: str = "", **environment: str
    ) -> None:
        """Start it; first: what runs before the common imports."""
        variables = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-c", first + PRELUDE + program],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            env=variables,
            start_new_session=True,
        )
        self._watch = threading.Timer(limit, self.give_up)
        self._watch.start()

    def __enter__(self) -> Child:
        """Return itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Leave nothing behind."""
        self._watch.cancel()
        self.kill()
        self.process.communicate()

    def give_up(self) -> None:
        """Have the program and its children write where their threads are, and end them."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGUSR2)
            time.sleep(1)
        self.kill()

    def kill(self) -> None:
        """End the program and its children."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def line(self) -> str:
        """Return the next line that it prints; an ended program fails the test."""
        assert self.process.stdout is not None
        text = self.process.stdout.readline()
        if not text:
            code, _, errors = self.end()
            raise AssertionError(f"the program ended with {code}:\n{errors}")
        return text.strip()

    def expect(self, text: str) -> None:
        """Read a line, which must be `text`."""
        found = self.line()
        assert found == text, f"expected {text!r}, got {found!r}"

    def work(self, seconds: float, patience: float = 10) -> None:
        """Let it work for so many seconds of processor time, or `patience` times as long.

        On a busy machine it may not yet have begun when the seconds have passed.
        """
        first, end = self._spent(), time.monotonic() + patience * seconds
        time.sleep(seconds)
        while time.monotonic() < end and self._spent() < first + seconds:
            time.sleep(0.01)

    def _spent(self) -> float:
        """Return the processor time that it has used; endless where that is not known."""
        try:
            text = Path(f"/proc/{self.process.pid}/stat").read_text()
        except OSError:
            return math.inf
        user, system = text.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def send(self, number: signal.Signals) -> float:
        """Send a signal; return the time."""
        now = time.monotonic()
        self.process.send_signal(number)
        return now

    def end(self) -> tuple[int, str, str]:
        """Return the code, the rest of the output and the errors of the ended program."""
        out, errors = self.process.communicate()
        return self.process.returncode, out, errors


def run_program(program: str, limit: float = 60.0, **environment: str) -> str:
    """Return what a program prints; it must end well."""
    with Child(program, limit, **environment) as child:
        code, out, errors = child.end()
    assert code == 0, f"the program ended with {code}:\n{errors}"
    return out.strip()
