"""The interpreter: run a jaxpr by binding its equations, one by one, under the current trace.

This is how a transformation is applied to a program: make the transformation's trace current and
evaluate.  Variables are dropped after their last use, so that an eager evaluation holds no more
than it needs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tapeless import config
from tapeless.core.jaxpr import Atom, Jaxpr, Literal, Var
from tapeless.core.source import Walk
from tapeless.core.trace import Value, context

__all__ = ["eval_jaxpr", "last_uses", "operand"]


def eval_jaxpr(
    jaxpr: Jaxpr,
    consts: Sequence[Value],
    *args: Value,
) -> tuple[Value, ...]:
    """Return the outputs of `jaxpr` for these constants and inputs."""
    env: dict[Atom, Value] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    with Walk() as walk:
        process = context.trace.process
        for eqn, dying in zip(jaxpr.eqns, last_uses(jaxpr), strict=True):
            walk.reach(eqn.source)
            args = _read(env, eqn.invars)
            outs = process(eqn.primitive, args, eqn.params.copy())
            env.update(zip(eqn.outvars, outs, strict=True))
            for var in dying:
                del env[var]
    return _read(env, jaxpr.outvars)


def _read(env: dict[Atom, Value], atoms: Sequence[Atom]) -> tuple[Value, ...]:
    """Return the values of atoms."""
    return tuple([operand(x) if type(x) is Literal else env[x] for x in atoms])


def operand(literal: Literal) -> Value:
    """Return the value of a literal as an operand of its type, whatever the 64-bit mode is now."""
    wide = literal.wide
    if wide is None or wide is config.current.jax_enable_x64:
        return literal.val
    return context.base.array(np.asarray(literal.val, literal.aval.dtype), literal.aval)


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
