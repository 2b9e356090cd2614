"""blackjax: steps of HMC, whose random numbers are JAX's."""

import blackjax
import jax
import jax.numpy as jnp


def log_density(x):
    return -0.5 * jnp.sum((x - jnp.array([1.0, -2.0])) ** 2 / jnp.array([1.0, 0.25]))


hmc = blackjax.hmc(
    log_density, step_size=0.2, inverse_mass_matrix=jnp.ones(2), num_integration_steps=5
)
step = jax.jit(hmc.step)
state = hmc.init(jnp.zeros(2))
positions = []
for key in jax.random.split(jax.random.key(0), 5):
    state, info = step(key, state)
    positions.append(state.position)
NUMBERS = {"positions": jnp.stack(positions), "acceptance": info.acceptance_rate}
