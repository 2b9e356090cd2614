"""`jax.numpy.fft`: discrete Fourier transforms.

    fft    X_k = sum_j x_j exp(-2 pi i j k / n)          ifft   x_j = (1 / n) sum_k X_k exp(...)
    rfft   of real x: only k = 0 .. n/2                  irfft  of such an X: real x
    hfft   irfft, conjugated: real spectrum of half a Hermitian signal; ihfft is its inverse

The primitive transforms the last axes, up to three at once; the axes asked for are moved there, cut
or filled with zeros to the lengths asked for, and moved back.  norm: where the factor 1 / n goes:
"backward" (to the inverse, the default), "forward", or "ortho" (its root to both).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy import arithmetic, reductions
from tapeless.numpy.common import (
    asarray,
    canonicalize_axis,
    check_arraylike,
    const,
    convert,
    narrowed,
    value_of,
)
from tapeless.numpy.creation import arange
from tapeless.numpy.indexing import get_item
from tapeless.numpy.joining import roll
from tapeless.numpy.padding import pad
from tapeless.numpy.shaping import moveaxis
from tapeless.numpy.ufuncs import conj, sqrt
from tapeless.prims import fft as prim
from tapeless.util.names import close_module

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

FftType = prim.FftType
Norm = str | None


def _transform_impl(
    x: Value,
    fft_type: Any,
    fft_lengths: tuple[int, ...],
) -> Value:
    """Apply the primitive; with no lengths, convert only."""
    if fft_lengths:
        return prim.fft(x, fft_type, fft_lengths)
    if fft_type in (FftType.RFFT, FftType.IRFFT):
        return x
    return convert(x, dtypes.to_complex_dtype(typeof(x).dtype))


_transform_impl.__name__ = "fft"
_transform = jit(_transform_impl, static_argnames=("fft_type", "fft_lengths"))


def _factor(
    dtype: np.dtype,
    forward: bool,
    lengths: Sequence[int],
    norm: Norm,
) -> Value | None:
    """Return what the primitive's result is multiplied by."""
    if norm is None:
        return None
    if norm == "backward":
        return dtype.type(1)
    if norm not in ("ortho", "forward"):
        raise ValueError(f'Invalid norm value {norm}; should be "backward","ortho" or "forward".')
    size = reductions.prod(asarray(np.array(lengths, dtype)))
    if norm == "ortho":
        size = sqrt(size)
    return arithmetic.divide(dtype.type(1), size) if forward else size


def _nd(
    name: str,
    kind: Any,
    a: Any,
    s: Any,
    axes: Any,
    norm: Norm,
) -> Value:
    """Transform any axes."""
    check_arraylike(f"jax.numpy.fft.{name}", a)
    x = narrowed(asarray(value_of(a)))
    if s is not None:
        s = tuple(map(operator.index, s))
        if any(each <= 0 for each in s):
            raise ValueError("Shape should be positive.")
    if axes is None:
        axes = range(x.ndim - (x.ndim if s is None else len(s)), x.ndim)
    axes = tuple(axes)
    if s is not None and len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    axes = tuple(canonicalize_axis(axis, x.ndim) for axis in axes)
    if len(set(axes)) != len(axes):
        raise ValueError(f"{_full(name)} does not support repeated axes. Got axes {axes}.")
    if not axes:
        return convert(x, _dtype_of_none(kind, typeof(x).dtype))
    if len(axes) > 3:
        return _by_parts(name, kind, x, s, axes, norm)
    return _transformed(x, kind, not name.startswith("i"), s, axes, norm)


def _dtype_of_none(kind: Any, dtype: Any) -> Any:
    """Return the dtype of the transform along no axes."""
    wide = dtypes.to_inexact_dtype(dtype)
    return wide if kind == FftType.RFFT else dtypes.to_complex_dtype(wide)


@functools.partial(jit, static_argnums=(1, 2, 3, 4, 5), inline="early")
def _transformed(
    x: Value,
    kind: Any,
    forward: bool,
    s: tuple[int, ...] | None,
    axes: tuple[int, ...],
    norm: Norm,
) -> Value:
    """Transform up to three axes."""
    ends = tuple(range(x.ndim - len(axes), x.ndim))
    x = moveaxis(x, axes, ends)
    lengths = _lengths(kind, x.shape, len(axes), s)
    out = _transform(_fitted(x, kind, lengths), kind, lengths)
    factor = _factor(typeof(out).dtype, forward, lengths, norm)
    if factor is not None:
        out = arithmetic.multiply(out, factor)
    return moveaxis(out, ends, axes)


def _full(name: str) -> str:
    """Return the name in messages."""
    return f"jax.numpy.fft.{name}"


def _by_parts(
    name: str, kind: Any, x: Value, s: Sequence[int] | None, axes: tuple[int, ...], norm: Norm
) -> Value:
    """Transform more than three axes: the last three, which may be real, and then the others.

    For irfft the order is the other way round: the last axes become real at the end.
    """
    rest, last = slice(None, -3), slice(-3, None)
    first_s, last_s = (None, None) if s is None else (s[rest], s[last])
    if kind is FftType.IRFFT:
        x = _nd(name, FftType.IFFT, x, first_s, axes[rest], norm)
        return _nd(name, kind, x, last_s, axes[last], norm)
    x = _nd(name, kind, x, last_s, axes[last], norm)
    other = FftType.FFT if kind is FftType.RFFT else kind
    return _nd(name, other, x, first_s, axes[rest], norm)


def _lengths(
    kind: Any, shape: Sequence[int], n_axes: int, s: Sequence[int] | None
) -> tuple[int, ...]:
    """Return the lengths of the transform."""
    if s is not None:
        return tuple(s)
    lengths = list(shape[len(shape) - n_axes :])
    if kind is FftType.IRFFT and lengths:
        lengths[-1] = max(0, 2 * (lengths[-1] - 1))
    return tuple(lengths)


def _fitted(
    x: Value,
    kind: Any,
    lengths: Sequence[int],
) -> Value:
    """Cut the last axes, or fill them with zeros, to what the transform reads."""
    wanted = list(lengths)
    if kind is FftType.IRFFT:
        wanted[-1] = wanted[-1] // 2 + 1
    lead = x.ndim - len(wanted)
    own = x.shape[lead:]
    if tuple(own) == tuple(wanted):
        return x
    cut = tuple(slice(0, min(n, m)) for n, m in zip(own, wanted, strict=True))
    x = get_item(x, (slice(None),) * lead + cut)
    missing = [(0, max(0, m - n)) for n, m in zip(own, wanted, strict=True)]
    return pad(x, [(0, 0)] * lead + missing)


def _one_axis(name: str, axis: Any) -> tuple[Any]:
    """Return the axis of a one-dimensional transform, in a tuple."""
    if isinstance(axis, (tuple, list)):
        raise ValueError(
            f"{_full(name)} does not support multiple axes. Please use {_full(name)}n. "
            f"Got axis = {axis!r}."
        )
    return (axis,)


def _1d(
    name: str,
    kind: Any,
    a: Any,
    n: Any,
    axis: Any,
    norm: Norm,
) -> Value:
    """Transform one axis."""
    axes = _one_axis(name, axis)
    return _nd(name, kind, a, None if n is None else (n,), axes, norm)


def _2d(
    name: str,
    kind: Any,
    a: Any,
    s: Any,
    axes: Sequence[int],
    norm: Norm,
) -> Value:
    """Transform two axes."""
    if len(axes) != 2:
        raise ValueError(f"{_full(name)} only supports 2 axes. Got axes = {axes!r}.")
    return _nd(name, kind, a, s, axes, norm)


def fft(
    a: Any,
    n: int | None = None,
    axis: int = -1,
    norm: Norm = None,
) -> Value:
    """Return the Fourier transform along an axis: (..., n) -> (..., n), complex.

    n: the length; the axis is cut, or filled with zeros.

    >>> import tapeless.numpy as jnp
    >>> jnp.fft.fft(jnp.array([1.0, 2.0, 3.0, 4.0])).real
    Array([10., -2., -2., -2.], dtype=float32)
    """
    return _1d("fft", FftType.FFT, a, n, axis, norm)


def ifft(
    a: Any,
    n: int | None = None,
    axis: int = -1,
    norm: Norm = None,
) -> Value:
    """Return the inverse Fourier transform along an axis: (..., n) -> (..., n), complex.

    >>> import tapeless.numpy as jnp
    >>> jnp.fft.ifft(jnp.array([4.0, 0.0, 0.0, 0.0])).real
    Array([1., 1., 1., 1.], dtype=float32)
    """
    return _1d("ifft", FftType.IFFT, a, n, axis, norm)


def rfft(
    a: Any,
    n: int | None = None,
    axis: int = -1,
    norm: Norm = None,
) -> Value:
    """Return the Fourier transform of real numbers: (..., n) -> (..., n/2 + 1), complex.

    >>> import tapeless.numpy as jnp
    >>> jnp.fft.rfft(jnp.array([1.0, 2.0, 3.0, 4.0])).real
    Array([10., -2., -2.], dtype=float32)
    """
    return _1d("rfft", FftType.RFFT, a, n, axis, norm)


def irfft(
    a: Any,
    n: int | None = None,
    axis: int = -1,
    norm: Norm = None,
) -> Value:
    """Return the inverse of `rfft`: (..., n/2 + 1) -> (..., n), real.

    n: the length of the result, by default even.

    >>> import tapeless.numpy as jnp
    >>> jnp.fft.irfft(jnp.array([4.0, 0.0, 0.0]))
    Array([1., 1., 1., 1.], dtype=float32)
    """
    return _1d("irfft", FftType.IRFFT, a, n, axis, norm)


def hfft(
    a: Any,
    n: int | None = None,
    axis: int = -1,
    norm: Norm = None,
) -> Value:
    """Return the real spectrum of half a Hermitian signal: (..., n/2 + 1) -> (..., n).

    >>> import tapeless.numpy as jnp
    >>> jnp.fft.hfft(jnp.array([1.0, 0.0, 0.0]))
    Array([1., 1., 1., 1.], dtype=float32)
    """
    check_arraylike("jax.numpy.fft.hfft", a)
    x = conj(a)
    axes = _one_axis("hfft", axis)
    length = n if n is not None else (typeof(x).shape[axes[0]] - 1) * 2
    out = _nd("hfft", FftType.IRFFT, x, None if n is None else (n,), axes, norm)
    return arithmetic.multiply(out, const(out, length))


def ihfft(
    a: Any,
    n: int | None = None,
    axis: int = -1,
    norm: Norm = None,
) -> Value:
    """Return the inverse of `hfft`: (..., n) -> (..., n/2 + 1), complex.

    >>> import tapeless.numpy as jnp
    >>> jnp.fft.ihfft(jnp.array([1.0, 1.0, 1.0, 1.0])).real
    Array([1., 0., 0.], dtype=float32)
    """
    axes = _one_axis("ihfft", axis)
    x = asarray(value_of(a))
    length = n if n is not None else x.shape[axes[0]]
    out = conj(_nd("ihfft", FftType.RFFT, x, None if n is None else (n,), axes, norm))
    return arithmetic.multiply(out, const(out, 1.0 / length))


def fft2(
    a: Any,
    s: Any = None,
    axes: Sequence[int] = (-2, -1),
    norm: Norm = None,
) -> Value:
    """Return the Fourier transform along two axes: (..., n, m) -> (..., n, m).  s: the lengths.

    >>> import tapeless.numpy as jnp
    >>> jnp.fft.fft2(jnp.ones((2, 2))).real
    Array([[4., 0.],
           [0., 0.]], dtype=float32)
    """
    return _2d("fft2", FftType.FFT, a, s, axes, norm)


def ifft2(
    a: Any,
    s: Any = None,
    axes: Sequence[int] = (-2, -1),
    norm: Norm = None,
) -> Value:
    """Return the inverse Fourier transform along two axes: (..., n, m) -> (..., n, m).

    >>> import tapeless.numpy as jnp
    >>> jnp.fft.ifft2(jnp.ones((2, 2))).real
    Array([[1., 0.],
           [0., 0.]], dtype=float32)
    """
    return _2d("ifft2", FftType.IFFT, a, s, axes, norm)


def rfft2(
    a: Any,
    s: Any = None,
    axes: Sequence[int] = (-2, -1),
    norm: Norm = None,
) -> Value:
    """Return the Fourier transform of real numbers: (..., n, m) -> (..., n, m/2 + 1).

    >>> import tapeless.numpy as jnp
    >>> jnp.fft.rfft2(jnp.ones((2, 4))).shape
    (2, 3)
    """
    return _2d("rfft2", FftType.RFFT, a, s, axes, norm)


def irfft2(
    a: Any,
    s: Any = None,
    axes: Sequence[int] = (-2, -1),
    norm: Norm = None,
) -> Value:
    """Return the inverse of `rfft2`: (..., n, m/2 + 1) -> (..., n, m).

    >>> import tapeless.numpy as jnp
    >>> jnp.fft.irfft2(jnp.ones((2, 3))).shape
    (2, 4)
    """
    return _2d("irfft2", FftType.IRFFT, a, s, axes, norm)


def fftn(
    a: Any,
    s: Any = None,
    axes: Sequence[int] | None = None,
    norm: Norm = None,
) -> Value:
    """Return the Fourier transform along axes, by default all: (n, m) -> (n, m).  s: the lengths.

    >>> import tapeless.numpy as jnp
    >>> jnp.fft.fftn(jnp.ones((2, 2))).real
    Array([[4., 0.],
           [0., 0.]], dtype=float32)
    """
    return _nd("fftn", FftType.FFT, a, s, axes, norm)


def ifftn(
    a: Any,
    s: Any = None,
    axes: Sequence[int] | None = None,
    norm: Norm = None,
) -> Value:
    """Return the inverse Fourier transform along axes, by default all: (n, m) -> (n, m).

    >>> import tapeless.numpy as jnp
    >>> jnp.fft.ifftn(jnp.ones((2, 2))).real
    Array([[1., 0.],
           [0., 0.]], dtype=float32)
    """
    return _nd("ifftn", FftType.IFFT, a, s, axes, norm)


def rfftn(
    a: Any,
    s: Any = None,
    axes: Sequence[int] | None = None,
    norm: Norm = None,
) -> Value:
    """Return the Fourier transform of real numbers along axes; the last one is halved.

    Shapes: (n, m) -> (n, m // 2 + 1).

    >>> import tapeless.numpy as jnp
    >>> jnp.fft.rfftn(jnp.ones((2, 2, 4))).shape
    (2, 2, 3)
    """
    return _nd("rfftn", FftType.RFFT, a, s, axes, norm)


def irfftn(
    a: Any,
    s: Any = None,
    axes: Sequence[int] | None = None,
    norm: Norm = None,
) -> Value:
    """Return the inverse of `rfftn`: (n, m) -> (n, 2 (m - 1)).

    >>> import tapeless.numpy as jnp
    >>> jnp.fft.irfftn(jnp.ones((2, 2, 3))).shape
    (2, 2, 4)
    """
    return _nd("irfftn", FftType.IRFFT, a, s, axes, norm)


def _spacing(
    name: str,
    n: Any,
    d: Any,
) -> None:
    """Refuse lists for the number and the spacing."""
    if isinstance(n, (list, tuple)):
        raise ValueError(f"The n argument of {_full(name)} only takes an int. Got n = {n}.")
    if isinstance(d, (list, tuple)):
        raise ValueError(f"The d argument of {_full(name)} only takes a single value. Got d = {d}.")


def fftfreq(
    n: int,
    d: Any = 1.0,
    *,
    dtype: Any = None,
    device: Any = None,
) -> Value:
    """Return the frequencies that belong to the results of `fft`: (n,).

    -> (n,)
    d: the spacing of the samples.

    >>> import tapeless.numpy as jnp
    >>> jnp.fft.fftfreq(4)
    Array([ 0.  ,  0.25, -0.5 , -0.25], dtype=float32)
    """
    _spacing("fftfreq", n, d)
    wanted = dtypes.default_float_dtype() if dtype is None else dtype
    half = n // 2
    order = arithmetic.add(arange(n, dtype=wanted), half)
    order = arithmetic.subtract(arithmetic.remainder(order, n), half)
    return arithmetic.divide(order, _times(d, n))


def _times(d: Any, n: Any) -> Any:
    """Return the length of the samples; of numbers, a number."""
    return d * n if isinstance(d, (int, float)) else arithmetic.multiply(d, n)


def rfftfreq(
    n: int,
    d: Any = 1.0,
    *,
    dtype: Any = None,
    device: Any = None,
) -> Value:
    """Return the frequencies that belong to the results of `rfft`: n -> (n // 2 + 1,).

    >>> import tapeless.numpy as jnp
    >>> jnp.fft.rfftfreq(4)
    Array([0.  , 0.25, 0.5 ], dtype=float32)
    """
    _spacing("rfftfreq", n, d)
    wanted = dtypes.default_float_dtype() if dtype is None else dtype
    return arithmetic.divide(arange(n // 2 + 1, dtype=wanted), _times(d, n))


def _shifts(
    x: Any,
    axes: Any,
    forward: bool,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return how far to roll along which axes."""
    shape = typeof(value_of(x)).shape
    rank = len(shape)
    if axes is None:
        each = tuple(range(rank))
    else:
        each = tuple(axes) if isinstance(axes, Iterable) else (axes,)
    for axis in each:
        if not -rank <= operator.index(axis) < rank:
            raise IndexError(f"axis {axis} is out of bounds for array of dimension {rank}")
    shifts = tuple(shape[axis] // 2 if forward else -(shape[axis] // 2) for axis in each)
    return shifts, each


def fftshift(x: Any, axes: int | Sequence[int] | None = None) -> Value:
    """Return the array rolled so that frequency zero is in the middle of the axes.

    Shapes: (n, m) -> (n, m).

    >>> import tapeless.numpy as jnp
    >>> jnp.fft.fftshift(jnp.arange(4))
    Array([2, 3, 0, 1], dtype=int32)
    """
    check_arraylike("fftshift", x)
    shifts, each = _shifts(x, axes, True)
    return roll(x, shifts, each)


def ifftshift(x: Any, axes: int | Sequence[int] | None = None) -> Value:
    """Return the array rolled back from `fftshift`: (n, m) -> (n, m).

    >>> import tapeless.numpy as jnp
    >>> jnp.fft.ifftshift(jnp.array([2, 3, 0, 1]))
    Array([0, 1, 2, 3], dtype=int32)
    """
    check_arraylike("ifftshift", x)
    shifts, each = _shifts(x, axes, False)
    return roll(x, shifts, each)


close_module("jax.numpy.fft", globals())
