"""optax: losses and many optimizers under jit, vmap and scan."""

import jax
import jax.numpy as jnp
import optax

NUMBERS = {}
start = jnp.array([[1.0, -2.0], [0.5, 3.0]])
for name in ("sgd", "adam", "adamw", "rmsprop", "adagrad", "lion", "lamb", "nadam", "adabelief"):
    optimizer = getattr(optax, name)(0.1)

    def run(x, optimizer=optimizer):
        def step(carry, _):
            x, state = carry
            gradient = jax.grad(lambda x: (x**2).sum())(x)
            updates, state = optimizer.update(gradient, state, x)
            return (optax.apply_updates(x, updates), state), None

        return jax.lax.scan(step, (x, optimizer.init(x)), None, length=5)[0][0]

    NUMBERS[name] = jax.jit(jax.vmap(run))(start)
logits = jnp.array([[2.0, -1.0, 0.3], [0.1, 0.2, 0.3]])
NUMBERS["cross entropy"] = optax.softmax_cross_entropy_with_integer_labels(
    logits, jnp.array([0, 2])
)
NUMBERS["huber"] = jax.vmap(optax.huber_loss)(logits, jnp.zeros_like(logits))
NUMBERS["ctc"] = optax.ctc_loss(
    jnp.sin(jnp.arange(24.0)).reshape(1, 6, 4),
    jnp.zeros((1, 6)),
    jnp.array([[1, 2]]),
    jnp.zeros((1, 2)),
)
