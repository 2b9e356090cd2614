"""Large convolutions as products of matrices, block by block.

A convolution is a contraction of the *patches* of the images with the kernels:

    patches[n, i, j; c, p, q] = x[n, c, i s + p d, j s + q d],   y = patches . kernels

All patches together are larger than the images, as many times as a window has elements, so they
are laid out in blocks that stay in the cache, and each block is multiplied by BLAS. The images are
first copied to an array with their padding and their holes, so that the patches are plain copies
of contiguous runs; where there is neither, the images themselves are read.

Which axis is cut into blocks follows from the sizes. With small windows it is the first axis of
places: a block of results is a product of its own. With windows larger than the number of places,
as in the gradient by the kernels, it is the first axis of the window: then the products of blocks
are added up. Blocks go in *chunks*, which run in parallel, each with its own memory.

How a block lies in memory follows from what is innermost in the images:

    cut          innermost     patches              kernels       result
    places       channels      (i j, p q c)         (p q c, o)    (n, i j, o)
    places       space         (c p q, i j)         (o, c p q)    (n, o, i j)
    windows      space         (n i j, p q)         (c, o, p q)   (o, n i j)
    windows      images        (p q, i j n)         (c, p q, o)   (i j n, o)

In the common layouts neither kernels nor results, nor the images that have no padding, are moved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapeless.core.aval import ShapedArray
from tapeless.prims.blas import Multiply
from tapeless.prims.convoperands import arranged, chunks_of, in_chunks, padded
from tapeless.prims.window import Windows

__all__ = ["conv_in_blocks"]

BLOCK = 1 << 18  # bytes of patches, which stay in the cache
FEWEST_PLACES = 96  # of a block, since each reads all kernels

Spec = Sequence[int]


def conv_in_blocks(
    b: Any, images: Any, kernels: Any, specs: tuple[Spec, Spec], windows: Windows, dtype: Any
) -> tuple[Any, tuple[int, ...]]:
    """Return the result, of `dtype`, and the order of its axes: 0 images, 1 features, 2... places.

    specs: the axes of the images (image, channel, space) and of the kernels (feature, channel,
    space).
    """
    return _Blocks(b, images, kernels, specs, windows, dtype).result()


class _Blocks:
    """One convolution; see the module's docstring."""

    def __init__(
        self,
        b: Any,
        images: Any,
        kernels: Any,
        specs: tuple[Spec, Spec],
        windows: Windows,
        dtype: Any,
    ) -> None:
        """Choose what is cut, and put images and kernels in order."""
        self.b, self.windows, self.dtype = b, windows, dtype
        x_spec, k_spec = specs
        last = len(images.shape) - 1
        self.n_images, self.n_channels = (images.shape[axis] for axis in x_spec[:2])
        self.n_features = kernels.shape[k_spec[0]]
        self.n_places, self.n_window = math.prod(windows.count), math.prod(windows.window)
        self.cut_places = self.n_places >= self.n_window
        self.space_last = last in x_spec[2:]
        space = tuple(range(2, last + 1))
        if self.cut_places:
            self.order = (0, 1, *space) if self.space_last else (0, *space, 1)
            k_order = (0, 1, *space) if self.space_last else (*space, 1, 0)
        else:
            self.order = (0, 1, *space) if self.space_last else (1, *space, 0)
            k_order = (1, 0, *space) if self.space_last else (1, *space, 0)
        self.images = padded(b, images, x_spec, self.order, windows, dtype)
        self.kernels = arranged(b, kernels, k_spec, k_order, dtype)
        self.multiply = Multiply(b, dtype)

    def element(
        self,
        image: Any,
        channel: Any,
        place: Sequence[Any],
        inner: Sequence[Any],
    ) -> Any:
        """Return an element of the patches."""
        b, windows = self.b, self.windows
        where = [image, channel]
        steps = zip(place, inner, windows.strides, windows.steps, strict=True)
        where += [
            b.iadd(
                b.imul(i, s),
                b.imul(k, d),
            )
            for i, k, s, d in steps
        ]
        return self.images.at(*(where[role] for role in self.order))

    # Blocks

    def result(self) -> tuple[Any, tuple[int, ...]]:
        """Return the result and the order of its axes."""
        space = tuple(range(2, len(self.windows.count) + 2))
        if self.cut_places:
            order = (0, 1, *space) if self.space_last else (0, *space, 1)
            return self.by_places(order), order
        order = (1, 0, *space) if self.space_last else (*space, 0, 1)
        return self.by_windows(order), order

    def aval(self, order: Spec, *more: int) -> ShapedArray:
        """Return the type of the result, or of `more` of them."""
        sizes = (self.n_images, self.n_features, *self.windows.count)
        return ShapedArray((*more, *(sizes[role] for role in order)), self.dtype)

    def by_places(self, order: Spec) -> Any:
        """Multiply blocks of places."""
        b, (extent, *rest) = self.b, self.windows.count
        out = b.buffer(self.aval(order))
        depth, width = self.n_channels * self.n_window, math.prod(rest)
        fewest = -(-FEWEST_PLACES // width)
        rows = _block_rows(extent, width * depth * self.dtype.itemsize, fewest)
        n_blocks = extent // rows

        def run(first: int, rows: int, n_blocks: int) -> None:
            """Compute some blocks of each image, from the place `first` on."""
            chunks, per_chunk = chunks_of(self.n_images * n_blocks)
            patches = b.buffer(self.places_aval(chunks, rows))

            def one(chunk: Any, number: Any) -> None:
                """Compute one block."""
                image = b.idiv(number, n_blocks)
                start = b.iadd(b.imul(b.imod(number, n_blocks), rows), first)
                self.lay_out_places(patches, chunk, image, start)
                self.multiply_places(patches, chunk, out, (image, start), (rows, width, depth))

            in_chunks(b, self.n_images * n_blocks, chunks, per_chunk, one)

        run(0, rows, n_blocks)
        if extent % rows:
            run(extent - extent % rows, extent % rows, 1)
        return out

    def places_aval(self, chunks: int, rows: int) -> ShapedArray:
        """Return the type of the patches of a block of places, for each chunk."""
        places, window = (rows, *self.windows.count[1:]), self.windows.window
        if self.space_last:
            return ShapedArray((chunks, self.n_channels, *window, *places), self.dtype)
        return ShapedArray((chunks, *places, *window, self.n_channels), self.dtype)

    def lay_out_places(
        self,
        patches: Any,
        chunk: Any,
        image: Any,
        start: Any,
    ) -> None:
        """Store the patches of a block of places."""
        b, rank = self.b, len(self.windows.count)

        def store(index: Sequence[Any]) -> None:
            """Store one element."""
            if self.space_last:
                channel, inner, place = index[0], index[1 : rank + 1], index[rank + 1 :]
            else:
                place, inner, channel = index[:rank], index[rank:-1], index[-1]
            place = (b.iadd(place[0], start), *place[1:])
            b.store(
                patches,
                (chunk, *index),
                self.element(image, channel, place, inner),
            )

        b.nest(patches.shape[1:], store)

    def multiply_places(
        self, patches: Any, chunk: Any, out: Any, where: tuple[Any, Any], sizes: Sequence[int]
    ) -> None:
        """Multiply the patches of a block of places with the kernels."""
        b, (image, start), (rows, width, depth) = self.b, where, sizes
        features, n = self.n_features, rows * width
        base = b.imul(image, self.n_places * features)
        mine = b.imul(chunk, n * depth)
        if self.space_last:
            place = b.iadd(base, b.imul(start, width))
            left, right = (self.kernels, 0, depth, False), (patches, mine, n, False)
            target = (out, place, self.n_places, False)
            self.multiply.matrices((features, n, depth), left, right, target)
        else:
            place = b.iadd(base, b.imul(start, width * features))
            left, right = (patches, mine, depth, False), (self.kernels, 0, features, False)
            self.multiply.matrices(
                (n, features, depth),
                left,
                right,
                (out, place, features, False),
            )

    def by_windows(self, order: Spec) -> Any:
        """Add up the products of blocks of windows."""
        b, (extent, *rest) = self.b, self.windows.window
        n, width = self.n_images * self.n_places, math.prod(rest)
        rows = _block_rows(extent, width * n * self.dtype.itemsize, 1)
        n_blocks, more = divmod(extent, rows)
        chunks, _ = chunks_of(self.n_channels * n_blocks)
        sums = b.buffer(self.aval(order, chunks))
        b.assign(sums, b.constant(0, sums.aval))

        def run(first: int, rows: int, n_blocks: int) -> None:
            """Add some blocks of each channel, from the element `first` of the window on."""
            n_units = self.n_channels * n_blocks
            per_chunk = -(-n_units // chunks)
            patches = b.buffer(self.windows_aval(chunks, rows))

            def one(chunk: Any, number: Any) -> None:
                """Add one block."""
                channel = b.idiv(number, n_blocks)
                start = b.iadd(b.imul(b.imod(number, n_blocks), rows), first)
                self.lay_out_windows(patches, chunk, channel, start)
                self.multiply_windows(
                    patches,
                    chunk,
                    sums,
                    (channel, start),
                    (rows, width, n),
                )

            in_chunks(b, n_units, chunks, per_chunk, one)

        run(0, rows, n_blocks)
        if more:
            run(extent - more, more, 1)
        zero = b.const(0, self.dtype)

        def pull(index: Sequence[Any]) -> Any:
            """Add up what the chunks have."""
            return b.fold(
                (chunks,),
                lambda i: sums.at(i[0], *index),
                "add",
                zero,
            )

        return b.virtual(self.aval(order), pull)

    def windows_aval(self, chunks: int, rows: int) -> ShapedArray:
        """Return the type of the patches of a block of windows, for each chunk."""
        count, window = self.windows.count, (rows, *self.windows.window[1:])
        if self.space_last:
            return ShapedArray((chunks, self.n_images, *count, *window), self.dtype)
        return ShapedArray((chunks, *window, *count, self.n_images), self.dtype)

    def lay_out_windows(
        self,
        patches: Any,
        chunk: Any,
        channel: Any,
        start: Any,
    ) -> None:
        """Store the patches of a block of windows."""
        b, rank = self.b, len(self.windows.count)

        def store(index: Sequence[Any]) -> None:
            """Store one element."""
            if self.space_last:
                image, place, inner = index[0], index[1 : rank + 1], index[rank + 1 :]
            else:
                inner, place, image = index[:rank], index[rank:-1], index[-1]
            inner = (b.iadd(inner[0], start), *inner[1:])
            b.store(
                patches,
                (chunk, *index),
                self.element(image, channel, place, inner),
            )

        b.nest(patches.shape[1:], store)

    def multiply_windows(
        self, patches: Any, chunk: Any, sums: Any, where: tuple[Any, Any], sizes: Sequence[int]
    ) -> None:
        """Multiply the patches of a block of windows with their part of the kernels."""
        b, (channel, start), (rows, width, n) = self.b, where, sizes
        features, k = self.n_features, rows * width
        base = b.imul(channel, self.n_window * features)
        mine, target = (
            b.imul(chunk, n * k),
            b.imul(
                chunk,
                n * features,
            ),
        )
        if self.space_last:
            place = b.iadd(base, b.imul(start, width))
            left, right = (self.kernels, place, self.n_window, False), (patches, mine, k, True)
            self.multiply.matrices(
                (features, n, k),
                left,
                right,
                (sums, target, n, False),
                True,
            )
        else:
            place = b.iadd(base, b.imul(start, width * features))
            left, right = (patches, mine, n, True), (self.kernels, place, features, False)
            result = (sums, target, features, False)
            self.multiply.matrices((n, features, k), left, right, result, True)


def _block_rows(extent: int, row_bytes: int, fewest: int) -> int:
    """Return how many rows form a block: as many as fit, and blocks of about the same size."""
    rows = min(extent, max(1, fewest, BLOCK // max(row_bytes, 1)))
    return -(-extent // -(-extent // rows))
