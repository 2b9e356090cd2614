"""Mutable arrays: `new_ref`, and reading and writing by NumPy's indices.

    ref = jax.new_ref(x)        a reference to an array that starts as x
    ref[i]                      read, an array
    ref[i] = y                  write; y has the shape and dtype of ref[i]
    ref.addupdate(y, i)         add
    ref.at[i]                   a reference to a part
    jax.freeze(ref)             the array, at the end

An index becomes the two programs that the operations take (`control/references.py`): what reads the
part, and what writes it.  They are staged once per type of the array and kind of index; places that
are arrays are operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import config, errors, lax
from tapeless.control.references import addupdate_p, freeze_p, get_p, new_ref_p, swap_p
from tapeless.core.any_array import AnyArray
from tapeless.core.aval import ShapedArray, is_value, typeof
from tapeless.core.jaxpr import Jaxpr
from tapeless.core.primitive import Primitive
from tapeless.core.ref import Ref
from tapeless.core.trace import Context, Value, under
from tapeless.numpy.indexing import get_item
from tapeless.numpy.updates import scatter_update
from tapeless.transforms.references import WHOLE, inner_type
from tapeless.transforms.stage import stage_flat
from tapeless.util.cache import bounded_cache
from tapeless.util.records import record

__all__ = [
    "RefView", "addupdate", "at", "empty_ref", "free_ref", "freeze", "get", "new_ref", "set",
    "swap",
]  # fmt: skip

Shape = tuple[int, ...]


def new_ref(
    init_val: Any, *, memory_space: Any = None, kind: str | None = None, pin: bool = False
) -> Any:
    """Return a reference to an array that starts as `init_val`, of any shape, and may be written.

    memory_space, pin: accepted; there is one memory.  kind: None or 'no_grad_no_remat'.  Inside a
    transformed function the reference lives as long as the call, and cannot be returned.

    TypeError: `init_val` is no array, or is a reference.

    >>> import tapeless as jax
    >>> ref = jax.new_ref(jax.numpy.arange(3))
    >>> ref[0] += 7
    >>> ref
    Ref([7, 1, 2], dtype=int32)
    """
    if not is_value(init_val) or isinstance(init_val, Ref):
        raise TypeError(
            "Error interpreting argument to new_ref as a JAX value. The problematic value is of "
            f"type {type(init_val)} and was passed to new_ref at position 0."
        )
    if kind not in (None, "no_grad_no_remat"):
        raise ValueError(f"kind must be None or 'no_grad_no_remat', but got {kind!r}")
    return new_ref_p.bind(init_val, kind=kind, memory_space=memory_space, pin=pin)[0]


def empty_ref(ty: Any, memory_space: Any = None, pin: bool = False) -> Any:
    """Return a reference to an array of the type `ty`, which has `shape` and `dtype`.

    What it holds before it is written is not specified.

    >>> import tapeless as jax
    >>> jax.ref.empty_ref(jax.ShapeDtypeStruct((2, 3), jax.numpy.float32)).shape
    (2, 3)
    """
    return new_ref(lax.full(ty.shape, 0, ty.dtype), memory_space=memory_space, pin=pin)


def freeze(ref: Any) -> Any:
    """Return the array behind a reference, which is not to be used any more.

    >>> import tapeless as jax
    >>> jax.freeze(jax.new_ref(2.0))
    Array(2., dtype=float32)
    """
    return freeze_p.bind(_whole(ref))[0]


def free_ref(ref: Any) -> None:
    """Give up a reference: it is not to be used any more.

    >>> ref = jax.new_ref(jnp.arange(3))
    >>> ref[...]
    Array([0, 1, 2], dtype=int32)
    >>> jax.free_ref(ref)
    """
    freeze_p.bind(_whole(ref))


def get(ref: Any, idx: Any = None) -> Any:
    """Return `ref[idx]`, by default the whole array.

    ValueError: a place out of bounds, too many indices, or a slice with a step below 1.

    >>> import tapeless as jax
    >>> jax.ref.get(jax.new_ref(jax.numpy.arange(5)), slice(1, 3))
    Array([1, 2], dtype=int32)
    """
    ref, chain = _resolved(ref, idx)
    index = _index_of(chain, inner_type(typeof(ref)))
    return get_p.bind(ref, *index.places, read=index.read, index=index.words)[0]


def swap(ref: Any, idx: Any, value: Any, _function_name: str = "swap") -> Any:
    """Set `ref[idx] = value` and return what was there.

    value: of the shape and dtype of `ref[idx]`; there is no broadcasting and no conversion.

    ValueError: another shape or dtype, or an index as in `get`.

    >>> import tapeless as jax
    >>> ref = jax.new_ref(jax.numpy.arange(5))
    >>> jax.ref.swap(ref, 3, 10), ref
    (Array(3, dtype=int32), Ref([ 0,  1,  2, 10,  4], dtype=int32))
    """
    ref, chain = _resolved(ref, idx)
    index = _index_of(chain, inner_type(typeof(ref)), lax.scatter_p)
    new = _fitting(value, index, "swap", "dtype")
    params = {"read": index.read, "write": index.write, "index": index.words}
    return swap_p.bind(ref, new, *index.places, **params)[0]


def set(ref: Any, idx: Any, value: Any) -> None:
    """Set `ref[idx] = value`; as `swap`, without a result.

    >>> import tapeless as jax
    >>> ref = jax.new_ref(jax.numpy.zeros(3))
    >>> jax.ref.set(ref, 1, 10.0)
    >>> ref
    Ref([ 0., 10.,  0.], dtype=float32)
    """
    swap(ref, idx, value)


def addupdate(ref: Any, idx: Any, x: Any) -> None:
    """Add x, of the shape and dtype of `ref[idx]`, to `ref[idx]`.

    ValueError: another shape or dtype, or an index as in `get`.

    >>> import tapeless as jax
    >>> ref = jax.new_ref(jax.numpy.arange(3))
    >>> jax.ref.addupdate(ref, 2, 10)
    >>> ref
    Ref([ 0,  1, 12], dtype=int32)
    """
    ref, chain = _resolved(ref, idx)
    index = _index_of(chain, inner_type(typeof(ref)), lax.scatter_add_p)
    new = _fitting(x, index, "addupdate", "shape")
    addupdate_p.bind(ref, new, *index.places, write=index.write, index=index.words)


class RefView:
    """A reference to a part of an array: `ref.at[1:3]`."""

    __slots__ = ("chain", "ref")

    def __init__(self, ref: Any, chain: tuple) -> None:
        """chain: indices, each of what the one before it reads."""
        self.ref = ref
        self.chain = chain

    def __repr__(self) -> str:
        """Return the reference and the indices."""
        return f"RefView(ref={self.ref!r}, indices={self.chain!r})"

    @property
    def at(self) -> _At:
        """What makes references to parts of the part."""
        return _At(self)

    def __getitem__(self, index: Any) -> Any:
        """Read."""
        return get(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Write."""
        swap(self, index, value)


class _At:
    """What `ref.at` is: `ref.at[index]` is a reference to a part."""

    __slots__ = ("ref",)

    def __init__(self, ref: Any) -> None:
        """ref: the reference."""
        self.ref = ref

    def __getitem__(self, index: Any) -> RefView:
        """Return the reference to a part."""
        ref, chain = _resolved(self.ref, index)
        return RefView(ref, chain)


@property
def at(self: Any) -> _At:
    """What makes references to parts: `ref.at[index]`."""
    return _At(self)


# Indices


@record(eq=False)
class _Index:
    """An index as programs.

    read, write: of the array and the places, and of the array, the new part and the places.
    words: for printing.  places: the arrays among the index.
    """

    read: Jaxpr
    write: Jaxpr | None
    words: tuple[str | int, ...]
    places: list[Value]


def _whole(ref: Any) -> Any:
    """Return a reference to a whole array, or raise TypeError."""
    if not isinstance(ref, Ref):
        raise TypeError(f"expected a Ref, which jax.new_ref makes, but got {ref!r} of {type(ref)}")
    return ref


def _resolved(ref: Any, index: Any) -> tuple[Any, tuple]:
    """Return the reference and the chain of indices of a reference, or of one to a part."""
    chain: tuple = ()
    if isinstance(ref, RefView):
        ref, chain = ref.ref, ref.chain
    ref = _whole(ref)
    if index is None or index is Ellipsis or (isinstance(index, tuple) and not index):
        return ref, chain
    return ref, (*chain, index)


def _index_of(chain: tuple, aval: ShapedArray, update: Any = None) -> _Index:
    """Return the programs of a chain of indices; update: what writes, None to read only."""
    places: list[Value] = []
    forms: list[tuple] = []
    words: tuple[str | int, ...] = WHOLE
    shape = aval.shape
    for index in chain:
        entries = _entries(index, shape)
        start = len(places)
        form = tuple([_form(entry, places) for entry in entries])
        words = _words(entries, shape, start) if len(chain) == 1 else ("*",)
        forms.append(form)
        shape = _staged(aval, forms, places, None)[0].out_avals[0].shape
    read, write = _staged(aval, forms, places, update)
    return _Index(read, write, words, places)


def _entries(index: Any, shape: Shape) -> list[Any]:
    """Return an entry per axis, checked against the extents as far as it is known."""
    entries = list(index) if isinstance(index, tuple) else [index]
    count = sum(entry is not Ellipsis for entry in entries)
    if count > len(shape):
        raise ValueError(
            f"`indices` must not be longer than `shape`: indices={index}, shape={shape}"
        )
    missing = [slice(None)] * (len(shape) - count)
    dots = [n for n, entry in enumerate(entries) if entry is Ellipsis]
    if len(dots) > 1:
        raise ValueError("an index can have only one Ellipsis")
    place = dots[0] if dots else len(entries)
    entries[place : place + len(dots)] = missing
    return [_checked(entry, length) for entry, length in zip(entries, shape, strict=True)]


def _checked(entry: Any, length: int) -> Any:
    """Return an entry: places that are known count from the front, and lie in bounds."""
    if isinstance(entry, slice):
        if isinstance(entry.step, int) and entry.step < 1:
            raise ValueError(f"slice must have a step >= 1 (found: {entry.step})")
        bounds = (entry.start, entry.stop, entry.step)
        if all(bound is None or isinstance(bound, (int, np.integer)) for bound in bounds):
            return slice(*entry.indices(length))
        return entry
    if isinstance(entry, (AnyArray, np.ndarray)) and entry.dtype == np.bool_:
        raise errors.NonConcreteBooleanIndexError(
            f"Array boolean indices must be concrete; got {typeof(entry).str_short(True)}"
        )
    if isinstance(entry, (int, np.integer)) and not isinstance(entry, (bool, np.bool_)):
        if not -length <= entry < length:
            raise ValueError(f"Out of bound indexer: idx={entry}, dim={length}.")
        return int(entry) % length
    return entry


def _form(entry: Any, places: list[Value]) -> tuple:
    """Return what a program depends on in an entry; an array is added to `places`."""
    if isinstance(entry, slice):
        return ("slice", entry.start, entry.stop, entry.step)
    if isinstance(entry, (AnyArray, np.ndarray)):
        places.append(entry)
        return ("place", len(places) - 1)
    return ("known", entry)


def _entry(form: tuple, places: Sequence[Value]) -> Any:
    """Return the entry of a form."""
    kind, *parts = form
    if kind == "slice":
        return slice(*parts)
    return places[parts[0]] if kind == "place" else parts[0]


def _words(entries: Sequence[Any], shape: Shape, start: int) -> tuple[str | int, ...]:
    """Return the words for an index; start: the number of the first place."""
    words: list[str | int] = []
    for entry, length in zip(entries, shape, strict=True):
        if isinstance(entry, slice):
            words.append(_slice_words(entry, length))
        elif isinstance(entry, (AnyArray, np.ndarray)):
            words.append(start)
            start += 1
        else:
            words.append(str(entry))
    return tuple(words)


def _slice_words(entry: slice, length: int) -> str:
    """Return the words for a slice: bounds that are those of the axis are left out."""
    start = "" if entry.start in (0, None) else str(entry.start)
    stop = "" if entry.stop in (length, None) else str(entry.stop)
    step = "" if entry.step in (1, None) else f":{entry.step}"
    return f"{start}:{stop}{step}"


def _staged(
    aval: ShapedArray, forms: Sequence[tuple], places: Sequence[Value], update: Primitive | None
) -> tuple[Jaxpr, Jaxpr | None]:
    """Return the programs of indices with these places."""
    avals = tuple([typeof(place) for place in places])
    return _programs(aval, tuple(forms), avals, update, config.trace_context())


@bounded_cache(2048)
def _programs(
    aval: ShapedArray,
    forms: tuple,
    places: tuple[ShapedArray, ...],
    update: Primitive | None,
    context: object,
) -> tuple[Jaxpr, Jaxpr | None]:
    """Return the programs of a chain of indices: what reads, and what writes by `update`."""

    # One place is moved into the array; of several, those that lie outside are left out.
    mode = None if any(place.ndim for place in places) else "clip"

    def read_part(x: Value, given: Sequence[Value], depth: int) -> Value:
        """Return what the first indices read."""
        for form in forms[:depth]:
            x = get_item(x, tuple([_entry(entry, given) for entry in form]))
        return x

    def written(x: Value, new: Value, given: Sequence[Value], depth: int) -> Value:
        """Return x with the part behind the indices from `depth` on written."""
        if depth == len(forms):
            return new if update is lax.scatter_p else lax.add(x, new)
        index = tuple([_entry(entry, given) for entry in forms[depth]])
        if depth + 1 == len(forms):
            return scatter_update(x, index, new, update, mode=mode)
        part = written(get_item(x, index), new, given, depth + 1)
        return scatter_update(x, index, part, lax.scatter_p, mode=mode)

    def read(x: Value, *given: Value) -> list[Value]:
        """Read the part."""
        return [read_part(x, given, len(forms))]

    def write(x: Value, new: Value, *given: Value) -> list[Value]:
        """Write the part."""
        return [written(x, new, given, 0)]

    reads = under(Context.base, stage_flat, read, [aval, *places], "get")
    if update is None:
        return reads, None
    part = reads.out_avals[0]
    return reads, under(Context.base, stage_flat, write, [aval, part, *places], "swap")


def _fitting(value: Any, index: _Index, what: str, named: str) -> Value:
    """Return a value of the type of the part that it is written to, or raise ValueError."""
    aval, want = typeof(value), index.read.out_avals[0]
    whole = index.read.in_avals[0]
    if aval.shape != want.shape:
        raise ValueError(
            f"Invalid shape for `{what}`. Ref shape: {whole.shape}. Expected shape: {want.shape}. "
            f"Value shape: {aval.shape}. The value must have the shape of the part; broadcast it, "
            f"for example by jnp.full."
        )
    if aval.dtype != want.dtype:
        raise ValueError(
            f"Invalid dtype for `{what}`. Ref dtype: {want.dtype}. Value {named}: {aval.dtype}. "
            f"Convert the value, for example by jnp.asarray(value, {want.dtype})."
        )
    return lax.convert_element_type(value, want.dtype) if aval.weak_type else value
