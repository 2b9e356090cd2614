"""Convolutions with windows larger than the result: gradients by kernels, space innermost.

    out[m, o, p, q] = sum over c, i, j of x[c, m, p s + i d, q s + j d] k[o, c, i, j]

The places p, q are few, and the elements i, j of a window many. So sums are *strips*
(`kernel/strips.py`) of some images m and features o, whose terms are rows of a window:

    for each unit, some rows i of a channel c        units are shared among chunks
        for each panel of features                   lay it out: (i, j, features)
            for each strip, for each place p, q      add up the products

A panel stays in the first caches, what a unit reads of the images in the second. Each chunk has
sums of its own, which are added up at the end: how many there are depends on the sizes alone.
Images that fill no strip are one of fewer rows; features that fill no panel repeat the last one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless.core.aval import ShapedArray
from tapeless.kernel.strips import Strip, best_shape, merged
from tapeless.prims.convoperands import CHUNKS, in_chunks, padded
from tapeless.prims.window import Windows

__all__ = ["conv_in_sums", "pays_in_sums"]

PANEL = 1 << 15  # bytes of a panel, which stays near the first cache
BLOCK = 1 << 19  # bytes of what a unit reads of the images, which stays in the second
MOST_SUMS = 1 << 24  # bytes of the sums of all chunks
FEWEST_IMAGES = 4
FEWEST_FEATURES = 8

Spec = Sequence[int]


def pays_in_sums(
    b: Any,
    sizes: tuple[int, int],
    specs: tuple[Spec, Spec],
    windows: Windows,
    dtype: Any,
) -> bool:
    """Tell whether a convolution of one group is one of this kind.

    sizes: images and features; specs: the axes of the images (image, channel, space) and of the
    kernels (feature, channel, space).
    """
    last = len(specs[0]) - 1
    if b.registers is None or np.dtype(dtype).kind != "f" or max(windows.base) > 1:
        return False
    if math.prod(windows.count) >= math.prod(windows.window):
        return False
    is_in_space = all(last in spec[2:] for spec in specs)
    return is_in_space and sizes[0] >= FEWEST_IMAGES and sizes[1] >= FEWEST_FEATURES


def conv_in_sums(
    b: Any,
    images: Any,
    kernels: Any,
    specs: tuple[Spec, Spec],
    windows: Windows,
    dtype: Any,
) -> tuple[Any, tuple[int, ...]]:
    """Return the result, of `dtype`, and the order of its axes: 0 images, 1 features, 2... places.

    specs: as of `pays_in_sums`.
    """
    return _Sums(b, images, kernels, specs, windows, np.dtype(dtype)).result()


class _Sums:
    """One convolution; see the module's docstring."""

    def __init__(
        self,
        b: Any,
        images: Any,
        kernels: Any,
        specs: tuple[Spec, Spec],
        windows: Windows,
        dtype: np.dtype,
    ) -> None:
        """Choose the sizes, and put the images in order."""
        self.b, self.windows, self.dtype = b, windows, dtype
        self.kernels, self.k_spec = b.stored(kernels), specs[1]
        self.n_images, self.n_channels = (images.shape[axis] for axis in specs[0][:2])
        self.n_features = kernels.shape[self.k_spec[0]]
        order = tuple(specs[0].index(axis) for axis in range(len(specs[0])))
        self.images = padded(b, images, specs[0], order, windows, dtype)
        shape = self.images.shape
        self.pitches = [
            math.prod(shape[order.index(role) + 1 :])
            for role in range(
                len(order),
            )
        ]
        lanes = b.registers.bytes // dtype.itemsize
        self.shape = best_shape(
            self.n_images,
            self.n_features,
            lanes,
            b.registers.count,
        )
        self.height, self.width = (
            self.shape[0],
            self.shape[1] * self.shape[2],
        )
        self.panels = -(-self.n_features // self.width)
        self.choose_rows()

    def choose_rows(self) -> None:
        """Choose the rows of a window that a unit has, and the chunks."""
        extent, *rest = self.windows.window
        size = self.dtype.itemsize
        row = math.prod(rest) * self.width * size
        read = self.n_images * self.pitches[2] * size
        rows = min(extent, max(1, min(PANEL // row, BLOCK // read)))
        self.rows = -(-extent // -(-extent // rows))
        self.n_units = self.n_channels * (extent // self.rows)
        sums = math.prod(self.sums_shape(1)) * size
        chunks = max(1, min(CHUNKS, MOST_SUMS // sums, self.n_units))
        self.per_chunk = -(-self.n_units // chunks)
        self.chunks = -(-self.n_units // self.per_chunk)

    def sums_shape(self, chunks: int) -> tuple[int, ...]:
        """Return the shape of the sums of all chunks."""
        return (
            chunks,
            *self.windows.count,
            self.n_images,
            self.panels * self.width,
        )

    def strip(self, rows: int, height: int) -> Strip:
        """Return the strip of some images whose terms are some rows of a window."""
        window = (rows, *self.windows.window[1:])
        levels = []
        y_step = self.width * math.prod(window)
        steps = zip(window, self.windows.steps, self.pitches[2:], strict=True)
        for extent, step, pitch in steps:
            y_step //= extent
            levels.append((extent, step * pitch, y_step))
        out_step = self.panels * self.width
        sizes = (height, *self.shape[1:], self.pitches[0], out_step)
        return Strip(self.dtype, *sizes, merged(levels), adds=True)

    def result(self) -> tuple[Any, tuple[int, ...]]:
        """Return the result and the order of its axes."""
        b, rank = self.b, len(self.windows.count)
        sums = b.buffer(ShapedArray(self.sums_shape(self.chunks), self.dtype))
        b.assign(sums, b.constant(0, sums.aval))
        extent = self.windows.window[0]
        whole = extent - extent % self.rows
        self.run(sums, 0, self.rows, self.n_units)
        if whole < extent:
            self.run(sums, whole, extent - whole, self.n_channels)
        zero = b.const(0, self.dtype)

        def pull(index: Sequence[Any]) -> Any:
            """Add up what the chunks have."""
            return b.fold((self.chunks,), lambda i: sums.at(i[0], *index), "add", zero)

        total = sums
        if self.chunks > 1:
            total = b.stored(b.virtual(ShapedArray(sums.shape[1:], self.dtype), pull))
        total = b.reshape(total, ShapedArray(sums.shape[1:], self.dtype))
        shape = (*self.windows.count, self.n_images, self.n_features)
        order = (*range(2, rank + 2), 0, 1)
        return b.virtual(ShapedArray(shape, self.dtype), lambda index: total.at(*index)), order

    def run(self, sums: Any, first: int, rows: int, n_units: int) -> None:
        """Add up units of so many rows, from row `first` of the window on."""
        b, per_channel = self.b, n_units // self.n_channels
        per_chunk = -(-n_units // self.chunks)
        terms = math.prod((rows, *self.windows.window[1:]))
        panel = b.buffer(ShapedArray((self.chunks, terms, self.width), self.dtype))

        def one(chunk: Any, number: Any) -> None:
            """Add up one unit."""
            channel = b.idiv(number, per_channel)
            row = b.iadd(b.imul(b.imod(number, per_channel), rows), first)

            def features(index: Sequence[Any]) -> None:
                """Add up what a panel of features has."""
                self.lay_out(panel, (chunk, index[0]), (channel, row), rows)
                self.multiply((panel, sums), (chunk, index[0]), (channel, row), rows)

            b.loop(self.panels, lambda i: features((i,)), independent=False)

        in_chunks(b, n_units, self.chunks, per_chunk, one)

    def lay_out(
        self,
        panel: Any,
        where: tuple[Any, Any],
        part: tuple[Any, Any],
        rows: int,
    ) -> None:
        """Store a panel of features: their elements of some rows of a channel."""
        b, (chunk, number), (channel, row) = self.b, where, part
        window = (rows, *self.windows.window[1:])
        start = b.imul(number, self.width)
        last = self.n_features - 1
        is_whole = self.n_features % self.width == 0

        def store(index: Sequence[Any]) -> None:
            """Store one element."""
            *inner, feature = index
            source = b.iadd(start, feature)
            place: list[Any] = [None] * len(self.k_spec)
            values = (
                source if is_whole else b.min(source, last),
                channel,
                b.iadd(inner[0], row),
                *inner[1:],
            )
            for axis, value in zip(self.k_spec, values, strict=True):
                place[axis] = value
            element = b.convert(self.kernels.at(*place), self.dtype)
            b.store(
                panel,
                (chunk, b.flat_index(inner, window), feature),
                element,
            )

        b.nest((*window, self.width), store)

    def multiply(
        self,
        memory: tuple[Any, Any],
        where: tuple[Any, Any],
        part: tuple[Any, Any],
        rows: int,
    ) -> None:
        """Add the products of a panel to the sums of its features, place by place."""
        b, (panel, sums), (chunk, number), (channel, row) = (
            self.b,
            memory,
            where,
            part,
        )
        base = b.imul(channel, self.pitches[1])
        base = b.iadd(base, b.imul(row, self.windows.steps[0] * self.pitches[2]))
        shape = sums.shape[1:]
        block = b.imul(chunk, math.prod(shape))
        factor = b.imul(chunk, math.prod(panel.shape[1:]))
        column = b.imul(number, self.width)

        def one(place: Sequence[Any], image: Any, height: int) -> None:
            """Add up one strip."""
            x = b.iadd(base, b.imul(image, self.pitches[0]))
            for i, stride, pitch in zip(place, self.windows.strides, self.pitches[2:], strict=True):
                x = b.iadd(x, b.imul(i, stride * pitch))
            out = b.iadd(block, b.flat_index((*place, image, column), shape))
            factors = ((self.images, x), (panel, factor))
            reads = (self.images, panel, sums)
            symbol = self.strip(rows, height).symbol
            b.call(symbol, (*factors, (sums, out)), reads=reads, writes=(sums,))

        def places(image: Any, height: int) -> None:
            """Add up the strips of some images, which stay in the first cache."""
            b.nest(self.windows.count, lambda place: one(place, image, height))

        whole, rest = divmod(self.n_images, self.height)
        b.nest(
            (whole,),
            lambda i: places(b.imul(i[0], self.height), self.height),
        )
        if rest:
            places(whole * self.height, rest)
