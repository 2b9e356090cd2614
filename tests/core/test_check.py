"""The type checker finds each kind of fault, and says where it is."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.lax as lax
from tapeless.core.check import after_pass, check_jaxpr
from tapeless.core.effects import DEBUG
from tapeless.core.jaxpr import Builder, Literal, Var, jaxprs_in
from tapeless.errors import JaxprTypeError
from tapeless.prims.binary import add_p
from tests.core.programs import F32, ROW, equation, sine_of_product, sum_with_constant

X = np.ones(3, np.float32)


def broken(match, jaxpr):
    """Assert that the program is refused in these words."""
    with pytest.raises(JaxprTypeError, match=match):
        check_jaxpr(jaxpr)


def test_good_programs_pass():
    for jaxpr in (sine_of_product(), sum_with_constant(X)):
        check_jaxpr(jaxpr)
        assert after_pass(jaxpr, "stage", "a program") is jaxpr


def test_variables_are_bound_before_use():
    jaxpr = sine_of_product()
    broken("used that is not bound", jaxpr.replace(eqns=jaxpr.eqns[::-1]))
    broken("used that is not bound", jaxpr.replace(outvars=[Var(ROW)]))


def test_variables_are_bound_once():
    jaxpr = sine_of_product()
    broken("bound already", jaxpr.replace(eqns=(jaxpr.eqns[0], *jaxpr.eqns)))
    broken("bound already", jaxpr.replace(invars=(*jaxpr.invars, jaxpr.invars[0])))


def test_results_have_the_types_that_the_operation_gives():
    builder = Builder()
    eqn = equation(add_p, [builder.new_input(ROW)] * 2, F32)
    builder.emit(eqn)
    broken(r"should be of the types \(float32\[\]\), but are \(float32\[3\]\)", builder.build([]))


def test_operands_fit():
    builder = Builder()
    pair = builder.new_input(ROW), builder.new_input(ROW.update(shape=(2,)))
    builder.emit(equation(add_p, pair, ROW))
    broken("cannot be typed: add got incompatible shapes", builder.build([]))


def test_literals_and_constants_have_their_types():
    builder = Builder()
    broken("a literal", builder.build([Literal(1.5, F32.update(dtype=np.dtype(np.int32)))]))
    jaxpr = sum_with_constant(X)
    broken("value of a constant", jaxpr.replace(consts=[np.ones(2, np.float32)]))
    broken("1 constants have 0 values", jaxpr.replace(consts=[]))


def test_effects_are_those_of_the_operation():
    jaxpr = sine_of_product()
    eqn = jaxpr.eqns[0].replace(effects=frozenset([DEBUG]))
    broken("the effects are", jaxpr.replace(eqns=(eqn, *jaxpr.eqns[1:])))


def loops_and_branches(x):
    """Return what every operation that contains programs makes of x."""
    y = jax.jit(lax.sin)(x)
    y = lax.cond(lax.gt(lax.reduce_sum(y, (0,)), 0.0), lax.sin, lax.cos, y)
    y = lax.while_loop(lambda c: lax.lt(lax.reduce_sum(c, (0,)), 9.0), lambda c: lax.add(c, 1.0), y)
    return jax.checkpoint(lax.sin)(lax.scan(lambda c, z: (lax.add(c, z), c), y, y)[1])


@pytest.mark.parametrize("name", ["jit", "cond", "while", "scan", "remat2"])
def test_nested_programs_fit_their_operations(name):
    jaxpr = jax.make_jaxpr(loops_and_branches)(X)
    check_jaxpr(jaxpr)
    position, eqn = next((i, e) for i, e in enumerate(jaxpr.eqns) if e.primitive.name == name)
    key, programs = next((k, jaxprs_in(v)) for k, v in eqn.params.items() if jaxprs_in(v))
    wrong = (other_program(programs[0]), *programs[1:])
    bad = eqn.replace(params={**eqn.params, key: wrong if len(wrong) > 1 else wrong[0]})
    eqns = (*jaxpr.eqns[:position], bad, *jaxpr.eqns[position + 1 :])
    broken("of the program|the results", jaxpr.replace(eqns=eqns))


def other_program(jaxpr):
    """Return a good program whose first input is of another type than that of `jaxpr`."""
    first = Var(jaxpr.in_avals[0].update(shape=(7,)))
    return jaxpr.replace(invars=(first, *jaxpr.invars[1:]), eqns=(), outvars=[first])


def test_faults_show_the_equation_and_the_line():
    jaxpr = jax.make_jaxpr(lambda x: lax.sin(lax.mul(x, 2.0)))(X)
    product, sine = jaxpr.eqns
    bad = product.replace(outvars=[Var(F32)])
    with pytest.raises(JaxprTypeError) as caught:
        check_jaxpr(jaxpr.replace(eqns=(bad, sine)))
    text = str(caught.value)
    assert "bug in tapeless" in text
    assert "a:f32[] = mul b 2.0:f32[]" in text
    assert "test_check.py" in text


def test_passes_are_checked_while_the_switch_is_on():
    jaxpr = sine_of_product().replace(outvars=[Var(ROW)])
    with pytest.raises(JaxprTypeError):
        after_pass(jaxpr, "stage", "a program")
    jax.config.update("jax_enable_checks", False)
    assert after_pass(jaxpr, "stage", "a program") is jaxpr


def test_literals_may_be_complex():
    jaxpr = jax.make_jaxpr(lambda x: jax.jit(lambda x, y: x * y)(x, 2j))(X).jaxpr
    check_jaxpr(jaxpr)
