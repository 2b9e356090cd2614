"""Memory for arrays: aligned blocks, pooled.

The problem: the pages of a large fresh allocation are mapped one fault at a time, which costs more
than most kernels that write them.  The idea: blocks come in size classes (four per power of two,
so that at most a fifth is wasted), and a block that dies goes to the free list of its class.  What
the lists hold is bounded; beyond that memory goes back to the system.

A `Block` owns its memory: it is alive while an Array, a NumPy view or a DLPack capsule refers to
it. Small memory is a `bytes` object instead, which Python makes and frees faster than any code of
ours.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np

__all__ = [
    "ALIGNMENT",
    "Block",
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
_MOST_ADDRESSES = 1 << 62

_libc = ctypes.CDLL(None)
_libc.aligned_alloc.restype = ctypes.c_void_p
_libc.aligned_alloc.argtypes = (ctypes.c_size_t, ctypes.c_size_t)
_libc.free.argtypes = (ctypes.c_void_p,)

bytes_address = ctypes.pythonapi.PyBytes_AsString
bytes_address.restype = ctypes.c_void_p
bytes_address.argtypes = (ctypes.py_object,)

_free: dict[int, list[int]] = {}
_held = 0


class Block:
    """`size` bytes at `address`, aligned to a cache line."""

    __slots__ = ("__weakref__", "address", "owner", "size")

    def __init__(self, address: int, size: int, owner: Any = None) -> None:
        """owner: what keeps foreign memory alive; None for memory of the pool."""
        self.address = address
        self.size = size
        self.owner = owner

    def __del__(self) -> None:
        """Give the memory back."""
        if self.owner is None and _free is not None:  # None while the interpreter ends
            release(self.address, self.size)


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
    global _held
    size = size_class(check_size(n_bytes))
    free = _free.get(size)
    if free:
        try:
            address = free.pop()
        except IndexError:
            pass
        else:
            _held -= size
            return Block(address, size)
    address = _libc.aligned_alloc(ALIGNMENT, size)
    if not address:
        trim()
        address = _libc.aligned_alloc(ALIGNMENT, size)
    if not address:
        raise MemoryError(f"out of memory: an array of {n_bytes} bytes could not be allocated")
    return Block(address, size)


def release(address: int, size: int) -> None:
    """Keep the memory of a dead block for the next one of its size, or free it."""
    global _held
    if size <= _LARGEST_POOLED and _held + size <= _LIMIT:
        _held += size
        _free.setdefault(size, []).append(address)
    else:
        _libc.free(address)


def trim() -> None:
    """Return all pooled memory to the system."""
    global _held
    for size, addresses in list(_free.items()):
        while addresses:
            _libc.free(addresses.pop())
            _held -= size


def pooled_bytes() -> int:
    """Return how much memory the free lists hold."""
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
