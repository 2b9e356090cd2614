"""Indexing: `x[...]` by NumPy's rules.

An index is a tuple with one entry per axis, besides `None` (a new axis) and an ellipsis:

    integer        one place; negative ones count from the end
    slice          a range of places; its bounds are Python integers
    integer array  places; several arrays (and integers among them) are broadcast and go together
    boolean array  the places where it is true: an integer array for each of its axes

*Static* indices (integers and slices) are windows (static_indexing.py).  Integers that are traced
go with plain slices as one `dynamic_slice`.  All else is one `gather`: `GatherPlan` says which
vector of places it reads, and where in the result its axes come.  The plan is also that of the
`scatter` which writes there (updates.py).

What lies out of bounds is read at the nearest place; see `x.at[...].get(mode=)` for other ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes, errors, lax
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Tracer, Value, context
from tapeless.numpy.choice import broadcast
from tapeless.numpy.common import (
    asarray,
    concrete_value,
    const,
    convert,
    dtype_of,
    is_arraylike,
    value_of,
)
from tapeless.numpy.static_indexing import (
    drop_and_add,
    place_in_bounds,
    read_window,
    slice_bounds,
    take_window,
    window_of,
    window_within,
)
from tapeless.prims.indexing import bounds_are_checked
from tapeless.runtime.array import Array
from tapeless.util.records import record

__all__ = ["GatherPlan", "get_item", "plan_gather", "take_at"]

Shape = tuple[int, ...]
_INDEX_DTYPE = np.dtype(np.int32)
_FULL = slice(None)


# From what users write to entries


def get_item(x: Any, index: Any) -> Value:
    """Return `x[index]`."""
    if type(x) is Array or isinstance(x, Tracer):
        is_eager = type(x) is Array and context.trace is context.base
        found = window_within(x, index)
        if found is not None:
            window, starts = found
            return take_window(window, x, *starts) if is_eager else read_window(x, window, starts)
        found = _get_masked(x, index) if is_eager else None
        if found is not None:
            return found
    return take_at(x, index)


def _get_masked(x: Array, index: Any) -> Array | None:
    """Return the elements at a mask; None for any other index."""
    if isinstance(x.aval.dtype, dtypes.ExtendedDtype):
        return None
    if not isinstance(index, (Array, np.ndarray)) or index.dtype != np.bool_ or not index.ndim:
        return None
    if index.shape != x.aval.shape[: index.ndim] or not x.aval.size:
        return None
    count, packed = _pack(x, index)
    return packed.leading(int(count))


@jit
def _pack(x: Value, mask: Value) -> tuple[Value, Value]:
    """Return how many elements a mask has, and these, followed by as many others as there are."""
    mask = asarray(mask)
    n = typeof(mask).size
    rows = lax.reshape(x, (n, *typeof(x).shape[typeof(mask).ndim :]))
    counts = lax.cumsum(lax.convert_element_type(lax.reshape(mask, (n,)), _INDEX_DTYPE))
    places = lax.select_n(lax.reshape(mask, (n,)), lax.full_like(counts, n), counts - 1)
    plan = plan_gather(typeof(rows).shape, [places, *[_FULL] * (typeof(rows).ndim - 1)], False)
    numbers = lax.ScatterDimensionNumbers(plan.window_dims, plan.collapsed, plan.axes)
    packed = lax.scatter(rows, plan.indices, rows, numbers, mode="drop", unique_indices=True)
    return lax.index_in_dim(counts, n - 1, keepdims=False), packed


def entries_of(index: Any, shape: Shape) -> list[Any]:
    """Return an entry for each axis and each new axis; boolean arrays as integer arrays.

    An ellipsis that stands for no axis is left among arrays, which it keeps apart.
    """
    if isinstance(index, str):
        raise TypeError(f"JAX does not support string indexing; got idx={index!r}")
    if isinstance(index, list):
        how = "array" if not any(_is_compound(item) for item in index) else "tuple"
        raise TypeError(
            "Using a non-tuple sequence for multidimensional indexing is not allowed; use "
            f"`arr[{how}(seq)]` instead of `arr[seq]`. See "
            "https://github.com/jax-ml/jax/issues/4564 for more information."
        )
    entries = [_entry(entry) for entry in (index if isinstance(index, tuple) else (index,))]
    n_axes = sum(_axes_taken(entry) for entry in entries)
    if sum(entry is Ellipsis for entry in entries) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if n_axes > len(shape):
        raise IndexError(
            f"Too many indices: array is {len(shape)}-dimensional, but {n_axes} were indexed"
        )
    missing = [_FULL] * (len(shape) - n_axes)
    places = [number for number, entry in enumerate(entries) if entry is Ellipsis]
    if places:
        entries[places[0] : places[0] + 1] = missing or [Ellipsis]
    else:
        entries += missing
    entries = _without_masks(entries, shape)
    if not _has_arrays(entries):
        entries = [entry for entry in entries if entry is not Ellipsis]
    _refuse_empty_axes(entries, shape)
    return entries


def _refuse_empty_axes(entries: Sequence[Any], shape: Shape) -> None:
    """Raise IndexError for a single place on an axis that has none."""
    if 0 not in shape or _has_arrays(entries):
        return
    axes = [entry for entry in entries if entry is not None]
    for axis, (entry, length) in enumerate(zip(axes, shape, strict=True)):
        if length == 0 and _is_scalar(entry):
            raise IndexError(f"index is out of bounds for axis {axis} with size 0")


def _has_arrays(entries: Sequence[Any]) -> bool:
    """Tell whether some entries are arrays, with which integers go together."""
    return any(not _is_static(entry) and not _is_scalar(entry) for entry in entries)


def _is_compound(item: Any) -> bool:
    """Tell whether an item of a list makes it look like a tuple of indices."""
    return item is None or item is Ellipsis or isinstance(item, (slice, list, tuple))


def _entry(entry: Any) -> Any:
    """Return one entry of an index, checked: arrays as values, sequences as NumPy arrays."""
    if _is_between_axes(entry) or isinstance(entry, slice):
        return entry
    if isinstance(entry, str):
        raise TypeError(f"JAX does not support string indexing; got idx={entry!r}")
    if isinstance(entry, (list, tuple)):
        entry = asarray(entry) if entry else np.zeros(0, _INDEX_DTYPE)
    entry = value_of(entry)
    if not is_arraylike(entry):
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), newaxis (`None`) and integer or "
            f"boolean arrays are valid indices. Got {entry!r}"
        )
    if isinstance(entry, (bool, np.bool_)):
        return np.asarray(entry)
    if isinstance(entry, np.integer) or type(entry) is int:
        return int(entry)
    if isinstance(entry, (Array, np.ndarray)) and entry.ndim == 0:
        entry = np.asarray(entry)[()]
    dtype = np.asarray(entry).dtype if isinstance(entry, float) else dtype_of(entry)
    if dtype != np.bool_ and not dtypes.issubdtype(dtype, np.integer):
        raise TypeError(f"Indexer must have integer or boolean type, got indexer with type {dtype}")
    return entry


def _is_mask(entry: Any) -> bool:
    """Tell whether an entry is a boolean array."""
    return (
        not isinstance(entry, (int, slice))
        and not _is_between_axes(entry)
        and (dtype_of(entry) == np.bool_)
    )


def _axes_taken(entry: Any) -> int:
    """Return how many axes of the array an entry is about."""
    if _is_between_axes(entry):
        return 0
    return typeof(entry).ndim if _is_mask(entry) else 1


def _without_masks(entries: list[Any], shape: Shape) -> list[Any]:
    """Replace each boolean array by the integer arrays of the places where it is true."""
    out: list[Any] = []
    axis = 0
    for position, entry in enumerate(entries):
        if not _is_mask(entry):
            out.append(entry)
            axis += not _is_between_axes(entry)
            continue
        known = _known_mask(entry)
        extents = shape[axis : axis + known.ndim]
        if any(size not in (0, extent) for size, extent in zip(known.shape, extents, strict=True)):
            raise IndexError(
                "boolean index did not match shape of indexed array in index "
                f"{position}: got {known.shape}, expected {list(extents)}"
            )
        if known.ndim == 0:
            # True stands for a new axis of extent 1, False for one of extent 0.
            out.append(_NewAxisMask(bool(known)))
            continue
        out += [places.astype(_INDEX_DTYPE) for places in np.nonzero(known)]
        axis += known.ndim
    return out


@record
class _NewAxisMask:
    """A scalar boolean among the entries."""

    value: bool


def _known_mask(mask: Any) -> np.ndarray:
    """Return the values of a boolean array, or raise if it is traced."""
    if isinstance(mask, Tracer):
        known = mask.concrete()
        if known is None:
            raise errors.NonConcreteBooleanIndexError(
                "Array boolean indices must be concrete; got "
                f"{mask.aval.str_short(True)}. How many "
                "entries they select is not known; choose entry by entry: jnp.where(mask, x, 0).\n"
            )
        mask = known
    return np.asarray(mask)


def _is_between_axes(entry: Any) -> bool:
    """Tell whether an entry is about no axis: a new axis or an ellipsis."""
    return entry is None or entry is Ellipsis


def _is_static(entry: Any) -> bool:
    """Tell whether an entry is no array: an integer, a slice, a new axis or an ellipsis."""
    return _is_between_axes(entry) or isinstance(entry, (int, slice))


# Reading


def take_at(
    x: Any,
    index: Any,
    *,
    mode: Any = None,
    fill_value: Any = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    wrap_negative_indices: bool = True,
) -> Value:
    """Return `x[index]`, with a mode for what lies out of bounds; see `x.at[index].get`."""
    x = asarray(x)
    shape = typeof(x).shape
    entries = entries_of(index, shape)
    mode = "promise_in_bounds" if mode is None else mode
    mode = lax.GatherScatterMode.from_any(mode)
    by_mode = mode is lax.GatherScatterMode.FILL_OR_DROP
    if mode is lax.GatherScatterMode.CLIP and bounds_are_checked():
        if all(map(_is_static, entries)) and 0 not in shape:
            entries = _moved_inside(entries, shape, wrap_negative_indices)
        by_mode = True  # slices would be checked
    by_mode = by_mode or not wrap_negative_indices
    if all(map(_is_static, entries)) and not (by_mode and any(isinstance(e, int) for e in entries)):
        return read_window(x, *window_of(entries, shape))
    if not by_mode and _is_window(entries, shape):
        return _take_window(x, entries)
    x, entries = insert_mask_axes(x, entries)
    plan = plan_gather(typeof(x).shape, entries, wrap_negative_indices)
    if 0 in plan.result_shape:
        out = lax.full_like(x, 0, shape=plan.result_shape)
    else:
        out = lax.gather(
            x,
            plan.indices,
            lax.GatherDimensionNumbers(plan.window_dims, plan.collapsed, plan.axes),
            plan.sizes,
            mode=mode,
            fill_value=_known_fill(fill_value),
            indices_are_sorted=indices_are_sorted or not plan.has_arrays,
            unique_indices=unique_indices or not plan.has_arrays,
        )
    out = lax.rev(out, plan.reversed_dims) if plan.reversed_dims else out
    return lax.expand_dims(out, plan.new_dims) if plan.new_dims else out


def _moved_inside(entries: Sequence[Any], shape: Shape, wrap: bool) -> list[Any]:
    """Return static entries with each integer replaced by the nearest that is in bounds.

    wrap: negative ones count from the end.
    """
    out, axis = [], 0
    for entry in entries:
        if isinstance(entry, int):
            length = shape[axis]
            entry = min(max(entry + length * (wrap and entry < 0), 0), length - 1)
        axis += entry is not None
        out.append(entry)
    return out


def _known_fill(fill_value: Any) -> Any:
    """Return a fill value that is a known number, or raise what says that it must be one."""
    if fill_value is None or isinstance(fill_value, (int, float, complex)):
        return fill_value
    context = "fill_value argument to indexed get()"
    known = concrete_value(fill_value, context)
    if np.shape(known):
        raise ValueError(f"{context} must be a scalar, got shape {np.shape(known)}")
    return known


def _is_scalar(entry: Any) -> bool:
    """Tell whether an entry is an integer, traced or not."""
    if _is_between_axes(entry) or isinstance(entry, (slice, _NewAxisMask)):
        return False
    return isinstance(entry, int) or typeof(entry).ndim == 0


def _is_window(entries: Sequence[Any], shape: Shape) -> bool:
    """Tell whether all entries are scalars, or slices with steps of 1 or -1."""
    axis = 0
    for position, entry in enumerate(entries):
        if entry is None:
            continue
        if isinstance(entry, slice):
            _, step, count = slice_bounds(entry, shape[axis], position)
            if step not in (1, -1) or count == 0:
                return False
        elif not _is_scalar(entry) or shape[axis] == 0:
            return False
        axis += 1
    return True


def _take_window(x: Value, entries: Sequence[Any]) -> Value:
    """Read a window whose place is traced."""
    starts, sizes, gone, backwards = [], [], [], []
    shape = typeof(x).shape
    for position, entry in enumerate(e for e in entries if e is not None):
        length = shape[position]
        if isinstance(entry, slice):
            start, step, count = slice_bounds(entry, length, position)
            start = start - count + 1 if step < 0 else start
            backwards += [position] if step < 0 else []
        else:
            start, count = entry, 1
            gone.append(position)
            start = place_in_bounds(start, shape, position) if isinstance(start, int) else start
        start = _INDEX_DTYPE.type(start) if isinstance(start, int) else _as_index(start, shape)
        starts.append(start if dtype_of(start).kind == "u" else _from_front(start, length))
        sizes.append(count)
    kinds = {typeof(start).dtype for start in starts}
    if len(kinds) > 1:
        starts = [lax.convert_element_type(start, np.result_type(*kinds)) for start in starts]
    x = lax.dynamic_slice(x, starts, sizes, allow_negative_indices=False)
    x = lax.rev(x, backwards) if backwards else x
    kept = [entry for entry in entries if not _is_scalar(entry)]
    new = tuple(place for place, entry in enumerate(kept) if entry is None)
    return drop_and_add(x, tuple(gone), new)


def _as_index(start: Value, shape: Shape) -> Value:
    """Return a scalar index as a strong integer of 32 or 64 bits.

    One without a sign stays as it is in a vector: it may be past the numbers of 32 bits.
    """
    kind = dtype_of(start)
    kept = kind.kind == "i" and kind.itemsize == 8 or kind.kind == "u" and len(shape) == 1
    return convert(start, kind if kept else _INDEX_DTYPE)


def _from_front(place: Value, length: int) -> Value:
    """Return places with those below 0 counted from the end."""
    if isinstance(place, np.integer) and context.trace is context.base:
        return place if place >= 0 else dtype_of(place).type(place + length)
    below = lax.lt(place, const(place, 0))
    return lax.select_n(below, place, lax.add(place, const(place, length)))


# Plans of gathers and scatters


@record
class GatherPlan:
    """How a gather or scatter walks over an array.

    indices: the vectors of places, their components in the last axis; axes: what axes they are of.
    window_dims: the axes of the result that are slices; collapsed: the axes of the array that are
    no slices; sizes: the extents of windows.  result_shape is the shape before `reversed_dims` are
    reversed and `new_dims`, positions in the final result, are added.
    """

    indices: Value
    axes: Shape
    window_dims: Shape
    collapsed: Shape
    sizes: Shape
    result_shape: Shape
    reversed_dims: Shape
    new_dims: Shape
    has_arrays: bool


def insert_mask_axes(x: Value, entries: Sequence[Any]) -> tuple[Value, list[Any]]:
    """Give the array an axis of extent 1 for each scalar boolean, which selects from it."""
    out, places, axis = [], [], 0
    for entry in entries:
        if isinstance(entry, _NewAxisMask):
            places.append(axis)
            out.append(np.zeros(1 if entry.value else 0, _INDEX_DTYPE))
        else:
            out.append(entry)
        axis += not _is_between_axes(entry)
    return (lax.expand_dims(x, places) if places else x), out


def plan_gather(shape: Shape, entries: Sequence[Any], wrap: bool = True) -> GatherPlan:
    """Return the plan of an index with entries for all axes of an array of this shape."""
    has_arrays = _has_arrays(entries)
    joined = {
        n: e for n, e in enumerate(entries) if has_arrays and (_is_scalar(e) or not _is_static(e))
    }
    walk = _Walk(shape, entries, joined, wrap)
    walk.read_all()
    return walk.plan(has_arrays)


class _Walk:
    """The making of a plan: entries from left to right, axes of array and result side by side."""

    def __init__(
        self, shape: Shape, entries: Sequence[Any], joined: dict[int, Any], wrap: bool
    ) -> None:
        """joined: the entries that are broadcast and go together, by position."""
        self.shape = shape
        self.entries = entries
        self.joined = joined
        self.wrap = wrap
        self.arrays: dict[int, Value] = {}
        self.shape_of_arrays: Shape = ()
        # (axis, component over the walked axes it depends on, number of the first of them)
        self.components: list[tuple[int, Value, int | None]] = []
        self.windows: list[tuple[int, int]] = []  # (axis of the result, extent)
        self.walked: list[int] = []  # extents of the axes of `indices`
        self.places: list[int] = []  # for each of these, its axis of the result
        self.collapsed: list[int] = []
        self.sizes: list[int] = []
        self.backwards: list[int] = []
        self.new: list[int] = []
        self.rank = 0  # axes of the result so far, new ones not counted
        self.total = 0  # axes of the result so far
        self.arrays_at: int | None = None

    def read_all(self) -> None:
        """Read the entries."""
        self._broadcast_arrays()
        positions = list(self.joined)
        together = positions == list(range(positions[0], positions[-1] + 1)) if positions else True
        if positions and not together:
            self._place_arrays()
        axis = 0
        for position, entry in enumerate(self.entries):
            if entry is None:
                self.new.append(self.total)
                self.total += 1
                continue
            if entry is Ellipsis:
                continue
            if position in self.joined:
                if self.arrays_at is None:
                    self._place_arrays()
                self.components.append((axis, self.arrays[position], self.arrays_at))
                self.collapsed.append(axis)
                self.sizes.append(1)
            elif isinstance(entry, slice):
                self._slice(entry, axis, position)
            else:
                self._scalar(position, axis)
            axis += 1

    def _broadcast_arrays(self) -> None:
        """Count negative places from the end; bring the arrays to one shape and dtype."""
        axis = 0
        wrapped = {}
        for position, entry in enumerate(self.entries):
            if position in self.joined:
                wrapped[position] = self._wrapped(entry, self.shape[axis])
            elif _is_scalar(entry):
                self.arrays[position] = self._wrapped(entry, self.shape[axis])
            axis += not _is_between_axes(entry)
        shapes = [typeof(each).shape for each in wrapped.values()]
        self.shape_of_arrays = lax.broadcast_shapes(*shapes) if shapes else ()
        for position, entry in wrapped.items():
            self.arrays[position] = convert(broadcast(entry, self.shape_of_arrays), _INDEX_DTYPE)

    def _wrapped(self, entry: Any, length: int) -> Value:
        """Return places counted from the front."""
        if isinstance(entry, int):
            return _checked(entry + length if entry < 0 and self.wrap else entry)
        if isinstance(entry, np.ndarray):
            entry = entry.astype(np.int64)
            entry = np.where(entry < 0, entry + length, entry) if self.wrap else entry
            return entry.astype(_INDEX_DTYPE)
        kind = dtype_of(entry)
        entry = convert(entry, kind) if typeof(entry).ndim == 0 else entry
        if not self.wrap or dtypes.issubdtype(kind, np.unsignedinteger):
            return entry
        if length > dtypes.iinfo(kind).max:
            entry, kind = convert(entry, _INDEX_DTYPE), _INDEX_DTYPE
        return _from_front(entry, length)

    def _place_arrays(self) -> None:
        """Put the axes of the arrays at this point of the result."""
        self.arrays_at = len(self.walked)
        for extent in self.shape_of_arrays:
            self._walk(extent)

    def _walk(self, extent: int) -> None:
        """Add an axis that the vectors of places have."""
        self.walked.append(extent)
        self.places.append(self.rank)
        self.rank += 1
        self.total += 1

    def _slice(self, entry: slice, axis: int, position: int) -> None:
        """Read a window, or walk if the step is not 1."""
        length = self.shape[axis]
        start, step, count = slice_bounds(entry, length, position)
        if step == 1:
            if count != length:
                self.components.append((axis, _INDEX_DTYPE.type(start), None))
            self.windows.append((self.rank, count))
            self.sizes.append(count)
            self.rank += 1
            self.total += 1
            return
        kind = _INDEX_DTYPE.type
        places = lax.add(kind(start), lax.mul(kind(step), lax.iota(_INDEX_DTYPE, count)))
        if step < 0:
            places = lax.rev(places, (0,))
            self.backwards.append(self.rank)
        self.components.append((axis, places, len(self.walked)))
        self.collapsed.append(axis)
        self.sizes.append(1)
        self._walk(count)

    def _scalar(self, position: int, axis: int) -> None:
        """Read one place, no array being there to go with."""
        self.components.append((axis, convert(self.arrays[position], _INDEX_DTYPE), None))
        self.collapsed.append(axis)
        self.sizes.append(1)

    def plan(self, has_arrays: bool) -> GatherPlan:
        """Return the finished plan."""
        walked = tuple(self.walked)
        columns = [
            self._column(component, first, walked) for _, component, first in self.components
        ]
        if not columns:
            indices: Value = np.zeros((*walked, 0), _INDEX_DTYPE)
        elif len(columns) == 1:
            indices = columns[0]
        elif all(isinstance(column, np.ndarray) for column in columns):
            indices = np.concatenate(columns, -1)
        else:
            indices = lax.concatenate(columns, len(walked))
        result = [0] * self.rank
        for place, extent in [*zip(self.places, walked, strict=True), *self.windows]:
            result[place] = extent
        return GatherPlan(
            indices,
            tuple(axis for axis, _, _ in self.components),
            tuple(place for place, _ in self.windows),
            tuple(self.collapsed),
            tuple(self.sizes),
            tuple(result),
            tuple(self.backwards),
            tuple(self.new),
            has_arrays,
        )

    def _column(self, component: Value, first: int | None, walked: Shape) -> Value:
        """Return a component over all walked axes, with a last axis of extent 1."""
        if isinstance(component, np.generic) and context.trace is context.base:
            return np.broadcast_to(component, (*walked, 1))
        rank = typeof(component).ndim
        dims = range(first, first + rank) if first is not None else ()
        return lax.broadcast_in_dim(component, (*walked, 1), dims)


def _checked(place: int) -> int:
    """Return an integer that fits the dtype of indices, or raise OverflowError."""
    info = np.iinfo(_INDEX_DTYPE)
    if not info.min <= place <= info.max:
        raise OverflowError(f"Python int {place} too large to convert to {_INDEX_DTYPE}")
    return place
