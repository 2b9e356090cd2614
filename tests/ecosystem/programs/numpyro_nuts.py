"""numpyro: NUTS on a Bayesian regression, its first documented use."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS

x = jnp.linspace(-1.0, 1.0, 20)
y = 0.5 + 2.0 * x + 0.1 * jnp.sin(20 * x)


def model(x, y=None):
    a = numpyro.sample("a", dist.Normal(0.0, 1.0))
    b = numpyro.sample("b", dist.Normal(0.0, 1.0))
    sigma = numpyro.sample("sigma", dist.Exponential(1.0))
    numpyro.sample("y", dist.Normal(a + b * x, sigma), obs=y)


mcmc = MCMC(NUTS(model), num_warmup=300, num_samples=500, progress_bar=False)
mcmc.run(jax.random.key(0), x, y)
samples = mcmc.get_samples()
NUMBERS = {
    "near": [bool(abs(samples["a"].mean() - 0.5) < 0.05), bool(abs(samples["b"].mean() - 2) < 0.1)],
    "mean": {name: jnp.round(values.mean(), 1) for name, values in samples.items()},
}
