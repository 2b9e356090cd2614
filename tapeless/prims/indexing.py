"""What gathers and scatters share: dimension numbers, modes, and where windows are.

Both move windows between an array and a list of windows; the last axis of their `indices` holds
vectors that say where each window starts.  Component c of a vector is the start along the operand's
axis `start_index_map[c]` (`scatter_dims_to_operand_dims[c]`).  The window's axes in the list are
`offset_dims` (`update_window_dims`); the operand's axes along which windows have extent 1 and no
axis there are `collapsed_slice_dims` (`inserted_window_dims`).  Along `operand_batching_dims` the
operand and the indices are walked together.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tapeless import config, dtypes

__all__ = [
    "GatherDimensionNumbers",
    "GatherScatterMode",
    "ScatterDimensionNumbers",
    "bounds_are_checked",
    "check_batching",
    "check_distinct_axes",
    "check_index_map",
    "gather_numbers",
    "scatter_numbers",
    "shift",
    "window_place",
    "window_sizes",
    "window_start",
]

Axes = Sequence[int]


class GatherScatterMode(enum.Enum):
    """What happens to a window that is partly out of bounds.

    CLIP moves it inside.  FILL_OR_DROP gathers a constant, and scatters nothing.
    PROMISE_IN_BOUNDS says that there is none: such a gather is clipped and such a scatter dropped.
    """

    CLIP = enum.auto()
    FILL_OR_DROP = enum.auto()
    PROMISE_IN_BOUNDS = enum.auto()
    ONE_HOT = enum.auto()

    @staticmethod
    def from_any(s: str | GatherScatterMode | None) -> GatherScatterMode:
        """Return the mode named by a mode, a string or None.

        None is a promise where what is out of bounds is an error.
        """
        if isinstance(s, GatherScatterMode):
            return s
        if s is None and config.current.tapeless_out_of_bounds == "raise":
            return GatherScatterMode.PROMISE_IN_BOUNDS
        if s in _MODES:
            return _MODES[s]
        raise ValueError(f'Unknown gather mode "{s}"')


def bounds_are_checked() -> bool:
    """Tell whether a program is being traced whose indices are checked when it runs."""
    return config.current.tapeless_out_of_bounds != "fill"


_MODES = {
    None: GatherScatterMode.FILL_OR_DROP,
    "clip": GatherScatterMode.CLIP,
    "fill": GatherScatterMode.FILL_OR_DROP,
    "drop": GatherScatterMode.FILL_OR_DROP,
    "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
    "one_hot": GatherScatterMode.ONE_HOT,
}


class GatherDimensionNumbers(NamedTuple):
    """Which axes of operand, indices and result play which part; see the module's docstring."""

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class ScatterDimensionNumbers(NamedTuple):
    """Which axes of operand, indices and updates play which part; see the module's docstring."""

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()


def scatter_numbers(numbers: GatherDimensionNumbers) -> ScatterDimensionNumbers:
    """Return the dimension numbers of the scatter that writes where a gather reads."""
    return ScatterDimensionNumbers(*numbers)


def gather_numbers(numbers: ScatterDimensionNumbers) -> GatherDimensionNumbers:
    """Return the dimension numbers of the gather that reads where a scatter writes."""
    return GatherDimensionNumbers(*numbers)


def shift(axes: Axes) -> tuple[int, ...]:
    """Return a row's axes as axes of an operand with a batch axis in front."""
    shifted = (np.int64(axis + 1) for axis in axes)
    return tuple(shifted)  # pyrefly: ignore[bad-return]  # programs print them as JAX does


def window_sizes(x_shape: Sequence[int], updates_shape: Sequence[int], n: Any) -> tuple[int, ...]:
    """Return the extents of the windows of a scatter along the operand's axes."""
    gone = (*n.inserted_window_dims, *n.operand_batching_dims)
    window = iter([updates_shape[axis] for axis in n.update_window_dims])
    return tuple(1 if axis in gone else next(window) for axis in range(len(x_shape)))


def check_distinct_axes(op: str, name: str, axes: Axes, ndim: int, ordered: bool = True) -> None:
    """Raise TypeError unless `axes` are distinct, in order, and axes of an array of that rank."""
    if ordered and list(axes) != sorted(axes):
        raise TypeError(f"{name} in {op} op must be sorted; got {tuple(axes)}")
    if len(set(axes)) != len(axes):
        raise TypeError(f"{name} in {op} op must not repeat; got: {tuple(axes)}.")
    for axis in axes:
        if not 0 <= axis < ndim:
            text = f"Invalid {name} set in {op} op; valid range is [0, {ndim}); got: {axis}."
            raise TypeError(text)


def check_index_map(op: str, name: str, axes: Axes, n_components: int, ndim: int, end: str) -> None:
    """Raise TypeError unless every component of an index vector maps to an axis of its own."""
    if len(axes) != n_components:
        raise TypeError(
            f"{op.capitalize()} op has {len(axes)} elements in {name} and the bound of dimension "
            f"index_vector_dim={end} of indices is {n_components}. These two numbers must be equal"
            + ("." if op == "gather" else "")
        )
    for component, axis in enumerate(axes):
        if not 0 <= axis < ndim:
            mapping = "" if op == "gather" else " mapping"
            text = f"Invalid {name}{mapping}; domain is [0, {ndim}), got: {component}->{axis}."
            raise TypeError(text)
    if len(set(axes)) != len(axes):
        raise TypeError(f"{name} in {op} op must not repeat; got: {tuple(axes)}.")


def check_batching(op: str, names: tuple[str, str, str], axes: tuple, shapes: tuple) -> None:
    """Raise TypeError for batching axes that clash with others, or do not fit together.

    names: of the collapsed axes, the index map and the indices' batching axes.
    axes: collapsed, index map, operand batching and indices batching; shapes: operand, indices.
    """
    collapsed, index_map, operand_batch, indices_batch = axes
    operand, indices = shapes
    check_distinct_axes(op, "operand_batching_dims", operand_batch, len(operand))
    for name, others in ((names[0], collapsed), (names[1], index_map)):
        if set(others) & set(operand_batch):
            raise TypeError(
                f"{name} and operand_batching_dims in {op} op must be disjoint; "
                f"got: {tuple(others)} and {tuple(operand_batch)}."
            )
    title = op.capitalize()
    check_distinct_axes(op, names[2], indices_batch, len(indices), ordered=False)
    if len(indices) - 1 in indices_batch:
        raise TypeError(
            f"{title} op cannot have the index vector dimension as a batching dimension; "
            f"got {tuple(indices_batch)}."
        )
    if len(operand_batch) != len(indices_batch):
        raise TypeError(
            f"{title} op requires equal numbers of operand_batching_dims and {names[2]}, "
            f"got {tuple(operand_batch)} and{tuple(indices_batch)}."
        )
    left = tuple(operand[axis] for axis in operand_batch)
    right = tuple(indices[axis] for axis in indices_batch)
    if left != right:
        raise TypeError(
            f"{title} op requires operand batching dimensions and indices batching dimensions to "
            f"have the same shape, got {left} and {right}."
        )


def window_start(
    b: Any, vector: Sequence[Any], index_map: Axes, room: Sequence[int], clip: bool
) -> tuple[dict[int, Any], Any]:
    """Return where a window starts, per operand axis, and whether it is inside (None: always).

    vector: the components of one index vector, any integers; room: per operand axis, the greatest
    start.  The starts are moved inside if `clip`; else they are what was given.
    """
    starts: dict[int, Any] = {}
    inside = None
    for component, axis in zip(vector, index_map, strict=True):
        start = _clipped(b, component, room[axis]) if clip else component
        start = b.convert(start, np.dtype(np.int64))
        if clip:
            b.bound(start, 0, room[axis])
        else:
            fits = _is_within(b, component, room[axis])
            inside = fits if inside is None else b.and_(inside, fits)
        starts[axis] = start
    return starts, inside


def _clipped(b: Any, place: Any, last: int) -> Any:
    """Return a place moved to 0, ..., last, in its own dtype: lanes are many where it is narrow."""
    number = dtypes.iinfo(place.dtype)
    if last < number.max:
        place = b.min(place, last)
    return place if number.min == 0 else b.max(place, 0)


def _is_within(b: Any, place: Any, last: int) -> Any:
    """Tell whether a place is one of 0, ..., last, by one comparison; none is if `last` is -1."""
    if last < 0:
        return b.const(False, np.dtype(bool))
    # As a number without a sign, a negative place is larger than any that is in bounds.
    counted = b.convert(place, np.dtype(f"uint{8 * place.dtype.itemsize}"))
    return b.le(counted, min(last, int(dtypes.iinfo(place.dtype).max)))


def window_place(
    numbers: GatherDimensionNumbers, index: Sequence[Any], ndim: int
) -> tuple[list[Any], list[Any]]:
    """Split an index into the list of windows: return (index of the vector, offset in the operand).

    The offset has 0 for the axes that the list does not show, and the batch index for those along
    which operand and indices are walked together.
    """
    batch = [i for axis, i in enumerate(index) if axis not in numbers.offset_dims]
    offsets = iter([index[axis] for axis in numbers.offset_dims])
    gone = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    place = [0 if axis in gone else next(offsets) for axis in range(ndim)]
    pairs = zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)
    for axis, dim in pairs:
        place[axis] = batch[dim]
    return batch, place
