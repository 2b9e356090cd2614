"""blackjax: window adaptation finds a step size and a mass matrix, and NUTS samples with them."""

import blackjax
import jax
import jax.numpy as jnp

scales = jnp.array([0.5, 1.0, 3.0])


def log_density(x):
    return -0.5 * jnp.sum(((x - 1.0) / scales) ** 2)


warmup = blackjax.window_adaptation(blackjax.nuts, log_density)
(state, parameters), _ = warmup.run(jax.random.key(1), jnp.zeros(3), num_steps=30)
kernel = blackjax.nuts(log_density, **parameters)
start = state.position


@jax.jit
def sample(state, keys):
    def step(state, key):
        state, info = kernel.step(key, state)
        return state, (state.position, info.num_integration_steps)

    return jax.lax.scan(step, state, keys)[1]


positions, steps = sample(state, jax.random.split(jax.random.key(2), 3))
NUMBERS = {
    "step size": parameters["step_size"],
    "mass": parameters["inverse_mass_matrix"],
    "start": start,
    "positions": positions,
    "steps": steps,
}
