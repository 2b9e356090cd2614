"""Activation functions, elementwise unless said otherwise."""

from __future__ import annotations

import functools
import operator
from typing import Any, SupportsIndex

import numpy as np

from tapeless import dtypes, lax
from tapeless.api.custom import custom_jvp
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy import arithmetic, special_functions, ufuncs
from tapeless.numpy.choice import clip, where
from tapeless.numpy.common import (
    array,
    asarray,
    canonicalize_axis,
    check_arraylike,
    const,
    convert,
    dtype_of,
    promote_args_inexact,
)

__all__ = [
    "celu",
    "elu",
    "gelu",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
    "leaky_relu",
    "log1mexp",
    "log_sigmoid",
    "mish",
    "one_hot",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "swish",
    "tanh",
]

tanh = ufuncs.tanh


@jit
def identity(x: Any) -> Value:
    """Return `x`.

    x: (n,) -> (n,)

    >>> identity(2.0)
    Array(2., dtype=float32, weak_type=True)
    """
    check_arraylike("identity", x)
    return asarray(x)


@custom_jvp
@jit
def relu(x: Any) -> Value:
    """Return max(x, 0); its derivative at 0 is 0.

    x: (n,) -> (n,)

    >>> import numpy as np
    >>> relu(np.array([-1.0, 2.0], "float32"))
    Array([0., 2.], dtype=float32)
    """
    return arithmetic.maximum(x, 0)


relu.defjvps(lambda t, result, x: lax.select(lax.gt(x, _typed(x, 0)), t, lax.full_like(t, 0)))


@custom_jvp
@jit
def relu6(x: Any) -> Value:
    """Return min(max(x, 0), 6).

    x: (n,) -> (n,)

    >>> relu6(8.0)
    Array(6., dtype=float32, weak_type=True)
    """
    return arithmetic.minimum(arithmetic.maximum(x, 0), 6.0)


def _inside_six(t: Value, result: Value, x: Value) -> Value:
    """Pass the tangent where the argument is between 0 and 6."""
    inside = lax.bitwise_and(lax.gt(x, _typed(x, 0)), lax.lt(x, _typed(x, 6)))
    return lax.select(inside, t, lax.full_like(t, 0))


relu6.defjvps(_inside_six)


def _typed(x: Value, value: float) -> Any:
    """Return a scalar in the dtype of `x`."""
    return const(x, value)


def sigmoid(x: Any) -> Value:
    """Return 1 / (1 + exp(-x)) of floating or complex numbers.

    x: (n,) -> (n,)

    >>> sigmoid(0.0)
    Array(0.5, dtype=float32, weak_type=True)
    """
    return lax.logistic(x)


@jit
def softplus(x: Any) -> Value:
    """Return log(1 + exp(x)).

    x: (n,) -> (n,)

    >>> softplus(0.0)
    Array(0.6931472, dtype=float32, weak_type=True)
    """
    check_arraylike("softplus", x)
    if dtypes.issubdtype(dtypes.dtype(x), np.integer):
        (x,) = promote_args_inexact("softplus", x)
    return special_functions.logaddexp(x, 0.0)


@jit
def soft_sign(x: Any) -> Value:
    """Return x / (|x| + 1).

    x: (n,) -> (n,)

    >>> soft_sign(1.0)
    Array(0.5, dtype=float32, weak_type=True)
    """
    check_arraylike("soft_sign", x)
    x = asarray(x)
    return arithmetic.divide(x, arithmetic.add(ufuncs.abs(x), 1))


@jit
def silu(x: Any) -> Value:
    """Return x * sigmoid(x).

    x: (n,) -> (n,)

    >>> silu(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    check_arraylike("silu", x)
    x = asarray(x)
    return arithmetic.multiply(x, sigmoid(x))


swish = silu


@jit
def mish(x: Any) -> Value:
    """Return x * tanh(softplus(x)).

    x: (n,) -> (n,)

    >>> mish(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    check_arraylike("mish", x)
    x = asarray(x)
    return arithmetic.multiply(x, ufuncs.tanh(softplus(x)))


@jit
def log_sigmoid(x: Any) -> Value:
    """Return log(sigmoid(x)).

    x: (n,) -> (n,)

    >>> log_sigmoid(0.0)
    Array(-0.6931472, dtype=float32, weak_type=True)
    """
    check_arraylike("log_sigmoid", x)
    x = asarray(x)
    return arithmetic.negative(softplus(arithmetic.negative(x)))


@jit
def elu(x: Any, alpha: Any = 1.0) -> Value:
    """Return x where positive, else alpha * (exp(x) - 1).

    x, alpha: shapes that broadcast to (n,) -> (n,)

    >>> elu(1.0)
    Array(1., dtype=float32, weak_type=True)
    """
    check_arraylike("elu", x)
    x = asarray(x)
    positive = arithmetic.greater(x, 0)
    safe = where(arithmetic.greater(x, 0), 0.0, x)
    return where(positive, x, arithmetic.multiply(alpha, ufuncs.expm1(safe)))


@jit
def leaky_relu(x: Any, negative_slope: Any = 1e-2) -> Value:
    """Return x where not negative, else negative_slope * x.

    x, negative_slope: shapes that broadcast to (n,) -> (n,)

    >>> leaky_relu(-100.0)
    Array(-1., dtype=float32, weak_type=True)
    """
    check_arraylike("leaky_relu", x)
    x = asarray(x)
    return where(arithmetic.greater_equal(x, 0), x, arithmetic.multiply(negative_slope, x))


@jit
def hard_tanh(x: Any) -> Value:
    """Return x clipped to [-1, 1].

    x: (n,) -> (n,)

    >>> hard_tanh(3.0)
    Array(1., dtype=float32, weak_type=True)
    """
    check_arraylike("hard_tanh", x)
    x = asarray(x)
    above, below = arithmetic.greater(x, 1), arithmetic.less(x, -1)
    return where(above, 1, where(below, -1, x))


@jit
def hard_sigmoid(x: Any) -> Value:
    """Return relu6(x + 3) / 6.

    x: (n,) -> (n,)

    >>> hard_sigmoid(0.0)
    Array(0.5, dtype=float32, weak_type=True)
    """
    return arithmetic.divide(relu6(arithmetic.add(x, 3.0)), 6.0)


@jit
def hard_silu(x: Any) -> Value:
    """Return x * hard_sigmoid(x).

    x: (n,) -> (n,)

    >>> hard_silu(3.0)
    Array(3., dtype=float32, weak_type=True)
    """
    check_arraylike("hard_silu", x)
    x = asarray(x)
    return arithmetic.multiply(x, hard_sigmoid(x))


hard_swish = hard_silu


@jit
def celu(x: Any, alpha: Any = 1.0) -> Value:
    """Return max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1).

    x, alpha: shapes that broadcast to (n,) -> (n,)

    >>> celu(1.0)
    Array(1., dtype=float32, weak_type=True)
    """
    above = arithmetic.maximum(x, 0.0)
    exponent = arithmetic.divide(arithmetic.minimum(x, 0.0), alpha)
    return arithmetic.add(above, arithmetic.multiply(alpha, ufuncs.expm1(exponent)))


@jit
def selu(x: Any) -> Value:
    """Return scale * elu(x, alpha), with the constants of Klambauer et al. (2017).

    x: (n,) -> (n,)

    >>> selu(1.0)
    Array(1.050701, dtype=float32, weak_type=True)
    """
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    return arithmetic.multiply(scale, elu(x, alpha))


def gelu(x: Any, approximate: bool = True) -> Value:
    """Return x times the normal distribution function of x, or its approximation by tanh.

    x: (n,) -> (n,)
    Hendrycks and Gimpel, "Gaussian error linear units" (2016).

    >>> gelu(0.0)
    Array(0., dtype=float32)
    """
    (x,) = promote_args_inexact("gelu", x)
    if approximate:
        root = np.sqrt(2 / np.pi).astype(typeof(x).dtype)
        cubic = arithmetic.multiply(0.044715, arithmetic.power(x, 3))
        inner = ufuncs.tanh(arithmetic.multiply(root, arithmetic.add(x, cubic)))
        return arithmetic.multiply(x, arithmetic.multiply(0.5, arithmetic.add(1.0, inner)))
    half_root = np.sqrt(0.5).astype(typeof(x).dtype)
    half = arithmetic.multiply(0.5, x)
    tail = lax.erfc(arithmetic.multiply(arithmetic.negative(x), half_root))
    return array(arithmetic.multiply(half, tail))


@functools.partial(jit, static_argnames=("axis",))
def glu(x: Any, axis: int = -1) -> Value:
    """Return a * sigmoid(b), where a and b are the halves of `x` along an axis.

    x: (m, 2 n) -> (m, n)

    >>> import numpy as np
    >>> glu(np.array([4.0, 0.0], "float32"))
    Array([2.], dtype=float32)
    """
    check_arraylike("glu", x)
    x = asarray(x)
    size = typeof(x).shape[axis]
    axis = canonicalize_axis(axis, typeof(x).ndim)
    if size % 2:
        raise AssertionError("axis size must be divisible by 2")
    first = lax.slice_in_dim(x, 0, size // 2, axis=axis)
    second = lax.slice_in_dim(x, size // 2, size, axis=axis)
    return arithmetic.multiply(first, sigmoid(second))


@jit
def squareplus(x: Any, b: Any = 4) -> Value:
    """Return (x + sqrt(x**2 + b)) / 2 (Barron, 2021).

    x, b: shapes that broadcast to (n,) -> (n,)

    >>> squareplus(0.0)
    Array(1., dtype=float32, weak_type=True)
    """
    check_arraylike("squareplus", x, b)
    x = asarray(x)
    root = ufuncs.sqrt(arithmetic.add(ufuncs.square(x), b))
    return arithmetic.divide(arithmetic.add(x, root), 2)


@jit
def sparse_plus(x: Any) -> Value:
    """Return 0 below -1, x above 1, and (x + 1)**2 / 4 between.

    x: (n,) -> (n,)

    >>> sparse_plus(1.0)
    Array(1., dtype=float32, weak_type=True)
    """
    check_arraylike("sparse_plus", x)
    x = asarray(x)
    below, above = arithmetic.less_equal(x, -1.0), arithmetic.greater_equal(x, 1.0)
    middle = arithmetic.divide(arithmetic.power(arithmetic.add(x, 1.0), 2), 4)
    return where(below, 0.0, where(above, x, middle))


@jit
def sparse_sigmoid(x: Any) -> Value:
    """Return (x + 1) / 2 clipped to [0, 1].

    x: (n,) -> (n,)

    >>> sparse_sigmoid(0.0)
    Array(0.5, dtype=float32, weak_type=True)
    """
    return arithmetic.multiply(0.5, clip(arithmetic.add(x, 1.0), 0.0, 2.0))


@custom_jvp
@jit
def log1mexp(x: Any) -> Value:
    """Return log(1 - exp(-x)) for x > 0 (Mächler, 2012).

    x: (n,) -> (n,)

    >>> log1mexp(0.6931472)
    Array(-0.6931472, dtype=float32, weak_type=True)
    """
    is_small = arithmetic.less(x, lax.log(2.0))
    small = ufuncs.log(lax.neg(ufuncs.expm1(arithmetic.negative(x))))
    large = ufuncs.log1p(lax.neg(ufuncs.exp(arithmetic.negative(x))))
    return where(is_small, small, large)


log1mexp.defjvps(lambda t, result, x: lax.div(t, lax.expm1(x)))


def one_hot(
    x: Any,
    num_classes: int,
    *,
    dtype: Any = None,
    axis: Any = -1,
    out_sharding: Any = None,
) -> Value:
    """Return arrays with a 1 at the position that an index names: (...) -> (..., num_classes).

    An index out of range gives zeros.  axis: where the classes stand in the result, or the name of
    a mapped axis of `num_classes` places, each of which then gets its class alone: (...) -> (...).

    >>> import numpy as np
    >>> one_hot(np.array([0, 2]), 3)
    Array([[1., 0., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    n = operator.index(num_classes)
    dtype = dtypes.default_float_dtype() if dtype is None else dtype
    x = asarray(x)
    index = convert(x, dtypes.number_dtype(dtype_of(x)), typeof(x).weak_type)
    dtype = dtypes.check_user_dtype_supported(dtype, "one_hot")
    if isinstance(axis, SupportsIndex):
        return _one_hot(index, n, dtype, operator.index(axis))
    if isinstance(axis, tuple) and any(isinstance(each, SupportsIndex) for each in axis):
        raise ValueError(f"one_hot takes one axis, or names of mapped axes, got axis={axis}")
    size = lax.axis_size(axis)
    if n != size:
        raise ValueError(
            f"Expected num_classes to match the size of axis {axis}, but {n} != {size}"
        )
    return convert(arithmetic.equal(index, lax.axis_index(axis)), dtype)


@functools.partial(jit, static_argnames=("num_classes", "dtype", "axis"))
def _one_hot(
    x: Value,
    num_classes: int,
    dtype: Any,
    axis: int,
) -> Value:
    """Compare the indices with all positions."""
    aval = typeof(x)
    rank = aval.ndim + 1
    place = canonicalize_axis(axis, rank)
    kept = tuple(i for i in range(rank) if i != place)
    spread = tuple(1 if i == place else aval.shape[i - (i > place)] for i in range(rank))
    row = tuple(num_classes if i == place else 1 for i in range(rank))
    index = lax.broadcast_in_dim(x, spread, kept)
    positions = lax.broadcasted_iota(aval.dtype, row, place)
    return lax.convert_element_type(lax.eq(index, positions), dtype)
