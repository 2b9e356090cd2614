"""A neural ODE trained by the adjoint method, in memory that does not grow with the time steps.

    python examples/neural_ode.py

The state moves by dx/dt = f(w, x), f a small network. Reverse mode through an integrator stores all
its steps. The adjoint method stores the end alone: it integrates backwards in time the state, the
adjoint a = dL/dx, and the gradient by the weights,

    dx/dt = f(w, x)        da/dt = -a df/dx        dg/dt = -a df/dw

with one `vjp` of f per evaluation, as the rule of a `custom_vjp`. The integrator is the classical
Runge-Kutta method, over trees.

The program learns a spiral, compares the adjoint's gradient with that of the integrator itself, and
prints the temporary memory of both.

Shapes: state (2,), times (t,), path (t, 2), weights {"w1": (2, n), "b1": (n,), "w2": (n, 2)}.
"""

from functools import partial

import numpy as np

import tapeless as jax
import tapeless.numpy as jnp

WIDTH, STEPS, PATHS = 24, 20, 16
SPIRAL = np.array([[-0.1, 2.0], [-2.0, -0.1]], np.float32)


def velocity(w, x):
    """Return dx/dt.  x: (2,) -> (2,)"""
    return jnp.tanh(x**3 @ w["w1"] + w["b1"]) @ w["w2"]


def integrate(derivative, x, time, steps):
    """Return the tree x after `time`, by `steps` steps of the classical Runge-Kutta method."""
    h = time / steps

    def along(x, k, share):
        """Return x + share * k."""
        return jax.tree.map(lambda x, k: x + share * k, x, k)

    def step(_, x):
        """Make one step."""
        k1 = derivative(x)
        k2 = derivative(along(x, k1, h / 2))
        k3 = derivative(along(x, k2, h / 2))
        k4 = derivative(along(x, k3, h))
        total = jax.tree.map(lambda a, b, c, d: a + 2 * b + 2 * c + d, k1, k2, k3, k4)
        return along(x, total, h / 6)

    return jax.lax.fori_loop(0, steps, step, x)


@partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def flow(w, x, time, steps):
    """Return where x is after `time`."""
    return integrate(partial(velocity, w), x, time, steps)


def forward(w, x, time, steps):
    """Return the end of the path, which is all that the adjoint needs."""
    end = flow(w, x, time, steps)
    return end, (w, end)


def backward(time, steps, residuals, ct):
    """Integrate state, adjoint and gradient back to the start."""
    w, end = residuals

    def reversed_derivative(state):
        """Return the derivatives by the time that runs backwards."""
        x, adjoint, _ = state
        v, pull = jax.vjp(velocity, w, x)
        by_w, by_x = pull(adjoint)
        return -v, by_x, by_w

    start = (end, ct, jax.tree.map(jnp.zeros_like, w))
    _, by_x, by_w = integrate(reversed_derivative, start, time, steps)
    return by_w, by_x


flow.defvjp(forward, backward)


def loss(w, starts, ends, move=flow):
    """Return the mean squared distance of the ends of paths."""
    moved = jax.vmap(lambda x: move(w, x, 0.5, STEPS))(starts)
    return jnp.mean(jnp.sum((moved - ends) ** 2, 1))


def plain_flow(w, x, time, steps):
    """Do the same without the adjoint's rule."""
    return integrate(partial(velocity, w), x, time, steps)


def data():
    """Return starts of paths on a spiral and where they are half a second later."""
    start = np.array([2.0, 0.0], np.float32)
    path = [start]
    for _ in range(PATHS):
        path.append(np.asarray(integrate(lambda x: x**3 @ SPIRAL, path[-1], 0.5, 200)))
    return jnp.array(path[:-1]), jnp.array(path[1:])


@jax.jit
def train(w, starts, ends):
    """Return the weights after 500 steps of Adam, and the losses on the way."""

    def step(carry, i):
        """Make one step."""
        w, mean, square = carry
        value, slope = jax.value_and_grad(loss)(w, starts, ends)
        mean = jax.tree.map(lambda m, s: 0.9 * m + 0.1 * s, mean, slope)
        square = jax.tree.map(lambda q, s: 0.99 * q + 0.01 * s * s, square, slope)
        size = 0.02 * jnp.sqrt(1 - 0.99 ** (i + 1.0)) / (1 - 0.9 ** (i + 1.0))
        move = lambda w, m, q: w - size * m / (jnp.sqrt(q) + 1e-8)  # noqa: E731
        return (jax.tree.map(move, w, mean, square), mean, square), value

    zeros = jax.tree.map(jnp.zeros_like, w)
    (w, _, _), losses = jax.lax.scan(step, (w, zeros, zeros), jnp.arange(500))
    return w, losses


def temporaries(move, steps, w, x):
    """Return the bytes that the gradient of one path of `steps` steps needs besides its results."""
    gradient = jax.jit(jax.grad(lambda w: jnp.sum(move(w, x, 1.0, steps))))
    return gradient.lower(w).compile().memory_analysis().temp_size_in_bytes


def main():
    """Train, and compare gradients and memory."""
    keys = jax.random.split(jax.random.key(0))
    w = {
        "w1": 0.3 * jax.random.normal(keys[0], (2, WIDTH)),
        "b1": jnp.zeros(WIDTH),
        "w2": 0.3 * jax.random.normal(keys[1], (WIDTH, 2)),
    }
    starts, ends = data()
    exact = jax.grad(loss)(w, starts, ends, plain_flow)
    adjoint = jax.grad(loss)(w, starts, ends)
    apart = max(
        float(jnp.max(jnp.abs(adjoint[k] - exact[k])) / jnp.max(jnp.abs(exact[k]))) for k in w
    )
    print(f"gradients by adjoint and through the integrator differ by {apart:.1e}")
    w, losses = train(w, starts, ends)
    print(f"loss: {losses[0]:.4f} at first, {losses[-1]:.6f} after {len(losses)} steps")
    memory = {}
    for steps in (100, 10_000):
        memory[steps] = [temporaries(move, steps, w, starts[0]) for move in (flow, plain_flow)]
        few, many = memory[steps]
        print(f"{steps:6} steps: {few:9,} bytes by the adjoint, {many:11,} through the integrator")
    return apart, np.asarray(losses), memory


if __name__ == "__main__":
    main()
