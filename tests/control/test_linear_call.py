"""Linear functions with a transpose of the user's."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import numpy as jnp
from tapeless.custom_derivatives import linear_call


def f(x, s):
    """Return x s, with a transpose that is 10 times too large."""
    return linear_call(lambda s, x: x * s, lambda s, ct: 10 * ct * s, s, x)


def test_the_transpose_is_the_users():
    assert f(2.0, 3.0) == 6.0
    assert jax.grad(f)(2.0, 3.0) == 30.0
    assert jax.jit(jax.grad(f))(2.0, 3.0) == 30.0
    assert jax.linear_transpose(lambda x: f(x, 3.0), 2.0)(1.0) == (30.0,)


def test_forward_mode_applies_the_function():
    assert jax.jvp(lambda x: f(x, 3.0), (2.0,), (1.0,)) == (6.0, 3.0)


def test_the_transpose_of_the_transpose_is_the_function():
    back = jax.linear_transpose(lambda x: f(x, 3.0), 2.0)
    assert jax.linear_transpose(back, 1.0)((1.0,)) == (3.0,)


def test_it_is_mapped():
    rows = np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(30 + 0 * rows, jax.vmap(jax.grad(f), (0, None))(rows, 3.0))
    np.testing.assert_array_equal(10 * rows, jax.vmap(jax.grad(f), (None, 0))(1.0, rows))


def test_residuals_have_no_derivative_and_types_are_checked():
    with pytest.raises(AssertionError, match="cannot be differentiated by its residuals"):
        jax.grad(f, 1)(2.0, 3.0)
    wrong = lambda x: linear_call(lambda s, x: x, lambda s, ct: jnp.ones(2), 0.0, x)  # noqa: E731
    with pytest.raises(ValueError, match=r"type float32\[\] but got float32\[2\]"):
        jax.grad(wrong)(1.0)
