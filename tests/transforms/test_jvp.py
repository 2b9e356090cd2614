"""Forward mode: pairs of values and tangents, zeros that stay symbols, nesting."""

from __future__ import annotations

import numpy as np

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.core.aval import shaped
from tapeless.core.linear import Zero
from tapeless.extend.core import Primitive
from tapeless.transforms.jvp import JVPTracer, jvp_flat, jvp_jaxpr
from tapeless.transforms.stage import stage_flat

SCALAR = shaped((), np.float32)


def test_a_value_without_a_tangent_is_not_wrapped():
    seen = []
    jvp_flat(lambda x, y: seen.extend([x, y]) or [x], [1.0, 2.0], [1.0, Zero(SCALAR)])
    assert isinstance(seen[0], JVPTracer)
    assert seen[1] == 2.0


def test_what_does_not_depend_on_the_input_has_a_zero_tangent():
    outs, tangents = jvp_flat(lambda x: [lax.sin(x), 3.0], [1.0], [1.0])
    assert outs[1] == 3.0
    assert tangents[1] == Zero(shaped((), np.float32, True))
    np.testing.assert_allclose(np.cos(1.0), tangents[0], rtol=1e-6)


def test_integers_have_float0_tangents():
    _, tangents = jvp_flat(lambda x: [lax.convert_element_type(x, np.int32)], [1.5], [1.0])
    assert tangents[0].aval.dtype == jax.float0


def test_a_program_maps_only_the_tangents_that_may_be_nonzero():
    jaxpr = stage_flat(lambda x, y: [lax.mul(x, y), lax.sin(y)], [SCALAR, SCALAR])
    tangent, nonzero = jvp_jaxpr(jaxpr, (True, False), (False, False))
    assert nonzero == (True, False)
    assert len(tangent.invars) == 3
    assert len(tangent.outvars) == 3
    assert jvp_jaxpr(jaxpr, (True, False), (False, True))[1] == (True, True)


def test_the_program_of_tangents_is_derived_once():
    jaxpr = stage_flat(lambda x: [lax.sin(x)], [SCALAR])
    assert jvp_jaxpr(jaxpr, (True,), (False,))[0] is jvp_jaxpr(jaxpr, (True,), (False,))[0]


def test_perturbations_are_not_confused():
    # d/dx (x * d/dy (x + y)) = 1; a confusion of tangents gives 2.
    inner = lambda x: jax.jvp(lambda y: x + y, (1.0,), (1.0,))[1]  # noqa: E731
    assert jax.jvp(lambda x: x * inner(x), (1.0,), (1.0,))[1] == 1.0


def test_nested_forward_mode_gives_higher_derivatives():
    derivative = lambda f: lambda x: jax.jvp(f, (x,), (jnp.ones_like(x),))[1]  # noqa: E731
    third = derivative(derivative(derivative(jnp.sin)))
    np.testing.assert_allclose(-np.cos(0.5), third(jnp.float32(0.5)), rtol=1e-6)


def test_tangents_without_numbers_are_zeros() -> None:
    """The rule of an operation on integers is not asked, also where their float0s are passed on."""
    bare = Primitive("bare")
    bare.def_impl(lambda x: x)
    bare.def_abstract_eval(lambda x: x)
    jaxpr = jax.make_jaxpr(lambda n, x: (bare.bind(n), 2 * x))(1, 1.0).jaxpr
    forward, nonzero = jvp_jaxpr(jaxpr, (True, True), (False, False))
    assert nonzero == (False, True)
    assert [eqn.primitive.name for eqn in forward.eqns] == ["bare", "mul", "mul"]
