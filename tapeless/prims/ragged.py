"""Products of groups of rows, each with a matrix of its own.

    lhs (m, k), rhs (g, k, n), group_sizes (g)  ->  (m, n)

The first group_sizes[0] rows are multiplied by rhs[0], the next by rhs[1], and so on; what rows are
left is 0.  It is one product of rows with zeros in the columns of all groups but their own, of
g times the work.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.prims.binary import sub
from tapeless.prims.bitwise import bitwise_and
from tapeless.prims.common import zeros_like
from tapeless.prims.compare import ge, lt
from tapeless.prims.convert import convert
from tapeless.prims.create import iota
from tapeless.prims.cumulative import cumsum
from tapeless.prims.dot import dot_general
from tapeless.prims.precision import PrecisionLike
from tapeless.prims.select import select
from tapeless.prims.structural import broadcast_in_dim, expand_dims

__all__ = ["ragged_dot"]


def ragged_dot(
    lhs: Value,
    rhs: Value,
    group_sizes: Value,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    group_offset: Value | None = None,
    out_sharding: Any = None,
) -> Value:
    """Return the products of groups of rows: (m, k), (g, k, n), (g) -> (m, n).

    group_offset: None.  out_sharding: ignored, as there is one device.

    >>> import tapeless.numpy as jnp
    >>> ragged_dot(jnp.ones((3, 1)), jnp.array([[[1.0]], [[2.0]]]), jnp.array([1, 2]))
    Array([[1.],
           [2.],
           [2.]], dtype=float32)
    """
    if group_offset is not None:
        raise NotImplementedError("ragged_dot has no group_offset; give all groups")
    x, y, sizes = typeof(lhs), typeof(rhs), typeof(group_sizes)
    if not dtypes.issubdtype(sizes.dtype, np.integer):
        raise TypeError(
            "ragged_dot_general requires that group_sizes.dtype is subtype of np.integer."
        )
    if (x.ndim, y.ndim, sizes.ndim) != (2, 3, 1):
        raise TypeError(
            f"ragged_dot needs shapes (m, k), (g, k, n) and (g,), got {x.shape}, {y.shape} and "
            f"{sizes.shape}"
        )
    (m, k), (g, k2, _) = x.shape, y.shape
    if k != k2:
        raise TypeError(
            "dot_general requires contracting dimensions to have the same shape, got "
            f"{(k,)} and {(k2,)}."
        )
    if sizes.shape != (g,):
        raise TypeError(f"expected rhs group dimension size to be {sizes.shape[0]}, got {g}.")
    ends = cumsum(convert(group_sizes, np.dtype(np.int32)))
    starts = sub(ends, convert(group_sizes, np.dtype(np.int32)))
    rows = expand_dims(iota(np.int32, m), (0,))
    is_member = bitwise_and(ge(rows, expand_dims(starts, (1,))), lt(rows, expand_dims(ends, (1,))))
    spread = broadcast_in_dim(lhs, (g, m, k), (1, 2))
    own = select(broadcast_in_dim(is_member, (g, m, k), (0, 1)), spread, zeros_like(spread))
    return dot_general(
        own,
        rhs,
        (((0, 2), (0, 1)), ((), ())),
        precision=precision,
        preferred_element_type=preferred_element_type,
    )
