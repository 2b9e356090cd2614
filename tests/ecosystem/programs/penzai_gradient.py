"""penzai: named axes, and gradients by the parameters of a model."""

import jax
import jax.numpy as jnp
from penzai import pz

x = pz.nx.wrap(jnp.sin(jnp.arange(12.0)).reshape(4, 3), "batch", "features")
layer = pz.nn.Linear.from_config("layer", jax.random.key(0), {"features": 3}, {"out": 2})
unbound, values = pz.unbind_params(layer)


def loss(values):
    bound = pz.bind_variables(unbound, [value.unfreeze_as_copy() for value in values])
    out = bound(x)
    return pz.nx.nmap(jnp.square)(out).untag("batch", "out").unwrap().mean()


frozen = [value.freeze() for value in values]
value, gradient = jax.value_and_grad(loss)(frozen)
NUMBERS = {"value": value, "gradient": jax.tree.leaves(gradient)}
