"""Executable memory: linking objects into the process, resolving what they call, and forks.

Everything that touches the process as a whole is here. An LLJIT links programs; each is a library
of its own and is freed with its `Linked` object. LLVM keeps some kilobytes of each until the LLJIT
goes, with the last of its programs, so that after some programs there is a new one. The runtime
(the poll for signals and the worker pool) is LLVM text like any program, compiled and linked at
first use.

Foreign symbols are resolved by their spelling: `blas:` and `lapack:` name SciPy's routines
(`libraries.py`); names that the program brings are given; everything else is looked up in the
process (libc, libm, Python).

Each linked program takes two mappings of memory, of which the system gives a process a limited
number. Well before they run out programs are refused, since LLVM would end the process; the callers
that cache programs ask `is_full` first.

LLVM is not safe to fork in the middle of: a lock is held around all use of it, and a fork waits
for the lock, and for the binding's own. The child starts without workers, and with itself as the
main thread.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from tapeless.compiler.generate import generate_object, machine
from tapeless.compiler.interrupts import poll_text
from tapeless.compiler.libraries import calm_blas, routine_address
from tapeless.compiler.objects import images_of, object_key, objects
from tapeless.compiler.ondemand import LLVM_LOCK, door_text
from tapeless.compiler.target import host_target
from tapeless.compiler.threads import pool_text
from tapeless.util import forks
from tapeless.util.apart import apart
from tapeless.util.cache import renew_locks
from tapeless.util.processors import thread_count
from tapeless.util.records import record

__all__ = [
    "LLVM_LOCK",
    "Linked",
    "Runtime",
    "count_live",
    "is_full",
    "link",
    "refuse_if_full",
    "runtime",
]

_serial = itertools.count()
_shared: list[Runtime] = []
_linkers: list[llvm.LLJIT] = []  # the one for the next program
_MOST_LINKED = 128  # programs of a linker


class _Grave(weakref.ref):
    """A reference to a program that keeps what LLVM linked."""

    __slots__ = ("tracker",)
    tracker: llvm.ResourceTracker


class Linked:
    """Code in memory; it is freed when the next program is linked after this object has died.

    LLVM's binding frees it by Python code, in which a signal's handler could not raise: the object
    leaves a *grave*. Graves are visited in the thread that links.

    size: the bytes of its object file.  parts: what a program was linked of, for `engine.py`.
    """

    def __init__(self, tracker: llvm.ResourceTracker, size: int) -> None:
        """Hold on to what LLVM linked."""
        self._tracker = tracker
        self.size = size
        self.parts: Any = None
        grave = _Grave(self, _graves.append)
        grave.tracker = tracker
        _references.add(grave)

    def address(self, name: str) -> int:
        """Return the address of an exported function."""
        return self._tracker[name]


_references: set[_Grave] = set()  # they must not be held by what they refer to
_graves: deque[_Grave] = deque()
_counted = 0
_crowded = False


_EVERY = 128  # programs, after which the mappings of the whole process are counted again
# What these programs, of at most four parts with two mappings each, and others may need until then:
_SPARE = 8 * _EVERY + 1024
_unlimited = 1 << 30


@cache
def _most_mappings() -> int:
    """Return how many mappings of memory the system gives a process."""
    try:
        return int(Path("/proc/sys/vm/max_map_count").read_text())
    except (OSError, ValueError):
        return _unlimited


def _mappings() -> int:
    """Return how many mappings of memory the process has."""
    try:
        return Path("/proc/self/maps").read_bytes().count(b"\n")
    except OSError:
        return 0


def count_live() -> int:
    """Return how many linked programs are alive."""
    return len(_references) - len(_graves)


def _visit_graves() -> None:
    """Free the code of dead programs."""
    with LLVM_LOCK:
        while _graves:
            grave = _graves.popleft()
            _references.discard(grave)
            grave.tracker.close()


def is_full() -> bool:
    """Tell whether no more programs can be linked before some are freed.

    Programs may take half of the mappings; the other half may be taken by others.
    """
    global _counted, _crowded
    if _most_mappings() == _unlimited:
        return False
    if _crowded or abs(count_live() - _counted) >= _EVERY:
        apart(_visit_graves)
        _counted = count_live()
        _crowded = _mappings() > _most_mappings() - _SPARE
    return _crowded or 4 * count_live() >= _most_mappings()


@record
class Runtime:
    """The linker, and the addresses of the functions that programs and Python call.

    reset: forget the workers, in a forked child; limit: set how many workers may take part;
    set_main: set the thread that handles signals; exception: where `raise_interruption`
    finds what a signal handler raised; left: where `mark_left` enters threads.
    """

    tracker: llvm.ResourceTracker
    symbols: Mapping[str, int]
    exception: int
    left: int
    reset: Callable[[], None]
    limit: Callable[[int], None]
    set_main: Callable[[int], None]


def _resolve(symbol: str, given: Mapping[str, int]) -> int | None:
    """Return the address of a symbol; None if the process has it under its own name."""
    if symbol in given:
        return given[symbol]
    family, _, name = symbol.partition(":")
    if family in ("blas", "lapack"):
        address = routine_address(family, name)
        calm_blas()
        return address
    if name:
        raise LookupError(f"the program calls {symbol}, which it does not bring; a bug in tapeless")
    return None


def refuse_if_full() -> None:
    """Raise MemoryError where one more program should not be linked."""
    if is_full():
        raise MemoryError(
            f"out of memory for programs: {count_live()} compiled programs are alive, and the "
            "system has no more mappings of memory for them. Drop compiled functions that are not "
            "needed any more, or call jax.clear_caches()."
        )


def link(code: bytes, name: str, needs: tuple[str, ...], given: Mapping[str, int]) -> Linked:
    """Link an object that exports `name` and needs the symbols `needs`."""
    known = {**runtime().symbols, **given}
    with LLVM_LOCK:
        addresses = {symbol: _resolve(symbol, known) for symbol in needs}

    def add() -> Linked:
        """Let LLVM link."""
        with LLVM_LOCK:
            library = llvm.JITLibraryBuilder().add_current_process()
            for image in images_of(code):
                library.add_object_img(image)
            for symbol, address in addresses.items():
                if address is not None:
                    library.import_symbol(symbol, address)
            library.export_symbol(name)
            _visit_graves()
            number = next(_serial)
            if number % _MOST_LINKED == _MOST_LINKED - 1:
                _linkers[:] = [_new_linker()]
                _give_back()
            return Linked(library.link(_linkers[0], f"program{number}"), len(code))

    return apart(add)


def _give_back() -> None:
    """Give free pages between what is kept back to the system: programs come and go in between."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _new_linker() -> llvm.LLJIT:
    """Return what links programs; it lives as long as one of them."""
    return llvm.create_lljit_compiler(machine(host_target(), 1), use_jit_link=True)


def runtime() -> Runtime:
    """Return the runtime of this process, linked at the first call."""
    return _shared[0] if _shared else apart(_first_runtime)


def _first_runtime() -> Runtime:
    """Link the runtime, unless another thread has done it."""
    with LLVM_LOCK:
        if not _shared:
            _shared.append(_start())
        return _shared[0]


def _start() -> Runtime:
    """Compile and link the runtime."""
    target = host_target()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    jit = _new_linker()
    _linkers[:] = [jit]
    text = poll_text(target.triple) + pool_text(target.triple) + door_text()
    key = object_key(text, target, 1)
    code = objects().load(key)
    if code is None:
        code = generate_object(text, target, 1)
        objects().save(key, code)
    library = llvm.JITLibraryBuilder().add_object_img(code)
    library.add_current_process()
    called = ("poll", "parallel", "enter_python", "leave_python", "door")
    names = (*called, "exception", "left", "set_main", "pool_reset", "pool_limit")
    for name in names:
        library.export_symbol(f"tapeless_{name}")
    tracker = library.link(jit, "runtime")
    address = {name: tracker[f"tapeless_{name}"] for name in names}
    take = ctypes.CFUNCTYPE(None, ctypes.c_int64)
    found = Runtime(
        tracker=tracker,
        symbols={f"tapeless_{name}": address[name] for name in called},
        exception=ctypes.CFUNCTYPE(ctypes.c_void_p)(address["exception"])(),
        left=ctypes.CFUNCTYPE(ctypes.c_void_p)(address["left"])(),
        reset=ctypes.CFUNCTYPE(None)(address["pool_reset"]),
        limit=take(address["pool_limit"]),
        set_main=take(address["set_main"]),
    )
    found.reset()
    found.limit(thread_count() - 1)
    found.set_main(threading.main_thread().ident or 0)
    return found


def _after_fork() -> None:
    """Make the child a process with one thread."""
    for shared in _shared:
        shared.reset()
        shared.set_main(threading.get_ident())
    renew_locks()


def _let_forks_wait() -> None:
    """Let forks wait for other threads that use LLVM, also for those that free dead programs.

    These may be within any lock, and take only that of the binding.
    """
    forks.wait_for(LLVM_LOCK, _after_fork)
    forks.wait_for(llvm.ffi.lib._lock._lock)


_let_forks_wait()
