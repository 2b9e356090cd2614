"""The regularised incomplete beta function, with its derivative in x.

    I(a, b, x) = 1/B(a, b) * integral of t**(a-1) (1-t)**(b-1), t from 0 to x

is x**a (1-x)**b / (a B(a, b)) times a continued fraction, which converges fast where
x < (a+1)/(a+b+2); elsewhere I(a, b, x) = 1 - I(b, a, 1-x).  The fraction is evaluated forwards, in
float64 for narrow dtypes.

For large a and b the logarithm of B is taken by Stirling's formula, in which the big terms cancel.
"""

from __future__ import annotations

import math

import numpy as np

from tapeless.control.igamma import in_blocks, in_float64, run_masked, where
from tapeless.core.aval import typeof
from tapeless.core.linear import Zero
from tapeless.core.trace import Value
from tapeless.prims.binary import add, div, max, min, mul, sub
from tapeless.prims.bitwise import bitwise_and, bitwise_or
from tapeless.prims.common import FLOAT, Elementwise, const, full_like
from tapeless.prims.compare import eq, gt, le, lt, ne
from tapeless.prims.exponential import exp, log, log1p
from tapeless.prims.special import digamma, lgamma
from tapeless.prims.unary import abs, bitwise_not, neg
from tapeless.util import lazy

__all__ = ["betainc", "regularized_incomplete_beta_p"]

scipy_special = lazy.load("scipy.special")
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)


def _stirling_tail(x: Value) -> Value:
    """Return log gamma(x) - ((x - 1/2) log x - x + log(2 pi)/2) for x >= 10."""
    inverse = div(const(x, 1.0), x)
    square, tail = mul(inverse, inverse), const(x, _STIRLING[-1])
    for coefficient in _STIRLING[-2::-1]:
        tail = add(mul(tail, square), const(x, coefficient))
    return mul(tail, inverse)


def log_integrand(
    a: Value,
    b: Value,
    x: Value,
) -> Value:
    """Return log(x**a (1-x)**b / B(a, b))."""
    y = log1p(neg(x))
    small, large = min(a, b), max(a, b)
    ten = const(a, 10.0)
    powers = add(mul(a, log(x)), mul(b, y))
    with_small = sub(_lgamma_difference(small, large), lgamma(small))
    return where(gt(small, ten), _about_maximum(a, b, x), add(powers, with_small))


def _lgamma_difference(small: Value, large: Value) -> Value:
    """Return log gamma(large + small) - log gamma(large)."""
    total, half = add(small, large), const(large, 0.5)
    plain = sub(lgamma(total), lgamma(large))
    growth = mul(sub(large, half), log1p(div(small, large)))
    growth = add(growth, mul(small, sub(log(total), const(large, 1.0))))
    tails = sub(_stirling_tail(total), _stirling_tail(large))
    return where(gt(large, const(large, 10.0)), add(growth, tails), plain)


def _about_maximum(
    a: Value,
    b: Value,
    x: Value,
) -> Value:
    """Return the logarithm of the integrand for a, b >= 10, whose big terms cancel.

    a log(x s/a) + b log((1-x) s/b) with s = a + b: each is close to zero near the maximum a/s.
    """
    a, b = (max(v, full_like(v, 10.0)) for v in (a, b))
    total = add(a, b)
    mean, rest = div(a, total), div(b, total)
    near = mul(a, log1p(div(sub(x, mean), mean)))
    far = mul(b, log1p(div(sub(mean, x), rest)))
    half_log = mul(const(a, 0.5), log(div(mul(mean, b), const(a, 2 * math.pi))))
    tails = sub(_stirling_tail(total), add(_stirling_tail(a), _stirling_tail(b)))
    return add(add(near, far), add(half_log, tails))


def _fraction(
    active: Value,
    a: Value,
    b: Value,
    x: Value,
    eps: float,
) -> Value:
    """Return the continued fraction, for x < (a+1)/(a+b+2), up to a relative change of eps.

    It is a / (b_0 + a_1/(b_1 + a_2/(b_2 + ...))), where with e = a + 2 m

        a_m = (a+m-1) (a+b+m-1) m (b-m) x**2 / (e-1)**2
        b_m = m + m (b-m) x / (e-1) + (a+m) (a + 1 - (a+b) x + m (2-x)) / (e+1)

    Both are multiplied by (e-1)**2 (e+1) / (a+1)**3, so that a step has one division, by the
    denominator of the convergent, which is 1 thereafter.
    """
    one, two = const(a, 1.0), const(a, 2.0)
    total = add(a, b)
    unit = div(one, add(a, one))
    ahead = sub(add(a, one), mul(total, x))

    def step(
        m: Value,
        value: Value,
        before: Value,
        inverse: Value,
    ) -> tuple[Value, ...]:
        """Go to the next convergent; before, inverse: the parts of the one before this."""
        end = add(a, add(m, m))
        low = mul(sub(end, one), unit)
        high = mul(add(end, one), unit)
        share = mul(m, sub(b, m))
        share = mul(mul(share, x), unit)
        growth = add(ahead, mul(m, sub(two, x)))
        growth = mul(mul(add(a, m), unit), growth)
        beside = mul(add(mul(m, low), share), high)
        beside = mul(add(beside, mul(growth, low)), low)
        powers = mul(sub(add(a, m), one), unit)
        above = mul(sub(add(total, m), one), x)
        above = mul(mul(powers, above), share)
        above = mul(above, high)
        scale = mul(mul(low, low), high)
        part = add(beside, mul(above, inverse))
        part = div(one, part)
        new = mul(beside, value)
        new = add(new, mul(above, before))
        new = mul(new, part)
        change = abs(sub(new, value))
        is_done = le(change, mul(const(new, eps), abs(new)))
        scale = mul(scale, part)
        return is_done, new, mul(scale, value), scale

    start = (mul(mul(a, unit), ahead), full_like(x, 1.0), full_like(x, 0.0))
    return div(a, run_masked(active, start, step)[0])


def _regularized(
    a: Value,
    b: Value,
    x: Value,
    eps: float,
) -> Value:
    """Return I(a, b, x) in float64; eps: where its fraction ends."""
    zero, one, inf = (const(a, v) for v in (0.0, 1.0, math.inf))
    bad = bitwise_or(bitwise_or(ne(a, a), ne(b, b)), ne(x, x))
    bad = bitwise_or(bad, bitwise_or(bitwise_or(lt(a, zero), lt(b, zero)), lt(x, zero)))
    bad = bitwise_or(bad, gt(x, one))
    bad = bitwise_or(bad, bitwise_and(eq(a, zero), eq(b, zero)))
    bad = bitwise_or(bad, bitwise_and(eq(a, inf), eq(b, inf)))
    # All the weight is at x = 0, or at x = 1.
    is_all = bitwise_or(eq(x, one), bitwise_or(eq(a, zero), eq(b, inf)))
    is_none = bitwise_or(eq(x, zero), bitwise_or(eq(b, zero), eq(a, inf)))
    is_all = bitwise_and(is_all, ne(x, zero))
    is_none = bitwise_and(is_none, ne(x, one))
    active = bitwise_not(bitwise_or(bad, bitwise_or(is_all, is_none)))
    a, b, x = (where(active, v, full_like(v, 0.5)) for v in (a, b, x))
    flipped = gt(x, div(add(a, one), add(add(a, b), const(a, 2.0))))
    low = where(flipped, b, a)
    high = where(flipped, a, b)
    at = where(flipped, sub(one, x), x)
    part = div(mul(exp(log_integrand(a, b, x)), _fraction(active, low, high, at, eps)), low)
    value = where(flipped, sub(one, part), part)
    return where(
        bad,
        math.nan,
        is_none,
        0.0,
        is_all,
        1.0,
        value,
    )


def _density(
    a: Value,
    b: Value,
    x: Value,
) -> Value:
    """Return dI/dx."""
    rest = add(log(x), log1p(neg(x)))
    return exp(sub(log_integrand(a, b, x), rest))


def _no_derivative(
    t: Value,
    out: Value,
    *args: Value,
) -> Zero:
    """Raise the error for a derivative that is not there."""
    raise ValueError("Betainc gradient with respect to a and b not supported.")


class BetaDensity(Elementwise):
    """dI/dx = x**(a-1) (1-x)**(b-1) / B(a, b), for 0 < x < 1."""

    name = "beta_density"
    accepts = (FLOAT,)
    partials = (
        lambda t, out, a, b, x: mul(mul(t, out), _log_slope(a, b, x)),
        lambda t, out, a, b, x: mul(mul(t, out), _log_slope(b, a, sub(const(x, 1.0), x))),
        lambda t, out, a, b, x: mul(
            mul(t, out), sub(_ratio(a, x), _ratio(b, sub(const(x, 1.0), x)))
        ),
    )

    def decompose(
        self,
        *args: Value,
        **params: object,
    ) -> tuple:
        """Compute in float64."""
        return (in_float64(_density, *args),)

    @staticmethod
    def numpy(
        a: np.ndarray,
        b: np.ndarray,
        x: np.ndarray,
    ) -> np.ndarray:
        """Compute with SciPy."""
        log_powers = (a - 1) * np.log(x) + (b - 1) * np.log1p(-x)
        return np.exp(log_powers - scipy_special.betaln(a, b))


def _log_slope(
    a: Value,
    b: Value,
    x: Value,
) -> Value:
    """Return the derivative of the logarithm of the density by a."""
    return add(log(x), sub(digamma(add(a, b)), digamma(a)))


def _ratio(a: Value, x: Value) -> Value:
    """Return (a - 1) / x."""
    return div(sub(a, const(a, 1.0)), x)


beta_density_p = BetaDensity()


def beta_density(
    a: Value,
    b: Value,
    x: Value,
) -> Value:
    """Return x**(a-1) (1-x)**(b-1) / B(a, b), elementwise: (s), (s), (s) -> (s)."""
    return beta_density_p.bind(a, b, x)[0]


class RegularizedIncompleteBeta(Elementwise):
    """I(a, b, x)."""

    name = "regularized_incomplete_beta"
    accepts = (FLOAT,)
    partials = (
        _no_derivative,
        _no_derivative,
        lambda t, out, a, b, x: mul(t, beta_density(a, b, x)),
    )

    def decompose(
        self,
        *args: Value,
        **params: object,
    ) -> tuple:
        """Compute in float64, as far as the dtype can tell."""
        is_wide = typeof(args[-1]).dtype == np.float64
        eps = float(np.finfo(np.float64).eps) if is_wide else 1e-9
        return (in_blocks(lambda a, b, x: _regularized(a, b, x, eps), *args),)

    numpy = staticmethod(lambda *args: scipy_special.betainc(*args))


regularized_incomplete_beta_p = RegularizedIncompleteBeta()


def betainc(
    a: Value,
    b: Value,
    x: Value,
) -> Value:
    """Return the regularised incomplete beta function, elementwise: (s), (s), (s) -> (s).

    >>> betainc(np.float32(2), np.float32(3), np.float32(0.5))
    Array(0.6875, dtype=float32)
    """
    return regularized_incomplete_beta_p.bind(a, b, x)[0]
