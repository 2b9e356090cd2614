"""Stale captures: the variable that changed, what it was and what it is."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as jax
from tapeless import numpy as jnp
from tapeless.runtime.captures import snapshot

Stale = jax.errors.StaleCaptureError

SOURCE = """
def helper(x):
    return x * inner

def f(x):
    def nested(y):
        return y + deep
    return nested(helper(x)) * rate + table[0] + array[0] + settings["a"] + absent_of(x).rate
"""


class Holder:
    """An object whose attribute has the name of a variable."""

    rate = 0.0


def surroundings() -> dict[str, Any]:
    """Return the globals of a fresh copy of the functions above."""
    names = {
        "inner": 2.0, "deep": 1.0, "rate": 0.1, "table": [1.0, 2.0], "array": np.ones(2),
        "settings": {"a": 1}, "jnp": jnp, "absent_of": lambda x: Holder,
    }  # fmt: skip
    exec(compile(SOURCE, "user.py", "exec"), names)
    return names


CHANGES: dict[str, tuple[Callable, str]] = {
    "rate": (lambda g: g.update(rate=0.2), "it was 0.1 and is 0.2 now"),
    "inner": (lambda g: g.update(inner=3.0), "it was 2.0 and is 3.0 now"),
    "deep": (lambda g: g.update(deep=True), "it was 1.0 and is True now"),
    "table": (lambda g: g["table"].append(3), r"it was \[1.0, 2.0\] and is \[1.0, 2.0, 3\] now"),
    "array": (lambda g: g["array"].fill(5), r"it was array\(\[1., 1.\]\) and is array\(\[5., 5."),
    "settings": (lambda g: g["settings"].update(a=2), "it was {'a': 1} and is {'a': 2} now"),
    "helper": (lambda g: g.update(helper=abs), "it was <function helper at"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_names_the_variable_and_both_values(name: str) -> None:
    change, message = CHANGES[name]
    names = surroundings()
    with jax.checks(stale=True):
        f = jax.jit(names["f"])
        for _ in range(40):
            f(1.0)
        change(names)
        with pytest.raises(Stale, match=f"The variable '{name}', which .*{message}"):
            f(1.0)
        f.clear_cache()
        if name != "helper":
            f(1.0)


@pytest.mark.parametrize("kind", [list, tuple])
def test_an_element_that_is_replaced_is_noticed(kind: type) -> None:
    held = kind([1.0, jnp.ones(2)])
    with jax.checks(stale=True):
        f = jax.jit(lambda x: x * held[0] + held[1])
        f(2.0)
        held = kind([1.0, held[1]])
        f(2.0)
        held = kind([3.0, held[1]])
        with pytest.raises(Stale, match=r"'held', which .* it was .1.0, Array.* is .3.0, Array"):
            f(2.0)


def test_a_cell_of_an_enclosing_function_is_compared() -> None:
    n = 3.0
    with jax.checks(stale=True):
        f = jax.jit(lambda x: x * n)
        assert f(2.0) == 6
        n = 4.0
        with pytest.raises(Stale, match="'n', which .* it was 3.0 and is 4.0 now"):
            f(2.0)
        n = 3.0
        assert f(2.0) == 6


def test_a_value_that_is_equal_has_not_changed() -> None:
    names = surroundings()
    with jax.checks(stale=True):
        f = jax.jit(names["f"])
        f(1.0)
        names.update(rate=0.1, table=[1.0, 2.0], array=np.ones(2), settings={"a": 1})
        f(1.0)


def test_inside_other_functions_and_transformations() -> None:
    names = surroundings()
    with jax.checks(stale=True):
        inner = jax.jit(names["f"])
        outer = jax.jit(lambda x: inner(x) + 1)
        derivative = jax.grad(inner)
        outer(1.0), derivative(1.0)
        names["rate"] = 7.0
        for function in (outer, derivative):
            with pytest.raises(Stale, match="'rate'"):
                function(1.0)


def test_what_containers_in_containers_hold_is_compared() -> None:
    table = {"layers": [{"rate": [1.0]}, (np.ones(2), Holder)]}
    f = jax.jit(lambda x: x * table["layers"][0]["rate"][0])
    with jax.checks(stale=True):
        f(1.0)
        table["layers"][0]["rate"] = [1.0]  # another list of the same meaning
        assert f(1.0) == 1.0
        table["layers"][0]["rate"][0] = 2.0
        with pytest.raises(Stale, match=r"'table'(.|\n)*\[1\.0\](.|\n)*\[2\.0\]"):
            f(1.0)
        table["layers"][0]["rate"][0] = 1.0
        table["layers"][1][0][1] = 5.0
        with pytest.raises(Stale, match="'table'"):
            f(1.0)
    cycle: list[Any] = [1.0]
    cycle.append(cycle)
    g = jax.jit(lambda x: x * cycle[0])
    with jax.checks(stale=True):
        assert g(1.0) == g(1.0) == 1.0
        cycle[0] = 3.0
        with pytest.raises(Stale, match="'cycle'"):
            g(1.0)


@pytest.mark.parametrize("transform", [jax.vmap, jax.grad, lambda f: jax.vmap(jax.grad(f))])
def test_functions_that_are_transformed_first_are_looked_into(transform: Callable) -> None:
    scale = 2.0
    f = jax.jit(transform(lambda x: x * scale))
    x = jnp.ones(()) if transform is jax.grad else jnp.ones(3)
    with jax.checks(stale=True):
        f(x)
        scale = 3.0
        with pytest.raises(Stale, match="'scale'"):
            f(x)


def test_off_by_default_and_a_warning_on_demand() -> None:
    n = 3.0
    f = jax.jit(lambda x: x * n)
    with jax.config.stale_captures("warn"):
        f(2.0)
    n = 4.0
    assert f(2.0) == 8
    with jax.config.stale_captures("warn"):
        with pytest.warns(jax.errors.StaleCaptureWarning, match="'n'"):
            assert f(2.0) == 6


def test_what_functions_of_this_package_read_is_left_out() -> None:
    assert snapshot(lambda x: jnp.sin(x) + jax.nn.softmax(x)) is None


class Inner:
    """A holder of a number."""

    rate = 2.0


class Model:
    """An object whose methods are compiled."""

    power = 3.0
    __slots__ = ("__dict__", "bias")

    def __init__(self) -> None:
        self.weight, self.inner, self.bias = 1.0, Inner(), 1.0

    def apply(self, x: float) -> float:
        return x * self.weight * self.power + self.inner.rate + self.bias

    def outer(self, x: float) -> float:
        return self.apply(x)


OBJECT = Model()
NEW = itertools.count(10.5)
ATTRIBUTES: dict[str, tuple[Callable, Callable, str]] = {
    "of a class": (
        lambda x: x * Inner.rate,
        lambda n: setattr(Inner, "rate", n),
        "'Inner.rate'",
    ),
    "of an object": (lambda x: x * OBJECT.weight, lambda n: setattr(OBJECT, "weight", n), "weight"),
    "of the class of an object": (
        lambda x: x * OBJECT.power,
        lambda n: setattr(Model, "power", n),
        "'OBJECT.power'",
    ),
    "of a method": (OBJECT.apply, lambda n: setattr(OBJECT, "weight", n), "'self.weight'"),
    "of a method that a method calls": (
        OBJECT.outer,
        lambda n: setattr(OBJECT, "weight", n),
        "'self.weight'",
    ),
    "of a method that a function calls": (
        lambda x: OBJECT.outer(x),
        lambda n: setattr(OBJECT, "weight", n),
        "'self.weight'",
    ),
    "of a method that is transformed": (
        jax.grad(OBJECT.apply),
        lambda n: setattr(OBJECT, "power", n),
        "'self.power'",
    ),
    "in a slot": (OBJECT.apply, lambda n: setattr(OBJECT, "bias", n), "'self.bias'"),
    "of an attribute": (
        OBJECT.apply,
        lambda n: setattr(OBJECT.inner, "rate", n),
        "'self.inner.rate'",
    ),
}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes_that_changed_are_named(name: str) -> None:
    function, change, message = ATTRIBUTES[name]
    if name == "of a method that is transformed":
        vars(OBJECT).pop("power", None)
    f = jax.jit(function)
    with jax.checks(stale=True):
        assert f(1.0) == f(1.0)
        change(next(NEW))
        with pytest.raises(Stale, match=message):
            f(1.0)


def test_no_property_runs_for_a_comparison() -> None:
    class Counting:
        ran = 0

        @property
        def number(self) -> float:
            self.ran += 1
            return 2.0

    counting = Counting()
    f = jax.jit(lambda x: x * counting.number)
    with jax.checks(stale=True):
        assert f(1.0) == f(1.0) == 2.0
    assert counting.ran == 1


def test_an_array_of_the_same_elements_is_no_change() -> None:
    names = {"weights": jnp.ones(3), "parts": {"a": jnp.ones(2)}}
    f = jax.jit(eval("lambda x: x * weights.sum() + parts['a'][0]", names))
    with jax.checks(stale=True):
        assert f(1.0) == 4.0
        names["weights"], names["parts"] = jnp.ones(3), {"a": jnp.ones(2)}
        assert f(1.0) == 4.0
        for other in (jnp.zeros(3), jnp.ones(3, int), jnp.ones((1, 3))):
            names["weights"] = other
            with pytest.raises(Stale, match="'weights'"):
                f(1.0)
        names["weights"] = jnp.ones(3)
        names["weights"].delete()
        with pytest.raises(Stale, match="'weights'"):
            f(1.0)


def test_objects_that_cannot_be_printed_or_asked() -> None:
    class Odd:
        weight = 1.0

        def __getattr__(self, name: str) -> Any:
            raise RuntimeError(name)

        def __repr__(self) -> str:
            raise RuntimeError("no text")

    odd, names = Odd(), {}
    names["odd"] = odd
    f = jax.jit(eval("lambda x: x * odd.weight", names))
    with jax.checks(stale=True):
        assert f(1.0) == f(1.0) == 1.0
        names["odd"] = Odd()
        with pytest.raises(Stale, match=r"'odd', .* it was <tests\..* and is <tests\..* now"):
            f(1.0)


def test_deques_and_bytes_that_change() -> None:
    names = {"queue": collections.deque([1.0, 2.0]), "raw": bytearray(b"ab")}
    f = jax.jit(eval("lambda x: x * queue[0] + raw[0]", names))
    with jax.checks(stale=True):
        assert f(1.0) == f(1.0) == 98.0
        names["queue"].rotate()
        with pytest.raises(Stale, match="'queue'"):
            f(1.0)
        names["queue"].rotate()
        names["raw"][0] = 7
        with pytest.raises(Stale, match="'raw'"):
            f(1.0)
