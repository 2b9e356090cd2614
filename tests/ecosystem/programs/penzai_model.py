"""penzai: a model as a tree of layers, looked into and changed by selections."""

import jax
import jax.numpy as jnp
from penzai import pz

x = pz.nx.wrap(jnp.sin(jnp.arange(6.0)).reshape(2, 3), "batch", "features")
layers = pz.nn.Sequential(
    [
        pz.nn.Affine.from_config("first", jax.random.key(0), {"features": 3}, {"features": 8}),
        pz.nn.Elementwise(jax.nn.relu),
        pz.nn.Affine.from_config("second", jax.random.key(1), {"features": 8}, {"features": 2}),
    ]
)
out = layers(x)
doubled = (
    layers.select()
    .at_instances_of(pz.Parameter)
    .apply(lambda parameter: pz.Parameter(value=parameter.value * 2, label=parameter.label))
)
NUMBERS = {
    "out": out.unwrap("batch", "features"),
    "doubled": doubled(x).unwrap("batch", "features"),
    "parameters": layers.select().at_instances_of(pz.Parameter).count(),
}
