"""Convolutions with sums in registers and without patches.

    out[n, i, j, o] = sum over p, q, c of x[n, i s + p d, j s + q d, c] k[p, q, c, o]

For places j next to each other and features o, this is a *strip* (`kernel/strips.py`): what a term
reads of the images is as far from place to place as the stride says, wherever the window begins. So
no patch is laid out: a routine reads the images where they are. What is innermost in the images
decides which factor is a vector:

    innermost     rows of a strip     vectors      its factors x, y
    channels      places              features     images, kernels (panel, p q c, o)
    space         features            places       kernels (panel, c p q, o), images

So few features as fill no vector, of images with channels innermost, are computed with space there.
The features are cut into panels, of as many as a strip has, and groups are a loop around.

The images are cut into blocks along the first axis of space. If they are to be padded, converted or
transposed, the *room* that a block reads is copied first, to memory that stays in the cache. Strips
and blocks at an end overlap those before them, so that all have one size.

Images with holes, as a transposed convolution has them, are several convolutions without, one for
each phase (`convholes.py`). Where space is innermost, the phases of a row are vectors, stored one
after the other, and then element by element in turns.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless.core.aval import ShapedArray
from tapeless.kernel.strips import Strip, best_shape, merged, strip_work
from tapeless.prims.convholes import (
    Phase,
    is_phased,
    joined_kernels,
    joined_windows,
    phases_of,
    tapped,
)
from tapeless.prims.convoperands import arranged, chunks_of, in_chunks, interleaved
from tapeless.prims.window import Windows, dilated

__all__ = ["conv_in_strips", "strips_order"]

BLOCK = 1 << 18  # bytes of an image that a block reads, which stay in the cache
FEWEST_UNITS = 8  # blocks of all images, for several cores
FEWEST_PLACES = 4  # next to each other, as rows
FEWEST_LANES = 8  # of features
MOST_WASTE = 1.3  # times the work
MOST_TAPS = 8  # of a row of a window, which are written out
MOST_HALVES = 128  # features, by strides and vectors of fewer lanes; beyond, patches pay for BLAS

Spec = Sequence[int]


def strips_order(
    b: Any,
    x_spec: Spec,
    features: int,
    windows: Windows,
    dtype: Any,
) -> tuple[int, ...] | None:
    """Return the order of the axes of a convolution that strips are good at, or None.

    features: those of a group; -> 0 images, 1 channels, 2... space, as the strips read images.
    """
    if b.registers is None or np.dtype(dtype).kind != "f" or not is_phased(windows):
        return None
    if math.prod(windows.count) < math.prod(windows.window) or x_spec[0] == len(x_spec) - 1:
        return None
    space = tuple(range(2, len(x_spec)))
    if x_spec[1] == len(x_spec) - 1 and features >= FEWEST_LANES:
        return (0, *space, 1) if windows.count[-1] >= FEWEST_PLACES else None
    lanes, _ = _registers(b, dtype)
    places = -(-windows.count[-1] // windows.base[-1])
    whole = -(-places // lanes) * lanes
    waste = MOST_WASTE * math.prod(windows.base)
    fits = windows.strides[-1] == 1 or (
        len(space) > 1
        and windows.strides[-1] < windows.window[-1] <= MOST_TAPS
        and (places >= lanes or features <= MOST_HALVES)
    )
    return (0, 1, *space) if fits and whole <= waste * places else None


def _registers(b: Any, dtype: Any) -> tuple[int, int]:
    """Return the lanes of a register, and how many registers there are."""
    return b.registers.bytes // np.dtype(dtype).itemsize, b.registers.count


def conv_in_strips(
    b: Any,
    images: Any,
    kernels: Any,
    specs: tuple[Spec, Spec],
    windows: Windows,
    order: Spec,
    dtype: Any,
    groups: int = 1,
) -> Any:
    """Return the result, of `dtype`, its axes in an order: 0 images, 1 features, 2... places.

    specs: the axes of the images (image, channel, space) and of the kernels (feature, channel,
    space); order: what `strips_order` returns; groups: of channels, each of which has kernels of
    its own.
    """
    axes = [phases_of(windows, axis) for axis in range(len(windows.count))]
    apart = windows.base[-1] if order[1] == 1 else 1
    length = -(-windows.count[-1] // apart)
    if apart > 1 and groups == 1:
        joined = _joined(b, images, kernels, specs, (windows, axes[-1]), order, dtype)
        if joined is not None:
            return joined
    if apart > 1:
        axes[-1] = [phase.alone(length) for phase in axes[-1]]
    sizes = (
        images.shape[specs[0][0]],
        kernels.shape[specs[1][0]],
        *windows.count[:-1],
        apart * length,
    )
    shape = tuple(sizes[role] for role in order)
    out = b.buffer(ShapedArray(shape, np.dtype(dtype)))
    if not all(phase.taps for axis in axes for phase in axis):
        b.assign(out, b.constant(0, out.aval))
    if order[1] == 1 and math.prod(map(len, axes)) > 1:
        images = arranged(
            b,
            images,
            specs[0],
            order,
            dtype,
        )
        specs = order, specs[1]
    for phases in itertools.product(*axes):
        if all(phase.taps for phase in phases):
            part = tapped(b, kernels, specs[1], phases)
            _Strips(
                b,
                images,
                part,
                specs,
                (windows, phases),
                (order, groups),
                out,
            ).run()
    if apart == 1:
        return out
    parts = ShapedArray((*shape[:-1], apart, length), out.dtype)
    return interleaved(b, b.reshape(out, parts), windows.count[-1])


def _joined(
    b: Any,
    images: Any,
    kernels: Any,
    specs: tuple[Spec, Spec],
    places: tuple[Windows, Sequence[Phase]],
    order: Spec,
    dtype: Any,
) -> Any:
    """Return the result with the phases of the last axis as features, or None if that takes longer.

    places: the windows, and the phases; the rest is as of `conv_in_strips`.
    """
    (windows, phases), features = places, kernels.shape[specs[1][0]]
    apart, registers = len(phases), _registers(b, dtype)
    if not all(phase.taps and phase.tap_step == 1 for phase in phases):
        return None
    whole = joined_windows(windows, phases)
    work = strip_work(features * apart, whole.count[-1], *registers)
    work *= whole.window[-1]
    alone = [len(phase.taps) * strip_work(features, phase.count, *registers) for phase in phases]
    if len(phases) < windows.base[-1] or work >= sum(alone):
        return None
    kernels = joined_kernels(b, kernels, specs[1], phases)
    out = conv_in_strips(
        b,
        images,
        kernels,
        specs,
        whole,
        order,
        dtype,
    )
    shape = (out.shape[0], features, *out.shape[2:-1], apart, out.shape[-1])

    def pull(index: Sequence[Any]) -> Any:
        """Return an element of a phase."""
        image, feature, *space, part, place = index
        return out.at(image, b.iadd(b.imul(feature, apart), part), *space, place)

    return interleaved(b, b.virtual(ShapedArray(shape, out.dtype), pull), windows.count[-1])


class _Strips:
    """One convolution without holes; see the module's docstring.

    order: the roles of the axes in memory, 0 images, 1 channels or features, 2... space; channels,
    features: those of a group; window, steps: sizes of the window, and how far its elements are
    apart; low, extents: the padding before, and the size, of the axes of space; room: what a block
    reads of them; pitches: how far apart neighbours along an axis are, by its role.
    """

    def __init__(
        self,
        b: Any,
        images: Any,
        kernels: Any,
        specs: tuple[Spec, Spec],
        places: tuple[Windows, Sequence[Phase]],
        layout: tuple[Spec, int],
        out: Any,
    ) -> None:
        """Choose the sizes, and put images and kernels in order.  layout: order and groups."""
        self.b, self.out, self.dtype, self.spec = b, out, out.dtype, specs[0]
        windows, self.phases = places
        space = tuple(range(2, len(self.spec)))
        self.order, groups = layout
        self.channels_last, order = self.order[1] != 1, self.order
        self.n_images, self.all_channels = (images.shape[axis] for axis in self.spec[:2])
        self.groups, self.channels = groups, self.all_channels // groups
        self.features = kernels.shape[specs[1][0]] // groups
        self.strides = [
            stride if base == 1 else 1
            for stride, base in zip(windows.strides, windows.base, strict=True)
        ]
        self.window = [len(phase.taps) for phase in self.phases]
        self.steps = [phase.tap_step for phase in self.phases]
        self.count = [phase.count for phase in self.phases]
        self.low, self.extents = [phase.low for phase in self.phases], windows.shape
        self.apart = 1 if self.channels_last else self.strides[-1]
        self.moves = [*self.strides[:-1], self.strides[-1] // self.apart]
        in_order = tuple(self.spec[role] for role in order) == tuple(range(len(order)))
        in_place = all(
            map(
                self.is_inside,
                range(len(space)),
            )
        ) and not any(self.low)
        is_plain = in_place and in_order and self.apart == 1
        self.is_copied = not (is_plain and images.dtype == self.dtype)
        self.images = images if self.is_copied else b.stored(images)
        self.choose_blocks()
        self.strip = self.chosen_strip()
        self.kernels = self.cut(kernels, specs[1])

    # Sizes

    def is_inside(self, axis: int) -> bool:
        """Tell whether no place along an axis of space needs padding."""
        low = self.low[axis]
        return (
            low <= 0
            and self.span(
                axis,
                self.count[axis],
            )
            - low
            <= self.extents[axis]
        )

    def sizes(self, first: int, space: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of images in our order."""
        sizes = (first, self.all_channels, *space)
        return tuple(sizes[role] for role in self.order)

    def choose_blocks(self) -> None:
        """Choose the shape of strips, and the blocks."""
        count, registers = self.count, _registers(self.b, self.dtype)
        if self.channels_last:
            height, lanes, vectors = best_shape(count[-1], self.features, *registers, True)
            self.along = height
            self.across = width = min(lanes * vectors, self.features)
        else:
            height, lanes, vectors = best_shape(self.features, count[-1], *registers, True)
            self.along = width = min(lanes * vectors, count[-1])
            self.across = height
        self.shape, self.overlap = (height, lanes, vectors), lanes * vectors - width
        self.room = [self.span(axis, size) for axis, size in enumerate(count)]
        self.room[-1] = -(-self.room[-1] // self.apart) * self.apart
        sizes = self.room if self.is_copied else self.extents
        row_bytes = self.dtype.itemsize * self.all_channels * math.prod(sizes[1:])
        row_bytes *= self.strides[0]
        unit = self.along if len(count) == 1 else 1
        n_blocks = -(-count[0] // max(1, BLOCK // row_bytes))
        n_blocks = max(
            n_blocks,
            min(-(-FEWEST_UNITS // self.n_images), count[0] // (4 * unit)),
        )
        self.rows = min(
            count[0],
            -(-count[0] // (n_blocks * unit)) * unit,
        )
        self.n_blocks = -(-count[0] // self.rows)
        self.places = [self.rows, *count[1:]]
        self.room[0] = self.span(0, self.rows)

    def span(self, axis: int, count: int) -> int:
        """Return how much of an axis is read for so many places."""
        return (count - 1) * self.strides[axis] + dilated(
            self.window[axis],
            self.steps[axis],
        )

    def chosen_strip(self) -> Strip:
        """Return the strip."""
        window, (height, lanes, vectors) = self.window, self.shape
        self.pitches = _pitches(
            self.sizes(0, self.room if self.is_copied else self.extents), self.order
        )
        self.out_pitches = _pitches(self.out.shape, self.order)
        steps = [
            step * pitch
            for step, pitch in zip(
                self.steps,
                self.pitches[2:],
                strict=True,
            )
        ]
        space = list(zip(window, steps, strict=True))
        channels = (self.channels, self.pitches[1])
        levels = []
        terms = math.prod(window) * self.channels
        written_out, taps = ([], (0,)) if self.apart == 1 else (space[-1:], self.taps())
        space = space[: len(space) - len(written_out)]
        for extent, step in [*space, channels] if self.channels_last else [channels, *space]:
            terms //= extent
            panel_step = terms * self.across
            if self.channels_last:
                levels.append((extent, step, panel_step))
            else:
                levels.append((extent, panel_step, step))
        row_step, out_step = 1, self.out_pitches[1]
        if self.channels_last:
            row_step = self.strides[-1] * self.pitches[-1]
            out_step = self.out_pitches[-1] * self.phases[-1].step
        sizes = (height, lanes, vectors, row_step, out_step)
        return Strip(
            self.dtype,
            *sizes,
            merged(levels),
            taps=taps,
            overlap=self.overlap,
        )

    def taps(self) -> tuple[int, ...]:
        """Return where the elements of a row of the window are, columns in turns apart."""
        length, columns = self.room[-1] // self.apart, range(self.window[-1])
        places = (divmod(column * self.steps[-1], self.apart) for column in columns)
        return tuple(turn * length + column for column, turn in places)

    def cut(self, kernels: Any, spec: Spec) -> Any:
        """Return the kernels in panels of features, those of a group after each other.

        -> (panel, window..., channel, feature), with channels before the window if space is last
        """
        b, width, space = self.b, self.across, tuple(range(2, len(spec)))
        roles = (*space, 1, 0) if self.channels_last else (1, *space, 0)
        self.panels = -(-self.features // width)
        if self.panels * self.groups == 1:
            return arranged(b, kernels, spec, roles, self.dtype)
        sizes = (kernels.shape[spec[role]] for role in roles[:-1])

        def pull(index: Sequence[Any]) -> Any:
            """Return an element."""
            group, panel, *place = index
            feature = b.iadd(self.start(panel, width, self.features), place[-1])
            place[-1] = b.iadd(b.imul(group, self.features), feature)
            where: list[Any] = [None] * len(spec)
            for role, i in zip(roles, place, strict=True):
                where[spec[role]] = i
            return b.convert(kernels.at(*where), self.dtype)

        shape = (self.groups, self.panels, *sizes, width)
        return b.stored(b.virtual(ShapedArray(shape, self.dtype), pull))

    def start(self, i: Any, size: int, extent: int) -> Any:
        """Return where the part `i` of an axis begins; the last one ends with the axis."""
        first = self.b.imul(i, size)
        if extent % size == 0:
            return first
        if isinstance(first, int):
            return min(first, extent - size)
        return self.b.min(first, extent - size)

    # Work

    def run(self) -> None:
        """Compute all blocks of all images."""
        b, n_units = self.b, self.n_images * self.n_blocks
        chunks, per_chunk = chunks_of(n_units)
        rooms = self.images
        if self.is_copied:
            rooms = b.buffer(ShapedArray(self.sizes(chunks, self.room), self.dtype))
            self.clear_edges(rooms)
        size = math.prod(rooms.shape[1:])

        def one(chunk: Any, number: Any) -> None:
            """Compute one block."""
            image = b.idiv(number, self.n_blocks)
            start = self.start(
                b.imod(number, self.n_blocks),
                self.rows,
                self.count[0],
            )
            if self.is_copied:
                self.copy(rooms, chunk, image, start)
                first = b.imul(chunk, size)
            else:
                skipped = b.imul(start, self.strides[0] * self.pitches[2])
                first = b.iadd(b.imul(image, size), skipped)
            self.multiply(rooms, first, image, start)

        in_chunks(b, n_units, chunks, per_chunk, one)

    def multiply(self, rooms: Any, first: Any, image: Any, start: Any) -> None:
        """Compute the strips of a block, whose room begins at the element `first` of `rooms`."""
        b, strip = self.b, self.strip
        base = b.imul(image, math.prod(self.out.shape[1:]))
        for phase, pitch in zip(self.phases, self.out_pitches[2:], strict=True):
            base = b.iadd(base, phase.start * pitch)
        base = b.iadd(
            base,
            b.imul(start, self.phases[0].step * self.out_pitches[2]),
        )

        def one(index: Sequence[Any]) -> None:
            """Compute one strip."""
            group, panel, *place, number = index
            begin = self.start(number, self.along, self.places[-1])
            place = [*place, begin]
            x = b.iadd(first, b.imul(group, self.channels * self.pitches[1]))
            feature = self.start(panel, self.across, self.features)
            feature = b.iadd(b.imul(group, self.features), feature)
            out = b.iadd(base, b.imul(feature, self.out_pitches[1]))
            for axis, i in enumerate(place):
                x = b.iadd(
                    x,
                    b.imul(i, self.moves[axis] * self.pitches[axis + 2]),
                )
                step = self.phases[axis].step * self.out_pitches[axis + 2]
                out = b.iadd(out, b.imul(i, step))
            number = b.iadd(b.imul(group, self.panels), panel)
            factors = (
                (rooms, x),
                (
                    self.kernels,
                    b.imul(number, strip.terms * self.across),
                ),
            )
            if not self.channels_last:
                factors = factors[::-1]
            reads = (rooms, self.kernels)
            b.call(
                strip.symbol,
                (*factors, (self.out, out)),
                reads=reads,
                writes=(self.out,),
            )

        n_strips = -(-self.places[-1] // self.along)
        b.nest(
            (self.groups, self.panels, *self.places[:-1], n_strips),
            one,
        )

    # Rooms

    def inside(self, axis: int) -> tuple[int, int]:
        """Return which elements of a room, along an axis of space, are in the image."""
        room, low = self.room[axis], self.low[axis]
        begin = min(room, max(0, low))
        return begin, max(begin, min(room, self.extents[axis] + low))

    def clear_edges(self, rooms: Any) -> None:
        """Store zeros where no block has elements of an image."""
        for axis in range(1, len(self.room)):
            ends = 0, *itertools.chain(*self.runs(axis)), self.room[axis]
            for first, end in zip(ends[::2], ends[1::2], strict=True):
                if end > first:
                    at = self.order.index(axis + 2)
                    shape = list(rooms.shape)
                    shape[at] = end - first
                    self.b.nest(shape, self.clearing(rooms, at, first))

    def runs(self, axis: int) -> list[tuple[int, int]]:
        """Return which parts of a room, along an axis of space, are in the image, in turns.

        Columns that are `apart` are next to each other, and lie behind those of the turns before.
        """
        apart = self.apart if axis + 1 == len(self.room) else 1
        length, found = self.room[axis] // apart, []
        for turn in range(apart):
            begin, end = (-(-(edge - turn) // apart) for edge in self.inside(axis))
            found.append((turn * length + begin, turn * length + end))
        return found

    def clearing(self, rooms: Any, axis: int, first: Any) -> Callable[[Sequence[Any]], None]:
        """Return what stores one zero of a nest that begins at `first` of an axis."""
        b, zero = self.b, self.b.const(0, self.dtype)

        def clear(index: Sequence[Any]) -> None:
            """Store one zero."""
            place = list(index)
            place[axis] = b.iadd(place[axis], first)
            b.store(rooms, place, zero)

        return clear

    def copy(self, rooms: Any, chunk: Any, image: Any, start: Any) -> None:
        """Copy what a block reads, and store zeros before and after the rows of the image."""
        b, room, low = self.b, self.room[0], self.low[0]
        first = b.iadd(b.imul(start, self.strides[0]), -low)
        if self.is_inside(0):
            self.copy_rows(rooms, (chunk, image), first, 0, room)
            return
        before = b.imul(first, -1)
        begin = b.max(b.min(before, room), 0)
        begin = b.let(begin)
        end = b.let(
            b.max(
                b.min(b.iadd(before, self.extents[0]), room),
                begin,
            )
        )
        self.clear_rows(rooms, chunk, 0, begin)
        self.copy_rows(rooms, (chunk, image), first, begin, b.sub(end, begin))
        self.clear_rows(rooms, chunk, end, b.sub(room, end))

    def copy_rows(
        self, rooms: Any, which: tuple[Any, Any], first: Any, begin: Any, n_rows: Any
    ) -> None:
        """Copy `n_rows` rows of an image to a room, from its row `begin` on.

        which: the room and the image; first: the row of the image that row 0 of the room is.
        """
        for turn in range(self.apart):
            runs = [self.runs(axis) for axis in range(1, len(self.room))]
            parts = [part[min(turn, len(part) - 1)] for part in runs]
            begins = [0, 0, begin, *(part[0] for part in parts)]
            sizes = [
                1,
                self.all_channels,
                n_rows,
                *(end - start for start, end in parts),
            ]
            if min(sizes[3:], default=1) > 0:
                self.rows_nest(sizes, self.copying(rooms, which, first, begins, turn))

    def copying(
        self, rooms: Any, which: tuple[Any, Any], first: Any, begins: Sequence[Any], turn: int
    ) -> Callable[[tuple], None]:
        """Return what copies one element of a turn.  begins: where in the room, by role."""
        b, (chunk, image) = self.b, which
        last = len(self.order) - 1

        def store(index: Sequence[Any]) -> None:
            """Copy one element."""
            to = [
                b.iadd(
                    i,
                    begins[role],
                )
                for role, i in zip(self.order[1:], index, strict=True)
            ]
            place = dict(zip(self.order[1:], to, strict=True))
            place[0], place[2] = image, b.iadd(place[2], first)
            if self.apart > 1:
                length = self.room[-1] // self.apart
                column = b.iadd(place[last], -turn * length)
                place[last] = b.iadd(b.imul(column, self.apart), turn)
            for axis, low in enumerate(self.low[1:], 3):
                place[axis] = b.iadd(place[axis], -low)
            value = self.images.at(*(place[self.spec.index(axis)] for axis in range(len(place))))
            b.store(rooms, (chunk, *to), b.convert(value, self.dtype))

        return store

    def clear_rows(self, rooms: Any, chunk: Any, begin: Any, n_rows: Any) -> None:
        """Store zeros in some rows of a room."""
        clear = self.clearing(rooms, self.order.index(2), begin)
        sizes = [1, self.all_channels, n_rows, *self.room[1:]]
        self.rows_nest(sizes, lambda index: clear((chunk, *index)))

    def rows_nest(self, sizes: Sequence[Any], body: Callable[[tuple], None]) -> None:
        """Run `body` for all elements of some rows, whose number may be known to the program only.

        sizes: by role.
        """

        def level(index: tuple) -> None:
            """Open the loop over the next axis."""
            if len(index) + 1 == len(self.order):
                body(index)
            else:
                size = sizes[self.order[len(index) + 1]]
                self.b.loop(size, lambda i: level((*index, i)))

        level(())


def _pitches(shape: Sequence[int], order: Spec) -> list[int]:
    """Return how far apart neighbours along an axis are, by its role."""
    return [math.prod(shape[order.index(role) + 1 :]) for role in range(len(order))]
