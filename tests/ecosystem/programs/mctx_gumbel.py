"""mctx: Gumbel MuZero under jit, with invalid actions."""

import functools

import jax
import jax.numpy as jnp
import mctx


def recurrent(params, key, action, state):
    state = jnp.tanh(state @ params["move"] + jax.nn.one_hot(action, 4))
    output = mctx.RecurrentFnOutput(
        reward=state.sum(-1),
        discount=jnp.full(state.shape[:1], 0.95),
        prior_logits=state @ params["policy"],
        value=state @ params["value"],
    )
    return output, state


@functools.partial(jax.jit, static_argnums=2)
def search(params, key, count):
    state = jnp.sin(jnp.arange(8.0)).reshape(2, 4)
    root = mctx.RootFnOutput(
        prior_logits=state @ params["policy"], value=state @ params["value"], embedding=state
    )
    invalid = jnp.array([[0, 1, 0, 0], [0, 0, 0, 1]])
    return mctx.gumbel_muzero_policy(params, key, root, recurrent, count, invalid)


params = {
    "move": jnp.cos(jnp.arange(16.0)).reshape(4, 4),
    "policy": jnp.sin(jnp.arange(16.0) * 2).reshape(4, 4),
    "value": jnp.array([0.5, -0.2, 0.1, 0.3]),
}
output = search(params, jax.random.key(3), 16)
summary = output.search_tree.summary()
NUMBERS = {
    "action": output.action,
    "weights": output.action_weights,
    "q values": summary.qvalues,
    "visits": summary.visit_counts,
}
