"""numpyro: variational inference with an automatic guide, gradients through the bound."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal

x = jnp.linspace(-1.0, 1.0, 20)
y = 0.5 + 2.0 * x


def model(x, y=None):
    a = numpyro.sample("a", dist.Normal(0.0, 1.0))
    b = numpyro.sample("b", dist.Normal(0.0, 1.0))
    with numpyro.plate("data", x.shape[0]):
        numpyro.sample("y", dist.Normal(a + b * x, 0.5), obs=y)


svi = SVI(model, AutoNormal(model), numpyro.optim.Adam(0.05), Trace_ELBO())
found = svi.run(jax.random.key(1), 200, x, y, progress_bar=False)
NUMBERS = {"losses": found.losses[:5], "params": found.params, "last": found.losses[-1]}
