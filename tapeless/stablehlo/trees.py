"""Structures of arguments and results as JSON, without code of any kind.

    leaf              "*"
    None              null
    tuple, list       {"tuple": [...]}, {"list": [...]}
    dict              {"dict": [[key, child], ...]}, keys are strings, ints, floats or bools
    named tuple       {"namedtuple": name, "children": [...]}
    other containers  {"custom": name, "data": hexadecimal bytes, "children": [...]}

The last two must be registered under a name, by the program that writes and by the one that reads:
what a name stands for is never taken from the file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from tapeless.tree.registry import node_type_of
from tapeless.tree.treedef import LEAF_TREEDEF, PyTreeDef

__all__ = [
    "register_namedtuple_serialization",
    "register_pytree_node_serialization",
    "tree_from_json",
    "tree_to_json",
]

T = TypeVar("T")
_KEYS = (str, int, float, bool)


class _Named(NamedTuple):
    """A registered class: its name in files, and how its data is written and read."""

    name: str
    python_type: type
    write: Callable[[Any], bytes]
    read: Callable[[bytes], Any]


_by_type: dict[type, _Named] = {}
_by_name: dict[str, _Named] = {}


def _register(named: _Named) -> None:
    """Enter a class, once."""
    known = _by_type.get(named.python_type)
    if known is not None:
        raise ValueError(
            f"Duplicate serialization registration for type `{named.python_type}`. Previous "
            f"registration was with serialized_name `{known.name}`."
        )
    if named.name in _by_name:
        raise ValueError(
            f"Duplicate serialization registration for serialized_name `{named.name}`. Previous "
            f"registration was for type `{_by_name[named.name].python_type}`."
        )
    _by_type[named.python_type] = _by_name[named.name] = named


def register_namedtuple_serialization(nodetype: type[T], *, serialized_name: str) -> type[T]:
    """Give a named tuple class the name under which files know it; return the class.

    >>> import collections
    >>> Point = collections.namedtuple("Point", "x y")
    >>> register_namedtuple_serialization(Point, serialized_name="geometry.Point")
    <class '...Point'>
    """
    if not (issubclass(nodetype, tuple) and hasattr(nodetype, "_fields")):
        raise ValueError(
            "Use `jax.export.register_pytree_node_serialization` for types other than "
            "`collections.namedtuple`."
        )
    _register(_Named(serialized_name, nodetype, lambda data: b"", lambda data: None))
    return nodetype


def register_pytree_node_serialization(
    nodetype: type[T],
    *,
    serialized_name: str,
    serialize_auxdata: Callable[[Any], bytes],
    deserialize_auxdata: Callable[[bytes], Any],
    from_children: Callable[[Any, Sequence[Any]], Any] | None = None,
) -> type[T]:
    """Give a registered container class a name for files, and its data a form in bytes.

    serialize_auxdata, deserialize_auxdata: from the data of a container to bytes, and back.
    from_children: accepted; containers are rebuilt as they were registered.

    >>> class Pair(list):
    ...     pass
    >>> jax.tree_util.register_pytree_node(
    ...     Pair, lambda pair: (tuple(pair), None), lambda _, children: Pair(children)
    ... )
    >>> register_pytree_node_serialization(
    ...     Pair,
    ...     serialized_name="example.Pair",
    ...     serialize_auxdata=lambda _: b"",
    ...     deserialize_auxdata=lambda _: None,
    ... )
    <class 'tapeless.stablehlo.trees.Pair'>
    """
    if node_type_of(nodetype) is None:
        raise ValueError(
            f"If `from_children` is not present, you must call first"
            f"`jax.tree_util.register_pytree_node` for `{nodetype}`"
        )
    _register(_Named(serialized_name, nodetype, serialize_auxdata, deserialize_auxdata))
    return nodetype


def tree_to_json(tree: PyTreeDef) -> Any:
    """Return a structure as values of JSON."""
    node = tree.node_data()
    children = [tree_to_json(child) for child in tree.children()]
    if node is None:
        return "*"
    kind, data = node
    if kind is type(None):
        return None
    if kind in (tuple, list):
        return {kind.__name__: children}
    if kind is dict:
        if not all(type(key) in _KEYS for key in data):
            raise ValueError(
                f"Serialization is supported only for dictionaries with plain keys, got {data}"
            )
        return {"dict": [list(pair) for pair in zip(data, children, strict=True)]}
    named = _by_type.get(kind)
    if named is None:
        raise ValueError(
            f"Cannot serialize PyTreeDef with node type `{kind}` unregistered with "
            "`jax.export.register_pytree_node_serialization` or "
            "`jax.export.register_namedtuple_serialization`."
        )
    if hasattr(kind, "_fields"):
        return {"namedtuple": named.name, "children": children}
    return {"custom": named.name, "data": named.write(data).hex(), "children": children}


def tree_from_json(value: Any) -> PyTreeDef:
    """Return the structure that JSON describes, or raise ValueError."""
    if value == "*":
        return LEAF_TREEDEF
    if value is None:
        return _made((type(None), None), [])
    if not isinstance(value, dict):
        raise ValueError(f"no structure of containers: {value!r}")
    for kind in (tuple, list):
        if kind.__name__ in value:
            return _made((kind, None), [tree_from_json(x) for x in value[kind.__name__]])
    if "dict" in value:
        keys = [key for key, _ in value["dict"]]
        if not all(type(key) in _KEYS for key in keys):
            raise ValueError(f"keys of a dictionary are plain, these are not: {keys!r}")
        return _made((dict, keys), [tree_from_json(child) for _, child in value["dict"]])
    name = value.get("namedtuple", value.get("custom"))
    named = _by_name.get(name) if isinstance(name, str) else None
    if named is None:
        raise ValueError(
            f"the file contains containers called {name!r}. Register their class under this name: "
            "jax.export.register_namedtuple_serialization or register_pytree_node_serialization."
        )
    children = [tree_from_json(child) for child in value["children"]]
    data = named.read(bytes.fromhex(value["data"])) if "custom" in value else None
    return _made((named.python_type, data), children)


def _made(node: tuple[type, Any], children: Sequence[PyTreeDef]) -> PyTreeDef:
    """Return a structure of its outermost container and the structures inside."""
    return PyTreeDef.from_node_data_and_children(None, node, children)
