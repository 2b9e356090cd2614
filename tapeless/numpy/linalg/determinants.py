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
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tapeless.api.custom import custom_jvp
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy import arithmetic, reductions
from tapeless.numpy.arithmetic import equal, multiply, not_equal, subtract
from tapeless.numpy.choice import where
from tapeless.numpy.common import const, convert, is_complex
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


def _are_square(shape: tuple[int, ...]) -> bool:
    """Tell whether an array of this shape consists of square matrices."""
    return len(shape) >= 2 and shape[-1] == shape[-2]


def _product(x: Value) -> Value:
    """Return the product over the last axis."""
    return reductions.prod(x, axis=-1)


def _log_sizes(x: Value) -> Value:
    """Return the sum over the last axis of the logarithms of the sizes."""
    return reductions.sum(log(unary.abs(x)), axis=-1)


def _diagonal(x: Value) -> Value:
    """Return the diagonals of the matrices."""
    return diagonal(x, 0, -2, -1)


def _trace(x: Value) -> Value:
    """Return the sums of the diagonals of the matrices."""
    return trace(x, axis1=-2, axis2=-1)


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
    if not _are_square(shape):
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
    places = iota(_I32, typeof(pivots).shape[-1])
    exchanged = not_equal(pivots, places)
    odd = arithmetic.remainder(reductions.count_nonzero(exchanged, axis=-1), 2)
    return convert(subtract(1, multiply(2, odd)), dtype)


def _slogdet_of_factors(factors: Value, pivots: Value) -> tuple[Value, Value]:
    """Return sign and logarithm from the LU factors and the pivots."""
    d = _diagonal(factors)
    dtype = typeof(d).dtype
    zero = reductions.any(equal(d, dtype.type(0)), axis=-1)
    sign = _parity_sign(pivots, dtype)
    sign = multiply(sign, _product(unary.sign(d)))
    logarithm = _log_sizes(d)
    return where(zero, dtype.type(0), sign), where(zero, -np.inf, logarithm)


@custom_jvp
def _slogdet_lu(a: Value) -> tuple[Value, Value]:
    """Return sign and logarithm from the LU factors."""
    factors, pivots, _ = linalg.lu(a)
    return _slogdet_of_factors(factors, pivots)


def _slogdet_tangents(
    factors: Value,
    order: Value,
    da: Value,
    sign: Value,
) -> tuple[Value, Value]:
    """Return the tangents of sign and logarithm."""
    ratio = _trace(lu_solve(factors, order, da))
    if not is_complex(ratio):
        return multiply(sign, const(sign, 0)), ratio
    size = parts.real(ratio)
    turn = subtract(ratio, convert(size, typeof(ratio).dtype))
    return multiply(turn, sign), size


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
    d = _diagonal(packed)
    dtype = typeof(d).dtype
    logarithm = _log_sizes(d)
    sign = _product(unary.sign(d))
    count = typeof(a).shape[-1] - (0 if is_complex(a) else 1)
    taus = get_item(taus, (..., slice(None, count)))
    reflected = not_equal(taus, dtype.type(0))
    if not is_complex(a):
        flips = where(reflected, dtype.type(-1), dtype.type(1))
    else:
        # det(1 - tau v v') = 1 - tau |v|^2 = -tau / conj(tau)
        safe = where(reflected, taus, dtype.type(1))
        flips = where(reflected, -safe / parts.conj(safe), dtype.type(1))
    return multiply(sign, _product(flips)), logarithm


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
    if not _are_square(shape):
        raise ValueError(f"Argument to _det() must have shape [..., n, n], got {shape}")
    n = shape[-1]
    return _det_by_formula(x, n) if n in (2, 3) else _det(x)


def _det_by_formula(x: Value, n: int) -> Value:
    """Return the determinants of 2 x 2 or 3 x 3 matrices, by the first row and its cofactors."""
    rows = [[get_item(x, (..., r, c)) for c in range(n)] for r in range(n)]
    if n == 2:
        return _area(rows[0], rows[1], 0, 1)
    first, second, third = rows
    areas = [_area(second, third, c, (c + 1) % 3) for c in (1, 2, 0)]
    terms = map(multiply, first, areas)
    return functools.reduce(arithmetic.add, terms)


def _area(
    above: Sequence[Value],
    below: Sequence[Value],
    c: int,
    d: int,
) -> Value:
    """Return the determinants of columns c and d of two rows, given by their elements."""
    down = multiply(above[c], below[d])
    up = multiply(above[d], below[c])
    return subtract(down, up)


@custom_jvp
def _det(a: Value) -> Value:
    """Return the determinants from sign and logarithm."""
    sign, logarithm = slogdet(a)
    return multiply(sign, convert(exp(logarithm), typeof(sign).dtype))


@_det.defjvp
def _det_jvp(primals: tuple, tangents: tuple) -> tuple:
    """Apply the adjugate to the tangent."""
    (a,), (da,) = primals, tangents
    n = typeof(a).shape[-1]
    if n < 2:
        tangent = _trace(da)
        return _det(a), tangent
    factors, pivots, order = linalg.lu(a)
    sign = _parity_sign(pivots, typeof(a).dtype)
    d = _diagonal(factors)
    inner = get_item(d, (..., slice(None, -1)))
    front = multiply(sign, _product(inner))
    whole = multiply(front, get_item(d, (..., -1)))
    product = _adjugate_times(factors, order, front, whole, da)
    return _det(a), _trace(product)


def _adjugate_times(
    factors: Value,
    order: Value,
    front: Value,
    whole: Value,
    x: Value,
) -> Value:
    """Return adj(A) x; front, whole: the determinant without the last pivot, and with it."""
    x = permuted_rows(x, order)
    solve = functools.partial(linalg.triangular_solve, left_side=True)
    x = solve(factors, x, lower=True, unit_diagonal=True)
    rank = typeof(front).ndim
    front = structural.expand_dims(front, (rank, rank + 1))
    whole = structural.expand_dims(whole, (rank, rank + 1))
    top, bottom = slice(None, -1), slice(-1, None)
    last = multiply(front, get_item(x, (..., bottom, slice(None))))
    column = get_item(factors, (..., top, bottom))
    rest = multiply(whole, get_item(x, (..., top, slice(None))))
    rest = subtract(rest, multiply(column, last))
    # Below rank n - 1 the adjugate is zero; nothing may be divided by zero for it.
    block = get_item(factors, (..., top, top))
    pivots = _diagonal(block)
    regular = reductions.all(not_equal(pivots, 0), axis=-1)
    regular = structural.expand_dims(regular, (rank, rank + 1))
    aval = typeof(block)
    unit = eye(aval.shape[-1], dtype=aval.dtype)
    block = where(regular, block, unit)
    rest = where(regular, solve(block, rest, lower=False), 0)
    return concatenate([rest, last], axis=-2)
