"""The list of the places where flags are set, as LLVM text.

    flags   n bytes, 0 or 1                  places   int32, n and `MARGIN` more
    found   how many are set, int64          n        int64
    most    int64: of more than so many `found` is only some number that is more

Where few rows want something, the list of those that do is most of the work (`byrows.py`), and
most of that were branches that go either way. So flags are looked at in stretches of 256: none set,
and it is passed over. Of each 64 in others the first two that are set are stored without a branch,
whether they are there or not; only where there are more, the numbers of each 16 are compressed in a
register, and stored. What is behind the last place is overwritten by the next, which is why the
list has a margin.

What is left of the last 64 is listed flag by flag. Behind the last place is `MARGIN` times the same
again, for those who take several places at once.
"""

from __future__ import annotations

__all__ = ["MARGIN", "PLACES", "places_text"]

PLACES = "places:"
MARGIN = 64

_LANES = 16
_BLOCK = 64
_STRETCH = 256
_FEW = 2
_HEAD = f"""
declare <{_LANES} x i32> @llvm.experimental.vector.compress.v{_LANES}i32(
  <{_LANES} x i32>, <{_LANES} x i1>, <{_LANES} x i32>)
declare i16 @llvm.ctpop.i16(i16)
declare i64 @llvm.ctpop.i64(i64)
declare i64 @llvm.cttz.i64(i64, i1)
declare i64 @llvm.smin.i64(i64, i64)
declare i8 @llvm.vector.reduce.or.v{_STRETCH}i8(<{_STRETCH} x i8>)

define void @"{PLACES}"(
  ptr noalias %flags, ptr noalias %places, ptr noalias %found, i64 %n, i64 %most
) nounwind {{
entry:
  %whole = and i64 %n, -{_BLOCK}
  br label %test
test:
  %i = phi i64 [0, %entry], [%end, %next]
  %count = phi i64 [0, %entry], [%count.next, %next]
  %enough = icmp sgt i64 %count, %most
  br i1 %enough, label %counted, label %go
go:
  %more = icmp slt i64 %i, %whole
  br i1 %more, label %look, label %rest
look:
  %stop = add i64 %i, {_STRETCH}
  %end = call i64 @llvm.smin.i64(i64 %stop, i64 %whole)
  %full = icmp sle i64 %stop, %whole
  br i1 %full, label %check, label %block
check:
  %stretch = getelementptr i8, ptr %flags, i64 %i
  %all = load <{_STRETCH} x i8>, ptr %stretch, align 1
  %some = call i8 @llvm.vector.reduce.or.v{_STRETCH}i8(<{_STRETCH} x i8> %all)
  %any = icmp ne i8 %some, 0
  br i1 %any, label %block, label %next
block:
  %k = phi i64 [%i, %look], [%i, %check], [%k.next, %listed]
  %c.0 = phi i64 [%count, %look], [%count, %check], [%c.new, %listed]
  %first = getelementptr i8, ptr %flags, i64 %k
  %bytes = load <{_BLOCK} x i8>, ptr %first, align 1
  %set = icmp ne <{_BLOCK} x i8> %bytes, zeroinitializer
  %rest.0 = bitcast <{_BLOCK} x i1> %set to i{_BLOCK}
  %few = call i64 @llvm.ctpop.i64(i64 %rest.0)
  %c.new = add i64 %c.0, %few
  %low = trunc i64 %k to i32
  %many = icmp ugt i64 %few, {_FEW}
  br i1 %many, label %compress, label %pick
pick:
"""
_BETWEEN = """
  br label %listed
compress:
"""
_TAIL = f"""
  br label %listed
listed:
  %k.next = add i64 %k, {_BLOCK}
  %goes.on = icmp slt i64 %k.next, %end
  br i1 %goes.on, label %block, label %next
next:
  %count.next = phi i64 [%count, %check], [%c.new, %listed]
  br label %test
rest:
  %j = phi i64 [%whole, %go], [%j.next, %one]
  %c = phi i64 [%count, %go], [%c.next, %one]
  %left = icmp slt i64 %j, %n
  br i1 %left, label %one, label %end.of.list
one:
  %place = getelementptr i32, ptr %places, i64 %c
  %number = trunc i64 %j to i32
  store i32 %number, ptr %place
  %at = getelementptr i8, ptr %flags, i64 %j
  %flag = load i8, ptr %at
  %wanted = icmp ne i8 %flag, 0
  %step = zext i1 %wanted to i64
  %c.next = add i64 %c, %step
  %j.next = add i64 %j, 1
  br label %rest
end.of.list:
  store i64 %c, ptr %found
  %end.place = getelementptr i32, ptr %places, i64 %c
  %last.place = getelementptr i32, ptr %end.place, i64 -1
  %none = icmp eq i64 %c, 0
  br i1 %none, label %done, label %fill
fill:
  %last = load i32, ptr %last.place
  %start.fill = insertelement <{MARGIN} x i32> poison, i32 %last, i64 0
  %copies = shufflevector <{MARGIN} x i32> %start.fill, <{MARGIN} x i32> poison,
    <{MARGIN} x i32> zeroinitializer
  store <{MARGIN} x i32> %copies, ptr %end.place, align 4
  br label %done
counted:
  store i64 %count, ptr %found
  br label %done
done:
  ret void
}}
"""


def places_text() -> str:
    """Give the module that exports the routine."""
    return _HEAD + _lines(_picked()) + _BETWEEN + _lines(_compressed()) + _TAIL


def _lines(lines: list[str]) -> str:
    """Indent instructions."""
    return "\n".join(f"  {line}" for line in lines)


def _picked() -> list[str]:
    """Store the places of the lowest bits, and of bits that are not there behind them."""
    lines: list[str] = []
    for bit in range(_FEW):
        lines += [
            f"%zeros.{bit} = call i64 @llvm.cttz.i64(i64 %rest.{bit}, i1 false)",
            f"%within.{bit} = trunc i64 %zeros.{bit} to i32",
            f"%picked.{bit} = add i32 %low, %within.{bit}",
            f"%spot.{bit} = add i64 %c.0, {bit}",
            f"%pick.{bit} = getelementptr i32, ptr %places, i64 %spot.{bit}",
            f"store i32 %picked.{bit}, ptr %pick.{bit}",
            f"%less.{bit} = sub i64 %rest.{bit}, 1",
            f"%rest.{bit + 1} = and i64 %rest.{bit}, %less.{bit}",
        ]
    return lines


def _compressed() -> list[str]:
    """Store the places of all bits, by registers."""
    numbers, flags = f"<{_LANES} x i32>", f"<{_LANES} x i1>"
    lines: list[str] = []
    count = "%c.0"
    for part in range(_BLOCK // _LANES):
        lanes = range(part * _LANES, (part + 1) * _LANES)
        ramp = ", ".join(f"i32 {lane}" for lane in lanes)
        picked = ", ".join(f"i32 {lane}" for lane in lanes)
        both = f"<{_BLOCK} x i1> %set, <{_BLOCK} x i1> poison"
        name = f"@llvm.experimental.vector.compress.v{_LANES}i32"
        lines += [
            f"%start.{part} = insertelement {numbers} poison, i32 %low, i64 0",
            f"%all.{part} = shufflevector {numbers} %start.{part}, {numbers} poison, "
            f"<{_LANES} x i32> zeroinitializer",
            f"%numbers.{part} = add {numbers} %all.{part}, <{ramp}>",
            f"%set.{part} = shufflevector {both}, <{_LANES} x i32> <{picked}>",
            f"%listed.{part} = call {numbers} {name}({numbers} %numbers.{part}, "
            f"{flags} %set.{part}, {numbers} poison)",
            f"%to.{part} = getelementptr i32, ptr %places, i64 {count}",
            f"store {numbers} %listed.{part}, ptr %to.{part}, align 4",
            f"%bits.{part} = bitcast {flags} %set.{part} to i{_LANES}",
            f"%few.{part} = call i16 @llvm.ctpop.i16(i16 %bits.{part})",
            f"%more.{part} = zext i16 %few.{part} to i64",
            f"%count.{part} = add i64 {count}, %more.{part}",
        ]
        count = f"%count.{part}"
    return lines
