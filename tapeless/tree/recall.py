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

There is no sorting, no search for nodes and no call per container.  Dict keys are compared
by identity and in the order of insertion, both as in the example tree: that is cheap, and
cannot take ``True`` for ``1``.  Another order is a surprise like any
other, after which the caller walks the tree in the ordinary way.

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
AreLeaves = Callable[[Any], bool]
# Those of containers that do not define their own `len`, as a class of named tuples may.
_PLAIN_LENGTHS = (tuple.__len__, list.__len__)
_FEW_KEYS = 6


class _Writer:
    """Collects the lines of a match function, its constants, and its leaves in order."""

    def __init__(self) -> None:
        """Start with the tree itself as the one name."""
        self.lines: list[str] = []
        self.leaves: list[str] = []
        self.constants: dict[str, Any] = {"token_of": token_of}
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
        if node.num_leaves == size == node.num_nodes - 1:
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

        Values of a few strings are looked up; more are unpacked, which costs less for each.
        """
        keys = list(tree)
        constant_of = {key: self.constant(key) for key in keys}
        pairs = zip(self.unpack(name, len(keys)), constant_of.values(), strict=True)
        checks = [f"{key_name} is {constant}" for key_name, constant in pairs]
        if checks:
            self.require(" and ".join(checks))
        if len(keys) <= _FEW_KEYS and all(type(key) is str for key in keys):
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
        if len(fields) > len(data_fields):
            [data] = self.new_names(1)
            self.lines.append(f"{data} = ({', '.join(names[len(data_fields) :])},)")
            self.require_data(data, node)
        items = tuple([getattr(tree, field) for field in data_fields])
        self.visit_children(names[: len(data_fields)], node.children, items)

    def require_data(self, data: str, node: Node) -> None:
        """Write the guard that the data of a node are the expected ones."""
        expected, token = self.constant(node.data), self.constant(token_of(node.data))
        self.require(f"{data} is {expected} or token_of({data}) == {token}")

    def visit_custom(self, name: str, kind: NodeType, node: Node, tree: Any) -> None:
        """Write the guards for a registered type: its function is called."""
        size = len(node.children)
        self.require(f"type({name}) is {self.constant(kind.python_type)}")
        children, data = self.unpack(f"{self.constant(kind.flatten)}({name})", 2)
        self.require_data(data, node)
        self.require(f"len({children}) == {size}")
        items = tuple(kind.flatten(tree)[0])
        self.visit_children(self.unpack(children, size), node.children, items)

    def visit_children(
        self, names: list[str], nodes: tuple[Node, ...], trees: tuple[Any, ...]
    ) -> None:
        """Write the guards for the children of a container."""
        for name, node, tree in zip(names, nodes, trees, strict=True):
            self.visit(name, node, tree)


def compile_match(node: Node, tree: Any, are_leaves: AreLeaves) -> Match:
    """Return a function from a tree to its leaves, or None if it is not as expected.

    Args:
      node: the structure that is expected.
      tree: an example with that structure.
      are_leaves: says whether all of some types are known to be types of leaves.
    """
    writer = _Writer()
    writer.visit("t0", node, tree)
    body = "\n    ".join(writer.lines)
    leaves = f"leaves = [{', '.join(writer.leaves)}]"
    result = "return leaves if are_leaves(map(type, leaves)) else None"
    source = f"def match(t0):\n    {body}\n    {leaves}\n    {result}\n"
    namespace: dict[str, Any] = {**writer.constants, "are_leaves": are_leaves}
    exec(compile(source, "<tapeless tree>", "exec"), namespace)  # noqa: S102
    function: Match = namespace.pop("match")
    return function
