"""Unrolled programs are rolled up again: long runs of equations that repeat become loops.

    b = sin a; c = add b 1.0              c, ys = scan(body, a, xs)     xs = [1.0, 2.0, ...]
    d = sin c; e = add d 2.0      ->
    ...                                   body(c, x) = add (sin c) x

Time to compile grows with the text of a program, and a thousand steps of one form are one step and
a number. The values are the same, of the same operations in the same order. What a run leaves for
others is stacked, as the way back of a gradient wants it: that is a run itself, which reads the
rows from the last to the first. A value that only one equation wants is cut out of the stack.

Arrays are small here (`repeats.py`): steps over large ones are better fused, step into step, so
that each element goes through all of them before it is stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tapeless.compiler.repeats import FEWEST_EQUATIONS, Run, Slot, Stack, runs_of, with_roles
from tapeless.compiler.splicing import spliced
from tapeless.control.scan import scan_p
from tapeless.core.effects import NO_EFFECTS
from tapeless.core.jaxpr import Atom, Eqn, Jaxpr, Var
from tapeless.core.primitive import Primitive
from tapeless.prims.slice import slice_p
from tapeless.prims.structural import squeeze_p

__all__ = ["rolled"]

_MOST_SINGLES = 8  # values of a run that are wanted one by one
_LONG_CALL = 32  # equations of a called program that are looked into


def rolled(jaxpr: Jaxpr, vector_bytes: int) -> Jaxpr:
    """Return the program with loops in the place of its long runs.

    vector_bytes: of a vector register.
    """
    if _length(jaxpr) < FEWEST_EQUATIONS:
        return jaxpr
    eqns, consts = _written_out(jaxpr)
    places = _places(eqns)
    runs = runs_of(eqns, vector_bytes)
    while runs:
        runs = with_roles(runs, eqns, places)
        _note_uses(runs, eqns, places, jaxpr.outvars)
        fine = [run for run in runs if len(run.singles) <= _MOST_SINGLES]
        if len(fine) == len(runs):
            break
        runs = fine
    if not runs:
        return jaxpr
    made = _Writer(eqns, consts).program(runs)
    return jaxpr.replace(constvars=tuple(consts), consts=tuple(consts.values()), eqns=made)


def _places(eqns: Sequence[Eqn]) -> dict[Atom, Slot]:
    """Return for each variable which equation makes it, and as which result."""
    found: dict[Atom, Slot] = {}
    for number, eqn in enumerate(eqns):
        for k, var in enumerate(eqn.outvars):
            found[var] = (number, k)
    return found


def _written_out(jaxpr: Jaxpr) -> tuple[list[Eqn], dict[Var, object]]:
    """Return the equations, those of long called programs in their places, and all constants."""
    consts: dict[Var, object] = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    found: list[Eqn] = []
    stack = list(reversed(jaxpr.eqns))
    while stack:
        eqn = stack.pop()
        program = _called(eqn)
        if program is not None and _length(program) >= _LONG_CALL:
            consts.update(zip(program.constvars, program.consts, strict=True))
            stack.extend(reversed(spliced(program, eqn)))
        else:
            found.append(eqn)
    return found, consts


def _called(eqn: Eqn) -> Jaxpr | None:
    """Return the program of a call that is nothing else; None of other equations."""
    program = eqn.params.get("jaxpr")
    is_call = getattr(eqn.primitive, "inline_program", False)
    return program if is_call and isinstance(program, Jaxpr) else None


def _length(program: Jaxpr) -> int:
    """Count the equations of a program and of those that it calls."""
    called = [inner for inner in map(_called, program.eqns) if inner is not None]
    return len(program.eqns) + sum(map(_length, called))


def _note_uses(
    runs: Sequence[Run], eqns: Sequence[Eqn], places: dict[Atom, Slot], results: Sequence[Atom]
) -> None:
    """Note which values of runs are wanted outside of them: all, the last one, or single ones."""
    for atom in _wanted_outside(runs, eqns, results):
        if type(atom) is not Var or atom not in places:
            continue
        place = places[atom]
        for run in runs:
            if not run.start <= place[0] < run.end:
                continue
            step, slot = run.step_of(place)
            is_carried = any(slot == carried for carried, _ in run.carries)
            if step < run.steps - 1 or not is_carried:
                _output(run, slot, atom)
                run.singles[atom] = (slot, run.row_of(step))
    for run in runs:
        for stack in run.rows:
            if stack.run is not None:
                place = stack.run.start + stack.slot[0]
                _output(stack.run, stack.slot, eqns[place].outvars[stack.slot[1]])


def _output(run: Run, slot: Slot, var: Var) -> None:
    """Let a run have an output."""
    if slot not in run.outputs:
        run.outputs[slot] = Var(var.aval.update(shape=(run.steps, *var.aval.shape)))


def _wanted_outside(
    runs: Sequence[Run], eqns: Sequence[Eqn], results: Sequence[Atom]
) -> Iterator[Atom]:
    """Yield what is read outside of runs, or by all steps of one, or by its first step."""
    done = 0
    for run in (*runs, None):
        for eqn in eqns[done : run.start if run else len(eqns)]:
            yield from eqn.invars
        if run:
            yield from run.consts
            yield from (first for _, first in run.carries)
            done = run.end
    yield from results


class _Writer:
    """Writes a program with loops."""

    def __init__(self, eqns: Sequence[Eqn], consts: dict[Var, object]) -> None:
        """consts: the values of the constants, which become more."""
        self.eqns = eqns
        self.consts = consts
        self.source = eqns[0].source
        self.made: list[Eqn] = []

    def program(self, runs: Sequence[Run]) -> list[Eqn]:
        """Write all equations."""
        done = 0
        for run in runs:
            self.made += self.eqns[done : run.start]
            self._loop(run)
            done = run.end
        return self.made + list(self.eqns[done:])

    def _loop(self, run: Run) -> None:
        """Write the loop of a run, and cut single values out of what it has stacked."""
        self.source = self.eqns[run.start].source
        xs = [self._stacked(run, stack) for stack in run.rows]
        body, finals = self._body(run)
        params = {
            "jaxpr": body,
            "length": run.steps,
            "reverse": run.reverse,
            "unroll": 1,
            "num_consts": len(run.consts),
            "num_carry": len(run.carries),
        }
        init = [first for _, first in run.carries]
        invars = (*run.consts, *init, *xs)
        outvars = (*finals, *run.outputs.values())
        self._add(scan_p, invars, outvars, params)
        for var, (slot, row) in run.singles.items():
            line = self._sliced(run.outputs[slot], row, 1)
            self._add(squeeze_p, (line,), (var,), {"dimensions": (0,)})

    def _stacked(self, run: Run, stack: Stack) -> Var:
        """Return the array whose rows the steps read."""
        owner = stack.run
        if owner is None:
            var = Var(stack.aval.update(shape=(run.steps,)))
            self.consts[var] = np.frombuffer(stack.literals, stack.aval.dtype)
            return var
        whole = owner.outputs[stack.slot]
        first = min(stack.first, stack.first + stack.direction * (run.steps - 1))
        if first == 0 and run.steps == owner.steps:
            return whole
        return self._sliced(whole, first, run.steps)

    def _sliced(self, whole: Var, first: int, count: int) -> Var:
        """Return some rows of an array."""
        _, *row = whole.aval.shape
        params = {
            "start_indices": (first, *[0] * len(row)),
            "limit_indices": (first + count, *row),
            "strides": None,
        }
        var = Var(whole.aval.update(shape=(count, *row)))
        self._add(slice_p, (whole,), (var,), params)
        return var

    def _add(
        self,
        primitive: Primitive,
        invars: Sequence[Atom],
        outvars: Sequence[Var],
        params: Mapping[str, object],
    ) -> None:
        """Write an equation that stands where a run begins."""
        eqn = Eqn(primitive, invars, outvars, params, NO_EFFECTS, self.source)
        self.made.append(eqn)

    def _body(self, run: Run) -> tuple[Jaxpr, list[Var]]:
        """Return the program of one step, and the variables of the last values of the carries."""
        eqns = self.eqns[run.start : run.start + run.period]
        given: dict[object, Var] = {const: Var(const.aval) for const in run.consts}
        given.update((carry, Var(carry[1].aval)) for carry in run.carries)
        given.update((stack, Var(stack.aval)) for stack in run.rows)
        made: dict[object, Var] = {}
        inner = []
        for number, (eqn, roles) in enumerate(zip(eqns, run.roles, strict=True)):
            atoms = tuple([given.get(role) or made.get(role, role) for role in roles])
            outs = tuple([Var(var.aval) for var in eqn.outvars])
            for k, var in enumerate(outs):
                made[number, k] = var
            inner.append(eqn.replace(invars=atoms, outvars=outs))
        slots = (*[slot for slot, _ in run.carries], *run.outputs)
        body = Jaxpr((), tuple(given.values()), [made[slot] for slot in slots], inner)
        last = self.eqns[run.end - run.period : run.end]
        finals: dict[Var, None] = {}
        for slot, first in run.carries:
            var = last[slot[0]].outvars[slot[1]]
            finals[Var(first.aval) if var in finals else var] = None
        return body, list(finals)
