"""Loops of few steps are written out where the program asks for it.

`scan(..., unroll=n)` with no more than n steps is a program without a loop: the carry of a step is
a value as any other, so that steps over large arrays become one loop over their elements, and
nothing of what is between two steps goes through memory.

    scan: c = c * x + p_k, k < 3   ->   c = ((c0 * x + p_0) * x + p_1) * x + p_2

Values are the same, bit for bit: each step has the same operations. What would make a program too
long stays a loop, as does what has effects.
"""

from __future__ import annotations

from tapeless.core.interpret import eval_jaxpr
from tapeless.core.jaxpr import Eqn, Jaxpr
from tapeless.core.trace import Value
from tapeless.prims.join import stack
from tapeless.prims.slice import index_in_dim
from tapeless.transforms.stage import stage_flat
from tapeless.util.seqs import split_at

__all__ = ["written_out"]

MOST_EQUATIONS = 512


def written_out(eqn: Eqn, body: Jaxpr) -> Jaxpr | None:
    """Return the program of all steps of a loop with this simplified body, if it is asked for."""
    length = eqn.params["length"]
    if not 0 < length <= eqn.params["unroll"] or eqn.params["unroll"] == 1:
        return None
    if eqn.effects or length * len(body.eqns) > MOST_EQUATIONS:
        return None
    n_consts, n_carry = eqn.params["num_consts"], eqn.params["num_carry"]
    order = range(length)[:: -1 if eqn.params["reverse"] else 1]

    def steps(*args: Value) -> tuple:
        """Take one step after the other."""
        consts, carry, xs = split_at(args, n_consts, n_carry)
        rows = {}
        for step in order:
            slices = [index_in_dim(x, step, 0, keepdims=False) for x in xs]
            outs = eval_jaxpr(body, body.consts, *consts, *carry, *slices)
            carry, rows[step] = split_at(outs, n_carry)
        ys = zip(*(rows[step] for step in range(length)), strict=True)
        return (*carry, *map(stack, ys))

    avals = [atom.aval for atom in eqn.invars]
    return stage_flat(steps, avals, "the steps of a loop")
