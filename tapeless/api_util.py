"""`jax.api_util`: from functions of trees to functions of flat arguments, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tapeless.core.aval import ShapedArray, ShapeDtypeStruct, typeof
from tapeless.core.jaxpr import DebugInfo
from tapeless.extend.linear_util import WrappedFun, transformation_with_aux2
from tapeless.tree.arguments import function_name
from tapeless.tree.flatten import tree_flatten, tree_unflatten
from tapeless.tree.treedef import PyTreeDef
from tapeless.util.names import close_module

__all__ = [
    "debug_info",
    "flatten_fun",
    "flatten_fun_nokwargs",
    "safe_map",
    "shaped_abstractify",
]


def debug_info(
    traced_for: str,
    fun: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    **options: Any,
) -> DebugInfo:
    """Return the names that messages about a traced function use."""
    return DebugInfo(function_name(fun))


def flatten_fun(fun: WrappedFun, in_tree: PyTreeDef) -> tuple[WrappedFun, Callable[[], PyTreeDef]]:
    """Return a function of the leaves of (args, kwargs), and a thunk for the tree of its results.

    >>> from tapeless.extend.linear_util import wrap_init
    >>> from tapeless.tree.flatten import tree_structure
    >>> tree = tree_structure(((0, 0), {}))
    >>> flat, out_tree = flatten_fun(wrap_init(lambda x, y: {"sum": x + y}), tree)
    >>> flat.call_wrapped(1, 2), out_tree()
    ([3], PyTreeDef({'sum': *}))
    """
    return transformation_with_aux2(_flat, fun, in_tree)


def _flat(inner: Callable[..., Any], store: Callable, in_tree: PyTreeDef, *leaves: Any) -> list:
    """Call the function on trees."""
    args, kwargs = tree_unflatten(in_tree, leaves)
    flat, out_tree = tree_flatten(inner(*args, **kwargs))
    store(out_tree)
    return flat


def flatten_fun_nokwargs(
    fun: WrappedFun, in_tree: PyTreeDef
) -> tuple[WrappedFun, Callable[[], PyTreeDef]]:
    """Return a function of the leaves of args, and a thunk for the tree of its results."""
    return transformation_with_aux2(_flat_positional, fun, in_tree)


def _flat_positional(
    inner: Callable[..., Any], store: Callable, in_tree: PyTreeDef, *leaves: Any
) -> list:
    """Call the function on trees."""
    flat, out_tree = tree_flatten(inner(*tree_unflatten(in_tree, leaves)))
    store(out_tree)
    return flat


def safe_map(function: Callable[..., Any], *sequences: Sequence[Any]) -> list[Any]:
    """Return the list of `function(x, y, ...)`; sequences of unequal lengths are an error.

    >>> safe_map(lambda x, y: x * y, [1, 2], [3, 4])
    [3, 8]
    """
    lists = list(map(list, sequences))
    if len({len(items) for items in lists}) > 1:
        raise ValueError(f"safe_map() arguments have different lengths: {list(map(len, lists))}")
    return [function(*items) for items in zip(*lists, strict=True)]


def shaped_abstractify(x: Any) -> ShapedArray:
    """Return the type of an array, a scalar or a `ShapeDtypeStruct`.

    >>> shaped_abstractify(1.0)
    ShapedArray(float32[], weak_type=True)
    """
    if isinstance(x, ShapeDtypeStruct):
        return ShapedArray(x.shape, x.dtype, x.weak_type)
    return typeof(x)


close_module("jax.api_util", globals())
