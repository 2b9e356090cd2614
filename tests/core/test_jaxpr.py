"""Programs as data, and their builder."""

import copy
from types import MappingProxyType

import numpy as np
import pytest

from tapeless.core.effects import DEBUG
from tapeless.core.jaxpr import Builder, DebugInfo, Jaxpr, Literal, Var, jaxprs_in, subjaxprs
from tests.core.programs import F32, ROW, sine_of_product, sum_with_constant

X = np.ones(3, np.float32)


def test_programs_are_compared_by_identity():
    assert sine_of_product() != sine_of_product()
    assert len({sine_of_product(), sine_of_product()}) == 2
    assert Var(ROW) != Var(ROW)


def test_types_of_inputs_and_outputs():
    jaxpr = sum_with_constant(X)
    assert jaxpr.in_avals == (ROW,)
    assert jaxpr.out_avals == (ROW,)
    assert jaxpr.jaxpr is jaxpr


def test_parameters_cannot_be_changed():
    eqn = sine_of_product().eqns[0].replace(params={"key": 1})
    with pytest.raises(TypeError, match="does not support item assignment"):
        eqn.params["key"] = 2
    assert eqn.replace(params=eqn.params).params is eqn.params
    assert type(eqn.params) is MappingProxyType


def test_replace_changes_a_copy():
    jaxpr = sine_of_product()
    product, sine = jaxpr.eqns
    shorter = jaxpr.replace(eqns=(product,), outvars=product.outvars)
    assert (len(jaxpr.eqns), len(shorter.eqns)) == (2, 1)
    assert shorter.invars == jaxpr.invars
    assert sine.replace(invars=[Literal(1.0, F32)]).outvars == sine.outvars


def test_effects_are_the_union_of_the_equations():
    jaxpr = sine_of_product()
    assert jaxpr.effects == frozenset()
    eqn = jaxpr.eqns[0].replace(effects=frozenset([DEBUG]))
    assert jaxpr.replace(eqns=(eqn, jaxpr.eqns[1])).effects == {DEBUG}


def test_constants_become_leading_inputs():
    jaxpr = sum_with_constant(X).replace(debug=DebugInfo("f", ("x",), None))
    lifted = jaxpr.lift_consts()
    assert lifted.invars == (*jaxpr.constvars, *jaxpr.invars)
    assert (lifted.constvars, lifted.consts) == ((), ())
    assert lifted.debug == DebugInfo("f")
    assert lifted.lift_consts() is lifted


def test_a_value_captured_twice_is_one_constant():
    builder = Builder()
    first = builder.constant(X)
    assert builder.constant(X) is first
    assert builder.constant(copy.copy(X)) is not first
    assert builder.build([first]).consts[0] is X


@pytest.mark.parametrize("value", [True, 2, 0.5, 1j, np.float16(2), np.array(3)])
def test_scalars_are_literals(value):
    builder = Builder()
    atom = builder.constant(value)
    assert type(atom) is Literal
    assert atom.aval.shape == ()
    assert builder.build([atom]).consts == ()


def test_nested_programs_are_found():
    a, b, c = (sine_of_product() for _ in range(3))
    assert jaxprs_in(a) == [a]
    assert jaxprs_in((a, 1, b)) == [a, b]
    assert jaxprs_in("text") == []
    assert subjaxprs({"x": a, "y": 3, "z": [b, c]}) == [a, b, c]


def test_representations_of_atoms():
    assert repr(Var(ROW)) == "Var:f32[3]"
    assert repr(Literal(2.0, F32)) == "2.0:f32[]"
    assert isinstance(repr(Jaxpr((), (), (), ())), str)


def test_literals_are_the_values_of_constants():
    jaxpr = sum_with_constant(X)
    assert jaxpr.literals == jaxpr.consts != ()
