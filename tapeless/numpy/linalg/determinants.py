"""Determinants: by formula for small matrices, else from the pivots of the LU factors.

    d det(A)      = tr(adj(A) dA),      adj(A) = det(A) inv(A), and finite for singular A
    d logdet(A)   = tr(inv(A) dA)

The adjugate is applied through the LU factors.  With the last row and column of U split off,

    U = [U1 u]    adj(U) x:   y2 = det(U1) x2,   y1 = inv(U1) (det(U) x1 - u y2)
        [0  w]

which needs no division by the last pivot w, the one that is zero for a matrix of rank n - 1.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from tapeless import dtypes
from tapeless.api.custom import custom_jvp
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy import arithmetic, reductions
from tapeless.numpy.choice import where
from tapeless.numpy.common import convert
from tapeless.numpy.diagonals import diagonal, eye, trace
from tapeless.numpy.indexing import get_item
from tapeless.numpy.joining import concatenate
from tapeless.numpy.linalg.factorizations import inexact
from tapeless.numpy.linalg.solves import lu_solve
from tapeless.prims import linalg, parts, structural, unary
from tapeless.prims.create import iota
from tapeless.prims.exponential import exp, log
from tapeless.prims.linalg.lu import permuted_rows

__all__ = ["det", "slogdet"]

_I32 = np.dtype(np.int32)


class SlogdetResult(NamedTuple):
    """What `slogdet` returns."""

    sign: Value
    logabsdet: Value


def _is_complex(x: Value) -> bool:
    """Tell whether a value is complex."""
    return dtypes.issubdtype(typeof(x).dtype, np.complexfloating)


def slogdet(a: Any, *, method: str | None = None) -> SlogdetResult:
    """Return the sign (or phase) of the determinant and the logarithm of its size.

    (..., n, n) -> (...), (...).  method: "lu" (the default) or "qr".

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.slogdet(jnp.array([[0.0, 1.0], [1.0, 0.0]])).sign
    Array(-1., dtype=float32)
    """
    return SlogdetResult(*_slogdet(a, method=method))


def _slogdet_impl(a: Any, *, method: str | None = None) -> tuple[Value, Value]:
    """Return sign and logarithm as a plain tuple."""
    x = inexact("jnp.linalg.slogdet", a)
    shape = typeof(x).shape
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"Argument to slogdet() must have shape [..., n, n], got {shape}")
    if method not in (None, "lu", "qr"):
        raise ValueError(
            f"Unknown slogdet method '{method}'. Supported methods are 'lu' (`None`), and 'qr'."
        )
    if shape[-1] == 1:
        return _slogdet_small(x)
    return _slogdet_qr(x) if method == "qr" else _slogdet_lu(x)


_slogdet_impl.__name__ = "slogdet"
_slogdet = jit(_slogdet_impl, static_argnames=("method",))


def _slogdet_small(x: Value) -> tuple[Value, Value]:
    """Return sign and logarithm of the determinants of 1 x 1 matrices."""
    last = typeof(x).ndim
    element = structural.squeeze(x, (last - 2, last - 1))
    return unary.sign(element), log(unary.abs(element))


def _parity_sign(pivots: Value, dtype: Any) -> Value:
    """Return the sign of the permutation of row exchanges."""
    exchanged = arithmetic.not_equal(pivots, iota(_I32, typeof(pivots).shape[-1]))
    odd = arithmetic.remainder(reductions.count_nonzero(exchanged, axis=-1), 2)
    return convert(arithmetic.subtract(1, arithmetic.multiply(2, odd)), dtype)


def _slogdet_of_factors(factors: Value, pivots: Value) -> tuple[Value, Value]:
    """Return sign and logarithm from the LU factors and the pivots."""
    d = diagonal(factors, 0, -2, -1)
    dtype = typeof(d).dtype
    zero = reductions.any(arithmetic.equal(d, dtype.type(0)), axis=-1)
    sign = _parity_sign(pivots, dtype)
    sign = arithmetic.multiply(sign, reductions.prod(unary.sign(d), axis=-1))
    logarithm = reductions.sum(log(unary.abs(d)), axis=-1)
    return where(zero, dtype.type(0), sign), where(zero, -np.inf, logarithm)


@custom_jvp
def _slogdet_lu(a: Value) -> tuple[Value, Value]:
    """Return sign and logarithm from the LU factors."""
    factors, pivots, _ = linalg.lu(a)
    return _slogdet_of_factors(factors, pivots)


def _slogdet_tangents(factors: Value, order: Value, da: Value, sign: Value) -> tuple[Value, Value]:
    """Return the tangents of sign and logarithm."""
    ratio = trace(lu_solve(factors, order, da), axis1=-2, axis2=-1)
    if not _is_complex(ratio):
        return arithmetic.multiply(sign, typeof(sign).dtype.type(0)), ratio
    size = parts.real(ratio)
    turn = arithmetic.subtract(ratio, convert(size, typeof(ratio).dtype))
    return arithmetic.multiply(turn, sign), size


@_slogdet_lu.defjvp
def _slogdet_lu_jvp(primals: tuple, tangents: tuple) -> tuple:
    """Factor once, for the results and for the solve."""
    (a,), (da,) = primals, tangents
    factors, pivots, order = linalg.lu(a)
    outs = _slogdet_of_factors(factors, pivots)
    return outs, _slogdet_tangents(factors, order, da, outs[0])


@custom_jvp
def _slogdet_qr(a: Value) -> tuple[Value, Value]:
    """Return sign and logarithm from the QR factors: every reflection changes the sign."""
    packed, taus = linalg.geqrf(a)
    d = diagonal(packed, 0, -2, -1)
    dtype = typeof(d).dtype
    logarithm = reductions.sum(log(unary.abs(d)), axis=-1)
    sign = reductions.prod(unary.sign(d), axis=-1)
    taus = get_item(taus, (..., slice(None, typeof(a).shape[-1] - (0 if _is_complex(a) else 1))))
    reflected = arithmetic.not_equal(taus, dtype.type(0))
    if not _is_complex(a):
        flips = where(reflected, dtype.type(-1), dtype.type(1))
    else:
        # det(1 - tau v v') = 1 - tau |v|^2 = -tau / conj(tau)
        safe = where(reflected, taus, dtype.type(1))
        flips = where(reflected, -safe / parts.conj(safe), dtype.type(1))
    return arithmetic.multiply(sign, reductions.prod(flips, axis=-1)), logarithm


@_slogdet_qr.defjvp
def _slogdet_qr_jvp(primals: tuple, tangents: tuple) -> tuple:
    """Solve by LU for the tangents."""
    (a,), (da,) = primals, tangents
    outs = _slogdet_qr(a)
    factors, _, order = linalg.lu(a)
    return outs, _slogdet_tangents(factors, order, da, outs[0])


@jit
def det(a: Any) -> Value:
    """Return the determinants: (..., n, n) -> (...).

    Derivatives are right for singular matrices, too.

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.det(jnp.array([[1.0, 2.0], [3.0, 4.0]]))
    Array(-2., dtype=float32)
    """
    x = inexact("jnp.linalg.det", a)
    shape = typeof(x).shape
    if len(shape) >= 2 and shape[-1] == shape[-2] and shape[-1] in (2, 3):
        return _det_by_formula(x, shape[-1])
    if len(shape) >= 2 and shape[-1] == shape[-2]:
        return _det(x)
    raise ValueError(f"Argument to _det() must have shape [..., n, n], got {shape}")


def _det_by_formula(x: Value, n: int) -> Value:
    """Return the determinants of 2 x 2 or 3 x 3 matrices."""
    e = [[get_item(x, (..., i, j)) for j in range(n)] for i in range(n)]

    def minor(row: int, i: int, j: int) -> Value:
        """Return the 2 x 2 determinant of two rows, from `row` on, and the columns i and j."""
        return e[row][i] * e[row + 1][j] - e[row][j] * e[row + 1][i]

    if n == 2:
        return minor(0, 0, 1)
    return e[0][0] * minor(1, 1, 2) - e[0][1] * minor(1, 0, 2) + e[0][2] * minor(1, 0, 1)


@custom_jvp
def _det(a: Value) -> Value:
    """Return the determinants from sign and logarithm."""
    sign, logarithm = slogdet(a)
    return arithmetic.multiply(sign, convert(exp(logarithm), typeof(sign).dtype))


@_det.defjvp
def _det_jvp(primals: tuple, tangents: tuple) -> tuple:
    """Apply the adjugate to the tangent."""
    (a,), (da,) = primals, tangents
    n = typeof(a).shape[-1]
    if n < 2:
        tangent = trace(da, axis1=-2, axis2=-1)
        return _det(a), tangent
    factors, pivots, order = linalg.lu(a)
    sign = _parity_sign(pivots, typeof(a).dtype)
    d = diagonal(factors, 0, -2, -1)
    front = arithmetic.multiply(sign, reductions.prod(get_item(d, (..., slice(None, -1))), axis=-1))
    whole = arithmetic.multiply(front, get_item(d, (..., -1)))
    return _det(a), trace(_adjugate_times(factors, order, front, whole, da), axis1=-2, axis2=-1)


def _adjugate_times(factors: Value, order: Value, front: Value, whole: Value, x: Value) -> Value:
    """Return adj(A) x; front, whole: the determinant without the last pivot, and with it."""
    x = permuted_rows(x, order)
    solve = functools.partial(linalg.triangular_solve, left_side=True)
    x = solve(factors, x, lower=True, unit_diagonal=True)
    rank = typeof(front).ndim
    front, whole = (structural.expand_dims(each, (rank, rank + 1)) for each in (front, whole))
    top, bottom = slice(None, -1), slice(-1, None)
    last = arithmetic.multiply(front, get_item(x, (..., bottom, slice(None))))
    column = get_item(factors, (..., top, bottom))
    rest = arithmetic.multiply(whole, get_item(x, (..., top, slice(None))))
    rest = arithmetic.subtract(rest, arithmetic.multiply(column, last))
    # Below rank n - 1 the adjugate is zero; nothing may be divided by zero for it.
    block = get_item(factors, (..., top, top))
    pivots = diagonal(block, 0, -2, -1)
    regular = reductions.all(arithmetic.not_equal(pivots, 0), axis=-1)
    regular = structural.expand_dims(regular, (rank, rank + 1))
    block = where(regular, block, eye(typeof(block).shape[-1], dtype=typeof(block).dtype))
    rest = where(regular, solve(block, rest, lower=False), 0)
    return concatenate([rest, last], axis=-2)
