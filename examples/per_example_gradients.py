"""One gradient per example, at the cost of one batch.

    python examples/per_example_gradients.py

`grad` differentiates the loss of one example, and `vmap` maps it over the examples of a batch: the
result has one more axis than the weights. The program finds mislabelled points with it: a point
with a wrong label pulls at the weights harder than its neighbours, so that the norms of the
gradients, one per example, point at it.

Shapes: points (n, 2), labels (n,) of -1 or 1, weights {"w": (2,), "b": ()}, norms (n,).
"""

import numpy as np

import tapeless as jax
import tapeless.numpy as jnp

POINTS = 200
WRONG = (11, 42, 150)


def data(key):
    """Return two clouds of points with their labels, of which three are wrong."""
    labels = jnp.where(jnp.arange(POINTS) % 2 == 0, 1.0, -1.0)
    noise = jax.random.normal(key, (POINTS, 2))
    points = noise + 2.5 * labels[:, None]
    return points, labels.at[jnp.array(WRONG)].multiply(-1.0)


def loss(weights, point, label):
    """Return the logistic loss of one point.  point: (2,), label: () -> ()"""
    return jnp.logaddexp(0.0, -label * (weights["w"] @ point + weights["b"]))


def mean_loss(weights, points, labels):
    """Return the mean loss of all points."""
    return jnp.mean(jax.vmap(loss, (None, 0, 0))(weights, points, labels))


@jax.jit
def train(weights, points, labels):
    """Return the weights after some steps of gradient descent."""

    def step(_, weights):
        """Go down the slope of the mean loss."""
        slope = jax.grad(mean_loss)(weights, points, labels)
        return jax.tree.map(lambda w, s: w - 0.5 * s, weights, slope)

    return jax.lax.fori_loop(0, 100, step, weights)


per_example = jax.jit(jax.vmap(jax.grad(loss), (None, 0, 0)))


def main():
    """Train, look at each example's gradient, and print the suspects."""
    points, labels = data(jax.random.key(0))
    weights = train({"w": jnp.zeros(2), "b": 0.0}, points, labels)
    gradients = per_example(weights, points, labels)
    print("gradients: ", jax.tree.map(jnp.shape, gradients))

    norms = jnp.sqrt(sum(jnp.sum(g.reshape(POINTS, -1) ** 2, 1) for g in gradients.values()))
    mean = jax.tree.map(lambda g: jnp.mean(g, 0), gradients)
    whole = jax.grad(mean_loss)(weights, points, labels)
    apart = max(float(jnp.max(jnp.abs(mean[name] - whole[name]))) for name in whole)
    print(f"their mean is the gradient of the mean loss, up to {apart:.1e}")

    suspects = np.argsort(-np.asarray(norms))[: len(WRONG)]
    print("norms: median", f"{jnp.median(norms):.4f},", "largest", np.round(norms[suspects], 2))
    print("suspects:", sorted(suspects.tolist()), "and truly wrong:", list(WRONG))
    return sorted(suspects.tolist()), apart


if __name__ == "__main__":
    main()
