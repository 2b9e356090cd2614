"""Fit a curve by Gauss-Newton steps that never build the Jacobian.

    python examples/gauss_newton.py

For residuals r(w) the Gauss-Newton step d solves (J^T J + damping) d = -J^T r. `linearize` gives
v -> J v, and `linear_transpose` of it u -> J^T u, both at once and at the same point; conjugate
gradients (`jax.scipy.sparse.linalg.cg`) need no more than the two. Near a good fit the steps shrink
quadratically, where gradient descent crawls.

The program fits a sum of two decaying oscillations to samples of one.

Shapes: times, samples and residuals (t,), weights (2, 4): amplitude, decay, frequency, phase.
"""

import numpy as np

import tapeless as jax
import tapeless.numpy as jnp
from tapeless.scipy.sparse.linalg import cg

TIMES = np.linspace(0, 4, 200)
TRUE = np.array([[1.0, 0.3, 5.0, 0.0], [0.7, 0.8, 9.0, 1.0]])
DAMPING = 1e-6


def model(w):
    """Return the sum of the oscillations at TIMES.  w: (k, 4) -> (t,)"""

    def one(amplitude, decay, frequency, phase):
        """Return one oscillation."""
        return amplitude * jnp.exp(-decay * TIMES) * jnp.sin(frequency * TIMES + phase)

    return jnp.sum(jax.vmap(one)(*w.T), 0)


def step(w, samples):
    """Return the weights after one step, and the sum of squared residuals before it."""
    r, push = jax.linearize(lambda w: model(w) - samples, w)
    pull = jax.linear_transpose(push, w)
    normal = lambda d: pull(push(d))[0] + DAMPING * d  # noqa: E731
    d, _ = cg(normal, -pull(r)[0], tol=1e-12, maxiter=50)
    return w + d, jnp.sum(r**2)


@jax.jit
def fit(w, samples):
    """Return the weights after ten steps, and the error before each."""
    return jax.lax.scan(lambda w, _: step(w, samples), w, None, length=10)


def main():
    """Fit, and print the errors."""
    with jax.enable_x64(True):
        samples = model(jnp.array(TRUE))
        start = jnp.array(TRUE) + jnp.array([[0.2, 0.1, -0.15, 0.2], [-0.2, 0.1, 0.15, -0.2]])
        w, errors = fit(start, samples)
        for number, error in enumerate(errors):
            print(f"step {number}: squared error {error:.3e}")
        print("found:", np.round(w, 6).tolist())
        descended, slope = start, jax.jit(jax.grad(lambda w: jnp.sum((model(w) - samples) ** 2)))
        for _ in range(10):
            descended = descended - 1e-3 * slope(descended)
        left = float(jnp.sum((model(descended) - samples) ** 2))
        print(f"ten steps of gradient descent leave {left:.3e}")
        return np.asarray(w), np.asarray(errors), left


if __name__ == "__main__":
    main()
