"""`jax.scipy.ndimage`: an array read between its elements.

Each coordinate has one node (order 0, the nearest element) or two (order 1, the elements below and
above), with weights.  A point's value is the sum over all choices of one node per axis of the
element there times the product of the weights.  Elements beyond the edges depend on the mode:

    constant   cval                       nearest   a a a | a b c d | d d d
    wrap       b c d | a b c d | a b c    mirror    d c b | a b c d | c b a
    reflect    c b a | a b c d | d c b
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless import numpy as jnp
from tapeless.api.jit import jit
from tapeless.core.trace import Value
from tapeless.numpy.common import check_arraylike, promote_dtypes_inexact
from tapeless.util.names import close_module

__all__ = ["map_coordinates"]

# An index, whether there is an element (None: always), and the weight of the element.
Node = tuple[Value, Value | None, Value]


def _mirror(index: Value, n: int) -> Value:
    """Reflect indices about the centres of the elements at the edges."""
    period = max(2 * (n - 1), 1)
    return jnp.abs((index + n - 1) % period - (n - 1))


def _reflect(index: Value, n: int) -> Value:
    """Reflect indices about the outer edges."""
    inside = index % (2 * n)
    return jnp.where(inside < n, inside, 2 * n - 1 - inside)


_INDEX_OF_MODE: dict[str, Callable[[Value, int], Value]] = {
    "constant": lambda index, n: index,
    "nearest": lambda index, n: jnp.clip(index, 0, n - 1),
    "wrap": lambda index, n: index % n,
    "mirror": _mirror,
    "reflect": _reflect,
}


def _round_away(x: Value) -> Value:
    """Round to the nearest integer, halves away from zero."""
    return jnp.trunc(x + jnp.copysign(0.5, x))


def _nodes(coordinate: Value, n: int, order: int, mode: str) -> list[Node]:
    """Return the nodes of the coordinates of one axis."""
    if order == 0:
        places = [(_round_away(coordinate), jnp.ones_like(coordinate))]
    else:
        below = jnp.floor(coordinate)
        share = coordinate - below
        places = [(below, 1 - share), (below + 1, share)]
    nodes: list[Node] = []
    for place, weight in places:
        index = place.astype(np.int32)
        is_inside = (index >= 0) & (index < n) if mode == "constant" else None
        nodes.append((_INDEX_OF_MODE[mode](index, n), is_inside, weight))
    return nodes


@functools.partial(jit, static_argnames=("order", "mode"))
def _interpolated(
    x: Value, coordinates: tuple[Value, ...], order: int, mode: str, cval: Value
) -> Value:
    """Return the values of `x` at points: x (n, ...), coordinates s each -> s."""
    total: Any = 0
    axes = [
        _nodes(coordinate, n, order, mode)
        for coordinate, n in zip(coordinates, x.shape, strict=True)
    ]
    for choice in itertools.product(*axes):
        indices, inside, weights = zip(*choice, strict=True)
        element = x[indices]
        if mode == "constant":
            element = jnp.where(functools.reduce(jnp.logical_and, inside), element, cval)
        total = total + functools.reduce(jnp.multiply, weights) * element
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        total = _round_away(total)
    return total.astype(x.dtype)


def map_coordinates(
    input: Any, coordinates: Sequence[Any], order: int, mode: str = "constant", cval: Any = 0.0
) -> Value:
    """Return the values of an array at points, in its dtype: input (n_1, ...) -> s.

    coordinates: one array per axis of `input`, of shapes that stretch to s; element i has
    coordinate i.  order: 0, the nearest element, or 1, linear interpolation.
    mode: "constant" (beyond the edges is cval), "nearest", "wrap", "mirror" or "reflect".

    Unlike in SciPy there are no splines (order 2 to 5), and no mode "grid-wrap" or "grid-constant":
    "wrap" is what SciPy calls "grid-wrap".

    >>> x = jnp.array([[0.0, 1.0], [2.0, 3.0]])
    >>> map_coordinates(x, [jnp.array([0.0, 0.5]), jnp.array([1.0, 0.5])], order=1)
    Array([1. , 1.5], dtype=float32)
    """
    if order not in (0, 1):
        raise NotImplementedError("jax.scipy.ndimage.map_coordinates currently requires order<=1")
    if mode not in _INDEX_OF_MODE:
        raise NotImplementedError(
            f"jax.scipy.ndimage.map_coordinates does not yet support mode {mode}. Currently "
            f"supported modes are {set(_INDEX_OF_MODE)}."
        )
    x = jnp.asarray(input)
    if len(coordinates) != x.ndim:
        raise ValueError(
            "coordinates must be a sequence of length input.ndim, but "
            f"{len(coordinates)} != {x.ndim}"
        )
    if x.ndim == 0:
        raise TypeError("map_coordinates needs an array of at least one axis, got shape ()")
    given = [jnp.asarray(each) for each in coordinates]
    check_arraylike("map_coordinates", *given, cval)
    places = jnp.broadcast_arrays(*(promote_dtypes_inexact(each)[0] for each in given))
    return _interpolated(x, tuple(places), order, mode, jnp.asarray(cval).astype(x.dtype))


close_module("jax.scipy.ndimage", globals())
