"""Records: frozen, slotted classes of named fields, made without text.

The standard library's dataclasses write the methods of each class as text and compile it, which
takes half a millisecond a class, whether an instance is ever made or not; importing this package
makes a hundred such classes. A ``record`` has methods that are the same functions for all, over the
tuple of its fields, and only the initialiser is written as text, when the first instance is made.

To type checkers and readers a record is a frozen dataclass: annotated names are its fields, a value
beside one is its default. It is compared and hashed by its fields, or, with ``eq=False``, by
identity; it is copied and pickled by calling the class; ``replace`` gives a changed copy.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any, NoReturn, TypeVar, dataclass_transform, overload

__all__ = ["record", "replace"]

T = TypeVar("T")
_REQUIRED = object()


@overload
def record(cls: type[T], /) -> type[T]: ...
@overload
def record(*, eq: bool = True) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True)
def record(cls: Any = None, /, *, eq: bool = True) -> Any:
    """Make a record of a class whose annotated names are the fields.

    eq: whether instances are compared and hashed by their fields, else by identity.

    >>> @record
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> Point(1), Point(1) == Point(1, 0), replace(Point(1), y=2)
    (Point(x=1, y=0), True, Point(x=1, y=2))
    """
    return _made(cls, eq) if cls is not None else lambda each: _made(each, eq)


def replace(instance: T, /, **changes: Any) -> T:
    """Return a copy of a record with some fields replaced."""
    kind: Any = type(instance)
    return kind(**{name: getattr(instance, name) for name in kind.__match_args__} | changes)


def _made(cls: type, eq: bool) -> type:
    """Return the record of a class: the same with slots and methods."""
    defaults: dict[str, Any] = {}
    for base in reversed(cls.__mro__[1:]):
        defaults.update(vars(base).get("__record_fields__", {}))
    inherited = tuple(defaults)
    namespace = dict(vars(cls))
    for name in cls.__annotations__:
        defaults[name] = namespace.pop(name, _REQUIRED)
    for name in ("__dict__", "__weakref__"):
        namespace.pop(name, None)
    names = tuple(defaults)
    namespace |= {
        "__slots__": tuple(name for name in names if name not in inherited),
        "__match_args__": names,
        "__record_fields__": defaults,
        "__record_values__": _values_of(names),
        "__setattr__": _refuse_setting,
        "__delattr__": _refuse_deleting,
        "__reduce__": _reduced,
    }
    methods: dict[str, Any] = {
        "__repr__": _text,
        "__eq__": _equal if eq else object.__eq__,
        "__hash__": _hash if eq else object.__hash__,
    }
    made = type(cls)(cls.__name__, cls.__bases__, methods | namespace)
    made.__qualname__ = cls.__qualname__
    _write_at_first_use(made)
    return made


def _values_of(names: tuple[str, ...]) -> staticmethod:
    """Return the function that gives an instance's fields as a tuple."""
    if len(names) > 1:
        return staticmethod(operator.attrgetter(*names))
    return staticmethod(lambda instance: tuple([getattr(instance, name) for name in names]))


def _write_at_first_use(cls: Any) -> None:
    """Give a class an initialiser that writes the proper one when it is first called."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        """Write the initialiser, and call it."""
        cls.__init__ = _initialiser(cls)
        cls.__init__(self, *args, **kwargs)

    cls.__init__ = __init__


def _initialiser(cls: Any) -> Callable[..., None]:
    """Write the initialiser of a class."""
    fields = cls.__record_fields__
    parameters = [
        name if default is _REQUIRED else f"{name}=_fields[{name!r}]"
        for name, default in fields.items()
    ]
    lines = [f"    _set(self, {name!r}, {name})" for name in fields]
    if hasattr(cls, "__post_init__"):
        lines.append("    self.__post_init__()")
    text = f"def __init__({', '.join(['self', *parameters])}):\n" + "\n".join(lines or ["    pass"])
    namespace: dict[str, Any] = {"_fields": fields, "_set": object.__setattr__}
    exec(compile(text, f"<record {cls.__qualname__}>", "exec"), namespace)
    made = namespace["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _text(self: Any) -> str:
    """Return `Name(field=value, ...)`."""
    names = type(self).__match_args__
    inner = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
    return f"{type(self).__qualname__}({inner})"


def _equal(self: Any, other: object) -> bool:
    """Compare the fields of two instances of one class."""
    if type(other) is not type(self):
        return NotImplemented
    values = type(self).__record_values__
    return values(self) == values(other)


def _hash(self: Any) -> int:
    """Hash the fields."""
    return hash(type(self).__record_values__(self))


def _reduced(self: Any) -> tuple:
    """Copy and pickle as a call of the class."""
    return type(self), type(self).__record_values__(self)


def _refuse_setting(self: Any, name: str, value: object) -> NoReturn:
    """Refuse: records are frozen."""
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deleting(self: Any, name: str) -> NoReturn:
    """Refuse: records are frozen."""
    raise FrozenInstanceError(f"cannot delete field {name!r}")
