"""Stale captures: changes inside of what a function captured, wherever it lies."""

from __future__ import annotations

import array
import collections
import dataclasses
import functools
import time
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tapeless as jax
from tapeless.runtime.codereads import reads_of

Stale = jax.errors.StaleCaptureError

SOURCE = """
class Layer:
    kind = 1.0
    def __init__(self, rate):
        self.rate = rate
    def apply(self, x):
        return x * self.rate
    @property
    def doubled(self):
        return 2 * self.rate
    @functools.cached_property
    def kept(self):
        return 2 * self.rate
    @staticmethod
    def shifted(x):
        return x + shift
    @classmethod
    def scaled(cls, x):
        return x * cls.kind

class Operator(Layer):
    def __call__(self, x):
        return x * self.rate
    def __matmul__(self, x):
        return x * self.rate
    def __getitem__(self, x):
        return x * self.rate
    def __len__(self):
        return int(self.rate)

class Network:
    def __init__(self, *parts):
        self.parts, self.last = parts, Operator(1.0)
    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return self.last(x)

class Slotted:
    __slots__ = ("rate",)
    def __init__(self, rate):
        self.rate = rate

@dataclasses.dataclass
class Parameters:
    weight: np.ndarray
    bias: float = 0.0

class Settings(dict):
    def __getattr__(self, name):
        return self[name]

class Derived(Layer):
    def apply(self, x):
        return super().apply(x) + 1

def multiplier(n):
    def inner(x):
        return x * n[0]
    return inner

def with_default(x, table=[2.0]):
    return x * table[0]

def with_named_default(x, *, layer=Layer(2.0)):
    return x * layer.rate

def helper(layer, x):
    return x * layer.rate

def both(scale, x, *, table):
    return x * scale[0] * table["a"]

shift = 1.0
layer = Layer(2.0)
layers = [Layer(1.0), Layer(2.0)]
operator = Operator(2.0)
network = Network(Operator(2.0), Operator(3.0))
by_name = {"first": {"second": (Layer(1.0), Slotted(2.0))}}
derived = Derived(2.0)
parameters = Parameters(np.ones(3), 1.0)
settings = Settings(rate=2.0)
numbers = array.array("d", [1.0, 2.0])
raw = bytearray(b"ab")
view = memoryview(bytearray(b"ab"))
queue = collections.deque([1.0, 2.0])
factor = [3.0]
multiply = multiplier(factor)
functions = {"a": [multiply]}
scale, named = [1.0], {"a": 1.0}
part = functools.partial(both, scale, table=named)
user_dict = collections.UserDict(a=1.0)
user_list = collections.UserList([1.0])
chain = collections.ChainMap({}, {"a": 1.0})
proxied = {"a": 1.0}
proxy = types.MappingProxyType(proxied)
space = types.SimpleNamespace(rate=1.0)
counts = collections.Counter("aab")
ordered = collections.OrderedDict(a=[1.0])
default = collections.defaultdict(float, a=1.0)

def in_loop(x):
    for each in layers:
        x = x * each.rate
    return x

def by_local(x):
    local = layer
    return x * local.rate

def all_fields(x):
    weight, bias = dataclasses.astuple(parameters)
    return x * weight[0] + bias
"""
MODULE = types.ModuleType("another")


def names() -> dict[str, Any]:
    """Return the globals of a fresh copy of the source."""
    MODULE.rate, MODULE.table = 2.0, [1.0]
    exec("def double(x):\n    return x * table[0]\n", MODULE.__dict__)
    found = {
        "array": array, "collections": collections, "functools": functools, "types": types,
        "dataclasses": dataclasses, "np": np, "another": MODULE, "__name__": "user",
    }  # fmt: skip
    exec(compile(SOURCE, "user.py", "exec", dont_inherit=True), found)
    return found


def setting(path: str, value: Any = 7.5) -> Callable:
    """Return what assigns to `path` in the globals."""
    return lambda g: exec(f"{path} = {value}", g)


# What the function is, what changes, and what the message has.
CASES: dict[str, tuple[str, Callable, str]] = {
    "an object in a list": ("lambda x: x * layers[1].rate", setting("layers[1].rate"),
                            r"'layers\[1\].rate', .* was 2.0 and is 7.5 now"),
    "an object in containers": (
        "lambda x: x * by_name['first']['second'][0].rate",
        setting("by_name['first']['second'][0].rate"),
        r"by_name\['first'\]\['second'\]\[0\].rate.* was 1.0 and is 7.5 now",
    ),
    "a slot in containers": (
        "lambda x: x * by_name['first']['second'][1].rate",
        setting("by_name['first']['second'][1].rate"), r"\[1\].rate.* was 2.0 and is 7.5 now",
    ),
    "objects of a loop": ("in_loop", setting("layers[0].rate"), r"'layers\[0\].rate', .* 1.0 and"),
    "a local variable": ("by_local", setting("layer.rate"), "'layer.rate', .* was 2.0 and is 7.5"),
    "an argument of a helper": ("lambda x: helper(layer, x)", setting("layer.rate"), "layer.rate"),
    "getattr": ("lambda x: x * getattr(layer, 'rate')", setting("layer.rate"), "'layer.rate'"),
    "a property": ("lambda x: x * layer.doubled", setting("layer.rate"), "'self.rate', .* 7.5"),
    "a property of an object in a list": (
        "lambda x: x * layers[0].doubled", setting("layers[0].rate"), "rate', .* 1.0 and is 7.5",
    ),
    "a method of an object in a list": (
        "lambda x: layers[1].apply(x)", setting("layers[1].rate"), "rate', .* 2.0 and is 7.5 now",
    ),
    "an object that is called": (
        "lambda x: operator(x)", setting("operator.rate"), "rate', .*__call__.* 2.0 and is 7.5",
    ),
    "an object that is compiled": ("operator", setting("operator.rate"), "rate', .*__call__"),
    "an object in an object that is called": (
        "network", setting("network.parts[1].rate"), "rate', .* was 3.0 and is 7.5 now",
    ),
    "an object that is called by another": (
        "lambda x: network(x)", setting("network.last.rate"), "rate', .* was 1.0 and is 7.5 now",
    ),
    "an object in a list that is called": (
        "lambda x: [operator, network][0](x)", setting("operator.rate"), "rate', .* 2.0 and",
    ),
    "an operator of an object": ("lambda x: operator @ x", setting("operator.rate"), "rate', .*"),
    "an index of an object": ("lambda x: operator[x]", setting("operator.rate"), "rate', .*"),
    "the length of an object": ("lambda x: x * len(operator)", setting("operator.rate"), "rate'"),
    "an inherited method": ("lambda x: derived.apply(x)", setting("derived.rate"), "rate', .* 7.5"),
    "a static method": ("lambda x: layer.shifted(x)", setting("shift"), "'shift'.* 1.0 and is 7.5"),
    "a class attribute": ("lambda x: layer.scaled(x)", setting("Layer.kind"), "kind', .* is 7.5"),
    "a class attribute of objects in a list": (
        "lambda x: x * layers[0].kind", setting("Layer.kind"), "kind', .* 1.0 and is 7.5 now",
    ),
    "a mutable default": (
        "with_default", setting("with_default.__defaults__[0][0]"), r"'table', .*\[2.0\] .*\[7.5\]",
    ),
    "a default of a function that is called": (
        "lambda x: with_default(x)", setting("with_default.__defaults__[0][0]"), "'table'",
    ),
    "an object that is a default": (
        "with_named_default", setting("with_named_default.__kwdefaults__['layer'].rate"),
        "'layer.rate', .* was 2.0 and is 7.5",
    ),
    "array.array": ("lambda x: x * numbers[0]", setting("numbers[0]"), "'numbers', .*1.0.*7.5"),
    "bytearray": ("lambda x: x * raw[0]", setting("raw[0]", 7), "'raw'"),
    "memoryview": ("lambda x: x * view[0]", setting("view[0]", 7), "'view'"),
    "deque": ("lambda x: x * queue[0]", setting("queue[0]"), "'queue', .* is deque"),
    "a partial": ("part", setting("scale[0]"), r"'argument 1', .*both.* \[1.0\] and is \[7.5\]"),
    "a keyword of a partial": ("part", setting("named['a']"), "'table', .*both.* is {'a': 7.5}"),
    "a partial that is called": ("lambda x: part(x)", setting("named['a']"), "'part'|'table'"),
    "a subclass of dict": (
        "lambda x: x * settings.rate", setting("settings['rate']"), "'settings', .*2.0.*7.5",
    ),
    "UserDict": ("lambda x: x * user_dict['a']", setting("user_dict['a']"), "'user_dict', .*7.5"),
    "UserList": ("lambda x: x * user_list[0]", setting("user_list[0]"), "'user_list', .*7.5"),
    "ChainMap": ("lambda x: x * chain['a']", setting("chain.maps[1]['a']"), "'chain', .*7.5"),
    "a proxy of a dict": ("lambda x: x * proxy['a']", setting("proxied['a']"), "'proxy', .*7.5"),
    "a namespace": ("lambda x: x * space.rate", setting("space.rate"), "'space.rate', .*7.5"),
    "Counter": ("lambda x: x * counts['a']", setting("counts['a']", 7), "'counts', .*2.*7"),
    "OrderedDict": ("lambda x: x * ordered['a'][0]", setting("ordered['a'][0]"), "'ordered'"),
    "defaultdict": ("lambda x: x * default['a']", setting("default['a']"), "'default', .*7.5"),
    "an array in a dataclass": (
        "lambda x: x * parameters.weight[0]", setting("parameters.weight[0]"),
        r"'parameters.weight', .*\[1., 1., 1.\].*\[7.5, 1. , 1. \]",
    ),
    "all fields of a dataclass": ("all_fields", setting("parameters.bias"), "'parameters.bias'"),
    "a global of another module": (
        "lambda x: x * another.rate", setting("another.rate"), "'another.rate', .* 2.0 and is 7.5",
    ),
    "what a function of another module reads": (
        "lambda x: another.double(x)", setting("another.table[0]"), r"'table', .*\[1.0\].*\[7.5\]",
    ),
    "the closure of a function": (
        "lambda x: multiply(x)", setting("factor[0]"), r"'n', .*inner.* was \[3.0\] and is \[7.5\]",
    ),
    "the closure of a function in a dict": (
        "lambda x: functions['a'][0](x)", setting("factor[0]"), "'n', .*inner",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_change_within_names_the_variable_and_both_values(name: str) -> None:
    text, change, message = CASES[name]
    surroundings = names()
    f = jax.jit(eval(text, surroundings))
    with jax.checks(stale=True):
        assert f(1.0) == f(1.0)
        change(surroundings)
        with pytest.raises(Stale, match=message):
            f(1.0)
        f.clear_cache()
        assert f(1.0) == f(1.0)


def test_what_the_function_does_not_read_may_change() -> None:
    surroundings = names()
    f = jax.jit(eval("lambda x: x * layers[0].rate + parameters.bias", surroundings))
    with jax.checks(stale=True):
        assert f(1.0) == 2.0
        surroundings["layers"][0].other = 5.0
        surroundings["parameters"].weight[0] = 9.0
        surroundings["another"].rate = 1.0
        assert f(1.0) == 2.0


def test_what_an_object_counts_as_it_is_called_and_traced_has_not_changed() -> None:
    class Counting:
        def __init__(self) -> None:
            self.n_calls, self.weight = 0, None

        def __call__(self, x: Any) -> Any:
            self.n_calls += 1
            self.weight = np.ones(3) if self.weight is None else self.weight
            return x * self.weight

    f = jax.jit(Counting())
    with jax.checks(stale=True):
        assert f(1.0).tolist() == f(1.0).tolist() == [1.0, 1.0, 1.0]


def test_views_that_were_given_up_and_what_contains_itself() -> None:
    surroundings = names()
    around = surroundings["layer"]
    around.rate, around.inner = 2.0, [around]
    f = jax.jit(
        eval("lambda x: x * layers[0].rate * len(view) * layer.inner[0].rate", surroundings)
    )
    surroundings["layers"].append(around)
    with jax.checks(stale=True):
        assert f(1.0) == 4.0
        surroundings["view"].release()
        with pytest.raises(Stale, match="'view'"):
            f(1.0)


def test_what_code_reads() -> None:
    def f(self: Any, other: Any, layer: Any = None) -> Iterator[Any]:
        other = other.first
        yield from (print(each.second) for each in self.parts.all)
        return np.linalg, layer.rate

    reads = reads_of(f.__code__)
    assert {"print", "np"} <= reads.variables
    assert {("self", "parts"), ("self", "parts", "all"), ("np", "linalg")} <= reads.paths
    assert ("other", "first") not in reads.paths
    assert ("self", "parts", "all") in reads.whole and ("self", "parts") not in reads.whole
    assert {"first", "second", "all", "rate"} <= reads.attributes


def test_nothing_is_looked_at_when_off(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(function: Callable) -> None:
        raise AssertionError

    monkeypatch.setattr("tapeless.api.jit.snapshot", forbidden)
    surroundings = names()
    f = jax.jit(eval("lambda x: x * layers[0].rate", surroundings))
    assert f(2.0) == 2.0
    surroundings["layers"][0].rate = 3.0
    assert f(2.0) == 2.0


def test_looking_costs_little_beside_a_call_of_some_length() -> None:
    surroundings = names()
    x = jax.numpy.asarray(np.random.RandomState(0).rand(5_000_000).astype("f"))
    f = jax.jit(eval("lambda x: (x * layers[0].rate + parameters.weight[0]).sum()", surroundings))

    def seconds() -> float:
        """Return the processor time of some calls."""
        start = time.process_time()
        for _ in range(3):
            f(x)
        return time.process_time() - start

    ratios = []
    for _ in range(15):
        with jax.checks(stale=True):
            f(x)
            on = seconds()
        f(x)
        ratios.append(on / seconds())
    assert min(ratios) < 1.1
