"""`checkpoint`: compute again in the backward pass instead of storing; policies; what is saved."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tapeless.api.jit import StaticSpec, join_static
from tapeless.control.bodies import flatten_values, trace_body
from tapeless.control.remat import remat_p
from tapeless.core.aval import typeof
from tapeless.tree.flatten import tree_unflatten

__all__ = ["checkpoint", "remat"]


def checkpoint(
    fun: Callable,
    *,
    prevent_cse: bool | Sequence[bool] = True,
    policy: Callable[..., bool] | None = None,
    static_argnums: int | tuple[int, ...] = (),
    static_argnames: str | Iterable[str] = (),
) -> Callable:
    """Return `fun`, whose intermediates are computed again when it is differentiated in reverse.

    policy: which of them to store all the same, see `checkpoint_policies`.
    """
    spec = StaticSpec(fun, static_argnums or None, static_argnames or None)

    @functools.wraps(fun)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        """Bind the function as one `remat2` equation."""
        dynamic, named, static = spec.divide(args, kwargs)
        leaves, tree = flatten_values((dynamic, named))

        @functools.wraps(fun)
        def body(args_in: tuple, kwargs_in: dict) -> Any:
            """Call the function with its static arguments in place."""
            full, keywords = join_static(args_in, kwargs_in, static)
            return fun(*full, **keywords)

        traced = trace_body(body, tree, [typeof(leaf) for leaf in leaves], "checkpoint")
        outs = remat_p.bind(
            *traced.consts,
            *leaves,
            jaxpr=traced.jaxpr,
            prevent_cse=prevent_cse if isinstance(prevent_cse, bool) else tuple(prevent_cse),
            differentiated=False,
            policy=policy,
        )
        return tree_unflatten(traced.out_tree, outs)

    return wrapped


remat = checkpoint
