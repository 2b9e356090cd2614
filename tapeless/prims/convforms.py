"""Forms of the convolution: plain layouts, explicit padding, and the transposed convolution.

    conv              images (n, c, h, w), kernels (o, c, kh, kw)
    conv_transpose    images (n, h, w, c), kernels (kh, kw, c, o), with `strides` between the inputs

A transposed convolution is one whose images have holes (`lhs_dilation`); its padding is chosen so
that it gives back the shape that a convolution with the same strides and padding has taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapeless.core.trace import Value
from tapeless.prims.common import shape_of
from tapeless.prims.conv import conv_general_dilated
from tapeless.prims.convlayout import (
    ConvGeneralDilatedDimensionNumbers,
    conv_dimension_numbers,
    spatial,
    swapped,
)
from tapeless.prims.precision import PrecisionLike
from tapeless.prims.structural import rev
from tapeless.prims.window import dilated, padtype_to_pads

__all__ = [
    "conv",
    "conv_shape_tuple",
    "conv_transpose",
    "conv_transpose_shape_tuple",
    "conv_with_general_padding",
]

Padding = str | Sequence[tuple[int, int]]


def conv(
    lhs: Value,
    rhs: Value,
    window_strides: Sequence[int],
    padding: str,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Value:
    """Return the convolution of (n, c, h, w) and (o, c, kh, kw) -> (n, o, h', w').

    >>> lax.conv(jnp.ones((1, 1, 3, 3)), jnp.ones((1, 1, 2, 2)), (1, 1), "VALID")
    Array([[[[4., 4.],
             [4., 4.]]]], dtype=float32)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_with_general_padding(
    lhs: Value,
    rhs: Value,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Value:
    """Return the convolution of (n, c, h, w) and (o, c, kh, kw) with explicit padding.

    lhs: (b, c, h, w), rhs: (o, c, i, j) -> (b, o, h', w')

    >>> lax.conv_with_general_padding(jnp.ones((1, 1, 3)), jnp.ones((1, 1, 2)), (1,), [(1, 0)],
    ...     None, None)
    Array([[[1., 2., 2.]]], dtype=float32)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation=lhs_dilation,
        rhs_dilation=rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def _transpose_padding(kernel: int, stride: int, padding: str) -> tuple[int, int]:
    """Return the padding of a transposed convolution that undoes SAME or VALID."""
    if padding == "SAME":
        total = kernel + stride - 2
        before = kernel - 1 if stride > kernel - 1 else -(-total // 2)
    elif padding == "VALID":
        total = kernel + stride - 2 + max(kernel - stride, 0)
        before = kernel - 1
    else:
        raise ValueError("Padding mode must be `SAME` or `VALID`.")
    return before, total - before


def conv_transpose(
    lhs: Value,
    rhs: Value,
    strides: Sequence[int],
    padding: Padding,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    transpose_kernel: bool = False,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    use_consistent_padding: bool = False,
) -> Value:
    """Return the transposed (fractionally strided) convolution of images and kernels.

    lhs: (n, h, w, c), rhs: (kh, kw, c, o) -> (n, h', w', o) with `dimension_numbers` None.
    transpose_kernel: exchange the kernels' in and out, and reverse them: the gradient of a
    convolution.

    >>> lax.conv_transpose(jnp.ones((1, 2, 1)), jnp.ones((2, 1, 1)), (2,), "VALID").ravel()
    Array([1., 1., 1., 1.], dtype=float32)
    """
    ndim = len(shape_of(lhs))
    if dimension_numbers is None:
        layouts = {3: ("NHC", "HIO", "NHC"), 4: ("NHWC", "HWIO", "NHWC")}
        layouts[5] = ("NHWDC", "HWDIO", "NHWDC")
        if ndim not in layouts:
            raise ValueError("No 4+ dimensional dimension_number defaults.")
        dimension_numbers = layouts[ndim]
    numbers = conv_dimension_numbers(shape_of(lhs), shape_of(rhs), dimension_numbers)
    window = spatial(shape_of(rhs), numbers.rhs_spec)
    steps = rhs_dilation or (1,) * len(window)
    spans = [dilated(n, d) for n, d in zip(window, steps, strict=True)]
    if isinstance(padding, str):
        pairs = zip(spans, strides, strict=True)
        pads: Any = [_transpose_padding(span, stride, padding) for span, stride in pairs]
    elif use_consistent_padding:
        pairs = zip(spans, padding, strict=True)
        pads = [(span - 1 - low, span - 1 - high) for span, (low, high) in pairs]
    else:
        pads = padding
    if transpose_kernel:
        rhs = rev(rhs, numbers.rhs_spec[2:])
        numbers = numbers._replace(rhs_spec=swapped(numbers.rhs_spec))
    return conv_general_dilated(
        lhs,
        rhs,
        (1,) * len(window),
        pads,
        strides,
        rhs_dilation,
        numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: Padding,
    batch_group_count: int = 1,
) -> tuple[int, ...]:
    """Return the shape of a convolution of images (n, c, h, w) and kernels (o, c, kh, kw).

    >>> conv_shape_tuple((2, 3, 10, 11), (4, 3, 2, 2), (2, 1), "SAME")
    (2, 4, 5, 11)
    """
    extents, window = lhs_shape[2:], rhs_shape[2:]
    if isinstance(pads, str):
        pads = padtype_to_pads(tuple(extents), tuple(window), tuple(strides), pads)
    if len(pads) != len(extents):
        raise TypeError(
            f"Wrong number of explicit pads for convolution: expected {len(extents)}, got "
            f"{len(pads)}."
        )
    places = zip(extents, window, strides, pads, strict=True)
    counts = (max(0, (n + low + high - k) // step + 1) for n, k, step, (low, high) in places)
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *map(int, counts))


def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> tuple[int, ...]:
    """Return the shape of a transposed convolution in any layout.

    >>> layout = ("NHWC", "HWIO", "NHWC")
    >>> conv_transpose_shape_tuple((2, 10, 11, 3), (2, 2, 3, 4), (2, 1), "SAME", layout)
    (2, 20, 11, 4)
    """
    numbers = conv_dimension_numbers(tuple(lhs_shape), tuple(rhs_shape), dimension_numbers)
    window = spatial(tuple(rhs_shape), numbers.rhs_spec)
    if isinstance(padding, str):
        steps = zip(window, window_strides, strict=True)
        padding = [_transpose_padding(k, step, padding) for k, step in steps]
    holes = [
        dilated(n, step)
        for n, step in zip(spatial(tuple(lhs_shape), numbers.lhs_spec), window_strides, strict=True)
    ]
    plain = conv_shape_tuple(
        (lhs_shape[numbers.lhs_spec[0]], lhs_shape[numbers.lhs_spec[1]], *holes),
        (rhs_shape[numbers.rhs_spec[0]], rhs_shape[numbers.rhs_spec[1]], *window),
        (1,) * len(window),
        padding,
    )
    out = dict(zip(numbers.out_spec, plain, strict=True))
    return tuple(out[axis] for axis in range(len(out)))
