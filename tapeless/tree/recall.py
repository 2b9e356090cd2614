"""Flattening trees of a structure that is expected: a compiler from structures to guards.

A program flattens the same few structures over and over.  For a structure in demand,
`compile_match` writes a Python function that takes a tree apart along that structure,
checking at each container that type, length and keys are the expected ones, and gives up
with None at the first surprise.  In outline, for ``[{"w": *, "b": *}, (*, *)]``::

    def match(t0):
        if type(t0) is not list or len(t0) != 2: return None
        [t1, t2] = t0
        if type(t1) is not dict or len(t1) != 2: return None
        [k0, k1] = t1
        if k0 is not c0 or k1 is not c1: return None
        t3 = t1[c0]
        t4 = t1[c1]
        if type(t2) is not tuple or len(t2) != 2: return None
        leaves = [t4, t3, *t2]
        return leaves if are_leaves(map(type, leaves)) else None

A few leaves are asked one by one.  There is no sorting, no search for nodes, no call per
container, and no nesting: depth costs nothing.  Dict keys are compared
by identity and in the order of insertion, both as in the example tree: that is cheap, and
cannot take ``True`` for ``1``.  A few strings may also be in the order in which trees are
rebuilt, as programs take what they made together with what they were given.  Another order is a
surprise like any other, after which the caller walks the tree in the ordinary way.

Invariant: a list that is returned is what the ordinary walk would return, and the structure
of the tree is the expected one.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from tapeless.tree.registry import NodeType
from tapeless.tree.treedef import Node, token_of

__all__ = ["Match", "compile_match"]

Match = Callable[[Any], list[Any] | None]
# Those of containers that do not define their own `len`, as a class of named tuples may.
_PLAIN_LENGTHS = (tuple.__len__, list.__len__)
_FEW_KEYS = 6
_FEW_LEAVES = 4


class _Writer:
    """Collects the lines of a match function, its constants, and its leaves in order."""

    def __init__(self) -> None:
        """Start with the tree itself as the one name."""
        self.lines: list[str] = []
        self.leaves: list[str] = []
        self.constants: dict[str, Any] = {"token_of": token_of}
        self.pending: list[tuple[str, Node, Any]] = []
        self.n_names = 1

    def new_names(self, count: int) -> list[str]:
        """Return names for local variables."""
        first = self.n_names
        self.n_names += count
        return [f"t{i}" for i in range(first, first + count)]

    def constant(self, value: Any) -> str:
        """Return a name for a constant."""
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name

    def require(self, condition: str) -> None:
        """Write a guard: give up unless a condition holds."""
        self.lines.append(f"if not ({condition}): return None")

    def require_any(self, ways: list[list[str]]) -> None:
        """Write a guard: give up unless all conditions of one of some lists hold."""
        if all(ways):
            self.require(" or ".join(" and ".join(conditions) for conditions in ways))

    def unpack(self, source: str, count: int) -> list[str]:
        """Write the unpacking of ``count`` items; return their names."""
        names = self.new_names(count)
        if names:
            self.lines.append(f"[{', '.join(names)}] = {source}")
        return names

    def visit(self, name: str, node: Node, tree: Any) -> None:
        """Write the guards for one subtree, of which ``tree`` is an example."""
        kind = node.kind
        if kind is None:
            self.leaves.append(name)
            return
        match kind.label:
            case "none":
                self.require(f"{name} is None")
            case "tuple" | "list" | "namedtuple":
                self.visit_sequence(name, kind, node, tree)
            case "dict":
                self.visit_dict(name, node, tree)
            case "dataclass" if kind.fields_are_names:
                self.visit_dataclass(name, kind, node, tree)
            case _ if kind.python_type is defaultdict:
                self.visit_default(name, node, tree)
            case _:
                self.visit_custom(name, kind, node, tree)

    def visit_sequence(self, name: str, kind: NodeType, node: Node, tree: Any) -> None:
        """Write the guards for a tuple or list."""
        size = len(node.children)
        python_type = self.constant(kind.python_type)
        length = "len" if kind.python_type.__len__ in _PLAIN_LENGTHS else "tuple.__len__"
        self.require(f"type({name}) is {python_type} and {length}({name}) == {size}")
        if _FEW_LEAVES < node.num_leaves == size == node.num_nodes - 1:
            self.leaves.append(f"*{name}")
            return
        self.visit_children(self.unpack(name, size), node.children, tuple(tree))

    def visit_dict(self, name: str, node: Node, tree: dict[Any, Any]) -> None:
        """Write the guards for a dict, whose keys come in the order of the example."""
        size = len(node.children)
        self.require(f"type({name}) is dict and len({name}) == {size}")
        self.visit_items(name, node.data, node, tree)

    def visit_default(self, name: str, node: Node, tree: defaultdict[Any, Any]) -> None:
        """Write the guards for a defaultdict: those of a dict, and its factory."""
        factory, keys = node.data
        python_type = self.constant(defaultdict)
        self.require(f"type({name}) is {python_type} and len({name}) == {len(keys)}")
        self.require(f"{name}.default_factory is {self.constant(factory)}")
        self.visit_items(name, keys, node, tree)

    def visit_items(
        self, name: str, in_order: tuple[Any, ...], node: Node, tree: dict[Any, Any]
    ) -> None:
        """Write the guards for keys and values of a mapping of the expected length.

        Values of a few strings are looked up, so that the sorted order of trees that are rebuilt
        will do as well; more are unpacked, which costs less for each.
        """
        keys = list(tree)
        constant_of = {key: self.constant(key) for key in keys}
        are_few = len(keys) <= _FEW_KEYS and all(type(key) is str for key in keys)
        places = self.unpack(name, len(keys))
        orders = [tuple(keys)]
        if are_few and tuple(in_order) != orders[0]:
            orders.append(tuple(in_order))
        self.require_any(
            [
                [f"{place} is {constant_of[key]}" for place, key in zip(places, order, strict=True)]
                for order in orders
            ]
        )
        if are_few:
            name_of = dict(zip(keys, self.new_names(len(keys)), strict=True))
            self.lines += [f"{name_of[key]} = {name}[{constant_of[key]}]" for key in keys]
        else:
            name_of = dict(zip(keys, self.unpack(f"{name}.values()", len(keys)), strict=True))
        values = tuple([tree[key] for key in in_order])
        self.visit_children([name_of[key] for key in in_order], node.children, values)

    def visit_dataclass(self, name: str, kind: NodeType, node: Node, tree: Any) -> None:
        """Write the guards for a registered dataclass: its fields are read."""
        fields, data_fields = kind.fields, kind.data_fields
        self.require(f"type({name}) is {self.constant(kind.python_type)}")
        names = self.new_names(len(fields))
        pairs = zip(names, fields, strict=True)
        self.lines += [f"{field_name} = {name}.{field}" for field_name, field in pairs]
        for field_name, value in zip(names[len(data_fields) :], node.data, strict=True):
            self.require_data(field_name, value)
        items = tuple([getattr(tree, field) for field in data_fields])
        self.visit_children(names[: len(data_fields)], node.children, items)

    def require_data(self, data: str, wanted: Any) -> None:
        """Write the guard that data are the expected ones."""
        expected, token = self.constant(wanted), self.constant(token_of(wanted))
        self.require(f"{data} is {expected} or token_of({data}) == {token}")

    def visit_custom(self, name: str, kind: NodeType, node: Node, tree: Any) -> None:
        """Write the guards for a registered type: the user's function is called.

        Where that gives neither a tuple nor a list, the one that checks it is called.
        """
        flatten = kind.user_flatten or kind.flatten
        items = flatten(tree)[0]
        if type(items) not in (tuple, list):
            flatten = kind.flatten
            items = flatten(tree)[0]
        size = len(node.children)
        self.require(f"type({name}) is {self.constant(kind.python_type)}")
        [pair] = self.new_names(1)
        self.lines.append(f"{pair} = {self.constant(flatten)}({name})")
        self.require(f"type({pair}) is tuple and len({pair}) == 2")
        children, data = self.unpack(pair, 2)
        self.require(f"type({children}) is {self.constant(type(items))}")
        self.require(f"len({children}) == {size}")
        self.require_data(data, node.data)
        self.visit_children(self.unpack(children, size), node.children, tuple(items))

    def visit_children(
        self, names: list[str], nodes: tuple[Node, ...], trees: tuple[Any, ...]
    ) -> None:
        """Write the guards for the children of a container."""
        self.pending += reversed(tuple(zip(names, nodes, trees, strict=True)))

    def visit_all(self, node: Node, tree: Any) -> None:
        """Write the guards for a whole tree, from the outside in and in order."""
        self.pending.append(("t0", node, tree))
        while self.pending:
            self.visit(*self.pending.pop())
        leaves = ", ".join(self.leaves)
        if node.num_leaves <= _FEW_LEAVES:
            for name in self.leaves:
                self.require(f"type({name}) in leaf_types")
            self.lines.append(f"return [{leaves}]")
        else:
            self.lines.append(f"leaves = [{leaves}]")
            self.lines.append("return leaves if are_leaves(map(type, leaves)) else None")


def compile_match(node: Node, tree: Any, leaf_types: set[type]) -> Match:
    """Return a function from a tree to its leaves, or None if it is not as expected.

    Args:
      node: the structure that is expected.
      tree: an example with that structure.
      leaf_types: those known to be leaves, when the function is called.
    """
    writer = _Writer()
    writer.constants["leaf_types"] = leaf_types
    writer.constants["are_leaves"] = leaf_types.issuperset
    writer.visit_all(node, tree)
    body = "\n    ".join(writer.lines)
    source = f"def match(t0):\n    {body}\n"
    namespace = writer.constants
    exec(compile(source, "<tapeless tree>", "exec"), namespace)  # noqa: S102
    function: Match = namespace.pop("match")
    return function
