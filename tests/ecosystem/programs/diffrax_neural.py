"""diffrax: a neural ODE, trained for a few steps through its solutions, under jit and vmap."""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp


class Field(eqx.Module):
    mlp: eqx.nn.MLP

    def __init__(self, key):
        self.mlp = eqx.nn.MLP(2, 2, 8, 1, activation=jnp.tanh, key=key)

    def __call__(self, t, y, args):
        return self.mlp(y)


def curve(field, ts, start):
    return diffrax.diffeqsolve(
        diffrax.ODETerm(field),
        diffrax.Tsit5(),
        t0=ts[0],
        t1=ts[-1],
        dt0=ts[1] - ts[0],
        y0=start,
        saveat=diffrax.SaveAt(ts=ts),
        stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-6),
    ).ys


@eqx.filter_jit
@eqx.filter_value_and_grad
def loss(field, ts, wanted):
    found = jax.vmap(curve, in_axes=(None, None, 0))(field, ts, wanted[:, 0])
    return jnp.mean((found - wanted) ** 2)


ts = jnp.linspace(0.0, 1.0, 6)
phases = jnp.array([0.0, 1.0, 2.0])[:, None]
wanted = jnp.stack([jnp.cos(2 * ts + phases), jnp.sin(2 * ts + phases)], -1)
field, losses = Field(jax.random.key(0)), []
for _ in range(4):
    value, gradient = loss(field, ts, wanted)
    field = eqx.apply_updates(field, jax.tree.map(lambda g: -0.2 * g, gradient))
    losses.append(value)
NUMBERS = {"losses": losses, "curve": curve(field, ts, wanted[0, 0])}
