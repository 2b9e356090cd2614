"""Addition whose first operand, if it is a product, is not rounded before.

XLA's CPU compiler contracts a product and the sum that uses it into one operation with one rounding
wherever it sees them together.  Here operations have the same results alone as within a program, so
nothing is contracted behind the author's back.  Where results are to have JAX's bits, formulas say
so: `fused_add(mul(x, y), z)`.  Programs show it as the `add` that it is.

A product that is read from memory, because something else uses it too, has been rounded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapeless.core.trace import Value
from tapeless.prims.binary import Add
from tapeless.util import lazy

__all__ = ["fused_add", "fused_add_p"]

kernel_ir = lazy.load("tapeless.kernel.ir")

_CONTRACTED = (np.float16, np.float32, np.float64)


class FusedAdd(Add):
    """x + y, with one rounding where x is a product."""

    name = "fused_add"
    printed_name = "add"

    def scalar(self, b: Any, *scalars: Any, **params: Any) -> Any:
        """Add to the factors, if there are any."""
        x, y = scalars
        if isinstance(x, kernel_ir.Op) and x.name == "mul" and x.dtype in _CONTRACTED:
            return b.fma(*x.args, y)
        return b.add(x, y)


fused_add_p = FusedAdd()


def fused_add(x: Value, y: Value) -> Value:
    """Return x + y, elementwise; a product x is not rounded before the sum is."""
    return fused_add_p.bind(x, y)[0]
