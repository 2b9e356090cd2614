"""Distributions that are short formulas of uniform, normal or exponential numbers.

Each public function checks its key, shape and dtype; a jitted stage of the same name does the
arithmetic, in the order in which JAX does it, so that results are equal to the last bits.
A uniform number is in [0, 1): formulas take `log1p(-u)` where a logarithm must not be infinite.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tapeless import config, dtypes, lax
from tapeless.api.jit import jit
from tapeless.core.trace import Value
from tapeless.numpy import arithmetic, reductions, ufuncs
from tapeless.numpy.choice import clip, where
from tapeless.numpy.common import asarray, convert
from tapeless.numpy.shaping import broadcast_to
from tapeless.random.basic import normal, uniform, uniform_of
from tapeless.random.requests import (
    check_cast,
    check_dtype,
    float_dtype,
    float_request,
    one_key,
    shape_of_parameters,
    shape_of_request,
    split_in,
)

__all__ = [
    "cauchy",
    "exponential",
    "gumbel",
    "laplace",
    "logistic",
    "lognormal",
    "maxwell",
    "pareto",
    "rayleigh",
    "triangular",
    "truncated_normal",
    "wald",
    "weibull_min",
]

Shape = tuple[int, ...]


def tiny_of(dtype: np.dtype) -> Any:
    """Return the smallest normal number of a dtype."""
    return dtypes.finfo(dtype).tiny


def exponential(
    key: Any,
    shape: Any = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return numbers of the density exp(-x), x >= 0.

    key: () -> shape, () by default.

    >>> from tapeless.random.keys import key
    >>> exponential(key(0), (2,))
    Array([2.950128 , 3.8434246], dtype=float32)
    """
    typed, shape, dtype = float_request("exponential", key, shape, dtype)
    return _exponential(typed, shape, dtype)


@functools.partial(jit, static_argnums=(1, 2))
def _exponential(key: Value, shape: Shape, dtype: np.dtype) -> Value:
    """-log(1 - u)."""
    u = uniform(key, shape, dtype)
    return lax.neg(lax.log1p(lax.neg(u)))


def laplace(
    key: Any,
    shape: Any = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return numbers of the density exp(-|x|) / 2.

    key: () -> shape, () by default.

    >>> from tapeless.random.keys import key
    >>> laplace(key(0), (2,))
    Array([-2.2569816, -3.1502788], dtype=float32)
    """
    typed, shape, dtype = float_request("laplace", key, shape, dtype)
    return _laplace(typed, shape, dtype)


@functools.partial(jit, static_argnums=(1, 2))
def _laplace(key: Value, shape: Shape, dtype: np.dtype) -> Value:
    """sign(u) log(1 - |u|) for u in (-1, 1)."""
    low = -1.0 + dtypes.finfo(dtype).epsneg
    u = uniform(key, shape, dtype, low, 1.0)
    return lax.mul(lax.sign(u), lax.log1p(lax.neg(lax.abs(u))))


def logistic(
    key: Any,
    shape: Any = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return numbers of the distribution function 1 / (1 + exp(-x)).

    key: () -> shape, () by default.

    >>> from tapeless.random.keys import key
    >>> logistic(key(0), (2,))
    Array([2.896376 , 3.8217716], dtype=float32)
    """
    typed, shape, dtype = float_request("logistic", key, shape, dtype)
    return _logistic(typed, shape, dtype)


@functools.partial(jit, static_argnums=(1, 2))
def _logistic(key: Value, shape: Shape, dtype: np.dtype) -> Value:
    """log(u / (1 - u))."""
    u = uniform(key, shape, dtype, tiny_of(dtype), 1.0)
    return lax.sub(lax.log(u), lax.log1p(lax.neg(u)))


def cauchy(
    key: Any,
    shape: Any = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return numbers of the density 1 / (pi (1 + x**2)).

    key: () -> shape, () by default.

    >>> from tapeless.random.keys import key
    >>> cauchy(key(0), (2,))
    Array([ 6.0274944, 14.837895 ], dtype=float32)
    """
    typed, shape, dtype = float_request("cauchy", key, shape, dtype)
    return _cauchy(typed, shape, dtype)


@functools.partial(jit, static_argnums=(1, 2))
def _cauchy(key: Value, shape: Shape, dtype: np.dtype) -> Value:
    """tan(pi (u - 1/2))."""
    u = uniform(key, shape, dtype, dtypes.finfo(dtype).eps, 1.0)
    return lax.tan(lax.mul(dtype.type(np.pi), lax.sub(u, dtype.type(0.5))))


def gumbel(
    key: Any,
    shape: Any = (),
    dtype: Any = None,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return numbers of the density exp(-x - exp(-x)).

    key: () -> shape, () by default.
    mode: "low" takes one word of randomness per number, "high" two, which reaches further into
    the tails; None is the flag `jax_high_dynamic_range_gumbel`.

    >>> from tapeless.random.keys import key
    >>> gumbel(key(0), (2,))
    Array([2.9233725, 3.8326175], dtype=float32)
    """
    typed, _ = one_key("gumbel", key)
    dtype = float_dtype("gumbel", dtype)
    if mode is None:
        mode = "high" if config.current.jax_high_dynamic_range_gumbel else "low"
    if mode not in ("high", "low"):
        raise ValueError(f"Must provide valid mode for gumbel got: {mode}")
    return _gumbel(typed, shape_of_request(shape), dtype, mode)


@functools.partial(jit, static_argnums=(1, 2, 3))
def _gumbel(
    key: Value,
    shape: Shape,
    dtype: np.dtype,
    mode: str,
) -> Value:
    """-log(-log(u))."""
    if mode == "low":
        u = uniform_of(key, shape, dtype, minval=tiny_of(dtype), maxval=1.0)
        return lax.neg(lax.log(lax.neg(lax.log(u))))
    high, low = lax.unstack(uniform_of(key, (2, *shape), dtype, minval=0.0, maxval=1.0))
    eps = dtypes.finfo(dtype).eps
    is_coarse = lax.ge(high, dtype.type(0.5))
    # The second word fills in below the first; it is added only where that keeps it.
    fine = lax.add(lax.add(high, lax.mul(eps, low)), dtype.type(eps**2 / 2))
    u = where(is_coarse, high, fine)
    return lax.neg(lax.log(lax.neg(lax.log1p(lax.neg(u)))))


def truncated_normal(
    key: Any,
    lower: Any,
    upper: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return numbers of the normal distribution inside (lower, upper).

    lower, upper: broadcast to `shape`, which they give by default -> shape

    >>> from tapeless.random.keys import key
    >>> truncated_normal(key(0), -1.0, 1.0, (2,))
    Array([0.8618594, 0.9412883], dtype=float32)
    """
    typed, shape, dtype = float_request("truncated_normal", key, shape, dtype, lower, upper)
    return _truncated_normal(typed, lower, upper, shape, dtype)


@functools.partial(jit, static_argnums=(3, 4))
def _truncated_normal(
    key: Value,
    lower: Any,
    upper: Any,
    shape: Shape,
    dtype: np.dtype,
) -> Value:
    """Invert the distribution function between its values at the ends."""
    lower, upper = (lax.convert_element_type(x, dtype) for x in (lower, upper))
    root = dtype.type(np.sqrt(2))
    low, high = lax.erf(lax.div(lower, root)), lax.erf(lax.div(upper, root))
    u = uniform(key, shape, dtype, low, high)
    drawn = lax.mul(root, lax.erf_inv(u))
    above = lax.nextafter(lax.stop_gradient(lower), dtype.type(np.inf))
    below = lax.nextafter(lax.stop_gradient(upper), dtype.type(-np.inf))
    return clip(drawn, above, below)


def lognormal(
    key: Any,
    sigma: Any = 1.0,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return exp(sigma z), z normal.

    sigma: broadcasts to `shape`, which it gives by default -> shape

    >>> from tapeless.random.keys import key
    >>> lognormal(key(0), shape=(2,))
    Array([5.066459, 7.578117], dtype=float32)
    """
    typed, _ = one_key("lognormal", key)
    words = "a float or complex dtype"
    dtype = check_dtype("lognormal", dtype, np.float64, np.inexact, words)
    check_cast("lognormal", sigma, dtype)
    shape = shape_of_parameters("lognormal", shape, sigma)
    drawn = normal(typed, shape, dtype)
    return ufuncs.exp(drawn * convert(sigma, dtype))


def maxwell(
    key: Any,
    shape: Any = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return the lengths of vectors of three normal numbers.

    key: () -> shape, () by default.

    >>> from tapeless.random.keys import key
    >>> maxwell(key(0), (2,))
    Array([2.6310966, 0.9910329], dtype=float32)
    """
    typed, shape, dtype = float_request("maxwell", key, shape, dtype)
    return _maxwell(typed, shape, dtype)


@functools.partial(jit, static_argnums=(1, 2))
def _maxwell(key: Value, shape: Shape, dtype: np.dtype) -> Value:
    """Take the norm over a last axis."""
    return norm(normal(key, (*shape, 3), dtype))


@jit
def norm(x: Value) -> Value:
    """Return the Euclidean norm over the last axis: (..., n) -> (...)."""
    return ufuncs.sqrt(reductions.sum(x * x, axis=-1))


def pareto(
    key: Any,
    b: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return numbers of the density b / x**(b + 1), x >= 1.

    b: broadcasts to `shape`, which it gives by default -> shape

    >>> from tapeless.random.keys import key
    >>> pareto(key(0), 2.0, (2,))
    Array([4.371316, 6.832648], dtype=float32)
    """
    typed, shape, dtype = float_request("pareto", key, shape, dtype, b)
    return _pareto(typed, b, shape, dtype)


@functools.partial(jit, static_argnums=(2, 3))
def _pareto(
    key: Value,
    b: Any,
    shape: Shape,
    dtype: np.dtype,
) -> Value:
    """exp(e / b), e exponential."""
    b = lax.convert_element_type(b, dtype)
    e = exponential(key, shape, dtype)
    return lax.exp(e / b)


def rayleigh(
    key: Any,
    scale: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return the lengths of vectors of two normal numbers, times `scale`.

    scale: broadcasts to `shape`, which it gives by default -> shape

    >>> from tapeless.random.keys import key
    >>> rayleigh(key(0), 2.0, (2,))
    Array([0.65575665, 0.41620055], dtype=float32)
    """
    typed, shape, dtype = float_request("rayleigh", key, shape, dtype, scale)
    return _rayleigh(typed, scale, shape, dtype)


@functools.partial(jit, static_argnums=(2, 3))
def _rayleigh(
    key: Value,
    scale: Any,
    shape: Shape,
    dtype: np.dtype,
) -> Value:
    """scale sqrt(-2 log u)."""
    u = uniform(key, shape, dtype)
    scale = broadcast_to(lax.convert_element_type(scale, dtype), shape)
    return scale * lax.sqrt(lax.log(u) * dtype.type(-2))


def triangular(
    key: Any,
    left: Any,
    mode: Any,
    right: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return numbers of the density that rises from `left` to `mode` and falls to `right`.

    left, mode, right: broadcast to `shape`, which they give by default -> shape

    >>> from tapeless.random.keys import key
    >>> triangular(key(0), 0.0, 0.5, 1.0, (2,))
    Array([0.8382394, 0.8965106], dtype=float32)
    """
    typed, shape, dtype = float_request("triangular", key, shape, dtype, left, mode, right)
    left, right, mode = (broadcast_to(convert(x, dtype), shape) for x in (left, right, mode))
    turn = lax.div(lax.sub(mode, left), lax.sub(right, left))
    u = uniform(typed, shape, dtype)
    area = lax.mul(lax.mul(u, lax.sub(right, left)), lax.sub(mode, left))
    rising = lax.add(left, lax.sqrt(area))
    rest = lax.mul(lax.sub(dtype.type(1), u), lax.sub(right, left))
    falling = lax.sub(right, lax.sqrt(lax.mul(rest, lax.sub(right, mode))))
    return lax.select(lax.lt(u, turn), rising, falling)


def wald(
    key: Any,
    mean: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return numbers of the inverse Gaussian distribution of unit shape (Michael et al., 1976).

    mean: broadcasts to `shape`, which it gives by default -> shape

    >>> from tapeless.random.keys import key
    >>> wald(key(0), 1.0, (2,))
    Array([0.3805977 , 0.41566527], dtype=float32)
    """
    typed, shape, dtype = float_request("wald", key, shape, dtype, mean)
    return _wald(typed, mean, shape, dtype)


@functools.partial(jit, static_argnums=(2, 3))
def _wald(
    key: Value,
    mean: Any,
    shape: Shape,
    dtype: np.dtype,
) -> Value:
    """Solve for the smaller root, and choose between it and its partner."""
    key_root, key_choice = split_in(key, 2)
    mean = broadcast_to(lax.convert_element_type(mean, dtype), shape)
    z = normal(key_root, shape, dtype)
    u = uniform(key_choice, shape, dtype)
    square = lax.integer_pow(z, 2)
    fourth, mean_square = lax.integer_pow(square, 2), lax.integer_pow(mean, 2)
    root = lax.sqrt(dtype.type(4) * mean * square + mean_square * fourth)
    two = dtype.type(2)
    smaller = mean + mean_square * square / two - mean / two * root
    is_smaller = u <= mean / (mean + smaller)
    return lax.select(is_smaller, smaller, mean_square / smaller)


def weibull_min(
    key: Any,
    scale: Any,
    concentration: Any,
    shape: Any = (),
    dtype: Any = None,
) -> Value:
    """Return scale e**(1 / concentration), e exponential.

    scale, concentration: broadcast with `shape` -> the shape of all three.

    >>> from tapeless.random.keys import key
    >>> weibull_min(key(0), 1.0, 2.0, (2,))
    Array([1.7175937, 1.9604654], dtype=float32)
    """
    typed, shape, dtype = float_request("weibull_min", key, shape, dtype)
    return _weibull_min(typed, scale, concentration, shape, dtype)


@functools.partial(jit, static_argnums=(3, 4))
def _weibull_min(
    key: Value,
    scale: Any,
    concentration: Any,
    shape: Shape,
    dtype: np.dtype,
) -> Value:
    """Raise an exponential number to a power."""
    u = uniform(key, shape, dtype, 0, 1)
    e = lax.neg(lax.log1p(lax.neg(u)))
    raised = arithmetic.power(e, 1.0 / asarray(concentration))
    return raised * asarray(scale)
