"""Running sums and products, differences, and what is made of them: integrals, interpolation."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy import arithmetic
from tapeless.numpy.choice import clip, where
from tapeless.numpy.common import (
    asarray,
    canonicalize_axis,
    check_arraylike,
    const,
    convert,
    number_like,
    promote_args_inexact,
    promote_dtypes,
    promote_dtypes_inexact,
    value_of,
)
from tapeless.numpy.creation import full
from tapeless.numpy.indexing import get_item
from tapeless.numpy.reductions import sum as add_up
from tapeless.numpy.shaping import moveaxis, ravel
from tapeless.numpy.sorting import searchsorted
from tapeless.numpy.ufuncs import abs as absolute
from tapeless.prims import binary, cumulative
from tapeless.prims.compare import ne
from tapeless.prims.join import concatenate
from tapeless.prims.slice import slice_in_dim
from tapeless.prims.sort import sort

__all__ = [
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "ediff1d",
    "gradient",
    "interp",
    "nancumprod",
    "nancumsum",
    "trapezoid",
    "unwrap",
]


def _running(
    name: str,
    a: Any,
    axis: int | None,
    dtype: Any,
    out: None,
    operation: Callable,
    fill: int | None = None,
    promote: bool = False,
) -> Value:
    """Return running sums or products.

    fill: replaces NaNs.  promote: integers are added up in at least the default integer dtype.
    """
    check_arraylike(name, a)
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to jnp.{name} is not supported")
    x = value_of(a)
    if axis is None or typeof(x).ndim == 0:
        x, axis = ravel(x), 0 if axis is None else axis
    axis = canonicalize_axis(axis, typeof(x).ndim)
    if fill is not None:
        x = where(ne(x, x), const(x, fill), x)
    own = dtypes.number_dtype(typeof(x).dtype)
    wanted: Any = dtype
    if dtype is not None:
        wanted = _checked_dtype(dtype, name)
    elif own == np.bool_:
        wanted = dtypes.default_int_dtype()
    else:
        wanted = _at_least_default(own) if promote else own
    if wanted != np.bool_:
        return operation(convert(x, wanted), axis)
    counts = convert(convert(x, np.dtype(np.bool_)), dtypes.default_int_dtype())
    return convert(operation(counts, axis), np.dtype(np.bool_))


def _checked_dtype(dtype: Any, name: str) -> Any:
    """Return the dtype that the user asks for."""
    return dtypes.check_user_dtype_supported(dtype, name)


def _at_least_default(dtype: np.dtype) -> np.dtype:
    """Return an integer dtype widened to the default; any other as it is."""
    if dtypes.issubdtype(dtype, np.unsignedinteger):
        default = dtypes.default_uint_dtype()
    elif dtypes.issubdtype(dtype, np.integer):
        default = dtypes.default_int_dtype()
    else:
        return dtype
    return default if dtypes.itemsize_bits(dtype) < dtypes.itemsize_bits(default) else dtype


_static_axis = functools.partial(jit, static_argnames=("axis", "dtype"))


@_static_axis
def cumsum(
    a: Any,
    axis: int | None = None,
    dtype: Any = None,
    out: None = None,
) -> Value:
    """Return the sums of all elements up to each: (n,) -> (n,); flattened if `axis` is None.

    Unlike NumPy's, integers keep their dtype.

    >>> import tapeless.numpy as jnp
    >>> jnp.cumsum(jnp.array([1, 2, 3]))
    Array([1, 3, 6], dtype=int32)
    """
    return _running(
        "cumsum",
        a,
        axis,
        dtype,
        out,
        cumulative.cumsum,
    )


@_static_axis
def cumprod(
    a: Any,
    axis: int | None = None,
    dtype: Any = None,
    out: None = None,
) -> Value:
    """Return the products of all elements up to each: (n,) -> (n,); flattened if `axis` is None.

    Unlike NumPy's, integers keep their dtype.

    >>> import tapeless.numpy as jnp
    >>> jnp.cumprod(jnp.array([1, 2, 3]))
    Array([1, 2, 6], dtype=int32)
    """
    return _running(
        "cumprod",
        a,
        axis,
        dtype,
        out,
        cumulative.cumprod,
    )


@_static_axis
def nancumsum(
    a: Any,
    axis: int | None = None,
    dtype: Any = None,
    out: None = None,
) -> Value:
    """Return the sums of all elements up to each, NaNs counting as 0: (n,) -> (n,).

    >>> import tapeless.numpy as jnp
    >>> jnp.nancumsum(jnp.array([1.0, jnp.nan, 3.0]))
    Array([1., 1., 4.], dtype=float32)
    """
    return _running(
        "nancumsum",
        a,
        axis,
        dtype,
        out,
        cumulative.cumsum,
        0,
    )


@_static_axis
def nancumprod(
    a: Any,
    axis: int | None = None,
    dtype: Any = None,
    out: None = None,
) -> Value:
    """Return the products of all elements up to each, NaNs counting as 1: (n,) -> (n,).

    >>> import tapeless.numpy as jnp
    >>> jnp.nancumprod(jnp.array([2.0, jnp.nan, 3.0]))
    Array([2., 2., 6.], dtype=float32)
    """
    return _running(
        "nancumprod",
        a,
        axis,
        dtype,
        out,
        cumulative.cumprod,
        1,
    )


@_static_axis
def _cumsum_with_promotion(
    a: Any, axis: int | None = None, dtype: Any = None, out: None = None
) -> Value:
    """Return running sums, of integers in at least the default integer dtype."""
    return _running(
        "cumulative_sum",
        a,
        axis,
        dtype,
        out,
        cumulative.cumsum,
        promote=True,
    )


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Value:
    """Return the sums of all elements up to each: (n,) -> (n,).

    axis: may be left out for one axis only.  include_initial: start with 0: (n,) -> (n + 1,).

    >>> import tapeless.numpy as jnp
    >>> jnp.cumulative_sum(jnp.array([1, 2, 3]), include_initial=True)
    Array([0, 1, 3, 6], dtype=int32)
    """
    axis = _axis_of_cumulative(
        "cumulative_sum",
        "sum",
        x,
        axis,
    )
    out = _cumsum_with_promotion(x, axis=axis, dtype=dtype)
    return _with_initial(out, axis, 0) if include_initial else out


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Value:
    """Return the products of all elements up to each: (n,) -> (n,).

    axis: may be left out for one axis only.  include_initial: start with 1: (n,) -> (n + 1,).

    >>> import tapeless.numpy as jnp
    >>> jnp.cumulative_prod(jnp.array([1, 2, 3]), include_initial=True)
    Array([1, 1, 2, 6], dtype=int32)
    """
    axis = _axis_of_cumulative(
        "cumulative_prod",
        "product",
        x,
        axis,
    )
    operation = cumulative.cumprod
    out = _running(
        "cumulative_prod",
        x,
        axis,
        dtype,
        None,
        operation,
        promote=True,
    )
    return _with_initial(out, axis, 1) if include_initial else out


def _axis_of_cumulative(
    name: str,
    what: str,
    x: Any,
    axis: int | None,
) -> int:
    """Return the axis, which may be missing for arrays of one axis only."""
    check_arraylike(name, x)
    rank = typeof(value_of(x)).ndim
    if rank == 0:
        raise ValueError(
            f"The input must be non-scalar to take a cumulative {what}, however a scalar value or "
            "scalar array was given."
        )
    if axis is None and rank > 1:
        raise ValueError(
            f"The input array has rank {rank}, however axis was not set to an explicit value. The "
            "axis argument is only optional for one-dimensional arrays."
        )
    return canonicalize_axis(0 if axis is None else axis, rank)


def _with_initial(out: Value, axis: int, start: int) -> Value:
    """Put what an empty sum or product is in front."""
    shape = list(typeof(out).shape)
    shape[axis] = 1
    return concatenate([full(tuple(shape), start, typeof(out).dtype), out], axis)


@functools.partial(jit, static_argnames=("n", "axis"))
def diff(
    a: Any,
    n: int = 1,
    axis: int = -1,
    prepend: Any = None,
    append: Any = None,
) -> Value:
    """Return differences of neighbours, taken `n` times: (m,) -> (m - n,).

    prepend, append: what to put at the ends of `a` first.

    >>> import tapeless.numpy as jnp
    >>> jnp.diff(jnp.array([1, 4, 9]))
    Array([3, 5], dtype=int32)
    """
    check_arraylike("diff", a)
    n = operator.index(n)
    x = value_of(a)
    if n == 0:
        return asarray(x)
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if typeof(x).ndim == 0:
        raise ValueError(f"diff requires input that is at least one dimensional; got {a}")
    axis = canonicalize_axis(axis, typeof(x).ndim)
    ends = [_end_of_diff(each, typeof(x).shape, axis) for each in (prepend, append)]
    parts = [each for each in (ends[0], x, ends[1]) if each is not None]
    if len(parts) > 1:
        x = concatenate(promote_dtypes(*parts), axis)
    rank = typeof(x).ndim
    after, before = ([slice(None)] * rank for _ in range(2))
    after[axis], before[axis] = slice(1, None), slice(None, -1)
    subtract = ne if typeof(x).dtype == np.bool_ else binary.sub
    for _ in range(n):
        x = subtract(get_item(x, tuple(after)), get_item(x, tuple(before)))
    return x


def _end_of_diff(value: Any, shape: Sequence[int], axis: int) -> Value | None:
    """Return what `diff` puts at an end: a scalar becomes a slice of extent 1."""
    if value is None:
        return None
    check_arraylike("diff", value)
    value = value_of(value)
    if typeof(value).ndim:
        return value
    return full((*shape[:axis], 1, *shape[axis + 1 :]), value)


@jit
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Value:
    """Return differences of neighbours of the flattened array: (m,) -> (m - 1,).

    to_begin, to_end: what to put at the ends of the result.

    >>> import tapeless.numpy as jnp
    >>> jnp.ediff1d(jnp.array([1, 4, 9]), to_begin=0)
    Array([0, 3, 5], dtype=int32)
    """
    check_arraylike("ediff1d", ary)
    x = ravel(ary)
    dtype = typeof(x).dtype
    result = binary.sub(get_item(x, slice(1, None)), get_item(x, slice(None, -1)))
    if to_begin is not None:
        check_arraylike("ediff1d", to_begin)
        result = concatenate([ravel(convert(value_of(to_begin), dtype)), result], 0)
    if to_end is not None:
        check_arraylike("ediff1d", to_end)
        result = concatenate([result, ravel(convert(value_of(to_end), dtype))], 0)
    return result


@functools.partial(jit, static_argnames=("axis", "edge_order"))
def gradient(
    f: Any, *varargs: Any, axis: int | Sequence[int] | None = None, edge_order: int | None = None
) -> Any:
    """Return the slopes of sampled values along each axis: (n, m) -> [(n, m), (n, m)].

    varargs: spacings: one number for all axes, or for each axis a number or coordinates (n,).

    Slopes are of second order inside, of first order at the ends.

    >>> import tapeless.numpy as jnp
    >>> jnp.gradient(jnp.array([1.0, 4.0, 9.0]))
    Array([3., 4., 5.], dtype=float32)
    """
    if edge_order is not None:
        raise NotImplementedError("The 'edge_order' argument to jnp.gradient is not supported.")
    check_arraylike("gradient", f, *varargs)
    x, *spacings = promote_dtypes_inexact(value_of(f), *map(value_of, varargs))
    shape = typeof(x).shape
    if axis is None:
        axes = tuple(range(len(shape)))
    else:
        given = axis if isinstance(axis, (tuple, list)) else (axis,)
        axes = tuple(canonicalize_axis(each, len(shape)) for each in given)
    if any(shape[each] < 2 for each in axes):
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least 2 elements are "
            "required."
        )
    if not spacings:
        spacings = [number_like(x, 1)] * len(axes)
    elif len(spacings) == 1:
        spacings *= len(axes)
    elif len(spacings) != len(axes):
        raise TypeError(f"Invalid number of spacing arguments {len(spacings)} for axis={axis}")
    slopes = [_slopes(x, h, each) for h, each in zip(spacings, axes, strict=True)]
    return slopes[0] if len(axes) == 1 else slopes


def _slopes(x: Value, h: Value, axis: int) -> Value:
    """Return the slopes along one axis."""
    n = typeof(x).shape[axis]
    part = functools.partial(slice_in_dim, x, axis=axis)
    first = binary.sub(part(1, 2), part(0, 1))
    last = binary.sub(part(n - 1, n), part(n - 2, n - 1))
    if typeof(h).ndim == 0:
        inner = binary.sub(part(2, n), part(0, n - 2))
        inner = binary.mul(inner, number_like(x, 0.5))
        inner, last, first = (binary.div(each, h) for each in (inner, last, first))
        return concatenate([first, inner, last], axis)
    if typeof(h).ndim != 1:
        raise ValueError("Spacing arrays must be 1D or scalar.")
    if typeof(h).shape[0] != n:
        raise ValueError("Spacing arrays must have the same length as the dimension of the array.")
    extents = [1] * typeof(x).ndim
    extents[axis] = n
    h = h if len(extents) == 1 else h.reshape(extents)
    place = functools.partial(slice_in_dim, h, axis=axis)
    first = binary.div(*_alike(first, binary.sub(place(1, 2), place(0, 1))))
    last = binary.div(*_alike(last, binary.sub(place(n - 1, n), place(n - 2, n - 1))))
    before = binary.sub(place(1, n - 1), place(0, n - 2))
    after = binary.sub(place(2, n), place(1, n - 1))
    weight_before = binary.div(-after, binary.mul(before, binary.add(before, after)))
    weight = binary.div(binary.sub(after, before), binary.mul(before, after))
    weight_after = binary.div(before, binary.mul(after, binary.add(before, after)))
    inner = arithmetic.multiply(weight_before, part(0, n - 2))
    inner = binary.add(inner, arithmetic.multiply(weight, part(1, n - 1)))
    inner = binary.add(inner, arithmetic.multiply(weight_after, part(2, n)))
    return concatenate([first, inner, last], axis)


def _alike(x: Value, y: Value) -> tuple[Value, Value]:
    """Return two promoted operands."""
    x, y = promote_args_inexact("gradient", x, y)
    return x, y


@functools.partial(jit, static_argnames=("axis",))
def trapezoid(
    y: Any,
    x: Any = None,
    dx: Any = 1.0,
    axis: int = -1,
) -> Value:
    """Return the integral by the trapezoidal rule: (n,) -> ().

    x: the places of the samples `y`; without it they are `dx` apart.

    >>> import tapeless.numpy as jnp
    >>> jnp.trapezoid(jnp.array([1.0, 2.0, 3.0]))
    Array(4., dtype=float32)
    """
    if x is None:
        check_arraylike("trapezoid", y)
        (y,) = promote_dtypes_inexact(value_of(y))
        widths = value_of(dx)
    else:
        check_arraylike("trapezoid", y, x)
        y, x = promote_dtypes_inexact(value_of(y), value_of(x))
        widths = diff(x) if typeof(x).ndim == 1 else moveaxis(diff(x, axis=axis), axis, -1)
    y = moveaxis(convert(y, dtypes.canonicalize_dtype(typeof(y).dtype)), axis, -1)
    if typeof(widths).ndim == 0:
        total = add_up(y, axis=-1)
        ends = binary.add(get_item(y, (..., 0)), get_item(y, (..., -1)))
        return arithmetic.multiply(widths, binary.sub(total, binary.mul(const(y, 0.5), ends)))
    pairs = binary.add(get_item(y, (..., slice(1, None))), get_item(y, (..., slice(None, -1))))
    return binary.mul(const(y, 0.5), add_up(arithmetic.multiply(widths, pairs), axis=-1))


@functools.partial(jit, static_argnames=("axis",))
def unwrap(
    p: Any,
    discont: Any = None,
    axis: int = -1,
    period: Any = 2 * np.pi,
) -> Value:
    """Return `p` with multiples of `period` added so that neighbours are near: (n,) -> (n,).

    discont: jumps up to this are kept, by default up to half a period.

    >>> import tapeless.numpy as jnp
    >>> jnp.unwrap(jnp.array([0, 2, 1, 0]), period=3)
    Array([ 0,  1,  0, -1], dtype=int32)
    """
    check_arraylike("unwrap", p)
    p = asarray(p)
    if dtypes.issubdtype(p.dtype, np.complexfloating):
        raise ValueError("jnp.unwrap does not support complex inputs.")
    if p.ndim == 0:
        raise IndexError(f"unwrap: p must have an axis, got {p.aval.str_short(True)}.")
    axis = canonicalize_axis(axis, p.ndim)
    if p.shape[axis] == 0:
        wanted: Any = dtypes.result_type(p, period)
        return convert(p, wanted)
    p, period = promote_dtypes(p, value_of(period))
    if discont is None:
        discont = arithmetic.true_divide(period, 2)
    if dtypes.issubdtype(typeof(period).dtype, np.integer):
        interval = arithmetic.floor_divide(period, 2)
    else:
        interval = arithmetic.true_divide(period, 2)
    jumps = diff(p, axis=axis)
    rest = arithmetic.remainder(arithmetic.add(jumps, interval), period)
    rest = arithmetic.subtract(rest, interval)
    low = arithmetic.equal(rest, arithmetic.negative(interval))
    rest = where(arithmetic.bitwise_and(low, arithmetic.greater(jumps, 0)), interval, rest)
    small = arithmetic.less(absolute(jumps), discont)
    correction = where(small, 0, arithmetic.subtract(rest, jumps))
    first = slice_in_dim(
        p,
        0,
        1,
        axis=axis,
    )
    others = slice_in_dim(
        p,
        1,
        None,
        axis=axis,
    )
    moved = arithmetic.add(others, cumsum(correction, axis=axis))
    return concatenate([first, moved], axis)


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Value:
    """Return the values at `x` of the line through the points (xp, fp): (k,), (n,), (n,) -> (k,).

    xp: increasing.  left, right: values below and above, by default those of the end points;
    "extrapolate" goes on in a straight line.  period: of `xp`, which then need not be increasing.

    >>> import tapeless.numpy as jnp
    >>> jnp.interp(1.5, jnp.array([0, 1, 2]), jnp.array([0, 10, 30]))
    Array(20., dtype=float32)
    """
    modes = {}
    for name, value in (("left", left), ("right", right)):
        if isinstance(value, str):
            if value != "extrapolate":
                raise ValueError(
                    f"the only valid string value of `{name}` is 'extrapolate', but got: {value!r}"
                )
            modes[name] = value
    numbers = {"left": left, "right": right, "period": period}
    numbers = {name: value for name, value in numbers.items() if name not in modes}
    numbers = {name: value for name, value in numbers.items() if value is not None}
    return _interp(
        x,
        xp,
        fp,
        extrapolate=tuple(sorted(modes)),
        **numbers,
    )


def _interp_impl(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None,
    *, extrapolate: tuple[str, ...] = (),
) -> Value:  # fmt: skip
    """Interpolate between neighbouring points."""
    check_arraylike(
        "interp",
        x,
        xp,
        fp,
    )
    shapes = typeof(value_of(xp)).shape, typeof(value_of(fp)).shape
    if shapes[0] != shapes[1] or len(shapes[0]) != 1:
        raise ValueError("xp and fp must be one-dimensional arrays of equal size")
    x, xp = promote_dtypes_inexact(value_of(x), value_of(xp))
    (fp,) = promote_dtypes_inexact(value_of(fp))
    if any(dtypes.issubdtype(typeof(each).dtype, np.complexfloating) for each in (x, xp)):
        raise ValueError("jnp.interp: complex x values not supported.")
    if period is not None:
        x, xp, fp = _periodic(
            x,
            xp,
            fp,
            period,
        )
    i = clip(searchsorted(xp, x, side="right"), 1, typeof(xp).shape[0] - 1)

    def before(line: Value) -> Value:
        """Return the elements on the left."""
        return get_item(line, arithmetic.subtract(i, 1))

    df = arithmetic.subtract(get_item(fp, i), before(fp))
    dx = arithmetic.subtract(get_item(xp, i), before(xp))
    delta = arithmetic.subtract(x, before(xp))
    tiny = np.spacing(np.finfo(typeof(xp).dtype).eps)
    same = arithmetic.less_equal(absolute(dx), tiny)
    start, base = before(fp), before(fp)
    slope = arithmetic.true_divide(delta, where(same, 1, dx))
    f = where(same, start, arithmetic.add(base, arithmetic.multiply(slope, df)))
    if "left" not in extrapolate:
        end = get_item(fp, 0) if left is None else left
        if period is None:
            f = where(arithmetic.less(x, get_item(xp, 0)), end, f)
    if "right" not in extrapolate:
        end = get_item(fp, -1) if right is None else right
        if period is None:
            f = where(arithmetic.greater(x, get_item(xp, -1)), end, f)
    return f


_interp_impl.__name__ = "_interp"
_interp = jit(_interp_impl, static_argnames=("extrapolate",))


def _periodic(
    x: Value,
    xp: Value,
    fp: Value,
    period: Any,
) -> tuple[Value, Value, Value]:
    """Return points over one period, in order, with a neighbour at either end."""
    if typeof(value_of(period)).ndim != 0:
        raise ValueError(f"period must be a scalar; got {period}")
    period = absolute(period)
    x, xp = arithmetic.remainder(x, period), arithmetic.remainder(xp, period)
    xp, fp = sort((xp, fp), 0, num_keys=1)
    before = arithmetic.subtract(get_item(xp, slice(-1, None)), period)
    after = arithmetic.add(get_item(xp, slice(None, 1)), period)
    xp = concatenate([before, xp, after], 0)
    fp = concatenate([get_item(fp, slice(-1, None)), fp, get_item(fp, slice(None, 1))], 0)
    return x, xp, fp
