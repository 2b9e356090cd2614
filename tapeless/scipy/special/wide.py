"""Elementwise functions that are computed in double precision, whatever their operands' dtype.

Series and fractions lose a few digits; in float64 that leaves every digit of a float32.  So such a
function is one operation, whose body is written with array functions and compiled for float64 (or
complex128), and whose derivatives are given in closed form in the operands' own dtype.  Where time
counts, a function has a second body, for float32, which loses next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless import config, dtypes
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.primitive import Values
from tapeless.core.trace import Value
from tapeless.numpy.common import asarray, promote_args_inexact, promote_dtypes_complex
from tapeless.prims.common import (
    COMPLEX,
    FLOAT,
    Avals,
    Elementwise,
    full_like,
    shape_of,
    stretch,
)
from tapeless.prims.convert import convert
from tapeless.prims.fused import fused_add
from tapeless.prims.structural import broadcast_shapes

__all__ = ["WideFunction", "array_of_sequence", "horner", "polynomial_in_two", "wide_function"]


class WideFunction(Elementwise):
    """The operation of one function."""

    accepts = (FLOAT + COMPLEX,)

    def __init__(
        self,
        name: str,
        body: Callable,
        partials: Sequence,
        numpy: Callable,
        narrow: Callable | None,
    ) -> None:
        """body: the function of float64 operands; numpy: a reference; narrow: of float32 ones."""
        self.name, self.body, self.partials = name, body, tuple(partials)
        self.narrow = narrow
        self.numpy_function = numpy
        super().__init__()

    def abstract(self, *avals: ShapedArray, **params: Any) -> Avals:
        """Check the operands; what is computed in double precision is never weak."""
        (aval,) = super().abstract(*avals, **params)
        return (aval.update(weak_type=False),)

    def decompose(
        self,
        *args: Value,
        **params: Any,
    ) -> tuple:
        """Compute in double precision, or in float32 if there is a body for it."""
        dtype = typeof(args[0]).dtype
        is_complex = dtypes.issubdtype(dtype, np.complexfloating)
        shape = broadcast_shapes(*map(shape_of, args))
        full = [stretch(x, shape) for x in args]
        if self.narrow is not None and not is_complex and dtype != np.float64:
            single = np.dtype(np.float32)
            return (convert(self.narrow(*[convert(x, single) for x in full]), dtype),)
        with config.enable_x64(True):
            wide = np.dtype(np.complex128 if is_complex else np.float64)
            return (convert(self.body(*[convert(x, wide) for x in full]), dtype),)

    def reference(
        self,
        *arrays: Any,
        **params: Any,
    ) -> tuple:
        """Compute with the reference."""
        dtype = np.asarray(arrays[0]).dtype
        wide = [np.asarray(x).astype(np.promote_types(dtype, np.float64)) for x in arrays]
        return (np.asarray(self.numpy_function(*wide)).astype(dtype),)


def wide_function(
    name: str,
    body: Callable,
    partials: Sequence,
    numpy: Callable,
    is_complex: bool = False,
    narrow: Callable | None = None,
) -> Callable[..., Value]:
    """Return the function of array-likes that applies the operation `name` to promoted operands.

    For the others see `WideFunction`; is_complex: whether operands become complex.
    """
    prim = WideFunction(name, body, partials, numpy, narrow)

    def apply(*args: Any) -> Value:
        """Promote and bind."""
        values: Values = promote_args_inexact(name, *args)
        if is_complex:
            values = promote_dtypes_complex(*values)
        elif any(dtypes.issubdtype(typeof(x).dtype, np.complexfloating) for x in values):
            raise ValueError(f"{name} does not support complex-valued inputs.")
        return prim.bind(*values)[0]

    return apply


def array_of_sequence(x: Any) -> Any:
    """Return the array of a list or tuple, which some functions take, and else what was given."""
    return asarray(x) if isinstance(x, list | tuple) else x


def horner(x: Value, coefficients: Sequence[float]) -> Value:
    """Return coefficients[0] + coefficients[1] x + coefficients[2] x**2 + ..."""
    total = full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total = fused_add(total * x, full_like(x, coefficient))
    return total


def polynomial_in_two(
    x: Value, first: Value, first_rest: Value, others: Sequence[Value]
) -> tuple[Value, Value]:
    """Return first + others[0] x + others[1] x**2 + ..., and what the last sum lost, of arrays.

    first_rest: what `first` lacks of the first number. A product that is used twice may be stored,
    and thereby rounded; so the second one is another, of the negative x.
    """
    total = others[-1]
    for number in others[-2::-1]:
        total = fused_add(total * x, number)
    value = fused_add(total * x, first)
    return value, first_rest - fused_add(total * -x, value - first)
