"""A gated recurrent unit as the body of a scan: a sequence, a batch of them, and their gradient.

    python examples/gru.py

    z = sigmoid(Wz x + Uz h + bz)        how much is renewed
    r = sigmoid(Wr x + Ur h + br)        how much of the past the candidate sees
    c = tanh(Wh x + Uh (r h) + bh)       the candidate
    h = (1 - z) h + z c

The cell is written for one step of one sequence. `scan` makes it a sequence, `vmap` a batch, `grad`
a model that can learn: here, to tell at the end of a sequence which number stood at its beginning.

Shapes: x (t, d), h (n,), W (n, d), U (n, n), b (n,).
"""

import tapeless as jax
import tapeless.numpy as jnp

INPUTS, WIDTH, STEPS, BATCH = 2, 16, 12, 64


def init(key):
    """Return weights."""
    keys = iter(jax.random.split(key, 7))
    scale = WIDTH**-0.5
    w = {"out": scale * jax.random.normal(next(keys), (WIDTH,))}
    for gate in "zrh":
        w[f"W{gate}"] = scale * jax.random.normal(next(keys), (WIDTH, INPUTS))
        w[f"U{gate}"] = scale * jax.random.normal(next(keys), (WIDTH, WIDTH))
        w[f"b{gate}"] = jnp.zeros(WIDTH)
    return w


def cell(w, h, x):
    """Return the next state.  h: (n,), x: (d,) -> (n,)"""
    z = jax.nn.sigmoid(w["Wz"] @ x + w["Uz"] @ h + w["bz"])
    r = jax.nn.sigmoid(w["Wr"] @ x + w["Ur"] @ h + w["br"])
    candidate = jnp.tanh(w["Wh"] @ x + w["Uh"] @ (r * h) + w["bh"])
    return (1 - z) * h + z * candidate


def states(w, xs):
    """Return the states after each step.  xs: (t, d) -> (t, n)"""

    def step(h, x):
        """Hand the state on, and write it down."""
        h = cell(w, h, x)
        return h, h

    return jax.lax.scan(step, jnp.zeros(WIDTH), xs)[1]


def loss(w, xs):
    """Return the mean squared error of the guesses of the first number.  xs: (b, t, d)"""
    guesses = jax.vmap(lambda xs: states(w, xs)[-1] @ w["out"])(xs)
    return jnp.mean((guesses - xs[:, 0, 0]) ** 2)


@jax.jit
def train(w, key):
    """Return the weights after 1500 steps of Adam on new sequences, and the losses."""

    def step(carry, i):
        """Make one step."""
        w, mean, square = carry
        xs = jax.random.uniform(jax.random.fold_in(key, i), (BATCH, STEPS, INPUTS), minval=-1.0)
        value, slope = jax.value_and_grad(loss)(w, xs)
        mean = jax.tree.map(lambda m, s: 0.9 * m + 0.1 * s, mean, slope)
        square = jax.tree.map(lambda q, s: 0.99 * q + 0.01 * s * s, square, slope)
        w = jax.tree.map(lambda w, m, q: w - 0.01 * m / (jnp.sqrt(q) + 1e-6), w, mean, square)
        return (w, mean, square), value

    zeros = jax.tree.map(jnp.zeros_like, w)
    (w, _, _), losses = jax.lax.scan(step, (w, zeros, zeros), jnp.arange(1500))
    return w, losses


def main():
    """Train, and print how well the beginning is remembered."""
    w, losses = train(init(jax.random.key(0)), jax.random.key(1))
    first, last = float(jnp.mean(losses[:20])), float(jnp.mean(losses[-20:]))
    print(f"squared error of the first number, {STEPS} steps later: {first:.3f} -> {last:.4f}")
    return w, first, last


if __name__ == "__main__":
    main()
