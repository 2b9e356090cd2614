"""Trees as arguments and results of compiled functions, natively and in Python."""

from __future__ import annotations

import collections
import dataclasses
import gc
import sys

import numpy as np
import pytest

import tapeless as jax
from tapeless.compiler import callwalk
from tapeless.runtime import callkeys, fastcall

jnp = jax.numpy

State = collections.namedtuple("State", ["count", "moments"])


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    """Two arrays, and what they are for."""

    w: object
    b: object
    name: str = dataclasses.field(default="dense", metadata={"static": True})


class Odd(collections.namedtuple("Odd", ["a", "b"])):
    """A named tuple that iterates in its own order."""

    def __iter__(self):
        """Give the items backwards."""
        return reversed((self[0], self[1]))


@jax.tree_util.register_pytree_node_class
class Pair:
    """A container that only its own functions can take apart."""

    def __init__(self, a, b):
        """Hold two things."""
        self.a, self.b = a, b

    def tree_flatten(self):
        """Take apart."""
        return (self.a, self.b), None

    @classmethod
    def tree_unflatten(cls, _, children):
        """Put together."""
        return cls(*children)


def array(k):
    """Return an array that is like no other."""
    return jnp.arange(3.0) + k


TREES = {
    "dict": lambda: {"b": array(1), "a": array(2)},
    "numbers as names": lambda: {2: array(1), 1: array(2)},
    "nested": lambda: {"z": [array(1), (array(2), {"y": array(3), "x": 2.5})], "a": None},
    "empty": lambda: {"b": {}, "a": (), "c": [], "d": array(1)},
    "named tuple": lambda: State(array(1), {"w": array(2), "b": array(3)}),
    "dataclass": lambda: Layer(array(1), Layer(array(2), array(3), "inner")),
    "scalars": lambda: [True, 3, 2.5, np.float32(1.5), np.arange(3, dtype=np.int32)],
    "one array twice": lambda: [jnp.ones(3)] * 2,
}


@pytest.fixture(autouse=True)
def linked():
    """Link the stub."""
    fastcall.install()


@pytest.fixture
def only_native(monkeypatch):
    """Return a function after whose call no call may need Python code of ours."""
    return lambda: monkeypatch.setattr(jax.api.jit.JitFunction, "_find_and_call", None)


def assert_same(given, wanted):
    """Compare structures, the order in dicts, types and values."""
    assert jax.tree.structure(given) == jax.tree.structure(wanted)
    assert str(given) == str(wanted)
    for one, other in zip(jax.tree.leaves(given), jax.tree.leaves(wanted), strict=True):
        assert one.aval == other.aval
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", TREES)
def test_trees_travel_natively(name, only_native):
    """Both ways agree, and a second call runs no Python code."""
    tree = TREES[name]()
    f = jax.jit(lambda tree: (tree, [jax.tree.map(lambda x: x * 2, tree)]))
    with fastcall.switched_off():
        wanted = f(tree)
    f(tree)
    only_native()
    assert_same(f(tree), wanted)
    assert_same(f(TREES[name]()), wanted)


def test_arguments_by_name_may_be_trees(only_native):
    """In any order."""
    f = jax.jit(lambda p, **named: (p["w"] - named["b"]["x"], named["a"][0]))
    for _ in range(2):
        f({"w": array(5)}, b={"x": array(1)}, a=(array(2),))
    f({"w": array(5)}, a=(array(2),), b={"x": array(1)})
    only_native()
    one = f({"w": array(5)}, b={"x": array(1)}, a=(array(2),))
    other = f({"w": array(5)}, a=(array(2),), b={"x": array(1)})
    assert_same(one, other)
    np.testing.assert_array_equal(one[0], np.full(3, 4.0))
    np.testing.assert_array_equal(one[1], np.arange(3.0) + 2)


def test_static_arguments_beside_trees(only_native):
    """Values and structures are both in the key."""
    f = jax.jit(lambda n, tree: tree["a"] * n, static_argnums=0)
    for n in (2, 3, 2, 3):
        f(n, {"a": array(1)})
    only_native()
    np.testing.assert_array_equal(f(2, {"a": array(1)}), 2 * (np.arange(3.0) + 1))
    np.testing.assert_array_equal(f(3, {"a": array(1)}), 3 * (np.arange(3.0) + 1))


def test_many_structures_have_routes_at_once(only_native):
    """Structures that look alike are told apart, whichever came last."""
    x, y = array(1), array(2)
    trees = [
        {1: x}, {True: x}, {"1": x}, (x, y), [x, y], State(x, y), ((x,), y), ({}, x, y), (None, x),
        (x, None), {"a": x, "b": y}, {"b": x, "a": y}, Layer(x, y), Layer(x, y, "other"), (x, 1.0),
    ]  # fmt: skip
    f = jax.jit(lambda tree: (str(jax.tree.structure(tree)) and tree, jax.tree.leaves(tree)[0]))
    wanted = [f(tree) for tree in trees]
    for tree in trees:
        f(tree)
    only_native()
    for tree, want in zip(trees, wanted, strict=True):
        assert_same(f(tree), want)
    assert len(f.routes) == len(trees)


def test_names_are_compared_by_value(only_native):
    """Strings that are equal but other objects are the same names."""
    f = jax.jit(lambda tree: tree["layer-1"] + 1)
    for _ in range(2):
        f({"-".join(["layer", "1"]): array(1)})
    only_native()
    np.testing.assert_array_equal(f({"-".join(["layer", "1"]): array(1)}), np.arange(3.0) + 2)


@pytest.mark.parametrize("tree", [Odd(array(1), array(2)), Pair(array(1), array(2))])
def test_containers_with_code_of_their_own_go_through_python(tree):
    """They have no route, and both ways agree."""
    f = jax.jit(lambda tree: jax.tree.leaves(tree)[0] * 2)
    with fastcall.switched_off():
        wanted = f(tree)
    for _ in range(100):
        assert_same(f(tree), wanted)
    assert not f.routes


def test_results_may_be_of_any_type(only_native):
    """Types of users are put together by their functions."""
    f = jax.jit(lambda x: {"p": Pair(x, x + 1), "o": collections.OrderedDict(b=x, a=x * 2)})
    f(array(1))
    f(array(1))
    only_native()
    out = f(array(1))
    np.testing.assert_array_equal(out["p"].b, np.arange(3.0) + 2)
    assert list(out["o"]) == ["b", "a"]


def test_trees_too_deep_or_too_large_go_through_python():
    """Nothing is lost but time."""
    deep = array(1)
    for _ in range(callwalk.MOST_LEVELS + 1):
        deep = [deep]
    large = [array(k) for k in range(callwalk.MOST_LEAVES + 1)]
    f = jax.jit(lambda tree: jax.tree.leaves(tree)[-1])
    for tree in (deep, large):
        for _ in range(3):
            np.testing.assert_array_equal(f(tree), jax.tree.leaves(tree)[-1])


def test_a_class_that_becomes_another_container_is_taken_apart_anew():
    """A named tuple is registered between two calls."""
    kind = collections.namedtuple("kind", ["a", "b"])
    x, y = array(1), array(2)
    f = jax.jit(lambda tree: jax.tree.leaves(tree)[0])
    for _ in range(3):
        np.testing.assert_array_equal(f(kind(x, y)), x)
    assert kind in callkeys.containers
    jax.tree_util.register_pytree_node(kind, lambda t: ((t.b, t.a), None), lambda _, t: kind(*t))
    assert kind not in callkeys.containers
    for _ in range(3):
        np.testing.assert_array_equal(f(kind(x, y)), y)


def test_errors_of_constructors_come_through():
    """A container that refuses its contents raises at each call; references stay balanced."""

    class Refusing(collections.namedtuple("Refusing", ["a"])):
        """Takes tracers only."""

        def __new__(cls, a):
            """Refuse arrays."""
            if isinstance(a, jax.Array) and not isinstance(a, jax.core.Tracer):
                raise ValueError("no arrays")
            return super().__new__(cls, a)

    x = array(1)
    f = jax.jit(lambda x: [x, Refusing(x + 1)])
    counts = []
    for _ in range(200):
        with pytest.raises(ValueError, match="no arrays"):
            f(x)
        counts.append(sys.getrefcount(x))
    assert counts[-1] == counts[100]


@pytest.mark.parametrize("name", TREES)
def test_references_are_balanced(name):
    """After thousands of calls all that takes part has the references of before."""
    tree = TREES[name]()
    f = jax.jit(lambda tree: (tree, jax.tree.map(lambda x: x * 2, tree)))
    for _ in range(100):
        f(tree)
    watched = (*jax.tree.leaves(tree), tree, f.routes, State, Layer, dict, list, str, "layer")
    before = [sys.getrefcount(thing) for thing in watched]
    for _ in range(3000):
        f(tree)
    assert [sys.getrefcount(thing) for thing in watched] == before


def test_a_container_may_lose_its_contents_during_the_call():
    """The call has its own references to the leaves."""
    tree = []

    def host(x):
        """Empty the container from which the argument came."""
        tree.clear()
        return np.asarray(x)

    shape = jax.ShapeDtypeStruct((3,), "float32")
    f = jax.jit(lambda tree: (jax.pure_callback(host, shape, tree[0]), tree[1]))
    for k in range(50):
        tree[:] = [array(k), array(k + 1)]
        one, other = f(tree)
        np.testing.assert_array_equal(one, np.arange(3.0) + k)
        np.testing.assert_array_equal(other, np.arange(3.0) + k + 1)


class Name:
    """A key of dicts whose methods may do anything."""

    def __init__(self, text, on_hash=lambda: None):
        """on_hash: called before each hash."""
        self.text, self.on_hash = text, on_hash

    def __hash__(self):
        """Hash the text."""
        self.on_hash()
        return hash(self.text)

    def __eq__(self, other):
        """Compare texts."""
        return isinstance(other, Name) and self.text == other.text

    def __lt__(self, other):
        """Sort by text."""
        return self.text < other.text


def test_errors_of_names_come_through():
    """A result whose key has no hash any more raises at each call; references stay balanced."""
    failing = []

    def refuse():
        """Raise, once armed."""
        if failing:
            raise RuntimeError("no hash")

    names = Name("a"), Name("b", refuse)
    f = jax.jit(lambda x: {names[0]: x, names[1]: x + 1})
    x = array(1)
    for _ in range(3):
        f(x)
    failing.append(True)
    counts = []
    for _ in range(100):
        with pytest.raises(RuntimeError, match="no hash"):
            f(x)
        counts.append(sys.getrefcount(x))
    assert counts[-1] == counts[50]
    failing.clear()
    np.testing.assert_array_equal(f(x)[names[1]], np.arange(3.0) + 2)


def test_interrupts_in_names_are_not_lost():
    """What a signal's handler raises within a method of a key ends the call."""
    raising = []

    def interrupt():
        """Raise what is to be raised, once."""
        if raising:
            raise raising.pop()

    tree = {Name("a", interrupt): array(1)}
    f = jax.jit(lambda tree: jax.tree.leaves(tree)[0] * 2)
    for _ in range(3):
        f(tree)
    for error in (KeyboardInterrupt, TimeoutError):
        raising.append(error)
        with pytest.raises(error):
            f(tree)
    np.testing.assert_array_equal(f(tree), (np.arange(3.0) + 1) * 2)


def test_structures_that_change_during_the_call_get_no_route():
    """A later call with the new structure is traced for it."""
    layer = Layer(array(1), array(2), "old")
    tree = {"old": layer}

    def rename(tree):
        """Rename what the argument was made of; the argument itself is a copy."""
        layer.name = "new"
        return tree

    f = jax.jit(rename)
    f(tree)
    for _ in range(3):
        assert f({"old": Layer(array(1), array(2), "new")})["old"].name == "new"

    def move(tree):
        """Give the item another name."""
        given["new"] = given.pop("old")
        return tree

    given = {"old": array(1)}
    f = jax.jit(move)
    f(given)
    given["old"] = array(2)
    for _ in range(3):
        assert list(f({"new": array(1)})) == ["new"]


def test_settings_that_change_during_the_call_get_no_route():
    """A later call under the new settings is traced under them."""

    def switch(x):
        """Make zeros, then switch to wide types."""
        zeros = jnp.zeros(2)
        jax.config.update("jax_enable_x64", True)
        return zeros

    f = jax.jit(switch)
    x = array(1)
    try:
        assert f(x).dtype == np.float32
        for _ in range(3):
            assert f(x).dtype == np.float64
    finally:
        jax.config.update("jax_enable_x64", False)


def test_trees_may_be_deeper_than_python_code_can_call_itself():
    """As deep as `tree` goes."""
    tree = array(1)
    for _ in range(3000):
        tree = [tree]
    f = jax.jit(lambda tree: jax.tree.map(lambda x: x + 1, tree))
    for _ in range(3):
        (leaf,) = jax.tree.leaves(f(tree))
        np.testing.assert_array_equal(leaf, np.arange(3.0) + 2)


def test_results_of_any_number_of_parts():
    """More than the stack would hold."""
    f = jax.jit(lambda x: [x, [None] * 1_200_000])
    for _ in range(3):
        x, nothing = f(array(1))
        np.testing.assert_array_equal(x, np.arange(3.0) + 1)
        assert len(nothing) == 1_200_000


def test_a_dict_may_be_emptied_by_the_collector_of_garbage():
    """A finalizer may run wherever the walk makes a tuple; what the walk has read stays alive."""

    class Garbage:
        """A cycle that empties a dict when it is collected."""

        def __init__(self, tree):
            """Close the cycle."""
            self.tree, self.itself = tree, self

        def __del__(self):
            """Empty the dict, and use its memory again."""
            self.tree.clear()
            self.again = [bytes(size) for size in range(8, 160, 8) for _ in range(50)]

    f = jax.jit(lambda tree: list(tree.values()))
    f({Name(str(10 + k)): array(k) for k in range(20)})
    thresholds = gc.get_threshold()
    pairs = [(k,) * 2 for k in range(3000)]  # the interpreter has no old ones left to give out
    for trial in range(60):
        tree = {Name(str(10 + k)): array(k) for k in range(20)}
        gc.collect(0)
        gc.disable()
        Garbage(tree)
        gc.set_threshold(1 + trial, 1000, 1000)
        gc.enable()
        try:
            results = f(tree)
        finally:
            gc.set_threshold(*thresholds)
        assert len(pairs) == 3000
        for k, result in enumerate(results):
            np.testing.assert_array_equal(result, np.arange(3.0) + k)
