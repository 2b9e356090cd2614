"""Convolutions of images with holes, as several without: transposed convolutions have such images.

Places whose windows meet the elements in the same way, every second one for example, form a
*phase*, which needs only those elements of the kernels that do not fall into holes:

    window      0 1 2 3 4 5 6        holes between elements that are 2 apart
    even places   1   3   5          3 taps
    odd places  0   2   4   6        4 taps

Few features keep few sums in registers. So the phases of the innermost axis may be *joined*: their
kernels are features of one convolution, whose window has all places that any of them reads, and 0
where one does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapeless.core.aval import ShapedArray
from tapeless.prims.window import Windows
from tapeless.util.records import record

__all__ = ["Phase", "is_phased", "joined_kernels", "joined_windows", "phases_of", "tapped"]

Spec = Sequence[int]


@record
class Phase:
    """Places of an axis, `start` and every `step`-th, whose windows meet elements in one way.

    taps: the elements of the window that they need; tap_step: how far apart those are in the image;
    low: the padding before it.
    """

    start: int
    step: int
    count: int
    taps: range
    tap_step: int
    low: int

    def alone(self, length: int) -> Phase:
        """Return the phase whose places follow each other, after `length` of each one before."""
        return Phase(self.start * length, 1, self.count, self.taps, self.tap_step, self.low)


def is_phased(windows: Windows) -> bool:
    """Tell whether the places along every axis with holes are next to each other."""
    pairs = zip(windows.base, windows.strides, strict=True)
    return all(base == 1 or stride == 1 for base, stride in pairs)


def phases_of(windows: Windows, axis: int) -> list[Phase]:
    """Return the phases of an axis: as many as there are steps from element to element."""
    base, step, low = windows.base[axis], windows.steps[axis], windows.padding[axis][0]
    window, count = windows.window[axis], windows.count[axis]
    apart = base // math.gcd(base, step)
    found = []
    for start in range(min(base, count)):
        fits = [
            p
            for p in range(
                min(
                    apart,
                    window,
                )
            )
            if (start + p * step - low) % base == 0
        ]
        first = fits[0] if fits else window
        taps = range(first, window, apart)
        shift = (low - start - first * step) // base
        places = -(-(count - start) // base)
        found.append(Phase(start, base, places, taps, apart * step // base, shift))
    return found


def tapped(b: Any, kernels: Any, spec: Spec, phases: Sequence[Phase]) -> Any:
    """Return the elements of the kernels that the phases need."""
    shape = list(kernels.shape)
    for axis, phase in zip(spec[2:], phases, strict=True):
        shape[axis] = len(phase.taps)
    if shape == list(kernels.shape):
        return kernels

    def pull(index: Sequence[Any]) -> Any:
        """Return an element."""
        place = list(index)
        for axis, phase in zip(spec[2:], phases, strict=True):
            place[axis] = b.iadd(
                b.imul(place[axis], phase.taps.step),
                phase.taps.start,
            )
        return kernels.at(*place)

    return b.virtual(ShapedArray(tuple(shape), kernels.dtype), pull)


def joined_windows(windows: Windows, phases: Sequence[Phase]) -> Windows:
    """Return the windows of the joined phases of the last axis; their taps have no gaps."""
    first, size = _reach(phases)
    count = max(phase.count for phase in phases)
    high = count - 1 + size + first - windows.shape[-1]
    return Windows(
        windows.shape,
        {
            "window_dimensions": (*windows.window[:-1], size),
            "window_strides": windows.strides,
            "padding": (*windows.padding[:-1], (-first, high)),
            "base_dilation": (*windows.base[:-1], 1),
            "window_dilation": (*windows.steps[:-1], 1),
        },
    )


def joined_kernels(b: Any, kernels: Any, spec: Spec, phases: Sequence[Phase]) -> Any:
    """Return the kernels of joined phases, in the layout `spec`: features are (feature, phase)."""
    (first, size), apart = _reach(phases), len(phases)
    shape = list(kernels.shape)
    shape[spec[0]] *= apart
    shape[spec[-1]] = size
    zero = b.const(0, kernels.dtype)

    def pull(index: Sequence[Any]) -> Any:
        """Return an element, or 0 where its phase has none."""
        place, part = list(index), b.imod(index[spec[0]], apart)
        place[spec[0]] = b.idiv(index[spec[0]], apart)
        found = zero
        for number, phase in enumerate(phases):
            tap = b.iadd(index[spec[-1]], first + phase.low)
            last = len(phase.taps) - 1
            place[spec[-1]] = b.iadd(
                b.imul(b.max(b.min(tap, last), 0), phase.taps.step), phase.taps.start
            )
            inside = b.and_(b.ge(tap, 0), b.le(tap, last))
            mine = b.and_(b.eq(part, number), inside)
            found = b.select(mine, kernels.at(*place), found)
        return found

    return b.stored(b.virtual(ShapedArray(tuple(shape), kernels.dtype), pull))


def _reach(phases: Sequence[Phase]) -> tuple[int, int]:
    """Return the first element that place 0 of any phase reads, and how many any of them read."""
    first = min(-phase.low for phase in phases)
    end = max(len(phase.taps) - phase.low for phase in phases)
    return first, end - first
