"""Element types as users meet them: what 64-bit mode does to them, and how they combine.

Which dtypes exist is in ``util/elements.py``, and the lattice in which they combine, of dtypes and
of Python's types for *weakly typed* values, is in ``util/promotion.py``.

With ``jax_enable_x64`` off, 64-bit dtypes are *canonicalised* to 32 bits: silently for values, with
a warning where the user asks by name (``check_user_dtype_supported``).

Invariant: answers about promotion are remembered together with the flags that they depend on, so
a change of a flag never leaves a stale answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NoReturn, TypeAlias, overload

import numpy as np

from tapeless import config
from tapeless.util import elements, frames
from tapeless.util.elements import (
    Dtype,
    DTypeLike,
    ExtendedDtype,
    KeyDtype,
    Node,
    PRNGImpl,
    bfloat16,
    dtype_name,
    extended,
    finfo,
    float0,
    iinfo,
    is_supported,
    issubdtype,
    itemsize_bits,
    key_dtype,
    named_dtype,
    prng_key,
    short_dtype_name,
    supports_inf,
    to_complex_dtype,
    to_floating_dtype,
    to_inexact_dtype,
    to_numeric_dtype,
)
from tapeless.util.names import close_module
from tapeless.util.promotion import TypePromotionError, join

__all__ = [
    "DTypeLike", "Dtype", "ExtendedDtype", "KeyDtype", "Node", "PRNGImpl", "TypePromotionError",
    "bfloat16",
    "canonicalize_dtype", "check_user_dtype_supported", "default_complex_dtype",
    "default_dtype_bits", "default_float_dtype", "default_int_dtype", "default_uint_dtype",
    "dtype", "dtype_name", "extended", "finfo", "float0", "iinfo", "is_python_scalar",
    "is_supported", "is_weakly_typed", "issubdtype", "itemsize_bits", "key_dtype",
    "lattice_result_type", "number_dtype", "prng_key", "promote_types", "python_scalar_dtype",
    "python_scalar_types", "refusal_of", "result_type", "scalar_type_of", "short_dtype_name",
    "supports_inf", "to_complex_dtype", "to_floating_dtype", "to_inexact_dtype", "to_numeric_dtype",
]  # fmt: skip

_BOOL, _HALVED = elements.BOOL, elements.HALVED
*_, _I32, _I64 = elements.SIGNED
*_, _U32, _U64 = elements.UNSIGNED
*_, _F32, _F64 = elements.WIDE_FLOATS
_C64, _C128 = elements.COMPLEX

python_scalar_types: tuple[type, ...] = (bool, int, float, complex)

# Python scalar type -> (dtype with x64, dtype without).
_DEFAULTS: Mapping[type, tuple[np.dtype, np.dtype]] = {
    bool: (_BOOL, _BOOL),
    int: (_I64, _I32),
    float: (_F64, _F32),
    complex: (_C128, _C64),
}


def is_python_scalar(value: object) -> bool:
    """Whether ``value`` is a plain bool, int, float or complex (not a NumPy scalar).

    >>> is_python_scalar(1.0), is_python_scalar(np.float32(1.0))
    (True, False)
    """
    kind = type(value)
    if kind in _DEFAULTS:
        return True
    return isinstance(value, python_scalar_types) and not isinstance(value, np.generic)


def default_dtype_bits() -> int:
    """Return the width in bits of the default integer and float: 32, or 64 in x64 mode.

    >>> default_dtype_bits()
    32
    """
    return 64 if config.current.jax_enable_x64 else 32


def python_scalar_dtype(scalar: type) -> np.dtype:
    """Return the dtype that a Python scalar of type ``scalar`` becomes.

    >>> python_scalar_dtype(float)
    dtype('float32')
    """
    wide, short = _DEFAULTS[scalar]
    return wide if config.current.jax_enable_x64 else short


def default_int_dtype() -> np.dtype:
    """Return int32, or int64 in x64 mode.

    >>> default_int_dtype()
    dtype('int32')
    """
    return python_scalar_dtype(int)


def default_uint_dtype() -> np.dtype:
    """Return uint32, or uint64 in x64 mode.

    >>> default_uint_dtype()
    dtype('uint32')
    """
    return _U64 if config.current.jax_enable_x64 else _U32


def default_float_dtype() -> np.dtype:
    """Return float32, or float64 in x64 mode.

    >>> default_float_dtype()
    dtype('float32')
    """
    return python_scalar_dtype(float)


def default_complex_dtype() -> np.dtype:
    """Return complex64, or complex128 in x64 mode.

    >>> default_complex_dtype()
    dtype('complex64')
    """
    return python_scalar_dtype(complex)


# ---------------------------------------------------------------------------------------------
# From what users write to dtypes.


@overload
def canonicalize_dtype(
    dtype: DTypeLike, allow_extended_dtype: Literal[False] = ...
) -> np.dtype: ...
@overload
def canonicalize_dtype(dtype: DTypeLike, allow_extended_dtype: bool) -> Dtype: ...
def canonicalize_dtype(dtype: DTypeLike, allow_extended_dtype: bool = False) -> Dtype:
    """Return the dtype named by ``dtype``, narrowed to 32 bits unless x64 mode is on.

    >>> canonicalize_dtype("float64")
    dtype('float32')
    """
    if isinstance(dtype, ExtendedDtype):
        if not allow_extended_dtype:
            raise ValueError(
                f"Internal: canonicalize_dtype called on extended dtype {dtype} "
                "with allow_extended_dtype=False"
            )
        return dtype
    element = dtype if isinstance(dtype, np.dtype) else np.dtype(dtype)
    return element if config.current.jax_enable_x64 else _HALVED.get(element, element)


def array_dtype(element: np.dtype) -> np.dtype:
    """Return the canonical form of the dtype of a NumPy array; raise TypeError if arrays have none.

    Such are texts, dates, records, objects, and numbers in the other order of bytes.
    """
    if element not in elements.SUPPORTED:
        raise TypeError(
            f"Dtype {element} is not a valid JAX array type. Only arrays of numeric types are "
            "supported by JAX."
        )
    return element if config.current.jax_enable_x64 else _HALVED.get(element, element)


def refusal_of(kind: type) -> Callable[[object], NoReturn] | None:
    """Return what raises for values of a subclass of a known type; None if they are welcome.

    Masked arrays of NumPy are not: the elements would be taken without the mask.

    >>> refusal_of(np.ndarray) is None, refusal_of(np.ma.MaskedArray) is None
    (True, False)
    """
    if issubclass(kind, np.ndarray) and issubclass(kind, np.ma.MaskedArray):
        return _refuse_masked
    return None


def _refuse_masked(value: object) -> NoReturn:
    """Raise ValueError for a masked array."""
    raise ValueError(
        "numpy masked arrays are not supported as direct inputs to JAX functions. Use arr.filled() "
        "to convert the value to a standard numpy array."
    )


def number_dtype(dtype: Dtype) -> np.dtype:
    """Return the canonical form of a dtype that must be one of numbers.

    Raises TypeError for dtypes of keys: they have neither sums nor an order nor a zero.

    >>> number_dtype(np.dtype("float64"))
    dtype('float32')
    """
    if isinstance(dtype, ExtendedDtype):
        raise TypeError(
            f"Cannot interpret '{dtype}' as a data type of numbers; jax.random.key_data gives the "
            f"words of keys"
        )
    return canonicalize_dtype(dtype)


def check_user_dtype_supported(dtype: DTypeLike, fun_name: str | None = None) -> Dtype:
    """Return the canonical form of a dtype that a user asked for by name.

    Python's scalar types mean the default dtypes. Asking for 64 bits without x64 mode warns (or
    raises, or is granted, by ``jax_explicit_x64_dtypes``). ``fun_name`` is for the message.

    >>> check_user_dtype_supported(int)
    dtype('int32')
    """
    if isinstance(dtype, type) and dtype in _DEFAULTS:
        return python_scalar_dtype(dtype)
    if dtype is None:
        return default_float_dtype()
    element = named_dtype(dtype)
    where = f" in {fun_name}" if fun_name else ""
    if not is_supported(element):
        raise TypeError(
            f"JAX only supports number, bool, and string dtypes, got dtype {dtype}{where}"
        )
    if config.current.jax_enable_x64 or element not in _HALVED:
        return element
    if config.current.jax_explicit_x64_dtypes == "allow":
        return element
    return _truncated(element, where)


def _truncated(element: Dtype, where: str) -> np.dtype:
    """Warn, or raise, about a 64-bit dtype asked for by name; return its 32-bit counterpart."""
    wish = f"Explicitly requested dtype {element} requested{where} is not available"
    if config.current.jax_explicit_x64_dtypes == "error":
        raise ValueError(
            f"{wish}. To enable more dtypes, set the jax_enable_x64 or allow_explicit_x64_dtypes "
            "configuration options.See https://github.com/jax-ml/jax#current-gotchas for more."
        )
    short = _HALVED[element]
    frames.warn(
        f"{wish}, and will be truncated to dtype {short}. To enable more dtypes, set the "
        "jax_enable_x64 configuration option or the JAX_ENABLE_X64 shell environment variable. "
        "See https://github.com/jax-ml/jax#current-gotchas for more."
    )
    return short


def dtype(x: object) -> Dtype:
    """Return the dtype of a value, or the dtype that a type, a dtype or a string names.

    >>> dtype(1.5), dtype(np.float64(1.5)), dtype(float)
    (dtype('float32'), dtype('float32'), dtype('float32'))
    """
    if x is None:
        raise ValueError(f"Invalid argument to dtype: {x}.")
    scalar = type(x)
    if scalar in _DEFAULTS:
        return python_scalar_dtype(scalar)
    if isinstance(x, (type, str, np.dtype)):
        return check_user_dtype_supported(x, "dtype")
    return _dtype_of_operand(_operand_of(x))


def scalar_type_of(x: object) -> type:
    """Return the Python type (bool, int, float or complex) for the elements of a value or dtype.

    >>> scalar_type_of(np.arange(3)), scalar_type_of("bfloat16")
    (<class 'int'>, <class 'float'>)
    """
    element = np.dtype(x) if isinstance(x, (type, str, np.dtype)) else dtype(x)
    if element == _BOOL:
        return bool
    for abstract, scalar in _SCALARS.items():
        if issubdtype(element, abstract):
            return scalar
    if isinstance(x, (str, np.dtype)):
        raise TypeError(f"Invalid scalar value {x}")
    raise TypeError(
        f"Value {x!r} with dtype {element} is not a valid JAX array type. "
        "Only arrays of numeric types are supported by JAX."
    )


_SCALARS: Mapping[type, type] = {
    np.integer: int,
    np.floating: float,
    np.complexfloating: complex,
}


def promote_types(a: DTypeLike, b: DTypeLike) -> Dtype:
    """Return the dtype that dtypes ``a`` and ``b`` promote to; Python's types are weak.

    Unlike ``result_type``, the answer is not narrowed to 32 bits when x64 mode is off.

    >>> promote_types("int32", "bfloat16"), promote_types(float, "int8")
    (dtype(bfloat16), dtype('float64'))
    """
    mode = config.current
    strict = mode.jax_numpy_dtype_promotion == "strict"
    key = (a, b, strict, mode.jax_enable_x64)
    try:
        return _promotions[key]
    except (KeyError, TypeError):
        pass
    nodes = [each if each in (int, float, complex) else named_dtype(each) for each in (a, b)]
    node = join(nodes, strict, mode.jax_enable_x64)
    answer = np.dtype(node) if isinstance(node, type) else node
    if not isinstance(a, str) and not isinstance(b, str):
        _promotions[key] = answer
    return answer


_promotions: dict[tuple[object, ...], Dtype] = {}


# ---------------------------------------------------------------------------------------------
# Promotion of values.

# What an argument is to promotion: a dtype, a Python type for a Python scalar, or (dtype, node) for
# a weakly typed array.
_Operand: TypeAlias = Dtype | type | tuple[np.dtype, Node]

_WEAK: Mapping[Dtype, tuple[np.dtype, np.dtype | type]] = {
    float0: (float0, float0),
    _BOOL: (_BOOL, _BOOL),
    **{element: (element, int) for element in elements.INTS},
    **{element: (element, float) for element in elements.FLOATS},
    **{element: (element, complex) for element in elements.COMPLEX},
}

_SCALAR_OPERANDS: Mapping[type, Dtype | type] = {
    bool: _BOOL,
    int: int,
    float: float,
    complex: complex,
}


def is_weakly_typed(x: object) -> bool:
    """Whether a value is weak: a Python number (bool excepted), or an array that says so.

    >>> is_weakly_typed(1.0), is_weakly_typed(np.float32(1.0))
    (True, False)
    """
    if type(x) in (int, float, complex):
        return True
    return bool(getattr(x, "weak_type", False))


# Types whose values have a ``dtype`` and say whether they are weak; filled as they are met.
_typed_values: set[type] = set()


def _operand_of(x: Any) -> _Operand:
    """Return what promotion needs to know of a value, or of a type, dtype or dtype's name."""
    kind = type(x)
    if kind in _typed_values:
        return _WEAK[x.dtype] if x.weak_type else x.dtype
    if kind in _SCALAR_OPERANDS:
        return _SCALAR_OPERANDS[kind]
    if isinstance(x, (type, str, np.dtype)):
        if isinstance(x, type) and x in _SCALAR_OPERANDS:
            return _SCALAR_OPERANDS[x]
        return check_user_dtype_supported(x, "dtype")
    if isinstance(x, ExtendedDtype):
        return x
    element = getattr(x, "dtype", None)
    if isinstance(element, (np.dtype, ExtendedDtype)):
        if hasattr(x, "weak_type"):
            _typed_values.add(kind)
            return _WEAK[element] if x.weak_type else element
        return canonicalize_dtype(element, allow_extended_dtype=True)
    for scalar in python_scalar_types:
        if isinstance(x, scalar):
            return _SCALAR_OPERANDS[scalar]
    raise TypeError(f"Cannot determine dtype of {x}")


def _dtype_of_operand(operand: _Operand) -> Dtype:
    """Return the dtype of a value by what promotion knows of it."""
    if isinstance(operand, type):
        return python_scalar_dtype(operand)
    return operand[0] if isinstance(operand, tuple) else operand


# For each trace context, the answers by operands.
_results: dict[config.TraceContext, dict[tuple[_Operand, ...], tuple[Dtype, bool]]] = {}


def lattice_result_type(*args: object) -> tuple[Dtype, bool]:
    """Return the dtype, and whether it is weak, of an operation on ``args``.

    Each argument is a value (of Python, NumPy, or anything with ``dtype`` and perhaps
    ``weak_type``), a dtype, a type or a dtype's name.

    >>> lattice_result_type(np.int32(1), 2.0)
    (dtype('float32'), True)
    """
    operands = tuple(map(_operand_of, args))
    try:
        return _results[config.trace_context()][operands]
    except KeyError:
        pass
    answers = _results.setdefault(config.trace_context(), {})
    return answers.setdefault(operands, _lattice_result_type(operands))


def _lattice_result_type(operands: tuple[_Operand, ...]) -> tuple[Dtype, bool]:
    """Answer ``lattice_result_type`` afresh."""
    if not operands:
        raise ValueError("at least one array or dtype is required")
    mode = config.current
    x64, strict = mode.jax_enable_x64, mode.jax_numpy_dtype_promotion == "strict"
    narrow: Mapping[Node, np.dtype] = (
        {} if x64 or mode.jax_explicit_x64_dtypes == "allow" else _HALVED
    )
    weak = not any(isinstance(operand, (np.dtype, ExtendedDtype)) for operand in operands)
    if weak and (not strict or len(operands) == 1):
        # Nothing strong is there to be protected from widening: compare the dtypes themselves.
        return _default_of_kind(join(map(_dtype_of_operand, operands), strict, x64))
    nodes: list[Node] = [each[1] if isinstance(each, tuple) else each for each in operands]
    if len(set(nodes)) == 1:
        # (Values of one dtype keep it even when they were made under another mode.)
        narrow = {}
    nodes = [narrow.get(node, node) for node in nodes]
    node = join(nodes, strict, x64)
    if isinstance(node, type):
        return python_scalar_dtype(node), True
    return narrow.get(node, node), False


def _default_of_kind(node: Node) -> tuple[Dtype, bool]:
    """Return the default dtype of the kind of a weak result, and whether it is weak at all."""
    if node in elements.UNSIGNED or node in elements.NARROW_UNSIGNED:
        return default_uint_dtype(), True
    kind = node if isinstance(node, type) else _WEAK[node][1]
    # Booleans and float0 are their own kind, and never weak.
    return (python_scalar_dtype(kind), True) if isinstance(kind, type) else (kind, False)


@overload
def result_type(*args: object, return_weak_type_flag: Literal[False] = ...) -> Dtype: ...
@overload
def result_type(*args: object, return_weak_type_flag: Literal[True]) -> tuple[Dtype, bool]: ...
def result_type(*args: object, return_weak_type_flag: bool = False) -> Dtype | tuple[Dtype, bool]:
    """Return the dtype of an operation on ``args``; with the flag, also whether it is weak.

    >>> result_type(1, np.float32(2), return_weak_type_flag=True)
    (dtype('float32'), False)
    """
    answer = lattice_result_type(*args)
    return answer if return_weak_type_flag else answer[0]


close_module("jax.dtypes", globals())
