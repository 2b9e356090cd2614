"""References: an array that changes, as an object.

A `Ref` holds an array, and another one after it has been written.  It is what a reference is
outside of every transformation; inside, a tracer whose type is an `AbstractRef` stands for one, and
is an instance of `Ref` as well.  Reading and writing are operations (`control/references.py`); the
array library gives the class its brackets.
"""

from __future__ import annotations

import operator
from typing import Any

from tapeless.core.aval import AbstractRef, register_value_type, typeof
from tapeless.core.trace import Tracer, Value

__all__ = ["Ref", "is_ref"]


class _Kind(type):
    """The class of `Ref`, of which tracers for references are instances."""

    def __instancecheck__(cls, x: object) -> bool:
        """Tell whether `x` is a reference."""
        return type.__instancecheck__(cls, x) or (isinstance(x, Tracer) and is_ref(x))


class Ref(metaclass=_Kind):
    """A reference to an array that changes; `jax.new_ref` makes one.

    >>> import tapeless as jax
    >>> ref = jax.new_ref(jax.numpy.zeros(3))
    >>> ref[1] = 5.0
    >>> ref
    Ref([0., 5., 0.], dtype=float32)
    """

    __slots__ = ("__weakref__", "aval", "value")

    def __init__(self, value: Any) -> None:
        """value: an Array."""
        self.aval = AbstractRef(typeof(value))
        self.value = value

    shape = property(lambda self: self.aval.shape, doc="The extents of the axes.")
    dtype = property(lambda self: self.aval.dtype, doc="The dtype of the elements.")
    ndim = property(lambda self: self.aval.ndim, doc="The number of axes.")
    size = property(lambda self: self.aval.size, doc="The number of elements.")
    sharding = property(lambda self: self.value.sharding, doc="Where the array lies.")

    def __repr__(self) -> str:
        """Return JAX's form, with the array that it holds now."""
        return "Ref" + repr(self.value).removeprefix("Array")

    def __len__(self) -> int:
        """Return the extent of the first axis."""
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def block_until_ready(self) -> Ref:
        """Return the reference: there is nothing to wait for."""
        return self


register_value_type(Ref, operator.attrgetter("aval"))


def is_ref(x: Value) -> bool:
    """Tell whether a value is a reference, or the tracer of one."""
    return type(getattr(x, "aval", None)) is AbstractRef
