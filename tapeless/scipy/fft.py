"""`jax.scipy.fft`: discrete cosine transforms, of the second kind, and their inverses.

    dct    X_k = 2 sum_j x_j cos(pi k (2 j + 1) / (2 n))

The transform of n numbers is one Fourier transform of n numbers (Makhoul, 1980): with the even
elements first and the odd ones after them backwards, v, of transform V,

    X_k = 2 Re(exp(-i pi k / (2 n)) V_k)

and back: V_k = (X_k - i X_(n-k)) exp(i pi k / (2 n)) / 2.  Real and imaginary parts of complex
numbers are transformed apart.  norm "ortho" makes the transform orthogonal: it is divided by
sqrt(2 n), and X_0 by sqrt(2) also.

Unlike in SciPy, the other kinds (type 1, 3 and 4) are not there.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless import lax
from tapeless import numpy as jnp
from tapeless.api.jit import jit
from tapeless.core.trace import Value
from tapeless.numpy.common import (
    canonicalize_axes,
    canonicalize_axis,
    check_arraylike,
    promote_dtypes_inexact,
)
from tapeless.prims.common import at_least_float32
from tapeless.util.names import close_module

__all__ = ["dct", "dctn", "idct", "idctn"]

_NORMS = (None, "backward", "ortho")


def _check(
    name: str,
    x: Any,
    kind: int,
    norm: str | None,
) -> Value:
    """Return the operand as an array of at least float32, or refuse what is not there."""
    check_arraylike(name, x)
    if kind != 2:
        raise NotImplementedError("Only DCT type 2 is implemented.")
    if norm not in _NORMS:
        raise ValueError(f"jax.scipy.fft.{name}: norm={norm!r} is not implemented")
    (x,) = promote_dtypes_inexact(jnp.asarray(x))
    return x.astype(at_least_float32(x.dtype))


def _fitted(
    name: str,
    x: Value,
    n: int,
    axis: int,
) -> Value:
    """Return an axis cut, or filled with zeros, to n elements."""
    if n < 1:
        raise TypeError(f"{name} needs at least one element along axis {axis}, got {n}")
    missing = n - x.shape[axis]
    if missing <= 0:
        return lax.slice_in_dim(x, 0, n, axis=axis)
    widths = [(0, missing if each == axis else 0) for each in range(x.ndim)]
    return jnp.pad(x, widths)


def _by_parts(
    transform: Callable[[Value], Value],
    x: Value,
) -> Value:
    """Apply a real transform to real and imaginary parts."""
    if jnp.iscomplexobj(x):
        return lax.complex(transform(x.real), transform(x.imag))
    return transform(x)


def _turns(
    n: int,
    dtype: np.dtype,
) -> Value:
    """Return exp(i pi k / (2 n)) for k below n."""
    angles = np.arange(n) * (math.pi / (2 * n))
    wide = np.exp(1j * angles)
    return jnp.asarray(wide.astype(jnp.result_type(dtype, np.complex64)))


def _ortho_factors(
    n: int,
    dtype: np.dtype,
) -> Value:
    """Return what the elements of an orthogonal transform are multiplied by: (n)."""
    factors = np.full(n, 1 / math.sqrt(2 * n))
    factors[0] /= math.sqrt(2)
    return jnp.asarray(factors.astype(dtype))


def _cosines(
    norm: str | None,
    x: Value,
) -> Value:
    """Transform the last axis of real numbers: (..., n) -> (..., n)."""
    n = x.shape[-1]
    shuffled = jnp.concatenate([x[..., ::2], x[..., 1::2][..., ::-1]], axis=-1)
    out = 2 * jnp.real(jnp.fft.fft(shuffled) * jnp.conj(_turns(n, x.dtype)))
    return out * _ortho_factors(n, x.dtype) if norm == "ortho" else out


def _from_cosines(
    norm: str | None,
    x: Value,
) -> Value:
    """Transform the last axis of real numbers back: (..., n) -> (..., n)."""
    n = x.shape[-1]
    if norm == "ortho":
        x = x / _ortho_factors(n, x.dtype)
    mirrored = jnp.concatenate([jnp.zeros_like(x[..., :1]), x[..., :0:-1]], axis=-1)
    spectrum = lax.complex(x, -mirrored) * _turns(n, x.dtype) / 2
    shuffled = jnp.real(jnp.fft.ifft(spectrum))
    order = np.argsort(np.concatenate([np.arange(0, n, 2), np.arange(1, n, 2)[::-1]]))
    return shuffled[..., order]


def _along(
    name: str,
    x: Value,
    n: int | None,
    axis: int,
    norm: str | None,
) -> Value:
    """Transform one axis."""
    axis = canonicalize_axis(axis, x.ndim)
    x = _fitted(name, x, x.shape[axis] if n is None else operator.index(n), axis)
    transform = functools.partial(_cosines if name.startswith("dct") else _from_cosines, norm)
    return jnp.moveaxis(_by_parts(transform, jnp.moveaxis(x, axis, -1)), -1, axis)


def _along_axes(
    name: str,
    x: Value,
    s: Sequence[int] | None,
    axes: Any,
    norm: str | None,
) -> Value:
    """Transform several axes, one after the other."""
    if axes is None:
        axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
    chosen = canonicalize_axes(axes, x.ndim)
    lengths = dict(zip(chosen, s or (), strict=False))
    for axis in chosen:
        x = _along(name, x, lengths.get(axis), axis, norm)
    return x


@functools.partial(jit, static_argnames=("type", "n", "axis", "norm"))
def dct(
    x: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
) -> Value:
    """Return the cosine transform along an axis: (..., m) -> (..., n).

    type: 2.  n: to how many elements the axis is cut, or filled with zeros, before.
    norm: None or "backward", or "ortho" for an orthogonal transform.

    >>> dct(jnp.array([1.0, 1.0, 1.0, 1.0])).round(3) + 0.0
    Array([8., 0., 0., 0.], dtype=float32)
    """
    return _along("dct", _check("dct", x, type, norm), n, axis, norm)


@functools.partial(jit, static_argnames=("type", "s", "axes", "norm"))
def dctn(
    x: Any,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Value:
    """Return the cosine transform along several axes: all, or the last len(s).

    x: (m, n) -> (m, n), or the extents s along axes.
    s: to how many elements each of the axes is cut or filled.  type, norm: as in `dct`.

    >>> dctn(jnp.ones((2, 2))).round(3) + 0.0
    Array([[16.,  0.],
           [ 0.,  0.]], dtype=float32)
    """
    return _along_axes("dctn", _check("dctn", x, type, norm), s, axes, norm)


@functools.partial(jit, static_argnames=("type", "n", "axis", "norm"))
def idct(
    x: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
) -> Value:
    """Return the inverse of `dct` along an axis: (..., m) -> (..., n).

    type, n, norm: as in `dct`.

    >>> idct(dct(jnp.array([1.0, 2.0, 4.0]))).round(3)
    Array([1., 2., 4.], dtype=float32)
    """
    return _along("idct", _check("idct", x, type, norm), n, axis, norm)


@functools.partial(jit, static_argnames=("type", "s", "axes", "norm"))
def idctn(
    x: Any,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Value:
    """Return the inverse of `dctn` along several axes: all, or the last len(s).

    x: (m, n) -> (m, n), or the extents s along axes.
    s, type, norm: as in `dctn`.

    >>> idctn(dctn(jnp.array([[1.0, 2.0], [3.0, 4.0]]))).round(3)
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    return _along_axes("idctn", _check("idctn", x, type, norm), s, axes, norm)


close_module("jax.scipy.fft", globals())
