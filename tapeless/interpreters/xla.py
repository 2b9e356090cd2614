"""`jax.interpreters.xla`: evaluation of primitives, and types of operands that libraries add."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapeless.api.jit import jit
from tapeless.core.trace import Value
from tapeless.extend.rules import Primitive
from tapeless.util.names import close_module

__all__ = ["apply_primitive", "canonicalize_dtype_handlers"]

# Libraries look up NumPy's entry and enter it for classes of their own.
canonicalize_dtype_handlers: dict[type, Callable[[Any], Any]] = {np.ndarray: np.asarray}


def apply_primitive(prim: Primitive, *args: Value, **params: Any) -> Any:
    """Compile a primitive alone, and call it: an implementation that follows from its lowering."""
    return jit(lambda *values: prim.bind(*values, **params))(*args)


close_module("jax.interpreters.xla", globals())
