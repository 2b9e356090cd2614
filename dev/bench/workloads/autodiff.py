"""Compiled derivatives."""

from typing import Any

from dev.bench.programs import (
    arrays,
    fill,
    gru,
    lstm,
    many_leaves_scan,
    mlp_step,
    potential,
    runge_kutta,
)
from dev.bench.registry import workload

__all__ = []


@workload(memory=True)
def grad_gru(jax: Any):
    """Gradient of a gated recurrent unit: 200 steps, 64 inputs, 128 units."""
    f, args = gru(jax)
    return jax.jit(jax.grad(f)), args


@workload(memory=True)
def grad_lstm(jax: Any):
    """Gradient of a long short-term memory: 200 steps, 64 inputs, 128 units."""
    f, args = lstm(jax)
    return jax.jit(jax.grad(f)), args


@workload(memory=True)
def grad_runge_kutta(jax: Any):
    """Gradient of 1,000 steps of the Runge-Kutta method by their start."""
    f, args = runge_kutta(jax)
    return jax.jit(jax.grad(lambda s: jax.numpy.sum(f(s)))), args


@workload(memory=True)
def grad_nbody_2000(jax: Any):
    """Forces on 2,000 points: the gradient of their energy."""
    f, args = potential(jax)
    return jax.jit(jax.grad(f)), args


@workload(family="gradient of element updates")
def grad_at_set_1e3(jax: Any):
    """Gradient of a loop that sets each of 1,000 elements from the one before."""
    f, args = fill(jax, 10**3)
    return jax.jit(jax.grad(f)), args


@workload(family="gradient of element updates", memory=True)
def grad_at_set_1e4(jax: Any):
    """Gradient of a loop that sets each of 10^4 elements from the one before."""
    f, args = fill(jax, 10**4)
    return jax.jit(jax.grad(f)), args


@workload(memory=True)
def grad_scan_60_leaves(jax: Any):
    """Gradient of 1,000 steps that carry 60 scalars."""
    f, args = many_leaves_scan(jax)
    return jax.jit(jax.grad(f)), args


@workload()
def hessian_50(jax: Any):
    """Hessian of Rosenbrock's function of 50 variables."""

    def f(x):
        return jax.numpy.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    return jax.jit(jax.hessian(f)), tuple(arrays(jax, (50,)))


@workload(memory=True)
def per_example_gradients(jax: Any):
    """Gradient for each of 128 examples of a network of 32, 64 and 1 units."""
    w, v, x = arrays(jax, (32, 64), (64,), (128, 32))

    def loss(params, x):
        w, v = params
        return jax.numpy.tanh(x @ w) @ v

    return jax.jit(jax.vmap(jax.grad(loss), (None, 0))), ((w, v), x)


@workload()
def mlp_training_step(jax: Any):
    """A training step of a network of 64, 256, 256 and 10 units on 128 examples."""
    step, args = mlp_step(jax)
    return jax.jit(step), args


@workload()
def jacobian_forward(jax: Any):
    """Forward-mode Jacobian of two dense layers at 64 inputs."""
    w, v, x = arrays(jax, (64, 128), (128, 64), (64,))
    f = jax.jacfwd(lambda x: jax.numpy.tanh(jax.numpy.tanh(x @ w) @ v))
    return jax.jit(f), (x,)
