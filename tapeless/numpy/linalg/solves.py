"""Solving linear systems, exactly and in the least-squares sense, and inverses.

`solve` factors A once; its derivative is another solve with the same factors,

    A x = b    =>    dx = inv(A) (db - dA x)

The derivative of the factors matters only where a pullback, which is made of them alone, is
differentiated again.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.api.custom import custom_jvp
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy import arithmetic, reductions
from tapeless.numpy.choice import where
from tapeless.numpy.common import (
    asarray,
    canonicalize_axis,
    check_arraylike,
    convert,
    narrowed,
    promote_dtypes_inexact,
    value_of,
)
from tapeless.numpy.diagonals import eye
from tapeless.numpy.floats import isnan
from tapeless.numpy.indexing import get_item
from tapeless.numpy.linalg.factorizations import adjoint, inexact, svd
from tapeless.numpy.linalg.norms import norm
from tapeless.numpy.products import matmul as plain_matmul
from tapeless.numpy.shaping import moveaxis, reshape
from tapeless.numpy.vectorization import vectorize
from tapeless.prims import binary, linalg, structural
from tapeless.prims.linalg.lu import permuted_rows
from tapeless.prims.precision import Precision
from tapeless.prims.unary import bitwise_not

__all__ = ["cond", "inv", "lstsq", "matrix_power", "pinv", "solve", "tensorinv", "tensorsolve"]

_HIGHEST = Precision.HIGHEST
matmul = functools.partial(plain_matmul, precision=_HIGHEST)


def lu_solve(factors: Value, order: Value, b: Value) -> Value:
    """Return inv(A) b from the LU factors of A and the order of its rows: b (..., n, m)."""
    b = permuted_rows(b, order)
    b = linalg.triangular_solve(factors, b, left_side=True, lower=True, unit_diagonal=True)
    return linalg.triangular_solve(factors, b, left_side=True, lower=False)


@custom_jvp
def _solve_factored(a: Value, factors: Value, order: Value, b: Value) -> Value:
    """Return inv(a) b, given the factors of `a`: b (n, m)."""
    return lu_solve(factors, order, b)


@_solve_factored.defjvp
def _solve_factored_jvp(primals: tuple, tangents: tuple) -> tuple:
    """Solve again with the same factors."""
    a, factors, order, b = primals
    da, _, _, db = tangents
    x = _solve_factored(a, factors, order, b)
    rest = arithmetic.subtract(db, matmul(da, x))
    return x, _solve_factored(a, factors, order, rest)


def _solve_one(a: Value, b: Value) -> Value:
    """Solve one system: (n, n), (n, m) -> (n, m)."""
    factors, _, order = linalg.lu(a)
    return _solve_factored(a, factors, order, b)


_solve_each = vectorize(_solve_one, signature="(m,m),(m,n)->(m,n)")


def _solve_vector(a: Value, b: Value) -> Value:
    """Solve one system: (n, n), (n,) -> (n,)."""
    return get_item(_solve_one(a, get_item(b, (..., None))), (..., 0))


@jit
def solve(a: Any, b: Any) -> Value:
    """Return x with a x = b: (..., n, n), (..., n, m) -> (..., n, m); b (n,) -> (..., n).

    Where `a` is singular, the result is inf or NaN; NumPy raises an error.

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.solve(jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.array([2.0, 2.0]))
    Array([1. , 0.5], dtype=float32)
    """
    check_arraylike("jnp.linalg.solve", a, b)
    a, b = promote_dtypes_inexact(value_of(a), value_of(b))
    left, right = typeof(a).shape, typeof(b).shape
    if len(left) < 2:
        raise ValueError(f"left hand array must be at least two dimensional; got a.shape={left}")
    if right == left[:-1] and len(right) > 1:
        raise ValueError(
            f"Invalid shapes for solve: {left}, {right}. Prior to JAX v0.5.0, this would have been "
            "treated as a batched 1-dimensional solve. To recover this behavior, use "
            "solve(a, b[..., None]).squeeze(-1)."
        )
    if len(right) == 1:
        return vectorize(_solve_vector, signature="(m,m),(m)->(m)")(a, b)
    return _solve_each(a, b)


@jit
def inv(a: Any) -> Value:
    """Return the inverses: (..., n, n) -> (..., n, n).

    To multiply by an inverse, `solve` is faster and more accurate.

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.inv(jnp.array([[2.0, 0.0], [0.0, 4.0]]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    check_arraylike("jnp.linalg.inv", a)
    x = asarray(a)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"Argument to inv must have shape [..., n, n], got {x.shape}.")
    x = inexact("inv", narrowed(x))
    return _solve_each(x, eye(x.shape[-1], dtype=x.dtype))


def pinv(a: Any, rtol: Any = None, hermitian: bool = False, *, rcond: Any = None) -> Value:
    """Return the pseudo-inverses: (..., n, m) -> (..., m, n).

    rtol: singular values up to this times the largest count as zero; by default 10 max(n, m) times
    the spacing of the dtype.

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.pinv(jnp.array([[2.0, 0.0], [0.0, 0.0]]))
    Array([[0.5, 0. ],
           [0. , 0. ]], dtype=float32)
    """
    x = inexact("jnp.linalg.pinv", a)
    if typeof(x).ndim < 2:
        raise ValueError(f"pinv wants matrices, of shape [..., n, m]; got shape {typeof(x).shape}.")
    return _pinv(x, rtol if rcond is None else rcond, hermitian)


@functools.partial(custom_jvp, nondiff_argnums=(2,))
@functools.partial(jit, static_argnames=("hermitian",))
def _pinv(x: Value, limit: Any, hermitian: bool) -> Value:
    """Return the pseudo-inverses by the singular value decomposition."""
    if limit is None:
        dtype = np.empty(0, typeof(x).dtype).real.dtype
        spacing = dtype.type(dtypes.finfo(dtype).eps)
        limit = binary.mul(dtype.type(10 * max(typeof(x).shape[-2:])), spacing)
    u, s, vh = svd(x, full_matrices=False, hermitian=hermitian)
    limit = structural.expand_dims(limit, (typeof(limit).ndim,))
    largest = get_item(s, (..., slice(0, 1)))
    s = where(arithmetic.greater(s, arithmetic.multiply(limit, largest)), s, np.inf)
    s = convert(s, typeof(u).dtype)
    v, u_h = adjoint(vh), adjoint(u)
    scaled = arithmetic.divide(u_h, structural.expand_dims(s, (typeof(s).ndim,)))
    return matmul(v, scaled)


@_pinv.defjvp
def _pinv_jvp(hermitian: bool, primals: tuple, tangents: tuple) -> tuple:
    """Golub and Pereyra: dP = -P dA P + P P' dA' (1 - A P) + (1 - P A) dA' P' P."""
    (a, limit), (da, _) = primals, tangents
    p = _pinv(a, limit, hermitian)
    p_h, da_h = adjoint(p), adjoint(da)
    left = matmul(p, matmul(p_h, da_h))
    left = arithmetic.subtract(left, matmul(left, matmul(a, p)))
    right = matmul(matmul(da_h, p_h), p)
    right = arithmetic.subtract(right, matmul(matmul(p, a), right))
    tangent = arithmetic.subtract(arithmetic.add(left, right), matmul(matmul(p, da), p))
    return p, tangent


def lstsq(
    a: Any, b: Any, rcond: Any = None, *, numpy_resid: bool = False
) -> tuple[Value, Value, Value, Value]:
    """Return the x with the least |b - a x|, the squares of those sizes, the rank, and the
    singular values: (n, m), (n, k) -> (m, k), (k,), (), (min(n, m),); or b (n,).

    rcond: singular values below this times the largest count as zero.
    numpy_resid: leave the residuals out where NumPy does, which depends on the rank.

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.lstsq(jnp.array([[1.0], [1.0]]), jnp.array([1.0, 3.0]))[0]
    Array([1.9999999], dtype=float32)
    """
    if numpy_resid:
        return _lstsq_impl(a, b, rcond, numpy_resid=True)
    return _lstsq(a, b, rcond)


def _lstsq_impl(
    a: Any, b: Any, rcond: Any, *, numpy_resid: bool = False
) -> tuple[Value, Value, Value, Value]:
    """Solve by the singular value decomposition."""
    check_arraylike("jnp.linalg.lstsq", a, b)
    a, b = promote_dtypes_inexact(value_of(a), value_of(b))
    left, right = typeof(a).shape, typeof(b).shape
    if left[0] != right[0]:
        raise ValueError("Leading dimensions of input arrays must match")
    if len(right) > 2:
        raise TypeError(
            f"{len(right)}-dimensional array given. Array must be one or two-dimensional"
        )
    if len(left) != 2:
        raise TypeError(f"{len(left)}-dimensional array given. Array must be two-dimensional")
    b = structural.expand_dims(b, (1,)) if len(right) == 1 else b
    dtype = np.empty(0, typeof(a).dtype).real.dtype
    eps = dtype.type(dtypes.finfo(dtype).eps)
    if rcond is None:
        limit: Any = dtype.type(eps * max(left))
    else:
        limit = convert(where(arithmetic.less(rcond, 0), eps, rcond), dtype)
    u, s, vh = svd(a, full_matrices=False)
    if 0 in left:
        rank = asarray(0, np.int32)
        x = structural.broadcast(typeof(a).dtype.type(0), (left[1], typeof(b).shape[1]))
    else:
        positive = arithmetic.greater(s, 0)
        enough = arithmetic.greater_equal(s, arithmetic.multiply(limit, get_item(s, 0)))
        used = arithmetic.bitwise_and(positive, enough)
        rank = reductions.sum(used)
        inverse = where(used, arithmetic.divide(1, where(used, s, 1)), 0)
        inverse = convert(structural.expand_dims(inverse, (1,)), typeof(a).dtype)
        turned = matmul(adjoint(u), b)
        x = matmul(adjoint(vh), arithmetic.multiply(inverse, turned))
    if numpy_resid and (int(rank) < left[1] or left[0] <= left[1]):
        residuals = asarray(np.zeros(0, dtype))
    else:
        distance = norm(arithmetic.subtract(b, matmul(a, x)), axis=0)
        residuals = arithmetic.power(distance, 2)
    x = reshape(x, (left[1],)) if len(right) == 1 else x
    return x, residuals, rank, s


_lstsq_impl.__name__ = "_lstsq"
_lstsq = jit(_lstsq_impl)


@functools.partial(jit, static_argnames=("n",))
def matrix_power(a: Any, n: int) -> Value:
    """Return a multiplied with itself: (..., m, m) -> (..., m, m).  n: any integer.

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.matrix_power(jnp.array([[1.0, 1.0], [0.0, 1.0]]), 5)
    Array([[1., 5.],
           [0., 1.]], dtype=float32)
    """
    check_arraylike("jnp.linalg.matrix_power", a)
    x = asarray(a)
    shape = typeof(x).shape
    if len(shape) < 2:
        raise TypeError(
            f"{len(shape)}-dimensional array given. Array must be at least two-dimensional"
        )
    if shape[-1] != shape[-2]:
        raise TypeError("Last 2 dimensions of the array must be square")
    if not isinstance(n, (int, np.integer)):
        raise TypeError(f"exponent must be an integer, got {n}")
    if n == 0:
        unit = eye(shape[-1], dtype=typeof(x).dtype)
        return structural.broadcast(unit, shape[:-2]) if len(shape) > 2 else unit
    if n < 0:
        x, n = inv(x), -n
    if n == 3:
        return plain_matmul(plain_matmul(x, x), x)
    result = square = None
    while n > 0:
        square = x if square is None else plain_matmul(square, square)
        n, bit = divmod(n, 2)
        if bit:
            result = square if result is None else plain_matmul(result, square)
    return result


@functools.partial(jit, static_argnames=("p",))
def cond(x: Any, p: Any = None) -> Value:
    """Return condition numbers, |x| |inv(x)|: (..., n, m) -> (...).

    p: the order of the norm, as in `norm`; by default 2, which needs no inverse.

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.cond(jnp.array([[1.0, 0.0], [0.0, 4.0]]))
    Array(4., dtype=float32)
    """
    check_arraylike("cond", x)
    arr = asarray(x)
    if arr.ndim < 2:
        raise ValueError(
            f"jnp.linalg.cond: input array must be at least 2D; got arr.shape={arr.shape}"
        )
    if 0 in arr.shape[-2:]:
        raise ValueError(
            f"jnp.linalg.cond: input array must not be empty; got arr.shape={arr.shape}"
        )
    if p in (None, 2, -2):
        s = svd(arr, compute_uv=False)
        ends = get_item(s, (..., 0)), get_item(s, (..., -1))
        ratio = arithmetic.divide(*(reversed(ends) if p == -2 else ends))
    else:
        if arr.shape[-1] != arr.shape[-2]:
            raise ValueError(
                f"jnp.linalg.cond: for {p=}, array must be square; got arr.shape={arr.shape}"
            )
        ratio = arithmetic.multiply(norm(arr, p, (-2, -1)), norm(inv(arr), p, (-2, -1)))
    unknown = isnan(ratio)
    given = bitwise_not(reductions.any(isnan(arr), axis=(-2, -1)))
    return where(arithmetic.bitwise_and(unknown, given), np.inf, ratio)


def tensorinv(a: Any, ind: int = 2) -> Value:
    """Return the inverse of the map from the last axes to the first `ind`: (2, 3, 6) -> (6, 2, 3).

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.tensorinv(jnp.eye(6).reshape(2, 3, 6)).shape
    (6, 2, 3)
    """
    check_arraylike("tensorinv", a)
    x = asarray(a)
    if ind <= 0:
        raise ValueError(f"ind must be a positive integer; got {ind=}")
    rows, columns = x.shape[:ind], x.shape[ind:]
    size = int(np.prod(rows, dtype=int))
    if size != int(np.prod(columns, dtype=int)):
        raise ValueError(
            "tensorinv is only possible when the product of the first `ind` dimensions equals that "
            f"of the remaining dimensions. got arr.shape={x.shape} with ind={ind}."
        )
    return reshape(inv(reshape(x, (size, size))), (*columns, *rows))


def tensorsolve(a: Any, b: Any, axes: Sequence[int] | None = None) -> Value:
    """Return x with tensordot(a, x, x.ndim) = b: (2, 3, 6), (2, 3) -> (6,).

    axes: axes of `a` to be moved to the end first.

    >>> import tapeless.numpy as jnp
    >>> jnp.linalg.tensorsolve(jnp.eye(6).reshape(2, 3, 6), jnp.arange(6.0).reshape(2, 3))
    Array([0., 1., 2., 3., 4., 5.], dtype=float32)
    """
    check_arraylike("tensorsolve", a, b)
    x, y = asarray(a), asarray(b)
    if axes is not None:
        moved = tuple(canonicalize_axis(axis, x.ndim) for axis in axes)
        x = moveaxis(x, moved, range(x.ndim - len(moved), x.ndim))
    unknowns = x.shape[y.ndim :]
    if x.shape[: y.ndim] != y.shape:
        raise ValueError(
            "After moving axes to end, leading shape of a must match shape of b. "
            f"got a.shape={x.shape}, b.shape={y.shape}"
        )
    size = int(np.prod(unknowns, dtype=int))
    if y.size != size:
        raise ValueError(
            "Input arrays must have prod(a.shape[:b.ndim]) == prod(a.shape[b.ndim:]); "
            f"got a.shape={x.shape}, b.ndim={y.ndim}."
        )
    return reshape(solve(reshape(x, (size, size)), reshape(y, (size,))), unknowns)
