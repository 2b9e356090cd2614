"""Compiled programs as Python calls them: buffers in, native code, Arrays out.

An `Executable` belongs to one jaxpr.  It holds the native program, the captured arrays that are its
hidden leading inputs, and the types of its outputs.  A call allocates the outputs and the arena
from the pool, hands over one table of addresses and runs without the interpreter lock.

The arena is returned to the pool when the call ends, however it ends.
"""

from __future__ import annotations

import copy
import ctypes
import math
import operator
import time
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tapeless.core.aval import ShapedArray
from tapeless.core.forms import is_asked
from tapeless.core.jaxpr import Jaxpr
from tapeless.errors import JaxRuntimeError
from tapeless.prims.common import float0_zeros
from tapeless.runtime import callrecords, memory
from tapeless.runtime.array import Array, as_array
from tapeless.runtime.cache import log_compilation
from tapeless.runtime.callrecords import CallRecord, record_key
from tapeless.transforms.dce import dce_jaxpr
from tapeless.util import events, lazy
from tapeless.util.apart import apart
from tapeless.util.cache import clear_caches
from tapeless.util.depth import deeply
from tapeless.util.frames import warn

__all__ = ["Executable", "Template", "donations_read", "usable_donations", "watchers"]

buffers = lazy.load("tapeless.compiler.buffers")
cost = lazy.load("tapeless.compiler.cost")
engine = lazy.load("tapeless.compiler.engine")
linker = lazy.load("tapeless.compiler.linker")
lower = lazy.load("tapeless.compiler.lower")
origins = lazy.load("tapeless.compiler.origins")
ir = lazy.load("tapeless.kernel.ir")
kernel_pprint = lazy.load("tapeless.kernel.pprint")


_NO_MEMORY = -2  # the status by which the call stub says so
_SHORT = 30_000  # operations and bytes, up to which a program keeps the interpreter lock
_TINY = 8_000  # the same, below which better code would not be noticed
_TRANSCENDENTAL = 20
_LONG_CALL = (
    1e8  # n**3 for matrices of n**2 elements: from some milliseconds to a tenth of a second
)

# Those who want to see the calls that come through Python: the last one runs the executable.
watchers: list[Callable[[Executable, list[Array]], tuple[Any, ...]]] = []


class Executable:
    """A compiled jaxpr.

    consts: the captured arrays.  native: the machine code.  temp_bytes: the size of its arena.
    results: per result its place among consts, arguments and new blocks; -1 if it has no memory.
    is_long: whether it runs without the interpreter lock.  is_apart: whether it runs in a thread of
    its own, since a library may not come back for long.
    """

    def __init__(
        self,
        jaxpr: Jaxpr,
        donated: tuple[bool, ...] = (),
        effort: int | None = None,
        builder: Any = None,
        source: Callable[[], Jaxpr | None] | None = None,
        captured: list[Any] | None = None,
    ) -> None:
        """Compile `jaxpr`, or take what an earlier process made of the same program.

        donated: per argument, whether its memory may be overwritten; see `usable_donations`.
        effort: 0 to compile fast, 1 or 2 to run fast; None to judge by how much there is to do.
        builder: what lowers the program, if it is to record more than others do.
        source: returns the program, if somebody asks for its loops; it must not be held here when
        it is what this is remembered under, and is not unless this says so.
        captured: the values that a `Template` changes, in its order.
        """
        start = time.perf_counter()
        name = jaxpr.debug.function or "program"
        self.source = source or weakref.ref(jaxpr)
        self._donations = donated
        self._program: Any = None
        self.in_avals = jaxpr.in_avals
        self.out_avals = jaxpr.out_avals
        self.donated = tuple(i for i, flag in enumerate(donated) if flag)
        if linker.is_full():
            clear_caches()
        log_compilation(
            "Compiling jit(%s) with global shapes and types %s.", name, tuple(jaxpr.in_avals)
        )
        key, own = (builder is None and record_key(jaxpr, donated, effort)) or ("", [])
        captured = own if captured is None else captured
        if list(map(id, own)) != list(map(id, captured)):  # a program with checks has others
            key = ""
        if not (key and self._recall(key, name, captured)):
            found = deeply(self._compile, jaxpr, name, effort, builder, captured)
            if key and found is not None:
                callrecords.save(key, found)
        seconds = time.perf_counter() - start
        events.record_event_duration_secs(events.COMPILED, seconds, fun_name=name)
        log_compilation("Finished compilation of jit(%s) in %.9f sec", name, seconds)

    def _recall(self, key: str, name: str, captured: list) -> bool:
        """Take the code that an earlier process made; tell whether it is there."""
        found = callrecords.load(key)
        code = found and engine.link_parts(engine.Parts(*found.parts), {})
        if not code:
            return False
        self._set(found, engine.NativeProgram(code, name, found.arena_size), captured)
        return True

    def _compile(
        self, jaxpr: Jaxpr, name: str, effort: int | None, builder: Any, captured: list
    ) -> CallRecord | None:
        """Compile the program; return what a later process needs, if it can do with plain data."""
        if builder is None and (is_asked("kernels") or is_asked("buffers")):
            builder = origins.RecordingBuilder()
        program = lower.lower_jaxpr(jaxpr, donated=self._donations, name=name, builder=builder)
        work = _work(program)
        if effort is None:
            effort = 0 if work < _TINY else 1
        native = engine.compile_program(program, effort)
        numbers = {id(value): number for number, value in enumerate(captured)}
        places = tuple([numbers.get(id(value)) for value in program.consts])
        pairs = zip(places, program.consts, strict=True)
        parts = native.parts
        found = CallRecord(
            parts=(parts.key, parts.needs, parts.extras),
            places=places,
            made=tuple([value for place, value in pairs if place is None]),
            n_inputs=len(program.inputs),
            output_bytes=tuple([buffer.size * buffer.dtype.itemsize for buffer in program.outputs]),
            arena_size=program.arena_size,
            results=program.results,
            effort=effort,
            is_long=work > _SHORT,
            is_apart=_waits_for_libraries(program),
        )
        self._program = program
        self._set(found, native, captured)
        return None if program.symbols or program.kept else found

    def _set(self, found: CallRecord, native: Any, captured: list) -> None:
        """Become what calls the native program."""
        self.native = native
        self.effort = found.effort
        self.places = found.places
        made = iter(found.made)
        values = [next(made) if place is None else captured[place] for place in found.places]
        consts = list(map(as_array, values))
        self.consts: list[Array | None] = list(consts)
        self.const_addresses = [x.address for x in consts]
        self.results = found.results
        self.output_bytes = list(map(memory.check_size, found.output_bytes))
        self.temp_bytes = memory.check_size(found.arena_size)
        self.is_long = found.is_long
        self.is_apart = found.is_apart
        self._table_type = ctypes.c_void_p * (found.n_inputs + len(found.output_bytes))

    @property
    def program(self) -> Any:
        """The loops; they are made when they are asked for if the code is of an earlier process."""
        if self._program is None:
            jaxpr = self.source()
            if jaxpr is None:
                raise ReferenceError("the program of this executable has been freed")
            name = self.native.name
            found = lower.lower_jaxpr(jaxpr, donated=self._donations, name=name)
            self._program = replace(found, consts=())
        return self._program

    def with_consts(self, consts: Sequence[Array | None]) -> Executable:
        """Return the same code with other captured arrays; None for those that are to come."""
        other = copy.copy(self)
        other.consts = list(consts)
        other.const_addresses = [0 if x is None else x.address for x in consts]
        return other

    def forget_arrays(self) -> None:
        """Drop what holds captured arrays."""
        self.source = lambda: None
        if self._program is not None:
            self._program = replace(self._program, consts=())

    def __call__(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """Run on Arrays, or scalars and NumPy arrays of the right types; return the results."""
        arrays = [x if type(x) is Array else as_array(x) for x in args]
        if watchers:
            return watchers[-1](self, arrays)
        return self.run(arrays)

    def run(self, arrays: list[Array]) -> tuple[Any, ...]:
        """Run on Arrays; donated ones are gone afterwards."""
        if self.donated:
            return self._call_donated(arrays)
        return self._call(arrays)

    def _call_donated(self, arrays: list[Array]) -> tuple[Any, ...]:
        """Run, and delete the donated arguments; what others still look at is copied, and kept.

        A NumPy view of an argument keeps it valid; another Array over its memory does not.
        """
        seen: dict[int, int] = {}
        for number, x in enumerate(arrays):
            first = seen.setdefault(id(x), number)
            if first != number and (first in self.donated or number in self.donated):
                raise JaxRuntimeError(
                    "INVALID_ARGUMENT: Attempt to use a buffer that was previously donated in the "
                    f"same call to Execute() (flattened argument {number}, replica 0, partition 0, "
                    f"first use: {first}). Toy example for this bug: `f(donate(a), a)`."
                )
        given = [
            x.copied() if i in self.donated and x.is_shared() else x for i, x in enumerate(arrays)
        ]
        outs = self._call(given)
        for number in self.donated:
            if not arrays[number].is_viewed():
                arrays[number].delete()
        return outs

    def _call(self, arrays: list[Array]) -> tuple[Any, ...]:
        """Run on Arrays and return the results."""
        places = self.enter(arrays)
        return tuple(
            [self._result(places, *pair) for pair in zip(self.out_avals, self.results, strict=True)]
        )

    def enter(self, arrays: list[Array]) -> tuple[Any, ...]:
        """Run on Arrays; return what is at each place: captured arrays, arguments, new blocks."""
        held = [x.block for x in arrays]  # another thread may delete an argument
        blocks = [memory.allocate(n_bytes) for n_bytes in self.output_bytes]
        table = self._table_type(
            *self.const_addresses,
            *self._addresses(arrays, held),
            *[block.address for block in blocks],
        )
        arena = memory.allocate(self.temp_bytes) if self.temp_bytes else None
        try:
            self._enter(table, arena.address if arena else 0, (held, arrays, blocks, arena))
        except BaseException:
            for number in self.donated:  # the program may have written to it, and may go on
                arrays[number].delete()
            raise
        return (*self.consts, *arrays, *blocks)

    def _addresses(self, arrays: list[Array], held: list[Any]) -> list[int]:
        """Return where the arguments are.

        In the place of a deleted one that no result depends on there is any memory of its size,
        which joins what is held.
        """
        try:
            return [x.address for x in arrays]
        except RuntimeError:
            jaxpr = self.source()
        read = [True] * len(arrays) if jaxpr is None else inputs_read(jaxpr)
        found = []
        for x, is_read in zip(arrays, read, strict=True):
            if x.place is None and not is_read:
                held.append(memory.allocate(max(x.nbytes, 1)))
                found.append(held[-1].address)
            else:
                found.append(x.address)
        return found

    def _enter(self, table: ctypes.Array, arena: int, held: tuple) -> None:
        """Run; what is held lives for as long as that takes, whoever waits for it."""

        def run() -> tuple:
            """Run the native code."""
            self.native.enter(ctypes.addressof(table), arena)
            return held

        if self.is_apart:
            apart(run, self.native.leave)
        else:
            run()

    def _result(self, places: tuple, aval: ShapedArray, position: int) -> Any:
        """Return one result: a new block, an input that is passed on, or a float0 array."""
        if position < 0:
            return float0_zeros(aval.shape)
        place = places[position]
        if type(place) is Array:
            return Array(aval, place.block, place.place)
        return Array(aval, place, place.address)

    def failed(self, status: int) -> None:
        """Raise what ended a call early."""
        if status == _NO_MEMORY:
            raise MemoryError(f"out of memory: {self.temp_bytes} bytes of scratch memory")
        self.native.check(status)

    @property
    def alias_bytes(self) -> int:
        """The bytes of results that live in donated arguments."""
        return buffers.memory(self.program).alias

    @property
    def code_bytes(self) -> int:
        """The bytes of machine code; 0 where they are not known."""
        return self.native.code_bytes

    def costs(self) -> dict[str, float]:
        """Return the operations and bytes of the emitted loops."""
        return cost.costs(self.program)

    def listing(self) -> str:
        """Return the text of the program's loops."""
        return kernel_pprint.listing(self.program.body)


def inputs_read(jaxpr: Jaxpr) -> tuple[bool, ...]:
    """Return, per input of a program, whether a result or an effect depends on it."""
    return dce_jaxpr(jaxpr, (True,) * len(jaxpr.outvars), (False,) * len(jaxpr.invars))[1]


def donations_read(jaxpr: Jaxpr, donated: tuple[bool, ...], keep_unused: bool) -> tuple[bool, ...]:
    """Return which donated arguments are given away: not those that nothing depends on."""
    if keep_unused or not any(donated):
        return donated
    return tuple(map(operator.and_, donated, inputs_read(jaxpr)))


def usable_donations(jaxpr: Jaxpr, donated: tuple[bool, ...]) -> tuple[bool, ...]:
    """Return which donated arguments have a result of their type; warn of the others."""
    if not any(donated):
        return ()
    wanted = Counter((aval.shape, aval.dtype) for aval in jaxpr.out_avals)
    usable: list[bool] = []
    unused: list[str] = []
    for aval, flag in zip(jaxpr.in_avals, donated, strict=True):
        kind = (aval.shape, aval.dtype)
        usable.append(flag and wanted[kind] > 0)
        if usable[-1]:
            wanted[kind] -= 1
        elif flag:
            unused.append(aval.strong().str_short(False))
    if unused:
        warn(
            f"Some donated buffers were not usable: {', '.join(unused)}.\nA donated argument is "
            "usable if there is a result of its shape and dtype."
        )
    return tuple(usable)


class Template:
    """The code of programs that differ in their captured arrays only."""

    __slots__ = ("_bare",)

    def __init__(self, executable: Executable) -> None:
        """The captured arrays change; others, made by the compiler, are kept."""
        consts = zip(executable.places, executable.consts, strict=True)
        self._bare = executable.with_consts([x if place is None else None for place, x in consts])
        self._bare.forget_arrays()

    def filled(self, captured: Sequence[Any], source: Callable[[], Jaxpr | None]) -> Executable:
        """Return the executable for other captured arrays; source: returns its program."""
        consts = zip(self._bare.places, self._bare.consts, strict=True)
        arrays = [x if place is None else as_array(captured[place]) for place, x in consts]
        filled = self._bare.with_consts(arrays)
        filled.source = source
        return filled


def _work(program: Any) -> float:
    """Estimate the operations and bytes of a program; infinite if it may take any time."""
    if any(map(_is_open, program.body)):
        return math.inf
    found = cost.costs(program)
    return found["flops"] + found["bytes accessed"] + _TRANSCENDENTAL * found["transcendentals"]


def _waits_for_libraries(program: Any) -> bool:
    """Tell whether a program calls a library for long without a look at signals."""
    longest = 0.0
    stack: list[tuple[Any, dict]] = [(statement, {}) for statement in program.body]
    while stack:
        statement, extents = stack.pop()
        # In loops, signals are looked at between the calls.
        if isinstance(statement, ir.While):
            stack += [(inner, extents) for inner in (*statement.before, *statement.body)]
        elif isinstance(statement, ir.Loop):
            extent = statement.extent if isinstance(statement.extent, int) else 1
            inside = {**extents, statement.var: extent}
            stack += [(inner, inside) for inner in statement.body]
        elif isinstance(statement, ir.If):
            blocks = (inner for branch in statement.branches for inner in branch)
            stack += [(inner, extents) for inner in blocks]
        elif isinstance(statement, ir.Call) and _is_one_piece(statement.symbol):
            longest = max(longest, _written(statement, extents) ** 1.5)
    return longest > _LONG_CALL


def _written(call: ir.Call, extents: Mapping[ir.Index, int]) -> float:
    """Return how many elements a call writes at most.

    extents: of the loops around it; iterations that write at another place have a part each.
    """
    displaced = dict(arg for arg in call.args if isinstance(arg, tuple))
    most = 1.0
    for buffer in call.writes:
        place = displaced.get(buffer)
        free = () if place is None else place.free
        most = max(most, buffer.size / math.prod(extents.get(var, 1) for var in free))
    return most


def _is_one_piece(symbol: str) -> bool:
    """Tell whether a routine is not cut into pieces, as products are: factoring, and sorting."""
    return symbol.startswith(("lapack:", "sorters:")) or symbol.endswith("trsm")


def _is_open(statement: Any) -> bool:
    """Tell whether nothing is known of how long a statement takes."""
    if isinstance(statement, (ir.While, ir.Call)):
        return not (isinstance(statement, ir.Call) and statement.is_fault)
    if isinstance(statement, ir.Loop):
        return not isinstance(statement.extent, int) or any(map(_is_open, statement.body))
    if isinstance(statement, ir.If):
        return any(_is_open(inner) for branch in statement.branches for inner in branch)
    return False
