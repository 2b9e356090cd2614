"""Student's t distribution of `df` degrees."""

from __future__ import annotations

from typing import Any

from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import strong_args_inexact
from tapeless.scipy import special

__all__ = ["logpdf", "pdf"]

_LARGE = 1e9  # the square of no smaller number overflows


def logpdf(
    x: Any,
    df: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the logarithm of the density.

    x, df, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.t.logpdf(jnp.array([0.0, 1.0]), 3.0).round(3)
    Array([-1.001, -1.576], dtype=float32)
    """
    x, df, loc, scale = strong_args_inexact("t.logpdf", x, df, loc, scale)
    z = (x - loc) / scale
    normal = special.betaln(df / 2, 0.5) + 0.5 * jnp.log(df) + jnp.log(scale)
    return -normal - (df + 1) / 2 * _log1p_ratio(z, df)


def _log1p_ratio(z: Value, df: Value) -> Value:
    """Return log(1 + z**2 / df), of large z without the square, which would overflow."""
    size = jnp.abs(z)
    is_large = size > _LARGE
    small, large = jnp.where(is_large, 1, z), jnp.where(is_large, size, 1)
    ratio = jnp.logaddexp(2 * jnp.log(large) - jnp.log(df), 0)
    return jnp.where(is_large, ratio, jnp.log1p(small * small / df))


def pdf(
    x: Any,
    df: Any,
    loc: Any = 0,
    scale: Any = 1,
) -> Value:
    """Return the density.

    x, df, loc, scale: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.t.pdf(jnp.array([0.0, 1.0]), 3.0).round(3)
    Array([0.368, 0.207], dtype=float32)
    """
    return jnp.exp(logpdf(x, df, loc, scale))
