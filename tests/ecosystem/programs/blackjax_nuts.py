"""blackjax: NUTS with window adaptation; the first steps, before rounding has grown."""

import blackjax
import jax
import jax.numpy as jnp


def log_density(x):
    return -0.5 * jnp.sum((x - 1.0) ** 2)


nuts = blackjax.nuts(log_density, step_size=0.5, inverse_mass_matrix=jnp.ones(3))
state, info = jax.jit(nuts.step)(jax.random.key(3), nuts.init(jnp.zeros(3)))
warmup = blackjax.window_adaptation(blackjax.nuts, log_density)
(adapted, parameters), _ = warmup.run(jax.random.key(1), jnp.zeros(3), num_steps=50)
NUMBERS = {
    "first": state.position,
    "steps": info.num_integration_steps,
    "adapted well": 0.05 < float(parameters["step_size"]) < 5.0,
}
