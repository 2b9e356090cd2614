"""Small functions that say something about values, or only that they are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import is_value, typeof
from tapeless.core.trace import Tracer, Value
from tapeless.prims.identity import Identity
from tapeless.tree.flatten import tree_leaves

__all__ = ["after_all", "create_token", "dce_sink", "dtype", "shape_as_value", "stage", "stage_p"]


class Token:
    """What stands for the order of effects; programs here run in order without."""


def create_token(_: Any = None) -> Token:
    """Return a token."""
    return Token()


def after_all(*operands: Token) -> Token:
    """Return a token of what comes after what `operands` stand for."""
    if not all(isinstance(each, Token) for each in operands):
        kinds = [type(each).__name__ for each in operands]
        raise TypeError(f"Arguments to after_all must be tokens, got {', '.join(kinds)}")
    return Token()


def dce_sink(val: Any, *, prevent_mlir_dce: bool = False) -> None:
    """Accept a tree of values and do nothing.

    Unlike in JAX, what only computes these values is removed from programs all the same.

    >>> lax.dce_sink(jnp.ones(3)) is None
    True
    """
    for leaf in tree_leaves(val):
        typeof(leaf)


def dtype(x: Any) -> Any:
    """Return the dtype of a value.

    >>> dtype(1.0)
    dtype('float32')
    """
    return typeof(x).dtype


def shape_as_value(shape: Sequence[Any]) -> Value:
    """Return a shape as an array of integers: (rank,).

    >>> import tapeless.numpy as jnp
    >>> shape_as_value((2, 3))
    Array([2, 3], dtype=int32)
    """
    return stage(np.array(tuple(shape), dtypes.default_int_dtype()))


class Stage(Identity):
    """The operand, as a value of the program that is being traced."""

    name = "stage"


stage_p = Stage()


def stage(x: Any, /) -> Value:
    """Return `x` as an Array, or as a value of the current program.

    x: (n,) -> (n,)

    >>> stage(2.0)
    Array(2., dtype=float32, weak_type=True)
    """
    if not is_value(x):
        raise TypeError(
            f"Error interpreting argument to stage as a JAX value. The problematic value is of "
            f"type {type(x)} and was passed to stage at position 0."
        )
    return x if isinstance(x, Tracer) else stage_p.bind(x)[0]
