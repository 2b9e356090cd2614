"""Memory for arrays: aligned blocks, pooled.

The problem: the pages of a large fresh allocation are mapped one fault at a time, which costs more
than most kernels that write them.  The idea: blocks come in size classes (four per power of two,
so that at most a fifth is wasted), and a block that dies goes to the free list of its class.  What
the lists hold is bounded; beyond that memory goes back to the system. On Linux, blocks of 128 KiB
and more are mapped by themselves. In the heap they would take more than they have: NumPy asks for
huge pages wherever it has had a large array, and the first byte of a block there takes 2 MiB.
Large blocks are made of huge pages: there are fewer faults, and a processor finds where pages are,
and reads ahead across their ends.

A `Block` owns its memory: it is alive while an Array, a NumPy view or a DLPack capsule refers to
it. Small memory is a `bytes` object instead, which Python makes and frees faster than any code of
ours.

A block that dies runs no Python code: an exception of a signal's handler, KeyboardInterrupt say,
would be lost in it. It leaves a *grave*, a weak reference which C code puts in a queue, where the
next allocation finds the memory. The largest blocks must go back to the system at once: C's own
function is called as they die. A grave is not held by its block, since a cycle that dies takes
along all that it holds, and nothing would be called.

What is not used goes back to the system, too. While the pool has taken much memory from it, a
thread looks at the free lists each second: graves that lie there since the last time are given
back. What is used again, as in a loop of calls, has a new grave each time. The thread ends when
little memory is left, and before a fork.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
import threading
import weakref
from collections import deque
from functools import partial
from typing import Any

import numpy as np

__all__ = [
    "ALIGNMENT",
    "Block",
    "Borrowed",
    "SMALL",
    "allocate",
    "bytes_address",
    "check_size",
    "pooled_bytes",
    "trim",
    "view",
]

ALIGNMENT = 64
SMALL = 1 << 15  # bytes up to which memory may as well be a `bytes` object
_LIMIT = 1 << 30  # bytes that the free lists may hold
_LARGEST_POOLED = 1 << 28
_KEPT = 1 << 25  # bytes taken from the system that nobody watches
_PERIOD = 1.0  # seconds
_MOST_ADDRESSES = 1 << 62
_HUGE_PAGE = 1 << 21  # bytes
_MAPPED = 1 << 17 if sys.platform == "linux" else _MOST_ADDRESSES  # bytes of a block of its own
_LARGE = 1 << 22  # bytes of a block of huge pages
_READ_WRITE, _PRIVATE_ANONYMOUS, _USE_HUGE_PAGES = 3, 0x22, 14  # flags of Linux

_libc = ctypes.CDLL(None)
_libc.aligned_alloc.restype = ctypes.c_void_p
_libc.aligned_alloc.argtypes = (ctypes.c_size_t, ctypes.c_size_t)
_libc.free.argtypes = (ctypes.c_void_p,)
if sys.platform == "linux":
    _libc.mmap.restype = ctypes.c_void_p
    _libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
    _libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    _libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)

_give_back_heap = getattr(_libc, "malloc_trim", lambda padding: None)

bytes_address = ctypes.pythonapi.PyBytes_AsString
bytes_address.restype = ctypes.c_void_p
bytes_address.argtypes = (ctypes.py_object,)

_free: dict[int, deque[_Grave]] = {}
_held = 0  # bytes in the free lists
_taken = 0  # bytes of the pool, whether in use or not


class Block:
    """`size` bytes at `address`, aligned to a cache line."""

    __slots__ = ("__weakref__", "address", "owner", "size")

    def __init__(self, address: int, size: int, owner: Any) -> None:
        """owner: what keeps the memory alive, if it is not the pool's."""
        self.address = address
        self.size = size
        self.owner = owner


class Borrowed(Block):
    """The memory of a NumPy array, which other libraries may look at."""

    __slots__ = ()

    def __init__(self, value: np.ndarray) -> None:
        """value: what keeps the memory alive."""
        super().__init__(value.ctypes.data, value.nbytes, value)


class _Release(weakref.ref):
    """A reference whose callback is a function of C, which is given the reference as well."""

    __slots__ = ()
    _as_parameter_ = 0


class _Grave(weakref.ref):
    """Where a dead block was.

    release: gives its memory back at once, if it is a large one.  rested: set after some time in a
    free list.
    """

    __slots__ = ("address", "release", "rested", "size")

    address: int
    rested: bool
    size: int
    release: _Release | None


_graves: deque[_Grave] = deque()
_references: set[_Grave] = set()


def _block(address: int, size: int) -> Block:
    """Return the block for memory of the pool."""
    block = Block(address, size, None)
    grave = _Grave(block, _graves.append)
    grave.address, grave.size, grave.release = address, size, None
    if size > _LARGEST_POOLED:
        release = partial(_libc.free, address)
        if size >= _MAPPED:
            release = partial(_libc.munmap, address, size)
        grave.release = _Release(block, release)
    _references.add(grave)
    return block


def _visit_graves() -> None:
    """Keep the memory of dead blocks for the next ones of their sizes, or free it."""
    global _held
    while _graves:
        try:
            grave = _graves.popleft()
        except IndexError:
            return
        _references.discard(grave)
        if grave.release is not None:
            continue
        if _held + grave.size <= _LIMIT:
            _held += grave.size
            _free.setdefault(grave.size, deque()).append(grave)
        else:
            _forget(grave)


def size_class(n_bytes: int) -> int:
    """Return the size of the block for `n_bytes`: the next multiple of a quarter power of two."""
    if n_bytes <= 256:
        return -(-max(n_bytes, 1) // ALIGNMENT) * ALIGNMENT
    step = 1 << ((n_bytes - 1).bit_length() - 3)
    return -(-n_bytes // step) * step


def check_size(n_bytes: int) -> int:
    """Return a number of bytes, or raise MemoryError if no address space has so many.

    C would take such a number modulo its own largest, and give a block that is far too small.
    """
    if n_bytes >= _MOST_ADDRESSES:
        raise MemoryError(f"out of memory: an array of {n_bytes} bytes could not be allocated")
    return n_bytes


def allocate(n_bytes: int) -> Block:
    """Return a block of at least `n_bytes`; its contents are undefined."""
    global _held, _taken
    size = size_class(check_size(n_bytes))
    _visit_graves()
    free = _free.get(size)
    if free:
        try:
            address = free.pop().address
        except IndexError:
            pass
        else:
            _held -= size
            return _block(address, size)
    address = _fresh(n_bytes, size)
    if not address:
        trim()
        address = _fresh(n_bytes, size)
    if not address:
        raise MemoryError(f"out of memory: an array of {n_bytes} bytes could not be allocated")
    block = _block(address, size)
    if size <= _LARGEST_POOLED:
        _taken += size
        _watcher.look()
    return block


def _fresh(n_bytes: int, size: int) -> int | None:
    """Return the address of `size` bytes, of which `n_bytes` will be used, or None.

    Huge pages end before those do: what is not used takes no memory.
    """
    if size < _MAPPED:
        return _libc.aligned_alloc(ALIGNMENT, size)
    spare = _HUGE_PAGE if size >= _LARGE else 0
    start = _libc.mmap(None, size + spare, _READ_WRITE, _PRIVATE_ANONYMOUS, -1, 0)
    if start == ctypes.c_void_p(-1).value:
        return None
    if not spare:
        return start
    skipped = -start % _HUGE_PAGE
    if skipped:
        _libc.munmap(start, skipped)
    _libc.munmap(start + skipped + size, _HUGE_PAGE - skipped)
    _libc.madvise(start + skipped, n_bytes // _HUGE_PAGE * _HUGE_PAGE, _USE_HUGE_PAGES)
    return start + skipped


def _give_back(address: int, size: int) -> None:
    """Return memory to the system."""
    if size < _MAPPED:
        _libc.free(address)
    else:
        _libc.munmap(address, size)


def _forget(grave: _Grave) -> None:
    """Return memory of the pool to the system."""
    global _taken
    _taken -= grave.size
    _give_back(grave.address, grave.size)


def trim() -> None:
    """Return all pooled memory to the system."""
    _trim(everything=True)


def _trim(everything: bool) -> None:
    """Return pooled memory to the system: what has rested, if not everything."""
    global _held
    _visit_graves()
    held = _held
    for graves in list(_free.values()):
        while graves:
            try:
                grave = graves.popleft()
            except IndexError:
                break
            if not everything and not hasattr(grave, "rested"):
                graves.appendleft(grave)
                break
            _held -= grave.size
            _forget(grave)
        for grave in tuple(graves):
            grave.rested = True
    if _held < held:
        _give_back_heap(0)


class _Watcher:
    """The thread that returns memory which has rested, while the pool has taken much."""

    def __init__(self) -> None:
        """Do not watch yet."""
        self.thread: threading.Thread | None = None
        self.over = threading.Event()
        self.starting = threading.Lock()

    def look(self) -> None:
        """Watch from now on if there is much, and if the system has a thread for it."""
        if _taken <= _KEPT or self.thread is not None or not self.starting.acquire(blocking=False):
            return
        try:
            if self.thread is None:
                over = threading.Event()
                thread = threading.Thread(target=self.run, args=(over,), daemon=True)
                thread.start()
                self.over, self.thread = over, thread
        except RuntimeError:
            pass
        finally:
            self.starting.release()

    def run(self, over: threading.Event) -> None:
        """Watch until little memory is left, or this is over."""
        while not over.wait(_PERIOD):
            _trim(everything=False)
            if _taken <= _KEPT:
                self.thread = None
                return self.look()
        return None

    def stop(self) -> None:
        """End the thread: only the one that forks lives in the child."""
        thread, over, self.thread = self.thread, self.over, None
        if thread is not None:
            over.set()
            thread.join()


_watcher = _Watcher()
if hasattr(os, "register_at_fork"):
    # Another thread may have started one since, which is not there in the child.
    os.register_at_fork(
        before=_watcher.stop, after_in_parent=_watcher.look, after_in_child=_watcher.__init__
    )


def pooled_bytes() -> int:
    """Return how much memory the free lists hold."""
    _visit_graves()
    return _held


def view(
    owner: Any, address: int, shape: tuple[int, ...], dtype: np.dtype, writable: bool = False
) -> np.ndarray:
    """Return the NumPy array over memory at `address`; it keeps `owner` alive."""
    if 0 in shape:
        result = np.empty(shape, dtype)
        result.flags.writeable = writable
        return result
    n_bytes = math.prod(shape) * dtype.itemsize
    memory: Any = (ctypes.c_char * n_bytes).from_address(address)
    memory.owner = owner
    if writable:
        return np.ndarray(shape, dtype, memory)
    # NumPy lets nobody set the flag of an array over memory that is read-only itself.
    return np.frombuffer(memoryview(memory).toreadonly(), dtype).reshape(shape)
