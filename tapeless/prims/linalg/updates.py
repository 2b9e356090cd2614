"""Symmetric products and their triangular factors, added to.

    symmetric_product   alpha A A' + beta C
    cholesky_update     the upper triangular S with S' S = R' R + w w'

The second is the triangle of the QR factorisation of R with w' below it, which costs n^3 and keeps
the digits that forming R' R would lose.  With dG the tangent of R' R + w w', and phi the upper
triangle with its diagonal halved, dS = phi(S^-T dG S^-1) S.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.linear import Zero
from tapeless.core.primitive import Values
from tapeless.core.trace import Value
from tapeless.prims.binary import add, div, mul
from tapeless.prims.common import const, dtype_of, instantiate, shape_of
from tapeless.prims.compare import lt
from tapeless.prims.join import concatenate
from tapeless.prims.linalg.matrices import (
    Factorisation,
    columns_of,
    diagonal,
    eye,
    matmul,
    transposed,
    tril,
    triu,
)
from tapeless.prims.linalg.qr import qr
from tapeless.prims.linalg.triangular import triangular_solve
from tapeless.prims.select import select
from tapeless.prims.structural import broadcast_in_dim, expand_dims
from tapeless.prims.unary import neg

__all__ = ["cholesky_update", "cholesky_update_p", "symmetric_product", "symmetric_product_p"]


def _check_real(name: str, *avals: ShapedArray) -> None:
    """Raise TypeError unless all operands are of float32 or float64."""
    for position, aval in enumerate(avals):
        if aval.dtype not in (np.float32, np.float64):
            raise TypeError(
                f"{name} does not accept dtype {dtypes.dtype_name(aval.dtype)} at position "
                f"{position}. Accepted dtypes at position {position} are subtypes of float32, "
                "float64."
            )


class SymmetricProduct(Factorisation):
    """A (..., n, m), C (..., n, n) -> alpha A A' + beta C."""

    name = "symmetric_product"

    def abstract(self, a: ShapedArray, c: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        _check_real(self.name, a, c)
        for position, aval in enumerate((a, c)):
            if aval.ndim < 2:
                raise TypeError(
                    f"Input {position} to {self.name} must have rank at least 2, but got "
                    f"shape={aval.shape}"
                )
        if a.ndim != c.ndim:
            raise TypeError(
                f"All inputs to {self.name} must have the same number of batch dimensions, but got "
                f"[{a.ndim - 2}, {c.ndim - 2}] batch dimensions for the inputs."
            )
        n = a.shape[-2]
        if c.shape != (*a.shape[:-2], n, n):
            raise ValueError(
                "symmetric_update expects a rectangular matrix of shape (m, n) and a square matrix "
                f"of shape (n, n). Got shapes {a.shape} and {c.shape}."
            )
        return (c,)

    def jvp(self, primals: Values, tangents: Sequence, *, alpha: float, beta: float) -> tuple:
        (a, _), (da, dc) = primals, map(instantiate, tangents)
        outs = self.bind(*primals, alpha=alpha, beta=beta)
        half = matmul(da, transposed(a))
        moved = mul(const(a, alpha), add(half, transposed(half)))
        return outs, (add(moved, mul(const(a, beta), dc)),)

    def decompose(self, *args: Value, alpha: float, beta: float) -> tuple:
        """Multiply and add."""
        a, c = args
        product = mul(const(a, alpha), matmul(a, transposed(a)))
        return (add(product, mul(const(a, beta), c)),)

    def reference(self, *arrays: Any, alpha: float, beta: float) -> tuple:
        a, c = arrays
        return ((alpha * a @ np.swapaxes(a, -1, -2) + beta * c).astype(a.dtype),)


class CholeskyUpdate(Factorisation):
    """R (..., n, n), upper triangular, w (..., n) -> S (..., n, n), upper triangular."""

    name = "cholesky_update"

    def abstract(self, r: ShapedArray, w: ShapedArray) -> tuple[ShapedArray, ...]:
        _check_real(self.name, r, w)
        if r.ndim < 2 or w.shape != r.shape[:-1] or r.shape[-1] != r.shape[-2]:
            raise ValueError(
                "Rank-1 update to Cholesky decomposition takes a square matrix and a vector of the "
                f"same size as input. Got shapes {r.shape} and {w.shape} instead"
            )
        return (r,)

    def jvp(self, primals: Values, tangents: Sequence[Value | Zero]) -> tuple:
        (r, w), (dr, dw) = primals, map(instantiate, tangents)
        (out,) = self.bind(r, w)
        column = expand_dims(w, (len(shape_of(w)),))
        half = add(matmul(transposed(triu(r)), triu(dr)), matmul(column, columns_of(dw)))
        change = add(half, transposed(half))
        inner = triangular_solve(out, change, left_side=True, transpose_a=True)
        inner = triu(triangular_solve(out, inner, left_side=False))
        halves = add(const(r, 1), eye(shape_of(r), dtype_of(r)))
        return (out,), (matmul(div(inner, halves), out),)

    def decompose(self, *args: Value) -> tuple:
        """Factor R with the row below it; signs make the diagonal positive."""
        r, w = args
        rows = concatenate([triu(r), columns_of(w)], len(shape_of(r)) - 2)
        _, factor = qr(rows, full_matrices=False)
        heads = expand_dims(diagonal(factor), (len(shape_of(w)),))
        return (select(_stretched(lt(heads, const(r, 0)), r), neg(factor), factor),)

    def reference(self, *arrays: Any) -> tuple:
        r, w = arrays
        upper = np.triu(r)
        gram = np.swapaxes(upper, -1, -2) @ upper + w[..., :, None] * w[..., None, :]
        return (np.swapaxes(np.linalg.cholesky(gram), -1, -2).astype(r.dtype),)


def _stretched(mask: Value, like: Value) -> Value:
    """Return a mask of rows, (..., n, 1), for all elements."""
    shape = shape_of(like)
    return broadcast_in_dim(mask, shape, tuple(range(len(shape))))


symmetric_product_p = SymmetricProduct()
cholesky_update_p = CholeskyUpdate()


def symmetric_product(
    a_matrix: Any,
    c_matrix: Any,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Value:
    """Return alpha A A' + beta C: A (..., n, m), C (..., n, n), symmetric -> (..., n, n).

    symmetrize_output: copy the lower triangle to the upper one, which makes a difference only where
    C is not symmetric.

    >>> import tapeless.numpy as jnp
    >>> symmetric_product(jnp.array([[1.0], [2.0]]), jnp.eye(2), beta=1.0)
    Array([[2., 2.],
           [2., 5.]], dtype=float32)
    """
    (out,) = symmetric_product_p.bind(a_matrix, c_matrix, alpha=float(alpha), beta=float(beta))
    if not symmetrize_output:
        return out
    return add(tril(out), transposed(tril(out, -1)))


def cholesky_update(r_matrix: Any, w_vector: Any) -> Value:
    """Return the upper triangular S with S' S = R' R + w w': R (n, n), w (n) -> (n, n).

    R: upper triangular; what is below its diagonal is not read.

    >>> import tapeless.numpy as jnp
    >>> cholesky_update(jnp.eye(2), jnp.array([1.0, 0.0])).round(3) + 0.0
    Array([[1.414, 0.   ],
           [0.   , 1.   ]], dtype=float32)
    """
    rank = typeof(r_matrix).ndim
    if rank > 2:
        raise TypeError(
            "Input 0 to cholesky_update must have a rank of exactly 2, but got "
            f"shape={typeof(r_matrix).shape}"
        )
    return triu(cholesky_update_p.bind(r_matrix, w_vector)[0])
