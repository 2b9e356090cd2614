"""The singular value decomposition: A = U diag(s) V'.

    svd: (..., n, m) -> s (..., k), U (..., n, k), V' (..., k, m);  k = min(n, m), s descending

With full matrices U is (..., n, n) and V' is (..., m, m).

With M = U' dA V and F[i, j] = 1 / (s[j]^2 - s[i]^2) off the diagonal:
    ds = diag(M),  dU = U (F * (M S + S M') + skew part of M / s),  dV = V (F * (S M + M' S))
and, where A is not square, the part of dA outside the spans of U or V.
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
from tapeless.prims.binary import add, div, mul, sub
from tapeless.prims.common import const, dtype_of, full_like, shape_of
from tapeless.prims.compare import eq
from tapeless.prims.convert import convert
from tapeless.prims.linalg.calls import Calls, identity
from tapeless.prims.linalg.lapack import Lapack, real_part
from tapeless.prims.linalg.matrices import (
    Factorisation,
    adjoint,
    check_matrix,
    columns_of,
    diagonal,
    eye,
    matmul,
    transposed,
)
from tapeless.prims.parts import real
from tapeless.prims.rules import is_complex

__all__ = ["SvdAlgorithm", "svd", "svd_p"]


class SvdAlgorithm(enum.Enum):
    """Algorithms, by JAX's names; here they are all LAPACK's divide and conquer."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"


class SVD(Factorisation):
    """A (..., n, m) -> s (..., k), and U, V' if `compute_uv`."""

    name = "svd"

    def abstract(
        self,
        a: ShapedArray,
        *,
        full_matrices: bool,
        compute_uv: bool,
        subset_by_index: Any,
        **params: Any,
    ) -> tuple[ShapedArray, ...]:
        check_matrix(self.name, a)
        batch, (n, m) = a.shape[:-2], a.shape[-2:]
        k = min(n, m)
        if subset_by_index is not None:
            k = subset_by_index[1] - subset_by_index[0]
        s = ShapedArray((*batch, k), real_part(a.dtype))
        if not compute_uv:
            return (s,)
        left, right = (n, m) if full_matrices else (k, k)
        return s, a.update(shape=(*batch, n, left)), a.update(shape=(*batch, right, m))

    def jvp(self, primals: Values, tangents: Sequence[Value | Zero], **params: Any) -> tuple:
        (a,), (da,) = primals, tangents
        if isinstance(da, Zero):
            outs = self.bind(a, **params)
            return outs, tuple(Zero(typeof(out).tangent()) for out in outs)
        n, m = shape_of(a)[-2:]
        if params["compute_uv"] and params["full_matrices"] and n != m:
            raise NotImplementedError(
                "Singular value decomposition JVP not implemented for full matrices"
            )
        if params["subset_by_index"] not in (None, (0, min(n, m))):
            raise NotImplementedError(
                "Singular value decomposition JVP not implemented for partial SVD."
            )
        whole = {**params, "compute_uv": True, "full_matrices": False}
        outs = self.bind(a, **whole)
        s, u, vt = outs
        tangents_out = _tangents(s, u, vt, da)
        kept = 3 if params["compute_uv"] else 1
        return tuple(outs)[:kept], tangents_out[:kept]

    def lower(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        compute_uv: bool,
        full_matrices: bool,
        subset_by_index: Any,
        **params: Any,
    ) -> tuple:
        routines = Lapack(b, args[0].dtype)
        source = routines.flat(args[0])
        count, n, m = source.shape
        k = min(n, m)
        left, right = (n, m) if full_matrices else (k, k)
        results = [routines.out(out, 1 if i == 0 else 2) for i, out in enumerate(outs)]
        flats = [flat for _, flat in results]
        first = 0 if subset_by_index is None else subset_by_index[0]
        matrix, values = routines.scratch(m, n), routines.scratch(k, dtype=routines.real)
        u, vt = routines.scratch(left, n), routines.scratch(m, right)
        job = ("A" if full_matrices else "S") if compute_uv else "N"
        spaces = _work(routines, n, m)

        def one(i: Any) -> None:
            """Decompose one matrix."""
            routines.columns(matrix, source, i)
            sizes = (n, m, matrix, max(1, n), values)
            vectors = (u, max(1, n), vt, max(1, right))
            routines.call("gesdd", job, *sizes, *vectors, *spaces)
            s = flats[0]
            b.loop(s.shape[1], lambda j: b.store(s, (i, j), values.at(b.iadd(j, first))))
            if compute_uv:
                _keep_vectors(b, i, flats[1], u, (0, 0 if full_matrices else first))
                _keep_vectors(b, i, flats[2], vt, (0 if full_matrices else first, 0))
            routines.spoil(i, *flats)

        if source.aval.size:
            routines.each(count, one)
        elif compute_uv and full_matrices:
            _identities(b, flats[1:])
        return tuple(value for value, _ in results)

    def hlo(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        compute_uv: bool,
        full_matrices: bool,
        subset_by_index: Any,
        algorithm: SvdAlgorithm | None,
    ) -> tuple:
        a = args[0].aval
        batch, (n, m) = a.shape[:-2], a.shape[-2:]
        k = min(n, m)
        left, right = (n, m) if full_matrices else (k, k)
        calls = Calls(b, a.dtype, batch)
        results = [
            a,
            outs[0].update(shape=(*batch, k)),
            a.update(shape=(*batch, n, left)),
            a.update(shape=(*batch, right, m)),
            calls.info,
        ]
        routine = "gesvd" if algorithm is SvdAlgorithm.QR else "gesdd"
        mode = {"mode": ("A" if full_matrices else "S") if compute_uv else "N"}
        _, s, u, vt, info = calls.call(routine, args, results, mode, {0: 0})
        last, window = a.ndim - 1, subset_by_index or (0, k)
        if a.size == 0 and full_matrices:
            u, vt = (identity(b, out) for out in results[2:4])
        values = calls.valid(info, [s, u, vt] if compute_uv else [s])
        s, *vectors = values
        if vectors and not full_matrices:
            u, vt = vectors
            vectors = [b.cut(u, last, *window), b.cut(vt, last - 1, *window)]
        return b.cut(s, last - 1, *window), *vectors

    def reference(
        self, a: np.ndarray, *, compute_uv: bool, full_matrices: bool, **params: Any
    ) -> tuple:
        if not compute_uv:
            return (np.linalg.svd(a, compute_uv=False),)
        u, s, vt = np.linalg.svd(a, full_matrices)
        return s, u, vt


def _work(routines: Lapack, n: int, m: int) -> list[Any]:
    """Return the work space arguments of gesdd."""
    small, large = min(n, m), max(n, m)
    room = 4 * small * small + 7 * small + large + 64 * (small + large)
    spaces = [routines.scratch(room), room]
    if routines.complex:
        reals = small * max(5 * small + 7, 2 * large + 2 * small + 1)
        spaces.append(routines.scratch(reals, dtype=routines.real))
    return [*spaces, routines.integers(8 * small)]


def _keep_vectors(b: Any, i: Any, target: Any, source: Any, start: tuple[int, int]) -> None:
    """Store part of a scratch matrix, kept by columns, as matrix i of `target`."""

    def keep(index: Sequence[Any]) -> None:
        """Store one element."""
        place = tuple(b.iadd(at, first) for at, first in zip(index, start, strict=True))
        b.store(target, (i, *index), source.at(*place[::-1]))

    b.nest(target.shape[1:], keep)


def _identities(b: Any, targets: Sequence[Any]) -> None:
    """Store identity matrices: the vectors of an empty matrix."""
    for target in targets:
        one, zero = b.const(1, target.dtype), b.const(0, target.dtype)

        def store(
            index: Sequence[Any], target: Any = target, one: Any = one, zero: Any = zero
        ) -> None:
            """Store one element."""
            same = b.eq(b.affine(index[1]), b.affine(index[2]))
            b.store(target, index, b.select(same, one, zero))

        if target.aval.size:
            b.nest(target.shape, store)


def _tangents(s: Value, u: Value, vt: Value, da: Value) -> tuple[Value, Value, Value]:
    """Return the tangents of s, U and V' of the reduced decomposition."""
    dtype = dtype_of(u)
    ut, v = adjoint(u), adjoint(vt)
    row = columns_of(s)
    column = transposed(row)
    inner = matmul(matmul(ut, da), v)
    ds = diagonal(inner)
    ds = real(ds) if is_complex(dtype) else ds
    unit = eye((*shape_of(s), shape_of(s)[-1]), dtype_of(s))
    gaps = mul(add(row, column), sub(row, column))
    one = const(s, 1)
    factor = convert(sub(div(one, add(gaps, unit)), unit), dtype)
    by_row = mul(convert(row, dtype), inner)
    by_column = mul(convert(column, dtype), inner)
    zeros = convert(eq(s, full_like(s, 0)), dtype_of(s))
    inverse = convert(sub(div(one, add(s, zeros)), zeros), dtype)
    skew = mul(sub(inner, adjoint(inner)), const(inner, 0.5))
    phase = mul(mul(skew, convert(unit, dtype)), columns_of(inverse))
    du = matmul(u, add(mul(factor, add(by_row, adjoint(by_row))), phase))
    dv = matmul(v, mul(factor, add(by_column, adjoint(by_column))))
    n, m = shape_of(u)[-2], shape_of(vt)[-1]
    if n > m:
        part = matmul(da, v)
        outside = sub(part, matmul(u, matmul(ut, part)))
        du = add(du, mul(outside, columns_of(inverse)))
    if m > n:
        part = matmul(adjoint(da), u)
        outside = sub(part, matmul(v, matmul(vt, part)))
        dv = add(dv, mul(outside, columns_of(inverse)))
    return ds, du, adjoint(dv)


svd_p = SVD()


def svd(
    x: Value,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Value | tuple[Value, Value, Value]:
    """Return U, s, V' with x = U diag(s) V'; only s if not `compute_uv`.

    x: (..., n, m) -> (..., n, n), (..., k), (..., m, m), or not `full_matrices` (..., n, k),
    (..., k), (..., k, m); k = min(n, m).

    >>> lax.linalg.svd(jnp.array([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False)
    Array([4., 3.], dtype=float32)
    """
    outs = svd_p.bind(
        x,
        algorithm=algorithm,
        compute_uv=compute_uv,
        full_matrices=full_matrices,
        subset_by_index=subset_by_index,
    )
    if not compute_uv:
        return outs[0]
    s, u, vt = outs
    return u, s, vt
