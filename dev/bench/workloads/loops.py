"""Compiled programs whose time goes into their loops."""

from typing import Any

from dev.bench import programs
from dev.bench.programs import gru, many_leaves_scan
from dev.bench.registry import workload

__all__ = []


@workload(family="scalar loop")
def while_1e6(jax: Any):
    """Count to 10^6 in a while loop, which a compiler may do without counting."""
    f = lambda n: jax.lax.while_loop(lambda i: i < n, lambda i: i + 1, 0)  # noqa: E731
    return jax.jit(f), (10**6,)


@workload(family="scalar loop")
def while_newton_1e5(jax: Any):
    """Make 10^5 steps towards a square root in a while loop."""

    def f(a):
        """Return the last estimate."""
        step = lambda state: (0.5 * (state[0] + a / state[0]), state[1] + 1)  # noqa: E731
        return jax.lax.while_loop(lambda state: state[1] < 10**5, step, (a, 0))[0]

    return jax.jit(f), (2.0,)


@workload(family="scalar loop", native=True)
def scan_scalar_1e4(jax: Any):
    """Carry one float through 10^4 steps and stack what it was."""
    xs = jax.numpy.linspace(0.0, 1.0, 10**4)
    return jax.jit(lambda xs: jax.lax.scan(lambda c, x: (0.9 * c + x, c), 0.0, xs)), (xs,)


def fill(jax: Any, n: int):
    """Set each element of an array, one in a step."""

    def f(x):
        return jax.lax.fori_loop(0, n, lambda i, x: x.at[i].set(x[i] + 1.0), x)

    return jax.jit(f), (jax.numpy.zeros(n),)


@workload(family="element updates")
def at_set_1e3(jax: Any):
    """Set each of 1,000 elements in a loop."""
    return fill(jax, 1000)


@workload(family="element updates")
def at_set_1e6(jax: Any):
    """Set each of 10^6 elements in a loop."""
    return fill(jax, 10**6)


@workload(native=True)
def runge_kutta(jax: Any):
    """Integrate the Lorenz equations for 1,000 steps of the classical Runge-Kutta method."""
    f, args = programs.runge_kutta(jax)
    return jax.jit(f), args


@workload(family="gru")
def gru_200(jax: Any):
    """Gated recurrent unit: 200 steps, 64 inputs, 128 units."""
    f, args = gru(jax)
    return jax.jit(f), args


@workload(family="gru")
def gru_200_batch_32(jax: Any):
    """The same for a batch of 32 sequences."""
    f, ((w, u), x) = gru(jax)
    batch = jax.numpy.stack([x * (1 + 0.01 * i) for i in range(32)])
    return jax.jit(jax.vmap(f, (None, 0))), ((w, u), batch)


@workload(family="scan of leaves", native=True)
def scan_60_leaves(jax: Any):
    """Carry a dict of 60 scalars through 1,000 steps."""
    f, args = many_leaves_scan(jax)
    return jax.jit(f), args


@workload(family="collatz", native=True)
def collatz(jax: Any):
    """Steps to one of the first 10^4 numbers: vmap of a while loop with a cond."""

    def body(state):
        n, count = state
        return jax.lax.cond(n % 2 == 0, lambda n: n // 2, lambda n: 3 * n + 1, n), count + 1

    def steps(n):
        return jax.lax.while_loop(lambda state: state[0] != 1, body, (n, 0))[1]

    return jax.jit(jax.vmap(steps)), (jax.numpy.arange(1, 10_001),)
