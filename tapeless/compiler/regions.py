"""Where emitted text goes: modules, straight-line code, and the regions that scope values.

A `Region` is a piece of the program that is entered and left as a whole: a function's body, a loop,
a branch, or one lane group of an unrolled loop. It knows its parent, the values that were computed
in it, and which buffers are written while it runs. While an inner region is being written, its
parents stay open at their end, which is the place just before the inner region begins; so a
value that does not depend on the inner loop is simply written to the outer region, and that is all
there is to hoisting.

Text lives in `Code`. An instance (one copy of an unrolled body) shares its parent's code;
a loop or a branch has its own, which is spliced into the parent's when it is closed.

Invariant: a value cached in a region is defined by text that dominates everything the region, and
the regions opened in it later, will still write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Sequence
from typing import NamedTuple

from tapeless.compiler.target import Target
from tapeless.kernel.ir import Buffer, Index

__all__ = ["Code", "Counter", "Function", "Module", "Region", "Value"]

_LINE = 64  # bytes of a line of the cache, and of the widest vector register
_INLINE_USES = 3
_PIECE = 12_000  # characters of a module, ten milliseconds and more
_NAME = re.compile(r'@(?:([\w.]+)|"([^"]+)")')
_TABLE = re.compile(r"@table\d+")
_VECTOR = re.compile(r"<\d+ x")


class Value(NamedTuple):
    """The text of a computed value, its number of lanes, and its LLVM type."""

    text: str
    lanes: int
    kind: str


class Module:
    """The text of one LLVM module: functions, declarations, and the target they are for.

    exported: the function that is called from outside; uses: how often functions are called;
    extras: how to make the text of modules that this one needs by symbol.
    """

    def __init__(self, target: Target, exported: str) -> None:
        """Start an empty module for `target`."""
        self.target = target
        self.exported = exported
        self.declared: dict[str, str] = {}
        self.functions: dict[str, tuple[str, str]] = {}
        self.extras: dict[str, Callable[[], str]] = {}
        self.uses: dict[str, int] = {}
        self.tables: list[str] = []
        self.rewards_effort = False

    def declare(self, name: str, signature: str) -> None:
        """Note the use of an external function; the signature is `ret (args)`."""
        self.declared.setdefault(name, signature)

    def constant(self, kind: str, fields: str) -> str:
        """Add a constant structure; return its name."""
        name = f"@table{len(self.tables)}"
        self.tables.append(f"{name} = internal constant {kind} {{ {fields} }}, align 8")
        return name

    def text(self) -> str:
        """Give the whole module."""
        return self._written(self.functions, {self.exported}, ())

    def cut(self, most: int) -> list[str]:
        """Give the whole as at most so many modules of about one length, if that is worth while.

        What is inlined is in each module that calls it.
        """
        inlined = {name for name in self.functions if self._is_inlined(name)}
        sizes = {name: len(f[1]) for name, f in self.functions.items() if name not in inlined}
        total, longest = sum(sizes.values()), max(sizes.values())
        count = min(most, total // _PIECE, (total + longest // 2) // longest)
        if count < 2:
            return [self.text()]
        shares: list[list[str]] = [[] for _ in range(count)]
        for name in sorted(sizes, key=lambda name: -sizes[name]):
            min(shares, key=lambda share: sum(map(sizes.__getitem__, share))).append(name)
        called = [self._called(share, inlined) for share in shares]
        texts = []
        for place, share in enumerate(shares):
            others = {name for n, names in enumerate(called) if n != place for name in names}
            within = [name for name in self.functions if name in {*share, *called[place] & inlined}]
            away = [name for name in self.functions if name in called[place] - {*share, *inlined}]
            texts.append(self._written(within, {self.exported, *others} - inlined, away))
        return texts

    def _called(self, names: Iterable[str], inlined: set[str]) -> set[str]:
        """Return the functions that some functions name, also by those that are inlined."""
        found: set[str] = set()
        left = list(names)
        while left:
            named = _NAME.findall(self.functions[left.pop()][1])
            new = {name for pair in named for name in pair if name in self.functions} - found
            found |= new
            left += new & inlined
        return found

    def _is_inlined(self, name: str) -> bool:
        """Tell whether a function is written where it is called; its copies are cheap."""
        return 0 < self.uses.get(name, 0) <= _INLINE_USES

    def _written(self, names: Iterable[str], visible: Container[str], away: Iterable[str]) -> str:
        """Write a module of some functions.

        visible: what others may call; away: functions of other modules that these call.
        """
        bodies = "".join(self.functions[name][1] for name in names)
        used = set(_TABLE.findall(bodies))
        lines = [each for each in self.tables if each.split(" ", 1)[0] in used]
        if "@zeros" in bodies:
            lines.append("@zeros = internal constant [8 x i8] zeroinitializer, align 8")
        for name in names:
            signature, body = self.functions[name]
            link = "" if name in visible else "internal "
            attribute = "alwaysinline nounwind" if self._is_inlined(name) else "nounwind"
            if _VECTOR.search(body):  # what is put aside must not lie across two lines of the cache
                attribute += f" alignstack({self.target.vector_bytes})"
            lines.append(f"define {link}{signature} {attribute} {{\n{body}\n}}")
        lines += [f"declare {self.functions[name][0]}" for name in away]
        for name, signature in self.declared.items():
            result, arguments = signature.split(" (", 1)
            lines.append(f'declare {result} @"{name}"({arguments}')
        lines.append('!0 = !{!"branch_weights", i32 1, i32 2000}\n!1 = !{i32 1}\n')
        return "\n".join(lines)


def _lines_of(kind: str) -> int:
    """Return how many lines of the cache have room for a value; no lane has more than 8 bytes."""
    found = re.match(r"<(\d+) x", kind)
    return -(-int(found[1]) * 8 // _LINE) if found else 1


class Function:
    """What is counted and collected per LLVM function: names, stack slots, captured values.

    A task (the body of a parallel loop) is a function of its own that uses values of the function
    around it. Each such value is captured: the caller stores it in a context, each in lines of the
    cache of its own, and the task's first block loads it.
    """

    def __init__(self, module: Module, outer: Function | None = None) -> None:
        """Start a function of `module`; `outer` is the function around a task."""
        self.module = module
        self.outer = outer
        self.slots: list[str] = []
        self.prologue: list[str] = []
        self.captured: dict[str, tuple[str, str, int]] = {}  # name, type, place
        self.context_size = 0
        self.budget: str | None = None
        self._n_names = 0

    def capture(self, text: str, kind: str) -> str:
        """Make a value of the function around this task known here."""
        if not text.startswith("%"):
            return text
        known = self.captured.get(text)
        if known is not None:
            return known[0]
        place, name = self.name(), self.name()
        offset = self.context_size
        self.prologue.append(f"  {place} = getelementptr i8, ptr %context, i64 {offset}")
        self.prologue.append(f"  {name} = load {kind}, ptr {place}, align {_LINE}")
        self.captured[text] = (name, kind, offset)
        self.context_size += _lines_of(kind) * _LINE
        return name

    def name(self) -> str:
        """Make a new value name."""
        self._n_names += 1
        return f"%v{self._n_names}"

    def label(self) -> str:
        """Make a new block label."""
        self._n_names += 1
        return f"b{self._n_names}"

    def slot(self, kind: str) -> str:
        """Reserve stack memory of the LLVM type `kind` for the whole call."""
        name = self.name()
        self.slots.append(f"  {name} = alloca {kind}, align 64")
        return name


class Code:
    """A growing piece of text and the label of the block that it ends in."""

    __slots__ = ("label", "lines")

    def __init__(self, label: str) -> None:
        """Start in the block `label`."""
        self.lines: list[str] = []
        self.label = label

    def start_block(self, label: str) -> None:
        """Begin a new basic block."""
        self.lines.append(f"{label}:")
        self.label = label


class Region:
    """A scope for values; see the module's docstring.

    kind: "function", "loop" (runs any number of times, once at least), "branch" (may not run),
    "body" (the body of a `While`: may not run, but may be anticipated) or "instance".
    var, position, lanes: the loop variable that is bound here, its value in lane 0, and how many
    consecutive values of it the lanes hold; mask: the i1 lanes that are wanted, or None for all.
    writes: the buffers that are written while the region runs.
    outer: for the outermost region of a task, the region of the calling function around it.
    private: there, the buffers that the task has in memory of its own.
    streamed: the buffers whose lanes are whole lines that are stored past the caches.
    """

    def __init__(
        self,
        parent: Region | None,
        function: Function,
        kind: str,
        code: Code,
        *,
        var: Index | None = None,
        position: str = "",
        lanes: int = 1,
        mask: str | None = None,
        writes: frozenset[Buffer] = frozenset(),
        outer: Region | None = None,
    ) -> None:
        """Open a region."""
        self.parent = parent
        self.outer = outer
        self.function = function
        self.kind = kind
        self.code = code
        self.var = var
        self.position = position
        self.writes = writes
        around = parent or outer
        self.depth = around.depth + 1 if around else 0
        self.cache: dict[object, Value] = {}
        self.groups: dict[object, tuple[Value, ...]] = {}
        self.private: frozenset[Buffer] = frozenset()
        self.streamed: frozenset[Buffer] = frozenset()
        self.readers: dict[Buffer, list[object]] = {}
        vectorised = lanes > 1
        self.vector_var: Index | None = None
        self.lanes, self.mask = 1, None
        if vectorised:
            self.vector_var, self.lanes, self.mask = var, lanes, mask
        elif parent is not None:
            self.vector_var, self.lanes, self.mask = parent.vector_var, parent.lanes, parent.mask

    @property
    def has_half(self) -> bool:
        """Whether float16 conversions are instructions of the target."""
        return self.function.module.target.half

    def emit(self, instruction: str) -> str:
        """Append `%n = instruction` and return `%n`."""
        name = self.function.name()
        self.code.lines.append(f"  {name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Append an instruction without a result."""
        self.code.lines.append(f"  {instruction}")

    def declare(self, name: str, signature: str) -> None:
        """Note that the module uses an external function."""
        self.function.module.declare(name, signature)

    def bound(self, var: Index) -> Region | None:
        """Find the region that binds a loop variable."""
        region: Region | None = self
        while region is not None and region.var is not var:
            region = region.parent or region.outer
        return region

    def root(self) -> Region:
        """Return the outermost region of this function."""
        region = self
        while region.parent is not None:
            region = region.parent
        return region

    @property
    def is_repeated(self) -> bool:
        """Whether the region is in a loop of its function."""
        region: Region | None = self
        while region is not None and region.kind != "loop":
            region = region.parent
        return region is not None

    @property
    def lane_var(self) -> Index:
        """The variable that lanes stand for; only where there are lanes."""
        assert self.vector_var is not None, "the region has no lanes"
        return self.vector_var

    def instance(
        self, var: Index, position: str, lanes: int = 1, mask: str | None = None
    ) -> Region:
        """Open a copy of a loop's body at a given position, in the same code."""
        return Region(
            self,
            self.function,
            "instance",
            self.code,
            var=var,
            position=position,
            lanes=lanes,
            mask=mask,
        )

    def branch(self, kind: str = "branch", label: str | None = None) -> Region:
        """Open a region that starts a block of its own; `close_branch` ends it."""
        label = label or self.function.label()
        region = Region(self, self.function, kind, Code(label))
        region.code.start_block(label)
        return region

    def close_branch(self, region: Region, target: str) -> str:
        """Jump to the block `target`, splice the branch, and return its last label."""
        region.do(f"br label %{target}")
        self.code.lines.extend(region.code.lines)
        return region.code.label

    def forget(self, buffers: frozenset[Buffer]) -> None:
        """Drop the cached values, here and outwards, that were read from `buffers`."""
        region: Region | None = self
        while region is not None:
            for buffer in buffers & region.readers.keys():
                for key in region.readers.pop(buffer):
                    region.cache.pop(key, None)
                    region.groups.pop(key, None)
            region = region.parent or region.outer


class Counter:
    """A counted loop under construction: at least one iteration, tested at its end."""

    def __init__(
        self,
        parent: Region,
        start: str,
        *,
        writes: frozenset[Buffer] = frozenset(),
        var: Index | None = None,
        lanes: int = 1,
    ) -> None:
        """Open the loop; its region's position counts from `start`."""
        function = parent.function
        self.parent = parent
        self._start = start
        self._label = function.label()
        self.index = function.name()
        self.region = Region(
            parent,
            function,
            "loop",
            Code(self._label),
            var=var,
            position=self.index,
            lanes=lanes,
            writes=writes,
        )
        self._phis: list[tuple[str, str, str]] = []

    def carry(self, kind: str, initial: str) -> str:
        """Add a value of LLVM type `kind` that each iteration hands to the next."""
        name = self.parent.function.name()
        self._phis.append((name, kind, initial))
        return name

    def close(self, stop: str, step: int, carried: Sequence[str] = ()) -> None:
        """End the loop before position `stop`; `carried` are the new values."""
        region, parent = self.region, self.parent
        following = region.emit(f"add nsw i64 {self.index}, {step}")
        more = region.emit(f"icmp slt i64 {following}, {stop}")
        after = parent.function.label()
        region.do(f"br i1 {more}, label %{self._label}, label %{after}")
        lines, before, last = parent.code.lines, parent.code.label, region.code.label
        parent.do(f"br label %{self._label}")
        lines.append(f"{self._label}:")
        lines.append(f"  {self.index} = phi i64 [{self._start}, %{before}], [{following}, %{last}]")
        for (name, kind, initial), new in zip(self._phis, carried, strict=True):
            lines.append(f"  {name} = phi {kind} [{initial}, %{before}], [{new}, %{last}]")
        lines.extend(region.code.lines)
        parent.code.start_block(after)
