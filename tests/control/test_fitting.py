"""Programs that do not fit what holds them, and arguments that do not fit a program, are errors."""

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.control.fitting import check_arguments, check_programs

MANY, FEW = jnp.ones((3, 100_000)), jnp.ones((3, 2))
HOLDERS = {
    "jit": lambda x: jax.jit(jnp.sin)(x),
    "scan": lambda x: lax.scan(lambda c, r: (c + r.sum(), r * 2), 0.0, x),
    "cond": lambda x: lax.cond(x[0, 0] > 0, jnp.sin, jnp.cos, x),
    "while": lambda x: lax.while_loop(lambda c: c[0, 0] < 9, lambda c: c * 2, x),
    "checkpoint": lambda x: jax.checkpoint(jnp.sin)(x),
    "custom_jvp": lambda x: jax.nn.relu(x),
}


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("way", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_arguments_of_other_types_than_traced_are_an_error(holder, way):
    program = jax.make_jaxpr(HOLDERS[holder])(MANY)
    with jax.enable_checks(False), pytest.raises(TypeError, match="but the program takes"):
        way(lambda x: jax.core.eval_jaxpr(program, program.consts, x))(FEW)
    outs = way(lambda x: jax.core.eval_jaxpr(program, program.consts, x))(MANY)
    assert np.isfinite(np.asarray(outs[0])).all()


@pytest.mark.parametrize("length", [1, 7, 10**8])
def test_a_scan_longer_than_its_inputs_is_an_error(length):
    program = jax.make_jaxpr(HOLDERS["scan"])(FEW)
    eqns = [
        eqn.replace(params={**eqn.params, "length": length})
        if eqn.primitive.name == "scan"
        else eqn
        for eqn in program.eqns
    ]
    with pytest.raises(TypeError, match=f"scan of length {length}"):
        jax.core.eval_jaxpr(program.replace(eqns=eqns), program.consts, FEW)


def test_what_is_traced_fits():
    for holder in HOLDERS.values():
        program = jax.make_jaxpr(holder)(FEW)
        check_programs(program)
        check_arguments(program, [FEW])
