"""Convolutions by their windows: patches as channels, and kernels that differ by place.

    conv_general_dilated_patches   (n, c, h, w) -> (n, c kh kw, h', w')
    conv_general_dilated_local     kernels (o, c kh kw, h', w'), one for each place of the result

The patches are a convolution with kernels that pick one element each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless.core.trace import Value
from tapeless.prims.common import dtype_of, move_dim, shape_of
from tapeless.prims.conv import conv_general_dilated
from tapeless.prims.convlayout import (
    ConvDimensionNumbers,
    ConvGeneralDilatedDimensionNumbers,
    conv_dimension_numbers,
)
from tapeless.prims.dot import dot_general
from tapeless.prims.precision import PrecisionLike
from tapeless.prims.structural import transpose

__all__ = ["conv_general_dilated_local", "conv_general_dilated_patches"]

Padding = str | Sequence[tuple[int, int]]


def conv_general_dilated_patches(
    lhs: Value,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Value:
    """Return the windows of images as channels: (n, c, h, w) -> (n, c kh kw, h', w').

    >>> lax.conv_general_dilated_patches(jnp.arange(4.0).reshape(1, 1, 4), (2,), (1,), "VALID")
    Array([[[0., 1., 2.],
            [1., 2., 3.]]], dtype=float32)
    """
    size = int(np.prod(filter_shape, dtype=int))
    shape = (*shape_of(lhs)[: 2 - len(shape_of(lhs))], *filter_shape)
    numbers = conv_dimension_numbers(shape_of(lhs), shape, dimension_numbers)
    channels = shape_of(lhs)[numbers.lhs_spec[1]]
    picks = np.eye(size, dtype=dtype_of(lhs)).reshape(size, 1, *filter_shape)
    kernels = np.tile(picks, (channels, 1) + (1,) * len(filter_shape))
    kernels = np.moveaxis(kernels, (0, 1), (numbers.rhs_spec[0], numbers.rhs_spec[1]))
    return conv_general_dilated(
        lhs,
        kernels,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        feature_group_count=channels,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_general_dilated_local(
    lhs: Value,
    rhs: Value,
    window_strides: Sequence[int],
    padding: Padding,
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
) -> Value:
    """Return a convolution with kernels of their own for every place of the result.

    lhs: (n, c, h, w), rhs: (o, c kh kw, h', w') -> (n, o, h', w').

    >>> lax.conv_general_dilated_local(jnp.ones((1, 1, 3)), jnp.ones((1, 2, 2)), (1,), "VALID",
    ...     (2,))
    Array([[[2., 2.]]], dtype=float32)
    """
    numbers = conv_dimension_numbers(shape_of(lhs), shape_of(rhs), dimension_numbers)
    patches = conv_general_dilated_patches(
        lhs,
        filter_shape,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        ConvDimensionNumbers(numbers.lhs_spec, numbers.rhs_spec, numbers.out_spec),
        precision,
    )
    left, right = numbers.out_spec, numbers.rhs_spec
    contract = ((right[1],), (left[1],))
    batch = (tuple(right[2:]), tuple(left[2:]))
    out = dot_general(rhs, patches, (contract, batch), precision)
    rank = len(left)
    out = move_dim(move_dim(out, rank - 1, 0), rank - 1, 1)
    return _arranged(out, left)


def _arranged(x: Value, spec: Sequence[int]) -> Value:
    """Return x, whose axes are batch, channel and space, in the layout `spec`."""
    return transpose(x, tuple(map(int, np.argsort(spec))))
