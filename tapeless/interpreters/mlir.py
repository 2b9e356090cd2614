"""`jax.interpreters.mlir`: how primitives of libraries are compiled.

There is no MLIR.  A lowering that `lower_fun` makes of a function is traced in the place of the
primitive; one that writes MLIR is kept, and refused when a program with it is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapeless.extend.rules import Lowering, Primitive, lowerings
from tapeless.util.names import close_module

__all__ = ["LoweringRule", "lower_fun", "register_lowering"]

LoweringRule = Callable[..., Any]


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> Lowering:
    """Return the lowering that traces `fun(*args, **params)`."""
    return Lowering(fun, multiple_results)


def register_lowering(
    prim: Primitive,
    rule: LoweringRule | Lowering,
    platform: str | None = None,
    inline: bool = True,
    cacheable: bool = True,
) -> None:
    """Set how a primitive is compiled on `platform`; rules for others than the CPU are ignored."""
    if platform in (None, "cpu"):
        lowerings[prim] = rule


close_module("jax.interpreters.mlir", globals())
