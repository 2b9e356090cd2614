"""Captured variables that change: what a traced function read of its surroundings.

A compiled function has the values of globals and of variables of enclosing functions from when it
was traced; a later change of them is without effect, silently.  Where `tapeless_stale_captures`
asks for it, a traced program keeps a *snapshot*, and each call compares.

What is compared: the variables, cells and defaults that the function's code reads, attributes that
it reads of them (`config.scale`, `module.rate`, `self.scale` of a method), and those of the Python
functions that it finds in them.  A value that is used whole (`codereads`) may be read anywhere: of
the objects in it, those that lie in containers as well, all attributes are compared that any of the
functions reads of anything.  They are looked up as they are stored: no property runs, but what it
would read is compared.  Functions of this package, and those that modules and objects have of
libraries, are left out.

Numbers, strings and the like change when they are unequal; arrays and buffers, when their elements
are; containers, when an element has changed; anything else, when it is another object.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tapeless import config, errors
from tapeless.runtime import contents, surroundings
from tapeless.runtime.array import Array
from tapeless.runtime.codereads import Reads, reads_of
from tapeless.runtime.surroundings import MISSING, Attribute, Cell, Fixed, Global, Place, Row
from tapeless.util import lazy
from tapeless.util.chains import function_name
from tapeless.util.frames import is_internal, warn
from tapeless.util.records import record

__all__ = ["Snapshot", "snapshot"]

sysconfig = lazy.load("sysconfig")

_FUNCTIONS = (types.FunctionType, types.MethodType)
_OPAQUE = (*contents.PLAIN, np.dtype, Array, types.ModuleType, *_FUNCTIONS)
_OURS = ("tapeless", "jax", "builtins")
_SPECIAL = tuple(
    f"__{name}__"
    for name in (
        "getitem len iter next contains bool int float complex index array jax_array neg add radd "
        "sub rsub mul rmul truediv rtruediv floordiv mod pow rpow matmul rmatmul call"
    ).split()
)  # methods that syntax and functions call, without their names in the code
_LONGEST = 80  # characters of a value in a message


@functools.cache
def _libraries() -> tuple[str, ...]:
    """Return the folders of code that is not the user's."""
    return tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})


@record
class _Variable:
    """A variable of a function's surroundings.

    read: returns its value now, or MISSING.  settled: the value, if it has not changed as long as
    it is the same object.  items: what it held, if it has not changed as long as it holds the same
    objects.  mark: what a value of the same meaning has, too.  shown: it as text.
    """

    name: str
    function: str
    read: Place
    settled: Any
    items: tuple[Any, ...] | None
    mark: Any
    shown: str

    def is_changed(self, value: Any) -> bool:
        """Tell whether a value means something else than the variable's did."""
        if value is self.settled or contents.holds(value, self.items):
            return False
        return contents.mark_of(value) != self.mark

    def watch(self) -> tuple[Row, ...] | None:
        """Return the rows by which the call stub finds that it is unchanged, or None."""
        found = self.read.seen()
        content = None if found is None else contents.content_rows(found[0])
        if found is None or content is None or self.is_changed(found[0]):
            return None
        return (*found[1], *content)


@record
class Snapshot:
    """The variables that a traced function depends on, as they were."""

    variables: tuple[_Variable, ...]

    def compare(self) -> None:
        """Raise, or warn, if a variable has changed."""
        for variable in self.variables:
            value = variable.read()
            if variable.is_changed(value):
                self._report(variable, value)

    def watch(self) -> tuple[Row, ...] | None:
        """Return the rows by which the call stub finds that nothing has changed.

        None if something has, or if some variable can be compared by Python code alone.
        """
        rows: dict[tuple, Row] = {}
        for variable in self.variables:
            found = variable.watch()
            if found is None:
                return None
            for row in found:
                _, source, name, wanted = row
                is_content = isinstance(name, tuple)
                ids = (id(source),) if is_content else (id(source), id(name), id(wanted))
                rows.setdefault((row[0], *ids), row)
        return tuple(rows.values())

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


def snapshot(function: Callable) -> Snapshot | None:
    """Return the variables that a function depends on, as they are now; None if there are none."""
    search = _Search()
    search.functions.append((function, MISSING))
    if not isinstance(function, _FUNCTIONS):
        search.follow_methods(function, _SPECIAL)
    while search.functions:
        while search.functions:
            search.follow(*search.functions.pop())
        search.look_at_objects()
    return Snapshot(tuple(search.found)) if search.found else None


class _Search:
    """The search for what a function depends on: through functions, containers and objects.

    functions: to be gone through, each with the object that it is a method of, or MISSING.
    objects: that may be asked for any attribute that is read somewhere, with their names.
    """

    def __init__(self) -> None:
        """Start with nothing."""
        self.found: list[_Variable] = []
        self.functions: list[tuple[Any, Any]] = []
        self.objects: list[tuple[str, str, Any, int]] = []
        self.attributes: set[str] = set()
        self.optional: set[str] = set()  # those that the code asks for by `getattr` or `hasattr`
        self.entered: dict[int, Any] = {}  # functions, containers and objects by id
        self.known: set[tuple[int, str]] = set()  # attributes of objects that were looked at

    def follow(self, value: Any, owner: Any) -> None:
        """Note what a function reads; owner: what its first argument is, if it is a method."""
        for _ in range(contents.DEEPEST):
            if isinstance(value, types.MethodType):
                value, owner = value.__func__, value.__self__
            if isinstance(value, functools.partial):
                self._note_parts(value)
            if isinstance(value, types.FunctionType) and not is_internal(_file(value)):
                break
            value = _wrapped(value)
        else:
            return
        if id(value) in self.entered:
            return
        self.entered[id(value)] = value
        reads = reads_of(value.__code__)
        self.attributes |= reads.attributes
        self.optional |= reads.optional
        for path, read in _variables(value, owner, reads):
            self._note(".".join(path), value.__qualname__, read, path in reads.whole)
        if owner is not MISSING and "__class__" in value.__code__.co_freevars:
            self.follow_methods(owner, reads.attributes)

    def follow_methods(self, owner: Any, names: Iterable[str]) -> None:
        """Go through what classes define, also what a method may find by `super()`."""
        for kind in inspect.getmro(owner if isinstance(owner, type) else type(owner)):
            for stored in filter(None, map(vars(kind).get, names)):
                function = stored.fget if isinstance(stored, property) else stored
                if not _file(function).startswith(_libraries()):
                    self.functions.append((function, owner))

    def _note_parts(self, part: functools.partial) -> None:
        """Note what a function is partly applied to."""
        given = {f"argument {i}": x for i, x in enumerate(part.args, 1)} | part.keywords
        where = f"a partial of {function_name(part.func)}"
        for name, value in given.items():
            self._note(name, where, Fixed(value), True)

    def _note(self, name: str, where: str, read: Place, is_whole: bool) -> None:
        """Note a variable; is_whole: anything in it may be read."""
        value = read()
        if isinstance(read, Attribute):
            stored = read.stored()
            if isinstance(stored, property):
                self.functions.append((stored.fget, read.owner()))
            self.known.add((id(read.owner()), read.name))
        if isinstance(value, types.ModuleType) or (value is MISSING and not _may_appear(read)):
            return
        kept = (contents.settled(value), contents.settled_items(value), contents.mark_of(value))
        self.found.append(_Variable(name, where, read, *kept, _shown(value)))
        if value is MISSING:
            return
        if not isinstance(read, Attribute):
            self.functions.append((value, MISSING))
        elif not _file(value).startswith(_libraries()):
            self.functions.append((value, read.owner()))
        if is_whole:
            self._enter(name, where, value, 0)

    def _enter(self, name: str, where: str, value: Any, depth: int) -> None:
        """Note what a value holds that may be read: objects, functions, and containers of them."""
        is_array = isinstance(value, np.ndarray) and value.dtype != object
        if is_array or isinstance(value, _OPAQUE):
            return
        if depth > contents.DEEPEST or id(value) in self.entered:
            return
        self.entered[id(value)] = value
        parts = contents.parts_of(value)
        if parts is None:
            if type(value).__module__.partition(".")[0] not in _OURS:
                self.objects.append((name, where, value, depth))
                self.follow_methods(value, _SPECIAL)
            return
        for key, item in parts:
            if isinstance(item, _FUNCTIONS):
                self.functions.append((item, MISSING))
            else:
                self._enter(f"{name}[{key}]", where, item, depth + 1)

    def look_at_objects(self) -> None:
        """Note of objects what is read of anything, and the fields of dataclasses."""
        for name, where, value, depth in self.objects:
            fields = getattr(type(value), "__dataclass_fields__", ())
            for attribute in sorted(self.attributes.union(fields)):
                if (id(value), attribute) in self.known:
                    continue
                read = Attribute(Fixed(value), attribute)
                if attribute not in self.optional and read.stored() is MISSING:
                    continue
                self._note(f"{name}.{attribute}", where, read, False)
                content = read()
                if content is not MISSING:
                    self._enter(f"{name}.{attribute}", where, content, depth + 1)


def _may_appear(read: Place) -> bool:
    """Tell whether a place is an attribute that is not there, but may come to be."""
    if not isinstance(read, Attribute):
        return False
    owner, stored = read.owner(), read.stored()
    is_empty = stored is MISSING or isinstance(stored, types.MemberDescriptorType)
    return is_empty and owner is not MISSING and surroundings.may_appear(owner)


def _file(value: Any) -> str:
    """Return the file of a function, or "" of what is none."""
    function = value.__func__ if isinstance(value, types.MethodType) else value
    return function.__code__.co_filename if isinstance(function, types.FunctionType) else ""


def _wrapped(value: Any) -> Any:
    """Return the function behind a transformed or partly applied one, or None."""
    try:
        return getattr(value, "__wrapped__", None) or getattr(value, "func", None)
    except Exception:  # what the user's class raises says that it is none
        return None


def _variables(
    function: types.FunctionType, owner: Any, code: Reads
) -> Iterator[tuple[tuple[str, ...], Place]]:
    """Yield the paths of what a function reads outside, and how to read it.

    owner: what its first argument is, if it is a method; else MISSING.  code: what it reads.
    """
    table, names = function.__globals__, function.__code__
    reads: dict[str, Place] = {}
    for name, cell in zip(names.co_freevars, function.__closure__ or (), strict=True):
        reads[name] = Cell(cell)
    for name in sorted(code.variables):
        reads[name] = Global(table, name)
    for name, default in _defaults(function).items():
        reads[name] = Fixed(default)
    yield from (((name,), read) for name, read in reads.items())
    if owner is not MISSING and names.co_argcount:
        reads[names.co_varnames[0]] = Fixed(owner)
    for name, *path in sorted(code.paths):
        if name in reads:
            read = reads[name]
            for attribute in path:
                read = Attribute(read, attribute)
            yield (name, *path), read


def _defaults(function: types.FunctionType) -> dict[str, Any]:
    """Return the defaults of a function's arguments."""
    code, given = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount][code.co_argcount - len(given) :]
    return {**dict(zip(names, given, strict=True)), **(function.__kwdefaults__ or {})}


def _shown(value: Any) -> str:
    """Return a value as text for a message."""
    if value is MISSING:
        return "not there"
    try:
        text = repr(value).replace("\n", " ")
    except Exception:  # of the user's class: the variable's name says enough
        text = object.__repr__(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
