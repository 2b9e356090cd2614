"""The interpreter: run a jaxpr by binding its equations, one by one, under the current trace.

This is how a transformation is applied to a program: make the transformation's trace current and
evaluate.  Variables are dropped after their last use, so that an eager evaluation holds no more
than it needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

from tapeless.core.jaxpr import Atom, Jaxpr, Literal, Var
from tapeless.core.source import override_source
from tapeless.core.trace import Value, context

__all__ = ["eval_jaxpr", "last_uses"]


def eval_jaxpr(
    jaxpr: Jaxpr, consts: Sequence[Value], *args: Value, keeps_sources: bool = True
) -> tuple[Value, ...]:
    """Return the outputs of `jaxpr` for these constants and inputs.

    keeps_sources: whether what is traced comes from where the equations do, or from the caller.
    """
    env: dict[Var, Value] = {}

    def read(atom: Atom) -> Value:
        """Return the value of an atom."""
        if type(atom) is Literal:
            return atom.val
        return env[atom]

    env.update(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    dying = last_uses(jaxpr)
    for position, eqn in enumerate(jaxpr.eqns):
        operands = map(read, eqn.invars)
        with override_source(eqn.source) if keeps_sources else nullcontext():
            outs = context.trace.process(eqn.primitive, tuple(operands), dict(eqn.params))
        env.update(zip(eqn.outvars, outs, strict=True))
        for var in dying[position]:
            env.pop(var, None)
    return tuple(map(read, jaxpr.outvars))


def last_uses(jaxpr: Jaxpr) -> list[list[Var]]:
    """Return, per equation, the variables that nothing uses after it."""
    live: set[Atom] = set(jaxpr.outvars)
    dying: list[list[Var]] = []
    for eqn in reversed(jaxpr.eqns):
        ends = []
        for atom in (*eqn.invars, *eqn.outvars):
            if type(atom) is Var and atom not in live:
                live.add(atom)
                ends.append(atom)
        dying.append(ends)
    dying.reverse()
    return dying
