"""Which values are nowhere -0.0: to these, adding zeros changes nothing.

The sum with zeros turns -0.0 into 0.0, so that a sum of which one part is mostly zeros still costs
the whole array: the elements that it leaves alone must lose their sign.  This file knows when they
have none to lose.  A sum is -0.0 only if both of its parts are; what moves elements keeps them.

In a loop the sums are of a carry, and the carry may start with any elements.  `signs_once` asks
which carries are nowhere -0.0 in all steps, and which in all but the first:

    y = add x 0.0       x is so in all steps                    y is x
    y = add x 0.0       x is a carry, and so from the second    y = cond first x (x -> x + 0.0)

The branch that returns its operand leaves it in its memory, so that the loop costs a pass over the
array once and not in every step.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray
from tapeless.core.jaxpr import Atom, DebugInfo, Eqn, Jaxpr, Literal, Var
from tapeless.core.primitive import registry
from tapeless.util.seqs import split_at

__all__ = ["WRITERS", "adds_zero", "has_no_sign", "makes_no_sign", "signs_once"]

WRITERS = frozenset(
    (
        "dynamic_update_slice",
        "scatter",
        "scatter-add",
        "scatter-sub",
        "scatter-mul",
        "scatter-min",
        "scatter-max",
    )
)
_MOVES = frozenset(
    (
        "broadcast_in_dim",
        "reshape",
        "squeeze",
        "transpose",
        "rev",
        "slice",
        "dynamic_slice",
        "copy",
        "copy_p",
        "concatenate",
        "select_n",
        "dynamic_update_slice",
        "scatter",
        "complex",
        "real",
        "imag",
    )
)
_SUMS = frozenset(("add", "add_any"))
_NEVER = frozenset(("abs", "exp"))
_WHICH = ShapedArray((), np.dtype(np.int32))


def has_no_sign(atom: Atom, known: Collection[Var]) -> bool:
    """Tell whether an atom is nowhere -0.0; known: the variables that are not."""
    if not dtypes.issubdtype(atom.aval.dtype, np.inexact):
        return True
    if type(atom) is Var:
        return atom in known
    number = complex(atom.val)
    return not any(part == 0 and np.signbit(part) for part in (number.real, number.imag))


def makes_no_sign(eqn: Eqn, known: Collection[Var]) -> bool:
    """Tell whether the results of an equation are nowhere -0.0."""
    name = eqn.primitive.name
    if name in _NEVER:
        return True
    if name == "scatter-add":
        return has_no_sign(eqn.invars[0], known)
    flags = (has_no_sign(atom, known) for atom in eqn.invars)
    return any(flags) if name in _SUMS else name in _MOVES and all(flags)


def adds_zero(eqn: Eqn) -> Atom | None:
    """Return the operand to which an equation adds the literal 0.0, if it is such a sum."""
    if eqn.primitive.name != "add":
        return None
    x, y = eqn.invars
    return x if type(y) is Literal and y.val == 0 and has_no_sign(y, ()) else None


def signs_once(eqn: Eqn, body: Jaxpr, known: Collection[Var]) -> list[Eqn] | None:
    """Return equations for a scan whose `body` adds zeros less often; None if it always must.

    known: the variables around the loop that are nowhere -0.0.
    """
    sums = {e.outvars[0]: x for e in body.eqns if (x := adds_zero(e)) is not None}
    if not sums:
        return None
    n_consts, n_carry = eqn.params["num_consts"], eqn.params["num_carry"]
    given = [has_no_sign(atom, known) for atom in eqn.invars]
    always = _settled(body, n_consts, n_carry, given)
    later = _after_a_step(body, n_consts, n_carry, given, always)
    in_place = _written_carries(body, n_consts, n_carry)
    names = {y: x for y, x in sums.items() if has_no_sign(x, always)}
    once = {y for y, x in sums.items() if y not in names and x in later and x in in_place}
    if not names and not once:
        return None
    which = Var(_WHICH)
    new = _replaced(body, names, once, which)
    params = {**eqn.params, "jaxpr": new}
    if not once:
        return [eqn.replace(params=params)]
    *before, flags = _first_step(eqn)
    return [*before, eqn.replace(invars=(*eqn.invars, flags), params=params)]


def _known_in(body: Jaxpr, inputs: Sequence[bool]) -> set[Var]:
    """Return the variables of a body that are nowhere -0.0, if these inputs are not."""
    known = {var for var, flag in zip(body.invars, inputs, strict=True) if flag}
    for eqn in body.eqns:
        if makes_no_sign(eqn, known):
            known.update(eqn.outvars)
    return known


def _settled(body: Jaxpr, n_consts: int, n_carry: int, given: Sequence[bool]) -> set[Var]:
    """Return the variables that are nowhere -0.0 in any step, given what the loop starts with."""
    consts, carry, xs = split_at(given, n_consts, n_carry)
    while True:
        known = _known_in(body, (*consts, *carry, *xs))
        outs = body.outvars[:n_carry]
        kept = [flag and has_no_sign(atom, known) for flag, atom in zip(carry, outs, strict=True)]
        if kept == list(carry):
            return known
        carry = kept


def _after_a_step(
    body: Jaxpr, n_consts: int, n_carry: int, given: Sequence[bool], always: set[Var]
) -> set[Var]:
    """Return the variables that are nowhere -0.0 from the second step on.

    What one step makes of any start, every further step makes again, since it starts with no less.
    """
    consts, _, xs = split_at(given, n_consts, n_carry)
    carry = [has_no_sign(atom, always) for atom in body.outvars[:n_carry]]
    return _known_in(body, (*consts, *carry, *xs))


def _written_carries(body: Jaxpr, n_consts: int, n_carry: int) -> set[Var]:
    """Return the carries, and what is made of them by overwriting a part."""
    found = set(body.invars[n_consts : n_consts + n_carry])
    for eqn in body.eqns:
        if eqn.primitive.name in WRITERS and eqn.invars[0] in found:
            found.update(eqn.outvars)
    return found


def _replaced(body: Jaxpr, names: dict[Var, Atom], once: set[Var], which: Var) -> Jaxpr:
    """Return the body without the sums `names`, with branches on `which` for the sums `once`."""
    names = dict(names)

    def read(atom: Atom) -> Atom:
        """Follow the sums that are left out."""
        while type(atom) is Var and atom in names:
            atom = names[atom]
        return atom

    eqns = []
    for eqn in body.eqns:
        (out, *_) = eqn.outvars or (None,)
        if out in names:
            continue
        eqn = eqn.replace(invars=tuple(map(read, eqn.invars)))
        eqns.append(_branching(eqn, which) if out in once else eqn)
    invars = (*body.invars, which) if once else body.invars
    outvars = [read(atom) for atom in body.outvars]
    debug = DebugInfo(body.debug.function)
    return Jaxpr(body.constvars, invars, outvars, eqns, body.consts, debug)


def _branching(eqn: Eqn, which: Var) -> Eqn:
    """Return the sum with zeros where `which` is 1, and the operand itself where it is 0."""
    x, zero = eqn.invars
    same, operand, total = Var(x.aval), Var(x.aval), Var(eqn.outvars[0].aval)
    add = eqn.replace(invars=(operand, zero), outvars=(total,))
    branches = (Jaxpr((), (same,), (same,), (), ()), Jaxpr((), (operand,), (total,), (add,), ()))
    changes = {"primitive": registry["cond"], "params": {"branches": branches}}
    return eqn.replace(invars=(which, x), **changes)


def _first_step(eqn: Eqn) -> list:
    """Return equations, and their result: per slice of a scan, 1 if it comes first, and else 0."""
    length = eqn.params["length"]
    aval = _WHICH.update(shape=(length,))
    count, shifted, flags = Var(aval), Var(aval), Var(aval)
    number = lambda value: Literal(np.int32(value), _WHICH)  # noqa: E731
    options = {"dtype": aval.dtype, "shape": aval.shape, "dimension": 0, "sharding": None}
    iota = eqn.replace(primitive=registry["iota"], invars=(), outvars=(count,), params=options)
    operands = (count, number(length - 2)) if eqn.params["reverse"] else (number(1), count)
    sub = iota.replace(primitive=registry["sub"], invars=operands, outvars=(shifted,), params={})
    top = sub.replace(primitive=registry["max"], invars=(shifted, number(0)), outvars=(flags,))
    return [iota, sub, top, flags]
