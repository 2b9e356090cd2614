"""Functions under a name."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax, stablehlo

scaled = lax.composite(lambda x, y, *, factor: {"sum": factor * x + y, "x": x}, "my.scaled", 2)


def test_it_is_the_decomposition_and_shows_as_one_call():
    x, y = np.arange(3.0), np.ones(3)
    np.testing.assert_allclose(scaled(x, y, factor=2.0)["sum"], 2 * x + 1)
    program = jax.make_jaxpr(lambda x, y: scaled(x, y, factor=2.0))(x, y)
    (call,) = program.eqns
    assert call.primitive.name == "composite"
    assert (call.params["name"], call.params["version"]) == ("my.scaled", 2)
    assert call.params["attributes"][0][:2] == ("factor", (2.0,))


def test_stablehlo_has_the_operation_with_its_constants_and_what_it_stands_for():
    f = lax.composite(lambda x, *, k, name, sizes, flag: k * x, "my.op", version=3)
    g = lambda x: f(x, k=2.0, name='a "b"', sizes=(1, 2), flag=True)  # noqa: E731
    text = jax.jit(g).lower(np.ones(3, np.float32)).as_text()
    constants = (
        'k = 2.000000e+00 : f64, name = "a \\"b\\"", sizes = [1 : i64, 2 : i64], flag = true'
    )
    assert f"composite_attributes = {{{constants}}}" in text
    assert 'decomposition = @my.op, name = "my.op", version = 3 : i32' in text
    np.testing.assert_array_equal(stablehlo.load(text)(np.ones(3, np.float32)), 2 * np.ones(3))


@pytest.mark.oracle
def test_the_operation_verifies_in_mlir():
    from tests.golden.xla import run_text

    x = np.arange(3, dtype=np.float32)
    text = jax.jit(lambda x: scaled(x, x, factor=2.0)["sum"]).lower(x).as_text()
    np.testing.assert_allclose(run_text(text, [x])[0], 3 * x)


def test_a_constant_that_stablehlo_has_no_word_for_is_refused():
    f = lax.composite(lambda x, *, k: x, "my.op")
    with pytest.raises(TypeError, match="the attributes of a composite are numbers"):
        jax.jit(lambda x: f(x, k=np.ones(2))).lower(1.0).as_text()


def test_it_is_differentiated_mapped_and_may_close_over_values():
    x, y = np.arange(3.0), np.ones(3)
    assert jax.grad(lambda x: scaled(x, y[0], factor=3.0)["sum"])(1.0) == 3.0
    np.testing.assert_allclose(jax.vmap(lambda x: scaled(x, 1.0, factor=2.0)["sum"])(x), 2 * x + 1)
    outer = jax.grad(lambda a: lax.composite(lambda x: a * x, "my.product")(2.0))
    assert outer(5.0) == 2.0
