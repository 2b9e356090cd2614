"""Eigenvalues and eigenvectors of Hermitian matrices: A V = V diag(w).

    eigh: (..., n, n) -> V (..., n, n), w (..., n), ascending

One triangle of A is read.  With F[i, j] = 1 / (w[j] - w[i]) off the diagonal and M = V' dA V,
dV = V (F * M) and dw = diag(M).
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.linear import Zero
from tapeless.core.primitive import Values
from tapeless.core.trace import Value
from tapeless.prims.binary import add, mul, sub
from tapeless.prims.common import dtype_of, shape_of
from tapeless.prims.convert import convert
from tapeless.prims.linalg.calls import Calls
from tapeless.prims.linalg.lapack import Lapack, real_part
from tapeless.prims.linalg.matrices import (
    Factorisation,
    adjoint,
    check_matrix,
    check_square,
    columns_of,
    diagonal,
    eye,
    matmul,
    symmetrize,
    transposed,
)
from tapeless.prims.parts import real
from tapeless.prims.rules import is_complex
from tapeless.prims.unary import reciprocal

__all__ = ["EighImplementation", "eigh", "eigh_p"]


class EighImplementation(enum.Enum):
    """Algorithms, by JAX's names; here they are all LAPACK's divide and conquer."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class Eigh(Factorisation):
    """A (..., n, n) -> V (..., n, k), w (..., k)."""

    name = "eigh"

    def abstract(
        self, a: ShapedArray, *, subset_by_index: tuple[int, int] | None, **params: Any
    ) -> tuple[ShapedArray, ...]:
        check_matrix(self.name, a)
        check_square(self.name, a.shape)
        n = a.shape[-1]
        k = n if subset_by_index is None else subset_by_index[1] - subset_by_index[0]
        w = ShapedArray((*a.shape[:-2], k), real_part(a.dtype))
        return a.update(shape=(*a.shape[:-1], k)), w

    def jvp(self, primals: Values, tangents: Sequence[Value | Zero], **params: Any) -> tuple:
        outs = self.bind(symmetrize(primals[0]), **params)
        v, w = outs
        if isinstance(tangents[0], Zero):
            return outs, tuple(Zero(typeof(out).tangent()) for out in outs)
        if params["subset_by_index"] not in (None, (0, shape_of(primals[0])[-1])):
            raise NotImplementedError("Derivatives not defined for partial eigen decomposition.")
        dtype = dtype_of(v)
        square = shape_of(v)
        unit = eye(square, dtype)
        row = columns_of(convert(w, dtype))
        gaps = reciprocal(add(sub(row, transposed(row)), unit))
        inner = matmul(matmul(adjoint(v), tangents[0]), v)
        dv = matmul(v, mul(sub(gaps, unit), inner))
        dw = diagonal(inner)
        return outs, (dv, real(dw) if is_complex(dtype) else dw)

    def lower(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        lower: bool,
        subset_by_index: tuple[int, int] | None,
        **params: Any,
    ) -> tuple:
        routines = Lapack(b, outs[0].dtype)
        source = routines.flat(args[0])
        v, v_flat = routines.out(outs[0])
        w, w_flat = routines.out(outs[1], 1)
        count, n, _ = source.shape
        first = 0 if subset_by_index is None else subset_by_index[0]
        scratch, values = routines.scratch(n, n), routines.scratch(n, dtype=routines.real)
        room, integers = 1 + 6 * n + 2 * n * n, 3 + 5 * n
        spaces = [routines.scratch(room), room]
        if routines.complex:
            reals = 1 + 5 * n + 2 * n * n
            spaces += [routines.scratch(reals, dtype=routines.real), reals]
        spaces += [routines.integers(integers), integers]
        name = "heevd" if routines.complex else "syevd"

        def one(i: Any) -> None:
            """Decompose one matrix."""
            routines.columns(scratch, source, i)
            triangle = "L" if lower else "U"
            routines.call(name, "V", triangle, n, scratch, max(1, n), values, *spaces)

            def keep(index: Sequence[Any]) -> None:
                """Store an element of an eigenvector."""
                element = scratch.at(b.iadd(index[1], first), index[0])
                b.store(v_flat, (i, *index), element)

            b.nest(v_flat.shape[1:], keep)
            b.loop(w_flat.shape[1], lambda j: b.store(w_flat, (i, j), values.at(b.iadd(j, first))))
            routines.spoil(i, v_flat, w_flat)

        if outs[0].size:
            routines.each(count, one)
        return v, w

    def hlo(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        lower: bool,
        subset_by_index: tuple[int, int] | None,
        **params: Any,
    ) -> tuple:
        a = args[0].aval
        calls = Calls(b, a.dtype, a.shape[:-2])
        values = outs[1].update(shape=a.shape[:-1])
        config = {"mode": "V", "uplo": "L" if lower else "U"}
        routine = "heevd" if calls.complex else "syevd"
        v, w, info = calls.call(routine, args, [a, values, calls.info], config, {0: 0})
        last, window = a.ndim - 1, subset_by_index or (0, a.shape[-1])
        v, w = calls.valid(info, [v, w])
        return b.cut(v, last, *window), b.cut(w, last - 1, *window)

    def reference(self, a: np.ndarray, *, lower: bool, **params: Any) -> tuple:
        w, v = np.linalg.eigh(a, "L" if lower else "U")
        return v, w


eigh_p = Eigh()


def eigh(
    x: Value,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Value, Value]:
    """Return eigenvectors (columns) and ascending eigenvalues of Hermitian matrices.

    x: (..., n, n) -> (..., n, n), real (..., n).
    symmetrize_input: replace x by (x + x') / 2 first; else one triangle is read.
    subset_by_index: the range [start, stop) of eigenvalues that is wanted.

    >>> lax.linalg.eigh(jnp.array([[2.0, 1.0], [1.0, 2.0]]))[1].round(3)
    Array([1., 3.], dtype=float32)
    """
    check_square("eigh", shape_of(x))
    v, w = eigh_p.bind(
        symmetrize(x) if symmetrize_input else x,
        algorithm=implementation,
        lower=lower,
        sort_eigenvalues=sort_eigenvalues,
        subset_by_index=subset_by_index,
    )
    return v, w
