"""Strips of products as LLVM text; see `kernel/strips.py` for what they compute.

A level is a loop, and the sums are what it carries, in registers from the first term to the last:

    for each term   load `vectors` vectors of y
                    for each row: spread a number of x, multiply, add to the row's sums

The places of the rows are constants, and so parts of the instructions.
"""

from __future__ import annotations

from tapeless.kernel.strips import Strip, strip_of

__all__ = ["strip_text"]


def strip_text(symbol: str) -> str:
    """Give the module that exports the routine of a symbol."""
    return _Text(strip_of(symbol)).module(symbol)


class _Text:
    """The text of one strip."""

    def __init__(self, strip: Strip) -> None:
        """Name the types."""
        self.strip = strip
        self.width = strip.dtype.itemsize
        self.scalar = {4: "float", 8: "double"}[self.width]
        self.vector = f"<{strip.lanes} x {self.scalar}>"
        self.fma = f"@llvm.fma.v{strip.lanes}f{8 * self.width}"
        self.places = [(r, v) for r in range(strip.rows) for v in range(strip.vectors)]
        self.lines: list[str] = []

    def module(self, symbol: str) -> str:
        """Write the function."""
        arguments = ", ".join([self.vector] * 3)
        self.lines = [
            f"declare {self.vector} {self.fma}({arguments})",
            f'define void @"{symbol}"(ptr %x, ptr %y, ptr noalias %out) nounwind {{',
            "entry:",
        ]
        sums = self.level(0, "entry", ("%x", "%y"), ["zeroinitializer"] * len(self.places))
        for (r, v), value in zip(self.places, sums, strict=True):
            offset = r * self.strip.out_step + self.strip.start(v)
            place = self.moved("%out", offset, f"%o.{r}.{v}")
            if self.strip.adds:
                old, total = f"%old.{r}.{v}", f"%total.{r}.{v}"
                self.add(f"{old} = load {self.vector}, ptr {place}, align {self.width}")
                self.add(f"{total} = fadd {self.vector} {old}, {value}")
                value = total
            self.add(f"store {self.vector} {value}, ptr {place}, align {self.width}")
        self.add("ret void")
        self.lines.append("}")
        return "\n".join(self.lines) + "\n"

    def add(self, line: str) -> None:
        """Add an instruction."""
        self.lines.append(f"  {line}")

    def moved(self, base: str, offset: int, name: str) -> str:
        """Name the address of an element that is so far from another."""
        self.add(f"{name} = getelementptr {self.scalar}, ptr {base}, i64 {offset}")
        return name

    def level(
        self,
        depth: int,
        before: str,
        starts: tuple[str, str],
        sums: list[str],
    ) -> list[str]:
        """Write the loop of a level; return the names of the sums behind it.

        before: the block that enters the loop; starts: the first places in x and y; sums: those so
        far.
        """
        extent, *steps = self.strip.levels[depth]
        innermost = depth + 1 == len(self.strip.levels)
        head, end = f"loop{depth}", f"loop{depth}" if innermost else f"end{depth}"
        number, names = f"%i{depth}", (f"%x{depth}", f"%y{depth}")
        carried = [f"%s{depth}.{r}.{v}" for r, v in self.places]
        self.add(f"br label %{head}")
        self.lines.append(f"{head}:")
        self.add(f"{number} = phi i64 [0, %{before}], [{number}.next, %{end}]")
        for name, start in zip(names, starts, strict=True):
            self.add(f"{name} = phi ptr [{start}, %{before}], [{name}.next, %{end}]")
        at = len(self.lines)
        if innermost:
            new = carried
            for tap in range(len(self.strip.taps)):
                new = self.term(names, new, tap)
        else:
            new = self.level(depth + 1, head, names, carried)
            self.add(f"br label %{end}")
            self.lines.append(f"{end}:")
        self.lines[at:at] = [
            f"  {name} = phi {self.vector} [{first}, %{before}], [{last}, %{end}]"
            for name, first, last in zip(carried, sums, new, strict=True)
        ]
        for name, step in zip(names, steps, strict=True):
            self.moved(name, step, f"{name}.next")
        self.add(f"{number}.next = add i64 {number}, 1")
        self.add(f"{number}.more = icmp slt i64 {number}.next, {extent}")
        self.add(f"br i1 {number}.more, label %{head}, label %after{depth}")
        self.lines.append(f"after{depth}:")
        return new

    def term(self, places: tuple[str, str], sums: list[str], tap: int) -> list[str]:
        """Add the products of one term; return the names of the new sums."""
        strip, (x, y), t = self.strip, places, f"{tap}."
        for v in range(strip.vectors):
            place = self.moved(y, strip.taps[tap] + strip.start(v), f"%y.place.{t}{v}")
            self.add(f"%y.{t}{v} = load {self.vector}, ptr {place}, align {self.width}")
        names = []
        for r in range(strip.rows):
            n = f"{t}{r}"
            place = self.moved(x, tap * strip.rows + r * strip.row_step, f"%x.place.{n}")
            self.add(f"%x.{n} = load {self.scalar}, ptr {place}, align {self.width}")
            self.add(f"%one.{n} = insertelement {self.vector} poison, {self.scalar} %x.{n}, i64 0")
            operands = f"{self.vector} %one.{n}, {self.vector} poison"
            self.add(f"%all.{n} = shufflevector {operands}, <{strip.lanes} x i32> zeroinitializer")
            for v in range(strip.vectors):
                old = sums[r * strip.vectors + v]
                factors = f"{self.vector} %all.{n}, {self.vector} %y.{t}{v}, {self.vector} {old}"
                self.add(f"%n.{n}.{v} = call {self.vector} {self.fma}({factors})")
                names.append(f"%n.{n}.{v}")
        return names
