"""The interpreter: run a jaxpr by binding its equations, one by one, under the current trace.

This is how a transformation is applied to a program: make the transformation's trace current and
evaluate.  Variables are dropped after their last use, so that an eager evaluation holds no more
than it needs.
"""

from __future__ import annotations

from collections.abc import Sequence

from tapeless.core.jaxpr import Atom, Jaxpr, Literal, Var
from tapeless.core.source import override_source
from tapeless.core.trace import Value

__all__ = ["eval_jaxpr", "last_uses"]


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Value], *args: Value) -> tuple[Value, ...]:
    """Return the outputs of `jaxpr` for these constants and inputs."""
    env: dict[Var, Value] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))

    def read(atom: Atom) -> Value:
        """Return the value of an atom."""
        return atom.val if type(atom) is Literal else env[atom]

    last = last_uses(jaxpr)
    for eqn, dying in zip(jaxpr.eqns, last, strict=True):
        with override_source(eqn.source):
            outs = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
        env.update(zip(eqn.outvars, outs, strict=True))
        for var in dying:
            env.pop(var, None)
    return tuple(map(read, jaxpr.outvars))


def last_uses(jaxpr: Jaxpr) -> list[list[Var]]:
    """Return, per equation, the variables that nothing uses after it."""
    live = {atom for atom in jaxpr.outvars if type(atom) is Var}
    dying: list[list[Var]] = []
    for eqn in reversed(jaxpr.eqns):
        ends = [var for var in {*eqn.invars, *eqn.outvars} if type(var) is Var and var not in live]
        live.update(ends)
        dying.append(ends)
    return dying[::-1]
