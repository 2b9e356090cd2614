"""Element types: which exist, what they are called, and their hierarchy.

A *dtype* is a NumPy dtype (with ml_dtypes' narrow floats and integers), or an *extended* dtype,
which NumPy does not know: the only one is ``KeyDtype``, for random keys. ``float0`` is the dtype of
tangents of integers; it holds nothing.

Nothing here depends on a mode. What 64-bit mode does to a dtype, and what operands of several
dtypes become, is the business of ``tapeless.dtypes``, where users find the names of this file too.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import ml_dtypes
import numpy as np

from tapeless.util.records import record

__all__ = [
    "BOOL", "COMPLEX", "DTypeLike", "Dtype", "ExtendedDtype", "FLOAT4", "FLOAT6", "FLOAT8",
    "FLOATS", "HALVED", "INTS", "KeyDtype", "NARROW_FLOATS", "NARROW_INTS", "NARROW_UNSIGNED",
    "Node", "PRNGImpl", "SIGNED", "SUPPORTED", "UNSIGNED", "WIDE_FLOATS", "bfloat16",
    "dtype_name", "extended", "finfo", "float0", "iinfo", "is_supported", "issubdtype",
    "itemsize_bits", "key_dtype", "named_dtype", "prng_key", "short_dtype_name", "supports_inf",
    "to_complex_dtype",
    "to_floating_dtype", "to_inexact_dtype", "to_numeric_dtype",
]  # fmt: skip


class extended(np.generic):  # noqa: N801 - a scalar type, named as NumPy names its own
    """The abstract scalar type of all extended dtypes, for ``issubdtype``.

    >>> jnp.issubdtype(jax.random.key(0).dtype, jax.dtypes.extended)
    True
    """


class prng_key(extended):  # noqa: N801
    """The abstract scalar type of all key dtypes, for ``issubdtype``.

    >>> jnp.issubdtype(jax.random.key(0).dtype, jax.dtypes.prng_key)
    True
    """


class ExtendedDtype:
    """A dtype unknown to NumPy: an array of it is carried by a larger array of a NumPy dtype.

    An array of shape ``(*s,)`` is carried by one of shape ``(*s, *physical_shape)`` and dtype
    ``physical_dtype``.

    >>> jax.random.key(0).dtype
    key<fry>
    >>> jax.random.key(0).dtype.physical_shape
    (2,)
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


@record
class PRNGImpl:
    """A generator: its name, the tag that programs print, and the number of words of a key.

    >>> jax.random.key_impl(jax.random.key(0))
    'threefry2x32'
    """

    name: str
    tag: str
    key_shape: tuple[int, ...]

    @property
    def dtype(self) -> KeyDtype:
        """The dtype of its keys."""
        return key_dtype(self.name, self.tag, self.key_shape)

    def __str__(self) -> str:
        """Return the tag."""
        return self.tag


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

    @property
    def prng_impl(self) -> PRNGImpl:
        """The generator."""
        tag = self.name.removeprefix("key<").removesuffix(">")
        return PRNGImpl(self.impl, tag, self.physical_shape)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as a call of ``key_dtype``, so that copies are the same object."""
        return key_dtype, (self.impl, self.prng_impl.tag, self.physical_shape)


Dtype: TypeAlias = np.dtype | ExtendedDtype
# Whatever names a dtype: what NumPy takes, or an extended dtype.
DTypeLike: TypeAlias = Any
# What promotion works on: a dtype, or one of int, float, complex for a weakly typed value.
Node: TypeAlias = np.dtype | ExtendedDtype | type

_key_dtypes: dict[str, KeyDtype] = {}


def key_dtype(impl: str, tag: str, shape: tuple[int, ...]) -> KeyDtype:
    """Return the dtype of keys of the generator ``impl`` (always the same object).

    >>> key_dtype("threefry2x32", "fry", (2,)) is jax.random.key(0).dtype
    True
    """
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

BOOL = np.dtype(np.bool_)
SIGNED = tuple(np.dtype(f"int{bits}") for bits in (8, 16, 32, 64))
UNSIGNED = tuple(np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64))
WIDE_FLOATS = tuple(map(np.dtype, (bfloat16, np.float16, np.float32, np.float64)))
COMPLEX = tuple(map(np.dtype, (np.complex64, np.complex128)))
_I8, _I16, _I32, _I64 = SIGNED
_U8, _U16, _U32, _U64 = UNSIGNED
_BF16, _F16, _F32, _F64 = WIDE_FLOATS
_C64, _C128 = COMPLEX

NARROW_SIGNED = _narrow("int1", "int2", "int4")
NARROW_UNSIGNED = _narrow("uint1", "uint2", "uint4")
NARROW_INTS = NARROW_SIGNED + NARROW_UNSIGNED
FLOAT4 = _narrow("float4_e2m1fn")
FLOAT6 = _narrow("float6_e2m3fn", "float6_e3m2fn")
FLOAT8 = _narrow(
    "float8_e3m4", "float8_e4m3", "float8_e8m0fnu", "float8_e4m3b11fnuz", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
)  # fmt: skip
NARROW_FLOATS = FLOAT4 + FLOAT6 + FLOAT8

INTS = (*SIGNED, *UNSIGNED, *NARROW_INTS)
FLOATS = (*WIDE_FLOATS, *NARROW_FLOATS)
SUPPORTED = frozenset((BOOL, float0, *INTS, *FLOATS, *COMPLEX))

# What 64-bit dtypes are narrowed to where there are none.
HALVED: Mapping[Node, np.dtype] = {_I64: _I32, _U64: _U32, _F64: _F32, _C128: _C64}

# ml_dtypes' scalar types have no place in NumPy's hierarchy; these are theirs.
_ABSTRACT: Mapping[type, type] = {
    **{each.type: np.signedinteger for each in NARROW_SIGNED},
    **{each.type: np.unsignedinteger for each in NARROW_UNSIGNED},
    **{each.type: np.floating for each in (_BF16, *NARROW_FLOATS)},
}


def named_dtype(spec: DTypeLike) -> Dtype:
    """Return the dtype that ``spec`` names, with no regard to x64 mode."""
    return spec if isinstance(spec, ExtendedDtype) else np.dtype(spec)


def is_supported(element: Dtype) -> bool:
    """Whether arrays may have the dtype ``element``.

    >>> is_supported(np.dtype("float32")), is_supported(np.dtype("datetime64[s]"))
    (True, False)
    """
    return element in SUPPORTED or isinstance(element, ExtendedDtype)


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
    """Return the number of bits of an element, which for narrow types is less than is stored.

    >>> itemsize_bits("int4"), itemsize_bits("float32")
    (4, 32)
    """
    element = named_dtype(dtype)
    if element not in SUPPORTED or element == float0:
        raise ValueError(f"unexpected input: dtype={dtype!r}")
    if element == BOOL or element.kind != "V":
        return element.itemsize * 8
    return (iinfo if element in NARROW_INTS else finfo)(element).bits


def supports_inf(dtype: DTypeLike) -> bool:
    """Whether the dtype has an infinity.

    >>> supports_inf("float32"), supports_inf("float8_e4m3fn")
    (True, False)
    """
    if not issubdtype(dtype, np.inexact):
        return False
    element = to_floating_dtype(dtype)
    return bool(np.isinf(np.array(np.inf, element).astype(np.float64)))


_short_names: dict[Dtype, str] = {float0: "float0", BOOL: "bool", _BF16: "bf16"}


def short_dtype_name(dtype: DTypeLike) -> str:
    """Return the name used in program text: ``f32``, ``i8``, ``bool``, ``key<fry>``.

    >>> short_dtype_name("float32"), short_dtype_name("bool")
    ('f32', 'bool')
    """
    element = named_dtype(dtype)
    name = _short_names.get(element)
    if name is None:
        name = element.name
        if not isinstance(element, ExtendedDtype):
            for word in ("float", "uint", "int", "complex"):
                name = name.replace(word, word[0])
        _short_names[element] = name
    return name


def dtype_name(dtype: DTypeLike) -> str:
    """Return the name used in messages: ``float32``, ``bool``, ``float0``, ``key<fry>``.

    >>> dtype_name(np.float32)
    'float32'
    """
    element = named_dtype(dtype)
    return "float0" if element == float0 else element.name


# ---------------------------------------------------------------------------------------------
# Changing the kind and keeping the width.

_INEXACT: Mapping[np.dtype, np.dtype] = {
    BOOL: _F32,
    **dict.fromkeys(INTS, _F32),
    _I64: _F64,
    _U64: _F64,
}
_REAL: Mapping[np.dtype, np.dtype] = {_C64: _F32, _C128: _F64}


def to_numeric_dtype(dtype: DTypeLike) -> np.dtype:
    """Return int32 for bool, and every other dtype as it is.

    >>> to_numeric_dtype("bool"), to_numeric_dtype("int8")
    (dtype('int32'), dtype('int8'))
    """
    element = np.dtype(dtype)
    return _I32 if element == BOOL else element


def to_inexact_dtype(dtype: DTypeLike) -> np.dtype:
    """Return the float dtype that integers and booleans turn into, and others as they are.

    >>> to_inexact_dtype("int8"), to_inexact_dtype("complex64")
    (dtype('float32'), dtype('complex64'))
    """
    element = np.dtype(dtype)
    return _INEXACT.get(element, element)


def to_floating_dtype(dtype: DTypeLike) -> np.dtype:
    """Return a real float dtype: that of the parts for complex, as ``to_inexact_dtype`` else.

    >>> to_floating_dtype("complex64")
    dtype('float32')
    """
    element = to_inexact_dtype(dtype)
    if not issubdtype(element, np.inexact):
        raise ValueError(f"data type {element!r} not compatible with finfo")
    return _REAL.get(element, element)


def to_complex_dtype(dtype: DTypeLike) -> np.dtype:
    """Return the complex dtype whose parts can hold values of ``dtype``.

    >>> to_complex_dtype("float32"), to_complex_dtype("float64")
    (dtype('complex64'), dtype('complex128'))
    """
    element = to_inexact_dtype(dtype)
    return _C128 if element in (_F64, _C128) else _C64
