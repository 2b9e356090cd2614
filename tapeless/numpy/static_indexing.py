"""Static indices: integers, slices, new axes and ellipses.

Such an index is a *window* (how many places it spans on each axis, its strides, which axes are
reversed, dropped or added) at some *starts*, one integer per axis that is not taken whole.

In a traced program both are parameters of `slice`, `rev`, `squeeze` and `expand_dims`, so that the
program's text says what is read.  Outside of transformations the window decides the program and the
starts are its operands: `x[3]` and `x[4]` run the same code, which is compiled once.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from tapeless import config, dtypes, errors, lax
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.source import current_source
from tapeless.core.trace import Tracer, Value
from tapeless.numpy.choice import broadcast
from tapeless.numpy.common import convert, dtype_of
from tapeless.prims.check import IndexFault, check
from tapeless.prims.structural import squeeze_p
from tapeless.runtime.array import Array

__all__ = [
    "Window", "drop_and_add", "place_in_bounds", "read_window", "slice_bounds", "take_window",
    "update_window", "window_of", "window_within",
]  # fmt: skip

Shape = tuple[int, ...]
_INDEX_DTYPE = np.dtype(np.int32)
_LARGEST_INDEX = np.iinfo(_INDEX_DTYPE).max
_FULL = slice(None)
# The Python numbers whose every value an array of the dtype takes as JAX takes it.
_NUMBERS = {
    np.dtype(name): kinds
    for name, kinds in {
        "float16": (float, int, bool),
        "bfloat16": (float, int, bool),
        "float32": (float, int, bool),
        "float64": (float, int, bool),
        "int32": (int, bool),
        "int64": (int, bool),
        "bool": (bool,),
    }.items()
}


class Window(NamedTuple):
    """A static index without the places where it starts.

    axes: those that are not taken whole, in order; a start belongs to each.
    spans: per such axis the places from its first to behind its last one; strides: the steps.
    backwards: which axes are reversed afterwards; gone: which are dropped; new: where in the result
    new axes of extent 1 come.
    """

    axes: Shape
    spans: Shape
    strides: Shape
    backwards: Shape
    gone: Shape
    new: Shape


def window_of(entries: Sequence[Any], shape: Shape) -> tuple[Window, list[int]]:
    """Return the window of an index, and its starts.

    entries: integers, slices and None, with as many of the first two as the array has axes.
    """
    axes, spans, strides, starts = [], [], [], []
    backwards, gone, new = [], [], []
    axis = kept = 0
    for position, entry in enumerate(entries):
        if entry is None:
            new.append(kept)
            kept += 1
            continue
        length = shape[axis]
        if isinstance(entry, int):
            start, span, stride = place_in_bounds(entry, shape, axis), 1, 1
            gone.append(axis)
        else:
            start, step, count = slice_bounds(entry, length, position)
            stride = abs(step)
            span = (count - 1) * stride + 1 if count else 0
            if step > 1 and count and entry.stop is None:
                span = length - start
            if step < 0:
                start = start - span + 1 if count else 0
                backwards.append(axis)
            kept += 1
        if span != length or stride != 1:
            axes.append(axis)
            spans.append(span)
            strides.append(stride)
            starts.append(start)
        axis += 1
    parts = (axes, spans, strides, backwards, gone, new)
    return Window(*map(tuple, parts)), starts


def place_in_bounds(place: int, shape: Shape, axis: int) -> int:
    """Return an integer index along an axis counted from the front, moved into bounds."""
    length = shape[axis]
    found = place + length if place < 0 else place
    if not 0 <= found < length:
        what = config.current.tapeless_out_of_bounds
        if what == "raise":
            raise errors.OutOfBoundsError(
                f"index {place} is out of bounds for axis {axis} with size {length}"
            )
        if what == "check":
            fault = IndexFault(current_source(), "indexing", shape, (axis,), (length - 1,))
            check(np.bool_(False), fault, _INDEX_DTYPE.type(found))
        if not np.iinfo(_INDEX_DTYPE).min <= place <= _LARGEST_INDEX:
            raise OverflowError(f"Python int {place} too large to convert to {_INDEX_DTYPE}")
        found = max(min(found, length - 1), 0)
    return found


def slice_bounds(entry: slice, length: int, position: int) -> tuple[int, int, int]:
    """Return start, step and number of places of a slice."""
    parts = []
    for part in (entry.start, entry.stop, entry.step):
        if isinstance(part, Tracer) and part.concrete() is None:
            shown = f"slice({entry.start}, {entry.stop}, {entry.step})"
            raise IndexError(
                "Array slice indices must have static start/stop/step to be used with NumPy "
                f"indexing syntax. Got {shown} at position {position}. To index an array at a "
                "dynamic position with a static slice size, use "
                "lax.dynamic_slice/dynamic_update_slice instead (JAX does not support dynamically "
                f"sized arrays within traced functions).\n{part.origin()}"
            )
        parts.append(None if part is None else operator.index(part))
    start, stop, step = slice(*parts).indices(length)
    return start, step, len(range(start, stop, step))


_ROW = Window((0,), (1,), (1,), (), (0,), ())
_ONLY_ROW = Window((), (), (), (), (0,), ())
_WHOLE = Window((), (), (), (), (), ())


@lru_cache
def _rows(count: int) -> Window:
    """Return the window of successive rows."""
    return Window((0,), (count,), (1,), (), (), ())


def window_within(x: Array | Tracer, index: Any) -> tuple[Window, list[int]] | None:
    """Return the window of an index that lies within an array, and its starts.

    None for an index that is not static, or that is not quite right; and for keys whose uses are
    counted, which needs to know where a window starts.
    """
    if config.current.jax_debug_key_reuse and isinstance(x.aval.dtype, dtypes.KeyDtype):
        return None
    shape = x.aval.shape
    if type(index) is int:
        if not shape or not -shape[0] <= index < shape[0] or shape[0] > _LARGEST_INDEX:
            return None
        if shape[0] == 1:
            return _ONLY_ROW, []
        return _ROW, [index if index >= 0 else index + shape[0]]
    if type(index) is slice and index.step is None and shape:
        found = _static_entries(index, 1)
        if found is None or shape[0] > _LARGEST_INDEX:
            return None
        start, stop, _ = index.indices(shape[0])
        return (_WHOLE, []) if stop - start == shape[0] else (_rows(max(stop - start, 0)), [start])
    entries = _static_entries(index, len(shape))
    if entries is None or any(length > _LARGEST_INDEX for length in shape):
        return None
    lengths = iter(shape)
    for entry in entries:
        if entry is None:
            continue
        length = next(lengths)
        if type(entry) is int and not -length <= entry < length:
            return None
        if type(entry) is slice and entry.step == 0:
            return None
    return window_of(entries, shape)


def _static_entries(index: Any, ndim: int) -> list[Any] | None:
    """Return an entry for each axis and each new axis; None if not all are static."""
    given = index if type(index) is tuple else (index,)
    n_axes, ellipsis = 0, -1
    for number, entry in enumerate(given):
        kind = type(entry)
        if kind is slice:
            parts = (entry.start, entry.stop, entry.step)
            if any(part is not None and type(part) is not int for part in parts):
                return None
            n_axes += 1
        elif kind is int:
            n_axes += 1
        elif entry is Ellipsis and ellipsis < 0:
            ellipsis = number
        elif entry is not None:
            return None
    if n_axes > ndim:
        return None
    whole = [_FULL] * (ndim - n_axes)
    if ellipsis < 0:
        return [*given, *whole]
    return [*given[:ellipsis], *whole, *given[ellipsis + 1 :]]


# In a traced program


def read_window(x: Value, window: Window, starts: Sequence[int]) -> Value:
    """Return the elements of a window that starts at known places."""
    shape = typeof(x).shape
    if window.axes:
        first, behind, steps = [0] * len(shape), list(shape), [1] * len(shape)
        for axis, start, span, stride in zip(
            window.axes, starts, window.spans, window.strides, strict=True
        ):
            first[axis], behind[axis], steps[axis] = start, start + span, stride
        is_dense = window.strides.count(1) == len(window.strides)
        x = lax.slice(x, first, behind, None if is_dense else steps)
    return _arranged(x, window)


def _arranged(x: Value, window: Window) -> Value:
    """Reverse, drop and add axes."""
    x = lax.rev(x, window.backwards) if window.backwards else x
    return drop_and_add(x, window.gone, window.new)


def drop_and_add(x: Value, gone: Shape, new: Shape) -> Value:
    """Drop axes, given in order, then add those whose places in the result are `new`."""
    x = squeeze_p.bind(x, dimensions=gone)[0] if gone else x
    return lax.expand_dims(x, new) if new else x


# Outside of transformations


@partial(jit, static_argnums=0)
def take_window(window: Window, x: Value, *starts: Value) -> Value:
    """Return the elements of a window that lies within the array."""
    x = _cut(window, x, starts)
    if any(stride != 1 for stride in window.strides):
        steps = [1] * typeof(x).ndim
        for axis, stride in zip(window.axes, window.strides, strict=True):
            steps[axis] = stride
        x = lax.slice(x, [0] * len(steps), typeof(x).shape, steps)
    return _arranged(x, window)


def _cut(window: Window, x: Value, starts: Sequence[Value]) -> Value:
    """Return what lies between the first and the last place on each axis."""
    if not window.axes:
        return x
    sizes = list(typeof(x).shape)
    for axis, span in zip(window.axes, window.spans, strict=True):
        sizes[axis] = span
    return lax.dynamic_slice(
        x, _whole_starts(window, x, starts), sizes, allow_negative_indices=False
    )


def _whole_starts(window: Window, x: Value, starts: Sequence[Value]) -> list[Value]:
    """Return a start for each axis."""
    whole = [lax.full_like(starts[0], 0)] * typeof(x).ndim
    for axis, start in zip(window.axes, starts, strict=True):
        whole[axis] = start
    return whole


def update_window(x: Array, index: Any, y: Any, combines: str) -> Array | None:
    """Return the array with other elements at a static index; None for any other index.

    y: a number or an Array of the array's dtype, of the shape of what it replaces or of none.
    combines: the name of the operation on the old and the new elements; "" for the new ones.
    """
    found = None if x.aval.weak_type else window_within(x, index)
    if found is None:
        return None
    window, starts = found
    if window.backwards or window.new or any(stride != 1 for stride in window.strides):
        return None
    if type(y) is Array:
        if y.aval.dtype is not x.aval.dtype or y.aval.shape not in ((), _shape_of(window, x)):
            return None
    elif type(y) not in _NUMBERS.get(x.aval.dtype, ()):
        return None
    return _write(window, combines, x, y, *starts)


def _shape_of(window: Window, x: Value) -> Shape:
    """Return the shape of what a window without new axes and strides reads."""
    shape = list(typeof(x).shape)
    for axis, span in zip(window.axes, window.spans, strict=True):
        shape[axis] = span
    return tuple(extent for axis, extent in enumerate(shape) if axis not in window.gone)


@partial(jit, static_argnums=(0, 1))
def _write(window: Window, combines: str, x: Value, y: Value, *starts: Value) -> Value:
    """Write, or combine, the elements of a window that lies within the array."""
    y = broadcast(convert(y, dtype_of(x)), _shape_of(window, x))
    y = lax.expand_dims(y, window.gone) if window.gone else y
    if combines:
        y = getattr(lax, combines)(_cut(window, x, starts), y)
    if not window.axes:
        return y
    return lax.dynamic_update_slice(x, y, _whole_starts(window, x, starts))
