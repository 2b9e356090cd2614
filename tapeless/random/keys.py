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
from tapeless.numpy.arithmetic import add
from tapeless.numpy.common import asarray
from tapeless.prims import bits
from tapeless.prims.bits import prng_impls
from tapeless.prims.convert import convert_element_type
from tapeless.prims.structural import reshape
from tapeless.random.requests import check_form, check_raw, is_key, one_key
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


def _implementation(spec: Any) -> dtypes.PRNGImpl:
    """Return the generator that a name, a PRNGImpl, a dtype of keys or None (the default) names."""
    if spec is None:
        spec = config.current.jax_default_prng_impl
    if isinstance(spec, dtypes.PRNGImpl):
        return spec
    if isinstance(spec, dtypes.KeyDtype):
        return spec.prng_impl
    if not isinstance(spec, str):
        raise TypeError(f"unrecognized type {type(spec)} for specifying PRNG implementation.")
    if spec in prng_impls:
        return prng_impls[spec]
    known = ", ".join(f'"{name}"' for name in prng_impls)
    raise ValueError(f'unrecognized PRNG implementation "{spec}". Did you mean one of: {known}?')


def _chosen(name: str, impl: Any, dtype: Any) -> dtypes.PRNGImpl:
    """Return the generator that one of the arguments `impl` and `dtype` names."""
    if impl is not None and dtype is not None:
        raise ValueError(f"Cannot specify both `impl` and `dtype` arguments to jax.random.{name}")
    return _implementation(impl if dtype is None else dtype)


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
    if isinstance(seed, int):
        seed = _wrapped_seed(seed)
    value = asarray(seed)
    if not dtypes.issubdtype(typeof(value).dtype, np.integer):
        raise TypeError(f"PRNG key seed must be an integer; got {value!r}")
    offset = config.current.jax_random_seed_offset
    return bits.random_seed(add(value, offset) if offset else value, impl)


def _wrapped_seed(seed: int) -> Any:
    """Return a Python int of 64 bits in the integer dtype of keys: its low bits."""
    if not -(2**63) <= seed < 2**63:
        raise OverflowError(
            f"Python int too large to convert to C long: the seed {seed} has more than 64 bits; "
            f"take it modulo 2**63"
        )
    width = 64 if config.x64_mode() else 32
    low = seed & ((1 << width) - 1)
    signed = low - (1 << width) if low >> (width - 1) else low
    return np.dtype(f"int{width}").type(signed)


def key(seed: Any, *, impl: Any = None, dtype: Any = None) -> Value:
    """Return a key of dtype `key<fry>` for an integer seed.

    seed: () -> (), a key.
    impl: the generator: "threefry2x32" (the default, unless the flag jax_default_prng_impl says
    otherwise), "threefry4x32", "philox2x32", "philox4x32", "rbg" or "unsafe_rbg"; or dtype: that of
    its keys.

    Raises OverflowError for a seed of more than 64 bits; of less wide ones, all bits count in
    64-bit mode, and the lower 32 else.

    >>> key(0)
    Array((), dtype=key<fry>) overlaying:
    [0 0]
    """
    return _seed(seed, _chosen("key", impl, dtype), "key")


def PRNGKey(seed: Any, *, impl: Any = None) -> Value:  # noqa: N802
    """Return a key in the old form, a uint32 array of shape (2,), or what `impl` has for words.

    seed: () -> (2,), of uint32.

    >>> PRNGKey(3)
    Array([0, 3], dtype=uint32)
    """
    return _like(_seed(seed, _implementation(impl), "PRNGKey"), True)


def key_data(keys: Any) -> Value:
    """Return the words behind keys: shape (*keys, 2), uint32.

    keys: (n,) -> (n, 2); (n, 4) for generators with more words.

    >>> key_data(key(3))
    Array([0, 3], dtype=uint32)
    """
    if is_key(keys):
        return bits.random_unwrap(keys)
    check_raw(keys, _implementation(None))
    check_form()
    return asarray(keys)


def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> Value:
    """Return the typed keys with these words; the inverse of `key_data`.

    key_bits_array: (n, 2) -> (n,); (n, 4) for generators with more words.

    >>> wrap_key_data(np.array([0, 3], np.uint32))
    Array((), dtype=key<fry>) overlaying:
    [0 3]
    """
    chosen = _chosen("wrap_key_data", impl, dtype)
    check_raw(key_bits_array, chosen)
    return bits.random_wrap(asarray(key_bits_array), impl=chosen)


def key_impl(keys: Any) -> str:
    """Return the name of the generator that keys belong to.

    >>> key_impl(key(0))
    'threefry2x32'
    """
    if is_key(keys):
        dtype: Any = typeof(keys).dtype
        return dtype.impl
    check_raw(keys, _implementation(None))
    check_form()
    return _implementation(None).name


def key_dtype(impl_spec: Any = None) -> Any:
    """Return the dtype of the keys of a generator.

    >>> key_dtype()
    key<fry>
    """
    return _implementation(impl_spec).dtype


def _like(keys: Value, raw: bool) -> Value:
    """Return derived keys in the form of the key that they come from, unless that is off."""
    return bits.random_unwrap(keys) if raw and not config.current.jax_enable_custom_prng else keys


def split(key: Any, num: int | Sequence[int] = 2) -> Value:
    """Return `num` (an int or a shape) independent keys.

    key: () -> (num,), of keys; (*num) if it is a shape.

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

    key: (), data: () -> (), a key.

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

    key: (n,) -> (n,)

    >>> clone(PRNGKey(3))
    Array([0, 3], dtype=uint32)
    """
    if is_key(key):
        return bits.random_clone(key)
    check_raw(key, _implementation(None))
    return reshape(key, typeof(key).shape)
