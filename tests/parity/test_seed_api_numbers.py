"""The interface that the two seed chapters stand on: the numbers and texts that they print.

See `test_seed_api.py`; `seed_api.txt` says which test asserts which statement. The numbers are
those of the chapters, as they print them.
"""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless import lax, nn, random

WRONG = np.array([3, 50, 99, 150, 222])  # the examples whose labels are wrong


def network_loss(p, x, y):
    """Return the squared error of a network of two layers.  x: (8,), y: () -> ()"""
    return (jnp.dot(p["w2"], jnp.tanh(p["W1"] @ x + p["b1"])) + p["b2"] - y) ** 2


def network_and_data():
    """Return weights, 256 examples, and labels of which five are wrong."""
    key, key_x, key_noise = random.split(random.key(100), 3)
    first, second = random.split(key)
    p = {
        "W1": random.normal(first, (32, 8)) / jnp.sqrt(8), "b1": jnp.zeros(32),
        "w2": random.normal(second, (32,)) / jnp.sqrt(32), "b2": jnp.array(0.0),
    }  # fmt: skip
    xs = random.normal(key_x, (256, 8))
    ys = jnp.sin(xs[:, 0]) + 0.1 * random.normal(key_noise, (256,))
    return p, xs, ys.at[WRONG].add(20.0)


def norms_of(gradients):
    """Return the norm of each example's gradient, over all leaves.  leaves: (b, ...) -> (b,)"""
    leaves = jax.tree.leaves(gradients)
    return jnp.sqrt(sum(jnp.sum(leaf.reshape(leaf.shape[0], -1) ** 2, axis=1) for leaf in leaves))


def gated_unit(p, h, x):
    """Return the next state of a gated recurrent unit, twice.  h: (8,), x: (5,) -> (8,)"""
    z = nn.sigmoid(p["Wz"] @ x + p["Uz"] @ h + p["bz"])
    r = nn.sigmoid(p["Wr"] @ x + p["Ur"] @ h + p["br"])
    h = (1 - z) * h + z * jnp.tanh(p["Wh"] @ x + p["Uh"] @ (r * h) + p["bh"])
    return h, h


class TestNumbers:
    """5 and 13: the stream of random numbers, and what is made of it."""

    def test_the_mean_gradient_of_a_line(self):
        def loss(params, x, y):
            return (jnp.dot(params[0], x) + params[1] - y) ** 2

        def mean(params):
            return jnp.mean(jax.vmap(loss, (None, 0, 0))(params, xs, ys))

        _, key_x, key_y = random.split(random.key(0), 3)
        xs, ys = random.normal(key_x, (16, 2)), random.normal(key_y, (16,))
        slopes, offset = jax.jit(jax.grad(mean))((jnp.array([1.5, -0.5]), 0.3))
        np.testing.assert_allclose(slopes, [2.4389482, 0.36758864], rtol=1e-6)
        assert float(offset) == pytest.approx(-1.4717047, rel=1e-6)

    def test_weights_of_attention(self):
        scores = random.normal(random.key(0), (3, 4))
        mask = jnp.arange(4) < jnp.array([[3], [2], [4]])
        expected = [
            [0.38114452, 0.570094, 0.04876155, 0], [0.75917834, 0.24082164, 0, 0],
            [0.17176017, 0.03417814, 0.7815508, 0.01251089],
        ]  # fmt: skip
        masked = jnp.where(mask, scores, -1e9)
        np.testing.assert_allclose(nn.softmax(masked, axis=-1), expected, rtol=1e-6)
        np.testing.assert_allclose(nn.softmax(scores, axis=-1, where=mask), expected, rtol=1e-6)

    def test_a_slope_of_a_gated_unit(self):
        _, key, key_x = random.split(random.key(0), 3)
        keys = iter(random.split(key, 6))
        p = {f"b{gate}": jnp.zeros(8) for gate in "zrh"}
        for gate in "zrh":
            p[f"W{gate}"] = 0.01 * random.normal(next(keys), (8, 5))
            p[f"U{gate}"] = 0.01 * random.normal(next(keys), (8, 8))
        xs = random.normal(key_x, (10, 5))

        def loss(p):
            return jnp.sum(lax.scan(lambda h, x: gated_unit(p, h, x), jnp.zeros(8), xs)[0] ** 2)

        slopes = jax.jit(jax.grad(loss))(p)
        assert " ".join(slopes) == "Uh Ur Uz Wh Wr Wz bh br bz"
        assert f"{float(slopes['Wz'][0, 0]):.6e}" == "-1.541541e-05"

    def test_gradients_of_examples_and_their_norms(self):
        p, xs, ys = network_and_data()
        each = jax.jit(jax.vmap(jax.grad(network_loss), (None, 0, 0)))
        gradients = each(p, xs, ys)
        assert sum(leaf.size for leaf in jax.tree.leaves(gradients)) == 82_176
        norms = norms_of(gradients)
        middle = jnp.median(norms[WRONG]), jnp.median(jnp.delete(norms, WRONG))
        found = f"{norms.max():.2f} {middle[0]:.2f} {middle[1]:.2f}"
        assert found == "202.05 166.16 6.04"
        np.testing.assert_array_equal(jnp.sort(jnp.argsort(norms)[-5:]), WRONG)

    def test_norms_of_mean_gradients_with_and_without_wrong_labels(self):
        p, xs, ys = network_and_data()

        def norm(weights):
            losses = lambda p: jax.vmap(network_loss, (None, 0, 0))(p, xs, ys)  # noqa: E731
            slope = jax.grad(lambda p: jnp.sum(weights * losses(p)))(p)
            return f"{norms_of(jax.tree.map(lambda leaf: leaf[None], slope))[0]:.3f}"

        right = jnp.ones(256).at[WRONG].set(0.0)
        assert (norm(jnp.full(256, 1 / 256)), norm(right / right.sum())) == ("3.401", "2.557")

    def test_bytes_of_gradients_and_of_norms(self):
        p, xs, ys = network_and_data()
        maps = lambda f: lambda p, xs, ys: jax.vmap(f, (None, 0, 0))(p, xs, ys)  # noqa: E731
        each = maps(jax.grad(network_loss))
        mean = jax.grad(lambda p, xs, ys: jnp.mean(maps(network_loss)(p, xs, ys)))
        norms = lambda p, xs, ys: norms_of(each(p, xs, ys))  # noqa: E731
        sizes = [
            jax.jit(f).lower(p, xs, ys).compile().memory_analysis().output_size_in_bytes
            for f in (each, mean, norms)
        ]
        assert [f"{size / 1024:.1f}" for size in sizes] == ["321.0", "1.3", "1.0"]

    def test_samples_of_keys_that_are_split_and_of_one_that_is_shared(self):
        draw = lambda key, mean: mean + random.normal(key, (2,))  # noqa: E731
        split = jax.vmap(draw, (0, None))(random.split(random.key(7), 4), 0.0)
        shared = jax.vmap(draw, (None, 0))(random.key(7), jnp.zeros(4))
        expected = [
            [1.1140472, 0.14163129], [0.4541335, 0.9391628], [-0.8203862, -0.6481581],
            [-0.73446035, -0.47739786],
        ]  # fmt: skip
        np.testing.assert_allclose(split, expected, rtol=2e-6)
        np.testing.assert_allclose(shared, [[0.45123515, 1.9534509]] * 4, rtol=1e-6)

    def test_correlations_of_one_key_and_of_two(self):
        size = (100_000,)
        key = random.PRNGKey(42)
        one = np.corrcoef(random.uniform(key, size), random.normal(key, size))[0, 1]
        key_x, key_noise = random.split(random.key(42))
        two = np.corrcoef(random.uniform(key_x, size), random.normal(key_noise, size))[0, 1]
        assert (f"{one:.4f}", f"{two:.4f}") == ("0.9775", "-0.0015")

    def test_a_line_that_is_learnt_from_clipped_gradients(self):
        """200 compiled steps on a dict of weights."""
        key_x, key_noise = random.split(random.key(15))
        xs = random.normal(key_x, (256, 3))
        noise = 0.1 * random.normal(key_noise, (256,))
        ys = xs @ jnp.array([1.0, -2.0, 0.5]) + 0.5 + noise
        loss = lambda p, x, y: (jnp.dot(p["w"], x) + p["b"] - y) ** 2  # noqa: E731

        @jax.jit
        def step(p, rate=0.1):
            slopes = jax.vmap(jax.grad(loss), (None, 0, 0))(p, xs, ys)
            norms = norms_of(slopes)
            scale = jnp.minimum(1.0, 1.0 / (norms + 1e-12))
            mean = jax.tree.map(lambda leaf: jnp.mean((leaf.T * scale).T, axis=0), slopes)
            return jax.tree.map(lambda x, slope: x - rate * slope, p, mean), jnp.max(norms)

        p, largest = {"w": jnp.zeros(3), "b": jnp.array(0.0)}, []
        for _ in range(200):
            p, norm = step(p)
            largest.append(f"{norm:.3f}")
        assert (largest[0], largest[-1]) == ("54.118", "1.584")
        np.testing.assert_allclose(p["w"], [1.0031216, -2.0052059, 0.5043752], rtol=1e-5)
        assert float(p["b"]) == pytest.approx(0.50516415, rel=1e-5)

    def test_ends_of_walks(self):
        steps = lambda key: random.choice(key, jnp.array([-1, 1]), shape=(100,))  # noqa: E731
        ends = jax.jit(jax.vmap(lambda key: jnp.sum(steps(key))))(
            random.split(random.key(16), 10_000)
        )
        ends = ends.astype(jnp.float32)
        assert float(jnp.mean(ends)) == pytest.approx(-0.0212, abs=1e-6)
        assert float(jnp.var(ends)) == pytest.approx(98.91235, rel=1e-5)
