"""Tests of scalar types."""

import copy
import pickle

import ml_dtypes
import numpy as np
import pytest

import tapeless.numpy as jnp


@pytest.mark.parametrize("name", ["float32", "int8", "uint16", "complex64", "bfloat16", "bool_"])
def test_a_scalar_type_is_the_dtype_of_its_name_and_makes_arrays(name):
    kind = getattr(jnp, name)
    dtype = np.dtype(getattr(np, name, None) or getattr(ml_dtypes, name))
    assert kind == dtype == kind.dtype == np.dtype(kind)
    assert kind == dtype.type and hash(kind) == hash(dtype.type)
    made = kind([0, 1])
    assert made.dtype == dtype and not made.weak_type
    assert jnp.zeros(2, kind).dtype == dtype


def test_scalar_types_differ():
    assert jnp.float32 != jnp.int32 and jnp.float32 != np.float16
    assert jnp.bool is jnp.bool_ and jnp.single is jnp.float32


def test_numpy_scalars_are_instances():
    assert isinstance(np.float32(1), jnp.float32)
    assert not isinstance(np.float64(1), jnp.float32)


def test_wide_types_are_narrowed_with_a_warning():
    with pytest.warns(UserWarning, match="int64 requested in asarray is not available"):
        assert jnp.int_(3).dtype == np.int32


@pytest.mark.parametrize("name", jnp.scalar_types.__all__[1:])
def test_pickles_and_copies_are_the_same_scalar_type(name):
    kind = getattr(jnp.scalar_types, name)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(kind, protocol)) is kind
    assert pickle.loads(pickle.dumps({"dtype": kind}))["dtype"] is kind
    assert copy.deepcopy(kind) is kind and copy.copy(kind) is kind
