"""The gamma distribution, and those that are made of it.

Ratios of gamma numbers (beta, dirichlet) are taken of their logarithms, which do not underflow for
small shapes.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from tapeless import config, lax
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.nn.normalization import softmax
from tapeless.numpy import arithmetic, reductions
from tapeless.numpy.common import asarray
from tapeless.numpy.shaping import broadcast_to
from tapeless.random.basic import normal
from tapeless.random.choosing import rademacher
from tapeless.random.continuous import exponential, maxwell
from tapeless.random.gamma_samples import random_gamma_p
from tapeless.random.loop_free import loop_free_gamma
from tapeless.random.requests import (
    check_shape,
    float_dtype,
    float_request,
    one_key,
    shape_of_parameters,
    shape_of_request,
    split_in,
)

__all__ = [
    "ball",
    "beta",
    "chisquare",
    "dirichlet",
    "double_sided_maxwell",
    "f",
    "gamma",
    "generalized_normal",
    "loggamma",
    "t",
]

Shape = tuple[int, ...]


def is_exact(name: str, method: str) -> bool:
    """Tell whether the exact method is asked for; refuse methods that are unknown."""
    if method not in ("exact", "approximate"):
        raise ValueError(
            f"method argument to `{name}` must be one of {{'exact', 'approximate'}}, got {method!r}"
        )
    return method == "exact"


def _gamma_like(
    name: str,
    key: Any,
    a: Any,
    shape: Any,
    dtype: Any,
    method: str,
    log_space: bool,
) -> Value:
    """Check a request for gamma numbers or their logarithms, and draw them."""
    typed, _ = one_key(name, key)
    sampler = _gamma if is_exact(name, method) else loop_free_gamma
    dtype = float_dtype("gamma", dtype)
    return sampler(typed, a, shape_of_parameters("gamma", shape, a), dtype, log_space)


@functools.partial(jit, static_argnums=(2, 3, 4))
def _gamma(
    key: Value,
    a: Any,
    shape: Shape,
    dtype: np.dtype,
    log_space: bool,
) -> Value:
    """Stretch the shapes a over the result."""
    a = lax.convert_element_type(a, dtype)
    if typeof(a).shape != shape:
        a = broadcast_to(a, shape)
    layout = config.current.jax_threefry_partitionable
    return random_gamma_p.bind(key, a, log_space=log_space, partitionable=layout)[0]


def gamma(
    key: Any,
    a: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    method: str = "exact",
    out_sharding: Any = None,
) -> Value:
    """Return numbers of the density x**(a - 1) exp(-x) / gamma(a), x > 0.

    a: broadcasts to `shape`, which it gives by default -> shape, differentiable in a.
    method: "exact", by rejection, or "approximate", a formula that needs no loop and has a bias of
    less than 1e-3.

    >>> from tapeless.random.keys import key
    >>> gamma(key(0), 2.0, (2,))
    Array([1.5897877, 1.7599413], dtype=float32)
    """
    return _gamma_like("gamma", key, a, shape, dtype, method, False)


def loggamma(
    key: Any,
    a: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    method: str = "exact",
    out_sharding: Any = None,
) -> Value:
    """Return logarithms of gamma numbers; they do not underflow for small `a`.

    a: broadcasts to `shape`, which it gives by default -> shape
    method: "exact" or "approximate", as for `gamma`.

    >>> from tapeless.random.keys import key
    >>> loggamma(key(0), 2.0, (2,))
    Array([0.46360058, 0.5652805 ], dtype=float32)
    """
    return _gamma_like("loggamma", key, a, shape, dtype, method, True)


def beta(
    key: Any,
    a: Any,
    b: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    method: str = "exact",
    out_sharding: Any = None,
) -> Value:
    """Return numbers of the density proportional to x**(a - 1) (1 - x)**(b - 1), 0 < x < 1.

    a, b: broadcast to `shape`, which they give by default -> shape
    method: "exact" or "approximate", as for `gamma`.

    >>> from tapeless.random.keys import key
    >>> beta(key(0), 2.0, 3.0, (2,))
    Array([0.23627362, 0.49045962], dtype=float32)
    """
    is_exact("beta", method)
    typed, shape, dtype = float_request("beta", key, shape, dtype, a, b)
    return _beta(typed, a, b, shape, dtype, method)


@functools.partial(jit, static_argnums=(3, 4, 5))
def _beta(
    key: Value,
    a: Any,
    b: Any,
    shape: Shape,
    dtype: np.dtype,
    method: str,
) -> Value:
    """Divide a gamma number by the sum of two, by their logarithms."""
    a, b = lax.convert_element_type(a, dtype), lax.convert_element_type(b, dtype)
    key_a, key_b = split_in(key, 2)
    a, b = broadcast_to(a, shape), broadcast_to(b, shape)
    log_x = loggamma(key_a, a, shape, dtype, method=method)
    log_y = loggamma(key_b, b, shape, dtype, method=method)
    highest = lax.max(log_x, log_y)
    x, y = lax.exp(lax.sub(log_x, highest)), lax.exp(lax.sub(log_y, highest))
    return lax.div(x, lax.add(x, y))


def chisquare(
    key: Any,
    df: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    method: str = "exact",
    out_sharding: Any = None,
) -> Value:
    """Return numbers distributed as the sum of squares of `df` normal numbers.

    df: broadcasts to `shape`, which it gives by default -> shape
    method: "exact" or "approximate", as for `gamma`.

    >>> from tapeless.random.keys import key
    >>> chisquare(key(0), 2.0, (2,))
    Array([1.2369726, 1.4525698], dtype=float32)
    """
    is_exact("chisquare", method)
    typed, shape, dtype = float_request("chisquare", key, shape, dtype, df)
    return _chisquare(typed, df, shape, dtype, method)


@functools.partial(jit, static_argnums=(2, 3, 4))
def _chisquare(
    key: Value,
    df: Any,
    shape: Shape,
    dtype: np.dtype,
    method: str,
) -> Value:
    """Twice a gamma number of shape df / 2."""
    half = lax.convert_element_type(df, dtype) / dtype.type(2)
    return lax.exp(loggamma(key, half, shape, dtype, method=method)) * dtype.type(2)


def f(
    key: Any,
    dfnum: Any,
    dfden: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return ratios of two chi-square numbers, each divided by its degrees of freedom.

    dfnum, dfden: broadcast to `shape`, which they give by default -> shape

    >>> from tapeless.random.keys import key
    >>> f(key(0), 2.0, 3.0, (2,))
    Array([3.2702725 , 0.06339812], dtype=float32)
    """
    typed, shape, dtype = float_request("f", key, shape, dtype, dfnum, dfden)
    return _f(typed, dfnum, dfden, shape, dtype)


@functools.partial(jit, static_argnums=(3, 4))
def _f(
    key: Value,
    dfnum: Any,
    dfden: Any,
    shape: Shape,
    dtype: np.dtype,
) -> Value:
    """Divide two chi-square numbers."""
    dfden, dfnum = lax.convert_element_type(dfden, dtype), lax.convert_element_type(dfnum, dtype)
    key_below, key_above = split_in(key, 2)
    above = chisquare(key_above, dfnum, shape, dtype)
    below = chisquare(key_below, dfden, shape, dtype)
    return (above / dfnum) / (below / dfden)


def t(
    key: Any,
    df: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return numbers of Student's t distribution.

    df: broadcasts to `shape`, which it gives by default -> shape

    >>> from tapeless.random.keys import key
    >>> t(key(0), 2.0, (2,))
    Array([ 0.6536968, -7.0178027], dtype=float32)
    """
    typed, shape, dtype = float_request("t", key, shape, dtype, df)
    return _t(typed, df, shape, dtype)


@functools.partial(jit, static_argnums=(2, 3))
def _t(
    key: Value,
    df: Any,
    shape: Shape,
    dtype: np.dtype,
) -> Value:
    """Divide a normal number by the root of a gamma number."""
    df = lax.convert_element_type(df, dtype)
    key_normal, key_gamma = split_in(key, 2)
    z = normal(key_normal, shape, dtype)
    half = df / dtype.type(2)
    g = gamma(key_gamma, half, shape, dtype)
    return z * lax.sqrt(half / g)


def dirichlet(
    key: Any,
    alpha: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return vectors of positive numbers with sum 1: alpha (..., n) -> (*shape, n).

    >>> import numpy as np
    >>> from tapeless.random.keys import key
    >>> dirichlet(key(0), np.ones(2, "float32"))
    Array([0.45991933, 0.54008067], dtype=float32)
    """
    typed, _ = one_key("dirichlet", key)
    dtype = float_dtype("dirichlet", dtype)
    if np.ndim(alpha) < 1:
        raise ValueError(f"dirichlet requires alpha.ndim >= 1, got alpha.ndim == {np.ndim(alpha)}")
    batch = np.shape(alpha)[:-1]
    shape = batch if shape is None else shape_of_request(shape)
    check_shape("dirichlet", shape, batch)
    return _dirichlet(typed, alpha, shape, dtype)


@functools.partial(jit, static_argnums=(2, 3))
def _dirichlet(
    key: Value,
    alpha: Any,
    shape: Shape,
    dtype: np.dtype,
) -> Value:
    """Normalise gamma numbers, by their logarithms."""
    alpha = lax.convert_element_type(alpha, dtype)
    return softmax(loggamma(key, alpha, (*shape, typeof(alpha).shape[-1]), dtype), -1)


def double_sided_maxwell(
    key: Any,
    loc: Any,
    scale: Any,
    shape: Any = (),
    dtype: Any = None,
) -> Value:
    """Return loc + scale s m: m of the Maxwell distribution, s = -1 or 1.

    loc, scale: broadcast together to (n,) -> (*shape, n)

    >>> from tapeless.random.keys import key
    >>> double_sided_maxwell(key(0), 0.0, 1.0, (2,))
    Array([1.5457209, 1.5741276], dtype=float32)
    """
    typed, shape, dtype = float_request("double_sided_maxwell", key, shape, dtype)
    return _double_sided_maxwell(typed, loc, scale, shape, dtype)


@functools.partial(jit, static_argnums=(3, 4))
def _double_sided_maxwell(
    key: Value,
    loc: Any,
    scale: Any,
    shape: Shape,
    dtype: np.dtype,
) -> Value:
    """Give a Maxwell number a sign."""
    loc, scale = asarray(loc), asarray(scale)
    each = np.broadcast_shapes(np.shape(loc), np.shape(scale))
    full = (*(shape or each), *each)
    key_size, key_sign = split_in(key, 2)
    size = maxwell(key_size, full, dtype)
    sign = rademacher(key_sign, full, dtype)
    return sign * size * scale + loc


def generalized_normal(
    key: Any,
    p: Any,
    shape: Any = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return numbers of the density proportional to exp(-|x|**p).

    p: broadcasts to `shape` -> shape, () by default.

    >>> from tapeless.random.keys import key
    >>> generalized_normal(key(0), 2.0, (2,))
    Array([0.9542763 , 0.09015025], dtype=float32)
    """
    typed, shape, dtype = float_request("generalized_normal", key, shape, dtype)
    return _generalized_normal(typed, p, shape, dtype)


@functools.partial(jit, static_argnums=(2, 3))
def _generalized_normal(
    key: Value,
    p: Any,
    shape: Shape,
    dtype: np.dtype,
) -> Value:
    """Give a power of a gamma number a sign."""
    keys = lax.random_split(key, (2,))
    g = gamma(keys[0], arithmetic.divide(1, p), shape, dtype)
    sign = rademacher(keys[1], shape, dtype)
    return sign * arithmetic.power(g, lax.convert_element_type(arithmetic.divide(1, p), dtype))


def ball(
    key: Any,
    d: int,
    p: Any = 2,
    shape: Any = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return points uniform in the unit ball of the p-norm: (*shape, d).

    p: () -> (*shape, d)

    >>> from tapeless.random.keys import key
    >>> ball(key(0), 2)
    Array([0.917222  , 0.39276883], dtype=float32)
    """
    typed, _ = one_key("ball", key)
    dtype = float_dtype("gamma", dtype)
    return _ball(typed, p, operator.index(d), shape_of_request(shape), dtype)


@functools.partial(jit, static_argnums=(2, 3, 4))
def _ball(
    key: Value,
    p: Any,
    d: int,
    shape: Shape,
    dtype: np.dtype,
) -> Value:
    """Scale vectors by their norm and an exponential number (Barthe et al., 2005)."""
    key_vector, key_size = split_in(key, 2)
    g = generalized_normal(key_vector, p, (*shape, d), dtype)
    e = exponential(key_size, shape, dtype)
    powers = arithmetic.power(lax.abs(g), p)
    total = reductions.sum(powers, axis=-1) + e
    root = arithmetic.power(total, lax.convert_element_type(arithmetic.divide(1, p), dtype))
    return g / lax.expand_dims(root, (len(shape),))
