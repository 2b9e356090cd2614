"""Scalars to LLVM values: each is computed once, in the outermost region that can compute it.

`value(region, scalar)` returns the scalar's value for use in `region`. If no enclosing region
has it yet, it is computed in its *home*: starting from `region` one walks outwards for as long
as the region left neither binds a variable that the scalar depends on, nor writes a buffer that the
scalar reads, nor is a branch (what a branch guards stays in it). So invariants leave loops, and common
parts are computed once, by construction.

Lanes: at most one loop variable, the *vector variable*, stands for several consecutive
values. What depends on it has as many lanes; what does not is one value, splatted where the two
meet. A load whose index moves by one with the vector variable is one vector load; by minus
one, a reversed one; otherwise a gather. The mask of a region (the tail of a loop) guards memory only:
arithmetic runs on all lanes.

A scalar means its value at the point where it is used: a statement that writes a buffer makes the
emitter forget what was read from it.

Operations that are not single instructions (exp, sin, ...) are recipes, DAGs of simple ones. Each becomes an
internal function per dtype and lane count.
"""

from __future__ import annotations

from collections.abc import Callable

from tapeless.compiler.formats import Format, constant, format_of, typed
from tapeless.compiler.operations import from_memory, is_operation, operate, to_memory
from tapeless.compiler.regions import Code, Function, Region, Value
from tapeless.kernel.ir import Affine, Buffer, Const, Index, Load, Op, Reduce, Scalar, Store
from tapeless.kernel.nodes import Nodes
from tapeless.kernel.scalar import recipe

__all__ = ["Values", "operands"]


def operands(scalar: Scalar) -> tuple[Scalar, ...]:
    """List what must be computed before `scalar`, in the same region."""
    if isinstance(scalar, Op):
        if scalar.name == "rare":
            return (scalar.args[0], scalar.args[2])
        return scalar.args
    if isinstance(scalar, Affine):
        return tuple(term for term, _ in scalar.terms)
    if isinstance(scalar, Load):
        opaque = tuple(t for t, _ in scalar.index.terms if not isinstance(t, Index))
        return opaque if scalar.guard is None else (*opaque, scalar.guard)
    return ()


class Values:
    """Computes scalars for one module.

    `reduce` emits a reduction in a region: given in by the module that knows how.
    """

    def __init__(self, reduce: Callable[[Values, Region, Reduce], tuple[Value, ...]]) -> None:
        """Start with nothing computed."""
        self._reduce = reduce
        self._reads: dict[Scalar, frozenset[Buffer]] = {}

    # Placing

    def reads(self, scalar: Scalar) -> frozenset[Buffer]:
        """The buffers, inputs excepted, whose contents `scalar` depends on."""
        known = self._reads
        if scalar in known:
            return known[scalar]
        stack = [scalar]
        while stack:
            node = stack[-1]
            parts = _parts(node)
            missing = [part for part in parts if part not in known]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            own = frozenset()
            if isinstance(node, Load) and node.buffer.space != "input":
                own = frozenset((node.buffer,))
            known[node] = own.union(*(known[part] for part in parts))
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
        if isinstance(scalar, Const):
            register = format_of(scalar.dtype).register
            return Value(constant(scalar.value, register, 1), 1, register)
        found = self.find(region, scalar, self.reads(scalar))
        if found is not None:
            return found
        stack = [scalar]
        while stack:
            node = stack[-1]
            if self._known(region, node):
                stack.pop()
                continue
            missing = [part for part in operands(node) if not self._known(region, part)]
            if missing:
                stack.extend(reversed(missing))
                continue
            stack.pop()
            home = self.home(region, node)
            self.remember(home, node, self.reads(node), self._compute(home, node))
        return self.find(region, scalar, self.reads(scalar))

    def _known(self, region: Region, scalar: Scalar) -> bool:
        """Tell whether `value` would find `scalar` at once."""
        if isinstance(scalar, Const):
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
        if isinstance(scalar, Const):
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
            self.remember(home, key, reads, Value(many, lanes, typed(register, lanes)))
            found = self.find(region, key, reads)
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
        key = ("group", scalar.group)
        found = region.cache.get(key)
        if found is None:
            found = self._reduce(self, region, scalar)
            self.remember(region, key, self.reads(scalar), found)
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
                text = self._call_recipe(region, scalar, args, lanes)
        return Value(text, lanes, typed(target.register, lanes))

    def _short_index(self, region: Region, scalar: Op) -> str | None:
        """Convert an index with a known stride to a shorter integer: 32-bit arithmetic will do."""
        target = format_of(scalar.dtype)
        if target.kind not in ("signed", "unsigned") or target.bits > 32 or target.bits < 8:
            return None
        index = scalar.args[0]
        affine = index if isinstance(index, Affine) else Affine(((index, 1),), 0, index.free)
        stride = affine.stride(region.vector_var)
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
        after, before = region.function.label(), region.code.label
        branch = region.branch()
        region.do(f"br i1 {some}, label %{branch.code.label}, label %{after}, !prof !0")
        slow_text = self.lanes(branch, slow, lanes)
        flags = typed("i1", lanes)
        chosen = branch.emit(f"select {flags} {wanted}, {kind} {slow_text}, {kind} {usual}")
        last = region.close_branch(branch, after)
        region.code.start_block(after)
        return region.emit(f"phi {kind} [{usual}, %{before}], [{chosen}, %{last}]")

    def _call_recipe(self, region: Region, scalar: Op, args: list[str], lanes: int) -> str:
        """Call the internal function of a recipe, emitting it at its first use."""
        module = region.function.module
        sources = tuple(arg.dtype for arg in scalar.args)
        key = (scalar.name, scalar.dtype, sources, lanes)
        form = format_of(scalar.dtype)
        result = typed(form.register, lanes)
        name = module.recipes.get(key)
        if name is None:
            suffix = f"{scalar.dtype.name}.{lanes}"
            name = module.recipes[key] = f"{scalar.name}.{suffix}"
            self._define_recipe(region, scalar, name, lanes)
        module.uses[name] = module.uses.get(name, 0) + 1
        kinds = [typed(format_of(source).register, lanes) for source in sources]
        passed = ", ".join(f"{kind} {arg}" for kind, arg in zip(kinds, args, strict=True))
        return region.emit(f'call {result} @"{name}"({passed})')

    def _define_recipe(self, caller: Region, scalar: Op, name: str, lanes: int) -> None:
        """Emit the function of a recipe: the recipe's DAG over parameters."""
        module = caller.function.module
        function = Function(module)
        entry = Region(
            None, function, "function", Code("entry"), var=Index("lane"), position="0", lanes=lanes
        )
        nodes, parameters, signature = Nodes(), [], []
        for number, arg in enumerate(scalar.args):
            holder = Buffer((), arg.dtype, "input", f"argument{number}")
            parameter = Load(holder, Affine((), 0, frozenset()), arg.dtype, frozenset((entry.var,)))
            parameters.append(parameter)
            kind = typed(format_of(arg.dtype).register, lanes)
            entry.cache[parameter] = Value(f"%a{number}", lanes, kind)
            signature.append(f"{kind} %a{number}")
        body = recipe(scalar.name, tuple(parameters), nodes)
        result = self.lanes(entry, body, lanes)
        kind = typed(format_of(scalar.dtype).register, lanes)
        entry.do(f"ret {kind} {result}")
        text = "\n".join(("entry:", *entry.code.lines))
        module.functions[name] = (f'{kind} @"{name}"({", ".join(signature)})', text)

    # Indices

    def _index(self, region: Region, index: Index) -> Value:
        """Give the value of a loop variable."""
        bound = region.bound(index)
        if bound is None:
            raise ValueError(f"loop variable {index.name} is not bound; this is a bug in tapeless")
        if region.vector_var is not index:
            return Value(bound.position, 1, "i64")
        return _count(bound, bound.position, 1)

    def _affine(self, region: Region, affine: Affine) -> Value:
        """Give the value of an index expression."""
        var = region.vector_var
        if var is None or var not in affine.free:
            return Value(self.position(region, affine), 1, "i64")
        lanes, stride = region.lanes, affine.stride(var)
        if stride is not None:
            return _count(region, self.position(region, affine), stride)
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
            part = bound.position if bound else self.value(region, term).text
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
        if stride in (1, -1):
            shift = 0 if stride == 1 else 1 - lanes
            pointer = self.address(region, load.buffer, load.index, shift)
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
        stride = index.stride(region.vector_var)
        if stride is not None:
            start = self.address(region, buffer, index)
            offsets = ramp("i64", stride, lanes)
            if abs(stride) * lanes < 1 << 31:
                offsets = ramp("i32", stride, lanes)
                return region.emit(
                    f"getelementptr {memory}, ptr {start}, <{lanes} x i32> {offsets}"
                )
            return region.emit(f"getelementptr {memory}, ptr {start}, <{lanes} x i64> {offsets}")
        start = self.base(region, buffer)
        offsets = self.lanes(region, index, lanes)
        kind = f"<{lanes} x i64>"
        if buffer.size < 1 << 31:
            offsets = region.emit(f"trunc {kind} {offsets} to <{lanes} x i32>")
            kind = f"<{lanes} x i32>"
        return region.emit(f"getelementptr {memory}, ptr {start}, {kind} {offsets}")

    def store(self, region: Region, store: Store) -> None:
        """Emit a store in a region whose vector variable, if any, the index may depend on."""
        form = format_of(store.buffer.dtype)
        lanes = region.lanes
        if lanes == 1:
            self._store_one(region, store, form)
            return
        mask = self._mask(region, store.guard)
        value = self.lanes(region, store.value, lanes)
        stride = store.index.stride(region.vector_var)
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
        write = store_lanes if unit else scatter
        write(region, raw, place, form, lanes, mask)

    def _store_one(self, region: Region, store: Store, form: Format) -> None:
        """Store one element, behind a branch if it is guarded."""
        target = region
        if store.guard is not None:
            wanted = self.value(region, store.guard).text
            after = region.function.label()
            target = region.branch()
            region.do(f"br i1 {wanted}, label %{target.code.label}, label %{after}")
        value = self.value(target, store.value).text
        pointer = self.address(target, store.buffer, store.index)
        if store.accumulate is not None:
            raw = target.emit(f"load {form.memory}, ptr {pointer}, align {form.size}")
            old = from_memory(target, raw, form, 1)
            value = operate(target, store.accumulate, [old, value], form, form, 1)
        raw = to_memory(target, value, form, 1)
        target.do(f"store {form.memory} {raw}, ptr {pointer}, align {form.size}")
        if target is not region:
            region.close_branch(target, after)
            region.code.start_block(after)


def _parts(scalar: Scalar) -> tuple[Scalar, ...]:
    """List everything that a scalar is made of."""
    if isinstance(scalar, Op):
        return scalar.args
    if isinstance(scalar, Affine):
        return tuple(term for term, _ in scalar.terms)
    if isinstance(scalar, Load):
        return (scalar.index,) if scalar.guard is None else (scalar.index, scalar.guard)
    if isinstance(scalar, Reduce):
        return (*scalar.elements, *scalar.inits)
    return ()


# Index arithmetic on texts: numbers fold, names are emitted


def carry(text: str, kind: str, origin: Function, region: Region) -> str:
    """Make the value `text` of the function `origin` known in `region`, perhaps of a task."""
    return text if region.function is origin else region.function.capture(text, kind)


def _count(region: Region, start: str, stride: int) -> Value:
    """Give start, start + stride, ... in lanes."""
    lanes = region.lanes
    first = splat_value(region, start, "i64", lanes)
    steps = ramp("i64", stride, lanes)
    return Value(region.emit(f"add <{lanes} x i64> {first}, {steps}"), lanes, f"<{lanes} x i64>")


def add(region: Region, x: str, y: str) -> str:
    """Add two 64-bit integers."""
    known = not x.startswith("%"), not y.startswith("%")
    if all(known):
        return str(int(x) + int(y))
    if known[0] and int(x) == 0:
        return y
    if known[1] and int(y) == 0:
        return x
    return region.emit(f"add nsw i64 {x}, {y}")


def multiply(region: Region, x: str, factor: int) -> str:
    """Multiply a 64-bit integer by a constant."""
    if not x.startswith("%"):
        return str(int(x) * factor)
    return x if factor == 1 else region.emit(f"mul nsw i64 {x}, {factor}")


def displace(region: Region, pointer: str, memory: str, offset: str) -> str:
    """Move a pointer by a number of elements."""
    if offset == "0":
        return pointer
    return region.emit(f"getelementptr inbounds {memory}, ptr {pointer}, i64 {offset}")


# Lanes


def splat_value(region: Region, text: str, register: str, lanes: int) -> str:
    """Copy one value to every lane."""
    if not text.startswith("%"):
        return f"splat ({register} {text})"
    kind = typed(register, lanes)
    first = region.emit(f"insertelement {kind} poison, {register} {text}, i64 0")
    return region.emit(
        f"shufflevector {kind} {first}, {kind} poison, <{lanes} x i32> zeroinitializer"
    )


def ramp(register: str, stride: int, lanes: int) -> str:
    """Spell the constant (0, stride, 2 * stride, ...)."""
    return f"<{', '.join(f'{register} {stride * lane}' for lane in range(lanes))}>"


def reverse(region: Region, text: str, element: str, lanes: int) -> str:
    """Reverse the order of lanes."""
    kind = typed(element, lanes)
    order = ramp("i32", -1, lanes).replace("i32 -", "i32 ")
    order = ", ".join(f"i32 {lanes - 1 - lane}" for lane in range(lanes))
    return region.emit(f"shufflevector {kind} {text}, {kind} poison, <{lanes} x i32> <{order}>")


def load_lanes(region: Region, pointer: str, form: Format, lanes: int, mask: str | None) -> str:
    """Load consecutive elements; lanes that are masked off are 0."""
    kind = typed(form.memory, lanes)
    if mask is None:
        return region.emit(f"load {kind}, ptr {pointer}, align {form.size}")
    name = f"llvm.masked.load.v{lanes}{memory_suffix(form)}.p0"
    region.declare(name, f"{kind} (ptr, i32, <{lanes} x i1>, {kind})")
    place = f"ptr {pointer}, i32 {form.size}"
    return region.emit(
        f"call {kind} @{name}({place}, <{lanes} x i1> {mask}, {kind} zeroinitializer)"
    )


def store_lanes(
    region: Region, raw: str, pointer: str, form: Format, lanes: int, mask: str | None
) -> None:
    """Store consecutive elements."""
    kind = typed(form.memory, lanes)
    if mask is None:
        region.do(f"store {kind} {raw}, ptr {pointer}, align {form.size}")
        return
    name = f"llvm.masked.store.v{lanes}{memory_suffix(form)}.p0"
    region.declare(name, f"void ({kind}, ptr, i32, <{lanes} x i1>)")
    place = f"ptr {pointer}, i32 {form.size}"
    region.do(f"call void @{name}({kind} {raw}, {place}, <{lanes} x i1> {mask})")


def gather(region: Region, pointers: str, form: Format, lanes: int, mask: str | None) -> str:
    """Load from one address per lane; lanes that are masked off are 0."""
    kind = typed(form.memory, lanes)
    name = f"llvm.masked.gather.v{lanes}{memory_suffix(form)}.v{lanes}p0"
    region.declare(name, f"{kind} (<{lanes} x ptr>, i32, <{lanes} x i1>, {kind})")
    wanted = mask or "splat (i1 true)"
    place = f"<{lanes} x ptr> {pointers}, i32 {form.size}"
    return region.emit(
        f"call {kind} @{name}({place}, <{lanes} x i1> {wanted}, {kind} zeroinitializer)"
    )


def scatter(
    region: Region, raw: str, pointers: str, form: Format, lanes: int, mask: str | None
) -> None:
    """Store to one address per lane."""
    kind = typed(form.memory, lanes)
    name = f"llvm.masked.scatter.v{lanes}{memory_suffix(form)}.v{lanes}p0"
    region.declare(name, f"void ({kind}, <{lanes} x ptr>, i32, <{lanes} x i1>)")
    wanted = mask or "splat (i1 true)"
    place = f"<{lanes} x ptr> {pointers}, i32 {form.size}"
    region.do(f"call void @{name}({kind} {raw}, {place}, <{lanes} x i1> {wanted})")


def memory_suffix(form: Format) -> str:
    """Spell the memory type the way intrinsic names do."""
    return {"float": "f32", "double": "f64"}.get(form.memory, form.memory)
