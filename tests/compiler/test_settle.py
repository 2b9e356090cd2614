"""Temporaries settle in results when each element is read just where the result's is written."""

from __future__ import annotations

import numpy as np

import tapeless as jax
import tapeless.numpy as jnp
from tapeless.compiler import settle

SHAPE = (150, 130)


def drawn() -> np.ndarray:
    """Draw a matrix of normal numbers."""
    return np.random.default_rng(0).normal(size=SHAPE).astype(np.float32)


def temporary_bytes(f, *args) -> int:
    """Return how many bytes of temporaries a compiled function has."""
    return jax.jit(f).lower(*args).compile().memory_analysis().temp_size_in_bytes


def test_exponentials_settle_in_what_they_are_divided_for():
    x = drawn()
    rest = np.exp(x - x.max(0))
    softmax = jax.jit(lambda x: jax.nn.softmax(x, 0))
    np.testing.assert_allclose(softmax(x), rest / rest.sum(0), rtol=1e-5)
    assert temporary_bytes(softmax, x) < x.nbytes // 4


def test_rows_whose_sum_is_computed_beside_their_quotients_keep_their_memory():
    x = drawn()
    rest = np.exp(x - x.max(1, keepdims=True))
    got = jax.jit(lambda x: jax.nn.softmax(x, 1))(x)
    np.testing.assert_allclose(got, rest / rest.sum(1, keepdims=True), rtol=1e-5)


def test_a_product_settles_in_its_activation():
    x, y = drawn(), drawn()[:130, :128]
    layer = jax.jit(lambda x, y: jnp.maximum(x @ y + 1.0, 0.0))
    np.testing.assert_allclose(layer(x, y), np.maximum(x @ y + 1, 0), rtol=1e-4, atol=1e-4)
    alone = jax.jit(lambda x, y: x @ y)
    assert temporary_bytes(layer, x, y) == temporary_bytes(alone, x, y)  # panels


def test_what_is_read_elsewhere_keeps_its_memory():
    x = drawn()

    def mirrored(x):
        rest = jnp.exp(x - jnp.max(x, 0))
        return rest[::-1] / jnp.sum(rest, 0)

    def twice(x):
        rest = jnp.exp(x - jnp.max(x, 0))
        return rest / jnp.sum(rest, 0), rest * jnp.sum(rest, 0)

    rest = np.exp(x - x.max(0))
    np.testing.assert_allclose(jax.jit(mirrored)(x), rest[::-1] / rest.sum(0), rtol=1e-5)
    assert temporary_bytes(mirrored, x) >= x.nbytes
    quotient, product = jax.jit(twice)(x)
    np.testing.assert_allclose(quotient, rest / rest.sum(0), rtol=1e-5)
    np.testing.assert_allclose(product, rest * rest.sum(0), rtol=1e-5)


def test_results_that_are_given_twice_or_transposed(monkeypatch):
    monkeypatch.setattr(settle, "LEAST", 1)
    x = drawn()[:20, :20]

    def several(x):
        rest = jnp.exp(x - jnp.max(x, 0))
        first = rest / jnp.sum(rest, 0)
        return first, first.T, first + rest, rest

    rest = np.exp(x - x.max(0))
    first = rest / rest.sum(0)
    expected = (first, first.T, first + rest, rest)
    for got, want in zip(jax.jit(several)(x), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)


def test_transposed_operands_are_not_read_in_overlapping_tiles():
    x = np.random.default_rng(0).normal(size=(133, 133)).astype(np.float32)

    def scaled(x):
        rest = jnp.exp(x - jnp.max(x, 0))
        return rest * x.T * jnp.sum(rest, 0)

    rest = np.exp(x - x.max(0))
    np.testing.assert_allclose(jax.jit(scaled)(x), rest * x.T * rest.sum(0), rtol=1e-4)


def test_a_result_that_is_updated_in_place_keeps_its_memory():
    x = np.arange(73 * 16 * 16, dtype=np.float32).reshape(73, 16, 16)

    def updated(x):
        y = jax.lax.dynamic_update_slice(x, x[:36, :8, :8], (0, 2, 0))
        return y, y + 1.0

    want = x.copy()
    want[:36, 2:10, :8] = x[:36, :8, :8]
    first, second = jax.jit(updated)(x)
    np.testing.assert_array_equal(first, want)
    np.testing.assert_array_equal(second, want + 1.0)


def test_temporaries_of_blocks_need_no_memory_of_a_result():
    x = np.linspace(0.001, 0.999, 1 << 18, dtype=np.float32)
    quantiles = jax.jit(jax.scipy.special.ndtri)
    assert temporary_bytes(quantiles, x) < x.nbytes // 100
    np.testing.assert_allclose(jax.scipy.special.ndtr(quantiles(x)), x, rtol=1e-5)


def test_an_array_lives_in_the_later_one_that_is_made_of_it():
    """The product, its activation and the next product's factor are one array."""
    x, y, z = drawn(), drawn()[:130, :128], drawn()[:128, :8]
    layer = lambda x, y, z: jnp.tanh(x @ y) @ z  # noqa: E731
    got = jax.jit(layer)(x, y, z)
    np.testing.assert_allclose(got, np.tanh(x @ y) @ z, rtol=1e-3, atol=1e-4)
    assert temporary_bytes(layer, x, y, z) < 1.5 * (x @ y).nbytes


def test_an_array_that_is_read_again_lives_beside_what_is_made_of_it():
    x, y, z = drawn(), drawn()[:130, :128], drawn()[:128, :8]

    def layer(x, y, z):
        made = x @ y
        return jnp.tanh(made) @ z, made[::-1] @ z

    made = x @ y
    for got, expected in zip(jax.jit(layer)(x, y, z), (np.tanh(made), made[::-1]), strict=True):
        np.testing.assert_allclose(got, expected @ z, rtol=1e-3, atol=1e-4)
