r"""Element types: which exist, how they combine, and what 64-bit mode does to them.

A *dtype* is a NumPy dtype (with ml_dtypes' narrow floats and integers), or an *extended* dtype,
which NumPy does not know: the only one is ``KeyDtype``, for random keys. ``float0`` is the dtype of
tangents of integers; it holds nothing.

*Promotion* finds the dtype that operands share. It is the least upper bound in a lattice whose
*nodes* are dtypes and, for *weakly typed* values, the Python types ``int``, ``float`` and
``complex``. A Python scalar is weak, and so is an array computed from Python scalars only: weak
values do not widen their partners. With the arrows upward (a star marks a weak node)::

    bool -> int* -> u8 -> u16 -> u32 -> u64 --.
             | \     \      \      \         >-> float* -> bf16, f16 -> f32 -> f64
             |  '--> i8 -> i16 -> i32 -> i64 -'     | |                   \       \
             '-> u1 ... i4                          | '-> f8, f6, f4      v       v
                                                    '-> complex* ------> c64 -> c128

The narrow types combine only with themselves and with what is below them. In *strict* mode the
arrows are those between weak nodes, and from a weak node to the dtypes of its kind and above.

With ``jax_enable_x64`` off, 64-bit dtypes are *canonicalised* to 32 bits: silently for values, with
a warning where the user asks by name (``check_user_dtype_supported``).

Invariant: answers about promotion are remembered together with the flags that they depend on, so
a change of a flag never leaves a stale answer.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias, overload

import ml_dtypes
import numpy as np

from tapeless import config
from tapeless.util import frames, lattice
from tapeless.util.names import listed_names

__all__ = [
    "DTypeLike", "Dtype", "ExtendedDtype", "KeyDtype", "Node", "TypePromotionError", "bfloat16",
    "canonicalize_dtype", "check_user_dtype_supported", "default_complex_dtype",
    "default_dtype_bits", "default_float_dtype", "default_int_dtype", "default_uint_dtype",
    "dtype", "dtype_name", "extended", "finfo", "float0", "iinfo", "is_python_scalar",
    "is_supported", "is_weakly_typed", "issubdtype", "itemsize_bits", "key_dtype",
    "lattice_result_type", "prng_key", "promote_types", "python_scalar_dtype",
    "python_scalar_types", "result_type", "scalar_type_of", "short_dtype_name", "supports_inf",
    "to_complex_dtype", "to_floating_dtype", "to_inexact_dtype", "to_numeric_dtype",
]  # fmt: skip


class TypePromotionError(ValueError):
    """Raised when operands have no common dtype by the rules of promotion.

    It fails for narrow types, and for nearly everything in strict mode::

        with jax.numpy_dtype_promotion("strict"):
            jnp.arange(3) + jnp.ones(3)

    The remedy is to say which dtype is meant::

        jnp.arange(3).astype(jnp.float32) + jnp.ones(3)
    """


class extended(np.generic):  # noqa: N801 - a scalar type, named as NumPy names its own
    """The abstract scalar type of all extended dtypes, for ``issubdtype``."""


class prng_key(extended):  # noqa: N801
    """The abstract scalar type of all key dtypes, for ``issubdtype``."""


class ExtendedDtype:
    """A dtype unknown to NumPy: an array of it is carried by a larger array of a NumPy dtype.

    An array of shape ``(*s,)`` is carried by one of shape ``(*s, *physical_shape)`` and dtype
    ``physical_dtype``.
    """

    __slots__ = ("itemsize", "name", "physical_dtype", "physical_shape")

    type: builtins.type = extended
    kind: str = "V"

    def __init__(self, name: str, shape: tuple[int, ...], carrier: np.dtype) -> None:
        """Describe a dtype ``name`` with elements carried by ``shape`` of ``carrier``."""
        self.name: Final = name
        self.physical_shape: Final = shape
        self.physical_dtype: Final = carrier
        self.itemsize: Final = int(np.prod(shape, dtype=np.int64)) * carrier.itemsize

    def __repr__(self) -> str:
        """Print the name alone."""
        return self.name


class KeyDtype(ExtendedDtype):
    """The dtype of random keys for one generator; made by ``key_dtype``, one object for each.

    >>> key_dtype("threefry2x32", "fry", (2,))
    key<fry>
    """

    __slots__ = ("impl",)

    type = prng_key

    def __init__(self, impl: str, tag: str, shape: tuple[int, ...]) -> None:
        """Describe keys of the generator ``impl``: ``shape`` words of 32 bits each."""
        super().__init__(f"key<{tag}>", shape, np.dtype(np.uint32))
        self.impl: Final = impl

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as a call of ``key_dtype``, so that copies are the same object."""
        tag = self.name.removeprefix("key<").removesuffix(">")
        return key_dtype, (self.impl, tag, self.physical_shape)


Dtype: TypeAlias = np.dtype | ExtendedDtype
# Whatever names a dtype: what NumPy takes, or an extended dtype.
DTypeLike: TypeAlias = Any
# What promotion works on: a dtype, or one of int, float, complex for a weakly typed value.
Node: TypeAlias = np.dtype | ExtendedDtype | type

_key_dtypes: dict[str, KeyDtype] = {}


def key_dtype(impl: str, tag: str, shape: tuple[int, ...]) -> KeyDtype:
    """Return the dtype of keys of the generator ``impl`` (always the same object)."""
    return _key_dtypes.setdefault(impl, KeyDtype(impl, tag, shape))


# ---------------------------------------------------------------------------------------------
# The dtypes that exist.


def _narrow(*names: str) -> tuple[np.dtype, ...]:
    """Return those of ml_dtypes' dtypes that the installed version has."""
    return tuple(np.dtype(getattr(ml_dtypes, name)) for name in names if hasattr(ml_dtypes, name))


bfloat16 = ml_dtypes.bfloat16
float0 = np.dtype([("float0", np.void, 0)])
finfo = ml_dtypes.finfo
iinfo = ml_dtypes.iinfo

_BOOL = np.dtype(np.bool_)
_SIGNED = tuple(np.dtype(f"int{bits}") for bits in (8, 16, 32, 64))
_UNSIGNED = tuple(np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64))
_I8, _I16, _I32, _I64 = _SIGNED
_U8, _U16, _U32, _U64 = _UNSIGNED
_BF16, _F16, _F32, _F64 = map(np.dtype, (bfloat16, np.float16, np.float32, np.float64))
_C64, _C128 = np.dtype(np.complex64), np.dtype(np.complex128)

_NARROW_SIGNED = _narrow("int1", "int2", "int4")
_NARROW_UNSIGNED = _narrow("uint1", "uint2", "uint4")
_NARROW_INTS = _NARROW_SIGNED + _NARROW_UNSIGNED
_FLOAT4 = _narrow("float4_e2m1fn")
_FLOAT6 = _narrow("float6_e2m3fn", "float6_e3m2fn")
_FLOAT8 = _narrow(
    "float8_e3m4", "float8_e4m3", "float8_e8m0fnu", "float8_e4m3b11fnuz", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
)  # fmt: skip
_NARROW_FLOATS = _FLOAT4 + _FLOAT6 + _FLOAT8

_INTS = (*_SIGNED, *_UNSIGNED, *_NARROW_INTS)
_FLOATS = (_BF16, _F16, _F32, _F64, *_NARROW_FLOATS)
_COMPLEX = (_C64, _C128)
_SUPPORTED = frozenset((_BOOL, float0, *_INTS, *_FLOATS, *_COMPLEX))

_HALVED: Mapping[Node, np.dtype] = {_I64: _I32, _U64: _U32, _F64: _F32, _C128: _C64}

# ml_dtypes' scalar types have no place in NumPy's hierarchy; these are theirs.
_ABSTRACT: Mapping[type, type] = {
    **{each.type: np.signedinteger for each in _NARROW_SIGNED},
    **{each.type: np.unsignedinteger for each in _NARROW_UNSIGNED},
    **{each.type: np.floating for each in (_BF16, *_NARROW_FLOATS)},
}

python_scalar_types: tuple[type, ...] = (bool, int, float, complex)

# Python scalar type -> (dtype with x64, dtype without).
_DEFAULTS: Mapping[type, tuple[np.dtype, np.dtype]] = {
    bool: (_BOOL, _BOOL),
    int: (_I64, _I32),
    float: (_F64, _F32),
    complex: (_C128, _C64),
}


def is_supported(element: Dtype) -> bool:
    """Whether arrays may have the dtype ``element``."""
    return element in _SUPPORTED or isinstance(element, ExtendedDtype)


def is_python_scalar(value: object) -> bool:
    """Whether ``value`` is a plain bool, int, float or complex (not a NumPy scalar)."""
    kind = type(value)
    if kind in _DEFAULTS:
        return True
    return isinstance(value, python_scalar_types) and not isinstance(value, np.generic)


def default_dtype_bits() -> int:
    """Return the width in bits of the default integer and float: 32, or 64 in x64 mode."""
    return 64 if config.current.jax_enable_x64 else 32


def python_scalar_dtype(scalar: type) -> np.dtype:
    """Return the dtype that a Python scalar of type ``scalar`` becomes."""
    wide, short = _DEFAULTS[scalar]
    return wide if config.current.jax_enable_x64 else short


def default_int_dtype() -> np.dtype:
    """Return int32, or int64 in x64 mode."""
    return python_scalar_dtype(int)


def default_uint_dtype() -> np.dtype:
    """Return uint32, or uint64 in x64 mode."""
    return _U64 if config.current.jax_enable_x64 else _U32


def default_float_dtype() -> np.dtype:
    """Return float32, or float64 in x64 mode."""
    return python_scalar_dtype(float)


def default_complex_dtype() -> np.dtype:
    """Return complex64, or complex128 in x64 mode."""
    return python_scalar_dtype(complex)


# ---------------------------------------------------------------------------------------------
# From what users write to dtypes.


def _named(spec: DTypeLike) -> Dtype:
    """Return the dtype that ``spec`` names, with no regard to x64 mode."""
    return spec if isinstance(spec, ExtendedDtype) else np.dtype(spec)


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


def check_user_dtype_supported(dtype: DTypeLike, fun_name: str | None = None) -> Dtype:
    """Return the canonical form of a dtype that a user asked for by name.

    Python's scalar types mean the default dtypes. Asking for 64 bits without x64 mode warns (or
    raises, or is granted, by ``jax_explicit_x64_dtypes``). ``fun_name`` is for the message.
    """
    if isinstance(dtype, type) and dtype in _DEFAULTS:
        return python_scalar_dtype(dtype)
    if dtype is None:
        return default_float_dtype()
    element = _named(dtype)
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
    """Return the Python type (bool, int, float or complex) for the elements of a value or dtype."""
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


# ---------------------------------------------------------------------------------------------
# The hierarchy of types.

_subtype_memo: dict[tuple[object, object], bool] = {}


def issubdtype(a: DTypeLike, b: DTypeLike) -> bool:
    """Whether ``a`` is ``b`` or below it, as ``numpy.issubdtype``, for all dtypes that exist.

    >>> issubdtype(bfloat16, np.floating), issubdtype(np.float32, np.integer)
    (True, False)
    """
    try:
        return _subtype_memo[a, b]
    except (KeyError, TypeError):
        pass
    answer = _issubdtype(a, b)
    if len(_subtype_memo) < 10_000 and not isinstance(a, str) and not isinstance(b, str):
        _subtype_memo[a, b] = answer
    return answer


def _issubdtype(a: DTypeLike, b: DTypeLike) -> bool:
    """Answer ``issubdtype`` afresh."""
    if isinstance(b, ExtendedDtype):
        return a is b
    lower, upper = _scalar_class(a), _scalar_class(b)
    return issubclass(lower, upper) or issubclass(_ABSTRACT.get(lower, lower), upper)


def _scalar_class(spec: DTypeLike) -> type:
    """Return the scalar type (a subclass of ``np.generic``) that a dtype or type stands for."""
    if isinstance(spec, type) and issubclass(spec, np.generic):
        return spec
    return spec.type if isinstance(spec, ExtendedDtype) else np.dtype(spec).type


def itemsize_bits(dtype: DTypeLike) -> int:
    """Return the number of bits of an element, which for narrow types is less than is stored."""
    element = _named(dtype)
    if element not in _SUPPORTED or element == float0:
        raise ValueError(f"unexpected input: dtype={dtype!r}")
    if element == _BOOL or element.kind != "V":
        return element.itemsize * 8
    return (iinfo if element in _NARROW_INTS else finfo)(element).bits


def supports_inf(dtype: DTypeLike) -> bool:
    """Whether the dtype has an infinity."""
    if not issubdtype(dtype, np.inexact):
        return False
    element = to_floating_dtype(dtype)
    return bool(np.isinf(np.array(np.inf, element).astype(np.float64)))


_short_names: dict[Dtype, str] = {float0: "float0", _BOOL: "bool", _BF16: "bf16"}


def short_dtype_name(dtype: DTypeLike) -> str:
    """Return the name used in program text: ``f32``, ``i8``, ``bool``, ``key<fry>``."""
    element = _named(dtype)
    name = _short_names.get(element)
    if name is None:
        name = element.name
        if not isinstance(element, ExtendedDtype):
            for word in ("float", "uint", "int", "complex"):
                name = name.replace(word, word[0])
        _short_names[element] = name
    return name


def dtype_name(dtype: DTypeLike) -> str:
    """Return the name used in messages: ``float32``, ``bool``, ``float0``, ``key<fry>``."""
    element = _named(dtype)
    return "float0" if element == float0 else element.name


# ---------------------------------------------------------------------------------------------
# Changing the kind and keeping the width.

_INEXACT: Mapping[np.dtype, np.dtype] = {
    _BOOL: _F32,
    **dict.fromkeys(_INTS, _F32),
    _I64: _F64,
    _U64: _F64,
}
_REAL: Mapping[np.dtype, np.dtype] = {_C64: _F32, _C128: _F64}


def to_numeric_dtype(dtype: DTypeLike) -> np.dtype:
    """Return int32 for bool, and every other dtype as it is."""
    element = np.dtype(dtype)
    return _I32 if element == _BOOL else element


def to_inexact_dtype(dtype: DTypeLike) -> np.dtype:
    """Return the float dtype that integers and booleans turn into, and others as they are."""
    element = np.dtype(dtype)
    return _INEXACT.get(element, element)


def to_floating_dtype(dtype: DTypeLike) -> np.dtype:
    """Return a real float dtype: that of the parts for complex, as ``to_inexact_dtype`` else."""
    element = to_inexact_dtype(dtype)
    if not issubdtype(element, np.inexact):
        raise ValueError(f"data type {element!r} not compatible with finfo")
    return _REAL.get(element, element)


def to_complex_dtype(dtype: DTypeLike) -> np.dtype:
    """Return the complex dtype whose parts can hold values of ``dtype``."""
    element = to_inexact_dtype(dtype)
    return _C128 if element in (_F64, _C128) else _C64


# ---------------------------------------------------------------------------------------------
# The lattice.


def _arrows(x64: bool) -> dict[Node, tuple[Node, ...]]:
    """Return what lies directly above each node; without x64, uint32 is below int32."""
    return {
        _BOOL: (int,),
        int: (_U8, _I8, *_NARROW_INTS),
        _U8: (_I16, _U16),
        _U16: (_I32, _U32),
        _U32: (_I64 if x64 else _I32, _U64),
        _U64: (float,),
        _I8: (_I16,),
        _I16: (_I32,),
        _I32: (_I64,),
        _I64: (float,),
        float: (_BF16, _F16, *_NARROW_FLOATS, complex),
        _BF16: (_F32,),
        _F16: (_F32,),
        _F32: (_F64, _C64),
        _F64: (_C128,),
        complex: (_C64,),
        _C64: (_C128,),
    }


def _strict_arrows() -> dict[Node, tuple[Node, ...]]:
    """Return the arrows of strict mode: only weak nodes have anything above them."""
    return {_BOOL: (), int: (*_INTS, float), float: (*_FLOATS, complex), complex: _COMPLEX}


# The lattice of each (strict, x64).
_LATTICES: Mapping[tuple[bool, bool], dict[Node, frozenset[Node]]] = {
    (False, False): lattice.upper_sets(_arrows(x64=False)),
    (False, True): lattice.upper_sets(_arrows(x64=True)),
    (True, False): lattice.upper_sets(_strict_arrows()),
    (True, True): lattice.upper_sets(_strict_arrows()),
}


def _join(nodes: Iterable[Node], strict: bool, x64: bool) -> Node:
    """Return the least upper bound of ``nodes``, or raise ``TypePromotionError``."""
    distinct = tuple(dict.fromkeys(nodes))
    if len(distinct) == 1:
        return distinct[0]
    order = _LATTICES[strict, x64]
    for node in distinct:
        if node not in order:
            raise ValueError(f"dtype={node!r} is not a valid dtype for JAX type promotion.")
    bound = lattice.least_upper_bound(distinct, order)
    if bound is None:
        raise TypePromotionError(_no_join_message(distinct, strict))
    return bound


def _no_join_message(nodes: tuple[Node, ...], strict: bool) -> str:
    """Return the text that says why the nodes have no common dtype."""
    names = tuple(str(node) for node in nodes)
    start = f"Input dtypes {names} have no available implicit dtype promotion path"
    if strict:
        return (
            f"{start} when jax_numpy_dtype_promotion=strict. Try explicitly casting inputs to the "
            "desired output type, or set jax_numpy_dtype_promotion=standard."
        )
    families = (
        (_FLOAT8, "8-bit floats", "float32"),
        (_FLOAT6, "6-bit floats", "float32"),
        (_FLOAT4, "4-bit floats", "float32"),
        (_NARROW_INTS, "1-bit, 2-bit and 4-bit integers", "int32"),
    )
    for members, family, target in families:
        if any(node in members for node in nodes):
            return (
                f"{start}. To avoid unintended promotion, {family} do not support implicit "
                "promotion. If you'd like your inputs to be promoted to another type, you can do "
                f"so explicitly using e.g. x.astype('{target}')"
            )
    return f"{start}."


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
    nodes = [each if each in (int, float, complex) else _named(each) for each in (a, b)]
    node = _join(nodes, strict, mode.jax_enable_x64)
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
    **{element: (element, int) for element in _INTS},
    **{element: (element, float) for element in _FLOATS},
    **{element: (element, complex) for element in _COMPLEX},
}

_SCALAR_OPERANDS: Mapping[type, Dtype | type] = {
    bool: _BOOL,
    int: int,
    float: float,
    complex: complex,
}


def is_weakly_typed(x: object) -> bool:
    """Whether a value is weak: a Python number (bool excepted), or an array that says so."""
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
        return _default_of_kind(_join(map(_dtype_of_operand, operands), strict, x64))
    nodes: list[Node] = [each[1] if isinstance(each, tuple) else each for each in operands]
    if len(nodes) > 1:
        # (A lone value keeps its dtype even when it was made under another mode.)
        nodes = [narrow.get(node, node) for node in nodes]
    node = _join(nodes, strict, x64)
    if isinstance(node, type):
        return python_scalar_dtype(node), True
    return (narrow.get(node, node) if len(nodes) > 1 else node), False


def _default_of_kind(node: Node) -> tuple[Dtype, bool]:
    """Return the default dtype of the kind of a weak result, and whether it is weak at all."""
    if node in _UNSIGNED or node in _NARROW_UNSIGNED:
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


__dir__ = listed_names("jax.dtypes", globals())
