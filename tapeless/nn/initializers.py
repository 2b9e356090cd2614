"""Initial values of parameters: functions (key, shape, dtype) -> array.

Most scale random numbers so that a layer keeps the variance of what flows through it: with fan-in
and fan-out the numbers of inputs and outputs of a unit (times the receptive field, for a kernel),

    variance = scale / fan,    fan = fan_in, fan_out, their arithmetic or their geometric mean

Glorot (Xavier) takes the arithmetic mean, He (Kaiming) twice 1/fan_in, LeCun 1/fan_in.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from tapeless import dtypes, lax
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy import common, creation
from tapeless.random import basic, continuous, requests, vectors
from tapeless.util.names import close_module

__all__ = [
    "Initializer",
    "constant",
    "delta_orthogonal",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "kaiming_normal",
    "kaiming_uniform",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "ones",
    "orthogonal",
    "truncated_normal",
    "uniform",
    "variance_scaling",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
]

Shape = Sequence[int]
Axes = int | Sequence[int]


class Initializer(Protocol):
    """What an initializer is: a function of a key, a shape and a dtype."""

    def __call__(
        self,
        key: Any,
        shape: Shape,
        dtype: Any = None,
        out_sharding: Any = None,
    ) -> Value:
        """Return the initial values: shape."""


def _dtype(dtype: Any, default: Any) -> np.dtype:
    """Return the dtype of the call, of the initializer, or the default one."""
    chosen = default if dtype is None else dtype
    return dtypes.default_float_dtype() if chosen is None else dtypes.canonicalize_dtype(chosen)


def zeros(
    key: Any,
    shape: Shape,
    dtype: Any = None,
    out_sharding: Any = None,
) -> Value:
    """Return zeros; the key is not used.

    key: () -> shape

    >>> zeros(None, (2,))
    Array([0., 0.], dtype=float32)
    """
    return creation.zeros(shape, _dtype(dtype, None))


def ones(
    key: Any,
    shape: Shape,
    dtype: Any = None,
    out_sharding: Any = None,
) -> Value:
    """Return ones; the key is not used.

    key: () -> shape

    >>> ones(None, (2,))
    Array([1., 1.], dtype=float32)
    """
    return creation.ones(shape, _dtype(dtype, None))


def constant(value: Any, dtype: Any = None) -> Initializer:
    """Return an initializer that fills with `value`.

    The initializer takes key: () and a shape -> shape.

    >>> constant(-7)(None, (2,))
    Array([-7., -7.], dtype=float32)
    """
    default = dtype

    def init(
        key: Any,
        shape: Shape,
        dtype: Any = None,
        out_sharding: Any = None,
    ) -> Value:
        """Fill the array."""
        return creation.full(shape, value, dtype=_dtype(dtype, default))

    return init


def uniform(scale: Any = 1e-2, dtype: Any = None) -> Initializer:
    """Return an initializer of numbers uniform in [0, scale).

    The initializer takes key: () and a shape -> shape.

    >>> from tapeless.random import key
    >>> uniform(10.0)(key(0), (2,))
    Array([9.47667 , 9.785799], dtype=float32)
    """
    default = dtype

    def init(
        key: Any,
        shape: Shape,
        dtype: Any = None,
        out_sharding: Any = None,
    ) -> Value:
        """Draw and scale."""
        dtype = _dtype(dtype, default)
        return basic.uniform(key, shape, dtype) * common.array(scale, dtype)

    return init


def normal(stddev: Any = 1e-2, dtype: Any = None) -> Initializer:
    """Return an initializer of normal numbers with a standard deviation.

    The initializer takes key: () and a shape -> shape.

    >>> from tapeless.random import key
    >>> normal(5.0)(key(0), (2,))
    Array([ 8.113211, 10.126324], dtype=float32)
    """
    default = dtype

    def init(
        key: Any,
        shape: Shape,
        dtype: Any = None,
        out_sharding: Any = None,
    ) -> Value:
        """Draw and scale; sqrt(2) stddev is one number, as in JAX, whose last bit it decides."""
        dtype = _dtype(dtype, default)
        scale = common.array(stddev, dtype)
        if not dtypes.issubdtype(dtype, np.floating):
            return basic.normal(key, shape, dtype) * scale
        kind = np.dtype(dtype).type
        low = np.nextafter(kind(-1), kind(0), dtype=dtype)
        drawn = basic.uniform(key, shape, dtype, low, kind(1))
        return (common.array(np.sqrt(2), dtype) * scale) * lax.erf_inv(drawn)

    return init


def truncated_normal(
    stddev: Any = 1e-2,
    dtype: Any = None,
    lower: Any = -2.0,
    upper: Any = 2.0,
) -> Initializer:
    """Return an initializer of normal numbers between `lower` and `upper`, times `stddev`.

    The initializer takes key: () and a shape -> shape.

    >>> from tapeless.random import key
    >>> truncated_normal(5.0)(key(0), (2,))
    Array([7.279796, 8.573744], dtype=float32)
    """
    default = dtype

    def init(
        key: Any,
        shape: Shape,
        dtype: Any = None,
        out_sharding: Any = None,
    ) -> Value:
        """Draw and scale."""
        dtype = _dtype(dtype, default)
        drawn = continuous.truncated_normal(key, lower, upper, shape, dtype)
        return drawn * common.array(stddev, dtype)

    return init


def _axis_product(shape: Shape, axes: Axes) -> int:
    """Return the product of the extents of axes."""
    return shape[axes] if isinstance(axes, int) else math.prod(shape[i] for i in axes)


def _fans(
    shape: Shape,
    in_axis: Axes,
    out_axis: Axes,
    batch_axis: Axes,
) -> tuple[float, float]:
    """Return the number of inputs and outputs of a unit of a parameter array."""
    if len(shape) <= 1:
        raise ValueError(
            f"Can't compute input and output sizes of a {len(shape)}-dimensional weights tensor. "
            f"Must be at least 2D."
        )
    inputs, outputs = _axis_product(shape, in_axis), _axis_product(shape, out_axis)
    taken = inputs * outputs * _axis_product(shape, batch_axis)
    field = math.prod(shape) / taken if taken else 1
    return inputs * field, outputs * field


def _complex_uniform(key: Any, shape: Shape, dtype: np.dtype) -> Value:
    """Return numbers uniform in a disk around 0, of variance 1."""
    key_size, key_angle = requests.split_in(requests.one_key("uniform", key)[0], 2)
    real = np.zeros((), dtype).real.dtype
    size = lax.convert_element_type(lax.sqrt(2 * basic.uniform(key_size, shape, real)), dtype)
    angle = lax.convert_element_type(2 * np.pi * basic.uniform(key_angle, shape, real), dtype)
    return size * lax.exp(1j * angle)


def _complex_truncated_normal(
    key: Any,
    upper: Any,
    shape: Shape,
    dtype: np.dtype,
) -> Value:
    """Return complex normal numbers of variance 1 inside a disk of radius `upper`."""
    key_size, key_angle = requests.split_in(requests.one_key("truncated_normal", key)[0], 2)
    real = np.zeros((), dtype).real.dtype
    inside = (1 - lax.exp(common.array(-(upper**2), dtype))) * lax.convert_element_type(
        basic.uniform(key_size, shape, real), dtype
    )
    size = lax.sqrt(-lax.log(1 - inside))
    angle = lax.convert_element_type(2 * np.pi * basic.uniform(key_angle, shape, real), dtype)
    return size * lax.exp(1j * angle)


def _scaled_draw(
    distribution: str,
    key: Any,
    shape: Shape,
    variance: Value,
    dtype: np.dtype,
) -> Value:
    """Return numbers of a distribution, with the variance."""
    is_real = dtypes.issubdtype(dtype, np.floating)
    if distribution == "normal":
        return basic.normal(key, shape, dtype) * lax.sqrt(variance)
    if distribution == "uniform" and is_real:
        return basic.uniform(key, shape, dtype, -1) * lax.sqrt(3 * variance)
    if distribution == "uniform":
        return _complex_uniform(key, shape, dtype) * lax.sqrt(variance)
    if distribution != "truncated_normal":
        raise ValueError(f"invalid distribution for variance scaling initializer: {distribution}")
    # Cutting the tails off at two deviations has made the variance smaller by this factor.
    if is_real:
        stddev = lax.sqrt(variance) / common.array(0.87962566103423978, dtype)
        return continuous.truncated_normal(key, -2, 2, shape, dtype) * stddev
    stddev = lax.sqrt(variance) / common.array(0.95311164380491208, dtype)
    return _complex_truncated_normal(key, 2, shape, dtype) * stddev


def variance_scaling(
    scale: Any,
    mode: str,
    distribution: str,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: Any = None,
) -> Initializer:
    """Return an initializer of variance scale / fan.

    The initializer takes key: () and a shape -> shape.
    mode: "fan_in", "fan_out", "fan_avg" or "fan_geo_avg".
    distribution: "truncated_normal", "normal" or "uniform".

    >>> from tapeless.random import key
    >>> variance_scaling(1.0, "fan_in", "normal")(key(0), (1, 2))
    Array([[1.6226422, 2.0252647]], dtype=float32)
    """
    default = dtype

    def init(
        key: Any,
        shape: Shape,
        dtype: Any = None,
        out_sharding: Any = None,
    ) -> Value:
        """Draw with the variance that the shape asks for."""
        shape = requests.shape_of_request(shape)
        dtype = _dtype(dtype, default)
        fan_in, fan_out = _fans(shape, in_axis, out_axis, batch_axis)
        fans = {
            "fan_in": fan_in,
            "fan_out": fan_out,
            "fan_avg": (fan_in + fan_out) / 2,
            "fan_geo_avg": (fan_in * fan_out) ** 0.5,
        }
        if mode not in fans:
            raise ValueError(f"invalid mode for variance scaling initializer: {mode}")
        # Without inputs or outputs the array is empty.
        variance = common.array(scale / (fans[mode] or 1), dtype)
        return _scaled_draw(distribution, key, shape, variance, dtype)

    return init


def _preset(
    scale: float,
    mode: str,
    distribution: str,
    title: str,
    name: str,
) -> Any:
    """Return a `variance_scaling` with its first arguments fixed."""

    def initializer(
        in_axis: Axes = -2,
        out_axis: Axes = -1,
        batch_axis: Axes = (),
        dtype: Any = None,
    ) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    initializer.__doc__ = (
        f"Return {title}: {distribution.replace('_', ' ')} numbers of variance {scale:g} / {mode}."
        "\n\nThe initializer takes key: () and a shape, (..., n inputs, m outputs) unless other "
        "axes are given -> shape.\n\n"
        f">>> jax.nn.initializers.{name}()(jax.random.key(0), (2, 3)).shape\n(2, 3)\n"
    )
    return initializer


glorot_uniform = xavier_uniform = _preset(
    1.0, "fan_avg", "uniform", "Glorot's uniform initializer", "glorot_uniform"
)
glorot_normal = xavier_normal = _preset(
    1.0, "fan_avg", "truncated_normal", "Glorot's normal initializer", "glorot_normal"
)
lecun_uniform = _preset(1.0, "fan_in", "uniform", "LeCun's uniform initializer", "lecun_uniform")
lecun_normal = _preset(
    1.0, "fan_in", "truncated_normal", "LeCun's normal initializer", "lecun_normal"
)
he_uniform = kaiming_uniform = _preset(
    2.0, "fan_in", "uniform", "He's uniform initializer", "he_uniform"
)
he_normal = kaiming_normal = _preset(
    2.0, "fan_in", "truncated_normal", "He's normal initializer", "he_normal"
)


def orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """Return an initializer of matrices with orthonormal rows or columns, times `scale`.

    The initializer takes key: () and a shape (..., n, m) -> (..., n, m).
    column_axis: the axis that holds the columns; all others are taken together.

    >>> from tapeless.random import key
    >>> orthogonal()(key(0), (1, 1))
    Array([[1.]], dtype=float32)
    """
    default = dtype

    def init(
        key: Any,
        shape: Shape,
        dtype: Any = None,
        out_sharding: Any = None,
    ) -> Value:
        """Draw a matrix and give it the shape."""
        dtype = _dtype(dtype, default)
        shape = requests.shape_of_request(shape)
        if len(shape) < 2:
            raise ValueError("orthogonal initializer requires at least a 2D shape")
        n_columns = shape[column_axis]
        n_rows = math.prod(shape) // n_columns
        drawn = vectors.orthogonal(key, n_rows, (), dtype, m=n_columns)
        rest = list(shape)
        del rest[column_axis]
        ordered = lax.reshape(drawn, (*rest, n_columns))
        place = column_axis % len(shape)
        order = list(range(len(rest)))
        order.insert(place, len(rest))
        return common.array(scale, dtype) * lax.transpose(ordered, order)

    return init


def delta_orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """Return an initializer of convolution kernels that act as an orthogonal matrix on pixels.

    The initializer takes key: () and a shape (*k, n, m), n <= m -> (*k, n, m).
    The kernel is zero but for its middle (Xiao et al., 2018); shapes of rank 3, 4 or 5.

    >>> from tapeless.random import key
    >>> delta_orthogonal()(key(0), (3, 1, 1))[:, 0, 0]
    Array([0., 1., 0.], dtype=float32)
    """
    default = dtype

    def init(
        key: Any,
        shape: Shape,
        dtype: Any = None,
        out_sharding: Any = None,
    ) -> Value:
        """Put an orthogonal matrix into the middle."""
        dtype = _dtype(dtype, default)
        shape = requests.shape_of_request(shape)
        if len(shape) not in (3, 4, 5):
            raise ValueError("Delta orthogonal initializer requires a 3D, 4D, or 5D shape.")
        if shape[-1] < shape[-2]:
            raise ValueError("`fan_in` must be less or equal than `fan_out`. ")
        matrix = orthogonal(scale, column_axis, dtype)(key, shape[-2:])
        middle = tuple((n - 1) // 2 for n in shape[:-2])
        widened = lax.reshape(matrix, (*(1 for _ in middle), *typeof(matrix).shape))
        start = creation.zeros(shape, dtype)
        return lax.dynamic_update_slice(start, widened, (*middle, 0, 0))

    return init


close_module("jax.nn.initializers", globals())
