"""Factors that a loop does not change are packed once, before it.

A product x y with a packed factor (`prims/panels.py`) spends some of its time on laying out y. In
the body of a scan whose constants y is among, as the weights of a recurrent network, that is done
ahead: the loop takes the panels instead.

    scan: z = dot_general x y   ->   p = pack_panels y;  scan: z = multiply_panels x p

The compiler alone uses these operations, as the last pass over a program.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray
from tapeless.core.jaxpr import Atom, Eqn, Jaxpr, Var
from tapeless.core.primitive import Primitive
from tapeless.prims.dot import (
    FEWEST_TERMS,
    SMALL,
    ProductPlan,
    packed_right,
    product_with_packed,
    sum_dtype,
)
from tapeless.prims.panels import columns_of, packed_size, pays_in_panels
from tapeless.util import lazy

__all__ = ["packed_ahead"]

target = lazy.load("tapeless.compiler.target")  # with LLVM

FEWEST_STEPS = 3


class PackPanels(Primitive):
    """The right factor of a product in panels; parameters: the plan, and the dtype of the sums."""

    name = "pack_panels"

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple:
        """Return the type of the panels."""
        plan, dtype = params["plan"], params["dtype"]
        groups = columns_of(target.host_target().registers, plan.m, dtype)
        return (ShapedArray((plan.count, packed_size(groups, plan.k)), dtype),)

    def lower(self, b: Any, args: Sequence, outs: tuple, **params: Any) -> tuple:
        """Lay out the panels."""
        return (packed_right(b, args[0], params["plan"], params["dtype"]),)


class MultiplyPanels(Primitive):
    """The product with a factor in panels; parameters: the plan, and the type of the result."""

    name = "multiply_panels"

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple:
        """Return the type of the product."""
        return (params["aval"],)

    def lower(self, b: Any, args: Sequence, outs: tuple, **params: Any) -> tuple:
        """Call the routines."""
        x, packed = args
        return (product_with_packed(b, x, packed, params["plan"], packed.dtype, outs[0]),)


pack_panels_p = PackPanels()
multiply_panels_p = MultiplyPanels()


def packed_ahead(jaxpr: Jaxpr, finished: Callable[[Jaxpr], Jaxpr]) -> Jaxpr:
    """Return the program whose scans take packed what their products do not change.

    finished: the passes that the body of a loop is to have gone through before.
    """
    eqns: list[Eqn] = []
    for eqn in jaxpr.eqns:
        eqns += _packed_scan(eqn, finished) if eqn.primitive.name == "scan" else (eqn,)
    return jaxpr if len(eqns) == len(jaxpr.eqns) else jaxpr.replace(eqns=eqns)


def _packed_scan(scan: Eqn, finished: Callable[[Jaxpr], Jaxpr]) -> list[Eqn]:
    """Return the equations that pack, and the scan that takes the panels."""
    n_consts = scan.params["num_consts"]
    if not n_consts or scan.params["length"] < FEWEST_STEPS:
        return [scan]
    body = finished(scan.params["jaxpr"])
    outside: dict[object, Atom] = dict(
        zip(body.invars[:n_consts], scan.invars[:n_consts], strict=True)
    )
    packs: list[Eqn] = []
    panels: dict[object, Var] = {}
    inside: list[Eqn] = []
    for eqn in body.eqns:
        found = _plan(eqn) if _is_by_constant(eqn, outside) else None
        if found is None:
            inside.append(eqn)
            continue
        plan, dtype = found
        x, y = eqn.invars
        key = (y, plan.y_batch, plan.y_contract, dtype)
        if key not in panels:
            pack = _pack(eqn, outside[y], plan, dtype)
            packs.append(pack)
            panels[key] = Var(pack.outvars[0].aval)
        (out,) = eqn.outvars
        params = {"plan": plan, "aval": out.aval}
        invars = (x, panels[key])
        inside.append(eqn.replace(primitive=multiply_panels_p, invars=invars, params=params))
    if not packs:
        return [scan]
    consts, rest = body.invars[:n_consts], body.invars[n_consts:]
    invars = (*consts, *panels.values(), *rest)
    body = body.replace(invars=invars, eqns=inside)
    count = n_consts + len(packs)
    params = {**scan.params, "jaxpr": body, "num_consts": count}
    made = [pack.outvars[0] for pack in packs]
    consts, rest = scan.invars[:n_consts], scan.invars[n_consts:]
    operands = (*consts, *made, *rest)
    return [*packs, scan.replace(invars=operands, params=params)]


def _pack(product: Eqn, y: Atom, plan: ProductPlan, dtype: np.dtype) -> Eqn:
    """Return the equation that packs the right factor of a product, outside of the loop."""
    params = {"plan": plan, "dtype": dtype}
    (aval,) = pack_panels_p.abstract(y.aval, **params)
    return product.replace(
        primitive=pack_panels_p, invars=(y,), outvars=(Var(aval),), params=params
    )


def _is_by_constant(eqn: Eqn, outside: dict[object, Atom]) -> bool:
    """Tell whether an equation is a product whose right factor alone is a constant of the loop."""
    if eqn.primitive.name != "dot_general":
        return False
    x, y = eqn.invars
    if type(y) is not Var or y not in outside:
        return False
    return type(x) is not Var or x not in outside


# One plan for equal arguments, so that parameters of equations are the same.
_product_plan = functools.cache(ProductPlan)


def _plan(eqn: Eqn) -> tuple[ProductPlan, np.dtype] | None:
    """Return the plan of a product that panels are good at, and the dtype of its sums."""
    x, y, out = (atom.aval for atom in (*eqn.invars, *eqn.outvars))
    params = eqn.params
    plan = _product_plan(x.shape, y.shape, params["dimension_numbers"])
    dtype = sum_dtype(x.dtype, y.dtype, out.dtype, params["precision"])
    if plan.work < SMALL or plan.k < FEWEST_TERMS or dtypes.bfloat16 in (x.dtype, y.dtype):
        return None
    registers = target.host_target().registers
    pays = pays_in_panels(registers, plan.sizes, dtype, is_packed_once=True)
    return (plan, dtype) if pays else None
