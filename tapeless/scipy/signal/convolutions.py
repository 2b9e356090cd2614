"""Convolutions and correlations in any number of dimensions.

    convolution   c_k = sum_j a_j b_(k - j)         for s and t elements an axis: s + t - 1 of them
    correlation   the convolution with b backwards and conjugated

mode says what part is returned: "full" is all; "same" the middle, as large as the first operand;
"valid" what needs no elements beyond the edges.

The direct method slides one operand over the other; the other method multiplies the Fourier
transforms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapeless import lax
from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import (
    asarray,
    canonicalize_axes,
    check_arraylike,
    promote_dtypes_inexact,
)
from tapeless.util import lazy

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "fftconvolve"]

scipy_fft = lazy.load("scipy.fft")
_MODES = ("full", "same", "valid")
Shape = tuple[int, ...]


def _covers(shape: Shape, other: Shape) -> bool:
    """Tell whether the first shape is as large as the second in every dimension."""
    return all(n >= m for n, m in zip(shape, other, strict=True))


def _slid(name: str, x: Value, y: Value, mode: str, precision: Any, same_start: int = 1) -> Value:
    """Return the convolution by sliding y over x.

    same_start: for "same", an axis starts at (t - same_start) // 2 of the full convolution, t
    being the extent of y.
    """
    if mode not in _MODES:
        raise ValueError("mode must be one of ['full', 'same', 'valid']")
    if 0 in (*x.shape, *y.shape):
        raise ValueError(
            f"zero-size arrays not supported in convolutions, got shapes {x.shape} and {y.shape}."
        )
    if not _covers(x.shape, y.shape):
        if not _covers(y.shape, x.shape):
            raise ValueError("One input must be smaller than the other in every dimension.")
        if mode == "valid":
            x, y = y, x
    paddings = []
    for t in y.shape:
        start = (t - same_start) // 2
        low = {"full": t - 1, "same": t - 1 - start, "valid": 0}[mode]
        high = {"full": t - 1, "same": start, "valid": 0}[mode]
        paddings.append((low, high))
    x, y = promote_dtypes_inexact(x, y)
    result = lax.conv_general_dilated(
        x[None, None], jnp.flip(y)[None, None], (1,) * x.ndim, paddings, precision=precision
    )
    return result[0, 0]


def _operands(name: str, in1: Any, in2: Any) -> tuple[Value, Value]:
    """Return two operands as arrays of one rank."""
    check_arraylike(name, in1, in2)
    x, y = asarray(in1), asarray(in2)
    if x.ndim != y.ndim:
        raise ValueError(
            "in1 and in2 must have the same number of dimensions, got shapes "
            f"{x.shape} and {y.shape}"
        )
    return x, y


def _backwards(y: Value) -> Value:
    """Return what a correlation convolves with."""
    return jnp.conj(jnp.flip(y))


def _convolved(name: str, x: Value, y: Value, mode: str, method: str, precision: Any) -> Value:
    """Convolve by a method."""
    if method == "fft":
        return fftconvolve(x, y, mode)
    if method not in ("auto", "direct"):
        raise ValueError(f"Got {method=}; expected 'auto', 'fft', or 'direct'.")
    return _slid(name, x, y, mode, precision)


def convolve(
    in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None
) -> Value:
    """Return the convolution of two arrays: (s, ...), (t, ...) -> (s + t - 1, ...) for "full".

    mode: "full", "same" (as large as in1) or "valid".  method: "direct" or "fft"; "auto" is direct.

    >>> convolve(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 10.0]))
    Array([ 1., 12., 23., 30.], dtype=float32)
    """
    x, y = _operands("convolve", in1, in2)
    return _convolved("convolve", x, y, mode, method, precision)


def correlate(
    in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None
) -> Value:
    """Return the correlation of two arrays, the second conjugated; sizes as in `convolve`.

    in1: (m,), in2: (k,) -> (m + k - 1,) for "full".

    >>> correlate(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 10.0]))
    Array([10., 21., 32.,  3.], dtype=float32)
    """
    x, y = _operands("correlate", in1, in2)
    return _convolved("correlate", x, _backwards(y), mode, method, precision)


def _check_2d(name: str, x: Value, y: Value, boundary: str, fillvalue: Any) -> None:
    """Refuse what two-dimensional convolutions do not do."""
    if boundary != "fill" or fillvalue != 0:
        raise NotImplementedError(f"{name}() only supports boundary='fill', fillvalue=0")
    if x.ndim != 2 or y.ndim != 2:
        raise ValueError(f"{name}() only supports 2-dimensional inputs.")


def convolve2d(
    in1: Any,
    in2: Any,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: Any = 0,
    precision: Any = None,
) -> Value:
    """Return the convolution of two matrices; sizes as in `convolve`.

    in1: (m, n), in2: (k, l) -> (m + k - 1, n + l - 1) for "full".
    boundary, fillvalue: "fill" and 0; unlike in SciPy there is nothing else beyond the edges.

    >>> convolve2d(jnp.ones((2, 2)), jnp.ones((2, 2)))
    Array([[1., 2., 1.],
           [2., 4., 2.],
           [1., 2., 1.]], dtype=float32)
    """
    x, y = _operands("convolve2d", in1, in2)
    _check_2d("convolve2d", x, y, boundary, fillvalue)
    return _slid("convolve2d", x, y, mode, precision)


def correlate2d(
    in1: Any,
    in2: Any,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: Any = 0,
    precision: Any = None,
) -> Value:
    """Return the correlation of two matrices, the second conjugated; sizes as in `convolve`.

    in1: (m, n), in2: (k, l) -> (m + k - 1, n + l - 1) for "full".
    "same" starts at t // 2 of the full correlation, as SciPy's `correlate2d` does (and `correlate`
    at (t - 1) // 2).  boundary, fillvalue: "fill" and 0.

    >>> correlate2d(jnp.eye(2), jnp.array([[1.0, 2.0], [3.0, 4.0]]), mode="valid")
    Array([[5.]], dtype=float32)
    """
    x, y = _operands("correlate2d", in1, in2)
    _check_2d("correlate2d", x, y, boundary, fillvalue)
    return _slid("correlate2d", x, _backwards(y), mode, precision, same_start=0)


def _part(full: Value, x: Shape, y: Shape, mode: str, axes: Sequence[int]) -> Value:
    """Return the part of a full convolution that a mode asks for."""
    if mode == "full":
        return full
    bounds = [slice(None)] * full.ndim
    for axis in axes:
        n = x[axis] if mode == "same" else abs(x[axis] - y[axis]) + 1
        start = (full.shape[axis] - n) // 2
        bounds[axis] = slice(start, start + n)
    return full[tuple(bounds)]


def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Sequence[int] | None = None) -> Value:
    """Return the convolution of two arrays by Fourier transforms; sizes as in `convolve`.

    in1: (m,), in2: (k,) -> (m + k - 1,) for "full".
    axes: to convolve along, by default all; along the others, elements are multiplied in pairs.
    Unlike in SciPy, those extents must be equal.

    >>> fftconvolve(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 10.0])).round(3)
    Array([ 1., 12., 23., 30.], dtype=float32)
    """
    check_arraylike("fftconvolve", in1, in2)
    x, y = promote_dtypes_inexact(asarray(in1), asarray(in2))
    if x.ndim != y.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")
    if mode not in _MODES:
        raise ValueError("mode must be one of ['same', 'full', 'valid']")
    if mode == "valid" and not (_covers(x.shape, y.shape) or _covers(y.shape, x.shape)):
        raise ValueError(
            "For 'valid' mode, One input must be at least as large as the other in every dimension."
        )
    chosen = canonicalize_axes(axes, x.ndim)
    if any(x.shape[i] != y.shape[i] for i in range(x.ndim) if i not in chosen):
        raise ValueError(
            f"mapped axes must have same shape; got in1.shape={x.shape} in2.shape={y.shape} {axes=}"
        )
    if not chosen:
        return x * y
    lengths = [x.shape[axis] + y.shape[axis] - 1 for axis in chosen]
    full = _transformed_product(x, y, lengths, chosen)
    return _part(full, x.shape, y.shape, mode, chosen)


def _transformed_product(x: Value, y: Value, lengths: Sequence[int], axes: Sequence[int]) -> Value:
    """Return the full convolution: the product of the transforms, transformed back."""
    shape = list(x.shape)
    for axis, n in zip(axes, lengths, strict=True):
        shape[axis] = max(n, 0)
    if 0 in (*x.shape, *y.shape):
        return jnp.zeros(shape, x.dtype)
    is_complex = jnp.iscomplexobj(x)
    sizes = [scipy_fft.next_fast_len(n, not is_complex) for n in lengths]
    if is_complex:
        product = jnp.fft.fftn(x, sizes, axes) * jnp.fft.fftn(y, sizes, axes)
        full = jnp.fft.ifftn(product, sizes, axes)
    else:
        product = jnp.fft.rfftn(x, sizes, axes) * jnp.fft.rfftn(y, sizes, axes)
        full = jnp.fft.irfftn(product, sizes, axes)
    return full[tuple(slice(n) for n in shape)]
