"""Which programs run in a thread of their own, so that signals are seen while a library works."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import numpy as jnp
from tapeless.runtime.eager import executable_of


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((2000, 16, 16), False), ((600, 600), True), ((4, 600, 600), True)],
)
def test_small_matrices_are_no_long_call_however_many(shape: tuple, expected: bool) -> None:
    x = np.zeros(shape, np.float32)
    program = jax.make_jaxpr(jnp.linalg.inv)(x).jaxpr
    assert executable_of(program).is_apart is expected
