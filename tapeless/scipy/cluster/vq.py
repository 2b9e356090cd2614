"""`jax.scipy.cluster.vq`: each observation is assigned to the nearest of a book of codes."""

from __future__ import annotations

from typing import Any

from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import check_arraylike, promote_dtypes_inexact
from tapeless.util.names import close_module

__all__ = ["vq"]


def vq(obs: Any, code_book: Any, check_finite: bool = True) -> tuple[Value, Value]:
    """Return which code is nearest to each observation, and how far it is (Euclid's distance).

    obs: (m, n) or (m), code_book: (k, n) or (k) -> codes (m), distances (m).  Of codes that are
    equally near, the first one.

    check_finite: ignored.  Unlike in SciPy, infinities and NaN are not refused.

    >>> codes, distances = vq(jnp.array([1.0, 6.0]), jnp.array([0.0, 5.0]))
    >>> codes.tolist(), distances.tolist()
    ([0, 1], [1.0, 1.0])
    """
    check_arraylike("scipy.cluster.vq.vq", obs, code_book)
    points, codes = promote_dtypes_inexact(jnp.asarray(obs), jnp.asarray(code_book))
    if points.ndim != codes.ndim:
        raise ValueError("Observation and code_book should have the same rank")
    if points.ndim not in (1, 2):
        raise ValueError("ndim different than 1 or 2 are not supported")
    if points.ndim == 1:
        points, codes = points[:, None], codes[:, None]
    gaps = points[:, None, :] - codes[None, :, :]
    distances = jnp.linalg.norm(gaps, axis=-1)
    nearest = jnp.argmin(distances, axis=-1)
    least = jnp.take_along_axis(distances, nearest[:, None], axis=-1)
    return nearest, least[:, 0]


close_module("jax.scipy.cluster.vq", globals())
