"""The import hook: `jax`, `jaxlib` and everything below them are found here."""

from __future__ import annotations

import importlib.machinery
import sys
import types
from collections.abc import Sequence
from pathlib import Path

from tapeless.dropin.facade import Facade, Table
from tapeless.dropin.private import TABLES
from tapeless.numpy.array_api import present_as
from tapeless.util import lazy
from tapeless.util.names import public_names

__all__ = ["install_as_jax"]

_ROOTS = ("jax", "jaxlib")
# Processes that `multiprocessing` starts inherit `sys.path`: so this package is their `jax` too.
_CHILDREN = str(Path(__file__).with_name("children"))


class Finder:
    """Finds the modules, and loads them: both are a look into tables."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a module of JAX, or None.

        Where another finder has the module, as one that is installed to be edited, None would
        load it: then ModuleNotFoundError is raised.
        """
        if fullname.partition(".")[0] not in _ROOTS:
            return None
        if fullname not in TABLES and not self._is_public(fullname):
            others = [finder for finder in sys.meta_path if finder is not self]
            if any(finder.find_spec(fullname, path, target) for finder in others):
                raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
            return None
        # The protocol of loaders asks for `load_module`, which is deprecated.
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)  # pyrefly: ignore[bad-argument-type]

    def _is_public(self, fullname: str) -> bool:
        """Tell whether a name is a public module of JAX, no function or class, and is here."""
        if public_names(fullname) is None and fullname not in _PACKAGES:
            return False
        parent, _, last = fullname.rpartition(".")
        return lazy.exists(_counterpart(fullname)) or hasattr(_target(parent), last)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """Return the module."""
        if spec.name in TABLES:
            return Table(spec.name, TABLES[spec.name])
        return Facade(spec.name, _target(spec.name))

    def exec_module(self, module: types.ModuleType) -> None:
        """Do nothing: the module is complete."""


# Modules without public names of their own.
_PACKAGES = {
    "jax.interpreters",
    "jax.example_libraries",
    "jax.experimental.shard_map",
    "jax.experimental.sparse",
    "jax.scipy.sparse",
    "jax.version",
}


def _counterpart(fullname: str) -> str:
    """Return the name of the module that stands for `jax.X`."""
    return "tapeless" + fullname.removeprefix("jax")


def _target(fullname: str) -> types.ModuleType | object:
    """Return the module that stands for `jax.X`, or the object where that is an attribute."""
    name = _counterpart(fullname)
    if fullname == "jax" or lazy.exists(name):
        return lazy.now(name)
    parent, _, last = fullname.rpartition(".")
    return getattr(_target(parent), last)


def install_as_jax() -> None:
    """Let `import jax` find this package, for the rest of the process.

    Call it before anything imports JAX.

    >>> install_as_jax()  # doctest: +SKIP
    >>> import jax  # doctest: +SKIP
    >>> jax.numpy.arange(3)  # doctest: +SKIP
    Array([0, 1, 2], dtype=int32)
    """
    if any(isinstance(finder, Finder) for finder in sys.meta_path):
        return
    loaded = [name for name in _ROOTS if name in sys.modules]
    if loaded:
        raise RuntimeError(
            f"{loaded[0]} is imported already: call tapeless.install_as_jax() before that"
        )
    sys.meta_path.insert(0, Finder())
    sys.path.insert(1, _CHILDREN)
    present_as("jax.numpy")
