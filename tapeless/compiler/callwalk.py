"""The native way into trees of arguments: their tokens and their leaves in one walk.

This is the first part of the call stub; `callstub.py` has the vocabulary. `put_tokens` writes the
tokens of some arguments into a key. The token of a container is a tuple, which tells it from those
of leaves: the type, and then

    tuple, list, named tuple     the tokens of the items
    dict                         a name and a token for each item, in the order of insertion
    registered dataclass         the tokens of its fields; of one that is no leaf (type, value)

A name that is not a string goes in as (type, name), since 1 and True are equal.  None is its type.
So a key says all of the structure, and nothing needs to be expected.  `runtime/callkeys.py` writes
the same keys, and knows the types in `containers`: their descriptions are None for named tuples and
(names of fields, mask of those that are no leaves) for dataclasses.  Any other type is its own
token, for which there is no route.

A walk has the leaves that it met, to each of which it has a reference, since another thread may
take them out of their containers meanwhile.  So may the collector of garbage when a tuple is made:
what was read from a container is held before that.  In the place of a NumPy array it has an Array.
"""

from __future__ import annotations

__all__ = ["MOST_LEAVES", "MOST_LEVELS", "WALK_TEXT"]

MOST_LEAVES = 2000
MOST_LEVELS = 64

WALK_TEXT = """
; Leaves, levels of containers, the leaves themselves.
%walk_type = type { i64, i64, [MOST_LEAVES x ptr] }

define internal void @begin(ptr %walk) {
  %levels = getelementptr %walk_type, ptr %walk, i64 0, i32 1
  store i64 0, ptr %walk
  store i64 0, ptr %levels
  ret void
}

; Give back the references of a walk.
define internal void @release(ptr %walk) {
entry:
  %n = load i64, ptr %walk
  br label %test
test:
  %i = phi i64 [0, %entry], [%next, %drop]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %drop, label %done
drop:
  %at = getelementptr %walk_type, ptr %walk, i64 0, i32 2, i64 %i
  %x = load ptr, ptr %at
  call void @Py_DecRef(ptr %x)
  %next = add i64 %i, 1
  br label %test
done:
  ret void
}

; The Array with the elements of a NumPy array, a new reference; null if it has none.
define internal ptr @from_numpy(ptr %x) {
entry:
  %n_shape = load ptr, ptr OBJECT.shape
  %n_dtype = load ptr, ptr OBJECT.dtype
  %shape = call ptr @PyObject_GetAttr(ptr %x, ptr %n_shape)
  %dtype = call ptr @PyObject_GetAttr(ptr %x, ptr %n_dtype)
  %key = call ptr @PyTuple_New(i64 2)
  %k0 = call i32 @PyTuple_SetItem(ptr %key, i64 0, ptr %shape)
  %k1 = call i32 @PyTuple_SetItem(ptr %key, i64 1, ptr %dtype)
  %types = load ptr, ptr OBJECT.small_types
  %aval = call ptr @find(ptr %types, ptr %key)
  %unknown = icmp eq ptr %aval, null
  br i1 %unknown, label %ask, label %copy
copy:
  %self = alloca ptr
  store ptr %x, ptr %self
  %n_tobytes = load ptr, ptr OBJECT.tobytes
  %data = call ptr @PyObject_VectorcallMethod(ptr %n_tobytes, ptr %self, i64 1, ptr null)
  %no_data = icmp eq ptr %data, null
  br i1 %no_data, label %failed, label %wrap
failed:
  call void @forget()
  call void @Py_DecRef(ptr %aval)
  ret ptr null
wrap:
  %start = call ptr @PyBytes_AsString(ptr %data)
  %place = call ptr @PyLong_FromVoidPtr(ptr %start)
  %array = call ptr @array(ptr %aval, ptr %data, ptr %place)
  call void @Py_DecRef(ptr %place)
  call void @Py_DecRef(ptr %data)
  call void @Py_DecRef(ptr %aval)
  ret ptr %array
ask:
  %python = load ptr, ptr OBJECT.array_of_numbers
  %made = call ptr @PyObject_CallOneArg(ptr %python, ptr %x)
  %raised = icmp eq ptr %made, null
  br i1 %raised, label %clear, label %look
clear:
  call void @forget()
  ret ptr null
look:
  %none = load ptr, ptr OBJECT.none
  %is_none = icmp eq ptr %made, %none
  br i1 %is_none, label %nothing, label %done
nothing:
  call void @Py_DecRef(ptr %made)
  ret ptr null
done:
  ret ptr %made
}

; The token of an argument, a new reference; null if it has none.  Its leaves join the walk.
define internal ptr @token(ptr %x, ptr %walk) {
  %type = call ptr @PyObject_Type(ptr %x)
  %array = load ptr, ptr OBJECT.array_type
  %is_array = icmp eq ptr %type, %array
  br i1 %is_array, label %leaf, label %other
other:
  %flags = call i64 @PyType_GetFlags(ptr %type)
  %unusual = and i64 %flags, CONTAINER_FLAGS
  %is_container = icmp ne i64 %unusual, 0
  br i1 %is_container, label %container, label %ask
ask:
  %none = load ptr, ptr OBJECT.none
  %is_none = icmp eq ptr %x, %none
  br i1 %is_none, label %typed, label %leaf
container:
  %parts = call ptr @container(ptr %x, ptr %type, i64 %flags, ptr %walk)
  call void @Py_DecRef(ptr %type)
  ret ptr %parts
leaf:
  %n = load i64, ptr %walk
  %fits = icmp slt i64 %n, MOST_LEAVES
  br i1 %fits, label %keep, label %drop
drop:
  call void @Py_DecRef(ptr %type)
  ret ptr null
keep:
  %slot = getelementptr %walk_type, ptr %walk, i64 0, i32 2, i64 %n
  call void @Py_IncRef(ptr %x)
  store ptr %x, ptr %slot
  %more = add i64 %n, 1
  store i64 %more, ptr %walk
  br i1 %is_array, label %look, label %numpy
numpy:
  %ndarray = load ptr, ptr OBJECT.ndarray
  %is_numpy = icmp eq ptr %type, %ndarray
  br i1 %is_numpy, label %convert, label %typed
convert:
  %made = call ptr @from_numpy(ptr %x)
  %nothing = icmp eq ptr %made, null
  br i1 %nothing, label %drop, label %exchange
exchange:
  store ptr %made, ptr %slot
  call void @Py_DecRef(ptr %x)
  br label %look
look:
  %y = phi ptr [%x, %keep], [%made, %exchange]
  call void @Py_DecRef(ptr %type)
  %name = load ptr, ptr OBJECT.aval
  %aval = call ptr @attribute(ptr %y, ptr %name)
  ret ptr %aval
typed:
  ret ptr %type
}

; The pair (type, value), a new reference.
define internal ptr @pair(ptr %x) {
  %pair = call ptr @PyTuple_New(i64 2)
  %type = call ptr @PyObject_Type(ptr %x)
  %p0 = call i32 @PyTuple_SetItem(ptr %pair, i64 0, ptr %type)
  call void @Py_IncRef(ptr %x)
  %p1 = call i32 @PyTuple_SetItem(ptr %pair, i64 1, ptr %x)
  ret ptr %pair
}

; A tuple for the token of a container, with its type.
define internal ptr @of_type(ptr %type, i64 %n) {
  %size = add i64 %n, 1
  %parts = call ptr @PyTuple_New(i64 %size)
  call void @Py_IncRef(ptr %type)
  %p0 = call i32 @PyTuple_SetItem(ptr %parts, i64 0, ptr %type)
  ret ptr %parts
}

; Put the tokens of n arguments into a tuple, from `start` on; what the mask names is static: its
; token is (type, value), and it is no leaf.
define internal i1 @put_tokens(ptr %key, i64 %start, ptr %args, i64 %n, i64 %mask, ptr %walk) {
entry:
  br label %test
test:
  %i = phi i64 [0, %entry], [%next, %put]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %one, label %good
one:
  %where = getelementptr ptr, ptr %args, i64 %i
  %x = load ptr, ptr %where
  %short = icmp slt i64 %i, 63
  %number = select i1 %short, i64 %i, i64 63
  %shifted = lshr i64 %mask, %number
  %bit = and i64 %shifted, 1
  %is_static = icmp ne i64 %bit, 0
  br i1 %is_static, label %static, label %dynamic
static:
  %pair = call ptr @pair(ptr %x)
  br label %put
dynamic:
  %token = call ptr @token(ptr %x, ptr %walk)
  %none = icmp eq ptr %token, null
  br i1 %none, label %bad, label %put
put:
  %part = phi ptr [%pair, %static], [%token, %dynamic]
  %position = add i64 %start, %i
  %s = call i32 @PyTuple_SetItem(ptr %key, i64 %position, ptr %part)
  %next = add i64 %i, 1
  br label %test
good:
  ret i1 true
bad:
  ret i1 false
}

; The token of what may be a container, a new reference; null if it is none that is known.
define internal ptr @container(ptr %x, ptr %type, i64 %flags, ptr %walk) {
entry:
  %at_levels = getelementptr %walk_type, ptr %walk, i64 0, i32 1
  %levels = load i64, ptr %at_levels
  %deeper = add i64 %levels, 1
  store i64 %deeper, ptr %at_levels
  %too_deep = icmp sge i64 %levels, MOST_LEVELS
  br i1 %too_deep, label %unknown, label %look
look:
  call void @Py_IncRef(ptr %x)
  %dict = load ptr, ptr OBJECT.dict
  %tuple = load ptr, ptr OBJECT.tuple
  %list = load ptr, ptr OBJECT.list
  %is_dict = icmp eq ptr %type, %dict
  %is_tuple = icmp eq ptr %type, %tuple
  %is_list = icmp eq ptr %type, %list
  %is_sequence = or i1 %is_tuple, %is_list
  br i1 %is_dict, label %mapping, label %ask
ask:
  br i1 %is_sequence, label %sequence, label %describe
describe:
  %table = load ptr, ptr OBJECT.containers
  %found = call ptr @PyDict_GetItemWithError(ptr %table, ptr %type)
  %undescribed = icmp eq ptr %found, null
  br i1 %undescribed, label %clear, label %described
clear:
  call void @forget()
  br label %done
described:
  %none = load ptr, ptr OBJECT.none
  %is_named = icmp eq ptr %found, %none
  br i1 %is_named, label %sequence, label %fields
mapping:
  %a = call ptr @of_dict(ptr %x, ptr %type, ptr %walk)
  br label %done
sequence:
  %b = call ptr @of_sequence(ptr %x, ptr %type, i1 %is_list, ptr %walk)
  br label %done
fields:
  %c = call ptr @of_fields(ptr %x, ptr %type, ptr %found, ptr %walk)
  br label %done
done:
  %token = phi ptr [null, %clear], [%a, %mapping], [%b, %sequence], [%c, %fields]
  call void @Py_DecRef(ptr %x)
  store i64 %levels, ptr %at_levels
  ret ptr %token
unknown:
  ret ptr null
}

; The token of a dict, a new reference; null if it has none.
define internal ptr @of_dict(ptr %x, ptr %type, ptr %walk) {
entry:
  %position = alloca i64
  %name = alloca ptr
  %value = alloca ptr
  store i64 0, ptr %position
  %n = call i64 @PyDict_Size(ptr %x)
  %double = mul i64 %n, 2
  %parts = call ptr @of_type(ptr %type, i64 %double)
  %text = load ptr, ptr OBJECT.str
  br label %test
test:
  %i = phi i64 [0, %entry], [%next, %put]
  %some = call i32 @PyDict_Next(ptr %x, ptr %position, ptr %name, ptr %value)
  %is_one = icmp ne i32 %some, 0
  %complete = icmp eq i64 %i, %n
  br i1 %is_one, label %one, label %ended
one:
  br i1 %complete, label %bad, label %look
look:
  %its_name = load ptr, ptr %name
  %its_value = load ptr, ptr %value
  %double_i = mul i64 %i, 2
  %first = add i64 %double_i, 1
  %second = add i64 %double_i, 2
  %name_type = call ptr @PyObject_Type(ptr %its_name)
  call void @Py_DecRef(ptr %name_type)
  %is_text = icmp eq ptr %name_type, %text
  br i1 %is_text, label %plain, label %typed
plain:
  call void @Py_IncRef(ptr %its_name)
  br label %named
typed:
  call void @Py_IncRef(ptr %its_name)
  call void @Py_IncRef(ptr %its_value)
  %h0 = call i32 @PyTuple_SetItem(ptr %parts, i64 %first, ptr %its_name)
  %h1 = call i32 @PyTuple_SetItem(ptr %parts, i64 %second, ptr %its_value)
  %pair = call ptr @pair(ptr %its_name)
  br label %named
named:
  %known = phi ptr [%its_name, %plain], [%pair, %typed]
  %p0 = call i32 @PyTuple_SetItem(ptr %parts, i64 %first, ptr %known)
  %token = call ptr @token(ptr %its_value, ptr %walk)
  %none = icmp eq ptr %token, null
  br i1 %none, label %bad, label %put
put:
  %p1 = call i32 @PyTuple_SetItem(ptr %parts, i64 %second, ptr %token)
  %next = add i64 %i, 1
  br label %test
ended:
  br i1 %complete, label %done, label %bad
bad:
  call void @Py_DecRef(ptr %parts)
  ret ptr null
done:
  ret ptr %parts
}

; The token of a tuple or list, a new reference; null if it has none.
define internal ptr @of_sequence(ptr %x, ptr %type, i1 %is_list, ptr %walk) {
entry:
  br i1 %is_list, label %list, label %tuple
list:
  %n_list = call i64 @PyList_Size(ptr %x)
  br label %start
tuple:
  %n_tuple = call i64 @PyTuple_Size(ptr %x)
  br label %start
start:
  %n = phi i64 [%n_list, %list], [%n_tuple, %tuple]
  %parts = call ptr @of_type(ptr %type, i64 %n)
  br label %test
test:
  %i = phi i64 [0, %start], [%next, %put]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %one, label %done
one:
  br i1 %is_list, label %of_list, label %of_tuple
of_list:
  %x_list = call ptr @PyList_GetItem(ptr %x, i64 %i)
  br label %look
of_tuple:
  %x_tuple = call ptr @PyTuple_GetItem(ptr %x, i64 %i)
  br label %look
look:
  %item = phi ptr [%x_list, %of_list], [%x_tuple, %of_tuple]
  %gone = icmp eq ptr %item, null
  br i1 %gone, label %clear, label %ask
clear:
  call void @forget()
  br label %bad
ask:
  %token = call ptr @token(ptr %item, ptr %walk)
  %none = icmp eq ptr %token, null
  br i1 %none, label %bad, label %put
put:
  %next = add i64 %i, 1
  %p = call i32 @PyTuple_SetItem(ptr %parts, i64 %next, ptr %token)
  br label %test
bad:
  call void @Py_DecRef(ptr %parts)
  ret ptr null
done:
  ret ptr %parts
}

; The token of a dataclass by its description, a new reference; null if it has none.
define internal ptr @of_fields(ptr %x, ptr %type, ptr %description, ptr %walk) {
entry:
  call void @Py_IncRef(ptr %description)
  %names = call ptr @PyTuple_GetItem(ptr %description, i64 0)
  %number = call ptr @PyTuple_GetItem(ptr %description, i64 1)
  %mask = call i64 @PyLong_AsLongLong(ptr %number)
  %n = call i64 @PyTuple_Size(ptr %names)
  %values = alloca ptr, i64 %n
  %parts = call ptr @of_type(ptr %type, i64 %n)
  br label %test
test:
  %i = phi i64 [0, %entry], [%next, %put]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %one, label %tokens
one:
  %name = call ptr @PyTuple_GetItem(ptr %names, i64 %i)
  %value = call ptr @attribute(ptr %x, ptr %name)
  %none = icmp eq ptr %value, null
  br i1 %none, label %drop, label %put
put:
  %at = getelementptr ptr, ptr %values, i64 %i
  store ptr %value, ptr %at
  %next = add i64 %i, 1
  br label %test
tokens:
  %complete = call i1 @put_tokens(ptr %parts, i64 1, ptr %values, i64 %n, i64 %mask, ptr %walk)
  br label %drop
drop:
  %good = phi i1 [false, %one], [%complete, %tokens]
  call void @drop_all(ptr %values, i64 %i)
  call void @Py_DecRef(ptr %description)
  br i1 %good, label %done, label %bad
bad:
  call void @Py_DecRef(ptr %parts)
  ret ptr null
done:
  ret ptr %parts
}

; Give back the references in an array.
define internal void @drop_all(ptr %values, i64 %n) {
entry:
  br label %test
test:
  %i = phi i64 [0, %entry], [%next, %drop]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %drop, label %done
drop:
  %at = getelementptr ptr, ptr %values, i64 %i
  %x = load ptr, ptr %at
  call void @Py_DecRef(ptr %x)
  %next = add i64 %i, 1
  br label %test
done:
  ret void
}
"""
