"""The von Mises distribution of angles: exp(kappa cos x) / (2 pi I_0(kappa))."""

from __future__ import annotations

import math
from typing import Any

from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import promote_args_inexact
from tapeless.scipy import special

__all__ = ["logpdf", "pdf"]


def logpdf(x: Any, kappa: Any) -> Value:
    """Return the logarithm of the density.

    x, kappa: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.vonmises.logpdf(jnp.array([0.0, 1.0]), 1.5).round(3)
    Array([-0.837, -1.526], dtype=float32)
    """
    x, kappa = promote_args_inexact("vonmises.logpdf", x, kappa)
    value = kappa * (jnp.cos(x) - 1) - jnp.log(2 * math.pi * special.i0e(kappa))
    return jnp.where(kappa > 0, value, jnp.nan)


def pdf(x: Any, kappa: Any) -> Value:
    """Return the density.

    x, kappa: shapes that broadcast to (n,) -> (n,)

    >>> jax.scipy.stats.vonmises.pdf(jnp.array([0.0, 1.0]), 1.5).round(3)
    Array([0.433, 0.217], dtype=float32)
    """
    return jnp.exp(logpdf(x, kappa))
