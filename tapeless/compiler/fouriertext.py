"""Fourier transforms of groups of lines as LLVM text; see `kernel/fourier.py` for what they do.

A butterfly is written out for its factor: the numbers are pairs of names of vectors. Factors of
eight are two of four and constants; odd ones use that their roots are mirrored. Numbers of tables
are spread over a vector, which is part of an x86 instruction that multiplies.

Rows are transposed in square tiles, each number of rows and columns that a vector has. The last
tile of a row overlaps the one before. Rows that do not exist are read from, and written to before,
the last one that does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from tapeless.kernel.fourier import Fourier, fourier_of, table_of

__all__ = ["fourier_text"]

Pair = tuple[str, str]  # the names of a real and an imaginary part


def fourier_text(symbol: str) -> str:
    """Give the module that exports the routine of a symbol."""
    text = _Text(fourier_of(symbol))
    name = text.routine.kind
    if "." in name:
        return text.table(symbol)
    write = getattr(text, name, text.passing)
    return text.module(symbol, write)


class _Text:
    """The text of one routine."""

    def __init__(self, routine: Fourier) -> None:
        """Name the types."""
        self.routine, self.lanes = routine, routine.lanes
        self.size = routine.dtype.itemsize
        self.scalar = {4: "float", 8: "double"}[self.size]
        self.vector = f"<{self.lanes} x {self.scalar}>"
        self.mask = f"<{self.lanes} x i1>"
        self.suffix = f"v{self.lanes}f{8 * self.size}"
        self.swaps = routine.sign < 0
        self.lines: list[str] = []
        self.count = 0
        self.block, self.scale = "entry", ""

    def emit(self, text: str) -> str:
        """Add an instruction with a result; return its name."""
        self.count += 1
        name = f"%t{self.count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, line: str) -> None:
        """Add an instruction without a result, or a label."""
        self.lines.append(line if line.endswith(":") else f"  {line}")

    def module(
        self,
        symbol: str,
        write: Callable[[], str],
    ) -> str:
        """Write a function; write: adds its instructions, and returns its arguments."""
        arguments = write()
        vector, mask, suffix = self.vector, self.mask, self.suffix
        head = [
            f"declare {vector} @llvm.fma.{suffix}({vector}, {vector}, {vector})",
            f"declare {vector} @llvm.masked.load.{suffix}.p0(ptr, i32, {mask}, {vector})",
            f"declare void @llvm.masked.store.{suffix}.p0({vector}, ptr, i32, {mask})",
            "declare i64 @llvm.umin.i64(i64, i64)",
            f'define void @"{symbol}"({arguments}) nounwind {{',
            "entry:",
        ]
        return "\n".join([*head, *self.lines, "  ret void", "}"]) + "\n"

    def table(self, symbol: str) -> str:
        """Write the module of a table: a function that copies it."""
        numbers = table_of(self.routine)
        word = f"i{8 * self.size}"
        words = ", ".join(f"{word} {x}" for x in numbers.view(f"u{self.size}").tolist())
        kind = f"[{numbers.size} x {word}]"

        def copy() -> str:
            """Copy it pair by pair."""
            pair = f"<2 x {word}>"

            def one(i: str) -> None:
                """Copy a pair."""
                source = self.emit(f"getelementptr {pair}, ptr @table, i64 {i}")
                target = self.emit(f"getelementptr {pair}, ptr %out, i64 {i}")
                value = self.emit(f"load {pair}, ptr {source}, align {self.size}")
                self.do(f"store {pair} {value}, ptr {target}, align {self.size}")

            self.loop(str(numbers.size // 2), one)
            return "ptr noalias %out"

        text = self.module(symbol, copy)
        return f"@table = internal constant {kind} [{words}], align 64\n{text}"

    # Parts of functions

    def loop(
        self,
        extent: str,
        body: Callable[[str], None],
        first: int = 0,
    ) -> None:
        """Write a loop from `first` up to `extent`."""
        self.count += 1
        name = f"l{self.count}"
        before = self.block
        self.do(f"br label %{name}.head")
        self.do(f"{name}.head:")
        self.do(f"%{name} = phi i64 [{first}, %{before}], [%{name}.next, %{name}.last]")
        self.do(f"%{name}.more = icmp slt i64 %{name}, {extent}")
        self.do(f"br i1 %{name}.more, label %{name}.body, label %{name}.end")
        self.do(f"{name}.body:")
        self.block = f"{name}.body"
        body(f"%{name}")
        self.do(f"br label %{name}.last")
        self.do(f"{name}.last:")
        self.do(f"%{name}.next = add i64 %{name}, 1")
        self.do(f"br label %{name}.head")
        self.do(f"{name}.end:")
        self.block = f"{name}.end"

    def place(
        self,
        base: str,
        index: str | int,
    ) -> str:
        """Return the address of a number."""
        return self.emit(f"getelementptr {self.scalar}, ptr {base}, i64 {index}")

    def moved(
        self,
        base: str,
        index: str | int,
        step: str | int,
    ) -> str:
        """Return the address of a number that is some steps away."""
        return self.place(base, self.emit(f"mul i64 {index}, {step}"))

    def load(self, place: str) -> str:
        """Load a vector."""
        return self.emit(f"load {self.vector}, ptr {place}, align {self.size}")

    def store(
        self,
        value: str,
        place: str,
    ) -> None:
        """Store a vector."""
        self.do(f"store {self.vector} {value}, ptr {place}, align {self.size}")

    def spread(self, value: str) -> str:
        """Return a vector of one number."""
        one = self.emit(f"insertelement {self.vector} poison, {self.scalar} {value}, i64 0")
        order = f"<{self.lanes} x i32> zeroinitializer"
        return self.emit(f"shufflevector {self.vector} {one}, {self.vector} poison, {order}")

    def number(
        self,
        base: str,
        index: str | int,
    ) -> str:
        """Load a number, and spread it."""
        place = self.place(base, index)
        return self.spread(self.emit(f"load {self.scalar}, ptr {place}, align {self.size}"))

    def constant(self, value: float) -> str:
        """Return a vector of a constant."""
        exact = np.asarray(value, self.routine.dtype).astype(np.float64)
        text = f"{self.scalar} 0x{int(exact.view(np.uint64)):016X}"
        return "<" + ", ".join([text] * self.lanes) + ">"

    def shuffled(
        self,
        x: str,
        y: str,
        order: Sequence[int],
    ) -> str:
        """Return lanes of two vectors."""
        indices = ", ".join(f"i32 {lane}" for lane in order)
        kind = f"<{self.lanes} x i32>"
        return self.emit(f"shufflevector {self.vector} {x}, {self.vector} {y}, {kind} <{indices}>")

    def scaled(self, value: str) -> str:
        """Return a vector times the scale."""
        return self.multiply(value, self.scale)

    def add(
        self,
        x: str,
        y: str,
    ) -> str:
        """Return x + y."""
        return self.emit(f"fadd {self.vector} {x}, {y}")

    def subtract(
        self,
        x: str,
        y: str,
    ) -> str:
        """Return x - y."""
        return self.emit(f"fsub {self.vector} {x}, {y}")

    def multiply(
        self,
        x: str,
        y: str,
    ) -> str:
        """Return x y."""
        return self.emit(f"fmul {self.vector} {x}, {y}")

    def fma(
        self,
        x: str,
        y: str,
        z: str,
    ) -> str:
        """Return x y + z, rounded once."""
        arguments = ", ".join(f"{self.vector} {value}" for value in (x, y, z))
        return self.emit(f"call {self.vector} @llvm.fma.{self.suffix}({arguments})")

    def negative(self, x: str) -> str:
        """Return -x."""
        return self.emit(f"fneg {self.vector} {x}")

    def sum(
        self,
        x: Pair,
        y: Pair,
    ) -> Pair:
        """Return x + y of complex numbers."""
        return self.add(x[0], y[0]), self.add(x[1], y[1])

    def difference(
        self,
        x: Pair,
        y: Pair,
    ) -> Pair:
        """Return x - y of complex numbers."""
        return self.subtract(x[0], y[0]), self.subtract(x[1], y[1])

    def product(
        self,
        x: Pair,
        w: Pair,
    ) -> Pair:
        """Return x w of complex numbers."""
        cross = self.negative(self.multiply(x[1], w[1]))
        return self.fma(x[0], w[0], cross), self.fma(x[0], w[1], self.multiply(x[1], w[0]))

    # Numbers of groups and columns

    def pair_at(
        self,
        base: str,
        index: str | int,
    ) -> Pair:
        """Load the numbers at a place of a group."""
        return self.near(self.moved(base, index, 2 * self.lanes))

    def put(
        self,
        x: Pair,
        base: str,
        index: str,
        swaps: bool = False,
    ) -> None:
        """Store the numbers at a place of a group."""
        place = self.moved(base, index, 2 * self.lanes)
        self.put_near((x[swaps], x[not swaps]), place)

    def masks(self) -> None:
        """Compute which halves of columns exist."""
        twice = self.emit("shl i64 %count, 1")
        one = self.emit(f"insertelement <{self.lanes} x i64> poison, i64 {twice}, i64 0")
        kind = f"<{self.lanes} x i64>"
        order = f"<{self.lanes} x i32> zeroinitializer"
        limit = self.emit(f"shufflevector {kind} {one}, {kind} poison, {order}")
        for name, first in (("low", 0), ("high", self.lanes)):
            places = ", ".join(f"i64 {first + lane}" for lane in range(self.lanes))
            self.do(f"%{name} = icmp slt {kind} <{places}>, {limit}")

    def column(self, place: str) -> Pair:
        """Load numbers that lie beside each other."""
        halves = []
        for name, offset in (("low", 0), ("high", self.lanes)):
            at = self.place(place, offset)
            masked = f"ptr {at}, i32 {self.size}, {self.mask} %{name}, "
            masked += f"{self.vector} zeroinitializer"
            halves.append(
                self.emit(f"call {self.vector} @llvm.masked.load.{self.suffix}.p0({masked})")
            )
        low, high = halves
        parts = [self.shuffled(low, high, range(k, 2 * self.lanes, 2)) for k in (0, 1)]
        return parts[self.swaps], parts[not self.swaps]

    def put_column(
        self,
        x: Pair,
        place: str,
    ) -> None:
        """Store numbers beside each other."""
        even, odd = self.scaled(x[self.swaps]), self.scaled(x[not self.swaps])
        for name, first in (("low", 0), ("high", self.lanes)):
            lanes = range(first // 2, (first + self.lanes) // 2)
            order = [part * self.lanes + lane for lane in lanes for part in (0, 1)]
            value = self.shuffled(even, odd, order)
            masked = f"{self.vector} {value}, ptr {self.place(place, first)}, i32 {self.size}, "
            masked += f"{self.mask} %{name}"
            self.do(f"call void @llvm.masked.store.{self.suffix}.p0({masked})")

    # Passes

    def passing(self) -> str:
        """Write a pass; see `kernel/fourier.py` for the letters of its kind."""
        factor = self.routine.factor
        reads, writes, *turns = self.routine.kind[len(str(factor)) :]
        if "c" in (reads, writes):
            self.masks()
        if writes == "c":
            self.scale = self.spread("%scale")
        leap = self.emit("mul i64 %P, %s")
        x_leap = self.emit(f"mul i64 {leap}, %x_step")
        y_leap = self.emit("mul i64 %s, %y_step")
        y_part = self.emit(f"mul i64 {y_leap}, {factor}")
        n_roots = 2 * (factor - 1) if turns else 0

        def part(p: str) -> None:
            """Write the butterflies that share their roots."""
            first = self.emit(f"mul i64 {p}, %s")
            source = self.moved("%x", first, "%x_step")
            target = self.moved("%y", p, y_part)
            row = self.moved("%table", p, n_roots)
            roots = [self.number(row, i) for i in range(n_roots)]

            def butterfly(q: str) -> None:
                """Write one of them."""
                here = self.moved(source, q, "%x_step")
                there = self.moved(target, q, "%y_step")
                numbers = []
                for _ in range(factor):
                    number = self.column(here) if reads == "c" else self.near(here)
                    numbers.append(number)
                    here = self.place(here, x_leap)
                for i, value in enumerate(self.transform(numbers)):
                    if i and turns:
                        root = (roots[2 * i - 2], roots[2 * i - 1])
                        value = self.product(value, root)
                    if writes == "c":
                        self.put_column(value, there)
                    else:
                        self.put_near(value, there)
                    there = self.place(there, y_leap)

            self.loop("%s", butterfly)

        self.loop("%P", part)
        sizes = "i64 %P, i64 %s, i64 %x_step, i64 %y_step, i64 %count"
        return f"ptr %x, ptr %y, ptr %table, {sizes}, {self.scalar} %scale"

    def near(self, place: str) -> Pair:
        """Load the numbers of a group at an address."""
        return self.load(place), self.load(self.place(place, self.lanes))

    def put_near(
        self,
        x: Pair,
        place: str,
    ) -> None:
        """Store the numbers of a group at an address."""
        self.store(x[0], place)
        self.store(x[1], self.place(place, self.lanes))

    def transform(self, x: Sequence[Pair]) -> list[Pair]:
        """Return the transform of a few numbers."""
        n = len(x)
        if n == 1:
            return list(x)
        if n % 2:
            return self.odd(x)
        even, odd = self.transform(x[::2]), self.transform(x[1::2])
        low, high = [], []
        for k, (a, b) in enumerate(zip(even, odd, strict=True)):
            if 4 * k == n:
                # b times -i: its parts are exchanged.
                low.append((self.add(a[0], b[1]), self.subtract(a[1], b[0])))
                high.append((self.subtract(a[0], b[1]), self.add(a[1], b[0])))
                continue
            if k:
                b = self.eighth(b, k)
            low.append(self.sum(a, b))
            high.append(self.difference(a, b))
        return low + high

    def eighth(
        self,
        x: Pair,
        k: int,
    ) -> Pair:
        """Return x times exp(-2 pi i k / 8) for k of 1 or 3."""
        half = self.constant(math.sqrt(0.5))
        if k == 1:
            return (
                self.multiply(self.add(x[0], x[1]), half),
                self.multiply(self.subtract(x[1], x[0]), half),
            )
        minus = self.constant(-math.sqrt(0.5))
        return (
            self.multiply(self.subtract(x[1], x[0]), half),
            self.multiply(self.add(x[0], x[1]), minus),
        )

    def odd(self, x: Sequence[Pair]) -> list[Pair]:
        """Return the transform of an odd number of numbers."""
        n = len(x)
        half = range(1, n // 2 + 1)
        sums = [self.sum(x[j], x[n - j]) for j in half]
        differences = [self.difference(x[j], x[n - j]) for j in half]
        total = x[0]
        for each in sums:
            total = self.sum(total, each)
        found = [total, *[total] * (n - 1)]
        for k in half:
            even, turned = x[0], ("", "")
            for j, s, d in zip(half, sums, differences, strict=True):
                angle = 2 * math.pi * (j * k % n) / n
                cosine, sine = self.constant(math.cos(angle)), self.constant(math.sin(angle))
                even = (self.fma(s[0], cosine, even[0]), self.fma(s[1], cosine, even[1]))
                if j == 1:
                    turned = (self.multiply(d[0], sine), self.multiply(d[1], sine))
                    continue
                turned = (self.fma(d[0], sine, turned[0]), self.fma(d[1], sine, turned[1]))
            found[k] = (self.add(even[0], turned[1]), self.subtract(even[1], turned[0]))
            found[n - k] = (self.subtract(even[0], turned[1]), self.add(even[1], turned[0]))
        return found

    # Rows

    def tiles(self, body: Callable[[str], None]) -> None:
        """Write the loop over tiles of rows; the last one may overlap."""
        last = self.emit(f"sub i64 %numbers, {self.lanes}")
        several = self.emit(f"add i64 %numbers, {self.lanes - 1}")
        extent = self.emit(f"sdiv i64 {several}, {self.lanes}")

        def tile(i: str) -> None:
            """Write one."""
            start = self.emit(f"mul i64 {i}, {self.lanes}")
            body(self.emit(f"call i64 @llvm.umin.i64(i64 {start}, i64 {last})"))

        self.loop(extent, tile)

    def row(
        self,
        base: str,
        row: int,
        start: str,
    ) -> str:
        """Return the address of a place in a row, or in the last one that exists."""
        last = self.emit("sub i64 %count, 1")
        which = self.emit(f"call i64 @llvm.umin.i64(i64 {row}, i64 {last})")
        return self.place(self.moved(base, which, "%step"), start)

    def transposed(self, rows: Sequence[str]) -> list[str]:
        """Transpose a tile: blocks off the diagonal change places, larger and larger ones."""
        rows, step = list(rows), 1
        lanes = range(self.lanes)
        while step < self.lanes:
            for i in lanes:
                if i & step:
                    continue
                x, y = rows[i], rows[i + step]
                upper = [j if not j & step else self.lanes + j - step for j in lanes]
                lower = [j + step if not j & step else self.lanes + j for j in lanes]
                rows[i], rows[i + step] = self.shuffled(x, y, upper), self.shuffled(x, y, lower)
            step *= 2
        return rows

    def gather(self) -> str:
        """Write what brings rows to the memory of a group."""

        def tile(start: str) -> None:
            """Write a tile."""
            rows = [self.load(self.row("%rows", row, start)) for row in range(self.lanes)]
            target = self.moved("%group", start, self.lanes)
            for k, value in enumerate(self.transposed(rows)):
                self.store(value, self.place(target, (k ^ self.swaps) * self.lanes))

        self.tiles(tile)
        return "ptr %rows, ptr noalias %group, i64 %numbers, i64 %step, i64 %count"

    def scatter(self) -> str:
        """Write what brings the numbers of a group to rows."""
        self.scale = self.spread("%scale")

        def tile(start: str) -> None:
            """Write a tile."""
            source = self.moved("%group", start, self.lanes)
            places = [(k ^ self.swaps) * self.lanes for k in range(self.lanes)]
            columns = [self.scaled(self.load(self.place(source, k))) for k in places]
            rows = self.transposed(columns)
            for row in reversed(range(self.lanes)):
                self.store(rows[row], self.row("%rows", row, start))

        self.tiles(tile)
        sizes = "i64 %numbers, i64 %step, i64 %count"
        return f"ptr %group, ptr noalias %rows, {sizes}, {self.scalar} %scale"

    def twist(self) -> str:
        """Write the products between two steps."""

        def one(k: str) -> None:
            """Write one."""
            scalar = self.root("%scalars", k)
            root = self.product(self.pair_at("%vectors", k), scalar)
            self.put(self.product(self.pair_at("%group", k), root), "%group", k)

        self.loop("%size", one)
        return "ptr noalias %group, ptr noalias %scalars, ptr noalias %vectors, i64 %size"

    # Real numbers

    def root(
        self,
        base: str,
        k: str,
    ) -> Pair:
        """Load a power of a root, and spread it."""
        place = self.moved(base, k, 2)
        return self.number(place, 0), self.number(place, 1)

    def split(self) -> str:
        """Write what makes the spectrum of real numbers of that of pairs of them."""
        return self.spectrum(False)

    def whole(self) -> str:
        """Write the same for both halves of the spectrum."""
        return self.spectrum(True)

    def spectrum(self, is_whole: bool) -> str:
        """Write `split` or `whole`."""
        one_half, minus_half = self.constant(0.5), self.constant(-0.5)

        def pair(k: str) -> None:
            """Write the numbers at k and half - k."""
            other = self.emit(f"sub i64 %half, {k}")
            is_first = self.emit(f"icmp eq i64 {k}, 0")
            a = self.pair_at("%group", k)
            b = self.pair_at("%group", self.emit(f"select i1 {is_first}, i64 0, i64 {other}"))
            even = (
                self.multiply(self.add(a[0], b[0]), one_half),
                self.multiply(self.subtract(a[1], b[1]), one_half),
            )
            odd = (
                self.multiply(self.add(a[1], b[1]), one_half),
                self.multiply(self.subtract(a[0], b[0]), minus_half),
            )
            turned = self.product(odd, self.root("%table", k))
            low, high = self.sum(even, turned), self.difference(even, turned)
            high = (high[0], self.negative(high[1]))
            for x, place in ((low, k), (high, other)):
                mirror = self.mirrored(place) if is_whole else place
                if is_whole:
                    self.put((x[0], self.negative(x[1])), "%out", place if self.swaps else mirror)
                self.put(x, "%out", mirror if self.swaps else place)

        middle = self.emit("sdiv i64 %half, 2")
        self.loop(self.emit(f"add i64 {middle}, 1"), pair)
        return "ptr noalias %group, ptr noalias %out, ptr noalias %table, i64 %half"

    def mirrored(self, place: str) -> str:
        """Return the other place of a number in a whole spectrum."""
        is_first = self.emit(f"icmp eq i64 {place}, 0")
        other = self.emit(f"sub i64 {self.emit('shl i64 %half, 1')}, {place}")
        return self.emit(f"select i1 {is_first}, i64 0, i64 {other}")

    def merge(self) -> str:
        """Write what makes of half a spectrum that of pairs of real numbers, to be inverted."""
        x, y = self.pair_at("%group", "0")[0], self.pair_at("%group", "%half")[0]
        self.put((self.add(x, y), self.subtract(x, y)), "%out", "0", swaps=True)

        def pair(k: str) -> None:
            """Write the numbers at k and half - k."""
            other = self.emit(f"sub i64 %half, {k}")
            a, b = self.pair_at("%group", k), self.pair_at("%group", other)
            total = (self.add(a[0], b[0]), self.subtract(a[1], b[1]))
            rest = (self.subtract(a[0], b[0]), self.add(a[1], b[1]))
            # i times the inverse of the root
            cosine, sine = self.root("%table", k)
            turned = self.product(rest, (sine, cosine))
            low, high = self.sum(total, turned), self.difference(total, turned)
            self.put(low, "%out", k, swaps=True)
            self.put((high[0], self.negative(high[1])), "%out", other, swaps=True)

        middle = self.emit("sdiv i64 %half, 2")
        self.loop(self.emit(f"add i64 {middle}, 1"), pair, first=1)
        return "ptr noalias %group, ptr noalias %out, ptr noalias %table, i64 %half"
