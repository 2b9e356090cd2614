"""Elements of an array by one index per axis, as one gather."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.prims.binary import add, rem
from tapeless.prims.common import const
from tapeless.prims.compare import lt
from tapeless.prims.convert import convert
from tapeless.prims.gather import gather
from tapeless.prims.indexing import GatherDimensionNumbers
from tapeless.prims.join import concatenate
from tapeless.prims.select import select
from tapeless.prims.structural import expand_dims

__all__ = ["index_take"]


def index_take(src: Value, idxs: Sequence[Value], axes: Sequence[int]) -> Value:
    """Return elements or slices: src (n, ...), idxs of (k) for each of the axes -> (k, rest).

    Indices count modulo the extent of their axis.  The other axes follow in their order.

    >>> import tapeless.numpy as jnp
    >>> index_take(jnp.array([[1.0, 2.0], [3.0, 4.0]]), (jnp.array([0, 1, 2]),), (1,))
    Array([[1., 3.],
           [2., 4.],
           [1., 3.]], dtype=float32)
    """
    shape = typeof(src).shape
    if len(idxs) != len(axes):
        raise ValueError(f"index_take needs an index per axis, got {len(idxs)} and {len(axes)}")
    columns = []
    for index, axis in zip(idxs, axes, strict=True):
        if not -len(shape) <= axis < len(shape):
            raise IndexError(f"axis {axis} is out of bounds for array of dimension {len(shape)}")
        if typeof(index).ndim != 1:
            raise TypeError(f"index_take needs vectors of indices, got {typeof(index).shape}")
        size = const(index, shape[axis])
        left = rem(index, size)
        wrapped = select(lt(left, const(left, 0)), add(left, size), left)
        columns.append(expand_dims(convert(wrapped, np.dtype(np.int32)), (1,)))
    places = tuple(axis % len(shape) for axis in axes)
    order = sorted(places)
    numbers = GatherDimensionNumbers(
        offset_dims=tuple(range(1, 1 + len(shape) - len(places))),
        collapsed_slice_dims=tuple(order),
        start_index_map=places,
    )
    sizes = tuple(1 if axis in places else n for axis, n in enumerate(shape))
    return gather(src, concatenate(columns, 1), numbers, sizes)
