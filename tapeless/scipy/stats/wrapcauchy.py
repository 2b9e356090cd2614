"""The wrapped Cauchy distribution of angles in [0, 2 pi]."""

from __future__ import annotations

import math
from typing import Any

from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import promote_args_inexact

__all__ = ["logpdf", "pdf"]


def logpdf(x: Any, c: Any) -> Value:
    """Return the logarithm of the density.

    x, c: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.wrapcauchy.logpdf(jnp.array([0.5, 1.0]), 0.5).round(3)
    Array([-1.138, -1.783], dtype=float32)
    """
    x, c = promote_args_inexact(
        "wrapcauchy.logpdf",
        x,
        c,
    )
    value = jnp.log1p(-c * c) - jnp.log(2 * math.pi) - jnp.log(1 + c * c - 2 * c * jnp.cos(x))
    value = jnp.where(
        (x >= 0) & (x <= 2 * math.pi),
        value,
        -jnp.inf,
    )
    return jnp.where(
        (c > 0) & (c < 1),
        value,
        jnp.nan,
    )


def pdf(x: Any, c: Any) -> Value:
    """Return the density.

    x, c: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.wrapcauchy.pdf(jnp.array([0.5, 1.0]), 0.5).round(3)
    Array([0.321, 0.168], dtype=float32)
    """
    return jnp.exp(logpdf(x, c))
