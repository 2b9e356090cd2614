"""Cleaning programs: what nobody uses goes, and what is merely passed on is passed around.

`dce_jaxpr` removes equations without used results and without effects; operations that contain
programs are asked, by their `dce` rule, to shrink themselves.  `forwarded_inputs` tells which
outputs of a program are its inputs, so that a caller need not carry them through.
"""

from __future__ import annotations

from tapeless.core.check import after_pass
from tapeless.core.jaxpr import Atom, Eqn, Jaxpr, Literal
from tapeless.util.cache import weak_identity_cache
from tapeless.util.seqs import select

__all__ = ["dce_jaxpr", "forwarded_inputs"]

Mask = tuple[bool, ...]


@weak_identity_cache
def dce_jaxpr(jaxpr: Jaxpr, used: Mask, kept_inputs: Mask) -> tuple[Jaxpr, Mask]:
    """Return the program of the outputs `used`, and which inputs it still has.

    kept_inputs: inputs to keep even if nothing needs them.
    """
    outvars = select(jaxpr.outvars, used)
    live: set[Atom] = set(outvars)
    eqns: list[Eqn] = []
    for eqn in reversed(jaxpr.eqns):
        if live.isdisjoint(eqn.outvars) and not eqn.effects:
            continue
        kept = _shrink(eqn, live) if eqn.primitive.has_dce else eqn
        live.update(kept.invars)
        eqns.append(kept)
    inputs = tuple(flag or var in live for var, flag in zip(jaxpr.invars, kept_inputs, strict=True))
    live_consts = [var in live for var in jaxpr.constvars]
    eqns.reverse()
    if all((*used, *inputs, *live_consts)) and eqns == list(jaxpr.eqns):
        return jaxpr, inputs  # what is kept of it elsewhere stays known
    names, debug = jaxpr.debug.arguments, jaxpr.debug
    if names is not None and not all(inputs):
        debug = type(debug)(debug.function, tuple(select(names, inputs)), None)
    result = Jaxpr(
        select(jaxpr.constvars, live_consts),
        select(jaxpr.invars, inputs),
        outvars,
        eqns,
        select(jaxpr.consts, live_consts),
        debug,
    )
    return after_pass(result, "dce", debug.function), inputs


def _shrink(eqn: Eqn, live: set[Atom]) -> Eqn:
    """Return the equation reduced, by its primitive's rule, to what is live or must stay."""
    wanted = tuple([var in live for var in eqn.outvars])
    shrunk = eqn.primitive.dce(wanted, len(eqn.invars), **eqn.params)
    if shrunk is None:
        return eqn
    needed, params, left = shrunk
    return eqn.replace(
        invars=tuple(select(eqn.invars, needed)),
        outvars=tuple(select(eqn.outvars, left)),
        params=params,
    )


def forwarded_inputs(jaxpr: Jaxpr) -> tuple[int | None, ...]:
    """Return, per output, the number of the input that it is, or None."""
    positions = {var: number for number, var in enumerate(jaxpr.invars)}
    return tuple(None if type(atom) is Literal else positions.get(atom) for atom in jaxpr.outvars)
