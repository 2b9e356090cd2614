"""Ufunc objects: elementwise functions that can also reduce, accumulate and scatter.

`add`, `multiply`, `maximum` and their like are `ufunc` objects; `frompyfunc` makes one of any
function of scalars.  Where the operation has a reduction (`reduce_sum`) or a cumulative operation
(`cumsum`) among the primitives, these are used; else the elements are folded one after the other,
by a `scan` along the axis.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapeless import dtypes, lax
from tapeless.api.jit import jit
from tapeless.api.vmap import vmap
from tapeless.core.aval import typeof
from tapeless.core.trace import Value, context
from tapeless.numpy.choice import broadcast
from tapeless.numpy.choice import where as choose_where
from tapeless.numpy.common import (
    asarray,
    canonicalize_axes,
    canonicalize_axis,
    check_arraylike,
    const,
    convert,
    dtype_of,
    value_of,
)
from tapeless.prims.common import apply
from tapeless.runtime.array import Array
from tapeless.util.frames import api_boundary

__all__ = ["compiled_outside", "frompyfunc", "ufunc"]

_VALUES = frozenset((Array, bool, int, float, complex))  # which compiled programs take as they are


def _is_of_numpy(x: Any) -> bool:
    """Tell whether a value is NumPy's, of a dtype that arrays have."""
    return isinstance(x, (np.ndarray, np.generic)) and dtypes.is_supported(x.dtype)


def compiled_outside(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of arrays that is one compiled program outside of transformations.

    All its arguments become operands: it must not depend on the value of a Python number.
    """
    compiled = jit(function)

    def call(*args: Any) -> Any:
        """Run the program on usual values; else call the function."""
        if context.trace is not context.base:
            return function(*args)
        for x in args:
            if type(x) not in _VALUES and not _is_of_numpy(x):
                return function(*args)
        return compiled(*args)

    return call


class ufunc:
    """A function of scalars that is applied elementwise.

    >>> import tapeless.numpy as jnp
    >>> jnp.add.reduce(jnp.arange(4))
    Array(6, dtype=int32)
    >>> jnp.frompyfunc(lambda x, y: 10 * x + y, nin=2, nout=1).reduce(jnp.array([1, 2, 3]))
    Array(123, dtype=int32)
    """

    def __init__(
        self,
        func: Callable[..., Any],
        /,
        nin: int,
        nout: int,
        *,
        name: str | None = None,
        nargs: int | None = None,
        identity: Any = None,
        call: Callable[..., Any] | None = None,
        reduce: Callable[..., Any] | None = None,
        accumulate: Callable[..., Any] | None = None,
        at: Callable[..., Any] | None = None,
        reduceat: Callable[..., Any] | None = None,
    ) -> None:
        """func: of `nin` scalars, with `nout` results; identity: e with func(e, x) = x.

        call, reduce, accumulate, at, reduceat: faster ways to do these; `call` takes arrays.
        """
        functools.update_wrapper(self, func)
        self.__name__ = name or func.__name__
        self.nin, self.nout, self.identity = nin, nout, identity
        self.nargs = nin if nargs is None else nargs
        self._call = call or _elementwise(func, nin)
        self._call.__qualname__ = name or func.__name__  # for the messages of Python
        self._whole = compiled_outside(self._call) if call else self._call
        self._own = {"reduce": reduce, "accumulate": accumulate, "at": at, "reduceat": reduceat}
        self._jits: dict[str, Callable] = {}

    def __repr__(self) -> str:
        """Return JAX's form."""
        return f"<jnp.ufunc '{self.__name__}'>"

    @api_boundary
    def __call__(self, *args: Any, out: None = None, where: None = None) -> Any:
        """Apply elementwise; shapes broadcast."""
        if out is not None:
            raise NotImplementedError(f"out argument of {self}")
        if where is not None:
            raise NotImplementedError(f"where argument of {self}")
        return self._whole(*args)

    def _binary(self, method: str) -> None:
        """Raise ValueError unless this is a function of two arguments with one result."""
        if self.nin != 2:
            raise ValueError(f"{method} only supported for binary ufuncs")
        if self.nout != 1:
            raise ValueError(f"{method} only supported for functions returning a single value")

    def _jitted(self, method: str, static: tuple[str, ...]) -> Callable:
        """Return the compiled form of one of the methods."""
        if method not in self._jits:
            function = self._own[method] or getattr(self, f"_{method}")

            def run(*args: Any, **kwargs: Any) -> Any:
                """Call the method."""
                return function(*args, **kwargs)

            run.__name__ = run.__qualname__ = method
            self._jits[method] = jit(run, static_argnames=static)
        return self._jits[method]

    @api_boundary
    def reduce(
        self,
        a: Any,
        axis: int | None = 0,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Array:
        """Return the elements along `axis` (None: all) combined from left to right.

        a: (n, m) -> (m,) for axis 0
        """
        self._binary("reduce")
        check_arraylike(f"{self.__name__}.reduce", a)
        if out is not None:
            raise NotImplementedError(f"out argument of {self.__name__}.reduce()")
        if where is not None and self.identity is None and initial is None:
            raise ValueError(
                f"reduction operation {self.__name__!r} does not have an identity, so to use a "
                "where mask one has to specify 'initial'."
            )
        options = {"axis": axis, "dtype": dtype, "keepdims": keepdims}
        static = ("axis", "dtype", "keepdims")
        return self._jitted("reduce", static)(a, initial=initial, where=where, **options)

    def _reduce(
        self, a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any
    ) -> Value:
        """Fold along one axis, from the first element or `initial` on."""
        x = asarray(a) if dtype is None else asarray(a, dtype)
        shape = typeof(x).shape
        axes = canonicalize_axes(axis, len(shape))
        kept = [extent for number, extent in enumerate(shape) if number not in axes]
        order = (*axes, *(number for number in range(len(shape)) if number not in axes))
        rows = lax.reshape(lax.transpose(x, order), (_product(shape, axes), *kept))
        masks = None
        if where is not None:
            masks = lax.transpose(broadcast(asarray(where), shape), order)
            masks = lax.reshape(masks, (_product(shape, axes), *kept))
        out = self._fold(rows, masks, initial)
        return lax.expand_dims(out, axes) if keepdims else out

    def _fold(self, rows: Value, masks: Any, initial: Any) -> Value:
        """Combine rows: (n, m), masks: (n, m) or None -> (m,)."""
        length, kept = typeof(rows).shape[0], typeof(rows).shape[1:]
        start = 0
        if (
            initial is None
            and self.identity is None
            or (initial is None and masks is None and length)
        ):
            if length == 0:
                raise ValueError(
                    f"zero-size array to reduction operation {self.__name__} which has no identity"
                )
            carry, start = lax.index_in_dim(rows, 0, 0, keepdims=False), 1
        else:
            first = self.identity if initial is None else initial
            carry = broadcast(convert(value_of(first), dtype_of(rows)), kept)

        def step(i: Value, carry: Value) -> Value:
            """Combine one row."""
            row = lax.dynamic_index_in_dim(rows, i, 0, keepdims=False)
            new = convert(self._call(carry, row), dtype_of(rows))
            if masks is None:
                return new
            return choose_where(lax.dynamic_index_in_dim(masks, i, 0, keepdims=False), new, carry)

        return lax.fori_loop(start, length, step, carry)

    @api_boundary
    def accumulate(self, a: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Array:
        """Return all partial results of the reduction along `axis`.

        a: (n, m) -> (n, m)
        """
        self._binary("accumulate")
        check_arraylike(f"{self.__name__}.accumulate", a)
        if out is not None:
            raise NotImplementedError(f"out argument of {self.__name__}.accumulate()")
        return self._jitted("accumulate", ("axis", "dtype"))(a, axis=axis, dtype=dtype)

    def _accumulate(self, a: Any, axis: int, dtype: Any) -> Value:
        """Scan along the axis."""
        x = asarray(a) if dtype is None else asarray(a, dtype)
        rank = typeof(x).ndim
        if axis is None or rank == 0:
            raise ValueError("accumulate does not allow multiple axes")
        axis = canonicalize_axis(axis, rank)
        order = (axis, *(number for number in range(rank) if number != axis))
        rows = lax.transpose(x, order)
        if typeof(rows).shape[0] == 0:
            return x

        def step(carry: Value, row: Value) -> tuple[Value, Value]:
            """Combine one row."""
            new = convert(self._call(carry, row), dtype_of(rows))
            return new, new

        first = lax.index_in_dim(rows, 0, 0, keepdims=False)
        rest = lax.slice_in_dim(rows, 1, None, axis=0)
        _, outs = lax.scan(step, first, rest)
        joined = lax.concatenate([lax.expand_dims(first, (0,)), outs], 0)
        return lax.transpose(joined, np.argsort(order))

    @api_boundary
    def at(self, a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Array:
        """Return `a` with the function applied at `indices`, to the elements and to `b`."""
        if inplace:
            raise NotImplementedError(
                "Because JAX arrays are immutable, jnp.ufunc.at() cannot operate inplace like\n"
                "np.ufunc.at(). Instead, you can pass inplace=False and capture the result; e.g.\n"
                ">>> arr = jnp.add.at(arr, ind, val, inplace=False)\n"
            )
        return self._jitted("at", ())(a, indices, *(() if b is None else (b,)))

    def _at(self, a: Any, indices: Any, b: Any = None) -> Value:
        """Apply at one place after the other, since an index may occur twice."""
        a = asarray(a)
        if b is None:
            return a.at[indices].apply(self._call)
        shape = typeof(a[indices]).shape
        places = _flat_places(a, indices)
        values = lax.reshape(broadcast(convert(value_of(b), dtype_of(a)), shape), (places.size,))
        flat = lax.reshape(a, (typeof(a).size,))

        def step(i: Value, flat: Value) -> Value:
            """Apply at one place."""
            place = lax.dynamic_index_in_dim(places, i, 0, keepdims=False)
            value = lax.dynamic_index_in_dim(values, i, 0, keepdims=False)
            old = lax.dynamic_index_in_dim(flat, place, 0, keepdims=False)
            new = convert(self._call(old, value), dtype_of(a))
            return lax.dynamic_update_index_in_dim(flat, new, place, 0)

        return lax.reshape(lax.fori_loop(0, places.size, step, flat), typeof(a).shape)

    @api_boundary
    def reduceat(
        self, a: Any, indices: Any, axis: int = 0, dtype: Any = None, out: None = None
    ) -> Array:
        """Return the reductions of the stretches of `a` that start at `indices`.

        a: (n,), indices: (k,) -> (k,): of a[i:j] for neighbours i < j, and a[i] where i >= j
        """
        self._binary("reduceat")
        check_arraylike(f"{self.__name__}.reduceat", a, indices)
        if out is not None:
            raise NotImplementedError(f"out argument of {self.__name__}.reduceat()")
        return self._jitted("reduceat", ("axis", "dtype"))(a, indices, axis=axis, dtype=dtype)

    def _reduceat(self, a: Any, indices: Any, axis: int, dtype: Any) -> Value:
        """Walk along the axis once per stretch, all stretches side by side."""
        x = asarray(a) if dtype is None else asarray(a, dtype)
        starts = asarray(indices)
        if typeof(starts).ndim != 1:
            raise ValueError(f"reduceat: indices must be one-dimensional; got {starts.shape}")
        rank = typeof(x).ndim
        axis = canonicalize_axis(axis, rank)
        order = (axis, *(number for number in range(rank) if number != axis))
        rows = lax.transpose(x, order)
        length = typeof(rows).shape[0]
        stops = lax.concatenate([starts[1:], lax.full((1,), length, dtype_of(starts))], 0)

        def one(start: Value, stop: Value) -> Value:
            """Reduce one stretch."""
            first = lax.dynamic_index_in_dim(rows, start, 0, keepdims=False)

            def step(i: Value, carry: Value) -> Value:
                """Combine one row, if it is in the stretch."""
                row = lax.dynamic_index_in_dim(rows, i, 0, keepdims=False)
                inside = lax.bitwise_and(lax.gt(i, start), lax.lt(i, stop))
                new = convert(self._call(carry, row), dtype_of(rows))
                return choose_where(inside, new, carry)

            kind = dtype_of(starts).type
            return lax.fori_loop(kind(0), kind(length), step, first)

        return lax.transpose(vmap(one)(starts, stops), np.argsort(order))

    @api_boundary
    def outer(self, A: Any, B: Any, /) -> Array:
        """Return the function of each element of A with each element of B.

        A: (n, m), B: (k,) -> (n, m, k)
        """
        self._binary("outer")
        check_arraylike(f"{self.__name__}.outer", A, B)
        if "outer" not in self._jits:

            def outer(left: Any, right: Any) -> Any:
                """Give each operand the axes of the other, of extent 1."""
                rank, other = typeof(left).ndim, typeof(right).ndim
                left = lax.expand_dims(left, range(rank, rank + other))
                return self._call(left, lax.expand_dims(right, range(rank)))

            self._jits["outer"] = jit(outer)
        return self._jits["outer"](A, B)


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """Return the ufunc of a function of `nin` scalars that returns `nout` scalars.

    The function is one of scalars; the result maps it over shapes that broadcast to (n,) ->
    (n,)
    The function is traced, so that it must be made of operations on arrays.

    >>> import tapeless.numpy as jnp
    >>> jnp.frompyfunc(lambda x, y: 10 * x + y, nin=2, nout=1)(jnp.arange(3), 1)
    Array([ 1, 11, 21], dtype=int32)
    """
    return ufunc(func, nin, nout, identity=identity)


def reducer(name: str, identity: Any, inexact: bool = False) -> Callable:
    """Return the `reduce` of a ufunc whose reduction is the primitive `name`."""

    def reduce(a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Value:
        """Mask, reduce, combine with `initial`."""
        x = asarray(a) if dtype is None else asarray(a, dtype)
        if dtype is None and identity in (0, 1) and not isinstance(identity, bool):
            x = _widened(x)
        axes = canonicalize_axes(axis, typeof(x).ndim)
        if isinstance(identity, bool) and dtype_of(x) != np.bool_:
            x = lax.ne(x, const(x, 0))
        if where is not None:
            neutral = initial if identity is None else identity
            x = choose_where(where, x, convert(neutral, dtype_of(x)))
        out = apply(name, x, axes=axes, **_SHARDED.get(name, {}))
        if initial is not None:
            out = _COMBINE[name](out, convert(value_of(initial), dtype_of(out)))
        return lax.expand_dims(out, axes) if keepdims else out

    return reduce


_SHARDED = dict.fromkeys(("reduce_sum", "reduce_max", "reduce_min"), {"out_sharding": None})
_COMBINE = {
    "reduce_sum": lax.add,
    "reduce_prod": lax.mul,
    "reduce_max": lax.max,
    "reduce_min": lax.min,
    "reduce_and": lax.bitwise_and,
    "reduce_or": lax.bitwise_or,
    "reduce_xor": lax.bitwise_xor,
}


def accumulator(name: str) -> Callable:
    """Return the `accumulate` of a ufunc whose partial results are the primitive `name`."""

    def accumulate(a: Any, axis: int, dtype: Any) -> Value:
        """Accumulate along the axis."""
        x = asarray(a) if dtype is None else asarray(a, dtype)
        if dtype is None:
            x = convert(x, dtypes.to_numeric_dtype(dtype_of(x)))
        axis = canonicalize_axis(axis, typeof(x).ndim)
        return apply(name, x, axis=axis, reverse=False)

    return accumulate


def _widened(x: Value) -> Value:
    """Return integers narrower than the default in the default integer dtype, as sums do."""
    kind = dtype_of(x)
    if dtypes.issubdtype(kind, np.inexact):
        return x
    if dtypes.issubdtype(kind, np.unsignedinteger):
        wide = dtypes.default_uint_dtype()
    else:
        wide = dtypes.default_int_dtype()
    return convert(x, wide) if kind.itemsize < wide.itemsize or kind == np.bool_ else x


def _elementwise(func: Callable, nin: int) -> Callable:
    """Return the function of arrays that applies a function of scalars elementwise."""

    def call(*args: Any) -> Any:
        """Map over all elements of the broadcast arguments."""
        if len(args) != nin:
            raise TypeError(f"{func.__name__}() takes {nin} arguments but {len(args)} were given")
        check_arraylike(func.__name__, *args)
        arrays = [asarray(arg) for arg in args]
        shape = lax.broadcast_shapes(*(typeof(array).shape for array in arrays))
        if not shape:
            return func(*arrays)
        size = math.prod(shape)
        flat = [lax.reshape(broadcast(array, shape), (size,)) for array in arrays]
        outs = vmap(func)(*flat)
        if isinstance(outs, tuple):
            return tuple(lax.reshape(out, shape) for out in outs)
        return lax.reshape(outs, shape)

    call.__name__ = func.__name__
    return call


def _product(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    """Return the number of elements along some axes."""
    return int(np.prod([shape[axis] for axis in axes], dtype=int))


def _flat_places(a: Value, indices: Any) -> Value:
    """Return the row-major numbers of the elements that `indices` selects, as a flat array."""
    aval = typeof(a)
    numbers = lax.reshape(lax.iota(np.int32, aval.size), aval.shape)
    chosen = asarray(numbers)[indices]
    return lax.reshape(chosen, (typeof(chosen).size,))
