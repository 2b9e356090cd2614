"""`vectorize` give what JAX gives, errors included."""

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
    "C": np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32),
}

EXPRESSIONS = [
    "jnp.vectorize(lambda a,b: a@b,signature='(n),(n)->()')(C,C)",
    "jnp.vectorize(lambda a,b: a@b,signature='(n),(n)->()')(C,C[:, :2])",
    "jnp.vectorize(lambda a: (a,a),signature='(n)->(n),()')(C)",
    "jnp.vectorize(lambda a: (a,a.sum()),signature='(n)->(n),()')(C)",
    "jnp.vectorize(lambda a,b: a+b)(x,M[:,:1])",
    "jnp.vectorize(lambda a,b: a+b,excluded={1})(x,3)",
    "jnp.vectorize(lambda a,b: a+b,excluded={'b'})(x,b=3)",
    "jnp.vectorize(lambda a,b: a+b,excluded={-1})",
    "jnp.vectorize(lambda a,b: a+b,excluded={1.5})",
    "jnp.vectorize(lambda a,b: a+b,signature='(n),(n)->(n)')(x)",
]


@pytest.fixture(scope="module")
def jax() -> ModuleType:
    """JAX itself."""
    return importlib.import_module("jax")


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_result_is_jaxs(jax: ModuleType, text: str) -> None:
    """Structure, types and values agree, or the error does."""
    check_value(tapeless, jax, text, NAMES)
