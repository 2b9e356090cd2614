"""The rows of a plan in memory, and what the interpreter tells of writes to dicts.

A row (`surroundings.py`) of a captured variable is walked by the call stub at each call
(`compiler/callwatch.py`, which has the vocabulary).  Of dicts of modules and classes that is not
needed: since Python 3.12 the interpreter calls a *watcher* before they are written to, and here
that is a few native instructions, which count.  A plan then has two lists of rows: all, which are
walked when something has been counted, and the silent ones.

Not everything tells.  Cells, slots and lists have no watchers.  Dicts of objects do have, but since
Python 3.13 attributes are written where the object keeps them inline, and no watcher of its dict
hears of that; any other dict may be that of an object.  Of modules and classes all writes are heard
(`tests/runtime/test_surroundings.py` tries the ways to write).

An interpreter has eight watchers.  One is taken when the first row asks for it, and given back
before the interpreter ends; where there is none left, all rows are silent.
"""

from __future__ import annotations

import atexit
import ctypes
from collections.abc import Sequence
from typing import Any

from tapeless.runtime.surroundings import MISSING, Row
from tapeless.util import lazy

__all__ = ["DictWatcher", "Looks", "watchers"]

callwatch = lazy.load("tapeless.compiler.callwatch")

_LOOK, _WALK, _STEP = 8, 6, 3  # nanoseconds: for a key in a dict; for a walk, and each step of it
watchers: list[DictWatcher] = []  # the stub's, when it is linked


class DictWatcher:
    """CPython's watcher of dicts whose callback is the stub's."""

    def __init__(self, wrote: int, mark: int, writes: int) -> None:
        """Take addresses: of the callback, of what marks a key, and of the count of writes."""
        self.wrote = wrote
        self.mark = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.py_object)(mark)
        self.writes = ctypes.c_int64.from_address(writes)
        self.number: int | None = None
        self.was_asked = False

    def watch(self, row: Row) -> bool:
        """Have what a row looks at told from now on; tell whether it is."""
        way, source, name, _ = row
        if way != "telling dict" or type(name) is not str:
            return False
        if not self.was_asked:
            self.start()
        if self.number is None:
            return False
        self.mark(source, name)
        return ctypes.pythonapi.PyDict_Watch(self.number, ctypes.py_object(source)) == 0

    def start(self) -> None:
        """Take a watcher, if Python has some and one is left."""
        self.was_asked = True
        add = getattr(ctypes.pythonapi, "PyDict_AddWatcher", None)
        if add is None:
            return
        try:
            self.number = add(ctypes.c_void_p(self.wrote))
        except RuntimeError:
            return
        self.writes.value = 0
        atexit.register(self.stop)

    def stop(self) -> None:
        """Give the watcher back: all rows are walked from now on."""
        self.writes.value = -1
        if self.number is not None:
            ctypes.pythonapi.PyDict_ClearWatcher(self.number)
            self.number = None


class Looks:
    """The rows of a plan in memory.  fields: those of the plan that are about them."""

    def __init__(self, rows: Sequence[Row]) -> None:
        """rows: in the order in which they are walked."""
        rows = _gathered(rows)
        self._kept: list[Any] = [rows]
        silent = [row for row in rows if not any(watcher.watch(row) for watcher in watchers)]
        self.fields = {
            "n_watched": len(rows),
            "watched": self._numbers([number for row in rows for number in self._row(*row)]),
            "n_silent": len(silent),
            "silent": self._numbers([number for row in silent for number in self._row(*row)]),
            "seen": self._numbers([-2]),  # no count is that
        }

    def _row(self, way: str, source: Any, name: Any, wanted: Any) -> tuple[int, ...]:
        """Return a row as numbers."""
        words = (callwatch.WAYS[way], id(source))
        if way == "list":
            return (*words, self._numbers([id(item) for item in name]), len(name))
        if way == "items":
            parts = [0 if part is MISSING else id(part) for part in name]
            return (*words, self._numbers(parts), len(parts) // 2)
        if way == "array":
            return (*words, self._numbers(name), ctypes.cast(wanted, ctypes.c_void_p).value or 0)
        return (*words, id(name), 0 if wanted is MISSING else id(wanted))

    def _numbers(self, values: Sequence[int]) -> int:
        """Return the address of numbers that are kept."""
        self._kept.append((ctypes.c_int64 * len(values))(*values))
        return ctypes.addressof(self._kept[-1])


def _gathered(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Return rows, those that look in one dict as one where that is less work."""
    looks: dict[int, dict[str, Any]] = {}
    for way, source, name, wanted in rows:
        if way == "dict":
            looks.setdefault(id(source), {})[name] = wanted
    found: list[Row] = []
    for row in rows:
        way, source, _, _ = row
        wanted = looks.get(id(source)) if way == "dict" else {}
        if wanted is None:  # an earlier row looks for it
            continue
        walk = _walk(source, wanted) if wanted else None
        if walk is not None:
            del looks[id(source)]
        found.append(row if walk is None else walk)
    return tuple(found)


def _walk(table: dict[str, Any], wanted: dict[str, Any]) -> Row | None:
    """Return the row that walks a dict for what is wanted in it; None if that is more work.

    Of its other keys the values may be any: MISSING.
    """
    if _LOOK * len(wanted) <= _WALK + _STEP * len(table):
        return None
    if any((value is MISSING) is (name in table) for name, value in wanted.items()):
        return None
    parts = [part for key in table for part in (key, wanted.get(key, MISSING))]
    return ("items", table, tuple(parts), MISSING)
