"""Exponential integrals, the dilogarithm, and hypergeometric functions.

Series are summed, and continued fractions evaluated, by loops that end when the last element has
converged (`run_masked`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapeless import lax
from tapeless import numpy as jnp
from tapeless.control.igamma import run_masked
from tapeless.core.trace import Value
from tapeless.numpy.common import promote_args_inexact
from tapeless.scipy.special.gammas import gammaln, gammasgn
from tapeless.scipy.special.wide import array_of_sequence, wide_function
from tapeless.util import lazy

__all__ = ["exp1", "expi", "expn", "hyp1f1", "hyp2f1", "spence"]

scipy_special = lazy.load("scipy.special")
_EULER = float(np.euler_gamma)
_EPS = float(np.finfo(np.float64).eps)


def _power_series(
    active: Value,
    x: Value,
    first: Value,
) -> Value:
    """Return first + the sum of x**k / (k k!), k = 1, 2, ..."""

    def step(
        k: Value,
        power: Value,
        total: Value,
    ) -> tuple:
        """Add one term; power is x**k / k!."""
        power = power * x / k
        term = power / k
        total = total + term
        return jnp.abs(term) <= _EPS * jnp.abs(total) * 0.1, power, total

    return run_masked(active, (jnp.ones_like(x), first), step)[1]


def _expn_fraction(
    active: Value,
    n: Value,
    x: Value,
) -> Value:
    """Return exp(x) E_n(x) by its continued fraction, for x > 1."""
    first = x + n

    def step(
        k: Value,
        b: Value,
        c: Value,
        d: Value,
        value: Value,
    ) -> tuple:
        """Multiply by the ratio of two convergents."""
        numerator = -k * (n - 1 + k)
        b = b + 2
        d = 1 / (numerator * d + b)
        c = b + numerator / c
        ratio = c * d
        return jnp.abs(ratio - 1) <= _EPS, b, c, d, value * ratio

    start = (first, jnp.full_like(x, 1e300), 1 / first, 1 / first)
    return run_masked(active, start, step)[3]


def _expn_series(
    active: Value,
    n: Value,
    x: Value,
) -> Value:
    """Return E_n(x) by its series, for 0 < x <= 1 and n = 1, 2, ..."""
    psi = lax.digamma(n) - jnp.log(x)
    sign = jnp.where((n - 1) % 2 == 0, 1.0, -1.0)
    single = sign * jnp.exp((n - 1) * jnp.log(x) - gammaln(n)) * psi
    start = jnp.where(n == 1, 0.0, -1 / jnp.where(n == 1, 1.0, 1 - n))

    def step(
        k: Value,
        power: Value,
        total: Value,
    ) -> tuple:
        """Add one term; power is (-x)**k / k!."""
        power = -power * x / k
        other = k - n + 1
        term = jnp.where(other == 0, 0.0, -power / jnp.where(other == 0, 1.0, other))
        is_done = (other > 0) & (jnp.abs(term) <= _EPS * jnp.abs(total))
        return is_done | (k > n + 60), power, total + term

    return single + run_masked(active, (jnp.ones_like(x), start), step)[1]


def _expn(n: Value, x: Value) -> Value:
    """Return E_n(x)."""
    is_plain = (n >= 1) & (x > 0) & jnp.isfinite(x) & jnp.isfinite(n)
    safe_n, safe_x = jnp.where(is_plain, n, 1.0), jnp.where(is_plain, x, 2.0)
    far = _expn_fraction(is_plain & (safe_x > 1), safe_n, safe_x) * jnp.exp(-safe_x)
    near_x = jnp.where(safe_x <= 1, safe_x, 0.5)
    near = _expn_series(is_plain & (safe_x <= 1), safe_n, near_x)
    value = jnp.where(safe_x > 1, far, near)
    value = jnp.where(n == 0, jnp.exp(-x) / x, value)
    at_zero = jnp.where(n <= 1, jnp.inf, 1 / jnp.where(n <= 1, 1.0, n - 1))
    value = jnp.where(x == 0, at_zero, jnp.where(x == jnp.inf, 0.0, value))
    return jnp.where((x < 0) | (n < 0) | jnp.isnan(x) | jnp.isnan(n), jnp.nan, value)


def _no_derivative(
    t: Value,
    out: Value,
    *args: Value,
) -> Value:
    """Refuse: the order is an integer, and parameters have no derivative here."""
    raise ValueError("this function has no derivative with respect to its order or parameters")


def _order_below(n: Value, x: Value) -> Value:
    """Return E_(n-1)(x)."""
    return jnp.where(n == 0, jnp.exp(-x) * (1 + x) / (x * x), expn(jnp.maximum(n - 1, 0), x))


_expn_function = wide_function(
    "expn",
    _expn,
    [_no_derivative, lambda t, out, n, x: -t * _order_below(n, x)],
    lambda *args: scipy_special.expn(*args),
)


def _fitting(*args: Any) -> list[Value]:
    """Return arrays, or sequences, as arrays whose shapes fit by NumPy's rules."""
    arrays = [array_of_sequence(x) for x in args]
    lax.broadcast_shapes(*map(jnp.shape, arrays))
    return arrays


def expn(n: Any, x: Any) -> Value:
    """Return E_n(x), the integral of exp(-x t) / t**n over t > 1, for x >= 0.

    n, x: shapes that broadcast to (n,) -> (n,)

    >>> expn(2, 1.0)
    Array(0.14849551, dtype=float32)
    """
    n, x = promote_args_inexact("expn", lax.stop_gradient(jnp.asarray(n)), x)
    return _expn_function(*_fitting(n, x))


def exp1(x: Any) -> Value:
    """Return E_1(x), the integral of exp(-x t) / t over t > 1.

    x: (n,) -> (n,)

    >>> jax.scipy.special.exp1(jnp.array([0.25, 0.5])).round(3)
    Array([1.044, 0.56 ], dtype=float32)
    """
    (x,) = promote_args_inexact("exp1", x)
    return expn(jnp.ones_like(x), x)


def _expi(x: Value) -> Value:
    """Return Ei(x)."""
    is_small = (x > 0) & (x < 40)
    safe = jnp.where(is_small, x, 1.0)
    small = _power_series(is_small, safe, _EULER + jnp.log(safe))
    large_x = jnp.maximum(x, 40.0)
    total = jnp.ones_like(x)
    for k in range(40, 0, -1):
        total = 1 + total * k / large_x
    large = jnp.exp(large_x) / large_x * total
    negative = -_expn(jnp.ones_like(x), jnp.where(x < 0, -x, 1.0))
    value = jnp.where(x < 0, negative, jnp.where(is_small, small, large))
    return jnp.where(x == 0, -jnp.inf, jnp.where(jnp.isinf(x) & (x > 0), jnp.inf, value))


_expi_function = wide_function(
    "expi", _expi, [lambda t, out, x: t * jnp.exp(x) / x], lambda *args: scipy_special.expi(*args)
)


def expi(x: Any) -> Value:
    """Return Ei(x), the integral of exp(t) / t up to x.

    x: (n,) -> (n,)

    >>> expi(1.0)
    Array(1.8951178, dtype=float32)
    """
    return _expi_function(x)


_BERNOULLI = (
    1 / 6,
    -1 / 30,
    1 / 42,
    -1 / 30,
    5 / 66,
    -691 / 2730,
    7 / 6,
    -3617 / 510,
    43867 / 798,
    -174611 / 330,
)


def _dilogarithm(u: Value) -> Value:
    """Return Li_2(z) for -1 <= z <= 1/2, by Bernoulli's series in u = -log(1 - z)."""
    square = u * u
    total = jnp.zeros_like(u)
    for k in range(len(_BERNOULLI), 0, -1):
        total = (total + _BERNOULLI[k - 1] / math.factorial(2 * k + 1)) * square
    return u * (1 + total) - square / 4


def _spence(x: Value) -> Value:
    """Return Li_2(1 - x), brought to where the series converges: of 1 / x if x > 2."""
    is_large = x > 2
    inner = jnp.where(is_large, 1 / jnp.where(is_large, x, 1.0), x)
    # Now 0 <= inner <= 2 and 1 - inner is in [-1, 1]; below 1/2 the series is that of inner.
    is_small = inner < 0.5
    logarithm = jnp.log(jnp.where(inner == 0, 1.0, inner))
    other = jnp.log1p(-jnp.where(is_small, inner, 0.25))
    series = _dilogarithm(-jnp.where(is_small, other, logarithm))
    value = jnp.where(is_small, math.pi**2 / 6 - logarithm * other - series, series)
    value = jnp.where(is_large, -0.5 * logarithm * logarithm - value, value)
    return jnp.where(x < 0, jnp.nan, jnp.where(jnp.isposinf(x), -jnp.inf, value))


_spence_function = wide_function(
    "spence",
    _spence,
    [lambda t, out, x: t * jnp.where(x == 1, -1.0, jnp.log(x) / jnp.where(x == 1, 1.0, 1 - x))],
    lambda *args: scipy_special.spence(*args),
)


def spence(x: Any) -> Value:
    """Return the integral of log(t) / (1 - t), t from 1 to x: the dilogarithm of 1 - x.

    x: (n,) -> (n,)

    >>> jax.scipy.special.spence(jnp.array([0.25, 0.5])).round(3)
    Array([0.978, 0.582], dtype=float32)
    """
    return _spence_function(array_of_sequence(x))


def _kummer_series(
    active: Value,
    a: Value,
    b: Value,
    x: Value,
) -> Value:
    """Return the sum of (a)_k / (b)_k x**k / k!."""

    def step(
        k: Value,
        term: Value,
        total: Value,
    ) -> tuple:
        """Add one term."""
        term = term * (a + k - 1) / (b + k - 1) * x / k
        total = total + term
        return (jnp.abs(term) <= _EPS * jnp.abs(total)) & (k > -a), term, total

    return run_masked(active, (jnp.ones_like(x), jnp.ones_like(x)), step)[1]


def _hyp1f1(
    a: Value,
    b: Value,
    x: Value,
) -> Value:
    """Return 1F1: by its series, for negative x after Kummer's transformation."""
    is_negative = x < 0
    inner_a = jnp.where(is_negative, b - a, a)
    size = jnp.minimum(jnp.abs(x), 700.0)
    value = _kummer_series(jnp.isfinite(x), inner_a, b, size)
    return jnp.where(is_negative, jnp.exp(-size) * value, value)


_hyp1f1_function = wide_function(
    "hyp1f1",
    _hyp1f1,
    [
        _no_derivative,
        _no_derivative,
        lambda t, out, a, b, x: t * a / b * hyp1f1(a + 1, b + 1, x),
    ],
    lambda *args: scipy_special.hyp1f1(*args),
)


def hyp1f1(
    a: Any,
    b: Any,
    x: Any,
) -> Value:
    """Return the confluent hypergeometric function 1F1(a, b, x); it is differentiable in x.

    a, b, x: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.special.hyp1f1(1.0, 2.0, jnp.array([0.5, 1.0])).round(3)
    Array([1.297, 1.718], dtype=float32)
    """
    return _hyp1f1_function(*_fitting(a, b, x))


def _gauss_series(
    active: Value,
    a: Value,
    b: Value,
    c: Value,
    x: Value,
) -> Value:
    """Return the sum of (a)_k (b)_k / (c)_k x**k / k!."""

    def step(
        k: Value,
        term: Value,
        total: Value,
    ) -> tuple:
        """Add one term."""
        term = term * (a + k - 1) * (b + k - 1) / (c + k - 1) * x / k
        total = total + term
        return jnp.abs(term) <= _EPS * jnp.abs(total), term, total

    return run_masked(active, (jnp.ones_like(x), jnp.ones_like(x)), step)[1]


def _gamma_quotient(top: tuple, bottom: tuple) -> Value:
    """Return a quotient of products of gamma functions; 0 at the poles of the denominator."""
    logs = sum((gammaln(v) for v in top), 0.0) - sum((gammaln(v) for v in bottom), 0.0)
    sign = math.prod([gammasgn(v) for v in (*top, *bottom)])
    return jnp.where(jnp.isnan(sign), 0.0, sign * jnp.exp(logs))


def _hyp2f1(
    a: Value,
    b: Value,
    c: Value,
    x: Value,
) -> Value:
    """Return 2F1 for x < 1: by its series where |x| is small, else after a transformation."""
    is_negative = x < 0
    # Pfaff: 2F1(a, b, c, x) = (1-x)**-a 2F1(a, c-b, c, x/(x-1)), which brings x < 0 to (0, 1).
    inner_b = jnp.where(is_negative, c - b, b)
    inner = jnp.where(is_negative, x / (x - 1), x)
    is_plain = (inner < 0.9) | (jnp.abs(c - a - inner_b - jnp.round(c - a - inner_b)) < 1e-9)
    direct = _gauss_series(is_plain & (inner < 1), a, inner_b, c, jnp.where(is_plain, inner, 0.5))
    rest = c - a - inner_b
    y = jnp.where(is_plain, 0.5, 1 - inner)
    safe_rest = jnp.where(is_plain, 0.5, rest)
    first = _gauss_series(~is_plain, a, inner_b, 1 - safe_rest, y)
    second = _gauss_series(~is_plain, c - a, c - inner_b, 1 + safe_rest, y)
    near_one = _gamma_quotient((c, safe_rest), (c - a, c - inner_b)) * first
    near_one += y**safe_rest * _gamma_quotient((c, -safe_rest), (a, inner_b)) * second
    value = jnp.where(is_plain, direct, near_one)
    value = jnp.where(is_negative, (1 - x) ** -a * value, value)
    at_one = _gamma_quotient((c, c - a - b), (c - a, c - b))
    at_one = jnp.where(c - a - b > 0, at_one, jnp.inf)
    return jnp.where(x == 1, at_one, jnp.where(x > 1, jnp.nan, value))


_hyp2f1_function = wide_function(
    "hyp2f1",
    _hyp2f1,
    [
        _no_derivative,
        _no_derivative,
        _no_derivative,
        lambda t, out, a, b, c, x: t * a * b / c * hyp2f1(a + 1, b + 1, c + 1, x),
    ],
    lambda *args: scipy_special.hyp2f1(*args),
)


def hyp2f1(
    a: Any,
    b: Any,
    c: Any,
    x: Any,
) -> Value:
    """Return Gauss' hypergeometric function 2F1(a, b, c, x) for x <= 1; differentiable in x.

    a, b, c, x: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.special.hyp2f1(1.0, 2.0, 3.0, jnp.array([0.25, 0.5])).round(3)
    Array([1.206, 1.545], dtype=float32)
    """
    return _hyp2f1_function(*_fitting(a, b, c, x))
