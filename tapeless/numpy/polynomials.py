"""Polynomials given by their coefficients, the highest power first: [a, b, c] is a x^2 + b x + c.

Leading zeros are kept, since their number depends on values; where a shorter result is wanted, the
functions that NumPy lets trim them have an argument, for use outside of transformations.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.api.jit import jit
from tapeless.control.loops import fori_loop, scan
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy import arithmetic, reductions
from tapeless.numpy.choice import where
from tapeless.numpy.common import (
    asarray,
    check_arraylike,
    concrete_value,
    narrowed,
    promote_dtypes,
    promote_dtypes_inexact,
    value_of,
)
from tapeless.numpy.correlation import convolve
from tapeless.numpy.creation import full, ones, zeros
from tapeless.numpy.diagonals import diag, vander
from tapeless.numpy.editing import trim_zeros
from tapeless.numpy.floats import isfinite
from tapeless.numpy.indexing import get_item
from tapeless.numpy.joining import concatenate
from tapeless.numpy.products import dot, outer
from tapeless.numpy.shaping import atleast_1d, transpose
from tapeless.numpy.ufuncs import sqrt
from tapeless.prims import structural
from tapeless.prims.dynamic_slice import dynamic_slice, dynamic_update_slice
from tapeless.prims.sort import sort
from tapeless.util import lazy

__all__ = [
    "poly",
    "polyadd",
    "polyder",
    "polydiv",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "roots",
]

factorizations = lazy.load("tapeless.numpy.linalg.factorizations")
solves = lazy.load("tapeless.numpy.linalg.solves")


@jit
def polyadd(a1: Any, a2: Any) -> Value:
    """Return the sum of two polynomials: (n,), (m,) -> (max(n, m),).

    >>> import tapeless.numpy as jnp
    >>> jnp.polyadd(jnp.array([1, 2, 3]), jnp.array([10, 20]))
    Array([ 1, 12, 23], dtype=int32)
    """
    check_arraylike("polyadd", a1, a2)
    x, y = promote_dtypes(value_of(a1), value_of(a2))
    n, m = typeof(x).shape[0], typeof(y).shape[0]
    if n < m:
        x, y, n, m = y, x, m, n
    longer: Any = asarray(x)
    return longer.at[n - m :].add(y)


@jit
def polysub(a1: Any, a2: Any) -> Value:
    """Return the difference of two polynomials: (n,), (m,) -> (max(n, m),).

    >>> import tapeless.numpy as jnp
    >>> jnp.polysub(jnp.array([1, 2, 3]), jnp.array([10, 20]))
    Array([  1,  -8, -17], dtype=int32)
    """
    check_arraylike("polysub", a1, a2)
    x, y = promote_dtypes(value_of(a1), value_of(a2))
    return polyadd(x, arithmetic.negative(y))


def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Value:
    """Return the product of two polynomials: (n,), (m,) -> (n + m - 1,), floating.

    trim_leading_zeros: leave them out of the operands; outside of transformations only.

    >>> import tapeless.numpy as jnp
    >>> jnp.polymul(jnp.array([1.0, 2.0]), jnp.array([1.0, 10.0]))
    Array([ 1., 12., 20.], dtype=float32)
    """
    check_arraylike("polymul", a1, a2)
    x, y = promote_dtypes_inexact(value_of(a1), value_of(a2))
    for each in (x, y):
        _length("polymul", each)
    if trim_leading_zeros and (typeof(x).size > 1 or typeof(y).size > 1):
        x, y = trim_zeros(x, trim="f"), trim_zeros(y, trim="f")
    if typeof(x).size == 0:
        x = asarray(np.zeros(1, typeof(y).dtype))
    if typeof(y).size == 0:
        y = asarray(np.zeros(1, typeof(x).dtype))
    return convolve(x, y, mode="full")


def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> tuple[Value, Value]:
    """Return quotient and remainder of polynomials: (n,), (m,) -> (n - m + 1,), (n,), floating.

    trim_leading_zeros: leave them out of the remainder; outside of transformations only.

    >>> import tapeless.numpy as jnp
    >>> jnp.polydiv(jnp.array([1.0, 3.0, 2.0]), jnp.array([1.0, 1.0]))
    (Array([1., 2.], dtype=float32), Array([0., 0., 0.], dtype=float32))
    """
    check_arraylike("polydiv", u, v)
    x, y = promote_dtypes_inexact(value_of(u), value_of(v))
    quotient, rest = _divided(narrowed(x), narrowed(y))
    if trim_leading_zeros:
        rest = trim_zeros(rest, trim="f")
    return quotient, rest


def _length(name: str, p: Value) -> int:
    """Return the number of coefficients; refuse a scalar."""
    if typeof(p).ndim == 0:
        raise TypeError(f"{name} takes a vector of coefficients, got a scalar")
    return typeof(p).shape[0]


@jit
def _divided(u: Value, v: Value) -> tuple[Value, Value]:
    """Divide step by step: each step removes the leading power of what is left."""
    n, m = _length("polydiv", u), _length("polydiv", v)
    if n < m:
        return zeros(1, typeof(u).dtype), u
    scale = arithmetic.divide(1.0, get_item(v, 0))

    def step(k: Value, state: tuple) -> tuple:
        """Find one coefficient of the quotient."""
        quotient, rest = state
        window = dynamic_slice(rest, (k,), (m,))
        factor = arithmetic.multiply(scale, get_item(window, 0))
        window = arithmetic.subtract(window, arithmetic.multiply(factor, v))
        quotient = dynamic_update_slice(quotient, factor.reshape(1), (k,))
        return quotient, dynamic_update_slice(rest, window, (k,))

    start = zeros(n - m + 1, typeof(u).dtype)
    quotient, rest = fori_loop(0, n - m + 1, step, (start, asarray(u)))
    # What has been removed is zero, not what rounding left of it; infinities leave NaN.
    removed = rest[: n - m + 1]
    return quotient, rest.at[: n - m + 1].set(where(isfinite(removed), 0, removed))


@functools.partial(jit, static_argnames=("m",))
def polyder(p: Any, m: int = 1) -> Value:
    """Return the derivative of order m of a polynomial: (n,) -> (n - m,), floating.

    >>> import tapeless.numpy as jnp
    >>> jnp.polyder(jnp.array([1.0, 2.0, 3.0]))
    Array([2., 2.], dtype=float32)
    """
    check_arraylike("polyder", p)
    if m < 0:
        raise ValueError("Order of derivative must be positive")
    (x,) = promote_dtypes_inexact(value_of(p))
    if m == 0:
        return asarray(x)
    n = _length("polyder", x)
    powers = np.arange(n - 1, m - 1, -1)
    factors = np.prod([powers - i for i in range(m)], axis=0)
    return arithmetic.multiply(get_item(x, slice(None, -m)), factors.astype(typeof(x).dtype))


@functools.partial(jit, static_argnames=("m",))
def polyint(p: Any, m: int = 1, k: Any = None) -> Value:
    """Return the integral of order m of a polynomial: (n,) -> (n + m,), floating.

    k: the constants of integration, one or m; 0 by default.

    >>> import tapeless.numpy as jnp
    >>> jnp.polyint(jnp.array([2.0, 2.0]), k=3.0)
    Array([1., 2., 3.], dtype=float32)
    """
    check_arraylike("polyint", p, *(() if k is None else (k,)))
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    constants = 0 if k is None else value_of(k)
    x, constants = promote_dtypes_inexact(value_of(p), constants)
    if m == 0:
        return asarray(x)
    constants = atleast_1d(constants)
    if typeof(constants).shape == (1,):
        constants = full((m,), get_item(constants, 0))
    if typeof(constants).shape != (m,):
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or m.")
    n = _length("polyint", x)
    powers = np.arange(n + m - 1, -1, -1)
    factors = np.prod([np.maximum(powers - i, 1) for i in range(m)], axis=0)
    # The constant that is integrated j more times is divided by j!.
    joined = concatenate([x, constants])
    return arithmetic.divide(joined, factors.astype(typeof(x).dtype))


@functools.partial(jit, static_argnames=("unroll",))
def _horner(p: Value, x: Value, unroll: int) -> Value:
    """Evaluate from the highest power down."""
    shape = structural.broadcast_shapes(typeof(x).shape, typeof(p).shape[1:])
    start = zeros(shape, typeof(x).dtype)

    def step(y: Value, coefficient: Value) -> tuple[Value, None]:
        """Multiply by x and add a coefficient."""
        return arithmetic.add(arithmetic.multiply(y, x), coefficient), None

    return scan(step, start, p, unroll=unroll)[0]


def polyval(p: Any, x: Any, *, unroll: int | None = None) -> Value:
    """Return the values of a polynomial: (n,), (k,) -> (k,).

    unroll: how many steps of Horner's rule are written out in the loop.

    >>> import tapeless.numpy as jnp
    >>> jnp.polyval(jnp.array([1, 0, 2]), jnp.array([0, 3]))
    Array([ 2, 11], dtype=int32)
    """
    check_arraylike("polyval", p, x)
    p, x = (asarray(each) for each in promote_dtypes(value_of(p), value_of(x)))
    return _horner(p, x, 16 if unroll is None else unroll)


@jit
def poly(seq_of_zeros: Any) -> Value:
    """Return the polynomial with these roots, or a matrix's characteristic one: (n,) -> (n + 1,).

    Unlike NumPy's, complex roots in pairs give complex coefficients.

    >>> import tapeless.numpy as jnp
    >>> jnp.poly(jnp.array([1.0, 2.0]))
    Array([ 1., -3.,  2.], dtype=float32)
    """
    check_arraylike("poly", seq_of_zeros)
    (x,) = promote_dtypes_inexact(value_of(seq_of_zeros))
    x = atleast_1d(x)
    shape = typeof(x).shape
    if len(shape) == 2 and shape[0] == shape[1] and shape[0] != 0:
        x = factorizations.eigvals(x)
    if typeof(x).ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    n, dtype = typeof(x).shape[0], typeof(x).dtype
    if n == 0:
        return ones((), dtype)

    places = np.arange(n + 1, dtype=np.int32)

    def step(a: Value, factor: tuple[Value, Value]) -> tuple[Value, None]:
        """Multiply by (x - root); coefficients that stay are left out: an infinite root times 0."""
        root, degree = factor
        moved = concatenate([zeros(1, dtype), get_item(a, slice(None, -1))])
        product = arithmetic.subtract(a, arithmetic.multiply(root, moved))
        return where((places == 0) | (places > degree), a, product), None

    start: Any = zeros(n + 1, dtype)
    return scan(step, start.at[0].set(1), (x, places[1:]))[0]


def roots(p: Any, *, strip_zeros: bool = True) -> Value:
    """Return the roots of a polynomial, complex: (n,) -> (n - 1,).

    strip_zeros: leave leading and trailing zeros out first, which needs values; without it leading
    zeros give NaNs.

    >>> import tapeless.numpy as jnp
    >>> jnp.roots(jnp.array([1.0, -3.0, 2.0]))
    Array([2.+0.j, 1.+0.j], dtype=complex64)
    """
    check_arraylike("roots", p)
    (x,) = promote_dtypes_inexact(value_of(p))
    x = asarray(atleast_1d(x))
    if x.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    if x.size < 2:
        return asarray(np.zeros(0, dtypes.to_complex_dtype(x.dtype)))
    if not strip_zeros:
        return _roots_with_zeros(x)
    known = concrete_value(
        x,
        "The error occurred in the jnp.roots() function. To use this within a JIT-compiled "
        "context, pass strip_zeros=False, but be aware that leading zeros will result in some "
        "returned roots being set to NaN.",
    )
    places = np.flatnonzero(np.asarray(known))
    first = int(places[0]) if len(places) else x.size - 1
    return _roots(get_item(x, slice(first, None)))


@jit
def _roots(p: Value) -> Value:
    """Return the roots as eigenvalues of the companion matrix."""
    n = typeof(p).shape[0]
    if n < 2:
        return zeros(0, dtypes.to_complex_dtype(typeof(p).dtype))
    companion: Any = diag(ones(n - 2, typeof(p).dtype), -1)
    top = arithmetic.divide(arithmetic.negative(get_item(p, slice(1, None))), get_item(p, 0))
    return factorizations.eigvals(companion.at[0, :].set(top))


@jit
def _roots_with_zeros(p: Value) -> Value:
    """Return the roots of a polynomial with leading zeros: NaN for those that are missing.

    The zeros are rotated to the end, where each gives one more root 0; those are moved to the end.
    """
    n = typeof(p).shape[0]
    nonzero = arithmetic.not_equal(p, 0)
    leading = where(reductions.any(nonzero), reductions.argmax(nonzero), n)
    p = where(arithmetic.equal(leading, n), 1, p)
    order = arithmetic.remainder(arithmetic.add(np.arange(n, dtype=np.int32), leading), n)
    found = _roots(get_item(p, order))
    _, found = sort((arithmetic.equal(found, 0), found), 0, num_keys=1)
    present = arithmetic.less(np.arange(n - 1, dtype=np.int32), arithmetic.subtract(n - 1, leading))
    return where(present, found, complex(np.nan, np.nan))


@functools.partial(jit, static_argnames=("deg", "rcond", "full", "cov"))
def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Any = None,
    cov: bool = False,
) -> Any:
    """Return the polynomial of a degree that is nearest to points: (n,), (n, k) -> (deg + 1, k).

    rcond: singular values below this times the largest count as zero.  w: weights of the points.
    full: return also residuals, rank, singular values and rcond.  cov: return also the covariances
    of the coefficients, scaled by the residuals, or "unscaled".

    >>> import tapeless.numpy as jnp
    >>> jnp.polyfit(jnp.arange(3.0), jnp.array([1.0, 3.0, 5.0]), 1).round(3)
    Array([2., 1.], dtype=float32)
    """
    check_arraylike("polyfit", x, y, *(() if w is None else (w,)))
    x, y = promote_dtypes_inexact(value_of(x), value_of(y))
    deg = operator.index(deg)
    _check_fit(typeof(x).shape, typeof(y).shape, deg)
    n, order = typeof(x).shape[0], deg + 1
    if rcond is None:
        rcond = n * float(dtypes.finfo(typeof(x).dtype).eps)
    rows, values = vander(x, order), y
    if w is not None:
        (w,) = promote_dtypes_inexact(value_of(w))
        if typeof(w).ndim != 1:
            raise TypeError("expected a 1-d array for weights")
        if typeof(w).shape[0] != typeof(y).shape[0]:
            raise TypeError("expected w and y to have the same length")
        rows = arithmetic.multiply(rows, get_item(w, (slice(None), None)))
        weight = get_item(w, (slice(None), None)) if typeof(y).ndim == 2 else w
        values = arithmetic.multiply(values, weight)
    # Columns of norm 1 make the system as well conditioned as can be.
    scale = sqrt(reductions.sum(arithmetic.multiply(rows, rows), axis=0))
    rows = arithmetic.divide(rows, scale)
    found, residuals, rank, s = solves.lstsq(rows, values, rcond)
    found = transpose(arithmetic.divide(transpose(found), scale))
    if full:
        return found, residuals, rank, s, asarray(rcond)
    if not cov:
        return found
    base = arithmetic.divide(solves.inv(dot(transpose(rows), rows)), outer(scale, scale))
    if typeof(y).ndim == 2:
        base = get_item(base, (..., None))
    if cov == "unscaled":
        return found, base
    if n <= order:
        raise ValueError(
            "the number of data points must exceed order to scale the covariance matrix"
        )
    factor = arithmetic.divide(residuals, n - order)
    return found, arithmetic.multiply(base, factor)


def _check_fit(x: tuple[int, ...], y: tuple[int, ...], deg: int) -> None:
    """Raise errors for points that do not fit; x, y: shapes."""
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if len(x) != 1:
        raise TypeError("expected 1D vector for x")
    if x[0] == 0:
        raise TypeError("expected non-empty vector for x")
    if len(y) not in (1, 2):
        raise TypeError("expected 1D or 2D array for y")
    if x[0] != y[0]:
        raise TypeError("expected x and y to have same length")
