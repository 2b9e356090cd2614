"""Products of which only transposes are wanted are made the other way round, with what follows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tapeless as jax
from tapeless import numpy as jnp
from tapeless.compiler.simplify import simplify

W, X = (np.random.default_rng(n).standard_normal((n, 40)).astype(np.float32) for n in (30, 50))
B = np.arange(30, dtype=np.float32)


def names(function: Callable, *args: np.ndarray) -> list[str]:
    """Return the operations that are left."""
    return [eqn.primitive.name for eqn in simplify(jax.make_jaxpr(function)(*args).jaxpr).eqns]


@pytest.mark.parametrize(
    "layer",
    [
        lambda product, _: product,
        lambda product, _: jnp.tanh(product),
        lambda product, _: jnp.exp(-2.0 * product),
        lambda product, b: jnp.maximum(product + b[:, None], 0.5),
        lambda product, b: b[:, None] - product / 3.0,
    ],
)
def test_functions_of_the_elements_are_turned_with_the_product(layer: Callable) -> None:
    def function(w: jax.Array, x: jax.Array, b: jax.Array) -> jax.Array:
        """Return the transpose of a layer."""
        return layer(w @ x.T, b).T

    assert "transpose" not in names(function, W, X, B)
    want = np.asarray(layer(jnp.asarray(W @ X.T), jnp.asarray(B))).T
    np.testing.assert_allclose(jax.jit(function)(W, X, B), want, rtol=1e-4, atol=1e-4)


def test_layers_under_vmap_are_not_transposed() -> None:
    layers = jax.vmap(lambda x: jnp.tanh(W @ x + B))
    assert "transpose" not in names(layers, X)
    np.testing.assert_allclose(jax.jit(layers)(X), np.tanh(X @ W.T + B), rtol=1e-4, atol=1e-5)


def test_what_others_read_as_it_is_stays() -> None:
    def function(w: jax.Array, x: jax.Array) -> tuple:
        """Return a layer both ways."""
        layer = jnp.tanh(w @ x.T)
        return layer, layer.T

    def scaled(w: jax.Array, x: jax.Array) -> jax.Array:
        """Return the transpose of a product and an array of its shape."""
        return (jnp.tanh(w @ x.T) * jnp.ones((30, 50)).at[3, 4].set(2.0)).T

    assert "transpose" in names(function, W, X)
    assert "transpose" in names(scaled, W, X)
    want = np.tanh(W @ X.T)
    want[3, 4] *= 2
    np.testing.assert_allclose(jax.jit(scaled)(W, X), want.T, rtol=1e-4, atol=1e-5)
