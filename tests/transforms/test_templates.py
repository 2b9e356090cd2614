"""Templates: the equations of a rule are copied where the rule would write them again."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.core.check import check_jaxpr
from tapeless.core.primitive import Primitive
from tapeless.prims.binary import Mul, mul_p
from tapeless.prims.reduce import reduce_sum_p
from tapeless.prims.trig import sin_p
from tapeless.transforms import templates

X = np.linspace(0.5, 2.0, 4, dtype=np.float32)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Return the list of the rules of `mul` that run, with no template known."""
    found: list[str] = []
    for name in ("jvp", "transpose"):
        rule = getattr(Mul, name)

        def counted(self, *args, name=name, rule=rule, **params):
            found.append(name)
            return rule(self, *args, **params)

        monkeypatch.setattr(Mul, name, counted)
    templates._templates.clear()
    yield found
    templates._templates.clear()


def products() -> Callable[[jax.Array], jax.Array]:
    """Return a new function that multiplies many times."""

    def multiply(x: jax.Array) -> jax.Array:
        """Multiply."""
        for number in range(20):
            x = jnp.sin(x) * (number + 1.0)
        return x.sum()

    return multiply


def test_a_rule_runs_once_for_operands_of_the_same_types(runs: list[str]) -> None:
    jax.make_jaxpr(jax.grad(jax.jit(products())))(X)
    # Products with a literal, and of a tangent and a variable; once each backwards.
    assert (runs.count("jvp"), runs.count("transpose")) == (1, 2)
    jax.make_jaxpr(jax.grad(jax.jit(products())))(X)
    assert len(runs) == 3


def test_copies_are_what_the_rules_write(monkeypatch: pytest.MonkeyPatch) -> None:
    copied = str(jax.make_jaxpr(jax.grad(jax.jit(products())))(X))
    monkeypatch.setattr(templates, "_find", lambda *args: None)
    assert str(jax.make_jaxpr(jax.grad(jax.jit(products())))(X)) == copied


def test_copies_are_well_typed_and_have_the_lines_of_the_whole() -> None:
    jaxpr = jax.make_jaxpr(jax.grad(jax.jit(products())))(X)
    check_jaxpr(jaxpr)
    for eqn in jaxpr.eqns:
        for inner in eqn.params["jaxpr"].eqns if "jaxpr" in eqn.params else ():
            assert "test_templates.py" in eqn.source.summary(), inner


@pytest.mark.parametrize("number", [2.0, -0.0, np.nan])
def test_values_of_literals_are_those_of_the_place(number: float) -> None:
    for factor in (3.0, number):
        tangent = jax.jvp(jax.jit(lambda x: x * factor), (X,), (X,))[1]  # noqa: B023
        np.testing.assert_array_equal(tangent, X * np.float32(factor))
        np.testing.assert_array_equal(np.signbit(tangent), np.signbit(X * np.float32(factor)))


def test_a_literal_that_is_converted_is_converted_at_once() -> None:
    def function(x: jax.Array, y: int) -> jax.Array:
        return lax.pow(x, y)

    for power in (2, 3):
        found = jax.grad(jax.jit(lambda x: function(x, power)))(X[0])  # noqa: B023
        np.testing.assert_allclose(found, power * X[0] ** (power - 1), rtol=1e-6)


def test_a_rule_that_raises_does_so_about_the_operands() -> None:
    with pytest.raises(NotImplementedError, match="Transpose rule"):
        jax.linear_transpose(jax.jit(jnp.sin), X)(X)


def test_there_are_templates_of_settings(runs: list[str]) -> None:
    for wide in (False, True):
        with jax.enable_x64(wide):
            dtype = np.float64 if wide else np.float32
            gradient = jax.grad(jax.jit(lambda x: (x * 3.0) * x))(dtype(2))
            assert (gradient.dtype, float(gradient)) == (dtype, 12.0)


def test_what_is_written_under_another_transformation_is_no_template(runs: list[str]) -> None:
    jax.vmap(lambda x: jax.jvp(lambda y: y * y, (x,), (x,))[1])(X)
    assert runs == ["jvp"]
    assert not templates._templates


@pytest.mark.parametrize(("prim", "n"), [(mul_p, 2), (sin_p, 1)])
def test_the_first_equation_of_a_template_is_the_operation(prim: Primitive, n: int) -> None:
    avals = [jax.core.ShapedArray((4,), np.dtype(np.float32))] * (2 * n)
    template = templates.jvp_template(prim, n, avals, {})
    assert template is not None
    assert template.repeats


def test_equal_parameters_of_different_types_have_templates_of_their_own() -> None:
    for axis in (0, np.int64(0)):

        def total(x: jax.Array, axis: object = axis) -> jax.Array:
            """Add up by the operation itself."""
            return reduce_sum_p.bind(x, axes=(axis,), out_sharding=None)[0]

        jaxpr = jax.make_jaxpr(lambda x: jax.jvp(jax.jit(total), (x,), (x,)))(X)  # noqa: B023
        (inner,) = [eqn.params["jaxpr"] for eqn in jaxpr.eqns]
        assert [type(eqn.params["axes"][0]) for eqn in inner.eqns] == [type(axis)] * 2
