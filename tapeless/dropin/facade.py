"""Modules that forward to this package's, under JAX's names."""

from __future__ import annotations

import types
from collections.abc import Mapping

from tapeless.dropin.private import ADDED, ELSEWHERE, REMOVED
from tapeless.util import lazy
from tapeless.util.names import public_names

__all__ = ["Facade", "Table", "missing"]

_NOTE = (
    "tapeless runs this program in the place of JAX. If JAX 0.12 has this name, it is not here: "
    "dir({module}) lists what is here, docs/differences.md what is left out and why."
)


def missing(module: types.ModuleType, name: str) -> AttributeError:
    """Return the error for a name that a module does not have, in JAX's words, with a note.

    Python looks among the names of the module for one that may have been meant.
    """
    shown = module.__name__
    text = REMOVED.get(f"{shown}.{name}", f"module {shown!r} has no attribute {name!r}")
    error = AttributeError(text, name=name, obj=module)
    error.add_note(_NOTE.format(module=shown))
    return error


def _found(value: object) -> object:
    """Return what an entry of a table stands for: `module:attribute`, or the object itself."""
    if isinstance(value, str) and ":" in value:
        module, _, attribute = value.partition(":")
        return getattr(lazy.now(module), attribute)
    return value


class _Named(types.ModuleType):
    """A module that is pickled by its name, as cloudpickle does it with plain modules."""

    def __reduce__(self) -> tuple:
        """Return how to find it again."""
        return lazy.now, (self.__name__,)


class Facade(_Named):
    """The module `jax.X`, whose public names are those of the module `tapeless.X`."""

    _public: frozenset[str]
    _target: types.ModuleType | object

    def __init__(self, name: str, target: types.ModuleType | object) -> None:
        """name: the full name, `jax.numpy`."""
        super().__init__(name, getattr(target, "__doc__", None))
        self.__dict__["_target"] = target
        if hasattr(target, "__file__"):
            self.__dict__["__file__"] = target.__file__
        listed = public_names(name)
        if listed is None:
            listed = frozenset(getattr(target, "__all__", ()))
        self.__dict__["_public"] = listed | frozenset(ADDED.get(name, ()))

    def __getattr__(self, name: str) -> object:
        """Return a public attribute of the target, and keep it.

        `from jax.numpy import *` asks for `__all__`.
        """
        if name == "__all__":
            return [name for name in dir(self) if not name.startswith("_")]
        elsewhere = ELSEWHERE.get(self.__name__, {})
        if name in elsewhere:
            value = self.__dict__[name] = _found(elsewhere[name])
            return value
        if name not in self._public or name.startswith("_src"):
            raise missing(self, name)
        try:
            value = getattr(self._target, name)
        except AttributeError:
            raise missing(self, name) from None
        full = f"{self.__name__}.{name}"
        if isinstance(value, types.ModuleType) and lazy.exists(full):
            return lazy.now(full)
        self.__dict__[name] = value
        return value

    def __dir__(self) -> list[str]:
        """List the public names that exist."""
        here = {name for name in self._public if hasattr(self._target, name)}
        here.update(ELSEWHERE.get(self.__name__, ()))
        return sorted(here | {name for name in self.__dict__ if name.startswith("__")})


class Table(_Named):
    """A module with a few names, each given as `module:attribute` or as a value."""

    _entries: Mapping[str, object]

    def __init__(self, name: str, entries: Mapping[str, object]) -> None:
        """name: the full name, `jax._src.core`."""
        super().__init__(name)
        self.__dict__["_entries"] = entries

    def __getattr__(self, name: str) -> object:
        """Return an attribute, and keep it."""
        if name not in self._entries:
            raise missing(self, name)
        value = self.__dict__[name] = _found(self._entries[name])
        return value

    def __dir__(self) -> list[str]:
        """List the names."""
        return sorted(self._entries)
