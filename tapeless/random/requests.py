"""What all samplers do with their arguments: find the one key, check shapes and dtypes."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np

from tapeless import config, dtypes
from tapeless.core.aval import is_value, typeof
from tapeless.core.trace import Value
from tapeless.numpy.common import asarray, shape_error
from tapeless.prims import bits
from tapeless.prims.bits import prng_impls
from tapeless.prims.join import unstack
from tapeless.util import frames

__all__ = [
    "check_cast",
    "check_dtype",
    "check_form",
    "check_raw",
    "check_shape",
    "float_dtype",
    "float_request",
    "is_key",
    "one_key",
    "shape_of_parameters",
    "shape_of_request",
    "split_in",
]

Shape = tuple[int, ...]


def is_key(x: Any) -> bool:
    """Tell whether a value is an array of typed keys."""
    return isinstance(getattr(x, "dtype", None), dtypes.KeyDtype) and is_value(x)


def check_raw(keys: Any, impl: dtypes.PRNGImpl) -> None:
    """Refuse what cannot be keys of a generator in the old form."""
    wrong = "JAX encountered invalid PRNG key data: expected "
    if not (hasattr(keys, "shape") and hasattr(keys, "dtype")):
        what = f"{wrong}key_data to have ndim, shape, and dtype attributes. Got {keys}."
        if not isinstance(keys, Number):
            what = f"unexpected PRNG key type {type(keys)}, {keys!r}."
        raise TypeError(
            f"{what} Keys are made by jax.random.key(seed), and are the first argument."
        )
    if not keys.shape:
        raise TypeError(f"{wrong}key_data.ndim >= 1; got ndim=0")
    if tuple(keys.shape[-1:]) != impl.key_shape:
        raise TypeError(
            f"{wrong}key_data.shape to end with {impl.key_shape}; got shape={tuple(keys.shape)} "
            f"for impl={impl}"
        )
    if keys.dtype != np.uint32:
        name = dtypes.dtype_name(keys.dtype)
        raise TypeError(f"{wrong}key_data.dtype = uint32; got dtype={name}")


def check_form() -> None:
    """Refuse a key in the old form, or warn of it, as the flags say."""
    mode = config.current.jax_legacy_prng_key
    text = (
        "Legacy uint32 key array passed as key to jax.random function; keys are made by "
        'jax.random.key(seed). Where the old form is meant, set jax_legacy_prng_key="allow".'
    )
    if mode == "error":
        raise ValueError(text)
    if mode == "warn":
        frames.warn(text)
    if config.current.jax_enable_custom_prng:
        frames.warn("Arrays as keys are deprecated by jax_enable_custom_prng.", FutureWarning)


def one_key(name: str, given: Any) -> tuple[Value, bool]:
    """Return the one typed key of an argument, and whether it came in the old form."""
    raw = not is_key(given)
    shown = tuple(np.shape(given)) if raw else typeof(given).shape
    if raw:
        impl = prng_impls[config.current.jax_default_prng_impl]
        check_raw(given, impl)
        check_form()
        given = bits.random_wrap(asarray(given), impl=impl)
    if typeof(given).shape:
        raise ValueError(
            f"{name} accepts a single key, but was given a key array of shape {shown} != (). Use "
            f"jax.vmap for batching."
        )
    return given, raw


def split_in(key: Value, n: int) -> Sequence[Value]:
    """Return `n` keys made of one, as separate values."""
    return unstack(bits.random_split(key, (n,)))


def shape_of_request(shape: Any) -> Shape:
    """Return the shape that the user asked for as a tuple of ints."""
    # A vector of integers is a shape, though it has an `__index__`, too.
    is_many = isinstance(shape, (tuple, list)) or np.iterable(shape)
    try:
        result = tuple(map(operator.index, shape if is_many else (shape,)))
    except TypeError:
        error = shape_error(shape)
        if not is_many:
            error = TypeError(f"{type(shape).__name__!r} object is not iterable. {error}")
        raise error from None
    if min(result, default=0) < 0:
        raise ValueError(f"shapes must have non-negative extents, got {result}")
    return result


def shape_of_parameters(name: str, shape: Any, *parameters: Any) -> Shape:
    """Return the shape asked for, or (None) that to which the parameters stretch."""
    shapes = [np.shape(x) for x in parameters]
    if shape is None:
        return np.broadcast_shapes(*shapes)
    asked = shape_of_request(shape)
    check_shape(name, asked, *shapes)
    return asked


def check_shape(name: str, shape: Shape, *param_shapes: Shape) -> None:
    """Raise ValueError unless the parameters' shapes broadcast to `shape`."""
    try:
        result = np.broadcast_shapes(shape, *param_shapes)
    except ValueError:
        shown = ", ".join(str(s) for s in (shape, *param_shapes))
        raise ValueError(f"Incompatible shapes for broadcasting: shapes=[{shown}]") from None
    if result != shape:
        raise ValueError(
            f"{name} parameter shapes must be broadcast-compatible with shape argument, and the "
            "result of broadcasting the shapes must equal the shape argument, but got result "
            f"{result} for shape argument {shape}."
        )


@functools.cache
def _default_dtype(default: Any, x64: bool) -> np.dtype:
    """Return what a default is in a mode, which is asked for by each of many small draws."""
    return dtypes.canonicalize_dtype(default)


def check_dtype(
    name: str,
    dtype: Any,
    default: Any,
    kind: Any,
    words: str,
) -> np.dtype:
    """Return the dtype asked for, or the default; raise ValueError if it is of another kind."""
    if dtype is None:
        return _default_dtype(default, config.current.jax_enable_x64)
    canonical = dtypes.check_user_dtype_supported(dtype, name)
    if not isinstance(canonical, np.dtype) or not dtypes.issubdtype(canonical, kind):
        raise ValueError(
            f"dtype argument to `{name}` must be {words}, got {dtypes.dtype_name(canonical)}"
        )
    return canonical


def float_dtype(name: str, dtype: Any) -> np.dtype:
    """Return the floating dtype asked for, or the default."""
    return check_dtype(name, dtype, np.float64, np.floating, "a float dtype")


# Distributions whose parameters are rounded to the dtype of the result without complaint.
_ROUNDS_PARAMETERS = frozenset({"truncated_normal", "binomial"})


def check_cast(name: str, parameter: Any, wanted: np.dtype) -> None:
    """Refuse a parameter that loses digits in the dtype of the result; weak ones adapt."""
    if np.dtype(wanted) != dtypes.result_type(wanted, parameter):
        given = dtypes.dtype_name(dtypes.dtype(parameter))
        raise dtypes.TypePromotionError(
            f"In arguments to {name}, cannot safely cast argument of type {given} to "
            f"{dtypes.dtype_name(wanted)}"
        )


def float_request(
    name: str, key: Any, shape: Any, dtype: Any, *parameters: Any
) -> tuple[Value, Shape, np.dtype]:
    """Return the one key, the shape and the dtype of a request for floating numbers.

    parameters: of the distribution; the shape, by default, is that to which they stretch.

    Raises TypePromotionError for parameters of a wider dtype than that of the result.
    """
    typed, _ = one_key(name, key)
    wanted = float_dtype(name, dtype)
    if name not in _ROUNDS_PARAMETERS:
        for parameter in parameters:
            check_cast(name, parameter, wanted)
    if not parameters:
        return typed, shape_of_request(shape), wanted
    return typed, shape_of_parameters(name, shape, *parameters), wanted
