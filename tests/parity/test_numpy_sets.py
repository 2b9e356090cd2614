"""Arrays as sets give what JAX gives, errors included."""

from __future__ import annotations

import importlib
from types import ModuleType

import numpy as np
import pytest

import tapeless
import tapeless.numpy
from tests.parity.expressions import check_value

pytestmark = pytest.mark.oracle

NAMES = {
    "x": np.array([3, 1, 2, 3, 1]),
    "y": np.array([2, 5, 3]),
    "M": np.array([[1, 2], [0, 1], [1, 2], [0, 1], [5, 5]]),
    "N": np.array([1.0, np.nan, 2, np.nan, 1.0]),
}

EXPRESSIONS = [
    "jnp.unique(x,size=5,return_index=True,return_inverse=True,return_counts=True)",
    "jnp.unique(x,size=5,fill_value=-7)",
    "jnp.unique(M,return_inverse=True)",
    "jnp.unique(M,axis=0,size=4,return_index=True,return_inverse=True,return_counts=True)",
    "jnp.unique(N,return_counts=True,return_inverse=True)",
    "jnp.unique(N,return_counts=True,return_inverse=True,equal_nan=False)",
    "jnp.unique(3)",
    "jax.jit(jnp.unique)(x)",
    "jnp.unique([1,2])",
    "jnp.unique_all(x)",
    "jnp.unique_inverse(M)",
    "jnp.union1d(x,y,size=6)",
    "jnp.union1d(M,y.astype('f'))",
    "jnp.intersect1d(x,y,size=4)",
    "jnp.intersect1d(x,y,size=4,fill_value=-1,return_indices=True)",
    "jax.jit(jnp.intersect1d)(x,y)",
    "jnp.setdiff1d(x,y,size=3)",
    "jnp.setdiff1d(np.array([3,1,2]),y,assume_unique=True)",
    "jnp.setxor1d(x,y,size=4)",
    "jnp.setxor1d(x,y,size=4,fill_value=0)",
    "jnp.isin(M,y)",
    "jnp.isin(M,y,method='foo')",
    "jnp.isin(N,N)",
    "jnp.isin(x,np.zeros((0,)))",
    "jnp.isin(3,y)",
    "jnp.setdiff1d(np.zeros(0),y)",
    "jnp.intersect1d(np.zeros(0),y)",
]


@pytest.fixture(scope="module")
def jax() -> ModuleType:
    """JAX itself."""
    return importlib.import_module("jax")


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_result_is_jaxs(jax: ModuleType, text: str) -> None:
    """Structure, types and values agree, or the error does."""
    check_value(tapeless, jax, text, NAMES)
