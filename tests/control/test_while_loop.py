"""The `while` operation: forward derivatives, batches that stop one by one, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp


def power(x, n):
    """Multiply n copies of x."""
    running = lambda c: c[0] < n  # noqa: E731
    return lax.while_loop(running, lambda c: (c[0] + 1, c[1] * x), (0, jnp.ones_like(x)))[1]


def test_forward_mode_goes_through_the_loop():
    value, tangent = jax.jvp(lambda x: power(x, 5), (2.0,), (1.0,))
    assert (value, tangent) == (32.0, 80.0)
    assert jax.jacfwd(jax.jacfwd(lambda x: power(x, 5)))(2.0) == 160.0


def test_reverse_mode_is_refused_in_the_words_of_jax():
    with pytest.raises(ValueError, match="Reverse-mode differentiation does not work") as caught:
        jax.grad(lambda x: power(x, 5))(2.0)
    assert str(caught.value) == (
        "Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with "
        "dynamic start/stop values. Try using lax.scan, or using fori_loop with static start/stop."
    )
    (advice,) = [note for note in caught.value.__notes__ if "custom_vjp" in note]
    assert "jax.custom_vjp can give the loop a gradient" in advice


def test_rows_of_a_batch_stop_on_their_own():
    counts = np.array([0, 3, 1, 5])
    np.testing.assert_array_equal(2.0**counts, jax.vmap(power, (None, 0))(2.0, counts))
    nested = jax.vmap(jax.vmap(power, (None, 0)), (0, None))
    bases = np.array([1.0, 2.0, 3.0], np.float32)
    np.testing.assert_array_equal(bases[:, None] ** counts, nested(bases, counts))


def test_a_row_that_is_done_is_not_harmed_by_further_steps():
    def halve(x):
        """Divide by what becomes zero one step after the end."""
        return lax.while_loop(lambda c: c[0] > 0, lambda c: (c[0] - 1, c[1] / c[0]), (x, x))[1]

    out = jax.vmap(halve)(np.array([1.0, 3.0], np.float32))
    np.testing.assert_allclose([1.0, 0.5], out)


def test_a_common_condition_keeps_one_truth_value():
    f = jax.vmap(lambda x: lax.fori_loop(0, jnp.asarray(3), lambda i, v: v * x, x))
    jaxpr = jax.make_jaxpr(f)(np.ones(2, np.float32))
    (loop,) = [eqn for eqn in jaxpr.eqns if eqn.primitive.name in ("while", "scan")]
    if loop.primitive.name == "while":
        assert loop.params["cond_jaxpr"].out_avals[0].shape == ()


def test_a_known_counter_is_not_linearised():
    _, push = jax.linearize(lambda x: power(x, 3), 2.0)
    assert push(1.0) == 12.0


def test_carries_that_nobody_reads_are_removed():
    def f(x):
        """Use one of three carries."""
        body = lambda c: (c[0] + 1, c[1] * 2, jnp.sin(c[2]))  # noqa: E731
        return lax.while_loop(lambda c: c[0] < 3, body, (0, x, x))[1]

    text = str(jax.make_jaxpr(jax.grad(lambda x: f(lax.stop_gradient(x)) + x))(1.0))
    assert jax.jit(f)(1.5) == 12.0
    assert text.count("while[") <= 1


def test_rows_that_are_done_keep_what_a_step_would_write_in_place():
    def f(x):
        """Replace elements by -1 from the left, up to the first that is not positive."""
        go_on = lambda c: (c[0] < 4) & (c[1][c[0]] > 0)  # noqa: E731
        return lax.while_loop(go_on, lambda c: (c[0] + 1, c[1].at[c[0]].set(-1.0)), (0, x))

    rows = np.array([[1, 2, 0, 3], [1, 1, 1, 1], [0, 5, 5, 5]], np.float32)
    steps, values = jax.jit(jax.vmap(f))(rows)
    assert steps.tolist() == [2, 4, 0]
    np.testing.assert_array_equal(values, [[-1, -1, 0, 3], [-1] * 4, [0, 5, 5, 5]])


def test_no_row_that_is_done_calls_back():
    call = lambda x: jax.experimental.io_callback(lambda x: x, x, x)  # noqa: E731
    rows = jnp.arange(3.0)
    for test, step in [(lambda x: x < 2, lambda x: call(x) + 1), (lambda x: call(x) < 2, jnp.sin)]:
        with pytest.raises(NotImplementedError, match="Unordered IO effects not supported"):
            jax.vmap(lambda x, test=test, step=step: lax.while_loop(test, step, x))(rows)
    common = lambda x: lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, call(c[1])), (0, x))  # noqa: E731
    assert jax.vmap(common)(rows)[1].tolist() == [0.0, 1.0, 2.0]


def test_a_hundred_and_ten_loops_within_loops():
    def once(f):
        """Run a function in a loop of one step."""
        running = lambda c: c[0] < 1  # noqa: E731
        return lambda x: lax.while_loop(running, lambda c: (c[0] + 1, f(c[1])), (0, x))[1]

    def f(x):
        return 2 * x + 1

    for _ in range(110):
        f = once(f)
    np.testing.assert_array_equal(jax.jit(f)(jnp.ones(2)), [3, 3])
