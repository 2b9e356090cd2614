"""Captured variables that change: what a traced function read of its surroundings.

A compiled function has the values of globals and of variables of enclosing functions from when it
was traced; a later change of them is without effect, silently.  Where `tapeless_stale_captures`
asks for it, a traced program keeps a *snapshot*, and each call compares.

What is compared: the variables that the function's code reads, and those of the Python functions
that it finds in them, library functions of this package left out.  Numbers, strings and the like
change when they are unequal; arrays of NumPy, when their elements are; lists, dicts and sets, when
an element is another object or number; anything else, when the variable names another object.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tapeless import config, errors
from tapeless.util.frames import is_internal, warn
from tapeless.util.records import record

__all__ = ["Snapshot", "snapshot"]

_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)
_CONTAINERS = (list, tuple, set, frozenset)
_LONGEST = 80  # characters of a value in a message
_MISSING = object()
_READS = frozenset(("LOAD_GLOBAL", "LOAD_NAME"))


@record
class _Variable:
    """A variable of a function's surroundings.

    read: returns its value now, or _MISSING.  mark: what a value of the same meaning has, too;
    shown: the value as text; kept: the value, so that its identity stays its own.
    """

    name: str
    function: str
    read: Callable[[], Any]
    mark: Any
    shown: str
    kept: Any


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
    waiting = [function]
    while waiting:
        current = _python_function(waiting.pop())
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        for name, read in _variables(current):
            value = read()
            if value is _MISSING or isinstance(value, types.ModuleType):
                continue
            where = current.__qualname__
            found.append(_Variable(name, where, read, _mark(value), _shown(value), value))
            waiting.append(value)
    return Snapshot(tuple(found))


def _python_function(value: Any) -> types.FunctionType | None:
    """Return the user's Python function behind a value, if there is one."""
    value = getattr(value, "__func__", value)
    for _ in range(8):
        if isinstance(value, types.FunctionType):
            break
        value = getattr(value, "__wrapped__", None) or getattr(value, "func", None)
    if not isinstance(value, types.FunctionType) or is_internal(value.__code__.co_filename):
        return None
    return value


def _variables(function: types.FunctionType) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the names of the variables outside that a function reads, and how to read them."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, lambda cell=cell: _content(cell)
    for name in sorted(_global_names(function.__code__)):
        table = function.__globals__
        yield name, lambda table=table, name=name: table.get(name, _MISSING)


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


def _mark(value: Any) -> Any:
    """Return what is equal for values of the same meaning."""
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return (np.ndarray, value.shape, value.dtype, value.tobytes())
    if isinstance(value, _CONTAINERS):
        marks = [_element(item) for item in value]
        if not isinstance(value, (list, tuple)):
            marks.sort(key=repr)
        return (type(value), *marks)
    if isinstance(value, dict):
        return (type(value), *((_element(k), _element(v)) for k, v in value.items()))
    return _element(value)


def _element(value: Any) -> Any:
    """Return the mark of a value in a container: the number, or which object it is."""
    if isinstance(value, _PLAIN):
        return (type(value), repr(value))
    return (object, id(value))


def _shown(value: Any) -> str:
    """Return a value as text for a message."""
    if value is _MISSING:
        return "not there"
    text = repr(value).replace("\n", " ")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
