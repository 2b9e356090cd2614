"""Gamma and Poisson numbers without a loop: the method "approximate".

A loop that rejects runs as long as its unluckiest element; where all elements go in step, a formula
over a fixed number of words is faster, at the price of a small bias.

    gamma      (a + 4) w**3 with w a polynomial in z / sqrt(2 (a + 4)), z a normal number: the cube
               root of Wilson and Hilferty (1931) with further terms.  Shape a + 4 is brought down
               to a by factors u**(1 / (a + i)), i = 0 ... 3, as Marsaglia and Tsang do with one.
    poisson    the normal number z is turned into the count of the same quantile.  Means below 7:
               by adding up probabilities.  Others: by the expansion of Cornish and Fisher (1938),
               corrected by the normal approximation of Peizer and Pratt (1968), which is much
               closer.

The coefficients of w are the numbers that JAX shows in its program, so that draws agree.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tapeless import dtypes, lax
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy.choice import where
from tapeless.numpy.shaping import broadcast_to
from tapeless.random.basic import normal
from tapeless.random.continuous import exponential
from tapeless.random.requests import split_in
from tapeless.util import lazy

__all__ = ["loop_free_gamma", "loop_free_poisson"]

errors = lazy.load("tapeless.scipy.special.errors")

Shape = tuple[int, ...]

# Row i: the coefficients, in powers of 1 / (2 (a + 4)), of (z / sqrt(2 (a + 4)))**i.
_CUBE_ROOT = (
    (1.0, -0.2237368, -0.01513904),
    (0.4713941, 0.02607083, -0.008986007),
    (0.0001348028, 0.01128186, 0.02277679),
    (-0.008553069, -0.01153761, -0.01323293),
    (0.00312558, 0.005169654, -0.006950356),
    (-0.0008426812, 0.00253001, 0.001060438),
    (9.780499e-05, -0.001450117, 0.001565326),
)
_RAISED_BY = 4
_LARGEST_ADDED = 18
_SMALL_MEAN = 7.0
_SERIES_LENGTH = 9


def _wide(dtype: np.dtype) -> np.dtype:
    """Return the dtype to compute in: float32 for narrower ones."""
    return np.dtype(np.float32) if dtypes.finfo(dtype).bits < 32 else dtype


@functools.partial(jit, static_argnums=(2, 3, 4))
def _gamma_approx(
    key: Value,
    a: Any,
    shape: Shape,
    dtype: np.dtype,
    log_space: bool,
) -> Value:
    """Return gamma numbers of the shapes a, or their logarithms: a stretches to `shape`.

    A polynomial is cubed, and factors are taken off by their logarithms.
    """
    wide = _wide(dtype)
    a = broadcast_to(lax.convert_element_type(a, wide), shape)
    key_root, key_boost = split_in(key, 2)
    raised = a + wide.type(_RAISED_BY)
    double = wide.type(2) * raised
    z = normal(key_root, shape, wide)
    inverse = wide.type(1) / double
    scaled = z * lax.rsqrt(double)
    rows = [lax.polynomial(inverse, [wide.type(c) for c in row]) for row in _CUBE_ROOT]
    root = lax.max(lax.polynomial(scaled, rows), wide.type(dtypes.finfo(wide).tiny))
    drawn = lax.log(raised) + wide.type(3) * lax.log(root)
    steps = lax.reshape(lax.iota(wide, _RAISED_BY), (_RAISED_BY, *[1] * len(shape)))
    log_u = lax.neg(exponential(key_boost, (_RAISED_BY, *shape), wide))
    boosts = log_u / (lax.expand_dims(a, (0,)) + steps)
    drawn = drawn + lax.reduce_sum(boosts, (0,))
    return lax.convert_element_type(drawn if log_space else lax.exp(drawn), dtype)


@functools.partial(jit, static_argnums=(2, 3))
def _poisson_approx(
    key: Value,
    mean: Any,
    shape: Shape,
    dtype: np.dtype,
) -> Value:
    """Return counts of the means, which stretch to `shape`, each made of a normal number."""
    default = dtypes.default_float_dtype()
    given = typeof(mean).dtype
    wide = _wide(given if dtypes.issubdtype(given, np.floating) else default)
    mean = lax.convert_element_type(mean, wide)
    mean = lax.expand_dims(mean, range(len(shape) - typeof(mean).ndim))
    z = normal(key, shape, wide)
    counts = where(mean < _SMALL_MEAN, _small_count(mean, z), _large_count(mean, z))
    return lax.convert_element_type(counts, dtype)


# The programs bear the names that JAX prints.
loop_free_gamma = _gamma_approx
loop_free_poisson = _poisson_approx


def _small_count(mean: Value, z: Value) -> Value:
    """Count the k up to 18 for which P(count <= k) is below the quantile of z."""
    dtype = typeof(z).dtype
    quantile = errors.ndtr(z)
    term = total = lax.exp(lax.neg(mean))
    count = lax.convert_element_type(total < quantile, dtype)
    for k in range(1, _LARGEST_ADDED + 1):
        term = term * (mean / dtype.type(k))
        total = total + term
        count = count + lax.convert_element_type(total < quantile, dtype)
    return count


def _large_count(mean: Value, z: Value) -> Value:
    """Guess a count, and lower it while the next lower ones have the quantile of z too."""
    dtype = typeof(z).dtype
    root = lax.sqrt(mean)
    square = z * z
    guess = mean + root * z - 2 / 3 + square / 6 + z * (1 - square) / (72 * root)
    highest = lax.ceil(guess + 0.6)
    count = highest + 1
    for k in (highest, highest - 1):
        count = count - lax.convert_element_type(_normal_of_count(mean, k) >= z, dtype)
    return lax.max(count, dtype.type(0))


def _normal_of_count(mean: Value, k: Value) -> Value:
    """Return the normal number of the quantile P(count <= k), after Peizer and Pratt."""
    dtype = typeof(k).dtype
    bounded = lax.max(k, dtype.type(0))
    ratio = (bounded + 0.5) / mean
    shift = ratio - 1
    is_near = lax.abs(shift) < 0.25
    near = lax.full_like(shift, 0)
    for n in range(_SERIES_LENGTH, 0, -1):
        near = shift * (near + dtype.type((-1) ** n * 2 / ((n + 1) * (n + 2))))
    # Where the series holds, the formula would divide by zero.
    far_ratio, far_shift = where(is_near, 2.0, ratio), where(is_near, 1.0, shift)
    far = 1 - far_ratio * far_ratio + 2 * far_ratio * lax.log(far_ratio)
    skewness = where(is_near, near, far / (far_shift * far_shift))
    distance = bounded - mean + 2 / 3 + 0.02 / (bounded + 1)
    return where(k < 0, -np.inf, distance * lax.sqrt((1 + skewness) / mean))
