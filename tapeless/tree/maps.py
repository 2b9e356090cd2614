"""Doing something with each leaf: mapping, reducing and transposing trees.

All of these are thin: flatten, work on the list of leaves, rebuild.  With several trees the
first one gives the structure, and the others are flattened *up to* it, so that their
subtrees may stand where the first one has leaves.  When they do not fit, the message of
`prefix.prefix_errors` names the place.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from tapeless.tree.flatten import leaves_of_structure, tree_flatten, tree_leaves, tree_structure
from tapeless.tree.paths import tree_flatten_with_path
from tapeless.tree.prefix import raise_prefix_error
from tapeless.tree.treedef import PyTreeDef

__all__ = [
    "Unspecified",
    "tree_all",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_transpose",
]

T = TypeVar("T")
IsLeaf = Callable[[Any], bool]


class Unspecified:
    """The default of an argument for which None is a value."""


_UNSPECIFIED = Unspecified()


def _leaves_up_to(
    name: str, treedef: PyTreeDef, tree: Any, other: Any, is_leaf: IsLeaf | None
) -> list[Any]:
    """Flatten another tree up to the structure of the first, or say where they part."""
    leaves = leaves_of_structure(other, treedef)
    if leaves is not None:
        return leaves
    try:
        return treedef.flatten_up_to(other)
    except ValueError as error:
        raise_prefix_error(f"{name} tree", tree, other, is_leaf, error)


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf | None = None) -> Any:
    """Apply a function to each leaf.

    Args:
      f: takes a leaf of ``tree`` and the corresponding subtree of each of ``rest``.
      tree: gives the structure of the result.
      rest: trees of which ``tree`` is a prefix.
      is_leaf: asked about each subtree of ``tree``; True stops the descent.

    >>> tree_map(lambda x: x + 1, {"w": 1, "b": [2, 3]})
    {'b': [3, 4], 'w': 2}
    >>> tree_map(lambda x, y: (x, y), [1, 2], [3, [4, 5]])
    [(1, 3), (2, [4, 5])]
    """
    leaves, treedef = tree_flatten(tree, is_leaf)
    if not rest:
        return treedef.node.rebuild([f(leaf) for leaf in leaves])
    columns = [_leaves_up_to("tree_map", treedef, tree, other, is_leaf) for other in rest]
    if len(columns) == 1:
        pairs = zip(leaves, columns[0], strict=True)
        return treedef.node.rebuild([f(leaf, other) for leaf, other in pairs])
    rows = zip(leaves, *columns, strict=True)
    return treedef.node.rebuild([f(*row) for row in rows])


def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """Apply a function to the path and value of each leaf.

    >>> from tapeless.tree.keys import keystr
    >>> tree_map_with_path(lambda path, x: keystr(path), {"w": [1, 2]})
    {'w': ["['w'][0]", "['w'][1]"]}
    """
    pairs, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    stop = None if is_leaf_takes_path else is_leaf
    columns = [_leaves_up_to("tree_map_with_path", treedef, tree, other, stop) for other in rest]
    rows = zip(pairs, *columns, strict=True)
    return treedef.node.rebuild([f(path, leaf, *others) for (path, leaf), *others in rows])


def tree_reduce(
    function: Callable[[T, Any], T],
    tree: Any,
    initializer: T | Unspecified = _UNSPECIFIED,
    is_leaf: IsLeaf | None = None,
) -> T:
    """Combine the leaves from left to right.

    >>> tree_reduce(lambda total, x: total + x, [1, (2, {"a": 3})])
    6
    """
    leaves = tree_leaves(tree, is_leaf)
    if isinstance(initializer, Unspecified):
        return functools.reduce(function, leaves)
    return functools.reduce(function, leaves, initializer)


def tree_reduce_associative(
    operation: Callable[[T, T], T],
    tree: Any,
    *,
    identity: T | Unspecified = _UNSPECIFIED,
    is_leaf: IsLeaf | None = None,
) -> T:
    """Combine the leaves in a balanced way, for operations that do not mind.

    >>> tree_reduce_associative(lambda x, y: f"({x}{y})", list("abcd"))
    '((ab)(cd))'
    """
    leaves = tree_leaves(tree, is_leaf)
    if leaves:
        return _reduce_halves(operation, leaves)
    if isinstance(identity, Unspecified):
        raise TypeError("Must specify identity for parallel reduction of empty sequence.")
    return identity


def _reduce_halves(operation: Callable[[T, T], T], items: list[T]) -> T:
    """Combine the results for two halves of a list that is not empty."""
    if len(items) == 1:
        return items[0]
    middle = len(items) // 2
    left = _reduce_halves(operation, items[:middle])
    return operation(left, _reduce_halves(operation, items[middle:]))


def tree_all(tree: Any, *, is_leaf: IsLeaf | None = None) -> bool:
    """Say whether every leaf is true.

    >>> tree_all([True, {"a": 1}]), tree_all([True, {"a": 0}])
    (True, False)
    """
    return all(tree_leaves(tree, is_leaf))


def tree_transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
    """Turn a tree of trees inside out.

    Args:
      outer_treedef: structure of the outer tree.
      inner_treedef: structure of the trees inside; None takes it from the first.
      pytree_to_transpose: outer structure of inner structures.

    >>> outer = tree_structure([0, 0])
    >>> tree_transpose(outer, None, [{"a": 1, "b": 2}, {"a": 3, "b": 4}])
    {'a': [1, 3], 'b': [2, 4]}
    """
    leaves, treedef = tree_flatten(pytree_to_transpose)
    if inner_treedef is None:
        inner_treedef = tree_structure(outer_treedef.flatten_up_to(pytree_to_transpose)[0])
    if treedef.num_leaves != outer_treedef.num_leaves * inner_treedef.num_leaves:
        expected = outer_treedef.compose(inner_treedef)
        raise TypeError(f"Mismatch\n{treedef}\n != \n{expected}")
    size = inner_treedef.num_leaves
    rows = [leaves[i * size : (i + 1) * size] for i in range(outer_treedef.num_leaves)]
    columns = zip(*rows, strict=True)
    return inner_treedef.unflatten([outer_treedef.unflatten(column) for column in columns])
