"""What is known of signs of zeros holds for the values themselves."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless.compiler.signs import adds_zero, has_no_sign, makes_no_sign
from tapeless.core.jaxpr import Literal
from tapeless.prims.indexing import ScatterDimensionNumbers

X = np.array([-0.0, 0.0, -1.0, 2.0], np.float32)
Z = np.zeros(4, np.float32)
PLACES, DIMS = np.array([[1]]), ScatterDimensionNumbers((), (0,), (0,))
# Of (x with any signs, z without): what has no sign, and what may have one.
UNSIGNED = {
    "abs": lambda x, z: lax.abs(x),
    "sum": lambda x, z: lax.add(x, z),
    "moved": lambda x, z: lax.rev(z, (0,)),
    "joined": lambda x, z: lax.concatenate([z, z], 0),
    "scattered": lambda x, z: lax.scatter_add(z, PLACES, x[:1], DIMS),
}
SIGNED = {
    "product": lambda x, z: lax.mul(x, z),
    "negative": lambda x, z: lax.neg(z),
    "sum": lambda x, z: lax.add(x, x),
    "joined": lambda x, z: lax.concatenate([z, x], 0),
    "scattered": lambda x, z: lax.scatter_add(x, PLACES, z[:1], DIMS),
}


def known(function) -> bool:
    """Tell whether the result is known to be nowhere -0.0, if the second operand is."""
    jaxpr = jax.make_jaxpr(function)(X, Z)
    found = {jaxpr.invars[1]}
    for eqn in jaxpr.eqns:
        if makes_no_sign(eqn, found):
            found.update(eqn.outvars)
    return has_no_sign(jaxpr.outvars[0], found)


def negative_zeros(function) -> int:
    """Count the elements that are -0.0 in the results for operands of all kinds."""
    with np.errstate(all="ignore"):
        results = [np.asarray(function(x, z)) for x in (X, Z, -Z) for z in (Z, np.abs(X))]
    return sum(int((np.signbit(out) & (out == 0)).sum()) for out in results)


@pytest.mark.parametrize("name", UNSIGNED)
def test_what_is_known_to_have_no_sign_has_none(name):
    assert known(UNSIGNED[name])
    assert negative_zeros(UNSIGNED[name]) == 0


@pytest.mark.parametrize("name", SIGNED)
def test_what_may_be_negative_zero_is_not_said_to_be_none(name):
    assert not known(SIGNED[name])
    assert negative_zeros(SIGNED[name]) > 0


def test_integers_have_no_sign_of_zero_and_literals_are_looked_at():
    scalar = jax.make_jaxpr(lambda x: x)(np.float32(1)).in_avals[0]
    assert has_no_sign(Literal(np.float32(0.0), scalar), ())
    assert not has_no_sign(Literal(np.float32(-0.0), scalar), ())
    (eqn,) = jax.make_jaxpr(lambda x: lax.add(x, np.float32(0.0)))(X).eqns
    assert adds_zero(eqn) is eqn.invars[0]
    (eqn,) = jax.make_jaxpr(lambda x: lax.add(x, np.float32(-0.0)))(X).eqns
    assert adds_zero(eqn) is None
