"""Functions along axes and packed bits give what JAX gives, errors included."""

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
    "M": np.array([[1, 2], [0, 1], [1, 2], [0, 1], [5, 5]]),
    "P": np.array([1.0, 2, 3]),
    "C": np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32),
}

EXPRESSIONS = [
    "jnp.packbits(np.array([1,0,1,1,0,0,0,1,1]))",
    "jnp.packbits(np.array([1,0,1,1,0,0,0,1,1]),bitorder='little')",
    "jnp.packbits(M)",
    "jnp.packbits(M,axis=0)",
    "jnp.packbits(M>0,axis=1)",
    "jnp.packbits(M>0,bitorder='x')",
    "jnp.packbits(P)",
    "jnp.unpackbits(np.array([177,128],'uint8'))",
    "jnp.unpackbits(np.array([177,128],'uint8'),bitorder='little',count=10)",
    "jnp.unpackbits(np.array([177,128],'uint8'),count=-3)",
    "jnp.unpackbits(np.array([177,128],'uint8'),count=20)",
    "jnp.unpackbits(np.array([[177,128]],'uint8'),axis=0)",
    "jnp.unpackbits(x)",
    "jnp.packbits(np.zeros(0,'uint8'))",
    "jnp.apply_along_axis(jnp.sum,0,C)",
    "jnp.apply_along_axis(lambda v: v[:2],1,C)",
    "jnp.apply_along_axis(lambda v,k,b=0: v*k+b,1,C,2,b=1)",
    "jnp.apply_along_axis(jnp.diag,0,C)",
    "jnp.apply_along_axis(jnp.sum,2,C)",
    "jnp.apply_over_axes(jnp.sum,C,(0,1))",
    "jnp.apply_over_axes(jnp.sum,C,[0])",
    "jnp.apply_over_axes(lambda a,i: a,C,[0,1])",
    "jnp.apply_over_axes(lambda a,i: a.sum(),C,[0,1])",
    "jnp.apply_over_axes(jnp.sum,C,2)",
]


@pytest.fixture(scope="module")
def jax() -> ModuleType:
    """JAX itself."""
    return importlib.import_module("jax")


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_result_is_jaxs(jax: ModuleType, text: str) -> None:
    """Structure, types and values agree, or the error does."""
    check_value(tapeless, jax, text, NAMES)
