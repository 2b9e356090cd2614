"""Row programs: what a program over a batch does for one row of it.

`vmap` leaves equations over whole batches. Nearly all of them are maps along the batch's axis: row
i of a result needs row i of some operands and the whole of others. This file finds such axes, and
writes the program for one row; it is the inverse of batching, by inspection of the equations alone,
so that it does not matter which transformations made them.

The question runs backwards: "axis d of this result is the rows; which axes of the operands are?"
The answer is one `Row` per equation, or None where rows meet (a sum over them) or are told apart
(an iota along them). An operand's answer may be an axis, or None: the operand is wanted whole and
is the same for every row. An axis of extent 1 that is stretched is an axis all the same, whose only
row belongs to all.

Loops answer for their bodies, by a fixed point over the carry. A loop whose condition has a bool
for each row becomes a loop with one bool.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tapeless.compiler.rowaxes import UNUSED, Dim, Dims, MixedError, Row, row_aval, shifted
from tapeless.compiler.rowrules import row_of_operation
from tapeless.compiler.simplify import simplify
from tapeless.compiler.splicing import spliced
from tapeless.core.jaxpr import Atom, DebugInfo, Eqn, Jaxpr, Var
from tapeless.util.cache import weak_identity_cache
from tapeless.util.records import record
from tapeless.util.seqs import split_at

__all__ = ["RowProgram", "row_of_eqn", "row_program"]


@record
class RowProgram:
    """A program for one row, and per input of the batched program its axis of rows."""

    jaxpr: Jaxpr
    dims: Dims


def row_of_eqn(eqn: Eqn, dims: Dims) -> Row | None:
    """Return what an equation does for one row, given the axes of rows of its results."""
    try:
        return _row(eqn, dims)
    except MixedError:
        return None


def row_program(jaxpr: Jaxpr, dims: Dims) -> RowProgram | None:
    """Return the program for one row, given the axes of rows of its results."""
    try:
        return _program(jaxpr, dims)
    except MixedError:
        return None


@weak_identity_cache
def _program(jaxpr: Jaxpr, dims: Dims) -> RowProgram:
    """Return the program for one row, or raise `MixedError`."""
    program = simplify(jaxpr)
    walk = _Walk()
    for atom, dim in zip(program.outvars, dims, strict=True):
        walk.want(atom, dim)
    rows: list[tuple[Eqn, Row]] = []
    for eqn in reversed(program.eqns):
        if eqn.effects:
            raise MixedError
        asked = tuple(walk.dims.get(var, UNUSED) for var in eqn.outvars)
        if all(dim == UNUSED for dim in asked):
            continue
        row = _row(eqn, asked)
        for atom, dim in zip(eqn.invars, row.operands, strict=True):
            walk.want(atom, dim)
        for var, dim in zip(eqn.outvars, row.results, strict=True):
            walk.dims.setdefault(var, dim)
        rows.append((eqn, row))
    if any(walk.dims.get(var) is not None for var in program.constvars if var in walk.dims):
        raise MixedError
    eqns = []
    for eqn, row in reversed(rows):
        invars = walk.all(row.kept(eqn.invars))
        outvars = walk.all(eqn.outvars)
        one = eqn.replace(invars=invars, outvars=outvars, params=row.params)
        eqns += [one] if row.program is None else spliced(row.program, one)
    made = Jaxpr(
        walk.all(program.constvars),
        walk.all(program.invars),
        walk.all(program.outvars),
        eqns,
        program.consts,
        DebugInfo(program.debug.function),
    )
    return RowProgram(made, tuple(walk.dims.get(var, UNUSED) for var in program.invars))


@dataclass(slots=True)
class _Walk:
    """The axes of rows that were asked for, and the variables of the row program."""

    dims: dict[Var, Dim] = field(default_factory=dict)
    rows: dict[Var, Var] = field(default_factory=dict)

    def want(
        self,
        atom: Atom,
        dim: Dim,
    ) -> None:
        """Ask for the rows of an atom along an axis; a value cannot be asked in two ways."""
        if dim == UNUSED:
            return
        if type(atom) is not Var:
            if dim is not None:
                raise MixedError
        elif self.dims.setdefault(atom, dim) != dim:
            raise MixedError

    def all(self, atoms: Sequence[Atom]) -> tuple:
        """Return what stands for atoms in the row program."""
        return tuple(map(self.row, atoms))

    def row(self, atom: Atom) -> Any:
        """Return what stands for an atom in the row program."""
        if type(atom) is not Var:
            return atom
        found = self.rows.get(atom)
        if found is None:
            found = self.rows[atom] = Var(row_aval(atom.aval, self.dims.get(atom)))
        return found


def _row(eqn: Eqn, dims: Dims) -> Row:
    """Return what an equation does for one row, or raise `MixedError`."""
    if eqn.effects:
        raise MixedError
    if all(dim is None or dim == UNUSED for dim in dims):
        return Row((None,) * len(eqn.invars), (None,) * len(dims), eqn.params)
    rule = _PROGRAMS.get(eqn.primitive.name, row_of_operation)
    return rule(eqn, dims)


# Operations that contain programs


def _body(
    jaxpr: Jaxpr,
    outs: list[Dim],
    carried: slice,
    first: int,
) -> tuple[RowProgram, Dims]:
    """Return a loop's body for one row and the axes of the carry: its own results' axes.

    carried: where the carry is among the inputs; first: where it begins among the results.
    """
    count = carried.stop - carried.start
    while True:
        found = _program(jaxpr, tuple(outs))
        carry = outs[first : first + count]
        for number, dim in enumerate(found.dims[carried]):
            if carry[number] == UNUSED:
                carry[number] = dim
            elif dim not in (UNUSED, carry[number]):
                raise MixedError
        if carry == outs[first : first + count]:
            if UNUSED in carry:
                raise MixedError
            return found, tuple(carry)
        outs[first : first + count] = carry


def _in_program(jaxpr: Jaxpr, found: RowProgram, dims: Dims) -> Jaxpr:
    """Return the row program with inputs of the types that rows of the operands have.

    Inputs that are `UNUSED` are left out.
    """
    invars = []
    for var, old, dim in zip(found.jaxpr.invars, jaxpr.invars, dims, strict=True):
        aval = row_aval(old.aval, dim)
        if dim != UNUSED:
            invars.append(var if var.aval is aval else Var(aval))
    return found.jaxpr.replace(invars=invars)


def _count(dims: Dims) -> int:
    """Return how many values are used."""
    return sum(dim != UNUSED for dim in dims)


def _scan(eqn: Eqn, dims: Dims) -> Row:
    """The carry keeps its axes; slices have them one axis earlier than the stacked arrays."""
    params = eqn.params
    n_consts, n_carry = params["num_consts"], params["num_carry"]
    carry, ys = split_at(dims, n_carry)
    if n_carry == 0 and all(dim in (0, UNUSED) for dim in ys):
        return _mapped(eqn, dims)
    if 0 in ys or UNUSED in ys:
        raise MixedError
    outs = [*carry, *shifted(ys, -1)]
    found, carry = _body(params["jaxpr"], outs, slice(n_consts, n_consts + n_carry), 0)
    consts, _, xs = split_at(found.dims, n_consts, n_carry)
    new: dict[str, Any] = {"num_consts": _count(tuple(consts))}
    new["jaxpr"] = _in_program(params["jaxpr"], found, (*consts, *carry, *xs))
    return Row((*consts, *carry, *shifted(xs, 1)), (*carry, *ys), {**params, **new})


def _mapped(eqn: Eqn, dims: Dims) -> Row:
    """A step without a carry is the program of a row."""
    body, n_consts = eqn.params["jaxpr"], eqn.params["num_consts"]
    if body.constvars or any(inner.effects for inner in body.eqns):
        raise MixedError
    operands = (None,) * n_consts + (0,) * (len(eqn.invars) - n_consts)
    return Row(operands, (0,) * len(dims), eqn.params, body)


def _while(eqn: Eqn, dims: Dims) -> Row:
    """All carries have their rows in front if the condition has; else the rows share it."""
    params = eqn.params
    n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
    cond, body = params["cond_jaxpr"], params["body_jaxpr"]
    by_row = bool(cond.out_avals[0].shape)
    if by_row and any(dim not in (0, UNUSED) for dim in dims):
        raise MixedError
    asks = _program(cond, (0 if by_row else None,))
    # What only the condition reads, such as a counter, is as the condition wants it.
    wanted = zip(dims, asks.dims[n_cond:], strict=True)
    outs = [0 if by_row else asked if dim == UNUSED else dim for dim, asked in wanted]
    found, carry = _body(body, outs, slice(n_body, n_body + len(dims)), 0)
    for dim, asked in zip(carry, asks.dims[n_cond:], strict=True):
        if asked not in (UNUSED, dim):
            raise MixedError
    of_cond, of_body = asks.dims[:n_cond], found.dims[:n_body]
    new: dict[str, Any] = {"cond_nconsts": _count(of_cond), "body_nconsts": _count(of_body)}
    new["cond_jaxpr"] = _in_program(cond, asks, (*of_cond, *carry))
    new["body_jaxpr"] = _in_program(body, found, (*of_body, *carry))
    return Row((*of_cond, *of_body, *carry), carry, {**params, **new})


def _cond(eqn: Eqn, dims: Dims) -> Row:
    """All rows go into one branch."""
    branches = eqn.params["branches"]
    if UNUSED in dims:
        raise MixedError
    found = [_program(branch, dims) for branch in branches]
    operands: list[Dim] = []
    for asked in zip(*(program.dims for program in found), strict=True):
        wanted = {dim for dim in asked if dim != UNUSED}
        if len(wanted) > 1:
            raise MixedError
        operands.append(wanted.pop() if wanted else UNUSED)
    inside = tuple(operands)
    rows = []
    for branch, program in zip(branches, found, strict=True):
        rows.append(_in_program(branch, program, inside))
    return Row((None, *inside), dims, {**eqn.params, "branches": tuple(rows)})


_PROGRAMS: dict[str, Callable[[Eqn, Dims], Row]] = {"scan": _scan, "while": _while, "cond": _cond}
