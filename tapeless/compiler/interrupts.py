"""Interrupting native code: Ctrl-C, alarms and every other Python signal handler.

Python runs signal handlers between bytecodes, and there are none in a native loop. So loops that
may be long poll. Each iteration takes its estimated cost from a budget in a register; when the
budget is gone, about every millisecond, `tapeless_poll` looks at the clock, and every `_PERIOD`
nanoseconds it takes the GIL and lets Python run pending handlers. If a handler raises, the
exception is put aside, the program returns the status `INTERRUPTED` from wherever it is, and
`raise_interruption` raises the exception in Python, whatever its class is.

Only Python's main thread handles signals, so other threads never take the GIL here. Tasks of a
parallel loop see the interruption of the main thread through their `stop` flag. The main thread
polls while it waits for the last of them, too.

The main thread may have left a program that it let another thread run (`util/apart.py`).  That
thread finds itself in a table at its next poll, and ends the program with the status `LEFT`.

A call back into Python looks for signals first, and holds the GIL from then on: an exception of a
handler that began where the function does would be lost.
"""

from __future__ import annotations

import ctypes
import threading

from tapeless.compiler.program import INTERRUPTED, LEFT
from tapeless.compiler.regions import Region

__all__ = [
    "budget_left",
    "call_python",
    "emit_poll",
    "leave_unless_zero",
    "poll_now",
    "poll_text",
    "mark_left",
    "raise_in_python",
    "raise_interruption",
    "spend",
]

_PERIOD = 20_000_000
_BUDGET = 1 << 20
_MOST_LEFT = 16  # threads; a power of two
_left_lock = threading.Lock()

_POLL = """
@main_thread = internal global i64 0
@exception = internal global [3 x ptr] zeroinitializer
@last = internal global i64 0
@left = internal global [MOST x i64] zeroinitializer

define void @tapeless_set_main(i64 %thread) {
  store i64 %thread, ptr @main_thread
  ret void
}

define ptr @tapeless_exception() {
  ret ptr @exception
}

define ptr @tapeless_left() {
  ret ptr @left
}

define i32 @tapeless_poll(ptr %stop) {
entry:
  %time = alloca [2 x i64]
  %task = icmp ne ptr %stop, null
  br i1 %task, label %flag, label %who
flag:
  %stopped = load atomic i32, ptr %stop acquire, align 4
  %going = icmp eq i32 %stopped, 0
  br i1 %going, label %who, label %leave
leave:
  ret i32 %stopped
who:
  %self = call i64 @pthread_self()
  %main = load i64, ptr @main_thread
  %here = icmp eq i64 %self, %main
  br i1 %here, label %watch, label %other
other:
  %threads = load volatile <MOST x i64>, ptr @left
  %one = insertelement <MOST x i64> undef, i64 %self, i64 0
  %all = shufflevector <MOST x i64> %one, <MOST x i64> undef, <MOST x i32> zeroinitializer
  %same = icmp eq <MOST x i64> %threads, %all
  %bits = bitcast <MOST x i1> %same to iMOST
  %nobody = icmp eq iMOST %bits, 0
  br i1 %nobody, label %fine, label %abandon
abandon:
  ret i32 LEFT
watch:
  %r = call i32 @clock_gettime(i32 CLOCK, ptr %time)
  %seconds = load i64, ptr %time
  %rest = getelementptr i64, ptr %time, i64 1
  %nanoseconds = load i64, ptr %rest
  %scaled = mul i64 %seconds, 1000000000
  %now = add i64 %scaled, %nanoseconds
  %last = load i64, ptr @last
  %passed = sub i64 %now, %last
  %due = icmp sgt i64 %passed, PERIOD
  br i1 %due, label %check, label %fine
check:
  store i64 %now, ptr @last
  %gil = call i32 @PyGILState_Ensure()
  %status = call i32 @handled()
  call void @PyGILState_Release(i32 %gil)
  ret i32 %status
fine:
  ret i32 0
}

define internal i32 @handled() {
  %raised = call i32 @PyErr_CheckSignals()
  %quiet = icmp eq i32 %raised, 0
  br i1 %quiet, label %fine, label %keep
keep:
  %value = getelementptr ptr, ptr @exception, i64 1
  %trace = getelementptr ptr, ptr @exception, i64 2
  call void @PyErr_Fetch(ptr @exception, ptr %value, ptr %trace)
  ret i32 INTERRUPTED
fine:
  ret i32 0
}

define i32 @tapeless_enter_python(ptr %gil) {
  %held = call i32 @PyGILState_Ensure()
  store i32 %held, ptr %gil
  %status = call i32 @handled()
  %quiet = icmp eq i32 %status, 0
  br i1 %quiet, label %fine, label %leave
leave:
  call void @PyGILState_Release(i32 %held)
  ret i32 %status
fine:
  ret i32 0
}

define void @tapeless_leave_python(ptr %gil) {
  %held = load i32, ptr %gil
  call void @PyGILState_Release(i32 %held)
  ret void
}

declare i64 @pthread_self()
declare i32 @clock_gettime(i32, ptr)
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare i32 @PyErr_CheckSignals()
declare void @PyErr_Fetch(ptr, ptr, ptr)
"""


def poll_text(triple: str) -> str:
    """Give the LLVM text of the poll for a machine."""
    clock = "6" if "darwin" in triple or "apple" in triple else "1"
    text = _POLL.replace("CLOCK", clock).replace("PERIOD", str(_PERIOD))
    text = text.replace("MOST", str(_MOST_LEFT)).replace("LEFT", str(LEFT))
    return text.replace("INTERRUPTED", str(INTERRUPTED))


def emit_poll(region: Region, cost: int) -> None:
    """Take `cost` (about the number of instructions) from the budget; poll when it is gone."""
    less = spend(region, cost)
    gone = region.emit(f"icmp sle i64 {less}, 0")
    asks, after = region.function.label(), region.function.label()
    region.do(f"br i1 {gone}, label %{asks}, label %{after}, !prof !0")
    region.code.start_block(asks)
    poll_now(region, after)


def budget_left(region: Region) -> str:
    """Return whether the budget is not gone yet."""
    left = region.emit(f"load i64, ptr {_budget(region)}")
    return region.emit(f"icmp sgt i64 {left}, 0")


def spend(region: Region, cost: int) -> str:
    """Take `cost` from the budget; return what is left."""
    budget = _budget(region)
    left = region.emit(f"load i64, ptr {budget}")
    less = region.emit(f"sub nsw i64 {left}, {max(1, min(cost, _BUDGET))}")
    region.do(f"store i64 {less}, ptr {budget}")
    return less


def poll_now(region: Region, after: str) -> None:
    """Ask whether to go on; then renew the budget and go on in the block `after`."""
    function = region.function
    region.do(f"store i64 {_BUDGET}, ptr {_budget(region)}")
    stop = "%stop" if function.outer else "null"
    region.declare("tapeless_poll", "i32 (ptr)")
    status = region.emit(f"call i32 @tapeless_poll(ptr {stop})")
    leave_unless_zero(region, status, after)


def _budget(region: Region) -> str:
    """Return the slot of the function's budget."""
    function = region.function
    if function.budget is None:
        function.budget = function.slot("i64")
        function.prologue.append(f"  store i64 {_BUDGET}, ptr {function.budget}")
    return function.budget


def leave_unless_zero(region: Region, status: str, after: str | None = None) -> None:
    """Return the status from the function unless it is 0; go on in the block `after`."""
    fine = region.emit(f"icmp eq i32 {status}, 0")
    after, leave = after or region.function.label(), region.function.label()
    region.do(f"br i1 {fine}, label %{after}, label %{leave}")
    region.code.start_block(leave)
    region.do(f"ret i32 {status}")
    region.code.start_block(after)


def _called_in_python(region: Region, invocation: str) -> str:
    """Call a Python function, unless a signal's handler raises; return the status."""
    gil = region.function.slot("i32")
    region.declare("tapeless_enter_python", "i32 (ptr)")
    region.declare("tapeless_leave_python", "void (ptr)")
    leave_unless_zero(region, region.emit(f"call i32 @tapeless_enter_python(ptr {gil})"))
    status = region.emit(invocation)
    region.do(f"call void @tapeless_leave_python(ptr {gil})")
    return status


def call_python(region: Region, invocation: str) -> None:
    """Call a Python function, unless a signal's handler raises; leave if the function raises."""
    leave_unless_zero(region, _called_in_python(region, invocation))


def raise_in_python(region: Region, invocation: str) -> None:
    """Call a Python function that raises, and leave.

    Nothing is live after the call, so that a loop keeps its numbers in registers, and knows from
    here on that what was checked holds.
    """
    region.do(f"ret i32 {_called_in_python(region, invocation)}")
    region.code.start_block(region.function.label())


def raise_interruption(place: int) -> None:
    """Raise the exception that was put aside at `place`, the result of `tapeless_exception`."""
    held = (ctypes.c_void_p * 3).from_address(place)
    parts = [ctypes.c_void_p(part) for part in held]
    for number in range(3):
        held[number] = None
    ctypes.pythonapi.PyErr_Restore(*parts)


def mark_left(place: int, thread: int, is_left: bool) -> None:
    """Enter a thread into the table at `place`, the result of `tapeless_left`, or take it out.

    If the table is full the program goes on to its end.
    """
    table = (ctypes.c_int64 * _MOST_LEFT).from_address(place)
    old, new = (0, thread) if is_left else (thread, 0)
    with _left_lock:
        number = next((i for i, entry in enumerate(table) if entry == old), None)
        if number is not None:
            table[number] = new
