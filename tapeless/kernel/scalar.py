"""The recipes of the elementary and special functions, by the name of the operation.

`recipe(name, args, nodes)` writes an operation of the loop language, such as "exp", as a DAG of
operations that are single instructions or nearly so.  The recipes are branch-free (but for `rare`,
which an emitter may turn into a branch around a seldom wanted part), so that they run as vector
code on any number of lanes.

Errors are at most 2 units in the last place over the whole range in float32 and float64, subnormal
numbers included; docs/numerics.md has the table of measured errors and the few exceptions, such as
the neighbourhoods of the zeros of lgamma.  Narrower formats compute in float32 and round once more,
some of them by shorter recipes (`halves.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tapeless.kernel import explog, gamma, special, trig
from tapeless.kernel.fold import is_floating
from tapeless.kernel.halves import HALVES
from tapeless.kernel.ir import Scalar
from tapeless.kernel.nodes import Nodes

__all__ = ["OF_BITS", "RECIPES", "recipe"]

Recipe = Callable[..., Scalar]

_FLOAT32 = np.dtype(np.float32)


def _rsqrt(b: Nodes, x: Scalar) -> Scalar:
    """1 / sqrt(x)."""
    return b.div(1.0, b.sqrt(x))


RECIPES: Mapping[str, Recipe] = {
    "acos": trig.acos,
    "acosh": trig.acosh,
    "asin": trig.asin,
    "asinh": trig.asinh,
    "atan": trig.atan,
    "atan2": trig.atan2,
    "atanh": trig.atanh,
    "cbrt": special.cbrt,
    "cos": trig.cos,
    "cosh": trig.cosh,
    "digamma": gamma.digamma,
    "erf": special.erf,
    "erf_inv": special.erf_inv,
    "erfc": special.erfc,
    "exp": explog.exp,
    "exp2": explog.exp2,
    "expm1": explog.expm1,
    "lgamma": gamma.lgamma,
    "log": explog.log,
    "log1p": explog.log1p,
    "log2": explog.log2,
    "logistic": explog.logistic,
    "nextafter": special.nextafter,
    "pow": explog.pow_,
    "rsqrt": _rsqrt,
    "sin": trig.sin,
    "sinh": trig.sinh,
    "tan": trig.tan,
    "tanh": explog.tanh,
}


# Operations on the bits of a number, which are not computed in a wider format.
OF_BITS = frozenset({"nextafter"})


def recipe(name: str, args: tuple[Scalar, ...], nodes: Nodes) -> Scalar:
    """Write operation `name` on `args` as simple operations."""
    dtype = args[0].dtype
    if not is_floating(dtype) or name not in RECIPES:
        raise TypeError(f"{name} has no recipe for {dtype}; this is a bug in tapeless")
    if dtype.itemsize >= 4 or name in OF_BITS:
        return RECIPES[name](nodes, *args)
    wide = [nodes.convert(arg, _FLOAT32) for arg in args]
    return nodes.convert(HALVES.get(name, RECIPES[name])(nodes, *wide), dtype)
