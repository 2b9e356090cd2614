"""The regularised incomplete gamma functions P and Q = 1 - P, with derivatives.

    P(a, x) = 1/gamma(a) * integral of t**(a-1) exp(-t), t from 0 to x

With f = x**a exp(-x) / gamma(a),

    P = f/a * (1 + x/(a+1) + x**2/((a+1)(a+2)) + ...)       where x <= max(1, a)
    Q = 1 - x**a/gamma(1+a) (1 + a (-x/(a+1) + x**2/(2 (a+2)) - ...))   there too, where Q is small
    Q = f / (x+1-a - 1(1-a)/(x+3-a - 2(2-a)/(x+5-a - ...))) elsewhere, by Lentz' method

but for large a near x, which has an expansion (`gamma_expansions.py`).  For a > 10 the logarithm of
f is taken in terms of d = x/a - 1, as a (log(1+d) - d) minus what Stirling's formula leaves of log
gamma: the big terms of a log x - x - log gamma(a) cancel there.
Narrow dtypes are computed in float64.  Elements that are done keep their values until all are.

dP/dx = f/x.  dP/da is found from how a gamma-distributed number moves with its shape
(`incomplete_gamma.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from tapeless import config
from tapeless.control.gamma_expansions import (
    LARGE,
    NEAR,
    curvature,
    log_gamma_of_more_than_one,
    uniform,
)
from tapeless.control.incomplete_gamma import random_gamma_grad
from tapeless.control.loops import scan, while_loop
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.prims.binary import add, div, max, min, mul, sub
from tapeless.prims.bitwise import bitwise_and, bitwise_or
from tapeless.prims.common import FLOAT, Elementwise, const, full_like, shape_of, stretch
from tapeless.prims.compare import eq, gt, le, lt, ne
from tapeless.prims.convert import convert
from tapeless.prims.exponential import exp, expm1, log, log1p
from tapeless.prims.reduce import reduce_or
from tapeless.prims.select import select_n
from tapeless.prims.slice import pad, slice
from tapeless.prims.special import digamma, lgamma
from tapeless.prims.structural import broadcast_in_dim, broadcast_shapes, reshape
from tapeless.prims.unary import abs, bitwise_not, neg
from tapeless.util import lazy

__all__ = [
    "igamma",
    "igamma_grad_a",
    "igamma_grad_a_p",
    "igamma_p",
    "igammac",
    "igammac_p",
]

# Stirling's series of log gamma, in powers of 1/a**2 after a factor 1/a.
scipy_special = lazy.load("scipy.special")
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
_MOST_STEPS = 10000
_BLOCK = 256


def in_float64(function: Callable, *args: Value) -> Value:
    """Return `function` of the operands, of one shape and in float64, in the dtype of the last."""
    dtype = typeof(args[-1]).dtype
    with config.enable_x64(True):
        return convert(function(*widened(args)), dtype)


def in_blocks(function: Callable, *args: Value) -> Value:
    """Do as `in_float64`, of blocks of elements whose loops end with their own slowest one.

    Meanwhile all that a loop carries stays in the first cache.
    """
    shape = broadcast_shapes(*map(shape_of, args))
    size = math.prod(shape)
    if size < 2 * _BLOCK:
        return in_float64(function, *args)
    missing = -size % _BLOCK
    n_blocks = (size + missing) // _BLOCK
    whole = []
    for x in args:
        flat = reshape(stretch(x, shape), (size,))
        if missing:
            flat = pad(flat, const(flat, 0.5), ((0, missing, 0),))
        blocks = reshape(flat, (n_blocks, _BLOCK))
        whole.append(blocks)

    def body(
        carry: tuple,
        block: Sequence[Value],
    ) -> tuple:
        """Compute one block."""
        return carry, in_float64(function, *block)

    _, values = scan(body, (), tuple(whole))
    flat = reshape(values, (size + missing,))
    if missing:
        flat = slice(flat, (0,), (size,))
    return reshape(flat, shape)


def widened(args: Sequence[Value]) -> list[Value]:
    """Return operands of one shape, in float64."""
    shape = broadcast_shapes(*map(shape_of, args))
    return [convert(stretch(x, shape), np.dtype(np.float64)) for x in args]


def run_masked(
    active: Value,
    start: Sequence[Value],
    step: Callable,
) -> list[Value]:
    """Repeat `step(count, *values) -> (is_done, *values)` for each element until it is done."""

    def body(carry: tuple) -> tuple:
        """Go on with the elements that are active."""
        count, active, *values = carry
        count = add(count, const(count, 1))
        filled = broadcast_in_dim(count, shape_of(values[0]), ())
        is_done, *new = step(filled, *values)
        kept = [select_n(active, x, y) for x, y in zip(values, new, strict=True)]
        return (count, bitwise_and(active, bitwise_not(is_done)), *kept)

    def goes_on(carry: tuple) -> Value:
        """Tell whether an element is active, and there were not too many steps."""
        count, active, *_ = carry
        any_active = reduce_or(active, tuple(range(len(shape_of(active)))))
        return bitwise_and(lt(count, const(count, _MOST_STEPS)), any_active)

    _, _, *values = while_loop(goes_on, body, (np.float64(0), active, *start))
    return values


def where(*cases: Value) -> Value:
    """Return the value after the first condition that holds, or the last value."""
    *pairs, result = cases
    for condition, value in reversed(list(zip(pairs[::2], pairs[1::2], strict=True))):
        if isinstance(value, float):
            value = full_like(result, value)
        result = select_n(condition, result, value)
    return result


def log_prefix(a: Value, x: Value) -> Value:
    """Return log(x**a exp(-x) / gamma(a))."""
    plain = sub(sub(mul(a, log(x)), x), lgamma(a))
    big = gt(a, const(a, 10.0))
    safe = where(big, a, full_like(a, 10.0))
    inverse = div(const(a, 1.0), safe)
    square, tail = mul(inverse, inverse), const(a, _STIRLING[-1])
    for coefficient in _STIRLING[-2::-1]:
        tail = add(mul(tail, square), const(a, coefficient))
    d = div(sub(x, safe), safe)
    is_near = lt(abs(d), const(d, NEAR))
    close = where(is_near, d, full_like(d, 0.0))
    bent = mul(mul(close, close), curvature(close))
    loss = where(is_near, bent, sub(d, log1p(d)))
    body = neg(mul(safe, loss))
    half_log = mul(const(a, 0.5), log(div(safe, const(a, 2 * math.pi))))
    return where(big, sub(add(body, half_log), mul(tail, inverse)), plain)


def _series(
    active: Value,
    a: Value,
    x: Value,
) -> Value:
    """Return a P / f by its power series."""
    eps = const(a, float(np.finfo(np.float64).eps))

    def step(
        count: Value,
        term: Value,
        total: Value,
    ) -> tuple[Value, ...]:
        """Add one term."""
        term = mul(term, div(x, add(a, count)))
        total = add(total, term)
        return le(term, mul(eps, total)), term, total

    return run_masked(active, (full_like(x, 1.0), full_like(x, 1.0)), step)[1]


def _fraction(
    active: Value,
    a: Value,
    x: Value,
) -> Value:
    """Return Q / f by its continued fraction."""
    one, eps, tiny = (const(a, v) for v in (1.0, float(np.finfo(np.float64).eps), 1e-300))

    def away_from_zero(value: Value) -> Value:
        """Return the value, or a tiny one in place of zero."""
        return where(lt(abs(value), tiny), 1e-300, value)

    first = away_from_zero(sub(add(x, one), a))

    def step(
        count: Value,
        b: Value,
        c: Value,
        d: Value,
        value: Value,
    ) -> tuple[Value, ...]:
        """Multiply by the ratio of two convergents."""
        numerator = mul(count, sub(a, count))
        b = add(b, const(b, 2.0))
        d = div(one, away_from_zero(add(mul(numerator, d), b)))
        c = away_from_zero(add(b, div(numerator, c)))
        ratio = mul(c, d)
        return le(abs(sub(ratio, one)), eps), b, c, d, mul(value, ratio)

    inverse = div(one, first)
    start = (first, full_like(x, 1e300), inverse, inverse)
    return run_masked(active, start, step)[3]


def _log_power(a: Value, x: Value) -> Value:
    """Return log(x**a / gamma(1 + a)), also for tiny a."""
    one, edge = const(a, 1.0), const(a, 1 / 32)
    tiny = log_gamma_of_more_than_one(min(a, edge))
    return sub(mul(a, log(x)), where(lt(a, edge), tiny, lgamma(add(a, one))))


def _small_rest(active: Value, a: Value, x: Value, power: Value) -> Value:
    """Return Q where x <= 1 and Q is small, by its power series; power: log(x**a / gamma(1+a))."""
    eps = const(a, float(np.finfo(np.float64).eps))

    def step(count: Value, term: Value, total: Value) -> tuple[Value, ...]:
        """Add one term."""
        term = neg(mul(term, div(x, count)))
        new = div(term, add(a, count))
        total = add(total, new)
        return le(abs(new), mul(eps, abs(total))), term, total

    total = run_masked(active, (full_like(x, 1.0), full_like(x, 0.0)), step)[1]
    scaled = mul(mul(a, exp(power)), total)
    gone = add(expm1(power), scaled)
    return sub(const(a, 0.0), gone)


def _has_small_rest(a: Value, x: Value) -> Value:
    """Tell where Q is below about a half, for x <= 1."""
    half, one = const(x, 0.5), const(x, 1.0)
    low = min(x, half)
    edge = div(const(x, -0.4), log(low))
    bound = where(le(x, half), edge, mul(x, const(x, 1.1)))
    is_below = lt(a, bound)
    return bitwise_and(le(x, one), is_below)


def _both(a: Value, x: Value) -> tuple[Value, Value]:
    """Return P and Q in float64."""
    zero, inf = const(a, 0.0), const(a, math.inf)
    broken = bitwise_or(bitwise_or(ne(a, a), ne(x, x)), bitwise_or(lt(a, zero), lt(x, zero)))
    broken = bitwise_or(broken, bitwise_and(eq(a, zero), eq(x, zero)))
    broken = bitwise_or(broken, bitwise_and(eq(a, inf), eq(x, inf)))
    is_none = bitwise_or(eq(x, zero), eq(a, inf))
    is_all = bitwise_or(eq(a, zero), eq(x, inf))
    active = bitwise_not(bitwise_or(broken, bitwise_or(is_none, is_all)))
    safe_a, safe_x = (where(active, v, full_like(v, 1.0)) for v in (a, x))
    d = div(sub(safe_x, safe_a), safe_a)
    is_central = bitwise_and(gt(safe_a, const(a, LARGE)), lt(abs(d), const(a, NEAR)))
    active = bitwise_and(active, bitwise_not(is_central))
    is_near = le(safe_x, max(safe_a, full_like(a, 1.0)))
    is_small = _has_small_rest(safe_a, safe_x)
    power = _log_power(safe_a, safe_x)
    rest = _small_rest(bitwise_and(active, is_small), safe_a, safe_x, power)
    prefix = log_prefix(safe_a, safe_x)
    is_little = le(safe_a, const(a, 10.0))
    short = sub(power, safe_x)
    begin = exp(where(is_little, short, sub(prefix, log(safe_a))))
    is_summed = bitwise_and(is_near, bitwise_not(is_small))
    near = mul(begin, _series(bitwise_and(active, is_summed), safe_a, safe_x))
    is_far = bitwise_and(active, bitwise_not(is_near))
    far = mul(exp(prefix), _fraction(is_far, safe_a, safe_x))
    middle = full_like(a, 1e3)
    middles = [where(is_central, v, middle) for v in (safe_a, safe_x)]
    central = uniform(*middles)
    one = const(a, 1.0)
    far = where(is_small, rest, far)
    lower = where(is_central, central[0], is_summed, near, sub(one, far))
    upper = where(is_central, central[1], is_summed, sub(one, near), far)
    return (
        where(
            broken,
            math.nan,
            is_none,
            0.0,
            is_all,
            1.0,
            lower,
        ),
        where(
            broken,
            math.nan,
            is_none,
            1.0,
            is_all,
            0.0,
            upper,
        ),
    )


def _density(a: Value, x: Value) -> Value:
    """Return dP/dx."""
    return exp(sub(log_prefix(a, x), log(x)))


def _slope_a(a: Value, x: Value) -> Value:
    """Return dP/da: at a fixed P a sample moves by dx/da = -(dP/da) / (dP/dx); NaN for a <= 0."""
    density = _density(a, x)
    slope = neg(mul(random_gamma_grad(a, x), density))
    zero = const(a, 0.0)
    return where(le(a, zero), math.nan, eq(density, zero), 0.0, slope)


class GammaDensity(Elementwise):
    """dP/dx = x**(a-1) exp(-x) / gamma(a), for x > 0."""

    name = "gamma_density"
    accepts = (FLOAT,)
    partials = (
        lambda t, out, a, x: mul(mul(t, out), sub(log(x), digamma(a))),
        lambda t, out, a, x: mul(mul(t, out), sub(div(sub(a, const(a, 1.0)), x), const(a, 1.0))),
    )

    def decompose(
        self,
        *args: Value,
        **params: object,
    ) -> tuple:
        """Compute in float64."""
        return (in_float64(_density, *args),)

    @staticmethod
    def numpy(a: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Compute with SciPy."""
        return np.exp((a - 1) * np.log(x) - x - scipy_special.gammaln(a))


gamma_density_p = GammaDensity()


def gamma_density(a: Value, x: Value) -> Value:
    """Return x**(a-1) exp(-x) / gamma(a), elementwise: (s), (s) -> (s)."""
    return gamma_density_p.bind(a, x)[0]


class IGamma(Elementwise):
    """P(a, x), the regularised lower incomplete gamma function."""

    name = "igamma"
    accepts = (FLOAT,)
    hlo_name = ""
    partials = (
        lambda t, out, a, x: mul(t, igamma_grad_a(a, x)),
        lambda t, out, a, x: mul(t, gamma_density(a, x)),
    )

    def decompose(
        self,
        *args: Value,
        **params: object,
    ) -> tuple:
        """Compute in float64."""
        return (in_blocks(lambda a, x: _both(a, x)[0], *args),)

    numpy = staticmethod(lambda *args: scipy_special.gammainc(*args))


class IGammaC(Elementwise):
    """Q(a, x) = 1 - P(a, x), the regularised upper incomplete gamma function."""

    name = "igammac"
    accepts = (FLOAT,)
    partials = (
        lambda t, out, a, x: neg(mul(t, igamma_grad_a(a, x))),
        lambda t, out, a, x: neg(mul(t, gamma_density(a, x))),
    )

    def decompose(
        self,
        *args: Value,
        **params: object,
    ) -> tuple:
        """Compute in float64."""
        return (in_blocks(lambda a, x: _both(a, x)[1], *args),)

    numpy = staticmethod(lambda *args: scipy_special.gammaincc(*args))


class IGammaGradA(Elementwise):
    """dP/da at (a, x)."""

    name = "igamma_grad_a"
    accepts = (FLOAT,)

    def decompose(
        self,
        *args: Value,
        **params: object,
    ) -> tuple:
        """Compute in float64."""
        return (in_blocks(_slope_a, *args),)

    @staticmethod
    def numpy(a: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Take a difference, in double precision."""
        step = 1e-5 * a
        return (scipy_special.gammainc(a + step, x) - scipy_special.gammainc(a - step, x)) / (
            2 * step
        )


igamma_p, igammac_p, igamma_grad_a_p = IGamma(), IGammaC(), IGammaGradA()


def igamma(a: Value, x: Value) -> Value:
    """Return P(a, x), elementwise: (s), (s) -> (s).

    >>> igamma(np.float32(1), np.float32(0.5))
    Array(0.39346933, dtype=float32)
    """
    return igamma_p.bind(a, x)[0]


def igammac(a: Value, x: Value) -> Value:
    """Return Q(a, x) = 1 - P(a, x), elementwise: (s), (s) -> (s).

    >>> lax.igammac(jnp.array([1.5, 2.0]), jnp.array([1.0, 0.5])).round(3)
    Array([0.572, 0.91 ], dtype=float32)
    """
    return igammac_p.bind(a, x)[0]


def igamma_grad_a(a: Value, x: Value) -> Value:
    """Return dP/da, elementwise: (s), (s) -> (s).

    >>> lax.igamma_grad_a(jnp.array([1.5, 2.0]), jnp.array([1.0, 0.5])).round(3)
    Array([-0.375, -0.151], dtype=float32)
    """
    return igamma_grad_a_p.bind(a, x)[0]
