"""Diagonals and triangles: made, taken, filled, and their indices."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tapeless import dtypes, lax
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Value, context
from tapeless.numpy import reductions
from tapeless.numpy.arithmetic import power
from tapeless.numpy.choice import broadcast, nonzero, where
from tapeless.numpy.common import (
    asarray,
    canonicalize_axis,
    check_arraylike,
    convert,
    dtype_of,
    number_like,
    value_of,
)
from tapeless.numpy.creation import ones, zeros
from tapeless.numpy.indexing import get_item
from tapeless.numpy.shaping import moveaxis, ravel
from tapeless.numpy.updates import scatter_update
from tapeless.runtime.array import Array, array_from_numpy, array_of_dtype

__all__ = [
    "diag",
    "diag_indices",
    "diag_indices_from",
    "diagflat",
    "diagonal",
    "eye",
    "identity",
    "mask_indices",
    "trace",
    "tri",
    "tril",
    "tril_indices",
    "tril_indices_from",
    "triu",
    "triu_indices",
    "triu_indices_from",
    "vander",
]

_INT = np.dtype(np.int32)


def _extent(name: str, argument: str, n: Any) -> int:
    """Return a count of rows or columns."""
    try:
        return operator.index(n)
    except TypeError:
        raise TypeError(
            "Shapes must be 1D sequences of concrete values of integer type, got "
            f"({n},). argument of '{argument}' jnp.{name}()."
        ) from None


def _check_extents(name: str, shape: tuple[int, int]) -> None:
    """Raise TypeError for a negative number of rows or columns."""
    if min(shape) < 0:
        raise TypeError(f"{name}: rows and columns must be nonnegative, got {shape}.")


def _on_diagonal(shape: tuple[int, ...], k: Any) -> Value:
    """Return where the column is the row plus k; shape: (n, m)."""
    if dtypes.dtype(k).kind not in "biu":
        raise ValueError(f"the number of a diagonal must be an integer, got {k}")
    rows = lax.broadcasted_iota(_INT, shape, 0)
    columns = lax.broadcasted_iota(_INT, shape, 1)
    return lax.eq(lax.add(rows, convert(k, _INT)), columns)


def _below_diagonal(shape: tuple[int, ...], k: int) -> Value:
    """Return where the column is at most the row plus k; shape: (n, m)."""
    rows = lax.add(lax.broadcasted_iota(_INT, shape, 0), _INT.type(k))
    return lax.ge(rows, lax.broadcasted_iota(_INT, shape, 1))


def _kind(name: str, dtype: Any) -> Any:
    """Return the dtype asked for, by default the default float."""
    return dtypes.check_user_dtype_supported(float if dtype is None else dtype, name)


def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = None, *, device: Any = None) -> Array:
    """Return zeros with ones on the k-th diagonal, counted upwards from the main one.

    -> (N, M), M being N by default

    >>> import tapeless.numpy as jnp
    >>> jnp.eye(2, 3, k=1)
    Array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    kind = _kind("eye", dtype)
    rows = _extent("eye", "N", N)
    columns = rows if M is None else _extent("eye", "M", M)
    shape = (rows, columns)
    if min(shape) < 0:
        raise ValueError(f"eye: negative dimensions are not allowed, got N={N} and M={M}.")
    if context.trace is context.base and isinstance(k, (int, np.integer)):
        return array_of_dtype(np.eye(*shape, int(k)).astype(kind))
    return convert(_on_diagonal(shape, k), kind)


def identity(n: Any, dtype: Any = None) -> Array:
    """Return the identity matrix.

    -> (n, n)

    >>> import tapeless.numpy as jnp
    >>> jnp.identity(2)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return eye(n, dtype=_kind("identity", dtype))


def tri(N: Any, M: Any = None, k: int = 0, dtype: Any = None) -> Array:
    """Return ones on and below the k-th diagonal, zeros above.

    -> (N, M), M being N by default

    >>> import tapeless.numpy as jnp
    >>> jnp.tri(2, 3)
    Array([[1., 0., 0.],
           [1., 1., 0.]], dtype=float32)
    """
    kind = _kind("tri", dtype)
    rows = _extent("tri", "N", N)
    shape = (rows, rows if M is None else _extent("tri", "M", M))
    _check_extents("tri", shape)
    if context.trace is context.base:
        return array_of_dtype(np.tri(*shape, operator.index(k)).astype(kind))
    return convert(_below_diagonal(shape, k), kind)


@jit(static_argnames=("k",))
def tril(m: Any, k: int = 0) -> Array:
    """Return the array with zeros above the k-th diagonal of its last two axes.

    m: (..., n, m) -> (..., n, m)

    >>> import tapeless.numpy as jnp
    >>> jnp.tril(jnp.ones((2, 2)))
    Array([[1., 0.],
           [1., 1.]], dtype=float32)
    """
    check_arraylike("tril", m)
    mask = _triangle_mask("tril", m, k)
    return lax.select_n(mask, lax.full_like(m, 0), asarray(m))


@jit(static_argnames=("k",))
def triu(m: Any, k: int = 0) -> Array:
    """Return the array with zeros below the k-th diagonal of its last two axes.

    m: (..., n, m) -> (..., n, m)

    >>> import tapeless.numpy as jnp
    >>> jnp.triu(jnp.ones((2, 2)))
    Array([[1., 1.],
           [0., 1.]], dtype=float32)
    """
    check_arraylike("triu", m)
    mask = _triangle_mask("triu", m, k - 1)
    return lax.select_n(mask, asarray(m), lax.full_like(m, 0))


def _triangle_mask(name: str, m: Value, k: int) -> Value:
    """Return where an element is on or below the k-th diagonal, in the shape of `m`."""
    shape = typeof(m).shape
    if len(shape) < 2:
        raise ValueError(f"Argument to jax.numpy.{name} must be at least 2D")
    return broadcast(_below_diagonal(shape[-2:], k), shape)


# Taking and placing diagonals


@jit(static_argnames=("offset", "axis1", "axis2"))
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Return the diagonal of two axes as a last axis.

    a: (n, n, m) -> (m, n) for axes 0 and 1

    >>> import tapeless.numpy as jnp
    >>> jnp.diagonal(jnp.array([[1, 2], [3, 4]]))
    Array([1, 4], dtype=int32)
    """
    check_arraylike("diagonal", a)
    rank = typeof(a).ndim
    if rank < 2:
        raise ValueError("diagonal requires an array of at least two dimensions.")
    first, second = canonicalize_axis(axis1, rank), canonicalize_axis(axis2, rank)
    if first == second:
        raise ValueError("axis1 and axis2 cannot be the same")
    offset = operator.index(offset)
    a = moveaxis(a, (first, second), (-2, -1))
    rows, columns = typeof(a).shape[-2:]
    count = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    i, j = lax.iota(_INT, count), lax.iota(_INT, count)
    if offset < 0:
        i = lax.sub(i, _INT.type(offset))
    elif offset > 0:
        j = lax.add(j, _INT.type(offset))
    return get_item(a, (..., i, j))


def diag(v: Any, k: int = 0) -> Array:
    """Return the matrix with `v` on its k-th diagonal; or, of a matrix, its k-th diagonal.

    v: (n,) -> (n + |k|, n + |k|); or (n, m) -> (min(n, m),) for k = 0

    >>> import tapeless.numpy as jnp
    >>> jnp.diag(jnp.array([1, 2]))
    Array([[1, 0],
           [0, 2]], dtype=int32)
    """
    check_arraylike("diag", v)
    return _diag(value_of(v), operator.index(k))


@jit(static_argnames=("k",))
def _diag(v: Value, k: int) -> Value:
    """Place or take a diagonal."""
    shape = typeof(v).shape
    if len(shape) == 1:
        size = shape[0] + abs(k)
        padded = lax.pad(v, number_like(v, 0), ((max(0, -k), max(0, k), 0),))
        mask = _on_diagonal((size, size), k)
        return where(mask, lax.expand_dims(padded, (1,)), number_like(v, 0))
    if len(shape) == 2:
        return diagonal(v, offset=k)
    raise ValueError("diag input must be 1d or 2d")


def diagflat(v: Any, k: int = 0) -> Array:
    """Return the matrix with the elements of `v`, flattened, on its k-th diagonal: (n,) -> (n, n).

    >>> import tapeless.numpy as jnp
    >>> jnp.diagflat(jnp.array([[1, 2]]))
    Array([[1, 0],
           [0, 2]], dtype=int32)
    """
    check_arraylike("diagflat", v)
    flat = ravel(v)
    count = typeof(flat).size
    size = count + abs(k)
    places = lax.add(lax.iota(_INT, count), _INT.type(max(0, k)))
    rows = lax.add(lax.iota(_INT, count), _INT.type(max(0, -k)))
    places = lax.add(places, lax.mul(rows, _INT.type(size)))
    out = scatter_update(zeros(size * size, dtype_of(flat)), (places,), flat, lax.scatter_p)
    return lax.reshape(out, (size, size))


@jit(static_argnames=("axis1", "axis2", "dtype"))
def trace(
    a: Any,
    offset: Any = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: Any = None,
    out: None = None,
) -> Array:
    """Return the sum of the diagonal of two axes.

    a: (n, n, m) -> (m,) for axes 0 and 1

    >>> import tapeless.numpy as jnp
    >>> jnp.trace(jnp.array([[1, 2], [3, 4]]))
    Array(5, dtype=int32)
    """
    check_arraylike("trace", a)
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.trace is not supported.")
    rank = typeof(a).ndim
    if rank < 2:
        raise ValueError("trace requires an array of at least two dimensions.")
    a = moveaxis(a, (axis1, axis2), (-2, -1))
    shape = typeof(a).shape
    mask = broadcast(_on_diagonal(shape[-2:], offset), shape)
    kept = where(mask, a, lax.full_like(a, 0))
    return reductions.sum(kept, axis=(-2, -1), dtype=dtype)


# Indices


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """Return the indices of the main diagonal of an array with `ndim` axes of extent n.

    -> ndim arrays (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.diag_indices(2)
    (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    n, ndim = operator.index(n), operator.index(ndim)
    if n < 0:
        raise ValueError(f"n argument to diag_indices must be nonnegative, got {n}")
    if ndim < 0:
        raise ValueError(f"ndim argument to diag_indices must be nonnegative, got {ndim}")
    return (asarray(_count(n)),) * ndim


def _count(n: int) -> Value:
    """Return 0, 1, ..., n - 1 in the default integer."""
    if context.trace is context.base:
        return array_from_numpy(np.arange(n))
    return lax.iota(dtypes.default_int_dtype(), n)


def diag_indices_from(arr: Any) -> tuple[Array, ...]:
    """Return the indices of the main diagonal of an array whose axes have one extent.

    arr: (n, n) -> indices (n,), (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.diag_indices_from(jnp.zeros((2, 2)))
    (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    check_arraylike("diag_indices_from", arr)
    shape = typeof(value_of(arr)).shape
    if len(shape) < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(shape)) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(shape[0], ndim=len(shape))


def _triangle(name: str, n: Any, m: Any, k: int) -> np.ndarray:
    """Return what is on and below the k-th diagonal of an array (n, m)."""
    shape = (operator.index(n), operator.index(n if m is None else m))
    _check_extents(name, shape)
    return np.tri(*shape, k, dtype=bool)


def _triangle_indices(mask: np.ndarray) -> tuple[Array, Array]:
    """Return where a concrete mask holds."""
    rows, columns = np.nonzero(mask)
    return asarray(rows), asarray(columns)


def tril_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[Array, Array]:
    """Return the indices of the lower triangle, up to the k-th diagonal, of an array (n, m).

    -> (p,), (p,) for p places of an (n, m) matrix.

    >>> import tapeless.numpy as jnp
    >>> jnp.tril_indices(2)
    (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    return _triangle_indices(_triangle("tril_indices", n, m, operator.index(k)))


def triu_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[Array, Array]:
    """Return the indices of the upper triangle, from the k-th diagonal, of an array (n, m).

    -> (p,), (p,) for p places of an (n, m) matrix.

    >>> import tapeless.numpy as jnp
    >>> jnp.triu_indices(2)
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    return _triangle_indices(~_triangle("triu_indices", n, m, operator.index(k) - 1))


def _matrix_shape(arr: Any) -> tuple[int, int]:
    """Return the shape of an array of two axes."""
    shape = arr.shape if hasattr(arr, "shape") else typeof(value_of(arr)).shape
    if len(shape) != 2:
        raise ValueError("Only 2-D inputs are accepted")
    return shape


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Array, Array]:
    """Return the indices of the lower triangle of an array of two axes.

    arr: (n, m) -> k rows (k,) and k columns (k,)

    >>> import tapeless.numpy as jnp
    >>> jnp.tril_indices_from(jnp.zeros((2, 2)))
    (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    rows, columns = _matrix_shape(arr)
    return tril_indices(rows, k=k, m=columns)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Array, Array]:
    """Return the indices of the upper triangle of an array of two axes.

    arr: (n, m) -> k rows (k,) and k columns (k,)

    >>> import tapeless.numpy as jnp
    >>> jnp.triu_indices_from(jnp.zeros((2, 2)))
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    rows, columns = _matrix_shape(arr)
    return triu_indices(rows, k=k, m=columns)


def mask_indices(
    n: int, mask_func: Callable[[Any, int], Any], k: int = 0, *, size: int | None = None
) -> tuple[Array, Array]:
    """Return the indices where `mask_func(ones((n, n)), k)` is not zero; `size` as in `nonzero`.

    -> (p,), (p,) for p places of an (n, n) mask.

    >>> import tapeless.numpy as jnp
    >>> jnp.mask_indices(2, jnp.triu)
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    rows, columns = nonzero(mask_func(ones((n, n)), k), size=size)
    return rows, columns


@jit(static_argnames=("N", "increasing"))
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Array:
    """Return the matrix of powers of x: decreasing from N - 1 to 0, or increasing.

    x: (n,) -> (n, N), N being n by default

    >>> import tapeless.numpy as jnp
    >>> jnp.vander(jnp.array([1.0, 2.0]), 3)
    Array([[1., 1., 1.],
           [4., 2., 1.]], dtype=float32)
    """
    check_arraylike("vander", x)
    if typeof(x).ndim != 1:
        raise ValueError("x must be a one-dimensional array")
    count = typeof(x).shape[0] if N is None else operator.index(N)
    if count < 0:
        raise ValueError("N must be nonnegative")
    kind = dtype_of(x)
    powers = lax.iota(kind, count)
    if not increasing:
        powers = lax.sub(kind.type(count - 1), powers)
    base, exponent = lax.expand_dims(asarray(x), (1,)), lax.expand_dims(powers, (0,))
    return power(base, exponent)
