"""Grids of coordinates: `meshgrid`, `indices`, and the objects that are indexed to make arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes, lax
from tapeless.api.vmap import vmap
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy.common import asarray, check_arraylike, concrete_value, number_dtype
from tapeless.numpy.creation import arange, linspace, shape_argument
from tapeless.numpy.joining import concatenate, stack
from tapeless.runtime.array import Array

__all__ = [
    "c_",
    "fromfunction",
    "index_exp",
    "indices",
    "meshgrid",
    "mgrid",
    "ogrid",
    "r_",
    "s_",
]


def meshgrid(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Array, ...]:
    """Return the coordinates of the points of a grid, one array for each axis.

    xi: (n,), (m,) -> two arrays (m, n), or (n, m) with `indexing="ij"`; with `sparse` their
    extents along the other axes are 1

    >>> import tapeless.numpy as jnp
    >>> jnp.meshgrid(jnp.arange(2), jnp.arange(3), indexing="ij")[0]
    Array([[0, 0, 0],
           [1, 1, 1]], dtype=int32)
    """
    check_arraylike("meshgrid", *xi)
    values = [asarray(x) for x in xi]
    if not copy:
        raise ValueError("jax.numpy.meshgrid only supports copy=True")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Valid values for indexing are 'xy' and 'ij', got {indexing}")
    shapes = [typeof(value).shape for value in values]
    if any(len(shape) != 1 for shape in shapes):
        raise ValueError(f"Arguments to jax.numpy.meshgrid must be 1D, got shapes {shapes}")
    swapped = indexing == "xy" and len(values) >= 2
    if swapped:
        values[:2] = values[1::-1]
    extents = [typeof(value).shape[0] for value in values]
    out = []
    for axis, value in enumerate(values):
        size = [extent if not sparse or n == axis else 1 for n, extent in enumerate(extents)]
        out.append(lax.broadcast_in_dim(value, size, (axis,)))
    if swapped:
        out[:2] = out[1::-1]
    return tuple(out)


def indices(dimensions: Sequence[int], dtype: Any = None, sparse: bool = False) -> Any:
    """Return the index of every place of an array along each of its axes.

    dimensions: (n, m) -> (2, n, m); with `sparse` a tuple of arrays (n, 1) and (1, m)

    >>> import tapeless.numpy as jnp
    >>> jnp.indices((2, 2))
    Array([[[0, 0],
            [1, 1]],
    <BLANKLINE>
           [[0, 1],
            [0, 1]]], dtype=int32)
    """
    asked = dtypes.check_user_dtype_supported(int if dtype is None else dtype, "indices")
    kind = number_dtype(asked, "indices")
    sizes = tuple(operator.index(size) for size in dimensions)
    out = []
    for axis, extent in enumerate(sizes):
        wide = [size if not sparse or n == axis else 1 for n, size in enumerate(sizes)]
        out.append(lax.broadcast_in_dim(lax.iota(kind, extent), wide, (axis,)))
    if sparse:
        return tuple(out)
    return stack(out, 0) if out else asarray(np.zeros((0,), kind))


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kwargs: Any
) -> Array:
    """Return the array whose element at (i, j) is `function(i, j)`.

    function: of scalars -> a scalar or an array; shape: (n, m) -> (n, m, ...)

    Unlike NumPy, this calls the function with scalars, mapped over all places.

    >>> import tapeless.numpy as jnp
    >>> jnp.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int)
    Array([[ 0,  1,  2],
           [10, 11, 12]], dtype=int32)
    """
    sizes = shape_argument(shape)
    for axis in range(len(sizes)):
        in_axes = [0 if axis == number else None for number in range(len(sizes))]
        function = vmap(function, in_axes=tuple(in_axes[::-1]))
    return function(*(arange(size, dtype=dtype) for size in sizes), **kwargs)


def _progression(part: slice, name: str) -> Value:
    """Return the range of a slice; an imaginary step is a number of points."""
    start, stop, step = (
        None if bound is None else concrete_value(bound, f"slice of {name}")
        for bound in (part.start, part.stop, part.step)
    )
    if stop is None:
        raise ValueError(f"a slice of jnp.{name} must have a stop")
    start = 0 if start is None else start
    step = 1 if step is None else step
    if isinstance(step, complex):
        return linspace(start, stop, int(abs(step)))
    return arange(start, stop, step)


class _Mgrid:
    """`mgrid[a:b, c:d]`: the coordinates of a grid, full.

    >>> import tapeless.numpy as jnp
    >>> jnp.mgrid[0:2, 0:2]
    Array([[[0, 0],
            [1, 1]],
    <BLANKLINE>
           [[0, 1],
            [0, 1]]], dtype=int32)
    """

    def __getitem__(self, key: Any) -> Array:
        """Return the coordinates, an array (k, ...) for k slices."""
        if isinstance(key, slice):
            return _progression(key, "mgrid")
        lines = [_progression(part, "mgrid") for part in key]
        return stack(meshgrid(*_same_dtype(lines), indexing="ij"), 0) if lines else asarray([])


class _Ogrid:
    """`ogrid[a:b, c:d]`: the coordinates of a grid, along one axis each.

    >>> import tapeless.numpy as jnp
    >>> [x.shape for x in jnp.ogrid[0:2, 0:3]]
    [(2, 1), (1, 3)]
    """

    def __getitem__(self, key: Any) -> Any:
        """Return the list of coordinates."""
        if isinstance(key, slice):
            return _progression(key, "ogrid")
        lines = [_progression(part, "ogrid") for part in key]
        return list(meshgrid(*_same_dtype(lines), indexing="ij", sparse=True))


def _same_dtype(lines: Sequence[Value]) -> list[Value]:
    """Bring arrays to a common dtype."""
    kind = dtypes.result_type(*lines)
    return [asarray(line, dtype=kind) for line in lines]


class _Concatenator:
    """What is indexed with slices, numbers and arrays to join them."""

    axis = 0
    ndmin = 1
    new_axes_last = -1
    name = "r_"

    def __getitem__(self, key: Any) -> Array:
        """Join the parts of the key; a text as first part says how."""
        parts = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, place, matrix = self.axis, self.ndmin, self.new_axes_last, ""
        if parts and isinstance(parts[0], str):
            axis, ndmin, place, matrix = self._directive(parts.pop(0))
        arrays = []
        for part in parts:
            value = _progression(part, self.name) if isinstance(part, slice) else part
            arrays.append(self._widened(asarray(value), ndmin, place))
        joined = concatenate(arrays, axis=axis)
        if matrix == "c" and typeof(joined).ndim <= 2:
            return lax.transpose(joined, (1, 0)) if typeof(joined).ndim == 2 else joined
        return joined

    def _directive(self, text: str) -> tuple[int, int, int, str]:
        """Return axis, least number of axes, where they are added, and matrix mode."""
        if text in ("r", "c"):
            return -1, 2, -1, text
        try:
            numbers = [int(number) for number in text.split(",")]
        except ValueError:
            raise ValueError(f"could not understand directive {text!r}") from None
        defaults = (self.axis, self.ndmin, -1)
        axis, ndmin, place = (*numbers, *defaults[len(numbers) :])
        return axis, ndmin, place, ""

    def _widened(self, x: Value, ndmin: int, place: int) -> Value:
        """Return an array with at least `ndmin` axes; the old ones stand at `place`."""
        scalar = typeof(x).ndim == 0
        x = lax.expand_dims(x, (0,)) if scalar else x
        missing = ndmin - typeof(x).ndim
        if missing <= 0:
            return x
        before = missing + 1 + place if place < 0 else place
        before = min(max(before, 0), missing)
        rank = ndmin
        added = [*range(before), *range(rank - (missing - before), rank)]
        return lax.expand_dims(x, added)


class RClass(_Concatenator):
    """`r_[a:b, x, 3]`: parts joined along the first axis.

    >>> import tapeless.numpy as jnp
    >>> jnp.r_[0:3, 7]
    Array([0, 1, 2, 7], dtype=int32)
    """


class CClass(_Concatenator):
    """`c_[x, y]`: parts joined along the last axis, those of one axis being columns.

    >>> import tapeless.numpy as jnp
    >>> jnp.c_[jnp.arange(2), jnp.arange(2)]
    Array([[0, 0],
           [1, 1]], dtype=int32)
    """

    axis = -1
    ndmin = 2
    new_axes_last = 0
    name = "c_"


mgrid = _Mgrid()
ogrid = _Ogrid()
r_ = RClass()
c_ = CClass()
index_exp = np.index_exp
s_ = np.s_
