"""Windows: symmetric weights that fade to the ends of a sequence of M samples.

bartlett   1 - |2n / (M - 1) - 1|
hanning    0.5 - 0.5 cos t,  hamming  0.54 - 0.46 cos t,   with t = 2 pi n / (M - 1)
blackman   0.42 - 0.5 cos t + 0.08 cos 2t
kaiser     i0(beta sqrt(1 - (2n / (M - 1) - 1)^2)) / i0(beta)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.trace import Value
from tapeless.numpy import arithmetic
from tapeless.numpy.common import asarray
from tapeless.numpy.creation import arange, ones
from tapeless.numpy.special_functions import i0
from tapeless.numpy.ufuncs import cos, sqrt, square

__all__ = ["bartlett", "blackman", "hamming", "hanning", "kaiser"]


def _samples(size: Any) -> tuple[int, Value | None]:
    """Return the number of samples and, if there are several, their numbers, floating."""
    count = int(size)
    dtype = dtypes.default_float_dtype()
    return count, None if count <= 1 else arange(count, dtype=dtype)


def _trivial(count: int) -> Value:
    """Return the window of one sample, or none."""
    return ones(count, dtypes.default_float_dtype())


def _cosines(size: Any, *weights: float) -> Value:
    """Return the sum of cosines of multiples of t, with these weights."""
    count, n = _samples(size)
    if n is None:
        return _trivial(count)
    result: Any = weights[0]
    for multiple, weight in enumerate(weights[1:], 1):
        angle = arithmetic.multiply(n, 2 * np.pi * multiple / (count - 1))
        result = arithmetic.add(result, arithmetic.multiply(weight, cos(angle)))
    return result


def bartlett(M: int) -> Value:  # noqa: N803 - NumPy's name
    """Return a triangular window: (M,).

    -> (M,)

    >>> import tapeless.numpy as jnp
    >>> jnp.bartlett(5)
    Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    count, n = _samples(M)
    if n is None:
        return _trivial(count)
    distance = abs(2 * n + 1 - count)
    return 1 - distance / (count - 1)


def blackman(M: int) -> Value:  # noqa: N803 - NumPy's name
    """Return Blackman's window: (M,).

    -> (M,)

    >>> import tapeless.numpy as jnp
    >>> jnp.blackman(5).round(2) + 0
    Array([0.  , 0.34, 1.  , 0.34, 0.  ], dtype=float32)
    """
    return _cosines(M, 0.42, -0.5, 0.08)


def hamming(M: int) -> Value:  # noqa: N803 - NumPy's name
    """Return Hamming's window: (M,).

    -> (M,)

    >>> import tapeless.numpy as jnp
    >>> jnp.hamming(3).round(2)
    Array([0.08, 1.  , 0.08], dtype=float32)
    """
    return _cosines(M, 0.54, -0.46)


def hanning(M: int) -> Value:  # noqa: N803 - NumPy's name
    """Return von Hann's window: (M,).

    -> (M,)

    >>> import tapeless.numpy as jnp
    >>> jnp.hanning(3)
    Array([0., 1., 0.], dtype=float32)
    """
    return _cosines(M, 0.5, -0.5)


def kaiser(M: int, beta: Any) -> Value:  # noqa: N803 - NumPy's name
    """Return Kaiser's window: (M,).  beta: how narrow it is; 0 makes it constant.

    -> (M,)

    >>> import tapeless.numpy as jnp
    >>> jnp.kaiser(3, 2.0).round(3)
    Array([0.439, 1.   , 0.439], dtype=float32)
    """
    count, n = _samples(M)
    if n is None:
        return _trivial(count)
    half = 0.5 * (count - 1)
    beta = asarray(beta, dtypes.default_float_dtype())
    place: Any = square((n - half) / half)
    height: Any = sqrt(1 - place)
    return arithmetic.divide(i0(arithmetic.multiply(beta, height)), i0(beta))
