"""Training steps of networks: value, gradient and update."""

from collections.abc import Callable
from typing import Any

import numpy as np

from dev.bench.programs import arrays, gru
from dev.bench.registry import workload

__all__ = []


def descent(jax: Any, loss: Callable) -> Callable:
    """Return a compiled step of gradient descent on `loss(params, *data)`."""

    def step(params, *data):
        value, gradient = jax.value_and_grad(loss)(params, *data)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient), value

    return jax.jit(step)


@workload(family="training", memory=True)
def cnn_training_step(jax: Any):
    """A network of two convolutions and a dense layer on 32 images of 28x28."""
    jnp, lax = jax.numpy, jax.lax
    names = ("first", "second", "dense")
    weights = arrays(jax, (3, 3, 1, 16), (3, 3, 16, 32), (7 * 7 * 32, 10))
    (x,) = arrays(jax, (32, 28, 28, 1), scale=1.0)
    y = jnp.asarray(np.random.default_rng(0).integers(0, 10, 32), "int32")

    def layer(x, w):
        layout = ("NHWC", "HWIO", "NHWC")
        x = jax.nn.relu(lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=layout))
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def loss(params, x, y):
        x = layer(layer(x, params["first"]), params["second"])
        logits = jax.nn.log_softmax(x.reshape(len(x), -1) @ params["dense"])
        return -jnp.mean(jnp.take_along_axis(logits, y[:, None], axis=1))

    return descent(jax, loss), (dict(zip(names, weights, strict=True)), x, y)


@workload(family="training")
def lstm_training_step(jax: Any):
    """A long short-term memory of 64 units on 16 sequences of 50 steps of 32 inputs."""
    jnp = jax.numpy
    weights = tuple(arrays(jax, (32, 256), (64, 256), (256,), (64, 1)))
    x, y = arrays(jax, (50, 16, 32), (16, 1), scale=1.0)

    def loss(params, x, y):
        w, u, b, out = params

        def body(carry, row):
            h, c = carry
            i, f, g, o = jnp.split(row @ w + h @ u + b, 4, axis=-1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

        start = jnp.zeros((16, 64))
        (h, _), _ = jax.lax.scan(body, (start, start), x)
        return jnp.mean((h @ out - y) ** 2)

    return descent(jax, loss), (weights, x, y)


@workload(family="training")
def gru_training_step(jax: Any):
    """A step of gradient descent on a gated recurrent unit: 50 steps, 32 inputs, 64 units."""
    f, args = gru(jax, 50, 32, 64)
    return descent(jax, f), args


@workload(family="training", memory=True)
def transformer_training_step(jax: Any):
    """A transformer block of 4 heads and 64 features on 8 sequences of 64 places."""
    jnp = jax.numpy
    names = ("qkv", "out", "up", "down")
    shapes = ((64, 192), (64, 64), (64, 256), (256, 64))
    weights = dict(zip(names, arrays(jax, *shapes), strict=True))
    x, y = arrays(jax, (8, 64, 64), (8, 64, 64), scale=1.0)

    def norm(x):
        x = x - jnp.mean(x, axis=-1, keepdims=True)
        return x * jax.lax.rsqrt(jnp.mean(x**2, axis=-1, keepdims=True) + 1e-5)

    def attend(x, params):
        q, k, v = jnp.split((x @ params["qkv"]).reshape(8, 64, 4, 48), 3, axis=-1)
        scores = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / 4.0, axis=-1)
        return jnp.einsum("bhqk,bkhd->bqhd", scores, v).reshape(8, 64, 64) @ params["out"]

    def loss(params, x, y):
        x = x + attend(norm(x), params)
        x = x + jax.nn.gelu(norm(x) @ params["up"]) @ params["down"]
        return jnp.mean((x - y) ** 2)

    return descent(jax, loss), (weights, x, y)


@workload(family="training")
def grad_softmax_cross_entropy(jax: Any):
    """Gradient of the cross entropy of 1000x1000 logits."""
    jnp = jax.numpy
    labels = jnp.asarray(np.random.default_rng(0).integers(0, 1000, 1000), "int32")

    def loss(x, labels):
        logits = jax.nn.log_softmax(x)
        return -jnp.mean(jnp.take_along_axis(logits, labels[:, None], axis=1))

    return jax.jit(jax.grad(loss)), (*arrays(jax, (1000, 1000), scale=1.0), labels)


@workload()
def scan_checkpointed(jax: Any):
    """Gradient of 200 rematerialized steps that carry 10^4 floats."""
    step = jax.checkpoint(lambda c, _: (jax.numpy.sin(jax.numpy.cos(c) * 1.1), None))

    def f(x):
        return jax.numpy.sum(jax.lax.scan(step, x, None, length=200)[0])

    return jax.jit(jax.grad(f)), (jax.numpy.ones(10**4),)
