"""jraph: the gradient of attention over edges."""

import jax
import jax.numpy as jnp
import jraph

senders, receivers = jnp.array([0, 1, 2, 0]), jnp.array([1, 2, 0, 2])


def energy(w, nodes):
    sent = (nodes @ w)[senders]
    weights = jraph.segment_softmax(sent.sum(-1), receivers, 3)
    return (jraph.segment_sum(weights[:, None] * sent, receivers, 3) ** 2).sum()


nodes = jnp.linspace(-1.0, 1.0, 6).reshape(3, 2)
NUMBERS = {"gradient": jax.grad(energy)(jnp.array([[1.0, 0.5], [-0.3, 0.8]]), nodes)}
