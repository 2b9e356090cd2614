"""A classifier of small images by stax, with convolutions, batch norm and momentum.

    python -m tapeless examples/drop_in/stax_classifier.py

The images are 8 by 8 with one of three patterns and noise. What is printed are losses and the share
of right answers.
"""

import jax
import jax.numpy as jnp
from jax import random
from jax.example_libraries import optimizers, stax


def data(key, count=48):
    """Return images and labels: stripes across, stripes down, a chequered board."""
    labels = jnp.arange(count) % 3
    rows, columns = jnp.meshgrid(jnp.arange(8), jnp.arange(8), indexing="ij")
    patterns = jnp.stack([rows % 2, columns % 2, (rows + columns) % 2])[labels]
    return patterns[..., None] + 0.5 * random.normal(key, (count, 8, 8, 1)), labels


init, predict = stax.serial(
    stax.Conv(4, (3, 3), padding="SAME"),
    stax.BatchNorm(),
    stax.Relu,
    stax.MaxPool((2, 2), strides=(2, 2)),
    stax.Flatten,
    stax.Dense(3),
    stax.LogSoftmax,
)


def loss(params, images, labels):
    """Return the mean cross entropy."""
    return -jnp.mean(jnp.sum(predict(params, images) * jax.nn.one_hot(labels, 3), 1))


def main():
    """Train."""
    images, labels = data(random.key(0))
    _, params = init(random.key(1), (-1, 8, 8, 1))
    start, update, get_params = optimizers.momentum(0.02, mass=0.9)

    @jax.jit
    def step(number, state):
        """Take one step."""
        value, gradient = jax.value_and_grad(loss)(get_params(state), images, labels)
        return update(number, gradient, state), value

    state = start(params)
    for number in range(12):
        state, value = step(number, state)
        if number % 3 == 0:
            print(f"{float(value):.5f}")
    right = jnp.mean(jnp.argmax(predict(get_params(state), images), 1) == labels)
    print(f"{float(right):.4f}")


if __name__ == "__main__":
    main()
