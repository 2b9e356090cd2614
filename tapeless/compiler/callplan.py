"""The native call by a plan: arguments to addresses, memory for results, the entry, the results.

This is the middle of the call stub; `callstub.py` has the vocabulary, what both need, and the ways
in. `execute` is the whole: it answers with the tree of results, with null if it raised, or with
DECLINED, having done nothing, when Python has to do the call.

The text reads a field of a plan as `FIELD.name` and a Python object as `OBJECT.name`; `with_fields`
and `callstub.stub_text` put in what these stand for.
"""

from __future__ import annotations

import re

__all__ = ["MOST_PLACES", "PLAN", "RUN_TEXT", "SCALARS", "STACK_ARENA", "with_fields"]

# The fields of a plan.  `consts` points to addresses, `kinds` to one number per argument (0: an
# Array, else an entry of SCALARS), `sizes` to bytes per new block, `results` to pairs (aval,
# place), `sources` to the captured Arrays, `tokens` to the tokens of the arguments, `order` (null
# if it is the one of the walk) to the number in the walk of each argument, `steps` to those that
# put the results together, `watched` to the rows of what the program captured, `silent` to those
# that are always walked, and `seen` to when all held (`callwatch.py`).
PLAN = (
    "entry", "n_consts", "n_args", "n_blocks", "n_results", "arena", "release", "failed",
    "consts", "kinds", "sizes", "results", "sources", "tokens", "order", "n_steps", "steps",
    "n_stack", "n_watched", "watched", "n_silent", "silent", "seen",
)  # fmt: skip

# What a scalar argument is stored as.
SCALARS = {"float32": 1, "float64": 2, "int32": 3, "int64": 4, "bool": 5}

STACK_ARENA = 1 << 10  # bytes of scratch memory that are taken from the stack
MOST_PLACES = 1 << 14  # captured arrays, blocks and parts of the result, listed there as well

RUN_TEXT = """
; Write the address of each argument into the table, scalars by way of `scalars`; false if one has
; none, or does not fit its type.
define internal i1 @fill(ptr %plan, ptr %args, ptr %table, ptr %scalars) {
entry:
  %n = load i64, ptr FIELD.n_args
  %kinds = load ptr, ptr FIELD.kinds
  %place = load ptr, ptr OBJECT.place
  br label %test
test:
  %i = phi i64 [0, %entry], [%next, %write]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %one, label %good
one:
  %at = getelementptr ptr, ptr %args, i64 %i
  %x = load ptr, ptr %at
  %k = getelementptr i64, ptr %kinds, i64 %i
  %kind = load i64, ptr %k
  %slot = getelementptr [64 x i8], ptr %scalars, i64 %i
  switch i64 %kind, label %bad [
    i64 0, label %array
    i64 1, label %float
    i64 2, label %float
    i64 3, label %int
    i64 4, label %int
    i64 5, label %bool
  ]
array:
  %found = call ptr @address_in(ptr %x, ptr %place)
  %null = icmp eq ptr %found, null
  br i1 %null, label %bad, label %write
float:
  %d = call double @PyFloat_AsDouble(ptr %x)
  %odd = fcmp oeq double %d, -1.0
  br i1 %odd, label %float_error, label %float_good
float_error:
  %fe = call ptr @PyErr_Occurred()
  %fine = icmp eq ptr %fe, null
  br i1 %fine, label %float_good, label %clear
float_good:
  %wide = icmp eq i64 %kind, 2
  br i1 %wide, label %float64, label %float32
float64:
  store double %d, ptr %slot
  br label %write
float32:
  %f = fptrunc double %d to float
  store float %f, ptr %slot
  br label %write
int:
  %v = call i64 @PyLong_AsLongLong(ptr %x)
  %minus = icmp eq i64 %v, -1
  br i1 %minus, label %int_error, label %int_good
int_error:
  %ie = call ptr @PyErr_Occurred()
  %good_int = icmp eq ptr %ie, null
  br i1 %good_int, label %int_good, label %clear
int_good:
  store i64 %v, ptr %slot
  %long = icmp eq i64 %kind, 4
  br i1 %long, label %write, label %int32
int32:
  %short = trunc i64 %v to i32
  %back = sext i32 %short to i64
  %fits = icmp eq i64 %back, %v
  br i1 %fits, label %write, label %bad
bool:
  %t = call i32 @PyObject_IsTrue(ptr %x)
  %byte = trunc i32 %t to i8
  store i8 %byte, ptr %slot
  %unclear = icmp slt i32 %t, 0
  br i1 %unclear, label %clear, label %write
write:
  %address = phi ptr [%found, %array], [%slot, %float64], [%slot, %float32], [%slot, %int_good],
    [%slot, %int32], [%slot, %bool]
  %target = getelementptr ptr, ptr %table, i64 %i
  store ptr %address, ptr %target
  %next = add i64 %i, 1
  br label %test
clear:
  call void @PyErr_Clear()
  ret i1 false
bad:
  ret i1 false
good:
  ret i1 true
}

; Make a block per result; false if that raises.
define internal i1 @blocks(ptr %plan, ptr %owners, ptr %table) {
entry:
  %n = load i64, ptr FIELD.n_blocks
  %sizes = load ptr, ptr FIELD.sizes
  br label %test
test:
  %i = phi i64 [0, %entry], [%next, %write]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %one, label %good
one:
  %s = getelementptr i64, ptr %sizes, i64 %i
  %size = load i64, ptr %s
  %o = getelementptr ptr, ptr %owners, i64 %i
  %is_small = icmp sle i64 %size, SMALL
  br i1 %is_small, label %small, label %large
small:
  %padded = add i64 %size, 64
  %bytes = call ptr @PyBytes_FromStringAndSize(ptr null, i64 %padded)
  store ptr %bytes, ptr %o
  %no_bytes = icmp eq ptr %bytes, null
  br i1 %no_bytes, label %bad, label %align
align:
  %start = call ptr @PyBytes_AsString(ptr %bytes)
  %number = ptrtoint ptr %start to i64
  %up = add i64 %number, 63
  %down = and i64 %up, -64
  %aligned = inttoptr i64 %down to ptr
  br label %write
large:
  %wanted = call ptr @PyLong_FromLongLong(i64 %size)
  %allocate = load ptr, ptr OBJECT.allocate
  %block = call ptr @PyObject_CallOneArg(ptr %allocate, ptr %wanted)
  call void @Py_DecRef(ptr %wanted)
  store ptr %block, ptr %o
  %no_block = icmp eq ptr %block, null
  br i1 %no_block, label %bad, label %locate
locate:
  %name = load ptr, ptr OBJECT.address
  %there = call ptr @address_in(ptr %block, ptr %name)
  br label %write
write:
  %address = phi ptr [%aligned, %align], [%there, %locate]
  %target = getelementptr ptr, ptr %table, i64 %i
  store ptr %address, ptr %target
  %next = add i64 %i, 1
  br label %test
bad:
  ret i1 false
good:
  ret i1 true
}

; Fetch (or with `args` null give back) what keeps the arguments' memory alive without the lock, and
; while other threads may run.
define internal void @hold(ptr %plan, ptr %args, ptr %held) {
entry:
  %n = load i64, ptr FIELD.n_args
  %name = load ptr, ptr OBJECT.block
  %ends = icmp eq ptr %args, null
  br label %test
test:
  %i = phi i64 [0, %entry], [%next, %step]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %one, label %done
one:
  %h = getelementptr ptr, ptr %held, i64 %i
  br i1 %ends, label %drop, label %take
take:
  %at = getelementptr ptr, ptr %args, i64 %i
  %x = load ptr, ptr %at
  %block = call ptr @attribute(ptr %x, ptr %name)
  store ptr %block, ptr %h
  br label %step
drop:
  %old = load ptr, ptr %h
  call void @Py_DecRef(ptr %old)
  br label %step
step:
  %next = add i64 %i, 1
  br label %test
done:
  ret void
}

; Run the entry, with scratch memory and, if the plan says so, without the interpreter lock.
define internal i32 @enter(ptr %plan, ptr %table) {
  %entry = load ptr, ptr FIELD.entry
  %size = load i64, ptr FIELD.arena
  %release = load i64, ptr FIELD.release
  %near = alloca [STACK x i8], align 64
  %fits = icmp sle i64 %size, STACK
  br i1 %fits, label %begin, label %far
far:
  %padded = add i64 %size, 64
  %memory = call ptr @malloc(i64 %padded)
  %no_memory = icmp eq ptr %memory, null
  br i1 %no_memory, label %fail, label %align
align:
  %number = ptrtoint ptr %memory to i64
  %up = add i64 %number, 63
  %down = and i64 %up, -64
  %aligned = inttoptr i64 %down to ptr
  br label %begin
begin:
  %arena = phi ptr [%near, %0], [%aligned, %align]
  %owned = phi ptr [null, %0], [%memory, %align]
  %keep = icmp eq i64 %release, 0
  br i1 %keep, label %short, label %long
short:
  %a = call i32 %entry(ptr %table, ptr %arena)
  br label %end
long:
  %thread = call ptr @PyEval_SaveThread()
  %b = call i32 %entry(ptr %table, ptr %arena)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %end
end:
  %status = phi i32 [%a, %short], [%b, %long]
  call void @free(ptr %owned)
  ret i32 %status
fail:
  ret i32 NO_MEMORY
}

; Give an Array its fields; the references are not taken.
define internal ptr @array(ptr %aval, ptr %block, ptr %place) {
  %type = load ptr, ptr OBJECT.array_type
  %x = call ptr @PyType_GenericAlloc(ptr %type, i64 0)
  %none = icmp eq ptr %x, null
  br i1 %none, label %done, label %set
set:
  %n_aval = load ptr, ptr OBJECT.aval
  %n_block = load ptr, ptr OBJECT.block
  %n_place = load ptr, ptr OBJECT.place
  %a = call i32 @PyObject_SetAttr(ptr %x, ptr %n_aval, ptr %aval)
  %b = call i32 @PyObject_SetAttr(ptr %x, ptr %n_block, ptr %block)
  %c = call i32 @PyObject_SetAttr(ptr %x, ptr %n_place, ptr %place)
  br label %done
done:
  ret ptr %x
}

; Make the result number i.
define internal ptr @result(ptr %plan, i64 %i, ptr %args, ptr %owners, ptr %table) {
  %n_consts = load i64, ptr FIELD.n_consts
  %n_args = load i64, ptr FIELD.n_args
  %results = load ptr, ptr FIELD.results
  %pair = getelementptr [2 x i64], ptr %results, i64 %i
  %aval = load ptr, ptr %pair
  %second = getelementptr i64, ptr %pair, i64 1
  %k = load i64, ptr %second
  %first_block = add i64 %n_consts, %n_args
  %number = sub i64 %k, %first_block
  %is_new = icmp sge i64 %number, 0
  br i1 %is_new, label %new, label %old
new:
  %o = getelementptr ptr, ptr %owners, i64 %number
  %owner = load ptr, ptr %o
  %t = getelementptr ptr, ptr %table, i64 %k
  %address = load ptr, ptr %t
  %place = call ptr @PyLong_FromVoidPtr(ptr %address)
  %made = call ptr @array(ptr %aval, ptr %owner, ptr %place)
  call void @Py_DecRef(ptr %place)
  ret ptr %made
old:
  %j = sub i64 %k, %n_consts
  %is_arg = icmp sge i64 %j, 0
  %sources = load ptr, ptr FIELD.sources
  %from = select i1 %is_arg, ptr %args, ptr %sources
  %where = select i1 %is_arg, i64 %j, i64 %k
  %s = getelementptr ptr, ptr %from, i64 %where
  %x = load ptr, ptr %s
  br i1 %is_arg, label %given, label %share
given:
  %kinds = load ptr, ptr FIELD.kinds
  %kd = getelementptr i64, ptr %kinds, i64 %j
  %kind = load i64, ptr %kd
  %is_array = icmp eq i64 %kind, 0
  br i1 %is_array, label %share, label %scalar
scalar:
  %st = getelementptr ptr, ptr %table, i64 %k
  %value = load ptr, ptr %st
  %copy = call ptr @PyBytes_FromStringAndSize(ptr %value, i64 8)
  %inside = call ptr @PyBytes_AsString(ptr %copy)
  %there = call ptr @PyLong_FromVoidPtr(ptr %inside)
  %lone = call ptr @array(ptr %aval, ptr %copy, ptr %there)
  call void @Py_DecRef(ptr %copy)
  call void @Py_DecRef(ptr %there)
  ret ptr %lone
share:
  %n_block = load ptr, ptr OBJECT.block
  %n_place = load ptr, ptr OBJECT.place
  %block = call ptr @attribute(ptr %x, ptr %n_block)
  %its = call ptr @attribute(ptr %x, ptr %n_place)
  %shared = call ptr @array(ptr %aval, ptr %block, ptr %its)
  call void @Py_DecRef(ptr %block)
  call void @Py_DecRef(ptr %its)
  ret ptr %shared
}

; Write the leaves of a walk in the order of the arguments.
define internal void @sort(ptr %order, ptr %leaves, i64 %n, ptr %args) {
entry:
  br label %test
test:
  %i = phi i64 [0, %entry], [%next, %copy]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %copy, label %done
copy:
  %o = getelementptr i64, ptr %order, i64 %i
  %number = load i64, ptr %o
  %from = getelementptr ptr, ptr %leaves, i64 %number
  %x = load ptr, ptr %from
  %to = getelementptr ptr, ptr %args, i64 %i
  store ptr %x, ptr %to
  %next = add i64 %i, 1
  br label %test
done:
  ret void
}

; Call the program: its results, null if it raised, or DECLINED if Python has to do it.
define internal ptr @execute(ptr %plan, ptr %walk) {
entry:
  %n_args = load i64, ptr FIELD.n_args
  %n_leaves = load i64, ptr %walk
  %leaves = getelementptr %walk_type, ptr %walk, i64 0, i32 2
  %order = load ptr, ptr FIELD.order
  %fits = icmp eq i64 %n_args, %n_leaves
  br i1 %fits, label %look, label %refuse
refuse:
  ret ptr DECLINED
look:
  %sorted = icmp eq ptr %order, null
  br i1 %sorted, label %start, label %sort
sort:
  %own = alloca ptr, i64 %n_args
  call void @sort(ptr %order, ptr %leaves, i64 %n_args, ptr %own)
  br label %start
start:
  %args = phi ptr [%leaves, %look], [%own, %sort]
  %n_consts = load i64, ptr FIELD.n_consts
  %n_blocks = load i64, ptr FIELD.n_blocks
  %before = add i64 %n_consts, %n_args
  %n_table = add i64 %before, %n_blocks
  %table = alloca ptr, i64 %n_table
  %owners = alloca ptr, i64 %n_blocks
  %scalars = alloca [64 x i8], i64 %n_args, align 64
  %consts = load ptr, ptr FIELD.consts
  %const_bytes = mul i64 %n_consts, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %table, ptr %consts, i64 %const_bytes, i1 false)
  %owner_bytes = mul i64 %n_blocks, 8
  call void @llvm.memset.p0.i64(ptr %owners, i8 0, i64 %owner_bytes, i1 false)
  %given = getelementptr ptr, ptr %table, i64 %n_consts
  %held = alloca ptr, i64 %n_args
  %release = load i64, ptr FIELD.release
  %keep = icmp eq i64 %release, 0
  br i1 %keep, label %write, label %take
take:
  call void @hold(ptr %plan, ptr %args, ptr %held)
  br label %write
write:
  %filled = call i1 @fill(ptr %plan, ptr %args, ptr %given, ptr %scalars)
  br i1 %filled, label %make, label %leave
make:
  %new = getelementptr ptr, ptr %table, i64 %before
  %made = call i1 @blocks(ptr %plan, ptr %owners, ptr %new)
  br i1 %made, label %run, label %end
run:
  %status = call i32 @enter(ptr %plan, ptr %table)
  %good = icmp eq i32 %status, 0
  br i1 %good, label %collect, label %failed
failed:
  %wide = sext i32 %status to i64
  %number = call ptr @PyLong_FromLongLong(i64 %wide)
  %report = load ptr, ptr FIELD.failed
  %r = call ptr @PyObject_CallOneArg(ptr %report, ptr %number)
  call void @Py_DecRef(ptr %r)
  call void @Py_DecRef(ptr %number)
  br label %end
collect:
  %all = call ptr @build(ptr %plan, ptr %args, ptr %owners, ptr %table)
  br label %end
end:
  %value = phi ptr [null, %make], [null, %failed], [%all, %collect]
  br label %test
test:
  %i = phi i64 [0, %end], [%next, %drop]
  %more = icmp slt i64 %i, %n_blocks
  br i1 %more, label %drop, label %leave
drop:
  %o = getelementptr ptr, ptr %owners, i64 %i
  %owner = load ptr, ptr %o
  call void @Py_DecRef(ptr %owner)
  %next = add i64 %i, 1
  br label %test
leave:
  %out = phi ptr [DECLINED, %write], [%value, %test]
  br i1 %keep, label %done, label %give_back
give_back:
  call void @hold(ptr %plan, ptr null, ptr %held)
  br label %done
done:
  ret ptr %out
}
"""


def with_fields(text: str) -> str:
    """Write each load of a field of the plan as the computation of its place, and the load."""

    def field_load(found: re.Match) -> str:
        """Return both lines."""
        indent, name, kind, field = found.groups()
        place = f"{indent}%at.{name} = getelementptr i64, ptr %plan, i64 {PLAN.index(field)}"
        return f"{place}\n{indent}%{name} = load {kind}, ptr %at.{name}"

    return re.sub(r"( *)%(\w+) = load (\w+), ptr FIELD\.(\w+)", field_load, text)
