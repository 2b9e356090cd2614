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

import array
import collections
import functools
import inspect
import operator
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tapeless import config, errors
from tapeless.runtime.array import Array
from tapeless.runtime.codereads import Reads, reads_of
from tapeless.runtime.surroundings import MISSING, Attribute, Cell, Fixed, Global, Place, Row
from tapeless.util import lazy
from tapeless.util.chains import function_name
from tapeless.util.frames import is_internal, warn
from tapeless.util.records import record

__all__ = ["Snapshot", "snapshot"]

sysconfig = lazy.load("sysconfig")

_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)
_FORMS: dict[str, Any] = {
    "plain": _PLAIN,
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
_FUNCTIONS = (types.FunctionType, types.MethodType)
_OPAQUE = (*_PLAIN, np.ndarray, np.dtype, Array, types.ModuleType, *_FUNCTIONS)
_OURS = ("tapeless", "jax", "builtins")
_DEEPEST = 8  # levels of containers in containers; below, only other objects are noticed
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
        if value is self.settled or _holds(value, self.items):
            return False
        return _mark(value) != self.mark

    def watch(self) -> tuple[Row, ...] | None:
        """Return the rows by which the call stub finds that it is unchanged, or None."""
        found = self.read.seen()
        if found is None or self.is_changed(found[0]):
            return None
        value, rows = found
        if type(value) is list and self.items is not None:
            return (*rows, ("list", value, tuple(value), MISSING))
        return rows if _form(type(value)) in ("plain", "object") or self.items else None


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
            for way, source, name, wanted in found:
                row = (way, source, name, wanted)
                rows.setdefault((way, id(source), id(name), id(wanted)), row)
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
        self.entered: dict[int, Any] = {}  # functions, containers and objects by id
        self.known: set[tuple[int, str]] = set()  # attributes of objects that were looked at

    def follow(self, value: Any, owner: Any) -> None:
        """Note what a function reads; owner: what its first argument is, if it is a method."""
        for _ in range(_DEEPEST):
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
        if value is MISSING or isinstance(value, types.ModuleType):
            return
        self.found.append(
            _Variable(
                name, where, read, _settled(value), _items(value), _mark(value), _shown(value)
            )
        )
        if not isinstance(read, Attribute):
            self.functions.append((value, MISSING))
        elif not _file(value).startswith(_libraries()):
            self.functions.append((value, read.owner()))
        if is_whole:
            self._enter(name, where, value, 0)

    def _enter(self, name: str, where: str, value: Any, depth: int) -> None:
        """Note what a value holds that may be read: objects, functions, and containers of them."""
        if depth > _DEEPEST or isinstance(value, _OPAQUE) or id(value) in self.entered:
            return
        self.entered[id(value)] = value
        parts = _parts(value)
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
                self._note(f"{name}.{attribute}", where, read, False)
                content = read()
                if content is not MISSING:
                    self._enter(f"{name}.{attribute}", where, content, depth + 1)


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


def _parts(value: Any) -> Iterable[tuple[Any, Any]] | None:
    """Return what a container holds, each with words for where; None of what is no container."""
    form = _form(type(value))
    if form in ("sequence", "set"):
        return enumerate(value)
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


def _mark(value: Any, depth: int = 0) -> Any:
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
    parts = _parts(value) if depth <= _DEEPEST else None
    if parts is None:
        return _Itself(value)
    if form == "dict":
        items = [(_mark(k, depth + 1), _mark(v, depth + 1)) for k, v in value.items()]
        return (type(value), *items)
    marks = [_mark(item, depth + 1) for _, item in parts]
    if form == "partial":
        marks.append(_Itself(value.func))
    if form == "set":
        marks.sort(key=repr)
    if form == "user dict":
        marks.append(_mark(tuple(value.data), depth + 1))
    return (type(value), *marks)


def _settled(value: Any) -> Any:
    """Return a value that does not change as long as it is the same object; else a new object."""
    return value if _form(type(value)) in ("plain", "object") else object()


def _items(value: Any) -> tuple[Any, ...] | None:
    """Return what a list or tuple holds, if all of it is settled."""
    if type(value) not in (list, tuple):
        return None
    is_settled = all(_form(type(item)) in ("plain", "object") for item in value)
    return (type(value), *value) if is_settled else None


def _holds(value: Any, items: tuple[Any, ...] | None) -> bool:
    """Tell whether a list or tuple holds the same objects as one of which `_items` are known."""
    if items is None or type(value) is not items[0] or len(value) != len(items) - 1:
        return False
    return all(map(operator.is_, value, items[1:]))


def _memory_mark(view: memoryview) -> Any:
    """Return the mark of a view of memory, which may have been given up."""
    try:
        return (memoryview, view.format, view.shape, view.tobytes())
    except ValueError:
        return _Itself(view)


def _shown(value: Any) -> str:
    """Return a value as text for a message."""
    if value is MISSING:
        return "not there"
    try:
        text = repr(value).replace("\n", " ")
    except Exception:  # of the user's class: the variable's name says enough
        text = object.__repr__(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
