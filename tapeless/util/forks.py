"""Forks: what other threads hold when a process forks is never given back in the child.

A child has one thread, the one that forked. So a fork waits until no other thread holds the locks
of `wait_for`, and until none imports this package or a part of it, since Python's locks of modules
would stay taken.

A thread that imports may need one of the locks, and one that holds a lock may import. So the fork
takes the locks, looks whether anybody imports, and, if so, gives the locks back and begins again;
what is imported meanwhile may bring locks of its own. While it forks, imports wait at the *gate*.
Who imports and waits for the thread that forks would wait for ever: after some seconds the fork
goes on.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

__all__ = ["importing", "wait_for"]

_PATIENCE = 10.0  # seconds
_STEP = 0.001
_gate = threading.RLock()
_waited_for: list[tuple[Any, Callable[[], None] | None]] = []
_taken: list[tuple[Any, Callable[[], None] | None]] = []  # by the fork that has the gate
_importing: dict[int, int] = {}  # threads, and how many imports each is within
_first = threading.get_ident()  # the thread that imports the package itself, of which this is early


def wait_for(lock: Any, in_child: Callable[[], None] | None = None) -> None:
    """Let forks wait for a lock, which the child has free.

    in_child: called in the child before that.
    """
    _waited_for.append((lock, in_child))


@contextmanager
def importing() -> Generator[None]:
    """Let the forks of other threads wait until the block ends."""
    thread = threading.get_ident()
    with _gate:
        _importing[thread] = _importing.get(thread, 0) + 1
    try:
        yield
    finally:
        with _gate:
            _importing[thread] -= 1
            if not _importing[thread]:
                del _importing[thread]


def _is_imported_by_others(thread: int) -> bool:
    """Tell whether another thread than this is still importing the package itself."""
    package = sys.modules.get(__name__.partition(".")[0])
    return thread != _first and getattr(getattr(package, "__spec__", None), "_initializing", False)


def _take_all() -> None:
    """Take the locks and the gate, when no other thread imports."""
    thread = threading.get_ident()
    latest = time.monotonic() + _PATIENCE
    while True:
        locks = list(_waited_for)
        for lock, _ in locks:
            lock.acquire()
        _gate.acquire()
        others = any(each != thread for each in _importing) or _is_imported_by_others(thread)
        if not (others or len(locks) < len(_waited_for)) or time.monotonic() > latest:
            _taken[:] = locks
            return
        _gate.release()
        for lock, _ in reversed(locks):
            lock.release()
        time.sleep(_STEP)


def _give_all() -> None:
    """Give back what the fork has taken."""
    locks = list(_taken)
    _gate.release()
    for lock, _ in reversed(locks):
        lock.release()


def _give_all_in_child() -> None:
    """Give back the same in the child, after what is to be called there."""
    for thread in set(_importing) - {threading.get_ident()}:
        del _importing[thread]
    for _, in_child in reversed(_taken):
        if in_child is not None:
            in_child()
    _give_all()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_take_all, after_in_parent=_give_all, after_in_child=_give_all_in_child
    )
