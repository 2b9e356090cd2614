"""The QR factorisation, A = Q R: orthonormal columns and an upper triangle.

    qr[full_matrices=False]: (..., n, m) -> Q (..., n, k), R (..., k, m);  k = min(n, m)
    qr[full_matrices=True]:  (..., n, m) -> Q (..., n, n), R (..., n, m)

With pivoting, the columns A[:, p] are factored, and p (..., m) is the third result.
`householder_product` makes Q of the reflectors that LAPACK leaves below the diagonal, `ormqr`
multiplies by it.

For n >= m, with C = dA R^-1 and D = Q' C: dQ = Q (W - D) + C and dR = (D - W) R, where W is the
skew-Hermitian matrix with the lower triangle of D.  For n < m that is so of the first n columns,
and dR = Q' (dA - dQ R) of the others.  Columns of Q beyond the m-th are what the
reflectors of the factorisation make of the identity.
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
from tapeless.prims.binary import add, mul, sub
from tapeless.prims.common import dtype_of, full_like, shape_of
from tapeless.prims.convert import convert
from tapeless.prims.join import concatenate
from tapeless.prims.linalg.calls import Calls, upper_triangle
from tapeless.prims.linalg.lapack import Lapack
from tapeless.prims.linalg.lu import permuted_columns, solve_square
from tapeless.prims.linalg.matrices import (
    Factorisation,
    adjoint,
    check_matrix,
    eye,
    matmul,
    tril,
)
from tapeless.prims.linalg.triangular import triangular_solve
from tapeless.prims.parts import real
from tapeless.prims.rearrangement import array_text
from tapeless.prims.rules import is_complex
from tapeless.prims.select import select_n
from tapeless.prims.slice import slice_in_dim
from tapeless.prims.unary import abs, is_finite

__all__ = [
    "geqrf",
    "geqrf_p",
    "householder_product",
    "householder_product_p",
    "ormqr",
    "ormqr_p",
    "qr",
    "qr_p",
]

BLOCK = 64  # columns that LAPACK treats together; sizes its work space


def _factor(
    routines: Lapack,
    matrix: Any,
    taus: Any,
    sizes: Sequence[int],
    pivots: Any,
) -> None:
    """Factor a matrix (n, m) by columns in place; pivots: memory (m), or None."""
    n, m = sizes
    room = max(1, 2 * m + (m + 1) * BLOCK)
    work = routines.scratch(room)
    if pivots is None:
        routines.call("geqrf", n, m, matrix, max(1, n), taus, work, room)
        return
    b = routines.b
    b.loop(
        m,
        lambda j: b.store(pivots, j, b.const(0, np.dtype(np.int32))),
    )
    extra = (routines.scratch(2 * m, dtype=routines.real),) if routines.complex else ()
    routines.call(
        "geqp3",
        n,
        m,
        matrix,
        max(1, n),
        pivots,
        taus,
        work,
        room,
        *extra,
    )


def _make_q(routines: Lapack, matrix: Any, taus: Any, sizes: Sequence[int]) -> None:
    """Turn k reflectors in (n, k') by columns into the columns of Q, in place."""
    n, columns, k = sizes
    room = max(1, columns * BLOCK)
    work = routines.scratch(room)
    name = "ungqr" if routines.complex else "orgqr"
    routines.call(name, n, columns, k, matrix, max(1, n), taus, work, room)


class QR(Factorisation):
    """A (..., n, m) -> Q, R, and with pivoting the int32 permutation of columns."""

    name = "qr"

    def abstract(
        self,
        a: ShapedArray,
        *,
        full_matrices: bool,
        pivoting: bool,
        **params: Any,
    ) -> tuple[ShapedArray, ...]:
        check_matrix(self.name, a)
        batch, (n, m) = a.shape[:-2], a.shape[-2:]
        k = n if full_matrices else min(n, m)
        factors = (
            a.update(shape=(*batch, n, k)),
            a.update(shape=(*batch, k, m)),
        )
        if not pivoting:
            return factors
        return *factors, ShapedArray((*batch, m), np.dtype(np.int32))

    def jvp(
        self,
        primals: Values,
        tangents: Sequence[Value | Zero],
        **params: Any,
    ) -> tuple:
        outs = self.bind(*primals, **params)
        if isinstance(tangents[0], Zero):
            return outs, tuple(Zero(typeof(out).tangent()) for out in outs)
        q, r, *order = outs
        da = permuted_columns(tangents[0], order[0]) if order else tangents[0]
        rest = tuple(Zero(typeof(x).tangent()) for x in order)
        return outs, (*_tangents(q, r, da), *rest)

    def lower(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        pivoting: bool,
        **params: Any,
    ) -> tuple:
        routines = Lapack(b, outs[0].dtype)
        source = routines.flat(args[0])
        q, q_flat = routines.out(outs[0])
        r, r_flat = routines.out(outs[1])
        count, n, m = source.shape
        columns = q_flat.shape[2]
        k = min(n, m)
        pivots = routines.integers(m) if pivoting else None
        order, places = routines.out(outs[2], 1) if pivoting else (None, None)
        scratch = routines.scratch(max(m, columns), n)
        taus = routines.scratch(k)

        def one(i: Any) -> None:
            """Factor one matrix."""
            routines.columns(scratch, source, i)
            _factor(routines, scratch, taus, (n, m), pivots)
            routines.rows(
                r_flat,
                i,
                scratch,
                lambda row, column: b.le(_index(b, row), column),
            )
            if columns:
                _make_q(routines, scratch, taus, (n, columns, k))
            routines.rows(q_flat, i, scratch)
            if pivots is not None:
                b.loop(
                    m,
                    lambda j: b.store(places, (i, j), b.sub(pivots.at(j), 1)),
                )

        if source.aval.size or outs[0].size:
            routines.each(count, one)
        elif places is not None and outs[2].size:
            zero = b.const(0, np.dtype(np.int32))
            b.nest(places.shape, lambda index: b.store(places, index, zero))
        return (q, r, order) if pivoting else (q, r)

    def hlo(self, b: Any, args: Sequence, outs: tuple, *, pivoting: bool, **params: Any) -> tuple:
        a, (q, r, *order) = args[0].aval, outs
        calls = Calls(b, a.dtype, a.shape[:-2])
        taus = a.update(shape=(*a.shape[:-2], min(a.shape[-2:])))
        if pivoting:
            columns = [*args, b.constant(0, order[0])]
            packed, places, scales = calls.call(
                "geqp3", columns, [a, order[0], taus], reused={0: 0, 1: 1}
            )
            first = b.constant(1 if a.size else 0, order[0])
            order = b.op("stablehlo.subtract", [places, first], order)
        else:
            packed, scales = calls.call("geqrf", args, [a, taus], reused={0: 0})
        rows = b.cut(packed, a.ndim - 2, 0, r.shape[-2])
        return _orthogonal(b, calls, packed, scales, q), upper_triangle(b, rows), *order

    def reference(self, a: np.ndarray, *, full_matrices: bool, **params: Any) -> tuple:
        return tuple(np.linalg.qr(a, "complete" if full_matrices else "reduced"))


def _tangents(q: Value, r: Value, da: Value) -> tuple[Value, Value]:
    """Return the tangents of Q (..., n, k) and R (..., k, m)."""
    if not typeof(da).size:
        return full_like(q, 0), full_like(r, 0)
    (n, m), columns, axis = shape_of(da)[-2:], shape_of(q)[-1], typeof(da).ndim - 1
    size = min(n, m)
    triangle = slice_in_dim(slice_in_dim(r, 0, size, axis=axis - 1), 0, size, axis=axis)
    right = triangular_solve(
        triangle, slice_in_dim(da, 0, size, axis=axis), left_side=False, lower=False
    )
    turned = matmul(adjoint(q), right)
    inner = slice_in_dim(turned, 0, size, axis=axis - 1)
    low = tril(inner, -1)
    skew = sub(low, adjoint(low))
    if is_complex(dtype_of(inner)):
        phase = sub(inner, convert(real(inner), dtype_of(inner)))
        skew = add(skew, mul(eye(shape_of(inner), dtype_of(inner)), phase))
    dr = matmul(sub(inner, skew), triangle)
    dq = add(matmul(slice_in_dim(q, 0, size, axis=axis), sub(skew, inner)), right)
    if columns > size:
        dq = concatenate([dq, _turn_of_the_rest(q, dq)], axis)
        below = slice_in_dim(turned, size, n, axis=axis - 1)
        dr = concatenate([dr, full_like(below, 0)], axis - 1)
    if m > n:
        others = slice_in_dim(da, n, m, axis=axis)
        moved = sub(others, matmul(dq, slice_in_dim(r, n, m, axis=axis)))
        dr = concatenate([dr, matmul(adjoint(q), moved)], axis)
    return dq, dr


def _turn_of_the_rest(q: Value, dq: Value) -> Value:
    """Return the tangent of the last columns of Q (..., n, n), given that of the first k.

    Q is a product of k reflectors, I - V T V'.  Its first columns are E - V M, with a unit lower
    triangle on top of V and M an upper triangle, and its last ones F - V M X' with X = B2 B1^-1,
    where E and F are columns of the identity and B = V M = (B1 over B2).
    """
    size, n, axis = shape_of(dq)[-1], shape_of(q)[-1], typeof(q).ndim - 1
    columns = slice_in_dim(eye(shape_of(q), dtype_of(q)), 0, size, axis=axis)
    moved = sub(columns, slice_in_dim(q, 0, size, axis=axis))
    top, low = (slice_in_dim(moved, i, j, axis=axis - 1) for i, j in ((0, size), (size, n)))
    dtop, dlow = (slice_in_dim(dq, i, j, axis=axis - 1) for i, j in ((0, size), (size, n)))
    ratio = adjoint(solve_square(adjoint(top), adjoint(low)))
    change = adjoint(solve_square(adjoint(top), adjoint(sub(matmul(ratio, dtop), dlow))))
    turn = sub(matmul(dq, adjoint(ratio)), matmul(moved, adjoint(change)))
    # A column without a reflector leaves the basis of the rest open: then it does not turn.
    return select_n(is_finite(abs(turn)), full_like(turn, 0), turn)


def _orthogonal(b: Any, calls: Calls, packed: Any, taus: Any, out: ShapedArray) -> Any:
    """Write the columns of Q, of type `out`, that reflectors (..., n, m) make."""
    last, missing = out.ndim - 1, out.shape[-1] - packed.aval.shape[-1]
    if missing > 0:
        none, more = array_text([0] * out.ndim), array_text([0] * last + [missing])
        edges = {"edge_padding_low": none, "edge_padding_high": more, "interior_padding": none}
        zero = b.constant(0, out.update(shape=()))
        (packed,) = b.op("stablehlo.pad", [packed, zero], [out], edges)
    packed = b.cut(packed, last, 0, out.shape[-1])
    return calls.call(_name_of_q(calls), [packed, taus], [out], reused={0: 0})[0]


def _name_of_q(calls: Calls) -> str:
    """Return the name of the routine that makes Q of reflectors."""
    return "ungqr" if calls.complex else "orgqr"


def _index(b: Any, i: Any) -> Any:
    """Return an index as a scalar, also where it is a Python integer."""
    return b.affine(i)


class Geqrf(Factorisation):
    """A (..., n, m) -> R with the reflectors below it (..., n, m), taus (..., k), k = min(n, m)."""

    name = "geqrf"

    def abstract(self, a: ShapedArray) -> tuple[ShapedArray, ...]:
        check_matrix(self.name, a)
        batch, (n, m) = a.shape[:-2], a.shape[-2:]
        return a, a.update(shape=(*batch, min(n, m)))

    def lower(self, b: Any, args: Sequence, outs: tuple) -> tuple:
        routines = Lapack(b, outs[0].dtype)
        source = routines.flat(args[0])
        packed, flat = routines.out(outs[0])
        taus, taus_flat = routines.out(outs[1], 1)
        count, n, m = source.shape
        k = min(n, m)
        scratch = routines.scratch(m, n)

        def one(i: Any) -> None:
            """Factor one matrix."""
            routines.columns(scratch, source, i)
            _factor(routines, scratch, (taus_flat, b.imul(i, k)), (n, m), None)
            routines.rows(flat, i, scratch)

        if outs[0].size:
            routines.each(count, one)
        return packed, taus

    def hlo(self, b: Any, args: Sequence, outs: tuple) -> tuple:
        calls = Calls(b, outs[0].dtype, outs[0].shape[:-2])
        return calls.call("geqrf", args, outs, reused={0: 0})

    def reference(self, a: np.ndarray) -> tuple:
        packed = np.empty_like(a)
        taus = np.empty((*a.shape[:-2], min(a.shape[-2:])), a.dtype)
        for index in np.ndindex(*a.shape[:-2]):
            rows, taus[index] = np.linalg.qr(a[index], "raw")
            packed[index] = rows.T
        return packed, taus


def _check_factors(name: str, taus: ShapedArray) -> None:
    """Refuse a number where there is one for each reflector, and other kinds of numbers."""
    if not dtypes.issubdtype(taus.dtype, np.inexact):
        raise TypeError(
            f"{name} does not accept dtype {dtypes.dtype_name(taus.dtype)} at position 1. Accepted "
            "dtypes at position 1 are subtypes of floating, complexfloating."
        )
    if not taus.ndim:
        raise TypeError(f"Input 1 to {name} must have rank at least 1, but got shape=()")


class HouseholderProduct(Factorisation):
    """reflectors (..., n, m), taus (..., k) -> Q (..., n, m)."""

    name = "householder_product"

    def abstract(self, a: ShapedArray, taus: ShapedArray) -> tuple[ShapedArray, ...]:
        check_matrix(self.name, a)
        _check_factors(self.name, taus)
        n, m = a.shape[-2:]
        if m > n:
            raise ValueError("The first argument to householder_product must have m >= n")
        if taus.shape[:-1] != a.shape[:-2] or taus.shape[-1] > min(n, m):
            raise ValueError(
                "The first argument to householder_product must have at least as many rows and "
                f"columns as the second has elements, got shapes {a.shape} and {taus.shape}."
            )
        return (a,)

    def lower(self, b: Any, args: Sequence, outs: tuple) -> tuple:
        routines = Lapack(b, outs[0].dtype)
        source, taus = (
            routines.flat(args[0]),
            routines.flat(args[1], 1),
        )
        q, flat = routines.out(outs[0])
        count, n, m = source.shape
        k = taus.shape[1]
        scratch = routines.scratch(m, n)

        def one(i: Any) -> None:
            """Multiply the reflectors of one matrix."""
            routines.columns(scratch, source, i)
            _make_q(routines, scratch, (taus, b.imul(i, k)), (n, m, k))
            routines.rows(flat, i, scratch)

        if outs[0].size:
            routines.each(count, one)
        return (q,)

    def hlo(self, b: Any, args: Sequence, outs: tuple) -> tuple:
        calls = Calls(b, outs[0].dtype, outs[0].shape[:-2])
        return calls.call(_name_of_q(calls), args, outs, reused={0: 0})

    def reference(self, a: np.ndarray, taus: np.ndarray) -> tuple:
        batch, (n, m) = a.shape[:-2], a.shape[-2:]
        out = np.empty_like(a)
        for index in np.ndindex(*batch):
            q = np.eye(n, dtype=a.dtype)
            for j in range(taus.shape[-1]):
                v = np.concatenate([np.zeros(j), [1], a[index][j + 1 :, j]]).astype(a.dtype)
                q = q - taus[index][j] * np.outer(q @ v, v.conj())
            out[index] = q[:, :m]
        return (out,)


class OrmQR(Factorisation):
    """reflectors (..., n, k), taus (..., k), C (..., n, m) -> Q C, or C Q, or with Q' for Q."""

    name = "ormqr"

    def abstract(
        self,
        a: ShapedArray,
        taus: ShapedArray,
        c: ShapedArray,
        *,
        left: bool,
        transpose: bool,
    ) -> tuple[ShapedArray, ...]:
        check_matrix(self.name, a)
        check_matrix(self.name, c, 2)
        _check_factors(self.name, taus)
        if a.shape[-2] != c.shape[-2 if left else -1]:
            raise ValueError(f"ormqr got incompatible shapes {a.shape} and {c.shape}.")
        return (c,)

    def lower(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        left: bool,
        transpose: bool,
    ) -> tuple:
        routines = Lapack(b, outs[0].dtype)
        source, taus, other = (
            routines.flat(args[0]),
            routines.flat(args[1], 1),
            routines.flat(args[2]),
        )
        result, flat = routines.out(outs[0])
        count, n, m = other.shape
        order, k = source.shape[1], taus.shape[1]
        reflectors = routines.scratch(source.shape[2], order)
        scratch = routines.scratch(m, n)
        room = max(1, max(n, m) * BLOCK)
        work = routines.scratch(room)
        name = "unmqr" if routines.complex else "ormqr"
        flags = (
            "L" if left else "R",
            ("C" if routines.complex else "T") if transpose else "N",
        )

        def one(i: Any) -> None:
            """Multiply one matrix."""
            routines.columns(reflectors, source, i)
            routines.columns(scratch, other, i)
            tau = (taus, b.imul(i, k))
            sizes = (
                n,
                m,
                k,
                reflectors,
                max(1, order),
                tau,
                scratch,
                max(1, n),
                work,
                room,
            )
            routines.call(name, *flags, *sizes)
            routines.rows(flat, i, scratch)

        if outs[0].size:
            routines.each(count, one)
        return (result,)

    def hlo(self, b: Any, args: Sequence, outs: tuple, **params: Any) -> tuple:
        if args[0].aval.size == 0:
            return (args[2],)
        calls = Calls(b, outs[0].dtype, outs[0].shape[:-2])
        routine = "unmqr" if calls.complex else "ormqr"
        return calls.call(routine, args, outs, params, {0: 2})

    def reference(
        self,
        a: np.ndarray,
        taus: np.ndarray,
        c: np.ndarray,
        *,
        left: bool,
        transpose: bool,
    ) -> tuple:
        n = a.shape[-2]
        square = np.zeros((*a.shape[:-1], n), a.dtype)
        square[..., : a.shape[-1]] = a
        (q,) = householder_product_p.reference(square, taus)
        q = np.swapaxes(q, -1, -2).conj() if transpose else q
        return ((q @ c if left else c @ q).astype(c.dtype),)


qr_p = QR()
geqrf_p = Geqrf()
householder_product_p = HouseholderProduct()
ormqr_p = OrmQR()


def qr(
    x: Value,
    *,
    pivoting: bool = False,
    full_matrices: bool = True,
    use_magma: bool | None = None,
) -> tuple[Value, ...]:
    """Return Q and R with x = Q R, and the permutation of columns if `pivoting`.

    x: (..., n, m) -> (..., n, n), (..., n, m), or not `full_matrices` (..., n, k), (..., k, m).

    >>> jnp.abs(lax.linalg.qr(jnp.array([[3.0, 0.0], [4.0, 5.0]]))[1]).round(3)
    Array([[5., 4.],
           [0., 3.]], dtype=float32)
    """
    return tuple(
        qr_p.bind(
            x,
            full_matrices=full_matrices,
            pivoting=pivoting,
            use_magma=use_magma,
        )
    )


def geqrf(a: Value) -> tuple[Value, Value]:
    """Return R with reflectors below its diagonal, and their factors: (..., n, m), (..., k)."""
    packed, taus = geqrf_p.bind(a)
    return packed, taus


def householder_product(a: Value, taus: Value) -> Value:
    """Return the product of reflectors: (..., n, m), (..., k) -> (..., n, m).

    >>> lax.linalg.householder_product(jnp.zeros((2, 2)), jnp.zeros(2))
    Array([[ 1.,  0.],
           [-0.,  1.]], dtype=float32)
    """
    return householder_product_p.bind(a, taus)[0]


def ormqr(
    a: Value,
    taus: Value,
    c: Value,
    *,
    left: bool = True,
    transpose: bool = False,
) -> Value:
    """Return Q c (`left`) or c Q, Q (`transpose`: Q') the product of the reflectors a, taus.

    a: (m, k), taus: (k), c: (m, n) -> (m, n).

    >>> lax.linalg.ormqr(jnp.zeros((2, 2)), jnp.zeros(2), jnp.ones((2, 1)))
    Array([[1.],
           [1.]], dtype=float32)
    """
    return ormqr_p.bind(a, taus, c, left=left, transpose=transpose)[0]
