"""jaxtyping: tracers under jit and vmap are arrays of their row's shape."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

seen = []


@jax.jit
def row_sum(x):
    seen.append(isinstance(x, Float[Array, "n"]) and not isinstance(x, Float[Array, "n m"]))
    return x.sum()


NUMBERS = {"sums": jax.vmap(row_sum)(jnp.arange(6.0).reshape(2, 3)), "seen": seen[:1]}
