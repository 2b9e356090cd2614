"""Types of a library's own can be declared, and say at their use that they are not traced."""

import pytest

import tapeless as jax
from tapeless import numpy as jnp
from tapeless.experimental import hijax


class Box:
    """A value of a type of the library's own."""


class BoxType(hijax.HiType):
    """Its type."""

    size = hijax.aval_property(lambda box: 1)
    open = hijax.aval_method(lambda box: box)


class Open(hijax.HiPrim):
    """An operation on it."""


def test_an_operation_on_such_a_type_refuses_in_words():
    hijax.register_hitype(Box, lambda box: BoxType())
    with pytest.raises(NotImplementedError, match="Open is an operation on a type of the library"):
        Open()(Box())
    with pytest.raises(TypeError, match="not a valid JAX type|as an abstract array"):
        jax.jit(lambda box: box)(Box())
    assert isinstance(BoxType(), hijax.AbstractValue)
    assert hijax.instantiate_zeros(hijax.Zero(jax.typeof(jnp.ones(2)))).shape == (2,)
