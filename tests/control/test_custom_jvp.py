"""The `custom_jvp_call` operation under every transformation."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp


@jax.custom_jvp
def f(x):
    """Return sin x, with a derivative that is 10 times too steep."""
    return jnp.sin(x)


@f.defjvp
def f_jvp(primals, tangents):
    """Return the wrong derivative on purpose."""
    return f(*primals), 10 * jnp.cos(primals[0]) * tangents[0]


SLOPE = 10 * np.cos(0.5)
ROWS = np.array([0.5, 1.0], np.float32)


def test_the_rule_is_used_in_both_modes_and_under_jit():
    for g in (f, jax.jit(f), jax.checkpoint(f)):
        np.testing.assert_allclose(SLOPE, jax.grad(g)(0.5), rtol=1e-6)
        np.testing.assert_allclose(SLOPE, jax.jvp(g, (0.5,), (1.0,))[1], rtol=1e-6)
        np.testing.assert_allclose(SLOPE, jax.jit(jax.grad(g))(0.5), rtol=1e-6)


def test_the_rule_is_mapped():
    np.testing.assert_allclose(10 * np.cos(ROWS), jax.vmap(jax.grad(f))(ROWS), rtol=1e-6)
    total = lambda x: jnp.sum(jax.vmap(f)(x))  # noqa: E731
    np.testing.assert_allclose(10 * np.cos(ROWS), jax.grad(total)(ROWS), rtol=1e-6)


def test_the_rule_is_used_inside_loops():
    chain = lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0]  # noqa: E731
    wanted = 100 * np.cos(0.5) * np.cos(np.sin(0.5))
    np.testing.assert_allclose(wanted, jax.grad(chain)(0.5), rtol=1e-6)


def test_the_rule_itself_is_differentiated():
    np.testing.assert_allclose(-10 * np.sin(0.5), jax.grad(jax.grad(f))(0.5), rtol=1e-6)


def test_staging_writes_one_equation():
    (eqn,) = jax.make_jaxpr(f)(0.5).eqns
    assert eqn.primitive.name == "custom_jvp_call"
    assert eqn.params["name"] == "f"


def test_captured_values_are_operands_that_the_rule_does_not_see():
    def outer(w):
        """Capture an argument of a compiled function."""
        g = jax.custom_jvp(lambda x: x * w)
        g.defjvp(lambda p, t: (g(*p), 7.0 * t[0]))
        return jax.grad(g)(2.0)

    assert jax.jit(outer)(3.0) == 7.0
    np.testing.assert_array_equal([7.0, 7.0], jax.vmap(outer)(ROWS))


def scaled_by(k):
    """Return a function with a rule of its own, both of which use `k` from outside."""
    g = jax.custom_jvp(lambda x: x * k)
    g.defjvp(lambda p, t: (p[0] * k, 10.0 * k * t[0]))
    return g


def test_function_and_rule_may_use_rows_of_the_batch_around():
    call = lambda x, k: scaled_by(k)(x)  # noqa: E731
    k = np.arange(3, dtype=np.float32)
    for mapped in (jax.vmap(call), jax.jit(jax.vmap(call)), jax.vmap(jax.jit(call))):
        np.testing.assert_array_equal(ROWS * k[: len(ROWS)], mapped(ROWS, k[: len(ROWS)]))
    k = k[: len(ROWS)]
    slope = jax.grad(lambda x: jax.vmap(call)(x, k).sum())(ROWS)
    np.testing.assert_allclose(10 * k, slope, rtol=1e-6)
    loop = lambda x, k: lax.map(lambda x: jax.vmap(call)(x * k, k), x)  # noqa: E731
    np.testing.assert_allclose(np.outer(ROWS, k * k), loop(ROWS, k), rtol=1e-6)


def test_what_leaks_out_of_a_batch_is_still_refused():
    kept = []

    def call(x, k):
        """Keep a value of the batch."""
        kept.append(x * k)
        return scaled_by(k)(x)

    jax.vmap(call)(ROWS, ROWS)
    with pytest.raises(jax.errors.UnexpectedTracerError):
        jax.vmap(lambda x: scaled_by(kept[0])(x))(ROWS)


def two_results(x, y):
    """Return one result that depends on each argument."""
    return jnp.sin(x), y * 2.0


def test_a_rule_may_use_a_captured_value_as_a_constant():
    def g(x):
        @jax.custom_jvp
        def scaled(y):
            return jnp.sin(y) * lax.stop_gradient(x)

        scaled.defjvp(lambda p, t: (scaled(*p), jnp.cos(p[0]) * t[0] * p[0]))
        return scaled(x)

    slopes = np.cos(ROWS) * ROWS
    curvatures = np.cos(ROWS) - ROWS * np.sin(ROWS)
    for once in (jax.grad, jax.jacfwd, jax.jacrev):
        np.testing.assert_allclose(jax.vmap(once(g))(ROWS), slopes, 1e-6)
        for twice in (jax.grad, jax.jacfwd, jax.jacrev):
            np.testing.assert_allclose(jax.vmap(twice(once(g)))(ROWS), curvatures, 1e-6)
            np.testing.assert_allclose(jax.jit(jax.vmap(twice(once(g))))(ROWS), curvatures, 1e-6)
    found = jax.jacfwd(jax.vmap(g))(ROWS)
    np.testing.assert_allclose(found, np.diag(slopes), 1e-6)


def test_a_batch_that_only_captured_values_belong_to_is_mapped_too():
    call = lambda x, k: scaled_by(k)(x)  # noqa: E731
    k = np.arange(3, dtype=np.float32)
    outer = jax.vmap(jax.vmap(call, (None, 0)), (0, None))
    for mapped in (outer, jax.jit(outer), jax.vmap(jax.jit(jax.vmap(call, (None, 0))), (0, None))):
        np.testing.assert_array_equal(np.outer(ROWS, k), mapped(ROWS, k))
    slope = jax.jit(jax.grad(lambda x: outer(x, k).sum()))(ROWS)
    np.testing.assert_allclose([10 * k.sum()] * len(ROWS), slope)
    both = jax.vmap(jax.grad(jax.grad(lambda x, k: call(x, k) ** 2)), (None, 0))(2.0, k)
    np.testing.assert_allclose(20 * k**2, both)  # the rule computes values by a plain product


def test_results_that_all_rows_share_stay_shared():
    f = jax.custom_jvp(two_results)
    f.defjvp(lambda p, t: (two_results(*p), (3.0 * t[0], 5.0 * t[1])))
    mapped = jax.vmap(f, (None, 0), out_axes=(None, 0))
    for run in (mapped, jax.jit(mapped)):
        shared, rows = run(2.0, ROWS)
        assert shared.shape == ()
        np.testing.assert_array_equal(ROWS * 2, rows)
    total = lambda x, y: sum(r.sum() for r in mapped(x, y))  # noqa: E731
    for slope in (jax.grad(total, (0, 1)), jax.grad(jax.jit(total), (0, 1))):
        dx, dy = slope(2.0, ROWS)
        assert dx == 3.0
        np.testing.assert_array_equal([5.0] * len(ROWS), dy)


def test_a_staged_result_that_rows_share_has_no_derivative_by_row():
    f = jax.custom_jvp(two_results)
    f.defjvp(lambda p, t: (two_results(*p), (3.0 * t[1], 5.0 * t[0])))
    mapped = jax.jit(jax.vmap(f, (None, 0), out_axes=(None, 0)))
    with pytest.raises(TypeError, match="two_results has a result of shape .. that is the same"):
        jax.grad(lambda y: mapped(2.0, y)[0])(ROWS)
