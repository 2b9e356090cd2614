"""What convolutions that go block by block share: operands in order, padding, chunks of blocks.

Axes have *roles*: 0 images, or features of kernels; 1 channels; 2 and more space. A layout (`spec`)
says which axis of a value has a role, an `order` which role the axes in memory have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapeless.core.aval import ShapedArray
from tapeless.prims.window import Windows, dilated

__all__ = ["arranged", "chunks_of", "in_chunks", "interleaved", "padded"]

CHUNKS = 16

Spec = Sequence[int]


def arranged(b: Any, value: Any, spec: Spec, order: Spec, dtype: Any) -> Any:
    """Return a value in memory with its axes in an order of ours: itself if it is so."""
    axes = tuple(spec[role] for role in order)
    if axes == tuple(range(len(axes))) and value.dtype == dtype:
        return b.stored(value)
    aval = ShapedArray(tuple(value.shape[axis] for axis in axes), dtype)

    def pull(index: Sequence[Any]) -> Any:
        """Return an element."""
        place = [index[axes.index(axis)] for axis in range(len(axes))]
        return b.convert(value.at(*place), dtype)

    return b.stored(b.virtual(aval, pull))


def padded(b: Any, value: Any, spec: Spec, order: Spec, windows: Windows, dtype: Any) -> Any:
    """Return images in order, with their padding and holes."""
    if all(
        pair
        == (
            0,
            0,
        )
        for pair in windows.padding
    ) and set(windows.base) <= {1}:
        return arranged(b, value, spec, order, dtype)
    space = [
        _room(*sizes) for sizes in zip(windows.shape, windows.base, windows.padding, strict=True)
    ]
    images, channels = value.shape[spec[0]], value.shape[spec[1]]
    whole = [images, channels, *(room[0] for room in space)]
    copied = [images, channels, *(room[2] for room in space)]
    target = b.buffer(ShapedArray(tuple(whole[role] for role in order), dtype))
    b.assign(target, b.constant(0, target.aval))

    def store(index: Sequence[Any]) -> None:
        """Copy one element."""
        place = dict(zip(order, index, strict=True))
        to = dict(place)
        source: list[Any] = [None] * len(spec)
        for role, axis in enumerate(spec):
            source[axis] = place[role]
            if role >= 2:
                base, low = windows.base[role - 2], windows.padding[role - 2][0]
                source[axis] = b.iadd(place[role], space[role - 2][1])
                to[role] = b.iadd(b.imul(source[axis], base), low)
        element = b.convert(value.at(*source), dtype)
        b.store(target, [to[role] for role in order], element)

    if min(copied) > 0:
        b.nest([copied[role] for role in order], store)
    return target


def _room(
    extent: int,
    base: int,
    padding: tuple[int, int],
) -> tuple[int, int, int]:
    """Return the extent of an axis with padding and holes, and which elements are in it.

    -> (extent, first element, number of elements); negative padding cuts elements off.
    """
    low, high = padding
    whole = max(0, dilated(extent, base) + low + high)
    first = max(0, -(low // base))
    end = min(extent, -((low - whole) // base))
    return whole, first, max(0, end - first)


def chunks_of(n_units: int) -> tuple[int, int]:
    """Return how many chunks some units are shared among, and how many each has at most."""
    per_chunk = -(-n_units // CHUNKS)
    return -(-n_units // per_chunk), per_chunk


def in_chunks(
    b: Any,
    n_units: int,
    chunks: int,
    per_chunk: int,
    body: Callable[
        [
            Any,
            Any,
        ],
        None,
    ],
) -> None:
    """Run `body(chunk, unit)` for all units: those of a chunk in order, chunks in any order."""

    def chunk(c: Any) -> None:
        """Run the units of one chunk."""

        def unit(j: Any) -> None:
            """Run one unit, if it exists."""
            number = b.iadd(b.imul(c, per_chunk), j)
            if chunks * per_chunk == n_units:
                body(c, number)
            else:
                b.when(b.lt(number, n_units), lambda: body(c, number))

        b.loop(per_chunk, unit, independent=False)

    b.loop(chunks, chunk)


def interleaved(b: Any, parts: Any, extent: int) -> Any:
    """Return the parts of each row element by element in turns.

    parts: (..., n_parts, m) -> (..., extent), with extent <= n_parts m
    """
    *outer, n_parts, _ = parts.shape
    out = b.buffer(ShapedArray((*outer, extent), parts.dtype))

    def run(first: int, count: int, width: int) -> None:
        """Store `count` elements of `width` parts."""

        def store(index: Sequence[Any]) -> None:
            """Store an element."""
            *row, place, part = index
            place = b.iadd(place, first)
            value = parts.at(*row, part, place)
            b.store(out, (*row, b.iadd(b.imul(place, n_parts), part)), value)

        b.nest((*outer, count, width), store)

    run(0, extent // n_parts, n_parts)
    if extent % n_parts:
        run(extent // n_parts, 1, extent % n_parts)
    return out
