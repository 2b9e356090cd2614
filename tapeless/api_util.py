"""`jax.api_util`: from functions of trees to functions of flat arguments, and back."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from tapeless.core.aval import ShapedArray, ShapeDtypeStruct, typeof
from tapeless.core.jaxpr import DebugInfo
from tapeless.extend.linear_util import WrappedFun, transformation_with_aux2
from tapeless.tree.flatten import tree_flatten, tree_unflatten
from tapeless.tree.prefix import flatten_axes
from tapeless.tree.treedef import PyTreeDef
from tapeless.util.chains import function_name
from tapeless.util.names import close_module

__all__ = [
    "argnums_partial",
    "debug_info",
    "donation_vector",
    "flatten_axes",
    "flatten_fun",
    "flatten_fun_nokwargs",
    "rebase_donate_argnums",
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


def argnums_partial(
    f: WrappedFun,
    dyn_argnums: int | Sequence[int],
    args: Sequence[Any],
    require_static_args_hashable: bool = True,
) -> tuple[WrappedFun, tuple[Any, ...]]:
    """Return a function of the arguments at some positions alone, and these arguments.

    Raises ValueError for positions that do not exist, and, unless told otherwise, for fixed
    arguments that are not hashable.

    >>> from tapeless.extend.linear_util import wrap_init
    >>> of_first, dynamic = argnums_partial(wrap_init(lambda x, y: x - y), 0, (5, 3))
    >>> dynamic, of_first.call_wrapped(10)
    ((5,), 7)
    """
    given = dyn_argnums if isinstance(dyn_argnums, Sequence) else (dyn_argnums,)
    places = tuple([_position(number, len(args)) for number in given])
    for index, arg in enumerate(args):
        if require_static_args_hashable and index not in places and not _is_hashable(arg):
            raise ValueError(
                "Non-hashable static arguments are not supported, as this can lead to unexpected "
                f"cache-misses. Static argument (index {index}) of type {type(arg)} for function "
                f"{f.__name__} is non-hashable."
            )

    def layer(inner: Callable[..., Any], *dynamic: Any, **kwargs: Any) -> Any:
        """Put the arguments where they were."""
        full = list(args)
        for place, arg in zip(places, dynamic, strict=True):
            full[place] = arg
        return inner(*full, **kwargs)

    return f.wrap(layer), tuple([args[place] for place in places])


def _position(number: int, count: int) -> int:
    """Return the position of an argument; negative ones count from the end."""
    if not -count <= number < count:
        raise ValueError(
            "Positional argument indices, e.g. for `static_argnums`, must have value greater than "
            f"or equal to -len(args) and less than len(args), but got value {number} for "
            f"len(args) == {count}."
        )
    return operator.index(number) % count


def _is_hashable(x: Any) -> bool:
    """Tell whether a value has a hash."""
    try:
        hash(x)
    except TypeError:
        return False
    return True


def donation_vector(
    donate_argnums: Collection[int],
    donate_argnames: Collection[str],
    in_tree: PyTreeDef,
    kws: bool = True,
) -> tuple[bool, ...]:
    """Return, for each leaf of the arguments, whether its buffer may be used again.

    in_tree: the structure of (args, kwargs); of args alone if not `kws`.

    >>> from tapeless.tree.flatten import tree_structure
    >>> donation_vector((1,), ("w",), tree_structure(((0, [0, 0]), {"v": 0, "w": 0})))
    (False, True, True, False, True)
    """
    args, *named = in_tree.children() if kws else [in_tree]
    marks = [(tree, place in donate_argnums) for place, tree in enumerate(args.children())]
    for kwargs in named:
        keys = (kwargs.node_data() or (dict, ()))[1]
        marks += [
            (tree, key in donate_argnames)
            for key, tree in zip(keys, kwargs.children(), strict=True)
        ]
    return tuple([mark for tree, mark in marks for _ in range(tree.num_leaves)])


def rebase_donate_argnums(
    donate_argnums: Iterable[int], static_argnums: Iterable[int]
) -> tuple[int, ...]:
    """Return the positions of donated arguments once static ones are taken away.

    Raises ValueError for an argument that is both.

    >>> rebase_donate_argnums((3, 4), (0, 1))
    (1, 2)
    """
    donated, static = set(donate_argnums), set(static_argnums)
    if donated & static:
        raise ValueError(
            f"`static_argnums` {sorted(static)} and `donate_argnums` {sorted(donated)} cannot "
            "intersect."
        )
    return tuple(sorted([n - sum(fixed < n for fixed in static) for n in donated]))


close_module("jax.api_util", globals())
