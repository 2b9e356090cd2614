"""A variational auto-encoder, by JAX and stax: `python -m tapeless examples/drop_in/vae.py`.

The data are 64 points near a circle in 8 dimensions. The encoder gives the mean and the logarithm
of the variance of a code of 2 numbers, the decoder the mean of a point; the loss is the negative
evidence lower bound with one sample per point. What is printed is the loss after each epoch.
"""

import jax
import jax.numpy as jnp
from jax import jit, random, value_and_grad
from jax.example_libraries import optimizers
from jax.example_libraries.stax import Dense, FanOut, Relu, Softplus, parallel, serial

POINTS, SIZE, CODE, EPOCHS, STEPS = 64, 8, 2, 4, 25


def data(key):
    """Return points on a circle, embedded by a fixed map, with noise."""
    angles = jnp.linspace(0.0, 2 * jnp.pi, POINTS, endpoint=False)
    circle = jnp.stack([jnp.cos(angles), jnp.sin(angles)], 1)
    keys = random.split(key)
    points = circle @ random.normal(keys[0], (2, SIZE))
    return points + 0.05 * random.normal(keys[1], points.shape)


encoder_init, encode = serial(
    Dense(32), Relu, FanOut(2), parallel(Dense(CODE), serial(Dense(CODE), Softplus))
)
decoder_init, decode = serial(Dense(32), Relu, Dense(SIZE))


def loss(params, points, key):
    """Return the negative evidence lower bound, a point's mean."""
    encoder, decoder = params
    mean, variance = encode(encoder, points)
    codes = mean + jnp.sqrt(variance) * random.normal(key, mean.shape)
    error = 0.5 * jnp.sum((decode(decoder, codes) - points) ** 2, 1) / 0.1
    divergence = 0.5 * jnp.sum(variance + mean**2 - 1 - jnp.log(variance), 1)
    return jnp.mean(error + divergence)


def main():
    """Train, and print the losses."""
    points = data(random.key(0))
    keys = random.split(random.key(1), 3)
    params = encoder_init(keys[0], points.shape)[1], decoder_init(keys[1], (POINTS, CODE))[1]
    init, update, get_params = optimizers.adam(3e-3)

    @jit
    def epoch(number, state):
        """Take the steps of one epoch."""

        def step(count, state):
            """Take one step."""
            key = random.fold_in(keys[2], number * STEPS + count)
            gradient = value_and_grad(loss)(get_params(state), points, key)[1]
            return update(number * STEPS + count, gradient, state)

        return jax.lax.fori_loop(0, STEPS, step, state)

    state = init(params)
    for number in range(EPOCHS):
        state = epoch(number, state)
        print(f"{loss(get_params(state), points, random.key(9)):.5f}")


if __name__ == "__main__":
    main()
