"""What lets loops update arrays in place: sums of cotangents, and readers before writers.

The transpose of reading some elements of an array adds a cotangent to zeros at their places:

    b = scatter-add zeros i u          b = dynamic_update_slice zeros u i
    c = add_any a b                    c = add_any a b

In a loop that reads one element per iteration this costs the whole array each time.  Both become

    z = add a 0.0
    c = scatter-add z i u

which has the same bits: the elements that no update reaches lose their sign if they are -0.0, as
in the sum.  Where `a` has no sign to lose (`signs.py`) z is a, and the rest costs the elements that
were read, since it writes the memory of `a`.  Several updates of one element would be added one
after the other and not first to each other, so that places must be known to differ.

An operation that overwrites part of an array can use its memory only when nothing reads the old
array later.  `readers_first` moves readers that do not depend on the writer in front of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless.compiler.signs import WRITERS
from tapeless.core.aval import ShapedArray
from tapeless.core.jaxpr import Atom, Eqn, Literal, Var
from tapeless.core.primitive import registry
from tapeless.prims.indexing import GatherScatterMode, ScatterDimensionNumbers
from tapeless.prims.rules import scalar_program

__all__ = ["added_in_place", "readers_first"]

_READERS = frozenset(("gather", "dynamic_slice", "slice", "squeeze"))


def added_in_place(eqn: Eqn, makers: dict[Var, Eqn], is_zero: Any) -> list[Eqn] | None:
    """Return equations for a sum in place, the last with the result; None if it is none.

    makers: the equation of each variable; is_zero(atom): whether it is 0 everywhere.
    """
    if eqn.primitive.name != "add_any":
        return None
    for target, part in (eqn.invars, eqn.invars[::-1]):
        maker = makers.get(part) if type(part) is Var else None
        if maker is None or target.aval.shape != part.aval.shape:
            continue
        name, written = maker.primitive.name, maker.invars[0] if maker.invars else None
        if name == "scatter-add" and is_zero(written) and _places_differ(maker):
            unsigned = _unsigned(target, eqn)
            invars = (*unsigned.outvars, *maker.invars[1:])
            return [unsigned, maker.replace(invars=invars, outvars=eqn.outvars)]
        if name == "dynamic_update_slice" and is_zero(written):
            unsigned = _unsigned(target, eqn)
            added = _slice_added(unsigned.outvars[0], maker, eqn)
            return added and [unsigned, *added]
    return None


def _places_differ(scatter: Eqn) -> bool:
    """Tell whether no two updates of a scatter can reach one element."""
    _, indices, _ = scatter.invars
    return scatter.params["unique_indices"] or math.prod(indices.aval.shape[:-1]) == 1


def _unsigned(target: Atom, eqn: Eqn) -> Eqn:
    """Return the equation that adds 0.0 to `target`."""
    aval = target.aval.strong()
    scalar = aval.update(shape=())
    zero = Literal(np.zeros((), aval.dtype)[()], scalar)
    return eqn.replace(
        primitive=registry["add"],
        invars=(target, zero),
        outvars=(Var(aval),),
        params={},
    )


def _slice_added(target: Atom, maker: Eqn, eqn: Eqn) -> list[Eqn] | None:
    """Return equations that add the update of a `dynamic_update_slice` to `target`."""
    _, update, *starts = maker.invars
    dtypes = {start.aval.dtype for start in starts}
    if len(dtypes) != 1 or not target.aval.shape:
        return None
    (dtype,) = dtypes
    axes = tuple(range(len(starts)))
    equations = []

    def emit(name: str, invars: tuple[Atom, ...], aval: ShapedArray, **params: Any) -> Var:
        """Add an equation and return its result."""
        out = Var(aval)
        changes = {"primitive": registry[name], "invars": invars, "outvars": (out,)}
        equations.append(eqn.replace(**changes, params=params))
        return out

    one = ShapedArray((1,), dtype)
    options = {"new_sizes": (1,), "dimensions": None, "sharding": None}
    parts = tuple(emit("reshape", (start,), one, **options) for start in starts)
    indices = parts[0]
    if len(parts) > 1:
        indices = emit("concatenate", parts, one.update(shape=(len(parts),)), dimension=0)
    emit(
        "scatter-add",
        (target, indices, update),
        target.aval,
        dimension_numbers=ScatterDimensionNumbers(axes, (), axes),
        indices_are_sorted=True,
        mode=GatherScatterMode.CLIP,
        unique_indices=True,
        update_consts=(),
        update_jaxpr=scalar_program("add", target.aval.dtype),
    )
    equations[-1] = equations[-1].replace(outvars=eqn.outvars)
    return equations


def readers_first(eqns: Sequence[Eqn]) -> list[Eqn]:
    """Return the equations with reads of an array in front of what overwrites a part of it."""
    made: dict[Var, int] = {}
    for position, eqn in enumerate(eqns):
        made.update(dict.fromkeys(eqn.outvars, position))
    writers = {
        eqn.invars[0]: position
        for position, eqn in reversed(list(enumerate(eqns)))
        if eqn.primitive.name in WRITERS and type(eqn.invars[0]) is Var
    }
    early: dict[int, list[Eqn]] = {}
    moved: set[int] = set()
    for position, eqn in enumerate(eqns):
        if eqn.primitive.name not in _READERS or type(eqn.invars[0]) is not Var:
            continue
        writer = writers.get(eqn.invars[0], position)
        ready = all(type(x) is not Var or made.get(x, -1) < writer for x in eqn.invars)
        if writer < position and ready:
            early.setdefault(writer, []).append(eqn)
            moved.add(position)
    order: list[Eqn] = []
    for position, eqn in enumerate(eqns):
        order.extend(early.get(position, ()))
        if position not in moved:
            order.append(eqn)
    return order
