"""Layouts of convolutions: which axis of images, kernels and results plays which part.

A layout is three tuples of axes: batch, channel and space of the images; output channel, input
channel and space of the kernels; batch, channel and space of the result.  Users may spell it as
three strings, such as ("NHWC", "HWIO", "NHWC"); the kernels' string gives the order of space.

Axes of a batch are merged with those of a layout, and split off again, by `merge_into` and its kin.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tapeless.core.trace import Value
from tapeless.prims.common import move_dim, shape_of
from tapeless.prims.structural import reshape

__all__ = [
    "ConvDimensionNumbers",
    "ConvGeneralDilatedDimensionNumbers",
    "conv_dimension_numbers",
    "conv_general_permutations",
    "merge_into",
    "merge_within",
    "spatial",
    "split_off",
    "swapped",
]

Shape = Sequence[int]


class ConvDimensionNumbers(NamedTuple):
    """Axes of the images (batch, channel, space...), kernels (out, in, space...) and result."""

    lhs_spec: tuple[int, ...]
    rhs_spec: tuple[int, ...]
    out_spec: tuple[int, ...]


ConvGeneralDilatedDimensionNumbers = None | ConvDimensionNumbers | tuple[str, str, str]


def conv_general_permutations(
    dimension_numbers: tuple[str, str, str],
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return the axes that layouts such as ("NHWC", "HWIO", "NHWC") name, in canonical order.

    >>> lax.conv_general_permutations(("NCHW", "OIHW", "NHWC"))
    ((0, 1, 2, 3), (0, 1, 2, 3), (0, 3, 1, 2))
    """
    lhs, rhs, out = dimension_numbers
    for position, (letters, spec) in enumerate(
        zip((("N", "C"), ("O", "I"), ("N", "C")), dimension_numbers, strict=True)
    ):
        name = ("lhs", "rhs", "out")[position]
        for letter in letters:
            if spec.count(letter) != 1:
                raise TypeError(
                    "convolution dimension_numbers[{}] must contain the characters '{}' and '{}' "
                    "exactly once, got {}.".format(position, *letters, spec)
                )
        if len(spec) != len(set(spec)):
            text = f"convolution dimension_numbers[{position}] cannot have duplicate characters, "
            raise TypeError(text + f"got {spec}.")
        if name and set(lhs) - {"N", "C"} != set(spec) - set(letters):
            raise TypeError(
                "convolution dimension_numbers elements must each have the same set of spatial "
                f"characters, got {dimension_numbers}."
            )
    space = [letter for letter in rhs if letter not in "OI"]

    def axes(spec: str, letters: tuple[str, str]) -> tuple[int, ...]:
        """Return the axes of one layout."""
        return tuple(spec.index(letter) for letter in (*letters, *space))

    return axes(lhs, ("N", "C")), axes(rhs, ("O", "I")), axes(out, ("N", "C"))


def conv_dimension_numbers(
    lhs_shape: Shape, rhs_shape: Shape, dimension_numbers: ConvGeneralDilatedDimensionNumbers
) -> ConvDimensionNumbers:
    """Return the layout that an argument means: None, three strings, or the layout itself.

    >>> lax.conv_dimension_numbers((1, 2, 5, 5), (3, 2, 2, 2), ("NCHW", "OIHW", "NHWC")).out_spec
    (0, 3, 1, 2)
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    if len(lhs_shape) != len(rhs_shape):
        raise TypeError(
            "convolution requires lhs and rhs ndim to be equal, "
            f"got {len(lhs_shape)} and {len(rhs_shape)}."
        )
    if dimension_numbers is None:
        plain = tuple(range(len(lhs_shape)))
        return ConvDimensionNumbers(plain, plain, plain)
    if not isinstance(dimension_numbers, (list, tuple)):
        kind = type(dimension_numbers)
        text = f"convolution dimension_numbers must be tuple/list or None, got {kind}."
        raise TypeError(text)
    if len(dimension_numbers) != 3:
        raise TypeError(
            f"convolution dimension_numbers list/tuple must be length 3, "
            f"got {len(dimension_numbers)}."
        )
    if not all(isinstance(spec, str) for spec in dimension_numbers):
        kinds = tuple(type(spec) for spec in dimension_numbers)
        text = f"convolution dimension_numbers elements must be strings, got {kinds}."
        raise TypeError(text)
    for position, spec in enumerate(dimension_numbers):
        if len(spec) != len(lhs_shape):
            raise TypeError(
                f"convolution dimension_numbers[{position}] must have len equal to the ndim of lhs "
                f"and rhs, got {len(spec)} for lhs and rhs shapes {tuple(lhs_shape)} and "
                f"{tuple(rhs_shape)}."
            )
    return ConvDimensionNumbers(*conv_general_permutations(tuple(dimension_numbers)))


def spatial(shape: Shape, spec: Shape) -> tuple[int, ...]:
    """Return the extents of the axes of space."""
    return tuple(shape[axis] for axis in spec[2:])


def swapped(spec: Shape) -> tuple[int, ...]:
    """Exchange the first two axes of a layout."""
    return (spec[1], spec[0], *spec[2:])


def merge_into(x: Value, source: int, axis: int) -> Value:
    """Move axis `source` in front of the row's axis `axis`, and merge the two: (b, n) -> (b n)."""
    shape = shape_of(x)
    order = [dim for dim in range(len(shape)) if dim != source]
    order.insert(axis, source)
    sizes = [shape[dim] for dim in order]
    sizes[axis : axis + 2] = [sizes[axis] * sizes[axis + 1]]
    plain = order == sorted(order)
    return reshape(x, tuple(sizes), None if plain else tuple(order))


def split_off(x: Value, axis: int, size: int) -> Value:
    """Split an axis: (size n) -> (size, n)."""
    shape = shape_of(x)
    return reshape(
        x,
        (
            *shape[:axis],
            size,
            shape[axis] // size,
            *shape[axis + 1 :],
        ),
    )


def merge_within(x: Value, source: int, axis: int, groups: int) -> Value:
    """Merge axis `source` into every group of the row's axis `axis`: (b, g n) -> (g b n)."""
    if groups == 1:
        return merge_into(x, source, axis)
    x = move_dim(x, source, 0)
    x = split_off(x, axis + 1, groups)
    x = merge_into(x, 0, axis + 1)
    shape = shape_of(x)
    return reshape(
        x,
        (
            *shape[:axis],
            shape[axis] * shape[axis + 1],
            *shape[axis + 2 :],
        ),
    )
