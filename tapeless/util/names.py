"""Names that a public module has, and names that it does not have.

Public modules bear the names of the library whose programs they run, also in the error for an
attribute that is missing.  `public_names.json`, beside this file, lists what that library offers, a
string of names per module; `dir` of a facade shows those of them that are here, and `import *`
takes them.
"""

from __future__ import annotations

import functools
import os.path
import types
from collections.abc import Callable, Collection, Mapping
from typing import Any, NoReturn, TypeVar

from tapeless.util import lazy
from tapeless.util.frames import api_boundary, is_internal

__all__ = ["close_module", "listed_names", "missing_attribute", "public_names"]

T = TypeVar("T")

json = lazy.load("json")
_TOOLS = ("close_module", "lazy")
_FILE = os.path.join(os.path.dirname(__file__), "public_names.json")


def close_module(module: str, namespace: dict[str, Any], ours: Collection[str] = ()) -> None:
    """Let a module, `module` to users, list its public names, and refuse others in its name.

    Its functions become boundaries: their errors show the user's lines, and name them and their
    arguments.  Names that wait (`lazy.defer_names`) are imported when they are asked for.  Called
    at the end of a facade with its `globals()` and the public names that only this package has;
    the tools of facades leave it.  Type checkers see no `__getattr__` then, and so refuse the other
    names too.
    """
    for tool in _TOOLS:
        namespace.pop(tool, None)
    later = lazy.deferred(namespace)
    for value in namespace.values():
        _bound(value)
    namespace["__dir__"] = listed = listed_names(module, namespace, later, ours)
    namespace["__getattr__"] = _finder(namespace, later, listed, missing_attribute(module))


def _bound(value: T) -> T:
    """Make a boundary of a function of this package."""
    if isinstance(value, types.FunctionType) and is_internal(value.__code__.co_filename):
        api_boundary(value)
    return value


def _finder(
    namespace: dict[str, Any],
    later: Mapping[str, lazy.Later],
    listed: Callable[[], list[str]],
    missing: Callable[[str], NoReturn],
) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module, which may have names that wait."""

    def found(name: str) -> Any:
        """Import what waits, and keep it."""
        if name in later:
            return namespace.setdefault(name, _bound(later[name].value()))
        if name == "__all__":  # `import *` asks for it
            return [each for each in listed() if not each.startswith("_")]
        missing(name)

    return found


def missing_attribute(module: str) -> Callable[[str], NoReturn]:
    """Return the `__getattr__` of a module that is called `module` in errors.

    >>> missing_attribute("jax.numpy")("randn")
    Traceback (most recent call last):
    AttributeError: module 'jax.numpy' has no attribute 'randn'
    """

    def no_such_name(name: str) -> NoReturn:
        """Raise AttributeError."""
        raise AttributeError(f"module '{module}' has no attribute {name!r}")

    return no_such_name


@functools.cache
def _table() -> Mapping[str, str]:
    """Return the names of each module, in one string."""
    with open(_FILE, encoding="utf-8") as file:
        return json.load(file)


@functools.cache
def public_names(module: str) -> frozenset[str] | None:
    """Return all public names of a module, or None for one that is not listed.

    >>> "arange" in public_names("jax.numpy")
    True
    """
    text = _table().get(module)
    return None if text is None else frozenset(text.split())


def listed_names(
    module: str,
    namespace: Mapping[str, Any],
    later: Mapping[str, Any] = types.MappingProxyType({}),
    ours: Collection[str] = (),
) -> Callable[[], list[str]]:
    """Return the `__dir__` of a module: the names that `namespace` has, or `later`, and are public.

    Public are those of the library, and `ours`.
    """

    def shown_names() -> list[str]:
        """Return what is public, and what every module has."""
        public = public_names(module)
        names = {**namespace, **later}
        if public is None:
            return sorted(names)
        public = public.union(ours)
        return sorted(name for name in names if name in public or name.startswith("__"))

    return shown_names
