"""Weak collections that run no Python code when what is in them dies.

An exception that a signal's handler raises, KeyboardInterrupt say, arrives in whatever Python code
is running.  In the callback of a weak reference Python prints it and goes on: the signal is lost.
The collections of the module `weakref` have such callbacks.  Here a callback is a function written
in C, which no handler interrupts: it takes something out of a set or a dict, or puts the dead
reference, a *grave*, into a queue, and the next one who enters something visits the queue.

The reference must not be held by what it refers to: garbage in a cycle would take it along, and
nothing would be called.
"""

from __future__ import annotations

import weakref
from _weakref import _remove_dead_weakref  # pyrefly: ignore[missing-module-attribute]
from collections import deque
from collections.abc import Hashable
from functools import partial
from typing import Any, Generic, TypeVar

__all__ = ["WeakMembers", "WeakValues", "weak_key"]

T = TypeVar("T")


def weak_key(table: dict[int, Any], subject: T) -> weakref.ref[T]:
    """Return a reference to `subject` that takes `id(subject)` out of a table when it dies.

    A dict's `pop` returns its second argument, here the reference, where the key is not there.
    """
    return weakref.ref(subject, partial(table.pop, id(subject)))


class WeakMembers(Generic[T]):
    """Objects that are compared by identity, as long as they live."""

    def __init__(self) -> None:
        """Start empty."""
        self._references: set[weakref.ref[T]] = set()

    def add(self, member: T) -> None:
        """Enter an object."""
        self._references.add(weakref.ref(member, self._references.discard))

    def __len__(self) -> int:
        """Return how many live."""
        return len(self._references)

    def living(self) -> tuple[T, ...]:
        """Return those that live now; others may come and go meanwhile."""
        found = [reference() for reference in tuple(self._references)]
        return tuple(member for member in found if member is not None)


class _Grave(weakref.ref):
    """A reference that knows under which key it is entered."""

    __slots__ = ("key",)
    key: Hashable


class WeakValues(Generic[T]):
    """Objects by key, as long as they live.

    references: by key, some of them dead; whoever is in a hurry reads there.
    """

    def __init__(self) -> None:
        """Start empty."""
        self.references: dict[Any, weakref.ref[T]] = {}
        self._graves: deque[_Grave] = deque()

    def get(self, key: Hashable) -> T | None:
        """Return the object under a key, or None."""
        reference = self.references.get(key)
        return None if reference is None else reference()

    def setdefault(self, key: Hashable, value: T) -> T:
        """Return the object under a key; it is `value` if there was none."""
        while self._graves:
            self._remove(self._graves.popleft().key)
        own = _Grave(value, self._graves.append)
        own.key = key
        while True:
            found = self.references.setdefault(key, own)()
            if found is not None:
                return found
            self._remove(key)

    def living(self) -> tuple[T, ...]:
        """Return those that live now."""
        found = [reference() for reference in tuple(self.references.values())]
        return tuple(value for value in found if value is not None)

    def _remove(self, key: Hashable) -> None:
        """Take out what is under a key if it is dead, whatever other threads enter meanwhile."""
        _remove_dead_weakref(self.references, key)
