"""blackjax: sequential Monte Carlo with tempering, whose schedule is found, under jit and vmap."""

import blackjax
import jax
import jax.numpy as jnp
from blackjax.smc import extend_params, resampling

PARTICLES = 12


def log_prior(x):
    return -0.5 * jnp.sum(x**2) / 4.0


def log_likelihood(x):
    return -0.5 * jnp.sum((x - 1.5) ** 2) / 0.5


parameters = {
    "step_size": 0.4,
    "inverse_mass_matrix": jnp.ones(2),
    "num_integration_steps": 3,
}
smc = blackjax.adaptive_tempered_smc(
    log_prior,
    log_likelihood,
    blackjax.hmc.build_kernel(),
    blackjax.hmc.init,
    extend_params(parameters),
    resampling.systematic,
    target_ess=0.6,
    num_mcmc_steps=2,
)
particles = 2.0 * jax.random.normal(jax.random.key(0), (PARTICLES, 2))
state, step, exponents, evidence = smc.init(particles), jax.jit(smc.step), [], 0.0
key = jax.random.key(1)
for _ in range(3):
    key, here = jax.random.split(key)
    state, info = step(here, state)
    exponents.append(state.tempering_param)
    evidence += info.log_likelihood_increment
weights = jax.vmap(log_likelihood)(state.particles)
NUMBERS = {
    "exponents": exponents,
    "evidence": evidence,
    "particles": state.particles,
    "weights": weights,
    "resampled": jax.vmap(lambda k: resampling.stratified(k, jax.nn.softmax(weights), 5))(
        jax.random.split(jax.random.key(2), 2)
    ),
}
