"""What calls with rules of the user's share: staging, captured values, evaluation."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp


def with_jvp(scale):
    """Return x -> scale * x, of derivative 10."""

    @jax.custom_jvp
    def times(x):
        return scale * x

    times.defjvp(lambda primals, tangents: (times(*primals), 10.0 * tangents[0]))
    return times


def with_vjp(scale):
    """Return the same by a backward rule."""

    @jax.custom_vjp
    def times(x):
        return scale * x

    times.defvjp(lambda x: (times(x), None), lambda _, ct: (10.0 * ct,))
    return times


@pytest.mark.parametrize("make", [with_jvp, with_vjp])
def test_captured_values_become_leading_arguments(make):
    jaxpr = jax.make_jaxpr(lambda scale, x: make(scale)(x))(2.0, 3.0)
    (eqn,) = jaxpr.eqns
    assert eqn.params["num_consts"] == 1
    assert eqn.invars == jaxpr.invars


@pytest.mark.parametrize("make", [with_jvp, with_vjp])
def test_the_rule_holds_in_every_form(make):
    x = jnp.arange(3.0)
    for function in (make(2.0), jax.jit(make(2.0)), jax.vmap(make(2.0))):
        np.testing.assert_array_equal(function(x), [0, 2, 4])
        np.testing.assert_array_equal(jax.grad(lambda x, f=function: f(x).sum())(x), [10, 10, 10])
