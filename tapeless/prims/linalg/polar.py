"""The polar decomposition: A = U H, of a matrix with orthonormal columns and a positive one.

With the singular values A = W S V', U = W V' and H = V S V'.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.prims.binary import mul
from tapeless.prims.common import const, dtype_of, shape_of
from tapeless.prims.compare import gt, lt
from tapeless.prims.convert import convert
from tapeless.prims.create import full, iota
from tapeless.prims.linalg.matrices import adjoint, columns_of, matmul, symmetrize
from tapeless.prims.linalg.svd import svd
from tapeless.prims.reduce import reduce_max
from tapeless.prims.structural import expand_dims

__all__ = ["qdwh"]


def _masked(x: Value, shape: tuple[Any, Any]) -> Value:
    """Return a matrix with zeros outside of its leading rows and columns."""
    for axis, n in enumerate(shape):
        extent = shape_of(x)[axis]
        is_inside = lt(iota(np.int32, extent), convert(n, np.dtype(np.int32)))
        x = mul(x, expand_dims(convert(is_inside, dtype_of(x)), (1 - axis,)))
    return x


def qdwh(
    x: Any,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[int, int] | None = None,
) -> tuple[Value, Value, Value, Value]:
    """Return the polar decomposition of a matrix: (m, n), m >= n -> (m, n), (n, n), (), ().

    The results are U and H, of which x is the product, how many iterations that took, and whether
    it converged.  dynamic_shape: how many leading rows and columns count.

    Unlike in JAX nothing is iterated, as it is done by singular values: the third result is 0, and
    is_hermitian, max_iterations and eps change nothing.

    >>> import tapeless.numpy as jnp
    >>> u, h, _, _ = qdwh(jnp.array([[0.0, -2.0], [1.0, 0.0]]))
    >>> u.round(3) + 0.0, h.round(3) + 0.0
    (Array([[ 0., -1.],
           [ 1.,  0.]], dtype=float32), Array([[1., 0.],
           [0., 2.]], dtype=float32))
    """
    aval = typeof(x)
    if aval.ndim != 2:
        raise ValueError(f"qdwh needs a matrix of shape (m, n), got shape {aval.shape}")
    m, n = aval.shape
    if m < n:
        raise ValueError("The input matrix of shape M x N must have M >= N.")
    if not dtypes.issubdtype(aval.dtype, np.inexact):
        raise ValueError(f"data type {aval.dtype!r} not compatible with finfo")
    if dynamic_shape is not None:
        if len(dynamic_shape) != 2:
            raise ValueError(f"dynamic_shape must be a pair (m, n), got {dynamic_shape}")
        x = _masked(x, dynamic_shape)
    w, s, v = svd(x, full_matrices=False)
    # Directions that x maps to 0 are mapped to 0 by U, too.
    tiny = const(s, max(m, n) * float(dtypes.finfo(aval.dtype).eps))
    largest = reduce_max(s, (0,)) if n else const(s, 0)
    used = convert(gt(s, mul(tiny, largest)), dtype_of(x))
    u = matmul(mul(w, columns_of(used)), v)
    h = matmul(mul(adjoint(v), columns_of(convert(s, dtype_of(x)))), v)
    return u, symmetrize(h), full((), 0, np.int32), full((), True, np.bool_)
