"""jmp: a step that is left out where a gradient is not finite, under jit and vmap."""

import jax
import jax.numpy as jnp
import jmp


@jax.jit
def step(w, g):
    return jmp.select_tree(jmp.all_finite(g), w - g, w)


w = jnp.arange(6.0).reshape(2, 3)
g = jnp.ones((2, 3)).at[1, 0].set(jnp.inf)
NUMBERS = {"stepped": jax.vmap(step)(w, g)}
