"""mctx: a search by MuZero's policy in a small environment with known transitions."""

import jax
import jax.numpy as jnp
import mctx

REWARDS = jnp.sin(jnp.arange(12.0)).reshape(4, 3)


def recurrent(params, key, action, state):
    reward = REWARDS[state, action]
    following = (state + action + 1) % 4
    output = mctx.RecurrentFnOutput(
        reward=reward,
        discount=jnp.full_like(reward, 0.9),
        prior_logits=params[following],
        value=params[following].sum(-1),
    )
    return output, following


params = jnp.cos(jnp.arange(12.0)).reshape(4, 3)
states = jnp.array([0, 1, 3])
root = mctx.RootFnOutput(
    prior_logits=params[states], value=params[states].sum(-1), embedding=states
)
output = mctx.muzero_policy(params, jax.random.key(0), root, recurrent, num_simulations=12)
NUMBERS = {
    "action": output.action,
    "weights": output.action_weights,
    "visits": output.search_tree.node_visits[:, :4],
    "values": output.search_tree.node_values[:, 0],
}
