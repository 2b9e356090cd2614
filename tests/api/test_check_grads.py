"""Checks of derivatives find wrong ones and accept right ones."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import numpy as jnp
from tapeless.test_util import check_grads, check_jvp, check_vjp

X = np.arange(3, dtype=np.float32)


def wrong():
    """Return sin with a derivative of 3."""
    f = jax.custom_jvp(lambda x: jnp.sin(x))
    f.defjvp(lambda p, t: (f(*p), 3.0 * t[0]))
    return f


def test_right_derivatives_pass():
    check_grads(jnp.sin, (X,), 2)
    check_grads(lambda d, y: {"o": d["a"] * y, "p": jnp.sum(y)}, ({"a": X}, X), 2)
    check_grads(lambda x: x**3, (1.5,), 3)
    with jax.enable_x64(True):
        check_grads(lambda z: z * z * (1 + 1j), (np.ones(2, np.complex128),), 1)


@pytest.mark.parametrize(
    ("modes", "text"),
    [
        (("fwd",), "Not equal to tolerance rtol=0.006, atol=0.006\nJVP tangent"),
        ("rev", "Not equal to tolerance rtol=0.002, atol=0.002\nVJP cotangent projection"),
    ],
)
def test_wrong_derivatives_fail_in_the_words_of_jax(modes, text):
    with pytest.raises(AssertionError) as caught:
        check_grads(wrong(), (X,), 1, modes)
    assert text in str(caught.value)


def test_a_wrong_value_fails_as_well():
    with pytest.raises(AssertionError, match="primal"):
        check_jvp(jnp.sin, lambda p, t: (jnp.sin(p[0]) + 1, jnp.cos(p[0]) * t[0]), (X,))
    with pytest.raises(AssertionError, match="cotangent projection"):
        check_vjp(jnp.sin, lambda x: (jnp.sin(x), lambda ct: (ct,)), (X,))


def test_wrong_second_derivatives_are_found_at_order_two():
    f = jax.custom_jvp(lambda x: jnp.sin(x))
    f.defjvp(lambda p, t: (f(*p), jax.lax.stop_gradient(jnp.cos(p[0])) * t[0]))
    check_grads(f, (X,), 1)
    with pytest.raises(AssertionError, match="JVP of JVP tangent|VJP of JVP"):
        check_grads(f, (X,), 2)
