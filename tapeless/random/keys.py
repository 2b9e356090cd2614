"""Keys: making, splitting and looking into them.

A key is an element of an array of dtype `key<fry>`.  The old form, a uint32 array whose last axis
has two elements, is accepted wherever a key is; `PRNGKey` and what derives from an old key return
it.

Every sampler wants one key; an array of keys is refused with the advice to use `vmap`.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NewType

import numpy as np

from tapeless import config, dtypes
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy.common import asarray
from tapeless.prims import bits
from tapeless.prims.bits import PRNGImpl, threefry_prng_impl
from tapeless.prims.convert import convert_element_type
from tapeless.prims.structural import reshape
from tapeless.random.requests import check_raw, is_key, one_key
from tapeless.runtime.array import Array

__all__ = [
    "Key",
    "PRNGKey",
    "clone",
    "fold_in",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "split",
    "wrap_key_data",
]

Key = NewType("Key", Array)
Key.__doc__ = """The type of an array of keys, for annotations.

>>> def draw(key: Key) -> Array: ...
"""
_IMPLEMENTATIONS = {"threefry2x32": threefry_prng_impl}


def _implementation(spec: Any) -> PRNGImpl:
    """Return the generator that a name, a PRNGImpl or None (the default) stands for."""
    if spec is None:
        spec = config.current.jax_default_prng_impl
    if isinstance(spec, PRNGImpl):
        return spec
    if spec in _IMPLEMENTATIONS:
        return _IMPLEMENTATIONS[spec]
    if spec in ("rbg", "unsafe_rbg"):
        raise NotImplementedError(
            f"the PRNG implementation {spec!r} gives the bits of an accelerator's generator, which "
            f"is not there; use 'threefry2x32'"
        )
    known = ", ".join(f'"{name}"' for name in _IMPLEMENTATIONS)
    raise ValueError(f'unrecognized PRNG implementation "{spec}". Did you mean one of: {known}?')


def _seed(seed: Any, impl: Any, name: str) -> Value:
    """Return the typed key of a seed."""
    if is_key(seed):
        raise TypeError(f"{name} accepts a scalar seed, but was given a PRNG key.")
    shape = np.shape(seed)
    if shape:
        raise TypeError(
            f"{name} accepts a scalar seed, but was given an array of shape {shape} != (). Use "
            f"jax.vmap for batching"
        )
    if isinstance(seed, int) and not isinstance(seed, bool):
        seed = _wrapped_seed(seed)
    value = asarray(seed)
    if typeof(value).dtype == np.bool_:
        value = convert_element_type(value, np.int32)
    if not dtypes.issubdtype(typeof(value).dtype, np.integer):
        raise TypeError(f"PRNG key seed must be an integer; got {value!r}")
    return bits.random_seed(value, _implementation(impl))


def _wrapped_seed(seed: int) -> Any:
    """Return a Python int in the integer dtype of keys: the low bits of a large one."""
    width = 64 if config.x64_mode() else 32
    low = seed & ((1 << width) - 1)
    signed = low - (1 << width) if low >> (width - 1) else low
    return np.dtype(f"int{width}").type(signed)


def key(seed: Any, *, impl: Any = None, dtype: Any = None) -> Value:
    """Return a key of dtype `key<fry>` for an integer seed.

    >>> key(0)
    Array((), dtype=key<fry>) overlaying:
    [0 0]
    """
    return _seed(seed, impl, "key")


def PRNGKey(seed: Any, *, impl: Any = None) -> Value:  # noqa: N802
    """Return a key in the old form, a uint32 array of shape (2,).

    >>> PRNGKey(3)
    Array([0, 3], dtype=uint32)
    """
    return bits.random_unwrap(_seed(seed, impl, "PRNGKey"))


def key_data(keys: Any) -> Value:
    """Return the words behind keys: shape (*keys, 2), uint32.

    >>> key_data(key(3))
    Array([0, 3], dtype=uint32)
    """
    if is_key(keys):
        return bits.random_unwrap(keys)
    check_raw(keys)
    return asarray(keys)


def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> Value:
    """Return the typed keys with these words; the inverse of `key_data`.

    >>> wrap_key_data(np.array([0, 3], np.uint32))
    Array((), dtype=key<fry>) overlaying:
    [0 3]
    """
    check_raw(key_bits_array)
    return bits.random_wrap(asarray(key_bits_array), impl=_implementation(impl))


def key_impl(keys: Any) -> str:
    """Return the name of the generator that keys belong to.

    >>> key_impl(key(0))
    'threefry2x32'
    """
    dtype: dtypes.Dtype = typeof(keys).dtype
    return dtype.impl if isinstance(dtype, dtypes.KeyDtype) else threefry_prng_impl.name


def key_dtype(impl_spec: Any = None) -> Any:
    """Return the dtype of the keys of a generator.

    >>> key_dtype()
    key<fry>
    """
    return typeof(key(0, impl=impl_spec)).dtype


def _like(keys: Value, raw: bool) -> Value:
    """Return derived keys in the form of the key that they come from."""
    return bits.random_unwrap(keys) if raw else keys


def split(key: Any, num: int | Sequence[int] = 2) -> Value:
    """Return `num` (an int or a shape) independent keys.

    >>> split(PRNGKey(0))
    Array([[1797259609, 2579123966],
           [ 928981903, 3453687069]], dtype=uint32)
    """
    typed, raw = one_key("split", key)
    shape = tuple(num) if isinstance(num, Sequence) else (num,)
    sizes = tuple(operator.index(n) for n in shape)
    if any(n < 0 for n in sizes):
        raise ValueError(f"split makes a non-negative number of keys, got {num}")
    return _like(bits.random_split(typed, sizes), raw)


def fold_in(key: Any, data: Any) -> Value:
    """Return the key that the integer `data` names among the children of `key`.

    >>> fold_in(PRNGKey(42), 7)
    Array([2547012911, 1371500959], dtype=uint32)
    """
    typed, raw = one_key("fold_in", key)
    shape = np.shape(data)
    if shape:
        raise TypeError(
            f"fold_in accepts a scalar, but was given an array of shape {shape} != (). Use "
            f"jax.vmap for batching."
        )
    if isinstance(data, (int, np.integer)) and not isinstance(data, bool):
        word = np.uint32(data)
    elif isinstance(data, Array) and dtypes.issubdtype(data.dtype, np.integer):
        word = np.asarray(data).astype(np.uint32)[()]
    else:
        word = convert_element_type(asarray(data), np.uint32)
    return _like(bits.random_fold_in(typed, word), raw)


def clone(key: Any) -> Value:
    """Return a key with the same bits, to be used again on purpose.

    >>> clone(PRNGKey(3))
    Array([0, 3], dtype=uint32)
    """
    if is_key(key):
        return bits.random_clone(key)
    check_raw(key)
    return reshape(key, typeof(key).shape)
