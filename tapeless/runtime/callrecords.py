"""Records on disk: what a process needs to call a program that an earlier process compiled.

The cache of objects saves LLVM's work, but its keys are hashes of text, and to write the text a
program has to be lowered.  A record is found by what the program *does* (`structure.py`), and says
which objects to link and how to call them, so that a second process neither lowers nor emits, and
does not even load the modules that would.

The key of a record has whatever decides the code: the program's structure in a form that does not
depend on the process, donation, effort, the settings that staging reads, the processor, how many
threads may run, all versions, and the state of this package's own files, so that who works on the
compiler never gets the code of yesterday's.  Programs with operations of other packages, or with
parameters that are not plain data, have no key; those that call into the process (callbacks) get no
record.

A record holds no address and no value of a captured array, only their numbers.  It lies among the
objects, under the same care: private, atomic, with a checksum.
"""

from __future__ import annotations

import enum
import functools
import marshal
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tapeless import config, dtypes
from tapeless.core.aval import ShapedArray
from tapeless.core.jaxpr import Jaxpr
from tapeless.core.primitive import Primitive
from tapeless.runtime.structure import structure_of
from tapeless.util import lazy
from tapeless.util.processors import thread_count
from tapeless.util.records import record

__all__ = ["CallRecord", "load", "record_key", "save"]

hashlib = lazy.load("hashlib")
pathlib = lazy.load("pathlib")
objects = lazy.load("tapeless.compiler.objects")
target = lazy.load("tapeless.compiler.target")

_HOUSES = ("tapeless.prims.", "tapeless.control.")
_MOST_BYTES = 1 << 16  # of arrays that the compiler made
_SIMPLE = frozenset((bool, int, float, complex, str, bytes, type(None)))


class _NoKeyError(Exception):
    """The program has no key."""


@record
class CallRecord:
    """How a program is linked and called.

    parts: what it is linked of, as `compiler.engine.Parts` has it.
    places: per hidden input the number of a captured array; None for those that the compiler made,
    which are in `made`.  n_inputs: with the hidden ones.  output_bytes: per new block.
    results, arena_size: as of `Program`.  effort, is_long, is_apart: as of `Executable`.
    """

    parts: tuple[str, tuple[str, ...], tuple[tuple[str, str], ...]]
    places: tuple[int | None, ...]
    made: tuple[Any, ...]
    n_inputs: int
    output_bytes: tuple[int, ...]
    arena_size: int
    results: tuple[int, ...]
    effort: int
    is_long: bool
    is_apart: bool


def record_key(
    jaxpr: Jaxpr, donated: tuple[bool, ...], effort: int | None
) -> tuple[str, list[Any]] | None:
    """Return the key of a program's record, and its captured values in order; None if it has none.

    Who asks to see the stages of programs is shown them, since then nothing has a key.
    """
    if not objects.objects().is_on_disk or config.read("tapeless_show"):
        return None
    found = structure_of(jaxpr)
    if found is None:
        return None
    machine = (thread_count(), _state_of_package())
    settings = (config.trace_context().values, donated, effort, *machine)
    try:
        text = _text((found[0], settings))
    except _NoKeyError:
        return None
    return objects.object_key(text, target.host_target(), 0) + ".call", found[1]


def load(key: str) -> CallRecord | None:
    """Return the record under a key, or None."""
    data = objects.objects().load(key)
    if data is None:
        return None
    *fields, made = marshal.loads(data)
    found = dict(zip(_PLAIN, fields, strict=True))
    return CallRecord(**found, made=tuple([_unpacked(*x) for x in made]))


def save(key: str, found: CallRecord) -> None:
    """Keep a record, unless the compiler made large or unusual arrays for the program."""
    if not all(isinstance(x, np.ndarray) and x.dtype.kind in "biufc" for x in found.made):
        return
    if sum(x.nbytes for x in found.made) > _MOST_BYTES:
        return
    made = tuple([(x.dtype.str, x.shape, x.tobytes()) for x in found.made])
    data = marshal.dumps((*[getattr(found, name) for name in _PLAIN], made))
    objects.objects().save(key, data)


_PLAIN = tuple(name for name in CallRecord.__match_args__ if name != "made")


def _unpacked(dtype: str, shape: tuple[int, ...], elements: bytes) -> np.ndarray:
    """Return the array of plain data."""
    return np.frombuffer(elements, dtype).reshape(shape)


@functools.cache
def _state_of_package() -> str:
    """Hash versions, and when each file of this package was last written."""
    found = sorted(_files(str(pathlib.Path(__file__).parents[1])))
    return hashlib.sha256(repr((np.__version__, found)).encode()).hexdigest()


def _files(folder: str) -> Iterator[tuple[str, int, int]]:
    """Yield path, size and time of writing of the Python files below a folder."""
    for entry in os.scandir(folder):
        if entry.is_dir():
            yield from _files(entry.path)
        elif entry.name.endswith(".py"):
            known = entry.stat()
            yield entry.path, known.st_size, known.st_mtime_ns


def _write(value: Any, put: Callable[[str], None]) -> None:
    """Put pieces of text that are equal for equal values, in every process.

    Each value is closed by brackets or quoted, so that no two sequences of values run together.
    """
    kind = type(value)
    if kind is tuple or kind is list:
        put("tuple(" if kind is tuple else "list(")
        for item in value:
            _write(item, put)
        put(")")
    elif kind in _SIMPLE:
        put(f"{kind.__name__}:{value!r};")
    elif kind is ShapedArray:
        put(_type_text(value))
    elif isinstance(value, Primitive):
        put(_primitive_name(value))
    elif isinstance(value, type):
        put(f"type:{value.__module__}.{value.__qualname__};")
    else:
        put(f"{kind.__module__}.{kind.__qualname__}(")
        _write_fields(value, put)
        put(")")


def _text(value: Any) -> str:
    """Return the pieces of a value as one text."""
    pieces: list[str] = []
    _write(value, pieces.append)
    return "".join(pieces)


def _write_fields(value: Any, put: Callable[[str], None]) -> None:
    """Put the text of what a value of a class consists of."""
    if isinstance(value, (np.dtype, dtypes.ExtendedDtype)):
        put(_dtype_name(value))
    elif isinstance(value, np.generic):
        put(repr((value.dtype.str, value.tobytes())))
    elif isinstance(value, enum.Enum):
        put(value.name)
    elif isinstance(value, slice):
        _write((value.start, value.stop, value.step), put)
    elif isinstance(value, frozenset):
        put("".join(sorted(map(_text, value))))
    elif type(value).__module__.startswith("tapeless.") and _names(value):
        _write([getattr(value, name) for name in _names(value)], put)
    else:
        raise _NoKeyError


def _names(value: Any) -> Sequence[str]:
    """Return the names of the fields of a record, a dataclass or a named tuple; () of others."""
    kind = type(value)
    if "__record_fields__" in vars(kind) or "__dataclass_fields__" in vars(kind):
        return kind.__match_args__
    return getattr(kind, "_fields", ())


@functools.lru_cache(1024)
def _type_text(aval: ShapedArray) -> str:
    """Return the text of an array's type."""
    return f"aval({aval.shape},{_dtype_name(aval.dtype)},{aval.weak_type})"


@functools.lru_cache(256)
def _dtype_name(dtype: Any) -> str:
    """Return a name that tells a dtype from all others."""
    if isinstance(dtype, np.dtype):
        return f"{dtype.name}{dtype.str}"
    return f"{dtype!r}{dtype.physical_shape}{dtype.physical_dtype.str}"


def _primitive_name(prim: Primitive) -> str:
    """Return the name of an operation of this package; those of others may change at any time."""
    kind = type(prim)
    if not kind.__module__.startswith(_HOUSES) or "lower" in vars(prim):
        raise _NoKeyError
    return f"{kind.__module__}.{kind.__qualname__}:{prim.name};"
