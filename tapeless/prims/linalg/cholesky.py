"""The Cholesky factor: the lower triangular L with L L' = A, for positive definite A.

    cholesky: (..., n, n) -> (..., n, n)

Only the lower triangle of A is read.  dL = L phi(L^-1 dA L^-'), where phi keeps the lower triangle
and halves its diagonal.  LAPACK reads rows as columns.  It could find U = L' and move nothing,
but takes 1.3 to 1.5 times as long as for L, so that it gets the transpose, and what it found is
read across.  A matrix that is not positive definite gives NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless.core.aval import ShapedArray
from tapeless.core.linear import Zero
from tapeless.core.primitive import Values
from tapeless.core.trace import Value
from tapeless.prims.binary import add, div
from tapeless.prims.common import const, dtype_of, shape_of
from tapeless.prims.linalg.calls import Calls
from tapeless.prims.linalg.lapack import Lapack
from tapeless.prims.linalg.matrices import (
    Factorisation,
    adjoint,
    check_matrix,
    check_square,
    eye,
    matmul,
    symmetrize,
    tril,
)
from tapeless.prims.linalg.small import is_small, small_cholesky, small_operand
from tapeless.prims.linalg.triangular import triangular_solve
from tapeless.prims.rules import tangent_of

__all__ = ["cholesky", "cholesky_p"]


class Cholesky(Factorisation):
    """A (..., n, n) -> L, whose upper triangle is undefined."""

    name = "cholesky"

    def abstract(self, a: ShapedArray) -> tuple[ShapedArray, ...]:
        check_matrix(self.name, a)
        check_square(self.name, a.shape)
        return (a,)

    def jvp(self, primals: Values, tangents: Sequence[Value | Zero]) -> tuple:
        (out,) = self.bind(*primals)
        factor = tril(out)
        return (factor,), (tangent_of(lambda da: _tangent(factor, da), tangents[0], out),)

    def lower(self, b: Any, args: Sequence, outs: tuple) -> tuple:
        (a,), (out,) = args, outs
        routines = Lapack(b, out.dtype)
        if is_small(out):
            target, flat = routines.out(out)
            small_cholesky(b, small_operand(b, a), flat)
            return (target,)
        target = b.writable(_flipped(b, a))
        flat = routines.flat(target)
        count, n, _ = flat.shape
        if out.size == 0:
            return (target,)

        def factor(i: Any) -> None:
            """Factor one matrix in place."""
            routines.call("potrf", "L", n, (flat, b.imul(i, n * n)), n)
            routines.spoil(i, flat)

        routines.each(count, factor)
        return (_flipped(b, target),)

    def hlo(self, b: Any, args: Sequence, outs: tuple) -> tuple:
        (out,) = outs
        calls = Calls(b, out.dtype, out.shape[:-2])
        results = [out, calls.info]
        factor, info = calls.call("potrf", args, results, {"uplo": "L"}, {0: 0})
        return calls.valid(info, [factor])

    def reference(self, a: np.ndarray) -> tuple:
        lower = np.tril(a)
        full = lower + np.swapaxes(np.tril(a, -1), -1, -2).conj()
        return (np.linalg.cholesky(full).astype(a.dtype),)


def _flipped(b: Any, x: Any) -> Any:
    """Return the transposed matrices, which are not stored."""
    aval = ShapedArray(x.shape, x.dtype)
    return b.virtual(aval, lambda index: x.at(*index[:-2], index[-1], index[-2]))


def _tangent(factor: Value, da: Value) -> Value:
    """Return dL."""
    sym = add(tril(da), adjoint(tril(da, -1)))
    right = triangular_solve(
        factor, sym, left_side=False, transpose_a=True, conjugate_a=True, lower=True
    )
    inner = tril(triangular_solve(factor, right, left_side=True, lower=True))
    halves = add(const(da, 1), eye(shape_of(da), dtype_of(da)))
    return tril(matmul(factor, div(inner, halves)))


cholesky_p = Cholesky()


def cholesky(x: Value, *, symmetrize_input: bool = True) -> Value:
    """Return the lower Cholesky factors: (..., n, n) -> (..., n, n).

    symmetrize_input: replace x by (x + x') / 2 first, which makes derivatives symmetric.

    >>> lax.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
    Array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    check_square("cholesky", shape_of(x))
    return tril(cholesky_p.bind(symmetrize(x) if symmetrize_input else x)[0])
