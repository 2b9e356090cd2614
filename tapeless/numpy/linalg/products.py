"""Products and views of matrices under the names of the array standard.

They are those of `jax.numpy`, with stricter arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy import contraction, diagonals, products, shaping
from tapeless.numpy.common import asarray, check_arraylike, value_of

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_transpose",
    "multi_dot",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
]


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Value:
    """Return the cross product of vectors of three components: (..., 3), (..., 3) -> (..., 3).

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
    Array([0, 0, 1], dtype=int32)
    """
    check_arraylike("jnp.linalg.outer", x1, x2)
    x1, x2 = asarray(x1), asarray(x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they have "
            f"{x1.shape[axis]=} and {x2.shape[axis]=}"
        )
    return products.cross(x1, x2, axis=axis)


def outer(x1: Any, x2: Any, /) -> Value:
    """Return the products of all pairs of elements of two vectors: (n,), (m,) -> (n, m).

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.outer(jnp.array([1, 2]), jnp.array([3, 4]))
    Array([[3, 4],
           [6, 8]], dtype=int32)
    """
    check_arraylike("jnp.linalg.outer", x1, x2)
    x1, x2 = asarray(x1), asarray(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(
            f"Input arrays must be one-dimensional, but they are {x1.ndim=} {x2.ndim=}"
        )
    return products.outer(x1, x2)


def matrix_transpose(x: Any, /) -> Value:
    """Return the matrices in the last two axes, transposed: (..., n, m) -> (..., m, n).

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.matrix_transpose(jnp.ones((4, 2, 3))).shape
    (4, 3, 2)
    """
    check_arraylike("jnp.linalg.matrix_transpose", x)
    rank = typeof(value_of(x)).ndim
    if rank < 2:
        raise ValueError(f"matrix_transpose requires at least 2 dimensions; got ndim={rank}")
    return shaping.matrix_transpose(x)


def diagonal(x: Any, /, *, offset: int = 0) -> Value:
    """Return the diagonals of the matrices in the last two axes: (..., n, m) -> (..., k).

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.diagonal(jnp.array([[1, 2], [3, 4]]))
    Array([1, 4], dtype=int32)
    """
    check_arraylike("jnp.linalg.diagonal", x)
    return diagonals.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Value:
    """Return the sums of diagonals of the matrices in the last two axes: (..., n, m) -> (...).

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.trace(jnp.array([[1, 2], [3, 4]]))
    Array(5, dtype=int32)
    """
    check_arraylike("jnp.linalg.trace", x)
    return diagonals.trace(x, offset, -2, -1, dtype)


def matmul(
    x1: Any, x2: Any, /, *, precision: Any = None, preferred_element_type: Any = None
) -> Value:
    """Return products of matrices, as `jax.numpy.matmul`: (..., n, k), (..., k, m) -> (..., n, m).

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.matmul(jnp.array([[1, 2]]), jnp.array([[3], [4]]))
    Array([[11]], dtype=int32)
    """
    check_arraylike("jnp.linalg.matmul", x1, x2)
    options = {"precision": precision, "preferred_element_type": preferred_element_type}
    return products.matmul(x1, x2, **options)


def tensordot(
    x1: Any,
    x2: Any,
    /,
    *,
    axes: Any = 2,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Value:
    """Return the product over some axes of both, as `jax.numpy.tensordot`.

    (i, k, l), (k, l, j) -> (i, j) with axes=2

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.tensordot(jnp.ones((2, 3)), jnp.ones((2, 3)))
    Array(6., dtype=float32)
    """
    check_arraylike("jnp.linalg.tensordot", x1, x2)
    options = {"precision": precision, "preferred_element_type": preferred_element_type}
    return products.tensordot(x1, x2, axes=axes, out_sharding=out_sharding, **options)


def vecdot(
    x1: Any,
    x2: Any,
    /,
    *,
    axis: int = -1,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Value:
    """Return products of vectors, as `jax.numpy.vecdot`: (..., n), (..., n) -> (...).

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.vecdot(jnp.array([1, 2]), jnp.array([3, 4]))
    Array(11, dtype=int32)
    """
    check_arraylike("jnp.linalg.vecdot", x1, x2)
    options = {"precision": precision, "preferred_element_type": preferred_element_type}
    return products.vecdot(x1, x2, axis=axis, **options)


def multi_dot(arrays: Sequence[Any], *, precision: Any = None) -> Value:
    """Return the product of several matrices, in the cheapest order.

    arrays: (n, k), (k, l), (l, m) -> (n, m); the first and the last may be vectors.

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.multi_dot([jnp.array([[1, 2]]), jnp.array([[3], [4]]), jnp.array([[2]])])
    Array([[22]], dtype=int32)
    """
    check_arraylike("jnp.linalg.multi_dot", *arrays)
    values = [asarray(each) for each in arrays]
    if len(values) < 2:
        raise ValueError(f"multi_dot requires at least two arrays; got len(arrays)={len(values)}")
    ends, inner = (values[0], values[-1]), values[1:-1]
    if any(each.ndim not in (1, 2) for each in ends) or any(each.ndim != 2 for each in inner):
        raise ValueError(
            "multi_dot: input arrays must all be two-dimensional, except for the first and last "
            "array which may be 1 or 2 dimensional. Got array shapes "
            f"{[each.shape for each in values]}"
        )
    if any(x.shape[-1] != y.shape[0] for x, y in zip(values[:-1], values[1:], strict=True)):
        raise ValueError(
            "multi_dot: last dimension of each array must match first dimension of following "
            f"array. Got array shapes {[each.shape for each in values]}"
        )
    operands: list[Any] = []
    for number, value in enumerate(values):
        first = number + 1 if number == 0 and value.ndim == 1 else number
        operands += [value, list(range(first, first + value.ndim))]
    last = len(values)
    result = [0] * (values[0].ndim - 1) + [last] * (values[-1].ndim - 1)
    return contraction.einsum(*operands, result, optimize="auto", precision=precision)
