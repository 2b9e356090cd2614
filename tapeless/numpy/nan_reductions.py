"""Reductions over what is not NaN: sums, products, extremes, means and variances.

Where the dtype has no NaN they are the plain reductions.  Else NaN is replaced by what changes
nothing (0, 1, an infinity), or masked by `where`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy.choice import where as choose
from tapeless.numpy.common import asarray, check_arraylike, const, is_complex, is_inexact, value_of
from tapeless.numpy.reductions import (
    Axis,
    all,
    argmax,
    argmin,
    max,
    mean,
    min,
    prod,
    refuse_out,
    sum,
    var,
)
from tapeless.prims import binary, bitwise
from tapeless.prims.compare import ne
from tapeless.prims.convert import convert_element_type
from tapeless.prims.parts import imag, real
from tapeless.prims.structural import broadcast_shapes
from tapeless.prims.unary import bitwise_not, sqrt

__all__ = [
    "nanargmax",
    "nanargmin",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]

_jit = functools.partial(jit, static_argnames=("axis", "keepdims"))
_jit_with_dtype = functools.partial(jit, static_argnames=("axis", "dtype", "keepdims"))


def _is_nan(x: Value) -> Value:
    """Return where NaN is."""
    if is_complex(x):
        return bitwise.bitwise_or(ne(real(x), real(x)), ne(imag(x), imag(x)))
    return ne(x, x)


def _without_nan(x: Value, fill: float) -> Value:
    """Return floating numbers with NaN replaced by a number."""
    return choose(_is_nan(x), const(x, fill), x)


@_jit_with_dtype
def nansum(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False,
    initial: Any = None, where: Any = None,
) -> Value:  # fmt: skip
    """Return the sum over axes, taking NaN as 0; a: (n, m) -> (m,) with axis=0, () with axis=None.

    >>> import numpy as np
    >>> nansum(np.array([1.0, np.nan], "float32"))
    Array(1., dtype=float32)
    """
    check_arraylike("nansum", a)
    x = value_of(a)
    x = _without_nan(x, 0) if is_inexact(x) else x
    return sum(x, axis, dtype, out, keepdims, initial, where)


@_jit_with_dtype
def nanprod(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False,
    initial: Any = None, where: Any = None,
) -> Value:  # fmt: skip
    """Return the product over axes, taking NaN as 1.

    a: (n, m) -> (m,) with axis=0, () with axis=None.

    >>> import numpy as np
    >>> nanprod(np.array([3.0, np.nan], "float32"))
    Array(3., dtype=float32)
    """
    check_arraylike("nanprod", a)
    x = value_of(a)
    x = _without_nan(x, 1) if is_inexact(x) else x
    return prod(x, axis, dtype, out, keepdims, initial, where)


def _nan_extreme(
    x: Value, axis: Axis, keepdims: bool, fill: Any, extreme: Callable, **rest: Any
) -> Value:
    """Return an extreme over what is not NaN; NaN where nothing else is."""
    if not is_inexact(x):
        return extreme(x, axis, keepdims=keepdims, **rest)
    result = extreme(_without_nan(x, fill), axis, keepdims=keepdims, **rest)
    if rest.get("initial") is not None:
        return result
    return choose(all(_is_nan(x), axis, keepdims=keepdims), np.nan, result)


@_jit
def nanmax(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, initial: Any = None,
    where: Any = None,
) -> Value:  # fmt: skip
    """Return the maximum over axes of what is not NaN.

    a: (n, m) -> (m,) with axis=0, () with axis=None.

    >>> import numpy as np
    >>> nanmax(np.array([1.0, np.nan], "float32"))
    Array(1., dtype=float32)
    """
    check_arraylike("nanmax", a)
    refuse_out("nanmax", out)
    return _nan_extreme(asarray(a), axis, keepdims, -np.inf, max, initial=initial, where=where)


@_jit
def nanmin(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, initial: Any = None,
    where: Any = None,
) -> Value:  # fmt: skip
    """Return the minimum over axes of what is not NaN.

    a: (n, m) -> (m,) with axis=0, () with axis=None.

    >>> import numpy as np
    >>> nanmin(np.array([1.0, np.nan], "float32"))
    Array(1., dtype=float32)
    """
    check_arraylike("nanmin", a)
    refuse_out("nanmin", out)
    return _nan_extreme(asarray(a), axis, keepdims, np.inf, min, initial=initial, where=where)


@_jit_with_dtype
def nanmean(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False,
    where: Any = None,
) -> Value:  # fmt: skip
    """Return the mean over axes of what is not NaN.

    a: (n, m) -> (m,) with axis=0, () with axis=None.

    >>> import numpy as np
    >>> nanmean(np.array([1.0, np.nan, 3.0], "float32"))
    Array(2., dtype=float32)
    """
    check_arraylike("nanmean", a)
    refuse_out("nanmean", out)
    x = value_of(a)
    if not is_inexact(x):
        return mean(x, axis, dtype, out, keepdims, where=where)
    dtype = typeof(x).dtype if dtype is None else np.dtype(dtype)
    known = convert_element_type(bitwise_not(_is_nan(x)), dtypes.default_int_dtype())
    n = sum(known, axis, dtype, keepdims=keepdims, where=where)
    return binary.div(nansum(x, axis, dtype, keepdims=keepdims, where=where), n)


@_jit_with_dtype
def nanvar(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, ddof: int = 0,
    keepdims: bool = False, where: Any = None, mean: Any = None,
) -> Value:  # fmt: skip
    """Return the variance over axes of what is not NaN.

    a: (n, m) -> (m,) with axis=0, () with axis=None.

    >>> import numpy as np
    >>> nanvar(np.array([1.0, np.nan, 3.0], "float32"))
    Array(1., dtype=float32)
    """
    check_arraylike("nanvar", a)
    x = value_of(a)
    if not is_inexact(x):
        return var(x, axis, dtype, out, ddof, keepdims, where=where, mean=mean)
    known = bitwise_not(_is_nan(x))
    if where is None:
        mask = known
    else:
        broadcast_shapes(typeof(known).shape, typeof(asarray(where)).shape)
        mask = bitwise.bitwise_and(known, asarray(where))
    return var(x, axis, dtype, out, ddof, keepdims, where=mask, mean=mean)


@_jit_with_dtype
def nanstd(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, ddof: int = 0,
    keepdims: bool = False, where: Any = None, mean: Any = None,
) -> Value:  # fmt: skip
    """Return the standard deviation over axes of what is not NaN.

    a: (n, m) -> (m,) with axis=0, () with axis=None.

    >>> import numpy as np
    >>> nanstd(np.array([1.0, np.nan, 3.0], "float32"))
    Array(1., dtype=float32)
    """
    return sqrt(nanvar(a, axis, dtype, out, ddof, keepdims, where, mean))


def _nan_argument(
    a: Any, axis: int | None, keepdims: bool | None, fill: Any, find: Callable
) -> Value:
    """Return the position of an extreme of what is not NaN; -1 where nothing else is."""
    x = value_of(a)
    if not is_inexact(x):
        return find(x, axis, keepdims=keepdims)
    nan = _is_nan(x)
    place = find(choose(nan, fill, x), axis, keepdims=keepdims)
    return choose(all(nan, axis, keepdims=bool(keepdims)), -1, place)


@_jit
def nanargmax(
    a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Value:
    """Return the position of the maximum of what is not NaN.

    a: (n, m) -> (m,) with axis=0, () with axis=None.

    >>> import numpy as np
    >>> nanargmax(np.array([1.0, np.nan, 3.0], "float32"))
    Array(2, dtype=int32)
    """
    check_arraylike("nanargmax", a)
    refuse_out("nanargmax", out)
    return _nan_argument(a, axis, keepdims, -np.inf, argmax)


@_jit
def nanargmin(
    a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Value:
    """Return the position of the minimum of what is not NaN.

    a: (n, m) -> (m,) with axis=0, () with axis=None.

    >>> import numpy as np
    >>> nanargmin(np.array([1.0, np.nan, 3.0], "float32"))
    Array(0, dtype=int32)
    """
    check_arraylike("nanargmin", a)
    refuse_out("nanargmin", out)
    return _nan_argument(a, axis, keepdims, np.inf, argmin)
