"""Gamma and beta functions, their logarithms, derivatives and incomplete forms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapeless import config, dtypes, lax
from tapeless import numpy as jnp
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy.common import check_arraylike, convert, promote_args_inexact
from tapeless.scipy.special.wide import horner, wide_function
from tapeless.util import lazy

__all__ = [
    "bernoulli",
    "beta",
    "betainc",
    "betaln",
    "comb",
    "digamma",
    "factorial",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "gammasgn",
    "loggamma",
    "multigammaln",
    "poch",
    "polygamma",
    "zeta",
]

scipy_special = lazy.load("scipy.special")
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)

# gamma(z) sqrt(z) exp(z) / z**z for large z, by powers of 1 / z.
_STIRLING_FACTORS = tuple(
    math.sqrt(2 * math.pi) * factor
    for factor in (
        1,
        1 / 12,
        1 / 288,
        -139 / 51840,
        -571 / 2488320,
        163879 / 209018880,
        5246819 / 75246796800,
        -534703531 / 902961561600,
        -4483131259 / 86684309913600,
    )
)
# (gamma(1 + t) - 1) / (t (t - 1)) by powers of t - 1/2: dev/fits/remez.py, "arch".
_ARCH = (
    0.4550922981889676,
    -0.12935358979553532,
    0.161115378002934,
    -0.08823514092432988,
    0.06588007579720769,
    -0.042848354393446926,
    0.029079089834573548,
    -0.019385679371060928,
    0.012965880811073551,
    -0.008652857918088144,
    0.005774314759590142,
    -0.0038517539267067784,
    0.0025620342489168666,
    -0.0017056714860564082,
    0.0011741802176951188,
    -0.0007925149649523123,
    0.00040251066754273465,
    -0.00024898559061337447,
    0.00040327995745162643,
    -0.0002851607945475956,
)
# gamma(z) z / t = exp(-t) t**(z-1/2) times a polynomial in 1 / t, where t = z + 5/4 and z > 0, and
# a shorter one; sin(pi x) / x by powers of x**2, |x| <= 1/2: dev/fits/remez.py, "lanczos", "sine".
_SHIFT = 1.25
_LANCZOS = (
    2.5066282746309403,
    0.6005463574963044,
    0.1698556131140754,
    0.04264032706716543,
    0.007671876289317635,
    0.001943746142613567,
    0.001859307704498604,
    0.0012327422939036748,
    -0.003953124431920889,
    0.004892077110040209,
    -0.003436858183402706,
    0.0014360699492407328,
    -0.0003099618797994101,
    2.1495104400339668e-05,
)
_LANCZOS_SHORT = (
    2.5066282745450366,
    0.6005463707468398,
    0.16985530561803602,
    0.04264208048866617,
    0.007681559546431988,
    0.0017820321585336947,
    0.002712463200770859,
    -0.0012320951321997133,
    0.00041225709668764473,
)
_SINE = (
    3.141592653589636,
    -5.167712779988174,
    2.5501640359164677,
    -0.5992644340997789,
    0.08214479593127637,
    -0.007364009947923766,
    0.00044749804814941745,
)
_ERROR = 1e-13  # of what is computed from `_LANCZOS`
_MIDDLE = 24  # below it factors are multiplied
_MOST = 400.0  # gamma of more is infinite, and its inverse zero


def gammaln(x: Any) -> Value:
    """Return log |gamma(x)|.

    x: (n,) -> (n,)

    >>> gammaln(4.0)
    Array(1.7917595, dtype=float32, weak_type=True)
    """
    (x,) = promote_args_inexact("gammaln", x)
    return lax.lgamma(x)


def loggamma(x: Any) -> Value:
    """Return log gamma(x) for real x; NaN for negative x, where the logarithm is complex.

    x: (n,) -> (n,)

    >>> jax.scipy.special.loggamma(jnp.array([0.25, 0.5])).round(3)
    Array([1.288, 0.572], dtype=float32)
    """
    (x,) = promote_args_inexact("loggamma", x)
    return jnp.where(x >= 0, lax.lgamma(x), jnp.nan)


def gammasgn(x: Any) -> Value:
    """Return the sign of gamma(x): NaN at negative integers, 1 or -1 with the sign of zero.

    x: (n,) -> (n,)

    >>> jax.scipy.special.gammasgn(jnp.array([0.25, 0.5])).round(3)
    Array([1., 1.], dtype=float32)
    """
    (x,) = promote_args_inexact("gammasgn", x)
    floor = jnp.floor(x)
    is_integer = (x < 0) & (x == floor)
    sign = jnp.where(x < 0, _sign_of_parity(floor), 1.0)
    sign = jnp.where(x == 0, jnp.copysign(1.0, x), sign)
    return jnp.where(is_integer | jnp.isnan(x), jnp.nan, sign).astype(jnp.result_type(x))


def _sign_of_parity(whole: Value) -> Value:
    """Return 1 for even whole numbers and -1 for odd ones; a remainder would take a call each."""
    half = 0.5 * whole
    return jnp.where(half == jnp.floor(half), 1.0, -1.0)


def _gamma(x: Value) -> Value:
    """Return gamma(x), by that of 1 - x for x < 1/2, as a product of two that do not overflow."""
    turned = x < 0.5
    z = jnp.minimum(jnp.where(turned, 1 - x, x), _MOST)
    is_middle = z < _MIDDLE
    product, arch = _gamma_middle(z)
    root = z ** (z / 2 - 0.25)
    tail = root * jnp.exp(-z) * horner(1 / z, _STIRLING_FACTORS)
    first, second = jnp.where(is_middle, product, root), jnp.where(is_middle, arch, tail)
    nearest = jnp.round(x)
    sine = jnp.sin(math.pi * (x - nearest)) * _sign_of_parity(nearest)
    value = jnp.where(turned, math.pi / sine / first / second, first * second)
    value = jnp.where((x < 0) & (x == nearest), jnp.nan, value)
    return jnp.where(x == 0, jnp.copysign(jnp.inf, x), value)


def _gamma_middle(z: Value) -> tuple[Value, Value]:
    """Return two factors of gamma(z) for 1/2 <= z < 24: (z-1)(z-2)..., and gamma between 1 and 2.

    The steps down to there are taken 16, 8, 4, 2 and 1 at once.
    """
    left, rest, product = jnp.ceil(z) - 2, z, jnp.ones_like(z)
    for step in (16, 8, 4, 2, 1):
        goes_on = left >= step
        factors = math.prod((rest - k for k in range(2, step + 1)), start=rest - 1)
        product = jnp.where(goes_on, product * factors, product)
        rest = jnp.where(goes_on, rest - step, rest)
        left = jnp.where(goes_on, left - step, left)
    is_low = z < 1
    t = jnp.where(is_low, z, rest - 1)
    arch = 1 + t * (t - 1) * horner(t - 0.5, _ARCH)
    return jnp.where(is_low, 1 / z, product), arch


def _gamma_of_single(x: Value) -> Value:
    """Return gamma(x) of float32: (n,) -> (n,).

    There is no choice between ways, only between parts of one quotient: that would take rows apart.
    """
    with config.enable_x64(True):
        wide = x.astype("float64")
        turned = wide < 0.5
        z = jnp.minimum(jnp.where(turned, 1 - wide, wide), 60.0)
        t = z + _SHIFT
        power = jnp.exp((z - 0.5) * jnp.log(t) - t)
        value = power * t * horner(1 / t, _LANCZOS_SHORT)
        nearest = jnp.round(wide)
        rest = jnp.where(nearest == 0, wide, wide - nearest)  # zero keeps its sign
        sine = rest * horner(rest * rest, _SINE) * _sign_of_parity(nearest)
        top = jnp.where(turned, math.pi * z, value)
        bottom = jnp.where(turned, sine * value, z)
        is_pole = (wide < 0) & (rest == 0)
        return (top / bottom * jnp.where(is_pole, jnp.nan, 1.0)).astype(x.dtype)


_gamma_function = wide_function(
    "gamma",
    _gamma,
    [lambda t, out, x: t * out * lax.digamma(x)],
    lambda *args: scipy_special.gamma(*args),
    narrow=_gamma_of_single,
)


def gamma(x: Any) -> Value:
    """Return gamma(x), the integral of t**(x-1) exp(-t) over t > 0, for real x.

    x: (n,) -> (n,)

    >>> gamma(jnp.array([0.5, 4.0, -1.5]))
    Array([1.7724539, 6.       , 2.3632717], dtype=float32)
    """
    return _gamma_function(x)


def factorial(n: Any, exact: bool = False) -> Value:
    """Return n! = gamma(n + 1); 0 for negative n.  exact: not supported.

    n: (k,) -> (k,)

    >>> jax.scipy.special.factorial(jnp.array([3, 5]))
    Array([  6., 120.], dtype=float32)
    """
    if exact:
        raise NotImplementedError("factorial with exact=True")
    (n,) = promote_args_inexact("factorial", n)
    return jnp.where(n < 0, 0, _weak_as(n, gamma(n + 1)))


def _weak_as(x: Value, out: Value) -> Value:
    """Return `out`, weak if x is."""
    return convert(out, typeof(out).dtype, typeof(x).weak_type)


def _stirling_tail(x: Value) -> Value:
    """Return log gamma(x) - ((x - 1/2) log x - x + log(2 pi)/2) for x >= 10."""
    inverse = 1 / x
    return inverse * horner(inverse * inverse, _STIRLING)


def _betaln(a: Value, b: Value) -> Value:
    """Return log B(a, b); for large arguments the big terms cancel before they are added."""
    small, large = jnp.minimum(a, b), jnp.maximum(a, b)
    total = small + large
    plain = lax.lgamma(small) + (lax.lgamma(large) - lax.lgamma(total))
    safe_large, safe_small = jnp.maximum(large, 10.0), jnp.maximum(small, 10.0)
    # log gamma(large) - log gamma(large + small)
    drop = -(safe_large - 0.5) * jnp.log1p(small / safe_large) - small * (
        jnp.log(safe_large + small) - 1
    )
    drop += _stirling_tail(safe_large) - _stirling_tail(safe_large + small)
    mixed = lax.lgamma(small) + drop
    ratio = safe_small / (safe_small + safe_large)
    both = (
        0.5 * math.log(2 * math.pi)
        - 0.5 * jnp.log(safe_large)
        + (safe_small - 0.5) * jnp.log(ratio)
    )
    both += safe_large * jnp.log1p(-ratio)
    both += _stirling_tail(safe_small) + _stirling_tail(safe_large)
    both -= _stirling_tail(safe_small + safe_large)
    value = jnp.where(small >= 10, both, jnp.where(large >= 10, mixed, plain))
    return jnp.where((small < 0) | jnp.isinf(large), plain, value)


def _betaln_of_single(a: Value, b: Value) -> Value:
    """Return log B(a, b) of float32: (n,), (n,) -> (n,).

    Of a + b what is large cancels in quotients: with t = z + 5/4 for each of a, b and a + b it is

        a log(t_a / t_ab) + b log(1 - a / t_ab) + log of what is no power
    """
    with config.enable_x64(True):
        small, large = jnp.minimum(a, b).astype("float64"), jnp.maximum(a, b).astype("float64")
        total = small + large
        shifted = [z + _SHIFT for z in (small, large, total)]
        inverses = [1 / t for t in shifted]
        first, second, both = (horner(w, _LANCZOS) for w in inverses)
        first, second = first * shifted[0], second * shifted[1]
        both *= shifted[2] * small * large
        powers = small * jnp.log(shifted[0] * inverses[2])
        powers += large * jnp.log1p(-small * inverses[2])
        # The square root of t_ab / (t_a t_b), and gamma z / t of each.
        rest = jnp.log(first * second * total / both)
        rest += 0.5 * jnp.log(shifted[2] * inverses[0] * inverses[1])
        value = powers + rest - _SHIFT
        value = jnp.where(jnp.abs(value) < _ERROR, 0.0, value)  # where B is one, as of (1, 1)
        plain = lax.lgamma(small) + (lax.lgamma(large) - lax.lgamma(total))
        return jnp.where(small < 0, plain, value).astype(a.dtype)


_betaln_function = wide_function(
    "betaln",
    _betaln,
    [
        lambda t, out, a, b: t * (lax.digamma(a) - lax.digamma(a + b)),
        lambda t, out, a, b: t * (lax.digamma(b) - lax.digamma(a + b)),
    ],
    lambda *args: scipy_special.betaln(*args),
    narrow=_betaln_of_single,
)


def betaln(a: Any, b: Any) -> Value:
    """Return log |B(a, b)|, with B(a, b) = gamma(a) gamma(b) / gamma(a + b).

    a, b: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.special.betaln(jnp.array([0.5, 2.0]), 1.5).round(3)
    Array([ 0.452, -1.322], dtype=float32)
    """
    a, b = promote_args_inexact("betaln", a, b)
    return _weak_as(a, _betaln_function(a, b))


def beta(a: Any, b: Any) -> Value:
    """Return B(a, b) = gamma(a) gamma(b) / gamma(a + b).

    a, b: shapes that broadcast to (n,) -> (n,)

    >>> print(f"{float(beta(2.0, 3.0)):.4f}")
    0.0833
    """
    a, b = promote_args_inexact("beta", a, b)
    sign = gammasgn(a) * gammasgn(b) * gammasgn(a + b)
    return sign * jnp.exp(betaln(a, b))


def betainc(a: Any, b: Any, x: Any) -> Value:
    """Return the regularised incomplete beta function I(a, b, x).

    a, b, x: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.special.betainc(1.0, 2.0, jnp.array([0.25, 0.5])).round(3)
    Array([0.438, 0.75 ], dtype=float32)
    """
    return lax.betainc(*promote_args_inexact("betainc", a, b, x))


def gammainc(a: Any, x: Any) -> Value:
    """Return the regularised lower incomplete gamma function P(a, x).

    a, x: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.special.gammainc(jnp.array([0.5, 2.0]), 1.5).round(3)
    Array([0.917, 0.442], dtype=float32)
    """
    return lax.igamma(*promote_args_inexact("gammainc", a, x))


def gammaincc(a: Any, x: Any) -> Value:
    """Return the regularised upper incomplete gamma function Q(a, x).

    a, x: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.special.gammaincc(jnp.array([0.5, 2.0]), 1.5).round(3)
    Array([0.083, 0.558], dtype=float32)
    """
    return lax.igammac(*promote_args_inexact("gammaincc", a, x))


def digamma(x: Any) -> Value:
    """Return the derivative of log gamma(x).

    x: (n,) -> (n,)

    >>> jax.scipy.special.digamma(jnp.array([0.25, 0.5])).round(3)
    Array([-4.227, -1.964], dtype=float32)
    """
    return lax.digamma(*promote_args_inexact("digamma", x))


def polygamma(n: Any, x: Any) -> Value:
    """Return the n-th derivative of digamma at x.

    n, x: shapes that broadcast to (n,) -> (n,); n: integers; x: real numbers.

    >>> jax.scipy.special.polygamma(1, jnp.array([1.0, 2.0])).round(3)
    Array([1.645, 0.645], dtype=float32)
    """
    check_arraylike("polygamma", n, x)
    if not jnp.issubdtype(dtypes.dtype(n), np.integer):
        raise ValueError(
            f"Argument `n` to polygamma must be of integer type, got {dtypes.dtype(n)}."
        )
    if jnp.issubdtype(dtypes.dtype(x), np.complexfloating):
        raise ValueError(f"polygamma takes real numbers x, got {dtypes.dtype(x)}.")
    return lax.polygamma(*promote_args_inexact("polygamma", n, x))


def zeta(x: Any, q: Any = None) -> Value:
    """Return the sum of (q + k)**-x over k = 0, 1, 2, ...  q: must be given.

    x, q: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.special.zeta(jnp.array([2.0, 3.0]), 1.0).round(3)
    Array([1.645, 1.202], dtype=float32)
    """
    if q is None:
        raise NotImplementedError(
            "Riemann zeta function not implemented; pass q != None to compute the Hurwitz Zeta "
            "function."
        )
    return lax.zeta(*promote_args_inexact("zeta", x, q))


def multigammaln(a: Any, d: Any) -> Value:
    """Return the logarithm of the multivariate gamma function of dimension d.

    a: (n,) -> (n,)
    d (d-1)/4 log pi + the sum of log gamma(a - k/2) over k < d.  d: a Python int.

    >>> jax.scipy.special.multigammaln(jnp.array([2.0, 3.0]), 2).round(3)
    Array([0.452, 1.55 ], dtype=float32)
    """
    (a,) = promote_args_inexact("multigammaln", a)
    d = int(d)
    constant = 0.25 * d * (d - 1) * math.log(math.pi)
    parts = gammaln(a[..., None] - jnp.arange(d, dtype=a.dtype) / 2)
    return constant + parts.sum(axis=-1)


def poch(z: Any, m: Any) -> Value:
    """Return the rising factorial gamma(z + m) / gamma(z).

    z, m: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.special.poch(jnp.array([0.5, 2.0]), 1.5).round(3)
    Array([0.564, 3.323], dtype=float32)
    """
    z, m = promote_args_inexact("poch", z, m)
    end = jnp.add(z, m)
    sign = gammasgn(z) * gammasgn(end)
    value = sign * jnp.exp(gammaln(end) - gammaln(z))
    return jnp.where(m == 0, jnp.ones_like(value), value)


def comb(N: Any, k: Any, *, repetition: bool = False) -> Value:  # noqa: N803
    """Return the number of ways to choose k of N; with repetition, k of N + k - 1.

    N, k: shapes that broadcast to (n,) -> (n,)

    >>> comb(5, 2)
    Array(10., dtype=float32, weak_type=True)
    """
    total, k = promote_args_inexact("comb", N, k)
    if repetition:
        total = total + k - 1
    value = jnp.exp(-jnp.log1p(total) - betaln(jnp.subtract(total, k) + 1, k + 1))
    whole = (total == jnp.floor(total)) & (k == jnp.floor(k))
    value = jnp.where(whole & (value < 2**22), jnp.round(value), value)
    value = jnp.where((total == jnp.inf) & (k > 0) & (k < jnp.inf), jnp.inf, value)
    return jnp.where((k >= 0) & (total >= k), value, 0)


def bernoulli(n: int) -> Value:
    """Return the Bernoulli numbers B_0 ... B_n, with B_1 = -1/2.  n: a Python int.

    n: a number -> (n + 1,)

    >>> bernoulli(2)
    Array([ 1.        , -0.5       ,  0.16666667], dtype=float32)
    """
    if n < 0:
        raise ValueError("n must be a non-negative integer.")
    numbers = np.zeros(n + 1)
    numbers[0] = 1.0
    if n > 0:
        numbers[1] = -0.5
    for k in range(2, n + 1, 2):
        sign = 1 if k % 4 == 2 else -1
        size = 2 * scipy_special.zeta(k) * math.exp(math.lgamma(k + 1) - k * math.log(2 * math.pi))
        numbers[k] = sign * size
    return jnp.asarray(numbers)
