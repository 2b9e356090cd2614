"""Text for indices and lanes: the small arithmetic between scalars of a program and LLVM values.

Index arithmetic folds: an operand is a number spelled in decimal, or a name, and numbers are added
here rather than by LLVM. Lanes are consecutive values of one loop variable; the functions below
spread one value over them, load and store them, with and without a mask. Masked-off lanes of a
load are zero, so that arithmetic on them is harmless.
"""

from __future__ import annotations

from tapeless.compiler.formats import Format, format_of, typed
from tapeless.compiler.regions import Function, Region, Value
from tapeless.kernel.ir import Affine, Buffer, Index

__all__ = [
    "MOST_INTERLEAVED",
    "add",
    "ask",
    "carry",
    "count",
    "displace",
    "every",
    "gather",
    "interleave",
    "interleaving",
    "joined",
    "load_lanes",
    "minimum",
    "multiply",
    "ramp",
    "repeated",
    "reverse",
    "scatter",
    "splat_value",
    "square_of",
    "store_lanes",
    "stream_lanes",
    "tail_mask",
    "transposed",
]

MOST_INTERLEAVED, _FEW_INTERLEAVED = 18, 4  # sequences; 3 x 3 complex numbers have 18
_SQUARED, _LEAST_SIDE, _WIDEST = (8, 16), 4, 128  # strides, elements, bytes of lanes


def carry(text: str, kind: str, origin: Function, region: Region) -> str:
    """Make the value `text` of the function `origin` known in `region`, perhaps of a task."""
    return text if region.function is origin else region.function.capture(text, kind)


def count(region: Region, start: str, stride: int) -> Value:
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


def minimum(region: Region, x: str, y: str) -> str:
    """Give the smaller of two 64-bit integers that are not negative."""
    if not x.startswith("%") and not y.startswith("%"):
        return str(min(int(x), int(y)))
    region.declare("llvm.umin.i64", "i64 (i64, i64)")
    return region.emit(f"call i64 @llvm.umin.i64(i64 {x}, i64 {y})")


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


def interleaving(buffer: Buffer, index: Affine, var: Index, lanes: int = 1) -> int:
    """Return how many interleaved sequences the lanes of `var` pick one of; 0 if it is not so.

    With a stride that divides the buffer's size and every other step of the index, the neighbours
    of the wanted elements are elements too, and one wide load serves all sequences.  There may be
    more of them where lanes fill a register of 64 bytes: such processors permute two of these.
    """
    stride, size = index.stride(var), format_of(buffer.dtype).size
    most = MOST_INTERLEAVED if lanes * size == 64 and size >= 4 else _FEW_INTERLEAVED
    if stride is None or not 2 <= stride <= most or buffer.size % stride:
        return 0
    return stride if all(step % stride == 0 for _, step in index.terms) else 0


def square_of(buffer: Buffer, index: Affine, var: Index, lanes: int) -> int:
    """Return the side of the squares of elements whose columns are lanes of `var`; 0 if none are.

    Neighbours of the wanted elements are elements too, as in `interleaving`, but rows are
    registers, so that what has just been stored row by row is found in them.
    """
    stride = index.stride(var)
    if stride not in _SQUARED or lanes * format_of(buffer.dtype).size > _WIDEST:
        return 0
    side = min(stride, lanes)
    fits = buffer.size % stride == 0 and all(step % stride == 0 for _, step in index.terms)
    return side if fits and side >= _LEAST_SIDE and lanes % side == 0 == stride % side else 0


def repeated(region: Region, mask: str, lanes: int, times: int) -> str:
    """Repeat each lane of a mask."""
    order = ", ".join(f"i32 {lane // times}" for lane in range(lanes * times))
    kind = f"<{lanes} x i1>"
    return region.emit(
        f"shufflevector {kind} {mask}, {kind} poison, <{lanes * times} x i32> <{order}>"
    )


def every(region: Region, text: str, element: str, lanes: int, first: int, step: int) -> str:
    """Pick `lanes` lanes, `step` apart, of a value that has `lanes * step`."""
    kind = typed(element, lanes * step)
    order = ", ".join(f"i32 {first + step * lane}" for lane in range(lanes))
    return region.emit(f"shufflevector {kind} {text}, {kind} poison, <{lanes} x i32> <{order}>")


def interleave(region: Region, texts: list[str], element: str, lanes: int) -> str:
    """Merge values into one whose lanes come from each of them in turn."""
    times, wide = len(texts), 1
    while wide < times:
        wide *= 2
    padded, width = texts + ["poison"] * (wide - times), lanes
    while len(padded) > 1:
        kind = typed(element, width)
        order = ", ".join(f"i32 {lane}" for lane in range(2 * width))
        padded = [
            region.emit(f"shufflevector {kind} {x}, {kind} {y}, <{2 * width} x i32> <{order}>")
            for x, y in zip(padded[::2], padded[1::2], strict=True)
        ]
        width *= 2
    kind = typed(element, width)
    order = ", ".join(
        f"i32 {number * lanes + lane}" for lane in range(lanes) for number in range(times)
    )
    return region.emit(
        f"shufflevector {kind} {padded[0]}, {kind} poison, <{times * lanes} x i32> <{order}>"
    )


def transposed(region: Region, rows: list[str], kind: str) -> list[str]:
    """Transpose a square of n registers in log2(n) rounds.

    Each exchanges off-diagonal halves of blocks of half the size of the ones before: rows r and
    r + d swap the lanes whose numbers differ in bit d.
    """
    size = len(rows)
    distance = size // 2
    while distance:
        turned = list(rows)
        for number in range(size):
            if number & distance:
                continue
            pair = f"{kind} {rows[number]}, {kind} {rows[number | distance]}"
            low = [n if not n & distance else size + n - distance for n in range(size)]
            high = [n + distance if not n & distance else size + n for n in range(size)]
            for place, order in ((number, low), (number | distance, high)):
                lanes = ", ".join(f"i32 {lane}" for lane in order)
                turned[place] = region.emit(f"shufflevector {pair}, <{size} x i32> <{lanes}>")
        rows, distance = turned, distance // 2
    return rows


def joined(region: Region, parts: list[str], element: str, lanes: int) -> str:
    """Put values of `lanes` lanes one after the other; their number is a power of two."""
    while len(parts) > 1:
        kind, order = typed(element, lanes), ramp("i32", 1, 2 * lanes)
        parts = [
            region.emit(f"shufflevector {kind} {x}, {kind} {y}, <{2 * lanes} x i32> {order}")
            for x, y in zip(parts[::2], parts[1::2], strict=True)
        ]
        lanes *= 2
    return parts[0]


def tail_mask(wanted: int, lanes: int) -> str:
    """Spell the mask of the first `wanted` lanes."""
    return f"<{', '.join(f'i1 {str(lane < wanted).lower()}' for lane in range(lanes))}>"


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
    """Store consecutive elements.

    One element is stored as a number: LLVM 22 writes 8 bytes where it narrows 64-bit integers to a
    single 32-bit one under a mask.
    """
    kind = typed(form.memory, lanes)
    if mask is None:
        region.do(f"store {kind} {raw}, ptr {pointer}, align {form.size}")
        return
    if mask == tail_mask(1, lanes):
        number = region.emit(f"extractelement {kind} {raw}, i64 0")
        region.do(f"store {form.memory} {number}, ptr {pointer}, align {form.size}")
        return
    name = f"llvm.masked.store.v{lanes}{memory_suffix(form)}.p0"
    region.declare(name, f"void ({kind}, ptr, i32, <{lanes} x i1>)")
    place = f"ptr {pointer}, i32 {form.size}"
    region.do(f"call void @{name}({kind} {raw}, {place}, <{lanes} x i1> {mask})")


def stream_lanes(region: Region, raw: str, pointer: str, form: Format, lanes: int) -> None:
    """Store a whole line of the cache to memory, past the caches."""
    kind = typed(form.memory, lanes)
    region.do(f"store {kind} {raw}, ptr {pointer}, align {lanes * form.size}, !nontemporal !1")


def ask(region: Region, pointer: str) -> None:
    """Ask for a line of the cache that will be read; no address is a fault."""
    region.declare("llvm.prefetch.p0", "void (ptr, i32, i32, i32)")
    region.do(f'call void @"llvm.prefetch.p0"(ptr {pointer}, i32 0, i32 3, i32 1)')


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
