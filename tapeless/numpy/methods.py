"""Methods and properties of arrays, and the table that gives them to Arrays and tracers.

`core.trace.array_methods` is filled here and attached to both classes, so that a tracer can do what
an Array can; what an Array does by itself (conversion to Python and NumPy) a tracer refuses with an
error that says where its value comes from.  A tracer that has a concrete value behind it, as under
`grad` outside `jit`, converts that.

A method of an array is the function of the same name with the array as first argument.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, Literal, NoReturn

import numpy as np

from tapeless import dtypes, errors, lax
from tapeless.core.any_array import AnyArray
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.ref import Ref, is_ref
from tapeless.core.trace import Tracer, array_methods, context
from tapeless.numpy import (
    choice,
    common,
    creation,
    cumulative,
    diagonals,
    joining,
    products,
    reductions,
    references,
    rounding,
    shaping,
    sorting,
    taking,
    ufuncs,
    updates,
)
from tapeless.numpy.array_api import array_namespace
from tapeless.numpy.common import convert
from tapeless.numpy.indexing import get_item
from tapeless.numpy.operators import operators
from tapeless.runtime.array import Array
from tapeless.runtime.device import device_put
from tapeless.runtime.meshes import AbstractMesh
from tapeless.runtime.sharding import NamedSharding, PartitionSpec
from tapeless.runtime.shards import shards_of
from tapeless.util.frames import api_boundary, name_function

__all__ = ["method_of"]


def _of_aval(name: str, doc: str) -> property:
    """Return the property that reads the field `name` of the type."""
    return property(lambda self: getattr(self.aval, name), doc=doc)


def method_of(function: Callable) -> Callable:
    """Return the method of arrays that calls `function` with the array as first argument."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return function(self, *args, **kwargs)

    name_function(method, function.__name__)
    method.__doc__ = f"Return `jax.numpy.{function.__name__}` of the array.\n\n{function.__doc__}"
    signature = inspect.signature(function)
    (_, *rest) = signature.parameters.values()
    self = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    vars(method)["__signature__"] = signature.replace(parameters=[self, *rest])
    return method


# Methods whose arguments are not those of the function


def _reshape(self: Any, *args: Any, order: str = "C", out_sharding: Any = None) -> Any:
    """Return the elements in another shape, given as one argument or as several."""
    new_shape = args[0] if len(args) == 1 else args
    return shaping.reshape(self, new_shape, order)


def _transpose(self: Any, *args: Any) -> Any:
    """Return the array with its axes in another order, given as one argument or as several."""
    if not args:
        return shaping.transpose(self)
    order = args[0] if len(args) == 1 and not isinstance(args[0], int) else args
    return shaping.transpose(self, order)


def _flatten(self: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
    """Return the elements as an array of one axis."""
    return shaping.ravel(self, order)


def _astype(self: Any, dtype: Any, copy: bool = False, device: Any = None) -> Any:
    """Return the elements converted to `dtype`."""
    return creation.astype(self, dtype, copy=copy, device=device)


def _copy(self: Any) -> Any:
    """Return an array with the same elements and memory of its own."""
    return lax.copy(self)


def _clip(self: Any, min: Any = None, max: Any = None) -> Any:
    """Return the elements moved into the range from `min` to `max`."""
    return choice.clip(self, min, max)


def _view(self: Any, dtype: Any = None, type: None = None) -> Any:
    """Return the bits of the elements read as another dtype.

    x: (n, m) -> (n, m * old width / new width)
    """
    if type is not None:
        raise NotImplementedError("`type` argument of array.view() is not supported.")
    if dtype is None:
        return self
    kind = dtypes.check_user_dtype_supported(dtype, "view")
    old = self.dtype
    if old == kind:
        return self
    if old == np.bool_ or kind == np.bool_ or self.ndim == 0 or old.kind == "c" or kind.kind == "c":
        return _view_by_bytes(self, kind)
    if old.itemsize < kind.itemsize:
        ratio = kind.itemsize // old.itemsize
        if self.shape[-1] % ratio:
            raise ValueError(_NOT_DIVISIBLE)
        grouped = lax.reshape(self, (*self.shape[:-1], self.shape[-1] // ratio, ratio))
        return lax.bitcast_convert_type(grouped, kind)
    out = lax.bitcast_convert_type(self, kind)
    if old.itemsize > kind.itemsize:
        out = lax.reshape(out, (*self.shape[:-1], self.shape[-1] * out.shape[-1]))
    return out


_NOT_DIVISIBLE = (
    "When changing to a larger dtype, its size must be a divisor of the total size in bytes of the "
    "last axis of the array."
)


def _view_by_bytes(self: Any, kind: Any) -> Any:
    """Read bits of dtypes that have no bit conversion: booleans as bytes, complex as pairs."""
    old = self.dtype
    if old == np.bool_:
        return _view(convert(self, np.dtype(np.uint8)), kind)
    if kind == np.bool_:
        return lax.ne(_view(self, np.uint8), np.uint8(0))
    if old.kind == "c":
        pairs = lax.stack([lax.real(self), lax.imag(self)], self.ndim)
        flat = lax.reshape(pairs, (*self.shape[:-1], self.shape[-1] * 2) if self.ndim else (2,))
        return _view(flat, kind)
    if kind.kind == "c":
        part = np.zeros((), kind).real.dtype
        parts = _view(self, part)
        if parts.shape[-1] % 2:
            raise ValueError(_NOT_DIVISIBLE)
        pairs = lax.reshape(parts, (*parts.shape[:-1], parts.shape[-1] // 2, 2))
        real, imag = lax.unstack(pairs, pairs.ndim - 1)
        return lax.complex(real, imag)
    if old.itemsize != kind.itemsize:
        raise ValueError(
            "Changing the dtype of a 0d array is only supported if the itemsize is unchanged"
        )
    return lax.bitcast_convert_type(self, kind)


def _byteswap(self: Any) -> Any:
    """Return the array with the bytes of each element in reverse order."""
    if self.dtype.itemsize == 1:
        return self
    bytes_of = _view(self, np.uint8)
    grouped = lax.reshape(bytes_of, (*self.shape, self.dtype.itemsize))
    return lax.reshape(_view(lax.rev(grouped, (grouped.ndim - 1,)), self.dtype), self.shape)


def _compress(
    self: Any,
    condition: Any,
    axis: int | None = None,
    *,
    out: None = None,
    size: int | None = None,
    fill_value: Any = 0,
) -> Any:
    """Return the slices along an axis where `condition` holds."""
    return taking.compress(condition, self, axis, size=size, fill_value=fill_value, out=out)


def _matrix_transposed(self: Any) -> Any:
    """The array with its last two axes swapped."""
    return shaping.matrix_transpose(self)


def _transposed(self: Any) -> Any:
    """The array with its axes backwards."""
    return shaping.transpose(self)


# Python's protocols


def _len(self: Any) -> int:
    """Return the extent of the first axis."""
    extents = self.aval.shape
    if not extents:
        raise TypeError("len() of unsized object")
    return extents[0]


def _iter(self: Any) -> Iterator[Any]:
    """Return the slices along the first axis."""
    if self.aval.ndim == 0:
        raise TypeError("iteration over a 0-d array")
    if type(self) is Array and context.trace is context.base:
        return iter([get_item(self, row) for row in range(self.aval.shape[0])])
    return iter(lax.unstack(self, 0))


def _contains(self: Any, element: Any) -> bool:
    """Tell whether an element of the array equals `element`."""
    if self.aval.ndim != 1:
        raise ValueError(
            "Array.__contains__: search array must be one-dimensional, got "
            f"arr.shape={self.aval.shape}."
        )
    common.check_arraylike("Array.__contains__", element)
    query_shape = typeof(element).shape
    if query_shape:
        raise ValueError(
            f"Array.__contains__: query value must be a scalar, got query.shape={query_shape}"
        )
    if self.aval.size == 0:
        return False
    found = lax.reduce_or(common.asarray(self == element), (0,))
    return bool(found)


def _reversed(self: Any) -> Iterator[Any]:
    """Return the slices along the first axis, the last one first."""
    if self.aval.ndim == 0:
        raise TypeError("iteration over a 0-d array")
    return iter(list(self)[::-1])


def _traced_item(self: Tracer, index: Any) -> Any:
    """Return `self[index]`, of an array or of a reference."""
    return references.get(self, index) if is_ref(self) else get_item(self, index)


def _set_traced_item(self: Tracer, index: Any, value: Any) -> None:
    """Write into a reference; refuse for an array."""
    if not is_ref(self):
        _setitem(self, index, value)
    references.set(self, index, value)


@property
def _traced_at(self: Tracer) -> Any:
    """What updates parts of an array, or makes references to parts."""
    return (references.at if is_ref(self) else updates.at).__get__(self)


def _add_to(self: Any, x: Any, idx: Any = None) -> None:
    """Add x to the part `idx` of the array behind the reference."""
    references.addupdate(self, idx, x)


@property
def _adding(self: Tracer) -> Callable:
    """The method of references that adds."""
    if not is_ref(self):
        raise AttributeError(f"{type(self).__name__} has no attribute addupdate")
    return functools.partial(_add_to, self)


def _setitem(self: Any, index: Any, value: Any) -> NoReturn:
    """Refuse: arrays are immutable."""
    raise TypeError(
        "JAX arrays are immutable and do not support in-place item assignment. Instead of x[idx] = "
        "y, use x = x.at[idx].set(y) or another .at[] method: "
        "https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html"
    )


# Conversions of tracers


def _abstract(self: Tracer) -> str:
    """Return the words for a traced array."""
    return f"traced array with shape {self.aval.str_short(False)}"


_EMPTY_TRUTH = (
    "an empty array is ambiguous. Use `array.size > 0` to check that an array is not empty. This "
    "is a"
)
_MANY_TRUTHS = (
    "an array with more than one element is ambiguous. Use a.any() or a.all(), and jnp.where or "
    "lax.cond where the value is not known. This is a"
)


def _bool(self: Tracer) -> bool:
    """Return the truth of a concrete value; else raise."""
    known = self.concrete()
    if known is None and self.aval.size != 1:
        words = _EMPTY_TRUTH if self.aval.size == 0 else _MANY_TRUTHS
        raise ValueError(f"The truth value of {words} {_abstract(self)}.\n{self.origin()}")
    if known is None:
        raise errors.TracerBoolConversionError(
            f"Attempted boolean conversion of {_abstract(self)}.\n{self.origin()}"
        )
    return bool(known)


def _number(name: str) -> Callable[[Tracer], Any]:
    """Return the conversion to a Python number."""

    def convert_to(self: Tracer) -> Any:
        """Refuse: a number would lose the tangent; an integer has none to lose."""
        known = self.concrete() if name == "int" else None
        if known is not None:
            return int(known)
        raise errors.ConcretizationTypeError(
            f"Abstract tracer value encountered where concrete value is expected: "
            f"{_abstract(self)}\nThe problem arose with the `{name}` function. If trying to "
            f"convert the data type of a value, try using `x.astype({name})` or "
            f"`jnp.array(x, {name})` instead.\n{self.origin()}\n"
        )

    convert_to.__code__ = convert_to.__code__.replace(co_name=name)  # which errors tell
    return convert_to


def _index(self: Tracer) -> int:
    """Return a concrete value as an index; else raise."""
    known = self.concrete()
    if known is None:
        raise errors.TracerIntegerConversionError(
            f"The __index__() method was called on {_abstract(self)}\n{self.origin()}"
        )
    return known.__index__()


def _array(self: Tracer, *args: Any, **kwargs: Any) -> NoReturn:
    """Refuse: NumPy would lose what the tracer carries."""
    raise errors.TracerArrayConversionError(
        f"The numpy.ndarray conversion method __array__() was called on {_abstract(self)}\n"
        f"{self.origin()}"
    )


def _dlpack(self: Tracer, **options: Any) -> NoReturn:
    """Refuse: there is no memory yet."""
    raise errors.ConcretizationTypeError(
        f"Abstract tracer value encountered where concrete value is expected: {_abstract(self)}\n"
        f"The __dlpack__() method was called on {_abstract(self)}.\n{self.origin()}"
    )


def _hash(self: Tracer) -> NoReturn:
    """Refuse: arrays compare elementwise."""
    raise TypeError(f"unhashable type: {type(self).__name__!r}")


_OCCURRED = "This occurred in the {}() method of jax.Array"


def _tolist(self: Tracer) -> Any:
    """Return a concrete value as nested lists; else raise."""
    return np.asarray(common.concrete_value(self, _OCCURRED.format("tolist"))).tolist()


def _item(self: Tracer, *args: int) -> Any:
    """Return a concrete value as a Python scalar; else raise."""
    return np.asarray(common.concrete_value(self, _OCCURRED.format("item"))).item(*args)


def _bytes_of(self: Any) -> int:
    """The bytes of all elements."""
    return self.aval.size * self.aval.dtype.itemsize


def _same(self: Any) -> Any:
    """Return the array: there is nothing to wait for."""
    return self


def _undivided(self: ShapedArray) -> NamedSharding:
    """The sharding of values of the type: over no axis of any mesh."""
    return NamedSharding(AbstractMesh((), ()), PartitionSpec(*[None] * self.ndim))


# What only Arrays have: memory on a device


def _devices(self: Array) -> set[Any]:
    """Return the devices that hold the array."""
    return self.sharding.device_set


def _device(self: Array) -> Any:
    """The device that holds the array; where there are several, its sharding."""
    sharding = self.sharding
    return next(iter(sharding.device_set)) if sharding.num_devices == 1 else sharding


def _to_device(self: Array, device: Any, *, stream: Any = None) -> Array:
    """Return the array on another device."""
    return device_put(self, device)


def _addressable_data(self: Array, index: int) -> Array:
    """Return the part with this number."""
    return shards_of(self)[index].data


def _nothing(self: Array) -> None:
    """Return at once: the memory is the host's."""


def _tobytes(self: Array, order: Literal["C", "F", "A", "K"] | None = "C") -> bytes:
    """Return the bytes of the elements."""
    return np.asarray(self).tobytes(order)


_TRACER_ONLY = {
    "__getitem__": _traced_item,
    "__setitem__": _set_traced_item,
    "at": _traced_at,
    "addupdate": _adding,
    "__bool__": _bool,
    "__int__": _number("int"),
    "__float__": _number("float"),
    "__complex__": _number("complex"),
    "__index__": _index,
    "__array__": _array,
    "__dlpack__": _dlpack,
    "__dlpack_device__": _dlpack,
    "__hash__": _hash,
    "tolist": _tolist,
    "item": _item,
    "nbytes": property(_bytes_of, doc=_bytes_of.__doc__),
    "itemsize": property(lambda self: self.aval.dtype.itemsize, doc="The bytes of one element."),
    "block_until_ready": _same,
}

_ARRAY_ONLY = {
    "device": property(_device, doc=_device.__doc__),
    "devices": _devices,
    "to_device": _to_device,
    "copy_to_host_async": _nothing,
    "on_device_size_in_bytes": _bytes_of,
    "platform": lambda self: "cpu",
    "addressable_shards": property(shards_of, doc="The parts, one a device."),
    "global_shards": property(shards_of, doc="The parts, one a device."),
    "addressable_data": _addressable_data,
    "is_fully_addressable": property(lambda self: True, doc="Whether this process holds all."),
    "is_fully_replicated": property(
        lambda self: self.sharding.is_fully_replicated, doc="Whether every device holds all."
    ),
    "tobytes": _tobytes,
    "clone": _copy,
    "unsafe_buffer_pointer": lambda self: self.address,
}

_REF_ONLY = {
    "__getitem__": references.get,
    "__setitem__": references.set,
    "at": references.at,
    "addupdate": _add_to,
}

array_methods.update(operators)
array_methods.update(
    shape=_of_aval("shape", "The extents of the axes."),
    dtype=_of_aval("dtype", "The dtype of the elements."),
    ndim=_of_aval("ndim", "The number of axes."),
    size=_of_aval("size", "The number of elements."),
    weak_type=_of_aval("weak_type", "Whether the dtype is weak, as a Python scalar's."),
    T=property(_transposed),
    mT=property(_matrix_transposed),
    real=property(ufuncs.real, doc="The real parts."),
    imag=property(ufuncs.imag, doc="The imaginary parts."),
    at=updates.at,
    astype=_astype,
    clip=_clip,
    argpartition=method_of(sorting.argpartition),
    argsort=method_of(sorting.argsort),
    byteswap=_byteswap,
    choose=method_of(choice.choose),
    compress=_compress,
    conj=method_of(ufuncs.conj),
    conjugate=method_of(ufuncs.conjugate),
    copy=_copy,
    cumprod=method_of(cumulative.cumprod),
    cumsum=method_of(cumulative.cumsum),
    diagonal=method_of(diagonals.diagonal),
    flatten=_flatten,
    nonzero=method_of(choice.nonzero),
    ravel=method_of(shaping.ravel),
    repeat=method_of(joining.repeat),
    reshape=_reshape,
    round=method_of(rounding.round),
    searchsorted=method_of(sorting.searchsorted),
    sort=method_of(sorting.sort),
    squeeze=method_of(shaping.squeeze),
    take=method_of(taking.take),
    trace=method_of(diagonals.trace),
    all=method_of(reductions.all),
    any=method_of(reductions.any),
    argmax=method_of(reductions.argmax),
    argmin=method_of(reductions.argmin),
    dot=method_of(products.dot),
    max=method_of(reductions.max),
    mean=method_of(reductions.mean),
    min=method_of(reductions.min),
    prod=method_of(reductions.prod),
    ptp=method_of(reductions.ptp),
    std=method_of(reductions.std),
    sum=method_of(reductions.sum),
    var=method_of(reductions.var),
    swapaxes=method_of(shaping.swapaxes),
    transpose=_transpose,
    view=_view,
    __array_namespace__=array_namespace,
    __getitem__=get_item,
    __setitem__=_setitem,
    __len__=_len,
    __iter__=_iter,
    __reversed__=_reversed,
    __contains__=_contains,
)


def attach(kind: Any, table: dict[str, Any]) -> None:
    """Give a class the entries of the table that it does not define itself."""
    for name, entry in table.items():
        if name not in vars(kind):
            setattr(kind, name, api_boundary(entry))


attach(ShapedArray, {"sharding": property(_undivided, doc=_undivided.__doc__)})
attach(AnyArray, array_methods)
attach(AnyArray, {"item": _item, "tolist": _tolist})
attach(Tracer, _TRACER_ONLY)
attach(Ref, _REF_ONLY)
attach(Tracer, array_methods)
attach(Array, array_methods)
attach(Array, _ARRAY_ONLY)
