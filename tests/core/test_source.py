"""Where equations come from."""

import numpy as np

import tapeless as jax
import tapeless.lax as lax
from tapeless.core.source import (
    JVP,
    UNKNOWN_SOURCE,
    VMAP,
    Source,
    current_source,
    name_scope,
    names_text,
    override_source,
)

X = np.ones(3, np.float32)


def line_of(function, offset):
    """Return the number of the line `offset` lines below the function's first."""
    return function.__code__.co_firstlineno + offset


def test_equations_know_their_lines():
    def f(x):
        y = lax.sin(x)
        return lax.neg(y)

    sine, negation = jax.make_jaxpr(f)(X).eqns
    assert sine.source.frame.filename == __file__
    assert sine.source.frame.line == line_of(f, 1)
    assert negation.source.frame.line == line_of(f, 2)
    assert sine.source.summary().startswith(f"{__file__}:{line_of(f, 1)}:")


def test_names_of_scopes_nest_and_end():
    def f(x):
        with name_scope("outer"), name_scope("inner"):
            x = lax.sin(x)
        return lax.neg(x)

    sine, negation = jax.make_jaxpr(f)(X).eqns
    assert sine.source.names == ("outer", "inner")
    assert negation.source.names == ()


def test_transformations_wrap_the_scope_that_they_find_inside():
    def f(x):
        with jax.named_scope("outer"), jax.named_scope("inner"):
            return lax.sin(x)

    def stacks(function):
        return [names_text(eqn.source.names) for eqn in jax.make_jaxpr(function)(1.0).eqns]

    assert stacks(jax.grad(f)) == ["jvp(outer)/inner"] * 2 + ["transpose(jvp(outer))/inner"]
    with jax.named_scope("around"):  # no part of a program of its own
        assert stacks(lambda x: jax.vmap(f)(lax.full((3,), x))) == ["", "vmap(outer)/inner"]
    (call,) = jax.make_jaxpr(jax.vmap(jax.jit(f)))(X).eqns
    assert names_text(call.source.names) == "vmap()"
    assert call.params["jaxpr"].eqns[0].source.names == ("outer", "inner")
    assert names_text((VMAP, JVP)) == "vmap(jvp())"


def test_what_a_checkpoint_computes_again_has_a_scope_of_its_own():
    jaxpr = jax.make_jaxpr(jax.grad(jax.checkpoint(lambda x: lax.sin(lax.sin(x)))))(1.0)
    inner = jaxpr.eqns[-1].params["jaxpr"].eqns
    assert [eqn.source.names for eqn in inner][:3] == [("rematted_computation",)] * 3
    assert inner[-1].source.names == ()


def test_a_pass_attributes_what_it_makes_to_the_older_equation():
    def f(x):
        return lax.mul(lax.sin(x), 2.0)

    lines = {
        eqn.source.frame.line
        for eqn in jax.make_jaxpr(jax.vmap(jax.jit(f)))(X).eqns[0].params["jaxpr"].eqns
    }
    assert lines == {line_of(f, 1)}
    older = Source(None, ("older",))
    with override_source(older):
        assert current_source() is older
    with name_scope("around"), override_source(older):
        assert current_source().names == ("around", "older")
    assert current_source() is not older


def test_the_equations_of_one_instruction_share_their_source():
    def f(x):
        for _ in range(3):
            x = lax.sin(x)
        return lax.neg(x)

    eqns = jax.make_jaxpr(f)(X).eqns
    assert len({id(eqn.source) for eqn in eqns[:3]}) == 1
    assert eqns[3].source != eqns[0].source


def test_one_instruction_in_two_scopes_has_two_sources():
    def f(x):
        for name in ("first", "second", "first"):
            with name_scope(name):
                x = lax.sin(x)
        return x

    first, second, third = (eqn.source for eqn in jax.make_jaxpr(f)(X).eqns)
    assert first is third
    assert second.names == ("second",)


def test_an_unknown_source_says_so():
    assert UNKNOWN_SOURCE.summary() == "unknown"
