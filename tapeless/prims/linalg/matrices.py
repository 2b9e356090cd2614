"""Products, adjoints and triangles of matrices in the last two axes, for derivative formulas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray
from tapeless.core.primitive import Primitive, Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.binary import add, div
from tapeless.prims.blas import BLAS_LETTER
from tapeless.prims.common import const, dtype_of, shape_of, zeros_like
from tapeless.prims.compare import eq, ge
from tapeless.prims.convert import convert
from tapeless.prims.create import broadcasted_iota
from tapeless.prims.dot import dot_general
from tapeless.prims.parts import conj
from tapeless.prims.reduce import reduce_sum
from tapeless.prims.rules import is_complex, rows_first
from tapeless.prims.select import select
from tapeless.prims.structural import broadcast_in_dim, expand_dims, transpose

__all__ = [
    "Factorisation",
    "adjoint",
    "check_matrix",
    "check_square",
    "columns_of",
    "diagonal",
    "eye",
    "matmul",
    "symmetrize",
    "transposed",
    "tril",
    "triu",
]


class Factorisation(Primitive):
    """An operation on matrices: every batch axis goes to the front."""

    def batch(self, axis: Axis, args: Values, dims: Sequence[int | None], **params: Any) -> tuple:
        """Bring the batch axes to the front."""
        outs = self.bind(*rows_first(args, dims, axis.size), **params)
        return outs, (0,) * len(outs)


def check_matrix(
    name: str, x: ShapedArray, position: int = 0, accepted: Sequence[Any] = tuple(BLAS_LETTER)
) -> None:
    """Raise TypeError unless x is an array of matrices of one of the accepted kinds of numbers."""
    if not any(dtypes.issubdtype(x.dtype, kind) for kind in accepted):
        kinds = ", ".join(getattr(kind, "name", None) or kind.__name__ for kind in accepted)
        raise TypeError(
            f"{name} does not accept dtype {dtypes.dtype_name(x.dtype)} at position {position}. "
            f"Accepted dtypes at position {position} are subtypes of {kinds}."
        )
    if x.ndim < 2:
        text = f"Input {position} to {name} must have rank at least 2, but got shape={x.shape}"
        raise TypeError(text)


def check_square(name: str, shape: Sequence[int]) -> None:
    """Raise ValueError unless the last two axes are a square matrix."""
    if len(shape) < 2 or shape[-1] != shape[-2]:
        text = f"The input to linalg.{name} must have shape [..., n, n], got shape {tuple(shape)}"
        raise ValueError(text)


def matmul(x: Value, y: Value) -> Value:
    """Return the products (..., n, k), (..., k, m) -> (..., n, m), in full precision."""
    rank = len(shape_of(x))
    batch = tuple(range(rank - 2))
    numbers = (((rank - 1,), (rank - 2,)), (batch, batch))
    return dot_general(x, y, numbers, precision="highest")


def transposed(x: Value) -> Value:
    """Exchange the last two axes."""
    rank = len(shape_of(x))
    return transpose(x, (*range(rank - 2), rank - 1, rank - 2))


def adjoint(x: Value) -> Value:
    """Return the conjugate transpose."""
    return conj(transposed(x)) if is_complex(dtype_of(x)) else transposed(x)


def symmetrize(x: Value) -> Value:
    """Return the Hermitian part, (x + x') / 2."""
    return div(add(x, adjoint(x)), const(x, 2))


def _compared(shape: Sequence[int], compare: Any, offset: int = 0) -> Value:
    """Compare row number + offset with the column number: bools of `shape`."""
    matrix = tuple(shape[-2:])
    row = add(broadcasted_iota(np.int32, matrix, 0), np.int32(offset))
    mask = compare(row, broadcasted_iota(np.int32, matrix, 1))
    if len(shape) == 2:
        return mask
    return broadcast_in_dim(mask, tuple(shape), (len(shape) - 2, len(shape) - 1))


def tril(x: Value, k: int = 0) -> Value:
    """Return the lower triangle, up to diagonal k; 0 above."""
    return select(_compared(shape_of(x), ge, k), x, zeros_like(x))


def triu(x: Value, k: int = 0) -> Value:
    """Return the upper triangle, from diagonal k; 0 below."""
    return select(_compared(shape_of(x), ge, k - 1), zeros_like(x), x)


def eye(shape: Sequence[int], dtype: Any) -> Value:
    """Return identity matrices of `shape`."""
    return convert(_compared(shape, eq), np.dtype(dtype))


def diagonal(x: Value) -> Value:
    """Return the diagonals: (..., n, n) -> (..., n)."""
    mask = _compared(shape_of(x), eq)
    return reduce_sum(select(mask, x, zeros_like(x)), (len(shape_of(x)) - 1,))


def columns_of(w: Value) -> Value:
    """Return a vector as a row: (..., n) -> (..., 1, n)."""
    return expand_dims(w, (len(shape_of(w)) - 1,))
