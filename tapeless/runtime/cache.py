"""What keys a traced program, and where traced programs are kept.

Programs are kept per function object, weakly, so that they are freed with it; of one function, only
the latest few thousand, since its static values may be different at every call.  The key of one is
the tree of its arguments, their types, the static values, and what staging may read of the
configuration.  When a function is traced again, `misses.py` tells which part of the key is new.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from tapeless import config
from tapeless.core.aval import ShapeDtypeStruct
from tapeless.core.jaxpr import Jaxpr
from tapeless.core.ref import Ref
from tapeless.core.trace import Tracer
from tapeless.runtime.captures import Snapshot
from tapeless.runtime.surroundings import Row
from tapeless.tree.flatten import tree_unflatten
from tapeless.tree.treedef import PyTreeDef
from tapeless.util import lazy
from tapeless.util.cache import BoundedTable
from tapeless.util.weak import weak_key

__all__ = ["TraceCache", "TracedProgram", "log_compilation"]

logging = lazy.load("logging")
misses = lazy.load("tapeless.runtime.misses")
_MOST_PROGRAMS = 4096  # of one function


class TracedProgram:
    """A traced function: its program, and how its results are put together.

    tracers: what it captured of enclosing transformations, and references: leading inputs.
    captured: the variables that it read, where calls shall compare them.
    is_called: whether it has been called outside any transformation, not only looked at.
    """

    __slots__ = ("__weakref__", "captured", "is_called", "jaxpr", "name", "out_tree", "tracers")

    def __init__(
        self, jaxpr: Jaxpr, tracers: tuple[Tracer | Ref, ...], out_tree: PyTreeDef, name: str
    ) -> None:
        """name: of the function, for printing."""
        self.jaxpr = jaxpr
        self.tracers = tracers
        self.out_tree = out_tree
        self.name = name
        self.captured: Snapshot | None = None
        self.is_called = False

    def watch(self) -> tuple[Row, ...] | None:
        """Return how the call stub finds that what was captured is the same; None: only Python."""
        return () if self.captured is None else self.captured.watch()

    def out_struct(self) -> Any:
        """Return the result with a ShapeDtypeStruct for each leaf."""
        leaves = [
            ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in self.jaxpr.out_avals
        ]
        return tree_unflatten(self.out_tree, leaves)


class TraceCache:
    """The traced programs of all functions."""

    def __init__(self) -> None:
        """Start empty."""
        self._tables: dict[int, tuple[Any, BoundedTable]] = {}

    def get(self, function: Callable, key: Hashable) -> TracedProgram | None:
        """Return the program of `function` under `key`, or None."""
        entry = self._tables.get(id(function))
        table = {} if entry is None else entry[1]
        found = table.get(key)
        if found is None and config.current.jax_explain_cache_misses:
            text = misses.miss_explanation(function, key, table, _argument_names)
            logging.getLogger(__name__).warning(text)
        return found

    def put(self, function: Callable, key: Hashable, program: TracedProgram) -> None:
        """Keep a program for as long as the function lives."""
        number = id(function)
        entry = self._tables.get(number)
        if entry is None:
            try:
                reference = weak_key(self._tables, function)
            except TypeError:  # what cannot be referred to weakly is kept
                reference = function
            entry = self._tables[number] = (reference, BoundedTable(_MOST_PROGRAMS))
        entry[1].put(key, program)

    def size(self, function: Callable) -> int:
        """Return how many programs of a function have been called."""
        entry = self._tables.get(id(function))
        return 0 if entry is None else sum(found.is_called for found in entry[1].values())

    def forget(self, function: Callable) -> None:
        """Drop the programs of one function."""
        self._tables.pop(id(function), None)

    def clear(self) -> None:
        """Drop all programs."""
        self._tables.clear()


def log_compilation(text: str, *parts: Any) -> None:
    """Log a step on the way to native code, if `jax_log_compiles` asks for it.

    text: with places for `parts`, as `logging` fills them.
    """
    if config.current.jax_log_compiles:
        logging.getLogger(__name__).warning(text, *parts)


def _argument_names(program: TracedProgram) -> tuple[str, ...]:
    """Return the names of a program's arguments, as far as they are known."""
    return program.jaxpr.debug.arguments or ()
