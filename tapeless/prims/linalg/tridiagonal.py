"""Tridiagonal matrices: reduction of Hermitian matrices to them, and systems with them.

    tridiagonal        (..., n, n) -> reflectors (..., n, n), d (..., n), e and taus (..., n-1)
    tridiagonal_solve  dl, d, du (..., n), B (..., n, m) -> X (..., n, m)

A system has dl[i] X[i-1] + d[i] X[i] + du[i] X[i+1] = B[i]; dl[0] and du[n-1] are not read.  It is
solved without exchanges: down the rows, eliminating dl, then up.  Linear in B; the transpose solves
with dl and du exchanged, and dX solves the same system for dB - dA X.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.linear import Linear, Zero
from tapeless.core.primitive import Values
from tapeless.core.trace import Value
from tapeless.prims.binary import mul
from tapeless.prims.common import add_tangents, const, shape_of
from tapeless.prims.linalg.calls import Calls
from tapeless.prims.linalg.lapack import Lapack, real_part
from tapeless.prims.linalg.matrices import (
    Factorisation,
    check_matrix,
    check_square,
)
from tapeless.prims.slice import pad
from tapeless.prims.structural import expand_dims
from tapeless.prims.unary import neg
from tapeless.util import lazy

__all__ = [
    "tridiagonal",
    "tridiagonal_p",
    "tridiagonal_solve",
    "tridiagonal_solve_p",
]

_lapack = lazy.load("scipy.linalg.lapack")


class Tridiagonal(Factorisation):
    """A (..., n, n) -> reflectors with T, d (..., n), e (..., n-1), taus (..., n-1)."""

    name = "tridiagonal"

    def abstract(self, a: ShapedArray, *, lower: bool) -> tuple[ShapedArray, ...]:
        check_matrix(self.name, a)
        check_square(self.name, a.shape)
        batch, n = a.shape[:-2], a.shape[-1]
        real = real_part(a.dtype)
        off = (*batch, max(n - 1, 0))
        return (
            a,
            ShapedArray((*batch, n), real),
            ShapedArray(off, real),
            a.update(shape=off),
        )

    def lower(self, b: Any, args: Sequence, outs: tuple, *, lower: bool) -> tuple:
        routines = Lapack(b, args[0].dtype)
        source = routines.flat(args[0])
        results = [routines.out(out, 2 if i == 0 else 1) for i, out in enumerate(outs)]
        flats = [flat for _, flat in results]
        count, n, _ = source.shape
        matrix = routines.scratch(n, n)
        d, e = (routines.scratch(n, dtype=routines.real) for _ in range(2))
        taus = routines.scratch(n)
        room = max(1, 64 * n)
        work = routines.scratch(room)
        name = "hetrd" if routines.complex else "sytrd"

        def one(i: Any) -> None:
            """Reduce one matrix."""
            routines.columns(matrix, source, i)
            triangle = "L" if lower else "U"
            routines.call(
                name,
                triangle,
                n,
                matrix,
                max(1, n),
                d,
                e,
                taus,
                work,
                room,
            )
            routines.rows(flats[0], i, matrix)
            for flat, scratch in zip(flats[1:], (d, e, taus), strict=True):
                _store_line(b, i, flat, scratch)

        if outs[0].size:
            routines.each(count, one)
        return tuple(value for value, _ in results)

    def hlo(self, b: Any, args: Sequence, outs: tuple, *, lower: bool) -> tuple:
        calls = Calls(b, outs[0].dtype, outs[0].shape[:-2])
        routine = "hetrd" if calls.complex else "sytrd"
        config = {"uplo": "L" if lower else "U"}
        *results, info = calls.call(routine, args, [*outs, calls.info], config, {0: 0})
        return calls.valid(info, results)

    def reference(self, a: np.ndarray, *, lower: bool) -> tuple:
        name = "hetrd" if np.iscomplexobj(a) else "sytrd"
        routine = _lapack.get_lapack_funcs(name, (a,))
        outs = [np.empty(aval.shape, aval.dtype) for aval in self.abstract(typeof(a), lower=lower)]
        for index in np.ndindex(*a.shape[:-2]):
            for out, value in zip(
                outs,
                routine(a[index], lower=int(lower)),
                strict=False,
            ):
                out[index] = value
        return tuple(outs)


def _store_line(b: Any, i: Any, target: Any, scratch: Any) -> None:
    """Store a vector as row i of `target`."""
    b.loop(
        target.shape[1],
        lambda j: b.store(target, (i, j), scratch.at(j)),
    )


class TridiagonalSolve(Factorisation):
    """dl, d, du (..., n), B (..., n, m) -> X (..., n, m)."""

    name = "tridiagonal_solve"

    def abstract(
        self,
        dl: ShapedArray,
        d: ShapedArray,
        du: ShapedArray,
        y: ShapedArray,
        **params: Any,
    ) -> tuple[ShapedArray, ...]:
        check_matrix(self.name, y, 3)
        kinds = [dtypes.dtype_name(each.dtype) for each in (dl, d, du, y)]
        if len(set(kinds)) > 1:
            raise TypeError(
                f"tridiagonal_solve requires arguments to have the same dtypes, got {kinds}."
            )
        if not dl.shape == d.shape == du.shape:
            raise TypeError(
                "tridiagonal_solve requires that all diagonal arguments have the same shape."
            )
        if d.shape != y.shape[:-1]:
            raise TypeError(
                "tridiagonal_solve requires that the leading ndim-1 dimensions of b equal the "
                "dimensions of the diagonal arguments."
            )
        return (y,)

    def jvp(
        self,
        primals: Values,
        tangents: Sequence[Value | Zero],
        **params: Any,
    ) -> tuple:
        dl, d, du, y = primals
        (x,) = self.bind(*primals, **params)
        total = tangents[3]
        for tangent, offset in zip(tangents[:3], (-1, 0, 1), strict=True):
            if not isinstance(tangent, Zero):
                column = expand_dims(tangent, (len(shape_of(tangent)),))
                total = add_tangents(total, neg(mul(column, _rows_shifted(x, offset))))
        if isinstance(total, Zero):
            return (x,), (Zero(typeof(x).tangent()),)
        return (x,), self.bind(dl, d, du, total, **params)

    def transpose(
        self,
        cotangents: Sequence[Value | Zero],
        args: Sequence,
        **params: Any,
    ) -> tuple:
        (ct,), (dl, d, du, y) = cotangents, args
        if any(isinstance(x, Linear) for x in (dl, d, du)):
            raise NotImplementedError("tridiagonal_solve is linear in its last argument only")
        if isinstance(ct, Zero):
            return None, None, None, Zero(y.aval)
        below, above = _line_shifted(du, -1), _line_shifted(dl, 1)
        return (
            None,
            None,
            None,
            self.bind(below, d, above, ct, **params)[0],
        )

    def lower(self, b: Any, args: Sequence, outs: tuple, **params: Any) -> tuple:
        (out,) = outs
        target = b.buffer(out)
        if out.size:
            scaled = b.buffer(ShapedArray(out.shape[:-1], out.dtype))
            b.nest(
                out.shape[:-2],
                lambda batch: _solve_one(b, args, target, scaled, batch),
            )
        return (target,)

    def hlo(self, b: Any, args: Sequence, outs: tuple, **params: Any) -> tuple:
        calls = Calls(b, outs[0].dtype, outs[0].shape[:-2])
        results = [*(arg.aval for arg in args), calls.info]
        same = {position: position for position in range(len(args))}
        *_, x, info = calls.call("gtsv", args, results, reused=same)
        return calls.valid(info, [x])

    def reference(
        self,
        dl: np.ndarray,
        d: np.ndarray,
        du: np.ndarray,
        y: np.ndarray,
        **params: Any,
    ) -> tuple:
        n = d.shape[-1]
        full = np.zeros((*d.shape, n), d.dtype)
        for i in range(n):
            full[..., i, i] = d[..., i]
            if i:
                full[..., i, i - 1] = dl[..., i]
                full[..., i - 1, i] = du[..., i - 1]
        return (np.linalg.solve(full, y).astype(y.dtype),)


def _solve_one(
    b: Any,
    args: Sequence,
    target: Any,
    scaled: Any,
    batch: Sequence[Any],
) -> None:
    """Solve one system: down the rows, eliminating, then up, substituting.

    scaled: memory (..., n) for du, divided by the pivots.
    """
    dl, d, du, y = args
    n, m = target.shape[-2:]
    zero = b.const(0, target.dtype)

    def down(i: Any) -> None:
        """Eliminate the element below the diagonal of row i."""
        above = b.max(b.sub(b.affine(i), 1), 0)
        first = b.eq(b.affine(i), 0)
        low = b.let(b.select(first, zero, dl.at(*batch, i)))
        before = b.select(first, zero, scaled.at(*batch, above))
        pivot = b.let(b.sub(d.at(*batch, i), b.mul(low, before)))
        b.store(scaled, (*batch, i), b.div(du.at(*batch, i), pivot))

        def element(j: Any) -> None:
            """Change one element of the right-hand side."""
            old = b.select(first, zero, target.at(*batch, above, j))
            new = b.div(b.sub(y.at(*batch, i, j), b.mul(low, old)), pivot)
            b.store(target, (*batch, i, j), new)

        b.loop(m, element)

    def up(i: Any) -> None:
        """Substitute row i + 1 in row i."""
        at = b.iadd(n - 2, b.imul(i, -1))

        def element(j: Any) -> None:
            """Change one element of the solution."""
            later = target.at(*batch, b.iadd(at, 1), j)
            part = b.mul(scaled.at(*batch, at), later)
            old = target.at(*batch, at, j)
            b.store(target, (*batch, at, j), b.sub(old, part))

        b.loop(m, element)

    b.loop(n, down, independent=False)
    b.loop(n - 1, up, independent=False)


def _rows_shifted(x: Value, offset: int) -> Value:
    """Return the matrix whose row i is row i + offset of x, or zeros: (..., n, m)."""
    return _moved(x, len(shape_of(x)) - 2, offset)


def _line_shifted(x: Value, offset: int) -> Value:
    """Return the vector whose element i is element i + offset of x, or 0: (..., n)."""
    return _moved(x, len(shape_of(x)) - 1, offset)


def _moved(x: Value, axis: int, offset: int) -> Value:
    """Shift along an axis, filling with zeros."""
    if offset == 0:
        return x
    config = [(0, 0, 0)] * len(shape_of(x))
    config[axis] = (-offset, offset, 0)
    return pad(x, const(x, 0), tuple(config))


tridiagonal_p = Tridiagonal()
tridiagonal_solve_p = TridiagonalSolve()


def tridiagonal(a: Value, *, lower: bool = True) -> list[Value]:
    """Reduce Hermitian matrices to tridiagonal form.

    a: (..., n, n) -> reflectors (..., n, n), diagonal (..., n), off-diagonal (..., n-1), and the
    reflectors' factors (..., n-1).

    >>> lax.linalg.tridiagonal(jnp.array([[2.0, 1.0], [1.0, 3.0]]))[1]
    Array([2., 3.], dtype=float32)
    """
    return list(tridiagonal_p.bind(a, lower=lower))


def tridiagonal_solve(
    dl: Value,
    d: Value,
    du: Value,
    b: Value,
    *,
    perturb_singular: bool = False,
) -> Value:
    """Solve tridiagonal systems: dl, d, du (..., n), b (..., n, m) -> (..., n, m).

    dl is below the diagonal (dl[0] is not read), du above it (du[n-1] is not read).

    >>> lax.linalg.tridiagonal_solve(jnp.zeros(2), jnp.array([2.0, 4.0]), jnp.zeros(2),
    ...     jnp.ones((2, 1)))
    Array([[0.5 ],
           [0.25]], dtype=float32)
    """
    return tridiagonal_solve_p.bind(dl, d, du, b, perturb_singular=perturb_singular)[0]
