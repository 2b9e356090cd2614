"""The native way out: results of a call are put together to the tree that the function returns.

This is the last part of the call stub; `callstub.py` has the vocabulary. A plan has the *steps* of
its tree, which a machine with a stack of objects carries out: a step takes some values from the
stack and puts one there. Each is three numbers (a place in STEPS, how many values, an object):

    leaf        the next result
    constant    the object
    tuple       a tuple of the values
    list        a list of the values
    dict        the object is (keys, a dict with these keys), of which a copy gets the values
    call        the object is (function, names): called with the values, the last of them by name

Named tuples, dataclasses and types of users are calls of what `tree` would call for them.
"""

from __future__ import annotations

__all__ = ["BUILD_TEXT", "STEPS"]

STEPS = ("leaf", "constant", "tuple", "list", "dict", "call")

_SEQUENCE_TEXT = """
; The sequence of n values, whose references it takes.
define internal ptr @NAME(ptr %values, i64 %n) {
entry:
  %made = call ptr @PyKIND_New(i64 %n)
  br label %test
test:
  %i = phi i64 [0, %entry], [%next, %put]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %put, label %done
put:
  %at = getelementptr ptr, ptr %values, i64 %i
  %x = load ptr, ptr %at
  %s = call i32 @PyKIND_SetItem(ptr %made, i64 %i, ptr %x)
  %next = add i64 %i, 1
  br label %test
done:
  ret ptr %made
}
"""

_STEPS_TEXT = """
; A dict of n values, whose references it takes; null if a key raises.
define internal ptr @dict_of(ptr %values, i64 %n, ptr %object) {
entry:
  %keys = call ptr @PyTuple_GetItem(ptr %object, i64 0)
  %example = call ptr @PyTuple_GetItem(ptr %object, i64 1)
  %dict = call ptr @PyDict_Copy(ptr %example)
  br label %test
test:
  %i = phi i64 [0, %entry], [%next, %put]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %put, label %done
put:
  %at = getelementptr ptr, ptr %values, i64 %i
  %x = load ptr, ptr %at
  %key = call ptr @PyTuple_GetItem(ptr %keys, i64 %i)
  %s = call i32 @PyDict_SetItem(ptr %dict, ptr %key, ptr %x)
  %failed = icmp slt i32 %s, 0
  %next = add i64 %i, 1
  br i1 %failed, label %bad, label %test
bad:
  call void @Py_DecRef(ptr %dict)
  br label %done
done:
  %made = phi ptr [%dict, %test], [null, %bad]
  call void @drop_all(ptr %values, i64 %n)
  ret ptr %made
}

; What a function returns for n values, whose references are taken; null if it raises.
define internal ptr @called_with(ptr %values, i64 %n, ptr %object) {
  %function = call ptr @PyTuple_GetItem(ptr %object, i64 0)
  %names = call ptr @PyTuple_GetItem(ptr %object, i64 1)
  %n_named = call i64 @PyTuple_Size(ptr %names)
  %n_placed = sub i64 %n, %n_named
  %value = call ptr @PyObject_Vectorcall(ptr %function, ptr %values, i64 %n_placed, ptr %names)
  call void @drop_all(ptr %values, i64 %n)
  ret ptr %value
}

; Carry out the steps of a plan; null if one raises.
define internal ptr @build(ptr %plan, ptr %args, ptr %owners, ptr %table) {
entry:
  %n = load i64, ptr FIELD.n_steps
  %steps = load ptr, ptr FIELD.steps
  %n_stack = load i64, ptr FIELD.n_stack
  %stack = alloca ptr, i64 %n_stack
  br label %test
test:
  %s = phi i64 [0, %entry], [%s_next, %push]
  %i = phi i64 [0, %entry], [%i_next, %push]
  %top = phi i64 [0, %entry], [%top_next, %push]
  %more = icmp slt i64 %s, %n
  br i1 %more, label %one, label %done
one:
  %step = getelementptr [3 x i64], ptr %steps, i64 %s
  %at_count = getelementptr i64, ptr %step, i64 1
  %at_object = getelementptr i64, ptr %step, i64 2
  %kind = load i64, ptr %step
  %count = load i64, ptr %at_count
  %object = load ptr, ptr %at_object
  %base = sub i64 %top, %count
  %values = getelementptr ptr, ptr %stack, i64 %base
  switch i64 %kind, label %call [
    i64 0, label %leaf
    i64 1, label %constant
    i64 2, label %tuple
    i64 3, label %list
    i64 4, label %dict
  ]
leaf:
  %a = call ptr @result(ptr %plan, i64 %i, ptr %args, ptr %owners, ptr %table)
  br label %made
constant:
  call void @Py_IncRef(ptr %object)
  br label %made
tuple:
  %b = call ptr @tuple_of(ptr %values, i64 %count)
  br label %made
list:
  %c = call ptr @list_of(ptr %values, i64 %count)
  br label %made
dict:
  %d = call ptr @dict_of(ptr %values, i64 %count, ptr %object)
  br label %made
call:
  %e = call ptr @called_with(ptr %values, i64 %count, ptr %object)
  br label %made
made:
  %value = phi ptr [%a, %leaf], [%object, %constant], [%b, %tuple], [%c, %list], [%d, %dict],
    [%e, %call]
  %is_leaf = phi i64 [1, %leaf], [0, %constant], [0, %tuple], [0, %list], [0, %dict], [0, %call]
  %none = icmp eq ptr %value, null
  br i1 %none, label %bad, label %push
push:
  store ptr %value, ptr %values
  %s_next = add i64 %s, 1
  %i_next = add i64 %i, %is_leaf
  %top_next = add i64 %base, 1
  br label %test
bad:
  call void @drop_all(ptr %stack, i64 %base)
  ret ptr null
done:
  %whole = load ptr, ptr %stack
  ret ptr %whole
}
"""

BUILD_TEXT = "".join(
    [
        _SEQUENCE_TEXT.replace("NAME", "tuple_of").replace("KIND", "Tuple"),
        _SEQUENCE_TEXT.replace("NAME", "list_of").replace("KIND", "List"),
        _STEPS_TEXT,
    ]
)
