"""How a gamma-distributed number moves with its shape parameter.

A sample x of the gamma distribution with shape a is x = P^-1(a, u) for a uniform u, P the
regularised incomplete gamma function; with u fixed,

    dx/da = -(dP/da) / (dP/dx) = -x (dP/da) / ax,       ax = x**a exp(-x) / gamma(a)

P is ax/a times a power series where x <= max(1, a), and 1 - ax times a continued fraction
elsewhere (Cephes, `igam` and `igamc`); their derivatives are carried through the same recurrences.
Elements that are done keep their values until all are.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from tapeless import dtypes
from tapeless.control.loops import while_loop
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.prims.binary import (
    add,
    div,
    mul,
    sub,
)
from tapeless.prims.bitwise import (
    bitwise_and,
    bitwise_or,
)
from tapeless.prims.compare import eq, gt, le, lt, ne
from tapeless.prims.create import full_like
from tapeless.prims.exponential import log
from tapeless.prims.reduce import reduce_or
from tapeless.prims.select import select_n
from tapeless.prims.special import digamma, lgamma
from tapeless.prims.structural import broadcast_in_dim, broadcast_shapes
from tapeless.prims.unary import abs, bitwise_not, neg

__all__ = ["random_gamma_grad"]

# The series takes some times the root of `a` in steps, the fraction converges soon or not at all.
_MOST_TERMS, _MOST_CONVERGENTS = 1_000_000, 2000


def random_gamma_grad(a: Value, x: Value) -> Value:
    """Return the derivative of a gamma sample x with respect to the shape a: (s), (s) -> (s).

    >>> lax.random_gamma_grad(jnp.array([1.5, 2.0]), jnp.array([1.0, 0.5])).round(3)
    Array([0.903, 0.498], dtype=float32)
    """
    aval = typeof(x)
    broadcast_shapes(typeof(a).shape, aval.shape)  # raises JAX's error
    one, zero = (aval.dtype.type(value) for value in (1, 0))
    is_nan = bitwise_or(ne(a, a), ne(x, x))
    is_zero = eq(x, zero)
    is_outside = bitwise_or(lt(x, zero), le(a, zero))
    is_far = bitwise_and(gt(x, one), gt(x, a))
    log_ax = sub(mul(a, log(x)), x)
    log_ax = sub(log_ax, lgamma(a))
    largest = aval.dtype.type(dtypes.finfo(aval.dtype).max)
    vanishes = lt(log_ax, neg(log(largest)))
    is_idle = bitwise_or(is_zero, is_outside)
    is_idle = bitwise_or(is_idle, vanishes)
    is_idle = bitwise_or(is_idle, is_nan)
    active = bitwise_not(is_idle)
    far_active = bitwise_and(active, is_far)
    far = _continued_fraction(far_active, a, x)
    is_near = bitwise_not(is_far)
    near_active = bitwise_and(active, is_near)
    near = _series(near_active, a, x)
    result = select_n(is_far, near, far)
    zeros = full_like(result, 0)
    result = select_n(is_zero, result, zeros)
    is_invalid = bitwise_or(is_outside, is_nan)
    nans = full_like(result, np.nan)
    return select_n(is_invalid, result, nans)


def _any(active: Value) -> Value:
    """Tell whether an element is active: (s) -> ()."""
    return reduce_or(active, tuple(range(len(typeof(active).shape))))


def _keep(active: Value, old: Sequence[Value], new: Sequence[Value]) -> tuple[Value, ...]:
    """Return the new values of active elements, and the old ones of the others."""
    return tuple(select_n(active, x, y) for x, y in zip(old, new, strict=True))


def _is_unfinished(carry: tuple, most: int) -> Value:
    """Go on while an element moves, but not without end."""
    count, active = carry[:2]
    return bitwise_and(lt(count, typeof(count).dtype.type(most)), _any(active))


def _series(active: Value, a: Value, x: Value) -> Value:
    """Sum x**k / ((a + 1) ... (a + k)) and its derivative; where a + 1 is a, no sum ends."""
    dtype = typeof(x).dtype
    one, eps = dtype.type(1), dtype.type(dtypes.finfo(dtype).eps)

    def step(carry: tuple) -> tuple:
        """Add one term, and the derivative of the term."""
        count, active, r, term, total, slope, total_slope = carry
        r_next = add(r, one)
        ratio = div(x, r_next)
        change = div(mul(term, x), mul(r_next, r_next))
        slope_next = sub(mul(slope, ratio), change)
        slopes = add(total_slope, slope_next)
        term_next = mul(term, ratio)
        new = (
            r_next,
            term_next,
            add(total, term_next),
            slope_next,
            slopes,
        )
        share = abs(div(slope_next, slopes))
        going = bitwise_and(active, gt(share, eps))
        return (add(count, one), going, *_keep(active, carry[2:], new))

    ones, zeros = full_like(x, 1), full_like(x, 0)
    start = (dtype.type(0), active, a, ones, ones, zeros, zeros)
    _, _, _, _, total, _, total_slope = while_loop(
        functools.partial(_is_unfinished, most=_MOST_TERMS), step, start
    )
    log_slope = sub(log(x), digamma(add(a, one)))
    slope = add(total_slope, mul(total, log_slope))
    slope = mul(neg(slope), x)
    return div(slope, a)


def _continued_fraction(active: Value, a: Value, x: Value) -> Value:
    """Evaluate the convergents p/q of the fraction and their derivatives."""
    dtype = typeof(x).dtype
    one, two = dtype.type(1), dtype.type(2)
    ones, zeros = full_like(x, 1), full_like(x, 0)
    y = sub(one, a)
    z = add(add(x, y), one)
    p, q = add(x, one), mul(z, x)
    value = div(p, q)
    slope = div(neg(mul(value, neg(x))), q)
    # Each pair holds the last and the last but one: numerators, denominators, and derivatives.
    pairs = (p, ones, q, x, zeros, zeros, neg(x), zeros)
    start = (dtype.type(0), active, y, z, value, slope, *pairs)

    def step(carry: tuple) -> tuple:
        """Go on to the next convergent."""
        count, active, y, z, value, slope, *pairs = carry
        count = add(count, one)
        y_next, z_next = add(y, one), add(z, two)
        new = _next_convergent(count, y_next, z_next, value, slope, pairs)
        going = bitwise_and(active, new[0])
        return (count, going, *_keep(active, carry[2:], (y_next, z_next, *new[1:])))

    is_unfinished = functools.partial(_is_unfinished, most=_MOST_CONVERGENTS)
    _, _, _, _, value, slope, *_ = while_loop(is_unfinished, step, start)
    log_slope = sub(log(x), digamma(a))
    slope = add(slope, mul(value, log_slope))
    return mul(slope, x)


def _next_convergent(
    count: Value,
    y: Value,
    z: Value,
    value: Value,
    slope: Value,
    pairs: Sequence[Value],
) -> tuple[Value, ...]:
    """Return whether the slope still moves, value, slope and pairs of the next convergent."""
    p1, p2, q1, q2, dp1, dp2, dq1, dq2 = pairs
    dtype = typeof(y).dtype
    eps = dtype.type(dtypes.finfo(dtype).eps)
    count = broadcast_in_dim(count, typeof(y).shape, ())
    yc = mul(y, count)
    p = sub(mul(p1, z), mul(p2, yc))
    q = sub(mul(q1, z), mul(q2, yc))
    is_finite = ne(q, dtype.type(0))
    ratio = div(p, q)
    value = select_n(is_finite, value, ratio)
    dp = _next_derivative(z, yc, count, p1, p2, dp1, dp2)
    dq = _next_derivative(z, yc, count, q1, q2, dq1, dq2)
    rest = sub(dp, mul(value, dq))
    quotient = div(rest, q)
    slope_next = select_n(is_finite, slope, quotient)
    change = abs(sub(slope_next, slope))
    ones = full_like(slope, 1)
    moved = select_n(is_finite, ones, change)
    is_large = gt(abs(p), dtype.type(1 / eps))
    scaled = functools.partial(_scaled, is_large, eps)
    pairs = [scaled(each) for each in (p, p1, q, q1, dp, dp1, dq, dq1)]
    return (gt(moved, eps), value, slope_next, *pairs)


def _next_derivative(
    z: Value,
    yc: Value,
    count: Value,
    last: Value,
    before: Value,
    d_last: Value,
    d_before: Value,
) -> Value:
    """Differentiate z p1 - y c p2 with respect to the shape, which z and y fall with."""
    result = sub(mul(d_last, z), last)
    result = sub(result, mul(d_before, yc))
    return add(result, mul(before, count))


def _scaled(is_large: Value, eps: np.generic, x: Value) -> Value:
    """Keep numerators and denominators in range: their ratio does not change."""
    return select_n(is_large, x, mul(x, eps))
