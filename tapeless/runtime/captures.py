"""Captured variables that change: what a traced function read of its surroundings.

A compiled function has the values of globals and of variables of enclosing functions from when it
was traced; a later change of them is without effect, silently.  Where `tapeless_stale_captures`
asks for it, a traced program keeps a *snapshot*, and each call compares.

What is compared: the variables that the function's code reads, attributes that it reads of them
(`config.scale`, `self.scale` of a method), and those of the Python functions that it finds in them,
library functions of this package left out.  Attributes are looked up in objects and classes as they
are stored: no property runs, and those of modules are left out.  Numbers, strings and the like
change when they are unequal; arrays, when their elements are; lists, deques, dicts and sets, when
an element has changed, which may be a container as well; anything else, when it is another object.
"""

from __future__ import annotations

import collections
import dis
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tapeless import config, errors
from tapeless.runtime.array import Array
from tapeless.util.frames import is_internal, warn
from tapeless.util.records import record

__all__ = ["Snapshot", "snapshot"]

_PLAIN = (bool, int, float, complex, str, bytes, bytearray, type(None), np.generic)
_ORDERED = (list, tuple, collections.deque)
_CONTAINERS = (*_ORDERED, set, frozenset)
_DEEPEST = 8  # levels of containers in containers; below, only other objects are noticed
_LONGEST = 80  # characters of a value in a message
_MISSING = object()
_READS = frozenset(("LOAD_GLOBAL", "LOAD_NAME"))
_READS_CELL = frozenset(("LOAD_DEREF", "LOAD_CLASSDEREF"))
_READS_ATTRIBUTE = frozenset(("LOAD_ATTR", "LOAD_METHOD"))


@record
class _Variable:
    """A variable of a function's surroundings.

    read: returns its value now, or _MISSING.  mark: what a value of the same meaning has, too;
    shown: the value as text.
    """

    name: str
    function: str
    read: Callable[[], Any]
    mark: Any
    shown: str


@record
class Snapshot:
    """The variables that a traced function depends on, as they were."""

    variables: tuple[_Variable, ...]

    def compare(self) -> None:
        """Raise, or warn, if a variable has changed."""
        for variable in self.variables:
            value = variable.read()
            if _mark(value) != variable.mark:
                self._report(variable, value)

    def _report(self, variable: _Variable, value: Any) -> None:
        """Say which variable changed, from what to what."""
        message = (
            f"The variable {variable.name!r}, which {variable.function} read when it was traced, "
            f"has changed since: it was {variable.shown} and is {_shown(value)} now.\n"
            f"The compiled program goes on with the old value. Pass what changes as an argument, "
            f"or call `clear_cache()` of the compiled function after a change."
        )
        if config.current.tapeless_stale_captures == "raise":
            raise errors.StaleCaptureError(message)
        warn(message, errors.StaleCaptureWarning)


def snapshot(function: Callable) -> Snapshot:
    """Return the variables that a function depends on, as they are now."""
    found: list[_Variable] = []
    seen: set[int] = set()
    waiting: list[tuple[Any, Any]] = [(function, _MISSING)]
    while waiting:
        current, owner = _python_function(*waiting.pop())
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        for name, read in _variables(current, owner):
            value = read()
            if value is _MISSING or isinstance(value, types.ModuleType):
                continue
            where = current.__qualname__
            found.append(_Variable(name, where, read, _mark(value), _shown(value)))
            waiting.append((value, read.owner() if isinstance(read, _Attribute) else _MISSING))
    return Snapshot(tuple(found))


def _python_function(value: Any, owner: Any) -> tuple[types.FunctionType | None, Any]:
    """Return the user's Python function behind a value, if there is one, and the object it is of.

    The value may be transformed or a method; owner: of what it was read as an attribute.
    """
    for _ in range(_DEEPEST):
        if isinstance(value, types.MethodType):
            value, owner = value.__func__, value.__self__
        if isinstance(value, types.FunctionType) and not is_internal(value.__code__.co_filename):
            return value, owner
        value = _wrapped(value)
    return None, owner


def _wrapped(value: Any) -> Any:
    """Return the function behind a transformed or partly applied one, or None."""
    try:
        return getattr(value, "__wrapped__", None) or getattr(value, "func", None)
    except Exception:  # what the user's class raises says that it is none
        return None


def _variables(function: types.FunctionType, owner: Any) -> Iterator[tuple[str, Callable]]:
    """Yield the names of the variables outside that a function reads, and how to read them.

    owner: what its first argument is, if it is a method; else _MISSING.
    """
    code, table = function.__code__, function.__globals__
    reads: dict[str, Callable[[], Any]] = {}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        reads[name] = lambda cell=cell: _content(cell)
    for name in sorted(_global_names(code)):
        reads[name] = lambda name=name: table.get(name, _MISSING)
    yield from reads.items()
    if owner is not _MISSING and code.co_argcount:
        reads[code.co_varnames[0]] = lambda: owner
    for name, *path in sorted(_attribute_paths(code)):
        if name in reads:
            read = reads[name]
            for attribute in path:
                read = _Attribute(read, attribute)
            yield ".".join((name, *path)), read


class _Attribute:
    """How to read an attribute of what `owner` reads, without running anything of it."""

    def __init__(self, owner: Callable[[], Any], name: str) -> None:
        """owner: returns the object; name: of the attribute."""
        self.owner, self.name = owner, name

    def __call__(self) -> Any:
        """Return the attribute as it is stored, or _MISSING."""
        value = self.owner()
        if value is _MISSING or isinstance(value, types.ModuleType):
            return _MISSING
        stored = inspect.getattr_static(value, self.name, _MISSING)
        if isinstance(stored, types.MemberDescriptorType):  # a slot
            return getattr(value, self.name, _MISSING)
        return _MISSING if hasattr(type(stored), "__set__") else stored


def _content(cell: types.CellType) -> Any:
    """Return what a closure's cell holds."""
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING


def _global_names(code: types.CodeType) -> set[str]:
    """Return the globals that code, and the functions written inside of it, read."""
    names = {step.argval for step in dis.get_instructions(code) if step.opname in _READS}
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            names |= _global_names(inner)
    return names


def _attribute_paths(code: types.CodeType) -> set[tuple[str, ...]]:
    """Return what code, and the functions written inside of it, read: `a.b.c` and `a.b` of it."""
    found: set[tuple[str, ...]] = set()
    path: tuple[str, ...] = ()
    first = code.co_varnames[:1]
    for step in dis.get_instructions(code):
        if step.opname in _READS | _READS_CELL:
            path = (step.argval,)
        elif step.opname.startswith("LOAD_FAST"):  # of one variable, or of two
            name = step.argval[-1] if isinstance(step.argval, tuple) else step.argval
            path = (name,) if name in first else ()
        elif path and step.opname in _READS_ATTRIBUTE:
            path = (*path, step.argval)
            found.add(path)
        else:
            path = ()
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            found |= _attribute_paths(inner)
    return found


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


def _mark(value: Any, depth: int = 0) -> Any:
    """Return what is equal for values of the same meaning; depth: in how many containers it is."""
    if isinstance(value, _PLAIN):
        return (type(value), repr(value))
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return (np.ndarray, value.shape, value.dtype, value.tobytes())
    if depth > _DEEPEST or not isinstance(value, (dict, *_CONTAINERS)):
        return _Itself(value)
    if isinstance(value, dict):
        items = ((_mark(k, depth + 1), _mark(v, depth + 1)) for k, v in value.items())
        return (type(value), *items)
    marks = [_mark(item, depth + 1) for item in value]
    if not isinstance(value, _ORDERED):
        marks.sort(key=repr)
    return (type(value), *marks)


def _shown(value: Any) -> str:
    """Return a value as text for a message."""
    if value is _MISSING:
        return "not there"
    try:
        text = repr(value).replace("\n", " ")
    except Exception:  # of the user's class: the variable's name says enough
        text = object.__repr__(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
