"""What a call costs when there is next to nothing to compute."""

from collections import namedtuple
from typing import Any

import numpy as np

from dev.bench.registry import workload

__all__ = []


@workload(family="jit call")
def noop(jax: Any):
    """Call a compiled identity function."""
    return jax.jit(lambda x: x), (jax.numpy.zeros(()),)


@workload(family="jit call")
def noop_keywords(jax: Any):
    """Call a compiled function with keyword arguments and a default."""
    f = jax.jit(lambda x, y=1.0, *, z: (x, y, z))
    x = jax.numpy.zeros(3)
    return lambda: f(x, z=x), ()


@workload(family="jit call")
def noop_static(jax: Any):
    """Call a compiled function with a static argument."""
    return jax.jit(lambda x, n: x, static_argnums=1), (jax.numpy.zeros(3), 3)


@workload(family="host arguments")
def numpy_argument(jax: Any):
    """Call a compiled function with a NumPy array."""
    return jax.jit(lambda x: x + 1), (np.zeros(16, np.float32),)


@workload(family="host arguments")
def scalar_arguments(jax: Any):
    """Call a compiled function with two Python scalars."""
    return jax.jit(lambda x, y: x + y), (1.5, 2)


@workload(family="pytree")
def tree_100_in(jax: Any):
    """Call a compiled function with a dict of 100 arrays, one result."""
    tree = {f"w{i}": jax.numpy.full((), float(i)) for i in range(100)}
    return jax.jit(lambda tree: tree["w7"] + 1), (tree,)


@workload(family="pytree")
def tree_100_through(jax: Any):
    """Call a compiled function from a dict of 100 arrays to another."""
    tree = {f"w{i}": jax.numpy.full((), float(i)) for i in range(100)}
    return jax.jit(lambda tree: jax.tree.map(lambda x: x + 1, tree)), (tree,)


@workload(family="pytree")
def parameters_60_in(jax: Any):
    """Call a compiled function with the parameters of 20 layers, a dict of dicts."""
    layer = {"w": jax.numpy.ones((4, 4)), "b": jax.numpy.ones(4), "scale": jax.numpy.ones(4)}
    parameters = {f"layer{i}": dict(layer) for i in range(20)}
    return jax.jit(lambda tree: tree["layer3"]["b"] + 1), (parameters,)


@workload(family="pytree")
def training_state_through(jax: Any):
    """Step 60 parameters with the state of an optimizer, a named tuple of 121 arrays."""
    state = namedtuple("State", "count mean square")
    layer = {"w": jax.numpy.ones((4, 4)), "b": jax.numpy.ones(4), "scale": jax.numpy.ones(4)}
    parameters = {f"layer{i}": dict(layer) for i in range(20)}
    start = state(jax.numpy.zeros((), int), parameters, parameters)

    def step(tree: Any, old: Any) -> Any:
        """Go along the mean."""
        new = jax.tree.map(lambda p, m: p - m, tree, old.mean)
        return new, state(old.count + 1, old.mean, old.square)

    return jax.jit(step), (parameters, start)


@workload(family="pytree")
def flatten_100(jax: Any):
    """Take a dict of 100 leaves apart and put it together again."""
    tree = {f"w{i}": float(i) for i in range(100)}

    def both() -> Any:
        """Flatten and unflatten."""
        leaves, structure = jax.tree.flatten(tree)
        return jax.tree.unflatten(structure, leaves)

    return both, ()


@workload(family="pytree")
def flatten_params(jax: Any):
    """The same with a list of 48 layers of two leaves, and a tuple of four."""
    tree = {"layers": [{"w": 1.0, "b": 2.0} for _ in range(48)], "out": (1.0, 2.0, 3.0, 4.0)}

    def both() -> Any:
        """Flatten and unflatten."""
        leaves, structure = jax.tree.flatten(tree)
        return jax.tree.unflatten(structure, leaves)

    return both, ()


@workload(family="eager random")
def eager_split(jax: Any):
    """split(key), of a key in the old form."""
    return jax.random.split, (jax.random.PRNGKey(0),)


@workload(family="eager random")
def eager_normal(jax: Any):
    """normal(key, (3,))."""
    key = jax.random.key(0)
    return lambda: jax.random.normal(key, (3,)), ()


@workload(family="eager operator")
def eager_add(jax: Any):
    """a + b on arrays of 16."""
    a = jax.numpy.arange(16.0)
    return lambda: a + a, ()


@workload(family="eager operator")
def eager_bias(jax: Any):
    """A row of 16 added to a matrix of 4 rows."""
    m, x = jax.numpy.ones((4, 16)), jax.numpy.ones(16)
    return lambda: m + x, ()


@workload(family="eager operator")
def eager_numpy(jax: Any):
    """An array of NumPy added to an array."""
    x, n = jax.numpy.ones(16), np.ones(16, np.float32)
    return lambda: x + n, ()


@workload(family="eager operator")
def eager_maximum(jax: Any):
    """maximum(a, 0.) on an array of 16."""
    x = jax.numpy.ones(16)
    return lambda: jax.numpy.maximum(x, 0.0), ()


@workload(family="eager operator")
def eager_sin(jax: Any):
    """sin(a) on an array of 16."""
    a = jax.numpy.arange(16.0)
    return jax.numpy.sin, (a,)


@workload(family="eager reduction")
def eager_sum(jax: Any):
    """sum(a, axis=0) on a 4x4 array."""
    return lambda a: jax.numpy.sum(a, axis=0), (jax.numpy.ones((4, 4)),)


@workload(family="eager indexing")
def index_int(jax: Any):
    """x[3] on an array of 16."""
    x = jax.numpy.arange(16.0)
    return lambda: x[3], ()


@workload(family="eager indexing")
def index_slice(jax: Any):
    """x[2:5] on an array of 16."""
    x = jax.numpy.arange(16.0)
    return lambda: x[2:5], ()


@workload()
def at_set(jax: Any):
    """x.at[2].set(1.0) on an array of 16."""
    x = jax.numpy.arange(16.0)
    return lambda: x.at[2].set(1.0), ()


@workload(family="eager transformation")
def eager_grad(jax: Any):
    """grad(f)(x), not compiled, of a function of five operations."""
    f = jax.grad(lambda x: jax.numpy.sum(jax.numpy.sin(x) * x + jax.numpy.exp(-x)))
    return f, (jax.numpy.arange(16.0),)


@workload(family="eager transformation")
def eager_vmap(jax: Any):
    """vmap(f)(x), not compiled, of a function of three operations."""
    return jax.vmap(lambda x: jax.numpy.sin(x) * x + 1), (jax.numpy.ones((8, 4)),)


@workload(family="eager transformation")
def eager_jvp(jax: Any):
    """jvp(f, (x,), (t,)), not compiled, of a function of three operations."""
    x = jax.numpy.ones(16)
    return lambda: jax.jvp(lambda x: jax.numpy.sin(x) * x + 1, (x,), (x,)), ()
