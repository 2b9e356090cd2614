"""Random trees, compared with JAX."""

import dataclasses
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
        return f"Custom({self.children}, {self.tag})"


@dataclasses.dataclass
class Layer:
    """A dataclass with a static field."""

    weight: object
    name: str


def flatten_custom(custom):
    """Take a Custom apart."""
    return custom.children, custom.tag


def unflatten_custom(tag, children):
    """Build a Custom."""
    return Custom(children, tag)


ours.register_pytree_node(Custom, flatten_custom, unflatten_custom)
ours.register_dataclass(Layer, ["weight"], ["name"])


@pytest.fixture(scope="module")
def jax():
    """JAX's functions, with the same types registered."""
    # The private module has what the public one has, and the makers of messages.
    from jax._src import tree_util

    tree_util.register_pytree_node(Custom, flatten_custom, unflatten_custom)
    tree_util.register_dataclass(Layer, ["weight"], ["name"])
    return tree_util


names = st.sampled_from(["a", "b", "w", "bias"])


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
        st.builds(Custom, st.lists(children, max_size=2).map(tuple), names),
        st.builds(Layer, children, names),
    )


leaves = st.one_of(st.integers(0, 9), st.none(), st.sampled_from(["text", 1.5, frozenset()]))
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


@hypothesis.given(trees, trees)
def test_equality_agrees(jax, tree1, tree2):
    mine = ours.tree_structure(tree1) == ours.tree_structure(tree2)
    assert mine == (jax.tree_structure(tree1) == jax.tree_structure(tree2))


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
