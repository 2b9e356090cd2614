"""Flattening with key paths: every leaf together with the steps that lead to it.

Paths are tuples of the steps in `keys`, outermost first; the path of a tree that is itself
a leaf is empty.  They serve error messages, checkpoints and masks by name.

The fast walkers of `flatten` know nothing of keys; there is one plain walk for paths.  But
unless a registered type gives keys of its own, the paths follow from the structure: they
are kept with it, and from then on flattening with paths is flattening without.

Order and structure are those of `flatten.tree_flatten`.
"""

from collections.abc import Callable
from typing import Any

from tapeless.tree.flatten import is_stop, tree_flatten
from tapeless.tree.registry import NodeType, node_type_of
from tapeless.tree.treedef import (
    LEAF,
    MOST_LEVELS,
    Node,
    PyTreeDef,
    node_of,
    token_of,
    too_deep,
    treedef_of,
)

__all__ = ["tree_flatten_with_path", "tree_leaves_with_path"]

Path = tuple[Any, ...]
PathLeaves = list[tuple[Path, Any]]
Stop = Callable[[Path, Any], Any]


def _walk_with_path(tree: Any, stop: Stop | None, found: PathLeaves) -> Node:
    """Append the (path, leaf) pairs of a tree; return its node.

    ``pending`` is as in `flatten`: what is still to be visited, and for each container that
    was opened an entry below its children that closes it.
    """
    pending: list[tuple[tuple[NodeType, Any, int] | None, Path, Any]] = [(None, (), tree)]
    nodes: list[Node] = []
    while pending:
        closing, path, value = pending.pop()
        if closing is not None:
            kind, data, size = closing
            first = len(nodes) - size
            nodes[first:] = [node_of(kind, data, token_of(data), tuple(nodes[first:]))]
            continue
        is_end = stop is not None and is_stop(stop(path, value))
        opened = None if is_end else node_type_of(type(value))
        if opened is None:
            found.append((path, value))
            nodes.append(LEAF)
            continue
        if len(path) >= MOST_LEVELS:
            raise too_deep()
        pairs, data = opened.flatten_with_keys(value)
        pending.append(((opened, data, len(pairs)), path, None))
        pending.extend([(None, (*path, key), child) for key, child in reversed(pairs)])
    return nodes[0]


def _flatten_along_known_paths(tree: Any) -> tuple[PathLeaves, PyTreeDef] | None:
    """Flatten a tree whose structure has its paths already, if it is one."""
    try:
        leaves, treedef = tree_flatten(tree)
    except Exception:
        # The walk with keys calls other functions of the user: errors are to come from it.
        return None
    paths = treedef.node.paths
    if paths is None:
        return None
    return list(zip(paths, leaves, strict=True)), treedef


def tree_flatten_with_path(
    tree: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> tuple[PathLeaves, PyTreeDef]:
    """Take a tree apart: a list of (path, leaf) pairs, and its structure.

    Args:
      tree: any nesting of containers.
      is_leaf: asked about each subtree from the outside in; True stops the descent.
      is_leaf_takes_path: call ``is_leaf(path, subtree)`` instead of ``is_leaf(subtree)``.

    >>> tree_flatten_with_path({"w": [5]})[0]
    [((DictKey(key='w'), SequenceKey(idx=0)), 5)]
    """
    stop: Stop | None = None
    if is_leaf is not None:
        predicate = is_leaf
        stop = predicate if is_leaf_takes_path else lambda _, subtree: predicate(subtree)
    if stop is None:
        known = _flatten_along_known_paths(tree)
        if known is not None:
            return known
    found: PathLeaves = []
    node = _walk_with_path(tree, stop, found)
    if node.has_fixed_keys:
        node.paths = tuple([path for path, _ in found])
    return found, treedef_of(node)


def tree_leaves_with_path(
    tree: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> PathLeaves:
    """Return the (path, leaf) pairs of a tree.

    >>> from tapeless.tree.keys import keystr
    >>> [(keystr(path), leaf) for path, leaf in tree_leaves_with_path({"w": [5], "b": 6})]
    [("['b']", 6), ("['w'][0]", 5)]
    """
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]
