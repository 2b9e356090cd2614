"""Transposition: run a linear program backwards.

The problem: a linear program maps tangents forwards; reverse mode wants cotangents mapped back.
The idea: walk the equations in reverse.  An equation whose outputs have cotangents asks its
primitive's `transpose` rule for those of its linear inputs; cotangents of one variable are added
up.

Equations that do not depend on the linear inputs (what a checkpoint replays, for instance) are
evaluated first, forwards.  In the arguments of a transpose rule a linear input is `Linear`, every
other one a value.  A cotangent that is zero is a `Zero` and costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Any

from tapeless.core.interpret import operand
from tapeless.core.jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from tapeless.core.linear import Linear, NotLinear, Zero
from tapeless.core.source import Walk
from tapeless.core.trace import Value, context
from tapeless.prims.common import add_tangents, instantiate
from tapeless.transforms import templates
from tapeless.transforms.stage import stage_jaxpr
from tapeless.util.cache import weak_identity_cache
from tapeless.util.seqs import select

__all__ = ["backward", "transpose_jaxpr"]

Mask = tuple[bool, ...]
Cotangent = Any  # a value or a Zero


class Cotangents:
    """The sum of the cotangents seen so far, per variable."""

    def __init__(self) -> None:
        """Start with none."""
        self.sums: dict[Var, Value] = {}

    def add(self, atom: Atom, cotangent: Cotangent | None) -> None:
        """Add one; literals have none, and a zero adds nothing."""
        if cotangent is None or type(cotangent) is Zero or type(atom) is Literal:
            return
        previous = self.sums.get(atom)
        if previous is not None:
            cotangent = add_tangents(previous, cotangent)
        self.sums[atom] = cotangent

    def pop(self, var: Var) -> Cotangent:
        """Take the sum out; it is complete when the variable's equation is reached."""
        if var in self.sums:
            return self.sums.pop(var)
        return Zero(var.aval.tangent())


def backward(
    jaxpr: Jaxpr,
    consts: Sequence[Value],
    args: Sequence[Value | Linear],
    cotangents: Sequence[Cotangent],
    operation_of: Mapping[Var, int] = MappingProxyType({}),
    start: Sequence[Cotangent] = (),
) -> list[Cotangent | None]:
    """Return the cotangents of the `Linear` args, None for the others.

    operation_of: by their results, the equations that an operation on one value twice, such as
    `x * x`, was linearised to.  What they hand to its tangent is added up in the order of the
    operands, as if the operation were one linear equation.  start: what to add the cotangents of
    the first `Linear` args to.
    """
    env: dict[Var, Value] = dict(zip(jaxpr.constvars, consts, strict=True))
    linear: set[Atom] = set()
    for var, arg in zip(jaxpr.invars, args, strict=True):
        if type(arg) is Linear:
            linear.add(var)
        else:
            env[var] = arg
    with Walk() as walk:
        linear_eqns = _run_nonlinear(jaxpr, env, linear, walk)
    sums = Cotangents()
    placeholders = (v for v, arg in zip(jaxpr.invars, args, strict=True) if type(arg) is Linear)
    for var, cotangent in zip(placeholders, start, strict=False):
        sums.add(var, cotangent)
    for atom, cotangent in zip(jaxpr.outvars, cotangents, strict=True):
        if atom in linear:
            sums.add(atom, cotangent)

    def operation(eqn: Eqn) -> object:
        """Return what the equations of one operation share."""
        return operation_of.get(eqn.outvars[0], eqn) if eqn.outvars else eqn

    linear_eqns.reverse()
    groups = [[*eqns] for _, eqns in groupby(linear_eqns, operation)] if operation_of else None
    with Walk() as walk:
        for eqns in groups or zip(linear_eqns):
            _transpose_operation(eqns, env, linear, sums, walk)
    return [sums.pop(var) if var in linear else None for var in jaxpr.invars]


def _run_nonlinear(jaxpr: Jaxpr, env: dict[Var, Value], linear: set[Atom], walk: Walk) -> list[Eqn]:
    """Evaluate the equations without linear inputs; return the others, their outputs marked."""
    linear_eqns = []
    for eqn in jaxpr.eqns:
        if not linear.isdisjoint(eqn.invars):
            linear.update(eqn.outvars)
            linear_eqns.append(eqn)
            continue
        walk.reach(eqn.source)
        operands = tuple([_read(env, atom) for atom in eqn.invars])
        outs = context.trace.process(eqn.primitive, operands, eqn.params.copy())
        env.update(zip(eqn.outvars, outs, strict=True))
    return linear_eqns


def _read(env: dict[Var, Value], atom: Atom) -> Value:
    """Return the value of an atom."""
    return operand(atom) if type(atom) is Literal else env[atom]


def _transpose_operation(
    eqns: Sequence[Eqn], env: dict[Var, Value], linear: set[Atom], sums: Cotangents, walk: Walk
) -> None:
    """Hand the cotangents of an operation's outputs to its inputs.

    eqns: its equations, the last one first.
    """
    if len(eqns) == 1:
        walk.reach(eqns[0].source)
        for atom, cotangent in _transpose_eqn(eqns[0], env, linear, sums):
            sums.add(atom, cotangent)
        return
    own = {var for eqn in eqns for var in eqn.outvars}
    handed = []
    for eqn in eqns:
        walk.reach(eqn.source)
        pairs = _transpose_eqn(eqn, env, linear, sums)
        for atom, cotangent in pairs:
            if atom in own:
                sums.add(atom, cotangent)
        handed.append([(atom, cotangent) for atom, cotangent in pairs if atom not in own])
    for pairs in reversed(handed):
        for atom, cotangent in pairs:
            sums.add(atom, cotangent)


def _transpose_eqn(
    eqn: Eqn, env: dict[Var, Value], linear: set[Atom], sums: Cotangents
) -> list[tuple[Atom, Cotangent | None]]:
    """Return the cotangents of one equation's inputs, each with its variable."""
    outs = [sums.pop(var) for var in eqn.outvars]
    if not eqn.effects and not [ct for ct in outs if type(ct) is not Zero]:
        return []
    args = [Linear(atom.aval) if atom in linear else _read(env, atom) for atom in eqn.invars]
    try:
        results = templates.transpose(eqn.primitive, outs, args, eqn.params)
    except NotLinear as error:
        raise error if error.args else _not_linear(eqn) from None
    if len(results) != len(eqn.invars):
        raise AssertionError(f"transpose rule of {eqn.primitive}: one result per argument is due")
    return [
        (atom, result)
        for atom, arg, result in zip(eqn.invars, args, results, strict=True)
        if type(arg) is Linear
    ]


def _not_linear(eqn: Eqn) -> NotLinear:
    """Return the error that names an equation that is not linear."""
    return NotLinear(
        "Only a linear function can be transposed, and this one is not: the operation "
        f"`{eqn.primitive}` on line {eqn.source.summary()} needs the value of an operand that "
        "depends on the linear arguments. Close over what the function is not linear in, or use "
        "jax.vjp for the derivative at a point."
    )


@weak_identity_cache
def transpose_jaxpr(
    jaxpr: Jaxpr, linear: Mask, nonzero: Mask, forced: Mask | None = None
) -> tuple[Jaxpr, Mask]:
    """Return the program that maps cotangents back, and which cotangents it returns.

    linear: which inputs are.  nonzero: which outputs have cotangents.  forced: per linear input,
    whether its cotangent is wanted even if it is zero.  The program maps (*other inputs, *nonzero
    cotangents) to the cotangents of the linear inputs that are wanted or not zero.
    """
    returned: list[bool] = []
    n_values = len(linear) - sum(linear)

    def run(*inputs: Value) -> list[Value]:
        """Transpose under a staging trace."""
        values, given = iter(inputs[:n_values]), iter(inputs[n_values:])
        args = [
            Linear(aval) if flag else next(values)
            for aval, flag in zip(jaxpr.in_avals, linear, strict=True)
        ]
        cotangents = [
            next(given) if flag else Zero(aval.tangent())
            for aval, flag in zip(jaxpr.out_avals, nonzero, strict=True)
        ]
        results = select(backward(jaxpr, jaxpr.consts, args, cotangents), linear)
        wanted = forced or (False,) * len(results)
        returned.extend(f or type(ct) is not Zero for f, ct in zip(wanted, results, strict=True))
        return [instantiate(ct) for ct in select(results, returned)]

    values = select(jaxpr.in_avals, [not flag for flag in linear])
    given = [aval.tangent() for aval in select(jaxpr.out_avals, nonzero)]
    result = stage_jaxpr(run, jaxpr, [*values, *given], "transpose")
    return result, tuple(returned)
