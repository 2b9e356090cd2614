"""Batching rules of the user's own: `custom_vmap` and `sequential_vmap`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tapeless.api.custom import resolve
from tapeless.control.bodies import flatten_values, trace_body
from tapeless.control.custom_vmap import custom_vmap_call_p
from tapeless.control.loops import map as map_rows
from tapeless.core.aval import typeof
from tapeless.tree.flatten import tree_flatten, tree_structure, tree_unflatten
from tapeless.tree.maps import tree_map
from tapeless.util.seqs import merge, select

__all__ = ["custom_vmap", "sequential_vmap"]


class custom_vmap:  # noqa: N801
    """A function with a batching rule: `@custom_vmap`, then `@f.def_vmap`.

    The rule is called as `rule(axis_size, in_batched, *args)`: `in_batched` is a list of trees like
    the arguments that say which leaves have a mapped axis, which is their first one.  It returns
    the results for the whole batch, and a tree like them that says which have the mapped axis.

    >>> import numpy as np
    >>> from tapeless.api.vmap import vmap
    >>> from tapeless.prims.binary import add
    >>> @custom_vmap
    ... def f(x):
    ...     return x + 1.0
    >>> @f.def_vmap
    ... def f_rule(axis_size, in_batched, x):
    ...     return add(x, 100.0), in_batched[0]
    >>> vmap(f)(np.arange(2.0, dtype="float32"))
    Array([100., 101.], dtype=float32)
    """

    __name__: str
    vmap_rule: Callable | None = None

    def __init__(self, fun: Callable) -> None:
        """fun: a function of positional arguments."""
        functools.update_wrapper(self, fun)
        self.fun = fun

    def def_vmap(self, vmap_rule: Callable) -> Callable:
        """Set the rule."""
        self.vmap_rule = vmap_rule
        return vmap_rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        if self.vmap_rule is None:
            raise AttributeError(
                f"No batching rule defined for custom_vmap function {self.__name__} using def_vmap."
            )
        leaves, tree = flatten_values(resolve(self.fun, args, kwargs, "custom_vmap"))
        body = trace_body(self.fun, tree, [typeof(leaf) for leaf in leaves], "custom_vmap")
        outs = custom_vmap_call_p.bind(
            *body.consts,
            *leaves,
            call=body.jaxpr,
            rule=self.vmap_rule,
            in_tree=tree_structure((body.consts, tree_unflatten(tree, leaves))),
            out_tree=body.out_tree,
        )
        return tree_unflatten(body.out_tree, outs)


def sequential_vmap(f: Callable) -> custom_vmap:
    """Return `f` with the batching rule that runs the rows one after the other.

    >>> import numpy as np
    >>> from tapeless.api.vmap import vmap
    >>> vmap(sequential_vmap(lambda x: x * 2.0))(np.arange(3.0, dtype="float32"))
    Array([0., 2., 4.], dtype=float32)
    """
    mapped = custom_vmap(f)

    @mapped.def_vmap
    def rule(axis_size: int, in_batched: list, *args: Any) -> tuple[Any, Any]:
        """Loop over the rows of what is batched."""
        leaves, tree = tree_flatten(args)
        batched = tree_flatten(tuple(in_batched))[0]
        shared = select(leaves, [not flag for flag in batched])

        def row(given: list) -> Any:
            """Call the function on one row."""
            return mapped(*tree_unflatten(tree, merge(batched, shared, given)))

        result = map_rows(row, select(leaves, batched))
        return result, tree_map(lambda _: True, result)

    return mapped
