"""A classifier of handwritten-like digits from scratch: layers, gradients and steps by hand.

    python -m tapeless examples/drop_in/mnist_from_scratch.py

The digits are drawn on a 7 by 7 raster as the segments of a clock, shifted and made noisy. What is
printed are losses and the shares of right answers in training and on images not seen.
"""

import jax.numpy as jnp
from jax import grad, jit, random, vmap
from jax.scipy.special import logsumexp

SIZES = (49, 32, 10)
SEGMENTS = ("abcdef", "bc", "abged", "abgcd", "fgbc", "afgcd", "afgedc", "abc", "abcdefg", "abcdfg")


def glyph(digit):
    """Return the raster of a digit: segments a (top), b, c (right), d, e, f (left), g (middle)."""
    image = jnp.zeros((7, 7))
    lines = {
        "a": (0, slice(1, 5)), "b": (slice(0, 3), 4), "c": (slice(3, 6), 4),
        "d": (5, slice(1, 5)), "e": (slice(3, 6), 1), "f": (slice(0, 3), 1),
        "g": (2, slice(1, 5)),
    }  # fmt: skip
    for segment in SEGMENTS[digit]:
        image = image.at[lines[segment]].set(1.0)
    return image


def data(key, count):
    """Return images (count, 49) and labels one-hot (count, 10)."""
    glyphs = jnp.stack([glyph(digit) for digit in range(10)])
    shift, noise = random.split(key)
    labels = jnp.arange(count) % 10
    shifts = random.randint(shift, (count, 2), 0, 2)
    images = vmap(lambda image, by: jnp.roll(image, by, (0, 1)))(glyphs[labels], shifts)
    images = images.reshape(count, 49) + 0.3 * random.normal(noise, (count, 49))
    return images, jnp.array(labels[:, None] == jnp.arange(10), jnp.float32)


def layers(key):
    """Return weights and biases."""
    keys = random.split(key, len(SIZES) - 1)
    pairs = zip(keys, SIZES[:-1], SIZES[1:], strict=True)
    return [(0.2 * random.normal(k, (n, m)), jnp.zeros(n)) for k, m, n in pairs]


def predict(params, image):
    """image: (49,) -> the logarithms of the chances (10,)."""
    activations = image
    for w, b in params[:-1]:
        activations = jnp.maximum(0, jnp.dot(w, activations) + b)
    w, b = params[-1]
    logits = jnp.dot(w, activations) + b
    return logits - logsumexp(logits)


batched_predict = vmap(predict, in_axes=(None, 0))


def loss(params, images, targets):
    """Return the mean cross entropy."""
    return -jnp.mean(jnp.sum(batched_predict(params, images) * targets, axis=1))


def accuracy(params, images, targets):
    """Return the share of right answers."""
    found = jnp.argmax(batched_predict(params, images), axis=1)
    return jnp.mean(found == jnp.argmax(targets, axis=1))


@jit
def update(params, images, targets):
    """Take one step down the gradient."""
    grads = grad(loss)(params, images, targets)
    return [(w - 0.3 * dw, b - 0.3 * db) for (w, b), (dw, db) in zip(params, grads, strict=True)]


def main():
    """Train by batches of 50 for some epochs."""
    images, targets = data(random.key(0), 400)
    fresh = data(random.key(1), 200)
    params = layers(random.key(2))
    for epoch in range(9):
        order = random.permutation(random.key(10 + epoch), 400)
        for batch in order.reshape(-1, 50):
            params = update(params, images[batch], targets[batch])
        print(f"{float(loss(params, images, targets)):.5f}")
    print(f"{float(accuracy(params, images, targets)):.4f} {float(accuracy(params, *fresh)):.4f}")


if __name__ == "__main__":
    main()
