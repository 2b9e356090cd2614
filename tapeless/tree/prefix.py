"""Prefixes: a small tree that speaks for a bigger one.

``in_axes=(0, {"w": None, "b": 0})`` says something about every leaf of the arguments with
few words.  One tree is a *prefix* of another if it becomes the other by replacing leaves
with subtrees; `broadcast_prefix` repeats each leaf of the prefix for all leaves of the
subtree below it, and `flatten_axes` does so for a structure, with ``None`` as a value.

When trees do not fit, the user needs to know where and why.  `prefix_errors` walks a tree
and its supposed prefix together and describes each place where they part; the caller gives
the name under which the user knows the prefix (``vmap in_axes``).  `equality_errors` does
the same for two trees that should have the same structure.  Both look at a container in
this order: type, number of children, data; and go deeper only where all three agree.
"""

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NoReturn

from tapeless.tree.flatten import tree_leaves, tree_structure, tree_unflatten
from tapeless.tree.keys import DictKey, FlattenedIndexKey, keystr
from tapeless.tree.registry import NodeType, node_type_of
from tapeless.tree.treedef import Node, PyTreeDef
from tapeless.util import lazy
from tapeless.util.seqs import few

__all__ = [
    "broadcast_flattened_prefix_with_treedef",
    "broadcast_prefix",
    "equality_errors",
    "equality_errors_pytreedef",
    "flatten_axes",
    "prefix_errors",
    "raise_prefix_error",
    "tree_broadcast",
]

difflib = lazy.load("difflib")
_MOST_TOLD = 2
Path = tuple[Any, ...]
IsLeaf = Callable[[Any], bool]
PrefixError = Callable[[str], ValueError]
Difference = tuple[Path, str, str, str]


class PytreeLeaf:
    """Stands for a leaf where only the structure is known."""

    def __repr__(self) -> str:
        """Return what messages call it."""
        return "pytree leaf"


# --- taking two trees apart together ---


def _kind_of(tree: Any, is_leaf: IsLeaf | None) -> NodeType | None:
    """Return the container type of a tree, None for a leaf."""
    if is_leaf is not None and is_leaf(tree):
        return None
    return node_type_of(type(tree))


def _split(kind: NodeType, tree: Any) -> tuple[Path, tuple[Any, ...], Any]:
    """Take one container apart: keys, children, data."""
    pairs, data = kind.flatten_with_keys(tree)
    keys = tuple([key for key, _ in pairs])
    return keys, tuple([child for _, child in pairs]), data


def _has_length(kind: NodeType) -> bool:
    """Say whether the number of children is called a length."""
    return kind.label in {"tuple", "list"}


def _unshared(keys: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """Return the keys that only one side has."""
    left = [key for key in keys if key not in others]
    return left + [key for key in others if key not in keys]


# --- prefixes ---


def prefix_errors(
    prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None
) -> list[PrefixError]:
    """Return, for each place where a tree is not a prefix, a function from name to error.

    >>> [error] = prefix_errors([0], (0,))
    >>> print(error("vmap in_axes"))
    pytree structure error: different types at key path
        vmap in_axes
    At that key path, the prefix pytree vmap in_axes has a subtree of type
        <class 'list'>
    but at the same key path the full pytree has a subtree of different type
        <class 'tuple'>.
    """
    return list(_prefix_errors((), prefix_tree, full_tree, is_leaf))


def _prefix_errors(
    path: Path, prefix: Any, full: Any, is_leaf: IsLeaf | None
) -> Iterator[PrefixError]:
    """Yield the errors at and below one place."""
    kind = _kind_of(prefix, is_leaf)
    if kind is None:
        return
    if type(prefix) is not type(full):
        yield _type_error(path, prefix, full)
        return
    keys, children, data = _split(kind, prefix)
    full_keys, full_children, full_data = _split(kind, full)
    if len(children) != len(full_children):
        if _has_length(kind):
            yield _length_error(path, kind, len(children), len(full_children))
        else:
            yield _keys_error(path, kind, keys, full_keys)
        return
    if data != full_data:
        yield _metadata_error(path, kind, data, full_data)
        return
    if keys != full_keys:
        message = f"equal pytree nodes gave differing prefix_tree_keys: {keys} and {full_keys}"
        raise AssertionError(message)
    for key, child, full_child in zip(keys, children, full_children, strict=True):
        yield from _prefix_errors((*path, key), child, full_child, is_leaf)


def _type_error(path: Path, prefix: Any, full: Any) -> PrefixError:
    """Describe two containers of different types."""
    return lambda name: ValueError(
        "pytree structure error: different types at key path\n"
        f"    {name}{keystr(path)}\n"
        f"At that key path, the prefix pytree {name} has a subtree of type\n"
        f"    {type(prefix)}\n"
        "but at the same key path the full pytree has a subtree of different type\n"
        f"    {type(full)}."
    )


def _length_error(path: Path, kind: NodeType, wanted: int, got: int) -> PrefixError:
    """Describe two lists or tuples of different lengths."""
    noun = kind.label
    return lambda name: ValueError(
        f"pytree structure error: different lengths of {noun} at key path\n"
        f"    {name}{keystr(path)}\n"
        f"At that key path, the prefix pytree {name} has a subtree of type {noun} of length "
        f"{wanted}, but the full pytree has a subtree of the same type but of length {got}."
    )


def _keys_error(path: Path, kind: NodeType, keys: Path, full_keys: Path) -> PrefixError:
    """Describe two containers with different numbers of children."""
    joined = " ".join(map(str, keys))
    full_joined = " ".join(map(str, full_keys))
    unshared = " ".join(map(str, _unshared(full_keys, keys)))
    difference = f"so the symmetric difference on key sets is\n    {unshared}"
    return lambda name: ValueError(
        "pytree structure error: different numbers of pytree children at key path\n"
        f"    {name}{keystr(path)}\n"
        f"At that key path, the prefix pytree {name} has a subtree of type\n"
        f"    {kind.python_type}\n"
        f"with {len(keys)} child keys\n"
        f"    {joined}\n"
        "but at the same key path the full pytree has a subtree of the same type but with "
        f"{len(full_keys)} child keys\n"
        f"    {full_joined}\n" + difference
    )


def _metadata_error(path: Path, kind: NodeType, data: Any, full_data: Any) -> PrefixError:
    """Describe two containers with different data."""
    lines = difflib.ndiff(str(data).splitlines(), str(full_data).splitlines())
    difference = textwrap.indent("\n".join(few(list(lines))), prefix="    ")
    return lambda name: ValueError(
        "pytree structure error: different pytree metadata at key path\n"
        f"    {name}{keystr(path)}\n"
        f"At that key path, the prefix pytree {name} has a subtree of type\n"
        f"    {kind.python_type}\n"
        "with metadata\n"
        f"    {data}\n"
        "but at the same key path the full pytree has a subtree of the same type but with "
        "metadata\n"
        f"    {full_data}\n"
        "so the diff in the metadata at these pytree nodes is\n"
        f"{difference}"
    )


def raise_prefix_error(
    name: str, prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None, error: ValueError
) -> NoReturn:
    """Raise the first prefix error, or the given one if there is none."""
    found = prefix_errors(prefix_tree, full_tree, is_leaf)
    if found:
        raise found[0](name) from None
    raise error


# --- repeating the leaves of a prefix ---


class _NotPrefix(Exception):
    """A tree is not a prefix of a structure; caught within this file."""


def _spread(prefix: Any, node: Node, is_leaf: IsLeaf | None, out: list[Any]) -> None:
    """Append each leaf of a prefix as often as the structure has leaves below it."""
    kind = _kind_of(prefix, is_leaf)
    if kind is None:
        out.extend([prefix] * node.num_leaves)
        return
    if node.kind is None or node.kind.python_type is not kind.python_type:
        raise _NotPrefix
    children, data = kind.flatten(prefix)
    if len(children) != len(node.children):
        raise _NotPrefix
    if data is not node.data and data != node.data:
        raise _NotPrefix
    for child, child_node in zip(children, node.children, strict=True):
        _spread(child, child_node, is_leaf, out)


def broadcast_prefix(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None) -> list[Any]:
    """Return the leaf of a prefix that speaks for each leaf of a tree.

    >>> broadcast_prefix((1, 2), (10, [20, 30]))
    [1, 2, 2]
    """
    out: list[Any] = []
    treedef = tree_structure(full_tree)
    try:
        _spread(prefix_tree, treedef.node, is_leaf, out)
    except _NotPrefix:
        error = ValueError("broadcast_prefix: prefix_tree is not a prefix of full_tree")
        name = "broadcast_prefix prefix_tree"
        raise_prefix_error(name, prefix_tree, full_tree, is_leaf, error)
    return out


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None) -> Any:
    """Return a tree like ``full_tree`` with the leaves of a prefix of it.

    >>> tree_broadcast((1, 2), (10, [20, 30]))
    (1, [2, 2])
    """
    leaves = broadcast_prefix(prefix_tree, full_tree, is_leaf)
    return tree_unflatten(tree_structure(full_tree), leaves)


def broadcast_flattened_prefix_with_treedef(
    prefix_leaves: list[Any], prefix_treedef: PyTreeDef, full_treedef: PyTreeDef
) -> list[Any]:
    """Do as `broadcast_prefix`, for a prefix that is flat already.

    >>> from tapeless.tree.flatten import tree_structure
    >>> prefix, full = tree_structure((0, 0)), tree_structure((0, [0, 0]))
    >>> broadcast_flattened_prefix_with_treedef([1, 2], prefix, full)
    [1, 2, 2]
    """
    full_tree = tree_unflatten(full_treedef, [PytreeLeaf()] * full_treedef.num_leaves)
    subtrees = prefix_treedef.flatten_up_to(full_tree)
    out: list[Any] = []
    for leaf, subtree in zip(prefix_leaves, subtrees, strict=True):
        out.extend([leaf] * len(tree_leaves(subtree)))
    return out


def _is_none(tree: Any) -> bool:
    """Say whether a tree is None, which is a value among axes."""
    return tree is None


def flatten_axes(
    name: str,
    treedef: PyTreeDef,
    axis_tree: Any,
    *,
    kws: bool = False,
    tupled_args: bool = False,
) -> list[Any]:
    """Return what a tree of axes says about each leaf of a structure; None is a value.

    Args:
      name: what the user calls the axes, such as ``vmap in_axes``.
      treedef: the structure of the values.
      axis_tree: a prefix of it.
      kws: both are pairs for (positional, keyword) arguments; errors are about the first.
      tupled_args: remind the user that axes of arguments are to be wrapped in a tuple.

    >>> from tapeless.tree.flatten import tree_structure
    >>> flatten_axes("in_axes", tree_structure(({"w": 1, "b": 2}, 3)), (None, 0))
    [None, None, 0]
    """
    out: list[Any] = []
    try:
        _spread(axis_tree, treedef.node, _is_none, out)
        return out
    except _NotPrefix:
        pass
    if kws:
        treedef, _ = treedef.children()
        axis_tree, _ = axis_tree
    hint = ""
    if tupled_args:
        hint = (
            f" Note that {name} that are non-trivial pytrees should always be wrapped in a tuple "
            "representing the argument list."
        )
    values = tree_unflatten(treedef, [PytreeLeaf()] * treedef.num_leaves)
    found = prefix_errors(axis_tree, values, _is_none)
    texts = [f"  {error(name)}" for error in found[:_MOST_TOLD]]
    details = "\n".join(texts) + ("\n  ..." if len(found) > _MOST_TOLD else "")
    raise ValueError(
        f"{name} specification must be a tree prefix of the corresponding value; {hint}\n"
        f"  Mismatch details ({len(found)} found):\n{details}"
    )


# --- equality ---


def equality_errors(tree1: Any, tree2: Any, is_leaf: IsLeaf | None = None) -> Iterable[Difference]:
    """Yield (path, first thing, second thing, explanation) for each structural difference.

    >>> list(equality_errors([1, (2,)], [1, (2, 3)]))[0][1:]
    ('tuple of length 1', 'tuple of length 2', 'the lengths do not match')
    """
    yield from _equality_errors((), tree1, tree2, is_leaf)


def _equality_errors(
    path: Path, tree1: Any, tree2: Any, is_leaf: IsLeaf | None
) -> Iterator[Difference]:
    """Yield the differences at and below one place."""
    kind1, kind2 = _kind_of(tree1, is_leaf), _kind_of(tree2, is_leaf)
    if kind1 is None and kind2 is None:
        return
    if type(tree1) is not type(tree2) or kind1 is None or kind2 is None:
        yield path, _type_text(tree1), _type_text(tree2), "their Python types differ"
        return
    keys1, children1, data1 = _split(kind1, tree1)
    keys2, children2, data2 = _split(kind2, tree2)
    if len(children1) != len(children2):
        yield (path, *_count_difference(kind1, keys1, keys2))
        return
    if data1 != data2:
        thing1 = f"{type(tree1)} with pytree metadata {data1}"
        thing2 = f"{type(tree2)} with pytree metadata {data2}"
        yield path, thing1, thing2, "the pytree node metadata does not match"
        return
    if keys1 != keys2:
        message = f"equal pytree nodes gave different tree keys: {keys1} and {keys2}"
        raise AssertionError(message)
    for key, child1, child2 in zip(keys1, children1, children2, strict=True):
        yield from _equality_errors((*path, key), child1, child2, is_leaf)


def _type_text(tree: Any) -> str:
    """Return the type of a tree as text."""
    return repr(tree) if isinstance(tree, PytreeLeaf) else str(type(tree))


def _count_difference(kind: NodeType, keys1: Path, keys2: Path) -> tuple[str, str, str]:
    """Describe two containers of one type with different numbers of children."""
    counts = len(keys1), len(keys2)
    if _has_length(kind):
        first, second = [f"{kind.label} of length {count}" for count in counts]
        return first, second, "the lengths do not match"
    nouns = ["children" if count > 1 else "child" for count in counts]
    python_type = kind.python_type
    first, second = [
        f"{python_type} with {count} {noun}" for count, noun in zip(counts, nouns, strict=True)
    ]
    values1, values2 = _mapping_keys(keys1), _mapping_keys(keys2)
    explanation = "the numbers of children do not match"
    unshared = _unshared(values1, values2)
    if unshared:
        joined = " ".join(map(repr, unshared))
        explanation += f", with the symmetric difference of key sets: {{{joined}}}"
    return first, second, explanation


def _mapping_keys(keys: Path) -> list[Any]:
    """Return what the steps hold, for steps into mappings."""
    return [key.key for key in keys if isinstance(key, (DictKey, FlattenedIndexKey))]


def equality_errors_pytreedef(tree1: PyTreeDef, tree2: PyTreeDef) -> Iterable[Difference]:
    """Yield the differences of two structures, as `equality_errors` does for trees.

    >>> from tapeless.tree.flatten import tree_structure
    >>> list(equality_errors_pytreedef(tree_structure([1]), tree_structure([(2,)])))[0][1:]
    ('pytree leaf', "<class 'tuple'>", 'their Python types differ')
    """
    trees = [
        tree_unflatten(treedef, [PytreeLeaf()] * treedef.num_leaves) for treedef in (tree1, tree2)
    ]
    yield from equality_errors(*trees)
