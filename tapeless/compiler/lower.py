"""Lowering: a jaxpr becomes one loop program.

The equations are lowered in order by the rules of their primitives, each to kernel values that
are virtual or stored as the plan (`fuse.py`) says. Nested programs are inlined where their
operation's rule asks for them.

The builder here adds to the kernel builder what needs a program: `inline`, the values that are
live, and hence `may_overwrite`: a value's memory may be overwritten when it was made in the loop
that runs now and nothing that is still live reads it. A virtual value reads the operands of the
equation that made it.

Arguments of the native function are the captured arrays of all programs, nested ones included, and
then the inputs.  An output that is an input, or another output, has no memory of its own; `results`
says where each result is found.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.compiler import buffers
from tapeless.compiler.choices import branch_on_choices
from tapeless.compiler.fuse import Plan, describe, plan_program
from tapeless.compiler.joined import joined_in_place
from tapeless.compiler.levels import in_blocks
from tapeless.compiler.program import Program
from tapeless.compiler.prune import prune
from tapeless.compiler.recent import keep_recent
from tapeless.compiler.reroll import reroll
from tapeless.compiler.rolling import rolled
from tapeless.compiler.rowblocks import choose_by_blocks, rows_choose
from tapeless.compiler.rowlocal import make_by_rows, shorten_rows
from tapeless.compiler.rows import fuse_rows, fuse_short_rows
from tapeless.compiler.settle import settle, settle_temporaries
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.forms import program_form, show
from tapeless.core.jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from tapeless.kernel.build import LOCAL_SIZE, SHORT_AXIS, KernelBuilder
from tapeless.kernel.carry import Carries
from tapeless.kernel.graph import loads_in
from tapeless.kernel.ir import Buffer, Scalar
from tapeless.kernel.parts import parts_of, storage
from tapeless.kernel.pprint import listing
from tapeless.kernel.small import FEWEST_LANES
from tapeless.kernel.value import IndexLike, KernelValue, Pull
from tapeless.kernel.watch import reads_from
from tapeless.prims.common import Elementwise
from tapeless.util import lazy

__all__ = ["ProgramBuilder", "lower_jaxpr"]

target = lazy.load("tapeless.compiler.target")  # with LLVM

SMALL_READER = 256  # elements; up to here a value is stored rather than an array copied


def lower_jaxpr(
    jaxpr: Jaxpr,
    *,
    donated: Sequence[bool] = (),
    name: str = "program",
    builder: ProgramBuilder | None = None,
) -> Program:
    """Return the loop program of a jaxpr.

    donated: per input, whether its memory may be overwritten; builder: one that records more.
    """
    b = ProgramBuilder() if builder is None else builder
    args = [b.argument(aval, flag) for aval, flag in _flagged(jaxpr.in_avals, donated)]
    arguments = tuple(arg.memory for arg in args)
    b.rows_choose = rows_choose(jaxpr)
    results = b.inline(rolled(jaxpr, b.vector_bytes), args, whole=True)
    outputs, places = b.outputs(results)
    inputs = (*b.const_buffers, *arguments)
    whole = joined_in_place(b, prune(b.finish(), outputs), outputs)
    rows = make_by_rows(b, fuse_rows(b, whole), outputs)
    rows = branch_on_choices(b, choose_by_blocks(b, rows, outputs))
    rows = prune(fuse_short_rows(b, rows), outputs)
    blocks = in_blocks(b, keep_recent(b, reroll(b, rows)), outputs)
    rows = shorten_rows(b, settle(b, blocks, outputs), outputs)
    body = settle_temporaries(b, rows, outputs)
    program = buffers.assemble(
        name,
        inputs,
        outputs,
        body,
        consts=tuple(b.consts),
        results=_positions(places, inputs, outputs),
        host_calls=b.host_calls,
    )
    show("kernels", name, lambda: listing(body, b.notes()))
    show("buffers", name, lambda: buffers.describe(program, b.notes()))
    return program


def _flagged(avals: Sequence[ShapedArray], donated: Sequence[bool]) -> list:
    """Pair each input's type with whether it is donated."""
    flags = tuple(donated) or (False,) * len(avals)
    return list(zip(avals, flags, strict=True))


def _positions(
    places: Sequence[Buffer | None], inputs: Sequence[Buffer], outputs: Sequence[Buffer]
) -> tuple[int, ...]:
    """Return where each result is found among the inputs and outputs; -1 if it has no memory."""
    numbers = {buffer: number for number, buffer in enumerate((*inputs, *outputs))}
    return tuple(-1 if place is None else numbers[place] for place in places)


class _Frame:
    """A program that is being lowered: the values of its live variables."""

    __slots__ = ("args", "live")

    def __init__(self) -> None:
        """Nothing is live yet."""
        self.live: dict[Var, KernelValue] = {}
        self.args: Sequence[KernelValue] = ()


class ProgramBuilder(KernelBuilder):
    """A kernel builder that lowers programs."""

    def __init__(self) -> None:
        """Start an empty program without arguments."""
        super().__init__()
        self.consts: list[Any] = []
        self.const_buffers: list[Buffer] = []
        self._const_values: dict[int, KernelValue] = {}
        self._frames: list[_Frame] = []
        self._donated: set[Buffer] = set()
        self.has_matrix_registers = target.host_target().matrices
        self.registers = target.host_target().registers
        self.vector_bytes = target.host_target().vector_bytes

    def notes(self) -> Mapping[Buffer, str]:
        """Return where buffers come from, in words; one that records no origins knows of none."""
        return {}

    def in_lanes(self, body: Jaxpr, init: Sequence[KernelValue]) -> list[KernelValue]:
        """Return the values that a loop starts with in memory that lanes read, if that is better.

        Small arrays are numbers in registers otherwise, one for each element. Lanes are better for
        operations on the elements of arrays of one shape, which fill vector registers.
        """
        shapes = {var.aval.shape for eqn in body.eqns for var in eqn.outvars if var.aval.shape}
        if len(shapes) != 1 or not all(isinstance(x.primitive, Elementwise) for x in body.eqns):
            return list(init)
        return [self._in_lanes(value) if self._fills_registers(value) else value for value in init]

    def _fills_registers(self, value: KernelValue) -> bool:
        """Tell whether a small array has no lanes left over."""
        n_bytes = value.aval.size * value.dtype.itemsize
        return FEWEST_LANES <= value.aval.size <= LOCAL_SIZE and n_bytes % self.vector_bytes == 0

    def _in_lanes(self, value: KernelValue) -> KernelValue:
        """Copy a value to memory."""
        copy = self.buffer(value.aval, "temp")
        self.assign(copy, value)
        return copy

    # Arguments and results

    def argument(self, aval: ShapedArray, donated: bool = False) -> KernelValue:
        """Add an input of the program."""
        value = KernelValue(self, aval, buffer=self.new_buffer(aval, "input"))
        if donated:
            self._donated.add(value.memory)
        return value

    def captured(self, value: Any) -> KernelValue:
        """Return the kernel value of a captured array."""
        found = self._const_values.get(id(value))
        if found is None:
            found = self._const_values[id(value)] = self.argument(typeof(value))
            self.consts.append(value)
            self.const_buffers.append(found.memory)
        return found

    def outputs(
        self, results: Sequence[KernelValue]
    ) -> tuple[tuple[Buffer, ...], list[Buffer | None]]:
        """Put the results where a caller finds them; return the output buffers, and the places."""
        places: list[Buffer | None] = []
        made: dict[Buffer, None] = {}
        for value in results:
            if value.dtype == dtypes.float0:
                places.append(None)
                continue
            if value.buffer is None or value.buffer.space == "local":
                target = KernelValue(self, value.aval, buffer=self.new_buffer(value.aval, "output"))
                self.assign(target, value)
                value = target
            buffer = value.memory
            if buffer.space != "input":
                made[buffer] = None
            places.append(buffer)
        return tuple(made), places

    # Programs

    def inline(
        self,
        jaxpr: Jaxpr,
        args: Sequence[KernelValue],
        whole: bool = False,
        demanded: bool = False,
    ) -> tuple[KernelValue, ...]:
        """Lower a program here and return its results; whole, demanded: see `plan_program`.

        What it stores of a virtual operand is its own: it may run in a branch, and others not.
        """
        args = [x if x.is_stored else self._view(x) for x in args]
        plan = plan_program(jaxpr, whole, demanded)
        name = jaxpr.debug.function
        show("simplify", name, program_form(plan.jaxpr))
        show("fuse", name, lambda: describe(plan))
        return self._planned(plan, args)

    def _view(self, value: KernelValue) -> KernelValue:
        """Return a virtual value that reads another one."""
        view = self.virtual(value.aval, lambda index: value.at(*index))
        view.sources = (value,)
        return view

    def expression(self, jaxpr: Jaxpr, args: Sequence[KernelValue]) -> tuple[KernelValue, ...]:
        """Lower a program of scalars, such as the function of a fold, with nothing in memory.

        The code of a fold is written when the loop around it is; a store would come too late.
        """
        plan = plan_program(jaxpr, False)
        return self._planned(replace(plan, stored=frozenset(), cuts=frozenset()), args)

    def _planned(self, plan: Plan, args: Sequence[KernelValue]) -> tuple[KernelValue, ...]:
        """Lower a program as planned."""
        program, frame = plan.jaxpr, _Frame()
        consts = [self.captured(value) for value in program.consts]
        frame.live.update(zip(program.constvars, consts, strict=True))
        frame.live.update(zip(program.invars, args, strict=True))
        self._frames.append(frame)
        try:
            for eqn, dying in zip(program.eqns, plan.dying, strict=True):
                self._equation(frame, plan, eqn, dying)
            return tuple(self._read(frame, atom) for atom in program.outvars)
        finally:
            self._frames.pop()

    def branches(
        self,
        which: Scalar,
        programs: Sequence[Jaxpr],
        operands: Sequence[KernelValue],
        avals: Sequence[ShapedArray],
    ) -> list[KernelValue]:
        """Lower the program that `which` picks; return the results, which have the types `avals`.

        A result that some branch takes over from an operand nobody needs any more lives in that
        operand's memory: such a branch does nothing, and another may change a few elements.
        """
        shared = self._taken_over(programs, operands, avals)
        results = [
            self.writable(operands[shared[k]]) if k in shared else self._result_of_branches(aval)
            for k, aval in enumerate(avals)
        ]
        inputs = list(operands)
        for k, j in shared.items():
            inputs[j] = results[k]

        def write(program: Jaxpr) -> None:
            """Lower one branch and store its results."""
            copies = [
                KernelValue(self, x.aval, buffer=x.buffer) if x in results else x for x in inputs
            ]
            values = self.inline(program, copies)
            for k, (result, value) in enumerate(zip(results, values, strict=True)):
                if k not in shared:
                    self.assign(result, value)
            types = tuple(avals[k] for k in shared)
            memory = tuple(results[k].memory for k in shared)
            self.update_carries(Carries(types, memory), [values[k] for k in shared])

        self.switch(which, [lambda program=program: write(program) for program in programs])
        return results

    def _result_of_branches(self, aval: ShapedArray) -> KernelValue:
        """Make memory that each branch writes: by a loop, if it has many elements."""
        return self.buffer(aval, "temp" if aval.size > SHORT_AXIS else "")

    def _taken_over(
        self,
        programs: Sequence[Jaxpr],
        operands: Sequence[KernelValue],
        avals: Sequence[ShapedArray],
    ) -> dict[int, int]:
        """Match results with the operands whose memory they may take: result to operand."""
        shared: dict[int, int] = {}
        for program in programs:
            numbers = {var: j for j, var in enumerate(program.invars)}
            for k, atom in enumerate(program.outvars):
                j = numbers.get(atom) if type(atom) is Var else None
                if j is None or k in shared or j in shared.values():
                    continue
                operand = operands[j]
                same = (operand.shape, operand.dtype) == (avals[k].shape, avals[k].dtype)
                if same and operand.is_stored and self.may_overwrite(operand):
                    shared[k] = j
        return shared

    def _read(self, frame: _Frame, atom: Atom) -> KernelValue:
        """Return the kernel value of an atom."""
        return _literal(self, atom) if type(atom) is Literal else frame.live[atom]

    def _equation(self, frame: _Frame, plan: Plan, eqn: Eqn, dying: Sequence[Var]) -> None:
        """Lower one equation."""
        args = [self._read(frame, atom) for atom in eqn.invars]
        frame.args = args
        for var in dying:
            frame.live.pop(var, None)
        avals = tuple(var.aval for var in eqn.outvars)
        results = eqn.primitive.lower(self, args, avals, **eqn.params)
        if results is NotImplemented:
            eqn.primitive.missing("lower", "compiling it")
        results = self._retyped(results, avals)
        ended = set(dying)
        for var, value in zip(eqn.outvars, results, strict=True):
            if var in ended:
                continue
            frame.live[var] = value
            if var in plan.stored:
                self._store(value, plan.reasons[var], "temp" if var in plan.wide else "")
            if var in plan.cuts:
                self.flush()
        frame.args = ()

    def _retyped(
        self, results: Sequence[KernelValue], avals: Sequence[ShapedArray]
    ) -> list[KernelValue]:
        """Check the results' shapes: an internal fault is best found here."""
        for value, aval in zip(results, avals, strict=True):
            if value.shape != aval.shape or value.dtype != aval.dtype:
                raise TypeError(
                    f"a rule gave {value.aval} where {aval} was due; this is a bug in tapeless"
                )
        return list(results)

    def _store(self, value: KernelValue, reason: str, space: str) -> None:
        """Store a virtual value in `space`, or in an output buffer if a caller gets it.

        A number that turns out to be known, or an index, stays in the text of what reads it.
        """
        if value.buffer is not None or value.dtype == dtypes.float0:
            return
        if reason != "result" and self._is_index(value):
            return
        if reason != "result":
            space = space or ("temp" if self.is_for_lanes(value) else "")
            self.store_in(value, self.new_buffer(value.aval, space))
        elif not self._store_in_donated(value):
            self.store_in(value, self.new_buffer(value.aval, "output"))

    def _is_index(self, value: KernelValue) -> bool:
        """Tell whether a value is a number that follows from the variables of loops alone."""
        if value.aval.size != 1:
            return False
        element = value.at(*(0,) * len(value.shape))
        return isinstance(element, Scalar) and self.index_of(element) is not None

    def _store_in_donated(self, value: KernelValue) -> bool:
        """Store a result in a donated input that is no longer needed, if there is one.

        The result may read that input, at its own position: `x + y` goes where x is.
        """
        wanted = self.new_buffer(value.aval, "output")
        if storage(value.aval)[1] > 1:
            return False
        for buffer in self._donated:
            if (buffer.shape, buffer.dtype) != (wanted.shape, wanted.dtype):
                continue
            if self._is_read_elsewhere(buffer, value):
                continue
            nest = self.open_nest(value.shape)
            element = value.at(*nest.index)
            positions = self.positions(self.flat_index(nest.index, value.shape), value.aval)
            loads = [load for load in loads_in(parts_of(element)) if load.buffer is buffer]
            if not all(load.index in positions for load in loads):
                continue
            self.flush()
            nest.add(buffer, element, positions)
            self.close_nest(nest)
            value.store_in(buffer)
            self._donated.discard(buffer)
            return True
        return False

    def _is_read_elsewhere(self, buffer: Buffer, value: KernelValue) -> bool:
        """Tell whether a live value other than `value` reads a buffer."""
        self._keep_from_checks(buffer)
        live = [x for frame in self._frames for x in frame.live.values() if x is not value]
        return reads_from(live, buffer)

    # Liveness

    def virtual(self, aval: ShapedArray, pull: Pull) -> KernelValue:
        """Make a virtual value that reads the operands of the current equation."""
        value = super().virtual(aval, pull)
        if self._frames:
            value.sources = self._frames[-1].args
        return value

    def keep(self, values: Sequence[KernelValue]) -> None:
        """Let nothing overwrite some values until the current equation is lowered."""
        frame = self._frames[-1]
        frame.args = (*frame.args, *values)

    def writable(self, value: KernelValue) -> KernelValue:
        """Return memory that starts with the elements of `value`; see the base class.

        Small values that are still to be read from it are stored first, so as not to keep it: in
        `x.at[i].set(f(x[i - 1]))` the number f(x[i - 1]) is computed before x is overwritten.
        """
        if value.buffer is not None and self._is_ours(value):
            readers = [x for x in self._others(value) if reads_from([x], value.buffer)]
            if all(_is_small(x, value) for x in readers):
                for x in readers:
                    self.stored(x)
        return super().writable(value)

    def may_overwrite(self, value: KernelValue) -> bool:
        """Tell whether nothing that is live reads the value's memory."""
        return self._is_ours(value) and not reads_from(self._others(value), value.memory)

    def _is_ours(self, value: KernelValue) -> bool:
        """Tell whether the value's memory was made here, in this loop, or is donated."""
        self._keep_from_checks(value.memory)
        buffer = value.memory
        if buffer.space in ("input", "output") and buffer not in self._donated:
            return False
        if self._home[buffer] is not self._loops[-1] or not self._frames:
            return False
        return sum(arg is value for arg in self._frames[-1].args) <= 1

    def _keep_from_checks(self, buffer: Buffer) -> None:
        """Let open checks look before a buffer is overwritten that their messages want."""
        if self.is_wanted_by_checks(buffer):
            self.flush()

    @contextmanager
    def loops_that_look(
        self, shape: Sequence[int], target: KernelValue
    ) -> Generator[Callable[[Sequence[IndexLike]], None], None, None]:
        """Let the loops of the block raise flags; see the base class."""
        watches = self.watches_over(shape)
        kept = target.buffer is None or not self.is_wanted_by_checks(target.buffer)
        if not watches or not kept:
            self.flush()
            yield lambda index: None
            return

        def look(index: Sequence[IndexLike]) -> None:
            """Store the flags."""
            for watch in watches:
                self._emit(self.look_at(watch, index, shape))

        alarms, self._alarms, self._watches = self._alarms, [], []
        yield look
        self._alarms = [*alarms, *self._alarms]

    def _others(self, value: KernelValue) -> list[KernelValue]:
        """Return the values that are live beside an operand of the equation that is lowered."""
        inner = self._frames[-1]
        found = [arg for arg in inner.args if arg is not value]
        for frame in self._frames:
            found.extend(frame.live.values())
            if frame is not inner:
                found.extend(frame.args)
        return found


def _is_small(reader: KernelValue, value: KernelValue) -> bool:
    """Tell whether a virtual value is better stored than `value`, which it reads, copied."""
    size, whole = reader.aval.size, value.aval.size
    return reader.buffer is None and (8 * size <= whole or size <= SMALL_READER < whole)


def _literal(b: KernelBuilder, atom: Literal) -> KernelValue:
    """Return the kernel value of a literal."""
    number = atom.val
    if not isinstance(number, (bool, int, float, complex)):
        if atom.aval.dtype == dtypes.float0:
            return b.captured(number)
        number = np.asarray(number, atom.aval.dtype)[()]
        number = number.item() if number.dtype.kind in "biufc" else float(number)
    return b.constant(number, atom.aval)
