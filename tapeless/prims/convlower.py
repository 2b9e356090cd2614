"""How convolutions are computed: as folds, in strips, or as products of matrices.

Small convolutions, and those with few channels, lower to folds.  Large ones keep sums in registers
(`convstrips.py`), or windows are laid out as matrices, which BLAS multiplies with the kernels:
block by block (`convblocks.py`), or, with groups, those of one image after the other.  Gradients by
weights have many terms and few places (`convsums.py`).

A `ConvPlan` has the sizes of a convolution, and says where its products find their factors.
Products are summed in the dtype that those of matrices are: the result's, if it is the wider one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless.core.aval import ShapedArray
from tapeless.prims.blas import BLAS_LETTER, Product
from tapeless.prims.convblocks import conv_in_blocks
from tapeless.prims.convlayout import spatial
from tapeless.prims.convstrips import conv_in_strips, strips_order
from tapeless.prims.convsums import conv_in_sums, pays_in_sums
from tapeless.prims.dot import sum_dtype
from tapeless.prims.window import MOST_WRITTEN_OUT, Windows

__all__ = ["ConvPlan", "conv_windows", "lower_conv"]

Shape = Sequence[int]
SMALL = 32**3  # multiplications; below, the matrix costs more than it saves
ROOM = 1 << 24  # elements; up to here, the windows of all images are laid out, in parallel


def conv_windows(x_shape: Shape, k_shape: Shape, params: dict[str, Any]) -> Windows:
    """Return where the windows are in the images, along the axes of space."""
    n = params["dimension_numbers"]
    return Windows(
        spatial(x_shape, n.lhs_spec),
        {
            "window_dimensions": spatial(k_shape, n.rhs_spec),
            "window_strides": params["window_strides"],
            "padding": params["padding"],
            "base_dilation": params["lhs_dilation"],
            "window_dilation": params["rhs_dilation"],
        },
    )


def lower_conv(b: Any, args: Sequence, out: ShapedArray, params: dict[str, Any]) -> Any:
    """Return the result of a convolution, of the type `out`."""
    plan = ConvPlan(args[0].shape, args[1].shape, out, params)
    wide = sum_dtype(args[0].dtype, args[1].dtype, out.dtype, params["precision"])
    if plan.work < SMALL or plan.depth < 4 or np.dtype(wide) not in BLAS_LETTER:
        return _lower_by_fold(b, args, out, plan, wide)
    in_space = plan.windows.count and not plan.by_images
    order = None
    if in_space:
        order = strips_order(b, plan.numbers.lhs_spec, plan.features, plan.windows, wide)
    if order is None and plan.features < 4:
        return _lower_by_fold(b, args, out, plan, wide)
    if order is not None or (in_space and plan.groups == 1):
        return _lower_by_blocks(b, args, out, plan, wide, order)
    return _lower_by_matrix(b, args, out, plan, wide)


class ConvPlan:
    """The sizes of a convolution, and its indices.

    groups: of channels or images; features: kernels of a group; channels: of one kernel; depth: the
    products of one sum.
    """

    def __init__(
        self,
        x: Shape,
        k: Shape,
        out: ShapedArray,
        params: dict[str, Any],
    ) -> None:
        """x, k: the operands' shapes."""
        self.numbers = n = params["dimension_numbers"]
        self.windows = conv_windows(x, k, params)
        self.channels_last = n.lhs_spec[1] == len(x) - 1
        self.by_images = params["batch_group_count"] > 1
        self.groups = params["batch_group_count"] * params["feature_group_count"]
        self.features = k[n.rhs_spec[0]] // self.groups
        self.channels = k[n.rhs_spec[1]]
        self.images = out.shape[n.out_spec[0]]
        self.spots = int(np.prod(self.windows.count, dtype=int))
        self.depth = self.channels * int(np.prod(self.windows.window, dtype=int))
        self.work = self.images * self.groups * self.features * self.spots * self.depth

    def image_index(
        self,
        b: Any,
        image: Any,
        feature: Any,
        channel: Any,
        space: list,
    ) -> list:
        """Return the index into the images for one product."""
        group = b.idiv(feature, self.features) if self.groups > 1 else 0
        if self.by_images:
            image = b.iadd(b.imul(group, self.images), image)
        else:
            channel = b.iadd(b.imul(group, self.channels), channel)
        return _placed(self.numbers.lhs_spec, (image, channel, *space))

    def image_element(self, b: Any, x: Any, of: tuple, window: tuple) -> Any:
        """Return an element of the images, 0 beyond their edges.

        of: image, feature and channel; window: which one, and the place in it.
        """
        image, feature, channel = of
        (place, nearest), inside = self.windows.place(b, *window)
        found = (
            self.image_index(b, image, feature, channel, place),
            self.image_index(b, image, feature, channel, nearest),
        )
        zero = b.const(0, x.dtype)
        return b.read_inside(x, inside, found, zero)

    def depth_shape(self) -> tuple[int, ...]:
        """Return the axes of one window's elements, in the order of the images' memory."""
        if self.channels_last:
            return (*self.windows.window, self.channels)
        return (self.channels, *self.windows.window)

    def split_depth(self, index: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
        """Return the channel and the place in the window of an element."""
        if self.channels_last:
            return index[-1], index[:-1]
        return index[0], index[1:]

    def kernel_index(self, feature: Any, channel: Any, inner: Sequence[Any]) -> list:
        """Return the index into the kernels for one product."""
        return _placed(self.numbers.rhs_spec, (feature, channel, *inner))


def _placed(spec: Shape, values: Sequence[Any]) -> list[Any]:
    """Return the index that has the canonical `values` at the axes of a layout."""
    index: list[Any] = [None] * len(spec)
    for axis, value in zip(spec, values, strict=True):
        index[axis] = value
    return index


def _lower_by_fold(b: Any, args: Sequence, out: ShapedArray, plan: ConvPlan, wide: Any) -> Any:
    """Return the result as sums that are computed where they are pulled."""
    x, k = args
    zero = b.const(0, wide)

    def pull(index: Sequence[Any]) -> Any:
        """Sum the products for one element."""
        image, feature, *spot = (index[axis] for axis in plan.numbers.out_spec)

        def element(inner: Sequence[Any]) -> Any:
            """Return one product."""
            channel, *offset = inner
            of, window = (image, feature, channel), (spot, offset)
            value = plan.image_element(b, x, of, window)
            kernel = k.at(*plan.kernel_index(feature, channel, offset))
            return b.mul(
                b.convert(value, wide),
                b.convert(kernel, wide),
            )

        extents = (plan.channels, *plan.windows.window)
        total = b.fold(extents, element, "add", zero, MOST_WRITTEN_OUT)
        return b.convert(total, out.dtype)

    return b.virtual(out, pull)


def _lower_by_blocks(
    b: Any, args: Sequence, out: ShapedArray, plan: ConvPlan, wide: Any, order: Shape | None
) -> Any:
    """Return the result as products of matrices, block by block, or in strips of an order."""
    (x, k), n, dtype = args, plan.numbers, np.dtype(wide)
    specs = (n.lhs_spec, n.rhs_spec)
    if order is not None:
        result = conv_in_strips(
            b,
            x,
            k,
            specs,
            plan.windows,
            order,
            dtype,
            plan.groups,
        )
    elif pays_in_sums(
        b,
        (plan.images, plan.features),
        specs,
        plan.windows,
        dtype,
    ):
        result, order = conv_in_sums(b, x, k, specs, plan.windows, dtype)
    else:
        result, order = conv_in_blocks(b, x, k, specs, plan.windows, dtype)
    axes = tuple(n.out_spec[role] for role in order)
    if axes == tuple(range(len(axes))) and result.dtype == out.dtype:
        return b.reshape(result, out)

    def pull(index: Sequence[Any]) -> Any:
        """Find an element of the result."""
        return b.convert(
            result.at(*(index[axis] for axis in axes)),
            out.dtype,
        )

    return b.virtual(out, pull)


def _lower_by_matrix(b: Any, args: Sequence, out: ShapedArray, plan: ConvPlan, wide: Any) -> Any:
    """Return the result as products of matrices: rows are windows, columns are kernels."""
    x, k = args
    x = b.stored(x)
    matrices = ShapedArray((plan.groups, plan.features, *plan.depth_shape()), wide)

    def kernel(index: Sequence[Any]) -> Any:
        """Return an element of the kernels as matrices (group, feature, depth)."""
        feature = b.iadd(
            b.imul(index[0], plan.features),
            index[1],
        )
        channel, offset = plan.split_depth(index[2:])
        return b.convert(k.at(*plan.kernel_index(feature, channel, offset)), wide)

    kernels = b.stored(b.virtual(matrices, kernel))
    size = plan.groups * plan.spots * plan.depth
    apart = plan.images if plan.images * size <= ROOM else 1
    places = (apart, plan.groups, *plan.windows.count)
    rows = b.buffer(ShapedArray((*places, *plan.depth_shape()), wide))
    result = b.buffer(
        ShapedArray(
            (plan.images, plan.groups, plan.spots, plan.features),
            wide,
        )
    )
    sizes = (plan.groups, plan.spots, plan.features, plan.depth)
    product = Product(b, rows, kernels, result, sizes, (False, True))

    def one_image(image: Any) -> None:
        """Lay out the windows of one image, and multiply."""
        own = image if apart > 1 else 0
        _lay_out(b, x, rows, plan, (image, own))

        def group(g: Any) -> None:
            """Multiply the windows of one group."""
            shift = b.iadd(b.imul(image, plan.groups), g)
            here = b.iadd(b.imul(own, plan.groups), g)
            product.of_rows((here, g, shift), 0, plan.spots)

        if plan.groups == 1:
            group(0)
        else:
            b.loop(plan.groups, group, independent=False)

    b.loop(plan.images, one_image, independent=apart > 1)
    return _in_layout(b, result, out, plan)


def _lay_out(b: Any, x: Any, rows: Any, plan: ConvPlan, images: tuple[Any, Any]) -> None:
    """Store the windows of an image as rows; images: its number in x, and in rows."""
    image, own = images
    n_places = len(plan.windows.count)

    def store(index: Sequence[Any]) -> None:
        """Store one element of a window."""
        group, place, depth = (
            index[0],
            index[1 : n_places + 1],
            index[n_places + 1 :],
        )
        channel, offset = plan.split_depth(depth)
        feature = b.imul(group, plan.features)
        of = (image, feature, channel)
        value = plan.image_element(b, x, of, (place, offset))
        b.store(rows, (own, *index), b.convert(value, rows.dtype))

    b.nest(rows.shape[1:], store)


def _in_layout(b: Any, result: Any, out: ShapedArray, plan: ConvPlan) -> Any:
    """Return the products (image, group, spot, feature) in the layout of the result."""
    spec = plan.numbers.out_spec
    last = len(spec) - 1
    if (
        plan.groups == 1
        and spec
        == (
            0,
            last,
            *range(1, last),
        )
        and result.dtype == out.dtype
    ):
        return b.reshape(result, out)

    def pull(index: Sequence[Any]) -> Any:
        """Find an element among the products."""
        image, feature, *spot = (index[axis] for axis in spec)
        group = b.idiv(feature, plan.features) if plan.groups > 1 else 0
        flat = b.flat_index(spot, plan.windows.count)
        element = result.at(image, group, flat, b.imod(feature, plan.features))
        return b.convert(element, out.dtype)

    return b.virtual(out, pull)
