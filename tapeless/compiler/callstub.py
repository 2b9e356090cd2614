"""The native way into compiled programs: Python arguments to a call and back, without Python code.

Calling a small compiled function costs more than the function: looking up the program, addresses of
the arguments, memory for the results, the objects around them.  So that way is LLVM text as well,
compiled once per process like the worker pool, against CPython's public C API and nothing else: no
offsets into its structures.  Whatever it does not cover it hands to the Python code that it stands
in for, which does the same for everything.

The vocabulary:

    token    what decides a program of an argument: the aval of an Array, the type of anything else;
             a NumPy array is made an Array first; of a static argument it is (type, value), of a
             tree see `callwalk.py`
    walk     the leaves of the arguments
    key      the tuple (settings, token, ...); for an eager operation (operation, settings, token,
             ..., name, value, ...)
    route    what a table has under a key: (address of a plan, what keeps the plan alive)
    plan     an array of int64 that describes a call: see `callplan.py`, and `callbuild.py` for how
             the results are put together

Small results are `bytes` objects, whose memory is Python's own pool and costs nothing to manage;
large ones come from `runtime/memory.py`.  The interpreter lock is kept during small programs.
"""

from __future__ import annotations

import re

from tapeless.compiler.callbuild import BUILD_TEXT
from tapeless.compiler.callplan import RUN_TEXT, STACK_ARENA, with_fields
from tapeless.compiler.callwalk import MOST_LEAVES, MOST_LEVELS, WALK_TEXT
from tapeless.compiler.callwatch import WATCH_TEXT, WATCH_WORDS

__all__ = ["OBJECTS", "stub_text"]

# The Python objects that the text refers to, in the order of the table that `entry` takes.
OBJECTS = (
    "array_type", "aval", "place", "block", "current", "values", "epoch", "stamped", "context",
    "trace", "base", "mask", "allocate", "address", "routes", "operations",
    "call_slowly", "process_slowly", "not_implemented", "ndarray", "shape", "dtype", "tobytes",
    "small_types", "array_of_numbers", "none", "dict", "tuple", "list", "str", "containers",
    "expected_errors", "static_names", "raise_compared",
)  # fmt: skip

_SMALL = 1 << 15

# Of the flags of CPython's types: made by a class statement, subclass of list, tuple, dict.
_CONTAINER_FLAGS = 1 << 9 | 1 << 25 | 1 << 26 | 1 << 29

_DECLARED = """
declare ptr @PyObject_Type(ptr)
declare ptr @PyObject_GetAttr(ptr, ptr)
declare i32 @PyObject_SetAttr(ptr, ptr, ptr)
declare i32 @PyObject_IsTrue(ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyObject_CallOneArg(ptr, ptr)
declare ptr @PyObject_VectorcallMethod(ptr, ptr, i64, ptr)
declare ptr @PyType_GenericAlloc(ptr, i64)
declare ptr @PyLong_AsVoidPtr(ptr)
declare ptr @PyLong_FromVoidPtr(ptr)
declare ptr @PyLong_FromLongLong(i64)
declare i64 @PyLong_AsLongLong(ptr)
declare double @PyFloat_AsDouble(ptr)
declare ptr @PyBytes_FromStringAndSize(ptr, i64)
declare ptr @PyBytes_AsString(ptr)
declare ptr @PyTuple_New(i64)
declare i64 @PyTuple_Size(ptr)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare ptr @PyList_New(i64)
declare i64 @PyList_Size(ptr)
declare i32 @PyList_SetItem(ptr, i64, ptr)
declare ptr @PyList_GetItem(ptr, i64)
declare i64 @PyType_GetFlags(ptr)
declare ptr @PyDict_Copy(ptr)
declare i32 @PyDict_SetItem(ptr, ptr, ptr)
declare i64 @PyDict_Size(ptr)
declare i32 @PyDict_Next(ptr, ptr, ptr, ptr)
declare ptr @PyDict_GetItemWithError(ptr, ptr)
declare i32 @PySet_Contains(ptr, ptr)
declare void @PyErr_Clear()
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_NormalizeException(ptr, ptr, ptr)
declare i32 @PyException_SetTraceback(ptr, ptr)
declare i32 @PyErr_ExceptionMatches(ptr)
declare ptr @PyErr_Occurred()
declare ptr @PyErr_NoMemory()
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @malloc(i64)
declare void @free(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

@objects = internal global [N_OBJECTS x ptr] zeroinitializer

; Take the table of objects; give the addresses of the doors.
define i32 @entry(ptr %table, ptr %doors) {
  call void @llvm.memcpy.p0.p0.i64(ptr @objects, ptr %table, i64 BYTES_OBJECTS, i1 false)
  %second = getelementptr ptr, ptr %doors, i64 1
  %third = getelementptr ptr, ptr %doors, i64 2
  store ptr @run, ptr %doors
  store ptr @process, ptr %second
  %fourth = getelementptr ptr, ptr %doors, i64 3
  %fifth = getelementptr ptr, ptr %doors, i64 4
  %sixth = getelementptr ptr, ptr %doors, i64 5
  %seventh = getelementptr ptr, ptr %doors, i64 6
  store ptr @call, ptr %third
  store ptr @call_static, ptr %fourth
  store ptr @wrote, ptr %fifth
  store ptr @mark, ptr %sixth
  store ptr @writes, ptr %seventh
  ret i32 0
}

; Forget an error that tells that Python has to do the call.  Any other, as of a signal's handler
; that ran within a method of the user, stays set, and the way to Python ends with it.
define internal void @forget() {
  %kinds = load ptr, ptr OBJECT.expected_errors
  %expected = call i32 @PyErr_ExceptionMatches(ptr %kinds)
  %is_expected = icmp ne i32 %expected, 0
  br i1 %is_expected, label %clear, label %done
clear:
  call void @PyErr_Clear()
  br label %done
done:
  ret void
}

; The attribute of an object as a new reference; null if there is none.
define internal ptr @attribute(ptr %x, ptr %name) {
  %found = call ptr @PyObject_GetAttr(ptr %x, ptr %name)
  %none = icmp eq ptr %found, null
  br i1 %none, label %clear, label %done
clear:
  call void @forget()
  br label %done
done:
  ret ptr %found
}

; Whether the attribute of an object is `wanted`.
define internal i1 @attribute_is(ptr %x, ptr %name, ptr %wanted) {
  %found = call ptr @attribute(ptr %x, ptr %name)
  call void @Py_DecRef(ptr %found)
  %same = icmp eq ptr %found, %wanted
  ret i1 %same
}

; The address that the attribute of an object holds; null if it holds none.
define internal ptr @address_in(ptr %x, ptr %name) {
  %number = call ptr @attribute(ptr %x, ptr %name)
  %none = icmp eq ptr %number, null
  br i1 %none, label %nothing, label %read
read:
  %found = call ptr @PyLong_AsVoidPtr(ptr %number)
  call void @Py_DecRef(ptr %number)
  %null = icmp eq ptr %found, null
  br i1 %null, label %clear, label %done
clear:
  call void @PyErr_Clear()
  br label %done
done:
  ret ptr %found
nothing:
  ret ptr null
}

; The settings that staging may read, a new reference; null if they may have changed.
define internal ptr @settings() {
  %current = load ptr, ptr OBJECT.current
  %name = load ptr, ptr OBJECT.stamped
  %pair = call ptr @attribute(ptr %current, ptr %name)
  %none = icmp eq ptr %pair, null
  br i1 %none, label %nothing, label %compare
compare:
  %stamp = call ptr @PyTuple_GetItem(ptr %pair, i64 0)
  %found = call ptr @PyTuple_GetItem(ptr %pair, i64 1)
  %values = load ptr, ptr OBJECT.values
  %epoch = load ptr, ptr OBJECT.epoch
  %same = call i1 @attribute_is(ptr %values, ptr %epoch, ptr %stamp)
  br i1 %same, label %keep, label %drop
keep:
  call void @Py_IncRef(ptr %found)
  call void @Py_DecRef(ptr %pair)
  ret ptr %found
drop:
  call void @Py_DecRef(ptr %pair)
  ret ptr null
nothing:
  ret ptr null
}

; The route under a key, a new reference; null if there is none.  The key's reference is taken.
define internal ptr @find(ptr %table, ptr %key) {
entry:
  %no_table = icmp eq ptr %table, null
  br i1 %no_table, label %done, label %look
look:
  %found = call ptr @PyDict_GetItemWithError(ptr %table, ptr %key)
  %none = icmp eq ptr %found, null
  br i1 %none, label %clear, label %keep
clear:
  call void @forget()
  br label %done
keep:
  call void @Py_IncRef(ptr %found)
  br label %done
done:
  %route = phi ptr [null, %entry], [null, %clear], [%found, %keep]
  call void @Py_DecRef(ptr %key)
  ret ptr %route
}

; The address of the plan of a route.
define internal ptr @plan_of(ptr %route) {
  %number = call ptr @PyTuple_GetItem(ptr %route, i64 0)
  %plan = call ptr @PyLong_AsVoidPtr(ptr %number)
  ret ptr %plan
}
"""

_DOORS = """
; Give a walk's references back; tell whether Python may do the call instead: no error is set.
define internal i1 @released_without_error(ptr %walk) {
  call void @release(ptr %walk)
  %error = call ptr @PyErr_Occurred()
  %none = icmp eq ptr %error, null
  ret i1 %none
}

; A builtin function of the leaves, whose `self` is the address of a plan: the results, or
; NotImplemented.
define internal ptr @run(ptr %self, ptr %args, i64 %n) {
entry:
  %plan = call ptr @PyLong_AsVoidPtr(ptr %self)
  %wanted = load i64, ptr FIELD.n_args
  %tokens = load ptr, ptr FIELD.tokens
  %walk = alloca %walk_type
  call void @begin(ptr %walk)
  %complete = icmp eq i64 %n, %wanted
  br i1 %complete, label %test, label %declined
test:
  %i = phi i64 [0, %entry], [%next, %step]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %one, label %good
one:
  %at = getelementptr ptr, ptr %args, i64 %i
  %x = load ptr, ptr %at
  %token = call ptr @token(ptr %x, ptr %walk)
  call void @Py_DecRef(ptr %token)
  %t = getelementptr ptr, ptr %tokens, i64 %i
  %expected = load ptr, ptr %t
  %same = icmp eq ptr %token, %expected
  br i1 %same, label %step, label %declined
step:
  %next = add i64 %i, 1
  br label %test
good:
  %value = call ptr @execute(ptr %plan, ptr %walk)
  %refused = icmp eq ptr %value, DECLINED
  br i1 %refused, label %declined, label %done
done:
  call void @release(ptr %walk)
  ret ptr %value
declined:
  %may_go_on = call i1 @released_without_error(ptr %walk)
  br i1 %may_go_on, label %decline, label %raise
raise:
  ret ptr null
decline:
  %none = load ptr, ptr OBJECT.not_implemented
  call void @Py_IncRef(ptr %none)
  ret ptr %none
}

; A method of the base trace: (operation, tuple of arguments, dict of parameters) to a tuple.
define internal ptr @process(ptr %self, ptr %args, i64 %n) {
entry:
  %all = alloca ptr, i64 4
  %position = alloca i64
  %name = alloca ptr
  %value = alloca ptr
  %walk = alloca %walk_type
  call void @begin(ptr %walk)
  store ptr %self, ptr %all
  %rest = getelementptr ptr, ptr %all, i64 1
  %three = icmp eq i64 %n, 3
  br i1 %three, label %begin, label %refuse
refuse:
  %python = load ptr, ptr OBJECT.process_slowly
  %shown = call ptr @PyObject_Vectorcall(ptr %python, ptr %args, i64 %n, ptr null)
  ret ptr %shown
begin:
  call void @llvm.memcpy.p0.p0.i64(ptr %rest, ptr %args, i64 24, i1 false)
  %prim = load ptr, ptr %args
  %second = getelementptr ptr, ptr %args, i64 1
  %operands = load ptr, ptr %second
  %third = getelementptr ptr, ptr %args, i64 2
  %params = load ptr, ptr %third
  %n_operands = call i64 @PyTuple_Size(ptr %operands)
  %is_short_tuple = icmp ule i64 %n_operands, MOST_LEAVES
  br i1 %is_short_tuple, label %open, label %other
other:
  call void @PyErr_Clear()
  br label %slow
open:
  %context = call ptr @settings()
  %unknown = icmp eq ptr %context, null
  br i1 %unknown, label %slow, label %key
key:
  %operand_array = alloca ptr, i64 %n_operands
  %n_params = call i64 @PyDict_Size(ptr %params)
  %double = mul i64 %n_params, 2
  %front = add i64 %n_operands, 2
  %size = add i64 %front, %double
  %k = call ptr @PyTuple_New(i64 %size)
  call void @Py_IncRef(ptr %prim)
  %k0 = call i32 @PyTuple_SetItem(ptr %k, i64 0, ptr %prim)
  %k1 = call i32 @PyTuple_SetItem(ptr %k, i64 1, ptr %context)
  br label %copy
copy:
  %i = phi i64 [0, %key], [%i_next, %copy_one]
  %more = icmp slt i64 %i, %n_operands
  br i1 %more, label %copy_one, label %tokens
copy_one:
  %x = call ptr @PyTuple_GetItem(ptr %operands, i64 %i)
  %to = getelementptr ptr, ptr %operand_array, i64 %i
  store ptr %x, ptr %to
  %i_next = add i64 %i, 1
  br label %copy
tokens:
  %typed = call i1 @put_tokens(ptr %k, i64 2, ptr %operand_array, i64 %n_operands, i64 0,
    ptr %walk)
  br i1 %typed, label %named, label %drop
drop:
  call void @Py_DecRef(ptr %k)
  br label %slow
named:
  store i64 0, ptr %position
  br label %param
param:
  %j = phi i64 [%front, %named], [%j_next, %param_one]
  %some = call i32 @PyDict_Next(ptr %params, ptr %position, ptr %name, ptr %value)
  %is_one = icmp ne i32 %some, 0
  br i1 %is_one, label %param_one, label %look
param_one:
  %its_name = load ptr, ptr %name
  %its_value = load ptr, ptr %value
  call void @Py_IncRef(ptr %its_name)
  call void @Py_IncRef(ptr %its_value)
  %j1 = add i64 %j, 1
  %p0 = call i32 @PyTuple_SetItem(ptr %k, i64 %j, ptr %its_name)
  %p1 = call i32 @PyTuple_SetItem(ptr %k, i64 %j1, ptr %its_value)
  %j_next = add i64 %j, 2
  br label %param
look:
  %table = load ptr, ptr OBJECT.operations
  %route = call ptr @find(ptr %table, ptr %k)
  %unrouted = icmp eq ptr %route, null
  br i1 %unrouted, label %slow, label %call
call:
  %plan = call ptr @plan_of(ptr %route)
  %out = call ptr @execute(ptr %plan, ptr %walk)
  call void @Py_DecRef(ptr %route)
  %refused = icmp eq ptr %out, DECLINED
  br i1 %refused, label %slow, label %done
done:
  call void @release(ptr %walk)
  ret ptr %out
slow:
  %may_go_on = call i1 @released_without_error(ptr %walk)
  br i1 %may_go_on, label %slow_call, label %raise
raise:
  ret ptr null
slow_call:
  %fallback = load ptr, ptr OBJECT.process_slowly
  %slowly = call ptr @PyObject_Vectorcall(ptr %fallback, ptr %all, i64 4, ptr null)
  ret ptr %slowly
}

; A method of compiled functions: any arguments to the function's result.
define internal ptr @call(ptr %self, ptr %args, i64 %n, ptr %names) {
  %value = call ptr @dispatch(ptr %self, ptr %args, i64 %n, ptr %names, i64 0)
  ret ptr %value
}

; The same where some arguments are static: `mask` of the function tells which of those by position,
; `static_names` which of those by name.
define internal ptr @call_static(ptr %self, ptr %args, i64 %n, ptr %names) {
  %n_mask = load ptr, ptr OBJECT.mask
  %found = call ptr @address_in(ptr %self, ptr %n_mask)
  %places = ptrtoint ptr %found to i64
  %is_named = icmp ne ptr %names, null
  br i1 %is_named, label %by_name, label %begin
by_name:
  %all = call i64 @with_names(ptr %self, ptr %names, i64 %n, i64 %places)
  br label %begin
begin:
  %mask = phi i64 [%places, %0], [%all, %by_name]
  %value = call ptr @dispatch(ptr %self, ptr %args, i64 %n, ptr %names, i64 %mask)
  ret ptr %value
}

; A mask of `n` arguments by position, with the bits of those by name; of more than 62 there is no
; route.
define internal i64 @with_names(ptr %self, ptr %names, i64 %n, i64 %places) {
entry:
  %n_names = call i64 @PyTuple_Size(ptr %names)
  %n_static = load ptr, ptr OBJECT.static_names
  %static = call ptr @attribute(ptr %self, ptr %n_static)
  %none = icmp eq ptr %static, null
  %few = icmp slt i64 %n, 63
  %first = select i1 %few, i64 %n, i64 63
  %behind = shl i64 1, %first
  %below = sub i64 %behind, 1
  %given = and i64 %places, %below
  br i1 %none, label %nothing, label %test
test:
  %j = phi i64 [0, %entry], [%next, %one]
  %mask = phi i64 [%given, %entry], [%more, %one]
  %open = icmp slt i64 %j, %n_names
  br i1 %open, label %one, label %done
one:
  %name = call ptr @PyTuple_GetItem(ptr %names, i64 %j)
  %has = call i32 @PySet_Contains(ptr %static, ptr %name)
  %is_static = icmp eq i32 %has, 1
  %place = add i64 %n, %j
  %near = icmp slt i64 %place, 63
  %short = select i1 %near, i64 %place, i64 63
  %shifted = shl i64 1, %short
  %bit = select i1 %is_static, i64 %shifted, i64 0
  %more = or i64 %mask, %bit
  %next = add i64 %j, 1
  br label %test
done:
  call void @Py_DecRef(ptr %static)
  ret i64 %mask
nothing:
  ret i64 %given
}

; Let the function raise the error that is set, in the words of its users.
define internal ptr @explain(ptr %self) {
entry:
  %parts = alloca [3 x ptr]
  %at_error = getelementptr ptr, ptr %parts, i64 1
  %at_trace = getelementptr ptr, ptr %parts, i64 2
  call void @PyErr_Fetch(ptr %parts, ptr %at_error, ptr %at_trace)
  call void @PyErr_NormalizeException(ptr %parts, ptr %at_error, ptr %at_trace)
  %type = load ptr, ptr %parts
  %error = load ptr, ptr %at_error
  %trace = load ptr, ptr %at_trace
  %untraced = icmp eq ptr %trace, null
  br i1 %untraced, label %tell, label %attach
attach:
  %set = call i32 @PyException_SetTraceback(ptr %error, ptr %trace)
  call void @Py_DecRef(ptr %trace)
  br label %tell
tell:
  %operands = alloca [2 x ptr]
  %second = getelementptr ptr, ptr %operands, i64 1
  store ptr %self, ptr %operands
  store ptr %error, ptr %second
  %name = load ptr, ptr OBJECT.raise_compared
  %value = call ptr @PyObject_VectorcallMethod(ptr %name, ptr %operands, i64 2, ptr null)
  call void @Py_DecRef(ptr %error)
  call void @Py_DecRef(ptr %type)
  ret ptr %value
}

; Call by a route, or else in Python: when what finds a route, which is large, has left the stack,
; since a function that is traced calls others.
define internal ptr @dispatch(ptr %self, ptr %args, i64 %n, ptr %names, i64 %mask) {
entry:
  %n_names = call i64 @count(ptr %names)
  %n_values = add i64 %n, %n_names
  %out = call ptr @by_route(ptr %self, ptr %args, i64 %n_values, ptr %names, i64 %mask)
  %refused = icmp eq ptr %out, DECLINED
  br i1 %refused, label %slow_call, label %done
done:
  ret ptr %out
slow_call:
  %n_all = add i64 %n_values, 1
  %bytes_all = mul i64 %n_all, 8
  %all = call ptr @malloc(i64 %bytes_all)
  %no_memory = icmp eq ptr %all, null
  br i1 %no_memory, label %out_of_memory, label %prepend
out_of_memory:
  %error_set = call ptr @PyErr_NoMemory()
  ret ptr null
prepend:
  store ptr %self, ptr %all
  %rest = getelementptr ptr, ptr %all, i64 1
  %bytes = mul i64 %n_values, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %rest, ptr %args, i64 %bytes, i1 false)
  %n_self = add i64 %n, 1
  %fallback = load ptr, ptr OBJECT.call_slowly
  %slowly = call ptr @PyObject_Vectorcall(ptr %fallback, ptr %all, i64 %n_self, ptr %names)
  call void @free(ptr %all)
  ret ptr %slowly
}

define internal ptr @by_route(
  ptr %self, ptr %args, i64 %n_values, ptr %names, i64 %mask
) noinline {
entry:
  %walk = alloca %walk_type
  call void @begin(ptr %walk)
  %here = load ptr, ptr OBJECT.context
  %n_trace = load ptr, ptr OBJECT.trace
  %base = load ptr, ptr OBJECT.base
  %is_base = call i1 @attribute_is(ptr %here, ptr %n_trace, ptr %base)
  br i1 %is_base, label %open, label %slow
open:
  %context = call ptr @settings()
  %unknown = icmp eq ptr %context, null
  br i1 %unknown, label %slow, label %key
key:
  %is_named = icmp ne ptr %names, null
  %named = zext i1 %is_named to i64
  %front = add i64 %n_values, 1
  %size = add i64 %front, %named
  %k = call ptr @PyTuple_New(i64 %size)
  %k0 = call i32 @PyTuple_SetItem(ptr %k, i64 0, ptr %context)
  br i1 %is_named, label %add_names, label %tokens
add_names:
  call void @Py_IncRef(ptr %names)
  %k1 = call i32 @PyTuple_SetItem(ptr %k, i64 %front, ptr %names)
  br label %tokens
tokens:
  %typed = call i1 @put_tokens(ptr %k, i64 1, ptr %args, i64 %n_values, i64 %mask, ptr %walk)
  br i1 %typed, label %look, label %drop
drop:
  call void @Py_DecRef(ptr %k)
  br label %slow
look:
  %n_routes = load ptr, ptr OBJECT.routes
  %table = call ptr @attribute(ptr %self, ptr %n_routes)
  %route = call ptr @find(ptr %table, ptr %k)
  call void @Py_DecRef(ptr %table)
  %unrouted = icmp eq ptr %route, null
  br i1 %unrouted, label %slow, label %compare
compare:
  %plan = call ptr @plan_of(ptr %route)
  %same = call i1 @unchanged(ptr %plan)
  br i1 %same, label %call, label %leave
leave:
  call void @Py_DecRef(ptr %route)
  br label %slow
call:
  %out = call ptr @execute(ptr %plan, ptr %walk)
  call void @Py_DecRef(ptr %route)
  %refused = icmp eq ptr %out, DECLINED
  br i1 %refused, label %slow, label %done
done:
  call void @release(ptr %walk)
  ret ptr %out
slow:
  %may_go_on = call i1 @released_without_error(ptr %walk)
  br i1 %may_go_on, label %decline, label %raise
raise:
  %raised = call ptr @explain(ptr %self)
  ret ptr %raised
decline:
  ret ptr DECLINED
}

define internal i64 @count(ptr %names) {
  %none = icmp eq ptr %names, null
  br i1 %none, label %zero, label %some
zero:
  ret i64 0
some:
  %n = call i64 @PyTuple_Size(ptr %names)
  ret i64 %n
}
"""

_WORDS = {
    "N_OBJECTS": str(len(OBJECTS)),
    "BYTES_OBJECTS": str(8 * len(OBJECTS)),
    "SMALL": str(_SMALL),
    "STACK": str(STACK_ARENA),
    "NO_MEMORY": "-2",
    "DECLINED": "inttoptr (i64 1 to ptr)",
    "MOST_LEAVES": str(MOST_LEAVES),
    "MOST_LEVELS": str(MOST_LEVELS),
    "CONTAINER_FLAGS": str(_CONTAINER_FLAGS),
    **WATCH_WORDS,
}


def stub_text() -> str:
    """Return the LLVM text of the module.

    Its `entry` takes a table of `OBJECTS` and gives the addresses of C functions: `run`, of a
    builtin function, and `process`, `call` and `call_static`, of methods; then those of `wrote`,
    `mark` and `writes` (`callwatch.py`).
    """
    text = _DECLARED + WALK_TEXT + with_fields(WATCH_TEXT + RUN_TEXT + BUILD_TEXT + _DOORS)
    table = f"getelementptr ([{len(OBJECTS)} x ptr], ptr @objects, i64 0, i64 "

    def object_place(found: re.Match) -> str:
        """Return the place of a Python object."""
        return f"{table}{OBJECTS.index(found[1])})"

    text = re.sub(r"OBJECT\.(\w+)", object_place, text)
    return re.sub(r"\b[A-Z_]{5,}\b", lambda found: _WORDS.get(found[0], found[0]), text)
