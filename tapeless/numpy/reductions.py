"""Reductions: sums, products, extremes, truth, means and variances, over any axes.

One scheme, `_reduce`: convert, mask by `where`, reduce, combine with `initial`, keep dimensions.
An axis may be the name of one that `vmap` maps, over which sums and extremes are collective.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.api.jit import jit
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.trace import Tracer, Value, find_axis
from tapeless.numpy.choice import where as choose
from tapeless.numpy.common import (
    asarray,
    canonicalize_axes,
    canonicalize_axis,
    check_arraylike,
    const,
    convert,
    promote_args_inexact,
    value_of,
)
from tapeless.prims import argextremes, binary, bitwise, named_axes, reduce
from tapeless.prims.compare import gt, ne
from tapeless.prims.convert import convert_element_type
from tapeless.prims.parts import conj, real
from tapeless.prims.rules import highest, lowest
from tapeless.prims.structural import broadcast_in_dim, broadcast_shapes, expand_dims, reshape
from tapeless.prims.unary import sqrt, square
from tapeless.runtime.array import Array

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "average",
    "count_nonzero",
    "max",
    "mean",
    "min",
    "prod",
    "ptp",
    "std",
    "sum",
    "var",
]

Axis = int | str | Sequence[int | str] | None
# The reductions with a collective form, and the names of the functions of those without one.
_COLLECTIVES = {
    reduce.reduce_sum: named_axes.psum,
    reduce.reduce_max: named_axes.pmax,
    reduce.reduce_min: named_axes.pmin,
}
_NAMES = {reduce.reduce_prod: "prod", reduce.reduce_and: "all", reduce.reduce_or: "any"}
_SINGLE = frozenset(map(np.dtype, "fF"))  # what every mode computes in as it is
_SHORT_FLOATS = (np.dtype(np.float16), np.dtype(dtypes.bfloat16))


def refuse_out(name: str, out: Any) -> None:
    """Refuse NumPy's `out`."""
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to jnp.{name} is not supported.")


def _is_single(x: Any, dtype: Any) -> bool:
    """Tell whether an operand, and the dtype asked for, need no checks and no conversion."""
    aval = x.aval if type(x) is Array or isinstance(x, Tracer) else None
    if type(aval) is not ShapedArray or aval.weak_type or aval.dtype not in _SINGLE:
        return False
    return dtype is None or dtype is aval.dtype


def _asked_dtype(dtype: Any, name: str) -> np.dtype:
    """Return the canonical form of a dtype to compute in that the user asked for."""
    found = dtypes.check_user_dtype_supported(dtype, name)
    if isinstance(found, dtypes.ExtendedDtype):
        raise ValueError(
            f"Cannot convert_element_type from numbers to {found}: jnp.{name} needs a dtype of "
            "numbers to compute in"
        )
    return found


def _sum_dtype(x: Value, dtype: Any, name: str, promote: bool) -> np.dtype:
    """Return the dtype of a sum: as asked, or wide enough for integers."""
    if dtype is not None:
        return _asked_dtype(dtype, name)
    own = dtypes.number_dtype(typeof(x).dtype)
    if own == np.bool_:
        return dtypes.default_int_dtype()
    if not promote or own.kind in "fc":
        return own
    if dtypes.issubdtype(own, np.unsignedinteger):
        return _wider(own, dtypes.default_uint_dtype())
    if dtypes.issubdtype(own, np.integer):
        return _wider(own, dtypes.default_int_dtype())
    return own


def _wider(own: np.dtype, default: np.dtype) -> np.dtype:
    """Return the wider of an integer dtype and the default."""
    return default if dtypes.itemsize_bits(own) < dtypes.itemsize_bits(default) else own


def _kept(result: Value, shape: tuple[int, ...], axes: tuple[Any, ...]) -> Value:
    """Put axes of extent 1 back where axes were reduced."""
    kept = tuple(i for i in range(len(shape)) if i not in axes)
    full = tuple(1 if i in axes else n for i, n in enumerate(shape))
    return broadcast_in_dim(result, full, kept) if full else result


def reduced_axes(axis: Any, rank: int) -> tuple[Any, ...]:
    """Return the axes to reduce, counted from the front, and then the names of mapped ones.

    axis: None (all), or one or more axes, each a number or, of an axis of `vmap`, its name.
    """
    given = (axis,) if isinstance(axis, str) else axis
    if not isinstance(given, (tuple, list)) or not [a for a in given if isinstance(a, str)]:
        return canonicalize_axes(axis, rank)
    names = tuple([a for a in given if isinstance(a, str)])
    if len(set(names)) != len(names):
        raise ValueError(f"duplicate value in 'axis': {tuple(given)}")
    return (*canonicalize_axes([a for a in given if not isinstance(a, str)], rank), *names)


def _operation_over(axes: tuple[Any, ...], operation: Callable) -> Callable:
    """Return the reduction over these axes: a collective one if some have names."""
    if not [axis for axis in axes if isinstance(axis, str)]:
        return operation
    if operation in _COLLECTIVES:
        return _COLLECTIVES[operation]
    raise NotImplementedError(
        f"Named reductions not implemented for jnp.{_NAMES[operation]}(): axes {axes}. Sums, "
        "maxima and minima have them; `lax.all_gather` makes an axis of a mapped one."
    )


def _reduce(
    x: Value,
    axis: Axis,
    operation: Callable,
    neutral: Any,
    keepdims: bool,
    where: Any = None,
    finish: Callable | None = None,
) -> Value:
    """Reduce `x`: the scheme of all reductions.

    finish: what is done to the result before reduced axes are put back.
    """
    aval = typeof(x)
    axes = reduced_axes(axis, aval.ndim)
    if where is not None:
        x = choose(where, x, np.asarray(neutral, aval.dtype)[()])
    shape = typeof(x).shape  # that of the mask, if it has more axes
    result = _operation_over(axes, operation)(x, axes)
    if finish is not None:
        result = finish(result)
    return _kept(result, shape, axes) if keepdims else result


def _check_mask(name: str, where: Any) -> None:
    """Refuse a mask that is not of bools."""
    if where is None:
        return
    check_arraylike(name, where)
    if dtypes.dtype(where) != np.bool_:
        raise ValueError(
            f"jnp.{name}: where must be None or a boolean array; got "
            f"where.dtype={dtypes.dtype(where)!r}."
        )


def _from_initial(initial: Any, combine: Callable) -> Callable | None:
    """Return what combines the user's initial value with a result; None if there is none."""
    if initial is None:
        return None
    extents = typeof(value_of(initial)).shape
    if extents:
        raise ValueError(f"initial value must be a scalar. Got array of shape {extents}")

    def with_initial(result: Value) -> Value:
        """Combine."""
        return combine(convert(initial, typeof(result).dtype), result)

    return with_initial


# What sums and products are of bools.
_OF_BOOLS = {reduce.reduce_sum: reduce.reduce_or, reduce.reduce_prod: reduce.reduce_and}


def _add(x: Value, y: Value) -> Value:
    """Add, bools by their logic."""
    return bitwise.bitwise_or(x, y) if typeof(x).dtype == np.bool_ else binary.add(x, y)


def _multiply(x: Value, y: Value) -> Value:
    """Multiply, bools by their logic."""
    return bitwise.bitwise_and(x, y) if typeof(x).dtype == np.bool_ else binary.mul(x, y)


def _add_up(
    x: Value, axis: Axis, dtype: np.dtype, operation: Callable, neutral: int, keepdims: bool,
    where: Any, finish: Callable | None,
) -> Value:  # fmt: skip
    """Sum or multiply in `dtype`; short floats in float32, bools by their logic."""
    own = typeof(x).dtype
    short = dtype == own and dtype in _SHORT_FLOATS
    if dtype == np.bool_:
        operation = _OF_BOOLS[operation]
    if own == np.bool_:
        x = convert_element_type(x, dtypes.default_int_dtype())
    if dtype is not typeof(x).dtype or typeof(x).weak_type:
        x = convert_element_type(x, dtype)
    if short:
        x = convert_element_type(x, np.float32)
    result = _reduce(x, axis, operation, neutral, keepdims, where, finish)
    return convert_element_type(result, dtype) if short else result


def sum(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False,
    initial: Any = None, where: Any = None, promote_integers: bool = True,
) -> Value:  # fmt: skip
    """Return the sum over axes: (..., n, ...) -> (...).

    Integers are summed in at least the default integer dtype.

    >>> import numpy as np
    >>> sum(np.array([[1, 2], [3, 4]]), axis=0)
    Array([4, 6], dtype=int32)
    """
    if out is initial is where is None and _is_single(a, dtype):
        return _reduce(a, axis, reduce.reduce_sum, 0, keepdims)
    refuse_out("sum", out)
    check_arraylike("sum", a)
    _check_mask("sum", where)
    x = value_of(a)
    dtype = _sum_dtype(x, dtype, "sum", promote_integers or initial is not None)
    finish = _from_initial(initial, _add)
    return _add_up(x, axis, dtype, reduce.reduce_sum, 0, keepdims, where, finish)


def prod(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False,
    initial: Any = None, where: Any = None, promote_integers: bool = True,
) -> Value:  # fmt: skip
    """Return the product over axes; a: (n, m) -> (m,) with axis=0, () with axis=None.

    >>> import numpy as np
    >>> prod(np.array([1.0, 2.0, 3.0], "float32"))
    Array(6., dtype=float32)
    """
    if out is initial is where is None and _is_single(a, dtype):
        return _reduce(a, axis, reduce.reduce_prod, 1, keepdims)
    refuse_out("prod", out)
    check_arraylike("prod", a)
    _check_mask("prod", where)
    x = value_of(a)
    dtype = _sum_dtype(x, dtype, "prod", promote_integers or initial is not None)
    finish = _from_initial(initial, _multiply)
    return _add_up(x, axis, dtype, reduce.reduce_prod, 1, keepdims, where, finish)


def _extreme(
    name: str, a: Any, axis: Axis, out: None, keepdims: bool, initial: Any, where: Any,
    operation: Callable, neutral: Callable, combine: Callable,
) -> Value:  # fmt: skip
    """Return the maximum or minimum over axes."""
    if out is initial is where is None and _is_single(a, None) and 0 not in a.aval.shape:
        return _reduce(a, axis, operation, None, keepdims)
    refuse_out(name, out)
    check_arraylike(name, a)
    _check_mask(name, where)
    x = value_of(a)
    aval = typeof(x)
    if initial is None:
        axes = reduced_axes(axis, aval.ndim)
        if 0 in [aval.shape[i] for i in axes if not isinstance(i, str)]:
            raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
        if where is not None:
            raise ValueError(f"reduction operation {name} does not have an identity, so to use a "
                             f"where mask one has to specify 'initial'")  # fmt: skip
    x = convert_element_type(x, dtypes.number_dtype(aval.dtype))
    fill = neutral(typeof(x).dtype) if where is not None else None
    finish = _from_initial(initial, combine)
    return _reduce(x, axis, operation, fill, keepdims, where, finish)


def max(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, initial: Any = None,
    where: Any = None,
) -> Value:  # fmt: skip
    """Return the maximum over axes; NaN if there is one.

    a: (n, m) -> (m,) with axis=0, () with axis=None.

    >>> import numpy as np
    >>> max(np.array([[1, 5], [3, 4]]), axis=1)
    Array([5, 4], dtype=int32)
    """
    operands = (axis, out, keepdims, initial, where)
    return _extreme("max", a, *operands, reduce.reduce_max, lowest, binary.max)


def min(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, initial: Any = None,
    where: Any = None,
) -> Value:  # fmt: skip
    """Return the minimum over axes; NaN if there is one.

    a: (n, m) -> (m,) with axis=0, () with axis=None.

    >>> import numpy as np
    >>> min(np.array([[1, 5], [3, 4]]), axis=1)
    Array([1, 3], dtype=int32)
    """
    operands = (axis, out, keepdims, initial, where)
    return _extreme("min", a, *operands, reduce.reduce_min, highest, binary.min)


amax = max
amin = min


def all(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Value:
    """Return whether all elements over axes are true.

    a: (n, m) -> (m,) with axis=0, () with axis=None.

    >>> all(np.array([True, False]))
    Array(False, dtype=bool)
    """
    refuse_out("all", out)
    check_arraylike("all", a)
    _check_mask("all", where)
    x = convert_element_type(asarray(a), np.bool_)
    return _reduce(x, axis, reduce.reduce_and, True, keepdims, where)


def any(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Value:
    """Return whether some element over axes is true.

    a: (n, m) -> (m,) with axis=0, () with axis=None.

    >>> any(np.array([True, False]))
    Array(True, dtype=bool)
    """
    refuse_out("any", out)
    check_arraylike("any", a)
    _check_mask("any", where)
    x = convert_element_type(asarray(a), np.bool_)
    return _reduce(x, axis, reduce.reduce_or, False, keepdims, where)


def _mean_dtype(x: Value, dtype: Any, name: str) -> np.dtype:
    """Return the dtype of a mean: as asked, or floating."""
    if dtype is not None:
        return _asked_dtype(dtype, name)
    return dtypes.to_inexact_dtype(typeof(x).dtype)


def count_over(shape: tuple[int, ...], axes: tuple[Any, ...]) -> int:
    """Return how many elements are reduced to one; axes: of `reduced_axes`."""
    return math.prod([find_axis(i).size if isinstance(i, str) else shape[i] for i in axes])


def mean(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False, *,
    where: Any = None,
) -> Value:  # fmt: skip
    """Return the mean over axes, in a floating dtype.

    a: (n, m) -> (m,) with axis=0, () with axis=None.

    >>> import numpy as np
    >>> mean(np.array([1, 2, 4]))
    Array(2.3333333, dtype=float32)
    """
    refuse_out("mean", out)
    check_arraylike("mean", a)
    _check_mask("mean", where)
    x = value_of(a)
    dtype = _mean_dtype(x, dtype, "mean")
    return _mean(x, axis, dtype, keepdims, where)


def _mean(x: Value, axis: Axis, dtype: np.dtype, keepdims: bool, where: Any) -> Value:
    """Divide the sum by the count."""
    shape = typeof(x).shape
    axes = reduced_axes(axis, len(shape))
    computed = np.dtype(np.float32) if dtype in _SHORT_FLOATS else dtype
    if where is None:
        n: Any = computed.type(count_over(shape, axes))
    else:
        mask = broadcast_mask(where, shape)
        n = sum(mask, axes, computed, keepdims=keepdims)
    total = sum(x, axes, computed, keepdims=keepdims, where=where)
    return convert_element_type(binary.div(total, n), dtype)


def broadcast_mask(where: Any, shape: tuple[int, ...]) -> Value:
    """Return a mask in the shape of what it masks, as integers."""
    mask = convert_element_type(asarray(where), np.bool_)
    own = typeof(mask).shape
    if len(own) > len(shape):
        raise ValueError(
            f"Cannot broadcast to shape with fewer dimensions: arr_shape={own} shape={shape}"
        )
    if own != shape:
        if broadcast_shapes(own, shape) != shape:
            raise ValueError(f"Incompatible shapes for broadcasting: where {own}, array {shape}")
        dims = tuple(range(len(shape) - len(own), len(shape)))
        mask = broadcast_in_dim(mask, shape, dims)
    return convert_element_type(mask, dtypes.default_int_dtype())


def average(
    a: Any, axis: Axis = None, weights: Any = None, returned: bool = False, keepdims: bool = False
) -> Any:
    """Return the weighted mean over axes; with `returned`, also the sum of the weights.

    a: (n, m) -> (m,) with axis=0, () with axis=None.

    >>> import numpy as np
    >>> average(np.array([1.0, 4.0], "float32"), weights=np.array([3.0, 1.0], "float32"))
    Array(1.75, dtype=float32)
    """
    if weights is None:
        check_arraylike("average", a)
        x = value_of(a)
        result = mean(x, axis, keepdims=keepdims)
        shape = typeof(x).shape
        count = count_over(shape, reduced_axes(axis, len(shape)))
        total: Any = typeof(result).dtype.type(count)
    else:
        check_arraylike("average", a, weights)
        x, w = (asarray(v) for v in (a, weights))
        w = _spread_weights(w, typeof(x).shape, axis)
        x, w = promote_args_inexact("average", x, w)
        total = sum(w, axis, keepdims=keepdims)
        result = binary.div(sum(binary.mul(x, w), axis, keepdims=keepdims), total)
    if not returned:
        return result
    aval = typeof(result)
    if typeof(total).shape != aval.shape:
        total = broadcast_in_dim(total, aval.shape, tuple(range(typeof(total).ndim)))
    return result, total


def _spread_weights(w: Value, shape: tuple[int, ...], axis: Axis) -> Value:
    """Bring weights along one axis to the rank of the values."""
    own = typeof(w).shape
    if own == shape:
        return w
    if axis is None:
        raise ValueError("Axis must be specified when shapes of a and weights differ.")
    axes = canonicalize_axes(axis, len(shape))
    if own != tuple(shape[i] for i in axes):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    return reshape(w, tuple(n if i in axes else 1 for i, n in enumerate(shape)))


def var(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, ddof: int = 0,
    keepdims: bool = False, *, where: Any = None, mean: Any = None, correction: Any = None,
) -> Value:  # fmt: skip
    """Return the variance over axes: the mean square distance from the mean.

    a: (n, m) -> (m,) with axis=0, () with axis=None.

    ddof, correction: what is subtracted from the count that divides.

    >>> import numpy as np
    >>> var(np.array([1.0, 2.0, 4.0], "float32"))
    Array(1.5555557, dtype=float32)
    """
    refuse_out("var", out)
    check_arraylike("var", a)
    _check_mask("var", where)
    divisor = _ddof(ddof, correction, "var")
    _check_inexact("var", dtype)
    return _var(asarray(a), _hashable(axis), dtype, divisor, keepdims, where, mean)


def _check_inexact(name: str, dtype: Any) -> None:
    """Raise ValueError for a dtype in which there are no variances."""
    if dtype is not None and not dtypes.issubdtype(dtypes.dtype(dtype), np.inexact):
        raise ValueError(f"dtype argument to jnp.{name} must be inexact; got {dtype}")


def _ddof(ddof: Any, correction: Any, name: str) -> Any:
    """Return the one of two arguments that the user gave."""
    if correction is None:
        return ddof
    if ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


def _hashable(axis: Axis) -> Axis:
    """Return axes as an int, a tuple or None."""
    return tuple(axis) if isinstance(axis, (list, tuple)) else axis


@functools.partial(jit, static_argnames=("axis", "dtype", "keepdims"))
def _var(
    a: Value, axis: Axis, dtype: Any, ddof: Any, keepdims: bool, where: Any, mean: Any
) -> Value:
    """Return the variance: a sum of squares over a count."""
    kind = _mean_dtype(a, dtype, "var")
    is_complex = dtypes.issubdtype(typeof(a).dtype, np.complexfloating)
    if is_complex and not dtypes.issubdtype(kind, np.complexfloating):
        raise ValueError(
            "jax.numpy.var does not yet support real dtype parameters when computing the variance "
            f"of an array of complex values: got dtype={dtypes.dtype_name(kind)} for "
            f"{dtypes.dtype_name(typeof(a).dtype)}. Leave the dtype out; variances are real anyway."
        )
    final = kind if dtype is not None else dtypes.finfo(kind).dtype
    shape = typeof(a).shape
    axes = reduced_axes(axis, len(shape))
    x = convert_element_type(a, np.float32 if kind in _SHORT_FLOATS else kind)
    computed = typeof(x).dtype
    center = mean if mean is not None else _mean(x, axes, computed, True, where)
    centered = binary.sub(x, stretch(convert_element_type(center, computed), shape))
    real_dtype = computed
    if dtypes.issubdtype(computed, np.complexfloating):
        squares = real(binary.mul(centered, conj(centered)))
        real_dtype = typeof(squares).dtype
    else:
        squares = square(centered)
    n: Any = real_dtype.type(count_over(shape, axes))
    if where is not None:
        n = sum(broadcast_mask(where, shape), axes, real_dtype, keepdims=keepdims)
    n = binary.sub(n, convert_element_type(asarray(ddof), real_dtype))
    total = sum(squares, axes, real_dtype, keepdims=keepdims, where=where)
    quotient = binary.div(total, n)
    result = choose(gt(n, real_dtype.type(0)), quotient, np.nan)
    return convert_element_type(result, final)


def stretch(x: Value, shape: tuple[int, ...]) -> Value:
    """Return `x` with the rank of `shape`, for an elementwise operation."""
    own = asarray(x)
    missing = len(shape) - typeof(own).ndim
    return reshape(own, (1,) * missing + typeof(own).shape) if missing else own


def std(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, ddof: int = 0,
    keepdims: bool = False, *, where: Any = None, mean: Any = None, correction: Any = None,
) -> Value:  # fmt: skip
    """Return the standard deviation over axes: the root of the variance.

    a: (n, m) -> (m,) with axis=0, () with axis=None.

    >>> import numpy as np
    >>> std(np.array([1.0, 3.0], "float32"))
    Array(1., dtype=float32)
    """
    refuse_out("std", out)
    check_arraylike("std", a)
    divisor = _ddof(ddof, correction, "std")
    _check_inexact("std", dtype)
    return _std(asarray(a), _hashable(axis), dtype, divisor, keepdims, where, mean)


@functools.partial(jit, static_argnames=("axis", "dtype", "keepdims"))
def _std(
    a: Value, axis: Axis, dtype: Any, ddof: Any, keepdims: bool, where: Any, mean: Any
) -> Value:
    """Return the root of the variance."""
    return sqrt(_var(a, axis, dtype, ddof, keepdims, where, mean))


def ptp(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False) -> Value:
    """Return the range over axes, maximum minus minimum.

    a: (n, m) -> (m,) with axis=0, () with axis=None.

    >>> import numpy as np
    >>> ptp(np.array([4, 1, 9]))
    Array(8, dtype=int32)
    """
    refuse_out("ptp", out)
    check_arraylike("ptp", a)
    return _ptp(asarray(a), _hashable(axis), keepdims)


@functools.partial(jit, static_argnames=("axis", "keepdims"))
def _ptp(a: Value, axis: Axis, keepdims: bool) -> Value:
    """Subtract the extremes."""
    return binary.sub(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))


@functools.partial(jit, static_argnames=("axis", "keepdims"))
def count_nonzero(a: Any, axis: Axis = None, keepdims: bool = False) -> Value:
    """Return how many elements over axes are not zero.

    a: (n, m) -> (m,) with axis=0, () with axis=None.

    >>> import numpy as np
    >>> count_nonzero(np.array([0, 3, 0, 5]))
    Array(2, dtype=int32)
    """
    check_arraylike("count_nonzero", a)
    x = value_of(a)
    flags = ne(x, const(x, 0))
    return sum(flags, axis, dtypes.default_int_dtype(), keepdims=keepdims)


def _argument(
    name: str, a: Any, axis: int | None, out: None, keepdims: bool | None, operation: Callable
) -> Value:
    """Return the position of an extreme along an axis, or in the flattened array."""
    refuse_out(name, out)
    check_arraylike(name, a)
    x = value_of(a)
    shape = typeof(x).shape
    if axis is None:
        x, place = reshape(x, (typeof(x).size,)), 0
    else:
        place = canonicalize_axis(axis, len(shape))
    if typeof(x).shape[place] == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    result = operation(x, place, dtypes.default_int_dtype())
    if not keepdims:
        return result
    if axis is None:
        return expand_dims(result, range(len(shape)))
    return _kept(result, shape, (place,))


def argmax(
    a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Value:
    """Return the position of the first maximum (of the first NaN, if there is one).

    a: (n, m) -> (m,) with axis=0, () with axis=None.

    >>> import numpy as np
    >>> argmax(np.array([1, 7, 7]))
    Array(1, dtype=int32)
    """
    return _argument("argmax", a, axis, out, keepdims, argextremes.argmax)


def argmin(
    a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Value:
    """Return the position of the first minimum (of the first NaN, if there is one).

    a: (n, m) -> (m,) with axis=0, () with axis=None.

    >>> import numpy as np
    >>> argmin(np.array([4, 1, 1]))
    Array(1, dtype=int32)
    """
    return _argument("argmin", a, axis, out, keepdims, argextremes.argmin)
