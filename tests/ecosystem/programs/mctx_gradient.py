"""mctx: a policy trained towards the weights of its search, under jit, vmap and grad."""

import jax
import jax.numpy as jnp
import mctx

PAYOFFS = jnp.array([0.1, 0.9, 0.4])


def recurrent(logits, key, action, state):
    output = mctx.RecurrentFnOutput(
        reward=PAYOFFS[action],
        discount=jnp.zeros(action.shape),
        prior_logits=jnp.broadcast_to(logits, (*action.shape, 3)),
        value=jnp.zeros(action.shape),
    )
    return output, state


def targets(logits, key):
    root = mctx.RootFnOutput(
        prior_logits=logits[None], value=jnp.zeros(1), embedding=jnp.zeros((1, 1))
    )
    return mctx.gumbel_muzero_policy(logits, key, root, recurrent, 8).action_weights[0]


@jax.jit
def step(logits, keys):
    wanted = jax.lax.stop_gradient(jax.vmap(targets, in_axes=(None, 0))(logits, keys))

    def loss(logits):
        return -(wanted * jax.nn.log_softmax(logits)).sum(-1).mean()

    value, gradient = jax.value_and_grad(loss)(logits)
    return logits - gradient, value


logits, losses = jnp.zeros(3), []
for number in range(4):
    logits, value = step(logits, jax.random.split(jax.random.key(number), 5))
    losses.append(value)
NUMBERS = {"logits": logits, "losses": losses}
