"""The list of the places where flags are set, as LLVM text.

    flags   n bytes, 0 or 1                  places   int32, n and `MARGIN` more
    found   how many are set, int64          n        int64

Where few rows want something, the list of those that do is most of the work (`byrows.py`). Flags
are looked at in blocks of 64, and blocks without any are passed over. Of others, the numbers of
each 16 rows are compressed in a register to those that are set, and all of it is stored: what is
behind the last place is overwritten by the next, which is why the list has a margin.

What is left of the last block is listed flag by flag. Behind the last place there is no promise.
"""

from __future__ import annotations

__all__ = ["MARGIN", "PLACES", "places_text"]

PLACES = "places:"
MARGIN = 16

_LANES = 16
_BLOCK = 64
_HEAD = f"""
declare <{_LANES} x i32> @llvm.experimental.vector.compress.v{_LANES}i32(
  <{_LANES} x i32>, <{_LANES} x i1>, <{_LANES} x i32>)
declare i16 @llvm.ctpop.i16(i16)

define void @"{PLACES}"(
  ptr noalias %flags, ptr noalias %places, ptr noalias %found, i64 %n
) nounwind {{
entry:
  %whole = and i64 %n, -{_BLOCK}
  br label %test
test:
  %i = phi i64 [0, %entry], [%i.next, %next]
  %count = phi i64 [0, %entry], [%count.next, %next]
  %more = icmp slt i64 %i, %whole
  br i1 %more, label %look, label %rest
look:
  %first = getelementptr i8, ptr %flags, i64 %i
  %block = load <{_BLOCK} x i8>, ptr %first, align 1
  %set = icmp ne <{_BLOCK} x i8> %block, zeroinitializer
  %bits = bitcast <{_BLOCK} x i1> %set to i{_BLOCK}
  %any = icmp ne i{_BLOCK} %bits, 0
  br i1 %any, label %list, label %next
list:
  %low = trunc i64 %i to i32
"""
_TAIL = """
  br label %next
next:
  %count.next = phi i64 [%count, %look], [{count}, %list]
  %i.next = add i64 %i, {block}
  br label %test
rest:
  %j = phi i64 [%whole, %test], [%j.next, %one]
  %c = phi i64 [%count, %test], [%c.next, %one]
  %left = icmp slt i64 %j, %n
  br i1 %left, label %one, label %end
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
end:
  store i64 %c, ptr %found
  ret void
}}
"""


def places_text() -> str:
    """Give the module that exports the routine."""
    numbers, flags = f"<{_LANES} x i32>", f"<{_LANES} x i1>"
    lines: list[str] = []
    count = "%count"
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
    body = "\n".join(f"  {line}" for line in lines)
    return _HEAD + body + _TAIL.format(count=count, block=_BLOCK)
