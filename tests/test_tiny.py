"""The whole product in half a minute: one test per headline feature."""

import numpy as np

import tapeless as jax
import tapeless.random as random
from tapeless import lax

X = np.array([0.3, -0.7, 1.2], "float32")
W = np.array([[0.5, -0.2, 0.1], [0.3, 0.8, -0.4], [-0.6, 0.2, 0.9]], "float32")


def total(x):
    """Return the sum of all elements."""
    return lax.reduce_sum(x, tuple(range(len(jax.typeof(x).shape))))


def rnn(weights, xs):
    """Return a number made by a recurrent network."""

    def step(h, x):
        """Take one step."""
        h = lax.tanh(lax.add(lax.dot(weights, h), x))
        return h, h

    _, hs = lax.scan(step, np.zeros(3, "float32"), xs)
    return total(lax.mul(hs, hs))


def numpy_rnn(weights, xs):
    """Return the same number by NumPy."""
    h, result = np.zeros(3), 0.0
    for x in xs:
        h = np.tanh(weights @ h + x)
        result += (h * h).sum()
    return result


def test_jit_equals_eager():
    """A compiled function returns what its operations return one by one."""
    f = lambda x: lax.mul(lax.sin(x), lax.exp(x))  # noqa: E731
    np.testing.assert_allclose(jax.jit(f)(X), np.sin(X) * np.exp(X), rtol=1e-6)
    np.testing.assert_array_equal(jax.jit(f)(X), f(X))


def test_grad_of_scan_is_the_finite_difference():
    """Reverse mode through a loop agrees with central differences in float64 NumPy."""
    xs = np.stack([X, 2 * X, -X])
    got = np.asarray(jax.jit(jax.grad(rnn))(W, xs))
    step = 1e-6
    for i in range(3):
        for j in range(3):
            bump = np.zeros((3, 3))
            bump[i, j] = step
            wanted = (numpy_rnn(W + bump, xs) - numpy_rnn(W - bump, xs)) / (2 * step)
            np.testing.assert_allclose(got[i, j], wanted, rtol=2e-4, atol=2e-5)


def test_vmap_of_grad_is_a_loop():
    """Per-example gradients are those of the examples."""
    batch = np.stack([[X, X], [2 * X, -X]])
    mapped = jax.vmap(jax.grad(rnn), in_axes=(None, 0))(W, batch)
    for row, xs in zip(mapped_rows(mapped), batch, strict=True):
        np.testing.assert_allclose(row, jax.grad(rnn)(W, xs), rtol=1e-5, atol=1e-6)


def mapped_rows(x):
    """Return the rows of an Array as NumPy arrays."""
    return list(np.asarray(x))


def test_hessian_is_symmetric():
    """Forward over reverse gives a symmetric matrix."""
    h = np.asarray(jax.hessian(lambda x: total(lax.sin(lax.mul(x, lax.dot(W, x)))))(X))
    np.testing.assert_allclose(h, h.T, atol=1e-6)


def test_while_loop_runs_until_false():
    """A loop with an unknown trip count doubles until it passes the bound."""
    double = lambda limit: lax.while_loop(  # noqa: E731
        lambda c: lax.lt(c, limit), lambda c: lax.mul(c, np.float32(2)), np.float32(1)
    )
    assert float(jax.jit(double)(np.float32(100))) == 128.0
    rows = jax.vmap(double)(np.array([3, 10, 100], "float32"))
    np.testing.assert_array_equal(rows, [4, 16, 128])


def test_batched_cond_selects():
    """A branch with one predicate per row becomes a selection."""
    f = lambda x: lax.cond(lax.gt(x, np.float32(0)), lax.exp, lax.neg, x)  # noqa: E731
    np.testing.assert_allclose(jax.vmap(f)(X), np.where(X > 0, np.exp(X), -X), rtol=1e-6)
    assert "cond" not in str(jax.make_jaxpr(jax.vmap(f))(X))


def test_random_numbers_are_threefry():
    """Keys and normal numbers have the bits of JAX's generator."""
    np.testing.assert_array_equal(random.key_data(random.key(7)), [0, 7])
    np.testing.assert_array_equal(
        random.split(random.PRNGKey(0)), [[1797259609, 2579123966], [928981903, 3453687069]]
    )
    np.testing.assert_array_equal(
        random.normal(random.key(0), (2,)), np.array([1.6226422, 2.0252647], "float32")
    )


def test_program_text():
    """A program prints in JAX's format."""
    text = str(jax.make_jaxpr(lambda x: lax.mul(x, np.float32(2)))(X))
    assert text == "{ lambda ; a:f32[3]. let b:f32[3] = mul a 2.0:f32[] in (b,) }"
