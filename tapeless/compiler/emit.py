"""Programs to LLVM text: statements, loops and the entry function.

A loop becomes lanes when it is innermost, independent and only stores: `plan.py` says over which
variable. Its extent then splits into whole vectors and a tail; the tail runs the same code under a
mask (constant, if the extent is), and a body that is expensive to compile is written once, with
a mask throughout. Loops with few iterations are unrolled, so that small local buffers are only
indexed by constants and become registers. Everything else is a plain loop.

The entry returns a status, 0 for success; what can end a program early (a host call that
failed, a pending signal) returns at once from the function it is in.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping

from tapeless.compiler import plan
from tapeless.compiler.alike import Nest, nests_alike
from tapeless.compiler.extras import extra_text
from tapeless.compiler.formats import constant, format_of
from tapeless.compiler.interrupts import (
    budget_left,
    call_python,
    emit_poll,
    leave_unless_zero,
    poll_now,
    raise_in_python,
    spend,
)
from tapeless.compiler.lanes import MOST_INTERLEAVED, add, interleaving, minimum, tail_mask
from tapeless.compiler.packing import LONGEST_RUN, leading_stores, pack_recipes
from tapeless.compiler.program import Program, Slices
from tapeless.compiler.recipes import call_recipe
from tapeless.compiler.reductions import emit_reduce
from tapeless.compiler.regions import Code, Counter, Function, Module, Region, Value
from tapeless.compiler.sections import sections_of
from tapeless.compiler.slices import chunk_length, private_buffers
from tapeless.compiler.target import Target
from tapeless.compiler.tasks import close_task, open_slice, open_task, taken_chunks
from tapeless.compiler.tiles import Tile, find_tile, open_rows, ordered_for_tiles
from tapeless.compiler.values import Values, raises_flag
from tapeless.kernel.ir import (
    Alloc,
    Block,
    Buffer,
    Call,
    If,
    Loop,
    Scalar,
    Statement,
    Store,
    While,
    ends_in_fault,
)
from tapeless.util.records import record

__all__ = ["Emitted", "emit_program"]

_BY_REFERENCE = ("blas:", "lapack:")  # Fortran passes scalars by their addresses.
_UNROLLED = 8
_UNROLLED_WEIGHT = 64
_WRITTEN_ONCE = 30
_SHORT_BODY = 8
_BLOCK_TILES, _STREAMED_TILES = 32, 64
_CACHED = 1 << 20  # bytes
_WORK_PER_BYTE = 6
_POLLED_COST = 1 << 17  # instructions; of less, tens of microseconds, the loops around it take care
_LONG_ITERATION = 1 << 7
_STRETCH = 128  # iterations of a long loop between looks at what is left of the budget
_POLLED_VECTOR_COST = 1 << 28


@record
class Emitted:
    """The LLVM text of a program, and the external symbols that it calls.

    extras: for those that are modules of ours, how to write them. cut: gives `text` as modules.
    rewards_effort: whether loops over registers or scalars for lanes await the optimiser.
    """

    text: str
    needs: tuple[str, ...]
    extras: Mapping[str, Callable[[], str]]
    cut: Callable[[int], list[str]]
    rewards_effort: bool = False


def emit_program(program: Program, target: Target) -> Emitted:
    """Give the LLVM text of a program; its entry function is called `entry`."""
    module = Module(target, "entry")
    emitter = _Emitter(module, program)
    sections = sections_of(program.body)
    if len(sections) == 1:
        _write_function(emitter, program, "entry", program.body)
    else:
        root = Region(None, Function(module), "function", Code("entry"))
        for number, body in enumerate(sections):
            _write_function(emitter, program, f"section{number}", body)
            call = f"call i32 @section{number}(ptr %buffers, ptr %arena)"
            leave_unless_zero(root, root.emit(call))
        _finish(root, "entry")
    needs = tuple(name for name in module.declared if not name.startswith("llvm."))
    return Emitted(module.text(), needs, module.extras, module.cut, module.rewards_effort)


def _write_function(emitter: _Emitter, program: Program, name: str, body: Block) -> None:
    """Write a function with the entry's parameters that runs a piece of the program."""
    root = Region(None, Function(emitter.module), "function", Code("entry"))
    used = emitter.addressed(body)
    for number, buffer in enumerate((*program.inputs, *program.outputs)):
        if buffer in used:
            place = root.emit(f"getelementptr ptr, ptr %buffers, i64 {number}")
            root.cache[buffer] = Value(root.emit(f"load ptr, ptr {place}, align 8"), 1, "ptr")
    for buffer, offset in program.temps:
        if buffer in used:
            place = root.emit(f"getelementptr i8, ptr %arena, i64 {offset}")
            root.cache[buffer] = Value(place, 1, "ptr")
    emitter.block(root, body)
    _finish(root, name)


def _finish(root: Region, name: str, parameters: str = "ptr %buffers, ptr %arena") -> None:
    """End a function, and put it into the module."""
    root.do("ret i32 0")
    function = root.function
    body = "\n".join(("entry:", *function.slots, *function.prologue, *root.code.lines))
    function.module.functions[name] = (f"i32 @{name}({parameters})", body)


def _within(region: Region, position: str, extent: int, size: int) -> str:
    """Return where a tile starts that would start at `position` if it ended in time."""
    return position if extent % size == 0 else minimum(region, position, str(extent - size))


class _Emitter:
    """Emits statements into regions."""

    def __init__(self, module: Module, program: Program) -> None:
        """Start with nothing computed of the program."""
        self.module = module
        self._body = program.body
        self._given = frozenset((*program.inputs, *program.outputs))
        self._slices = program.slices
        self._nests = nests_alike(program.body, self._given, program.slices)
        self._places = dict(program.temps)
        self._places.update({b: n for n, b in enumerate((*program.inputs, *program.outputs))})
        self._values = Values(emit_reduce, call_recipe)
        written = plan.writes(program.body)
        self._values.overwritten = frozenset(each for each in written if each.space == "input")
        self._costs = plan.Costs()
        self._is_shared = False  # what is being written, by nests whose buffers differ

    def addressed(self, body: Block) -> set[Buffer]:
        """Return the buffers whose addresses statements need that are not calls of functions."""
        return plan.buffers_of(tuple([s for s in body if s not in self._nests]))

    def block(self, region: Region, block: Block) -> None:
        """Emit statements in order."""
        position = packed = 0
        while position < len(block):
            if region.lanes == 1 and position >= packed:
                packed = position + self._pack(region, block[position : position + LONGEST_RUN])
            stores = self._interleaved(region, block[position : position + MOST_INTERLEAVED])
            raising = () if stores else _with_flag(region, block[position:])
            done = block[position : position + max(1, len(stores), len(raising))]
            if stores:
                self._values.store_interleaved(region, stores)
            elif raising:
                self._values.raise_flag(region, *raising)
            else:
                self._statement(region, done[0])
            position += len(done)
            region.forget(plan.writes(done))

    def _pack(self, region: Region, block: Block) -> int:
        """Compute recipes of the stores that come first together; return how many stores."""
        stores = leading_stores(block)
        if len(stores) > 1:
            packed = pack_recipes(self._values, call_recipe, region, stores)
            self.module.rewards_effort |= packed
        return len(stores)

    def _interleaved(self, region: Region, block: Block) -> tuple[Store, ...]:
        """Return the first statements if they store to all sequences of an interleaved buffer."""
        first = block[0]
        if region.lanes == 1 or not isinstance(first, Store):
            return ()
        step = interleaving(first.buffer, first.index, region.lane_var, region.lanes)
        if step == 0 or first.index.const % step or len(block) < step:
            return ()
        group = []
        for number, store in enumerate(block[:step]):
            if not isinstance(store, Store) or store.buffer is not first.buffer:
                return ()
            index = store.index
            plain = store.guard is None and store.accumulate is None
            neighbour = index.terms == first.index.terms
            neighbour = neighbour and index.const == first.index.const + number
            if not plain or not neighbour or first.buffer in self._values.reads(store.value):
                return ()
            group.append(store)
        return tuple(group)

    def _statement(self, region: Region, statement: Statement) -> None:
        """Emit one statement."""
        nest = self._nests.get(statement)
        if isinstance(statement, Store):
            self._values.store(region, statement)
        elif isinstance(statement, Loop) and nest is not None:
            self._call_nest(region, statement, nest)
        elif isinstance(statement, Loop):
            self._loop(region, statement)
        elif isinstance(statement, If):
            self._if(region, statement)
        elif isinstance(statement, While):
            self._while(region, statement)
        elif isinstance(statement, Call):
            self._call(region, statement)
        elif not isinstance(statement, Alloc):
            raise TypeError(f"{type(statement).__name__} is not a statement; a bug in tapeless")

    # Loops

    def _call_nest(self, region: Region, loop: Loop, nest: Nest) -> None:
        """Call the function of a nest, which is written at the first call."""
        module = self.module
        kinds, values = self._passed(nest)
        if nest.name not in module.functions:
            self._write_nest(loop, nest, f"{{ {', '.join(kinds)} }}")
        pairs = zip(kinds, values, strict=True)
        table = module.constant(f"{{ {', '.join(kinds)} }}", ", ".join(map(" ".join, pairs)))
        status = region.emit(f"call i32 @{nest.name}(ptr %buffers, ptr %arena, ptr {table})")
        if module.functions[nest.name][1].count("ret i32") > 1:
            leave_unless_zero(region, status)
        cost = int(self._costs.statement(loop))
        if cost > _POLLED_COST:
            emit_poll(region, cost)

    def _passed(self, nest: Nest) -> tuple[list[str], list[str]]:
        """Return what a nest's function is called with: the types and the values.

        Of a buffer in the arena it is its place in bytes, of another one its number and, in bytes,
        where it starts; then come constants.
        """
        values = []
        for buffer, shift in zip(nest.buffers, nest.shifts, strict=True):
            place, shift = self._places[buffer], shift * buffer.dtype.itemsize
            values += [place, shift] if buffer in self._given else [place + shift]
        kinds = ["i64"] * len(values)
        spelled = [str(value) for value in values]
        for scalar in nest.constants:
            register = format_of(scalar.dtype).register
            kinds.append(register)
            spelled.append(constant(scalar.value, register, 1))
        return kinds, spelled

    def _write_nest(self, loop: Loop, nest: Nest, table: str) -> None:
        """Write the function of a nest, which takes what it is called with from a table."""
        root = Region(None, Function(self.module), "function", Code("entry"))
        numbers = itertools.count()

        def taken(kind: str) -> str:
            """Load the next value."""
            at = f"getelementptr {table}, ptr %table, i64 0, i32 {next(numbers)}"
            return root.emit(f"load {kind}, ptr {root.emit(at)}, align 4")

        for buffer in nest.buffers:
            start, base = taken("i64"), "%arena"
            if buffer in self._given:
                place = root.emit(f"getelementptr ptr, ptr %buffers, i64 {start}")
                base, start = root.emit(f"load ptr, ptr {place}, align 8"), taken("i64")
            moved = root.emit(f"getelementptr i8, ptr {base}, i64 {start}")
            root.cache[buffer] = Value(moved, 1, "ptr")
        for scalar in nest.constants:
            register = format_of(scalar.dtype).register
            root.cache[scalar] = Value(taken(register), 1, register)
        self._values.parameters, self._is_shared = frozenset(nest.constants), True
        self._loop(root, loop)
        self._values.parameters, self._is_shared = frozenset(), False
        _finish(root, nest.name, "ptr %buffers, ptr %arena, ptr %table")

    def _loop(self, region: Region, loop: Loop) -> None:
        """Emit a loop in the shape that suits it."""
        if region.lanes == 1:
            loop = ordered_for_tiles(loop, self.module.target.vector_bytes)
        if not isinstance(loop.extent, int):
            self._dynamic_loop(region, loop, loop.extent)
        elif loop.extent == 1:
            self.block(region.instance(loop.var, "0"), loop.body)
        elif loop.extent > 1:
            self._static_loop(region, loop, loop.extent)

    def _static_loop(self, region: Region, loop: Loop, extent: int) -> None:
        """Emit a loop of known extent, at least 2."""
        lanes = self._lanes(region, loop)
        tile = self._tile(region, loop)
        if self._share(region, loop, lanes, tile):
            return
        if lanes > 1:
            self._split(region, loop, "0", lanes)
        elif tile is not None:
            self._tiled_loop(region, loop, tile, "0", str(extent))
        elif extent <= _UNROLLED and self._is_small(loop):
            order = range(extent)
            for position in reversed(order) if loop.reverse else order:
                self.block(region.instance(loop.var, str(position)), loop.body)
        else:
            self._plain_loop(region, loop, "0", str(extent))

    def _is_small(self, loop: Loop) -> bool:
        """Tell whether a loop may be unrolled."""
        return plan.static_extent(loop) * plan.block_weight(loop.body) <= _UNROLLED_WEIGHT

    def _plain_loop(self, region: Region, loop: Loop, start: str, stop: str) -> None:
        """Emit a loop that runs one iteration at a time, and at least one.

        If it is long and its iterations are short, it is one of stretches, which poll.
        """
        cost = int(self._costs.block(loop.body))
        if self._costs.statement(loop) <= _POLLED_COST:
            self._iterations(region, loop, start, stop, stop).close(stop, 1)
        elif cost > _LONG_ITERATION:
            counter = self._iterations(region, loop, start, stop, stop)
            emit_poll(counter.region, cost)
            counter.close(stop, 1)
        else:
            stretch = Counter(region, start, writes=plan.writes(loop.body))
            inside = stretch.region
            region.declare("llvm.umin.i64", "i64 (i64, i64)")
            full = inside.emit(f"add nsw i64 {stretch.index}, {_STRETCH}")
            end = inside.emit(f"call i64 @llvm.umin.i64(i64 {full}, i64 {stop})")
            self._iterations(inside, loop, stretch.index, end, stop).close(end, 1)
            emit_poll(inside, cost * _STRETCH)
            stretch.close(stop, _STRETCH)

    def _iterations(self, region: Region, loop: Loop, start: str, stop: str, last: str) -> Counter:
        """Emit a loop, or a part of it, but for its end; `last`: where the whole loop stops."""
        counter = Counter(region, start, writes=plan.writes(loop.body), var=loop.var)
        inside = counter.region
        if loop.reverse:
            top = inside.emit(f"sub i64 {last}, 1")
            inside.position = inside.emit(f"sub i64 {top}, {counter.index}")
        self.block(inside, loop.body)
        return counter

    def _dynamic_loop(self, region: Region, loop: Loop, length: Scalar) -> None:
        """Emit a loop whose extent is computed, behind a test that it is positive."""
        extent = self._values.value(region, length).text
        some = region.emit(f"icmp sgt i64 {extent}, 0")
        after = region.function.label()
        inside = region.branch()
        region.do(f"br i1 {some}, label %{inside.code.label}, label %{after}")
        self._plain_loop(inside, loop, "0", extent)
        region.close_branch(inside, after)
        region.code.start_block(after)

    # Lanes

    def _lanes(self, region: Region, loop: Loop) -> int:
        """Choose the lanes of a loop's variable; 1 if it must, or had better, not have any."""
        if not loop.independent or region.lanes > 1:
            return 1
        stores = [statement for statement in loop.body if isinstance(statement, Store)]
        extent = plan.static_extent(loop)
        if len(stores) < len(loop.body) or extent < 3:
            return 1
        if any(_conflicts(store, loop) for store in stores):
            return 1
        parts = [part for s in stores for part in (s.value, s.index, s.guard) if part is not None]
        found = plan.survey(parts)
        width = self.module.target.vector_bytes
        lanes = plan.vector_lanes(found, stores, loop.var, extent, width)
        if not plan.prefers_lanes(found, stores, loop.var, extent, lanes):
            return 1
        return lanes

    def _split(self, region: Region, loop: Loop, start: str, lanes: int) -> None:
        """Emit whole vectors and a masked tail; or one masked loop if the body is long."""
        first, extent = int(start), plan.static_extent(loop)
        whole, rest = divmod(extent - first, lanes)
        if rest and whole and plan.block_weight(loop.body) > _WRITTEN_ONCE:
            self._masked_loop(region, loop, start, str(extent), lanes)
            return
        last = first + whole * lanes
        if whole == 1:
            self.block(region.instance(loop.var, start, lanes=lanes), loop.body)
        elif whole:
            self._vector_loop(region, loop, start, str(last), lanes)
        is_short = region.is_repeated and plan.block_weight(loop.body, loop.var) <= _SHORT_BODY
        whole_stores = is_short and plan.is_in_place(loop.body)
        for size, wanted in plan.tail_pieces(rest, lanes, whole_stores):
            mask = tail_mask(wanted, size) if wanted < size else None
            self.block(region.instance(loop.var, str(last), lanes=size, mask=mask), loop.body)
            last += wanted

    def _vector_loop(self, region: Region, loop: Loop, start: str, stop: str, lanes: int) -> None:
        """Emit a loop over whole vectors; at least one."""
        written = plan.writes(loop.body)
        counter = Counter(region, start, writes=written, var=loop.var, lanes=lanes)
        self.block(counter.region, loop.body)
        self._poll_if_long(counter.region, loop, lanes)
        counter.close(stop, lanes)

    def _masked_loop(self, region: Region, loop: Loop, start: str, stop: str, lanes: int) -> None:
        """Emit a loop over vectors whose mask is computed in each iteration."""
        counter = Counter(region, start, writes=plan.writes(loop.body))
        inside = counter.region
        left = inside.emit(f"sub i64 {stop}, {counter.index}")
        left = minimum(inside, left, str(lanes))
        short = inside.emit(f"trunc i64 {left} to i32")
        kind = f"<{lanes} x i32>"
        first = inside.emit(f"insertelement {kind} poison, i32 {short}, i64 0")
        zero = "zeroinitializer"
        count = inside.emit(f"shufflevector {kind} {first}, {kind} poison, {kind} {zero}")
        ramp = ", ".join(f"i32 {lane}" for lane in range(lanes))
        mask = inside.emit(f"icmp ult {kind} <{ramp}>, {count}")
        copy = inside.instance(loop.var, counter.index, lanes=lanes, mask=mask)
        self.block(copy, loop.body)
        self._poll_if_long(inside, loop, lanes)
        counter.close(stop, lanes)

    def _poll_if_long(self, region: Region, loop: Loop, lanes: int) -> None:
        """Poll in a loop over vectors that may take tenths of a second."""
        if self._costs.statement(loop) > _POLLED_VECTOR_COST:
            emit_poll(region, lanes * int(self._costs.block(loop.body)))

    # Tiles

    def _tile(self, region: Region, loop: Loop) -> Tile | None:
        """Return the tile of a nest that should be tiled."""
        width = self.module.target.vector_bytes
        return find_tile(loop, width, not self._is_shared) if region.lanes == 1 else None

    def _tiled_loop(self, region: Region, loop: Loop, tile: Tile, start: str, stop: str) -> None:
        """Emit rows `start` to `stop` in tiles; `start` is a multiple of their height.

        `stop` is one too, or the extent of the loop.  The last tile of either direction ends with
        the loop: where it overlaps another, it stores the same again.
        Columns go in blocks, so that few pages are read at a time, until their lines are used up.
        """
        size, height, inner = tile.size, tile.height, tile.inner
        extent, width = plan.static_extent(loop), plan.static_extent(inner)
        length = (_STREAMED_TILES if tile.streamed else _BLOCK_TILES) * size
        blocks = Counter(region, "0", writes=plan.writes(loop.body))
        end = add(blocks.region, blocks.index, str(length))
        end = minimum(blocks.region, end, str(width))
        rows = Counter(blocks.region, start)
        row = _within(rows.region, rows.index, extent, height)
        columns = Counter(rows.region, blocks.index)
        column = _within(columns.region, columns.index, width, size)
        for copy in open_rows(self._values, columns.region, loop, tile, row, column):
            self.block(copy, inner.body)
        columns.close(end, size)
        if self._costs.statement(loop) > _POLLED_COST:
            emit_poll(rows.region, length * int(self._costs.block(inner.body)))
        rows.close(stop, height)
        blocks.close(str(width), length)
        if tile.streamed:
            region.do("fence seq_cst")  # stores past the caches keep no order of their own

    # Threads

    def _share(self, region: Region, loop: Loop, lanes: int, tile: Tile | None) -> bool:
        """Emit a loop as a task of the worker pool, if it is long enough."""
        if not loop.independent or region.function.outer is not None or region.lanes > 1:
            return False
        unit = tile.height if tile else lanes
        extent = plan.static_extent(loop)
        length = chunk_length(extent, self._costs.statement(loop), unit)
        local = None if length is None else self._local(loop)
        if length is None or local is None:
            return False
        slices = self._slices.get(loop)
        if slices is None and region.is_repeated and self._is_mostly_moving(loop):
            return False
        if slices is not None:
            self._share_slices(region, loop, length, local, slices)
            return True
        root = open_task(region, plan.writes(loop.body), local)
        if lanes > 1 and extent % lanes and plan.block_weight(loop.body) <= _WRITTEN_ONCE:
            self._share_parts(region, root, loop, length, lanes)
            return True
        start = root.emit(f"mul i64 %chunk, {length}")
        stop = root.emit(f"add i64 {start}, {length}")
        stop = minimum(root, stop, str(extent))
        if tile is not None:
            self._tiled_loop(root, loop, tile, start, stop)
        elif lanes == 1:
            self._plain_loop(root, loop, start, stop)
        elif extent % lanes == 0:
            self._vector_loop(root, loop, start, stop, lanes)
        else:
            self._masked_loop(root, loop, start, stop, lanes)
        close_task(region, root, -(-extent // length))
        return True

    def _is_mostly_moving(self, loop: Loop) -> bool:
        """Tell whether cores would rather fetch a repeated loop's data from each other than work.

        Arrays that fit in the cache of a core stay there from one time to the next.
        """
        buffers = plan.buffers_of((loop,))
        size = sum(b.n_bytes for b in buffers if b.space != "local")
        return size <= _CACHED and self._costs.statement(loop) < _WORK_PER_BYTE * size

    def _share_parts(
        self, region: Region, root: Region, loop: Loop, length: int, lanes: int
    ) -> None:
        """Emit a task whose last chunk is the masked tail, and whose others are whole vectors."""
        whole, rest = divmod(plan.static_extent(loop), lanes)
        end = whole * lanes
        n_chunks = -(-end // length)
        # What both need goes before the jump, or to the caller, so that is written last.
        tail, body, after = root.branch("body"), root.branch("body"), root.function.label()
        labels = f"label %{tail.code.label}, label %{body.code.label}"
        mask = tail_mask(rest, lanes)
        self.block(tail.instance(loop.var, str(end), lanes=lanes, mask=mask), loop.body)
        start = body.emit(f"mul i64 %chunk, {length}")
        stop = body.emit(f"add i64 {start}, {length}")
        self._vector_loop(body, loop, start, minimum(body, stop, str(end)), lanes)
        is_tail = root.emit(f"icmp eq i64 %chunk, {n_chunks}")
        root.do(f"br i1 {is_tail}, {labels}")
        root.close_branch(tail, after)
        root.close_branch(body, after)
        root.code.start_block(after)
        close_task(region, root, n_chunks + 1)

    def _share_slices(
        self,
        region: Region,
        loop: Loop,
        length: int,
        local: frozenset[Buffer],
        slices: Slices,
    ) -> None:
        """Emit a task for each slice of the arena, which takes chunks until there are no more."""
        extent = plan.static_extent(loop)
        root = open_task(region, plan.writes(loop.body), local)
        ordered = sorted(slices.buffers, key=lambda buffer: buffer.name)
        open_slice(root, slices, {b: self._values.base(region, b) for b in ordered})
        with taken_chunks(region, root, -(-extent // length)) as (body, number):
            start = body.emit(f"mul i64 {number}, {length}")
            stop = body.emit(f"add i64 {start}, {length}")
            self._plain_loop(body, loop, start, minimum(body, stop, str(extent)))
        close_task(region, root, slices.count)

    def _local(self, loop: Loop) -> frozenset[Buffer] | None:
        """Return what each thread must have on its stack; None if a loop cannot be shared.

        What else it must have for itself has to be in its slice.
        """
        written = [b for b in plan.writes(loop.body) if b.space in ("local", "temp")]
        outside = plan.buffers_of(_without(self._body, loop)) if written else set()
        private = private_buffers(loop, self._given.union(outside))
        if private is None:
            return None
        slices = self._slices.get(loop)
        own = private - slices.buffers if slices is not None else private
        return own if all(buffer.space == "local" for buffer in own) else None

    # Control

    def _if(self, region: Region, statement: If) -> None:
        """Emit a choice among branches."""
        which = self._values.value(region, statement.which).text
        after = region.function.label()
        labels = [region.function.label() for _ in statement.branches]
        seldom = ", !prof !0" if ends_in_fault(statement.branches[-1]) else ""
        if len(labels) == 2:
            other = region.emit(f"icmp ne i32 {which}, 0")
            region.do(f"br i1 {other}, label %{labels[1]}, label %{labels[0]}{seldom}")
        else:
            cases = " ".join(f"i32 {n}, label %{label}" for n, label in enumerate(labels[:-1]))
            region.do(f"switch i32 {which}, label %{labels[-1]} [{cases}]")
        for branch, label in zip(statement.branches, labels, strict=True):
            inside = region.branch(label=label)
            self.block(inside, branch)
            region.close_branch(inside, after)
        region.code.start_block(after)

    def _while(self, region: Region, statement: While) -> None:
        """Emit a loop that is tested before its body.

        It has one exit, taken when the condition is false or the budget is gone; only then is the
        poll's turn.  So a loop over registers is one whose trip count the optimiser can find.
        """
        written = plan.writes((statement,))
        over_registers = plan.is_over_registers((statement,))
        outer, label, leave, after = (region.function.label() for _ in range(4))
        header = Region(region, region.function, "loop", Code(label), writes=written)
        header.code.start_block(label)
        self.block(header, statement.before)
        more = self._values.value(header, statement.condition).text
        go = header.emit(f"and i1 {more}, {budget_left(header)}")
        body = header.branch("body")
        start = body.code.label
        header.do(f"br i1 {go}, label %{start}, label %{leave}")
        body.writes = written
        self.block(body, statement.body)
        cost = self._costs.block(statement.before) + self._costs.block(statement.body)
        spend(body, int(cost))
        header.close_branch(body, label)
        header.code.start_block(leave)
        asks, again = region.function.label(), region.function.label()
        header.do(f"br i1 {more}, label %{asks}, label %{after}, !prof !0")
        header.code.start_block(asks)
        poll_now(header, again)
        # A condition with effects is not computed a second time.
        header.do(f"br label %{outer if over_registers else start}")
        region.do(f"br label %{outer}")
        region.code.start_block(outer)
        region.do(f"br label %{label}")
        region.code.lines.extend(header.code.lines)
        region.code.start_block(after)
        self.module.rewards_effort |= over_registers

    def _call(self, region: Region, call: Call) -> None:
        """Emit a call of a foreign routine."""
        kinds, args = [], []
        for arg in call.args:
            if isinstance(arg, Buffer):
                kind, text = "ptr", self._values.base(region, arg)
            elif isinstance(arg, tuple):
                kind, text = "ptr", self._values.address(region, *arg)
            else:
                assert isinstance(arg, Scalar), "an argument is a buffer, a place or a scalar"
                kind = format_of(arg.dtype).register
                text = self._values.value(region, arg).text
                if call.symbol.startswith(_BY_REFERENCE):
                    place = region.function.slot(kind)
                    region.do(f"store {kind} {text}, ptr {place}")
                    kind, text = "ptr", place
            kinds.append(kind)
            args.append(f"{kind} {text}")
        text = extra_text(call.symbol)
        if text is not None:
            self.module.extras[call.symbol] = text
        in_python = call.is_fault or call.symbol.startswith("host:")
        result = "i32" if in_python else "void"
        region.declare(call.symbol, f"{result} ({', '.join(kinds)})")
        invocation = f'call {result} @"{call.symbol}"({", ".join(args)})'
        if call.is_fault:
            raise_in_python(region, invocation)
        elif in_python:
            call_python(region, invocation)
        else:
            region.do(invocation)


def _with_flag(region: Region, block: Block) -> tuple[Store, ...]:
    """Return the store of a flag that some lanes may raise, and those behind with its guard."""
    first, *rest = block
    if region.lanes == 1 or not isinstance(first, Store) or not raises_flag(first):
        return ()
    if first.guard is None or region.vector_var not in first.guard.free:
        return ()
    alike = itertools.takewhile(lambda x: isinstance(x, Store) and x.guard is first.guard, rest)
    return (first, *(store for store in alike if isinstance(store, Store)))


def _conflicts(store: Store, loop: Loop) -> bool:
    """Tell whether lanes would meet in one element, combining or with unequal values."""
    differs = store.accumulate is not None or loop.var in store.value.free
    return differs and store.index.stride(loop.var) == 0


def _without(block: Block, loop: Loop) -> Block:
    """Give the statements of a block without the loop, wherever in it the loop is."""
    kept: list[Statement] = []
    for statement in block:
        if statement is loop:
            continue
        if isinstance(statement, Loop):
            body = _without(statement.body, loop)
            statement = Loop(statement.var, statement.extent, body)
        elif isinstance(statement, If):
            branches = tuple(_without(branch, loop) for branch in statement.branches)
            statement = If(statement.which, branches)
        elif isinstance(statement, While):
            before, body = _without(statement.before, loop), _without(statement.body, loop)
            statement = While(before, statement.condition, body)
        kept.append(statement)
    return tuple(kept)
