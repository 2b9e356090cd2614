"""Taking trees apart, fast.

Flattening runs on every call of a jitted function, so it is written for speed: one walker
function per container type, found by exact type in the dict `_walkers`.  A walker appends
the leaves of its tree to a list and returns the interned node of its structure.

What makes it fast:

- a container whose items are all leaves is recognised by one call into C, which asks
  whether the types of the items are a subset of the types known to be leaves;
- its leaves are then added in bulk, and its node is found by its size or keys alone;
- leaf types are learnt: a type seen for the first time is classified once.  When a type
  is registered later, what was learnt about it is forgotten;
- a structure that is met often is expected: trees are tried against it by a function
  made for it (see `recall`), and walked only if they differ.  Among several that look
  alike from outside, the one that came last is tried first.

With ``is_leaf`` the walk is the plain one: the predicate is asked about each subtree from
the outside in, containers and leaves alike, ``None`` included.

The walkers recurse along the nesting.  A tree too deep for Python's stack is walked again
with a stack of our own, which is slower, up to `MOST_LEVELS`: what is deeper most likely
contains itself.
"""

from collections.abc import Callable, Iterable
from types import NoneType
from typing import Any

from tapeless.tree import registry
from tapeless.tree.recall import compile_match
from tapeless.tree.registry import NodeType, node_type_of
from tapeless.tree.treedef import (
    LEAF,
    LEAF_TREEDEF,
    MOST_LEVELS,
    NONE,
    Node,
    PyTreeDef,
    flat_node,
    forget_matches,
    node_of,
    token_of,
    too_deep,
    treedef_of,
)

__all__ = [
    "all_leaves",
    "flatten_arguments",
    "is_stop",
    "leaves_of_structure",
    "tree_flatten",
    "tree_leaves",
    "tree_structure",
    "tree_unflatten",
]

Walker = Callable[[Any, list[Any]], Node]
IsLeaf = Callable[[Any], bool]
# What is seen of a tree without looking into it: its type and length, or 0.
Outside = tuple[type, int]

# Strong references to leaf types and walkers are dropped when there are this many.
_MOST_TYPES_LEARNT = 4096
_LARGEST_REMEMBERED_SEQUENCE = 1024

# A structure is expected when it has been met this often; few structures are at a time.
_VISITS_BEFORE_EXPECTING = 64
_MOST_EXPECTED = 64
_MOST_NODES_TO_MATCH = 2000
_FEW_LEAVES = 4
_MOST_ALIKE = 8
_SIZED = frozenset({tuple, list, dict})

_expected: dict[Outside, Node] = {}
_also_expected: dict[Outside, list[Node]] = {}
# The structures of so many positional arguments that are leaves, and no others.
_trees_of_arguments: dict[int, PyTreeDef] = {}
_leaf_types: set[type] = set()
_are_leaves = _leaf_types.issuperset
_only_strings = frozenset({str}).issuperset


def _forget_expected() -> None:
    """Expect nothing."""
    _expected.clear()
    _also_expected.clear()


class _Walkers(dict[type, "Walker | None"]):
    """Walkers by type, None for leaves; classifies types when first seen."""

    def __missing__(self, python_type: type) -> Walker | None:
        """Learn whether a type is a container."""
        if len(self) >= _MOST_TYPES_LEARNT:
            self.clear()
            _leaf_types.clear()
        kind = node_type_of(python_type)
        walker = None if kind is None else _walker_of(kind)
        self[python_type] = walker
        if walker is None:
            _leaf_types.add(python_type)
        return walker

    def forget(self, python_type: type) -> None:
        """Classify a type again when it is next seen."""
        if self.pop(python_type, None) is not None:
            _forget_expected()
            forget_matches()
        _leaf_types.discard(python_type)


_walkers = _Walkers()
registry.watch(_walkers.forget)


def _walker_of(kind: NodeType) -> Walker:
    """Return the walker for a container type."""
    match kind.label:
        case "none":
            return _walk_none
        case "tuple" | "list" | "namedtuple":
            return _sequence_walker(kind)
        case "dict":
            return _dict_walker(kind)
        case _:
            return _custom_walker(kind)


def _walk_none(_: None, __: list[Any]) -> Node:
    """Walk None, which has no leaves."""
    return NONE


def _walk_children(children: Iterable[Any], leaves: list[Any]) -> tuple[Node, ...]:
    """Walk each child; append leaves, return the nodes."""
    nodes = []
    for child in children:
        walk = _walkers[type(child)]
        if walk is None:
            leaves.append(child)
            nodes.append(LEAF)
        else:
            nodes.append(walk(child, leaves))
    return tuple(nodes)


def _sequence_walker(kind: NodeType) -> Walker:
    """Return the walker for tuples, lists, or one class of named tuples."""
    flat_nodes: dict[int, Node] = {}

    def walk(sequence: Any, leaves: list[Any]) -> Node:
        """Walk a sequence."""
        if not _are_leaves(map(type, sequence)):
            return node_of(kind, None, None, _walk_children(sequence, leaves))
        # A class of named tuples may define its own `len`.
        start = len(leaves)
        leaves.extend(sequence)
        size = len(leaves) - start
        node = flat_nodes.get(size)
        if node is None:
            node = flat_node(kind, None, None, size)
            if size <= _LARGEST_REMEMBERED_SEQUENCE:
                flat_nodes[size] = node
        return node

    return walk


def _dict_walker(kind: NodeType) -> Walker:
    """Return the walker for dicts."""
    empty = flat_node(kind, (), (), 0)

    def walk(mapping: dict[Any, Any], leaves: list[Any]) -> Node:
        """Walk a dict in the order of its sorted keys."""
        if not mapping:
            return empty
        keys = registry.sorted_keys(mapping)
        token = keys if _only_strings(map(type, keys)) else token_of(keys)
        values = [mapping[key] for key in keys]
        if _are_leaves(map(type, values)):
            leaves.extend(values)
            return flat_node(kind, keys, token, len(keys))
        return node_of(kind, keys, token, _walk_children(values, leaves))

    return walk


def _custom_walker(kind: NodeType) -> Walker:
    """Return the walker for a registered type."""
    flatten = kind.flatten

    def walk(value: Any, leaves: list[Any]) -> Node:
        """Walk an instance by means of its flatten function."""
        children, data = flatten(value)
        token = token_of(data)
        if _are_leaves(map(type, children)):
            leaves.extend(children)
            return flat_node(kind, data, token, len(children))
        return node_of(kind, data, token, _walk_children(children, leaves))

    return walk


# Containers are classified here, so that `__missing__` learns about other types only.
for _builtin_type in (NoneType, tuple, list, dict):
    _walkers[_builtin_type]


def is_stop(answer: object) -> bool:
    """Return what an ``is_leaf`` predicate said, refusing anything but a bool or None."""
    if answer is True:
        return True
    if answer is False or answer is None:
        return False
    raise ValueError(
        f"is_leaf predicate returned a non-boolean value {answer!r}; expected a boolean"
    )


def _walk_plainly(tree: Any, is_leaf: IsLeaf | None, leaves: list[Any]) -> Node:
    """Walk a tree without recursion, stopping where the predicate says so.

    ``pending`` holds subtrees still to be visited, and for each container that was opened
    an entry below its children that closes it: (kind, data, number of children).
    """
    pending: list[tuple[tuple[NodeType, Any, int] | None, Any]] = [(None, tree)]
    nodes: list[Node] = []
    depth = 0
    while pending:
        closing, value = pending.pop()
        if closing is not None:
            kind, data, size = closing
            first = len(nodes) - size
            nodes[first:] = [node_of(kind, data, token_of(data), tuple(nodes[first:]))]
            depth -= 1
            continue
        is_end = is_leaf is not None and is_stop(is_leaf(value))
        opened = None if is_end else node_type_of(type(value))
        if opened is None:
            leaves.append(value)
            nodes.append(LEAF)
            continue
        depth += 1
        if depth > MOST_LEVELS:
            raise too_deep()
        children, data = opened.flatten(value)
        pending.append(((opened, data, len(children)), None))
        pending.extend([(None, child) for child in reversed(children)])
    return nodes[0]


def _flatten_by_walking(tree: Any, outside: Outside, walk: Walker) -> tuple[list[Any], PyTreeDef]:
    """Flatten a container, and note its structure as one to be expected."""
    leaves: list[Any] = []
    try:
        node = walk(tree, leaves)
    except RecursionError:
        leaves = []
        node = _walk_plainly(tree, None, leaves)
    if node.plain:
        _note(tree, outside, node)
    return leaves, node.treedef or treedef_of(node)


def _flatten_as_another(tree: Any, outside: Outside) -> tuple[list[Any], PyTreeDef] | None:
    """Try the other structures that look so from outside; the right one comes first then."""
    others = _also_expected.get(outside, ())
    for place, node in enumerate(others):
        leaves = node.match(tree) if node.match is not None else None
        if leaves is not None:
            _also_expected[outside][place] = _expected[outside]
            _expected[outside] = node
            return leaves, node.treedef or treedef_of(node)
    return None


def _note(tree: Any, outside: Outside, node: Node) -> None:
    """Expect a structure from now on if it has been seen often enough."""
    node.visits += 1
    if not _is_time_to_match(node):
        return
    if len(_expected) >= _MOST_EXPECTED:
        _forget_expected()
    before = _expected.get(outside)
    if before is not None and before is not node:
        others = _also_expected.setdefault(outside, [])
        others[:] = [before, *[other for other in others if other is not node]][:_MOST_ALIKE]
    _expected[outside] = node
    node.match = compile_match(node, tree, _leaf_types)


def _is_time_to_match(node: Node) -> bool:
    """Say whether to compile a match now: it must beat the walkers, and compile quickly.

    Visits are counted when no match applied; the powers of two make new attempts rare.
    """
    visits = node.visits
    if visits < _VISITS_BEFORE_EXPECTING or visits & (visits - 1):
        return False
    is_flat_sequence = node.depth == 2 and node.kind is not None and node.kind.label != "dict"
    is_long = is_flat_sequence and node.num_leaves > _FEW_LEAVES
    return not is_long and node.num_nodes <= _MOST_NODES_TO_MATCH


def leaves_of_structure(tree: Any, treedef: PyTreeDef) -> list[Any] | None:
    """Return the leaves of a tree that is guessed to have a structure, None if it may not.

    Much faster than `tree_flatten` when the guess is right and was made before; a caller
    that gets None must flatten.

    >>> treedef = tree_structure({"w": 1, "b": 2})
    >>> leaves_of_structure({"w": 3, "b": 4}, treedef) in ([4, 3], None)
    True
    >>> leaves_of_structure({"w": 3}, treedef)
    """
    node = treedef.node
    match = node.match
    if match is not None:
        return match(tree)
    node.visits += 1
    if _is_time_to_match(node) and tree_structure(tree) is treedef:
        node.match = compile_match(node, tree, _leaf_types)
    return None


def tree_flatten(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[Any], PyTreeDef]:
    """Take a tree apart: the list of its leaves, and its structure.

    Args:
      tree: any nesting of containers; anything else is a leaf.
      is_leaf: asked about each subtree from the outside in; True stops the descent.

    >>> tree_flatten({"w": 1, "b": (2, None)})
    ([2, 1], PyTreeDef({'b': (*, None), 'w': *}))
    """
    if is_leaf is not None:
        found: list[Any] = []
        return found, treedef_of(_walk_plainly(tree, is_leaf, found))
    python_type = type(tree)
    outside = (python_type, len(tree) if python_type in _SIZED else 0)
    expected = _expected.get(outside)
    if expected is not None and expected.match is not None:
        leaves = expected.match(tree)
        if leaves is not None:
            return leaves, expected.treedef or treedef_of(expected)
        parts = _flatten_as_another(tree, outside)
        if parts is not None:
            return parts
    walk = _walkers[python_type]
    if walk is None:
        return [tree], LEAF_TREEDEF
    return _flatten_by_walking(tree, outside, walk)


def flatten_arguments(args: tuple, kwargs: dict[str, Any]) -> tuple[list[Any], PyTreeDef]:
    """Take the arguments of a call apart, which are mostly leaves, as the tree (args, kwargs).

    >>> flatten_arguments((1, 2), {"x": 3})
    ([1, 2, 3], PyTreeDef(((*, *), {'x': *})))
    """
    if kwargs or not _are_leaves(map(type, args)):
        return tree_flatten((args, kwargs))
    size = len(args)
    treedef = _trees_of_arguments.get(size)
    if treedef is None:
        treedef = tree_structure((args, kwargs))
        if size <= _LARGEST_REMEMBERED_SEQUENCE:
            _trees_of_arguments[size] = treedef
    return list(args), treedef


def tree_leaves(tree: Any, is_leaf: IsLeaf | None = None) -> list[Any]:
    """Return the leaves of a tree, in the order of `tree_flatten`.

    >>> tree_leaves([1, (2, None), {"b": 4, "a": 3}])
    [1, 2, 3, 4]
    """
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: None | IsLeaf = None) -> PyTreeDef:
    """Return the structure of a tree.

    >>> tree_structure([1, (2, None)]) == tree_structure(["x", ("y", None)])
    True
    """
    return tree_flatten(tree, is_leaf)[1]


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """Build a tree from its structure and its leaves.

    >>> tree_unflatten(tree_structure([1, (2, None)]), "xy")
    ['x', ('y', None)]
    """
    return treedef.unflatten(leaves)


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf | None = None) -> bool:
    """Say whether every item of an iterable is a leaf.

    >>> all_leaves([1, "x"]), all_leaves([1, (2,)]), all_leaves([None])
    (True, False, False)
    """
    if is_leaf is None:
        return all(_walkers[type(item)] is None for item in iterable)
    items = list(iterable)
    return tree_leaves(items, is_leaf) == items
