"""jaxtyping: shapes and dtypes that fit, and some that do not."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, Shaped

x, n = jnp.ones((2, 3)), jnp.arange(4)
NUMBERS = {
    "fits": [
        isinstance(x, Float[Array, "a b"]),
        isinstance(x, Float[Array, "2 3"]),
        isinstance(n, Int[Array, "n"]),
        isinstance(x, Shaped[Array, "..."]),
        isinstance(jax.random.key(0), PRNGKeyArray),
    ],
    "does not fit": [
        isinstance(x, Float[Array, "a a"]),
        isinstance(n, Float[Array, "n"]),
        isinstance(x, Float[Array, "3 2"]),
        isinstance(1.0, Float[Array, ""]),
    ],
}
