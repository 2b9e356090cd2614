"""`jax.scipy.interpolate`: functions known on a grid."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import asarray, check_arraylike, promote_dtypes_inexact
from tapeless.tree.registry import register_pytree_node_class
from tapeless.util.names import close_module

__all__ = ["RegularGridInterpolator"]

_METHODS = ("linear", "nearest")


def _check_method(method: str) -> None:
    """Refuse an unknown method."""
    if method not in _METHODS:
        raise ValueError(f"method {method!r} is not defined")


@register_pytree_node_class
class RegularGridInterpolator:
    """A function of d variables whose values on a rectangular grid are known.

    points: d arrays of ascending coordinates, of n_1, ..., n_d >= 2.  values: (n_1, ..., n_d, ...).
    method: "linear" or "nearest".  bounds_error: must be False, as programs cannot raise.
    fill_value: the value outside of the grid; None goes on with the outermost cell.

    Unlike in SciPy the coordinates must ascend, which is not checked, and there are no splines.

    >>> grid = (jnp.array([0.0, 1.0]), jnp.array([0.0, 2.0]))
    >>> f = RegularGridInterpolator(grid, jnp.array([[0.0, 2.0], [1.0, 3.0]]))
    >>> f(jnp.array([[0.5, 1.0], [1.0, 2.0]]))
    Array([1.5, 3. ], dtype=float32)
    """

    def __init__(
        self,
        points: Sequence[Any],
        values: Any,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: Any = jnp.nan,
    ) -> None:
        """Check the grid and the values."""
        _check_method(method)
        if bounds_error:
            raise NotImplementedError("`bounds_error` takes no effect under JIT")
        check_arraylike("RegularGridInterpolator", values)
        self.method = method
        self.bounds_error = bounds_error
        (self.values,) = promote_dtypes_inexact(asarray(values))
        if len(points) > self.values.ndim:
            raise ValueError(
                f"there are {len(points)} point arrays, but values has {self.values.ndim} "
                "dimensions"
            )
        check_arraylike("RegularGridInterpolator", *points)
        self.grid = tuple(asarray(each) for each in points)
        for axis, (coordinates, n) in enumerate(zip(self.grid, self.values.shape, strict=False)):
            if coordinates.shape != (n,):
                raise ValueError(
                    f"the coordinates of axis {axis} must have shape {(n,)}, as values have shape "
                    f"{self.values.shape}, got shape {coordinates.shape}"
                )
        if fill_value is not None:
            check_arraylike("RegularGridInterpolator", fill_value)
            if jnp.result_type(self.values, fill_value) != self.values.dtype:
                raise ValueError(
                    "fill_value must be either 'None' or of a type compatible with values"
                )
        self.fill_value = fill_value

    def tree_flatten(self) -> tuple[tuple, tuple]:
        """Return the arrays, and the rest."""
        return (self.grid, self.values, self.fill_value), (self.method, self.bounds_error)

    @classmethod
    def tree_unflatten(cls, aux_data: tuple, children: tuple) -> RegularGridInterpolator:
        """Return the function of these arrays."""
        self = object.__new__(cls)
        self.grid, self.values, self.fill_value = children
        self.method, self.bounds_error = aux_data
        return self

    def __call__(self, xi: Any, method: str | None = None) -> Value:
        """Return the values at points: xi (..., d), or d arrays -> (..., *the rest of values).

        method: instead of that of the function.
        """
        chosen = self.method if method is None else method
        _check_method(chosen)
        points = _points(xi, len(self.grid))
        if points.shape[-1] != len(self.grid):
            raise ValueError(
                f"the requested sample points xi have dimension {points.shape[-1]}, but this "
                f"RegularGridInterpolator has dimension {len(self.grid)}"
            )
        flat = points.reshape(-1, points.shape[-1])
        cells, shares, is_outside = _cells(self.grid, flat)
        rest = self.values.shape[len(self.grid) :]
        if chosen == "nearest":
            indices = [jnp.where(t <= 0.5, i, i + 1) for i, t in zip(cells, shares, strict=True)]
            found = self.values[tuple(indices)]
        else:
            found = _linear(self.values, cells, shares)
        if self.fill_value is not None:
            mask = is_outside.reshape(-1, *[1] * len(rest))
            found = jnp.where(mask, self.fill_value, found)
        return found.reshape(*points.shape[:-1], *rest)


def _points(xi: Any, d: int) -> Value:
    """Return points as an array: (..., d)."""
    if isinstance(xi, (tuple, list)):
        check_arraylike("RegularGridInterpolator", *xi)
        coordinates = jnp.broadcast_arrays(*promote_dtypes_inexact(*map(asarray, xi)))
        return jnp.stack(coordinates, axis=-1)
    check_arraylike("RegularGridInterpolator", xi)
    (points,) = promote_dtypes_inexact(asarray(xi))
    if points.ndim < 2:
        return points.reshape(-1, 1) if d == 1 else points.reshape(1, -1)
    return points


def _cells(grid: Sequence[Value], points: Value) -> tuple[list[Value], list[Value], Value]:
    """Return per axis the cell of each point and how far in it is; and which are outside."""
    cells, shares = [], []
    is_outside = jnp.zeros(points.shape[0], bool)
    for axis, coordinates in enumerate(grid):
        x = points[:, axis]
        index = jnp.clip(jnp.searchsorted(coordinates, x) - 1, 0, coordinates.size - 2)
        start = coordinates[index]
        cells.append(index)
        shares.append((x - start) / (coordinates[index + 1] - start))
        is_outside = is_outside | (x < coordinates[0]) | (x > coordinates[-1])
    return cells, shares, is_outside


def _linear(values: Value, cells: Sequence[Value], shares: Sequence[Value]) -> Value:
    """Return the sum over the corners of cells of their value times the shares."""
    rest = values.ndim - len(cells)
    total: Any = 0
    corners = [((i, 1 - t), (i + 1, t)) for i, t in zip(cells, shares, strict=True)]
    for corner in itertools.product(*corners):
        indices, weights = zip(*corner, strict=True)
        weight: Any = 1
        for each in weights:
            weight = weight * each
        total = total + values[indices] * weight.reshape(-1, *[1] * rest)
    return total


close_module("jax.scipy.interpolate", globals())
