"""equinox: layers with state, filtered maps and scans, and closures as data."""

import equinox as eqx
import equinox.internal as eqxi
import jax
import jax.numpy as jnp


class Network(eqx.Module):
    conv: eqx.nn.Conv2d
    norm: eqx.nn.BatchNorm
    cell: eqx.nn.GRUCell

    def __init__(self, key):
        first, second = jax.random.split(key)
        self.conv = eqx.nn.Conv2d(1, 3, 3, key=first)
        self.norm = eqx.nn.BatchNorm(3, "batch", mode="batch")
        self.cell = eqx.nn.GRUCell(3, 4, key=second)

    def __call__(self, x, state):
        x, state = self.norm(self.conv(x), state)

        def step(carry, row):
            return self.cell(row, carry), None

        return jax.lax.scan(step, jnp.zeros(4), x.reshape(3, -1).T)[0], state


model, state = eqx.nn.make_with_state(Network)(jax.random.key(0))
images = jnp.sin(jnp.arange(2 * 36.0)).reshape(2, 1, 6, 6)
mapped = eqx.filter_vmap(model, axis_name="batch", in_axes=(0, None), out_axes=(0, None))
out, state = eqx.filter_jit(mapped)(images, state)
models = eqx.filter_vmap(lambda key: eqx.nn.Linear(3, 2, key=key))(
    jax.random.split(jax.random.key(1), 4)
)
closed = eqx.filter_closure_convert(lambda x: jnp.sin(x) * out[0], jnp.ones(4))


def decay(carry):
    count, value = carry
    return count + 1, value * 0.9


def halved(x):
    kinds = {"kind": "checkpointed", "max_steps": 16}
    return eqxi.while_loop(lambda c: c[0] < 5, decay, (0, x), **kinds)[1]


NUMBERS = {
    "out": out,
    "ensemble": eqx.filter_vmap(lambda m, x: m(x), in_axes=(0, None))(models, jnp.ones(3)),
    "closed": closed(jnp.arange(4.0)),
    "loop": jax.jit(jax.value_and_grad(halved))(2.0),
}
