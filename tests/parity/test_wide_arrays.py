"""Arrays made in the 64-bit mode and used outside of it: the values, shapes and dtypes of JAX.

What the two systems do there follows from where each narrows; the expressions below are those in
which a scalar or a table of the library's own meets such an array.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tapeless

pytestmark = pytest.mark.oracle

VALUES = {
    "x": np.array([1.0, 2.0, 3.0, 0.5]),
    "m": np.arange(12.0).reshape(3, 4) / 3,
    "n": np.arange(4),
    "i": np.array([0, 2]),
    "s": np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]]),
}
EXPRESSIONS = [
    "x[i]",
    "x.at[i].set(0.0)",
    "jnp.ones(4)[i]",
    "jnp.ones(4).at[i].add(x[:2])",
    "jnp.take(x, i)",
    "jnp.take_along_axis(x, i, 0)",
    "jnp.roll(x, n[1])",
    "jax.nn.softmax(x)",
    "jax.nn.log_softmax(m, axis=0)",
    "jax.nn.elu(x)",
    "jax.nn.leaky_relu(x)",
    "jax.nn.one_hot(n, 4)",
    "jnp.sum(x)",
    "jnp.max(m, axis=1)",
    "jnp.prod(n)",
    "jnp.cumsum(m, axis=1)",
    "jnp.count_nonzero(x)",
    "jnp.ptp(n)",
    "jnp.sin(n)",
    "jnp.zeros_like(x)",
    "jnp.full_like(n, 2)",
    "jnp.deg2rad(x)",
    "jnp.heaviside(x, x)",
    "jnp.triu(m)",
    "jnp.hypot(x, x)",
    "jnp.trapezoid(m)",
    "jax.ops.segment_sum(x, n, 4)",
    "jax.grad(lambda a: (a**2).sum())(x)",
    "jax.grad(jax.checkpoint(lambda a: jnp.sum(jnp.sin(a) ** 2)))(x)",
    "jax.jvp(jax.grad(lambda a: (a**3).sum()), (x,), (x,))[1]",
    "jax.hessian(lambda a: jax.nn.softmax(a)[0])(x)",
    "jax.value_and_grad(lambda a: jnp.max(a) * jnp.min(a))(x)",
    "jax.vmap(jax.grad(lambda a: (a**2).sum()))(m)",
    "jax.grad(lambda a: jax.nn.gelu(a).sum())(x)",
    "jax.grad(lambda a: jnp.linalg.cholesky(a).sum())(s)",
    "jax.jacfwd(lambda a: jnp.linalg.svd(a)[1].prod())(s)",
    "jax.lax.associative_scan(jnp.add, x)",
    "jnp.histogram(m, bins=x[:3] * n[:3])",
    "jnp.digitize(m, x[:3])",
    "x**n",
    "jnp.fft.fft(x)",
    "jnp.fft.irfft(m)",
    "jnp.fft.ihfft(n)",
    "jnp.fft.fft2(m)",
    "jnp.unique(m)",
    "jnp.unique(n, return_counts=True)",
    "jnp.percentile(x, 40 * x[:2])",
    "jnp.polydiv(x, x[:2])[0]",
    "jnp.linalg.inv(s)",
    "n**x",
    "m.astype(complex) ** n",
    "jax.grad(lambda a: odeint(lambda y, t: -y * a[0], a, jnp.linspace(0.0, 1.0, 4)).sum())(x)",
    "odeint(lambda y, t, a: -y * a, jnp.ones(4), jnp.linspace(0.0, 1.0, 4), x)",
]


def value_in(system: ModuleType, expression: str) -> list[np.ndarray]:
    """Evaluate an expression of arrays that were made in the 64-bit mode, outside of it."""
    with system.enable_x64(True):
        names: dict[str, Any] = {name: system.numpy.asarray(v) for name, v in VALUES.items()}
    odeint = importlib.import_module(f"{system.__name__}.experimental.ode").odeint
    names |= {"jax": system, "jnp": system.numpy, "odeint": odeint}
    return [np.asarray(leaf) for leaf in system.tree_util.tree_leaves(eval(expression, names))]


@pytest.mark.filterwarnings("ignore:Explicitly requested dtype", "ignore:scatter inputs have")
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_wide_arrays_outside_their_mode(expression):
    wanted = value_in(importlib.import_module("jax"), expression)
    got = value_in(tapeless, expression)
    for found, expected in zip(got, wanted, strict=True):
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(found, expected, 1e-6, 1e-6)


def test_parts_of_wide_numbers_outside_their_mode():
    """Here JAX takes the two halves of each number apart, and gives zeros of another shape."""
    with tapeless.enable_x64(True):
        x = tapeless.numpy.array([1.0, -6.0, 0.375])
    part, exponent = tapeless.numpy.frexp(x)
    assert (part.tolist(), exponent.tolist()) == ([0.5, -0.75, 0.75], [1, 3, -1])
    assert tapeless.numpy.ldexp(part, exponent).tolist() == x.tolist()
    assert tapeless.numpy.ldexp(x, exponent).tolist() == [2.0, -48.0, 0.1875]
