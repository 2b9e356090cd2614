"""Functions that are compiled when a program first calls them.

A recipe may have a slow way that few programs take (`recipes.py`); compiling it takes as long as
compiling a small program.  So a program that may call such a function is linked with a *cell*: two
pointers, the first to the function, null until it is wanted, the second to what compiles it. Before
a call the program asks `tapeless_door` for the function, which is in the runtime.

The compiler is Python code.  It runs in a thread made for it, for which the caller waits without
the interpreter lock: in the main thread a signal's handler might end it by an exception, which
native code could not pass on, and the caller could not do without the function.  A cell lives as
long as the process, and so does its function. `LLVM_LOCK`, which whoever compiles holds, is held
until it is made, so that a fork waits for it.

Nor could the caller do without it when there is no memory left.  So addresses are reserved when the
first cell is made, enough for a compilation, and given back before one begins.  Python may lack the
memory to begin in a new thread; then the caller's thread makes the function.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import threading
from collections.abc import Callable

from tapeless.util.apart import not_apart

__all__ = ["LLVM_LOCK", "cell_address", "door_text"]

_DOOR = """
define ptr @tapeless_door(ptr %cell) {
entry:
  %found = load atomic ptr, ptr %cell acquire, align 8
  %missing = icmp eq ptr %found, null
  br i1 %missing, label %make, label %done
done:
  ret ptr %found
make:
  %second = getelementptr ptr, ptr %cell, i64 1
  %maker = load ptr, ptr %second
  %thread = alloca i64
  %held = call i32 @PyGILState_Check()
  %holds = icmp ne i32 %held, 0
  br i1 %holds, label %release, label %start
release:
  %released = call ptr @PyEval_SaveThread()
  br label %start
start:
  %state = phi ptr [null, %make], [%released, %release]
  %refused = call i32 @pthread_create(ptr %thread, ptr null, ptr %maker, ptr null)
  %none = icmp ne i32 %refused, 0
  br i1 %none, label %here, label %wait
here:
  %a = call ptr %maker(ptr null)
  br label %ready
wait:
  %id = load i64, ptr %thread
  %b = call i32 @pthread_join(i64 %id, ptr null)
  br label %ready
ready:
  br i1 %holds, label %restore, label %again
restore:
  call void @PyEval_RestoreThread(ptr %state)
  br label %again
again:
  %made = load atomic ptr, ptr %cell acquire, align 8
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %retry, label %good
good:
  ret ptr %made
retry:
  %c = call ptr %maker(ptr null)
  %last = load atomic ptr, ptr %cell acquire, align 8
  %hopeless = icmp eq ptr %last, null
  br i1 %hopeless, label %end, label %late
late:
  ret ptr %last
end:
  call void @abort()
  unreachable
}

declare i32 @PyGILState_Check()
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i32 @pthread_join(i64, ptr)
declare void @abort()
"""

LLVM_LOCK = threading.RLock()
_MAKER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
_RESERVED = 32 << 20  # bytes, which nobody touches
_reserve: list[mmap.mmap] = []


class _Cell:
    """The two pointers of one function, and the Python code behind the second."""

    def __init__(self, symbol: str, compiled: Callable[[str], int]) -> None:
        """compiled: returns the address of the function with a name."""
        self._pointers = (ctypes.c_void_p * 2)()
        self._native = _MAKER(self._make)
        self._pointers[1] = ctypes.cast(self._native, ctypes.c_void_p)
        self._symbol, self._compiled = symbol, compiled
        self.address = ctypes.addressof(self._pointers)

    def _make(self, _: int | None) -> None:
        """Fill the cell, unless another thread has done it."""
        with LLVM_LOCK, not_apart():
            if not self._pointers[0]:
                while _reserve:
                    _reserve.pop().close()
                self._pointers[0] = self._compiled(self._symbol)
                _hold_reserve()


def _hold_reserve() -> None:
    """Reserve addresses for the next compilation, if there are any left."""
    if not _reserve:
        with contextlib.suppress(OSError, MemoryError):
            _reserve.append(mmap.mmap(-1, _RESERVED))


_cells: dict[str, _Cell] = {}


def cell_address(symbol: str, compiled: Callable[[str], int]) -> int:
    """Return the address of the cell of a function, which `compiled` makes when it is called."""
    cell = _cells.get(symbol)
    _hold_reserve()
    if cell is None:
        cell = _cells.setdefault(symbol, _Cell(symbol, compiled))
    return cell.address


def door_text() -> str:
    """Give the LLVM text of the door, for a module that declares `pthread_create`."""
    return _DOOR
