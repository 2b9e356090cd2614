"""Logarithms that vanish with their factor, entropies, and the logistic function."""

from __future__ import annotations

from typing import Any

from tapeless import lax
from tapeless import numpy as jnp
from tapeless.api.custom import custom_jvp
from tapeless.core.trace import Value
from tapeless.nn.normalization import log_softmax as nn_log_softmax
from tapeless.nn.normalization import logsumexp as nn_logsumexp
from tapeless.nn.normalization import softmax as nn_softmax
from tapeless.numpy.common import const, promote_args_inexact
from tapeless.scipy.special.wide import horner

__all__ = [
    "boxcox",
    "boxcox1p",
    "entr",
    "expit",
    "kl_div",
    "log_softmax",
    "logit",
    "logsumexp",
    "rel_entr",
    "softmax",
    "xlog1py",
    "xlogy",
]


@custom_jvp
def _xlogy(x: Value, y: Value) -> Value:
    """Return x log y, 0 where x is 0 and y is a number."""
    is_zero = (x == 0) & ~jnp.isnan(y)
    return jnp.where(is_zero, jnp.zeros_like(y), x * jnp.log(jnp.where(is_zero, 1, y)))


@_xlogy.defjvp
def _xlogy_jvp(primals: tuple, tangents: tuple) -> tuple:
    """The derivatives are log y and x / y, 0 for the first where x is 0."""
    (x, y), (dx, dy) = primals, tangents
    by_x = dx * jnp.log(y)
    return _xlogy(x, y), by_x + dy * jnp.where(x == 0, jnp.zeros_like(x), x / y)


def xlogy(x: Any, y: Any) -> Value:
    """Return x log y; 0 where x is 0 and y is a number.

    x, y: shapes that broadcast to (n,) -> (n,)

    >>> xlogy(jnp.array([0.0, 2.0]), 0.5)
    Array([ 0.       , -1.3862944], dtype=float32)
    """
    return _xlogy(*promote_args_inexact("xlogy", x, y))


@custom_jvp
def _xlog1py(x: Value, y: Value) -> Value:
    """Return x log(1 + y), 0 where x is 0 and y is a number."""
    is_zero = (x == 0) & ~jnp.isnan(y)
    return jnp.where(is_zero, jnp.zeros_like(y), x * jnp.log1p(jnp.where(is_zero, 0, y)))


@_xlog1py.defjvp
def _xlog1py_jvp(primals: tuple, tangents: tuple) -> tuple:
    """The derivatives are log(1 + y) and x / (1 + y)."""
    (x, y), (dx, dy) = primals, tangents
    by_x = dx * jnp.log1p(y)
    return _xlog1py(x, y), by_x + dy * jnp.where(x == 0, jnp.zeros_like(x), x / (1 + y))


def xlog1py(x: Any, y: Any) -> Value:
    """Return x log(1 + y); 0 where x is 0 and y is a number.

    x, y: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.special.xlog1py(jnp.array([0.5, 2.0]), 1.5).round(3)
    Array([0.458, 1.833], dtype=float32)
    """
    return _xlog1py(*promote_args_inexact("xlog1py", x, y))


# The series of ((1 + x) log(1 + x) - x) / x**2.
_DIVERGENCE = [(-1) ** n / (n * (n - 1)) for n in range(2, 9)]


def entr(x: Any) -> Value:
    """Return -x log x; 0 at 0, and -inf below.

    x: (n,) -> (n,)

    >>> jax.scipy.special.entr(jnp.array([0.25, 0.5])).round(3)
    Array([0.347, 0.347], dtype=float32)
    """
    (x,) = promote_args_inexact("entr", x)
    return jnp.where(x < 0, -jnp.inf, -xlogy(x, x))


def rel_entr(p: Any, q: Any) -> Value:
    """Return p log(p/q); 0 where p = 0 and q >= 0, inf where p or q is negative; elementwise.

    >>> jax.scipy.special.rel_entr(jnp.array([0.5, 2.0]), 1.5).round(3)
    Array([-0.549,  0.575], dtype=float32)
    """
    p, q = promote_args_inexact("rel_entr", p, q)
    is_positive, p_or_1, q_or_1 = _positive(p, q)
    value = p_or_1 * _log_ratio(p_or_1, q_or_1)
    return _where_defined(p, q, is_positive, value, 0.0)


def _positive(
    p: Value,
    q: Value,
) -> tuple[Value, Value, Value]:
    """Tell where p and q are positive; return them there, and 1 elsewhere."""
    is_positive = jnp.bitwise_and(p > 0, q > 0)
    one = const(p, 1)
    return is_positive, jnp.where(is_positive, p, one), jnp.where(is_positive, q, one)


def _log_ratio(
    p: Value,
    q: Value,
) -> Value:
    """Return log(p/q) of positive numbers, exact where p is near q."""
    is_near = (p < 2 * q) & (q < 2 * p)
    excess = jnp.where(is_near, (p - q) / q, 0)
    return jnp.where(is_near, jnp.log1p(excess), jnp.log(p) - jnp.log(q))


def _where_defined(
    p: Value,
    q: Value,
    is_positive: Value,
    value: Value,
    at_zero: Any,
) -> Value:
    """Return `value` of positive p and q, `at_zero` for p = 0, inf for negative ones, and NaN."""
    is_zero = (p == 0) & (q >= 0)
    rest = jnp.where(is_zero, at_zero, jnp.inf)
    known = jnp.where(is_positive, value, rest)
    is_nan = jnp.isnan(p) | jnp.isnan(q)
    return jnp.where(is_nan, jnp.nan, known)


def kl_div(p: Any, q: Any) -> Value:
    """Return p log(p/q) - p + q; q where p = 0, inf where p or q is negative; elementwise.

    Where p is near q, the series of (1 + x) log(1 + x) - x, with x = p/q - 1, keeps all digits.

    >>> jax.scipy.special.kl_div(jnp.array([0.5, 2.0]), 1.5).round(3)
    Array([0.451, 0.075], dtype=float32)
    """
    p, q = promote_args_inexact("kl_div", p, q)
    is_positive, p_or_1, q_or_1 = _positive(p, q)
    gap = p_or_1 - q_or_1
    x = gap / q_or_1
    is_near = jnp.abs(x) < 0.05
    near = jnp.where(is_near, x, 0)
    series = gap * near * horner(near, _DIVERGENCE)
    far = p_or_1 * _log_ratio(p_or_1, q_or_1) - gap
    value = jnp.where(is_near, series, far)
    return _where_defined(p, q, is_positive, value, q)


def expit(x: Any) -> Value:
    """Return 1 / (1 + exp(-x)).

    x: (n,) -> (n,)

    >>> expit(0.0)
    Array(0.5, dtype=float32, weak_type=True)
    """
    return lax.logistic(*promote_args_inexact("expit", x))


@custom_jvp
def _logit(x: Value) -> Value:
    """Return log(x / (1 - x))."""
    return jnp.log(x / (const(x, 1) - x))


@_logit.defjvp
def _logit_jvp(primals: tuple, tangents: tuple) -> tuple:
    """The derivative is 1 / (x (1 - x))."""
    (x,), (dx,) = primals, tangents
    return _logit(x), dx / (x * (1 - x))


def logit(x: Any) -> Value:
    """Return log(x / (1 - x)), the inverse of `expit`.

    x: (n,) -> (n,)

    >>> jax.scipy.special.logit(jnp.array([0.25, 0.5])).round(3)
    Array([-1.099,  0.   ], dtype=float32)
    """
    return _logit(*promote_args_inexact("logit", x))


def boxcox(x: Any, lmbda: Any) -> Value:
    """Return (x**lmbda - 1) / lmbda; log x where lmbda is 0.

    x, lmbda: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.special.boxcox(jnp.array([0.5, 2.0]), 1.5).round(3)
    Array([-0.431,  1.219], dtype=float32)
    """
    x, power = promote_args_inexact("boxcox", x, lmbda)
    safe = jnp.where(power == 0, 1, power)
    return jnp.where(power == 0, jnp.log(x), jnp.expm1(safe * jnp.log(x)) / safe)


def boxcox1p(x: Any, lmbda: Any) -> Value:
    """Return ((1 + x)**lmbda - 1) / lmbda; log(1 + x) where lmbda is 0.

    x, lmbda: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.special.boxcox1p(jnp.array([0.5, 2.0]), 1.5).round(3)
    Array([0.558, 2.797], dtype=float32)
    """
    x, power = promote_args_inexact("boxcox1p", x, lmbda)
    safe = jnp.where(power == 0, 1, power)
    return jnp.where(power == 0, jnp.log1p(x), jnp.expm1(safe * jnp.log1p(x)) / safe)


def logsumexp(
    a: Any,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """Return log(sum(b exp(a))) along axes, without overflow.

    a: (m, n) -> (m,) over axis 1, () over all; b, where: broadcast with a.

    >>> logsumexp(jnp.array([0.0, 0.0]))
    Array(0.6931472, dtype=float32)
    """
    return nn_logsumexp(
        a,
        axis,
        b,
        keepdims,
        return_sign,
        where,
    )


def softmax(x: Any, /, *, axis: int | tuple[int, ...] | None = None) -> Value:
    """Return exp(x) / sum(exp(x)) along axes: all by default.

    x: (m, n) -> (m, n), over `axis`; over all elements by default.

    >>> jax.scipy.special.softmax(jnp.array([1.0, 2.0])).round(3)
    Array([0.269, 0.731], dtype=float32)
    """
    return nn_softmax(x, axis=axis)


def log_softmax(x: Any, /, *, axis: int | tuple[int, ...] | None = None) -> Value:
    """Return x - log(sum(exp(x))) along axes: all by default.

    x: (m, n) -> (m, n), over `axis`; over all elements by default.

    >>> jax.scipy.special.log_softmax(jnp.array([1.0, 2.0])).round(3)
    Array([-1.313, -0.313], dtype=float32)
    """
    return nn_log_softmax(x, axis=axis)
