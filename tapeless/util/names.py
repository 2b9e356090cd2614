"""Names that a public module has, and names that it does not have.

Public modules bear the names of the library whose programs they run, also in the error for an
attribute that is missing.  `public_names.json`, beside this file, lists what that library offers, a
string of names per module; `dir` of a facade shows those of them that are here.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from tapeless.util import lazy
from tapeless.util.frames import api_boundary, is_internal

__all__ = ["close_module", "listed_names", "missing_attribute", "public_names"]

json = lazy.load("json")
_FILE = Path(__file__).with_name("public_names.json")


def close_module(module: str, namespace: dict[str, Any]) -> None:
    """Let a module, `module` to users, list its public names, and refuse others in its name.

    Its functions become boundaries: their errors show the user's lines, and name them and their
    arguments.  Called at the end of a facade with its `globals()`.  Type checkers see no
    `__getattr__` then, and so refuse the other names too.
    """
    for value in list(namespace.values()):
        if isinstance(value, types.FunctionType) and is_internal(value.__code__.co_filename):
            api_boundary(value)
    namespace["__dir__"] = listed_names(module, namespace)
    namespace["__getattr__"] = missing_attribute(module)


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
    return json.loads(_FILE.read_text())


@functools.cache
def public_names(module: str) -> frozenset[str] | None:
    """Return all public names of a module, or None for one that is not listed.

    >>> "arange" in public_names("jax.numpy")
    True
    """
    text = _table().get(module)
    return None if text is None else frozenset(text.split())


def listed_names(module: str, namespace: Mapping[str, Any]) -> Callable[[], list[str]]:
    """Return the `__dir__` of a module: the public names that `namespace` has."""

    def shown_names() -> list[str]:
        """Return what is public, and what every module has."""
        public = public_names(module)
        if public is None:
            return sorted(namespace)
        return sorted(name for name in namespace if name in public or name.startswith("__"))

    return shown_names
