"""Calls from native code back into Python.

A program may call a host function: a callback of the user's, or a routine of a library that has no
C entry (the transform of a signal, a special function).  The native code passes the addresses of
the
operands and of the results; the function here wraps them as NumPy arrays without copying, and calls
the Python function, which writes the results.

An exception ends the program: it is kept for the thread, the native code returns the status
`RAISED` from wherever it is, and the caller raises it.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tapeless.kernel.ir import Buffer
from tapeless.util.handlers import with_handler

__all__ = ["RAISED", "HostCall", "native_callbacks", "take_exception"]

RAISED = 1


class _Pending(threading.local):
    """The exception that ended the program of this thread."""

    error: BaseException | None = None


_pending = _Pending()


class HostCall:
    """A Python function and the memory that it works on.

    function: takes NumPy arrays, the operands and then the results, and writes the results.
    operands, results: their buffers.
    """

    __slots__ = ("function", "operands", "results")

    def __init__(
        self, function: Callable, operands: Sequence[Buffer], results: Sequence[Buffer]
    ) -> None:
        """Remember the function and its buffers."""
        self.function = function
        self.operands = tuple(operands)
        self.results = tuple(results)

    def __call__(self, *addresses: int) -> int:
        """Run the function on memory at these addresses; return the status."""
        n = len(self.operands)
        try:
            arrays = [_array(b, a) for b, a in zip(self.operands, addresses[:n], strict=True)]
            for array in arrays:
                array.flags.writeable = False
            targets = [_array(b, a) for b, a in zip(self.results, addresses[n:], strict=True)]
            self.function(*arrays, *targets)
        except BaseException as error:  # noqa: BLE001 - it is raised again by the caller
            _pending.error = error
            return RAISED
        return 0


def _keep() -> None:
    """Keep what a signal's handler raised in the instant before a callback begins, or as it ends.

    ctypes reports and drops it, and lets the native code see a status that is not 0.
    """
    _pending.error = sys.exception()


with_handler(HostCall.__call__, _keep)


def _array(buffer: Buffer, address: int) -> np.ndarray:
    """Return the NumPy array over a buffer's memory."""
    if buffer.size == 0:
        return np.empty(buffer.shape, buffer.dtype)
    memory = (ctypes.c_char * buffer.n_bytes).from_address(address)
    return np.ndarray(buffer.shape, buffer.dtype, memory)


def native_callbacks(calls: Mapping[str, HostCall]) -> tuple[dict[str, int], list[Any]]:
    """Return the address of each host call, and the objects that must outlive the program."""
    addresses, kept = {}, []
    for symbol, call in calls.items():
        n = len(call.operands) + len(call.results)
        native = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * n)(call)
        addresses[symbol] = ctypes.cast(native, ctypes.c_void_p).value
        kept.append(native)
    return addresses, kept


def take_exception() -> BaseException | None:
    """Return the exception that ended the program of this thread, once."""
    error, _pending.error = _pending.error, None
    return error
