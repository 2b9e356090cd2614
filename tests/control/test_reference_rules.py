"""Programs lose their references: what they write they return, and nothing else changes."""

from __future__ import annotations

import numpy as np

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.control.reference_rules import program_to_run
from tapeless.core.check import check_jaxpr
from tapeless.core.effects import STATE
from tapeless.core.interpret import eval_jaxpr
from tapeless.transforms.references import takes_references, without_references, written

X = np.array([1.0, 2.0, 3.0], np.float32)


def looped(read, write, x):
    """Read one reference and write another, in a loop, a branch and a call."""

    def step(i, total):
        """Add what is read."""
        write[i] += read[i] * total
        return total + jax.jit(lambda y: read[0] * y)(x)

    total = lax.fori_loop(0, 3, step, 1.0)
    lax.cond(total > 0, lambda: write.addupdate(1.0, 0), lambda: None)
    return total


def test_a_program_returns_the_arrays_that_its_references_hold():
    refs = jax.new_ref(X), jax.new_ref(np.zeros(3, np.float32))
    jaxpr = jax.make_jaxpr(looped)(*refs, 2.0)
    assert takes_references(jaxpr)
    assert STATE in jaxpr.effects
    assert written(jaxpr) == (False, True)
    pure = without_references(jaxpr)
    check_jaxpr(pure)
    assert not pure.effects
    total, unchanged, changed = eval_jaxpr(pure, pure.consts, X, jnp.zeros(3), 2.0)
    assert float(total) == 7.0
    np.testing.assert_array_equal(X, unchanged)
    np.testing.assert_array_equal([2, 6, 15], changed)
    looped(*refs, 2.0)
    np.testing.assert_array_equal([2, 6, 15], refs[1][...])


def test_what_is_only_read_is_no_carry():
    read, write = jax.new_ref(X), jax.new_ref(np.zeros(3, np.float32))
    pure = without_references(jax.make_jaxpr(looped)(read, write, 2.0))
    (loop,) = [eqn for eqn in pure.eqns if eqn.primitive.name == "scan"]
    assert loop.params["num_carry"] == 3  # the counter, the total and the array that is written


def test_a_program_that_makes_its_references_can_be_run():
    def function(x):
        """Return x with 1 more in front."""
        ref = jax.new_ref(x)
        ref.addupdate(1.0, 0)
        return ref[...]

    plain = jax.make_jaxpr(jnp.sin)(X)
    assert program_to_run(plain) is plain
    program = program_to_run(jax.make_jaxpr(function)(X))
    assert not program.effects
    np.testing.assert_array_equal([2, 2, 3], eval_jaxpr(program, program.consts, X)[0])


def test_custom_rules_stay_for_functions_that_use_references_inside():
    @jax.custom_jvp
    def doubled(x):
        """Return 2x."""
        ref = jax.new_ref(x)
        ref[...] = ref[...] * 2
        return ref[...]

    doubled.defjvp(lambda primals, tangents: (doubled(*primals), tangents[0] * 7))
    for function in (doubled, jax.jit(doubled)):
        assert float(function(3.0)) == 6.0
        assert float(jax.grad(function)(3.0)) == 7.0
        np.testing.assert_array_equal([7, 7, 7], jax.vmap(jax.grad(function))(X))
