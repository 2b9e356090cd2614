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

and of single names, which the facade that has them looks up in ``deferred``::

    lazy.defer_names("tapeless.numpy.quantiles")
    from tapeless.numpy.quantiles import median

This is the one door for imports that are not at the top of a file. The check of import order counts
a call of ``load`` as an import.

What an import makes stays, so that the garbage collector, which looks at new objects most, looks in
vain: a sixth of the time. It has a ``Pause`` while `now` imports.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import sys
import types
from typing import Any

from tapeless.util import forks

__all__ = [
    "LazyModule", "Later", "Pause", "defer", "defer_names", "deferred", "exists", "load", "now",
]  # fmt: skip


class Pause:
    """A block in which no garbage is collected; what was made in it is old then."""

    def __enter__(self) -> None:
        """Begin."""
        self.collects = gc.isenabled()
        gc.disable()

    def __exit__(self, *failure: object) -> None:
        """End: all objects go to the oldest generation, which nothing looks through for it."""
        if not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        if self.collects:
            gc.enable()


class LazyModule(types.ModuleType):
    """A stand-in for a module, which copies the module's attributes to itself when used."""

    def __getattr__(self, name: str) -> object:
        """Import the module and return its attribute, kept here for the next time."""
        value = getattr(now(self.__name__), name)
        if not name.startswith("__"):
            self.__dict__[name] = value
        return value

    def __dir__(self) -> list[str]:
        """List the attributes of the module proper."""
        return dir(now(self.__name__))

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


class Later:
    """A name that a module imported before the module that has it."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        """Keep where it is, and what it is called there."""
        self.module = module
        self.name = name

    def value(self) -> Any:
        """Return what it stands for; the module is imported."""
        return getattr(now(self.module), self.name)


class _Unread(types.ModuleType):
    """What import statements find in place of a module, all of whose names come later."""

    def __getattr__(self, name: str) -> Later:
        """Return the name; what the import system asks for is not there."""
        if name.startswith("__"):
            raise AttributeError(name)
        return Later(self.__name__, name)


def defer_names(*modules: str) -> None:
    """Let modules wait until a name is used that the statements below import from them.

    What is imported between this and `deferred` must import none of them.
    """
    for name in modules:
        if name not in sys.modules:
            sys.modules[name] = _Unread(name)


def deferred(namespace: dict[str, Any]) -> dict[str, Later]:
    """Take the names that wait out of the namespace of a module, and return them."""
    waiting = {name: value for name, value in namespace.items() if isinstance(value, Later)}
    for name, later in waiting.items():
        del namespace[name]
        if isinstance(sys.modules.get(later.module), _Unread):
            del sys.modules[later.module]
    return waiting


def now(name: str) -> types.ModuleType:
    """Return the module ``name``, imported: for names that are only known when a program runs."""
    module = sys.modules.get(name)
    if module is None or getattr(module.__spec__, "_initializing", False):
        with Pause(), forks.importing():
            module = importlib.import_module(name)
    return module


def exists(name: str) -> bool:
    """Tell whether there is a module ``name``; its parents are imported."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False
