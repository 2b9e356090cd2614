"""Splicing: the equations of a small program in the place of one equation of a larger one.

Operations without a rule of their own are replaced by their decompositions, and operations on rows
by what they do for one row.
"""

from __future__ import annotations

from typing import Any

from tapeless.core.effects import NO_EFFECTS
from tapeless.core.jaxpr import Eqn, Jaxpr, Var
from tapeless.prims.identity import copy_p

__all__ = ["spliced"]


def spliced(program: Jaxpr, eqn: Eqn) -> list[Eqn]:
    """Return the equations of a program, with fresh variables, for the equation `eqn`.

    Its constants keep their variables.  A result that no equation makes, or that is there twice, is
    copied.
    """
    names: dict[Var, object] = dict(zip(program.invars, eqn.invars, strict=True))

    def rename(atom: object) -> object:
        """Return the atom outside that stands for one inside."""
        return names.get(atom, atom) if type(atom) is Var else atom

    made: list[Eqn] = []
    for inner in program.eqns:
        fresh = [Var(var.aval) for var in inner.outvars]
        invars = tuple(map(rename, inner.invars))
        names.update(zip(inner.outvars, fresh, strict=True))
        made.append(inner.replace(invars=invars, outvars=tuple(fresh), source=eqn.source))
    fresh_vars = {var for inner in made for var in inner.outvars}
    final: dict[Any, Any] = {}
    copies: list[Eqn] = []
    for atom, var in zip(program.outvars, eqn.outvars, strict=True):
        source = rename(atom)
        if source in fresh_vars and source not in final:
            final[source] = var
        else:
            source = final.get(source, source)
            copies.append(Eqn(copy_p, (source,), (var,), {}, NO_EFFECTS, eqn.source))
    placed = [
        inner.replace(
            invars=tuple(final.get(atom, atom) for atom in inner.invars),
            outvars=tuple(final.get(var, var) for var in inner.outvars),
        )
        for inner in made
    ]
    return placed + copies
