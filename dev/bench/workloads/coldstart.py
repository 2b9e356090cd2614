"""Whole processes, from start to end. The workloads return program text."""

from pathlib import Path

from dev.bench.registry import workload

__all__ = []

EXAMPLE = Path(__file__).parents[3] / "examples" / "gru.py"
MLP = """
import {jax} as jax
import {jax}.numpy as jnp

key = jax.random.key(0)
keys = jax.random.split(key, 4)
params = [jax.random.normal(keys[0], (64, 128)), jax.random.normal(keys[1], (128, 10))]
x, y = jax.random.normal(keys[2], (32, 64)), jax.random.normal(keys[3], (32, 10))

def loss(params, x, y):
    w, v = params
    return jnp.mean((jnp.tanh(x @ w) @ v - y) ** 2)

@jax.jit
def step(params, x, y):
    gradient = jax.grad(loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, gradient)

for _ in range(10):
    params = step(params, x, y)
print(float(loss(params, x, y)))
"""
JIT_ONE = """
import {jax} as jax
import {jax}.numpy as jnp
print(jax.jit(lambda x: jnp.sin(x) * x + 1)(jnp.arange(8.0)))
"""


@workload()
def import_only(module: str) -> str:
    """Import the package."""
    return f"import {module}"


@workload()
def import_numpy(module: str) -> str:
    """Import the package and make an array."""
    return f"import {module}.numpy as jnp; print(jnp.zeros(3))"


@workload()
def jit_one_function(module: str) -> str:
    """Import, compile and run one small function."""
    return JIT_ONE.format(jax=module)


@workload(family="training step")
def mlp_step(module: str) -> str:
    """Import, compile a training step and run it ten times."""
    return MLP.format(jax=module)


@workload(family="training step", kind="cached")
def mlp_step_second_process(module: str) -> str:
    """Do the same in a second process, with the compile cache on disk."""
    return MLP.format(jax=module)


@workload(family="training", kind="cached")
def gru_training_second_process(module: str) -> str:
    """Run the training example a second time, with the compile cache on disk."""
    return EXAMPLE.read_text().replace("tapeless", module)
