"""The builder that `lower` rules write kernels with.

A rule receives `b`, a `KernelBuilder`, and kernel values; it returns kernel values. It may
describe a result as a function of the index (`b.virtual`), which costs nothing until a consumer
pulls it, or write statements (`b.store` in `b.loop`s, `b.call`) into buffers that it made
(`b.buffer`, `b.writable`).

Memory and time. Statements run in the order in which they are made. An element that was pulled is
an expression, evaluated by the statement that uses it: what must survive a later write to the
memory that it reads goes through `b.let`. Loads of memory that a rule writes itself carry a
version (`after`), so that a load before a write and a load after it are different nodes.

Checks. `b.raise_unless(v)` lets the loop raise a flag that makes what is computed from v, and looks
at the flag when that loop has been written out; see `watch.py`.

Nests. `b.stored(v)` opens a loop nest over v's index space, or joins the open one when that has
the same shape; the nest is written out before anything that could observe the difference: another
statement, or a pull of a value in it at a foreign index. Small arrays (`LOCAL_SIZE`) are local:
their elements are stored one by one, at constant indices, and end up in registers; except those
that are much work, which are made by nests as well (`small.py`).

A nest whose last axis is short (`SHORT_AXIS`) is written out along it (`small.py`), so that the
reductions for its elements share their expressions.

Subclasses (the compiler's) say what a nested program is (`inline`) and when memory may be
overwritten (`may_overwrite`), and which registers the processor has for matrices
(`has_matrix_registers`) and for strips (`registers`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tapeless.core.aval import ShapedArray
from tapeless.kernel.carry import Carries, update
from tapeless.kernel.folds import UNROLLED_FOLD
from tapeless.kernel.graph import replace, substitute
from tapeless.kernel.ir import (
    Affine,
    Block,
    Buffer,
    Call,
    Const,
    If,
    Index,
    Loop,
    Scalar,
    Statement,
    Store,
    While,
)
from tapeless.kernel.parts import Element, Pair, Parts, parts_of, storage
from tapeless.kernel.phases import by_phases, loops_around
from tapeless.kernel.pieces import Piece, pieces_of
from tapeless.kernel.rowwise import row_reductions
from tapeless.kernel.small import FEWEST_LANES, is_work_for_lanes, rows_are_lanes
from tapeless.kernel.strips import Registers
from tapeless.kernel.value import IndexLike, KernelValue, Nest, Pull
from tapeless.kernel.watch import Alarm, Watch, WatchNodes, has_axes_of

__all__ = ["LOCAL_SIZE", "SHORT_AXIS", "KernelBuilder", "KernelValue"]

LOCAL_SIZE = 16
SHORT_AXIS = 4
NEST_STORES = 8
_INT32 = np.dtype(np.int32)
_INT64 = np.dtype(np.int64)
_COUNT = ShapedArray((), _INT32)
_BOOL = np.dtype(np.bool_)
_FLAG = ShapedArray((), _BOOL)
_IDENTITY = {"add": 0, "mul": 1, "xor": 0}


class KernelBuilder(WatchNodes):
    """Makes scalars, kernel values and statements; see the module's docstring."""

    has_matrix_registers = False
    rows_choose = False  # then nests over short rows are left to `rowblocks.py`
    registers: Registers | None = None

    def __init__(self) -> None:
        """Start an empty program."""
        super().__init__()
        self.epoch = 0
        self._blocks: list[list[Statement]] = [[]]
        self._nest: Nest | None = None
        self._version: dict[Buffer, int] = {}
        self._scope_version = 0
        self._loops: list[object] = [None]
        self._home: dict[Buffer, object] = {}
        self._entering: list[Buffer] = []
        self.host_calls: dict[str, tuple[Callable, list[Buffer], list[Buffer]]] = {}
        self._afterwards: list[list[Callable[[Scalar], None]]] = []

    # Values

    def virtual(self, aval: ShapedArray, pull: Pull) -> KernelValue:
        """Make the value whose element at `index` is `pull(index)`."""
        return KernelValue(self, aval, pull=pull)

    def constant(self, value: Any, aval: ShapedArray) -> KernelValue:
        """Make the value that is the scalar `value` everywhere."""
        element = self.const(value, aval.dtype)
        return KernelValue(self, aval, pull=lambda index: element)

    def buffer(self, aval: ShapedArray, space: str = "") -> KernelValue:
        """Make fresh memory, of undefined contents, in `space`."""
        value = KernelValue(self, aval, buffer=self.new_buffer(aval, space))
        self._version[value.memory] = self.epoch
        return value

    def new_buffer(self, aval: ShapedArray, space: str = "") -> Buffer:
        """Make the buffer of an array; `space` is local or temp, by its size, unless given."""
        dtype, n_parts = storage(aval)
        shape = aval.shape if n_parts == 1 else (*aval.shape, n_parts)
        small = aval.size * n_parts <= LOCAL_SIZE
        space = space or ("local" if small else "temp")
        buffer = Buffer(shape, dtype, space, self.name(space[0]))
        self._home[buffer] = self._loops[-1]
        return buffer

    def stored(self, value: KernelValue) -> KernelValue:
        """Force a value into memory; return the value, which is stored from then on."""
        if value.buffer is None:
            space = "temp" if self.is_for_lanes(value) else ""
            self.store_in(value, self.new_buffer(value.aval, space))
        return value

    def is_for_lanes(self, value: KernelValue) -> bool:
        """Tell whether a small value that is virtual had better be made by a nest; see `small`."""
        if value.aval.size > LOCAL_SIZE or value.buffer is not None:
            return False
        row = next((extent for extent in reversed(value.shape) if extent > 1), 1)
        if row < FEWEST_LANES:
            return False
        index = self.fresh_index(value.shape, "i")[1]
        element = value.at(*index)
        variables = [i for i in index if isinstance(i, Index)]
        return isinstance(element, Scalar) and is_work_for_lanes(variables, element)

    def store_in(self, value: KernelValue, buffer: Buffer) -> None:
        """Store a virtual value in `buffer`, which nothing has read."""
        if value.aval.size == 0:
            value.store_in(buffer)
        elif buffer.space == "local" or not value.shape:
            self._store_elements(value, buffer, ())
            value.store_in(buffer)
        else:
            nest = self._join(value)
            flat = self.flat_index(nest.index, value.shape)
            self._add(nest, buffer, value.at(*nest.index), self.positions(flat, value.aval))
            value.store_in(buffer)

    def reshape(self, value: KernelValue, aval: ShapedArray) -> KernelValue:
        """View a value in another shape with the same elements in row-major order."""
        if value.buffer is not None:
            return KernelValue(self, aval, buffer=value.buffer)
        renumber = self.renumbering(value.shape, aval.shape)
        return self.virtual(aval, lambda index: value.at(*renumber(index)))

    def writable(self, value: KernelValue) -> KernelValue:
        """Return memory that starts with the elements of `value`: its own if it may be."""
        if value.buffer is not None and self.may_overwrite(value):
            self.flush()
            own = KernelValue(self, value.aval, buffer=value.buffer)
            self._changed(own.memory)
            value.overwritten()
            return own
        return self.copied(value)

    def row(self, value: KernelValue, i: IndexLike) -> KernelValue:
        """View the row `i`, along the first axis, of a value."""
        aval = value.aval.update(shape=value.shape[1:])
        return self.virtual(aval, lambda index: value.at(i, *index))

    def assign_row(self, target: KernelValue, i: IndexLike, value: KernelValue) -> None:
        """Store `value` as the row `i` of a writable value; the row is not written again.

        A virtual value is read there from then on, instead of being computed once more.
        """
        if value.aval.size <= LOCAL_SIZE and not self.is_for_lanes(value):
            self.stored(value)
            self.assign(target, value, (i,))
            return
        nest = self._join(value)
        flat = self.flat_index((i, *nest.index), target.shape)
        element = value.at(*nest.index)
        self._add(nest, target.memory, element, self.positions(flat, value.aval))
        self._changed(target.memory)

        def pull(index: tuple[IndexLike, ...]) -> Element:
            """Return what is being stored, or read the row."""
            if self._nest is nest and index == nest.index:
                return element
            return target.at(i, *index)

        if value.buffer is None:
            value.redirect(pull)

    def where_rows(self, flag: KernelValue, x: KernelValue, y: KernelValue) -> KernelValue:
        """Choose rows of x where `flag`, whose shape is a prefix of theirs, holds, else of y."""
        n_axes = len(flag.shape)

        def pull(index: tuple[IndexLike, ...]) -> Element:
            """Choose one element."""
            return self.select(flag.at(*index[:n_axes]), x.at(*index), y.at(*index))

        return self.virtual(x.aval, pull)

    def any_element(self, flag: KernelValue) -> Scalar:
        """Tell whether any element of a bool value holds."""
        return self.fold(flag.shape, lambda index: flag.at(*index), "or", False)

    # Values that loops carry

    def carries(self, init: Sequence[KernelValue]) -> Carries:
        """Make memory that the next loop carries, starting with the values `init`."""
        buffers = tuple(self.writable(value).memory for value in init)
        self._entering.extend(buffers)
        return Carries(tuple(value.aval for value in init), buffers)

    def read_carries(self, carries: Carries) -> list[KernelValue]:
        """Return the current values of the carries."""
        pairs = zip(carries.avals, carries.buffers, strict=True)
        return [KernelValue(self, aval, buffer=buffer) for aval, buffer in pairs]

    def update_carries(self, carries: Carries, new: Sequence[KernelValue]) -> None:
        """Replace all carries by their new values at once, at the end of an iteration."""
        update(self, carries, new)

    def may_overwrite(self, value: KernelValue) -> bool:
        """Tell whether a stored value's memory may be overwritten now."""
        return False

    def inline(self, jaxpr: Any, args: Sequence[KernelValue]) -> tuple[KernelValue, ...]:
        """Lower a nested program here; its constants are its leading inputs."""
        raise NotImplementedError("this builder cannot lower programs; the compiler's can")

    # Reading

    def read(self, value: KernelValue, index: tuple[IndexLike, ...]) -> Element:
        """Return an element of a stored value; rules call `value.at`."""
        buffer = value.memory
        nest = self._nest
        if nest is not None and buffer in nest.elements:
            if value.shape == nest.shape and index == nest.index:
                return nest.elements[buffer]
            self.flush()
        flat = self.flat_index(index, value.shape)
        version = self._version.get(buffer)
        after = 0 if version is None else max(version, self._scope_version)
        if len(buffer.shape) == len(value.shape) and storage(value.aval)[1] == 1:
            return self.load(buffer, flat, after=after)
        parts = [self.load(buffer, i, after=after) for i in self.positions(flat, value.aval)]
        if len(parts) == 1:
            return parts[0]
        return Pair(*parts) if value.dtype.kind == "c" else Parts(parts)

    # Statements

    def store(
        self,
        target: KernelValue,
        index: Sequence[IndexLike] | IndexLike,
        element: Any,
        guard: Scalar | None = None,
        accumulate: str | None = None,
    ) -> None:
        """Write an element of a writable value; where `guard` is false, do nothing."""
        if isinstance(guard, Const):
            if not guard.value:
                return
            guard = None
        place = tuple(index) if isinstance(index, Sequence) else (index,)
        if not isinstance(element, (Scalar, Parts)):
            element = self.const(element, target.dtype)
        flat = self.flat_index(place, target.shape)
        parts = parts_of(element)
        if len(parts) > 1 and accumulate not in (None, "add"):
            raise TypeError(f"cannot accumulate complex numbers with {accumulate}")
        self.flush()
        if len(parts) > 1:
            parts = tuple(self.let(part) for part in parts)
        flats = self.positions(flat, target.aval)
        for position, part in zip(flats, parts, strict=True):
            self._emit(Store(target.memory, position, part, guard, accumulate))
        self._changed(target.memory)

    def let(self, element: Element) -> Element:
        """Evaluate an element now; the result survives later writes to what it was computed of."""
        if isinstance(element, Parts):
            return (
                type(element)(*map(self.let, element))
                if isinstance(element, Pair)
                else Parts(map(self.let, element))
            )
        if isinstance(element, Const):
            return element
        buffer = Buffer((), element.dtype, "local", self.name("x"))
        flags = self.watched_by_reductions(element, (), ())
        self.end_nest()
        self._blocks[-1].extend((Store(buffer, self.affine(0), element), *flags))
        if flags or not self._watches:  # else checks go on waiting for a loop
            self.flush()
        self._version[buffer] = self.epoch
        return self.load(buffer, 0, after=max(self.epoch, self._scope_version))

    def copied(self, value: KernelValue) -> KernelValue:
        """Return a copy of a value in fresh memory, whose loop may raise flags of checks."""
        copy = self.buffer(value.aval)
        if value.aval.size:
            self.end_nest()
            self._store_elements(value, copy.memory, (), copy)
            self.flush()
        self._changed(copy.memory)
        return copy

    def assign(
        self, target: KernelValue, value: KernelValue, prefix: Sequence[IndexLike] = ()
    ) -> None:
        """Store all elements of `value` at the leading index `prefix` of `target`."""
        self.flush()
        if value.aval.size:
            if value.buffer is not None and value.buffer is target.buffer:
                value = self.copied(value)
            self._store_elements(value, target.memory, tuple(prefix), target)
            self.flush()
        self._changed(target.memory)

    def loop(
        self,
        extent: int | Scalar,
        body: Callable[[Index], None],
        independent: bool = True,
        reverse: bool = False,
    ) -> None:
        """Run `body(i)` for i below `extent`; in any order if the iterations are independent."""
        self.flush()
        if isinstance(extent, Const):
            extent = int(extent.value)
        var = self.index(self.name("i"), extent if isinstance(extent, int) else None)
        block = self._loop_block(lambda: body(var))
        self._emit(Loop(var, extent, block, independent, reverse))

    def nest(self, shape: Sequence[int], body: Callable[[tuple[IndexLike, ...]], None]) -> None:
        """Run `body(index)` for all indices below `shape`, in any order."""

        def level(index: tuple[IndexLike, ...]) -> None:
            """Open the loop over the next axis."""
            if len(index) == len(shape):
                body(index)
            elif shape[len(index)] == 1:
                level((*index, 0))
            else:
                self.loop(shape[len(index)], lambda i: level((*index, i)))

        level(())

    def when(self, condition: Scalar, body: Callable[[], None]) -> None:
        """Run `body` if the bool `condition` holds."""
        self.flush()
        block = self._block(body)
        self._emit(If(self.convert(condition, _INT32), ((), block)))

    def switch(self, which: Scalar, bodies: Sequence[Callable[[], None]]) -> None:
        """Run the body that the integer `which`, clamped, names."""
        self.flush()
        if which.dtype == np.bool_:
            which = self.convert(which, _INT32)
        clamped = self.max(self.min(which, len(bodies) - 1), 0)
        blocks = tuple(self._block(body) for body in bodies)
        self._emit(If(self.convert(clamped, _INT32), blocks))

    def while_loop(self, condition: Callable[[], Scalar], body: Callable[[], None]) -> None:
        """Run `body` as long as `condition()`, which may make statements, holds."""
        self.flush()
        results: list[Scalar] = []
        entering, self._entering = self._entering, []
        before = self._loop_block(lambda: results.append(condition()))
        self._entering = entering
        block = self._loop_block(body)
        self._emit(While(before, results[0], block))

    def call(
        self,
        symbol: str,
        args: Sequence[Any],
        reads: Sequence[KernelValue],
        writes: Sequence[KernelValue],
    ) -> None:
        """Call a foreign routine.

        args: kernel values (pointers), pairs of a value and an index (displaced pointers), scalars,
        and Python integers (int64).
        """
        for value in reads:
            self.stored(value)
        self.flush()
        operands = tuple(self._call_operand(arg) for arg in args)
        read = tuple(value.memory for value in reads)
        written = tuple(value.memory for value in writes)
        self._emit(Call(symbol, operands, read, written))
        for buffer in written:
            self._changed(buffer)

    def host_call(
        self, function: Callable, args: Sequence[KernelValue], outs: Sequence[ShapedArray]
    ) -> tuple[KernelValue, ...]:
        """Call a Python function of NumPy arrays, operands and results, that writes the results."""
        operands = [self.stored(arg) for arg in args]
        results = [self.buffer(aval) for aval in outs]
        return self._host_call(f"host:{len(self.host_calls)}", function, operands, results)

    def raise_unless(
        self, fine: KernelValue, function: Callable, args: Sequence[KernelValue]
    ) -> None:
        """Unless all elements of the bools `fine` hold, call a Python function that raises.

        function: takes NumPy arrays: the numbers of the iterations that are running, the outermost
        loop's first, and copies of `args`, which are made on the way to the error only.
        """
        if fine.aval.size == 0:
            return
        counts = list(self.iterations)
        if fine.aval.size == 1:
            wrong = self.not_(fine.at(*(0,) * len(fine.shape)))
            self._alarms.append(Alarm(lambda: wrong, function, args, counts))
            if len(self._alarms) == 1:
                self.flush()
            return
        nest = self._nest
        if nest is not None and has_axes_of(nest, fine):
            self.bool_at(nest, fine)
        else:
            self.end_nest()
        flag = self.buffer(_FLAG, "temp")
        # In front, so as not to part two nests over the same rows.
        self._blocks[-1].insert(0, Store(flag.memory, self.affine(0), self.const(False, _BOOL)))
        alarm = Alarm(flag.at, function, args, counts)
        self._watches.append(Watch(fine, flag, alarm))
        self._alarms.append(alarm)
        if nest is not None and self._nest is nest:
            self.watched_by(nest)

    def _raise_if_wrong(self, alarm: Alarm) -> None:
        """If the bool that an alarm looks at holds, call its function, which raises."""
        wrong = alarm.wrong()
        if isinstance(wrong, Const) and not wrong.value:
            return
        counts = [self.virtual(_COUNT, lambda index, count=count: count) for count in alarm.counts]

        def fail() -> None:
            """Copy, and call."""
            operands = [self.copied(arg) for arg in counts]
            for arg in alarm.args:
                given = arg.is_stored and arg.memory.space == "input"
                operands.append(arg if given else self.copied(arg))
            self._host_call(f"fault:{len(self.host_calls)}", alarm.function, operands, [])

        self.when(wrong, fail)

    def before_loop(self, statements: Sequence[Statement]) -> None:
        """Put statements in front of the loop around."""
        self._blocks[-2].extend(statements)

    def after_loop(self, write: Callable[[Scalar], None]) -> None:
        """Write more statements behind the numbered loop around, by its number of iterations."""
        self._afterwards[-1].append(write)

    @contextmanager
    def numbered_loop(self, count: Callable[[], Scalar]) -> Generator[None, None, None]:
        """Around a loop that numbers its iterations; `count()` is how many have run, after it."""
        self._afterwards.append([])
        yield
        afterwards = self._afterwards.pop()
        for write in afterwards:
            write(count())

    def _host_call(
        self,
        symbol: str,
        function: Callable,
        operands: Sequence[KernelValue],
        results: Sequence[KernelValue],
    ) -> tuple[KernelValue, ...]:
        """Call a Python function on memory."""
        buffers_in = [operand.memory for operand in operands]
        buffers_out = [result.memory for result in results]
        self.host_calls[symbol] = (function, buffers_in, buffers_out)
        self.call(symbol, [*operands, *results], operands, results)
        return tuple(results)

    def open_nest(self, shape: tuple[int, ...]) -> Nest:
        """Make a nest that nobody else may join."""
        return Nest(shape, self.fresh_index(shape, "i")[1])

    def close_nest(self, nest: Nest) -> None:
        """Write out a nest made by `open_nest`."""
        self.flush()
        self._blocks[-1].extend(self._nest_statements(nest))
        for buffer in nest.elements:
            self._changed(buffer)
        self._alarms.extend(nest.alarms)

    def flush(self) -> None:
        """Write out the open nest, the loops of checks that have none, and what looks at flags."""
        nest, self._nest = self._nest, None
        if nest is not None and nest.stores:
            self._blocks[-1].extend(self._nest_statements(nest))
        while self._watches:
            own = self.open_nest(self._watches[0].fine.shape)
            self.watched_by(own)
            self._blocks[-1].extend(self._nest_statements(own))
        alarms, self._alarms = self._alarms, []
        for alarm in alarms:
            self._raise_if_wrong(alarm)

    def end_nest(self) -> None:
        """Write out the open nest if there is one; checks that have no loop go on waiting."""
        if self._nest is not None:
            self.flush()

    def finish(self) -> Block:
        """Return the statements of the whole program."""
        self.flush()
        return tuple(self._blocks[0])

    # Private parts

    def _emit(self, statement: Statement) -> None:
        """Append a statement to the current block."""
        self.flush()
        self._blocks[-1].append(statement)

    def _block(self, body: Callable[[], None]) -> Block:
        """Collect the statements that `body` makes."""
        self._blocks.append([])
        self._enter_scope()
        try:
            body()
            self.flush()
        finally:
            statements = self._blocks.pop()
            self._enter_scope()
        return tuple(statements)

    def _loop_block(self, body: Callable[[], None]) -> Block:
        """Collect the statements of a loop's body, which owns the carries of the loop."""
        outer, loop = self._loops[-1], object()
        carried, self._entering = self._entering, []
        self._loops.append(loop)
        self._home.update((buffer, loop) for buffer in carried)
        try:
            return self._block(body)
        finally:
            self._loops.pop()
            self._home.update((buffer, outer) for buffer in carried)

    def _enter_scope(self) -> None:
        """Make loads of memory that changes different on the two sides of a block's edge."""
        self.epoch += 1
        self._scope_version = self.epoch

    def _changed(self, buffer: Buffer) -> None:
        """Note that memory has been written."""
        self.epoch += 1
        self._version[buffer] = self.epoch

    def positions(self, flat: Affine, aval: ShapedArray) -> list[Affine]:
        """Return the places in memory of the parts of the element at `flat`."""
        n_parts = storage(aval)[1]
        if n_parts == 1:
            return [flat]
        start = self.index_mul(flat, n_parts)
        return [self.index_add(start, part) for part in range(n_parts)]

    def _join(self, value: KernelValue) -> Nest:
        """Return the open nest if `value` may be stored by it, else a new one, open from now on."""
        nest = self._nest
        if nest is None or nest.shape != value.shape or len(nest.stores) >= NEST_STORES:
            self.end_nest()
            nest = self.open_nest(value.shape)
        value.at(*nest.index)
        if nest.stores and self._nest is not nest:
            # The pull has closed the nest: the value needs the nest's results elsewhere.
            nest = self.open_nest(value.shape)
            value.at(*nest.index)
        if self._nest is not nest:
            self.end_nest()
        self._nest = nest
        self.watched_by(nest)
        return nest

    def _add(
        self, nest: Nest, buffer: Buffer, element: Element, positions: Sequence[Affine]
    ) -> None:
        """Let a nest store an element, and the flags of checks that its reductions raise."""
        nest.add(buffer, element, positions)
        nest.stores.extend(self.watched_by_reductions(element, nest.index, nest.shape))

    def _store_elements(
        self,
        value: KernelValue,
        buffer: Buffer,
        prefix: tuple[IndexLike, ...],
        target: KernelValue | None = None,
    ) -> None:
        """Store all elements of a value: one by one if they are few, else by a nest of its own.

        A copy of what a nest has made is made by a nest, one of registers is not.
        """
        shape = value.shape if target is None else target.shape
        source = "" if value.buffer is None else value.buffer.space
        spaces = {buffer.space, source} if source != "temp" else {source}
        small = not value.shape or "local" in spaces
        if small:
            for position in np.ndindex(*value.shape):
                flat = self.flat_index((*prefix, *position), shape)
                flats = self.positions(flat, value.aval)
                element = value.at(*position)
                flags = self.watched_by_reductions(element, (), ())
                for i, part in zip(flats, parts_of(element), strict=True):
                    self._blocks[-1].append(Store(buffer, i, part))
                self._blocks[-1].extend(flags)
            return
        nest = self.open_nest(value.shape)
        element = value.at(*nest.index)
        flat = self.flat_index((*prefix, *nest.index), shape)
        self.end_nest()
        self._add(nest, buffer, element, self.positions(flat, value.aval))
        self._nest = nest
        self.watched_by(nest)

    def _nest_statements(self, nest: Nest) -> list[Statement]:
        """Make the loops of a nest, piece by piece."""
        sizes = [extent for extent in nest.shape if extent != 1]
        nothing = self.const(True, _BOOL)
        roots = [
            part
            for store in nest.stores
            for part in (store.index, store.value, store.guard or nothing)
        ]
        targets = [store.buffer for store in nest.stores]
        return [
            statement
            for piece in pieces_of(self, nest.variables, sizes, roots)
            for statement in self._piece_statements(piece, targets)
        ]

    def _piece_statements(self, piece: Piece, targets: list[Buffer]) -> list[Statement]:
        """Make the loops of a piece of a nest, as few as the indices allow."""
        roots, variables, sizes = self.collapsed(
            *piece, lambda n, size: self.index(self.name("i"), size)
        )
        if len(sizes) > 1 and sizes[-1] <= SHORT_AXIS and not self.rows_choose:
            copies = [
                substitute(self, roots, {variables[-1]: self.affine(position)})
                for position in range(sizes[-1])
            ]
            if rows_are_lanes(variables[-1], sizes[-2], roots, copies):
                variables, sizes = variables[:-1], sizes[:-1]
                targets = targets * len(copies)
                roots = tuple(root for copy in copies for root in copy)
        first: list[Statement] = []
        if math.prod(sizes) > UNROLLED_FOLD:
            first, roots = self._reduced_first(variables, sizes, roots)
        before = loops_around(variables, sizes, first)
        return [*before, *by_phases(self, variables, sizes, targets, roots)]

    def _reduced_first(
        self, variables: Sequence[Index], sizes: Sequence[int], roots: Sequence[Scalar]
    ) -> tuple[list[Statement], Sequence[Scalar]]:
        """Store row reductions that are transformed; return the stores, and what reads them."""
        found = row_reductions(variables, roots)
        if not found:
            return [], roots
        flat = self.flat_index(variables, sizes)
        stores: list[Statement] = []
        loads: dict[int, Scalar] = {}
        for reduction in found:
            aval = ShapedArray(tuple(sizes), reduction.dtype)
            buffer = self.new_buffer(aval)
            stores.append(Store(buffer, flat, reduction))
            loads[id(reduction)] = self.load(buffer, flat)
        return stores, replace(self, roots, loads)

    def _call_operand(self, arg: Any) -> Any:
        """Turn an argument of `call` into one of the statement."""
        if isinstance(arg, KernelValue):
            return self.stored(arg).buffer
        if isinstance(arg, tuple):
            value, index = arg
            flat = self.flat_index(index, value.shape) if isinstance(index, tuple) else index
            return value.buffer, self.positions(self.affine(flat), value.aval)[0]
        return self.const(arg, _INT64) if isinstance(arg, int) else arg
