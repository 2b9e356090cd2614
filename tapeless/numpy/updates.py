"""`x.at[index]`: arrays that differ from `x` at some places.

Arrays cannot be changed, so that `x.at[i].set(y)` returns a new one; in a compiled program whose
last use of `x` this is, it is written in place.  Each method is one `scatter` over the plan of the
index (indexing.py).  Where an index names a place more than once, additions and the like all count,
and `set` leaves any one of the values.  Places out of bounds are dropped.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from tapeless import config, dtypes, lax
from tapeless.core.aval import typeof
from tapeless.core.trace import Value, context
from tapeless.numpy.arithmetic import divide, power
from tapeless.numpy.choice import broadcast
from tapeless.numpy.common import asarray, check_broadcastable, convert, dtype_of
from tapeless.numpy.creation import ones_like
from tapeless.numpy.indexing import entries_of, insert_mask_axes, plan_gather, take_at
from tapeless.numpy.static_indexing import update_window
from tapeless.prims.rules import scalar_program
from tapeless.runtime.array import Array
from tapeless.util.frames import api_boundary, name_function

__all__ = ["at", "scatter_update"]

_MOST_LETTERS = 24  # of an index in a note


class _IndexUpdateHelper:
    """The value of the property `at`: waits for an index."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        """array: what shall be updated."""
        self.array = array

    def __getitem__(self, index: Any) -> _IndexUpdateRef:
        """Name the places."""
        return _IndexUpdateRef(self.array, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Refuse to assign: an update returns a new array."""
        raise TypeError(
            "'_IndexUpdateHelper' object does not support item assignment. Instead of "
            "x.at[idx] = y, use x = x.at[idx].set(y)."
        )

    def __repr__(self) -> str:
        """Return the expression in words."""
        return f"_IndexUpdateHelper({self.array!r})"


class _IndexUpdateRef:
    """Places of an array, to be read or updated.

    mode: what happens to places out of bounds: "drop" or "fill" (the default for updates),
    "clip", "promise_in_bounds".  indices_are_sorted, unique_indices: promises that may save work.
    wrap_negative_indices: whether negative places count from the end.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Any, index: Any) -> None:
        """array: what is read or updated; index: where."""
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        """Return the expression in words."""
        return f"_IndexUpdateRef({self.array!r}, {self.index!r})"

    def _kind_text(self) -> str:
        """Return what notes of errors tell of it."""
        entries = self.index if isinstance(self.index, tuple) else (self.index,)
        places = ", ".join(map(_entry_text, entries))
        of = typeof(self.array).str_short(False)
        return f"{of} at [{places}]" if len(places) <= _MOST_LETTERS else of

    @api_boundary
    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        fill_value: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
        strategy: str = "auto",
    ) -> Array:
        """Return `x[index]`; with `mode="fill"`, `fill_value` for places out of bounds.

        fill_value: by default NaN, the least signed integer or the greatest unsigned one.

        >>> import tapeless.numpy as jnp
        >>> jnp.arange(3.0).at[jnp.array([1, 7])].get(mode="fill")
        Array([ 1., nan], dtype=float32)
        """
        return take_at(
            self.array,
            self.index,
            mode=mode,
            fill_value=fill_value,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            wrap_negative_indices=wrap_negative_indices,
        )

    @api_boundary
    def apply(
        self,
        func: Callable[[Any], Any],
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """Return x with `func`, a function of one scalar, applied at the places.

        It is applied as often as a place is named.

        >>> import tapeless.numpy as jnp
        >>> jnp.arange(3).at[jnp.array([1, 1])].apply(lambda v: 10 * v)
        Array([  0, 100,   2], dtype=int32)
        """
        x = asarray(self.array)
        whole, entries = insert_mask_axes(x, entries_of(self.index, typeof(x).shape))
        plan = plan_gather(typeof(whole).shape, entries, wrap_negative_indices)
        out = lax.scatter_apply(
            whole,
            plan.indices,
            lambda old: convert(func(old), dtype_of(x), typeof(x).weak_type),
            lax.ScatterDimensionNumbers(plan.window_dims, plan.collapsed, plan.axes),
            update_shape=plan.result_shape,
            indices_are_sorted=indices_are_sorted or not plan.has_arrays,
            unique_indices=unique_indices or not plan.has_arrays,
            mode=mode,
        )
        return lax.reshape(out, typeof(x).shape)


def _entry_text(entry: Any) -> str:
    """Return an entry of an index as it is written: slices with colons, arrays as their types."""
    if isinstance(entry, slice):
        bounds = ["" if x is None else _entry_text(x) for x in (entry.start, entry.stop)]
        return ":".join(bounds if entry.step is None else (*bounds, _entry_text(entry.step)))
    if entry is Ellipsis:
        return "..."
    return typeof(entry).str_short(False) if getattr(entry, "shape", ()) else repr(entry)


def _method(name: str, function: Callable[..., Value], text: str, example: str) -> Callable:
    """Return the method that updates by `function(array, index, values, **options)`."""

    def method(
        self: _IndexUpdateRef,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """Update."""
        return function(
            self.array,
            self.index,
            values,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            mode=mode,
            wrap_negative_indices=wrap_negative_indices,
        )

    name_function(method, name, "_IndexUpdateRef.")
    method.__doc__ = (
        f"Return x with the places {text}.\n\n    >>> import tapeless.numpy as jnp\n    {example}\n"
    )
    return api_boundary(method)


def scatter_update(
    array: Any,
    index: Any,
    values: Any,
    prim: Any,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
    wrap_negative_indices: bool = True,
) -> Value:
    """Return the array updated at an index by a scatter primitive."""
    mode = lax.GatherScatterMode.from_any(mode)
    if wrap_negative_indices and type(array) is Array and context.trace is context.base:
        found = update_window(array, index, values, prim.combines)
        if found is not None:
            return convert(found, array.dtype, array.weak_type)
    x = asarray(array)
    y = values if isinstance(values, (int, float, complex)) else asarray(values)
    if dtypes.issubdtype(dtype_of(x), dtypes.extended) and dtype_of(x) != typeof(y).dtype:
        raise TypeError(
            f"an array of {dtypes.dtype_name(dtype_of(x))} takes updates of this dtype, got "
            f"{dtypes.dtype_name(typeof(y).dtype)}; jax.random.wrap_key_data makes keys of words"
        )
    own = dtype_of(x), typeof(x).weak_type
    kind, weak = dtypes.lattice_result_type(x, y)
    if kind != dtype_of(x):
        _warn_of_loss(dtype_of(y), dtype_of(x))
    entries = entries_of(index, typeof(x).shape)
    whole, entries = insert_mask_axes(x, entries)
    plan = plan_gather(typeof(whole).shape, entries, wrap_negative_indices)
    if 0 in plan.result_shape:
        return x
    whole = convert(whole, kind, weak)
    y = _fitted(convert(y, kind), plan)
    (out,) = prim.bind(
        whole,
        plan.indices,
        y,
        dimension_numbers=lax.ScatterDimensionNumbers(plan.window_dims, plan.collapsed, plan.axes),
        indices_are_sorted=indices_are_sorted or not plan.has_arrays,
        mode=mode,
        unique_indices=unique_indices or not plan.has_arrays,
        update_consts=(),
        update_jaxpr=_program(prim, whole),
    )
    return lax.reshape(convert(out, *own), typeof(x).shape)


def _program(prim: Any, x: Value) -> Any:
    """Return the program by which a scatter combines elements; None where it overwrites them."""
    if prim is lax.scatter_p:
        return None
    return scalar_program(prim.combines, dtype_of(x), typeof(x).weak_type)


def _fitted(y: Value, plan: Any) -> Value:
    """Return the values in the shape of the index, without new axes, and in its order."""
    shape = list(plan.result_shape)
    for place in plan.new_dims:
        shape.insert(place, 1)
    check_broadcastable(y, tuple(shape))
    y = broadcast(y, tuple(shape))
    y = lax.squeeze(y, plan.new_dims) if plan.new_dims else y
    return lax.rev(y, plan.reversed_dims) if plan.reversed_dims else y


def _warn_of_loss(values: Any, array: Any) -> None:
    """Warn of values whose dtype the array's cannot hold."""
    warnings.warn(
        "scatter inputs have incompatible types: cannot safely cast value from "
        f"dtype={dtypes.dtype_name(values)} to dtype={dtypes.dtype_name(array)} with "
        f"jax_numpy_dtype_promotion={config.current.jax_numpy_dtype_promotion}. In future JAX "
        "releases this will result in an error.",
        FutureWarning,
        stacklevel=4,
    )


def _by(prim: Any) -> Callable[..., Value]:
    """Return the update by one scatter primitive."""

    def update(array: Any, index: Any, values: Any, **options: Any) -> Value:
        """Scatter."""
        return scatter_update(array, index, values, prim, **options)

    return update


def _after_product(function: Callable[[Any, Any], Any]) -> Callable[..., Value]:
    """Return the update that collects the product of the values at each place, and applies once."""

    def update(array: Any, index: Any, values: Any, **options: Any) -> Value:
        """Multiply into an array of ones; combine with the array."""
        x = asarray(array)
        factors = scatter_update(ones_like(x), index, values, lax.scatter_mul_p, **options)
        return function(x, factors)

    return update


_METHODS = (
    ("set", _by(lax.scatter_p), "replaced by `values`", "set(9)", "[9., 1., 2.]"),
    ("add", _by(lax.scatter_add_p), "increased by `values`", "add(9)", "[9., 1., 2.]"),
    ("subtract", _by(lax.scatter_sub_p), "decreased by `values`", "subtract(9)", "[-9.,  1.,  2.]"),
    ("multiply", _by(lax.scatter_mul_p), "multiplied by `values`", "multiply(9)", "[0., 1., 2.]"),
    ("mul", _by(lax.scatter_mul_p), "multiplied by `values`", "mul(9)", "[0., 1., 2.]"),
    ("divide", _after_product(divide), "divided by `values`", "divide(9)", "[0., 1., 2.]"),
    ("power", _after_product(power), "raised to the power `values`", "power(2)", "[0., 1., 2.]"),
    ("min", _by(lax.scatter_min_p), "bounded from above by `values`", "min(-1)", "[-1.,  1.,  2.]"),
    ("max", _by(lax.scatter_max_p), "bounded from below by `values`", "max(9)", "[9., 1., 2.]"),
)
for _name, _function, _text, _call, _out in _METHODS:
    _example = f">>> jnp.arange(3.0).at[0].{_call}\n    Array({_out}, dtype=float32)"
    setattr(_IndexUpdateRef, _name, _method(_name, _function, _text, _example))

at = property(_IndexUpdateHelper, doc=_IndexUpdateHelper.__doc__)
