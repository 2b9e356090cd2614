"""Products in the matrix registers of a processor (Intel's AMX), as LLVM text.

    tiles:product(x, y, out, rows, columns, steps)

multiplies factors that lie in tiles as `prims/brainproducts.py` says; the sizes are in squares of
32 x 32, and `out` is (32 rows, 32 columns) float32.  For each square of the result four registers
keep sums while two tiles of either factor pass by:

    step p:  load x[2i, p], x[2i + 1, p], y[2j, p], y[2j + 1, p], 1,024 bytes each
             add their four products

The registers are 8 KiB of state that the kernel must save with a thread, so it gives them to
processes that ask (`target.py`).
"""

from __future__ import annotations

__all__ = ["PRODUCT", "SQUARE", "product_text"]

PRODUCT = "tiles:product"
SQUARE = 32  # rows and columns that are computed at once, and the terms of one step
_INTRINSICS = """
declare void @llvm.x86.ldtilecfg(ptr)
declare void @llvm.x86.tilerelease()
declare void @llvm.x86.tilezero(i8)
declare void @llvm.x86.tileloadd64(i8, ptr, i64)
declare void @llvm.x86.tilestored64(i8, ptr, i64)
declare void @llvm.x86.tdpbf16ps(i8, i8, i8)
"""
_FRAME = """
define void @"tiles:product"(ptr %x, ptr %y, ptr %out, i64 %rows, i64 %columns, i64 %steps) #0 {{
entry:
  call void @llvm.x86.ldtilecfg(ptr @shape)
  %panel = mul i64 %steps, 1024
  %square = mul i64 %panel, 2
  %pitch = mul i64 %columns, 128
  %half = mul i64 %pitch, 16
  %height = mul i64 %pitch, 32
  br label %column
column:
  %j = phi i64 [0, %entry], [%j_next, %column_end]
  %y_offset = mul i64 %j, %square
  %y_start = getelementptr i8, ptr %y, i64 %y_offset
  %out_offset = mul i64 %j, 128
  %out_column = getelementptr i8, ptr %out, i64 %out_offset
  br label %row
row:
  %i = phi i64 [0, %column], [%i_next, %row_end]
  %x_offset = mul i64 %i, %square
  %x_start = getelementptr i8, ptr %x, i64 %x_offset
  {zeros}
  br label %step
step:
  %p = phi i64 [0, %row], [%p_next, %step]
  %offset = mul i64 %p, 1024
  %x0 = getelementptr i8, ptr %x_start, i64 %offset
  %x1 = getelementptr i8, ptr %x0, i64 %panel
  %y0 = getelementptr i8, ptr %y_start, i64 %offset
  %y1 = getelementptr i8, ptr %y0, i64 %panel
  {sums}
  %p_next = add i64 %p, 1
  %more_steps = icmp slt i64 %p_next, %steps
  br i1 %more_steps, label %step, label %row_end
row_end:
  %row_offset = mul i64 %i, %height
  %out0 = getelementptr i8, ptr %out_column, i64 %row_offset
  %out1 = getelementptr i8, ptr %out0, i64 64
  %out2 = getelementptr i8, ptr %out0, i64 %half
  %out3 = getelementptr i8, ptr %out2, i64 64
  {stores}
  %i_next = add i64 %i, 1
  %more_rows = icmp slt i64 %i_next, %rows
  br i1 %more_rows, label %row, label %column_end
column_end:
  %j_next = add i64 %j, 1
  %more_columns = icmp slt i64 %j_next, %columns
  br i1 %more_columns, label %column, label %done
done:
  call void @llvm.x86.tilerelease()
  ret void
}}
attributes #0 = {{ nounwind "target-features"="+amx-tile,+amx-bf16" }}
"""


def product_text() -> str:
    """Give the module that exports `tiles:product`.

    Registers 0 to 3 are sums, 4 and 5 tiles of x, 6 and 7 tiles of y.
    """
    factors = ((4, "x0"), (5, "x1"), (6, "y0"), (7, "y1"))
    zeros = [f"zero(i8 {tile})" for tile in range(4)]
    loads = [f"loadd64(i8 {tile}, ptr %{name}, i64 64)" for tile, name in factors]
    stores = [f"stored64(i8 {tile}, ptr %out{tile}, i64 %pitch)" for tile in range(4)]
    places = [(row, column) for row in range(2) for column in range(2)]
    sums = [f"(i8 {2 * row + column}, i8 {4 + row}, i8 {6 + column})" for row, column in places]
    frame = _FRAME.format(
        zeros=_calls("tile", zeros),
        sums=_calls("tile", loads) + "\n  " + _calls("tdpbf16ps", sums),
        stores=_calls("tile", stores),
    )
    return _shape() + _INTRINSICS + frame


def _calls(name: str, endings: list[str]) -> str:
    """Spell calls of intrinsics, a line each."""
    return "\n  ".join(f"call void @llvm.x86.{name}{ending}" for ending in endings)


def _shape() -> str:
    """Spell the registers' configuration: eight, of 16 rows of 64 bytes."""
    setting = [0] * 64
    setting[0] = 1
    for tile in range(8):
        setting[16 + 2 * tile] = 64
        setting[48 + tile] = 16
    content = ", ".join(f"i8 {byte}" for byte in setting)
    return f"@shape = internal constant [64 x i8] [{content}], align 64\n"
