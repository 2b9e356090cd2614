"""Windows give what JAX gives, errors included."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest

import tapeless
import tapeless.numpy
from tests.parity.expressions import check_value

pytestmark = pytest.mark.oracle

NAMES = {}

EXPRESSIONS = [
    "jnp.bartlett(5)",
    "jnp.bartlett(1)",
    "jnp.bartlett(0)",
    "jnp.blackman(5)",
    "jnp.blackman(1)",
    "jnp.hamming(5)",
    "jnp.hanning(5)",
    "jnp.hanning(1)",
    "jnp.kaiser(5,2.)",
    "jnp.kaiser(1,2.)",
    "jnp.hamming(-2)",
    "jnp.hamming(2.5)",
]


@pytest.fixture(scope="module")
def jax() -> ModuleType:
    """JAX itself."""
    return importlib.import_module("jax")


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_result_is_jaxs(jax: ModuleType, text: str) -> None:
    """Structure, types and values agree, or the error does."""
    check_value(tapeless, jax, text, NAMES)
