"""Comparing whole arrays, and questions about arrays and dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes, lax
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Tracer, Value
from tapeless.numpy.common import (
    asarray,
    check_arraylike,
    const,
    convert,
    dtype_of,
    promote_args,
    promote_shapes,
    value_of,
)
from tapeless.numpy.floats import isfinite
from tapeless.numpy.ufuncs import imag
from tapeless.runtime.array import Array
from tapeless.util.elements import ExtendedDtype

__all__ = [
    "allclose",
    "array_equal",
    "array_equiv",
    "can_cast",
    "finfo",
    "iinfo",
    "iscomplex",
    "iscomplexobj",
    "isclose",
    "isdtype",
    "isreal",
    "isrealobj",
    "isscalar",
    "issubdtype",
    "iterable",
    "promote_types",
    "result_type",
]

can_cast = np.can_cast
finfo = dtypes.finfo
iinfo = dtypes.iinfo
iterable = np.iterable


# Values


@jit(static_argnames=("equal_nan",))
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Array:
    """Return whether |a - b| <= atol + rtol * |b|, elementwise; infinities must be equal.

    a, b: shapes that broadcast to (n,) -> (n,) of bool

    >>> import tapeless.numpy as jnp
    >>> jnp.isclose(jnp.array([1.0, 2.0]), jnp.array([1.0 + 1e-7, 2.1]))
    Array([ True, False], dtype=bool)
    """
    a, b = promote_args("isclose", a, b)
    kind = dtype_of(a)
    if isinstance(kind, dtypes.ExtendedDtype):
        return lax.eq(a, b)
    if kind == np.bool_:
        kind = dtypes.default_int_dtype()
    if not dtypes.issubdtype(kind, np.inexact):
        kind = dtypes.to_inexact_dtype(kind)
    kind = dtypes.canonicalize_dtype(kind)
    a, b = convert(a, kind), convert(b, kind)
    real = (
        kind if not dtypes.issubdtype(kind, np.complexfloating) else np.zeros((), kind).real.dtype
    )
    rtol, atol = convert(value_of(rtol), real), convert(value_of(atol), real)
    both_nan = lax.bitwise_and(lax.ne(a, a), lax.ne(b, b))
    finite = isfinite(b)
    distance = lax.abs(lax.sub(a, b))
    bound = lax.add(atol, lax.mul(rtol, lax.abs(b)))
    near = lax.le(*promote_shapes("isclose", distance, bound))
    same = lax.eq(a, b)
    out = lax.bitwise_or(same, lax.bitwise_and(finite, near))
    return lax.bitwise_or(out, both_nan) if equal_nan else out


@jit(static_argnames=("equal_nan",))
def allclose(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> Array:
    """Return whether all elements are close; as `isclose`.

    a, b: shapes that broadcast -> ()

    >>> import tapeless.numpy as jnp
    >>> jnp.allclose(jnp.array([1.0, 2.0]), jnp.array([1.0 + 1e-7, 2.0]))
    Array(True, dtype=bool)
    """
    check_arraylike("allclose", a, b)
    return _all(isclose(a, b, rtol, atol, equal_nan=equal_nan))


def _all(x: Value) -> Value:
    """Return whether all of the booleans hold."""
    return lax.reduce_and(lax.convert_element_type(x, bool), range(typeof(x).ndim))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Array:
    """Return whether two arrays have the same shape and the same elements: (...) and (...) -> ().

    >>> import tapeless.numpy as jnp
    >>> jnp.array_equal(jnp.arange(3), jnp.array([0, 1, 2]))
    Array(True, dtype=bool)
    """
    a1, a2 = asarray(a1), asarray(a2)
    if typeof(a1).shape != typeof(a2).shape:
        return asarray(False)
    a1, a2 = promote_args("array_equal", a1, a2)
    same = lax.eq(a1, a2)
    if equal_nan:
        same = lax.bitwise_or(same, lax.bitwise_and(lax.ne(a1, a1), lax.ne(a2, a2)))
    return _all(same)


def array_equiv(a1: Any, a2: Any) -> Array:
    """Return whether two arrays broadcast to the same elements: (...) and (...) -> ().

    >>> import tapeless.numpy as jnp
    >>> jnp.array_equiv(jnp.ones((2, 3)), jnp.ones(3))
    Array(True, dtype=bool)
    """
    a1, a2 = asarray(a1), asarray(a2)
    try:
        lax.broadcast_shapes(typeof(a1).shape, typeof(a2).shape)
    except ValueError:
        return asarray(False)
    return _all(lax.eq(*promote_args("array_equiv", a1, a2)))


@jit
def iscomplex(x: Any) -> Array:
    """Return whether the imaginary part is not 0, elementwise.

    x: (n,) -> (n,) of bool

    >>> import tapeless.numpy as jnp
    >>> jnp.iscomplex(jnp.array([1.0, 1j]))
    Array([False,  True], dtype=bool)
    """
    part = imag(x)
    return lax.ne(part, const(part, 0))


@jit
def isreal(x: Any) -> Array:
    """Return whether the imaginary part is 0, elementwise.

    x: (n,) -> (n,) of bool

    >>> import tapeless.numpy as jnp
    >>> jnp.isreal(jnp.array([1.0, 1j]))
    Array([ True, False], dtype=bool)
    """
    part = imag(x)
    return lax.eq(part, const(part, 0))


# Kinds of objects and dtypes


def iscomplexobj(x: Any) -> bool:
    """Tell whether the dtype of x is complex, whatever its elements are.

    >>> import tapeless.numpy as jnp
    >>> jnp.iscomplexobj(jnp.array([1.0 + 0j]))
    True
    """
    if x is None:
        return False
    kind = getattr(x, "dtype", None)
    if kind is None:
        kind = np.asarray(x).dtype
        kind = dtypes.array_dtype(kind) if kind.hasobject else kind
    return dtypes.issubdtype(kind, np.complexfloating)


def isrealobj(x: Any) -> bool:
    """Tell whether the dtype of x is not complex.

    >>> import tapeless.numpy as jnp
    >>> jnp.isrealobj(jnp.array([1.0 + 0j]))
    False
    """
    return not iscomplexobj(x)


def isscalar(element: Any) -> bool:
    """Tell whether x is a scalar: of Python, of NumPy, or an array without axes.

    Unlike in NumPy, arrays without axes count, since they are what operations on scalars return.

    >>> import tapeless.numpy as jnp
    >>> jnp.isscalar(3.0), jnp.isscalar(jnp.array(3.0)), jnp.isscalar(jnp.array([3.0]))
    (True, True, False)
    """
    if np.isscalar(element):
        return True
    if hasattr(element, "__jax_array__"):
        element = element.__jax_array__()
    if isinstance(element, (np.ndarray, Array, Tracer)):
        return typeof(element).ndim == 0
    return False


def result_type(*args: Any) -> Any:
    """Return the dtype of an operation on these arrays, numbers and dtypes.

    >>> import tapeless.numpy as jnp
    >>> jnp.result_type(1, jnp.ones(2, "float16"))
    dtype('float16')
    """
    _check_no_key_dtypes("result_type", args, "Cannot determine dtype of {}")
    return dtypes.result_type(*args)


def promote_types(a: Any, b: Any) -> Any:
    """Return the dtype that two dtypes promote to.

    Unlike in NumPy, integers do not widen floats: the width of the float is kept.

    >>> import tapeless.numpy as jnp
    >>> jnp.promote_types("int32", "float16")
    dtype('float16')
    """
    _check_no_key_dtypes("promote_types", (a, b), "Cannot interpret '{}' as a data type")
    return dtypes.promote_types(a, b)


def _check_no_key_dtypes(name: str, args: Sequence[Any], sentence: str) -> None:
    """Raise TypeError if an argument is a dtype of keys."""
    for x in args:
        if isinstance(x, ExtendedDtype):
            raise TypeError(
                f"{sentence.format(repr(x))}: {name} wants dtypes of numbers, and keys promote to "
                f"none. Use the numbers of keys, jax.random.key_data(key), or compare dtypes by ==."
            )


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Tell whether a dtype is of another dtype, or of a kind such as `jnp.floating`.

    >>> import tapeless.numpy as jnp
    >>> jnp.issubdtype(jnp.bfloat16, jnp.floating)
    True
    """
    return dtypes.issubdtype(arg1, arg2)


_KINDS = {
    "bool": (np.bool_,),
    "signed integer": (np.signedinteger,),
    "unsigned integer": (np.unsignedinteger,),
    "integral": (np.integer,),
    "real floating": (np.floating,),
    "complex floating": (np.complexfloating,),
    "numeric": (np.integer, np.floating, np.complexfloating),
}


def isdtype(dtype: Any, kind: Any) -> bool:
    """Tell whether a dtype is of a kind: the array API's words, a dtype, or a tuple of these.

    >>> import tapeless.numpy as jnp
    >>> jnp.isdtype("float32", ("integral", "real floating"))
    True
    """
    element = dtype if isinstance(dtype, dtypes.ExtendedDtype) else np.dtype(dtype)
    for each in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(each, str) and each in _KINDS:
            if any(dtypes.issubdtype(element, abstract) for abstract in _KINDS[each]):
                return True
        elif element == _dtype_among_kinds(each):
            return True
    return False


def _dtype_among_kinds(kind: Any) -> Any:
    """Return the dtype that stands where a kind may stand."""
    try:
        return kind if isinstance(kind, dtypes.ExtendedDtype) else np.dtype(kind)
    except TypeError:
        raise ValueError(
            f"Unrecognized {kind=} expected one of {list(_KINDS)}, or a compatible input for "
            "jnp.dtype()"
        ) from None
