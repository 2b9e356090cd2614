"""Structures: what is left of a tree when its leaves are taken out.

A `Node` describes one container: its kind, its data (keys, static fields) and the nodes of
its children; a leaf is the one node `LEAF`.  Nodes are *interned*: equal trees lead to the
same node object, so comparing structures is mostly comparing identities, and whatever is
derived from a structure (its size, the function that rebuilds it) is made once.

Interning must not confuse ``{1: x}`` with ``{True: x}``, whose keys are equal and yet print
differently.  So a node is found not by its data but by a *token* of it, in which atoms
carry their types and other objects their identity (the node keeps them alive).  Two nodes
may therefore be different objects and equal; `Node.same` compares those in depth.

The table of nodes is weak, with a short memory of recent plain nodes, those that hold no
objects of the user, to spare a tree that is flattened in a loop from being described anew.

`PyTreeDef` is the public face of a node, one per node, with the methods and messages of
JAX's class of that name.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NoReturn, TypeVar

from tapeless.tree.rebuild import Builder, builder, compile_rebuild, flat_builder
from tapeless.tree.registry import NodeType, node_type_of
from tapeless.tree.wire import Record, build, pack, record_of
from tapeless.util.weak import WeakValues

R = TypeVar("R")

__all__ = [
    "LEAF",
    "LEAF_TREEDEF",
    "MOST_LEVELS",
    "NONE",
    "Node",
    "PyTreeDef",
    "flat_node",
    "forget_matches",
    "node_of",
    "token_of",
    "too_deep",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_of",
    "treedef_tuple",
]

_PLAIN_FACTORIES = (None, list, dict, set, tuple, int, float, str, bool)
# A structure is compiled when it has been rebuilt this often, and is not big.
_USES_BEFORE_COMPILING = 64
_MANY_NODES = 2000

MOST_LEVELS = 8192

_ATOMS = frozenset({str, int, bool, bytes})
_only_strings = frozenset({str}).issuperset


def too_deep() -> RecursionError:
    """Make the error for a tree that is nested more than `MOST_LEVELS` deep."""
    return RecursionError(
        f"The pytree is nested more than {MOST_LEVELS} levels deep, or contains itself. "
        "Register a type for the deep part that gives its leaves as one list of children."
    )


class Node:
    """The structure of one tree; made by `node_of` and `flat_node` only.

    ``kind`` is None for a leaf.  ``build`` takes an iterator over leaves.  ``plain`` says
    that neither the node nor its children hold objects of the user.  ``uses`` counts how
    often the tree was rebuilt, ``visits`` (kept by `flatten`) how often it was taken apart.
    ``paths`` are the key paths of the leaves, once known, if they follow from the structure.
    """

    __slots__ = (
        "__weakref__",
        "build",
        "children",
        "compiled",
        "data",
        "depth",
        "has_fixed_keys",
        "kind",
        "match",
        "num_leaves",
        "num_nodes",
        "paths",
        "plain",
        "treedef",
        "uses",
        "visits",
    )

    kind: NodeType | None
    data: Any
    children: tuple["Node", ...]
    build: Builder
    plain: bool
    num_leaves: int
    num_nodes: int
    depth: int
    uses: int
    visits: int
    compiled: Callable[[Sequence[Any]], Any] | None
    has_fixed_keys: bool
    paths: tuple[tuple[Any, ...], ...] | None
    match: Callable[[Any], list[Any] | None] | None
    treedef: "PyTreeDef | None"

    def __init__(
        self, kind: NodeType | None, data: Any, children: tuple["Node", ...], plain: bool
    ) -> None:
        """Fill in what follows from the children."""
        self.kind = kind
        self.data = data
        self.children = children
        size = len(children)
        self.plain = plain
        self.num_leaves = size
        self.num_nodes = 1 + size
        self.depth = 2
        self.uses = 0
        self.visits = 0
        self.match = None
        self.paths = None
        self.has_fixed_keys = kind is None or kind.has_fixed_keys
        self.compiled = None
        self.treedef = None
        if kind is None:
            self.build = next
            self.num_leaves = self.depth = 1
        elif children.count(LEAF) == size:
            self.build = flat_builder(kind, data, size)
        else:
            self.plain = plain and all(child.plain for child in children)
            fixed = [child.has_fixed_keys for child in children]
            self.has_fixed_keys = self.has_fixed_keys and all(fixed)
            self.num_leaves = sum([child.num_leaves for child in children])
            self.num_nodes = 1 + sum([child.num_nodes for child in children])
            self.depth = 1 + max([child.depth for child in children])
            self.build = builder(kind, data, tuple([child.build for child in children]))

    def rebuild(self, leaves: Sequence[Any]) -> Any:
        """Return the tree with this structure; the number of leaves must be right."""
        if self.compiled is not None:
            return self.compiled(leaves)
        self.uses += 1
        if self.uses == _USES_BEFORE_COMPILING and self.num_nodes <= _MANY_NODES:
            # The closure of a flat container is as fast, but for the smallest.
            if self.depth > 2 or self.num_leaves <= 4:
                self.compiled = compile_rebuild(self)
        try:
            return self.build(iter(leaves))
        except RecursionError:
            return _rebuild_deep(self, leaves)

    def same(self, other: "Node") -> bool:
        """Compare two structures in depth; identical ones are equal at once."""
        pending: list[tuple[Node, Node]] = [(self, other)]
        while pending:
            left, right = pending.pop()
            if left is right:
                continue
            if left.kind is None or right.kind is None:
                return False
            if left.kind.python_type is not right.kind.python_type:
                return False
            if len(left.children) != len(right.children) or not _same_data(left, right):
                return False
            pending.extend(zip(left.children, right.children, strict=True))
        return True

    def fold(self, visit: Callable[["Node", tuple[R, ...]], R]) -> R:
        """Return ``visit(node, results for its children)``; leaves come in order.

        There is no recursion, so the depth does not matter.
        """
        pending: list[tuple[Node, bool]] = [(self, False)]
        results: list[R] = []
        while pending:
            node, is_closing = pending.pop()
            if is_closing or not node.children:
                first = len(results) - len(node.children)
                results[first:] = [visit(node, tuple(results[first:]))]
            else:
                pending.append((node, True))
                pending.extend([(child, False) for child in reversed(node.children)])
        return results[0]


def _rebuild_deep(root: Node, leaves: Sequence[Any]) -> Any:
    """Return the tree with a structure that is too deep for recursion."""
    iterator = iter(leaves)

    def visit(node: Node, children: tuple[Any, ...]) -> Any:
        """Take a leaf, or build a container."""
        if node.kind is None:
            return next(iterator)
        return node.kind.unflatten(node.data, children)

    return root.fold(visit)


def _node_text(node: Node, texts: tuple[str, ...]) -> str:
    """Return a node as text, given the texts of its children."""
    if node.kind is None:
        return "*"
    joined = ", ".join(texts)
    name = node.kind.python_type.__name__
    match node.kind.label:
        case "none":
            return "None"
        case "tuple":
            return f"({joined},)" if len(texts) == 1 else f"({joined})"
        case "list":
            return f"[{joined}]"
        case "dict":
            pairs = zip(node.data, texts, strict=True)
            return "{" + ", ".join([f"{key!r}: {text}" for key, text in pairs]) + "}"
        case "namedtuple":
            return f"CustomNode(namedtuple[{name}], [{joined}])"
        case _:
            return f"CustomNode({name}[{node.data}], [{joined}])"


def _node_hash(node: Node, hashes: tuple[int, ...]) -> int:
    """Hash a node, given the hashes of its children; unhashable data is left out."""
    if node.kind is None:
        return hash(Node)
    try:
        data_hash = hash(node.data)
    except TypeError:
        data_hash = 0
    return hash((node.kind.python_type, data_hash, hashes))


def _same_data(left: Node, right: Node) -> bool:
    """Compare the data of two nodes of the same type."""
    if left.data is right.data:
        return True
    try:
        return not left.data != right.data
    except Exception as error:
        assert left.kind is not None, "leaves have no data"
        raise ValueError(
            "Exception raised while checking equality of metadata fields of pytree node of type "
            f"{left.kind.python_type!r}. Make sure that metadata fields are hashable and have "
            "simple equality semantics. (Note: arrays cannot be passed as metadata fields!)"
        ) from error


# --- interning ---


_nodes: WeakValues[Node] = WeakValues()
_references = _nodes.references
_recent: deque[Node] = deque(maxlen=1024)


def token_of(data: Any) -> Any:
    """Return a hashable stand-in for data: equal tokens mean indistinguishable data.

    A token is valid while the data it was made from is alive.
    """
    if data is None:
        return None
    data_type = type(data)
    if data_type is tuple:
        if _only_strings(map(type, data)):
            return data
        return (tuple, *map(token_of, data))
    if data_type in _ATOMS:
        return (data_type, data)
    return (object, id(data))


def forget_matches() -> None:
    """Drop what was compiled for taking trees apart: a type has changed its kind."""
    for node in _nodes.living():
        node.match = None


def _file(key: tuple[Any, ...], node: Node) -> Node:
    """Enter a new node into the table, unless another thread has done it; return that."""
    node = _nodes.setdefault(key, node)
    if node.plain and node.num_nodes <= _MANY_NODES:
        _recent.append(node)
    return node


def _is_plain(data: Any) -> bool:
    """Tell whether data are made of nothing but None, tuples, strings, and numbers."""
    if type(data) is tuple:
        return all(map(_is_plain, data))
    return data is None or type(data) in _ATOMS


def _has_plain_data(kind: NodeType, data: Any) -> bool:
    """Tell whether data hold no objects of the user, but for the keys of a dict."""
    if kind.python_type is defaultdict:
        return data[0] in _PLAIN_FACTORIES
    return kind.label == "dict" or _is_plain(data)


def flat_node(kind: NodeType, data: Any, token: Any, size: int) -> Node:
    """Return the node of a container with ``size`` children, all of them leaves."""
    key = (kind, token, size)
    ref = _references.get(key)
    if ref is not None:
        node = ref()
        if node is not None:
            return node
    plain = token is data or _has_plain_data(kind, data)
    return _file(key, Node(kind, data, (LEAF,) * size, plain))


def node_of(kind: NodeType, data: Any, token: Any, children: tuple[Node, ...]) -> Node:
    """Return the node of a container with the given children."""
    key = (kind, token, children)
    ref = _references.get(key)
    if ref is not None:
        node = ref()
        if node is not None:
            return node
    if children.count(LEAF) == len(children):
        return flat_node(kind, data, token, len(children))
    plain = token is data or _has_plain_data(kind, data)
    return _file(key, Node(kind, data, children, plain))


LEAF = Node(None, None, (), True)


def _none_node() -> Node:
    """Return the node of None, which is a container without children."""
    kind = node_type_of(type(None))
    assert kind is not None, "None is registered"
    return flat_node(kind, None, None, 0)


NONE = _none_node()


# --- the public face ---


class PyTreeDef:
    """The structure of a tree, as `tree_flatten` returns it.

    >>> from tapeless.tree import structure
    >>> structure({"w": 1, "b": (2, None)})
    PyTreeDef({'b': (*, None), 'w': *})
    """

    __slots__ = ("__weakref__", "_hash", "node")

    node: Node
    _hash: int | None

    def __init__(self) -> None:
        """Refuse: structures come from trees."""
        raise TypeError("PyTreeDef: no constructor defined!")

    @property
    def num_leaves(self) -> int:
        """Number of leaves."""
        return self.node.num_leaves

    @property
    def num_nodes(self) -> int:
        """Number of containers and leaves together."""
        return self.node.num_nodes

    def __repr__(self) -> str:
        """Return the structure with stars for leaves."""
        return f"PyTreeDef({self.node.fold(_node_text)})"

    def __eq__(self, other: object) -> bool:
        """Compare types, keys and data, whatever the leaves were."""
        if self is other:
            return True
        if type(other) is not PyTreeDef:
            return NotImplemented
        return self.node.same(other.node)

    def __hash__(self) -> int:
        """Hash consistently with equality, also when data is not hashable."""
        value = self._hash
        if value is None:
            value = self._hash = self.node.fold(_node_hash)
        return value

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by type, data and children, to be interned again when loaded."""
        kind = self.node.kind
        python_type = None if kind is None else kind.python_type
        return _treedef_from_parts, (python_type, self.node.data, tuple(self.children()))

    def __copy__(self) -> "PyTreeDef":
        """Return itself, for structures never change."""
        return self

    def __deepcopy__(self, _: dict[int, Any]) -> "PyTreeDef":
        """Return itself, for structures never change."""
        return self

    def unflatten(self, leaves: Iterable[Any], /) -> Any:
        """Return the tree that has this structure and the given leaves.

        >>> from tapeless.tree import structure
        >>> structure((1, {"a": 2})).unflatten("xy")
        ('x', {'a': 'y'})
        """
        if type(leaves) is not list:
            leaves = list(leaves)
        node = self.node
        if len(leaves) != node.num_leaves:
            _refuse_leaf_count(node.num_leaves, len(leaves))
        return node.rebuild(leaves)

    def children(self) -> list["PyTreeDef"]:
        """Return the structures of the children of the outermost container."""
        return [treedef_of(child) for child in self.node.children]

    def node_data(self) -> tuple[type, Any] | None:
        """Return the type and data of the outermost container, None for a leaf."""
        kind = self.node.kind
        if kind is None:
            return None
        data = list(self.node.data) if kind.label == "dict" else self.node.data
        return kind.python_type, data

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """Return the subtrees of ``tree`` that stand where this structure has leaves.

        >>> from tapeless.tree import structure
        >>> structure([1, 2]).flatten_up_to(["x", ("y", "z")])
        ['x', ('y', 'z')]
        """
        return _flatten_up_to(self.node, tree)

    def compose(self, inner: "PyTreeDef", /) -> "PyTreeDef":
        """Return this structure with ``inner`` in place of each leaf."""

        def visit(node: Node, children: tuple[Node, ...]) -> Node:
            """Replace a leaf, keep a container."""
            if node.kind is None:
                return inner.node
            return node_of(node.kind, node.data, token_of(node.data), children)

        return treedef_of(self.node.fold(visit))

    def walk(
        self,
        f_node: Callable[[Any, Any], Any],
        f_leaf: Callable[[Any], Any],
        leaves: Iterable[Any],
        /,
    ) -> Any:
        """Fold the structure: ``f_leaf(leaf)``, then ``f_node(results, data)`` outwards."""
        iterator = iter(leaves)

        def visit(node: Node, results: tuple[Any, ...]) -> Any:
            """Visit a leaf or a container."""
            if node.kind is None:
                leaf = next(iterator, _EXHAUSTED)
                if leaf is _EXHAUSTED:
                    raise ValueError("Too few leaves for PyTreeDef")
                return f_leaf(leaf)
            if node.kind.label == "dict":
                return f_node(results, list(node.data))
            is_namedtuple = node.kind.label == "namedtuple"
            return f_node(results, node.kind.python_type if is_namedtuple else node.data)

        result = self.node.fold(visit)
        if next(iterator, _EXHAUSTED) is not _EXHAUSTED:
            raise ValueError("Too many leaves for PyTreeDef")
        return result

    def from_iterable_tree(self, tree: Any, /) -> Any:
        """Return ``tree``, made of any iterables, with the containers of this structure."""
        return _from_iterables(self.node, tree)

    @staticmethod
    def from_node_data_and_children(
        registry: object,
        node_data: tuple[type, Any] | None,
        children: Iterable["PyTreeDef"],
    ) -> "PyTreeDef":
        """Return the structure whose `node_data` and `children` are given."""
        parts = tuple(children)
        if node_data is None:
            if parts:
                raise RuntimeError("PyTreeDef traversal did not yield a singleton.")
            return LEAF_TREEDEF
        python_type, data = node_data
        if python_type is dict:
            data = tuple(data)
            if len(data) != len(parts):
                raise RuntimeError("Number of keys and entries does not match.")
        return _treedef_from_parts(python_type, data, parts)

    def serialize_using_proto(self) -> bytes:
        """Return the structure, of None, lists, tuples and dicts with string keys, as bytes.

        ValueError for other containers; those can be pickled.

        >>> from tapeless.tree import structure
        >>> structure([1, None]).serialize_using_proto()
        b'\\n\\x02\\x10\\x01\\n\\x02\\x10\\x03\\n\\x04\\x08\\x02\\x10\\x02'
        """
        records: list[Record] = []

        def visit(node: Node, _: tuple[None, ...]) -> None:
            """Note a node."""
            python_type = None if node.kind is None else node.kind.python_type
            records.append(record_of(python_type, node.data, len(node.children)))

        self.node.fold(visit)
        return pack(records)

    @staticmethod
    def deserialize_using_proto(registry: object, data: bytes) -> "PyTreeDef":
        """Return the structure that `serialize_using_proto` wrote.

        JaxRuntimeError, ValueError or RuntimeError if the bytes are no whole structure.
        """
        return build(data, partial(PyTreeDef.from_node_data_and_children, registry))


def treedef_of(node: Node) -> PyTreeDef:
    """Return the public face of a node, always the same object."""
    treedef = node.treedef
    if treedef is None:
        treedef = object.__new__(PyTreeDef)
        treedef.node = node
        treedef._hash = None
        node.treedef = treedef
    return treedef


LEAF_TREEDEF = treedef_of(LEAF)
_EXHAUSTED = object()


def _treedef_from_parts(
    python_type: type | None, data: Any, children: tuple[PyTreeDef, ...]
) -> PyTreeDef:
    """Return the structure of a container type around children."""
    if python_type is None:
        return LEAF_TREEDEF
    kind = node_type_of(python_type)
    if kind is None:
        raise RuntimeError(f"Could not find type: {python_type!r}.")
    nodes = tuple([child.node for child in children])
    return treedef_of(node_of(kind, data, token_of(data), nodes))


def _refuse_leaf_count(wanted: int, got: int) -> NoReturn:
    """Raise the error for a wrong number of leaves."""
    if got < wanted:
        raise ValueError(f"Too few leaves for PyTreeDef; expected {wanted}, got {got}")
    raise ValueError(f"Too many leaves for PyTreeDef; expected {wanted}.")


def _from_iterables(node: Node, tree: Any) -> Any:
    """Rebuild one node from an iterable of its children."""
    if node.kind is None:
        return tree
    if node.kind.label == "none":
        return None
    parts = tuple(tree)
    if len(parts) != len(node.children):
        raise ValueError("Arity mismatch between trees")
    pairs = zip(node.children, parts, strict=True)
    rebuilt = tuple([_from_iterables(child, part) for child, part in pairs])
    return node.kind.unflatten(node.data, rebuilt)


def _flatten_up_to(root: Node, tree: Any) -> list[Any]:
    """Collect subtrees of a tree at the leaves of a structure.

    The last child is looked at first, so of several mismatches the last is reported.
    """
    found: list[Any] = []
    pending = [(root, tree)]
    while pending:
        node, value = pending.pop()
        kind = node.kind
        if kind is None:
            found.append(value)
            continue
        if type(value) is not kind.python_type:
            raise ValueError(_type_mismatch(kind, value))
        children, data = kind.flatten(value)
        size = len(node.children)
        if len(children) != size or (data is not node.data and data != node.data):
            raise ValueError(_content_mismatch(node, kind, value, children, data))
        if node.num_leaves == size == node.num_nodes - 1:
            found.extend(children[::-1])
        else:
            pending.extend(zip(node.children, children, strict=True))
    found.reverse()
    return found


_NONE_HINT = """

In previous releases of JAX, flatten-up-to used to consider None to be a tree-prefix of \
non-None values. To obtain the previous behavior, you can usually write:
  jax.tree.map(lambda x, y: None if x is None else f(x, y), a, b, \
is_leaf=lambda x: x is None)"""


def _type_mismatch(kind: NodeType, value: Any) -> str:
    """Say that a subtree has another type than the structure."""
    match kind.label:
        case "none":
            return f"Expected None, got {value!r}.{_NONE_HINT}"
        case "tuple" | "list" | "dict":
            return f"Expected {kind.label}, got {value!r}."
        case "namedtuple":
            if not (isinstance(value, tuple) and hasattr(value, "_fields")):
                return f"Expected named tuple, got {value!r}."
            expected = f"expected type: {kind.python_type!r}, tuple: {value!r}."
            return f"Named tuple type mismatch: {expected}"
        case _:
            noun = "dataclass " if kind.label == "dataclass" else ""
            expected = f"expected type: {kind.python_type!r}, value: {value!r}."
            return f"Custom {noun}node type mismatch: {expected}"


def _content_mismatch(
    node: Node, kind: NodeType, value: Any, children: Sequence[Any], data: Any
) -> str:
    """Say that a subtree has the right type, but other keys, data or length."""
    got, wanted = len(children), len(node.children)
    match kind.label:
        case "tuple" | "list":
            noun = kind.label
            return f"{noun.capitalize()} arity mismatch: {got} != {wanted}; {noun}: {value!r}."
        case "namedtuple":
            return f"Named tuple arity mismatch: {got} != {wanted}; tuple: {value!r}."
        case "dict":
            keys = f"expected keys: {list(node.data)}; present keys: {list(data)}"
            return f"Dict key mismatch; {keys}."
        case _ if data != node.data:
            noun = "dataclass " if kind.label == "dataclass" else ""
            return f"Mismatch custom {noun}node data: {node.data!r} != {data!r}; value: {value!r}."
        case _:
            return f"Custom type arity mismatch: {got} != {wanted}; value: {value!r}."


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """Return the structures of the children of the outermost container.

    >>> from tapeless.tree import structure
    >>> treedef_children(structure((1, [2])))
    [PyTreeDef(*), PyTreeDef([*])]
    """
    return treedef.children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Say whether a structure is one leaf, or a container without children.

    >>> from tapeless.tree import structure
    >>> treedef_is_leaf(structure(1)), treedef_is_leaf(structure((1,)))
    (True, False)
    """
    return treedef.num_nodes == 1


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """Return the structure of a tuple whose items have the given structures.

    >>> from tapeless.tree import structure
    >>> treedef_tuple([structure(1), structure([2])])
    PyTreeDef((*, [*]))
    """
    return _treedef_from_parts(tuple, None, tuple(treedefs))
