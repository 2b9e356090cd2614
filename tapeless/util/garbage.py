"""Garbage collection while much is made that stays: rarer.

Python looks for garbage each time some hundreds or thousands of objects have been made, and through
the old ones too once they are a quarter more. While a program is traced nearly all that is made
stays: of the time of a long gradient the collector would have a third, and a share that grows with
the program. In a `Sparing` block it looks at the new objects of `_MANY` at a time, and at the old
ones not at all.

The setting is the process's. Blocks may nest and overlap, in several threads; the outermost one
puts back what it found, unless somebody else has changed it meanwhile. Where collection is off, it
stays off; where the setting is larger, it stays so.
"""

from __future__ import annotations

import gc
import threading

from tapeless.util import forks

__all__ = ["Sparing"]

_MANY = 100_000
_NEVER = 1 << 30
_lock = threading.RLock()
_inside: list[int] = []  # the threads that are in blocks, once for each


class _Setting:
    """What was set before the first block, and what is set in it."""

    before = during = gc.get_threshold()

    @classmethod
    def spare(cls) -> None:
        """Look rarely."""
        first, second, _ = cls.before = gc.get_threshold()
        gc.set_threshold(max(first, _MANY) if first else 0, second, _NEVER)
        cls.during = gc.get_threshold()

    @classmethod
    def restore(cls) -> None:
        """Put back what was set before."""
        if gc.get_threshold() == cls.during:
            gc.set_threshold(*cls.before)


class Sparing:
    """A block in which garbage is looked for rarely.

    >>> before = gc.get_threshold()
    >>> with Sparing():
    ...     gc.get_threshold() == before
    False
    >>> gc.get_threshold() == before
    True
    """

    __slots__ = ()

    def __enter__(self) -> None:
        """Begin; the first one changes the setting."""
        with _lock:
            if not _inside:
                _Setting.spare()
            _inside.append(threading.get_ident())

    def __exit__(self, *failure: object) -> None:
        """End; the last one restores it."""
        with _lock:
            _inside.remove(threading.get_ident())
            if not _inside:
                _Setting.restore()


def _forget_others() -> None:
    """Restore the setting in a child whose parent was in blocks, by threads that it has not."""
    thread = threading.get_ident()
    if _inside and thread not in _inside:
        _Setting.restore()
    _inside[:] = [each for each in _inside if each == thread]


forks.wait_for(_lock, _forget_others)
