"""Numerical methods that are loops over arrays."""

from typing import Any

import numpy as np

from dev.bench.programs import arrays
from dev.bench.registry import workload

__all__ = []


@workload(family="stencil nests")
def seidel_2d(jax: Any):
    """Two sweeps of a nine-point stencil that reads what it has just written, 120x120."""
    n = 120
    lax = jax.lax

    def element(i, j, a):
        window = lax.dynamic_slice(a, (i - 1, j - 1), (3, 3))
        return a.at[i, j].set(jax.numpy.sum(window) / 9.0)

    def row(i, a):
        return lax.fori_loop(1, n - 1, lambda j, a: element(i, j, a), a)

    def f(a):
        return lax.fori_loop(0, 2, lambda _, a: lax.fori_loop(1, n - 1, row, a), a)

    return jax.jit(f), tuple(arrays(jax, (n, n), scale=1.0))


@workload()
def viterbi(jax: Any):
    """Most likely path through 1,000 steps of a model of 16 states."""
    jnp = jax.numpy

    def f(transitions, emissions):
        def forward(score, emission):
            every = score[:, None] + transitions
            return jnp.max(every, axis=0) + emission, jnp.argmax(every, axis=0)

        last, back = jax.lax.scan(forward, emissions[0], emissions[1:])
        step = lambda state, pointers: (pointers[state], state)  # noqa: E731
        first, path = jax.lax.scan(step, jnp.argmax(last), back, reverse=True)
        return jnp.append(first, path)

    return jax.jit(f), tuple(arrays(jax, (16, 16), (1000, 16), scale=1.0))


@workload()
def kalman_filter(jax: Any):
    """Filter 1,000 observations of two numbers with a state of four."""
    jnp = jax.numpy
    move = jnp.eye(4) + 0.1 * jnp.eye(4, k=2)
    look = jnp.eye(2, 4)

    def f(observations):
        def step(carry, seen):
            mean, covariance = carry
            mean, covariance = move @ mean, move @ covariance @ move.T + 0.01 * jnp.eye(4)
            spread = look @ covariance @ look.T + 0.1 * jnp.eye(2)
            gain = jnp.linalg.solve(spread, look @ covariance).T
            mean = mean + gain @ (seen - look @ mean)
            covariance = covariance - gain @ look @ covariance
            return (mean, covariance), mean

        return jax.lax.scan(step, (jnp.zeros(4), jnp.eye(4)), observations)[1]

    return jax.jit(f), tuple(arrays(jax, (1000, 2), scale=1.0))


@workload()
def metropolis(jax: Any):
    """10,000 steps of Metropolis sampling of a mixture of two normal distributions."""
    jnp, random = jax.numpy, jax.random

    def density(x):
        return jnp.logaddexp(-((x - 2) ** 2), -((x + 2) ** 2))

    def step(carry, key):
        x, at_x = carry
        for_move, for_choice = random.split(key)
        y = x + random.normal(for_move)
        at_y = density(y)
        taken = jnp.log(random.uniform(for_choice)) < at_y - at_x
        carry = jnp.where(taken, y, x), jnp.where(taken, at_y, at_x)
        return carry, carry[0]

    def f(key):
        start = jnp.float32(0.0)
        return jax.lax.scan(step, (start, density(start)), random.split(key, 10_000))[1]

    return jax.jit(f), (jax.random.key(0),)


@workload()
def power_iteration(jax: Any):
    """100 steps of the power method on a 200x200 matrix."""
    jnp = jax.numpy

    def f(a, x):
        def step(_, x):
            y = a @ x
            return y / jnp.linalg.norm(y)

        return jax.lax.fori_loop(0, 100, step, x)

    return jax.jit(f), tuple(arrays(jax, (200, 200), (200,)))


@workload()
def wave_equation(jax: Any):
    """200 steps of the wave equation on a grid of 256x256."""
    jnp = jax.numpy

    def laplacian(u):
        moved = [jnp.roll(u, shift, axis) for shift in (1, -1) for axis in (0, 1)]
        return sum(moved) - 4 * u

    def f(u):
        def step(carry, _):
            now, before = carry
            return (2 * now - before + 0.1 * laplacian(now), now), None

        return jax.lax.scan(step, (u, u), None, length=200)[0][0]

    return jax.jit(f), tuple(arrays(jax, (256, 256)))


@workload()
def game_of_life(jax: Any):
    """100 generations of the game of life on 256x256 cells."""
    jnp = jax.numpy
    cells = jnp.asarray(np.random.default_rng(0).integers(0, 2, (256, 256)), "int32")

    def step(_, cells):
        around = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]
        count = sum(jnp.roll(cells, shift, (0, 1)) for shift in around)
        return ((count == 3) | ((cells == 1) & (count == 2))).astype("int32")

    return jax.jit(lambda cells: jax.lax.fori_loop(0, 100, step, cells)), (cells,)


@workload()
def stencil_padded(jax: Any):
    """50 steps of an average of neighbours, zero outside, on 256x256 points."""
    jnp = jax.numpy

    def step(_, u):
        p = jnp.pad(u, 1)
        return 0.25 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2])

    return jax.jit(lambda u: jax.lax.fori_loop(0, 50, step, u)), tuple(arrays(jax, (256, 256)))


@workload(family="subnormal numbers")
def logistic_map(jax: Any):
    """1,000 steps of the logistic map for 1,000 rates; a quarter end in subnormal numbers."""
    rates = jax.numpy.asarray(np.random.default_rng(0).uniform(0, 4, 1000), "float32")

    def f(rates):
        start = jax.numpy.full(1000, 0.5, "float32")
        return jax.lax.fori_loop(0, 1000, lambda _, x: rates * x * (1 - x), start)

    return jax.jit(f), (rates,)
