"""Random trees, compared with JAX."""

import dataclasses
import functools
from collections import OrderedDict, defaultdict, namedtuple

import hypothesis
import pytest
from hypothesis import strategies as st

from tapeless import tree_util as ours
from tapeless.tree import prefix

pytestmark = pytest.mark.oracle

Point = namedtuple("Point", "x y")


class Custom:
    """A container with data."""

    def __init__(self, children, tag):
        self.children = children
        self.tag = tag

    def __repr__(self):
        return f"{type(self).__name__}({self.children}, {self.tag})"


@dataclasses.dataclass
class Layer:
    """A dataclass with a static field."""

    weight: object
    name: str


@dataclasses.dataclass(frozen=True)
class Setting:
    """Data of a node that compare, and hash, by value: two equal ones are two objects."""

    size: int


class Fussy:
    """Data of a node that compare by a part of what they are."""

    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        return isinstance(other, Fussy) and self.number % 2 == other.number % 2

    def __hash__(self):
        return self.number % 2

    def __repr__(self):
        return f"Fussy({self.number})"


class Keyed(Custom):
    """A container whose children have keys."""


class Classy(Custom):
    """A container that comes apart by its methods."""

    def tree_flatten(self):
        return self.children, self.tag

    @classmethod
    def tree_unflatten(cls, tag, children):
        return cls(children, tag)


class KeyedClassy(Classy):
    """A container that comes apart by its methods, with keys."""

    def tree_flatten_with_keys(self):
        return flatten_keyed(self)


class Constant(Fussy):
    """An object that is data altogether."""


@dataclasses.dataclass
class Model:
    """A dataclass of two children and two static fields."""

    first: object
    size: int
    second: object
    setting: object


def flatten_keyed(custom):
    """Take a container apart into children with keys."""
    keys = [f"part{n}" for n in range(len(custom.children))]
    return list(zip(keys, custom.children, strict=True)), custom.tag


def register(system):
    """Tell a system of the containers, in each of the ways there are."""
    system.register_pytree_node(Custom, flatten_custom, unflatten_custom)
    system.register_dataclass(Layer, ["weight"], ["name"])
    system.register_pytree_with_keys(
        Keyed, flatten_keyed, lambda tag, children: Keyed(children, tag)
    )
    system.register_pytree_node_class(Classy)
    system.register_pytree_with_keys_class(KeyedClassy)
    system.register_static(Constant)
    system.register_dataclass(Model, ["second", "first"], ["size", "setting"])


def flatten_custom(custom):
    """Take a Custom apart."""
    return custom.children, custom.tag


def unflatten_custom(tag, children):
    """Build a Custom."""
    return Custom(children, tag)


register(ours)


@functools.cache
def registered():
    """Return JAX's functions, with the same types registered, which is possible once."""
    # The private module has what the public one has, and the makers of messages.
    from jax._src import tree_util

    register(tree_util)
    return tree_util


@pytest.fixture(scope="module")
def jax():
    """JAX's functions; tests of this file may run with those of others between them."""
    return registered()


names = st.sampled_from(["a", "b", "w", "bias"])


# Data of nodes: strings, numbers, and objects of classes with their own equality.
tags = st.one_of(
    names,
    st.integers(0, 2),
    st.builds(Setting, st.integers(0, 1)),
    st.builds(Fussy, st.integers(0, 3)),
)
CUSTOM = (Custom, Keyed, Classy, KeyedClassy)


def containers(children):
    """Strategy for one level of containers around a strategy for children."""
    return st.one_of(
        st.lists(children, max_size=3),
        st.lists(children, max_size=3).map(tuple),
        st.dictionaries(names, children, max_size=3),
        st.dictionaries(st.integers(0, 3), children, max_size=3),
        st.dictionaries(names, children, max_size=3).map(OrderedDict),
        st.dictionaries(names, children, max_size=3).map(lambda d: defaultdict(list, d)),
        st.builds(Point, children, children),
        *[st.builds(cls, st.lists(children, max_size=2).map(tuple), tags) for cls in CUSTOM],
        st.builds(Layer, children, names),
        st.builds(Model, children, st.integers(0, 2), children, tags),
    )


leaves = st.one_of(
    st.integers(0, 9),
    st.none(),
    st.sampled_from(["text", 1.5, frozenset()]),
    st.builds(Constant, st.integers(0, 3)),
)
trees = st.recursive(leaves, containers, max_leaves=12)


def outcome(function, *args):
    """Return the text of a result, or of an error."""
    try:
        return repr(function(*args)).replace("tree_util", "")
    except (TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


@hypothesis.given(trees)
def test_leaves_and_structure_agree(jax, tree):
    assert outcome(ours.tree_flatten, tree) == outcome(jax.tree_flatten, tree)
    mine, theirs = ours.tree_structure(tree), jax.tree_structure(tree)
    for name in ("num_leaves", "num_nodes", "node_data", "children", "__repr__"):
        values = [getattr(treedef, name) for treedef in (mine, theirs)]
        texts = [repr(value() if callable(value) else value) for value in values]
        assert texts[0] == texts[1]


@hypothesis.given(trees)
def test_paths_agree(jax, tree):
    assert outcome(ours.tree_flatten_with_path, tree) == outcome(jax.tree_flatten_with_path, tree)


@hypothesis.given(trees)
def test_maps_agree(jax, tree):
    assert outcome(ours.tree_map, str, tree) == outcome(jax.tree_map, str, tree)


@hypothesis.given(trees)
def test_flattening_until_a_predicate_agrees(jax, tree):
    def is_leaf(subtree):
        return subtree is None or isinstance(subtree, Point)

    assert outcome(ours.tree_flatten, tree, is_leaf) == outcome(jax.tree_flatten, tree, is_leaf)


@hypothesis.given(trees)
def test_rebuilt_trees_agree(jax, tree):
    """Also of the structures that are met so often that code is made for them."""
    for _ in range(70):
        leaves, structure = ours.tree_flatten(tree)
        rebuilt = ours.tree_unflatten(structure, leaves)
    theirs, known = jax.tree_flatten(tree)
    assert repr(leaves) == repr(theirs)
    assert repr(rebuilt) == repr(jax.tree_unflatten(known, theirs))


@hypothesis.given(trees, trees)
def test_equality_agrees(jax, tree1, tree2):
    mine, theirs = ([s.tree_structure(t) for t in (tree1, tree2)] for s in (ours, jax))
    assert (mine[0] == mine[1]) == (theirs[0] == theirs[1])
    assert (hash(mine[0]) == hash(mine[1])) >= (mine[0] == mine[1])


@hypothesis.given(trees, trees)
def test_flatten_up_to_agrees(jax, tree, other):
    mine = outcome(ours.tree_structure(tree).flatten_up_to, other)
    assert mine == outcome(jax.tree_structure(tree).flatten_up_to, other)


def without_key_sets(text):
    """Cut the symmetric difference of key sets, which JAX prints in the order of a set."""
    return text.split("symmetric difference")[0]


def prefix_texts(function, prefix_tree, tree):
    """Return the messages of prefix errors."""
    return [without_key_sets(str(error("f"))) for error in function(prefix_tree, tree)]


@hypothesis.given(trees, trees)
def test_prefix_errors_agree(jax, tree, other):
    mine = prefix_texts(prefix.prefix_errors, tree, other)
    assert mine == prefix_texts(jax.prefix_errors, tree, other)


@hypothesis.given(trees, trees)
def test_equality_errors_agree(jax, tree, other):
    texts = [
        [(ours.keystr(path), *map(without_key_sets, rest)) for path, *rest in errors(tree, other)]
        for errors in (prefix.equality_errors, jax.equality_errors)
    ]
    assert texts[0] == texts[1]


@hypothesis.given(trees, trees)
def test_broadcast_agrees(jax, tree, other):
    assert outcome(ours.tree_broadcast, 0, other) == outcome(jax.tree_broadcast, 0, other)
    mine = without_key_sets(outcome(ours.tree_broadcast, tree, other))
    assert mine == without_key_sets(outcome(jax.tree_broadcast, tree, other))
