"""The `custom_vjp_call` operation under every transformation."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp


@jax.custom_vjp
def f(x, y):
    """Return x sin y, with a backward rule that is 10 times too steep."""
    return x * jnp.sin(y)


f.defvjp(
    lambda x, y: (x * jnp.sin(y), (x, y)),
    lambda res, ct: (10 * ct * jnp.sin(res[1]), 10 * ct * res[0] * jnp.cos(res[1])),
)

WANTED = 10 * np.sin(0.5), 20 * np.cos(0.5)
ROWS = np.array([0.5, 1.0], np.float32)


def test_the_rule_is_used_in_reverse_mode_and_under_jit():
    for g in (f, jax.jit(f), jax.checkpoint(f)):
        np.testing.assert_allclose(WANTED, jax.grad(g, (0, 1))(2.0, 0.5), rtol=1e-6)
        np.testing.assert_allclose(WANTED, jax.jit(jax.grad(g, (0, 1)))(2.0, 0.5), rtol=1e-6)


def test_an_argument_shared_by_a_batch_gets_the_sum():
    total = lambda x, y: jnp.sum(jax.vmap(f, (None, 0))(x, y))  # noqa: E731
    by_x, by_y = jax.grad(total, (0, 1))(2.0, ROWS)
    np.testing.assert_allclose(10 * np.sin(ROWS).sum(), by_x, rtol=1e-6)
    np.testing.assert_allclose(20 * np.cos(ROWS), by_y, rtol=1e-6)


def test_the_rule_is_used_inside_loops_and_branches():
    chain = lambda x: lax.scan(lambda c, y: (f(c, y), None), x, ROWS)[0]  # noqa: E731
    wanted = 100 * np.sin(ROWS).prod()
    np.testing.assert_allclose(wanted, jax.grad(chain)(2.0), rtol=1e-6)
    branch = lambda x: lax.cond(x > 0, lambda x: f(x, 0.5), lambda x: x, x)  # noqa: E731
    np.testing.assert_allclose(WANTED[0], jax.grad(branch)(2.0), rtol=1e-6)


def test_the_backward_rule_is_differentiated():
    np.testing.assert_allclose(-20 * np.sin(0.5), jax.grad(jax.grad(f, 1), 1)(2.0, 0.5), rtol=1e-6)
    push = jax.jvp(lambda y: jax.grad(f, 1)(2.0, y), (0.5,), (1.0,))[1]
    np.testing.assert_allclose(-20 * np.sin(0.5), push, rtol=1e-6)


def test_forward_mode_is_refused():
    text = r"can't apply forward-mode autodiff \(jvp\) to a custom_vjp function."
    for g in (f, jax.jit(f), lambda x, y: lax.map(lambda v: f(v, y), x)):
        with pytest.raises(TypeError, match=text):
            jax.jvp(lambda x, g=g: g(x, 0.5), (ROWS,), (ROWS,))


def test_the_linear_operation_that_carries_the_rule_is_mapped():
    wanted = jax.vmap(jax.grad(f), (0, 0))(ROWS, ROWS)
    np.testing.assert_allclose(10 * np.sin(ROWS), wanted, rtol=1e-6)
    pullbacks = jax.vmap(lambda x: jax.vjp(f, x, 0.5)[1](1.0)[0])(ROWS)
    np.testing.assert_allclose([WANTED[0]] * 2, pullbacks, rtol=1e-6)


def test_function_and_rules_may_use_rows_of_the_batch_around():
    def call(x, k):
        """Call a function that uses `k` from outside."""
        g = jax.custom_vjp(lambda x: x * k)
        g.defvjp(lambda x: (x * k, None), lambda _, ct: (10.0 * ct,))
        return g(x)

    for mapped in (jax.vmap(call), jax.jit(jax.vmap(call)), jax.vmap(jax.jit(call))):
        np.testing.assert_array_equal(ROWS * ROWS, mapped(ROWS, ROWS))
    slope = jax.grad(lambda x: jax.vmap(call)(x, ROWS).sum())(ROWS)
    np.testing.assert_array_equal([10.0, 10.0], slope)


def test_results_and_residuals_that_all_rows_share_stay_shared():
    seen = []

    def backward(residuals, cts):
        """Look at the residuals as they come."""
        seen.append(residuals)
        x, y = residuals
        return cts[0] * 2 * x + cts[1] * y, cts[1] * x

    both = lambda x, y: (x * x, y * x)  # noqa: E731
    f = jax.custom_vjp(both)
    f.defvjp(lambda x, y: (both(x, y), (x, y)), backward)
    for out_axes in ((0, 0), (None, 0)):

        def total(g, x, y, out_axes=out_axes):
            """Add up what a mapped function returns."""
            return sum(r.sum() for r in jax.vmap(g, (None, 0), out_axes)(x, y))

        wanted = jax.grad(total, (1, 2))(both, 2.0, ROWS)
        found = jax.grad(total, (1, 2))(f, 2.0, ROWS)
        staged = jax.grad(jax.jit(total, static_argnums=0), (1, 2))(f, 2.0, ROWS)
        for result in (found, staged):
            np.testing.assert_allclose(wanted[0], result[0], rtol=1e-6)
            np.testing.assert_allclose(wanted[1], result[1], rtol=1e-6)
    assert not any("VmapTracer" in repr(x) for x, _ in seen)  # x has no rows
    assert any("VmapTracer" in repr(y) for _, y in seen)
    text = str(jax.make_jaxpr(lambda m, y: jax.vjp(lambda y: jax.vmap(f, (None, 0))(m, y), y)[1])(
        np.ones((3, 4), np.float32), np.ones((5, 3, 4), np.float32)
    ))  # fmt: skip
    assert "f32[5,3,4] = broadcast_in_dim a" not in text


def test_a_batch_that_only_captured_values_belong_to_is_mapped_too():
    def call(x, k):
        """Call a function that uses `k` from outside, and whose rule gets it as a residual."""
        g = jax.custom_vjp(lambda x: x * k)
        g.defvjp(lambda x: (x * k, k), lambda k, ct: (10.0 * k * ct,))
        return g(x)

    outer = jax.vmap(jax.vmap(call, (None, 0)), (0, None))
    for mapped in (outer, jax.jit(outer)):
        np.testing.assert_array_equal(np.outer(ROWS, ROWS), mapped(ROWS, ROWS))
    slope = jax.grad(lambda x: outer(x, ROWS).sum())(ROWS)
    np.testing.assert_allclose([10 * ROWS.sum()] * len(ROWS), slope, rtol=1e-6)
