"""Expansions of the incomplete gamma functions where neither their series nor fraction is of use.

With d = x/a - 1 and eta**2 / 2 = phi(d) = d - log(1 + d), where eta has the sign of d,

    Q(a, x) = erfc( eta sqrt(a/2)) / 2 + R        P(a, x) = erfc(-eta sqrt(a/2)) / 2 - R
    R = exp(-a phi) / sqrt(2 pi a) * sum over k of c_k(eta) / a**k

uniformly in x (Temme; DLMF, section 8.12, equations 8.12.1 to 8.12.11).  The c_k are power series
in eta that converge for |eta| < 2 sqrt(pi).  Their coefficients follow from d' d = eta (1 + d):

    d = a_1 eta + a_2 eta**2 + ...               a_1 = 1,  a_2 = 1/3
    c_k[n] = (n+2) c_(k-1)[n+2] - c_(k-1)[1] c_0[n]
    c_0[n] = (n+2) a_(n+2), less 1 for n = 0

For a > 200 and |d| < 0.3 the terms that are kept leave less than a unit in the last place.  Near
a = 0 what counts is log gamma(1 + a), whose Taylor series has the values of zeta.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

from tapeless.core.trace import Value
from tapeless.prims.binary import add, div, mul, sub
from tapeless.prims.common import const
from tapeless.prims.exponential import exp
from tapeless.prims.special import erfc
from tapeless.prims.unary import neg, sqrt

__all__ = ["LARGE", "NEAR", "curvature", "log_gamma_of_more_than_one", "uniform"]

LARGE, NEAR = 200.0, 0.3
_N_POWERS, _N_TERMS = 18, 6
_EULER = 0.5772156649015329
_ZETAS = (
    1.6449340668482264,
    1.2020569031595942,
    1.0823232337111382,
    1.0369277551433699,
    1.0173430619844491,
    1.008349277381923,
    1.0040773561979443,
    1.0020083928260822,
    1.000994575127818,
    1.000494188604119,
)


@cache
def coefficients() -> tuple[tuple[float, ...], ...]:
    """Return the coefficients of c_0, c_1, ... in powers of eta."""
    size = _N_POWERS + 2 * _N_TERMS + 2
    series = [Fraction(0), Fraction(1)]
    for n in range(2, size):
        rest = series[n - 1]
        for i in range(2, n):
            other = n + 1 - i
            rest -= other * series[i] * series[other]
        series.append(rest / (n + 1))
    first = [n * series[n] for n in range(2, size)]
    first[0] -= 1
    found = [first]
    for _ in range(1, _N_TERMS):
        last = found[-1]
        line = []
        for n in range(len(last) - 2):
            raised = (n + 2) * last[n + 2]
            line.append(raised - last[1] * first[n])
        found.append(line)
    return tuple(tuple(map(float, line[:_N_POWERS])) for line in found)


def polynomial(x: Value, values: tuple[float, ...]) -> Value:
    """Return values[0] + values[1] x + ..., elementwise: (s) -> (s)."""
    total = const(x, values[-1])
    for value in values[-2::-1]:
        raised = mul(total, x)
        total = add(raised, const(x, value))
    return total


def curvature(d: Value) -> Value:
    """Return phi(d) / d**2 for |d| < 0.3, exact to the last digits, elementwise: (s) -> (s).

    With v = 1 / (2 + d) and u = v d, phi is d u - 2 (u**3 / 3 + u**5 / 5 + ...): no cancellation.
    """
    one, two = const(d, 1.0), const(d, 2.0)
    v = div(one, add(d, two))
    u = mul(d, v)
    series = tuple(2 / n for n in range(3, 25, 2))
    odd = polynomial(mul(u, u), series)
    correction = mul(mul(u, v), odd)
    return mul(v, sub(one, correction))


def uniform(a: Value, x: Value) -> tuple[Value, Value]:
    """Return P and Q for a > 200 and |x/a - 1| < 0.3, elementwise: (s), (s) -> (s), (s)."""
    d = div(sub(x, a), a)
    curve = curvature(d)
    doubled = add(curve, curve)
    eta = mul(d, sqrt(doubled))
    inverse = div(const(a, 1.0), a)
    terms = [polynomial(eta, line) for line in coefficients()]
    total = terms[-1]
    for term in terms[-2::-1]:
        raised = mul(total, inverse)
        total = add(raised, term)
    exponent = mul(mul(mul(a, d), d), curve)
    width = sqrt(mul(a, const(a, 2 * math.pi)))
    rest = mul(div(exp(neg(exponent)), width), total)
    half = const(a, 0.5)
    edge = mul(eta, sqrt(mul(a, half)))
    below = mul(half, erfc(neg(edge)))
    above = mul(half, erfc(edge))
    return sub(below, rest), add(above, rest)


def log_gamma_of_more_than_one(a: Value) -> Value:
    """Return log gamma(1 + a) for 0 <= a < 1/32, relatively exact, elementwise: (s) -> (s)."""
    values = [-_EULER]
    for k, zeta in enumerate(_ZETAS, start=2):
        values.append((-1) ** k * zeta / k)
    return mul(a, polynomial(a, tuple(values)))
