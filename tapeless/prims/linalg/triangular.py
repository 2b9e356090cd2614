"""Triangular systems: X with op(A) X = B, or X op(A) = B; A is triangular.

    triangular_solve[left_side lower transpose_a conjugate_a unit_diagonal]
        (n, n), (n, m) -> (n, m)

Linear in B; the transpose solves with the transposed matrix.  dX solves op(A) dX = dB - op(dA) X.

The solver sees the memory of A as its transpose, and that of B too, so that sides and triangles
exchange and no element is copied but B's, which X replaces.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.linear import Linear, Zero
from tapeless.core.primitive import Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.blas import BLAS_LETTER, number
from tapeless.prims.common import add_tangents, batch_dim, move_dim, shape_of
from tapeless.prims.linalg.calls import Calls
from tapeless.prims.linalg.lapack import Lapack
from tapeless.prims.linalg.matrices import (
    Factorisation,
    check_matrix,
    matmul,
    transposed,
    tril,
    triu,
)
from tapeless.prims.linalg.small import is_small, small_operand, small_solve
from tapeless.prims.parts import conj
from tapeless.prims.rules import is_complex
from tapeless.prims.structural import expand_dims, reshape, squeeze
from tapeless.prims.unary import neg

__all__ = ["triangular_solve", "triangular_solve_p"]


class TriangularSolve(Factorisation):
    """A: (..., n, n), B: (..., n, m) or, on the other side, (..., m, n) -> X like B."""

    name = "triangular_solve"

    def abstract(self, a: ShapedArray, y: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        check_matrix(self.name, a, 0, (np.floating, np.complexfloating))
        check_matrix(self.name, y, 1, (np.floating, np.complexfloating))
        if a.shape[-1] != a.shape[-2]:
            raise ValueError(
                f"The first input to triangular_solve must be a square matrix. Got shape {a.shape}."
            )
        if a.shape[:-2] != y.shape[:-2]:
            raise TypeError(
                "triangular_solve requires both arguments to have the same number of dimensions "
                f"and equal batch dimensions, got {a.shape} and {y.shape}."
            )
        if y.shape[-2 if params["left_side"] else -1] != a.shape[-1]:
            raise ValueError(
                f"Incompatible shapes for arguments to triangular_solve: {a.shape} and {y.shape}."
            )
        return (y,)

    def jvp(self, primals: Values, tangents: Sequence[Value | Zero], **params: Any) -> tuple:
        (a, y), (da, dy) = primals, tangents
        (x,) = self.bind(a, y, **params)
        total = Zero(typeof(x).tangent())
        if not isinstance(da, Zero):
            k = 1 if params["unit_diagonal"] else 0
            da = neg(tril(da, -k) if params["lower"] else triu(da, k))
            if params["transpose_a"]:
                da = transposed(da)
            if params["conjugate_a"]:
                da = conj(da)
            change = matmul(da, x) if params["left_side"] else matmul(x, da)
            (total,) = self.bind(a, change, **params)
        if not isinstance(dy, Zero):
            total = add_tangents(total, self.bind(a, dy, **params)[0])
        return (x,), (total,)

    def transpose(self, cotangents: Sequence[Value | Zero], args: Sequence, **params: Any) -> tuple:
        (ct,), (a, y) = cotangents, args
        if isinstance(a, Linear):
            raise NotImplementedError("triangular_solve is not linear in its first argument")
        if isinstance(ct, Zero):
            return None, Zero(y.aval)
        flipped = {**params, "transpose_a": not params["transpose_a"]}
        return None, self.bind(a, ct, **flipped)[0]

    def batch(self, axis: Axis, args: Values, dims: Sequence[int | None], **params: Any) -> tuple:
        (a, y), (a_dim, _) = args, dims
        if a_dim is not None or len(shape_of(a)) > 2:
            return super().batch(axis, args, dims, **params)
        # One matrix for all rows: they become more right-hand sides.
        last = params["left_side"]
        y = move_dim(y, batch_dim(dims), 2 if last else 0)
        shape = shape_of(y)
        wide = (shape[0], shape[1] * shape[2]) if last else (shape[0] * shape[1], shape[2])
        (x,) = self.bind(a, reshape(y, wide), **params)
        return (reshape(x, shape),), (2 if last else 0,)

    def lower(self, b: Any, args: Sequence, outs: tuple, **params: Any) -> tuple:
        a, y = args
        if outs[0].dtype not in BLAS_LETTER:
            wide = [_converted(b, x, np.dtype(np.float32)) for x in args]
            (x,) = self.lower(b, wide, (wide[1].aval,), **params)
            return (_converted(b, x, outs[0].dtype),)
        routines = Lapack(b, outs[0].dtype)
        if is_small(a.aval) and outs[0].size:
            target, x_flat = routines.out(outs[0])
            _solve_small(b, small_operand(b, a), small_operand(b, y), x_flat, **params)
            return (target,)
        target = b.writable(y)
        if outs[0].size == 0:
            return (target,)
        if params["conjugate_a"] and not params["transpose_a"]:
            old = a
            a = b.virtual(old.aval, lambda index: b.conj(old.at(*index)))
        a_flat, x_flat = routines.flat(a), routines.flat(target)
        count, rows, columns = x_flat.shape
        n = a_flat.shape[1]
        side = "R" if params["left_side"] else "L"
        triangle = "U" if params["lower"] else "L"
        adjoint = params["conjugate_a"] and is_complex(outs[0].dtype)
        change = ("C" if adjoint else "T") if params["transpose_a"] else "N"
        unit = "U" if params["unit_diagonal"] else "N"
        one = number(b, 1, outs[0].dtype)

        def solve(i: Any) -> None:
            """Solve one system in place."""
            matrix, sides = (a_flat, b.imul(i, n * n)), (x_flat, b.imul(i, rows * columns))
            flags = (side, triangle, change, unit)
            sizes = (columns, rows, one, matrix, n, sides, columns)
            routines.call("trsm", *flags, *sizes, info=False, library="blas")

        routines.each(count, solve)
        return (target,)

    def hlo(self, b: Any, args: Sequence, outs: tuple, **params: Any) -> tuple:
        if params["conjugate_a"] and is_complex(outs[0].dtype) and not params["transpose_a"]:
            return NotImplemented
        if args[0].aval.ndim == 2 and outs[0].dtype in BLAS_LETTER:
            return _trsm(b, args, outs, **params)
        change = "NO_TRANSPOSE"
        if params["transpose_a"]:
            change = "ADJOINT" if params["conjugate_a"] else "TRANSPOSE"
        attributes = {
            name: str(params[name]).lower() for name in ("left_side", "lower", "unit_diagonal")
        }
        attributes["transpose_a"] = f"#stablehlo<transpose {change}>"
        return b.op("stablehlo.triangular_solve", args, outs, attributes)

    def decompose(self, *args: Value, **params: Any) -> tuple[Value, ...]:
        """Solve with the conjugate of the matrix."""
        a, y = args
        return self.bind(conj(a), y, **{**params, "conjugate_a": False})

    def reference(self, a: np.ndarray, y: np.ndarray, **params: Any) -> tuple:
        a = np.tril(a) if params["lower"] else np.triu(a)
        if params["unit_diagonal"]:
            n = a.shape[-1]
            a = a * (1 - np.eye(n)) + np.eye(n)
        if params["transpose_a"]:
            a = np.swapaxes(a, -1, -2)
        if params["conjugate_a"]:
            a = a.conj()
        if params["left_side"]:
            return (np.linalg.solve(a, y).astype(y.dtype),)
        flipped = np.linalg.solve(np.swapaxes(a, -1, -2), np.swapaxes(y, -1, -2))
        return (np.swapaxes(flipped, -1, -2).astype(y.dtype),)


def _converted(b: Any, x: Any, dtype: np.dtype) -> Any:
    """Return a value of the loop language in another dtype."""
    aval = x.aval.update(dtype=dtype)
    return b.virtual(aval, lambda index: b.convert(x.at(*index), dtype))


def _trsm(
    b: Any,
    args: Sequence,
    outs: tuple,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> tuple:
    """Write the call of BLAS for one system; the other compiler has an operation for batches."""
    config = {
        "side": "L" if left_side else "R",
        "uplo": "L" if lower else "U",
        "diag": "U" if unit_diagonal else "N",
        "trans_x": ("C" if conjugate_a else "T") if transpose_a else "N",
    }
    return Calls(b, outs[0].dtype, ()).call("trsm", args, outs, config, {0: 1})


def _solve_small(
    b: Any,
    a: Any,
    y: Any,
    x: Any,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> None:
    """Solve with small matrices a (count, n, n); vectors are columns of x and y, or rows."""
    turned = transpose_a is left_side  # x a = y is a' x' = y'

    def pull(index: Sequence[Any]) -> Any:
        """Return an element of the matrix whose columns are multiplied by the unknowns."""
        i, r, c = index
        element = a.at(i, c, r) if turned else a.at(i, r, c)
        return b.conj(element) if conjugate_a else element

    def entry(i: Any, vector: Any, position: Any) -> tuple[Any, ...]:
        """Return the index of an element of a vector."""
        return (i, position, vector) if left_side else (i, vector, position)

    matrix = b.virtual(a.aval, pull)
    small_solve(b, matrix, y, x, entry, lower=lower is not turned, unit=unit_diagonal)


triangular_solve_p = TriangularSolve()


def triangular_solve(
    a: Value,
    b: Value,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Value:
    """Return X with op(A) X = B if `left_side`, else X op(A) = B.

    a: (..., n, n), of which only one triangle is read; b: (..., n, m), (..., m, n), or (..., n)
    -> the shape of b.

    >>> lax.linalg.triangular_solve(jnp.array([[2.0, 0.0], [1.0, 4.0]]), jnp.array([[2.0],
    ...     [9.0]]), left_side=True, lower=True)
    Array([[1.],
           [2.]], dtype=float32)
    """
    vector = len(shape_of(b)) == len(shape_of(a)) - 1
    if vector:
        b = expand_dims(b, (len(shape_of(b)) if left_side else len(shape_of(b)) - 1,))
    (x,) = triangular_solve_p.bind(
        a,
        b,
        conjugate_a=conjugate_a and is_complex(typeof(a).dtype),
        left_side=left_side,
        lower=lower,
        transpose_a=transpose_a,
        unit_diagonal=unit_diagonal,
    )
    if vector:
        x = squeeze(x, (len(shape_of(x)) - (1 if left_side else 2),))
    return x
