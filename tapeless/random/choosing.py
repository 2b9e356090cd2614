"""Choices: of a side of a coin, of a category, of elements of an array, of an order.

A category is drawn by the Gumbel trick: the largest of logits plus Gumbel noise is distributed as
the softmax of the logits; the k largest are a sample without replacement.  An order is drawn by
sorting random words; it is repeated until ties do not matter: three times the logarithm of the
number of elements, in words.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from tapeless import dtypes, lax
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy import creation, cumulative, reductions, shaping, sorting, taking, ufuncs
from tapeless.numpy.common import asarray, canonicalize_axis, check_arraylike, convert
from tapeless.random.basic import bits, randint, uniform
from tapeless.random.continuous import gumbel
from tapeless.random.requests import (
    check_shape,
    one_key,
    shape_of_parameters,
    shape_of_request,
    split_in,
)

__all__ = ["bernoulli", "categorical", "choice", "permutation", "rademacher"]

Shape = tuple[int, ...]


def bernoulli(
    key: Any,
    p: Any = 0.5,
    shape: Any = None,
    mode: str = "low",
    *,
    out_sharding: Any = None,
) -> Value:
    """Return True with probability p.

    p: broadcasts to `shape`, which it gives by default -> shape
    mode: "low" takes one word of randomness, "high" two, for probabilities close to 0.

    >>> from tapeless.random.keys import key
    >>> bernoulli(key(0), 0.5, (4,))
    Array([False, False,  True,  True], dtype=bool)
    """
    if mode not in ("high", "low"):
        raise ValueError(f"got {mode=}, expected 'high' or 'low'")
    typed, _ = one_key("bernoulli", key)
    dtype = dtypes.dtype(p)
    if not dtypes.issubdtype(dtype, np.floating):
        name = dtypes.dtype_name(dtype)
        raise TypeError(f"bernoulli probability `p` must have a floating dtype, got {name}.")
    p = convert(p, dtype)
    return _bernoulli(typed, p, shape_of_parameters("bernoulli", shape, p), mode)


@functools.partial(jit, static_argnums=(2, 3))
def _bernoulli(
    key: Value,
    p: Value,
    shape: Shape,
    mode: str,
) -> Value:
    """Compare a uniform number with the probability."""
    dtype = typeof(p).dtype
    if mode == "low":
        return uniform(key, shape, dtype) < p
    high, low = lax.unstack(uniform(key, (2, *shape), dtype))
    fine = low * dtypes.finfo(dtype).eps
    return fine < p - high


def rademacher(
    key: Any,
    shape: Any = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return 1 or -1, each with probability 1/2.

    key: () -> shape, () by default.

    >>> from tapeless.random.keys import key
    >>> rademacher(key(0), (4,))
    Array([-1, -1,  1,  1], dtype=int32)
    """
    typed, _ = one_key("rademacher", key)
    dtype = dtypes.canonicalize_dtype(np.int64) if dtype is None else dtype
    dtype = dtypes.check_user_dtype_supported(dtype, "rademacher")
    return _rademacher(typed, shape_of_request(shape), dtype)


@functools.partial(jit, static_argnums=(1, 2))
def _rademacher(key: Value, shape: Shape, dtype: np.dtype) -> Value:
    """2 b - 1, b a fair coin."""
    kind = dtypes.canonicalize_dtype(np.int64) if dtype == np.bool_ else dtype
    sides = lax.convert_element_type(bernoulli(key, 0.5, shape), kind)
    signs = lax.sub(lax.mul(kind.type(2), sides), kind.type(1))
    return signs if kind == dtype else lax.convert_element_type(signs, dtype)


def categorical(
    key: Any,
    logits: Any,
    axis: int = -1,
    shape: Any = None,
    replace: bool = True,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return indices along `axis`, with probabilities softmax(logits).

    logits: (batch, n) -> shape, which ends with (batch); without replacement, the leading part of
    the shape numbers the draws from one set of categories.

    >>> import numpy as np
    >>> from tapeless.random.keys import key
    >>> categorical(key(0), np.log(np.array([0.1, 0.9], "float32")), shape=(4,))
    Array([1, 1, 1, 1], dtype=int32)
    """
    typed, _ = one_key("categorical", key)
    check_arraylike("categorical", logits)
    logits = asarray(logits)
    aval = typeof(logits)
    axis = canonicalize_axis(axis, aval.ndim)
    batch = aval.shape[:axis] + aval.shape[axis + 1 :]
    shape = batch if shape is None else shape_of_request(shape)
    check_shape("categorical", shape, batch)
    lead = shape[: len(shape) - len(batch)]
    if not replace:
        return _categories_without_replacement(typed, logits, axis, shape, lead, mode)
    rows = list(shape[len(lead) :])
    rows.insert(axis, aval.shape[axis])
    noise = gumbel(typed, (*lead, *rows), aval.dtype, mode)
    spread = shaping.expand_dims(logits, tuple(range(len(lead))))
    return reductions.argmax(noise + spread, axis=axis + len(lead))


def _categories_without_replacement(
    key: Value,
    logits: Value,
    axis: int,
    shape: Shape,
    lead: Shape,
    mode: str | None,
) -> Value:
    """Return the indices of the largest noisy logits."""
    aval = typeof(logits)
    noisy = logits + gumbel(key, aval.shape, aval.dtype, mode)
    n_draws, n = math.prod(lead), aval.shape[axis]
    if n_draws > n:
        raise ValueError(
            f"Number of samples without replacement ({n_draws}) cannot exceed number of "
            f"categories ({n})."
        )
    _, indices = lax.top_k(noisy, n_draws, axis=axis)
    order = (axis, *(i for i in range(aval.ndim) if i != axis))
    return lax.reshape(indices, shape, dimensions=order)


@functools.partial(jit, static_argnums=(2,))
def _shuffle(key: Value, x: Value, axis: int) -> Value:
    """Sort along an axis by random words, so often that ties do not matter."""
    aval = typeof(x)
    size = math.prod(aval.shape)
    n_rounds = math.ceil(3 * math.log(max(1, size)) / math.log(2**32 - 1))
    for _ in range(n_rounds):
        key, subkey = split_in(key, 2)
        words = bits(subkey, aval.shape, np.uint32)
        _, x = lax.sort_key_val(words, x, axis)
    return x


def permutation(
    key: Any,
    x: Any,
    axis: int = 0,
    independent: bool = False,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return `x` in a random order along an axis, or range(x) for an integer.

    x: (n, m) -> (n, m), the rows in another order; x: a number n -> (n,)
    independent: shuffle each line along the axis by itself.

    >>> from tapeless.random.keys import key
    >>> permutation(key(0), 5)
    Array([0, 1, 4, 3, 2], dtype=int32)
    """
    typed, _ = one_key("permutation", key)
    check_arraylike("permutation", x)
    rank = np.ndim(x)
    axis = canonicalize_axis(axis, rank or 1)
    if not rank:
        if not dtypes.issubdtype(dtypes.dtype(x), np.integer):
            raise TypeError("x must be an integer or at least 1-dimensional")
        n = int(x.__index__())
        return _shuffle(typed, creation.arange(n), axis)
    x = asarray(x)
    if independent or rank == 1:
        return _shuffle(typed, x, axis)
    order = _shuffle(typed, creation.arange(typeof(x).shape[axis]), 0)
    return taking.take(x, order, axis, unique_indices=True)


def choice(
    key: Any,
    a: Any,
    shape: Any = (),
    replace: bool = True,
    p: Any = None,
    axis: int = 0,
    mode: str | None = None,
) -> Value:
    """Return elements of `a` along an axis, or of range(a) for an integer.

    a: (n, m) or a number n, p: (n,) -> (*shape, m); for another axis, shape stands in its
    place.
    p: (n,) probabilities; uniform without it.  mode: as in `gumbel`, for draws without replacement.

    >>> from tapeless.random.keys import key
    >>> choice(key(0), 5, (3,), replace=False)
    Array([0, 1, 4], dtype=int32)
    """
    typed, _ = one_key("choice", key)
    check_arraylike("choice", a)
    if not np.iterable(shape):
        raise TypeError(f"shape argument of jax.random.choice must be a sequence, got {shape}")
    shape = shape_of_request(shape)
    rank = np.ndim(a)
    if rank:
        a = asarray(a)
        axis = canonicalize_axis(axis, rank)
        n = typeof(a).shape[axis]
    else:
        n, axis = int(a), 0
    n_draws = math.prod(shape)
    if n_draws == 0:
        return creation.zeros(shape, dtypes.dtype(a))
    if n <= 0:
        raise ValueError("a must be greater than 0 unless no samples are taken")
    if not replace and n_draws > n:
        raise ValueError(
            f"Cannot take a larger sample (size {n_draws}) than population (size {n}) when "
            f"'replace=False'"
        )
    if p is None and not replace:
        population = permutation(typed, a if rank else n, axis)
        drawn = population[(slice(None),) * axis + (slice(n_draws),)]
    else:
        places = _places(typed, n, shape, replace, p, mode)
        drawn = taking.take(a, places, axis) if rank else places
    rest = typeof(a).shape if rank else (n,)
    return shaping.reshape(drawn, (*rest[:axis], *shape, *rest[axis + 1 :]))


def _places(
    key: Value,
    n: int,
    shape: Shape,
    replace: bool,
    p: Any,
    mode: str | None,
) -> Value:
    """Return indices below `n`: of `shape`, or flat ones without replacement."""
    if p is None:
        return randint(key, shape, 0, n)
    check_arraylike("choice", p)
    p = asarray(p)
    dtype = typeof(p).dtype
    if not dtypes.issubdtype(dtype, np.inexact):
        dtype = dtypes.default_float_dtype()
        p = lax.convert_element_type(p, dtype)
    if typeof(p).shape != (n,):
        raise ValueError(
            "p must be None or a 1D vector with the same size as a.shape[axis]. p has shape "
            f"{typeof(p).shape} and a.shape[axis] is {n}."
        )
    if replace:
        sums = cumulative.cumsum(p)
        heights = sums[-1] * (1 - uniform(key, shape, dtype))
        return sorting.searchsorted(sums, heights)
    noisy = gumbel(key, (n,), dtype, mode) + ufuncs.log(p)
    return lax.top_k(noisy, math.prod(shape))[1]
