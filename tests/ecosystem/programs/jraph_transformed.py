"""jraph: segments under jit and vmap."""

import jax
import jax.numpy as jnp
import jraph

ids = jnp.array([0, 0, 1, 1, 1])


@jax.jit
def summaries(x):
    return (
        jraph.segment_mean(x, ids, 2), jraph.segment_variance(x, ids, 2),
        jraph.segment_normalize(x, ids, 2), jraph.segment_max_or_constant(x, ids, 3),
    )  # fmt: skip


NUMBERS = dict(enumerate(jax.vmap(summaries)(jnp.sin(jnp.arange(10.0)).reshape(2, 5))))
