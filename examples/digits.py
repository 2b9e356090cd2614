"""Teach a small recurrent network to read handwritten digits, one row of pixels at a time.

    python examples/digits.py [--epochs 30] [--seed 0] [--picture digits.png]

The images are the 1,797 digits of 8x8 pixels that come with scikit-learn. The network is a gated
recurrent unit: its state h looks at the eight rows in turn (`lax.scan`), and a linear layer
names the digit from the last state. It is written for one image; `vmap` makes it work on a
batch, `value_and_grad` gives the gradient of the mean loss, and the whole training step, with the
optimizer (Adam), is one compiled program (`jit`).

Shapes: rows (8, 8), state h: (n,), batch of images (b, 8, 8), labels (b,), logits (10,).

The program prints how long tracing, compiling and a step take, the loss, and the accuracy on images
it has not seen; it ends with a picture of the loss curve and of some of its answers.
"""

import argparse
import sys
import time
from functools import partial

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import tapeless as jax
import tapeless.numpy as jnp

STATE = 64
BATCH = 64
LEARNING_RATE = 4e-3
DECAY_MEAN, DECAY_SQUARE, EPSILON = 0.9, 0.999, 1e-8


def init(key):
    """Draw the network's weights: a dict of arrays."""
    keys = jax.random.split(key, 3)
    scale_in, scale_state = 8**-0.5, STATE**-0.5
    return {
        # The three columns of blocks are for the update gate, the reset gate, and the candidate.
        "from_row": scale_in * jax.random.normal(keys[0], (8, 3 * STATE)),
        "from_state": scale_state * jax.random.normal(keys[1], (STATE, 3 * STATE)),
        "bias": jnp.zeros(3 * STATE),
        "to_logits": scale_state * jax.random.normal(keys[2], (STATE, 10)),
        "logits_bias": jnp.zeros(10),
    }


def read_row(params, h, row):
    """Update the state with one row of pixels.  h: (n,), row: (8,) -> (n,), None"""
    from_row = row @ params["from_row"] + params["bias"]
    from_state = h @ params["from_state"]
    gates = jax.nn.sigmoid(from_row[: 2 * STATE] + from_state[: 2 * STATE])
    update, reset = jnp.split(gates, 2)
    candidate = jnp.tanh(from_row[2 * STATE :] + reset * from_state[2 * STATE :])
    return update * h + (1 - update) * candidate, None


def logits_of(params, image):
    """Read an image from top to bottom.  image: (8, 8) -> (10,)"""
    h, _ = jax.lax.scan(partial(read_row, params), jnp.zeros(STATE), image)
    return h @ params["to_logits"] + params["logits_bias"]


def mean_loss(params, images, labels):
    """Return the mean cross entropy of a batch.  images: (b, 8, 8), labels: (b,) -> ()"""
    logits = jax.vmap(logits_of, in_axes=(None, 0))(params, images)
    log_probabilities = jax.nn.log_softmax(logits)
    right = jnp.take_along_axis(log_probabilities, labels[:, None], axis=1)
    return -jnp.mean(right)


def step(params, moments, count, images, labels):
    """Take one step of Adam and return the new weights, its moments, its count, and the loss."""
    loss, gradient = jax.value_and_grad(mean_loss)(params, images, labels)
    count = count + 1
    mean, square = moments
    mean = jax.tree.map(lambda m, g: DECAY_MEAN * m + (1 - DECAY_MEAN) * g, mean, gradient)
    square = jax.tree.map(
        lambda s, g: DECAY_SQUARE * s + (1 - DECAY_SQUARE) * g**2, square, gradient
    )
    rate = LEARNING_RATE * jnp.sqrt(1 - DECAY_SQUARE**count) / (1 - DECAY_MEAN**count)
    params = jax.tree.map(
        lambda p, m, s: p - rate * m / (jnp.sqrt(s) + EPSILON), params, mean, square
    )
    return params, (mean, square), count, loss


@jax.jit
def predict(params, images):
    """Name the digits of a batch.  images: (b, 8, 8) -> (b,)"""
    return jnp.argmax(jax.vmap(logits_of, in_axes=(None, 0))(params, images), axis=1)


def load(seed):
    """Return training and test images in [0, 1] with their labels: x, x_test, y, y_test."""
    digits = load_digits()
    images = (digits.images / digits.images.max()).astype(np.float32)
    labels = digits.target.astype(np.int32)
    return train_test_split(images, labels, test_size=0.2, stratify=labels, random_state=seed)


def compile_step(*arguments):
    """Compile the training step ahead of time, and print how long each stage takes."""
    start = time.perf_counter()
    traced = jax.jit(step).trace(*arguments)
    after_trace = time.perf_counter()
    compiled = traced.lower().compile()
    after_compile = time.perf_counter()
    print(f"tracing the training step    {1e3 * (after_trace - start):8.1f} ms")
    print(f"compiling it                 {1e3 * (after_compile - after_trace):8.1f} ms")
    return compiled


def train(images, labels, epochs, seed):
    """Train and return the weights and the loss of every step."""
    params = init(jax.random.key(seed))
    zeros = jax.tree.map(jnp.zeros_like, params)
    moments, count = (zeros, zeros), jnp.zeros((), jnp.int32)
    run = compile_step(params, moments, count, images[:BATCH], labels[:BATCH])
    shuffle = np.random.default_rng(seed)
    losses, seconds = [], []
    progress = tqdm(range(epochs), desc="training", unit="epoch")
    for _ in progress:
        order = shuffle.permutation(len(images))
        for first in range(0, len(images) - BATCH + 1, BATCH):
            batch = order[first : first + BATCH]
            start = time.perf_counter()
            params, moments, count, loss = run(params, moments, count, images[batch], labels[batch])
            losses.append(float(loss))
            seconds.append(time.perf_counter() - start)
        progress.set_postfix(loss=f"{np.mean(losses[-20:]):.4f}")
    print(f"one step, batch of {BATCH} (median) {1e3 * np.median(seconds):8.3f} ms")
    print(f"{len(losses)} steps; loss {losses[0]:.4f} -> {np.mean(losses[-20:]):.4f}")
    return params, losses


def draw(path, losses, images, labels, answers):
    """Write a picture of the loss curve and of 16 test images with the answers."""
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subfigures(1, 2)
    axes = left.subplots()
    axes.semilogy(losses, linewidth=0.8)
    axes.set(xlabel="step", ylabel="loss of the batch", title="training")
    wrong_first = np.argsort(answers == labels, kind="stable")[:16]
    for axes, which in zip(right.subplots(4, 4).flat, wrong_first, strict=True):
        is_right = answers[which] == labels[which]
        axes.imshow(images[which], cmap="gray_r")
        axes.set_title(
            f"{answers[which]}" if is_right else f"{answers[which]}, is {labels[which]}",
            color="black" if is_right else "tab:red",
            fontsize=9,
        )
        axes.axis("off")
    right.suptitle("answers to test images, mistakes first")
    figure.savefig(path, dpi=120)
    print(f"picture of the loss and of some answers: {path}")


def main():
    """Train, test, and draw; return the accuracy on the test images."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", default="digits.png", help="where the picture goes")
    options = parser.parse_args()
    images, test_images, labels, test_labels = load(options.seed)
    print(f"{len(images)} training images, {len(test_images)} test images")
    params, losses = train(images, labels, options.epochs, options.seed)
    answers = np.asarray(predict(params, test_images))
    accuracy = float(np.mean(answers == test_labels))
    print(f"test accuracy {100 * accuracy:.1f} %")
    draw(options.picture, losses, test_images, test_labels, answers)
    return accuracy


if __name__ == "__main__":
    sys.exit(main() < 0.95)
