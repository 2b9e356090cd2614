"""A base trace for tests that evaluates every operation with its NumPy `reference` rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapeless.core.aval import typeof
from tapeless.core.primitive import Primitive
from tapeless.core.trace import Tag, Trace, under

__all__ = ["ReferenceTrace", "reference_of"]


class ReferenceTrace(Trace):
    """Evaluates with NumPy."""

    def process(self, prim: Primitive, args: tuple, params: dict[str, Any]) -> tuple:
        """Run the reference rule on arrays of the operands' types."""
        arrays = [np.asarray(arg).astype(typeof(arg).dtype) for arg in args]
        return tuple(np.asarray(out) for out in prim.reference(*arrays, **params))

    def constant(self, x: Any) -> np.ndarray:
        """Return the value as an array of its type."""
        return np.asarray(x).astype(typeof(x).dtype)


def reference_of(function: Callable[..., Any], *args: Any) -> Any:
    """Return what the function gives when NumPy evaluates its operations."""
    return under(ReferenceTrace(None, Tag("reference")), function, *args)
