"""Arrays: an immutable buffer and its type.

An `Array` is an aval and a block of memory.  It behaves towards Python and NumPy as an array does:
conversion to scalars, iteration, printing, the array and DLPack protocols, without copying.  Its
operators and methods (`+`, `[...]`, `.sum()`, `.at`) are those of every array-like value, tracers
included, and are attached by the array library through `core.trace.array_methods`.

Views that leave the house are read-only; they keep the block alive and are why a donated buffer may
not be reused.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.any_array import AnyArray
from tapeless.core.aval import ShapedArray, register_value_type, typeof
from tapeless.core.trace import Tracer, leaked
from tapeless.errors import JaxRuntimeError
from tapeless.runtime import memory
from tapeless.runtime.capsules import capsule_of
from tapeless.runtime.sharding import Sharding, SingleDeviceSharding
from tapeless.runtime.topology import cpu_device
from tapeless.util.cache import BoundedTable
from tapeless.util.handlers import with_handler

__all__ = [
    "Array", "array_from_numpy", "array_of", "array_of_dtype", "array_of_numbers",
    "array_over", "as_array", "physical", "small_types",
]  # fmt: skip


def physical(aval: ShapedArray) -> tuple[tuple[int, ...], np.dtype]:
    """Return shape and dtype of the memory of a value: keys are rows of uint32."""
    dtype = aval.dtype
    if isinstance(dtype, dtypes.ExtendedDtype):
        return (*aval.shape, *dtype.physical_shape), np.dtype(dtype.physical_dtype)
    return aval.shape, dtype


class _Exporting(threading.local):
    """What was raised in `__buffer__` in this thread, as by a signal's handler, and of which array.

    NumPy drops whatever `__buffer__` raises, and asks `__array__` next: it raises it again.
    """

    dropped: tuple[Array, BaseException | None] | None = None

    def raise_dropped(self, array: Array) -> None:
        """Raise what was raised last, if it was for this array."""
        dropped, self.dropped = self.dropped, None
        if dropped is not None and dropped[0] is array and dropped[1] is not None:
            raise dropped[1]


_exporting = _Exporting()


def _keep_dropped() -> None:
    """Keep what was raised in `__buffer__`, be it by a handler before its first instruction.

    Not so that there is no buffer of this dtype, which `memoryview` itself raises.
    """
    error = sys.exception()
    trace = error.__traceback__ if isinstance(error, ValueError) else None
    is_refusal = trace is not None and trace.tb_next is None
    _exporting.dropped = sys._getframe(1).f_locals["self"], None if is_refusal else error


class Array(AnyArray):
    """An array of numbers in memory, immutable.

    aval: its type.  block: what keeps its memory alive.  place: the address of the first element;
    both None once it is deleted.  The native call stub makes Arrays with just these three fields.
    """

    __slots__ = ("__weakref__", "_numpy", "_sharding", "aval", "block", "place")
    __array_priority__ = 100
    place: int | None
    _sharding: Sharding | None

    def __init__(self, aval: ShapedArray, block: Any, place: int | None) -> None:
        """Not for users: use `jax.numpy.array`."""
        self.aval = aval
        self.block = block
        self.place = place

    @property
    def address(self) -> int:
        """The address of the first element; raises RuntimeError for a deleted array."""
        if self.place is None:
            raise RuntimeError(
                f"Array has been deleted with shape={self.aval.str_short(False)}. It was donated "
                "to a function (donate_argnums), which may have reused its memory, or its method "
                "delete() was called. Use the function's result, or do not donate."
            )
        return self.place

    def numpy_view(self) -> np.ndarray:
        """Return the elements as a read-only NumPy array over the same memory."""
        address = self.address
        try:
            return self._numpy
        except AttributeError:
            self._numpy = memory.view(self.block, address, *physical(self.aval))
        return self._numpy

    @property
    def _value(self) -> np.ndarray:
        """The elements as NumPy sees them; keys have none."""
        if isinstance(self.aval.dtype, dtypes.ExtendedDtype):
            raise TypeError(
                "JAX array with PRNGKey dtype cannot be converted to a NumPy array. Use "
                "jax.random.key_data(arr) if you wish to extract the underlying integer array."
            )
        return self.numpy_view()

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the axes."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.aval.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.aval.size

    @property
    def weak_type(self) -> bool:
        """Whether the dtype is weak, as a Python scalar's."""
        return self.aval.weak_type

    @property
    def itemsize(self) -> int:
        """The bytes of one element."""
        return self.aval.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.aval.size * self.aval.dtype.itemsize

    def block_until_ready(self) -> Array:
        """Return the array: execution is synchronous."""
        if self.place is None:
            raise JaxRuntimeError(
                "INVALID_ARGUMENT: BlockHostUntilReady() called on deleted or donated buffer"
            )
        return self

    def is_deleted(self) -> bool:
        """Tell whether the buffer is gone: deleted or donated."""
        return self.place is None

    @property
    def sharding(self) -> Sharding:
        """The sharding that the array was put on; without one, the device."""
        return getattr(self, "_sharding", None) or _ONE_DEVICE

    @property
    def committed(self) -> bool:
        """Whether a device or sharding was asked for."""
        return hasattr(self, "_sharding")

    def placed(self, sharding: Sharding | None) -> Array:
        """Return a copy that is committed to `sharding`, or to the device."""
        copy = array_of(self.numpy_view(), self.aval)
        copy._sharding = sharding
        return copy

    def noted(self, sharding: Sharding | None) -> Array:
        """Return an Array over the same memory that is committed to `sharding`, or the device."""
        out = Array(self.aval, self.block, self.address)
        out._sharding = sharding
        return out

    def is_ready(self) -> bool:
        """Return True: execution is synchronous."""
        return True

    def is_viewed(self) -> bool:
        """Tell whether NumPy arrays or DLPack capsules look at the memory."""
        held = getattr(self, "_numpy", None)
        if held is None:
            return False
        root = held.base  # what NumPy lets all views of `held` refer to
        return sys.getrefcount(held) > _ONE_OWNER or (
            root is not None and sys.getrefcount(root) > _ONE_OWNER
        )

    def is_shared(self) -> bool:
        """Tell whether anything else refers to the memory: a view, an Array, another library."""
        held = self.block
        if isinstance(held, memory.Borrowed):
            return True
        if self.aval.size and sys.getrefcount(held) <= _ONE_OWNER:
            return False  # a view of elements would refer to the memory
        if self.is_viewed():
            return True
        if hasattr(self, "_numpy"):
            del self._numpy
        return sys.getrefcount(held) > _ONE_OWNER

    def copied(self) -> Array:
        """Return an Array with memory of its own."""
        return array_of(self.numpy_view(), self.aval)

    def leading(self, count: int) -> Array:
        """Return the first `count` rows, over the same memory unless most of it would lie idle."""
        aval = ShapedArray((count, *self.aval.shape[1:]), self.aval.dtype, self.aval.weak_type)
        found = Array(aval, self.block, self.address)
        is_small = self.nbytes <= memory.SMALL or 2 * found.nbytes >= self.nbytes
        return found if is_small else found.copied()

    def delete(self) -> None:
        """Give up the buffer; later uses raise."""
        self.block = self.place = None
        if hasattr(self, "_numpy"):
            del self._numpy

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return the elements as a NumPy array: a read-only view, unless a copy is needed."""
        _exporting.raise_dropped(self)
        value = self._value
        if dtype is not None and np.dtype(dtype) != value.dtype:
            if copy is False:
                raise ValueError(f"a copy is needed to convert {value.dtype} to {np.dtype(dtype)}")
            return _converted(value, np.dtype(dtype))
        return _converted(value, value.dtype) if copy else value

    def __buffer__(self, flags: int) -> memoryview:
        """Return the memory, read-only, for Python's buffer protocol (from Python 3.12 on)."""
        _exporting.dropped = None
        return memoryview(self._value)

    def __dlpack__(self, **options: Any) -> Any:
        """Return a DLPack capsule over the same memory, or over a copy.

        Memory is shared with consumers that can be told that it is read-only, and with those that
        pass `copy=False`.
        """
        consumer = sys._getframe(1).f_globals.get("__name__", "")
        return capsule_of(self._value, consumer, options)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the DLPack name of the CPU."""
        return (1, 0)

    def __bool__(self) -> bool:
        """Return the truth of the one element."""
        return bool(self._value)

    def _one_element(self) -> np.ndarray:
        """Return the one element as NumPy sees it, or raise TypeError for arrays with axes."""
        if self.aval.ndim:
            raise TypeError(
                f"Only scalar arrays can be converted to Python scalars; got "
                f"arr.ndim={self.aval.ndim}"
            )
        return self._value

    def __int__(self) -> int:
        """Return the one element as an int."""
        return int(self._one_element())

    def __float__(self) -> float:
        """Return the one element as a float."""
        return float(self._one_element())

    def __complex__(self) -> complex:
        """Return the one element as a complex number."""
        return complex(self._one_element())

    def __index__(self) -> int:
        """Return the one element as an index; it must be an integer."""
        return self._value.__index__()

    def __hash__(self) -> int:
        """Refuse: arrays compare elementwise."""
        raise TypeError(f"unhashable type: {type(self).__name__!r}")

    def __format__(self, spec: str) -> str:
        """Format the one element as NumPy does; arrays only without a spec."""
        if isinstance(self.aval.dtype, dtypes.ExtendedDtype):
            if spec:
                name = self.aval.dtype.name
                raise TypeError(f"unsupported format string for an array of {name}: {spec!r}")
            return repr(self)
        return format(self._value[()] if self.aval.ndim == 0 else self._value, spec)

    def __str__(self) -> str:
        """Return NumPy's form of the elements."""
        if isinstance(self.aval.dtype, dtypes.ExtendedDtype):
            return repr(self)
        return str(self._value)

    def __repr__(self) -> str:
        """Return JAX's form: elements, dtype, weak type."""
        if isinstance(self.aval.dtype, dtypes.ExtendedDtype):
            data = np.array2string(self.numpy_view(), separator=" ")
            return f"Array({self.aval.shape}, dtype={self.aval.dtype.name}) overlaying:\n{data}"
        name = dtypes.dtype_name(self.aval.dtype)
        suffix = f"dtype={name}" + (", weak_type=True" if self.aval.weak_type else "")
        if self.aval.size == 0:
            return f"Array([], shape={self.aval.shape}, {suffix})"
        text = np.array2string(self._value, prefix="Array(", suffix=",", separator=", ")
        full = f"Array({text},"
        last_line = len(full) - (full.rfind("\n") + 1)
        too_long = last_line + len(suffix) + 1 > np.get_printoptions()["linewidth"]
        return f"{full}{' ' * len('Array(') if too_long else ' '}{suffix})"

    def tolist(self) -> Any:
        """Return nested lists of Python scalars."""
        return _listed(self._value)

    def item(self, *args: int) -> Any:
        """Return one element as a Python scalar."""
        return self._value.item(*args)

    def __reduce__(self) -> tuple:
        """Pickle as a NumPy array and the weak-type bit."""
        view = self.numpy_view()
        return (array_of, (_converted(view, view.dtype), self.aval))

    def __deepcopy__(self, memo: dict) -> Array:
        """Return a copy with memory of its own."""
        return self.copied()

    def __copy__(self) -> Array:
        """Return a copy with memory of its own."""
        return self.copied()


_ONE_DEVICE = SingleDeviceSharding(cpu_device)


def _references_of_one_owner() -> int:
    """Return what `sys.getrefcount` says of an object that one slot and one name refer to."""
    holder = Array.__new__(Array)
    holder.block = object()
    held = holder.block
    return sys.getrefcount(held)


# (shape, dtype) of NumPy arrays that are Arrays as they are, of a few bytes -> the type.
small_types = BoundedTable(1024)
_NEVER_NARROWED = 4  # bytes of a dtype, up to which the 64-bit switch does not touch it
_PIECE = 1 << 24  # bytes, copied within some milliseconds
_LISTED = 1 << 20  # elements that become Python scalars within some tens of milliseconds
_ONE_OWNER = _references_of_one_owner()
register_value_type(Array, lambda array: array.aval)
with_handler(Array.__buffer__, _keep_dropped)


def _own_bytes(value: np.ndarray | np.generic) -> bytes:
    """Return the elements as a `bytes` object that nobody else has.

    Python shares the objects of one byte, and a donated array may be overwritten.
    """
    data = value.tobytes()
    return data if len(data) > 1 else data + bytes(2)


def array_of(value: np.ndarray, aval: ShapedArray) -> Array:
    """Return the Array of this type with these physical elements."""
    shape, dtype = physical(aval)
    n_bytes = value.size * dtype.itemsize
    if n_bytes <= memory.SMALL:
        data = _own_bytes(value.astype(dtype, copy=False))
        return Array(aval, data, memory.bytes_address(data))
    block = memory.allocate(n_bytes)
    if value.size:
        _fill(memory.view(block, block.address, shape, dtype, writable=True), value)
    return Array(aval, block, block.address)


def _fill(target: np.ndarray, value: np.ndarray) -> None:
    """Copy elements in pieces, between which Python looks for signals."""
    if target.nbytes <= _PIECE:
        target[...] = value
    elif rows := len(target) * _PIECE // target.nbytes:
        for start in range(0, len(target), rows):
            target[start : start + rows] = value[start : start + rows]
    else:
        for part, source in zip(target, value, strict=True):
            _fill(part, source)


def _converted(value: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return a copy of an array that NumPy owns."""
    if value.nbytes <= _PIECE or dtype.itemsize == 0:  # NumPy looks for how long strings are
        return value.astype(dtype)
    out = np.empty(value.shape, dtype)
    _fill(out, value)
    return out


def _listed(value: np.ndarray) -> Any:
    """Return nested lists of Python scalars, made in pieces."""
    if value.size <= _LISTED:
        return value.tolist()
    rows = len(value) * _LISTED // value.size
    if not rows:
        return [_listed(row) for row in value]
    found: list[Any] = []
    for start in range(0, len(value), rows):
        found.extend(value[start : start + rows].tolist())
    return found


def array_of_dtype(value: np.ndarray) -> Array:
    """Return an Array in the dtype that was asked for, of 64 bits where a flag grants them."""
    if dtypes.canonicalize_dtype(value.dtype) == value.dtype:
        return array_from_numpy(value)
    return array_of(value, ShapedArray(value.shape, value.dtype))


def array_from_numpy(value: np.ndarray | np.generic, weak_type: bool = False) -> Array:
    """Return an Array with a copy of the elements, in the dtype that the 64-bit switch allows."""
    own = value.dtype
    known = None if weak_type else small_types.get((value.shape, own))
    if known is not None:
        data = value.tobytes()
        return Array(known, data, memory.bytes_address(data))
    short = own.itemsize <= _NEVER_NARROWED
    dtype = dtypes.array_dtype(own)
    aval = ShapedArray(value.shape, dtype, weak_type)
    if dtype is own and value.nbytes <= memory.SMALL:
        data = _own_bytes(value)
        if short and value.nbytes > 1 and not weak_type:
            small_types.put((value.shape, own), aval)
        return Array(aval, data, memory.bytes_address(data))
    return array_of(np.asarray(value), aval)


def array_over(value: np.ndarray) -> Array:
    """Return an Array over the memory of a NumPy array, or raise ValueError if it needs a copy.

    Nobody may write to that memory any more.
    """
    if dtypes.canonicalize_dtype(value.dtype) != value.dtype:
        reason = f"arrays have no dtype {value.dtype} while jax_enable_x64 is off"
    elif not value.flags.c_contiguous:
        reason = f"its strides {value.strides} are not those of rows of shape {value.shape}"
    elif value.ctypes.data % memory.ALIGNMENT and value.size:
        reason = f"the source data buffer is not aligned to {memory.ALIGNMENT} bytes"
    else:
        aval = ShapedArray(value.shape, value.dtype)
        return Array(aval, memory.Borrowed(value), value.ctypes.data)
    raise ValueError(
        f"Specified input which requires a copy since {reason}. However copy=False. Set copy=True "
        "or copy=None to perform the requested operation."
    )


def array_of_numbers(value: np.ndarray) -> Array | None:
    """Return an Array with a copy of the elements; None if arrays have no such dtype."""
    return array_from_numpy(value) if dtypes.is_supported(value.dtype) else None


def as_array(x: Any) -> Array:
    """Return the Array of a concrete value: an Array as it is, a scalar or NumPy array copied."""
    if type(x) is Array:
        return x
    if isinstance(x, (np.ndarray, np.generic)):
        if type(x) is not np.ndarray:
            typeof(x)  # refuses masked arrays, whose elements would come without the mask
        return array_from_numpy(x)
    if isinstance(x, Tracer):
        raise leaked(x)
    if isinstance(x, (bool, int, float, complex)):
        aval = typeof(x)
        if isinstance(x, int) and not isinstance(x, bool):
            x = _checked_int(x, aval.dtype)
        data = _own_bytes(np.asarray(x, aval.dtype))
        return Array(aval, data, memory.bytes_address(data))
    aval = typeof(x)  # raises TypeError for what is no value at all
    if hasattr(x, "__array__"):  # of a type that a library entered
        return array_from_numpy(np.asarray(x))
    raise TypeError(f"Value {x!r} of type {aval} is not an array")


def _checked_int(x: int, dtype: np.dtype) -> int:
    """Return `x`, or raise OverflowError if it does not fit."""
    if x >> (8 * dtype.itemsize - 1) not in (0, -1):
        raise OverflowError(
            "An overflow was encountered while parsing an argument to a jitted computation, "
            f"whose value is {x}."
        )
    return x
