"""Sorters as LLVM text, for processors that compress vectors; see `kernel/sorters.py`.

A line is divided at a pivot, the median of a sample, until its parts have a few vectors:

    sort       sample, divide, sort the shorter part by a call and go on with the longer one
    divide     read vectors from whichever end has less room, pack what is below the pivot to the
               front, the rest to the back; room is made by holding a few vectors back
    small      a network: no branches, all in registers
    heap       what is left when a line was divided too often

A network has `M` vectors of `N` lanes. It sorts the lanes across vectors first, as columns, without
moving anything between lanes; then it merges neighbouring columns, two, four and more at a time,
until all are one; last it transposes. Places are column * M + row until then.

Where nothing is below the pivot, it is the least element: then the line is divided once more, so
that all equal ones go. So lines of few different elements take few passes.
"""

from __future__ import annotations

from collections.abc import Sequence

from tapeless.kernel.sorters import Sorter, sorter_of

__all__ = ["sorter_text"]

_BYTES = 64  # of a vector
_MOST_VECTORS = 16  # of a network, as many as registers hold
_LONG = 1024  # from as many vectors the sample is large
_FACTOR, _ADDEND = 6364136223846793005, 1442695040888963407  # of a sequence of random numbers

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


class _Text:
    """The text of one sorter."""

    def __init__(self, sorter: Sorter) -> None:
        """Name the types."""
        self.bits, self.n_words = sorter.bits, sorter.words
        self.lanes = 8 * _BYTES // sorter.bits
        self.word = f"i{sorter.bits}"
        self.vector = f"<{self.lanes} x {self.word}>"
        self.mask = f"<{self.lanes} x i1>"
        self.suffix = f"v{self.lanes}i{sorter.bits}"
        self.rows = _MOST_VECTORS // sorter.words
        self.at_once = self.rows // 2  # vectors that `divide` reads
        self.most = self.rows * self.lanes
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
        vector, mask, suffix = self.vector, self.mask, self.suffix
        compress = f"@llvm.x86.avx512.mask.compress.{suffix}"
        self.lines = [
            f"declare {vector} @llvm.masked.load.{suffix}.p0(ptr, i32, {mask}, {vector})",
            f"declare void @llvm.masked.store.{suffix}.p0({vector}, ptr, i32, {mask})",
            f"declare void @llvm.masked.compressstore.{suffix}({vector}, ptr, {mask})",
            f"declare {vector} {compress}({vector}, {vector}, {mask})",
            f"declare {vector} @llvm.umin.{suffix}({vector}, {vector})",
            f"declare {vector} @llvm.umax.{suffix}({vector}, {vector})",
            f"declare i{self.lanes} @llvm.ctpop.i{self.lanes}(i{self.lanes})",
        ]
        self.small()
        self.sift()
        self.heap()
        self.divide()
        self.sort(symbol)
        return "\n".join(self.lines) + "\n"

    # Elements

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

    def less(self, x: Words, y: Words, kind: str) -> str:
        """Compare elements, or vectors of them; `kind` is the type of a word."""
        result = self.emit(f"icmp ult {kind} {x[-1]}, {y[-1]}")
        flags = "i1" if kind == self.word else self.mask
        for a, b in zip(reversed(x[:-1]), reversed(y[:-1]), strict=True):
            same = self.emit(f"icmp eq {kind} {a}, {b}")
            both = self.emit(f"and {flags} {same}, {result}")
            result = self.emit(f"or {flags} {self.emit(f'icmp ult {kind} {a}, {b}')}, {both}")
        return result

    def select(self, flag: str, x: Words, y: Words, kind: str) -> list[str]:
        """Choose between elements, or lanes of vectors."""
        flags = "i1" if kind == self.word else self.mask
        return [
            self.emit(f"select {flags} {flag}, {kind} {a}, {kind} {b}")
            for a, b in zip(x, y, strict=True)
        ]

    def ordered(self, x: Words, y: Words) -> tuple[list[str], list[str]]:
        """Return the lesser and the greater elements of two vectors, lane by lane."""
        if self.n_words == 1:
            args = f"({self.vector} {x[0]}, {self.vector} {y[0]})"
            low, high = (
                [self.emit(f"call {self.vector} @llvm.{name}.{self.suffix}{args}")]
                for name in ("umin", "umax")
            )
            return low, high
        flag = self.less(x, y, self.vector)
        return self.select(flag, x, y, self.vector), self.select(flag, y, x, self.vector)

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

    def below(self, count: str) -> str:
        """Return the mask of the first lanes; count: how many, or any number."""
        short = self.emit(f"trunc i64 {count} to i32")
        kind = f"<{self.lanes} x i32>"
        first = self.emit(f"insertelement {kind} poison, i32 {short}, i64 0")
        spread = self.emit(f"shufflevector {kind} {first}, {kind} poison, {kind} zeroinitializer")
        ramp = ", ".join(f"i32 {lane}" for lane in range(self.lanes))
        return self.emit(f"icmp slt {kind} <{ramp}>, {spread}")

    def load_some(self, bases: Words, index: str, mask: str) -> list[str]:
        """Load lanes of a vector; the others are the greatest elements."""
        most = ", ".join([f"{self.word} -1"] * self.lanes)
        call = f"call {self.vector} @llvm.masked.load.{self.suffix}.p0"
        rest = f"{self.mask} {mask}, {self.vector} <{most}>"
        align = self.bits // 8
        return [
            self.emit(f"{call}(ptr {place}, i32 {align}, {rest})")
            for place in self.place(bases, index)
        ]

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
            masks[row] = self.below(self.emit(f"sub i64 %n, {start}"))
            vectors.append(self.load_some(bases, str(start), masks[row]))
        for i, j in _network(size):
            vectors[i], vectors[j] = self.ordered(vectors[i], vectors[j])
        group = 2
        while group <= self.lanes:
            vectors = self.merged(vectors, group)
            group *= 2
        for row, values in enumerate(self.transposed(vectors)):
            start = str(row * self.lanes)
            if row not in masks:
                self.store(bases, start, values, self.vector)
                continue
            for place, value in zip(self.place(bases, start), values, strict=True):
                args = f"{self.vector} {value}, ptr {place}, i32 {self.bits // 8}"
                call = f"call void @llvm.masked.store.{self.suffix}.p0"
                self.do(f"{call}({args}, {self.mask} {masks[row]})")

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

    def divide(self) -> None:
        """Write the function that puts what is below the pivot first; it returns how much that is.

        Held back are the vectors at both ends, `at_once` of each, and what fills no vector.
        """
        bases, pivots = self.names("x"), self.names("p")
        given = f"{self.typed('ptr', bases)}, i64 %n, {self.typed(self.word, pivots)}"
        self.do(f"define internal i64 @divide({given}) nounwind noinline {{", "entry:")
        chunk = self.at_once * self.lanes
        spread = [self.spread(pivot) for pivot in pivots]
        self.do(f"%rest = and i64 %n, {self.lanes - 1}")
        some = self.below("%rest")
        partial = self.load_some(bases, "0", some)
        self.do(f"%right = sub i64 %n, {chunk}", f"%left = add i64 %rest, {chunk}")
        held = []
        for start in ("%rest", "%right"):
            for number in range(self.at_once):
                place = self.emit(f"add i64 {start}, {number * self.lanes}")
                held.append(self.load(bases, place, self.vector))
        self.do("br label %head")
        before = ("%left", "%right", "0", "%n", "%entry")
        after = self.walk("", before, (bases, spread), self.at_once)
        self.do("br label %one.head")
        *_, front, back = self.walk("one.", (*after, "%out"), (bases, spread), 1)
        for vector in held[:-1]:
            front, back = self.pack(bases, vector, spread, (front, back))
        last = self.less(held[-1], spread, self.vector)
        front, back = self.pack_exactly(bases, held[-1], (last, self.negated(last)), (front, back))
        lows = self.less(partial, spread, self.vector)
        kept = self.emit(f"and {self.mask} {lows}, {some}")
        others = self.emit(f"and {self.mask} {self.negated(lows)}, {some}")
        front, back = self.pack_exactly(bases, partial, (kept, others), (front, back))
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
        chunk = count * self.lanes
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
        places = [self.emit(f"add i64 {source}, {k * self.lanes}") for k in range(count)]
        ends = (front, back)
        for vector in [self.load(bases, place, self.vector) for place in places]:
            ends = self.pack(bases, vector, spread, ends)
        for name, end in zip((front, back), ends, strict=True):
            self.do(f"{name}.next = add i64 {end}, 0")
        self.do(f"br label %{stem}head", f"{stem}out:")
        return tuple(state)

    def spread(self, word: str) -> str:
        """Spread a word over a vector."""
        first = self.emit(f"insertelement {self.vector} poison, {self.word} {word}, i64 0")
        order = f"<{self.lanes} x i32> zeroinitializer"
        return self.emit(f"shufflevector {self.vector} {first}, {self.vector} poison, {order}")

    def negated(self, mask: str) -> str:
        """Return the other lanes."""
        ones = ", ".join(["i1 true"] * self.lanes)
        return self.emit(f"xor {self.mask} {mask}, <{ones}>")

    def counted(self, mask: str) -> str:
        """Return how many lanes a mask has."""
        kind = f"i{self.lanes}"
        bits = self.emit(f"bitcast {self.mask} {mask} to {kind}")
        count = self.emit(f"call {kind} @llvm.ctpop.{kind}({kind} {bits})")
        return self.emit(f"zext {kind} {count} to i64")

    def pack(
        self, bases: Words, vector: Words, spread: Words, ends: tuple[str, str]
    ) -> tuple[str, str]:
        """Store a vector's lanes to the front and to the back, where two vectors have room."""
        front, back = ends
        lows = self.less(vector, spread, self.vector)
        self.store(bases, front, self.packed(vector, lows), self.vector)
        rest = self.packed(vector, self.negated(lows))
        rest = self.shuffle(rest, rest, range(self.lanes - 1, -1, -1))
        place = self.emit(f"sub i64 {back}, {self.lanes}")
        self.store(bases, place, rest, self.vector)
        count = self.counted(lows)
        return self.emit(f"add i64 {front}, {count}"), self.emit(f"add i64 {place}, {count}")

    def packed(self, vector: Words, mask: str) -> list[str]:
        """Move the lanes of a mask to the start."""
        call = f"call {self.vector} @llvm.x86.avx512.mask.compress.{self.suffix}"
        rest = f"{self.vector} zeroinitializer, {self.mask} {mask}"
        return [self.emit(f"{call}({self.vector} {word}, {rest})") for word in vector]

    def pack_exactly(
        self, bases: Words, vector: Words, masks: tuple[str, str], ends: tuple[str, str]
    ) -> tuple[str, str]:
        """Store the lanes of two masks to the front and to the back, and nothing else."""
        front, back = ends
        lows, highs = map(self.counted, masks)
        start = self.emit(f"sub i64 {back}, {highs}")
        for mask, index in zip(masks, (front, start), strict=True):
            for place, word in zip(self.place(bases, index), vector, strict=True):
                args = f"{self.vector} {word}, ptr {place}, {self.mask} {mask}"
                self.do(f"call void @llvm.masked.compressstore.{self.suffix}({args})")
        return self.emit(f"add i64 {front}, {lows}"), start

    # Sorting

    def sort(self, symbol: str) -> None:
        """Write the function that is exported."""
        word = self.word
        given, sample = self.typed("ptr", self.names("g")), self.names("s")
        self.do(f'define void @"{symbol}"({given}, i64 %size, i64 %most) nounwind {{', "entry:")
        for name in sample:
            self.do(f"{name} = alloca [{self.most} x {word}], align {_BYTES}")
        self.do("br label %head", "head:")
        bases = self.names("x")
        for name, start in zip(bases, self.names("g"), strict=True):
            self.do(f"{name} = phi ptr [{start}, %entry], [{name}.next, %next]")
        self.do("%n = phi i64 [%size, %entry], [%n.next, %next]")
        self.do("%depth = phi i64 [%most, %entry], [%deeper, %next]")
        self.do(f"%few = icmp ule i64 %n, {self.most}")
        self.do("br i1 %few, label %network, label %many", "network:")
        self.do(f"call void @small({self.typed('ptr', bases)}, i64 %n)", "ret void", "many:")
        self.do("%deep = icmp eq i64 %depth, 0", "br i1 %deep, label %pile, label %go", "pile:")
        self.do(f"call void @heap({self.typed('ptr', bases)}, i64 %n)", "ret void", "go:")
        self.do("%deeper = sub i64 %depth, 1")
        self.sampled(bases, sample)
        self.parted(bases)
        self.do("next:")
        self.do("%n.next = phi i64 [%over, %rest], [%over, %lower], [%below, %upper]")
        for name in bases:
            ends = f"[{name}.over, %rest], [{name}.over, %lower], [{name}, %upper]"
            self.do(f"{name}.next = phi ptr {ends}")
        self.do("br label %head")
        self.one_part(symbol, "lower", bases, "%below")
        self.one_part(symbol, "upper", [f"{name}.over" for name in bases], "%over")
        self.lines.append("}")

    def sampled(self, bases: Words, sample: Words) -> None:
        """Choose the pivot: the median of elements at random places."""
        self.do(f"%long = icmp uge i64 %n, {_LONG * self.lanes}")
        self.do(f"%count = select i1 %long, i64 {self.most}, i64 {self.lanes}")
        self.do("br label %draw", "draw:")
        self.do("%k = phi i64 [0, %go], [%k.next, %draw]")
        self.do("%seed = phi i64 [%n, %go], [%seed.next, %draw]")
        product = self.emit(f"mul i64 %seed, {_FACTOR}")
        self.do(f"%seed.next = add i64 {product}, {_ADDEND}")
        wide = self.emit("zext i64 %seed.next to i128")
        scaled = self.emit(f"mul i128 {wide}, {self.emit('zext i64 %n to i128')}")
        place = self.emit(f"trunc i128 {self.emit(f'lshr i128 {scaled}, 64')} to i64")
        self.store(sample, "%k", self.load(bases, place, self.word), self.word)
        self.do("%k.next = add i64 %k, 1", "%drawn = icmp eq i64 %k.next, %count")
        self.do("br i1 %drawn, label %choose, label %draw", "choose:")
        self.do(f"call void @small({self.typed('ptr', sample)}, i64 %count)")
        self.do("%middle = lshr i64 %count, 1")
        for name, value in zip(
            self.names("m"), self.load(sample, "%middle", self.word), strict=True
        ):
            self.do(f"{name} = add {self.word} {value}, 0")
        self.do("br label %part")

    def parted(self, bases: Words) -> None:
        """Divide the line; if nothing is below the pivot, once more, right above it."""
        word = self.word
        self.do("part:")
        for name, start in zip(self.names("p"), self.names("m"), strict=True):
            self.do(f"{name} = phi {word} [{start}, %choose], [{name}.up, %raise]")
        self.do("%second = phi i1 [false, %choose], [true, %raise]")
        args = f"{self.typed('ptr', bases)}, i64 %n, {self.typed(word, self.names('p'))}"
        self.do(f"%below = call i64 @divide({args})", "%over = sub i64 %n, %below")
        for name in bases:
            self.do(f"{name}.over = getelementptr {word}, ptr {name}, i64 %below")
        self.do(
            "%none = icmp eq i64 %below, 0", "br i1 %none, label %least, label %split", "least:"
        )
        last = self.names("p")[-1]
        self.do(f"%top = icmp eq {word} {last}, -1", "br i1 %top, label %done, label %raise")
        self.do("raise:", f"{last}.up = add {word} {last}, 1")
        for name in self.names("p")[:-1]:
            self.do(f"{name}.up = add {word} {name}, 0")
        self.do("br label %part", "done:", "ret void", "split:")
        self.do("br i1 %second, label %rest, label %both", "rest:", "br label %next", "both:")
        self.do("%shorter = icmp ult i64 %below, %over")
        self.do("br i1 %shorter, label %lower, label %upper")

    def one_part(self, symbol: str, label: str, bases: Words, size: str) -> None:
        """Sort the shorter part by a call."""
        args = f"{self.typed('ptr', bases)}, i64 {size}, i64 %deeper"
        self.do(f"{label}:", f'call void @"{symbol}"({args})', "br label %next")
