"""Functions under a name: `composite` keeps what a function computes together in programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapeless.control.bodies import flatten_values, trace_body
from tapeless.control.jit import jit_p
from tapeless.core.aval import typeof
from tapeless.tree.flatten import tree_unflatten

__all__ = ["composite"]


def composite(decomposition: Callable, name: str, version: int = 0) -> Callable:
    """Return `decomposition` as a function that programs show as one call of this name.

    Keyword arguments are attributes: constants, not values.  version: not looked at.

    Unlike in JAX, StableHLO shows a call and no `composite` operation, and derivatives are those of
    the decomposition.

    >>> import tapeless.numpy as jnp
    >>> composite(lambda x, *, power: x**power, "my.power")(jnp.arange(3.0), power=2)
    Array([0., 1., 4.], dtype=float32)
    """

    def call(*args: Any, **attributes: Any) -> Any:
        """Call the decomposition."""
        leaves, tree = flatten_values(args)

        def inner(*operands: Any) -> Any:
            """Call it with its attributes."""
            return decomposition(*operands, **attributes)

        body = trace_body(inner, tree, [typeof(leaf) for leaf in leaves], f"composite {name}")
        outs = jit_p.bind(*body.consts, *leaves, name=name, jaxpr=body.jaxpr)
        return tree_unflatten(body.out_tree, outs)

    return call
