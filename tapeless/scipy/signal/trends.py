"""Trends taken from data: their mean, or lines of least squares between breakpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import asarray, canonicalize_axis, promote_dtypes_inexact

__all__ = ["detrend"]


def _without_line(x: Value) -> Value:
    """Take the line of least squares from columns: (n, m) -> (n, m)."""
    n = x.shape[0]
    design = np.ones((n, 2))
    design[:, 0] = np.arange(1, n + 1) / n
    lines = jnp.asarray(design.astype(x.dtype))
    return x - lines @ jnp.linalg.lstsq(lines, x)[0]


def detrend(
    data: Any,
    axis: int = -1,
    type: str = "linear",
    bp: int | Sequence[int] | np.ndarray = 0,
    overwrite_data: None = None,
) -> Value:
    """Return data less its trend along an axis: (..., n) -> (..., n).

    type: "constant", the mean, or "linear", the line of least squares.  bp: breakpoints, where a
    new line begins.  overwrite_data: must be None, as arrays do not change.

    Unlike in SciPy, "c" and "l" are not names of types.

    >>> detrend(jnp.array([1.0, 2.0, 6.0]), type="constant")
    Array([-2., -1.,  3.], dtype=float32)
    """
    if overwrite_data is not None:
        raise NotImplementedError("overwrite_data argument not implemented.")
    if type not in ("constant", "linear"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    (x,) = promote_dtypes_inexact(asarray(data))
    if type == "constant":
        return x - jnp.mean(x, axis, keepdims=True)
    if not -x.ndim <= axis < x.ndim:
        raise IndexError(f"detrend: there is no axis {axis} in data of shape {x.shape}")
    axis = canonicalize_axis(axis, x.ndim)
    n = x.shape[axis]
    breaks = np.unique(np.concatenate([np.atleast_1d(bp), [0, n]])).astype(int)
    if breaks[0] < 0 or breaks[-1] > n:
        raise ValueError(
            "Breakpoints must be non-negative and less than length of data along given axis."
        )
    if n == 0:
        raise ZeroDivisionError(f"detrend needs data along axis {axis}, got shape {x.shape}")
    moved = jnp.moveaxis(x, axis, 0)
    columns = moved.reshape(n, -1)
    parts = [_without_line(columns[i:j]) for i, j in zip(breaks, breaks[1:], strict=False)]
    return jnp.moveaxis(jnp.concatenate(parts).reshape(moved.shape), 0, axis)
