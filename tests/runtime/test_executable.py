"""Which programs run in a thread of their own, so that signals are seen while a library works."""

from __future__ import annotations

from collections.abc import Callable

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


def test_deleted_arguments_that_nothing_depends_on_are_not_read() -> None:
    x = jnp.ones(2)
    x.delete()
    y = jnp.ones(2)
    programs = (
        lambda x, y: y + 1,
        lambda x, y: (jnp.sin(x), y + 1)[1],
        lambda x, y: jax.lax.scan(lambda c, _: (c, y[0] + 1), x, None, length=2)[1],
    )
    for program in programs:
        function = jax.jit(program)
        for _ in range(40):  # past the calls after which native code takes over
            np.testing.assert_array_equal(function(x, y), [2, 2])
        np.testing.assert_array_equal(function.lower(x, y).compile()(x, y), [2, 2])
        with pytest.raises(RuntimeError, match="has been deleted"):
            jax.jit(program, keep_unused=True)(x, y)
    with pytest.raises(RuntimeError, match="has been deleted"):
        jax.jit(lambda x, y: x + y)(x, y)


def test_donated_arguments_that_nothing_depends_on_are_kept() -> None:
    def is_gone(program: Callable, **options: bool) -> bool:
        x = jnp.ones(2)
        jax.jit(program, donate_argnums=0, **options)(x, jnp.ones(2))
        return x.is_deleted()

    assert not is_gone(lambda x, y: y + 1)
    assert not is_gone(lambda x, y: (jnp.sin(x), y + 1)[1])
    assert is_gone(lambda x, y: x + y)
    assert is_gone(lambda x, y: y + 1, keep_unused=True)
