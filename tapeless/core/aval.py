"""Abstract values: what is known of an array before it exists.

A `ShapedArray` is a shape, a dtype and the weak-type bit.  Avals are interned: equal avals are the
same object, so that caches key on them by identity and comparing two costs one pointer test.

`typeof(x)` gives the aval of any value that may reach a primitive: a Python scalar (weakly typed),
a NumPy scalar or array (canonicalised as the 64-bit switch says), an Array or a Tracer.  The run
time registers its Array here (`register_value_type`), which keeps this floor free of it.

`ShapeDtypeStruct` is the user's way to name an aval without a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapeless import config, dtypes
from tapeless.util import elements
from tapeless.util.weak import WeakValues

__all__ = [
    "AbstractRef",
    "AbstractValue",
    "ShapeDtypeStruct",
    "ShapedArray",
    "is_value",
    "register_value_type",
    "shaped",
    "typeof",
]


class AbstractValue:
    """The base class of what a variable of a jaxpr may be typed with."""

    __slots__ = ()


# The table of all avals, and those of late, which are kept alive and found faster.
_recent: dict[tuple, ShapedArray] = {}
_MOST_RECENT = 4096
_interned: WeakValues[ShapedArray] = WeakValues()


class ShapedArray(AbstractValue):
    """The type of an array: `shape`, `dtype` and whether the dtype is weak (a Python scalar's)."""

    __slots__ = ("__weakref__", "dtype", "is_inexact", "ndim", "shape", "size", "weak_type")
    shape: tuple[int, ...]
    dtype: np.dtype
    weak_type: bool
    ndim: int
    size: int
    is_inexact: bool

    def __new__(
        cls,
        shape: tuple[int, ...],
        dtype: dtypes.DTypeLike,
        weak_type: bool = False,
        *,
        sharding: object = None,
    ) -> ShapedArray:
        """Return the one aval with these fields; sharding: accepted, there is one device."""
        if not isinstance(dtype, (np.dtype, dtypes.ExtendedDtype)):
            dtype = np.dtype(dtype)
        key = (
            (shape, dtype, weak_type) if type(shape) is tuple else (tuple(shape), dtype, weak_type)
        )
        found = _recent.get(key)
        if found is not None:
            return found
        found = _interned.get(key)
        if found is not None:
            return _remember(key, found)
        if any(type(extent) is not int for extent in key[0]):  # NumPy's, which equal Python's
            extents = [int(n) if isinstance(n, (bool, np.integer)) else n for n in key[0]]
            key = (tuple(extents), dtype, weak_type)
        self = object.__new__(cls)
        fields = {
            "shape": key[0],
            "dtype": dtype,
            "weak_type": bool(weak_type),
            "ndim": len(key[0]),
            "size": math.prod(key[0]),
            "is_inexact": dtypes.issubdtype(dtype, np.inexact),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        return _remember(key, _interned.setdefault(key, self))

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: avals are shared."""
        raise AttributeError(f"ShapedArray is immutable; cannot set {name}. Use .update().")

    def __reduce__(self) -> tuple:
        """Pickle by fields, so that an unpickled aval is the interned one."""
        return (ShapedArray, (self.shape, self.dtype, self.weak_type))

    def update(self, **changes: Any) -> ShapedArray:
        """Return the aval with some of shape, dtype and weak_type replaced."""
        fields: dict[str, Any] = {
            "shape": self.shape,
            "dtype": self.dtype,
            "weak_type": self.weak_type,
        }
        return ShapedArray(**(fields | changes))

    def strong(self) -> ShapedArray:
        """Return the aval without its weak-type bit."""
        return ShapedArray(self.shape, self.dtype) if self.weak_type else self

    def strip_weak_type(self) -> ShapedArray:
        """Return the aval without its weak-type bit, under the name that libraries know."""
        return self.strong()

    def update_weak_type(self, weak_type: bool) -> ShapedArray:
        """Return the aval with another weak-type bit."""
        return self.update(weak_type=weak_type)

    def tangent(self) -> ShapedArray:
        """Return the type of its tangents: itself for inexact dtypes, else float0."""
        return self if self.is_inexact else ShapedArray(self.shape, dtypes.float0)

    # The names that libraries know.
    to_tangent_aval = at_least_vspace = tangent

    def str_short(self, short_dtypes: bool = False) -> str:
        """Return the printed form, `float32[3,4]`, or `f32[3,4]` with short dtypes."""
        name = (
            dtypes.short_dtype_name(self.dtype) if short_dtypes else dtypes.dtype_name(self.dtype)
        )
        return f"{name}[{','.join(map(str, self.shape))}]"

    def __repr__(self) -> str:
        """Return JAX's form, with the weak-type bit when it is set."""
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.str_short(False)}{weak})"

    def __str__(self) -> str:
        """Return the form used in messages, `float32[3]`, with `~` before a weak type."""
        return ("~" if self.weak_type else "") + self.str_short(False)


def _remember(key: tuple, aval: ShapedArray) -> ShapedArray:
    """Keep an aval among the recent ones, and return it."""
    if len(_recent) >= _MOST_RECENT:
        _recent.clear()
    _recent[key] = aval
    return aval


def shaped(shape: tuple[int, ...], dtype: dtypes.DTypeLike, weak_type: bool = False) -> ShapedArray:
    """Return the aval of this shape and dtype."""
    return ShapedArray(shape, dtype, weak_type)


class AbstractRef(AbstractValue):
    """The type of a reference to an array that changes: `inner_aval` is the array's type."""

    __slots__ = ("inner_aval",)
    weak_type = False

    def __init__(
        self, inner_aval: ShapedArray, memory_space: object = None, kind: object = None
    ) -> None:
        """inner_aval: the type of the array; the rest is accepted: there is one memory."""
        self.inner_aval = inner_aval

    shape = property(lambda self: self.inner_aval.shape, doc="The extents of the axes.")
    dtype = property(lambda self: self.inner_aval.dtype, doc="The dtype of the elements.")
    ndim = property(lambda self: self.inner_aval.ndim, doc="The number of axes.")
    size = property(lambda self: self.inner_aval.size, doc="The number of elements.")
    is_inexact = property(lambda self: self.inner_aval.is_inexact, doc="Whether it has tangents.")

    def __eq__(self, other: object) -> bool:
        """Compare the types of the arrays."""
        return isinstance(other, AbstractRef) and self.inner_aval is other.inner_aval

    def __hash__(self) -> int:
        """Hash the type of the array."""
        return hash((AbstractRef, self.inner_aval))

    def update(self, **changes: Any) -> AbstractRef:
        """Return the type with some of shape and dtype replaced."""
        return AbstractRef(self.inner_aval.update(**changes))

    def strong(self) -> AbstractRef:
        """Return the type itself: no reference is weakly typed."""
        return self

    def tangent(self) -> AbstractRef:
        """Return the type of its tangents: a reference to those of the array."""
        return AbstractRef(self.inner_aval.tangent())

    to_tangent_aval = at_least_vspace = tangent

    def str_short(self, short_dtypes: bool = False) -> str:
        """Return the printed form, `Ref{float32[3]}`."""
        return f"Ref{{{self.inner_aval.str_short(short_dtypes)}}}"

    def __repr__(self) -> str:
        """Return JAX's form."""
        return self.str_short(False)


class ShapeDtypeStruct:
    """A shape and dtype without a value: stands for an argument of `eval_shape` or `lower`."""

    __slots__ = ("dtype", "shape", "sharding", "weak_type")

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: dtypes.DTypeLike,
        *,
        sharding: object = None,
        weak_type: bool = False,
        vma: object = None,
        is_ref: bool = False,
    ) -> None:
        """shape: a sequence of ints; dtype: anything that names one."""
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype must be specified.")
        self.shape = tuple(shape)
        self.dtype = dtype if isinstance(dtype, dtypes.ExtendedDtype) else np.dtype(dtype)
        self.sharding = sharding
        self.weak_type = weak_type

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        """Return the length of the first axis."""
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self) -> str:
        """Return JAX's form."""
        place = "" if self.sharding is None else f", sharding={self.sharding}"
        weak = ", weak_type=True" if self.weak_type else ""
        name = dtypes.dtype_name(self.dtype)
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={name}{place}{weak})"

    def __eq__(self, other: object) -> bool:
        """Compare the fields."""
        if not isinstance(other, ShapeDtypeStruct):
            return False
        mine = (self.shape, self.dtype, self.weak_type, self.sharding)
        return mine == (other.shape, other.dtype, other.weak_type, other.sharding)

    def __hash__(self) -> int:
        """Hash the fields."""
        return hash((self.shape, self.dtype, self.weak_type))

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """Return a copy with some fields replaced."""
        fields = {name: getattr(self, name) for name in self.__slots__} | changes
        return ShapeDtypeStruct(fields.pop("shape"), fields.pop("dtype"), **fields)


# Each takes values of its type only.
AvalOf = Callable[[Any], ShapedArray]
aval_of_type: dict[type, AvalOf] = {}


def register_value_type(kind: type, aval_of: AvalOf) -> None:
    """Let values of the type `kind` reach primitives; `aval_of(x)` is their aval."""
    aval_of_type[kind] = aval_of


def is_value(x: object) -> bool:
    """Tell whether `x` may be an operand of a primitive."""
    return type(x) in aval_of_type or _find_base(type(x)) is not None


def typeof(x: object) -> ShapedArray:
    """Return the aval of a value.

    >>> typeof(1.5)
    ShapedArray(float32[], weak_type=True)
    """
    aval_of = aval_of_type.get(type(x)) or _find_base(type(x))
    if aval_of is None:
        aval = getattr(x, "aval", None)
        if isinstance(aval, ShapedArray):
            return aval
        raise TypeError(f"Value {x!r} with type {type(x)} is not a valid JAX type")
    return aval_of(x)


def _find_base(kind: type) -> AvalOf | None:
    """Find the entry of a base class, and remember it for the subclass."""
    for base in kind.__mro__[1:-1]:
        if base in aval_of_type:
            aval_of_type[kind] = dtypes.refusal_of(kind) or aval_of_type[base]
            return aval_of_type[kind]
    return None


def _numpy_aval(x: np.ndarray | np.generic) -> ShapedArray:
    """Return the aval of a NumPy array or scalar, its dtype canonicalised."""
    return ShapedArray(x.shape, dtypes.array_dtype(x.dtype))


def _scalar_aval(wide: np.dtype, weak: bool) -> AvalOf:
    """Return the function that types scalars of one kind; wide: their dtype in x64 mode."""
    wide_aval = ShapedArray((), wide, weak)
    short_aval = ShapedArray((), elements.HALVED.get(wide, wide), weak)

    def aval_of(x: object) -> ShapedArray:
        """Return the aval of one such scalar."""
        return wide_aval if config.current.jax_enable_x64 else short_aval

    return aval_of


for _kind in (bool, int, float, complex):
    register_value_type(_kind, _scalar_aval(np.dtype(_kind), _kind is not bool))
for _dtype in (elements.BOOL, *elements.INTS, *elements.FLOATS, *elements.COMPLEX):
    register_value_type(_dtype.type, _scalar_aval(_dtype, weak=False))
register_value_type(np.ndarray, _numpy_aval)
register_value_type(np.generic, _numpy_aval)
