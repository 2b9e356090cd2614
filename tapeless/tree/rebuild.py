"""Putting trees back together: a small compiler from structures to Python functions.

The same structure is rebuilt again and again: the arguments of a jitted function on each
call, parameters on each `tree_map`.  Two ways are offered.

`builder` makes a closure for one node out of the closures of its children.  It takes an
*iterator* over leaves and consumes as many as the node has, so nothing is sliced.  A leaf's
closure is ``next`` itself, and a container that holds only leaves takes them with one call
into C.

`compile_rebuild` writes the whole structure as one Python expression, such as
``[{'b': x0, 'w': x1}, (x2, x3)]``, and compiles it: then a node costs one bytecode
instruction instead of one call.  Where that would be nested too deep for the parser, each
node is a statement, from the inside out.  Compiling costs about as much as rebuilding a
hundred times, therefore `treedef` asks for it only when a structure has proved to be in
demand.

Invariant: callers check the number of leaves first; neither way does.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Protocol, TypeVar

from tapeless.tree.registry import NodeType

__all__ = ["Builder", "Structure", "builder", "compile_rebuild", "flat_builder"]

R = TypeVar("R")
Builder = Callable[[Iterator[Any]], Any]
_DEEPEST_EXPRESSION = 60


class Structure(Protocol):
    """What is read of a node; `treedef.Node` provides it.  A leaf has no ``kind``."""

    kind: NodeType | None
    data: Any
    depth: int

    def fold(self, visit: Callable[[Any, tuple[R, ...]], R]) -> R:
        """Return ``visit(structure, results for its parts)``; leaves come in order."""


def flat_builder(kind: NodeType, data: Any, size: int) -> Builder:
    """Return a builder for a container all of whose children are leaves."""
    unflatten = kind.unflatten
    python_type = kind.python_type
    match kind.label:
        case "none":
            return lambda leaves: None
        case "tuple" | "list":
            return lambda leaves: python_type(islice(leaves, size))
        case "dict":
            return _dict_builder(data)
        case "namedtuple":
            return lambda leaves: python_type(*islice(leaves, size))
        case _:
            return lambda leaves: unflatten(data, tuple(islice(leaves, size)))


def _dict_builder(keys: tuple[Any, ...]) -> Builder:
    """Return a builder for a dict of leaves: a copy of one with these keys need not grow."""
    template = dict.fromkeys(keys)

    def build(leaves: Iterator[Any]) -> dict[Any, Any]:
        """Take a leaf for each key; keys come first, so that zip does not take one too many."""
        rebuilt = template.copy()
        rebuilt.update(zip(keys, leaves, strict=False))
        return rebuilt

    return build


def builder(kind: NodeType, data: Any, builders: tuple[Builder, ...]) -> Builder:
    """Return a builder for a container, given those of its children."""
    unflatten = kind.unflatten
    python_type = kind.python_type
    match kind.label:
        case "tuple":
            return lambda leaves: tuple([build(leaves) for build in builders])
        case "list":
            return lambda leaves: [build(leaves) for build in builders]
        case "dict":
            pairs = tuple(zip(data, builders, strict=True))
            return lambda leaves: {key: build(leaves) for key, build in pairs}
        case "namedtuple":
            return lambda leaves: python_type(*[build(leaves) for build in builders])
        case _:
            return lambda leaves: unflatten(data, tuple([build(leaves) for build in builders]))


class _Writer:
    """Collects the expression of a structure, and the constants it mentions.

    With ``in_statements``, each container has a line and a name of its own.
    """

    def __init__(self, in_statements: bool) -> None:
        """Start with no leaves and no constants."""
        self.in_statements = in_statements
        self.lines: list[str] = []
        self.leaf_names: list[str] = []
        self.constants: dict[str, Any] = {}

    def constant(self, value: Any) -> str:
        """Return text that evaluates to a constant."""
        if type(value) is str:
            return repr(value)
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name

    def expression(self, node: Structure, items: tuple[str, ...]) -> str:
        """Return text that evaluates to the tree of a node, given those of its children."""
        if node.kind is None:
            name = f"x{len(self.leaf_names)}"
            self.leaf_names.append(name)
            return name
        text = self.container(node.kind, node.data, items)
        if not self.in_statements:
            return text
        name = f"y{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def container(self, kind: NodeType, data: Any, items: tuple[str, ...]) -> str:
        """Return text that builds one container from the texts of its children."""
        joined = ", ".join(items)
        as_tuple = f"({joined},)" if items else "()"
        match kind.label:
            case "none":
                return "None"
            case "tuple":
                return as_tuple
            case "list":
                return f"[{joined}]"
            case "dict":
                keys = [self.constant(key) for key in data]
                pairs = [f"{key}: {item}" for key, item in zip(keys, items, strict=True)]
                return "{" + ", ".join(pairs) + "}"
            case "namedtuple":
                return f"{self.constant(kind.python_type)}({joined})"
            case "dataclass" if kind.fields_are_names:
                values = [*items, *map(self.constant, data)]
                pairs = zip(kind.fields, values, strict=True)
                fields = ", ".join(f"{field}={value}" for field, value in pairs)
                return f"{self.constant(kind.python_type)}({fields})"
            case _:
                unflatten = self.constant(kind.unflatten)
                return f"{unflatten}({self.constant(data)}, {as_tuple})"


def compile_rebuild(node: Structure) -> Callable[[Sequence[Any]], Any]:
    """Return a function from the leaves of a structure to its tree."""
    writer = _Writer(node.depth > _DEEPEST_EXPRESSION)
    expression = node.fold(writer.expression)
    unpack = f"[{', '.join(writer.leaf_names)}] = leaves"
    body = "\n    ".join([unpack, *writer.lines, f"return {expression}"])
    source = f"def rebuild(leaves):\n    {body}\n"
    namespace = writer.constants
    exec(compile(source, "<tapeless tree>", "exec"), namespace)  # noqa: S102
    return namespace.pop("rebuild")
