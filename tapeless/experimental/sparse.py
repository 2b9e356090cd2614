"""`experimental.sparse`: matrices that store only some elements, as coordinates.

A `BCOO` is a tree of two arrays, `data` of shape (nse,) and `indices` of shape (nse, ndim): element
n stands at the place indices[n].  Places may repeat, and then add up; places outside of the shape
hold nothing.  So every function of it is one of two dense arrays, a gather, a product and a sum
over segments, and is differentiated by `data`, mapped and compiled as such.

Batched and partly dense forms (`n_batch`, `n_dense` above 0) are not here, nor the formats of rows.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import lax
from tapeless import numpy as jnp
from tapeless.ops import segment_sum
from tapeless.tree_util import register_pytree_node_class
from tapeless.util.names import close_module

__all__ = [
    "BCOO", "JAXSparse", "bcoo_dot_general", "bcoo_fromdense", "bcoo_reduce_sum",
    "bcoo_sum_duplicates", "bcoo_todense", "bcoo_transpose", "empty", "eye", "todense",
]  # fmt: skip

Shape = tuple[int, ...]


class JAXSparse:
    """The base class of sparse arrays."""

    shape: Shape
    __array_priority__ = 100

    def todense(self) -> Any:
        """Return it with its zeros."""
        raise NotImplementedError(f"{type(self).__name__} has no todense()")


@register_pytree_node_class
class BCOO(JAXSparse):
    """A sparse array by coordinates.

    >>> import tapeless.numpy as jnp
    >>> x = BCOO.fromdense(jnp.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]]))
    >>> x, x @ jnp.ones(3)
    (BCOO(float32[2, 3], nse=3), Array([3., 3.], dtype=float32))
    """

    n_batch = n_dense = 0

    def __init__(
        self,
        args: tuple[Any, Any],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        """args: data (nse,) and indices (nse, ndim).

        ValueError: parts whose shapes do not go together, or a batched or partly dense form.
        """
        self.data, self.indices = map(jnp.asarray, args)
        self.shape = tuple(map(operator.index, shape))
        self.indices_sorted = indices_sorted
        self.unique_indices = unique_indices
        if self.indices.shape != (*self.data.shape, len(self.shape)) or self.data.ndim != 1:
            raise ValueError(
                f"BCOO of shape {self.shape} takes data of shape (nse,) and indices of shape "
                f"(nse, {len(self.shape)}), got {self.data.shape} and {self.indices.shape}; "
                f"batched and partly dense forms (n_batch, n_dense) are not supported"
            )

    @classmethod
    def fromdense(
        cls,
        mat: Any,
        *,
        nse: int | None = None,
        index_dtype: Any = np.int32,
        n_dense: int = 0,
        n_batch: int = 0,
    ) -> BCOO:
        """Return the elements of an array that are not zero.

        nse: how many to store, by default all; the number must be given where it is traced.
        """
        if n_dense or n_batch:
            raise NotImplementedError("BCOO.fromdense: n_batch and n_dense must be 0")
        mat = jnp.asarray(mat)
        places = jnp.nonzero(mat, size=nse, fill_value=mat.shape if nse is not None else None)
        data = mat.at[places].get(mode="fill", fill_value=0)
        indices = jnp.stack(places, -1).astype(index_dtype)
        return cls((data, indices), shape=mat.shape, indices_sorted=True, unique_indices=True)

    @classmethod
    def from_scipy_sparse(
        cls,
        mat: Any,
        *,
        index_dtype: Any = None,
        n_dense: int = 0,
    ) -> BCOO:
        """Return the elements of a matrix of `scipy.sparse`."""
        found = mat.tocoo()
        indices = np.stack([found.row, found.col], -1).astype(index_dtype or np.int32)
        return cls((found.data, indices), shape=mat.shape)

    def tree_flatten(
        self,
    ) -> tuple:
        """Return the two arrays, and the rest."""
        return (self.data, self.indices), (self.shape, self.indices_sorted, self.unique_indices)

    @classmethod
    def tree_unflatten(
        cls,
        rest: tuple,
        children: Sequence[Any],
    ) -> BCOO:
        """Return the array of two parts, whatever stands for them."""
        self = object.__new__(cls)
        self.data, self.indices = children
        self.shape, self.indices_sorted, self.unique_indices = rest
        return self

    def __repr__(
        self,
    ) -> str:
        """Return JAX's form."""
        kind = getattr(self.data, "dtype", "?")
        return f"BCOO({kind}{list(self.shape)}, nse={self.nse})"

    dtype = property(lambda self: self.data.dtype, doc="The dtype of the elements.")
    ndim = property(lambda self: len(self.shape), doc="The number of axes.")
    n_sparse = property(lambda self: len(self.shape), doc="The number of axes.")
    size = property(lambda self: math.prod(self.shape), doc="The number of elements, with zeros.")
    nse = property(lambda self: self.indices.shape[0], doc="The number of elements that it stores.")
    T = property(lambda self: self.transpose(), doc="The array with its axes backwards.")

    def _with(
        self,
        data: Any,
    ) -> BCOO:
        """Return the array with other elements at the same places."""
        flags = {"indices_sorted": self.indices_sorted, "unique_indices": self.unique_indices}
        return BCOO((data, self.indices), shape=self.shape, **flags)

    def _columns(
        self,
    ) -> tuple:
        """Return the indices, an array per axis."""
        return tuple([self.indices[:, axis] for axis in range(self.ndim)])

    def todense(
        self,
    ) -> Any:
        """Return the array with its zeros."""
        return jnp.zeros(self.shape, self.dtype).at[self._columns()].add(self.data, mode="drop")

    def astype(
        self,
        dtype: Any,
    ) -> BCOO:
        """Return the elements converted."""
        return self._with(self.data.astype(dtype))

    def transpose(
        self,
        axes: Sequence[int] | None = None,
    ) -> BCOO:
        """Return the array with its axes in another order, by default backwards."""
        order = tuple(range(self.ndim))[::-1] if axes is None else tuple(axes)
        shape = tuple([self.shape[axis] for axis in order])
        indices = self.indices[:, np.array(order, int)]
        return BCOO((self.data, indices), shape=shape, unique_indices=self.unique_indices)

    def reshape(
        self,
        *shape: Any,
    ) -> BCOO:
        """Return the elements in another shape."""
        given = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        new = np.broadcast_to(0, self.shape).reshape(given).shape
        inside = jnp.all(self.indices < np.array(self.shape), -1)
        flat = jnp.ravel_multi_index(self._columns(), self.shape, mode="clip")
        places = jnp.stack(jnp.unravel_index(flat, new), -1).astype(self.indices.dtype)
        places = jnp.where(inside[:, None], places, np.array(new, places.dtype))
        return BCOO((self.data, places), shape=new, unique_indices=self.unique_indices)

    def sum(
        self,
        axis: int | Sequence[int] | None = None,
    ) -> Any:
        """Return the sum of all elements, or the sparse array of sums along axes."""
        if axis is None:
            return jnp.sum(self._inside())
        axes = (axis,) if isinstance(axis, int) else tuple(axis)
        gone = {operator.index(a) % self.ndim for a in axes}
        left = [a for a in range(self.ndim) if a not in gone]
        shape = tuple([self.shape[a] for a in left])
        return BCOO((self._inside(), self.indices[:, np.array(left, int)]), shape=shape)

    def _inside(
        self,
    ) -> Any:
        """Return the elements, zeros where the place lies outside of the shape."""
        inside = jnp.all(self.indices < np.array(self.shape, self.indices.dtype), -1)
        return jnp.where(inside, self.data, jnp.zeros((), self.dtype))

    def sum_duplicates(
        self,
        nse: int | None = None,
        remove_zeros: bool = True,
    ) -> BCOO:
        """Return the array with its places in order, none twice; nse: how many to store."""
        flat = jnp.ravel_multi_index(self._columns(), self.shape, mode="clip")
        inside = jnp.all(self.indices < np.array(self.shape), -1)
        flat = jnp.where(inside, flat, self.size)
        size = self.nse if nse is None else nse
        unique, where = jnp.unique(flat, return_inverse=True, size=size, fill_value=self.size)
        data = segment_sum(self._inside(), where.reshape(-1), size)
        places = jnp.stack(jnp.unravel_index(unique, self.shape), -1).astype(self.indices.dtype)
        outside = np.array(self.shape, places.dtype)
        places = jnp.where((unique < self.size)[:, None], places, outside)
        flags = {"indices_sorted": True, "unique_indices": True}
        return BCOO((data, places), shape=self.shape, **flags)

    def __neg__(
        self,
    ) -> BCOO:
        """Return the array of the opposite elements."""
        return self._with(-self.data)

    def __abs__(
        self,
    ) -> BCOO:
        """Return the array of the magnitudes, of places that do not repeat."""
        summed = self if self.unique_indices else self.sum_duplicates()
        return summed._with(jnp.abs(summed.data))

    def __mul__(
        self,
        other: Any,
    ) -> BCOO:
        """Return the product with a scalar, or elementwise with a dense array."""
        if isinstance(other, JAXSparse):
            raise NotImplementedError("the elementwise product of two BCOO is not supported")
        if jnp.ndim(other) == 0:
            return self._with(self.data * other)
        dense = jnp.broadcast_to(other, self.shape)
        return self._with(self.data * dense.at[self._columns()].get(mode="fill", fill_value=0))

    __rmul__ = __mul__

    def __truediv__(
        self,
        other: Any,
    ) -> BCOO:
        """Return the quotient by a scalar."""
        if jnp.ndim(other):
            raise NotImplementedError("a BCOO can be divided by a scalar only")
        return self._with(self.data / other)

    def __add__(
        self,
        other: Any,
    ) -> BCOO:
        """Return the sum of two sparse arrays of one shape."""
        if not isinstance(other, BCOO) or other.shape != self.shape:
            raise NotImplementedError(
                f"a BCOO of shape {self.shape} is added to another one of this shape only; add "
                f"dense arrays to x.todense()"
            )
        parts = [jnp.concatenate(pair) for pair in zip(*map(_parts, (self, other)), strict=True)]
        return BCOO((parts[0], parts[1]), shape=self.shape)

    def __sub__(
        self,
        other: Any,
    ) -> BCOO:
        """Return the difference of two sparse arrays of one shape."""
        return self + (-other)

    def __matmul__(
        self,
        other: Any,
    ) -> Any:
        """Return the product with a dense vector, matrix or batch: x: (n, m), (m, ...) -> (n, ...).

        TypeError: extents that differ.
        """
        if isinstance(other, JAXSparse):
            raise NotImplementedError("the product of two BCOO is not supported; use y.todense()")
        axis = self.ndim - 1
        place = max(jnp.ndim(other) - 2, 0)
        return bcoo_dot_general(self, other, dimension_numbers=(((axis,), (place,)), ((), ())))

    def __rmatmul__(
        self,
        other: Any,
    ) -> Any:
        """Return the product of a dense vector or matrix with the sparse one."""
        numbers = (((jnp.ndim(other) - 1,), (max(self.ndim - 2, 0),)), ((), ()))
        return bcoo_dot_general(other, self, dimension_numbers=numbers)


def _parts(
    x: BCOO,
) -> tuple:
    """Return data and indices."""
    return x.data, x.indices


def bcoo_fromdense(
    mat: Any,
    *,
    nse: int | None = None,
    index_dtype: Any = np.int32,
) -> BCOO:
    """Return `BCOO.fromdense(mat)`."""
    return BCOO.fromdense(mat, nse=nse, index_dtype=index_dtype)


def bcoo_todense(
    mat: BCOO,
) -> Any:
    """Return `mat.todense()`."""
    return mat.todense()


def todense(
    arr: Any,
) -> Any:
    """Return a sparse array with its zeros, and a dense one as it is."""
    return arr.todense() if isinstance(arr, JAXSparse) else arr


def bcoo_transpose(
    mat: BCOO,
    *,
    permutation: Sequence[int],
) -> BCOO:
    """Return `mat.transpose(permutation)`."""
    return mat.transpose(permutation)


def bcoo_reduce_sum(
    mat: BCOO,
    *,
    axes: Sequence[int],
) -> BCOO:
    """Return `mat.sum(axes)`."""
    return mat.sum(tuple(axes))


def bcoo_sum_duplicates(
    mat: BCOO,
    nse: int | None = None,
) -> BCOO:
    """Return `mat.sum_duplicates(nse)`."""
    return mat.sum_duplicates(nse)


def bcoo_dot_general(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    precision: Any = None,
    **options: Any,
) -> Any:
    """Return the dense product of a sparse and a dense array over one axis each.

    dimension_numbers: as those of `lax.dot_general`, without batch axes.

    TypeError: extents that differ.  NotImplementedError: several axes, or batch axes.
    """
    (left, right), batch = dimension_numbers
    if any(map(len, batch)) or len(left) != 1:
        raise NotImplementedError("bcoo_dot_general contracts one axis, and has no batch axes")
    if lhs.shape[left[0]] != rhs.shape[right[0]]:
        raise TypeError(
            f"dot_general requires contracting dimensions to have the same shape, got "
            f"{(lhs.shape[left[0]],)} and {(rhs.shape[right[0]],)}."
        )
    if isinstance(lhs, BCOO):
        return _sparse_dot(lhs, left[0], rhs, right[0])
    out = _sparse_dot(rhs, right[0], lhs, left[0])
    n = rhs.ndim - 1  # the axes of the sparse one go behind those of the dense one
    return lax.transpose(out, (*range(n, out.ndim), *range(n)))


def _sparse_dot(
    x: BCOO,
    axis: int,
    y: Any,
    place: int,
) -> Any:
    """Contract the axis of x with the axis `place` of a dense y; axes of x, then those of y."""
    rows = jnp.moveaxis(jnp.asarray(y), place, 0)
    picked = rows.at[x.indices[:, axis]].get(mode="fill", fill_value=0)
    data = x._inside().reshape(-1, *[1] * (rows.ndim - 1))
    left = [a for a in range(x.ndim) if a != axis]
    shape = (*[x.shape[a] for a in left], *rows.shape[1:])
    terms = data * picked
    if not left:
        return jnp.sum(terms, 0)
    places = tuple([x.indices[:, a] for a in left])
    return jnp.zeros(shape, terms.dtype).at[places].add(terms, mode="drop")


def empty(
    shape: Sequence[int],
    dtype: Any = None,
    index_dtype: Any = np.int32,
) -> BCOO:
    """Return a sparse array of zeros."""
    parts = jnp.zeros(0, dtype), jnp.zeros((0, len(shape)), index_dtype)
    return BCOO(parts, shape=shape, indices_sorted=True, unique_indices=True)


def eye(
    n: int,
    m: int | None = None,
    dtype: Any = None,
    index_dtype: Any = np.int32,
) -> BCOO:
    """Return a sparse matrix with ones on the diagonal."""
    count = min(n, n if m is None else m)
    places = jnp.broadcast_to(jnp.arange(count, dtype=index_dtype)[:, None], (count, 2))
    shape = (n, n if m is None else m)
    parts = jnp.ones(count, dtype), places
    return BCOO(parts, shape=shape, indices_sorted=True, unique_indices=True)


close_module("jax.experimental.sparse", globals())
