"""Dead code: what nobody uses goes, what has an effect stays."""

from __future__ import annotations

import gc
import weakref

import numpy as np

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.core.aval import shaped
from tapeless.transforms import dce
from tapeless.transforms.dce import dce_jaxpr, forwarded_inputs
from tapeless.transforms.stage import stage_flat

SCALAR = shaped((), np.float32)


def names(jaxpr):
    """Return the names of a program's operations."""
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def test_unused_equations_inputs_and_constants_go():
    array = np.ones(3, np.float32)

    def f(x, y):
        """Compute something that is not wanted."""
        return [lax.sin(x), lax.mul(y, lax.reduce_sum(array, (0,)))]

    jaxpr = stage_flat(f, [SCALAR, SCALAR])
    smaller, inputs = dce_jaxpr(jaxpr, (True, False), (False, False))
    assert names(smaller) == ["sin"]
    assert inputs == (True, False)
    assert smaller.consts == ()


def test_inputs_can_be_kept():
    jaxpr = stage_flat(lambda x, y: [lax.sin(x)], [SCALAR, SCALAR])
    assert dce_jaxpr(jaxpr, (True,), (False, True))[1] == (True, True)


def test_a_program_of_which_nothing_goes_is_itself():
    def f(x, y):
        """Call compiled functions within compiled functions."""
        return [jax.jit(lambda x: jax.jit(jnp.sin)(x) * 2)(x) + y]

    jaxpr = stage_flat(f, [SCALAR, SCALAR])
    assert dce_jaxpr(jaxpr, (True,), (False, False)) == (jaxpr, (True, True))
    assert dce_jaxpr(jaxpr, (False,), (True, True))[0] is not jaxpr
    idle = stage_flat(lambda x, y: [lax.sin(x)], [SCALAR, SCALAR])
    assert dce_jaxpr(idle, (True,), (True, True))[0] is idle
    assert dce_jaxpr(idle, (True,), (False, False))[0] is not idle


def test_nested_programs_are_cleaned_once(monkeypatch):
    """The gradient of a function in n compiled functions looks at some times n programs."""
    looked_at = []
    monkeypatch.setattr(dce, "after_pass", lambda jaxpr, *_: looked_at.append(jaxpr) or jaxpr)

    def count(n):
        """Return how many programs were made anew."""
        f = jnp.sin
        for _ in range(n):
            f = jax.jit(lambda x, g=f: g(x) * 2)
        looked_at.clear()
        jax.make_jaxpr(jax.grad(f))(1.0)
        return len(looked_at)

    count(1)
    assert count(40) <= 2.5 * count(20)


def test_effects_stay():
    def f(x):
        """Print."""
        jax.debug.print("{}", x)
        return [lax.sin(x)]

    jaxpr = stage_flat(f, [SCALAR])
    assert names(dce_jaxpr(jaxpr, (False,), (False,))[0]) == ["debug_print"]


def test_carries_that_serve_only_themselves_go():
    def f(x):
        """Carry a value that no result depends on."""
        step = lambda c, _: ((jnp.sin(c[0]), c[1] * c[0]), None)  # noqa: E731
        return [lax.scan(step, (x, x), None, length=3)[0][0]]

    jaxpr = stage_flat(f, [SCALAR])
    (loop,) = dce_jaxpr(jaxpr, (True,), (True,))[0].eqns
    assert names(loop.params["jaxpr"]) == ["sin"]


def test_branches_shrink_together():
    def f(x):
        """Use one of two results."""
        yes, no = lambda x: (jnp.sin(x), jnp.cos(x)), lambda x: (x, jnp.tan(x))
        return [lax.cond(x > 0, yes, no, x)[0]]

    jaxpr = stage_flat(f, [SCALAR])
    branch = dce_jaxpr(jaxpr, (True,), (True,))[0].eqns[-1]
    assert [names(program) for program in branch.params["branches"]] == [[], ["sin"]]


def test_results_that_are_inputs_are_found():
    jaxpr = stage_flat(lambda x, y: [y, lax.neg(x), 1.0, x], [SCALAR, SCALAR])
    assert forwarded_inputs(jaxpr) == (1, None, None, 0)


def test_a_program_of_which_nothing_goes_is_not_kept_by_its_result():
    jaxpr = jax.make_jaxpr(lambda x: jnp.sin(x) + 1)(1.0).jaxpr
    for _ in range(2):  # the second answer is the one that was remembered
        assert dce_jaxpr(jaxpr, (True,), (False,)) == (jaxpr, (True,))
    alive = weakref.ref(jaxpr)
    del jaxpr
    gc.collect()
    assert alive() is None
