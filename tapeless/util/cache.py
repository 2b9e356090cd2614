"""Caches: keyed weakly on identity, or bounded in size.

What is derived from a program (its jvp, its compiled form) is cached under the program itself and
some hashable parameters. Programs are compared by identity, and a cache must not keep one alive. So
``weak_identity_cache`` keeps one table per first argument; a weak reference empties the table when
that argument dies. ``bounded_cache`` is for keys that are values (shapes, dtypes): it forgets what
was used least recently.

Neither remembers a call that raised. Every cache is listed, so that ``clear_caches()`` empties them
all. Two threads may compute the same entry at once; the first to finish wins, and both get its
result, so that a key never has two results.

A result that refers strongly to the first argument keeps it alive: results must not do that,
unless they are stored on objects that may live as long. A result that is the first argument, as of
a pass that had nothing to do, or a tuple that begins with it, is remembered without a reference.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import weakref
from collections.abc import Callable, Hashable, MutableMapping
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from tapeless.util.depth import deeply
from tapeless.util.weak import WeakMembers, weak_key

__all__ = [
    "BoundedTable", "CacheInfo", "WeakIdentityCache", "bounded_cache", "clear_caches",
    "renew_locks", "weak_identity_cache",
]  # fmt: skip

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

Table = MutableMapping[Hashable, R]

# All caches that still exist.
_caches: WeakMembers[WeakIdentityCache | _BoundedCache | BoundedTable] = WeakMembers()

# Stands for any result that is not there.
_MISSING: Any = object()


class _Itself:
    """A result that is the first argument, or a tuple of it and `others`, without a reference."""

    __slots__ = ("others",)

    def __init__(self, others: tuple | None) -> None:
        """Take what follows; None if the result is no tuple."""
        self.others = others

    def result(self, subject: Any) -> Any:
        """Return the result, of the argument."""
        return subject if self.others is None else (subject, *self.others)


class CacheInfo:
    """How often a cache had the answer, and how often not."""

    __slots__ = ("hits", "misses")

    def __init__(self) -> None:
        """Start counting."""
        self.hits = 0
        self.misses = 0

    def __repr__(self) -> str:
        """Print both counts."""
        return f"CacheInfo(hits={self.hits}, misses={self.misses})"


def clear_caches() -> None:
    """Empty every cache made here."""
    for cache in _caches.living():
        cache.cache_clear()


def renew_locks() -> None:
    """Let a forked child use its caches: a lock that another thread held would never be free."""
    for cache in _caches.living():
        if isinstance(cache, _BoundedCache):
            cache.renew_lock()


def _forget_oldest(table: dict[Any, Any], most: int) -> None:
    """Leave at most so many entries; another thread, or a signal's handler, may be faster."""
    while len(table) > most:
        with contextlib.suppress(KeyError, StopIteration, RuntimeError):
            del table[next(iter(table))]


class BoundedTable(dict[Any, Any]):
    """A dict of at most ``size`` entries; ``put`` forgets the oldest one to make room.

    Reading it is a dict's reading, so native code may do it.
    """

    def __init__(self, size: int) -> None:
        """Start empty."""
        super().__init__()
        self._size = size
        _caches.add(self)

    def put(self, key: Hashable, value: Any) -> None:
        """Enter a value."""
        _forget_oldest(self, self._size - 1)
        self[key] = value

    def cache_clear(self) -> None:
        """Forget everything."""
        self.clear()

    def __hash__(self) -> int:
        """Hash by identity: tables are listed."""
        return id(self)

    def __eq__(self, other: object) -> bool:
        """Compare by identity."""
        return self is other


class WeakIdentityCache(Generic[T, P, R]):
    """A function that remembers its results while its first argument lives.

    The first argument needs to be weakly referable; the others, positional or by keyword, hashable.
    """

    def __init__(self, function: Callable[Concatenate[T, P], R]) -> None:
        """Wrap ``function``."""
        functools.update_wrapper(self, function)
        self._function = function
        # id of a first argument -> (weak reference to it, results by the other arguments)
        self._tables: dict[int, tuple[weakref.ref[T], Table[R]]] = {}
        _caches.add(self)

    def __call__(self, subject: T, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the remembered result, or compute it."""
        key: Hashable = (args, *sorted(kwargs.items())) if kwargs else args
        entry = self._tables.get(id(subject))
        table = self._new_table(subject) if entry is None else entry[1]
        found = table.get(key, _MISSING)
        if found is _MISSING:
            result: Any = deeply(self._function, subject, *args, **kwargs)
            if result is subject:
                result = _Itself(None)
            elif type(result) is tuple and result and result[0] is subject:
                result = _Itself(result[1:])
            found = table.setdefault(key, result)
        return found.result(subject) if type(found) is _Itself else found

    def _new_table(self, subject: T) -> Table[R]:
        """Return a table for ``subject`` that goes when it does."""
        return self._tables.setdefault(id(subject), (weak_key(self._tables, subject), {}))[1]

    def cache_clear(self) -> None:
        """Forget everything."""
        self._tables.clear()

    def cache_size(self) -> int:
        """Return the number of remembered results."""
        return sum(len(table) for _, table in tuple(self._tables.values()))


def weak_identity_cache(
    function: Callable[Concatenate[T, P], R],
) -> WeakIdentityCache[T, P, R]:
    """Make a function remember its results for as long as its first argument lives.

    The key is the identity of the first argument and the equality of the others.

    >>> @weak_identity_cache
    ... def count_letters(cls: type, letter: str) -> int:
    ...     print("counting")
    ...     return cls.__name__.count(letter)
    >>> count_letters(CacheInfo, "C"), count_letters(CacheInfo, "C")
    counting
    (1, 1)
    """
    return WeakIdentityCache(function)


class _BoundedCache(Generic[P, R]):
    """A function that remembers its ``size`` most recently used results."""

    def __init__(self, function: Callable[P, R], size: int) -> None:
        """Wrap ``function``."""
        functools.update_wrapper(self, function)
        self._function = function
        self._size = size
        self._results: dict[Hashable, R] = {}
        self.renew_lock()
        self.info = CacheInfo()
        _caches.add(self)

    def renew_lock(self) -> None:
        """Take a lock that is free, and that a signal's handler may take within its own thread."""
        self._lock = threading.RLock()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the remembered result, or compute it."""
        key: Hashable = (args, *sorted(kwargs.items())) if kwargs else args
        with self._lock:
            found = self._results.pop(key, _MISSING)
            if found is not _MISSING:
                # A dict keeps the order of insertion: the last is the most recent.
                self._results[key] = found
                self.info.hits += 1
                return found
        result = self._function(*args, **kwargs)
        with self._lock:
            self.info.misses += 1
            result = self._results.setdefault(key, result)
            _forget_oldest(self._results, self._size)
        return result

    def cache_clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._results.clear()

    def cache_size(self) -> int:
        """Return the number of remembered results."""
        return len(self._results)


def bounded_cache(size: int) -> Callable[[Callable[P, R]], _BoundedCache[P, R]]:
    """Make a function remember its ``size`` most recently used results.

    Unlike ``functools.lru_cache`` it is emptied by ``clear_caches`` and computes a key's result
    outside the lock, so the function may call itself.

    >>> @bounded_cache(2)
    ... def double(x: int) -> int:
    ...     return 2 * x
    >>> double(3), double(3), double.info
    (6, 6, CacheInfo(hits=1, misses=1))
    """

    def wrap(function: Callable[P, R]) -> _BoundedCache[P, R]:
        """Wrap one function."""
        return _BoundedCache(function, size)

    return wrap
