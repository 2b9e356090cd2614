"""Jaxprs made by hand, for the tests of what is made of them."""

import numpy as np

from tapeless.core.aval import ShapedArray
from tapeless.core.jaxpr import Builder, Eqn, Jaxpr, Var
from tapeless.core.source import UNKNOWN_SOURCE
from tapeless.prims.binary import add_p, mul_p
from tapeless.prims.trig import sin_p

__all__ = ["F32", "ROW", "equation", "sine_of_product", "sum_with_constant"]

F32 = ShapedArray((), np.float32)
ROW = ShapedArray((3,), np.float32)


def equation(prim, invars, out: ShapedArray, **params) -> Eqn:
    """Return an equation with one new result."""
    return Eqn(prim, invars, [Var(out)], params, prim.effects(**params), UNKNOWN_SOURCE)


def sine_of_product() -> Jaxpr:
    """Return { lambda ; a:f32[3] b:f32[3]. let c = mul a b; d = sin c in (d,) }."""
    builder = Builder()
    a, b = builder.new_input(ROW), builder.new_input(ROW)
    product = equation(mul_p, [a, b], ROW)
    sine = equation(sin_p, product.outvars, ROW)
    builder.emit(product)
    builder.emit(sine)
    return builder.build(sine.outvars)


def sum_with_constant(value: np.ndarray) -> Jaxpr:
    """Return { lambda a:f32[3]; b:f32[3]. let c = add b a in (c,) }."""
    builder = Builder()
    b = builder.new_input(ROW)
    total = equation(add_p, [b, builder.constant(value)], ROW)
    builder.emit(total)
    return builder.build(total.outvars)
