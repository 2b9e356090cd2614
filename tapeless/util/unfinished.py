"""What a running program has opened, to be closed if the program ends early.

A program that shows something while it runs notes how to close it, and takes the note back when it
is done.  A program that a signal or an exception ends never comes to that; whoever finds out that
it ended calls `close_all`, in the thread that ran it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable

__all__ = ["close_all", "closed", "opened"]


class _Open(threading.local):
    """How to close what the program of this thread has opened."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.closers: dict[Hashable, Callable[[], None]] = {}


_open = _Open()


def opened(what: Hashable, close: Callable[[], None]) -> None:
    """Note that the program of this thread has opened something."""
    _open.closers[what] = close


def closed(what: Hashable) -> None:
    """Note that something is closed, if it was open."""
    _open.closers.pop(what, None)


def close_all() -> None:
    """Close what the program of this thread has left open."""
    while _open.closers:
        _, close = _open.closers.popitem()
        close()
