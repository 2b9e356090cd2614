"""Callbacks: calling Python while a compiled program runs.

    debug_callback    no results; runs whenever control reaches it, once per row of a batch, in
    order pure_callback     results, no effects; may be left out or run again
    io_callback       results and effects; is never left out

`debug_print` is a debug callback that formats its operands and writes to `sys.stdout`.

In forward mode the primals are passed and there are no tangents; under `vmap` a callback runs once
per row, as a native loop, unless its `vmap_method` says that the function takes whole batches.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from tapeless.control.bodies import flatten_values
from tapeless.control.loops import map as map_rows
from tapeless.core.aval import ShapedArray, ShapeDtypeStruct, is_value, typeof
from tapeless.core.effects import (
    CALLBACK,
    DEBUG,
    ORDERED_CALLBACK,
    ORDERED_DEBUG,
    Effects,
)
from tapeless.core.linear import Zero
from tapeless.core.primitive import Primitive, Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.common import batch_dim_to
from tapeless.tree.flatten import tree_flatten, tree_unflatten
from tapeless.tree.treedef import PyTreeDef

__all__ = [
    "debug_callback",
    "debug_callback_p",
    "debug_print",
    "debug_print_p",
    "io_callback",
    "io_callback_p",
    "pure_callback",
    "pure_callback_p",
]


class Callback(Primitive):
    """What all callbacks share.

    callback: a flat Python function of arrays, (*args) -> sequence of results.
    result_avals: their types.
    """

    def abstract(self, *avals: ShapedArray, result_avals: tuple = (), **params: Any) -> tuple:
        """Return the types of the results."""
        return result_avals

    def batch(self, axis: Axis, args: Values, dims: Sequence, **params: Any) -> tuple:
        """Run once per row, in order."""
        pairs = zip(args, dims, strict=True)
        fronted = [batch_dim_to(x, dim, 0, axis.size) for x, dim in pairs if dim is not None]

        def one(given: list[Value]) -> tuple[Value, ...]:
            """Bind the callback on one row."""
            rest = iter(given)
            full = [x if dim is None else next(rest) for x, dim in zip(args, dims, strict=True)]
            return self.bind(*full, **params)

        outs = map_rows(one, fronted)
        return outs, (0,) * len(outs)

    def lower(
        self, b: Any, args: Sequence, outs: tuple, *, callback: Callable, **params: Any
    ) -> tuple:
        """Write a call of the Python function."""
        return b.host_call(callback, args, outs)


class DebugCallback(Callback):
    """Call a Python function for its effect; it returns nothing."""

    name = "debug_callback"

    def effects(self, *, ordered: bool, **params: Any) -> Effects:
        """Return the debug effect."""
        return frozenset((ORDERED_DEBUG if ordered else DEBUG,))

    def jvp(self, primals: Values, tangents: Sequence, **params: Any) -> tuple:
        """Pass the primals."""
        self.bind(*primals, **params)
        return (), ()

    def transpose(self, cotangents: Sequence, args: Sequence, **params: Any) -> tuple:
        """Do nothing: what is linear is not looked at."""
        return tuple(Zero(typeof(arg).tangent()) if hasattr(arg, "aval") else None for arg in args)


class DebugPrint(DebugCallback):
    """A debug callback that prints; a primitive of its own for its printed form."""

    name = "debug_print"


class PureCallback(Callback):
    """Call a Python function for its results."""

    name = "pure_callback"

    def jvp(self, primals: Values, tangents: Sequence, **params: Any) -> NoReturn:
        """Refuse: Python functions have no derivative."""
        raise ValueError(
            "Pure callbacks do not support JVP. Please use `jax.custom_jvp` to use callbacks while "
            "taking gradients."
        )

    def batch(self, axis: Axis, args: Values, dims: Sequence, **params: Any) -> tuple:
        """Do what `vmap_method` says."""
        method = params["vmap_method"]
        if method is None:
            raise NotImplementedError(
                "vmap is only supported for pure_callback with `vmap_method` set to one of "
                "'sequential', 'expand_dims', 'broadcast_all', ..."
            )
        if method.startswith("sequential"):
            return super().batch(axis, args, dims, **params)
        size = axis.size if method == "broadcast_all" else 1
        whole = [batch_dim_to(x, dim, 0, size) for x, dim in zip(args, dims, strict=True)]
        avals = tuple(a.update(shape=(axis.size, *a.shape)) for a in params["result_avals"])
        outs = self.bind(*whole, **{**params, "result_avals": avals})
        return outs, (0,) * len(outs)


class IOCallback(Callback):
    """Call a Python function for its results and its effects."""

    name = "io_callback"

    def effects(self, *, ordered: bool, **params: Any) -> Effects:
        """Return the effect."""
        return frozenset((ORDERED_CALLBACK if ordered else CALLBACK,))

    def jvp(self, primals: Values, tangents: Sequence, **params: Any) -> NoReturn:
        """Refuse: Python functions have no derivative."""
        raise ValueError(
            "IO callbacks do not support JVP. Please use `jax.custom_jvp` to use callbacks while "
            "taking gradients."
        )

    def batch(self, axis: Axis, args: Values, dims: Sequence, **params: Any) -> tuple:
        """Run once per row; an ordered callback cannot be mapped."""
        if params["ordered"]:
            raise ValueError("Cannot `vmap` ordered IO callback.")
        return super().batch(axis, args, dims, **params)


debug_callback_p = DebugCallback()
debug_print_p = DebugPrint()
pure_callback_p = PureCallback()
io_callback_p = IOCallback()


def flat_callback(
    function: Callable, tree: PyTreeDef, kwargs: dict, out_avals: tuple | None
) -> Callable:
    """Return the function of flat NumPy arrays behind a callback.

    Users get arrays they may keep: the memory of the program is copied.
    """

    def call(*arrays: np.ndarray) -> list[Any]:
        """Call the user's function."""
        args, named = tree_unflatten(tree, [array.copy() for array in arrays])
        result = function(*args, **named, **kwargs)
        if out_avals is None:
            return []
        leaves, _ = tree_flatten(result)
        return [_checked(leaf, aval) for leaf, aval in zip(leaves, out_avals, strict=True)]

    return call


def _checked(leaf: Any, aval: ShapedArray) -> np.ndarray:
    """Return one result of a callback, or raise if it is of another shape than was announced."""
    value = np.asarray(leaf)
    if value.shape != aval.shape:
        raise RuntimeError(
            f"Incorrect output shape for return value: Expected: {aval.shape}, Actual: "
            f"{value.shape}"
        )
    return value.astype(aval.dtype, copy=False)


def debug_callback(
    callback: Callable, *args: Any, ordered: bool = False, partitioned: bool = False, **kwargs: Any
) -> None:
    """Call `callback(*args, **kwargs)` whenever the program gets here.

    ordered: keep the order among ordered callbacks (it is program order in any case).
    """
    leaves, tree = flatten_values((args, kwargs))
    function = flat_callback(callback, tree, {}, None)
    debug_callback_p.bind(*leaves, callback=function, ordered=ordered, partitioned=partitioned)


def debug_print(
    fmt: str,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> None:
    """Print `fmt.format(*args, **kwargs)` with the values that the program has when it gets here.

    >>> debug_print("x = {x}", x=3)
    x = 3
    """
    leaves, tree = tree_flatten((args, kwargs))
    dynamic = [is_value(leaf) for leaf in leaves]
    values = [leaf for leaf, flag in zip(leaves, dynamic, strict=True) if flag]
    if not skip_format_check:
        fmt.format(*args, **kwargs)
    options = np.get_printoptions()

    def write(*arrays: np.ndarray) -> list[Any]:
        """Format and print."""
        rest = iter(arrays)
        full = [
            next(rest).copy() if flag else leaf
            for leaf, flag in zip(leaves_static, dynamic, strict=True)
        ]
        given, named = tree_unflatten(
            tree, [x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x for x in full]
        )
        with np.printoptions(**options):
            sys.stdout.write(fmt.format(*given, **named) + "\n")
        return []

    leaves_static = [None if flag else leaf for leaf, flag in zip(leaves, dynamic, strict=True)]
    debug_print_p.bind(*values, callback=write, fmt=fmt, ordered=ordered, partitioned=partitioned)


def result_types(tree: Any) -> tuple[list[ShapedArray], PyTreeDef]:
    """Return the avals of a tree of ShapeDtypeStructs or arrays."""
    leaves, treedef = tree_flatten(tree)
    avals = [
        ShapedArray(tuple(x.shape), x.dtype)
        if isinstance(x, ShapeDtypeStruct) or hasattr(x, "dtype")
        else typeof(x)
        for x in leaves
    ]
    return avals, treedef


def pure_callback(
    callback: Callable,
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Return `callback(*args, **kwargs)`, a function without side effects of NumPy arrays.

    result_shape_dtypes: a tree of ShapeDtypeStructs.  vmap_method: None, "sequential",
    "expand_dims" or "broadcast_all": how to map it.
    """
    leaves, tree = flatten_values((args, kwargs))
    avals, out_tree = result_types(result_shape_dtypes)
    function = flat_callback(callback, tree, {}, tuple(avals))
    outs = pure_callback_p.bind(
        *leaves, callback=function, result_avals=tuple(avals), vmap_method=vmap_method
    )
    return tree_unflatten(out_tree, outs)


def io_callback(
    callback: Callable,
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Return `callback(*args, **kwargs)`, a function with side effects of NumPy arrays."""
    leaves, tree = flatten_values((args, kwargs))
    avals, out_tree = result_types(result_shape_dtypes)
    function = flat_callback(callback, tree, {}, tuple(avals))
    outs = io_callback_p.bind(
        *leaves, callback=function, result_avals=tuple(avals), ordered=ordered
    )
    return tree_unflatten(out_tree, outs)
