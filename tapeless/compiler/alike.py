"""Nests of one form are compiled once: functions of a program, called with each nest's buffers.

    for i < n: b[i] = f(a[i], 1.0)                 nest0(a, b, 1.0)
    for i < n: c[i] = f(b[i], 2.0)      becomes    nest0(b, c, 2.0)
    for i < n: d[i] = f(c[i], 3.0)                 nest0(c, d, 3.0)

Layers, unrolled steps and long chains consist of the same nests again and again, and most of the
time to compile them is LLVM's.  The *form* of a nest is all that its text follows from, with
buffers, variables and nodes as numbers in the order in which they are met; nests of one form have
the same text but for the buffers, at which elements of them they start (a step of a sequence), and
floating constants.  Forms are looked for in the statements that a program consists of, where a call
costs nothing that can be noticed.

A nest is left alone if it has a form of its own, if it does more than to compute and store, or if
part of it is the same in all iterations: that is computed once for all nests of the program.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from tapeless.compiler.plan import buffers_of, local_buffers, writes
from tapeless.kernel.graph import walk
from tapeless.kernel.ir import (
    Affine,
    Block,
    Buffer,
    Const,
    Index,
    Load,
    Loop,
    Op,
    Reduce,
    Scalar,
    Statement,
    Store,
)
from tapeless.util.records import record

__all__ = ["Nest", "nests_alike"]

_FEWEST_NODES = 8  # of a nest that is worth a function
_STEPS = range(2, 5)  # between elements that are loaded together, so that it matters where they lie
_PHASES = 12  # of which all steps are divisors


@record
class Nest:
    """A call of a function for nests of one form.

    name: of the function; buffers: what it is called with; shifts: by how many elements they start
    later than in the nest for which it is written; constants: those that differ between the nests.
    """

    name: str
    buffers: tuple[Buffer, ...]
    shifts: tuple[int, ...]
    constants: tuple[Const, ...]


def nests_alike(
    body: Block, given: Collection[Buffer], left_out: Collection[Statement]
) -> Mapping[Statement, Nest]:
    """Return which statements of a program are calls of functions.

    given: the program's inputs and outputs; left_out: statements to leave alone.
    """
    found: dict[tuple, list[tuple[Loop, _Form]]] = {}
    users: Counter[Buffer] = Counter()
    for group in _of_one_outline(body, left_out):
        if not users:
            users.update(buffer for statement in body for buffer in buffers_of((statement,)))
        for loop in group:
            form = _Form(loop)
            if form.is_shareable:
                private = frozenset(
                    buffer
                    for buffer in writes((loop,))
                    if users[buffer] == 1 and buffer not in given
                )
                described = [
                    (buffer.shape, id(buffer.dtype), buffer in given, buffer in private)
                    for buffer in form.buffers
                ]
                found.setdefault((*described, *form.parts), []).append((loop, form))
    nests: dict[Statement, Nest] = {}
    several = [calls for calls in found.values() if len(calls) > 1]
    for number, calls in enumerate(several):
        nests |= _calls(f"nest{number}", calls)
    return nests


def _calls(name: str, calls: list[tuple[Loop, _Form]]) -> dict[Statement, Nest]:
    """Return the calls of one function, the first of which it is written for."""
    values = [[repr(constant.value) for constant in form.constants] for _, form in calls]
    differs = [len(set(column)) > 1 for column in zip(*values, strict=True)]
    pattern = calls[0][1].starts
    return {
        loop: Nest(
            name,
            tuple(form.buffers),
            tuple(
                [
                    form.starts[buffer] - pattern[first]
                    for buffer, first in zip(form.buffers, calls[0][1].buffers, strict=True)
                ]
            ),
            tuple(itertools.compress(form.constants, differs)),
        )
        for loop, form in calls
    }


def _of_one_outline(body: Block, left_out: Collection[Statement]) -> Iterable[list[Loop]]:
    """Return groups of loops that look alike at first sight, two at least in each."""
    outlines: dict[tuple, list[Loop]] = {}
    for statement in body:
        if isinstance(statement, Loop) and statement not in left_out:
            outlines.setdefault(_outline(statement), []).append(statement)
    return [loops for loops in outlines.values() if len(loops) > 1]


def _outline(statement: Statement) -> tuple:
    """Return a little of a form."""
    if isinstance(statement, Loop):
        extent = statement.extent if isinstance(statement.extent, int) else None
        return (extent, *map(_outline, statement.body))
    if isinstance(statement, Store):
        value = statement.value
        return (statement.buffer.shape, value.name if isinstance(value, Op) else type(value))
    return (type(statement),)


class _Form:
    """What the text of a nest follows from; `parts` are equal for nests of one form.

    buffers, constants: in the order in which they are met; starts: the element of each buffer from
    which others are counted.
    """

    def __init__(self, loop: Loop) -> None:
        """Look at a whole nest."""
        self.buffers: dict[Buffer, int] = {}
        self.starts: dict[Buffer, int] = {}
        self.constants: list[Const] = []
        self.parts: list[tuple] = []
        self.is_shareable = True
        self._numbers: dict[object, int] = {}
        roots: list[Scalar] = []
        statements = self._statements(loop, roots)
        for node in walk(roots):
            self._numbers[node] = len(self._numbers)
            self.parts.append(self._node(node))
        self.is_shareable &= len(self.parts) >= _FEWEST_NODES
        if self.is_shareable:
            self.is_shareable = not local_buffers((loop,))
            self.parts += map(self._statement, statements)

    def _statements(self, loop: Loop, roots: list[Scalar]) -> list[Statement]:
        """Return all statements in order, and add what they compute to the roots."""
        found: list[Statement] = []
        pending: list[Statement] = [loop]
        while pending:
            statement = pending.pop()
            found.append(statement)
            if isinstance(statement, Store):
                parts = (statement.index, statement.value, statement.guard)
                roots += [part for part in parts if part is not None]
            elif isinstance(statement, Loop) and isinstance(statement.extent, int):
                pending += reversed(statement.body)
            else:
                self.is_shareable = False
        return found

    def _number(self, thing: object) -> int:
        """Return the number of a node, variable or group."""
        return self._numbers.setdefault(thing, len(self._numbers))

    def _place(self, buffer: Buffer, index: Affine) -> tuple:
        """Return what the place of an element is, in a buffer that is numbered."""
        number = self.buffers.setdefault(buffer, len(self.buffers))
        start = self.starts.setdefault(buffer, index.const)
        phase = None
        if any(abs(step) in _STEPS for _, step in index.terms):
            phase = index.const % _PHASES
        return number, self._numbers[index], index.const - start, phase

    def _operand(self, node: Scalar) -> int | tuple[int, int]:
        """Return the number of a node whose value is needed."""
        number = self._numbers[node]
        return (number, node.const) if type(node) is Affine else number

    def _node(self, node: Scalar) -> tuple:
        """Return what a node is, its operands being numbered."""
        numbers = self._numbers
        if type(node) is Op:
            self.is_shareable &= bool(node.free)
            return (node.name, id(node.dtype), *map(self._operand, node.args))
        if type(node) is Affine:
            return (Affine, *[(self._operand(term), step) for term, step in node.terms])
        if type(node) is Load:
            guard = None if node.guard is None else numbers[node.guard]
            return (Load, *self._place(node.buffer, node.index), guard)
        if type(node) is Const and isinstance(node.value, float):
            self.constants.append(node)
            return (Const, id(node.dtype))
        if type(node) is Const:
            return (Const, id(node.dtype), type(node.value), repr(node.value))
        if type(node) is Index:
            return (Index,)
        if type(node) is not Reduce:
            self.is_shareable = False
            return ()
        self.is_shareable &= bool(node.free)
        combine = node.combine if isinstance(node.combine, str) else id(node.combine)
        folded = map(self._operand, (*node.elements, *node.inits))
        place = (self._number(node.var), node.extent, node.which, self._number(node.group))
        return (Reduce, id(node.dtype), combine, *place, *folded)

    def _statement(self, statement: Statement) -> tuple:
        """Return what a statement is."""
        if isinstance(statement, Store):
            guard = None if statement.guard is None else self._numbers[statement.guard]
            place = self._place(statement.buffer, statement.index)
            value = self._operand(statement.value)
            return (Store, *place, value, guard, statement.accumulate)
        assert isinstance(statement, Loop), "other statements are not shared"
        kind = (statement.independent, statement.reverse, len(statement.body))
        return (Loop, self._number(statement.var), statement.extent, *kind)
