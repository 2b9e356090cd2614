"""Tracing and compiling together, of programs that the process has not seen before."""

from collections.abc import Callable
from typing import Any

from dev.bench.programs import chain, gru, many_leaves_scan, mlp_step, rnn_unrolled, switch
from dev.bench.registry import workload

__all__ = []


def compiling(jax: Any, f: Callable, args: tuple) -> tuple[Callable, tuple]:
    """Return a function that traces and compiles `f`."""

    def run():
        jax.jit(f).lower(*args).compile()
        return ()

    return run, ()


def prefix_sums(jax: Any, n: int) -> tuple[Callable, tuple]:
    """Return prefix sums of n numbers by associative_scan."""
    add = lambda x, y: x + y  # noqa: E731
    return lambda x: jax.lax.associative_scan(add, x), (jax.numpy.ones(n),)


@workload(family="chain")
def chain_1000(jax: Any):
    """Compile 1,000 elementwise operations."""
    return compiling(jax, *chain(jax, 1000))


@workload(family="chain")
def grad_chain_1000(jax: Any):
    """Compile the gradient of 1,000 elementwise operations."""
    f, args = chain(jax, 1000)
    return compiling(jax, jax.grad(f), args)


@workload()
def grad_rnn_unrolled_100(jax: Any):
    """Compile the gradient of 100 unrolled steps of a recurrent network."""
    f, args = rnn_unrolled(jax, 100)
    return compiling(jax, jax.grad(f, (0, 1)), args)


@workload()
def grad_gru(jax: Any):
    """Compile the gradient of a scanned gated recurrent unit."""
    f, args = gru(jax)
    return compiling(jax, jax.grad(f), args)


@workload()
def grad_scan_60_leaves(jax: Any):
    """Compile the gradient of a scan that carries 60 scalars."""
    f, args = many_leaves_scan(jax)
    return compiling(jax, jax.grad(f), args)


@workload()
def mlp(jax: Any):
    """Compile a training step of a network of dense layers."""
    return compiling(jax, *mlp_step(jax))


@workload()
def small(jax: Any):
    """Compile three elementwise operations."""
    jnp = jax.numpy
    return compiling(jax, lambda x: jnp.sin(x) * x + jnp.log(x + 1), (jnp.ones(16),))


@workload(family="switch")
def switch_64(jax: Any):
    """Compile a choice among 64 branches."""
    return compiling(jax, *switch(jax))


@workload(family="switch")
def switch_256(jax: Any):
    """Compile a choice among 256 branches."""
    return compiling(jax, *switch(jax, 256))


@workload(family="switch")
def switch_1024(jax: Any):
    """Compile a choice among 1,024 branches."""
    return compiling(jax, *switch(jax, 1024))


@workload(family="associative_scan")
def associative_scan_1e3(jax: Any):
    """Compile the prefix sums of 10^3 numbers."""
    return compiling(jax, *prefix_sums(jax, 10**3))


@workload(family="associative_scan")
def associative_scan_1e6(jax: Any):
    """Compile the prefix sums of 10^6 numbers."""
    return compiling(jax, *prefix_sums(jax, 10**6))


@workload()
def fifty_jits(jax: Any):
    """Compile fifty small functions that differ in a shape."""
    jnp = jax.numpy
    inputs = [jnp.ones(n) for n in range(1, 51)]

    def run():
        for n, x in enumerate(inputs):
            jax.jit(lambda x, n=n: jnp.sin(x) * n + x).lower(x).compile()
        return ()

    return run, ()


@workload()
def forty_eager_operations(jax: Any):
    """Use forty eager operations for the first time."""
    jnp = jax.numpy
    x = jnp.asarray([0.1, 0.2, 0.3])
    unary = "sin cos tan sinh cosh tanh exp log sqrt abs floor ceil sign square expm1 log1p"
    binary = "add subtract multiply divide maximum minimum power arctan2 hypot equal less greater"
    reducing = "sum prod max min mean var argmax argmin cumsum sort ravel flip"

    def run():
        one = [getattr(jnp, name)(x) for name in (unary + " " + reducing).split()]
        return one, [getattr(jnp, name)(x, x) for name in binary.split()]

    return run, ()


@workload(kind="call")
def eager_scan_fresh_lambda(jax: Any):
    """Call an eager scan with a lambda made for the call."""
    x = jax.numpy.arange(10.0)
    return lambda: jax.lax.scan(lambda c, a: (c + a, c * a), 0.0, x), ()


@workload(kind="call")
def eager_cond_fresh_lambda(jax: Any):
    """Call an eager cond with lambdas made for the call."""
    x = jax.numpy.arange(10.0)
    return lambda: jax.lax.cond(True, lambda x: x + 1, lambda x: x - 1, x), ()
