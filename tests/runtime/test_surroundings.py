"""What a function captured is compared by the call stub alone, and by Python where it cannot."""

from __future__ import annotations

import contextlib
import gc
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

import tapeless as jax
from tapeless.runtime import fastcall, watching
from tapeless.runtime.captures import snapshot

Stale = jax.errors.StaleCaptureError

SOURCE = """
import abc
import functools
import typing
import warnings
import numpy as np

class Base:
    rate = 2.0

class Derived(Base):
    pass

class Other(Base):
    rate = 5.0

class Mine:
    def __init__(self):
        self.rate = 2.0

class Yours(Mine):
    @property
    def rate(self):
        return 3.0

class Pair(typing.NamedTuple):
    first: float
    second: list

class Abstract(abc.ABC):
    rate = 2.0

class Concrete(Abstract):
    pass

class Slotted:
    __slots__ = ("rate",)

class Seen(Mine):
    def __getattribute__(self, name):
        looked.append(name)
        return object.__getattribute__(self, name)

def closure(content):
    def inside(x):
        return x * content
    def change(value):
        nonlocal content
        content = value
    def empty():
        nonlocal content
        del content
    return inside, change, empty

def quietly(name, value):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        setattr(array, name, np.dtype(value) if name == "dtype" else value)

def apply(*given):
    part.__setstate__((part.func, given, {}, {}))

looked = []
number = 2.0
base, derived, other, mine, slotted, seen = Base(), Derived(), Other(), Mine(), Slotted(), Seen()
concrete = Concrete()
slotted.rate = 2.0
both = Mine()
both.next = mine
first, second = [number, 1.0], (number, 1.0)
settings, nested = {"a": 2.0, "b": 1.0}, [[2.0, 1.0], {"a": [1.0]}, (1.0, [1.0])]
array, square = np.full(3, 2.0), np.full((2, 2), 2.0, order="F")
long = np.full(length, 2.0)
small = np.array([2.0, [1.0]], dtype=object)
part = functools.partial(float.__add__, 1.0)
pair = Pair(2.0, [1.0])
by_cell, change, empty = closure(2.0)
"""

# A function that the stub compares alone, and what changes.
CASES: dict[str, tuple[str, str]] = {
    "a global": ("lambda x: x * number", "number = 3.0"),
    "a global of another type": ("lambda x: x * number", "number = 2"),
    "a global that is gone": ("lambda x: x * number", "del number"),
    "a cell": ("by_cell", "change(3.0)"),
    "an empty cell": ("by_cell", "empty()"),
    "a global of a module": ("lambda x: x * module.rate", "module.rate = 3.0"),
    "another module": ("lambda x: x * module.rate", "module = another"),
    "an object": ("lambda x: x * mine.rate", "mine = Other()"),
    "an attribute": ("lambda x: x * mine.rate", "mine.rate = 3.0"),
    "an attribute that is gone": ("lambda x: x * mine.rate", "del mine.rate"),
    "another dict": ("lambda x: x * mine.rate", "mine.__dict__ = {'rate': 3.0}"),
    "another class": ("lambda x: x * derived.rate", "derived.__class__ = Other"),
    "a property": ("lambda x: x * mine.rate", "mine.__class__ = Yours"),
    "an attribute of an attribute": ("lambda x: x * both.next.rate", "mine.rate = 3.0"),
    "another owner": ("lambda x: x * both.next.rate", "both.next = Other()"),
    "an attribute of a class": ("lambda x: x * Base.rate", "Base.rate = 3.0"),
    "an attribute that a class inherits": ("lambda x: x * Derived.rate", "Base.rate = 3.0"),
    "an attribute that goes before": ("lambda x: x * Derived.rate", "Derived.rate = 3.0"),
    "other bases": ("lambda x: x * Derived.rate", "Derived.__bases__ = (Other,)"),
    "what the class of an object has": ("lambda x: x * base.rate", "Base.rate = 3.0"),
    "what hides that of the class": ("lambda x: x * base.rate", "base.rate = 3.0"),
    "what the base of a class has": ("lambda x: x * derived.rate", "Base.rate = 3.0"),
    "a slot": ("lambda x: x * slotted.rate", "slotted.rate = 3.0"),
    "an empty slot": ("lambda x: x * slotted.rate", "del slotted.rate"),
    "an element of a list": ("lambda x: x * first[0]", "first[0] = 3.0"),
    "a longer list": ("lambda x: x * first[0]", "first.append(3.0)"),
    "a shorter list": ("lambda x: x * first[0]", "first.pop()"),
    "another list": ("lambda x: x * first[0]", "first = [3.0, 1.0]"),
    "another tuple": ("lambda x: x * second[0]", "second = (3.0, 1.0)"),
    "a property of later": ("lambda x: x * mine.rate", "Mine.rate = property(lambda self: 3.0)"),
    "an object of an abstract class": ("lambda x: x * concrete.rate", "Abstract.rate = 3.0"),
    "an attribute of later": ("lambda x: x * getattr(mine, 'speed', 2.0)", "mine.speed = 3.0"),
    "one that is asked for": ("lambda x: 3 * x if hasattr(mine, 'v') else 2 * x", "mine.v = 1"),
    "one of later in a class": ("lambda x: x * getattr(mine, 'speed', 2.0)", "Mine.speed = 3.0"),
    "a value in a dict": ("lambda x: x * settings['a']", "settings['a'] = 3.0"),
    "a key in a dict": ("lambda x: x * settings['a']", "settings['c'] = 3.0"),
    "the order of a dict": ("lambda x: x * settings['a']", "settings['a'] = settings.pop('a')"),
    "an empty dict": ("lambda x: x * settings['a']", "settings.clear()"),
    "a list in a list": ("lambda x: x * nested[0][0]", "nested[0][0] = 3.0"),
    "a list in a dict": ("lambda x: x * nested[0][0]", "nested[1]['a'].append(3.0)"),
    "a list in a tuple": ("lambda x: x * nested[0][0]", "nested[2][1][0] = 3.0"),
    "a number in an array": ("lambda x: x * array[0]", "array[2] = 3.0"),
    "the bits of an array": ("lambda x: x * array[0]", "array.view('uint8')[8] += 1"),
    "the shape of an array": ("lambda x: x * array[0]", "quietly('shape', (3, 1))"),
    "the dtype of an array": ("lambda x: x * array[0]", "quietly('dtype', 'q')"),
    "the size of an array": ("lambda x: x * array[0]", "array.resize(4, refcheck=False)"),
    "the memory of an array": ("lambda x: x * long[0]", "long.resize(1, refcheck=False)"),
    "an array in columns": ("lambda x: x * square[0, 0]", "square[1, 0] = 3.0"),
    "an argument of a partial": ("lambda x: x * part(1.0)", "apply(2.0)"),
    "a list in a named tuple": ("lambda x: x * pair[0] * pair.second[0]", "pair[1][0] = 2.0"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def linked() -> None:
    """Link the stub."""
    fastcall.install()


def names(text: str = "") -> dict[str, Any]:
    """Return the variables above, those of a new module, for a function of this text."""
    module, another = types.ModuleType("module"), types.ModuleType("another")
    module.rate, another.rate = 2.0, 3.0  # pyrefly: ignore[missing-attribute]
    user = sys.modules["user"] = types.ModuleType("user")
    length = 1 << 24 if "long" in text else 3  # so long that its memory goes when it is freed
    vars(user).update(module=module, another=another, length=length)
    exec(compile(SOURCE, "user.py", "exec"), vars(user))
    return vars(user)


def function(text: str, variables: dict[str, Any]) -> Callable:
    """Return the function of a text."""
    return eval(compile(text, "user.py", "eval"), variables)


@pytest.mark.parametrize("way", ["told", "rows", "python"])
@pytest.mark.parametrize("name", CASES)
def test_a_change_is_noticed_by_the_stub_and_by_python(
    name: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, change = CASES[name]
    variables = names(text)
    if way == "rows":  # as in Python 3.11
        monkeypatch.setattr(watching, "watchers", [])
    f = jax.jit(function(text, variables))
    with jax.checks(stale=True), contextlib.ExitStack() as stack:
        if way == "python":
            stack.enter_context(fastcall.switched_off())
        for _ in range(3):
            assert f(2.0) == 4.0
        assert f.routes
        exec(compile(change, "user.py", "exec"), variables)
        for _ in range(3):
            with pytest.raises(Stale):
                f(2.0)
        f.clear_cache()


@pytest.mark.parametrize("name", CASES)
def test_nothing_of_python_runs_while_nothing_changes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, _ = CASES[name]
    f = jax.jit(function(text, names(text)))
    with jax.checks(stale=True):
        f(2.0)
        monkeypatch.setattr("tapeless.runtime.captures.Snapshot.compare", None)
        assert f(2.0) == 4.0


@pytest.mark.parametrize("text", ["lambda x: x * len(held)", "lambda x: x * small[0]"])
def test_what_no_row_compares_is_left_to_python(text: str) -> None:
    variables = names()
    variables["held"] = {1, 2}
    kept = snapshot(function(text, variables))
    assert kept is not None and kept.watch() is None
    f = jax.jit(function(text, variables))
    with jax.checks(stale=True):
        f(2.0), f(2.0)
        assert not f.routes
        variables["held"].add(3)
        variables["small"][1].append(2.0)
        with pytest.raises(Stale):
            f(2.0)


def test_an_object_with_its_own_lookup_is_never_asked() -> None:
    variables = names()
    f = jax.jit(function("lambda x: x * seen.rate", variables))
    with jax.checks(stale=True):
        f(2.0)
        variables["looked"].clear()
        f(2.0), f(2.0)
        assert not variables["looked"] and f.routes
        object.__setattr__(variables["seen"], "rate", 3.0)
        with pytest.raises(Stale, match=r"seen\.rate"):
            f(2.0)


def test_an_equal_value_has_a_route_again() -> None:
    variables = names()
    f = jax.jit(function("lambda x: x * number", variables))
    with jax.checks(stale=True):
        f(2.0)
        (before,) = f.routes.values()
        variables["number"] = float("2.0")
        assert f(2.0) == 4.0
        (after,) = f.routes.values()
        assert after[0] != before[0] and f(2.0) == 4.0
        variables["number"] = 3.0
        with pytest.raises(Stale):
            f(2.0)


def test_what_changes_during_the_first_call_has_no_route() -> None:
    variables = names()

    def change(x: Any) -> None:
        variables["number"] = 3.0

    variables.update(jax=jax, change_it=change)
    f = jax.jit(function("lambda x: (jax.debug.callback(change_it, x), x * number)[1]", variables))
    with jax.checks(stale=True):
        f(2.0).block_until_ready()
        jax.effects_barrier()
        with pytest.raises(Stale, match="'number'"):
            f(2.0)


def test_a_warning_comes_with_each_call() -> None:
    variables = names()
    f = jax.jit(function("lambda x: x * number", variables))
    with jax.config.stale_captures("warn"):
        f(2.0), f(2.0)
        variables["number"] = 3.0
        for _ in range(3):
            with pytest.warns(jax.errors.StaleCaptureWarning, match="'number'"):
                assert f(2.0) == 4.0
        variables["number"] = 2.0
        assert f(2.0) == 4.0


def test_references_are_balanced() -> None:
    variables = names()
    texts = [text for text, _ in CASES.values()]
    functions = [jax.jit(function(text, variables)) for text in texts]
    watched = [variables[name] for name in ("mine", "base", "Base", "Derived", "slotted", "first")]
    watched += [variables["mine"].rate, variables["Base"].rate, variables["second"]]

    def counts() -> list[int]:
        """Return how often each is referred to."""
        gc.collect()
        return [sys.getrefcount(x) for x in watched]

    with jax.checks(stale=True):
        for f in functions:
            f(2.0), f(2.0)
        before = counts()
        for _ in range(200):
            for f in functions:
                f(2.0)
        assert counts() == before
