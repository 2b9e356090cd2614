"""Keys of routes, as the native call stub writes them, and the steps that put results together.

`compiler/callwalk.py` says what the token of an argument is, trees included; this is its
counterpart in Python, which runs when a route is entered.  The walk meets the items of a dict in
the order of their insertion, and a program has its arguments in the order of sorted names: a key
comes with the *order*, which has for each argument of the program its number in the walk.

`compiler/callbuild.py` says what steps are.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray, typeof
from tapeless.runtime.array import Array
from tapeless.tree import registry
from tapeless.tree.registry import node_type_of, sorted_keys
from tapeless.tree.treedef import Node, PyTreeDef
from tapeless.util import lazy
from tapeless.util.cache import BoundedTable

__all__ = ["Steps", "Token", "Walk", "containers", "token_of", "tokens_of"]

callbuild = lazy.load("tapeless.compiler.callbuild")
callwalk = lazy.load("tapeless.compiler.callwalk")

Token = ShapedArray | type
_PLAIN = frozenset(
    (bool, int, float, np.bool_, np.int32, np.int64, np.float32, np.float64)
)  # scalars that the stub can read
_MOST_FIELDS = 62  # bits of a mask

# What native code knows of types: see `compiler/callwalk.py`.
containers = BoundedTable(4096)
registry.watch(lambda python_type: containers.pop(python_type, None))


def token_of(x: Any) -> Token | None:
    """Return what decides a program of a leaf; None if it can have no route."""
    if type(x) is Array:
        return x.aval
    if type(x) is np.ndarray:
        return typeof(x) if dtypes.is_supported(x.dtype) else None
    return type(x) if type(x) in _PLAIN else None


def tokens_of(args: Sequence[Any]) -> tuple[Token, ...] | None:
    """Return the tokens of leaves; None if one has none."""
    tokens = []
    for x in args:
        token = token_of(x)
        if token is None:
            return None
        tokens.append(token)
    return tuple(tokens)


class Walk:
    """Arguments on their way into a key; `is_known` is false if native code cannot follow.

    leaves: those that were met; order: their numbers, in the order in which they are arguments.
    """

    __slots__ = ("_levels", "is_known", "leaves", "order")

    def __init__(self) -> None:
        """Start before the first argument."""
        self.leaves: list[Any] = []
        self.order: list[int] = []
        self.is_known = True
        self._levels = 0

    def argument(self, x: Any) -> Any:
        """Return the token of the next argument."""
        token, order = self._visit(x)
        self.order += order
        return token

    def arguments_by_name(self, named: Mapping[str, Any]) -> list[Any]:
        """Return the tokens of arguments by name, which a program has in the order of the names."""
        visited = {name: self._visit(x) for name, x in named.items()}
        for name in sorted(visited):
            self.order += visited[name][1]
        return [token for token, _ in visited.values()]

    def has_arguments(self, leaves: Sequence[Any]) -> bool:
        """Tell whether a program has just these arguments, by the order that was found."""
        if not self.is_known or len(leaves) != len(self.order):
            return False
        pairs = zip(leaves, self.order, strict=True)
        return all(leaf is self.leaves[number] for leaf, number in pairs)

    def _visit(self, x: Any) -> tuple[Any, list[int]]:
        """Return the token of a tree, and the numbers of its leaves in the order of the tree."""
        kind = node_type_of(type(x))
        if kind is None:
            self.leaves.append(x)
            return token_of(x), [len(self.leaves) - 1]
        if kind.label == "none":
            return type(x), []
        if self._levels == callwalk.MOST_LEVELS:
            self.is_known = False
        if not self.is_known:
            return None, []
        self._levels += 1
        found = self._container(x, kind)
        self._levels -= 1
        return found

    def _container(self, x: Any, kind: registry.NodeType) -> tuple[Any, list[int]]:
        """Return the same for a container."""
        match kind.label:
            case "dict":
                return self._dict(x)
            case "tuple" | "list":
                return self._items(x, x)
            case "namedtuple" if type(x).__iter__ is tuple.__iter__:
                containers.put(type(x), None)
                return self._items(x, x)
            case "dataclass" if len(kind.fields) <= _MOST_FIELDS:
                return self._dataclass(x, kind)
            case _:
                self.is_known = False
                return None, []

    def _items(self, x: Any, items: Sequence[Any]) -> tuple[tuple, list[int]]:
        """Return the same for a container, of its items."""
        visited = [self._visit(item) for item in items]
        order = [number for _, numbers in visited for number in numbers]
        return (type(x), *[token for token, _ in visited]), order

    def _dict(self, x: dict) -> tuple[tuple, list[int]]:
        """Return the same for a dict."""
        parts: list[Any] = [dict]
        orders = {}
        for name, value in x.items():
            token, orders[name] = self._visit(value)
            parts += [name if type(name) is str else (type(name), name), token]
        return tuple(parts), [number for name in sorted_keys(x) for number in orders[name]]

    def _dataclass(self, x: Any, kind: registry.NodeType) -> tuple[tuple, list[int]]:
        """Return the same for a dataclass, whose data come last."""
        n_data = len(kind.data_fields)
        mask = (1 << len(kind.fields)) - (1 << n_data)
        containers.put(type(x), (kind.fields, mask))
        parts, order = self._items(x, [getattr(x, name) for name in kind.data_fields])
        data = [getattr(x, name) for name in kind.meta_fields]
        return (*parts, *[(type(value), value) for value in data]), order


class Steps:
    """How results are put together; `numbers` are steps, `kept` is what they refer to."""

    __slots__ = ("kept", "n_stack", "numbers")

    def __init__(self, tree: PyTreeDef | None, n_results: int) -> None:
        """Write the steps to a tree; without one, to a tuple of all results."""
        self.numbers: list[int] = []
        self.kept: list[Any] = []
        if tree is None:
            for _ in range(n_results):
                self._add("leaf", 0)
            self._add("tuple", n_results)
            self.n_stack = n_results + 1
        else:
            self.n_stack = tree.node.fold(self._visit)

    def _add(self, name: str, count: int, thing: Any = None) -> None:
        """Add a step that takes `count` values."""
        self.kept.append(thing)
        self.numbers += (callbuild.STEPS.index(name), count, id(thing))

    def _visit(self, node: Node, sizes: tuple[int, ...]) -> int:
        """Add the step of a node after those of its children; return how many values it needs."""
        kind, size = node.kind, len(sizes)
        if kind is None:
            self._add("leaf", 0)
            return 1
        match kind.label:
            case "none":
                self._add("constant", 0)
            case "tuple" | "list":
                self._add(kind.label, size)
            case "dict":
                self._add("dict", size, (node.data, dict.fromkeys(node.data)))
            case "namedtuple":
                self._add("call", size, (kind.python_type, ()))
            case "dataclass":
                for value in node.data:
                    self._add("constant", 0, value)
                size = len(kind.fields)
                self._add("call", size, (kind.python_type, kind.fields))
            case _:
                self._add("tuple", size)
                self._add("call", 1, (functools.partial(kind.unflatten, node.data), ()))
        return max(1, size, *[place + below for place, below in enumerate(sizes)])
