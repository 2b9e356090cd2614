"""Sums of exponentials, done so that they neither overflow nor lose the mask.

The maximum over the axes is subtracted before `exp`; its gradient is zero, so it passes through
`stop_gradient`.  With `where`, entries outside the mask count as minus infinity and come out as 0
(or as minus infinity in logarithms); a row with nothing inside the mask is all zeros, not NaN.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes, lax
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy import arithmetic, choice, reductions
from tapeless.numpy.common import (
    asarray,
    check_arraylike,
    const,
    convert,
    promote_args_inexact,
)

__all__ = ["log_softmax", "logmeanexp", "logsumexp", "softmax", "standardize"]

Axis = int | str | Sequence[int | str] | None


def _inexact(name: str, x: Any) -> Value:
    """Return a checked argument in a floating or complex dtype, a canonical one."""
    check_arraylike(name, x)
    (inexact,) = promote_args_inexact(name, x)
    aval = typeof(inexact)
    return convert(inexact, dtypes.canonicalize_dtype(aval.dtype), aval.weak_type)


def _exponents(name: str, x: Any, where: Any) -> Value:
    """Return a checked argument of `softmax`; booleans, as in JAX, only under a mask."""
    check_arraylike(name, x)
    if where is None and np.ndim(x) and dtypes.dtype(x) == np.bool_:
        raise TypeError(
            f"{name} does not accept dtype bool. Accepted dtypes are subtypes of integer, "
            f"complexfloating, floating; x.astype(float) is 0 or 1"
        )
    return _inexact(name, x)


def _maximum(
    x: Value,
    axis: Axis,
    where: Any,
    keepdims: bool,
) -> Value:
    """Return the maximum inside the mask; minus infinity where there is nothing."""
    return reductions.max(x, axis, where=where, initial=-np.inf, keepdims=keepdims)


def softmax(x: Any, axis: Axis = -1, where: Any = None) -> Value:
    """Return exp(x) / sum(exp(x)) over axes; entries outside the mask `where` are 0.

    x, where: (m, n) -> (m, n)

    >>> import numpy as np
    >>> softmax(np.zeros(4, "float32"))
    Array([0.25, 0.25, 0.25, 0.25], dtype=float32)
    """
    x = _exponents("softmax", x, where)
    highest = _maximum(x, axis, where, True)
    inside = x if where is None else choice.where(where, x, -np.inf)
    powers = lax.exp(lax.sub(inside, lax.stop_gradient(highest)))
    total = reductions.sum(powers, axis, where=where, keepdims=True)
    result = lax.div(powers, total)
    return result if where is None else choice.where(where, result, 0)


@functools.partial(jit, static_argnames=("axis",))
def log_softmax(x: Any, axis: Axis = -1, where: Any = None) -> Value:
    """Return x - log(sum(exp(x))) over axes; entries outside the mask are minus infinity.

    x, where: (m, n) -> (m, n)

    >>> import numpy as np
    >>> log_softmax(np.zeros(2, "float32"))
    Array([-0.6931472, -0.6931472], dtype=float32)
    """
    x = _exponents("log_softmax", x, where)
    highest = _maximum(x, axis, where, True)
    inside = x if where is None else choice.where(where, x, -np.inf)
    shifted = lax.sub(inside, lax.stop_gradient(highest))
    total = reductions.sum(lax.exp(shifted), axis, where=where, keepdims=True)
    result = lax.sub(shifted, lax.log(total))
    return result if where is None else choice.where(where, result, -np.inf)


def logsumexp(
    a: Any,
    axis: Axis = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """Return log(sum(b * exp(a))) over axes; or, with `return_sign`, of its size, and its sign.

    a, b, where: (m, n) -> (m,) over axis 1, () over all.

    >>> import numpy as np
    >>> logsumexp(np.zeros(4, "float32"))
    Array(1.3862944, dtype=float32)
    """
    if b is None:
        x, weights = _inexact("logsumexp", a), None
    else:
        check_arraylike("logsumexp", a, b)
        x, weights = promote_args_inexact("logsumexp", a, b)
        x = choice.where(lax.ne(weights, _zero(weights)), x, -np.inf)
    x = asarray(x)
    if where is not None:
        x = choice.where(where, x, 0)
    axes = reductions.reduced_axes(axis, typeof(x).ndim)
    is_complex = dtypes.issubdtype(typeof(x).dtype, np.complexfloating)
    highest = _maximum(lax.real(x) if is_complex else x, axes, where, False)
    finite = lax.select_n(lax.is_finite(highest), lax.full_like(highest, 0), highest)
    shift = lax.stop_gradient(finite)
    spread = lax.convert_element_type(_spread(shift, typeof(x).shape, axes), typeof(x).dtype)
    shifted = lax.sub(x, spread)
    powers = lax.exp(shifted)
    if weights is not None:
        powers = lax.mul(powers, weights)
    total = reductions.sum(powers, axes, where=where)
    sign = lax.sign(total)
    if return_sign or not np.issubdtype(typeof(total).dtype, np.complexfloating):
        total = lax.abs(total)
    log_total = lax.log(total)
    shift = lax.convert_element_type(shift, typeof(total).dtype)
    result = lax.add(log_total, shift)
    if keepdims:
        result, sign = (_spread(v, typeof(x).shape, axes) for v in (result, sign))
    if return_sign:
        return result, sign
    return result if b is None else _without_negative(result, sign)


def _without_negative(result: Value, sign: Value) -> Value:
    """Return NaN where the sum is negative: its logarithm is not real."""
    if np.issubdtype(typeof(sign).dtype, np.complexfloating):
        return result
    return choice.where(lax.lt(sign, _zero(sign)), np.nan, result)


def _zero(x: Value) -> Any:
    """Return 0 in the dtype of `x`."""
    return const(x, 0)


def _spread(x: Value, shape: tuple[int, ...], axes: tuple[Any, ...]) -> Value:
    """Put axes of extent 1 back where axes were reduced."""
    kept = tuple(i for i in range(len(shape)) if i not in axes)
    spread = tuple(1 if i in axes else n for i, n in enumerate(shape))
    return lax.broadcast_in_dim(x, spread, kept)


def logmeanexp(
    x: Any,
    axis: Axis = None,
    where: Any = None,
    keepdims: bool = False,
) -> Value:
    """Return log(mean(exp(x))) over axes.

    x, where: (m, n) -> (m,) over axis 1, () over all.

    >>> import numpy as np
    >>> logmeanexp(np.zeros(4, "float32"))
    Array(0., dtype=float32)
    """
    total = logsumexp(x, axis, where=where, keepdims=keepdims)
    if where is None:
        shape = np.shape(x)
        axes = reductions.reduced_axes(axis, len(shape))
        count: Any = reductions.count_over(shape, axes)
        return lax.sub(total, const(total, math.log(count) if count else -np.inf))
    count = reductions.sum(where, axis, keepdims=keepdims)
    return lax.sub(total, lax.log(lax.convert_element_type(count, typeof(total).dtype)))


@functools.partial(jit, static_argnames=("axis", "algorithm"))
def standardize(
    x: Any,
    axis: Axis = -1,
    mean: Any = None,
    variance: Any = None,
    epsilon: Any = 1e-5,
    where: Any = None,
    *,
    algorithm: str = "fast",
) -> Value:
    """Return (x - mean) / sqrt(variance + epsilon) over axes.

    x: (m, n), mean, variance: broadcast with x -> (m, n)
    algorithm: "fast" takes the mean of squares minus the square of the mean; "stable" the mean of
    the squared distances.

    >>> import numpy as np
    >>> standardize(np.array([1.0, 3.0], "float32"), epsilon=0.0)
    Array([-1.,  1.], dtype=float32)
    """
    if algorithm not in ("fast", "stable"):
        raise ValueError(f"algorithm must be 'fast' or 'stable', got {algorithm!r}")
    x = _inexact("standardize", x)
    if mean is None:
        mean = reductions.mean(x, axis, keepdims=True, where=where)
    mean = asarray(mean)
    if variance is None and algorithm == "stable":
        squares = lax.square(arithmetic.subtract(x, mean))
        variance = reductions.mean(squares, axis, keepdims=True, where=where)
    elif variance is None:
        squares = reductions.mean(lax.square(x), axis, keepdims=True, where=where)
        variance = choice.clip(arithmetic.subtract(squares, lax.square(mean)), 0)
    centred = arithmetic.subtract(x, mean)
    return arithmetic.multiply(centred, lax.rsqrt(arithmetic.add(asarray(variance), epsilon)))
