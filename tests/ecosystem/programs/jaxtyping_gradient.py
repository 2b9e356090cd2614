"""jaxtyping: checks of annotated functions that are differentiated."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, jaxtyped


def check(value, kind):
    assert isinstance(value, kind), (value, kind)
    return value


@jaxtyped(typechecker=None)
def loss(w: Float[Array, "n m"], x: Float[Array, "m"]) -> Float[Array, ""]:  # noqa: F722, F821
    check(w, Float[Array, "n m"])
    check(x, Float[Array, "m"])
    return check(jnp.tanh(w @ x).sum(), Float[Array, ""])


w = jnp.linspace(-1.0, 1.0, 6).reshape(2, 3)
NUMBERS = {"gradient": jax.grad(loss)(w, jnp.array([0.1, 0.2, 0.3]))}
