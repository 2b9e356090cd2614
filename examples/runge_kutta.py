"""The classical Runge-Kutta method as a scan: a path, its derivative, a bundle of paths.

    python examples/runge_kutta.py

An integrator is a loop that a compiler can have whole. Since it is a scan over time, `grad` runs
it backwards, and `vmap` runs many at once. The program swings a pendulum of angle q,

    dq/dt = v        dv/dt = -omega^2 q

of which the solution is known, shows that the error falls with the fourth power of the step, takes
the derivative of the end by the start, and integrates a circle of starts: the flow keeps its area.

Shapes: y (2,), times (t,).
"""

import functools

import numpy as np

import tapeless as jax
import tapeless.numpy as jnp

OMEGA, TIME = 2.0, 3.0

jax.config.update("jax_enable_x64", True)


def pendulum(t, y):
    """Return dy/dt.  y: (2,) -> (2,)"""
    return jnp.stack([y[1], -(OMEGA**2) * y[0]])


def runge_kutta(derivative, y, time, steps):
    """Return y after `time`."""
    h = time / steps

    def step(y, t):
        """Make one step of length h."""
        k1 = derivative(t, y)
        k2 = derivative(t + h / 2, y + h / 2 * k1)
        k3 = derivative(t + h / 2, y + h / 2 * k2)
        k4 = derivative(t + h, y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

    return jax.lax.scan(step, y, h * jnp.arange(steps))[0]


@functools.partial(jax.jit, static_argnums=1)
def end(y, steps):
    """Return where the pendulum is after TIME."""
    return runge_kutta(pendulum, y, TIME, steps)


def exact():
    """Return the matrix that takes a start to its end."""
    c, s = np.cos(OMEGA * TIME), np.sin(OMEGA * TIME)
    return np.array([[c, s / OMEGA], [-OMEGA * s, c]])


def main():
    """Print the order of the method, the derivative, and the area of the bundle."""
    start = jnp.array([1.0, 0.5])
    errors = [float(jnp.max(jnp.abs(end(start, n) - exact() @ start))) for n in (50, 100, 200)]
    orders = [float(np.log2(a / b)) for a, b in zip(errors, errors[1:], strict=False)]
    print("half the step, error less by 2 to the", " and ".join(f"{order:.2f}" for order in orders))
    by_start = jax.jacrev(end)(start, 200)
    apart = float(np.max(np.abs(by_start - exact())))
    print(f"derivative of the end by the start, to {apart:.0e}:\n{by_start}")
    angles = jnp.linspace(0, 2 * jnp.pi, 500, endpoint=False)
    circle = jnp.stack([jnp.cos(angles), jnp.sin(angles)], 1)
    q, v = jax.vmap(lambda y: end(y, 200))(circle).T
    area = float(0.5 * jnp.abs(jnp.sum(q * jnp.roll(v, -1) - v * jnp.roll(q, -1))))
    print(f"a circle of starts has area {jnp.pi:.4f}, its ends {area:.4f}")
    return orders, apart, area


if __name__ == "__main__":
    main()
