"""Convolutions: sums of products over windows and channels, in any layout.

    conv_general_dilated: images (n, c, h, w), kernels (o, c, kh, kw) -> (n, o, h', w')
        y[n, o, i, j] = sum over c, p, q of x[n, c, i s + p d, j s + q d] k[o, c, p, q]

The layout is `ConvDimensionNumbers`: where batch, channels and space are among the axes of the
images, the kernels and the result.  The images are stretched by `lhs_dilation`, then padded; the
kernels by `rhs_dilation`.  Groups of channels see groups of kernels (`feature_group_count`), or
groups of images do (`batch_group_count`).

The operation is linear in each operand, and both transposes are convolutions: with the kernels
reversed, and with batch and channels exchanged.  A batch axis goes into the batch, or into the
channels and the groups.

How one is computed, `convlower.py` says.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.linear import Linear, Zero
from tapeless.core.primitive import Primitive, Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.common import (
    add_tangents,
    batch_dim,
    move_dim,
    shape_of,
)
from tapeless.prims.convert import convert
from tapeless.prims.convlayout import (
    ConvDimensionNumbers,
    ConvGeneralDilatedDimensionNumbers,
    conv_dimension_numbers,
    merge_into,
    merge_within,
    spatial,
    split_off,
    swapped,
)
from tapeless.prims.precision import (
    PrecisionLike,
    canonical_precision,
)
from tapeless.prims.rearrangement import array_text, pairs_text
from tapeless.prims.structural import rev
from tapeless.prims.window import (
    dilated,
    padtype_to_pads,
    transposed_padding,
)
from tapeless.util import lazy

__all__ = [
    "conv_general_dilated",
    "conv_general_dilated_p",
    "conv_general_shape_tuple",
]

convlower = lazy.load("tapeless.prims.convlower")

Shape = Sequence[int]
Padding = str | Sequence[tuple[int, int]]


def _out_shape(x_shape: Shape, k_shape: Shape, params: dict[str, Any]) -> tuple[int, ...]:
    """Return the shape of the result."""
    n = params["dimension_numbers"]
    out = [0] * len(x_shape)
    images = x_shape[n.lhs_spec[0]] // params["batch_group_count"]
    values = (
        images,
        k_shape[n.rhs_spec[0]],
        *convlower.conv_windows(x_shape, k_shape, params).count,
    )
    for axis, value in zip(n.out_spec, values, strict=True):
        out[axis] = value
    return tuple(out)


def _check(x: ShapedArray, k: ShapedArray, params: dict[str, Any]) -> None:
    """Raise the errors for operands, layouts and groups that do not fit together."""
    n = params["dimension_numbers"]
    features, images = (
        params["feature_group_count"],
        params["batch_group_count"],
    )
    for name, count in (
        ("feature_group_count", features),
        ("batch_group_count", images),
    ):
        if count < 1:
            text = f"{name} must be a positive integer, got {count}."
            raise ValueError(f"conv_general_dilated {text}")
    if features > 1 and images > 1:
        raise ValueError(
            "At most one of batch_group_count and feature_group_count may be > 1, got "
            f"batch_group_count={images} and feature_group_count={features}."
        )
    channels, wanted = x.shape[n.lhs_spec[1]], k.shape[n.rhs_spec[1]]
    if channels % features or channels // features != wanted:
        raise ValueError(
            "conv_general_dilated lhs feature dimension size divided by feature_group_count must "
            "equal the rhs input feature dimension size, but "
            f"{channels} // {features} != {wanted}."
        )
    outs = k.shape[n.rhs_spec[0]]
    if outs % features:
        raise ValueError(
            "conv_general_dilated rhs output feature dimension size must be a multiple of "
            f"feature_group_count, but {outs} is not a multiple of {features}."
        )
    if outs % images:
        raise ValueError(
            "conv_general_dilated rhs output feature dimension size must be a multiple of "
            f"batch_group_count, but {outs} is not a multiple of {images}."
        )
    batch = x.shape[n.lhs_spec[0]]
    if batch % images:
        raise ValueError(
            "conv_general_dilated lhs batch dimension size must be divisible by "
            f"batch_group_count, but {batch} is not divisible by {images}."
        )
    rank = x.ndim - 2
    for name in (
        "window_strides",
        "padding",
        "lhs_dilation",
        "rhs_dilation",
    ):
        if len(params[name]) != rank:
            raise TypeError(
                f"conv_general_dilated {name} has wrong length: expected {rank} (one for each "
                f"spatial dimension), got {len(params[name])}."
            )
    _check_padding(x.shape, n.lhs_spec[2:], params)


def _check_padding(shape: Shape, axes: Sequence[int], params: dict[str, Any]) -> None:
    """Raise ValueError if negative padding takes away more than there is."""
    padding = params["padding"]
    for axis, hole, pair in zip(axes, params["lhs_dilation"], padding, strict=True):
        if dilated(shape[axis], hole) + sum(pair) < 0:
            raise ValueError(
                "Negative padding is larger than the size of the corresponding dimension: got "
                f"padding={padding} for lhs_shape={shape}, of whose axis {axis} less than "
                "nothing is left. Give numbers that take away at most what is there"
            )


def _check_preferred(dtype: Any, preferred: Any) -> None:
    """Raise TypeError unless results may have the preferred dtype."""
    if dtype in (preferred, np.bool_):
        return
    kinds = [(np.integer, (np.integer, np.floating)), (np.floating, np.floating)]
    kinds += [(np.complexfloating, np.complexfloating)]
    got = f"got {dtypes.dtype_name(dtype)} and preferred_element_type={preferred}."
    if not any(
        dtypes.issubdtype(dtype, kind)
        and any(dtypes.issubdtype(preferred, each) for each in np.atleast_1d(allowed))
        for kind, allowed in kinds
    ):
        raise TypeError(
            "Input type is incompatible with `preferred_element_type`. The compatible combinations "
            "of (input_type, preferred_element_type) are (integral, integral), (integral, "
            f"floating), (floating, floating), (complex, complex); {got}"
        )
    signs = (np.signedinteger, np.unsignedinteger)
    if all(dtypes.issubdtype(*each) for each in zip((dtype, preferred), signs, strict=True)):
        raise TypeError(
            f"`preferred_element_type` must have the same signedness as the original type; {got}"
        )
    if preferred.itemsize < dtype.itemsize:
        raise TypeError(
            f"`preferred_element_type` must not be narrower than the original type; {got}"
        )


class Conv(Primitive):
    """y[n, o, i] = sum over c, p of x[n, c, i s + p d] k[o, c, p]; see the module's docstring."""

    name = "conv_general_dilated"

    def abstract(self, x: ShapedArray, k: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        _check(x, k, params)
        if x.dtype != k.dtype:
            names = f"{dtypes.dtype_name(x.dtype)}, {dtypes.dtype_name(k.dtype)}"
            text = (
                f"lax.conv_general_dilated requires arguments to have the same dtypes, got {names}."
            )
            raise TypeError(text)
        dtype = params["preferred_element_type"] or x.dtype
        _check_preferred(x.dtype, dtype)
        weak = x.weak_type and k.weak_type
        return (ShapedArray(_out_shape(x.shape, k.shape, params), dtype, weak),)

    def jvp(
        self,
        primals: Values,
        tangents: Sequence[Value | Zero],
        **params: Any,
    ) -> tuple:
        (x, k), (dx, dk) = primals, tangents
        (out,) = self.bind(x, k, **params)
        total = Zero(typeof(out).tangent())
        if not isinstance(dx, Zero):
            total = add_tangents(total, self.bind(dx, k, **params)[0])
        if not isinstance(dk, Zero):
            total = add_tangents(total, self.bind(x, dk, **params)[0])
        return (out,), (total,)

    def transpose(
        self,
        cotangents: Sequence[Value | Zero],
        args: Sequence,
        **params: Any,
    ) -> tuple:
        (ct,), (x, k) = cotangents, args
        if isinstance(ct, Zero):
            return tuple(Zero(arg.aval) if isinstance(arg, Linear) else None for arg in args)
        if isinstance(x, Linear):
            return convert(
                _transposed_images(ct, x.aval, k, params),
                x.aval.dtype,
            ), None
        return None, convert(_transposed_kernels(ct, x, k.aval, params), k.aval.dtype)

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        **params: Any,
    ) -> tuple:
        (x, k), (x_dim, k_dim), size = args, dims, axis.size
        n = params["dimension_numbers"]
        images = params["batch_group_count"] > 1
        name = "batch_group_count" if images else "feature_group_count"
        groups = params[name]
        out_axis = n.out_spec[1]
        if x_dim is not None and k_dim is not None:
            x = merge_into(x, x_dim, n.lhs_spec[0 if images else 1])
            k = merge_into(k, k_dim, n.rhs_spec[0])
            (out,) = self.bind(x, k, **{**params, name: size * groups})
            return (split_off(out, out_axis, size),), (out_axis,)
        if k_dim is None:
            x = merge_within(x, batch_dim(dims), n.lhs_spec[0], params["batch_group_count"])
            (out,) = self.bind(x, k, **params)
            out_axis = n.out_spec[0]
            return (split_off(out, out_axis, size),), (out_axis,)
        k = merge_within(k, k_dim, n.rhs_spec[0], groups)
        (out,) = self.bind(x, k, **params)
        if groups == 1:
            return (split_off(out, out_axis, size),), (out_axis,)
        parts = split_off(split_off(out, out_axis, groups), out_axis + 1, size)
        parts = move_dim(parts, out_axis + 1, 0)
        return (merge_into(parts, out_axis + 1, out_axis + 1),), (0,)

    def lower(self, b: Any, args: Sequence, outs: tuple, **params: Any) -> tuple:
        return (convlower.lower_conv(b, args, outs[0], params),)

    def hlo(self, b: Any, args: Sequence, outs: tuple, **params: Any) -> tuple:
        n = params["dimension_numbers"]
        specs = (
            ("b", "f", n.lhs_spec),
            ("o", "i", n.rhs_spec),
            ("b", "f", n.out_spec),
        )
        images, kernels, results = (_spec_text(*spec) for spec in specs)
        attributes = {
            "dimension_numbers": f"#stablehlo.conv<{images}x{kernels}->{results}>",
            "window_strides": array_text(params["window_strides"]),
            "padding": pairs_text(params["padding"]),
            "lhs_dilation": array_text(params["lhs_dilation"]),
            "rhs_dilation": array_text(params["rhs_dilation"]),
            "feature_group_count": f"{params['feature_group_count']} : i64",
            "batch_group_count": f"{params['batch_group_count']} : i64",
        }
        return b.op("stablehlo.convolution", args, outs, attributes)

    def reference(self, x: np.ndarray, k: np.ndarray, **params: Any) -> tuple:
        (aval,) = self.abstract(typeof(x), typeof(k), **params)
        plan = convlower.ConvPlan(x.shape, k.shape, aval, params)
        out = np.zeros(aval.shape, np.result_type(x.dtype, np.float64))
        x, k = x.astype(out.dtype), k.astype(out.dtype)
        for index in np.ndindex(*aval.shape):
            image, feature, *spot = (index[axis] for axis in plan.numbers.out_spec)
            space = np.zeros(plan.windows.shape)
            for inner in np.ndindex(*plan.windows.window):
                where = np.multiply(spot, plan.windows.strides)
                where = where + np.multiply(inner, plan.windows.steps)
                where = where - np.array([low for low, _ in plan.windows.padding], int)
                if np.any(where < 0) or np.any(where % plan.windows.base):
                    continue
                where = where // plan.windows.base
                if np.any(where >= space.shape):
                    continue
                for channel in range(plan.channels):
                    at = plan.image_index(
                        _PlainIndex,
                        image,
                        feature,
                        channel,
                        list(where),
                    )
                    kernel = plan.kernel_index(feature, channel, inner)
                    out[index] += x[tuple(at)] * k[tuple(kernel)]
        return (out.astype(aval.dtype),)


def _spec_text(first: str, second: str, spec: Sequence[int]) -> str:
    """Return which axis is what, such as `[b, 0, 1, f]`: letters, or numbers of spatial axes."""
    names: list[object] = [None] * len(spec)
    for axis, name in zip(spec, (first, second, *range(len(spec) - 2)), strict=True):
        names[axis] = name
    return f"[{', '.join(map(str, names))}]"


class _PlainIndex:
    """Index arithmetic on Python integers, for the reference."""

    @staticmethod
    def iadd(x: int, y: int) -> int:
        """x + y."""
        return x + y

    @staticmethod
    def imul(x: int, factor: int) -> int:
        """x * factor."""
        return x * factor

    @staticmethod
    def idiv(x: int, divisor: int) -> int:
        """x // divisor."""
        return x // divisor


def _transposed_images(ct: Value, aval: ShapedArray, k: Value, params: dict[str, Any]) -> Value:
    """Return the cotangent of the images: the cotangent convolved with the reversed kernels."""
    n = params["dimension_numbers"]
    by_images = params["batch_group_count"] > 1
    groups = params["batch_group_count"] * params["feature_group_count"]
    window = spatial(shape_of(k), n.rhs_spec)
    pads = transposed_padding(
        spatial(aval.shape, n.lhs_spec),
        window,
        params["window_strides"],
        spatial(shape_of(ct), n.out_spec),
        params["padding"],
        params["lhs_dilation"],
        params["rhs_dilation"],
    )
    if groups > 1:
        k = split_off(k, n.rhs_spec[0], groups)
        inputs = n.rhs_spec[1]
        k = merge_into(k, n.rhs_spec[0], inputs)
    k = rev(k, n.rhs_spec[2:])
    changes = {
        "window_strides": params["lhs_dilation"],
        "padding": _plain(pads),
        "lhs_dilation": params["window_strides"],
        "dimension_numbers": ConvDimensionNumbers(n.out_spec, swapped(n.rhs_spec), n.lhs_spec),
        "feature_group_count": groups,
        "batch_group_count": 1,
    }
    (out,) = conv_general_dilated_p.bind(ct, k, **{**params, **changes})
    if by_images:
        out = split_off(out, n.lhs_spec[1], groups)
        out = merge_into(out, n.lhs_spec[1], n.lhs_spec[0])
    return out


def _plain(
    pads: Sequence[tuple[Any, Any]],
) -> tuple[tuple[int, int], ...]:
    """Return padding as Python integers."""
    return tuple((int(low), int(high)) for low, high in pads)


def _transposed_kernels(ct: Value, x: Value, aval: ShapedArray, params: dict[str, Any]) -> Value:
    """Return the cotangent of the kernels: the images convolved with the cotangent.

    Batch and channels exchange their parts, and so do groups of images and of channels.
    """
    n = params["dimension_numbers"]
    pads = []
    axes = zip(
        spatial(shape_of(x), n.lhs_spec),
        spatial(aval.shape, n.rhs_spec),
        spatial(shape_of(ct), n.out_spec),
        params["window_strides"],
        params["padding"],
        params["lhs_dilation"],
        params["rhs_dilation"],
        strict=True,
    )
    for extent, window, count, stride, (low, _), hole, step in axes:
        reach = dilated(count, stride) - dilated(extent, hole) + dilated(window, step)
        pads.append((low, reach - low - 1))
    changes = {
        "window_strides": params["rhs_dilation"],
        "padding": _plain(pads),
        "rhs_dilation": params["window_strides"],
        "dimension_numbers": ConvDimensionNumbers(
            swapped(n.lhs_spec),
            swapped(n.out_spec),
            swapped(n.rhs_spec),
        ),
        "feature_group_count": params["batch_group_count"],
        "batch_group_count": params["feature_group_count"],
    }
    return conv_general_dilated_p.bind(x, ct, **{**params, **changes})[0]


conv_general_dilated_p = Conv()


def conv_general_shape_tuple(
    lhs_shape: Shape,
    rhs_shape: Shape,
    window_strides: Shape,
    padding: Padding,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> tuple[int, ...]:
    """Return the shape of a convolution without dilations and groups.

    >>> lax.conv_general_shape_tuple((1, 2, 5), (3, 2, 2), (1,), "VALID", ("NCH", "OIH", "NCH"))
    (1, 3, 4)
    """
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    if isinstance(padding, str):
        spaces = (
            spatial(lhs_shape, numbers.lhs_spec),
            spatial(rhs_shape, numbers.rhs_spec),
        )
        padding = padtype_to_pads(*spaces, window_strides, padding)
    ones = (1,) * (len(lhs_shape) - 2)
    params = {
        "dimension_numbers": numbers,
        "window_strides": window_strides,
        "padding": padding,
        "lhs_dilation": ones,
        "rhs_dilation": ones,
        "batch_group_count": 1,
    }
    return _out_shape(lhs_shape, rhs_shape, params)


def _integers(name: str, values: Any, rank: int) -> tuple[int, ...]:
    """Return the steps along the axes of space as ints."""
    wanted = f"{name} of a convolution must be {rank} integers, one for each axis of space"
    if np.ndim(values) == 1 and len(values) != rank:
        raise ValueError(f"{wanted}, got {values!r}")
    try:
        return tuple(map(operator.index, values))
    except TypeError:
        raise TypeError(f"{wanted}, got {values!r}") from None


def _dilation(name: str, values: Any, rank: int) -> tuple[int, ...]:
    """Return distances between elements along the axes of space: 1 by default, at least 1."""
    found = (1,) * rank if values is None else _integers(name, values, rank)
    if min(found, default=1) < 1:
        raise TypeError(f"{name} of a convolution must be positive along all axes, got {found}")
    return found


def conv_general_dilated(
    lhs: Value,
    rhs: Value,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    out_sharding: object = None,
) -> Value:
    """Return the convolution of images and kernels in any layout.

    lhs: (n, c, h, w), rhs: (o, c, kh, kw) -> (n, o, h', w') with `dimension_numbers` None.
    padding: "SAME", "SAME_LOWER", "VALID", or per axis of space the pair (before, after).

    >>> lax.conv_general_dilated(jnp.arange(4.0).reshape(1, 1, 4), jnp.ones((1, 1, 2)), (1,),
    ...     "SAME")
    Array([[[1., 3., 5., 3.]]], dtype=float32)
    """
    numbers = conv_dimension_numbers(shape_of(lhs), shape_of(rhs), dimension_numbers)
    rank = len(numbers.lhs_spec) - 2
    window_strides = _integers("window_strides", window_strides, rank)
    if min(window_strides, default=1) < 1:
        raise ValueError(f"window_strides of a convolution must be positive, got {window_strides}")
    lhs_dilation = _dilation("lhs_dilation", lhs_dilation, rank)
    rhs_dilation = _dilation("rhs_dilation", rhs_dilation, rank)
    if isinstance(padding, str):
        if max(lhs_dilation, default=1) > 1:
            raise ValueError(
                f"padding {padding!r} has no meaning for images with holes (lhs_dilation"
                f" {lhs_dilation}): String padding is not implemented for transposed convolution."
                " Give the pair (before, after) of each axis of space, or use conv_transpose"
            )
        space = spatial(shape_of(lhs), numbers.lhs_spec)
        window = spatial(shape_of(rhs), numbers.rhs_spec)
        spans = [dilated(n, d) for n, d in zip(window, rhs_dilation, strict=True)]
        padding = padtype_to_pads(space, spans, window_strides, padding)
    if preferred_element_type is not None:
        preferred_element_type = dtypes.check_user_dtype_supported(preferred_element_type, "conv")
    return conv_general_dilated_p.bind(
        lhs,
        rhs,
        batch_group_count=batch_group_count,
        dimension_numbers=numbers,
        feature_group_count=feature_group_count,
        lhs_dilation=lhs_dilation,
        out_sharding=out_sharding,
        padding=_plain(padding),
        precision=canonical_precision(precision),
        preferred_element_type=preferred_element_type,
        rhs_dilation=rhs_dilation,
        window_strides=window_strides,
    )[0]
