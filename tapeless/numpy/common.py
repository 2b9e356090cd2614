"""What every function of the array library does first: check, promote, name axes, make arrays.

A function of this library takes *array-likes*: Arrays, tracers, NumPy arrays and scalars, Python
scalars, and objects with `__jax_array__`; lists and strings are refused (`check_arraylike`).  Then
its operands are brought to one dtype by the lattice of `tapeless.dtypes`, and to one rank by
leading axes of extent 1.  The operations below stretch extents of 1, and take rank-0 operands with
arrays of any shape, so that neither is ever written out as a broadcast.

Python and NumPy scalars become typed constants (`2.0` beside a float32 array is float32's 2.0), not
arrays: they cost nothing eagerly and are printed in place in programs.

`array` and `asarray` are here because everything else makes arrays by them.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tapeless import config, dtypes, errors
from tapeless.core.aval import ShapedArray, is_value, typeof
from tapeless.core.ref import is_ref
from tapeless.core.trace import Tracer, Value, context
from tapeless.numpy.numbers import usual_number, with_numbers
from tapeless.prims import convert as conversion
from tapeless.prims import identity, join, structural
from tapeless.prims.common import as_value, const, disagreement, scalar_like
from tapeless.runtime.array import Array, array_from_numpy, array_of_dtype
from tapeless.util import frames

__all__ = [
    "alike",
    "array",
    "asarray",
    "canonicalize_axes",
    "canonicalize_axis",
    "check_arraylike",
    "check_broadcastable",
    "check_no_float0s",
    "complain_of_rank",
    "concrete_value",
    "const",
    "convert",
    "dtype_of",
    "is_arraylike",
    "is_complex",
    "is_inexact",
    "listed",
    "narrowed",
    "number_like",
    "ndim",
    "number_dtype",
    "promote_args",
    "promote_args_inexact",
    "promote_args_numeric",
    "promote_dtypes",
    "promote_dtypes_complex",
    "promote_dtypes_inexact",
    "promote_dtypes_numeric",
    "promote_shapes",
    "shape",
    "shape_error",
    "size",
    "strong_args_inexact",
    "value_of",
]

Shape = tuple[int, ...]
_PYTHON_SCALARS = (bool, int, float, complex)
# Dtypes of operands that need no promotion when they are alike.
_INEXACT = frozenset(map(np.dtype, "efdFD")) | {np.dtype(dtypes.bfloat16)}
_PLAIN = _INEXACT | frozenset(map(np.dtype, "?bhilqBHILQ"))
_NUMERIC = _PLAIN - {np.dtype(np.bool_)}
_shape_together = functools.lru_cache(1024)(structural.broadcast_shapes)


# Checks


def is_arraylike(x: object) -> bool:
    """Tell whether `x` may be an operand."""
    return is_value(x) or hasattr(x, "__jax_array__")


def check_broadcastable(x: Value, sizes: tuple[int, ...]) -> None:
    """Raise ValueError, in JAX's words, for a shape that a value cannot be broadcast to."""
    old = typeof(x).shape
    if len(sizes) < len(old):
        raise ValueError(
            f"Cannot broadcast to shape with fewer dimensions: arr_shape={old} shape={sizes}"
        )
    tail = sizes[len(sizes) - len(old) :]
    if any(extent not in (1, size) for extent, size in zip(old, tail, strict=True)):
        wanted = typeof(x).update(shape=sizes)
        raise ValueError(
            f"Incompatible types for broadcasting: input type={typeof(x).str_short(False)} and "
            f"requested type={wanted.str_short(False)}.{disagreement((old, sizes))}"
        )


def check_arraylike(fun_name: str, *args: Any) -> None:
    """Raise TypeError unless every argument is an array-like."""
    for position, arg in enumerate(args):
        if type(arg) is Array or type(arg) in _PYTHON_SCALARS:
            continue
        if is_ref(arg):
            raise TypeError(
                f"{fun_name} got a Ref of type {arg.aval} at position {position}, but a Ref can't "
                f"be passed where an array is expected. Did you forget to read its value with "
                f"`ref[...]`?"
            )
        if isinstance(arg, Tracer):
            continue
        if not is_arraylike(arg):
            raise TypeError(
                f"{fun_name} requires ndarray or scalar arguments, got {type(arg)} at position "
                f"{position}."
            )
        if isinstance(arg, (np.ndarray, np.generic)) and not dtypes.is_supported(arg.dtype):
            kind = TypeError if isinstance(arg, np.ndarray) else ValueError
            raise kind(
                f"Value {arg!r} with dtype {arg.dtype} is not a valid JAX array type. Only arrays "
                "of numeric types are supported by JAX."
            )


def check_no_float0s(fun_name: str, *args: Any) -> None:
    """Raise TypeError if an argument is an array of float0."""
    if any(dtype_of(arg) == dtypes.float0 for arg in args):
        raise TypeError(
            f"Called {fun_name} with a float0 array. float0s do not support any operations by "
            "design because they are not compatible with non-trivial vector spaces. No implicit "
            "dtype conversion is done. You can use np.zeros_like(arr, dtype=np.float) to cast a "
            "float0 array to a regular zeros array. \nIf you didn't expect to get a float0 you "
            "might have accidentally taken a gradient with respect to an integer argument."
        )


def _check_no_keys(fun_name: str, *args: Any) -> None:
    """Raise TypeError if arrays of an extended dtype are mixed with others."""
    kinds = [dtype_of(arg) for arg in args]
    if not all(isinstance(kind, np.dtype) for kind in kinds) and len(set(kinds)) > 1:
        names = ", ".join(map(dtypes.dtype_name, kinds))
        raise TypeError(f"{fun_name} does not accept dtypes {names}.")


def value_of(x: Any) -> Value:
    """Return `x`, or what its `__jax_array__` method returns."""
    if type(x) is Array or isinstance(x, Tracer) or not hasattr(x, "__jax_array__"):
        return x
    return x.__jax_array__()


def concrete_value(x: Any, context: str) -> Any:
    """Return the value behind `x`, or raise ConcretizationTypeError for a tracer without one.

    context: a sentence that says what needs the value.
    """
    x = value_of(x)
    if not isinstance(x, Tracer):
        return x
    found = x.concrete()
    if found is None:
        raise errors.ConcretizationTypeError(
            "Abstract tracer value encountered where concrete value is expected: traced array "
            f"with shape {x.aval.str_short(False)}\n{context}\n{x.origin()}\n"
        )
    return found


def listed(x: Any) -> Any:
    """Return a user's integers as something to go through: an integer alone is a list of one.

    Whatever has places and a length counts as a list: libraries have shapes of their own classes.
    """
    if isinstance(x, (tuple, list)):
        return x
    if isinstance(x, (int, str, bytes)):
        return (x,)
    has_places = hasattr(type(x), "__getitem__") and not isinstance(x, Mapping)
    return x if has_places and getattr(x, "ndim", 1) else (x,)


def shape_error(shape: Any) -> TypeError:
    """Return the error for a shape that is not made of known integers."""
    parts = shape if isinstance(shape, (list, tuple)) else (shape,)
    text = f"Shapes must be 1D sequences of concrete values of integer type, got {shape}."
    for part in parts:
        if isinstance(part, Tracer):
            text += (
                "\nIf using `jit`, try using `static_argnums` or applying `jit` to smaller "
                f"subfunctions.\n{part.origin()}"
            )
            break
    return TypeError(text)


# Types and axes


def number_like(x: Value, number: float) -> Value:
    """Return a scalar of the dtype and the weakness of `x`: () for x of any shape."""
    return scalar_like(typeof(x), number)


def dtype_of(x: Any) -> np.dtype:
    """Return the dtype of an array-like."""
    return typeof(value_of(x)).dtype


def is_complex(x: Any) -> bool:
    """Tell whether an array-like holds complex numbers."""
    return dtypes.issubdtype(dtype_of(x), np.complexfloating)


def is_inexact(x: Any) -> bool:
    """Tell whether an array-like holds floating or complex numbers."""
    return dtypes.issubdtype(dtype_of(x), np.inexact)


def shape(a: Any) -> Shape:
    """Return the extents of the axes of an array-like.

    >>> import tapeless.numpy as jnp
    >>> jnp.shape(jnp.zeros((2, 3)))
    (2, 3)
    """
    return _shape_of("shape", a)


def _shape_of(name: str, a: Any) -> Shape:
    """Return the shape of an array-like, or of what has a shape; of lists with a warning."""
    if isinstance(a, np.ndarray):  # masked ones too, which are refused elsewhere
        return a.shape
    if is_arraylike(a):
        return typeof(value_of(a)).shape
    if hasattr(a, "shape"):
        return tuple(a.shape)
    frames.warn(
        f"{name} requires ndarray or scalar arguments, got {type(a)} at position 0. In a future "
        "JAX release this will be an error.",
        DeprecationWarning,
    )
    return np.shape(a)


def ndim(a: Any) -> int:
    """Return the number of axes of an array-like.

    >>> import tapeless.numpy as jnp
    >>> jnp.ndim(jnp.zeros((2, 3)))
    2
    """
    return len(_shape_of("ndim", a))


def size(a: Any, axis: int | Sequence[int] | None = None) -> int:
    """Return the number of elements of an array-like, all or along `axis` (an axis or several).

    >>> import tapeless.numpy as jnp
    >>> jnp.size(jnp.zeros((2, 3))), jnp.size(jnp.zeros((2, 3)), axis=1)
    (6, 3)
    """
    extents = _shape_of("size", a)
    axes = canonicalize_axes(axis, len(extents))
    return int(np.prod([extents[each] for each in axes], dtype=object))


def canonicalize_axis(axis: Any, rank: int) -> int:
    """Return an axis counted from the front, or raise ValueError for one out of bounds."""
    if type(axis) is not int:
        axis = operator.index(concrete_value(axis, "The axis argument must be known statically."))
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {rank}")
    return axis % rank if axis < 0 else axis


def canonicalize_axes(axis: Any, rank: int) -> tuple[int, ...]:
    """Return the axes that None (all), an axis or a sequence of axes names; each only once."""
    if axis is None:
        return tuple(range(rank))
    if type(axis) is int or not isinstance(axis, Iterable) or getattr(axis, "ndim", 1) == 0:
        return (canonicalize_axis(axis, rank),)
    axes = tuple(canonicalize_axis(each, rank) for each in axis)
    if len(set(axes)) != len(axes):
        raise ValueError(f"duplicate value in 'axis': {tuple(axis)}")
    return axes


# Promotion


def convert(x: Any, dtype: dtypes.Dtype, weak_type: bool = False) -> Value:
    """Return `x` with this dtype and weakness; a Python or NumPy value stays a constant."""
    kind = type(x)
    if kind is Array or isinstance(x, Tracer):
        aval = x.aval
        if aval.dtype is dtype and aval.weak_type == weak_type:
            return x
        return conversion.convert(x, dtype, weak_type)
    if (kind is float or kind is int) and not weak_type:
        number = usual_number(x, kind, dtype)
        if number is not None:
            return number
    if not isinstance(x, (*_PYTHON_SCALARS, np.generic, np.ndarray)):
        return conversion.convert(value_of(x), dtype, weak_type)
    if isinstance(x, int) and not isinstance(x, (bool, np.generic)):
        _check_fits(x)
    if weak_type:
        if kind in _PYTHON_SCALARS:
            if dtypes.python_scalar_dtype(kind) == dtype:
                return x
            scalar = dtypes.scalar_type_of(dtype)
            if dtypes.python_scalar_dtype(scalar) == dtype:
                return scalar(x)
        return conversion.convert(x, dtype, weak_type)
    if type(x) is np.ndarray:
        if x.dtype == dtype:
            return x
        if x.ndim and context.trace is not context.base:
            return conversion.convert(context.trace.constant(x), dtype)
    if isinstance(dtype, np.dtype) and dtypes.canonicalize_dtype(dtype) != dtype:
        return conversion.convert(x, dtype)
    # A value that is not an Array has no extended dtype.
    element: Any = dtype
    elements = np.asarray(x)
    with np.errstate(all="ignore"):
        return elements.astype(element)[() if elements.ndim == 0 else ...]


def _check_fits(x: int) -> None:
    """Raise OverflowError for a Python int that the default integer cannot hold."""
    info = np.iinfo(dtypes.default_int_dtype())
    if not info.min <= x <= info.max:
        raise OverflowError(
            "An overflow was encountered while parsing an argument to a jitted computation, whose "
            f"value is {x}: Python int too large to convert to {info.dtype}"
        )


def promote_dtypes(*args: Any) -> list[Value]:
    """Return the arguments in the dtype that they share; weak if all of them are weak."""
    dtype, weak = dtypes.lattice_result_type(*args)
    return _promoted(args, dtype, weak)


def _promoted(args: Sequence[Any], dtype: dtypes.Dtype, weak_type: bool) -> list[Value]:
    """Return operands in a dtype, as values whose operators are ours; scalars stay beside arrays.

    Operators between NumPy's values warn, and have other types; between Python's they raise.
    """
    values = [convert(arg, dtype, weak_type) for arg in args]
    alone = True
    for value in values:
        kind = type(value)
        if kind is Array or issubclass(kind, Tracer):
            alone = False
        elif issubclass(kind, np.ndarray):
            return [as_value(each) for each in values]
    return [as_value(each) for each in values] if alone else values


def narrowed(x: Value) -> Value:
    """Return a value in a dtype of the current mode, for arrays of 64 bits outside of theirs."""
    found = typeof(x).dtype
    kind = dtypes.canonicalize_dtype(found, allow_extended_dtype=True)
    return x if found == kind else conversion.convert(x, kind)


def promote_dtypes_inexact(*args: Any) -> list[Value]:
    """Return the arguments in a common dtype that is floating or complex."""
    dtype, weak = dtypes.lattice_result_type(*args)
    inexact = dtypes.to_inexact_dtype(dtype)
    if inexact != dtype and dtypes.canonicalize_dtype(dtype) == dtype:
        inexact = dtypes.canonicalize_dtype(inexact)
    return _promoted(args, inexact, weak)


def promote_dtypes_numeric(*args: Any) -> list[Value]:
    """Return the arguments in a common dtype that is not bool."""
    dtype, weak = dtypes.lattice_result_type(*args)
    numeric = dtypes.to_numeric_dtype(dtype)
    return _promoted(args, numeric, weak)


def promote_dtypes_complex(*args: Any) -> list[Value]:
    """Return the arguments in a common dtype that is complex."""
    dtype, weak = dtypes.lattice_result_type(*args)
    wide = dtypes.canonicalize_dtype(dtypes.to_complex_dtype(dtype))
    return _promoted(args, wide, weak)


def promote_shapes(fun_name: str, *args: Value) -> list[Value]:
    """Return the arguments, but those of rank 0, with leading axes of extent 1 up to one rank."""
    shapes = [typeof(arg).shape for arg in args]
    ranks = {len(each) for each in shapes if each}
    if len(ranks) < 2:
        return list(args)
    mode = config.current.jax_numpy_rank_promotion
    if mode != "allow":
        complain_of_rank(fun_name, [each for each in shapes if each], mode)
    rank = len(_shape_together(*shapes))
    return [
        structural.broadcast_to_rank(arg, rank) if each else arg
        for arg, each in zip(args, shapes, strict=True)
    ]


def complain_of_rank(fun_name: str, shapes: Sequence[Shape], mode: str) -> None:
    """Warn of, or refuse, operands of different ranks."""
    text = " ".join(map(str, shapes))
    page = "https://docs.jax.dev/en/latest/101/rank_promotion_warning.html"
    if mode == "raise":
        raise ValueError(
            f"Operands could not be broadcast together for {fun_name} on shapes {text} and with "
            f"the config option jax_numpy_rank_promotion='raise'. For more information, see {page}."
        )
    frames.warn(
        f"Following NumPy automatic rank promotion for {fun_name} on shapes {text}. Set the "
        "jax_numpy_rank_promotion config option to 'allow' to disable this warning; for more "
        f"information, see {page}."
    )


def alike(args: Sequence[Any]) -> Any:
    """Return the type of the first of arguments that go together as they are, or else None.

    They are Arrays or tracers of one dtype and weakness, of one rank or of rank 0.
    """
    first, rank = None, 0
    for arg in args:
        if type(arg) is not Array and not isinstance(arg, Tracer):
            return None
        aval = arg.aval
        if first is None:
            first, rank = aval, aval.ndim
        elif aval is not first:
            if type(aval) is not type(first) or aval.dtype is not first.dtype:
                return None
            if aval.weak_type is not first.weak_type:
                return None
            if rank and aval.ndim and aval.ndim != rank:
                return None
            rank = rank or aval.ndim
    return first


def _operands(fun_name: str, args: Sequence[Any]) -> list[Value]:
    """Return arguments that are checked to be array-likes which go together."""
    check_arraylike(fun_name, *args)
    values = list(map(value_of, args))
    if not _PLAIN.issuperset([typeof(value).dtype for value in values]):
        check_no_float0s(fun_name, *values)
        _check_no_keys(fun_name, *values)
    return values


def _is_of_numpy(x: Any) -> bool:
    """Tell whether a value is an array or a number of NumPy, of a dtype that needs no checks."""
    kind = type(x)
    return (kind is np.ndarray or issubclass(kind, np.generic)) and x.dtype in _PLAIN


def _is_usual(x: Any) -> bool:
    """Tell whether an operand is an Array or a tracer of one, of a dtype that needs no checks."""
    aval = x.aval if type(x) is Array or isinstance(x, Tracer) else None
    return type(aval) is ShapedArray and aval.dtype in _PLAIN


def _brought_together(
    fun_name: str,
    args: Sequence[Any],
    promote: Callable[..., list[Value]],
    whole: Callable[..., Sequence[Value]],
) -> Sequence[Value]:
    """Return checked arguments of one rank, of the dtype to which `promote` brings them.

    whole: what begins anew where values of NumPy have become ours.  Python's numbers and usual
    arrays need no checks; the dtype of floating numbers alone is every function's.
    """
    kinds = list(map(type, args))
    if kinds[0] in _PYTHON_SCALARS and len(set(kinds)) == 1:
        return [as_value(arg) for arg in args] if kinds[0] is float else promote(*args)
    if context.trace is context.base and any(map(_is_of_numpy, args)):
        constant = context.base.constant
        return whole(fun_name, *(constant(arg) if _is_of_numpy(arg) else arg for arg in args))
    arrays = [arg for kind, arg in zip(kinds, args, strict=True) if kind not in _PYTHON_SCALARS]
    usual = all(map(_is_usual, arrays))
    values = promote(*(args if usual else _operands(fun_name, args)))
    return promote_shapes(fun_name, *values) if len(arrays) > 1 else values


def _usual(args: Sequence[Any], allowed: frozenset) -> Sequence[Value] | None:
    """Return arguments of one rank and an allowed dtype, if a look at their types tells how."""
    aval = alike(args)
    return args if aval is not None and aval.dtype in allowed else with_numbers(args, allowed)


def promote_args(fun_name: str, *args: Any) -> Sequence[Value]:
    """Return checked arguments of one dtype and one rank."""
    found = _usual(args, _PLAIN)
    return found or _brought_together(fun_name, args, promote_dtypes, promote_args)


def promote_args_numeric(fun_name: str, *args: Any) -> Sequence[Value]:
    """Return checked arguments of one rank and one dtype, not bool."""
    found = _usual(args, _NUMERIC)
    return found or _brought_together(fun_name, args, promote_dtypes_numeric, promote_args_numeric)


def promote_args_inexact(fun_name: str, *args: Any) -> Sequence[Value]:
    """Return checked arguments of one rank and one floating or complex dtype."""
    found = _usual(args, _INEXACT)
    return found or _brought_together(fun_name, args, promote_dtypes_inexact, promote_args_inexact)


def strong_args_inexact(name: str, *args: Any) -> list[Value]:
    """Return operands as `promote_args_inexact` does, those with axes as strong: (n, m) -> (n, m).

    So they come out of an operation with a constant that is no Python number.  They are no arrays
    of NumPy, whose operators have other types.
    """
    values = promote_args_inexact(name, *args)
    return [conversion.convert(x, dtype_of(x)) if shape(x) else x for x in values]


# Arrays from objects


def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Return an array with the elements of an array-like, or of nested sequences of array-likes.

    object: numbers, arrays or lists of them, nested n deep -> of rank n.
    dtype: of the result; by default what the elements promote to, narrowed to 32 bits unless 64-bit
    mode is on.  ndmin: the least number of axes; missing ones come in front, with extent 1.

    Unlike in NumPy, a Python scalar gives an array of weak type, which does not widen its partners.

    >>> import tapeless.numpy as jnp
    >>> jnp.array([[1, 2], [3, 4.5]])
    Array([[1. , 2. ],
           [3. , 4.5]], dtype=float32)
    """
    if order is not None and order != "K":
        raise NotImplementedError("Only implemented for order='K'")
    wanted = None if dtype is None else dtypes.check_user_dtype_supported(dtype, "array")
    out = _array_of(object, wanted, bool(copy))
    missing = ndmin - out.aval.ndim
    return structural.expand_dims(out, range(missing)) if missing > 0 else out


def asarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Return `a` as an array, n lists deep -> of rank n: itself if it is one of the dtype.

    >>> import tapeless.numpy as jnp
    >>> jnp.asarray(range(3))
    Array([0, 1, 2], dtype=int32)
    """
    if order is not None and order != "K":
        raise NotImplementedError("Only implemented for order='K'")
    wanted = None if dtype is None else dtypes.check_user_dtype_supported(dtype, "asarray")
    return _array_of(a, wanted, bool(copy))


def _array_of(x: Any, dtype: Any, copy: bool) -> Value:
    """Return the Array or tracer of an object; `dtype` None leaves it as it is."""
    x = value_of(x)
    if x is None:
        raise ValueError("None is not a valid value for jnp.array")
    if is_ref(x):
        check_arraylike("jnp.asarray", x)
    if isinstance(x, (Array, Tracer)):
        x = identity.copy(x) if copy else x
        return x if dtype is None else convert(x, dtype)
    if isinstance(x, _PYTHON_SCALARS) and not isinstance(x, np.generic):
        return _scalar_array(x, dtype)
    if isinstance(x, (list, tuple)):
        return _array_of_sequence(x, dtype)
    if isinstance(x, np.ndarray):
        if type(x) is not np.ndarray and not copy:
            typeof(x)  # refuses masked arrays; `array` takes their elements without the mask
        return _array_of_numpy(np.asarray(x), x, dtype)
    return _array_of_numpy(np.asarray(x), x, dtype)


def number_dtype(dtype: dtypes.Dtype, fun_name: str) -> np.dtype:
    """Return a dtype of numbers as it is; refuse that of keys, to which no number converts."""
    if isinstance(dtype, dtypes.ExtendedDtype):
        raise TypeError(
            f"jnp.{fun_name} makes numbers, which cannot be converted to dtype {dtype}. Use "
            "jax.random.key to make a key, jax.random.wrap_key_data to make one of its words."
        )
    return dtype


def _scalar_array(x: Any, dtype: Any) -> Array:
    """Return the Array of a Python scalar: weak, unless it is a bool or the dtype is given."""
    if dtype is not None:
        dtype = number_dtype(dtype, "array")
        return _new_array(array_of_dtype(np.asarray(x, dtype)))
    kind = dtypes.python_scalar_dtype(dtypes.scalar_type_of(x))
    try:
        with np.errstate(over="ignore"):
            value = np.asarray(x, kind)
    except OverflowError:
        raise OverflowError(f"Python int {x} too large to convert to {kind}") from None
    if context.trace is not context.base:
        return context.trace.constant(x)  # a program shows the number as it was written
    return _new_array(array_from_numpy(value, not isinstance(x, bool)))


def _array_of_numpy(value: np.ndarray, x: Any, dtype: Any) -> Array:
    """Return the Array of NumPy's form of the object `x`."""
    if not dtypes.is_supported(value.dtype):
        if dtype is not None:  # NumPy knows how to make numbers of these
            return _new_array(array_of_dtype(np.asarray(x, number_dtype(dtype, "array"))))
        raise TypeError(
            f"Value '{x}' with dtype {value.dtype} is not a valid JAX array type. Only arrays of "
            "numeric types are supported by JAX."
        )
    if dtype is None or value.dtype == dtype:
        return _new_array((array_from_numpy if dtype is None else array_of_dtype)(value))
    with np.errstate(all="ignore"):
        return _new_array(array_of_dtype(value.astype(number_dtype(dtype, "array"))))


def _new_array(out: Array) -> Array:
    """Return a new Array, or a tracer for it while a program is written."""
    return out if context.trace is context.base else context.trace.constant(out)


def _array_of_sequence(x: Sequence, dtype: Any) -> Array:
    """Return the Array of nested lists: by NumPy, or by joining where tracers are among them."""
    leaves = list(_leaves(x, dtype is not None))
    if any(leaf is None for leaf in leaves):
        raise ValueError("None is not a valid value for jnp.array")
    if dtype is None:
        kind = dtypes.lattice_result_type(*leaves)[0] if leaves else dtypes.default_float_dtype()
    else:
        kind = dtype
    if not any(isinstance(leaf, Array) for leaf in leaves) and not _has_tracer(leaves):
        return _array_of_numpy(np.array(x, number_dtype(kind, "array")), x, kind)
    if context.trace is context.base and isinstance(kind, np.dtype) and not _has_tracer(leaves):
        try:
            return array_from_numpy(np.array(_as_numpy(x), kind))
        except ValueError:  # shapes that do not fit: joining says so better
            pass
    rows = [structural.expand_dims(_array_of(item, kind, False), (0,)) for item in x]
    return join.concatenate(rows, 0)


def _leaves(x: Any, has_dtype: bool) -> Iterable[Any]:
    """Yield what is in nested lists; a text or object is refused unless a dtype is asked for."""
    for item in x:
        if isinstance(item, (list, tuple)):
            yield from _leaves(item, has_dtype)
        elif item is None or is_arraylike(item):
            yield value_of(item)
        else:
            value = np.asarray(item)
            if not has_dtype and not dtypes.is_supported(value.dtype):
                raise TypeError(
                    f"Value '{item}' with dtype {value.dtype} is not a valid JAX array type. Only "
                    "arrays of numeric types are supported by JAX."
                )
            yield value


def _has_tracer(leaves: Sequence[Any]) -> bool:
    """Tell whether a tracer is among the leaves."""
    return any(isinstance(leaf, Tracer) for leaf in leaves)


def _as_numpy(x: Any) -> Any:
    """Return nested lists with NumPy arrays for Arrays."""
    if isinstance(x, (list, tuple)):
        return [_as_numpy(item) for item in x]
    value = value_of(x)
    return value.numpy_view() if isinstance(value, Array) else value
