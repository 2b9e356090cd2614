"""How long it takes to turn a Python function into a program, without compiling it."""

from collections.abc import Callable
from typing import Any

from dev.bench.programs import chain, gru, mlp_step, rnn_unrolled
from dev.bench.registry import workload

__all__ = []


def tracing(jax: Any, f: Callable, args: tuple) -> tuple[Callable, tuple]:
    """Return a function that traces `f` anew at each call."""
    # A fresh function each time, since traced programs are remembered for the function.
    return lambda: jax.jit(lambda *args: f(*args)).trace(*args), ()


@workload(family="chain")
def chain_1000(jax: Any):
    """Trace 1,000 elementwise operations."""
    return tracing(jax, *chain(jax, 1000))


@workload(family="chain")
def grad_chain_1000(jax: Any):
    """Trace the gradient of 1,000 elementwise operations."""
    f, args = chain(jax, 1000)
    return tracing(jax, jax.grad(f), args)


@workload()
def grad_rnn_unrolled_100(jax: Any):
    """Trace the gradient of 100 unrolled steps of a recurrent network."""
    f, args = rnn_unrolled(jax, 100)
    return tracing(jax, jax.grad(f, (0, 1)), args)


@workload()
def grad_gru(jax: Any):
    """Trace the gradient of a scanned gated recurrent unit."""
    f, args = gru(jax)
    return tracing(jax, jax.grad(f), args)


@workload()
def mlp(jax: Any):
    """Trace a training step of a network of dense layers."""
    return tracing(jax, *mlp_step(jax))


@workload()
def small(jax: Any):
    """Trace three elementwise operations."""
    jnp = jax.numpy
    return tracing(jax, lambda x: jnp.sin(x) * x + jnp.log(x + 1), (jnp.ones(16),))
