"""The `cond` operation: one branch runs; batches select; residuals share slots."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp

X = np.array([0.5, 2.0], np.float32)


def piecewise(x):
    """Return sin x below 1, and x squared above."""
    return lax.cond(jnp.sum(x) < 1, jnp.sin, lambda x: x * x, x)


@pytest.mark.parametrize(("x", "slope"), [(0.5, np.cos(0.5)), (2.0, 4.0)])
def test_derivatives_are_those_of_the_branch_taken(x, slope):
    np.testing.assert_allclose(slope, jax.grad(piecewise)(x), rtol=1e-6)
    np.testing.assert_allclose(slope, jax.jvp(piecewise, (x,), (1.0,))[1], rtol=1e-6)
    np.testing.assert_allclose(slope, jax.jit(jax.grad(piecewise))(x), rtol=1e-6)


def test_second_derivatives_are_those_of_the_branch_taken():
    second = jax.grad(jax.grad(piecewise))
    np.testing.assert_allclose([-np.sin(0.5), 2.0], [second(0.5), second(2.0)], rtol=1e-6)


def test_a_batched_index_becomes_a_selection():
    names = [eqn.primitive.name for eqn in jax.make_jaxpr(jax.vmap(piecewise))(X).eqns]
    assert "cond" not in names
    assert "select_n" in names
    np.testing.assert_allclose([np.sin(0.5), 4.0], jax.vmap(piecewise)(X), rtol=1e-6)


def test_a_common_index_stays_a_branch():
    f = jax.vmap(lambda p, x: lax.cond(p, jnp.sin, jnp.cos, x), (None, 0))
    names = [eqn.primitive.name for eqn in jax.make_jaxpr(f)(True, X).eqns]
    assert "cond" in names
    np.testing.assert_allclose(np.sin(X), f(True, X), rtol=1e-6)


def test_the_branch_not_taken_does_no_harm_to_gradients():
    safe = lambda x: lax.cond(x > 0, jnp.sqrt, lambda x: x * 0, x)  # noqa: E731
    xs = np.array([0.0, 4.0], np.float32)
    np.testing.assert_allclose([0.0, 0.25], jax.vmap(jax.grad(safe))(xs))


def test_residuals_of_branches_share_slots():
    def f(x):
        """Branch three ways, each with one residual of one type."""
        index = jnp.asarray(x, int)
        return lax.switch(index, [jnp.sin, jnp.exp, lambda x: x * x], x)

    jaxpr = jax.make_jaxpr(lambda x: jax.vjp(f, x)[1](x))(X[0])
    first = next(eqn for eqn in jaxpr.eqns if eqn.primitive.name == "cond")
    assert len(first.outvars) <= 3
    np.testing.assert_allclose(
        [np.cos(0.5), np.exp(1.0), 4.0], [jax.grad(f)(x) for x in (0.5, 1.0, 2.0)], rtol=1e-6
    )


def test_only_one_branch_runs(capsys):
    f = jax.jit(lambda x: lax.cond(x > 0, lambda: jax.debug.print("yes"), lambda: None))
    f(1.0)
    f(-1.0)
    jax.effects_barrier()
    assert capsys.readouterr().out == "yes\n"


def test_under_a_batched_index_both_branches_print(capsys):
    yes, no = lambda: jax.debug.print("yes"), lambda: jax.debug.print("no")
    jax.vmap(lambda p: lax.cond(p, yes, no))(np.array([True, True]))
    jax.effects_barrier()
    assert sorted(set(capsys.readouterr().out.split())) == ["no", "yes"]


def test_a_predicate_is_needed() -> None:
    with pytest.raises(TypeError, match="cond predicate is None"):
        lax.cond(None, lambda: 1, lambda: 2)


def _mapped_branches(effect):
    """Return vmap of a cond on rows, both of whose branches have an effect on a row."""
    branch = lambda name: lambda x: effect(name, x)  # noqa: E731
    return jax.vmap(lambda x: lax.cond(x > 1, branch("more"), branch("less"), x))


@pytest.mark.parametrize("around", [lambda f: f, jax.jit])
def test_ordered_prints_of_mapped_branches_keep_their_order(around, capsys):
    def effect(name, x):
        """Print a row."""
        jax.debug.print("{} {}", name, x, ordered=True)
        return x

    around(_mapped_branches(effect))(jnp.arange(3.0))
    jax.effects_barrier()
    less, more = ([f"{name} {x}" for x in (0.0, 1.0, 2.0)] for name in ("less", "more"))
    assert capsys.readouterr().out.splitlines() == [*less, *more]


@pytest.mark.parametrize("ordered", [False, True])
def test_no_row_calls_back_from_a_branch_that_it_does_not_take(ordered):
    def effect(name, x):
        """Call back with a row."""
        return jax.experimental.io_callback(lambda x: x, x, x, ordered=ordered)

    with pytest.raises(NotImplementedError, match="IO effect not supported in vmap-of-cond"):
        _mapped_branches(effect)(jnp.arange(3.0))


def test_callbacks_of_a_branch_that_all_rows_take_are_mapped_unless_ordered():
    def mapped(ordered):
        """Map over a branch on a common predicate."""
        call = lambda x: jax.experimental.io_callback(lambda x: x + 1, x, x, ordered=ordered)  # noqa: E731
        return jax.vmap(lambda x: lax.cond(jnp.bool_(True), call, lambda x: x, x))(jnp.arange(3.0))

    assert mapped(ordered=False).tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(NotImplementedError, match="IO effect not supported in vmap-of-cond"):
        mapped(ordered=True)
