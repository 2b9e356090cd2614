"""`experimental.hijax`: the base classes of types and operations of one's own.

Libraries subclass them when they are imported, for features that few programs switch on.  No value
of such a type can be traced here: where an array is expected it is refused as any other object, and
an operation on it says so when it is called.  What a library does with arrays, and with references
(`jax.ref`), does not depend on them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from tapeless.core.aval import AbstractRef, AbstractValue, ShapedArray
from tapeless.core.linear import Zero
from tapeless.prims.common import instantiate as instantiate_zeros

__all__ = [
    "AbstractRef", "AbstractValue", "HiPrim", "HiType", "ShapedArray", "Zero", "aval_method",
    "aval_property", "instantiate_zeros", "register_hitype",
]  # fmt: skip


class HiType(AbstractValue):
    """The base of types whose values consist of others."""


class HiPrim:
    """The base of operations on values of such types."""

    def __call__(self, *args: Any) -> NoReturn:
        """Refuse: values of other types than arrays are not traced."""
        raise NotImplementedError(
            f"{type(self).__name__} is an operation on a type of the library's own (HiType), which "
            f"tapeless does not trace. Use the library without this feature; in flax.nnx, without "
            f"hijax variables."
        )


class aval_method:  # noqa: N801
    """A method of values, written in the class of their type."""

    def __init__(self, fun: Callable) -> None:
        """fun: the function of a value."""
        self.fun = fun


class aval_property:  # noqa: N801
    """A property of values, written in the class of their type."""

    def __init__(self, fget: Callable) -> None:
        """fget: the function of a value."""
        self.fget = fget


def register_hitype(val_cls: type, typeof_fn: Callable) -> None:
    """Accept the type of a class of values; they stay what is refused where arrays are expected."""
