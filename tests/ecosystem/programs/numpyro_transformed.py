"""numpyro's densities and samplers under jit, vmap and grad, and a log density of a model."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer.util import log_density

x = jnp.array([0.3, 0.6, 0.9])
families = {
    "normal": lambda a: dist.Normal(a, 1.3),
    "gamma": lambda a: dist.Gamma(a, 2.0),
    "beta": lambda a: dist.Beta(a, 1.5),
    "student": lambda a: dist.StudentT(a),
    "truncated": lambda a: dist.TruncatedNormal(a, 1.0, low=0.0),
}
densities = {
    name: jax.jit(jax.vmap(jax.value_and_grad(lambda a, v, make=make: make(a).log_prob(v))))(
        1 + x, x
    )
    for name, make in families.items()
}


def model(y):
    scale = numpyro.sample("scale", dist.LogNormal(0.0, 1.0))
    numpyro.sample("y", dist.MultivariateNormal(jnp.zeros(3), scale * jnp.eye(3)), obs=y)


def joint(scale):
    return log_density(model, (x,), {}, {"scale": scale})[0]


NUMBERS = {
    "densities": densities,
    "joint": jax.vmap(jax.value_and_grad(joint))(x),
    "draws": jax.vmap(lambda k: dist.Gamma(2.0, 3.0).sample(k))(
        jax.random.split(jax.random.key(2), 4)
    ),
    "dirichlet": dist.Dirichlet(jnp.array([1.0, 2.0, 3.0])).sample(jax.random.key(3), (2,)),
}
