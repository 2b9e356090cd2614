"""Pieces of text for vector lanes."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tapeless as jax
from tapeless import numpy as jnp
from tapeless.compiler.emit import emit_program
from tapeless.compiler.lower import lower_jaxpr
from tapeless.compiler.target import named_target


@pytest.mark.parametrize("level", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("step", [1, -1])
def test_one_element_is_stored_as_a_number(level: str, step: int) -> None:
    """LLVM writes 8 bytes for a single 32-bit element of narrowed 64-bit integers under a mask.

    The other 4 bytes are of the next row, which another thread may have written before.
    """

    def places(k: jax.Array) -> jax.Array:
        """Return rows of 33 numbers, one more than whole vectors."""
        numbers = (jnp.arange(33) + k[:, None]) % 33
        return numbers.astype(jnp.int32)[:, ::step]

    with jax.enable_x64(True):
        jaxpr = jax.make_jaxpr(places)(np.zeros(9001, np.int32)).jaxpr
        text = emit_program(lower_jaxpr(jaxpr), named_target(level)).text
    masked = [line for line in text.splitlines() if "call void @llvm.masked.store" in line]
    assert not [line for line in masked if line.count("i1 true") == 1]
    assert re.search(r"extractelement <\d+ x i32>", text)


@pytest.mark.parametrize("level", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8"])
def test_columns_of_squares_come_from_rows(level: str, dtype: str) -> None:
    """Lanes that stand for rows of eight load whole rows and transpose them in registers."""
    with jax.enable_x64(True):
        jaxpr = jax.make_jaxpr(lambda x: x.max(axis=1))(np.zeros((128, 8), dtype)).jaxpr
        text = emit_program(lower_jaxpr(jaxpr), named_target(level)).text
    assert "gather" not in text


def test_columns_of_squares_are_loaded_anew_when_written() -> None:
    """A step of a loop reads the square that it has just stored, not the one before."""

    def step(x: jax.Array, _: None) -> tuple[jax.Array, None]:
        """Return what waits for rows and for columns."""
        y = jnp.exp(x - x.max(axis=1, keepdims=True))
        return y / y.sum(axis=0) + 0.5 * x, None

    x = np.arange(64, dtype=np.float32).reshape(8, 8) / 50
    result, _ = jax.jit(lambda x: jax.lax.scan(step, x, length=5))(x)
    for _ in range(5):
        y = np.exp(x - x.max(axis=1, keepdims=True))
        x = y / y.sum(axis=0) + np.float32(0.5) * x
    np.testing.assert_allclose(result, x, rtol=1e-6)
