"""Distributions of counts: Poisson, binomial, multinomial, geometric.

Small means are drawn by counting (products of uniform numbers, Knuth; geometric gaps, Devroye),
large ones by transformed rejection (Hoermann, "The transformed rejection method for generating
Poisson random variables" and "The generation of binomial random variates", 1993).  Both loops run
over all elements at once and stop when all are done; an element that belongs to the other loop gets
parameters with which it is done soon.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tapeless import config, dtypes, lax
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy import floats
from tapeless.numpy.choice import clip, where
from tapeless.numpy.common import asarray, check_arraylike, convert, promote_dtypes_inexact
from tapeless.numpy.shaping import broadcast_to, moveaxis
from tapeless.random.basic import uniform
from tapeless.random.gammas import is_exact
from tapeless.random.keys import clone
from tapeless.random.loop_free import loop_free_poisson
from tapeless.random.requests import (
    check_dtype,
    check_shape,
    float_dtype,
    float_request,
    one_key,
    shape_of_parameters,
    shape_of_request,
    split_in,
)

__all__ = ["binomial", "geometric", "multinomial", "poisson"]

Shape = tuple[int, ...]

# log(k!) - ((k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2) for k = 0 ... 9
_STIRLING_TAILS = (
    0.08106146679532725821967026,
    0.04134069595540929409382208,
    0.02767792568499833914878929,
    0.02079067210376509311152277,
    0.01664469118982119216319487,
    0.01387612882307074799874573,
    0.01189670994589177009505572,
    0.01041126526197209649747857,
    0.009255462182712732917728637,
    0.008330563433362871256469319,
)


def _again(key: Value) -> Value:
    """Return the key for a second way of drawing: an element gets what one of the two drew.

    Who looks for keys that are used twice cannot see that; other programs stay as they are.
    """
    return clone(key) if config.current.jax_debug_key_reuse else key


def _any(x: Value) -> Value:
    """Tell whether an element is true: (s) -> ()."""
    return lax.reduce_or(x, tuple(range(typeof(x).ndim)))


def _below(count: Value, limit: Any) -> Value:
    """Compare the number of a round with the largest number of a dtype."""
    dtype = typeof(limit).dtype
    return lax.lt(lax.convert_element_type(count, dtype), limit)


def poisson(
    key: Any,
    lam: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    method: str = "exact",
    out_sharding: Any = None,
) -> Value:
    """Return counts k with probability lam**k exp(-lam) / k!.

    lam: broadcasts to `shape`, which it gives by default -> shape
    method: "exact", by rejection, or "approximate", a formula that needs no loop and whose
    probabilities differ by less than 1e-4 in sum.

    >>> from tapeless.random.keys import key
    >>> poisson(key(0), 4.0, (4,))
    Array([0, 1, 5, 5], dtype=int32)
    """
    typed, _ = one_key("poisson", key)
    exactly = is_exact("poisson", method)
    dtype = _int_dtype("poisson", dtype)
    shape = shape_of_parameters("poisson", shape, lam)
    if not exactly:
        return loop_free_poisson(typed, lam, shape, dtype)
    means = lax.convert_element_type(broadcast_to(lam, shape), np.float32)
    return _poisson(typed, means, shape, dtype)


def _int_dtype(name: str, dtype: Any) -> np.dtype:
    """Return the integer dtype asked for, or the default."""
    return check_dtype(name, dtype, np.int64, np.integer, "an int dtype")


@functools.partial(jit, static_argnums=(2, 3))
def _poisson(
    key: Value,
    lam: Value,
    shape: Shape,
    dtype: np.dtype,
) -> Value:
    """Count small means, reject for large ones."""
    is_small = lax.bitwise_or(lax.ne(lam, lam), lax.lt(lam, np.float32(10)))
    small = lax.select(is_small, lam, lax.full_like(lam, 0))
    large = lax.select(is_small, lax.full_like(lam, 1e5), lam)
    counted = _poisson_knuth(key, small, shape, dtype)
    drawn = lax.select(is_small, counted, _poisson_rejection(_again(key), large, shape, dtype))
    return lax.select(lax.eq(lam, np.float32(0)), lax.full_like(drawn, 0), drawn)


@functools.partial(jit, static_argnums=(2, 3))
def _poisson_knuth(
    key: Value,
    lam: Value,
    shape: Shape,
    dtype: np.dtype,
) -> Value:
    """Count the uniform numbers whose product is above exp(-lam)."""
    limit = dtype.type(dtypes.iinfo(dtype).max)

    def is_unfinished(carry: tuple) -> Value:
        """Go on while a product is large enough."""
        return lax.bitwise_and(_any(lax.gt(carry[3], lax.neg(lam))), _below(carry[0], limit))

    def multiply(carry: tuple) -> tuple:
        """Multiply by a further number, by adding its logarithm."""
        count, k, key, log_product = carry
        key, subkey = split_in(key, 2)
        k = lax.select(lax.gt(log_product, lax.neg(lam)), lax.add(k, dtype.type(1)), k)
        u = uniform(subkey, shape, np.float32)
        return lax.add(count, 1), k, key, lax.add(log_product, lax.log(u))

    start = (0, lax.full(shape, 0, dtype), key, lax.full(shape, 0, np.float32))
    k = lax.while_loop(is_unfinished, multiply, start)[1]
    return lax.sub(k, dtype.type(1))


@functools.partial(jit, static_argnums=(2, 3))
def _poisson_rejection(
    key: Value,
    lam: Value,
    shape: Shape,
    dtype: np.dtype,
) -> Value:
    """Transformed rejection (algorithm PTRS)."""
    log_lam = lax.log(lam)
    b = 0.931 + 2.53 * lax.sqrt(lam)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    squeeze = 0.9277 - 3.6224 / (b - 2.0)
    limit = dtype.type(dtypes.iinfo(dtype).max)

    def draw(carry: tuple) -> tuple:
        """Propose counts."""
        count, k_out, accepted, key = carry
        key, key_u, key_v = split_in(key, 3)
        u = uniform(key_u, shape, np.float32) - 0.5
        v = uniform(key_v, shape, np.float32)
        us = 0.5 - lax.abs(u)
        k = lax.floor((2.0 * a / us + b) * u + lam + 0.43)
        height = lax.log(v * inverse_alpha / (a / (us * us) + b))
        density = -lam + k * log_lam - lax.lgamma(k + 1.0)
        is_inside = (us >= 0.07) & (v <= squeeze)
        is_outside = (k < 0.0) | ((us < 0.013) & (v > us))
        fits = height <= density
        accept = is_inside | (~is_outside & fits)
        k_out = lax.select(accept, k, k_out)
        accepted = accepted | accept
        return lax.add(count, 1), k_out, accepted, key

    def is_unfinished(carry: tuple) -> Value:
        """Go on while a count is not accepted."""
        return lax.bitwise_and(_any(lax.bitwise_not(carry[2])), _below(carry[0], limit))

    start = (0, lax.full_like(lam, -1), lax.full_like(lam, False, np.bool_), key)
    return lax.convert_element_type(lax.while_loop(is_unfinished, draw, start)[1], dtype)


def geometric(
    key: Any,
    p: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return the number of trials up to the first success, each of probability p.

    p: broadcasts to `shape`, which it gives by default -> shape

    >>> from tapeless.random.keys import key
    >>> geometric(key(0), 0.25, (3,))
    Array([1, 1, 4], dtype=int32)
    """
    typed, _ = one_key("geometric", key)
    check_arraylike("geometric", p)
    dtype = _int_dtype("geometric", dtype)
    return _geometric(typed, p, shape_of_parameters("geometric", shape, p), dtype)


@functools.partial(jit, static_argnums=(2, 3))
def _geometric(
    key: Value,
    p: Any,
    shape: Shape,
    dtype: np.dtype,
) -> Value:
    """floor(log u / log(1 - p)) + 1."""
    (p,) = floats_of(p)
    u = uniform(key, shape, typeof(p).dtype)
    logs = lax.log(where(lax.eq(u, typeof(u).dtype.type(0)), 1, u))
    gaps = broadcast_to(lax.log1p(lax.neg(p)), shape)
    return lax.convert_element_type(lax.floor(lax.div(logs, gaps)) + 1.0, dtype)


def floats_of(*parameters: Any) -> list[Value]:
    """Return parameters in the default floating dtype, or their own."""
    values = [asarray(x) for x in parameters]
    default = dtypes.default_float_dtype()
    return [
        x if dtypes.issubdtype(typeof(x).dtype, np.floating) else convert(x, default)
        for x in values
    ]


def binomial(
    key: Any,
    n: Any,
    p: Any,
    shape: Any = None,
    dtype: Any = None,
) -> Value:
    """Return the number of successes among `n` trials of probability `p`, as floats.

    n, p: broadcast to `shape`, which they give by default -> shape

    >>> from tapeless.random.keys import key
    >>> binomial(key(0), 10, 0.5, (3,))
    Array([6., 7., 5.], dtype=float32)
    """
    typed, shape, dtype = float_request("binomial", key, shape, dtype, n, p)
    return _binomial(typed, n, p, shape, dtype)


def _binomial(
    key: Value,
    n: Any,
    p: Any,
    shape: Shape,
    dtype: np.dtype,
) -> Value:
    """Draw the rarer side: by gaps where it is rare, by rejection elsewhere.

    Numbers are drawn in the dtype of p, and become `dtype` at last.
    """
    (p,) = floats_of(p)
    wide = typeof(p).dtype
    n = broadcast_to(convert(n, wide), shape)
    p = broadcast_to(lax.convert_element_type(p, wide), shape)
    is_rarer = p < 0.5
    q = lax.select(is_rarer, p, 1.0 - p)
    bad_n = (n != n) | (n < 0.0)
    is_infinite = floats.isinf(n)
    q_is_nan, q_is_low = q != q, q < 0.0
    q = lax.select(q_is_nan | q_is_low, lax.full_like(q, 0.01), q)
    by_gaps = bad_n | (n * q <= 10.0)
    whole = lax.floor(n)
    n_gaps = lax.select(by_gaps, whole, lax.full_like(n, 0))
    n_rejection = lax.select(by_gaps, lax.full_like(n, 1e4), whole)
    q_rejection = lax.select(by_gaps, lax.full_like(q, 0.5), q)
    gaps = _binomial_gaps(key, n_gaps, q, shape, wide)
    rejection = _binomial_rejection(_again(key), n_rejection, q_rejection, shape, wide)
    drawn = lax.select(by_gaps, gaps, rejection)
    invalid = q_is_low | q_is_nan | bad_n
    drawn = where(invalid, np.nan, drawn)
    drawn = where(is_infinite & ~invalid, np.inf, drawn)
    keeps_side = is_rarer | bad_n | q_is_nan | is_infinite
    return lax.convert_element_type(lax.select(keeps_side, drawn, whole - drawn), dtype)


def _binomial_gaps(
    key: Value,
    n: Value,
    p: Value,
    shape: Shape,
    dtype: np.dtype,
) -> Value:
    """Count the geometric gaps between successes that fit into the trials."""
    log_failure = lax.log1p(lax.neg(p))
    limit = dtype.type(dtypes.finfo(dtype).max)

    def add_gap(carry: tuple) -> tuple:
        """Go on to the next success."""
        count, n_gaps, total, key = carry
        subkey, key = split_in(key, 2)
        n_gaps = lax.select(lax.le(total, n), n_gaps + 1.0, n_gaps)
        u = uniform(subkey, shape, dtype)
        gap = lax.ceil(lax.log(u) / log_failure)
        total = total + gap
        return lax.add(count, 1), n_gaps, total, key

    def is_unfinished(carry: tuple) -> Value:
        """Go on while trials are left."""
        return lax.bitwise_and(_any(lax.le(carry[2], n)), _below(carry[0], limit))

    start = (0, lax.full_like(n, 0), lax.full_like(n, 0), key)
    return lax.while_loop(is_unfinished, add_gap, start)[1] - 1.0


def _binomial_rejection(
    key: Value,
    n: Value,
    p: Value,
    shape: Shape,
    dtype: np.dtype,
) -> Value:
    """Transformed rejection (algorithm BTRS)."""
    spread = lax.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    centre = n * p + 0.5
    squeeze = 0.92 - 4.2 / b
    odds = p / (1.0 - p)
    alpha = (2.83 + 5.1 / b) * spread
    mode = lax.floor((n + 1.0) * p)
    limit = dtype.type(dtypes.finfo(dtype).max)

    def draw(carry: tuple) -> tuple:
        """Propose counts."""
        count, k_out, accepted, key = carry
        key, key_u, key_v = split_in(key, 3)
        u, v = uniform(key_u, shape, dtype), uniform(key_v, shape, dtype)
        u = u - 0.5
        us = 0.5 - lax.abs(u)
        is_inside = (us >= 0.07) & (v <= squeeze)
        k = lax.floor((2.0 * a / us + b) * u + centre)
        is_outside = (k < 0.0) | (k > n)
        height = lax.log(v * alpha / (a / (us * us) + b))
        fits = height <= _log_ratio(n, mode, odds, k)
        accept = is_inside | (~is_outside & fits)
        k_out = lax.select(accept, k, k_out)
        accepted = accepted | accept
        return lax.add(count, 1), k_out, accepted, key

    def is_unfinished(carry: tuple) -> Value:
        """Go on while a count is not accepted."""
        return lax.bitwise_and(_any(lax.bitwise_not(carry[2])), _below(carry[0], limit))

    start = (0, lax.full_like(n, -1), lax.full_like(n, False, np.bool_), key)
    return lax.while_loop(is_unfinished, draw, start)[1]


def _log_ratio(
    n: Value,
    mode: Value,
    odds: Value,
    k: Value,
) -> Value:
    """Return the logarithm of the probability of k, relative to that of the mode."""
    result = (mode + 0.5) * lax.log((mode + 1.0) / (odds * (n - mode + 1.0)))
    result = result + (n + 1.0) * lax.log((n - mode + 1.0) / (n - k + 1.0))
    result = result + (k + 0.5) * lax.log(odds * (n - k + 1.0) / (k + 1.0))
    result = result + _stirling_tail(mode)
    result = result + _stirling_tail(n - mode)
    result = result - _stirling_tail(k)
    return result - _stirling_tail(n - k)


def _stirling_tail(k: Value) -> Value:
    """Return log(k!) minus Stirling's formula: from a table up to 9, else by its series."""
    dtype = typeof(k).dtype
    table = asarray(np.array(_STIRLING_TAILS, dtype))
    is_tabled = k <= 9.0
    k = lax.clamp(dtype.type(0), k, dtype.type(9))
    square = (k + 1.0) * (k + 1.0)
    series = (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1.0)
    tabled = table[lax.convert_element_type(lax.floor(k), np.int32)]
    return lax.select(is_tabled, tabled, series)


def _multinomial_batch(shape: Any, *parameters: Shape) -> Shape:
    """Return the shape of the batch: that asked for, or that of the parameters."""
    if shape is None:
        return np.broadcast_shapes(*parameters)
    asked = shape_of_request(shape)
    check_shape("multinomial", asked, *parameters)
    return asked


def multinomial(
    key: Any,
    n: Any,
    p: Any,
    *,
    shape: Any = None,
    dtype: Any = None,
    unroll: int | bool = 1,
) -> Value:
    """Return counts of categories among `n` trials: p (..., k) -> (*shape, k), as floats.

    >>> import numpy as np
    >>> from tapeless.random.keys import key
    >>> multinomial(key(0), 10, np.array([0.2, 0.8], "float32"))
    Array([1., 9.], dtype=float32)
    """
    typed, _ = one_key("multinomial", key)
    dtype = float_dtype("multinomial", dtype)
    batch = _multinomial_batch(shape, np.shape(n), np.shape(p)[:-1])
    n_categories = np.shape(p)[-1]
    n, p = promote_dtypes_inexact(asarray(n), asarray(p))
    wide = typeof(p).dtype
    n = broadcast_to(n, batch)
    p = moveaxis(broadcast_to(p, (*batch, n_categories)), -1, 0)
    rest = lax.cumsum(p, 0, reverse=True)
    shares = p / where(rest == 0.0, 1, rest)
    keys = lax.random_split(typed, (n_categories,))

    def draw(left: Value, xs: tuple) -> tuple[Value, Value]:
        """Divide what is left between one category and the later ones."""
        share, key = xs
        count = _binomial(key, left, clip(share, min=0, max=1), batch, wide)
        return left - count, count

    _, counts = lax.scan(draw, n, (shares, keys), unroll=unroll)
    return lax.convert_element_type(moveaxis(counts, 0, -1), dtype)
