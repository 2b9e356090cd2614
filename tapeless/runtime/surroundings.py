"""Where the variables that a function captured are, and how each is looked up.

A *place* is a global, the content of a cell, an attribute, or a value that nobody can replace.  It
is called to be read, without running anything of the user's.  It also tells, where it can, by which
*rows* the call stub finds out alone that reading would give the same object (`callwatch.py`): (way,
what to look in, name, what has to be there).  Later rows may look in what earlier ones found to be
the same.  A place that cannot tell is read by Python at each call.

MISSING stands for what is not there, and in a row for what must not be there.
"""

from __future__ import annotations

import functools
import gc
import inspect
import types
from collections.abc import Mapping
from typing import Any

from tapeless.util.frames import is_internal

__all__ = ["MISSING", "Attribute", "Cell", "Fixed", "Global", "Place", "Row"]

MISSING = object()
Row = tuple[str, Any, Any, Any]
Seen = tuple[Any, tuple[Row, ...]] | None  # a value, and the rows that hold as long as it is there


class Fixed:
    """A value that nobody can replace: a default, or what a method belongs to."""

    def __init__(self, value: Any) -> None:
        """value: the value."""
        self.value = value

    def __call__(self) -> Any:
        """Return it."""
        return self.value

    def seen(self) -> Seen:
        """Return it, which needs no rows."""
        return self.value, ()


class Global:
    """A variable of a module."""

    def __init__(self, table: dict[str, Any], name: str) -> None:
        """table: of the module; name: of the variable."""
        self.table, self.name = table, name

    def __call__(self) -> Any:
        """Return its value, or MISSING."""
        return self.table.get(self.name, MISSING)

    def seen(self) -> Seen:
        """Return its value, and the row for it."""
        value = self()
        if value is MISSING or type(self.table) is not dict:
            return None
        return value, (("dict", self.table, self.name, value),)


class Cell:
    """A variable of an enclosing function."""

    def __init__(self, cell: types.CellType) -> None:
        """cell: of the closure."""
        self.cell = cell

    def __call__(self) -> Any:
        """Return its value, or MISSING."""
        try:
            return self.cell.cell_contents
        except ValueError:
            return MISSING

    def seen(self) -> Seen:
        """Return its value, and the row for it."""
        value = self()
        return None if value is MISSING else (value, (("cell", self.cell, MISSING, value),))


class Attribute:
    """An attribute of what is at `owner`, as it is stored."""

    def __init__(self, owner: Place, name: str) -> None:
        """owner: the place of the object; name: of the attribute."""
        self.owner, self.name = owner, name

    def stored(self) -> Any:
        """Return what is stored under the name: a value, a descriptor, or MISSING."""
        value = self.owner()
        if value is MISSING:
            return MISSING
        if isinstance(value, types.ModuleType):
            is_ours = is_internal(getattr(value, "__file__", None) or "")
            return MISSING if is_ours else vars(value).get(self.name, MISSING)
        kind = type(value)
        if isinstance(value, type) or not _is_plain_class(kind):
            return inspect.getattr_static(value, self.name, MISSING)
        if kind.__dictoffset__:
            table = object.__getattribute__(value, "__dict__")
            if self.name in table and not _is_described(kind, self.name):
                return table[self.name]
        for owner in kind.__mro__:
            if self.name in owner.__dict__:
                return owner.__dict__[self.name]
        return MISSING

    def __call__(self) -> Any:
        """Return the attribute as it is stored, or MISSING."""
        value = self.owner()
        kind = type(value)
        if (
            kind.__dictoffset__
            and kind is not types.ModuleType
            and not _is_described(kind, self.name)
        ):
            table = object.__getattribute__(value, "__dict__")
            if self.name in table and not isinstance(value, type):
                return table[self.name]
        stored = self.stored()
        if isinstance(stored, types.MemberDescriptorType):  # a slot
            return getattr(self.owner(), self.name, MISSING)
        return MISSING if hasattr(type(stored), "__set__") else stored

    def seen(self) -> Seen:
        """Return the attribute, and the rows for it and for what it is an attribute of."""
        found = self.owner.seen()
        if found is None:
            return None
        value, rows = found
        if isinstance(value, types.ModuleType):
            inside = Global(vars(value), self.name).seen()
        elif not _is_plain_class(type(value)):
            return None
        else:
            is_class = isinstance(value, type)
            inside = _in_classes(value, self.name) if is_class else _in_object(value, self.name)
        return None if inside is None else (inside[0], (*rows, *inside[1]))


Place = Fixed | Global | Cell | Attribute


def _in_object(value: Any, name: str) -> Seen:
    """Return the attribute of an object of a plain class, and the rows for it."""
    kind = type(value)
    rows: tuple[Row, ...] = (("type", value, MISSING, kind),)
    has_table = bool(kind.__dictoffset__)
    if has_table and not _is_described(kind, name):
        table: Mapping = object.__getattribute__(value, "__dict__")
        if name in table:
            return table[name], (*rows, ("own", value, name, table[name]))
        rows = (*rows, ("own", value, name, MISSING))
    found = _in_classes(kind, name)
    if found is None:
        return None
    rows = (*rows, *found[1])
    if isinstance(found[0], types.MemberDescriptorType):
        held = getattr(value, name, MISSING)
        return None if held is MISSING else (held, (*rows, ("slot", value, name, held)))
    return None if hasattr(type(found[0]), "__set__") else (found[0], rows)


def _in_classes(kind: type, name: str) -> Seen:
    """Return what a plain class or one that it inherits from has under a name, with the rows."""
    rows: tuple[Row, ...] = ()
    for owner in kind.__mro__:
        (table,) = gc.get_referents(owner.__dict__)  # the dict itself, which a class keeps
        held = table.get(name, MISSING)
        rows = (*rows, ("dict", table, name, held))
        if held is not MISSING:
            return held, rows
        if owner is kind:  # the others are its bases as long as their order is the same
            rows = (("slot", kind, "__mro__", kind.__mro__), *rows)
    return None


@functools.lru_cache(4096)
def _is_plain_class(kind: type) -> bool:
    """Tell whether the attributes of a class and its objects lie where they do by default."""
    return type(kind) is type


@functools.lru_cache(4096)
def _is_described(kind: type, name: str) -> bool:
    """Tell whether a class has something under a name that goes before what its objects have."""
    return hasattr(type(inspect.getattr_static(kind, name, None)), "__set__")
