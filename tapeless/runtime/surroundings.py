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
import sys
import types
from collections.abc import Mapping
from typing import Any

from tapeless.util.frames import is_internal

__all__ = ["MISSING", "Attribute", "Cell", "Fixed", "Global", "Place", "Row", "may_appear"]

MISSING = object()
_HEAP_TYPE = 1 << 9  # of the flags of classes: made at run time
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
        way = "telling dict" if _is_of_module(self.table) else "dict"
        return value, ((way, self.table, self.name, value),)


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
        return MISSING if _is_data(stored) else stored

    def seen(self) -> Seen:
        """Return the attribute, and the rows for it and for what it is an attribute of."""
        found = self.owner.seen()
        if found is None:
            return None
        value, rows = found
        if value is MISSING:
            return None
        if isinstance(value, types.ModuleType):
            held = vars(value).get(self.name, MISSING)
            inside = (held, (("telling dict", vars(value), self.name, held),))
        elif isinstance(value, type):
            inside = _in_classes(value, self.name) if type(value) is type else None
        else:
            inside = _in_object(value, self.name) if _is_plain_class(type(value)) else None
        return None if inside is None else (inside[0], (*rows, *inside[1]))


Place = Fixed | Global | Cell | Attribute


def _is_of_module(table: dict[str, Any]) -> bool:
    """Tell whether a table of globals is that of a module, not of an object (`watching.py`)."""
    name = table.get("__name__")
    module = sys.modules.get(name) if type(name) is str else None
    return isinstance(module, types.ModuleType) and vars(module) is table


def _in_object(value: Any, name: str) -> Seen:
    """Return the attribute of an object of a plain class, or MISSING, and the rows for it."""
    kind = type(value)
    held, inherited = _in_classes(kind, name)
    rows: tuple[Row, ...] = (("type", value, MISSING, kind), *inherited)
    if kind.__dictoffset__ and not _is_data(held):
        table: Mapping = object.__getattribute__(value, "__dict__")
        own = table.get(name, MISSING)
        rows = (*rows, ("own dict", value, MISSING, table), ("dict", table, name, own))
        if own is not MISSING:
            return own, rows
    if isinstance(held, types.MemberDescriptorType):
        content = getattr(value, name, MISSING)
        return content, (*rows, ("slot", value, held, content))
    return None if _is_data(held) else (held, rows)


def _in_classes(kind: type, name: str) -> tuple[Any, tuple[Row, ...]]:
    """Return what a class or one that it inherits from has under a name, with the rows."""
    rows: list[Row] = []
    for owner in kind.__mro__:
        held = owner.__dict__.get(name, MISSING)
        if owner.__flags__ & _HEAP_TYPE:  # others do not change
            (table,) = gc.get_referents(owner.__dict__)  # the dict itself, which a class keeps
            rows.append(("telling dict", table, name, held))
        if held is not MISSING:
            break
    else:
        held = MISSING
    if kind.__dict__.get(name, MISSING) is MISSING:  # the others are its bases as long as these are
        made = [owner for owner in kind.__mro__ if owner.__flags__ & _HEAP_TYPE]
        rows[:0] = [("bases", owner, MISSING, owner.__bases__) for owner in made]
    return held, tuple(rows)


@functools.lru_cache(4096)
def _is_plain_class(kind: type) -> bool:
    """Tell whether the attributes of a class's objects lie where they do by default."""
    return type(kind).mro is type.mro


def _is_data(stored: Any) -> bool:
    """Tell whether what a class has under a name goes before what its objects have."""
    return hasattr(type(stored), "__set__")


def _is_described(kind: type, name: str) -> bool:
    """Tell whether a class has something under a name that goes before what its objects have."""
    for owner in kind.__mro__:
        if name in owner.__dict__:
            return _is_data(owner.__dict__[name])
    return False


def may_appear(value: Any) -> bool:
    """Tell whether an object, or a class, may get an attribute that it has not."""
    kind = value if isinstance(value, type) else type(value)
    return bool(kind.__flags__ & _HEAP_TYPE)
