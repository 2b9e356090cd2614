"""The native comparison of what a program captured: the call stub walks the rows of a plan.

A call whose captured variables are watched (`runtime/captures.py`) shall cost little more than one
whose are not.  So most are compared without Python code: a value that means the same as long as it
is the same object is looked up where it was found, and its address compared.  A row is four words:
how to look, in what, under what name, and the object that has to be there (null: none may be).

Rows are in such an order that what one looks in has been found to be the same by those before it,
so that no code of the user runs.  Where a row does not hold, the call is Python's, which compares
again, by content as well, and raises; only where all hold does the call go on.

The text is a part of the stub's, whose vocabulary is in `callstub.py`.
"""

from __future__ import annotations

__all__ = ["WATCH_TEXT", "WAYS"]

# How a row looks: under a name in a dict, in the content of a cell, in the dict of an object, in
# what is stored in a slot, at the type of an object, and in a list, which has to hold the objects
# of the tuple in the name's place.
WAYS = {"dict": 0, "cell": 1, "own": 2, "slot": 3, "type": 4, "list": 5}

WATCH_TEXT = """
declare ptr @PyCell_Get(ptr)
declare ptr @PyObject_GenericGetAttr(ptr, ptr)
declare ptr @PyObject_GenericGetDict(ptr, ptr)

; Whether each row of a plan holds; an error that is not expected stays set.
define internal i1 @unchanged(ptr %plan) {
entry:
  %n = load i64, ptr FIELD.n_watched
  %rows = load ptr, ptr FIELD.watched
  br label %test
test:
  %i = phi i64 [0, %entry], [%next, %step]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %one, label %good
one:
  %row = getelementptr [4 x ptr], ptr %rows, i64 %i
  %at_source = getelementptr ptr, ptr %row, i64 1
  %at_name = getelementptr ptr, ptr %row, i64 2
  %at_wanted = getelementptr ptr, ptr %row, i64 3
  %way = load i64, ptr %row
  %source = load ptr, ptr %at_source
  %name = load ptr, ptr %at_name
  %wanted = load ptr, ptr %at_wanted
  switch i64 %way, label %list [
    i64 0, label %dict
    i64 1, label %cell
    i64 2, label %own
    i64 3, label %slot
    i64 4, label %type
  ]
dict:
  %in_dict = call ptr @PyDict_GetItemWithError(ptr %source, ptr %name)
  br label %compare
cell:
  %in_cell = call ptr @PyCell_Get(ptr %source)
  br label %give_back
own:
  %table = call ptr @PyObject_GenericGetDict(ptr %source, ptr null)
  %has_table = icmp ne ptr %table, null
  br i1 %has_table, label %in_table, label %wrong
in_table:
  %in_own = call ptr @PyDict_GetItemWithError(ptr %table, ptr %name)
  call void @Py_DecRef(ptr %table)
  br label %compare
slot:
  %in_slot = call ptr @PyObject_GenericGetAttr(ptr %source, ptr %name)
  br label %give_back
type:
  %its_type = call ptr @PyObject_Type(ptr %source)
  br label %give_back
give_back:
  %new = phi ptr [%in_cell, %cell], [%in_slot, %slot], [%its_type, %type]
  call void @Py_DecRef(ptr %new)
  br label %compare
compare:
  %found = phi ptr [%in_dict, %dict], [%in_own, %in_table], [%new, %give_back]
  %same = icmp eq ptr %found, %wanted
  %none = icmp eq ptr %found, null
  br i1 %none, label %absent, label %decide
absent:
  call void @forget()
  %error = call ptr @PyErr_Occurred()
  %is_clear = icmp eq ptr %error, null
  br i1 %is_clear, label %decide, label %bad
decide:
  br i1 %same, label %step, label %bad
list:
  %holds = call i1 @holds(ptr %source, ptr %name)
  br i1 %holds, label %step, label %bad
step:
  %next = add i64 %i, 1
  br label %test
wrong:
  call void @forget()
  br label %bad
bad:
  ret i1 false
good:
  ret i1 true
}

; Whether a list holds the objects of a tuple, and nothing else.
define internal i1 @holds(ptr %list, ptr %items) {
entry:
  %n = call i64 @PyTuple_Size(ptr %items)
  %size = call i64 @PyList_Size(ptr %list)
  %same_size = icmp eq i64 %n, %size
  br i1 %same_size, label %test, label %bad
test:
  %i = phi i64 [0, %entry], [%next, %one]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %one, label %good
one:
  %found = call ptr @PyList_GetItem(ptr %list, i64 %i)
  %wanted = call ptr @PyTuple_GetItem(ptr %items, i64 %i)
  %same = icmp eq ptr %found, %wanted
  %next = add i64 %i, 1
  br i1 %same, label %test, label %bad
bad:
  ret i1 false
good:
  ret i1 true
}
"""
