"""Loop-invariant code: what every iteration would compute alike is computed once, before the loop.

The emitter hoists scalars by itself; this pass hoists arrays. The body of a loop is split in two:
a *head* that depends on the loop's constants alone, and the rest, which takes the head's results
as further constants. What makes an array larger than its operands together (a broadcast, an iota)
stays inside, and so does what needs it: reading such a value from memory would cost more than
making it. Of a check that is the same in each iteration, one bool goes in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tapeless.core.effects import NO_EFFECTS
from tapeless.core.jaxpr import DebugInfo, Eqn, Jaxpr, Literal, Var, subjaxprs
from tapeless.prims.check import check_p
from tapeless.prims.reduce import reduce_and_p
from tapeless.util.cache import weak_identity_cache
from tapeless.util.records import record

__all__ = ["Split", "loop_bodies", "split_body", "with_split"]


@record
class Split:
    """A body in two parts.

    head: (*constants) -> results; rest: (*constants, *results of the head, *other inputs).
    """

    head: Jaxpr
    rest: Jaxpr


def loop_bodies(eqn: Eqn) -> dict[str, tuple[int, int]]:
    """Return the programs of a loop: per parameter, where its constants start among the operands,
    and how many they are.
    """
    params = eqn.params
    if eqn.primitive.name == "scan":
        return {"jaxpr": (0, params["num_consts"])}
    if eqn.primitive.name == "while":
        n_cond = params["cond_nconsts"]
        return {"cond_jaxpr": (0, n_cond), "body_jaxpr": (n_cond, params["body_nconsts"])}
    return {}


_COUNTS = {"jaxpr": "num_consts", "cond_jaxpr": "cond_nconsts", "body_jaxpr": "body_nconsts"}


def with_split(eqn: Eqn, name: str, split: Split, start: int, results: tuple[Var, ...]) -> Eqn:
    """Return the loop whose program `name` is the rest of the split, fed with `results`."""
    count = eqn.params[_COUNTS[name]]
    end = start + count
    params: Mapping[str, Any] = {
        **eqn.params,
        name: split.rest,
        _COUNTS[name]: count + len(results),
    }
    return eqn.replace(invars=(*eqn.invars[:end], *results, *eqn.invars[end:]), params=params)


@weak_identity_cache
def split_body(body: Jaxpr, n_consts: int) -> Split | None:
    """Split a body whose leading inputs are constants; None if there is nothing to hoist."""
    known: set[Var] = {*body.constvars, *body.invars[:n_consts]}
    head: list[Eqn] = []
    rest: list[Eqn] = []
    for eqn in body.eqns:
        if _is_invariant(eqn, known):
            head.append(eqn)
            known.update(eqn.outvars)
        elif eqn.primitive is check_p and eqn.invars[0].aval.shape and eqn.invars[0] in known:
            holds = _all_hold(eqn)
            head.append(holds)
            known.update(holds.outvars)
            rest.append(eqn.replace(invars=(*holds.outvars, *eqn.invars[1:])))
        else:
            rest.append(eqn)
    made = {var for eqn in head for var in eqn.outvars}
    wanted: dict[Var, None] = {}
    for atom in (*(atom for eqn in rest for atom in eqn.invars), *body.outvars):
        if type(atom) is Var and atom in made:
            wanted[atom] = None
    if not wanted:
        return None
    debug = DebugInfo(body.debug.function)
    consts = body.invars[:n_consts]
    first = Jaxpr(body.constvars, consts, tuple(wanted), head, body.consts, debug)
    invars = (*consts, *wanted, *body.invars[n_consts:])
    return Split(first, Jaxpr(body.constvars, invars, body.outvars, rest, body.consts, debug))


def _is_invariant(eqn: Eqn, known: set[Var]) -> bool:
    """Tell whether an equation may, and should, run before the loop."""
    if eqn.effects or not eqn.invars or subjaxprs(eqn.params):
        return False
    if not all(type(atom) is Literal or atom in known for atom in eqn.invars):
        return False
    read = sum(atom.aval.size for atom in eqn.invars)
    return all(var.aval.size <= max(read, 1) for var in eqn.outvars)


def _all_hold(check: Eqn) -> Eqn:
    """Return the equation that tells whether all bools of a check hold."""
    fine = check.invars[0].aval
    return check.replace(
        primitive=reduce_and_p,
        invars=check.invars[:1],
        outvars=(Var(fine.update(shape=())),),
        params={"axes": tuple(range(fine.ndim))},
        effects=NO_EFFECTS,
    )
