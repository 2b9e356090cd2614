"""Methods and properties of arrays, and the table that gives them to Arrays and tracers.

`core.trace.array_methods` is filled here and attached to both classes, so that a tracer can do what
an Array can; what an Array does by itself (conversion to Python and NumPy) a tracer refuses with an
error that says where its value comes from.  A tracer that has a concrete value behind it, as under
`grad` outside `jit`, converts that.
"""

from __future__ import annotations

from typing import Any

from tapeless.core.trace import Tracer, array_methods
from tapeless.numpy.operators import operators
from tapeless.runtime.array import Array

__all__ = []


def _of_aval(name: str, doc: str) -> property:
    """Return the property that reads the field `name` of the type."""
    return property(lambda self: getattr(self.aval, name), doc=doc)


array_methods.update(
    shape=_of_aval("shape", "The extents of the axes."),
    dtype=_of_aval("dtype", "The dtype of the elements."),
    ndim=_of_aval("ndim", "The number of axes."),
    size=_of_aval("size", "The number of elements."),
    weak_type=_of_aval("weak_type", "Whether the dtype is weak, as a Python scalar's."),
    **operators,
)


def _attach(kind: Any, table: dict[str, Any]) -> None:
    """Give a class the entries of the table that it does not define itself."""
    for name, entry in table.items():
        if name not in vars(kind):
            setattr(kind, name, entry)


_attach(Tracer, array_methods)
_attach(Array, array_methods)
