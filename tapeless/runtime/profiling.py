"""Where the time of real calls goes: per program, and per kernel inside it.

    with profile() as p:
        step(state, batch)
    p.show()

While a profile is on, calls take the way through Python, and each program runs in a form that reads
the clock between its kernels (`compiler/kernels.py`); that form is compiled when a program is first
met. All programs are seen, those of single operations too.

The time of a program is the time of its kernels. What a call costs besides, in Python and in
handing over arrays, is `overhead`; without a profile most of it does not exist.
"""

from __future__ import annotations

import copy
import ctypes
import threading
import time
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tapeless.runtime import fastcall
from tapeless.runtime.array import Array
from tapeless.runtime.executable import Executable, watchers
from tapeless.util import lazy
from tapeless.util.terminal import counted, print_table, quantity, telling_line
from tapeless.util.weak import weak_key

__all__ = ["ClockedExecutable", "KernelTimes", "Profile", "ProgramTimes", "profile"]

engine = lazy.load("tapeless.compiler.engine")
kernels = lazy.load("tapeless.compiler.kernels")


class ClockedExecutable(Executable):
    """An executable that notes how long its kernels take.

    kernels: what they are. nanoseconds: of each, in the last call, (n,) int64.
    """

    def __init__(self, base: Executable, origins: Any = None) -> None:
        """Compile the program of `base` again, with clocks; origins: of its buffers, if known."""
        self.__dict__.update(vars(base))
        self.kernels = kernels.kernels_of(base.program, origins)
        self._program = kernels.clocked(base.program)
        self.native = engine.compile_program(self.program, self.effort)
        times = self.program.outputs[-1]
        self.output_bytes = [*base.output_bytes, times.size * times.dtype.itemsize]
        self._table_type = ctypes.c_void_p * (len(self.program.inputs) + len(self.program.outputs))
        self.nanoseconds = np.zeros(len(self.kernels), np.int64)

    def enter(self, arrays: list[Array]) -> tuple[Any, ...]:
        """Run, and read the clocks."""
        places = super().enter(arrays)
        n_kernels = len(self.kernels)
        numbers = (ctypes.c_int64 * (2 * n_kernels + 2)).from_address(places[-1].address)
        self.nanoseconds = kernels.durations(np.array(numbers).reshape(n_kernels + 1, 2))
        return places


@dataclass
class KernelTimes:
    """The calls of one kernel; `text` is its listing, `seconds` the total of its times."""

    text: str
    seconds: float = 0.0

    @property
    def head(self) -> str:
        """The line of the listing that says most."""
        return telling_line(self.text)


@dataclass
class ProgramTimes:
    """The calls of one program: how many, and the total of the times of each kernel."""

    name: str
    kernels: list[KernelTimes]
    calls: int = 0
    overhead: float = 0.0

    @property
    def seconds(self) -> float:
        """The time in kernels, of all calls."""
        return sum(kernel.seconds for kernel in self.kernels)


@dataclass(repr=False)
class Profile:
    """What a profile has seen."""

    _programs: dict[Any, ProgramTimes] = field(default_factory=dict)
    _lock: Any = field(default_factory=threading.Lock)

    @property
    def programs(self) -> list[ProgramTimes]:
        """The programs that ran, the one that took longest first."""
        return sorted(self._programs.values(), key=lambda program: -program.seconds)

    @property
    def seconds(self) -> float:
        """The time in kernels of all programs."""
        return sum(program.seconds for program in self._programs.values())

    def call(self, executable: Executable, arrays: list[Array]) -> tuple[Any, ...]:
        """Run an executable and note its times."""
        with self._lock:
            shared = _clocked_form(executable)
        clocked = copy.copy(shared)  # with times of its own, since other threads may call it too
        clocked.consts, clocked.const_addresses = executable.consts, executable.const_addresses
        start = time.perf_counter_ns()
        outs = clocked.run(arrays)
        spent = time.perf_counter_ns() - start
        with self._lock:
            self._note(executable, clocked, spent)
        return outs

    def _note(self, executable: Executable, clocked: ClockedExecutable, spent: int) -> None:
        """Add the times of one call."""
        program = self._programs.get(executable.native)
        if program is None:
            listed = [KernelTimes(kernel.text) for kernel in clocked.kernels]
            program = ProgramTimes(executable.program.name, listed)
            self._programs[executable.native] = program
        program.calls += 1
        program.overhead += (spent - int(clocked.nanoseconds.sum())) / 1e9
        for kernel, n in zip(program.kernels, clocked.nanoseconds, strict=True):
            kernel.seconds += int(n) / 1e9

    def rows(self) -> list[tuple[str, ...]]:
        """Return the rows of the table: program, calls, time, share, kernel."""
        whole = self.seconds or 1.0
        found: list[tuple[str, ...]] = []
        for program in self.programs:
            for number, kernel in enumerate(program.kernels):
                first = (program.name, str(program.calls)) if number == 0 else ("", "")
                share = f"{100 * kernel.seconds / whole:.0f} %"
                found.append((*first, quantity(kernel.seconds, "s"), share, kernel.head))
        return found

    def __repr__(self) -> str:
        """Return the sums, and how to see the rest."""
        return f"<Profile: {self._sums()}; .show() prints a table>"

    def _sums(self) -> str:
        """Return the time in kernels and the number of programs, in words."""
        return f"{quantity(self.seconds, 's')} in {counted(len(self._programs), 'program')}"

    def show(self) -> None:
        """Print a table of the kernels; it needs the package rich, of the extra `inspect`."""
        title = self._sums()
        print_table(title, ("program", "calls ", "time ", "share ", "kernel"), self.rows())


_forms: dict[int, tuple[weakref.ref, ClockedExecutable]] = {}


def _clocked_form(executable: Executable) -> ClockedExecutable:
    """Return the form with clocks, without captured arrays; compile it if there is none yet."""
    native = executable.native
    entry = _forms.get(id(native))
    if entry is None:
        found = ClockedExecutable(executable)
        found.consts, found.const_addresses = [], []
        entry = _forms[id(native)] = (weak_key(_forms, native), found)
    return entry[1]


@contextmanager
def profile() -> Generator[Profile, None, None]:
    """Collect the times of all programs that run inside, kernel by kernel.

    Yields a `Profile`: `programs`, each with `name`, `calls`, `seconds` and `kernels`; `show()`
    prints a table. Profiles may be nested: the inner one sees what runs in it.

    >>> import tapeless as jax
    >>> f = jax.jit(lambda x: (x * x).sum())
    >>> with jax.profile() as p:
    ...     for _ in range(3):
    ...         y = f(jax.numpy.ones(1000))
    >>> [(program.name, program.calls) for program in p.programs if program.calls == 3][-1]
    ('<lambda>', 3)
    """
    found = Profile()
    watchers.append(found.call)
    try:
        with fastcall.switched_off():
            yield found
    finally:
        watchers.remove(found.call)
