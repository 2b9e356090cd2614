"""Covariances of variables, and convolutions of sequences."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy import arithmetic, reductions
from tapeless.numpy.choice import clip
from tapeless.numpy.common import (
    asarray,
    check_arraylike,
    convert,
    promote_dtypes_inexact,
    value_of,
)
from tapeless.numpy.diagonals import diag
from tapeless.numpy.indexing import get_item
from tapeless.numpy.joining import concatenate
from tapeless.numpy.products import dot
from tapeless.numpy.shaping import atleast_2d, flip, squeeze
from tapeless.numpy.ufuncs import abs as absolute
from tapeless.numpy.ufuncs import sqrt
from tapeless.prims import parts, structural
from tapeless.prims.conv import conv_general_dilated

__all__ = ["convolve", "corrcoef", "correlate", "cov"]


@functools.partial(jit, static_argnames=("rowvar", "bias", "ddof", "dtype"))
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    dtype: Any = None,
) -> Value:
    """Return the covariances of variables: m (v, n), y (w, n) -> (v + w, v + w).

    rowvar: variables are rows, else columns.  bias: divide by n, not n - 1; ddof: or by n - ddof.
    fweights, aweights: how often each observation counts, and how much.

    >>> import tapeless.numpy as jnp
    >>> jnp.cov(jnp.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    Array([[ 1., -1.],
           [-1.,  1.]], dtype=float32)
    """
    if y is None:
        check_arraylike("cov", m)
        (m,) = promote_dtypes_inexact(value_of(m))
    else:
        check_arraylike("cov", m, y)
        m, y = promote_dtypes_inexact(value_of(m), value_of(y))
        if typeof(y).ndim > 2:
            raise ValueError("y has more than 2 dimensions")
    if typeof(m).ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    x = _variables(m, rowvar)
    if typeof(x).shape[0] == 0:
        return asarray(np.zeros((0, 0), typeof(x).dtype))
    if y is not None:
        x = concatenate((x, _variables(y, rowvar or typeof(y).ndim == 1)), axis=0)
    if dtype is not None:
        wanted: Any = dtypes.check_user_dtype_supported(dtype, "cov")
        x = convert(x, wanted)
    if ddof is None:
        ddof = 0 if bias else 1
    weights, spread = _weights(fweights, aweights, typeof(x).shape[1])
    mean, total = reductions.average(x, axis=1, weights=weights, returned=True)
    total = get_item(total, 0)
    if weights is None:
        n = typeof(x).shape[1]
        divisor: Any = n - ddof if n else 0
    else:
        divisor = _divisor(total, weights, spread, ddof)
    x = arithmetic.subtract(x, structural.expand_dims(mean, (1,)))
    weighted = x
    if weights is not None:
        weighted = arithmetic.multiply(x, structural.expand_dims(weights, (0,)))
    other = structural.transpose(weighted, (1, 0))
    if dtypes.issubdtype(typeof(other).dtype, np.complexfloating):
        other = parts.conj(other)
    return squeeze(arithmetic.divide(dot(x, other), divisor))


def _variables(x: Value, rowvar: bool) -> Value:
    """Return an array of one row per variable."""
    rows = atleast_2d(x)
    return rows if rowvar else structural.transpose(rows, (1, 0))


def _weights(fweights: Any, aweights: Any, n: int) -> tuple[Value | None, Value | None]:
    """Return the weights of observations, and the part of them that `aweights` is."""
    weights = own = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        check_arraylike("cov", given)
        aval = typeof(value_of(given))
        if aval.ndim > 1:
            raise RuntimeError(f"cannot handle multidimensional {name}")
        if aval.shape[0] != n:
            raise RuntimeError(f"cov: incompatible numbers of samples and {name}")
        if name == "fweights" and not dtypes.issubdtype(aval.dtype, np.integer):
            raise TypeError("fweights must be integer.")
        own = absolute(given)
        weights = own if weights is None else arithmetic.multiply(weights, own)
    return weights, own if aweights is not None else None


def _divisor(total: Value, weights: Value, spread: Value | None, ddof: int) -> Value:
    """Return what the sum of products is divided by."""
    if ddof == 0:
        return total
    if spread is None:
        return arithmetic.subtract(total, ddof)
    squares = reductions.sum(arithmetic.multiply(weights, spread))
    share = arithmetic.divide(arithmetic.multiply(ddof, squares), total)
    return arithmetic.subtract(total, share)


@functools.partial(jit, static_argnames=("rowvar", "dtype"))
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Value:
    """Return Pearson's correlations of variables: x (v, n), y (w, n) -> (v + w, v + w).

    >>> import tapeless.numpy as jnp
    >>> jnp.corrcoef(jnp.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    Array([[ 1., -1.],
           [-1.,  1.]], dtype=float32)
    """
    check_arraylike("corrcoef", x)
    c = cov(x, y, rowvar, dtype=dtype)
    if typeof(c).ndim == 0:
        return arithmetic.divide(c, c)
    is_complex = dtypes.issubdtype(typeof(c).dtype, np.complexfloating)
    variance = diag(c)
    deviation = sqrt(parts.real(variance) if is_complex else variance)
    c = arithmetic.divide(c, structural.expand_dims(deviation, (1,)))
    c = arithmetic.divide(c, structural.expand_dims(deviation, (0,)))
    if is_complex:
        return parts.complex(clip(parts.real(c), -1, 1), clip(parts.imag(c), -1, 1))
    return clip(c, -1, 1)


@functools.partial(jit, static_argnames=("mode", "precision", "preferred_element_type"))
def convolve(
    a: Any, v: Any, mode: str = "full", *, precision: Any = None, preferred_element_type: Any = None
) -> Value:
    """Return the discrete convolution: (n,), (m,) -> (n + m - 1,) for "full".

    mode: "full"; "same", the middle of that, as long as the longer operand; "valid", where both
    overlap in full.

    >>> import tapeless.numpy as jnp
    >>> jnp.convolve(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 10.0]))
    Array([ 1., 12., 23., 30.], dtype=float32)
    """
    check_arraylike("convolve", a, v)
    return _conv(a, v, mode, "convolve", precision, preferred_element_type)


@functools.partial(jit, static_argnames=("mode", "precision", "preferred_element_type"))
def correlate(
    a: Any,
    v: Any,
    mode: str = "valid",
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Value:
    """Return the correlation of two sequences, the second conjugated: (n,), (m,) -> (n - m + 1,).

    mode: as in `convolve`.

    >>> import tapeless.numpy as jnp
    >>> jnp.correlate(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 10.0]))
    Array([21., 32.], dtype=float32)
    """
    check_arraylike("correlate", a, v)
    return _conv(a, v, mode, "correlate", precision, preferred_element_type)


@functools.partial(
    jit, static_argnames=("mode", "operation", "precision", "preferred_element_type")
)
def _conv(
    x: Any, y: Any, mode: str, operation: str, precision: Any, preferred_element_type: Any
) -> Value:
    """Slide the shorter operand along the longer one."""
    shapes = [typeof(value_of(each)).shape for each in (x, y)]
    if any(len(shape) != 1 for shape in shapes):
        raise ValueError(f"{operation}() only support 1-dimensional inputs.")
    if preferred_element_type is None:
        x, y = promote_dtypes_inexact(value_of(x), value_of(y))
    if 0 in (shapes[0][0], shapes[1][0]):
        raise ValueError(
            f"{operation}: inputs cannot be empty, got shapes {shapes[0]} and {shapes[1]}."
        )
    backwards = False
    if operation == "correlate" and dtypes.issubdtype(typeof(y).dtype, np.complexfloating):
        y = parts.conj(y)
    if shapes[0][0] < shapes[1][0]:
        x, y = y, x
        backwards = operation == "correlate"
    if operation == "convolve":
        y = flip(y)
    n = typeof(y).shape[0]
    paddings = {"valid": (0, 0), "same": (n // 2, n - n // 2 - 1), "full": (n - 1, n - 1)}
    if mode not in paddings:
        raise ValueError("mode must be one of ['full', 'same', 'valid']")
    result = conv_general_dilated(
        structural.expand_dims(x, (0, 1)),
        structural.expand_dims(y, (0, 1)),
        (1,),
        [paddings[mode]],
        precision=precision,
        preferred_element_type=preferred_element_type,
    )
    if backwards:
        result = structural.rev(result, (2,))
    return structural.squeeze(result, (0, 1))
