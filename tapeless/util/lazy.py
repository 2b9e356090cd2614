"""Late loading: a module that is imported when it is first used.

Importing this package must be fast, and some of what it needs is not: the LLVM binding, SciPy's
linear algebra, the compiler itself. ``load(name)`` stands for such a module at once and imports it
at the first access to an attribute::

    llvm = lazy.load("llvmlite.binding")
    ...
    llvm.parse_assembly(text)      # imports llvmlite.binding

A package whose parts are not wanted by every program says so in its ``__init__``, above the
statements that import them: they import when they are used, and tell type checkers what is there::

    lazy.defer(__name__, "linalg")
    from tapeless.numpy import linalg as linalg

This is the one door for imports that are not at the top of a file. The check of import order counts
a call of ``load`` as an import.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types

__all__ = ["LazyModule", "defer", "exists", "load", "now"]


class LazyModule(types.ModuleType):
    """A stand-in for a module, which copies the module's attributes to itself when used."""

    def __getattr__(self, name: str) -> object:
        """Import the module and return its attribute, kept here for the next time."""
        value = getattr(importlib.import_module(self.__name__), name)
        if not name.startswith("__"):
            self.__dict__[name] = value
        return value

    def __dir__(self) -> list[str]:
        """List the attributes of the module proper."""
        return dir(importlib.import_module(self.__name__))

    def __repr__(self) -> str:
        """Print without importing."""
        return f"<module {self.__name__!r}, imported when used>"


def load(name: str) -> types.ModuleType:
    """Return a stand-in for the module ``name``, given in full.

    >>> fractions = load("fractions")
    >>> fractions.Fraction(1, 3) + 1
    Fraction(4, 3)
    """
    return LazyModule(name)


def defer(package: str, *names: str) -> None:
    """Let modules of a package, which is being imported, wait until they are used."""
    for name in names:
        if f"{package}.{name}" not in sys.modules:
            setattr(sys.modules[package], name, load(f"{package}.{name}"))


def now(name: str) -> types.ModuleType:
    """Return the module ``name``, imported: for names that are only known when a program runs."""
    return importlib.import_module(name)


def exists(name: str) -> bool:
    """Tell whether there is a module ``name``; its parents are imported."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False
