"""haiku: recurrent networks, scans and checkpoints of its own under jit and vmap."""

import haiku as hk
import jax
import jax.numpy as jnp


def recurrent(x):
    core = hk.LSTM(5)
    out, _ = hk.dynamic_unroll(core, x, core.initial_state(x.shape[1]))
    return hk.remat(hk.Linear(2))(out)


def scanned(x):
    layer = hk.Linear(3, w_init=hk.initializers.TruncatedNormal(0.5))
    return hk.scan(lambda carry, row: (jnp.tanh(layer(carry) + row), carry), jnp.zeros(3), x)[0]


xs = jnp.cos(jnp.arange(24.0)).reshape(4, 2, 3)
model = hk.without_apply_rng(hk.transform(recurrent))
params = model.init(jax.random.key(2), xs)
gradient = jax.jit(jax.grad(lambda p: (model.apply(p, xs) ** 2).sum()))(params)
loop = hk.without_apply_rng(hk.transform(scanned))
weights = loop.init(jax.random.key(3), xs[:, 0])
NUMBERS = {
    "recurrent": jax.jit(model.apply)(params, xs),
    "gradient": [jnp.abs(leaf).sum() for leaf in jax.tree.leaves(gradient)],
    "scanned": jax.vmap(loop.apply, in_axes=(None, 1))(weights, xs),
}
