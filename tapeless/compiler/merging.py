"""Rows on demand are put where the other side of their select is.

    r = rows_on_demand p x              r = rows_on_demand p x y     where not p, r is y
    s = select_n p y r             ->   (r for s)

What few rows want is computed for those rows (`demand.py`), and the select that wants it would read
memory that holds nothing for all others. So the other side, the *base*, becomes an operand of the
operation, which begins with a copy of it and writes the rows on demand over that; the select is
gone. Where no row wants anything, a copy is all that is left.

A select with several other sides chooses among them first. A base is made before the operation, so
the operation moves to where its first result is read; what is made later is left to a select. A
result that others read, too, or whose rows make several choices, stays as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from tapeless.compiler.byrows import rows_on_demand_p
from tapeless.core.jaxpr import Atom, Eqn, Var
from tapeless.prims.convert import convert_element_type_p
from tapeless.prims.select import select_n_p
from tapeless.prims.structural import broadcast_in_dim_p

__all__ = ["merge_selects", "source_of_choice"]


def merge_selects(eqns: Sequence[Eqn], results: Sequence[Atom]) -> list[Eqn]:
    """Return the equations of a program, in order, with rows on demand in the place of selects."""
    merged = list(eqns)
    for eqn in eqns:
        if eqn.primitive is rows_on_demand_p and _is_one_choice(eqn):
            _merge(merged, eqn, results)
    return merged


def _is_one_choice(eqn: Eqn) -> bool:
    """Tell whether each row wants the results, or not, by one choice of its own."""
    if len(eqn.params["conditions"]) != 1 or eqn.params["n_rows"] is None:
        return False
    return eqn.invars[0].aval.ndim == 1


def _merge(eqns: list[Eqn], operation: Eqn, results: Sequence[Atom]) -> None:
    """Give an operation the bases that there are, and take out their selects."""
    uses = Counter(atom for eqn in eqns for atom in eqn.invars)
    uses.update(results)
    own = set(operation.outvars)
    readers = [n for n, eqn in enumerate(eqns) if not own.isdisjoint(eqn.invars)]
    if not readers:
        return
    start = eqns[: readers[0]]
    later = eqns[readers[0] :]
    makers = {var: eqn for eqn in start for var in eqn.outvars}
    made_later = {var for eqn in later for var in eqn.outvars}
    bases: list[Atom | None] = []
    outs: list[Var] = []
    chosen: list[Eqn] = []
    merged: list[Eqn] = []
    for var in operation.outvars:
        select = next((eqn for eqn in later if var in eqn.invars), None)
        bases.append(None)
        outs.append(var)
        if select is None or uses[var] != 1:
            continue
        if not made_later.isdisjoint({*select.invars} - own):
            continue
        if _chooses(select, operation, var, makers):
            bases[-1] = _base(select, var, chosen)
            outs[-1] = select.outvars[0]
            merged.append(select)
    if not merged:
        return
    given = [base for base in bases if base is not None]
    params = {**operation.params, "bases": tuple(base is not None for base in bases)}
    operation_with = operation.replace(
        invars=(*operation.invars, *given), outvars=tuple(outs), params=params
    )
    gone = {id(operation), *map(id, merged)}
    rest = [*start, *chosen, operation_with, *later]
    eqns[:] = [eqn for eqn in rest if id(eqn) not in gone]


def _chooses(select: Eqn, operation: Eqn, var: Var, makers: dict[Var, Eqn]) -> bool:
    """Tell whether an equation chooses a result by the choice of rows that want it."""
    condition = operation.params["conditions"][0]
    if select.primitive is not select_n_p or len(select.invars) != 1 + condition.n_cases:
        return False
    which = select.invars[0]
    while which is not operation.invars[0]:
        maker = makers.get(which) if type(which) is Var else None
        source = None if maker is None else source_of_choice(maker, condition.n_cases)
        if source is None:
            return False
        which = source
    return select.invars[1 + condition.case] is var


def source_of_choice(maker: Eqn, n_cases: int) -> Atom | None:
    """Return the choices of rows that an equation repeats along rows, or converts; None if none."""
    if not maker.invars:
        return None
    source = maker.invars[0]
    result = maker.outvars[0].aval
    if maker.primitive is convert_element_type_p:
        is_flag = n_cases == 2 and source.aval.dtype == np.bool_
        return source if is_flag and result.dtype.kind in "iu" else None
    if maker.primitive is not broadcast_in_dim_p or result.ndim < 2:
        return None
    if maker.params["broadcast_dimensions"][:1] != (0,):
        return None
    return source if source.aval.shape[0] == result.shape[0] else None


def _base(select: Eqn, var: Var, chosen: list[Eqn]) -> Atom:
    """Return what a select gives where it does not want `var`; several sides are chosen from."""
    first, *others = [side for side in select.invars[1:] if side is not var]
    if all(side is first for side in others):
        return first
    base = Var(var.aval)
    cases = tuple(first if side is var else side for side in select.invars)
    chosen.append(select.replace(invars=cases, outvars=(base,)))
    return base
