"""The native comparison of what a program captured: the call stub walks the rows of a plan.

A call whose captured variables are watched (`runtime/captures.py`) shall cost little more than one
whose are not.  So most are compared without Python code: a value that means the same as long as it
is the same object is looked up where it was found, and its address compared; what lists, dicts and
NumPy arrays hold is compared in their memory.  A row is four words: how to look, in what, under
what name, and what has to be there (null: nothing may be).

Rows are in such an order that what one looks in has been found to be the same by those before it,
so that no code of the user runs.  Where a row does not hold, the call is Python's, which compares
again, by content as well, and raises; only where all hold does the call go on.

Dicts of modules and classes tell when they are written to: CPython calls `wrote`, which counts the
writes to what some row looks at, and to little else: `places` has a mark for what a dict and the
hash of a key may be mixed to.  As long as the count is the one at which all rows of a plan held,
`seen`, only the *silent* rows are walked, of places that tell nothing.  A negative count says that
nobody is told.

The text is a part of the stub's, whose vocabulary is in `callstub.py`.
"""

from __future__ import annotations

__all__ = ["WATCH_TEXT", "WATCH_WORDS", "WAYS"]

# How a row looks: under a name in a dict, which tells of writes or does not; in the content of a
# cell; which dict an object has; by a descriptor in a slot; at the type of an object; at the bases
# of a class; in a list and in a dict, for so many addresses; in a NumPy array.
WAYS = {
    "dict": 0, "telling dict": 0, "cell": 1, "own dict": 2, "slot": 3, "type": 4, "bases": 5,
    "list": 6, "items": 7, "array": 8,
}  # fmt: skip

# Numbers of CPython's stable interface and of its event for dicts that die; where NumPy's header
# says that its arrays have what; how many marks of writes there are, and how places are mixed.
WATCH_WORDS = {
    "TP_BASES": "49",
    "TP_DESCR_GET": "54",
    "DICT_DIES": "5",
    "ARRAY_DATA": "16",
    "ARRAY_RANK": "24",
    "ARRAY_SIZES": "32",
    "ARRAY_STRIDES": "40",
    "ARRAY_DTYPE": "56",
    "N_PLACES": str(1 << 16),
    "PLACE_SHIFT": str(64 - 16),
    "SPREADING": "-7046029254386353131",
}

_WALK = """
declare ptr @PyCell_Get(ptr)
declare ptr @PyObject_GenericGetDict(ptr, ptr)
declare ptr @PyType_GetSlot(ptr, i32)

; Whether what a plan watches is the same; an error that is not expected stays set.
define internal i1 @unchanged(ptr %plan) {
entry:
  %n_watched = load i64, ptr FIELD.n_watched
  %any = icmp ne i64 %n_watched, 0
  br i1 %any, label %look, label %done
look:
  %seen = load ptr, ptr FIELD.seen
  %writes = load i64, ptr @writes
  %before = load i64, ptr %seen
  %unwritten = icmp eq i64 %writes, %before
  br i1 %unwritten, label %some, label %all
some:
  %n_silent = load i64, ptr FIELD.n_silent
  %silent = load ptr, ptr FIELD.silent
  %these_hold = call i1 @hold_all(ptr %silent, i64 %n_silent)
  ret i1 %these_hold
all:
  %watched = load ptr, ptr FIELD.watched
  %all_hold = call i1 @hold_all(ptr %watched, i64 %n_watched)
  %told = icmp sge i64 %writes, 0
  %note = and i1 %all_hold, %told
  br i1 %note, label %remember, label %give
remember:
  store i64 %writes, ptr %seen
  br label %done
give:
  ret i1 %all_hold
done:
  ret i1 true
}

; Whether each of `n` rows holds.
define internal i1 @hold_all(ptr %rows, i64 %n) {
entry:
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
  %count = ptrtoint ptr %wanted to i64
  switch i64 %way, label %array [
    i64 0, label %dict
    i64 1, label %cell
    i64 2, label %own
    i64 3, label %slot
    i64 4, label %type
    i64 5, label %bases
    i64 6, label %list
    i64 7, label %items
  ]
dict:
  %in_dict = call ptr @PyDict_GetItemWithError(ptr %source, ptr %name)
  br label %compare
cell:
  %in_cell = call ptr @PyCell_Get(ptr %source)
  br label %give_back
own:
  %table = call ptr @PyObject_GenericGetDict(ptr %source, ptr null)
  br label %give_back
slot:
  %kind = call ptr @PyObject_Type(ptr %name)
  %getter = call ptr @PyType_GetSlot(ptr %kind, i32 TP_DESCR_GET)
  call void @Py_DecRef(ptr %kind)
  %in_slot = call ptr %getter(ptr %name, ptr %source, ptr null)
  br label %give_back
type:
  %its_type = call ptr @PyObject_Type(ptr %source)
  br label %give_back
bases:
  %its_bases = call ptr @PyType_GetSlot(ptr %source, i32 TP_BASES)
  br label %compare
give_back:
  %new = phi ptr [%in_cell, %cell], [%table, %own], [%in_slot, %slot], [%its_type, %type]
  call void @Py_DecRef(ptr %new)
  br label %compare
compare:
  %found = phi ptr [%in_dict, %dict], [%its_bases, %bases], [%new, %give_back]
  %same = icmp eq ptr %found, %wanted
  %none = icmp eq ptr %found, null
  br i1 %none, label %absent, label %decide
absent:
  %error = call ptr @PyErr_Occurred()
  %is_clear = icmp eq ptr %error, null
  br i1 %is_clear, label %decide, label %failed
failed:
  call void @forget()
  %other_error = call ptr @PyErr_Occurred()
  %is_expected = icmp eq ptr %other_error, null
  br i1 %is_expected, label %decide, label %bad
decide:
  br i1 %same, label %step, label %bad
list:
  %listed = call i1 @lists(ptr %source, ptr %name, i64 %count)
  br i1 %listed, label %step, label %bad
items:
  %has_items = call i1 @has_items(ptr %source, ptr %name, i64 %count)
  br i1 %has_items, label %step, label %bad
array:
  %holds = call i1 @array_holds(ptr %source, ptr %name, ptr %wanted)
  br i1 %holds, label %step, label %bad
step:
  %next = add i64 %i, 1
  br label %test
bad:
  ret i1 false
good:
  ret i1 true
}
"""

_CONTENTS = """
declare i32 @memcmp(ptr, ptr, i64)

; Whether a list holds `n` objects, those at `items`.
define internal i1 @lists(ptr %list, ptr %items, i64 %n) {
entry:
  %size = call i64 @PyList_Size(ptr %list)
  %same_size = icmp eq i64 %n, %size
  br i1 %same_size, label %test, label %bad
test:
  %i = phi i64 [0, %entry], [%next, %one]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %one, label %good
one:
  %found = call ptr @PyList_GetItem(ptr %list, i64 %i)
  %at = getelementptr ptr, ptr %items, i64 %i
  %wanted = load ptr, ptr %at
  %same = icmp eq ptr %found, %wanted
  %next = add i64 %i, 1
  br i1 %same, label %test, label %bad
bad:
  ret i1 false
good:
  ret i1 true
}

; Whether a dict holds `n` keys and values, those at `items` by turns; null stands for any value.
define internal i1 @has_items(ptr %dict, ptr %items, i64 %n) {
entry:
  %position = alloca i64
  %key = alloca ptr
  %value = alloca ptr
  store i64 0, ptr %position
  %size = call i64 @PyDict_Size(ptr %dict)
  %same_size = icmp eq i64 %n, %size
  br i1 %same_size, label %test, label %bad
test:
  %i = phi i64 [0, %entry], [%next, %other]
  %some = call i32 @PyDict_Next(ptr %dict, ptr %position, ptr %key, ptr %value)
  %is_one = icmp ne i32 %some, 0
  br i1 %is_one, label %one, label %good
one:
  %pair = getelementptr [2 x ptr], ptr %items, i64 %i
  %wanted_key = load ptr, ptr %pair
  %found_key = load ptr, ptr %key
  %same_key = icmp eq ptr %found_key, %wanted_key
  br i1 %same_key, label %other, label %bad
other:
  %second = getelementptr ptr, ptr %pair, i64 1
  %wanted = load ptr, ptr %second
  %found = load ptr, ptr %value
  %same = icmp eq ptr %found, %wanted
  %any = icmp eq ptr %wanted, null
  %fits = or i1 %same, %any
  %next = add i64 %i, 1
  br i1 %fits, label %test, label %bad
bad:
  ret i1 false
good:
  ret i1 true
}

; Whether a NumPy array lies where `form` says, and holds the bytes at `content`.  The form is the
; address, the rank, the dtype, how many bytes; sizes; strides.
define internal i1 @array_holds(ptr %array, ptr %form, ptr %content) {
entry:
  %at_data = getelementptr i8, ptr %array, i64 ARRAY_DATA
  %at_rank = getelementptr i8, ptr %array, i64 ARRAY_RANK
  %at_dtype = getelementptr i8, ptr %array, i64 ARRAY_DTYPE
  %data = load ptr, ptr %at_data
  %rank = load i32, ptr %at_rank
  %dtype = load ptr, ptr %at_dtype
  %form_rank = getelementptr i64, ptr %form, i64 1
  %form_dtype = getelementptr i64, ptr %form, i64 2
  %form_bytes = getelementptr i64, ptr %form, i64 3
  %sizes = getelementptr i64, ptr %form, i64 4
  %wanted_data = load ptr, ptr %form
  %wanted_rank = load i64, ptr %form_rank
  %wanted_dtype = load ptr, ptr %form_dtype
  %n_bytes = load i64, ptr %form_bytes
  %wide = sext i32 %rank to i64
  %same_data = icmp eq ptr %data, %wanted_data
  %same_rank = icmp eq i64 %wide, %wanted_rank
  %same_dtype = icmp eq ptr %dtype, %wanted_dtype
  %here = and i1 %same_data, %same_rank
  %alike = and i1 %here, %same_dtype
  br i1 %alike, label %look, label %bad
look:
  %at_sizes = getelementptr i8, ptr %array, i64 ARRAY_SIZES
  %at_strides = getelementptr i8, ptr %array, i64 ARRAY_STRIDES
  %its_sizes = load ptr, ptr %at_sizes
  %its_strides = load ptr, ptr %at_strides
  %strides = getelementptr i64, ptr %sizes, i64 %wide
  %each = mul i64 %wide, 8
  %sizes_differ = call i32 @memcmp(ptr %its_sizes, ptr %sizes, i64 %each)
  %strides_differ = call i32 @memcmp(ptr %its_strides, ptr %strides, i64 %each)
  %either = or i32 %sizes_differ, %strides_differ
  %as_large = icmp eq i32 %either, 0
  br i1 %as_large, label %read, label %bad
read:
  %bytes_differ = call i32 @memcmp(ptr %data, ptr %content, i64 %n_bytes)
  %same = icmp eq i32 %bytes_differ, 0
  ret i1 %same
bad:
  ret i1 false
}
"""

_WRITES = """
declare i64 @PyObject_Hash(ptr)

@writes = internal global i64 -1
@places = internal global [N_PLACES x i8] zeroinitializer

; Where `places` has the mark of a dict and a key that is text.
define internal ptr @place_of(ptr %dict, ptr %key) {
  %hash = call i64 @PyObject_Hash(ptr %key)
  %address = ptrtoint ptr %dict to i64
  %spread = mul i64 %address, SPREADING
  %mixed = xor i64 %hash, %spread
  %again = mul i64 %mixed, SPREADING
  %number = lshr i64 %again, PLACE_SHIFT
  %place = getelementptr i8, ptr @places, i64 %number
  ret ptr %place
}

; Mark that writes under a key of a dict shall count.
define i32 @mark(ptr %dict, ptr %key) {
  %place = call ptr @place_of(ptr %dict, ptr %key)
  store i8 1, ptr %place
  ret i32 0
}

; What CPython calls when a dict is about to be written to, or to die, which none that is looked at
; does.  It runs no Python code, as a key that is text knows how to be hashed.
define i32 @wrote(i32 %event, ptr %dict, ptr %key, ptr %value) {
entry:
  switch i32 %event, label %count [
    i32 0, label %one_key
    i32 1, label %one_key
    i32 2, label %one_key
    i32 DICT_DIES, label %done
  ]
one_key:
  %kind = call ptr @PyObject_Type(ptr %key)
  call void @Py_DecRef(ptr %kind)
  %text = load ptr, ptr OBJECT.str
  %is_text = icmp eq ptr %kind, %text
  br i1 %is_text, label %look, label %count
look:
  %place = call ptr @place_of(ptr %dict, ptr %key)
  %mark = load i8, ptr %place
  %is_marked = icmp ne i8 %mark, 0
  br i1 %is_marked, label %count, label %done
count:
  %before = load i64, ptr @writes
  %told = icmp sge i64 %before, 0
  %after = add i64 %before, 1
  %writes = select i1 %told, i64 %after, i64 %before
  store i64 %writes, ptr @writes
  br label %done
done:
  ret i32 0
}
"""

WATCH_TEXT = _WALK + _CONTENTS + _WRITES
