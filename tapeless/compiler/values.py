"""Scalars to LLVM values: each is computed once, in the outermost region that can compute it.

`value(region, scalar)` returns the scalar's value for use in `region`. If no enclosing region has
it yet, it is computed in its *home*: starting from `region` one walks outwards for as long as the
region left neither binds a variable that the scalar depends on, nor writes a buffer that the
scalar reads, nor is a branch (what a branch guards stays in it). So invariants leave loops, and
common parts are computed once, by construction.

Lanes: at most one loop variable, the *vector variable*, stands for several consecutive values.
What depends on it has as many lanes; what does not is one value, splatted where the two meet. A
load whose index moves by one with the vector variable is one vector load; by minus one, a reversed
one; otherwise a gather. The mask of a region (the tail of a loop) guards memory only: arithmetic
runs on all lanes.

A scalar means its value at the point where it is used: a statement that writes a buffer makes the
emitter forget what was read from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tapeless.compiler.formats import Format, constant, format_of, typed
from tapeless.compiler.lanes import (
    add,
    carry,
    count,
    displace,
    every,
    gather,
    interleave,
    interleaving,
    joined,
    load_lanes,
    multiply,
    ramp,
    repeated,
    reverse,
    scatter,
    splat_value,
    square_of,
    store_lanes,
    stream_lanes,
    tail_mask,
    transposed,
)
from tapeless.compiler.operations import from_memory, is_operation, operate, to_memory
from tapeless.compiler.regions import Region, Value
from tapeless.kernel.graph import children, walk
from tapeless.kernel.ir import Affine, Buffer, Const, Index, Load, Op, Reduce, Scalar, Store
from tapeless.util.records import replace

__all__ = ["SLOW", "Values", "operands", "raises_flag"]

SLOW = "slow:"  # begins the names of what recipes seldom need


def operands(scalar: Scalar) -> tuple[Scalar, ...]:
    """List what must be computed before `scalar`, in the same region."""
    if type(scalar) is Op:
        if scalar.name == "rare":
            return (scalar.args[0], scalar.args[2], *_branches_of(scalar))
        return scalar.args
    if type(scalar) is Affine:
        return tuple([term for term, _ in scalar.terms])
    if type(scalar) is Load:
        opaque = tuple([t for t, _ in scalar.index.terms if type(t) is not Index])
        return opaque if scalar.guard is None else (*opaque, scalar.guard)
    return ()


def _branches_of(rare: Op) -> list[Scalar]:
    """List what a branch needs that is behind branches of the same condition, computed before.

    Those that depend on the variable of a reduction in the branch stay inside.
    """
    condition, slow, _ = rare.args

    def is_apart(node: Scalar) -> bool:
        """Tell whether a node is such a branch."""
        same = isinstance(node, Op) and node.name == "rare" and node.args[0] is condition
        return same and node.free <= rare.free

    needed = walk((slow,), lambda node: () if is_apart(node) else children(node))
    return list(filter(is_apart, needed))


class Values:
    """Computes scalars for one module; `parameters` are constants whose values are passed in.

    overwritten: the inputs that the program stores to, being donated; others stay as they are.
    reduce, recipe: emit a reduction, and an operation that is not a single instruction; given by
    the modules that know how.
    """

    def __init__(
        self,
        reduce: Callable[[Values, Region, Reduce], tuple[Value, ...]],
        recipe: Callable[[Region, Op, Sequence[str], int], str],
    ) -> None:
        """Start with nothing computed."""
        self._reduce = reduce
        self._recipe = recipe
        self._reads: dict[Scalar, frozenset[Buffer]] = {}
        self._parts: dict[tuple[Affine, Index], tuple[Affine, Affine]] = {}
        self._moving: dict[tuple[tuple[Scalar, int], ...], Affine] = {}
        self.parameters: frozenset[Const] = frozenset()
        self.overwritten: frozenset[Buffer] = frozenset()

    # Placing

    def reads(self, scalar: Scalar) -> frozenset[Buffer]:
        """The buffers, inputs excepted, whose contents `scalar` depends on."""
        known = self._reads
        found = known.get(scalar)
        if found is not None:
            return found
        stack = [scalar]
        while stack:
            node = stack[-1]
            parts = children(node)
            missing = [part for part in parts if part not in known]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            found = _union([known[part] for part in parts])
            if type(node) is Load:
                buffer = node.buffer
                stays = buffer.space == "input" and buffer not in self.overwritten
                found = found if stays else found | {buffer}
            known[node] = found
        return known[scalar]

    def home(self, region: Region, scalar: Scalar) -> Region:
        """Find the outermost region in which `scalar` may be computed for `region`."""
        free, reads = scalar.free, self.reads(scalar)
        while region.kind != "branch":
            around = region.parent or region.outer
            if around is None or region.var in free:
                break
            if reads and not reads.isdisjoint(region.writes):
                break
            region = around
        return region

    def find(self, region: Region, scalar: object, reads: frozenset[Buffer]) -> Value | None:
        """Look for a computed value in `region` and outwards; capture it from outside a task."""
        function = region.function
        while True:
            found = region.cache.get(scalar)
            if found is not None:
                if region.function is function:
                    return found
                return Value(function.capture(found.text, found.kind), found.lanes, found.kind)
            around = region.parent or region.outer
            if around is None or (reads and not reads.isdisjoint(region.writes)):
                return None
            region = around

    def value(self, region: Region, scalar: Scalar) -> Value:
        """Give the value of `scalar` for use in `region`, computing what is missing."""
        if isinstance(scalar, Const) and scalar not in self.parameters:
            register = format_of(scalar.dtype).register
            return Value(constant(scalar.value, register, 1), 1, register)
        found = self.find(region, scalar, self.reads(scalar))
        if found is not None:
            return found
        stack: list[Scalar | None] = [scalar]
        while stack:
            node = stack.pop()
            if node is None:  # what it stands on has operands that are known
                node = stack.pop()
                assert node is not None, "a mark stands on a node"
                home = self.home(region, node)
                self.remember(home, node, self.reads(node), self._compute(home, node))
            elif not self._known(region, node):
                stack += (node, None, *reversed(operands(node)))
        found = self.find(region, scalar, self.reads(scalar))
        assert found is not None, "a value that was just computed is known"
        return found

    def _known(self, region: Region, scalar: Scalar) -> bool:
        """Tell whether `value` would find `scalar` at once."""
        if scalar in region.cache or type(scalar) is Const:
            return True
        return self.find(region, scalar, self.reads(scalar)) is not None

    @staticmethod
    def remember(region: Region, key: object, reads: frozenset[Buffer], value: Value) -> Value:
        """Cache a value in a region, to be dropped when one of `reads` is written."""
        region.cache[key] = value
        for buffer in reads:
            region.readers.setdefault(buffer, []).append(key)
        return value

    def lanes(self, region: Region, scalar: Scalar, lanes: int) -> str:
        """Give the text of `scalar` with exactly `lanes` lanes."""
        form = format_of(scalar.dtype)
        if isinstance(scalar, Const) and scalar not in self.parameters:
            return constant(scalar.value, form.register, lanes)
        value = self.value(region, scalar)
        if value.lanes == lanes:
            return value.text
        return self._splat(region, scalar, value.text, form.register, lanes)

    def _splat(self, region: Region, scalar: Scalar, text: str, register: str, lanes: int) -> str:
        """Copy a single value to every lane, where the value itself lives."""
        if not text.startswith("%"):
            return f"splat ({register} {text})"
        reads = self.reads(scalar)
        key = ("splat", scalar, lanes)
        found = self.find(region, key, reads)
        if found is None:
            home = self.home(region, scalar)
            if home.function is not region.function:
                home = region.root()
            single = self.value(home, scalar).text
            many = splat_value(home, single, register, lanes)
            value = Value(many, lanes, typed(register, lanes))
            found = self.remember(home, key, reads, value)
        return found.text

    # Computing

    def _compute(self, region: Region, scalar: Scalar) -> Value:
        """Emit `scalar`, whose operands are known, at the end of `region`."""
        if isinstance(scalar, Op):
            return self._operation(region, scalar)
        if isinstance(scalar, Load):
            return self._load(region, scalar)
        if isinstance(scalar, Affine):
            return self._affine(region, scalar)
        if isinstance(scalar, Index):
            return self._index(region, scalar)
        if isinstance(scalar, Reduce):
            return self._group(region, scalar)[scalar.which]
        raise TypeError(f"{type(scalar).__name__} is not a scalar; this is a bug in tapeless")

    def _group(self, region: Region, scalar: Reduce) -> tuple[Value, ...]:
        """Emit a reduction once for all of its results."""
        found = region.groups.get(scalar.group)
        if found is None:
            found = region.groups[scalar.group] = self._reduce(self, region, scalar)
            for buffer in self.reads(scalar):
                region.readers.setdefault(buffer, []).append(scalar.group)
        return found

    def _operation(self, region: Region, scalar: Op) -> Value:
        """Emit an operation, a recipe, or a rarely taken branch."""
        dependent = region.vector_var is not None and region.vector_var in scalar.free
        lanes = region.lanes if dependent else 1
        target = format_of(scalar.dtype)
        text = None
        if scalar.name == "rare":
            text = self._rare(region, scalar, lanes)
        elif scalar.name == "convert" and lanes > 1 and isinstance(scalar.args[0], Index | Affine):
            text = self._short_index(region, scalar)
        if text is None:
            args = [self.lanes(region, arg, lanes) for arg in scalar.args]
            if is_operation(scalar.name):
                source = format_of(scalar.args[-1].dtype)
                text = operate(region, scalar.name, args, source, target, lanes)
            else:
                text = self._recipe(region, scalar, args, lanes)
        return Value(text, lanes, typed(target.register, lanes))

    def _short_index(self, region: Region, scalar: Op) -> str | None:
        """Convert an index with a known stride to a shorter integer: 32-bit arithmetic will do."""
        target = format_of(scalar.dtype)
        if target.kind not in ("signed", "unsigned") or target.bits > 32 or target.bits < 8:
            return None
        index = scalar.args[0]
        affine = index if isinstance(index, Affine) else Affine(((index, 1),), 0, index.free)
        stride = affine.stride(region.lane_var)
        if stride is None:
            return None
        base = self.position(region, affine)
        register, lanes = target.register, region.lanes
        short = base
        if base.startswith("%"):
            short = region.emit(f"trunc i64 {base} to {register}")
        else:
            short = constant(int(base), register, 1)
        start = splat_value(region, short, register, lanes)
        steps = ramp(register, stride, lanes)
        return region.emit(f"add {typed(register, lanes)} {start}, {steps}")

    def _rare(self, region: Region, scalar: Op, lanes: int) -> str:
        """Choose `slow` where the condition holds; jump over it when it holds nowhere."""
        condition, slow, fast = scalar.args
        wanted = self.lanes(region, condition, lanes)
        usual = self.lanes(region, fast, lanes)
        kind = typed(format_of(scalar.dtype).register, lanes)
        some = wanted
        if lanes > 1:
            bits = region.emit(f"bitcast <{lanes} x i1> {wanted} to i{lanes}")
            some = region.emit(f"icmp ne i{lanes} {bits}, 0")
        after, branch = region.function.label(), region.branch()
        entry, flags = branch.code.label, typed("i1", lanes)
        # What the branch needs and does not depend on it is written to the region, before the jump.
        slow_text = self.lanes(branch, slow, lanes)
        chosen = branch.emit(f"select {flags} {wanted}, {kind} {slow_text}, {kind} {usual}")
        before = region.code.label
        # Of other branches nobody knows; what is said to be seldom has its registers spilled.
        seldom = ", !prof !0" if isinstance(slow, Op) and slow.name.startswith(SLOW) else ""
        region.do(f"br i1 {some}, label %{entry}, label %{after}{seldom}")
        last = region.close_branch(branch, after)
        region.code.start_block(after)
        return region.emit(f"phi {kind} [{usual}, %{before}], [{chosen}, %{last}]")

    # Indices

    def _index(self, region: Region, index: Index) -> Value:
        """Give the value of a loop variable."""
        bound = region.bound(index)
        if bound is None:
            raise ValueError(f"loop variable {index.name} is not bound; this is a bug in tapeless")
        if region.vector_var is not index:
            return Value(_position(region, bound), 1, "i64")
        return count(region, _position(region, bound), 1)

    def _affine(self, region: Region, affine: Affine) -> Value:
        """Give the value of an index expression."""
        var = region.vector_var
        if var is None or var not in affine.free:
            return Value(self.position(region, affine), 1, "i64")
        lanes, stride = region.lanes, affine.stride(var)
        if stride is not None:
            return count(region, self.position(region, affine), stride)
        total = constant(affine.const, "i64", lanes)
        for term, coefficient in affine.terms:
            part = self.lanes(region, term, lanes)
            if coefficient != 1:
                factor = constant(coefficient, "i64", lanes)
                part = region.emit(f"mul <{lanes} x i64> {part}, {factor}")
            total = region.emit(f"add <{lanes} x i64> {total}, {part}")
        return Value(total, lanes, f"<{lanes} x i64>")

    def position(self, region: Region, affine: Affine) -> str:
        """Give the index in lane 0; each part is computed where its variables are bound."""
        total, origin = "0", region.function
        for home, terms in self._levels(region, affine):
            total = carry(total, "i64", origin, home)
            total, origin = self._sum(home, total, terms), home.function
        total = carry(total, "i64", origin, region)
        return add(region, total, str(affine.const))

    def _sum(self, region: Region, total: str, terms: list[tuple[Scalar, int]]) -> str:
        """Add multiples of terms to a running index."""
        key = ("sum", total, tuple(terms))
        found = region.cache.get(key)
        if found is not None:
            return found.text
        text = total
        for term, coefficient in terms:
            bound = region.bound(term) if isinstance(term, Index) else None
            part = _position(region, bound) if bound else self.value(region, term).text
            text = add(region, text, multiply(region, part, coefficient))
        reads = frozenset().union(*(self.reads(term) for term, _ in terms))
        return self.remember(region, key, reads, Value(text, 1, "i64")).text

    def _levels(
        self, region: Region, affine: Affine
    ) -> list[tuple[Region, list[tuple[Scalar, int]]]]:
        """Group the terms by home, from the outermost region inwards."""
        groups: dict[Region, list[tuple[Scalar, int]]] = {}
        for term, coefficient in affine.terms:
            groups.setdefault(self.home(region, term), []).append((term, coefficient))
        return sorted(groups.items(), key=lambda pair: pair[0].depth)

    # Memory

    def base(self, region: Region, buffer: Buffer) -> str:
        """Give the pointer to the first element of a buffer."""
        found = self.find(region, buffer, frozenset())
        if found is not None:
            return found.text
        region = region.root()
        if buffer.space != "local":
            raise ValueError(f"buffer {buffer.name} is not planned; this is a bug in tapeless")
        memory = format_of(buffer.dtype).memory
        slot = region.function.slot(f"[{max(buffer.size, 1)} x {memory}]")
        region.cache[buffer] = Value(slot, 1, "ptr")
        return slot

    def address(self, region: Region, buffer: Buffer, index: Affine, shift: int = 0) -> str:
        """Give the pointer to the element at `index + shift` in lane 0."""
        memory = format_of(buffer.dtype).memory
        pointer, origin = "", region.function
        for home, terms in self._levels(region, index):
            if home.function is not region.function and buffer in region.root().private:
                home = region.root()
            pointer = carry(pointer, "ptr", origin, home) or self.base(home, buffer)
            origin = home.function
            key = ("address", pointer, tuple(terms))
            found = home.cache.get(key)
            if found is None:
                offset = self._sum(home, "0", terms)
                reads = frozenset().union(*(self.reads(term) for term, _ in terms))
                text = displace(home, pointer, memory, offset)
                found = self.remember(home, key, reads, Value(text, 1, "ptr"))
            pointer = found.text
        pointer = carry(pointer, "ptr", origin, region) or self.base(region, buffer)
        return displace(region, pointer, memory, str(index.const + shift))

    def _load(self, region: Region, load: Load) -> Value:
        """Emit a load."""
        form = format_of(load.dtype)
        var = region.vector_var
        if var is None or var not in load.free:
            text = from_memory(region, self._load_one(region, load, form), form, 1)
            return Value(text, 1, form.register)
        lanes, mask = region.lanes, self._mask(region, load.guard)
        stride = load.index.stride(var)
        step = interleaving(load.buffer, load.index, var, lanes)
        side = 0 if mask else square_of(load.buffer, load.index, var, lanes)
        if side == lanes or (side and not step):
            raw = self._load_column(region, load, side)
        elif step:
            raw = self._load_interleaved(region, load, step)
        elif stride in (1, -1):
            shift = 0 if stride == 1 else 1 - lanes
            pointer = self._first_address(region, load, shift)
            if stride == -1:
                mask = mask and reverse(region, mask, "i1", lanes)
            raw = load_lanes(region, pointer, form, lanes, mask)
            if stride == -1:
                raw = reverse(region, raw, form.memory, lanes)
        else:
            pointers = self._pointers(region, load.buffer, load.index, lanes)
            raw = gather(region, pointers, form, lanes, mask)
        text = from_memory(region, raw, form, lanes)
        return Value(text, lanes, typed(form.register, lanes))

    def _first_address(self, region: Region, load: Load, shift: int) -> str:
        """Give the pointer to the element of lane 0; under a guard it may be outside the buffer."""
        if load.guard is None:
            return self.address(region, load.buffer, load.index, shift)
        start = self.address(region, load.buffer, load.index, -load.index.const)
        memory = format_of(load.dtype).memory
        offset = load.index.const + shift
        return region.emit(f"getelementptr {memory}, ptr {start}, i64 {offset}")

    def _load_interleaved(self, region: Region, load: Load, step: int) -> str:
        """Load all of `step` interleaved sequences at once, and pick one of them."""
        form, lanes = format_of(load.dtype), region.lanes
        first = load.index.const % step
        key = (
            "wide",
            load.buffer,
            load.index.terms,
            load.index.const - first,
            load.guard,
            load.after,
        )
        reads = self.reads(load)
        found = self.find(region, key, reads)
        if found is None:
            mask = self._mask(region, load.guard)
            if mask is not None:
                mask = repeated(region, mask, lanes, step)
            pointer = self.address(region, load.buffer, load.index, -first)
            text = load_lanes(region, pointer, form, lanes * step, mask)
            value = Value(text, lanes * step, typed(form.memory, lanes * step))
            found = self.remember(region, key, reads, value)
        return every(region, found.text, form.memory, lanes, first, step)

    def _load_column(self, region: Region, load: Load, side: int) -> str:
        """Load squares row by row and transpose them, and pick one of the columns."""
        form, lanes = format_of(load.dtype), region.lanes
        column = load.index.const % side
        start = load.index.const - column
        keys = [
            ("column", load.buffer, load.index.terms, start + number, load.after)
            for number in range(side)
        ]
        reads = self.reads(load)
        found = self.find(region, keys[column], reads)
        if found is None:
            stride = load.index.stride(region.lane_var) or 0
            places = [stride * row - column for row in range(lanes)]
            starts = [self.address(region, load.buffer, load.index, shift) for shift in places]
            rows = [load_lanes(region, place, form, side, None) for place in starts]
            kind = typed(form.memory, side)
            squares = [
                transposed(region, rows[first : first + side], kind)
                for first in range(0, lanes, side)
            ]
            for key, *parts in zip(keys, *squares, strict=True):
                text = joined(region, parts, form.memory, side)
                self.remember(region, key, reads, Value(text, lanes, typed(form.memory, lanes)))
            found = region.cache[keys[column]]
        return found.text

    def _load_one(self, region: Region, load: Load, form: Format) -> str:
        """Load one element; a false guard makes it a load of the constant zero."""
        pointer = self.address(region, load.buffer, load.index)
        if load.guard is not None:
            wanted = self.value(region, load.guard).text
            pointer = region.emit(f"select i1 {wanted}, ptr {pointer}, ptr @zeros")
        return region.emit(f"load {form.memory}, ptr {pointer}, align {form.size}")

    def _mask(self, region: Region, guard: Scalar | None) -> str | None:
        """Combine the region's mask with a guard."""
        if guard is None:
            return region.mask
        lanes = region.lanes
        wanted = self.lanes(region, guard, lanes)
        if region.mask is None:
            return wanted
        return region.emit(f"and <{lanes} x i1> {wanted}, {region.mask}")

    def _pointers(self, region: Region, buffer: Buffer, index: Affine, lanes: int) -> str:
        """Give the addresses of all lanes; 32-bit offsets where they are enough."""
        memory = format_of(buffer.dtype).memory
        stride = index.stride(region.lane_var)
        if stride is not None:
            start = self.address(region, buffer, index)
            offsets = ramp("i64", stride, lanes)
            if abs(stride) * lanes < 1 << 31:
                offsets = ramp("i32", stride, lanes)
                return region.emit(
                    f"getelementptr {memory}, ptr {start}, <{lanes} x i32> {offsets}"
                )
            return region.emit(f"getelementptr {memory}, ptr {start}, <{lanes} x i64> {offsets}")
        fixed, moving = self._apart(index, region.lane_var)
        start = self.address(region, buffer, fixed)
        offsets = self.lanes(region, moving, lanes)
        kind = f"<{lanes} x i64>"
        if buffer.size < 1 << 31:
            offsets = region.emit(f"trunc {kind} {offsets} to <{lanes} x i32>")
            kind = f"<{lanes} x i32>"
        return region.emit(f"getelementptr {memory}, ptr {start}, {kind} {offsets}")

    def _apart(self, index: Affine, var: Index) -> tuple[Affine, Affine]:
        """Return what all lanes of an index have in common, and what is a lane's own."""
        key = (index, var)
        if key not in self._parts:
            moving = tuple([pair for pair in index.terms if var in pair[0].free])
            fixed = tuple([pair for pair in index.terms if var not in pair[0].free])
            own = self._moving.setdefault(moving, _sum_of(moving, 0))
            self._parts[key] = (_sum_of(fixed, index.const), own)
        return self._parts[key]

    def store(self, region: Region, store: Store) -> None:
        """Emit a store in a region whose vector variable, if any, the index may depend on."""
        form = format_of(store.buffer.dtype)
        lanes = region.lanes
        if lanes == 1:
            self._store_one(region, store, form)
            return
        if store.guard is not None and region.vector_var not in store.guard.free:
            self._store_if(region, store, store.guard)
            return
        mask = self._mask(region, store.guard)
        stride = store.index.stride(region.lane_var)
        if mask is not None and stride == 0 and store.accumulate is None:
            self._store_if_any(region, mask, store)
            return
        value = self.lanes(region, store.value, lanes)
        if stride == -1 and mask == tail_mask(1, lanes):
            stride = 1  # one element: there is no order
        unit = stride in (1, -1)
        if unit:
            place = self.address(region, store.buffer, store.index, 0 if stride == 1 else 1 - lanes)
        else:
            place = self._pointers(region, store.buffer, store.index, lanes)
        if stride == -1:
            mask = mask and reverse(region, mask, "i1", lanes)
            value = reverse(region, value, form.register, lanes)
        if store.accumulate is not None:
            read = load_lanes if unit else gather
            old = from_memory(region, read(region, place, form, lanes, mask), form, lanes)
            value = operate(region, store.accumulate, [old, value], form, form, lanes)
        raw = to_memory(region, value, form, lanes)
        if store.buffer in region.streamed:
            stream_lanes(region, raw, place, form, lanes)
            return
        write = store_lanes if unit else scatter
        write(region, raw, place, form, lanes, mask)

    def store_interleaved(self, region: Region, stores: Sequence[Store]) -> None:
        """Emit stores to all sequences of an interleaved buffer, in order, as one wide store."""
        form, lanes = format_of(stores[0].buffer.dtype), region.lanes
        values = [self.lanes(region, store.value, lanes) for store in stores]
        raw = [to_memory(region, value, form, lanes) for value in values]
        mask = region.mask and repeated(region, region.mask, lanes, len(stores))
        place = self.address(region, stores[0].buffer, stores[0].index)
        wide = interleave(region, raw, form.memory, lanes)
        store_lanes(region, wide, place, form, lanes * len(stores), mask)

    def raise_flag(self, region: Region, flag: Store, *behind: Store) -> None:
        """Emit a store that some lanes seldom make, and others with its guard, behind a branch."""
        mask = self._mask(region, flag.guard)
        if mask is not None:
            self._store_if_any(region, mask, flag, *behind)

    def _store_if_any(self, region: Region, mask: str, store: Store, *behind: Store) -> None:
        """Store an element that is the same for all lanes if the mask has any of them."""
        kind = f"v{region.lanes}i1"
        region.declare(f"llvm.vector.reduce.or.{kind}", f"i1 (<{region.lanes} x i1>)")
        call = f"call i1 @llvm.vector.reduce.or.{kind}(<{region.lanes} x i1> {mask})"
        wanted, after = region.emit(call), region.function.label()
        target = region.branch()
        region.do(f"br i1 {wanted}, label %{target.code.label}, label %{after}, !prof !0")
        self._store_always(target, store, format_of(store.buffer.dtype))
        for other in behind:
            self.store(target, other)
        region.close_branch(target, after)
        region.code.start_block(after)

    def _store_if(self, region: Region, store: Store, guard: Scalar) -> None:
        """Store to all lanes or to none: a load waits long for a store that had a mask."""
        wanted, after = self.value(region, guard).text, region.function.label()
        target = region.branch()
        region.do(f"br i1 {wanted}, label %{target.code.label}, label %{after}")
        self.store(target, replace(store, guard=None))
        region.close_branch(target, after)
        region.code.start_block(after)

    def _store_one(self, region: Region, store: Store, form: Format) -> None:
        """Store one element, behind a branch if it is guarded."""
        if store.guard is None:
            self._store_always(region, store, form)
            return
        wanted = self.value(region, store.guard).text
        after = region.function.label()
        target = region.branch()
        seldom = ", !prof !0" if raises_flag(store) else ""
        region.do(f"br i1 {wanted}, label %{target.code.label}, label %{after}{seldom}")
        self._store_always(target, store, form)
        region.close_branch(target, after)
        region.code.start_block(after)

    def _store_always(self, region: Region, store: Store, form: Format) -> None:
        """Store one element, or combine it with what is there."""
        value = self.value(region, store.value).text
        pointer = self.address(region, store.buffer, store.index)
        if store.accumulate is not None:
            raw = region.emit(f"load {form.memory}, ptr {pointer}, align {form.size}")
            old = from_memory(region, raw, form, 1)
            value = operate(region, store.accumulate, [old, value], form, form, 1)
        raw = to_memory(region, value, form, 1)
        region.do(f"store {form.memory} {raw}, ptr {pointer}, align {form.size}")


def raises_flag(store: Store) -> bool:
    """Tell whether a store raises a flag, which is seldom done."""
    return type(store.value) is Const and not store.index.free


def _union(sets: list[frozenset[Buffer]]) -> frozenset[Buffer]:
    """Return the union of some sets, which are the same one more often than not."""
    if not sets:
        return frozenset()
    total = sets[0]
    for one in sets:
        if one is not total:
            total = total | one if total else one
    return total


def _position(region: Region, bound: Region) -> str:
    """Return where the loop that `bound` is of stands; a task gets it from outside."""
    if bound.function is region.function:
        return bound.position
    return region.function.capture(bound.position, "i64")


def _sum_of(terms: tuple[tuple[Scalar, int], ...], const: int) -> Affine:
    """Return an index of some terms."""
    return Affine(terms, const, frozenset().union(*(term.free for term, _ in terms)))
