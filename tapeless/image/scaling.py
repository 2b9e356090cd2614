"""Images resampled at other sizes and places.

Each axis is resampled on its own: a matrix of weights, (n, m) for n pixels in and m out, is
multiplied along it.  Pixel i covers the interval from i to i + 1, so its centre is i + 1/2.

    place     the coordinate, in pixels of the input, of the centre of an output pixel:
              (o + 1/2 - translation) / scale - 1/2
    kernel    weight of an input pixel, a function of its distance from the place; the kernel is
              stretched by 1 / scale when an image shrinks and `antialias` is on
    area      the exception: the weight is the length that input and output pixel share

The weights of an output pixel are divided by their sum, and are zero when its place is outside of
the image.  The nearest pixel is found by an index instead.
"""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes, lax
from tapeless import numpy as jnp
from tapeless.api.jit import jit
from tapeless.core.trace import Value
from tapeless.numpy.common import canonicalize_axis, check_arraylike, promote_dtypes_inexact
from tapeless.numpy.creation import shape_argument
from tapeless.prims.precision import Precision

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]


class ResizeMethod(enum.Enum):
    """How an image is resampled.

    NEAREST        the nearest pixel
    LINEAR         linear interpolation; a triangle of weights
    LANCZOS3       a windowed sinc of radius 3
    LANCZOS5       a windowed sinc of radius 5
    CUBIC          Keys's cubic kernel
    CUBIC_PYTORCH  CUBIC; but PyTorch's kernel, and edges repeated, where `antialias` is off
    AREA           the mean over what an output pixel covers

    >>> ResizeMethod.from_string("bilinear")
    <ResizeMethod.LINEAR: 1>
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """Return the method of a name, or raise ValueError."""
        for method, names in _NAMES.items():
            if s in names:
                return method
        known = ", ".join(repr(name) for names in _NAMES.values() for name in names)
        raise ValueError(f'Unknown resize method "{s}"; the methods are {known}.')


_NAMES = {
    ResizeMethod.NEAREST: ("nearest",),
    ResizeMethod.LINEAR: ("linear", "bilinear", "trilinear", "triangle"),
    ResizeMethod.LANCZOS3: ("lanczos3",),
    ResizeMethod.LANCZOS5: ("lanczos5",),
    ResizeMethod.CUBIC: ("cubic", "bicubic", "tricubic"),
    ResizeMethod.CUBIC_PYTORCH: ("cubic-pytorch", "bicubic-pytorch"),
    ResizeMethod.AREA: ("area",),
}


def _method_of(method: Any) -> ResizeMethod:
    """Return the method that a user named."""
    if isinstance(method, ResizeMethod):
        return method
    return ResizeMethod.from_string(method)


def _triangle(x: Value) -> Value:
    """Return 1 - x down to 0; x >= 0 is a distance in pixels."""
    return jnp.maximum(0, 1 - x)


def _cubic(x: Value, a: float) -> Value:
    """Return the cubic kernel whose slope at distance 1 is `a` (Keys, 1981)."""
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = a * (((x - 5) * x + 8) * x - 4)
    return jnp.where(x >= 2, 0.0, jnp.where(x >= 1, far, near))


def _lanczos(x: Value, radius: float) -> Value:
    """Return sinc(x) sinc(x / radius) up to the radius."""
    turn = math.pi * x
    product = radius * jnp.sin(turn) * jnp.sin(turn / radius)
    squared = jnp.where(x != 0, turn * turn, 1)
    value = jnp.where(x > 1e-3, product / squared, 1)
    return jnp.where(x > radius, 0.0, value)


_KERNELS: dict[ResizeMethod, Callable[[Value], Value]] = {
    ResizeMethod.LINEAR: _triangle,
    ResizeMethod.LANCZOS3: functools.partial(_lanczos, radius=3.0),
    ResizeMethod.LANCZOS5: functools.partial(_lanczos, radius=5.0),
    ResizeMethod.CUBIC: functools.partial(_cubic, a=-0.5),
    ResizeMethod.CUBIC_PYTORCH: functools.partial(_cubic, a=-0.5),
}
_PYTORCH_SLOPE = -0.75


def _pixels(size: int, dtype: np.dtype) -> Value:
    """Return the numbers of pixels, in the dtype of weights: (size)."""
    return lax.iota(dtype, size)


def _kernel_weights(
    places: Value, n_in: int, inverse: Value, method: ResizeMethod, antialias: bool
) -> Value:
    """Return the weights of a kernel, not yet divided by their sum: places (m) -> (n_in, m)."""
    if method is ResizeMethod.CUBIC_PYTORCH and not antialias:
        return _clamped_cubic_weights(places, n_in)
    stretch = jnp.maximum(inverse, 1.0) if antialias else 1.0
    distance = jnp.abs(places[None, :] - _pixels(n_in, places.dtype)[:, None])
    return _KERNELS[method](distance / stretch)


def _clamped_cubic_weights(places: Value, n_in: int) -> Value:
    """Return PyTorch's cubic weights, taps beyond an edge being added to the pixel at the edge."""
    reach = 2
    taps = _pixels(n_in + 2 * reach, places.dtype)[:, None] - reach
    weights = _cubic(jnp.abs(places[None, :] - taps), _PYTORCH_SLOPE)
    inner = weights[reach:-reach]
    inner = inner.at[0].add(weights[:reach].sum(axis=0))
    return inner.at[-1].add(weights[-reach:].sum(axis=0))


def _area_weights(n_in: int, n_out: int, inverse: Value, translation: Value) -> Value:
    """Return the lengths that input and output pixels share: (n_in, n_out)."""
    left = (_pixels(n_out, inverse.dtype) - translation) * inverse
    pixels = _pixels(n_in, inverse.dtype)[:, None]
    overlap = jnp.minimum((left + inverse)[None, :], pixels + 1) - jnp.maximum(
        left[None, :], pixels
    )
    return jnp.maximum(0, overlap)


def _weights(
    n_in: int, n_out: int, scale: Value, translation: Value, method: ResizeMethod, antialias: bool
) -> Value:
    """Return the weights of one axis: (n_in, n_out), in the dtype of `scale`."""
    inverse = 1.0 / scale
    places = (_pixels(n_out, scale.dtype) + 0.5 - translation) * inverse - 0.5
    if method is ResizeMethod.AREA:
        weights = _area_weights(n_in, n_out, inverse, translation)
    else:
        weights = _kernel_weights(places, n_in, inverse, method, antialias)
    total = weights.sum(axis=0, keepdims=True)
    least = 1000.0 * float(np.finfo(np.float32).eps)
    shares = weights / jnp.where(total != 0, total, 1)
    shares = jnp.where(jnp.abs(total) > least, shares, 0)
    if method is ResizeMethod.CUBIC_PYTORCH and not antialias:
        return shares  # its edges are repeated outside, for as far as the kernel reaches
    is_inside = (places >= -0.5) & (places <= n_in - 0.5)
    return jnp.where(is_inside[None, :], shares, 0)


def _resample(
    image: Value,
    shape: tuple[int, ...],
    axes: Sequence[int],
    scales: Sequence[Value],
    translations: Sequence[Value],
    method: ResizeMethod,
    antialias: bool,
    precision: Any,
) -> Value:
    """Multiply an image by the weights of each axis: (n, ...) -> shape."""
    for axis, scale, translation in zip(axes, scales, translations, strict=True):
        n_in, n_out = image.shape[axis], shape[axis]
        weights = _weights(n_in, n_out, scale, translation, method, antialias)
        weights = weights.astype(image.dtype)
        image = jnp.moveaxis(
            jnp.tensordot(image, weights, axes=((axis,), (0,)), precision=precision), -1, axis
        )
    return image


def _check_rank(shape: Sequence[int], image: Value) -> None:
    """Raise ValueError unless the shape has an extent for each axis."""
    if len(shape) != image.ndim:
        raise ValueError(
            "shape must have length equal to the number of dimensions of x;  "
            f"{tuple(shape)} vs {image.shape}"
        )


def _weight_dtype(dtype: np.dtype) -> np.dtype:
    """Return the real dtype that weights are computed in, at least float32."""
    return np.promote_types(dtypes.finfo(dtype).dtype, np.float32)


def scale_and_translate(
    image: Any,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: Any,
    translation: Any,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = Precision.HIGHEST,
) -> Value:
    """Return an image stretched and moved: image -> shape.

    The point x of axis `spatial_dims[k]` goes to x * scale[k] + translation[k], where pixel i
    covers i to i + 1.  An output pixel whose centre comes from outside of the image is 0.  Axes
    that are not in `spatial_dims` stay as they are.

    scale, translation: (k), one number for each of the spatial_dims.  method: any but nearest.
    antialias: whether kernels are stretched where the image shrinks.

    >>> image = jnp.array([1.0, 2.0, 3.0])
    >>> scale_and_translate(image, (4,), (0,), jnp.ones(1), jnp.ones(1), "linear")
    Array([0., 1., 2., 3.], dtype=float32)
    """
    check_arraylike("scale_and_translate", image, scale, translation)
    image = jnp.asarray(image)
    _check_rank(shape, image)
    chosen = _method_of(method)
    if chosen is ResizeMethod.NEAREST:
        raise ValueError(
            "Nearest neighbor resampling is not currently supported for scale_and_translate."
        )
    (image,) = promote_dtypes_inexact(image)
    scale, translation = promote_dtypes_inexact(scale, translation)
    axes = tuple(canonicalize_axis(axis, image.ndim) for axis in spatial_dims)
    for name, given in (("scale", scale), ("translation", translation)):
        if given.shape != (len(axes),):
            raise ValueError(
                f"{name} must have one number for each of the spatial_dims {tuple(spatial_dims)}, "
                f"that is shape {(len(axes),)}, got shape {given.shape}"
            )
    sizes = dict(zip(axes, (shape[axis] for axis in axes), strict=True))
    goal = tuple(sizes.get(axis, extent) for axis, extent in enumerate(image.shape))
    return _resample(
        image, goal, axes, list(scale), list(translation), chosen, antialias, precision
    )


def _nearest(image: Value, shape: tuple[int, ...]) -> Value:
    """Return the nearest pixels: image -> shape."""
    for axis, (n_in, n_out) in enumerate(zip(image.shape, shape, strict=True)):
        if n_in == n_out:
            continue
        places = jnp.floor((_pixels(n_out, np.dtype(np.float32)) + 0.5) * n_in / n_out)
        image = jnp.take(image, places.astype(np.int32), axis=axis, mode="clip")
    return image


@functools.partial(jit, static_argnames=("shape", "method", "antialias", "precision"))
def _resize(
    image: Value, shape: tuple[int, ...], method: ResizeMethod, antialias: bool, precision: Any
) -> Value:
    """Resize a checked image."""
    if method is ResizeMethod.NEAREST:
        return _nearest(image, shape)
    (image,) = promote_dtypes_inexact(image)
    dtype = _weight_dtype(image.dtype)
    axes = [axis for axis in range(image.ndim) if image.shape[axis] != shape[axis]]
    scales = [jnp.asarray(shape[axis] / image.shape[axis], dtype) for axis in axes]
    zeros = [jnp.zeros((), dtype) for _ in axes]
    return _resample(image, shape, axes, scales, zeros, method, antialias, precision)


def resize(
    image: Any,
    shape: Sequence[int],
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = Precision.HIGHEST,
) -> Value:
    """Return an image at another size: image -> shape.

    shape: the extent of every axis, batches and channels too; an extent that stays is not touched.
    method: a `ResizeMethod` or one of its names: "nearest"; "linear", "bilinear", "trilinear",
    "triangle"; "cubic", "bicubic", "tricubic"; "cubic-pytorch"; "lanczos3"; "lanczos5"; "area".
    antialias: whether kernels are stretched where the image shrinks; not for "nearest".

    "nearest" keeps the dtype; the other methods give floating or complex numbers.

    >>> resize(jnp.array([0.0, 4.0]), (4,), "linear")
    Array([0., 1., 3., 4.], dtype=float32)
    """
    check_arraylike("resize", image)
    image = jnp.asarray(image)
    _check_rank(shape, image)
    goal, chosen = shape_argument(shape), _method_of(method)
    for axis, (n_in, n_out) in enumerate(zip(image.shape, goal, strict=True)):
        if n_in == 0 and n_out != 0:
            kind = TypeError if chosen is ResizeMethod.NEAREST else ZeroDivisionError
            raise kind(
                f"resize needs a pixel to make others of: axis {axis} has none, and {n_out} are "
                f"asked for (from shape {image.shape} to {goal})"
            )
    return _resize(image, goal, chosen, antialias, precision)
