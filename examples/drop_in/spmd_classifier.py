"""A classifier trained as programs for many devices are: on a mesh, by `shard_map` and `psum`.

    python -m tapeless examples/drop_in/spmd_classifier.py

The batch is divided over the axis `batch` of a mesh of all devices, here one. Each device computes
the gradient of its part, `pmean` averages, and all take the same step. What is printed are losses
and the share of right answers.
"""

import functools

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

SIZES = (2, 16, 3)


def data(key, count=96):
    """Return points in three clusters, and their numbers."""
    labels = jnp.arange(count) % 3
    angles = 2 * jnp.pi * labels / 3
    centres = 1.5 * jnp.stack([jnp.cos(angles), jnp.sin(angles)], 1)
    return centres + 0.7 * jax.random.normal(key, (count, 2)), labels


def init(key):
    """Return weights and biases of the layers."""
    keys = jax.random.split(key, len(SIZES) - 1)
    pairs = zip(keys, SIZES[:-1], SIZES[1:], strict=True)
    return [(jax.random.normal(k, (m, n)) / jnp.sqrt(m), jnp.zeros(n)) for k, m, n in pairs]


def predict(params, x):
    """Return logarithms of chances."""
    *hidden, (w, b) = params
    for weights, bias in hidden:
        x = jnp.tanh(x @ weights + bias)
    return jax.nn.log_softmax(x @ w + b)


def loss(params, x, labels):
    """Return the mean cross entropy."""
    return -jnp.mean(jnp.take_along_axis(predict(params, x), labels[:, None], 1))


def main():
    """Train on the mesh."""
    mesh = Mesh(jax.devices(), ("batch",))
    x, labels = data(jax.random.key(0), 96)
    x = jax.device_put(x, NamedSharding(mesh, P("batch")))
    labels = jax.device_put(labels, NamedSharding(mesh, P("batch")))
    params = jax.device_put(init(jax.random.key(1)), NamedSharding(mesh, P()))

    @jax.jit
    @functools.partial(
        jax.shard_map, mesh=mesh, in_specs=(P(), P("batch"), P("batch")), out_specs=(P(), P())
    )
    def step(params, x, labels):
        """Take one step with the mean of all devices' gradients."""
        value, gradient = jax.value_and_grad(loss)(params, x, labels)
        value, gradient = jax.lax.pmean((value, gradient), "batch")
        return jax.tree.map(lambda p, g: p - 0.5 * g, params, gradient), value

    for number in range(60):
        params, value = step(params, x, labels)
        if number % 15 == 0:
            print(f"{float(value):.5f}")
    right = jnp.mean(jnp.argmax(predict(params, x), 1) == labels)
    print(f"{float(loss(params, x, labels)):.5f} {float(right):.4f}")


if __name__ == "__main__":
    main()
