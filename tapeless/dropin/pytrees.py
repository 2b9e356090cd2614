"""The registry of container types in the form in which libraries look into JAX's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tapeless.tree.registry import node_type_of

__all__ = ["registry"]


class Entry(NamedTuple):
    """How a container comes apart, to_iter(x) -> (children, data), and together again."""

    to_iter: Callable[[Any], tuple]
    from_iter: Callable[[Any, Any], Any]


class Registry:
    """A table that is looked up: the entry of a container type, whenever that was registered."""

    def __contains__(self, kind: type) -> bool:
        """Tell whether instances of a type are containers."""
        return node_type_of(kind) is not None

    def __getitem__(self, kind: type) -> Entry:
        """Return the entry of a container type; KeyError for any other."""
        found = node_type_of(kind)
        if found is None:
            raise KeyError(kind)
        return Entry(found.flatten, lambda data, children: found.unflatten(data, tuple(children)))


registry = Registry()
