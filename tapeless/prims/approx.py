"""The approximate top k of accelerators, which is exact here.

approx_max_k: (m, n) -> values (m, k), indices (m, k), largest first

`approx_top_k` keeps its parameters in programs, though each gives the exact result: a recall of 1
is not below any that is asked for.  Partial results (`aggregate_to_topk=False`) are the best r of a
line, where r is how many the partial reduction of accelerators would leave:

    enough   = (k - 1) / -log(recall), in tiles of 1024 for vectors and of 128 for more dimensions
    r        = n in tiles, halved as long as `enough` are left; one tile for k = 1

NaNs are larger than all numbers: first among the largest, last among the least.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.linear import Zero
from tapeless.core.primitive import Primitive, Values
from tapeless.core.trace import Axis, Value
from tapeless.errors import JaxRuntimeError
from tapeless.prims.binary import sub
from tapeless.prims.common import batch_dim, full_like
from tapeless.prims.compare import ne
from tapeless.prims.convert import convert_element_type
from tapeless.prims.order import rank
from tapeless.prims.rules import canonical_axis, tangent_of
from tapeless.prims.select import select
from tapeless.prims.topk import taken, top_k
from tapeless.prims.unary import bitwise_not

__all__ = ["approx_max_k", "approx_min_k", "approx_top_k_p"]

_I32 = np.dtype(np.int32)


class ApproxTopK(Primitive):
    """x (m, n) -> the k largest or least of every line and their places, best first."""

    name = "approx_top_k"

    def abstract(
        self, x: ShapedArray, *, k: int, reduction_dimension: int, **params: Any
    ) -> tuple[ShapedArray, ...]:
        axis = canonical_axis(reduction_dimension, x.ndim)
        if k <= 0:
            raise ValueError(f"k must be positive, got {k}")
        if not dtypes.issubdtype(x.dtype, np.floating):
            raise ValueError(f"operand must be a floating type, got {x.dtype}")
        if k > x.shape[axis]:
            raise ValueError(
                f"k must be smaller than the size of reduction_dim {x.shape[axis]}, got {k}"
            )
        left = partial_count(x.shape[axis], x.ndim, k, **params)
        shape = (*x.shape[:axis], left, *x.shape[axis + 1 :])
        return ShapedArray(shape, x.dtype), ShapedArray(shape, _I32)

    def jvp(
        self,
        primals: Values,
        tangents: Sequence[Value | Zero],
        *,
        reduction_dimension: int,
        **params: Any,
    ) -> tuple[tuple, tuple]:
        """Move the tangents with their elements."""
        axis = canonical_axis(reduction_dimension, typeof(primals[0]).ndim)
        values, places = self.bind(*primals, reduction_dimension=axis, **params)
        moved = tangent_of(lambda t: taken(t, places, axis), tangents[0], values)
        return (values, places), (moved, Zero(typeof(places).tangent()))

    def batch(
        self,
        batch_axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        *,
        reduction_dimension: int,
        **params: Any,
    ) -> tuple:
        dim = batch_dim(dims)
        axis = canonical_axis(reduction_dimension, typeof(args[0]).ndim - 1)
        outs = self.bind(*args, reduction_dimension=axis + (dim <= axis), **params)
        return outs, (dim, dim)

    def decompose(
        self, *args: Value, k: int, reduction_dimension: int, is_max_k: bool, **params: Any
    ) -> tuple:
        """Give the exact answer."""
        (x,) = args
        axis = canonical_axis(reduction_dimension, typeof(x).ndim)
        k = partial_count(typeof(x).shape[axis], typeof(x).ndim, k, **params)
        key = _falling(x)
        return _best(x, bitwise_not(key) if is_max_k else key, k, axis)

    def reference(
        self, *arrays: Any, k: int, reduction_dimension: int, is_max_k: bool, **params: Any
    ) -> tuple:
        """Sort whole lines with NumPy; equal elements keep their order."""
        (x,) = arrays
        k = partial_count(x.shape[reduction_dimension], x.ndim, k, **params)
        keys = np.where(np.isnan(x), -np.inf, -x) if is_max_k else x
        order = np.argsort(keys, axis=reduction_dimension, kind="stable")
        places = np.take(order, range(k), axis=reduction_dimension)
        return np.take_along_axis(x, places, reduction_dimension), places.astype(_I32)


def partial_count(
    size: int,
    rank: int,
    k: int,
    *,
    recall_target: float,
    reduction_input_size_override: int,
    aggregate_to_topk: bool,
    **params: Any,
) -> int:
    """Return how many elements of a line of `size` are the result."""
    whole = reduction_input_size_override
    if 0 <= whole < size:
        raise JaxRuntimeError(
            f"reduction_input_size_override out of range: the whole input has at least the {size} "
            f"elements of the operand, got {whole}; -1 stands for the operand's size"
        )
    if aggregate_to_topk:
        return k
    tile = 1024 if rank == 1 else 128
    if size <= tile:
        return size
    if k == 1:
        return tile
    missed = -math.log(recall_target)
    enough = max(tile, (k - 1) / missed) if missed else size
    halvings = int(max(size, whole) / min(enough, size)).bit_length() - 1
    tiles = -(-size // tile)
    return -(-tiles // 2**halvings) * tile if halvings else size


def _best(x: Value, keys: Value, k: int, axis: int) -> tuple[Value, Value]:
    """Return the k elements with the greatest keys along an axis, and their places."""
    places = top_k(keys, k, axis=axis)[1]
    return taken(x, places, axis), places


def _falling(x: Value) -> Value:
    """Return integers that fall where `x` rises, and are least where it is NaN."""
    if not dtypes.issubdtype(typeof(x).dtype, np.floating):
        return bitwise_not(x)
    wide = convert_element_type(x, np.promote_types(np.float32, typeof(x).dtype))
    key = rank(sub(full_like(wide, 0), wide))  # zeros of both signs are alike
    return select(ne(wide, wide), full_like(key, np.iinfo(typeof(key).dtype).min), key)


approx_top_k_p = ApproxTopK()


def approx_max_k(
    operand: Value,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Value]:
    """Return the k largest elements along an axis and their positions; the recall is 1.

    operand: (m, n), floating-point -> (m, k), int32 (m, k).  aggregate_to_topk=False gives as many
    as the partial reduction of an accelerator, k or more.  JaxRuntimeError when
    `reduction_input_size_override` is below n.

    >>> import numpy as np
    >>> approx_max_k(np.array([3.0, 1.0, 2.0], np.float32), 2)
    [Array([3., 2.], dtype=float32), Array([0, 2], dtype=int32)]
    """
    return _bind(
        operand,
        k=k,
        is_max_k=True,
        reduction_dimension=reduction_dimension,
        recall_target=recall_target,
        reduction_input_size_override=reduction_input_size_override,
        aggregate_to_topk=aggregate_to_topk,
    )


def approx_min_k(
    operand: Value,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Value]:
    """Return the k least elements along an axis and their positions; the recall is 1.

    operand: (m, n), floating-point -> (m, k), int32 (m, k).  The other arguments: as of
    `approx_max_k`.

    >>> import numpy as np
    >>> approx_min_k(np.array([3.0, 1.0, 2.0], np.float32), 2)
    [Array([1., 2.], dtype=float32), Array([1, 2], dtype=int32)]
    """
    return _bind(
        operand,
        k=k,
        is_max_k=False,
        reduction_dimension=reduction_dimension,
        recall_target=recall_target,
        reduction_input_size_override=reduction_input_size_override,
        aggregate_to_topk=aggregate_to_topk,
    )


def _bind(operand: Value, *, k: int, recall_target: float, **params: Any) -> list[Value]:
    """Apply the operation; raise ValueError for a recall that is no probability."""
    if not 0 < recall_target <= 1:
        raise ValueError(f"recall_target must be in (0, 1], got {recall_target}")
    k = operator.index(k)
    return list(approx_top_k_p.bind(operand, k=k, recall_target=recall_target, **params))
