"""Runs of equations that repeat: what a program does again and again, and how steps depend.

A loop that Python has run while a program was traced leaves its body as often as it has steps:

    b = sin a; c = add b 1.0;   d = sin c; e = add d 2.0;   f = sin e; g = add f 3.0; ...

A *run* is a stretch of equations in which each is of the form of the one `period` before it: the
same operation and parameters, the same types, literals at the same places. What an operand is
follows from all steps at once, its *column*:

    inner     made by the same equation of its own step
    carry     made by the same equation of the step before, and from outside for the first step
    const     the same from outside for all steps
    row       a literal, or a result of another run of which each step takes the next one, in one
              direction

A step whose operands are otherwise is uneven: it and what is before it, or behind it, are left
out of the run. `rolling.py` makes a loop of a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray
from tapeless.core.jaxpr import Atom, Eqn, Literal, Var
from tapeless.kernel.build import LOCAL_SIZE
from tapeless.util.records import record

__all__ = ["FEWEST_EQUATIONS", "Run", "Slot", "Stack", "runs_of", "with_roles"]

FEWEST_EQUATIONS = 128  # of a program
FEWEST_STEPS = 16
_FEWEST_IN_RUN = 48
_LONGEST_PERIOD = 128
_MOST_GUESSES = 8  # periods that are tried from one equation on
_MOST_TRIMS = 4
_MOST_BYTES = 1 << 15  # of an array: steps over large ones had better be one loop over elements

Slot = tuple[int, int]  # which equation of a step, and which of its results
_Places = Mapping[Atom, Slot]  # the same of a whole program


@record
class Stack:
    """What a run reads row by row: literals, or a result of the steps of another run.

    aval: of a row; literals: their bytes; first: the row of the first step; direction: 1 or -1,
    from each step to the next.
    """

    aval: ShapedArray
    literals: bytes
    run: Run | None
    slot: Slot
    first: int
    direction: int


@dataclass(eq=False, slots=True)
class Run:
    """A run, and the roles of its operands.

    roles: per equation of a step and operand, what it is in the body of a loop: a literal, the slot
    of an inner value, or a key of one of the tables. carries: of slots that the next step reads and
    what the first one reads instead. outputs: per slot that is read from outside, a variable for
    the values of all steps.
    """

    start: int
    period: int
    steps: int
    roles: list[list[object]] = field(default_factory=list)
    consts: dict[Atom, None] = field(default_factory=dict)
    carries: dict[tuple[Slot, Atom], None] = field(default_factory=dict)
    rows: dict[Stack, None] = field(default_factory=dict)
    outputs: dict[Slot, Var] = field(default_factory=dict)
    singles: dict[Var, tuple[Slot, int]] = field(default_factory=dict)

    @property
    def end(self) -> int:
        """The first equation behind the run."""
        return self.start + self.period * self.steps

    @property
    def is_long(self) -> bool:
        """Tell whether a loop pays."""
        return self.steps >= FEWEST_STEPS and self.period * self.steps >= _FEWEST_IN_RUN

    @property
    def reverse(self) -> bool:
        """Tell whether rows are read from the last to the first, and outputs written so."""
        return any(stack.direction < 0 for stack in self.rows)

    def step_of(self, place: Slot) -> tuple[int, Slot]:
        """Return the step and the slot of a result that the run makes."""
        step, number = divmod(place[0] - self.start, self.period)
        return step, (number, place[1])

    def row_of(self, step: int) -> int:
        """Return the row of an output that a step writes."""
        return self.steps - 1 - step if self.reverse else step

    def clear(self) -> None:
        """Forget the roles."""
        self.roles = []
        for table in (self.consts, self.carries, self.rows, self.outputs, self.singles):
            table.clear()

    def trim(self, step: int) -> None:
        """Leave out a step, and those before it or behind it, whichever are fewer."""
        if step < self.steps // 2:
            self.start += (step + 1) * self.period
            self.steps -= step + 1
        else:
            self.steps = step


class _UnevenError(Exception):
    """A step, the argument, is not as the others."""


def _form(eqn: Eqn, vector_bytes: int) -> object:
    """Return what equations of one form share; the equation itself if it is not to be in a run."""
    outs = tuple([var.aval for var in eqn.outvars])
    if eqn.effects or not all(_is_small(aval, vector_bytes) for aval in outs):
        return eqn
    literals = tuple([None if type(atom) is Var else atom.aval for atom in eqn.invars])
    form = (eqn.primitive, tuple(eqn.params.items()), outs, literals)
    try:
        hash(form)
    except TypeError:
        return eqn
    return form


def _is_small(aval: ShapedArray, vector_bytes: int) -> bool:
    """Tell whether arrays of a type may be made step by step without loss.

    Arrays that are smaller than registers are written out in loops, element by element.
    """
    if not isinstance(aval.dtype, np.dtype) or aval.dtype == dtypes.float0:
        return False
    n_bytes = aval.size * aval.dtype.itemsize
    if aval.size > LOCAL_SIZE:
        return n_bytes <= _MOST_BYTES
    return aval.size == 1 or n_bytes > 0 and n_bytes % vector_bytes == 0


def runs_of(eqns: Sequence[Eqn], vector_bytes: int) -> list[Run]:
    """Return the runs of a program that may become loops."""
    numbers: dict[object, int] = {}
    forms = [numbers.setdefault(_form(eqn, vector_bytes), len(numbers)) for eqn in eqns]
    following, last = [len(forms)] * len(forms), {}
    for position in reversed(range(len(forms))):
        following[position] = last.get(forms[position], len(forms))
        last[forms[position]] = position
    found: list[Run] = []
    position = 0
    reached: dict[int, int] = {}
    while position < len(forms):
        run = _run_at(position, forms, following, reached)
        if run is None:
            position += 1
        else:
            found.append(run)
            position = run.end
    return found


def _run_at(
    start: int, forms: Sequence[int], following: Sequence[int], reached: dict[int, int]
) -> Run | None:
    """Return the run that starts at an equation, if there is one.

    following: where each form is next; reached: per period, how far it is known to go.
    """
    other = start
    for _ in range(_MOST_GUESSES):
        other = following[other]
        period = other - start
        if other == len(forms) or period > _LONGEST_PERIOD:
            return None
        end = max(reached.get(period, start), start)
        while end + period < len(forms) and forms[end] == forms[end + period]:
            end += 1
        reached[period] = end
        run = Run(start, period, (end - start) // period + 1)
        if run.is_long:
            return run
    return None


def with_roles(runs: Sequence[Run], eqns: Sequence[Eqn], places: _Places) -> list[Run]:
    """Give runs their roles, and leave out those that are no loops."""
    kept: list[Run] = []
    for run in runs:
        for _ in range(_MOST_TRIMS):
            run.clear()
            if not run.is_long:
                break
            try:
                _Roles(run, eqns, places, kept).find()
            except _UnevenError as error:
                run.trim(error.args[0])
            else:
                kept.append(run)
                break
    return kept


class _Roles:
    """Finds the roles of one run."""

    def __init__(
        self, run: Run, eqns: Sequence[Eqn], places: _Places, others: Sequence[Run]
    ) -> None:
        """others: the runs before it."""
        self.run = run
        self.eqns = eqns
        self.places = places
        self.others = others

    def find(self) -> None:
        """Look at the columns of all operands."""
        run = self.run
        for number in range(run.period):
            steps = self.eqns[run.start + number : run.end : run.period]
            columns = zip(*[eqn.invars for eqn in steps], strict=True)
            run.roles.append([self._role(column) for column in columns])
        directions = {stack.direction for stack in run.rows if stack.run is not None}
        if len(directions) > 1:
            raise _UnevenError(run.steps // 2)
        if run.reverse:
            run.rows = {_reversed(stack, run.steps): None for stack in run.rows}
            self._renew_literals()

    def _renew_literals(self) -> None:
        """Let the roles of literals name the stacks that go the other way."""
        steps = self.run.steps
        for roles in self.run.roles:
            roles[:] = [_reversed(x, steps) if type(x) is Stack else x for x in roles]

    def _role(self, column: Sequence[Atom]) -> object:
        """Return the role of an operand."""
        typical = column[1]
        if type(typical) is Literal:
            return self._literal(column)
        place = self.places.get(typical)
        if place is None or place[0] < self.run.start:
            if all(atom is typical for atom in column):
                self.run.consts[typical] = None
                return typical
            return self._row(column)
        return self._inner(column, *self.run.step_of(place))

    def _literal(self, column: Sequence[Atom]) -> object:
        """Return the literal if it is the same in all steps, by its bits; else the stack."""
        aval = column[0].aval
        values = [atom.val for atom in column if type(atom) is Literal]
        elements = np.array(values, aval.dtype)
        data = elements.tobytes()
        if data == elements[:1].tobytes() * len(column):
            return column[0]
        return self._stack(Stack(aval, data, None, (0, 0), 0, 1))

    def _inner(self, column: Sequence[Atom], made_in: int, slot: Slot) -> object:
        """Return the slot of a value of the same step, or the carry from the step before."""
        run, places = self.run, self.places
        back = 1 - made_in
        for step in range(back, run.steps):
            number = run.start + (step - back) * run.period + slot[0]
            if places.get(column[step]) != (number, slot[1]):
                raise _UnevenError(step)
        if not back:
            return slot
        first = places.get(column[0], (-1, 0))
        if first[0] >= run.start or column[0].aval != column[1].aval:
            raise _UnevenError(0)
        run.carries[slot, column[0]] = None
        return (slot, column[0])

    def _row(self, column: Sequence[Atom]) -> Stack:
        """Return what lies in the outputs of another run, one row behind the other."""
        owner, slot, second = self._source(column[1], 1)
        direction = self._source(column[2], 2)[2] - second
        first = second - direction
        for step, atom in enumerate(column):
            if self._source(atom, step) != (owner, slot, first + direction * step):
                raise _UnevenError(step)
        if abs(direction) != 1:
            raise _UnevenError(1)
        return self._stack(Stack(column[1].aval, b"", owner, slot, first, direction))

    def _source(self, atom: Atom, step: int) -> tuple[Run, Slot, int]:
        """Return the run that makes an operand, as what, and the row of it."""
        place = self.places.get(atom)
        for other in self.others:
            if place is not None and other.start <= place[0] < other.end:
                made_in, slot = other.step_of(place)
                return other, slot, other.row_of(made_in)
        raise _UnevenError(step)

    def _stack(self, stack: Stack) -> Stack:
        """Note a stack."""
        self.run.rows[stack] = None
        return stack


def _reversed(stack: Stack, steps: int) -> Stack:
    """Return the literals in the opposite order; what another run makes is read as it is."""
    if stack.run is not None or stack.direction < 0:
        return stack
    elements = np.frombuffer(stack.literals, stack.aval.dtype)[::-1]
    return Stack(stack.aval, elements.tobytes(), None, (0, 0), steps - 1, -1)
