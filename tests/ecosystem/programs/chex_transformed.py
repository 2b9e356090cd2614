"""chex: checks of values in compiled functions (`chexify`), variants, and counts of traces."""

import chex
import jax
import jax.numpy as jnp


@chex.chexify
@jax.jit
def logarithms(x):
    chex.assert_tree_all_finite(x)
    chex.assert_scalar_positive(x.shape[0])
    return jax.vmap(jnp.log)(x)


def failure(x):
    try:
        logarithms(x)
        chex.block_until_chexify_assertions_complete()
    except Exception as error:
        return type(error).__name__
    return "passed"


counted = chex.assert_max_traces(lambda x: x * 2, n=1)
twice = jax.jit(counted)
NUMBERS = {
    "logarithms": logarithms(jnp.array([1.0, 2.0, 4.0])),
    "good": failure(jnp.ones(3)),
    "bad": failure(jnp.array([1.0, jnp.nan, 2.0])),
    "twice": [twice(jnp.ones(2)), twice(jnp.zeros(2))],
}
