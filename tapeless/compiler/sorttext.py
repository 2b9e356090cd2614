"""Sorters as LLVM text, for processors with vectors of 32 bytes or more; see `kernel/sorters.py`.

A line is divided at a pivot, the median of a sample, until its parts have a few vectors:

    sort       sample, divide, sort the shorter part by a call and go on with the longer one
    divide     read vectors from whichever end has less room, store what is below the pivot to the
               front, the rest to the back; room is made by holding a few vectors back
    small      a network: no branches, all in registers
    heap       what is left when a line was divided too often

Parts behind the elements that are wanted stay as they are.

A network has `M` vectors of `N` lanes. It sorts the lanes across vectors first, as columns, without
moving anything between lanes; then it merges neighbouring columns, two, four and more at a time,
until all are one; last it transposes. Places are column * M + row until then.

To divide a vector of 4 or 8 lanes, its lanes are put in order: those below the pivot first. A table
has the order for every mask; lanes of 16 bits are widened for it. The vector is stored at the front
and at the back, as a whole: what does not belong there will be overwritten.

A sample is nine vectors, one from each ninth of the line. Each lane has the median of medians of
three; the pivot is the median of those.

Lines of few different elements take few passes. If the sample has one value, the line may have no
other. If the pivot is the least of a sample, the value above it is better, since all equal ones go.
Where nothing is below the pivot, the line is divided once more, right above it. Should that fail (a
processor may be told to take the least floats for zeros), the line is sorted by a heap.

Networks lose the signs of zeros, and must not see NaNs.
"""

from __future__ import annotations

from collections.abc import Sequence

from tapeless.kernel.sorters import Sorter, sorter_of

__all__ = ["sorter_text"]

_ROWS = 16  # of a network
_AT_ONCE = 8  # vectors that `divide` reads
_DRAWN = 9  # vectors of a sample
_FACTOR = 0x9E3779B97F4A7C15  # whose multiples look random
_PART_BYTES = 32  # of a vector that is divided, at most
_ENTRIES = 8  # of an order
_ROW, _ORDER = f"[{_ENTRIES} x i8]", f"<{_ENTRIES} x i32>"
_PERMUTE = "@llvm.x86.avx2.permd"
_LINE_BITS = 512  # of the cache
_AHEAD_BITS = 1 << 14  # how far ahead memory is asked for

Words = Sequence[str]  # the names of an element's words, or of vectors or addresses of them


def sorter_text(symbol: str) -> str:
    """Give the module that exports the routine of a symbol."""
    return _Text(sorter_of(symbol)).module(symbol)


def _network(size: int) -> list[tuple[int, int]]:
    """Return the pairs to compare that sort `size` rows, a power of two: merges of odd and even."""
    pairs: list[tuple[int, int]] = []

    def merge(first: int, count: int, step: int) -> None:
        """Merge two sorted halves of the rows first, first + step, ..."""
        if 2 * step >= count:
            pairs.append((first, first + step))
            return
        merge(first, count, 2 * step)
        merge(first + step, count, 2 * step)
        inner = range(first + step, first + count - step, 2 * step)
        pairs.extend((place, place + step) for place in inner)

    def run(first: int, count: int) -> None:
        """Sort some rows."""
        if count > 1:
            run(first, count // 2)
            run(first + count // 2, count // 2)
            merge(first, count, 1)

    run(0, size)
    return pairs


def _lanes_of(kind: str) -> int:
    """Return the number of lanes of a type of vectors."""
    return int(kind[1:].partition(" ")[0])


class _Text:
    """The text of one sorter."""

    def __init__(self, sorter: Sorter) -> None:
        """Name the types: of a word, of the vectors of networks, and of those that are divided."""
        self.sorter = sorter
        self.bits, self.n_words = sorter.bits, sorter.words
        self.is_float = sorter.kind == "f"
        self.whole = f"i{sorter.bits}"
        self.word = ("float" if sorter.bits == 32 else "double") if self.is_float else self.whole
        self.lanes = 8 * sorter.bytes // sorter.bits
        self.vector = f"<{self.lanes} x {self.word}>"
        self.rows = 1 << (_ROWS // sorter.words).bit_length() - 1
        self.most = self.rows * self.lanes
        self.at_once = _AT_ONCE // sorter.words
        self.part_lanes = min(8 * _PART_BYTES // sorter.bits, _ENTRIES)
        self.part = f"<{self.part_lanes} x {self.word}>"
        self.lines: list[str] = []
        self.count = 0

    def emit(self, text: str) -> str:
        """Add an instruction with a result; return its name."""
        self.count += 1
        name = f"%t{self.count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, *lines: str) -> None:
        """Add instructions without results, or with given names, and labels."""
        self.lines += [line if line.endswith(":") else f"  {line}" for line in lines]

    def names(self, stem: str) -> list[str]:
        """Return a name for each word."""
        return [f"%{stem}{w}" for w in range(self.n_words)]

    def typed(self, kind: str, words: Words) -> str:
        """Spell words as arguments."""
        return ", ".join(f"{kind} {word}" for word in words)

    def module(self, symbol: str) -> str:
        """Write all functions."""
        self.lines = []
        for kind in sorted({self.vector, self.part}):
            masks, suffix = self.flags(kind), self.suffix(kind)
            self.lines += [
                f"declare {kind} @llvm.masked.load.{suffix}.p0(ptr, i32, {masks}, {kind})",
                f"declare void @llvm.masked.store.{suffix}.p0({kind}, ptr, i32, {masks})",
            ]
        for name in () if self.is_float else ("min", "max"):
            args = f"({self.vector}, {self.vector})"
            self.lines.append(f"declare {self.vector} {self.extreme(name)}{args}")
        self.table()
        self.small()
        self.sift()
        self.heap()
        self.divide()
        self.sort(symbol)
        return "\n".join(self.lines) + "\n"

    # Elements

    def flags(self, kind: str) -> str:
        """Return the type of what comparing words, or vectors of them, gives."""
        return kind.replace(self.word, "i1")

    def suffix(self, kind: str) -> str:
        """Return how the names of functions of a type of vectors end."""
        return f"v{_lanes_of(kind)}{'f' if self.is_float else 'i'}{self.bits}"

    def extreme(self, name: str) -> str:
        """Return the name of the function that gives the lesser or the greater integers."""
        return f"@llvm.{'s' if self.sorter.kind == 'i' else 'u'}{name}.{self.suffix(self.vector)}"

    @property
    def greatest(self) -> str:
        """The greatest value of a word."""
        if self.is_float:
            return "0x7FF0000000000000"
        return str((1 << (self.bits - 1)) - 1) if self.sorter.kind == "i" else "-1"

    def place(self, bases: Words, index: str) -> list[str]:
        """Return the addresses of the element at an index."""
        return [self.emit(f"getelementptr {self.word}, ptr {base}, i64 {index}") for base in bases]

    def load(self, bases: Words, index: str, kind: str) -> list[str]:
        """Load an element, or a vector of them."""
        places, align = self.place(bases, index), self.bits // 8
        return [self.emit(f"load {kind}, ptr {place}, align {align}") for place in places]

    def store(self, bases: Words, index: str, values: Words, kind: str) -> None:
        """Store an element, or a vector of them."""
        for place, value in zip(self.place(bases, index), values, strict=True):
            self.do(f"store {kind} {value}, ptr {place}, align {self.bits // 8}")

    def load_some(self, bases: Words, index: str, mask: str, kind: str) -> list[str]:
        """Load lanes of a vector; the others are the greatest elements."""
        lanes = _lanes_of(kind)
        most = ", ".join([f"{self.word} {self.greatest}"] * lanes)
        call = f"call {kind} @llvm.masked.load.{self.suffix(kind)}.p0"
        rest = f"i32 {self.bits // 8}, {self.flags(kind)} {mask}, {kind} <{most}>"
        return [self.emit(f"{call}(ptr {place}, {rest})") for place in self.place(bases, index)]

    def store_some(self, bases: Words, index: str, values: Words, mask: str, kind: str) -> None:
        """Store lanes of a vector."""
        call = f"call void @llvm.masked.store.{self.suffix(kind)}.p0"
        rest = f"i32 {self.bits // 8}, {self.flags(kind)} {mask}"
        for place, value in zip(self.place(bases, index), values, strict=True):
            self.do(f"{call}({kind} {value}, ptr {place}, {rest})")

    def less(self, x: Words, y: Words, kind: str) -> str:
        """Compare elements, or vectors of them; `kind` is the type of a word."""
        test = {"f": "fcmp olt", "i": "icmp slt", "u": "icmp ult"}[self.sorter.kind]
        result = self.emit(f"{test} {kind} {x[-1]}, {y[-1]}")
        flags = self.flags(kind)
        for a, b in zip(reversed(x[:-1]), reversed(y[:-1]), strict=True):
            same = self.emit(f"icmp eq {kind} {a}, {b}")
            both = self.emit(f"and {flags} {same}, {result}")
            result = self.emit(f"or {flags} {self.emit(f'{test} {kind} {a}, {b}')}, {both}")
        return result

    def select(self, flag: str, x: Words, y: Words, kind: str) -> list[str]:
        """Choose between elements, or lanes of vectors."""
        return [
            self.emit(f"select {self.flags(kind)} {flag}, {kind} {a}, {kind} {b}")
            for a, b in zip(x, y, strict=True)
        ]

    def ordered(self, x: Words, y: Words) -> tuple[list[str], list[str]]:
        """Return the lesser and the greater elements of two vectors, lane by lane."""
        kind = self.vector
        if self.is_float:
            low, high = (
                self.select(self.emit(f"fcmp {test} {kind} {x[0]}, {y[0]}"), x, y, kind)
                for test in ("olt", "ogt")
            )
            return low, high
        if self.n_words == 1:
            args = f"({kind} {x[0]}, {kind} {y[0]})"
            low, high = (
                [self.emit(f"call {kind} {self.extreme(name)}{args}")] for name in ("min", "max")
            )
            return low, high
        flag = self.less(x, y, kind)
        return self.select(flag, x, y, kind), self.select(flag, y, x, kind)

    def shuffle(self, x: Words, y: Words, lanes: Sequence[int]) -> list[str]:
        """Pick lanes out of two vectors."""
        order = ", ".join(f"i32 {lane}" for lane in lanes)
        picked = f"<{self.lanes} x i32> <{order}>"
        return [
            self.emit(f"shufflevector {self.vector} {a}, {self.vector} {b}, {picked}")
            for a, b in zip(x, y, strict=True)
        ]

    def blend(self, x: Words, y: Words, bit: int) -> list[str]:
        """Take lanes from x where a bit of their number is 0, from y where it is 1."""
        own = [lane + (self.lanes if lane & bit else 0) for lane in range(self.lanes)]
        return self.shuffle(x, y, own)

    def below(self, count: str, kind: str) -> str:
        """Return the mask of the first lanes; count: how many, or any number."""
        lanes = _lanes_of(kind)
        whole = f"<{lanes} x {self.whole}>"
        short = count if self.bits == 64 else self.emit(f"trunc i64 {count} to {self.whole}")
        first = self.emit(f"insertelement {whole} poison, {self.whole} {short}, i64 0")
        zeros = f"<{lanes} x i32> zeroinitializer"
        spread = self.emit(f"shufflevector {whole} {first}, {whole} poison, {zeros}")
        ramp = ", ".join(f"{self.whole} {lane}" for lane in range(lanes))
        return self.emit(f"icmp slt {whole} <{ramp}>, {spread}")

    # Networks

    def small(self) -> None:
        """Write the function that sorts up to `most` elements."""
        bases = self.names("x")
        self.do(
            f"define internal void @small({self.typed('ptr', bases)}, i64 %n) nounwind noinline {{"
        )
        self.do("entry:")
        sizes = [1 << i for i in range(self.rows.bit_length())]
        for size in sizes[:-1]:
            flag = self.emit(f"icmp ule i64 %n, {size * self.lanes}")
            self.do(f"br i1 {flag}, label %of{size}, label %over{size}", f"over{size}:")
        self.do(f"br label %of{self.rows}")
        for size in sizes:
            self.do(f"of{size}:")
            self.network(bases, size)
            self.do("ret void")
        self.lines.append("}")

    def network(self, bases: Words, size: int) -> None:
        """Sort up to `size` vectors, and more than half of them."""
        masks = {}
        vectors = []
        for row in range(size):
            start = row * self.lanes
            if row < size // 2:
                vectors.append(self.load(bases, str(start), self.vector))
                continue
            masks[row] = self.below(self.emit(f"sub i64 %n, {start}"), self.vector)
            vectors.append(self.load_some(bases, str(start), masks[row], self.vector))
        vectors = self.transposed(self.sorted(vectors))
        for row, values in enumerate(vectors):
            start = str(row * self.lanes)
            if row not in masks:
                self.store(bases, start, values, self.vector)
                continue
            self.store_some(bases, start, values, masks[row], self.vector)

    def sorted(self, vectors: list) -> list:
        """Sort the elements of vectors, a power of two; a column is behind the one before."""
        for i, j in _network(len(vectors)):
            vectors[i], vectors[j] = self.ordered(vectors[i], vectors[j])
        group = 2
        while group <= self.lanes:
            vectors = self.merged(vectors, group)
            group *= 2
        return vectors

    def merged(self, vectors: list, group: int) -> list:
        """Merge the two sorted halves of each `group` of columns."""
        size = len(vectors)
        mirror = [lane ^ (group - 1) for lane in range(self.lanes)]
        half = group // 2
        for i in range((size + 1) // 2):
            j = size - 1 - i
            low, high = self.ordered(vectors[i], self.shuffle(vectors[j], vectors[j], mirror))
            vectors[i] = self.blend(low, high, half)
            if i != j:  # the partner of lane l in row j is the mirrored lane in row i
                turned = self.blend(high, low, half)
                vectors[j] = self.shuffle(turned, turned, mirror)
        step = half // 2
        while step:
            partner = [lane ^ step for lane in range(self.lanes)]
            for i, vector in enumerate(vectors):
                low, high = self.ordered(vector, self.shuffle(vector, vector, partner))
                vectors[i] = self.blend(low, high, step)
            step //= 2
        step = size // 2
        while step:
            for i in range(size):
                if not i & step:
                    vectors[i], vectors[i + step] = self.ordered(vectors[i], vectors[i + step])
            step //= 2
        return vectors

    def transposed(self, vectors: list) -> list:
        """Lay columns behind each other: every round rotates the bits of all places by one."""
        size = len(vectors)
        lanes, half = self.lanes, self.lanes // 2
        for _ in range(size.bit_length() - 1):
            woven = []
            for x, y in zip(vectors[: size // 2], vectors[size // 2 :], strict=True):
                for first in (0, half):
                    pairs = [(lane, lane + lanes) for lane in range(first, first + half)]
                    woven.append(self.shuffle(x, y, [lane for pair in pairs for lane in pair]))
            vectors = woven
        return vectors

    # Heaps

    def sift(self) -> None:
        """Write the function that lets an element of a heap sink, whose greatest is on top."""
        bases, word = self.names("x"), self.word
        args = f"{self.typed('ptr', bases)}, i64 %start, i64 %n"
        self.do(f"define internal void @sift({args}) nounwind noinline {{", "entry:")
        mine = self.load(bases, "%start", word)
        self.do("br label %look", "look:")
        self.do("%hole = phi i64 [%start, %entry], [%child, %rise]")
        self.do("%twice = shl i64 %hole, 1", "%left = or i64 %twice, 1")
        self.do("%some = icmp ult i64 %left, %n", "br i1 %some, label %pick, label %done", "pick:")
        self.do("%right = add i64 %left, 1", "%both = icmp ult i64 %right, %n")
        self.do("%other = select i1 %both, i64 %right, i64 %left")
        x, y = self.load(bases, "%left", word), self.load(bases, "%other", word)
        flag = self.less(x, y, word)
        self.do(f"%child = select i1 {flag}, i64 %other, i64 %left")
        larger = self.select(flag, y, x, word)
        sinks = self.less(mine, larger, word)
        self.do(f"br i1 {sinks}, label %rise, label %done", "rise:")
        self.store(bases, "%hole", larger, word)
        self.do("br label %look", "done:")
        self.store(bases, "%hole", mine, word)
        self.do("ret void")
        self.lines.append("}")

    def heap(self) -> None:
        """Write the function that sorts by a heap; there are two elements at least."""
        bases, word = self.names("x"), self.word
        given = self.typed("ptr", bases)
        self.do(f"define internal void @heap({given}, i64 %n) nounwind noinline {{", "entry:")
        self.do("%half = lshr i64 %n, 1", "br label %build", "build:")
        self.do("%i = phi i64 [%half, %entry], [%i.next, %build]", "%i.next = sub i64 %i, 1")
        self.do(f"call void @sift({given}, i64 %i.next, i64 %n)")
        self.do(
            "%more = icmp ugt i64 %i.next, 0", "br i1 %more, label %build, label %take", "take:"
        )
        self.do("%e = phi i64 [%n, %build], [%last, %take]", "%last = sub i64 %e, 1")
        top, bottom = self.load(bases, "0", word), self.load(bases, "%last", word)
        self.store(bases, "%last", top, word)
        self.store(bases, "0", bottom, word)
        self.do(f"call void @sift({given}, i64 0, i64 %last)")
        self.do("%again = icmp ugt i64 %last, 1", "br i1 %again, label %take, label %out", "out:")
        self.do("ret void")
        self.lines.append("}")

    # Dividing

    def table(self) -> None:
        """Write the orders of the 32-bit entries of `part`, one for each mask of its lanes."""
        each = _ENTRIES // self.part_lanes  # entries of a lane
        rows = []
        for mask in range(1 << self.part_lanes):
            lanes = sorted(range(self.part_lanes), key=lambda lane: not mask >> lane & 1)
            places = [each * lane + k for lane in lanes for k in range(each)]
            rows.append(f"{_ROW} [{', '.join(f'i8 {place}' for place in places)}]")
        size = f"[{len(rows)} x {_ROW}]"
        self.lines.append(f"@orders = private constant {size} [{', '.join(rows)}], align 64")
        self.lines.append(f"declare {_ORDER} {_PERMUTE}({_ORDER}, {_ORDER})")

    def divided(self, vector: Words, spread: Words) -> tuple[list[str], str]:
        """Return a vector with the lanes below the pivot first, and their number."""
        lows = self.less(vector, spread, self.part)
        bits = f"i{self.part_lanes}"
        mask = self.emit(f"bitcast {self.flags(self.part)} {lows} to {bits}")
        wide = self.emit(f"zext {bits} {mask} to i64")
        row = self.emit(f"getelementptr {_ROW}, ptr @orders, i64 {wide}")
        short = self.emit(f"load <{_ENTRIES} x i8>, ptr {row}, align {_ENTRIES}")
        places = self.emit(f"zext <{_ENTRIES} x i8> {short} to {_ORDER}")
        result = []
        to, back = ("zext", "trunc") if self.bits < 32 else ("bitcast", "bitcast")
        for word in vector:
            given = self.emit(f"{to} {self.part} {word} to {_ORDER}")
            moved = self.emit(f"call {_ORDER} {_PERMUTE}({_ORDER} {given}, {_ORDER} {places})")
            result.append(self.emit(f"{back} {_ORDER} {moved} to {self.part}"))
        return result, self.emit(f"call i64 @llvm.ctpop.i64(i64 {wide})")

    def divide(self) -> None:
        """Write the function that puts what is below the pivot first; it returns how much that is.

        Held back are the vectors at both ends, `_AT_ONCE` of each, and what fills no vector.
        """
        bases, pivots = self.names("x"), self.names("p")
        given = f"{self.typed('ptr', bases)}, i64 %n, {self.typed(self.word, pivots)}"
        self.do("declare i64 @llvm.ctpop.i64(i64)", "declare i64 @llvm.umin.i64(i64, i64)")
        self.do("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        self.do(f"define internal i64 @divide({given}) nounwind noinline {{", "entry:")
        lanes = self.part_lanes
        chunk = self.at_once * lanes
        spread = [self.spread(pivot, self.part) for pivot in pivots]
        self.do(f"%rest = and i64 %n, {lanes - 1}")
        partial = self.load_some(bases, "0", self.below("%rest", self.part), self.part)
        self.do(f"%right = sub i64 %n, {chunk}", f"%left = add i64 %rest, {chunk}")
        held = []
        for start in ("%rest", "%right"):
            for number in range(self.at_once):
                place = self.emit(f"add i64 {start}, {number * lanes}")
                held.append(self.load(bases, place, self.part))
        self.do("br label %head")
        before = ("%left", "%right", "0", "%n", "%entry")
        after = self.walk("", before, (bases, spread), self.at_once)
        self.do("br label %one.head")
        *_, front, back = self.walk("one.", (*after, "%out"), (bases, spread), 1)
        for vector in held[:-1]:
            front, back = self.pack(bases, vector, spread, (front, back))
        front, back = self.pack_some(bases, (held[-1], str(lanes)), spread, (front, back))
        front, back = self.pack_some(bases, (partial, "%rest"), spread, (front, back))
        self.do(f"ret i64 {front}")
        self.lines.append("}")

    def walk(
        self, stem: str, before: Sequence[str], what: tuple[Words, Words], count: int
    ) -> tuple[str, ...]:
        """Write the loop that packs `count` vectors at a time, of those between left and right.

        before: left, right, front and back, and the block before; -> the four at the end.
        """
        bases, spread = what
        *starts, entry = before
        chunk = count * self.part_lanes
        state = [f"%{stem}{name}" for name in ("at", "to", "front", "back")]
        self.do(f"{stem}head:")
        for name, start in zip(state, starts, strict=True):
            self.do(f"{name} = phi i64 [{start}, {entry}], [{name}.next, %{stem}body]")
        left, right, front, back = state
        room = self.emit(f"sub i64 {right}, {left}")
        more = self.emit(f"icmp sge i64 {room}, {chunk}")
        self.do(f"br i1 {more}, label %{stem}body, label %{stem}out", f"{stem}body:")
        ahead, behind = self.emit(f"sub i64 {left}, {front}"), self.emit(f"sub i64 {back}, {right}")
        first = self.emit(f"icmp ule i64 {ahead}, {behind}")
        lower, upper = self.emit(f"add i64 {left}, {chunk}"), self.emit(f"sub i64 {right}, {chunk}")
        source = self.emit(f"select i1 {first}, i64 {left}, i64 {upper}")
        self.do(f"{left}.next = select i1 {first}, i64 {lower}, i64 {left}")
        self.do(f"{right}.next = select i1 {first}, i64 {right}, i64 {upper}")
        places = [self.emit(f"add i64 {source}, {k * self.part_lanes}") for k in range(count)]
        if count > 1:
            self.ask_ahead(bases, source, first, chunk)
        ends = (front, back)
        for vector in [self.load(bases, place, self.part) for place in places]:
            ends = self.pack(bases, vector, spread, ends)
        for name, end in zip((front, back), ends, strict=True):
            self.do(f"{name}.next = add i64 {end}, 0")
        self.do(f"br label %{stem}head", f"{stem}out:")
        return tuple(state)

    def ask_ahead(self, bases: Words, source: str, is_front: str, chunk: int) -> None:
        """Ask for memory behind a chunk at the front, or before one at the back."""
        ahead = _AHEAD_BITS // self.bits
        offset = self.emit(f"select i1 {is_front}, i64 {ahead}, i64 {-ahead}")
        start = self.emit(f"add i64 {source}, {offset}")
        for k in range(0, chunk, _LINE_BITS // self.bits):
            for place in self.place(bases, self.emit(f"add i64 {start}, {k}")):
                self.do(f"call void @llvm.prefetch.p0(ptr {place}, i32 1, i32 3, i32 1)")

    def spread(self, word: str, kind: str) -> str:
        """Spread a word over a vector."""
        first = self.emit(f"insertelement {kind} poison, {self.word} {word}, i64 0")
        zeros = f"<{_lanes_of(kind)} x i32> zeroinitializer"
        return self.emit(f"shufflevector {kind} {first}, {kind} poison, {zeros}")

    def pack(
        self, bases: Words, vector: Words, spread: Words, ends: tuple[str, str]
    ) -> tuple[str, str]:
        """Store a vector's lanes to the front and to the back, where two vectors have room."""
        front, back = ends
        values, count = self.divided(vector, spread)
        place = self.emit(f"sub i64 {back}, {self.part_lanes}")
        for index in (front, place):
            self.store(bases, index, values, self.part)
        return self.emit(f"add i64 {front}, {count}"), self.emit(f"add i64 {place}, {count}")

    def pack_some(
        self, bases: Words, some: tuple[Words, str], spread: Words, ends: tuple[str, str]
    ) -> tuple[str, str]:
        """Store a vector's first lanes, of which there is a number, and nothing else."""
        front, back = ends
        vector, count = some
        values, lows = self.divided(vector, spread)
        first, valid = self.below(lows, self.part), self.below(count, self.part)
        flags = self.flags(self.part)
        rest = self.emit(f"xor {flags} {first}, {valid}")
        start = self.emit(f"sub i64 {back}, {count}")
        self.store_some(bases, front, values, first, self.part)
        self.store_some(bases, start, values, rest, self.part)
        return self.emit(f"add i64 {front}, {lows}"), self.emit(f"add i64 {start}, {lows}")

    # Sorting

    def sort(self, symbol: str) -> None:
        """Write the function that is exported."""
        given = self.typed("ptr", self.names("g"))
        self.do(
            f'define void @"{symbol}"({given}, i64 %size, i64 %most, i64 %first) nounwind {{',
            "entry:",
        )
        self.do("br label %head", "head:")
        bases = self.names("x")
        for name, start in zip(bases, self.names("g"), strict=True):
            self.do(f"{name} = phi ptr [{start}, %entry], [{name}.next, %next]")
        self.do("%n = phi i64 [%size, %entry], [%n.next, %next]")
        self.do("%depth = phi i64 [%most, %entry], [%deeper, %next]")
        self.do("%wanted = phi i64 [%first, %entry], [%wanted.next, %next]")
        self.do(f"%few = icmp ule i64 %n, {self.most}")
        self.do("br i1 %few, label %network, label %many", "network:")
        self.do(f"call void @small({self.typed('ptr', bases)}, i64 %n)", "ret void", "many:")
        self.do("%deep = icmp eq i64 %depth, 0", "br i1 %deep, label %pile, label %go", "pile:")
        self.do(f"call void @heap({self.typed('ptr', bases)}, i64 %n)", "ret void", "go:")
        self.do("%deeper = sub i64 %depth, 1")
        self.sampled(bases)
        self.parted(bases)
        self.do("next:")
        ways = {"rest": "%over", "lower": "%over", "upper": "%below", "cut": "%below"}
        wanted = {**dict.fromkeys(ways, "%others"), "upper": "%below", "cut": "%wanted"}
        self.do(f"%n.next = phi i64 {self.incoming(ways)}")
        self.do(f"%wanted.next = phi i64 {self.incoming(wanted)}")
        for name in bases:
            starts = {way: name + (".over" if n == "%over" else "") for way, n in ways.items()}
            self.do(f"{name}.next = phi ptr {self.incoming(starts)}")
        self.do("br label %head")
        self.one_part(symbol, "lower", bases, ("%below", "%below"))
        self.one_part(symbol, "upper", [f"{name}.over" for name in bases], ("%over", "%others"))
        self.do("cut:", "br label %next")
        self.lines.append("}")

    def sampled(self, bases: Words) -> None:
        """Choose the pivot: the median of medians of vectors at random places."""
        span = self.emit(f"sub i64 %n, {self.lanes}")
        ninth = self.emit(f"udiv i64 {span}, {_DRAWN}")
        wide = self.emit(f"zext i64 {ninth} to i128")
        drawn = []
        for k in range(_DRAWN):
            seed = self.emit(f"mul i64 %n, {_FACTOR * (2 * k + 1) & (1 << 64) - 1}")
            scaled = self.emit(f"mul i128 {self.emit(f'zext i64 {seed} to i128')}, {wide}")
            offset = self.emit(f"trunc i128 {self.emit(f'lshr i128 {scaled}, 64')} to i64")
            place = self.emit(f"add i64 {self.emit(f'mul i64 {ninth}, {k}')}, {offset}")
            drawn.append(self.load(bases, place, self.vector))
        while len(drawn) > 1:
            drawn = [self.median(*drawn[k : k + 3]) for k in range(0, len(drawn), 3)]
        (vector,) = self.sorted(drawn)
        ends = [f"{word}, i64 {lane}" for word in vector[-1:] for lane in (0, self.lanes - 1)]
        least, most = [self.emit(f"extractelement {self.vector} {end}") for end in ends]
        for name, value in zip(self.names("d"), vector, strict=True):
            self.do(f"{name} = extractelement {self.vector} {value}, i64 {self.lanes // 2}")
        if self.n_words == 1:
            self.few_values(bases, least, most)
        self.do("br label %start", "start:")
        for name, start in zip(self.names("m"), self.names("d"), strict=True):
            up = f", [{start}.up, %many.least]" if self.n_words == 1 else ""
            self.do(f"{name} = phi {self.word} [{start}, %{'varied' if up else 'go'}]{up}")
        self.do("br label %part")

    def few_values(self, bases: Words, least: str, most: str) -> None:
        """Look whether all elements are the same; go above a median that is the least one."""
        test = f"{'fcmp oeq' if self.is_float else 'icmp eq'} {self.word}"
        (median,) = self.names("d")
        self.do(f"%alike = {test} {least}, {most}", "br i1 %alike, label %compare, label %differ")
        self.do("compare:", f"%ends = sub i64 %n, {self.lanes}")
        spread = self.spread(median, self.vector)
        self.do("br label %next.few", "next.few:")
        self.do("%e = phi i64 [0, %compare], [%e.next, %same]")
        (values,) = self.load(bases, "%e", self.vector)
        kind = test.replace(self.word, self.vector)
        equal = self.emit(f"{kind} {values}, {spread}")
        bits = self.emit(f"bitcast {self.flags(self.vector)} {equal} to i{self.lanes}")
        self.do(f"%all = icmp eq i{self.lanes} {bits}, -1")
        self.do("br i1 %all, label %same, label %varied", "same:")
        self.do("%last = icmp eq i64 %e, %ends")
        further = self.emit(f"add i64 %e, {self.lanes}")
        self.do(f"%e.next = call i64 @llvm.umin.i64(i64 {further}, i64 %ends)")
        self.do("br i1 %last, label %done, label %next.few", "differ:")
        self.do(f"%low = {test} {median}, {least}")
        self.do("br i1 %low, label %many.least, label %varied", "many.least:")
        self.raised(median)
        self.do("br label %start", "varied:")

    def median(self, x: Words, y: Words, z: Words) -> list[str]:
        """Return the medians of the lanes of three vectors."""
        low, high = self.ordered(x, y)
        return self.ordered(low, self.ordered(high, z)[0])[1]

    def parted(self, bases: Words) -> None:
        """Divide the line; if nothing is below the pivot, once more, right above it."""
        word, pivots = self.word, self.names("p")
        self.do("part:")
        for name, start in zip(pivots, self.names("m"), strict=True):
            self.do(f"{name} = phi {word} [{start}, %start], [{name}.up, %raise]")
        self.do("%second = phi i1 [false, %start], [true, %raise]")
        args = f"{self.typed('ptr', bases)}, i64 %n, {self.typed(word, pivots)}"
        self.do(f"%below = call i64 @divide({args})", "%over = sub i64 %n, %below")
        for name in bases:
            self.do(f"{name}.over = getelementptr {word}, ptr {name}, i64 %below")
        self.do("%none = icmp eq i64 %below, 0", "br i1 %none, label %least, label %split")
        self.do("least:", "br i1 %second, label %pile, label %check", "check:")
        test = "fcmp oeq" if self.is_float else "icmp eq"
        self.do(f"%top = {test} {word} {pivots[-1]}, {self.greatest}")
        self.do("br i1 %top, label %done, label %raise", "raise:")
        for name in pivots[:-1]:
            self.do(f"{name}.up = add {word} {name}, 0")
        self.raised(pivots[-1])
        self.do("br label %part", "done:", "ret void", "split:")
        self.do("%others = sub i64 %wanted, %below", "%enough = icmp ule i64 %wanted, %below")
        self.do("br i1 %second, label %equal, label %unequal", "equal:")
        self.do("br i1 %enough, label %done, label %rest", "rest:", "br label %next", "unequal:")
        self.do("br i1 %enough, label %cut, label %both", "both:")
        self.do("%shorter = icmp ult i64 %below, %over")
        self.do("br i1 %shorter, label %lower, label %upper")

    def raised(self, pivot: str) -> None:
        """Name the value after the pivot."""
        if not self.is_float:
            self.do(f"{pivot}.up = add {self.word} {pivot}, 1")
            return
        same = self.emit(f"bitcast {self.word} {pivot} to {self.whole}")
        is_negative = self.emit(f"fcmp olt {self.word} {pivot}, 0.0")
        step = self.emit(f"select i1 {is_negative}, {self.whole} -1, {self.whole} 1")
        is_zero = self.emit(f"fcmp oeq {self.word} {pivot}, 0.0")
        start = self.emit(f"select i1 {is_zero}, {self.whole} 0, {self.whole} {same}")
        next_one = self.emit(f"add {self.whole} {start}, {step}")
        self.do(f"{pivot}.up = bitcast {self.whole} {next_one} to {self.word}")

    def incoming(self, values: dict[str, str]) -> str:
        """Spell what a value is after each block."""
        return ", ".join(f"[{value}, %{block}]" for block, value in values.items())

    def one_part(self, symbol: str, label: str, bases: Words, sizes: tuple[str, str]) -> None:
        """Sort the shorter part by a call; sizes: of the part, and of what is wanted of it."""
        size, wanted = sizes
        args = f"{self.typed('ptr', bases)}, i64 {size}, i64 %deeper, i64 {wanted}"
        self.do(f"{label}:", f'call void @"{symbol}"({args})', "br label %next")
