"""Programs that several groups measure: they trace, compile, run and differentiate the same ones.

Each takes the module object `jax` and returns a function with arguments for it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = [
    "chain",
    "fill",
    "gru",
    "lstm",
    "many_leaves_scan",
    "mlp_step",
    "potential",
    "rnn_unrolled",
    "runge_kutta",
    "switch",
]


def arrays(jax: Any, *shapes: tuple[int, ...], seed: int = 0, scale: float = 0.1) -> list:
    """Return normally distributed arrays of the given shapes."""
    draw = np.random.default_rng(seed)
    return [jax.numpy.asarray(scale * draw.normal(size=shape), "float32") for shape in shapes]


def chain(jax: Any, length: int):
    """Apply `length` elementwise operations, one after the other, to 16 numbers."""

    def f(x):
        for i in range(length // 2):
            x = jax.numpy.sin(x) + (i + 1.0)
        return jax.numpy.sum(x)

    return f, (jax.numpy.ones(16),)


def rnn_unrolled(jax: Any, steps: int):
    """Run an unrolled recurrent network of 32 units for so many steps."""
    w, u, x = arrays(jax, (32, 32), (16, 32), (steps, 16))

    def f(w, u, x):
        h = jax.numpy.zeros(32)
        for t in range(steps):
            h = jax.numpy.tanh(h @ w + x[t] @ u)
        return jax.numpy.sum(h)

    return f, (w, u, x)


def gru(jax: Any, steps: int = 200, inputs: int = 64, units: int = 128):
    """Run a gated recurrent unit over a sequence and sum the squares of its last state."""
    w, u, x = arrays(jax, (inputs, 3 * units), (units, 3 * units), (steps, inputs))

    def f(params, x):
        w, u = params

        def body(h, row):
            a, b = row @ w, h @ u
            update, reset = jax.numpy.split(jax.nn.sigmoid(a[: 2 * units] + b[: 2 * units]), 2)
            candidate = jax.numpy.tanh(a[2 * units :] + reset * b[2 * units :])
            return update * h + (1 - update) * candidate, None

        h, _ = jax.lax.scan(body, jax.numpy.zeros(units), x)
        return jax.numpy.sum(h**2)

    return f, ((w, u), x)


def lstm(jax: Any, steps: int = 200, inputs: int = 64, units: int = 128):
    """Run a long short-term memory over a sequence and sum the squares of its states."""
    jnp = jax.numpy
    w, u, b, x = arrays(jax, (inputs, 4 * units), (units, 4 * units), (4 * units,), (steps, inputs))

    def f(params, x):
        w, u, b = params

        def body(carry, row):
            h, c = carry
            i, f, g, o = jnp.split(row @ w + h @ u + b, 4)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        start = jnp.zeros(units)
        _, states = jax.lax.scan(body, (start, start), x)
        return jnp.sum(states**2)

    return f, ((w, u, b), x)


def runge_kutta(jax: Any, steps: int = 1000):
    """Integrate the Lorenz equations by the classical Runge-Kutta method.  s: (3,) -> (3,)"""
    jnp = jax.numpy

    def slope(s):
        x, y, z = s
        return jnp.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 2.6667 * z])

    def step(s, _):
        a = slope(s)
        b = slope(s + 0.005 * a)
        c = slope(s + 0.005 * b)
        d = slope(s + 0.01 * c)
        return s + 0.01 / 6.0 * (a + 2 * b + 2 * c + d), None

    f = lambda s: jax.lax.scan(step, s, None, length=steps)[0]  # noqa: E731
    return f, (jnp.ones(3),)


def potential(jax: Any, points: int = 2000):
    """Return the energy of points that attract each other.  x: (n, 3) -> ()"""

    def f(x):
        square = jax.numpy.sum((x[:, None] - x[None]) ** 2, axis=-1)
        return -jax.numpy.sum(jax.lax.rsqrt(square + 1e-2))

    return f, tuple(arrays(jax, (points, 3), scale=1.0))


def fill(jax: Any, n: int):
    """Set each element of an array from the one before, one in a step.  x: (n,) -> ()"""
    jnp = jax.numpy

    def f(x):
        body = lambda i, x: x.at[i].set(0.9 * jnp.sin(x[i - 1]) + 0.1)  # noqa: E731
        return jnp.sum(jax.lax.fori_loop(1, n, body, x))

    return f, (jnp.ones(n),)


def many_leaves_scan(jax: Any, leaves: int = 60, steps: int = 1000, grow: Callable | None = None):
    """Carry a dict of scalars through a scan; each grows by a sine, or `grow`, of its neighbour."""
    grow = grow or jax.numpy.sin
    names = [f"p{i:02}" for i in range(leaves)]
    start = dict(zip(names, arrays(jax, *[()] * leaves), strict=True))

    def f(start):
        def body(carry, _):
            values = [carry[name] for name in names]
            turned = values[1:] + values[:1]
            new = [0.9 * a + 0.1 * grow(b) for a, b in zip(values, turned, strict=True)]
            return dict(zip(names, new, strict=True)), None

        end, _ = jax.lax.scan(body, start, None, length=steps)
        return sum(end.values())

    return f, (start,)


def switch(jax: Any, branches: int = 64):
    """Choose one of 64 functions of three operations."""

    def branch(i):
        return lambda x: jax.numpy.sin(x * (i + 1.0)) + i

    functions = [branch(i) for i in range(branches)]
    f = lambda i, x: jax.lax.switch(i, functions, x)  # noqa: E731
    return f, (jax.numpy.int32(5), jax.numpy.ones(16))


def mlp_step(jax: Any, sizes: tuple[int, ...] = (64, 256, 256, 10), batch: int = 128):
    """Take a step of gradient descent on a network of dense layers."""
    pairs = list(zip(sizes[:-1], sizes[1:], strict=True))
    weights = arrays(jax, *pairs)
    biases = arrays(jax, *[(size,) for size in sizes[1:]])
    x, y = arrays(jax, (batch, sizes[0]), (batch, sizes[-1]), seed=1)

    def loss(params, x, y):
        *hidden, (w, b) = params
        for w_hidden, b_hidden in hidden:
            x = jax.numpy.tanh(x @ w_hidden + b_hidden)
        return jax.numpy.mean((x @ w + b - y) ** 2)

    def step(params, x, y):
        value, gradient = jax.value_and_grad(loss)(params, x, y)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient), value

    return step, (list(zip(weights, biases, strict=True)), x, y)
