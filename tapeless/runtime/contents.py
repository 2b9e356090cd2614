"""What a captured value means: marks, which are equal for values of the same meaning, and rows.

A value has a *form*.  Numbers, strings and the like mean something else when they are unequal;
arrays and buffers, when their elements are; containers, when an element is; anything else, an
*object*, when it is another one.  A *mark* is all that, taken down at one time.

A list that holds the same objects as before means the same if these do.  So do dicts, and a NumPy
array whose memory holds the same bytes.  That is for the call stub, by *rows* (`surroundings.py`):
`content_rows` has one for each list, dict and array in a value.  What is held in another way, sets
for one, and subclasses, which may have their own ways to be gone through, are left to the marks.
"""

from __future__ import annotations

import array
import collections
import ctypes
import functools
import operator
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from tapeless.runtime.array import Array
from tapeless.runtime.surroundings import MISSING, Row

__all__ = [
    "DEEPEST", "PLAIN", "content_rows", "holds", "mark_of", "parts_of", "settled", "settled_items",
]  # fmt: skip

PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)
_FORMS: dict[str, Any] = {
    "plain": PLAIN,
    "array": np.ndarray,
    "buffer": (bytearray, array.array),
    "memory": memoryview,
    "sequence": (list, tuple, collections.deque),
    "dict": (dict, types.MappingProxyType),
    "set": (set, frozenset),
    "partial": functools.partial,
    "user dict": collections.UserDict,
    "user list": collections.UserList,
    "chain": collections.ChainMap,
}
_KEYS = (bool, int, float, str, bytes, type(None))
DEEPEST = 8  # levels of containers in containers; below, only other objects are noticed


class _Itself:
    """A value that is equal to itself alone, or to an Array alike, and stays alive."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        """value: the object."""
        self.value = value

    def __eq__(self, other: object) -> bool:
        """Tell whether it is the same object, or an Array of the same elements."""
        if not isinstance(other, _Itself):
            return NotImplemented
        return self.value is other.value or _alike(self.value, other.value)

    __hash__ = None  # pyrefly: ignore[bad-assignment]  # marks are compared, not looked up

    def __repr__(self) -> str:
        """Return what orders the elements of a set."""
        return f"{id(self.value)}"


def _alike(x: Any, y: Any) -> bool:
    """Tell whether two values are Arrays of one type with the same elements, bit by bit."""
    if not (isinstance(x, Array) and isinstance(y, Array)) or x.aval != y.aval:
        return False
    if x.is_deleted() or y.is_deleted():
        return False
    return np.asarray(x).tobytes() == np.asarray(y).tobytes()


@functools.lru_cache(4096)
def _form(kind: type) -> str:
    """Return how values of a type are compared: the name of a form."""
    return next((name for name, kinds in _FORMS.items() if issubclass(kind, kinds)), "object")


def parts_of(value: Any) -> Iterable[tuple[Any, Any]] | None:
    """Return what a container holds, each with words for where; None of what is no container."""
    form = _form(type(value))
    if form in ("sequence", "set"):
        return enumerate(value)
    if form == "array" and value.dtype == object:
        return enumerate(value.ravel().tolist())
    if form == "partial":
        return [("its arguments", value.args), ("its keywords", value.keywords)]
    if form == "chain":
        return enumerate(value.maps)
    if form not in ("dict", "user dict", "user list"):
        return None
    content = value.data if form.startswith("user") else value
    if form == "user list":
        return enumerate(content)
    return [(repr(key) if type(key) in _KEYS else "...", x) for key, x in content.items()]


def mark_of(value: Any, depth: int = 0) -> Any:
    """Return what is equal for values of the same meaning; depth: in how many containers it is."""
    form = _form(type(value))
    if form == "plain":
        return (type(value), repr(value))
    if form == "array" and not value.dtype.hasobject:
        return (np.ndarray, value.shape, value.dtype, value.tobytes())
    if form == "buffer":
        return (type(value), getattr(value, "typecode", ""), bytes(value))
    if form == "memory":
        return _memory_mark(value)
    parts = parts_of(value) if depth <= DEEPEST else None
    if parts is None:
        return _Itself(value)
    if form == "dict":
        items = [(mark_of(k, depth + 1), mark_of(v, depth + 1)) for k, v in value.items()]
        return (type(value), *items)
    marks = [mark_of(item, depth + 1) for _, item in parts]
    if form == "partial":
        marks.append(_Itself(value.func))
    if form == "array":
        marks.append(value.shape)
    if form == "set":
        marks.sort(key=repr)
    if form == "user dict":
        marks.append(mark_of(tuple(value.data), depth + 1))
    return (type(value), *marks)


def settled(value: Any) -> Any:
    """Return a value that does not change as long as it is the same object; else a new object."""
    return value if _form(type(value)) in ("plain", "object") else object()


def settled_items(value: Any) -> tuple[Any, ...] | None:
    """Return what a list or tuple holds, if all of it is settled."""
    if type(value) not in (list, tuple):
        return None
    is_settled = all(_form(type(item)) in ("plain", "object") for item in value)
    return (type(value), *value) if is_settled else None


def holds(value: Any, items: tuple[Any, ...] | None) -> bool:
    """Tell whether a list or tuple holds the same objects as one of known `settled_items`."""
    if items is None or type(value) is not items[0] or len(value) != len(items) - 1:
        return False
    return all(map(operator.is_, value, items[1:]))


def _memory_mark(view: memoryview) -> Any:
    """Return the mark of a view of memory, which may have been given up."""
    try:
        return (memoryview, view.format, view.shape, view.tobytes())
    except ValueError:
        return _Itself(view)


def content_rows(value: Any, depth: int = 0) -> tuple[Row, ...] | None:
    """Return the rows that hold as long as a value means the same; None if there are none."""
    kind = type(value)
    form = _form(kind)
    if form == "array" and not value.dtype.hasobject:
        return _array_rows(value) if kind is np.ndarray else None
    if form in ("buffer", "memory"):
        return None
    if form in ("plain", "object") or depth > DEEPEST:
        return ()
    rows: tuple[Row, ...] = ()
    if kind is list:
        parts = tuple(value)
        rows = (("list", value, parts, MISSING),)
    elif kind is dict:
        parts = tuple([part for item in value.items() for part in item])
        rows = (("items", value, parts, MISSING),)
    elif kind is functools.partial:
        parts = (value.args, value.keywords)
        names = ("func", "args", "keywords")
        rows = tuple([("slot", value, vars(kind)[name], getattr(value, name)) for name in names])
    elif isinstance(value, tuple) and kind.__iter__ is tuple.__iter__:
        parts = tuple(value)
        rows = (("type", value, MISSING, kind),)
    else:
        return None
    for part in parts:
        found = content_rows(part, depth + 1)
        if found is None:
            return None
        rows += found
    return rows


def _array_rows(value: np.ndarray) -> tuple[Row, ...] | None:
    """Return the row of a NumPy array of numbers, if it lies in one piece.

    Its form is read where the header of NumPy's C interface says that it is, and compared.
    """
    if not (value.flags.c_contiguous or value.flags.f_contiguous):
        return None
    data, dtype = value.__array_interface__["data"][0], id(value.dtype)
    words = (ctypes.c_int64 * 8).from_address(id(value))
    if (words[2], words[3] & 0xFFFFFFFF, words[7]) != (data, value.ndim, dtype):
        return None
    form = (data, value.ndim, dtype, value.nbytes, *value.shape, *value.strides)
    return (("array", value, form, value.tobytes(order="A")),)
