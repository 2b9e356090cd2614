"""General square matrices: eigenvalues and eigenvectors, Schur and Hessenberg forms.

    eig:        (..., n, n) -> w (..., n), left and right eigenvectors (..., n, n), all complex
    schur:      (..., n, n) -> T, Q with A = Q T Q'
    hessenberg: (..., n, n) -> reflectors and H in one matrix, taus (..., n-1)

With V the right eigenvectors and M = V^-1 dA V, dw = diag(M).  Eigenvectors are defined up to a
factor only; their derivative, dV = V (F * M), F[i, j] = 1 / (w[j] - w[i]), less its part along V
that would change the norm, is given on request (`enable_eigvec_derivs`).

LAPACK gives the eigenvectors of real matrices as real and imaginary columns, which are joined here.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
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
from tapeless.prims.linalg.lapack import Lapack
from tapeless.prims.linalg.lu import solve_square
from tapeless.prims.linalg.matrices import (
    Factorisation,
    adjoint,
    check_matrix,
    check_square,
    columns_of,
    diagonal,
    eye,
    matmul,
    transposed,
)
from tapeless.prims.parts import conj, real
from tapeless.prims.unary import reciprocal
from tapeless.util import lazy

__all__ = [
    "EigImplementation",
    "eig",
    "eig_p",
    "hessenberg",
    "hessenberg_p",
    "schur",
    "schur_p",
]

_dense = lazy.load("scipy.linalg")
_lapack = lazy.load("scipy.linalg.lapack")


class EigImplementation(enum.Enum):
    """Algorithms, by JAX's names; here they are all LAPACK's."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


def _complex_of(dtype: Any) -> np.dtype:
    """Return the complex dtype of the same precision."""
    return np.result_type(np.dtype(dtype), np.complex64)


class Eig(Factorisation):
    """A (..., n, n) -> w (..., n), and the left and right eigenvectors that are asked for."""

    name = "eig"

    def abstract(self, a: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        check_matrix(self.name, a)
        check_square(self.name, a.shape)
        vectors = ShapedArray(a.shape, _complex_of(a.dtype))
        wanted = _wanted(params)
        return (
            vectors.update(shape=a.shape[:-1]),
            *(vectors for flag in wanted if flag),
        )

    def jvp(
        self,
        primals: Values,
        tangents: Sequence[Value | Zero],
        **params: Any,
    ) -> tuple:
        outs = self.bind(*primals, **params)
        if isinstance(tangents[0], Zero):
            return outs, tuple(Zero(typeof(out).tangent()) for out in outs)
        left, right = _wanted(params)
        if (left or right) and not params["enable_eigvec_derivs"]:
            raise NotImplementedError(
                "Derivatives of non-symmetric eigenvectors are only valid under assumptions on the "
                "input that JAX cannot check (see the enable_eigvec_derivs argument to "
                "jax.lax.linalg.eig). Pass enable_eigvec_derivs=True to jax.lax.linalg.eig to opt "
                "in. See https://github.com/jax-ml/jax/issues/2748 for discussion."
            )
        whole = {
            **params,
            "compute_left_eigenvectors": left,
            "compute_right_eigenvectors": True,
        }
        w, *_, v = self.bind(*primals, **whole)
        inner = matmul(solve_square(v, convert(tangents[0], dtype_of(v))), v)
        results = [diagonal(inner)]
        if left:
            results.append(_left_vectors(w, outs[1], tangents[0]))
        if right:
            results.append(_vectors(w, v, inner))
        return outs, tuple(results)

    def lower(self, b: Any, args: Sequence, outs: tuple, **params: Any) -> tuple:
        routines = Lapack(b, args[0].dtype)
        source = routines.flat(args[0])
        results = [routines.out(out, 1 if i == 0 else 2) for i, out in enumerate(outs)]
        flats = [flat for _, flat in results]
        count, n, _ = source.shape
        matrix = routines.scratch(n, n)
        left, right = _wanted(params)
        vl, vr = routines.scratch(n, n), routines.scratch(n, n)
        room = max(1, (4 + 64) * n)
        values = [routines.scratch(n) for _ in range(1 if routines.complex else 2)]
        work = [routines.scratch(room), room]
        if routines.complex:
            work.append(routines.scratch(2 * n, dtype=routines.real))

        def one(i: Any) -> None:
            """Decompose one matrix."""
            routines.columns(matrix, source, i)
            jobs = "V" if left else "N", "V" if right else "N"
            sizes = (
                n,
                matrix,
                max(1, n),
                *values,
                vl,
                max(1, n),
                vr,
                max(1, n),
            )
            routines.call("geev", *jobs, *sizes, *work)
            w = flats[0]
            b.loop(n, lambda j: b.store(w, (i, j), _joined(b, values, j)))
            asked = [scratch for flag, scratch in ((left, vl), (right, vr)) if flag]
            for target, scratch in zip(flats[1:], asked, strict=True):
                _store_vectors(
                    b,
                    i,
                    target,
                    scratch,
                    None if routines.complex else values[1],
                )
            routines.spoil(i, *flats)

        if outs[0].size:
            routines.each(count, one)
        return tuple(value for value, _ in results)

    def hlo(self, b: Any, args: Sequence, outs: tuple, **params: Any) -> tuple:
        a = args[0].aval
        calls = Calls(b, a.dtype, a.shape[:-2])
        wanted = _wanted(params)
        left, right = ("V" if flag else "N" for flag in wanted)
        vectors = a.update(dtype=outs[0].dtype)
        parts = [outs[0]] if calls.complex else [a.update(shape=a.shape[:-1])] * 2
        config = {"compute_left": left, "compute_right": right}
        results = [*parts, vectors, vectors, calls.info]
        *w, vl, vr, info = calls.call("geev", args, results, config)
        if len(w) == 2:
            w = b.op("stablehlo.complex", w, outs[:1])
        asked = [x for flag, x in zip(wanted, (vl, vr), strict=True) if flag]
        return calls.valid(info, [*w, *asked])

    def reference(self, a: np.ndarray, **params: Any) -> tuple:
        w, vl, vr = [], [], []
        for index in np.ndindex(*a.shape[:-2]):
            values, left, right = _dense.eig(a[index], left=True, right=True)
            w.append(values)
            vl.append(left)
            vr.append(right)
        dtype = _complex_of(a.dtype)
        flags = (True, *_wanted(params))
        stacks = ((w, a.shape[:-1]), (vl, a.shape), (vr, a.shape))
        return tuple(
            np.reshape(stack, shape).astype(dtype)
            for flag, (stack, shape) in zip(flags, stacks, strict=True)
            if flag
        )


def _wanted(params: dict[str, Any]) -> tuple[bool, bool]:
    """Return whether left and right eigenvectors are asked for."""
    return params["compute_left_eigenvectors"], params["compute_right_eigenvectors"]


def _left_vectors(w: Value, u: Value, da: Value) -> Value:
    """Return the tangent of left eigenvectors: those of the adjoint, with conjugate values."""
    change = convert(adjoint(da), dtype_of(u))
    return _vectors(conj(w), u, matmul(solve_square(u, change), u))


def _vectors(w: Value, v: Value, inner: Value) -> Value:
    """Return the tangent of eigenvectors of norm 1."""
    dtype = dtype_of(v)
    unit = eye(shape_of(v), dtype)
    row = columns_of(w)
    gaps = reciprocal(add(sub(row, transposed(row)), unit))
    dv = matmul(v, mul(sub(gaps, unit), inner))
    along = convert(real(diagonal(matmul(adjoint(v), dv))), dtype)
    return sub(dv, mul(v, columns_of(along)))


def _joined(b: Any, values: Sequence[Any], j: Any) -> Any:
    """Return an eigenvalue, from real and imaginary parts if they are apart."""
    if len(values) == 1:
        return values[0].at(j)
    return b.pair(values[0].at(j), values[1].at(j))


def _store_vectors(b: Any, i: Any, target: Any, scratch: Any, imaginary: Any) -> None:
    """Store eigenvectors, which LAPACK left by columns in `scratch`, as matrix i of `target`.

    imaginary: for real matrices, the imaginary parts of the eigenvalues.  A pair of conjugates has
    its real part in the first column and its imaginary part in the second.
    """

    def store(index: Sequence[Any]) -> None:
        """Store one element."""
        row, column = index
        if imaginary is None:
            b.store(target, (i, row, column), scratch.at(column, row))
            return
        n = scratch.shape[0]
        here = b.affine(column)
        after = b.min(b.add(here, 1), n - 1)
        before = b.max(b.sub(here, 1), 0)
        part = imaginary.at(column)
        first, second = b.gt(part, 0), b.lt(part, 0)
        zero = b.const(0, part.dtype)
        re = scratch.at(b.select(second, before, here), row)
        im = b.select(first, scratch.at(after, row), zero)
        im = b.select(second, b.neg(scratch.at(column, row)), im)
        b.store(target, (i, row, column), b.pair(re, im))

    b.nest(target.shape[1:], store)


class Schur(Factorisation):
    """A (..., n, n) -> T (..., n, n), and Q (..., n, n) if asked for."""

    name = "schur"

    def abstract(
        self,
        a: ShapedArray,
        *,
        compute_schur_vectors: bool,
        **params: Any,
    ) -> tuple[ShapedArray, ...]:
        check_matrix(self.name, a)
        check_square(self.name, a.shape)
        return (a, a) if compute_schur_vectors else (a,)

    def lower(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        compute_schur_vectors: bool,
        **params: Any,
    ) -> tuple:
        routines = Lapack(b, args[0].dtype)
        source = routines.flat(args[0])
        results = [routines.out(out) for out in outs]
        flats = [flat for _, flat in results]
        count, n, _ = source.shape
        matrix, vectors = (
            routines.scratch(n, n),
            routines.scratch(n, n),
        )
        values = [routines.scratch(n) for _ in range(1 if routines.complex else 2)]
        room = max(1, (3 + 64) * n)
        work = [routines.scratch(room), room]
        if routines.complex:
            work.append(routines.scratch(n, dtype=routines.real))
        found, chosen = routines.integers(1), routines.integers(n)

        def one(i: Any) -> None:
            """Decompose one matrix."""
            routines.columns(matrix, source, i)
            job = "V" if compute_schur_vectors else "N"
            sizes = (
                n,
                matrix,
                max(1, n),
                found,
                *values,
                vectors,
                max(1, n),
                *work,
            )
            routines.call("gees", job, "N", chosen, *sizes, chosen)
            for flat, scratch in zip(flats, (matrix, vectors), strict=False):
                routines.rows(flat, i, scratch)
            routines.spoil(i, *flats)

        if outs[0].size:
            routines.each(count, one)
        return tuple(value for value, _ in results)

    def hlo(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        compute_schur_vectors: bool,
        **params: Any,
    ) -> tuple:
        a = outs[0]
        calls = Calls(b, a.dtype, a.shape[:-2])
        values = [a.update(shape=a.shape[:-1])] * (1 if calls.complex else 2)
        config = {"mode": "V" if compute_schur_vectors else "N", "sort": "N"}
        results = [a, a, *values, calls.info, calls.info]
        t, q, *_, info = calls.call("gees", args, results, config, {0: 0})
        return calls.valid(info, [t, q] if compute_schur_vectors else [t])

    def reference(
        self,
        a: np.ndarray,
        *,
        compute_schur_vectors: bool,
        **params: Any,
    ) -> tuple:
        t, q = np.empty_like(a), np.empty_like(a)
        for index in np.ndindex(*a.shape[:-2]):
            t[index], q[index] = _dense.schur(a[index])
        return (t, q) if compute_schur_vectors else (t,)


class Hessenberg(Factorisation):
    """A (..., n, n) -> H with the reflectors below its first subdiagonal, taus (..., n-1)."""

    name = "hessenberg"

    def abstract(self, a: ShapedArray) -> tuple[ShapedArray, ...]:
        check_matrix(self.name, a)
        check_square(self.name, a.shape)
        return a, a.update(shape=(*a.shape[:-2], max(a.shape[-1] - 1, 0)))

    def lower(self, b: Any, args: Sequence, outs: tuple) -> tuple:
        routines = Lapack(b, args[0].dtype)
        source = routines.flat(args[0])
        result, flat = routines.out(outs[0])
        taus, taus_flat = routines.out(outs[1], 1)
        count, n, _ = source.shape
        matrix, scales = routines.scratch(n, n), routines.scratch(n)
        room = max(1, 64 * n)
        work = routines.scratch(room)

        def one(i: Any) -> None:
            """Reduce one matrix."""
            routines.columns(matrix, source, i)
            routines.call(
                "gehrd",
                n,
                1,
                n,
                matrix,
                max(1, n),
                scales,
                work,
                room,
            )
            routines.rows(flat, i, matrix)
            b.loop(
                max(n - 1, 0),
                lambda j: b.store(taus_flat, (i, j), scales.at(j)),
            )

        if outs[0].size:
            routines.each(count, one)
        return result, taus

    def hlo(self, b: Any, args: Sequence, outs: tuple) -> tuple:
        calls = Calls(b, outs[0].dtype, outs[0].shape[:-2])
        config = {"low": 1, "high": outs[0].shape[-1]}
        *results, info = calls.call("gehrd", args, [*outs, calls.info], config, {0: 0})
        return calls.valid(info, results)

    def reference(self, a: np.ndarray) -> tuple:
        routine = _lapack.get_lapack_funcs("gehrd", (a,))
        out, taus = (
            np.empty_like(a),
            np.empty((*a.shape[:-2], a.shape[-1] - 1), a.dtype),
        )
        for index in np.ndindex(*a.shape[:-2]):
            out[index], taus[index], _ = routine(a[index])
        return out, taus


eig_p = Eig()
schur_p = Schur()
hessenberg_p = Hessenberg()


def eig(
    x: Value,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Value]:
    """Return eigenvalues and, as asked for, left and right eigenvectors (columns of norm 1).

    x: (..., n, n) -> complex (..., n), (..., n, n), (..., n, n).  implementation: LAPACK or none.

    >>> lax.linalg.eig(jnp.array([[2.0, 1.0], [0.0, 3.0]]))[0]
    Array([2.+0.j, 3.+0.j], dtype=complex64)
    """
    if use_magma or implementation not in (None, EigImplementation.LAPACK):
        raise ValueError("Only the lapack implementation is supported on CPU.")
    return list(
        eig_p.bind(
            x,
            compute_left_eigenvectors=compute_left_eigenvectors,
            compute_right_eigenvectors=compute_right_eigenvectors,
            enable_eigvec_derivs=enable_eigvec_derivs,
            implementation=implementation,
        )
    )


def schur(
    x: Value,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> list[Value]:
    """Return T and Q with x = Q T Q', T (quasi-)triangular: (..., n, n) -> (..., n, n) twice.

    >>> lax.linalg.schur(jnp.array([[2.0, 1.0], [0.0, 3.0]]))[0]
    Array([[2., 1.],
           [0., 3.]], dtype=float32)
    """
    if sort_eig_vals or select_callable is not None:
        text = "The function for sorting the eigenvalues has not been implemented for CPU."
        raise NotImplementedError(text)
    return list(
        schur_p.bind(
            x,
            compute_schur_vectors=compute_schur_vectors,
            select_callable=select_callable,
            sort_eig_vals=sort_eig_vals,
        )
    )


def hessenberg(a: Value) -> list[Value]:
    """Return the Hessenberg form with its reflectors, and their factors.

    a: (..., n, n) -> (..., n, n), (..., n-1).

    >>> lax.linalg.hessenberg(jnp.arange(9.0).reshape(3, 3))[0].shape
    (3, 3)
    """
    return list(hessenberg_p.bind(a))
