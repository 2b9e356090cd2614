"""Chains of transformations: what errors of lines under up to three of them tell, and what not."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as jax
from tapeless import config, errors, lax
from tapeless import numpy as jnp
from tapeless.experimental import checkify
from tapeless.util.chains import source_name

MESH = jax.make_mesh((1,), ("i",))
PART = jax.sharding.PartitionSpec()


def over_rows(f: Callable) -> Callable:
    """Return a scan that calls a function in its body."""
    return lambda x: lax.scan(lambda carry, row: (f(x), row), 0.0, jnp.ones(2))


TRANSFORMATIONS: dict[str, Callable[[Callable], Callable]] = {
    "jit": jax.jit,
    "vmap": jax.vmap,
    "grad": jax.grad,
    "value_and_grad": jax.value_and_grad,
    "jvp": lambda f: lambda x: jax.jvp(f, (x,), (x,)),
    "vjp": lambda f: lambda x: jax.vjp(f, x),
    "linearize": lambda f: lambda x: jax.linearize(f, x),
    "jacfwd": jax.jacfwd,
    "jacrev": jax.jacrev,
    "checkpoint": jax.checkpoint,
    "scan": over_rows,
    "while_loop": lambda f: lambda x: lax.while_loop(lambda x: True, f, x),
    "fori_loop": lambda f: lambda x: lax.fori_loop(0, 2, lambda i, x: f(x), x),
    "cond": lambda f: lambda x: lax.cond(True, f, f, x),
    "switch": lambda f: lambda x: lax.switch(0, [f, f], x),
    "map": lambda f: lambda x: lax.map(lambda row: f(x), jnp.ones(2)),
    "associative_scan": lambda f: lambda x: lax.associative_scan(lambda a, b: f(x), jnp.ones(2)),
    "shard_map": lambda f: jax.shard_map(f, mesh=MESH, in_specs=PART, out_specs=PART),
    "pmap": lambda f: lambda x: jax.pmap(lambda i, x: f(x), in_axes=(0, None))(jnp.ones(1), x),
    "checkify": checkify.checkify,
    "vectorize": lambda f: jnp.vectorize(f, signature="(a,b,c)->()"),
}
PAIRS = list(itertools.product(TRANSFORMATIONS, repeat=2))
TRIPLES = list(itertools.product(TRANSFORMATIONS, repeat=3))
ONES = np.ones((1, 1, 1), np.float32)


def failing(x: Any) -> Any:
    """Add what cannot be added."""
    return jnp.ones((2, 3)) + jnp.ones(7)


def nested(names: tuple[str, ...], f: Callable = failing) -> Callable:
    """Return a function under transformations, the innermost named first."""
    for name in names:
        f = TRANSFORMATIONS[name](f)
    return f


def purposes(note: str) -> list[str]:
    """Return the transformations of a note, without the functions."""
    parts = note.removeprefix("inside ").split(", inside ")
    return [part.partition(" of ")[0] for part in parts]


def around(call: Callable, *args: Any) -> str:
    """Return the note on what a failing call is inside of."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - of any class
        call(*args)
    notes = [x for x in getattr(caught.value, "__notes__", ()) if x.startswith("inside ")]
    assert len(notes) < 2
    return notes[0] if notes else ""


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_a_transformation_is_told(name: str) -> None:
    note = around(nested((name,)), ONES)
    assert purposes(note) == [name]
    assert f"{__file__}:" in note


@pytest.mark.parametrize("outer", TRANSFORMATIONS)
def test_chains_of_two_are_told(outer: str) -> None:
    for inner in TRANSFORMATIONS:
        x = ONES if "vectorize" in (inner, outer) else np.ones((1,) * 4, np.float32)
        if inner == "vectorize" and outer in ("vmap", "vectorize"):
            continue  # of too few axes
        assert purposes(around(nested((inner, outer)), x)) == [inner, outer]


@pytest.mark.slow
@pytest.mark.parametrize("outer", TRANSFORMATIONS)
def test_chains_of_three_are_told(outer: str) -> None:
    for names in TRIPLES:
        if names[-1] == outer and "vectorize" not in names:
            assert purposes(around(nested(names), ONES)) == list(names)


@pytest.mark.parametrize("names", TRIPLES[:: len(TRIPLES) // 60])
def test_some_chains_of_three_are_told(names: tuple[str, ...]) -> None:
    if "vectorize" not in names:
        assert purposes(around(nested(names), ONES)) == list(names)


def test_a_function_is_named_once_for_the_transformations_of_it() -> None:
    note = around(jax.jit(jax.vmap(jax.grad(failing))), ONES)
    assert note == f"inside grad of {source_name(failing)}, inside vmap, inside jit"
    outer = jax.jit(lambda x: jax.vmap(failing)(x))
    assert around(outer, ONES) == (
        f"inside vmap of {source_name(failing)}, inside jit of {source_name(outer)}"
    )


def test_more_than_three_are_counted() -> None:
    note = around(nested(("jit", "vmap", "grad", "vmap", "jit")), ONES)
    assert purposes(note) == ["jit", "vmap", "grad", "2 more"]


def test_nothing_is_told_outside_of_transformations_and_of_those_of_libraries() -> None:
    assert around(failing, ONES) == ""
    assert around(lambda x: jax.nn.one_hot(x, "a"), ONES) == ""
    assert around(lambda x: jnp.apply_along_axis(jnp.sort, 7, x), ONES) == ""
    inside = around(jax.grad(lambda x: jnp.polyfit(x, jnp.ones(7), 2)), jnp.ones(3))
    assert purposes(inside) == ["grad"]


def test_an_error_that_passes_many_boundaries_has_one_note_the_innermost() -> None:
    def caught_inside(x: Any) -> Any:
        with pytest.raises(TypeError) as caught:
            jax.grad(failing)(x)
        assert purposes(caught.value.__notes__[-1]) == ["grad", "jit"]
        raise caught.value

    assert purposes(around(jax.jit(caught_inside), ONES)) == ["grad", "jit"]


def test_rules_and_passes_of_derivatives_are_told() -> None:
    @jax.custom_vjp
    def pulled(x: Any) -> Any:
        return x.sum()

    pulled.defvjp(lambda x: (pulled(x), x), lambda x, ct: failing(x))
    note = around(jax.jit(jax.grad(pulled)), ONES)
    assert purposes(note)[0] == "the custom_vjp backward rule"
    assert purposes(note)[-2:] == ["grad", "jit"]

    pulled.defvjp(failing, lambda x, ct: (ct,))
    assert purposes(around(jax.grad(pulled), ONES)) == ["the custom_vjp forward rule", "grad"]

    @jax.custom_jvp
    def pushed(x: Any) -> Any:
        return x.sum()

    pushed.defjvp(lambda primals, tangents: failing(*primals))
    assert purposes(around(jax.grad(pushed), ONES)) == ["the custom_jvp rule", "grad"]

    _, back = jax.vjp(jnp.sum, ONES)
    with pytest.raises(ValueError, match="VJP function"):
        back(ONES)
    value, push = jax.linearize(lambda x: x * 2, ONES)
    assert purposes(around(push, jnp.ones(3))) == ["the forward pass"]


def test_what_the_user_raises_is_told_as_well() -> None:
    assert purposes(around(jax.jit(jax.vmap(lambda x: {}["missing"])), ONES)) == ["vmap", "jit"]


def test_a_message_that_tells_them_has_no_note() -> None:
    with pytest.raises(errors.TracerBoolConversionError) as caught:
        jax.vmap(jax.jit(lambda x: 1 if x else 0))(jnp.ones(2))
    assert "This happened inside vmap." in str(caught.value)
    assert not getattr(caught.value, "__notes__", ())
    with pytest.raises(errors.TracerBoolConversionError) as caught:
        jax.jit(lambda x: 1 if x else 0)(1.0)
    assert "for jit." in str(caught.value)
    assert not getattr(caught.value, "__notes__", ())


def test_errors_of_runs_tell_what_was_called() -> None:
    config.update("jax_debug_nans", True)
    try:
        note = around(jax.jit(lambda x: jnp.log(x)), -jnp.ones(2))
    finally:
        config.update("jax_debug_nans", False)
    assert purposes(note) == ["jit"]
    assert re.search(r" of <lambda> at .*test_chains\.py:\d+$", note)
