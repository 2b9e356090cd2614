"""Norms of vectors and matrices."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy import arithmetic, reductions
from tapeless.numpy.common import canonicalize_axes, canonicalize_axis, check_arraylike, const
from tapeless.numpy.linalg.factorizations import inexact, svd
from tapeless.numpy.shaping import expand_dims, moveaxis, ravel, reshape
from tapeless.prims import binary, parts, unary

__all__ = ["matrix_norm", "norm", "vector_norm"]

Axis = int | tuple[int, ...] | None
Order = int | str | float | None


@functools.partial(jit, static_argnames=("ord", "axis", "keepdims"))
def norm(
    x: Any,
    ord: Order = None,
    axis: Axis = None,
    keepdims: bool = False,
) -> Value:
    """Return norms: of all elements, of vectors along one axis, or of matrices along two.

    Shapes: (n, m) -> () without an axis.

    ord: of vectors, p for (sum |x|^p)^(1/p), inf, -inf, 0 for the number of nonzero elements; of
    matrices, "fro", "nuc" (the sum of singular values), 2, -2 (extreme singular values), 1, -1,
    inf, -inf (extreme sums of columns, of rows).  By default the root of the sum of squares.

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.norm(jnp.array([3.0, 4.0]))
    Array(5., dtype=float32)
    """
    x = inexact("jnp.linalg.norm", x)
    rank = typeof(x).ndim
    if axis is None and ord is None:
        return _root_of_squares(x, tuple(range(rank)), keepdims)
    axes = canonicalize_axes(axis, rank)
    if len(axes) == 1:
        return vector_norm(x, axis=axes[0], keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) == 2:
        return _norm_of_matrices(x, ord, axes, keepdims)
    given = axes if axis is None else axis
    raise ValueError(
        f"Improper number of axes for norm: axis={given}. Pass one axis to compute a vector-norm, "
        "or two axes to compute a matrix-norm."
    )


def _root_of_squares(
    x: Value,
    axes: tuple[int, ...],
    keepdims: bool,
) -> Value:
    """Return the root of the sum of squares."""
    if dtypes.issubdtype(typeof(x).dtype, np.complexfloating):
        squares = parts.real(binary.mul(x, parts.conj(x)))
    else:
        squares = binary.mul(x, x)
    return unary.sqrt(reductions.sum(squares, axis=axes, keepdims=keepdims))


def _norm_of_matrices(
    x: Value,
    ord: Order,
    axes: Sequence[int],
    keepdims: bool,
) -> Value:
    """Return norms of matrices along two axes."""
    row, column = axes
    order: Any = ord
    if ord in (None, "f", "fro"):
        return _root_of_squares(x, (row, column), keepdims)
    if ord in (1, -1, np.inf, -np.inf):
        first, second = (row, column) if abs(order) == 1 else (column, row)
        if not keepdims and second > first:
            second -= 1
        sums = reductions.sum(unary.abs(x), axis=first, keepdims=keepdims)
        if order > 0:
            return reductions.max(sums, axis=second, keepdims=keepdims, initial=0)
        return reductions.min(sums, axis=second, keepdims=keepdims)
    if ord not in ("nuc", 2, -2):
        raise ValueError(f"Invalid order '{ord}' for matrix norm.")
    values = svd(moveaxis(x, (row, column), (-2, -1)), compute_uv=False)
    if ord == "nuc":
        result = reductions.sum(values, axis=-1)
    elif ord == 2:
        result = reductions.max(values, axis=-1, initial=0)
    else:
        result = reductions.min(values, axis=-1)
    return expand_dims(result, sorted(axes)) if keepdims else result


def matrix_norm(
    x: Any,
    /,
    *,
    keepdims: bool = False,
    ord: str | int = "fro",
) -> Value:
    """Return norms of the matrices in the last two axes: (..., n, m) -> (...).  ord: as in `norm`.

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.matrix_norm(jnp.array([[3.0, 0.0], [0.0, 4.0]]))
    Array(5., dtype=float32)
    """
    check_arraylike("jnp.linalg.matrix_norm", x)
    return norm(x, ord=ord, keepdims=keepdims, axis=(-2, -1))


def vector_norm(
    x: Any, /, *, axis: Axis = None, keepdims: bool = False, ord: int | str | float = 2
) -> Value:
    """Return norms of vectors along axes, or of all elements: (..., n) -> (...).

    ord: as in `norm`.

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.vector_norm(jnp.array([[3.0, 4.0], [0.0, 1.0]]), axis=1)
    Array([5., 1.], dtype=float32)
    """
    x = inexact("jnp.linalg.vector_norm", x)
    shape = typeof(x).shape
    if ord == 2:
        return _root_of_squares(x, canonicalize_axes(axis, len(shape)), keepdims)
    if axis is None or isinstance(axis, (tuple, list)):
        # One axis for all of them, which `keepdims` puts back.
        axes = canonicalize_axes(axis, len(shape))
        others = [i for i in range(len(shape)) if i not in axes]
        x = moveaxis(x, axes, range(len(others), len(shape)))
        x = reshape(x, (*(shape[i] for i in others), -1)) if others else ravel(x)
        result = _norm_along(x, len(others), ord, False)
        return expand_dims(result, axes) if keepdims else result
    return _norm_along(x, canonicalize_axis(axis, len(shape)), ord, keepdims)


def _norm_along(
    x: Value,
    axis: int,
    ord: int | str | float,
    keepdims: bool,
) -> Value:
    """Return norms of vectors along one axis."""
    size = {"axis": axis, "keepdims": keepdims}
    real = np.empty(0, typeof(x).dtype).real.dtype
    if isinstance(ord, str):
        raise ValueError(f"Invalid order '{ord}' for vector norm.")
    if ord == np.inf:
        return reductions.max(unary.abs(x), initial=0, **size)
    if ord == -np.inf:
        return reductions.min(unary.abs(x), **size)
    if ord == 0:
        return reductions.sum(arithmetic.not_equal(x, const(x, 0)), dtype=real, **size)
    if ord == 1:
        return reductions.sum(unary.abs(x), **size)
    powers = binary.pow(unary.abs(x), real.type(ord))
    return binary.pow(reductions.sum(powers, **size), real.type(1.0 / ord))
