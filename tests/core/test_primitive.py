"""Primitives: the registry, defaults of rules, and tables of foreign rules."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.lax as lax
from tapeless.core.primitive import Primitive, RuleTable, registry
from tapeless.prims.binary import add_p
from tapeless.prims.trig import sin_p
from tests.core.programs import ROW

X = np.ones(3, np.float32)


class Bare(Primitive):
    """An operation without rules."""

    name = "bare_in_test_primitive"
    hidden = {"always": ..., "maybe": None}


BARE = registry.get(Bare.name) or Bare()


class Typed(Bare):
    """An operation with a type only."""

    name = "typed_in_test_primitive"

    def abstract(self, *avals, **params):
        """Return the operands' types."""
        return avals


TYPED = registry.get(Typed.name) or Typed()


def test_names_are_unique():
    assert registry["sin"] is sin_p
    with pytest.raises(ValueError, match="two primitives are called bare_in_test_primitive"):
        Bare()


def test_a_missing_rule_says_which_and_where():
    with pytest.raises(NotImplementedError, match="bare_in_test_primitive has no `abstract` rule"):
        jax.make_jaxpr(lambda x: BARE.bind(x)[0])(X)
    with pytest.raises(NotImplementedError, match="class Bare in .*test_primitive.py"):
        BARE.abstract(ROW)
    with pytest.raises(NotImplementedError, match="no `lower` rule, which compiling it needs"):
        BARE.decompose(X)


@pytest.mark.parametrize(
    ("transform", "words"),
    [
        (lambda f: jax.jvp(f, (X,), (X,)), "Differentiation rule for 'typed_in"),
        (lambda f: jax.vmap(f)(X), "Batching rule for 'typed_in"),
    ],
)
def test_missing_rules_have_the_words_of_jax(transform, words):
    with pytest.raises(NotImplementedError, match=words):
        jax.make_jaxpr(lambda: transform(lambda x: TYPED.bind(x)[0]))()


def test_hidden_parameters_are_not_printed():
    params = {"always": 1, "maybe": None, "shown": 2}
    assert BARE.printed(params) == {"shown": 2}
    assert BARE.printed({**params, "maybe": 3}) == {"maybe": 3, "shown": 2}


def test_rule_tables_hold_rules_of_foreign_transformations():
    table = RuleTable("count")

    @table.rule(sin_p)
    def count(x):
        """Count."""
        return x

    assert sin_p in table
    assert table[sin_p] is count
    with pytest.raises(NotImplementedError, match="count rule for 'add' not implemented"):
        table[add_p]


def test_binding_returns_a_tuple():
    assert len(sin_p.bind(X)) == 1
    assert repr(sin_p) == "sin"
    assert lax.sin_p is sin_p
