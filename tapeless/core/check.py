"""The type checker: what must hold of every program, checked after every pass in tests.

A program is well typed when

- a variable is bound once, and before it is used;
- constants have the types of their variables;
- every operation, typed again from its operands, has the results and effects that stand there;
- every nested program is well typed, and takes and returns what its operation says
  (`Primitive.programs`).

Weak types are not compared: a pass may make a type strong.  A program that fails is a fault of a
pass or of a rule, never of the user; the error shows the equation and the user's line behind it.

`after_pass` is what passes call on their results: it checks them while `jax_enable_checks` is on,
and shows them to users who ask (`core/forms.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tapeless import config
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.forms import program_form, show
from tapeless.core.jaxpr import Atom, Eqn, Jaxpr, Literal, Var, subjaxprs
from tapeless.errors import JaxprTypeError
from tapeless.util.cache import weak_identity_cache

__all__ = ["after_pass", "check_jaxpr"]


def after_pass(jaxpr: Jaxpr, stage: str, what: str) -> Jaxpr:
    """Return the result of a pass: checked if checks are on, shown if it is asked for.

    stage: the name of the pass.  what: the program that it was made from, in words.
    """
    if config.current.jax_enable_checks:
        check_jaxpr(jaxpr)
    show(stage, what, program_form(jaxpr))
    return jaxpr


@weak_identity_cache
def check_jaxpr(jaxpr: Jaxpr) -> None:
    """Raise JaxprTypeError unless the program is well typed."""
    bound: set[Var] = set()
    _bind(bound, (*jaxpr.constvars, *jaxpr.invars), "the inputs", jaxpr)
    if len(jaxpr.constvars) != len(jaxpr.consts):
        raise _fault(f"{len(jaxpr.constvars)} constants have {len(jaxpr.consts)} values", jaxpr)
    for var, value in zip(jaxpr.constvars, jaxpr.consts, strict=True):
        _compare([typeof(value)], [var.aval], "the value of a constant", jaxpr)
    for eqn in jaxpr.eqns:
        _read(bound, eqn.invars, eqn)
        _bind(bound, eqn.outvars, "the results", eqn)
        _check_equation(eqn)
    _read(bound, jaxpr.outvars, jaxpr)
    effects = frozenset[object]().union(*[eqn.effects for eqn in jaxpr.eqns])
    if effects != jaxpr.effects:
        raise _fault(f"the effects are {set(effects)}, not {set(jaxpr.effects)}", jaxpr)


def _check_equation(eqn: Eqn) -> None:
    """Type an equation again, and check the programs inside."""
    prim, params = eqn.primitive, eqn.params
    avals = [atom.aval for atom in eqn.invars]
    outs = [var.aval for var in eqn.outvars]
    try:
        typed = prim.abstract(*avals, **params)
        programs = prim.programs(avals, outs, **params)
    except Exception as error:
        raise _fault(f"the operation cannot be typed: {error}", eqn) from error
    _compare(typed, outs, "the results", eqn)
    effects = prim.effects(**params)
    if effects != eqn.effects:
        raise _fault(f"the effects are {set(effects)}, not {set(eqn.effects)}", eqn)
    for jaxpr in subjaxprs(params):
        check_jaxpr(jaxpr)
    for jaxpr, inputs, results in programs:
        _compare(jaxpr.in_avals, inputs, "the inputs of the program", eqn)
        _compare(jaxpr.out_avals, results, "the outputs of the program", eqn)


def _bind(bound: set[Var], variables: Sequence[Var], what: str, where: Eqn | Jaxpr) -> None:
    """Enter variables that must be new."""
    for var in variables:
        if var in bound:
            raise _fault(f"among {what} is a variable that is bound already: {var!r}", where)
        bound.add(var)


def _read(bound: set[Var], atoms: Sequence[Atom], where: Eqn | Jaxpr) -> None:
    """Check that variables are bound and that literals are scalars of their types."""
    for atom in atoms:
        if type(atom) is Literal:
            _compare([_literal_type(atom)], [atom.aval], "a literal", where)
        elif atom not in bound:
            raise _fault(f"a variable is used that is not bound: {atom!r}", where)


def _literal_type(literal: Literal) -> ShapedArray:
    """Return the type of a literal's value.

    A program that was traced in 64-bit mode keeps its types when it is checked outside.
    """
    value, aval = literal.val, literal.aval
    if isinstance(value, np.generic):
        return ShapedArray((), value.dtype)
    wide = aval.dtype.itemsize > (8 if aval.dtype.kind == "c" else 4)
    with config.enable_x64(wide):
        return typeof(value)


def _compare(
    got: Sequence[ShapedArray], want: Sequence[ShapedArray], what: str, where: Eqn | Jaxpr
) -> None:
    """Compare types, but for their weakness."""
    ours, theirs = [[aval.strong() for aval in avals] for avals in (got, want)]
    if ours != theirs:
        texts = [", ".join(map(str, avals)) for avals in (ours, theirs)]
        raise _fault(f"{what} should be of the types ({texts[1]}), but are ({texts[0]})", where)


def _fault(problem: str, where: Eqn | Jaxpr) -> JaxprTypeError:
    """Return the error: the problem, the place, the user's line."""
    text = f"{problem}. This is a bug in tapeless.\n\nin {where}"
    if isinstance(where, Eqn):
        text += f"\n\nfrom {where.source.summary()}"
    return JaxprTypeError(text)
