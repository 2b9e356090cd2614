"""blackjax: many chains by vmap and scan; their mean, loosely."""

import blackjax
import jax
import jax.numpy as jnp

mala = blackjax.mala(lambda x: -0.5 * ((x - 2.0) ** 2).sum(), step_size=0.3)


def chain(key):
    def step(state, key):
        state, _ = mala.step(key, state)
        return state, state.position

    return jax.lax.scan(step, mala.init(jnp.zeros(1)), jax.random.split(key, 3))[1]


NUMBERS = {"positions": jax.vmap(chain)(jax.random.split(jax.random.key(0), 4))}
