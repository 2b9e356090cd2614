"""Segment operations: reduce the rows of an array that share an id.

    data: (n, ...), segment_ids: (n,) -> (num_segments, ...)

Each is a scatter into an array of the operation's neutral element.  Ids out of range are dropped.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tapeless import config, dtypes, errors, lax
from tapeless.core.aval import typeof
from tapeless.core.source import current_source
from tapeless.core.trace import Tracer, Value
from tapeless.numpy.common import asarray, check_arraylike
from tapeless.prims.check import NamedFault, check
from tapeless.prims.rules import highest, lowest

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]


class _Reduction(NamedTuple):
    """What tells the operations apart; `neutral` is a function of the dtype."""

    name: str
    scatter: Callable
    combine: Callable
    neutral: Callable[[np.dtype], Any]


_SUM = _Reduction("segment_sum", lax.scatter_add, lax.add, lambda dtype: 0)
_PROD = _Reduction("segment_prod", lax.scatter_mul, lax.mul, lambda dtype: 1)
_MAX = _Reduction("segment_max", lax.scatter_max, lax.max, lowest)
_MIN = _Reduction("segment_min", lax.scatter_min, lax.min, highest)


def _segment(
    reduction: _Reduction,
    data: Any,
    segment_ids: Any,
    num_segments: int | None,
    bucket_size: int | None,
    **how: Any,
) -> Value:
    """Scatter the rows of `data` to their segments; `how` is for the scatter."""
    check_arraylike(reduction.name, data, segment_ids)
    data, ids = asarray(data), asarray(segment_ids)
    data = lax.convert_element_type(data, dtypes.number_dtype(typeof(data).dtype))
    rows, id_aval = typeof(data), typeof(ids)
    if not dtypes.issubdtype(id_aval.dtype, np.integer):
        raise TypeError(f"segment_ids must be integers, got {id_aval.str_short(False)}")
    if id_aval.shape != rows.shape[: id_aval.ndim]:
        raise ValueError(
            f"{reduction.name}: segment_ids of shape {id_aval.shape} must match the leading axes "
            f"of data, which has shape {rows.shape}"
        )
    n = _segment_count(ids, num_segments)
    if n < 0:
        raise ValueError("num_segments must be non-negative.")
    if bucket_size is not None and bucket_size < 1:
        raise ValueError(f"bucket_size must be positive, got {bucket_size}; None makes one bucket")
    lax.GatherScatterMode.from_any(how["mode"])
    if how["mode"] is None and config.current.tapeless_check_segments and id_aval.size:
        _check_ids(ids, n)
    rest = rows.shape[id_aval.ndim :]
    # That of complex numbers is real; a Python integer might not fit into the default dtype.
    neutral = np.asarray(np.real(reduction.neutral(rows.dtype))).astype(rows.dtype)
    start = lax.full((n, *rest), neutral, rows.dtype)
    if 0 in rows.shape:  # truth values too: there is nothing to add
        return start
    if bucket_size is None:
        return _scatter_rows(reduction.scatter, start, ids, data, **how)
    size = min(bucket_size, id_aval.shape[0])
    n_whole = id_aval.shape[0] // size

    def add_bucket(total: Value, bucket: tuple[Value, Value]) -> tuple[Value, None]:
        """Combine what there is with the segments of one bucket."""
        part = _scatter_rows(reduction.scatter, start, *bucket, **how)
        return reduction.combine(total, part), None

    whole = [lax.slice_in_dim(x, 0, n_whole * size) for x in (ids, data)]
    buckets = [lax.reshape(x, (n_whole, size, *typeof(x).shape[1:])) for x in whole]
    total, _ = lax.scan(add_bucket, start, tuple(buckets))
    if n_whole * size == id_aval.shape[0]:
        return total
    rest_of = [lax.slice_in_dim(x, n_whole * size, id_aval.shape[0]) for x in (ids, data)]
    return add_bucket(total, (rest_of[0], rest_of[1]))[0]


def _check_ids(ids: Value, n: int) -> None:
    """Let the program end where an id is none of a segment."""
    aval = typeof(ids)
    axes, kind = tuple(range(aval.ndim)), aval.dtype.type
    most = int(dtypes.iinfo(aval.dtype).max)
    # As a number without a sign, a negative id is larger than any that is in bounds.
    unsigned = np.dtype(f"uint{8 * aval.dtype.itemsize}")
    counted = lax.convert_element_type(ids, unsigned)
    fine = lax.le(counted, lax.full(aval.shape, min(max(n - 1, 0), most), unsigned))
    if n == 0:
        fine = lax.full(aval.shape, False)
    low, high = lax.reduce_min(ids, axes), lax.reduce_max(ids, axes)
    text = f"index {{}} is out of bounds for axis 0 with size {n}, as the id of a segment"
    fault = NamedFault(current_source(), text, errors.OutOfBoundsError)
    check(fine, fault, lax.select(lax.lt(low, kind(0)), low, high))


def _segment_count(ids: Value, num_segments: Any) -> int:
    """Return the number of segments: given, or one more than the largest id."""
    if num_segments is not None:
        if isinstance(num_segments, Tracer) and num_segments.concrete() is None:
            raise errors.ConcretizationTypeError(
                f"segment ops need a static number of segments: num_segments is a traced array of "
                f"type {typeof(num_segments).str_short(True)}. {num_segments.origin()} "
                "Pass a number."
            )
        return operator.index(num_segments)
    if 0 in typeof(ids).shape:
        raise ValueError(
            "zero-size array to reduction operation max which has no identity: the number of "
            "segments is one more than the largest of segment_ids, of which there are none. Pass "
            "`num_segments`."
        )
    if isinstance(ids, Tracer) and ids.concrete() is None:
        raise errors.ConcretizationTypeError(
            f"segment ops need a static number of segments: segment_ids is a traced array of type "
            f"{typeof(ids).str_short(True)}, and num_segments was not given. The shape of the "
            f"result would depend on its values. {ids.origin()} Pass `num_segments`."
        )
    values = np.asarray(ids.concrete() if isinstance(ids, Tracer) else ids)
    return int(values.max()) + 1


def _scatter_rows(
    scatter: Callable,
    start: Value,
    ids: Value,
    data: Value,
    mode: Any,
    **how: bool,
) -> Value:
    """Combine rows into the rows of `start` that their ids name."""
    id_shape, rank = typeof(ids).shape, typeof(start).ndim
    index = lax.broadcast_in_dim(ids, (*id_shape, 1), tuple(range(len(id_shape))))
    window = tuple(range(len(id_shape), len(id_shape) + rank - 1))
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=window, inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
    )
    mode = lax.GatherScatterMode.FILL_OR_DROP if mode is None else mode
    return scatter(start, index, data, numbers, mode=mode, **how)


def segment_sum(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
    out_sharding: Any = None,
) -> Value:
    """Return the sum of the rows of each segment; 0 for an empty one.

    data: (n, *d), segment_ids: (n,) -> (num_segments, *d)

    >>> import numpy as np
    >>> segment_sum(np.array([1, 2, 3]), np.array([0, 0, 2]))
    Array([3, 0, 3], dtype=int32)
    """
    return _segment(
        _SUM,
        data,
        segment_ids,
        num_segments,
        bucket_size,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=mode,
    )


def segment_prod(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
    out_sharding: Any = None,
) -> Value:
    """Return the product of the rows of each segment; 1 for an empty one.

    data: (n, *d), segment_ids: (n,) -> (num_segments, *d)

    >>> import numpy as np
    >>> segment_prod(np.array([2, 3, 4]), np.array([0, 0, 2]))
    Array([6, 1, 4], dtype=int32)
    """
    return _segment(
        _PROD,
        data,
        segment_ids,
        num_segments,
        bucket_size,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=mode,
    )


def segment_max(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
    out_sharding: Any = None,
) -> Value:
    """Return the maximum of the rows of each segment; the lowest value for an empty one.

    data: (n, *d), segment_ids: (n,) -> (num_segments, *d)

    >>> import numpy as np
    >>> segment_max(np.array([1.0, 5.0], "float32"), np.array([1, 1]))
    Array([-inf,   5.], dtype=float32)
    """
    return _segment(
        _MAX,
        data,
        segment_ids,
        num_segments,
        bucket_size,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=mode,
    )


def segment_min(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
    out_sharding: Any = None,
) -> Value:
    """Return the minimum of the rows of each segment; the highest value for an empty one.

    data: (n, *d), segment_ids: (n,) -> (num_segments, *d)

    >>> import numpy as np
    >>> segment_min(np.array([1.0, 5.0], "float32"), np.array([1, 1]))
    Array([inf,  1.], dtype=float32)
    """
    return _segment(
        _MIN,
        data,
        segment_ids,
        num_segments,
        bucket_size,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=mode,
    )
