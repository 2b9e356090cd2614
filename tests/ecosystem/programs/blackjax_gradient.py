"""blackjax: gradients through a trajectory of HMC, and a variational fit by gradients."""

import blackjax
import jax
import jax.numpy as jnp
import optax
from blackjax.mcmc import integrators, metrics


def density(x, centre):
    return -0.5 * jnp.sum((x - centre) ** 2) - 0.1 * jnp.sum(x**4)


def end(centre):
    def log_density(x):
        return density(x, centre)

    metric = metrics.default_metric(jnp.ones(2))
    leapfrog = integrators.velocity_verlet(log_density, metric.kinetic_energy)
    state = integrators.new_integrator_state(log_density, jnp.zeros(2), jnp.array([0.5, -1.0]))
    return jax.lax.fori_loop(0, 6, lambda _, state: leapfrog(state, 0.1), state).position


centre = jnp.array([1.0, 2.0])
fit = blackjax.meanfield_vi(lambda x: density(x, centre), optax.adam(0.1), 8)
state, losses = fit.init(jnp.zeros(2)), []
step = jax.jit(fit.step)
for key in jax.random.split(jax.random.key(0), 10):
    state, info = step(key, state)
    losses.append(info.elbo)
NUMBERS = {
    "end": end(centre),
    "derivative": jax.jit(jax.jacobian(end))(centre),
    "losses": losses,
    "mean": state.mu,
    "draws": fit.sample(jax.random.key(1), state, 3),
}
