"""Panels of products as LLVM text; see `kernel/panels.py` for what they compute.

The sums are what the only loop carries, in registers from the first term to the last:

    for each term   load `vectors` vectors of y
                    for each row: spread a number of x, multiply, add to the row's sums

Rows are addressed in groups of three, with one pointer for each: an address is a pointer, or that
and a step, or twice the step, which x86 adds for nothing. Empty assembler keeps LLVM from finding
out that the pointers are as far apart: it would add one step after the other, and each addition
would wait for the one before. What the results will overwrite is asked for at the start, so that it
has come when the sums are ready. They begin at zero; what is there is added to them at the end, if
it is to be.

Each term asks for some of what is likely to be next: y some terms ahead if it is packed, else
beyond the last term, and the rows below those of x, if x is a matrix of as many columns as there
are terms. A processor finds out by itself what is read from end to end, but not where the next of
many short runs is, and not in time what the second cache has.
"""

from __future__ import annotations

from tapeless.kernel.panels import PAIRS, SHORTS, Panel, Words, panel_of, sums_of

__all__ = ["panel_text"]

_GROUP = 3  # rows
_LINE = 64  # bytes of a line of the cache
_AHEAD = 16  # terms
_SUMS = {"float32": "float", "float64": "double", "int32": "i32", "uint32": "i32"}
_SHORTS = {  # by lanes
    4: "@llvm.x86.sse2.pmadd.wd",
    8: "@llvm.x86.avx2.pmadd.wd",
    16: "@llvm.x86.avx512.pmaddw.d.512",
}
_ARGUMENTS = (
    "ptr %x, ptr %y, ptr noalias %out, "
    "i64 %terms, i64 %row_step, i64 %term_step, i64 %y_step, i64 %out_step"
)


def panel_text(symbol: str) -> str:
    """Give the module that exports the routine of a symbol."""
    return _Text(panel_of(symbol)).module(symbol)


class _Text:
    """The text of one panel."""

    def __init__(self, panel: Panel) -> None:
        """Name the types."""
        self.panel = panel
        self.size = panel.dtype.itemsize
        self.sum = _SUMS[sums_of(panel.dtype).name]
        self.vector = f"<{panel.lanes} x {self.sum}>"
        is_words = isinstance(panel.dtype, Words)
        self.scalar = "i32" if is_words else self.sum
        self.factor = f"<{panel.lanes} x {self.scalar}>"
        narrow = "bfloat" if panel.dtype == PAIRS else "i16"
        self.term = f"<{2 * panel.lanes} x {narrow}>" if is_words else self.factor
        self.plus = "add" if self.sum == "i32" else "fadd"
        self.routine, declared = "", [self.vector] * 3
        if panel.dtype == PAIRS:
            self.routine = f"@llvm.x86.avx512bf16.dpbf16ps.{32 * panel.lanes}"
            declared[1:] = [self.term] * 2
        elif panel.dtype == SHORTS:
            self.routine, declared = _SHORTS[panel.lanes], [self.term] * 2
        elif self.plus == "fadd":
            self.routine = f"@llvm.fma.v{panel.lanes}f{8 * self.size}"
        self.declared = [f"declare {self.vector} {self.routine}({', '.join(declared)})"]
        self.places = [(r, v) for r in range(panel.rows) for v in range(panel.vectors)]
        self.groups = range(0, panel.rows, _GROUP)
        self.lines: list[str] = []

    def add(self, *lines: str) -> None:
        """Add instructions."""
        self.lines += [f"  {line}" for line in lines]

    def module(self, symbol: str) -> str:
        """Write the function."""
        self.lines = [
            *(self.declared if self.routine else ()),
            "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)",
            f'define void @"{symbol}"({_ARGUMENTS}) nounwind {{',
            "entry:",
        ]
        for name, step in (("row", "row"), ("term", "term"), ("line", "y"), ("pitch", "out")):
            self.add(f"%{name} = mul i64 %{step}_step, {self.size}")
        self.add("%row2 = add i64 %row, %row", f"%group = mul i64 %row, {_GROUP}")
        for g in self.groups:
            before = f"%start.{g - _GROUP}" if g else "%x"
            self.add(f"%start.{g} = getelementptr i8, ptr {before}, i64 {'%group' if g else 0}")
        for r in range(self.panel.rows):
            before = f"%out.{r - 1}" if r else "%out"
            self.add(f"%out.{r} = getelementptr i8, ptr {before}, i64 {'%pitch' if r else 0}")
        self.ask_for_results()
        self.add(
            "%span = mul i64 %terms, %line",
            f"%is_packed = icmp eq i64 %y_step, {self.panel.width}",
            f"%soon = mul i64 %line, {_AHEAD}",
            "%further = select i1 %is_packed, i64 %soon, i64 %span",
            f"%below = mul i64 %row, {self.panel.rows}",
            "%next.strip = getelementptr i8, ptr %x, i64 %below",
            "%whole = icmp eq i64 %row_step, %terms",
            f"%pace = select i1 %whole, i64 {self.panel.rows * self.size}, i64 0",
        )
        self.add("br label %loop")
        self.loop()
        self.results()
        self.add("ret void")
        self.lines.append("}")
        return "\n".join(self.lines) + "\n"

    def ask_for_results(self) -> None:
        """Prefetch the memory of the results, to be written."""
        for r in range(self.panel.rows):
            for offset in range(0, self.panel.width * self.size, _LINE):
                place = f"%asked.{r}.{offset}"
                self.add(f"{place} = getelementptr i8, ptr %out.{r}, i64 {offset}")
                self.add(f"call void @llvm.prefetch.p0(ptr {place}, i32 1, i32 3, i32 1)")

    def loop(self) -> None:
        """Write the loop over the terms."""
        self.lines.append("loop:")
        self.add("%t = phi i64 [%terms, %entry], [%t.next, %loop]")
        self.add("%panel = phi ptr [%y, %entry], [%panel.next, %loop]")
        self.add("%ahead = phi ptr [%next.strip, %entry], [%ahead.next, %loop]")
        for g in self.groups:
            self.add(f"%at.{g} = phi ptr [%start.{g}, %entry], [%x.{g}.next, %loop]")
        for r, v in self.places:
            ends = f"[zeroinitializer, %entry], [%n.{r}.{v}, %loop]"
            self.add(f"%s.{r}.{v} = phi {self.vector} {ends}")
        self.add("call void @llvm.prefetch.p0(ptr %ahead, i32 0, i32 3, i32 1)")
        self.add("%beyond = getelementptr i8, ptr %panel, i64 %further")
        for offset in range(0, self.panel.width * self.size, _LINE):
            place = f"%beyond.{offset}"
            self.add(f"{place} = getelementptr i8, ptr %beyond, i64 {offset}")
            self.add(f"call void @llvm.prefetch.p0(ptr {place}, i32 0, i32 3, i32 1)")
        self.add("%ahead.next = getelementptr i8, ptr %ahead, i64 %pace")
        for g in self.groups:
            self.add(f'%x.{g} = call ptr asm "", "=r,0"(ptr %at.{g})')
        for v in range(self.panel.vectors):
            offset = v * self.panel.lanes
            self.add(f"%y.place.{v} = getelementptr {self.scalar}, ptr %panel, i64 {offset}")
            self.add(f"%line.{v} = load {self.factor}, ptr %y.place.{v}, align {self.size}")
            self.add(f"%y.{v} = bitcast {self.factor} %line.{v} to {self.term}")
        for r in range(self.panel.rows):
            self.row(r)
        for g in self.groups:
            self.add(f"%x.{g}.next = getelementptr i8, ptr %x.{g}, i64 %term")
        self.add("%panel.next = getelementptr i8, ptr %panel, i64 %line")
        self.add("%t.next = sub i64 %t, 1", "%more = icmp sgt i64 %t.next, 0")
        self.add("br i1 %more, label %loop, label %after")
        self.lines.append("after:")

    def row(self, r: int) -> None:
        """Add one product to each sum of a row."""
        offset = ("0", "%row", "%row2")[r % _GROUP]
        self.add(f"%x.place.{r} = getelementptr i8, ptr %x.{r - r % _GROUP}, i64 {offset}")
        self.add(f"%number.{r} = load {self.scalar}, ptr %x.place.{r}, align {self.size}")
        one = f"{self.factor} poison, {self.scalar} %number.{r}"
        self.add(f"%one.{r} = insertelement {one}, i64 0")
        operands = f"{self.factor} %one.{r}, {self.factor} poison"
        order = f"<{self.panel.lanes} x i32> zeroinitializer"
        self.add(f"%spread.{r} = shufflevector {operands}, {order}")
        self.add(f"%all.{r} = bitcast {self.factor} %spread.{r} to {self.term}")
        for v in range(self.panel.vectors):
            self.add_product(f"{r}.{v}", [f"{self.term} %all.{r}", f"{self.term} %y.{v}"])

    def add_product(self, place: str, factors: list[str]) -> None:
        """Add a product to the sums of a place."""
        call = f"call {self.vector} {self.routine}"
        if self.plus == "fadd":
            factors.insert(0 if self.panel.dtype == PAIRS else 2, f"{self.vector} %s.{place}")
            self.add(f"%n.{place} = {call}({', '.join(factors)})")
            return
        product = f"{call}({', '.join(factors)})"
        if not self.routine:
            product = f"mul {', '.join((factors[0], factors[1].split()[-1]))}"
        self.add(f"%product.{place} = {product}")
        self.add(f"%n.{place} = add {self.vector} %s.{place}, %product.{place}")

    def results(self) -> None:
        """Store the sums, or add them to what is there."""
        for r, v in self.places:
            place, value = f"%place.{r}.{v}", f"%n.{r}.{v}"
            offset = v * self.panel.lanes
            self.add(f"{place} = getelementptr {self.sum}, ptr %out.{r}, i64 {offset}")
            if self.panel.adds:
                old, value = f"%old.{r}.{v}", f"%sum.{r}.{v}"
                self.add(f"{old} = load {self.vector}, ptr {place}, align {self.size}")
                self.add(f"{value} = {self.plus} {self.vector} {old}, %n.{r}.{v}")
            self.add(f"store {self.vector} {value}, ptr {place}, align {self.size}")
