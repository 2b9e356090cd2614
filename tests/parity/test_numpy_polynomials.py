"""Polynomials give what JAX gives, errors included."""

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
    "P": np.array([1.0, 2, 3]),
    "Q": np.array([2.0, -1]),
    "C": np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32),
}

EXPRESSIONS = [
    "jnp.poly(P)",
    "jnp.poly(np.zeros(0))",
    "jnp.poly(np.array([1j,-1j]))",
    "jnp.polyadd(P,Q)",
    "jnp.polyadd(x,Q)",
    "jnp.polymul(P,Q)",
    "jnp.polymul(np.array([0.,1,2]),Q,trim_leading_zeros=True)",
    "jnp.polymul(x,y)",
    "jnp.polydiv(np.array([2.,-1,2,-1]),Q,trim_leading_zeros=True)",
    "jnp.polydiv(Q,P)",
    "jnp.polyder(P)",
    "jnp.polyder(P,2)",
    "jnp.polyder(P,-1)",
    "jnp.polyint(P,k=3)",
    "jnp.polyint(P,2,k=[1,2])",
    "jnp.polyint(P,2,k=[1,2,3])",
    "jnp.polyint(P,-1)",
    "jnp.polyval(P,2.)",
    "jnp.polyval(x,2)",
    "jnp.polyfit(np.arange(5.),C.ravel()[:5],2,w=np.arange(5.)+1)",
    "jnp.polyfit(np.arange(5.),C.ravel()[:5],1,full=True)",
    "jnp.polyfit(np.arange(5.),C.ravel()[:5],1,cov=True)",
    "jnp.polyfit(np.arange(5.),C.ravel()[:5],-1)",
    "jnp.polyfit(C,C,1)",
    "jnp.polyfit(np.zeros(0),np.zeros(0),1)",
    "jnp.polyfit(np.arange(5.),C.ravel()[:3],1)",
    "jnp.roots(np.array([1.,-3,2]))",
    "jnp.roots(np.array([0.,1.,-3,2,0]),strip_zeros=False)",
    "jnp.roots(np.array([0.,0]))",
    "jax.jit(lambda p: jnp.roots(p,strip_zeros=False))(np.array([1.,-3,2]))",
    "jnp.polyint(np.array([1,2.]),3,np.array([1.,2,3]))",
    "jnp.roots(np.array([0.,0,0]),strip_zeros=False)",
]


@pytest.fixture(scope="module")
def jax() -> ModuleType:
    """JAX itself."""
    return importlib.import_module("jax")


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_result_is_jaxs(jax: ModuleType, text: str) -> None:
    """Structure, types and values agree, or the error does."""
    check_value(tapeless, jax, text, NAMES, 2e-4)
