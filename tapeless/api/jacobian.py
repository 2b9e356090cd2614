"""Jacobians and Hessians: one derivative per basis vector, all at once by `vmap`.

Columns by forward mode (`jacfwd`), rows by reverse mode (`jacrev`); a Hessian is forward over
reverse.  The result has the tree of the outputs, each leaf of it the tree of the inputs, and leaves
of shape (*output shape, *input shape).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.api.autodiff import (
    FlatFunction,
    check_grad_input,
    check_grad_output,
    chosen_positions,
    linearized,
)
from tapeless.api.vmap import vmap
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.source import JVP, name_scope
from tapeless.core.trace import Value
from tapeless.prims.binary import add
from tapeless.prims.common import apply, float0_zeros, instantiate, is_float0
from tapeless.prims.compare import eq
from tapeless.prims.convert import convert
from tapeless.prims.create import broadcasted_iota
from tapeless.prims.join import split_p
from tapeless.runtime.array import array_from_numpy
from tapeless.transforms.jvp import jvp_flat
from tapeless.tree.arguments import check_callable, is_one_number
from tapeless.tree.flatten import tree_flatten, tree_unflatten
from tapeless.tree.treedef import PyTreeDef
from tapeless.util.frames import api_boundary

__all__ = ["hessian", "jacfwd", "jacobian", "jacrev"]

Argnums = int | Sequence[int]


def jacfwd(
    fun: Callable, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable:
    """Return the function that returns the Jacobian of `fun`, column by column.

    fun: (n,) -> (m,) gives the function (n,) -> (m, n).

    >>> jacfwd(lambda x: x * x)(3.0)
    Array(6., dtype=float32, weak_type=True)
    """
    check_callable(fun)

    @functools.wraps(fun)
    @api_boundary
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        """Return the Jacobian."""
        leaves, tree, flat = _chosen(fun, argnums, args, kwargs, has_aux)
        for leaf in leaves:
            _check_forward_input(leaf, holomorphic)

        def push(*tangents: Value) -> tuple[list[Value], list[Value]]:
            """Return the tangents of the results in one direction, and the results."""
            with name_scope(JVP):
                outs, out_tangents = jvp_flat(flat, leaves, tangents)
            return list(map(instantiate, out_tangents[: flat.n_outs])), outs

        columns, outs = vmap(push, out_axes=(-1, None))(*_basis(leaves))
        n = flat.n_outs
        shapes = [typeof(leaf).shape for leaf in leaves]
        filled = [_numbers(t, x) for t, x in zip(columns, outs[:n], strict=True)]
        rows = [_split_last(column, shapes) for column in filled]
        for column in columns:
            if holomorphic:
                check_grad_output(typeof(column).dtype, holomorphic, "jacfwd")
        jacobians = tree_unflatten(flat.out_tree, [_inputs(row, tree, argnums) for row in rows])
        if not has_aux:
            return jacobians
        return jacobians, flat.auxiliary(outs[n:])

    return jacobian_of


def jacrev(
    fun: Callable,
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable:
    """Return the function that returns the Jacobian of `fun`, row by row.

    fun: (n,) -> (m,) gives the function (n,) -> (m, n).

    >>> jacrev(lambda x: x * x)(3.0)
    Array(6., dtype=float32, weak_type=True)
    """
    check_callable(fun)

    @functools.wraps(fun)
    @api_boundary
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        """Return the Jacobian."""
        leaves, tree, flat = _chosen(fun, argnums, args, kwargs, has_aux)
        for leaf in leaves:
            check_grad_input(leaf, holomorphic, allow_int, "jacrev")
        chosen = tree_unflatten(tree, leaves)
        value, pullback, aux = linearized(flat.function, chosen, has_aux)
        outs, out_tree = tree_flatten(value)
        for out in outs:
            check_grad_output(typeof(out).dtype, holomorphic, "jacrev")
        pulled = vmap(lambda *cts: pullback(tree_unflatten(out_tree, cts)))(*_basis(outs))
        columns = [_numbers(ct, x) for ct, x in zip(tree_flatten(pulled)[0], leaves, strict=True)]
        shapes = [typeof(out).shape for out in outs]
        split = [
            [_of_type(part, leaf) for part in _split_first(column, shapes)]
            for column, leaf in zip(columns, leaves, strict=True)
        ]
        by_output = [_inputs(list(row), tree, argnums) for row in zip(*split, strict=True)]
        jacobians = tree_unflatten(out_tree, by_output)
        return (jacobians, aux) if has_aux else jacobians

    return jacobian_of


jacobian = jacrev


def hessian(
    fun: Callable, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable:
    """Return the function that returns the matrix of second derivatives of `fun`.

    fun: (n,) -> () gives the function (n,) -> (n, n); of other results, (n,) -> (m, n, n).

    >>> hessian(lambda x: x**3)(2.0)
    Array(12., dtype=float32, weak_type=True)
    """
    gradient = jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic)
    return jacfwd(gradient, argnums, has_aux=has_aux, holomorphic=holomorphic)


def _chosen(
    fun: Callable, argnums: Argnums, args: tuple, kwargs: dict, has_aux: bool
) -> tuple[list[Value], PyTreeDef, FlatFunction]:
    """Return leaves and tree of the arguments to differentiate by, and the flat function."""
    positions = chosen_positions(argnums, len(args))

    @functools.wraps(fun)
    @api_boundary
    def partial(*chosen: Any) -> Any:
        """Call `fun` with some arguments replaced."""
        full = list(args)
        for position, value in zip(positions, chosen, strict=True):
            full[position] = value
        return fun(*full, **kwargs)

    leaves, tree = tree_flatten(tuple(args[position] for position in positions))
    return leaves, tree, FlatFunction(partial, tree, has_aux)


def _inputs(row: list[Value], tree: PyTreeDef, argnums: Argnums) -> Any:
    """Return one row of the Jacobian as the tree of the inputs."""
    arguments = tree_unflatten(tree, row)
    return arguments[0] if is_one_number(argnums) else arguments


def _basis(values: Sequence[Value]) -> list[Value]:
    """Return the standard basis of a list of values, one array (n, *shape) per value."""
    avals = [typeof(x).tangent() for x in values]
    moving = [aval for aval in avals if not is_float0(aval)]
    total = sum(aval.size for aval in avals)
    if not moving:
        return [float0_zeros((total, *aval.shape)) for aval in avals]
    identity = _identity(total, dtypes.result_type(*[aval.dtype for aval in moving]))
    rows = _split(identity, [aval.shape for aval in avals], 1)
    return [
        float0_zeros((total, *aval.shape))
        if is_float0(aval)
        else convert(row, aval.dtype, aval.weak_type)
        for row, aval in zip(rows, avals, strict=True)
    ]


def _identity(n: int, dtype: dtypes.Dtype) -> Value:
    """Return the identity matrix (n, n), by comparing rows with columns."""
    rows, columns = (broadcasted_iota(np.int32, (n, n), axis) for axis in (0, 1))
    return convert(eq(add(rows, np.int32(0)), columns), dtype)


def _of_type(derivative: Value, argument: Value) -> Value:
    """Return a derivative in the dtype of what it is by, as weakly typed as that."""
    aval = typeof(argument)
    return convert(derivative, aval.dtype, aval.weak_type)


def _numbers(tangents: Value, like: Value) -> Value:
    """Return derivatives of or by an integer as zeros of its dtype, others as they are."""
    aval = typeof(tangents) if not isinstance(tangents, np.ndarray) else tangents
    if aval.dtype != dtypes.float0:
        return tangents
    return array_from_numpy(np.zeros(aval.shape, typeof(like).dtype))


def _split_last(column: Value, shapes: Sequence[tuple[int, ...]]) -> list[Value]:
    """Split the last axis of (*out, n) into arrays (*out, *shape)."""
    return _split(column, shapes, typeof(column).ndim - 1)


def _split_first(column: Value, shapes: Sequence[tuple[int, ...]]) -> list[Value]:
    """Split the first axis of (n, *in) into arrays (*shape, *in)."""
    return _split(column, shapes, 0)


def _split(column: Value, shapes: Sequence[tuple[int, ...]], axis: int) -> list[Value]:
    """Cut an axis into pieces of the sizes of `shapes`, each reshaped to its shape."""
    aval: ShapedArray = typeof(column)
    sizes = tuple(np.int64(math.prod(shape)) for shape in shapes)
    pieces = []
    for piece, shape in zip(split_p.bind(column, sizes=sizes, axis=axis), shapes, strict=True):
        new = (*aval.shape[:axis], *shape, *aval.shape[axis + 1 :])
        if new != typeof(piece).shape:
            piece = apply("reshape", piece, new_sizes=new, dimensions=None, sharding=None)
        pieces.append(piece)
    return pieces


def _check_forward_input(leaf: Any, holomorphic: bool) -> None:
    """Refuse inputs that forward mode is not defined for."""
    dtype = typeof(leaf).dtype
    shown = dtypes.dtype_name(dtype)
    if holomorphic:
        if not dtypes.issubdtype(dtype, np.complexfloating):
            raise TypeError(
                f"jacfwd with holomorphic=True requires inputs with complex dtype, but got {shown}."
            )
    elif not dtypes.issubdtype(dtype, np.floating):
        raise TypeError(
            f"jacfwd requires real-valued inputs (input dtype that is a sub-dtype of np.floating), "
            f"but got {shown}. For holomorphic differentiation, pass holomorphic=True. For "
            f"differentiation of non-holomorphic functions involving complex inputs or integer "
            f"inputs, use jax.jvp directly."
        )
