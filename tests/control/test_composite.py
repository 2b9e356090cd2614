"""Functions under a name."""

from __future__ import annotations

import numpy as np

import tapeless as jax
from tapeless import lax

scaled = lax.composite(lambda x, y, *, factor: {"sum": factor * x + y, "x": x}, "my.scaled", 2)


def test_it_is_the_decomposition_and_shows_as_one_call():
    x, y = np.arange(3.0), np.ones(3)
    np.testing.assert_allclose(scaled(x, y, factor=2.0)["sum"], 2 * x + 1)
    program = jax.make_jaxpr(lambda x, y: scaled(x, y, factor=2.0))(x, y)
    (call,) = program.eqns
    assert call.params["name"] == "my.scaled"


def test_it_is_differentiated_mapped_and_may_close_over_values():
    x, y = np.arange(3.0), np.ones(3)
    assert jax.grad(lambda x: scaled(x, y[0], factor=3.0)["sum"])(1.0) == 3.0
    np.testing.assert_allclose(jax.vmap(lambda x: scaled(x, 1.0, factor=2.0)["sum"])(x), 2 * x + 1)
    outer = jax.grad(lambda a: lax.composite(lambda x: a * x, "my.product")(2.0))
    assert outer(5.0) == 2.0
